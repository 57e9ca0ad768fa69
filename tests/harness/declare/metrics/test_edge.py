"""Sharpness read off runs at the edge of stability, against loops over planted runs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from folklore.harness.declare import Observed, Study
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.edge_of_stability import edge_loss, edge_sharpness
from tests.harness.declare.metrics.planted import table_of, with_arms
from tests.harness.helpers import INITIAL_LOSS, changed, frame, result

LR, LIMIT = 0.01, 2.0
STEPS = 1000
PROBED = [2.0, 5.0, 10.0, *np.arange(50.0, 1001.0, 50.0)]
POINTS = list(np.arange(20.0, 1001.0, 20.0))


def height(step: float, seed: int) -> float:
    """LR x sharpness over the limit: high for Adam's first steps, then from 0.2 up to the edge at half the run."""
    if step < 10:
        return 5.0
    return 0.2 + 0.8 * min(1.0, step / 500) + 0.01 * (seed % 7) + 0.02 * math.sin(step)


def loss_at(step: float) -> float:
    """Down to a hundredth of the start at step 820."""
    return INITIAL_LOSS * (0.5 if step < 820 else 0.009)


def outcome(trial: Trial) -> LaneResult:
    if trial.arm not in ("edge", "below"):
        return result(2.0)
    factor = 0.5 if trial.arm == "below" else 1.0
    sharpness = [height(step, trial.seed) * factor * LIMIT / LR for step in PROBED]
    train = [loss_at(step) - 1e-4 * step * (-1) ** (step // 100 == 6) for step in POINTS]
    return result(
        1.0,
        probe_step=PROBED,
        probe_sharpness=sharpness,
        probe_batch_sharpness=[value / (2.0 + step / STEPS) for step, value in zip(PROBED, sharpness, strict=True)],
        probe_batch_sharpness_pooled=[value / 4 for value in sharpness],
        step=POINTS,
        train_loss=train,
    )


@pytest.fixture(scope="module")
def planned(study: Study) -> Study:
    arms = {arm: {"steps": STEPS, "warmup_fraction": 0.01 * (place + 1)} for place, arm in enumerate(("edge", "below"))}
    return with_arms(study, arms, LR)


@pytest.fixture(scope="module")
def table(planned: Study) -> TrialArrays:
    return table_of(planned, outcome)


def seen(observable: Observed, table: TrialArrays) -> float:
    return float(observe(observable, table).estimate)


def test_where_it_starts_and_how_high_it_comes_against_another_lr(planned: Study, table: TrialArrays) -> None:
    seeds = table.seed_numbers
    start = math.exp(np.mean([math.log(height(10, seed)) for seed in seeds]))
    assert seen(edge_sharpness(arm="edge", limit=LIMIT, of="start"), table) == pytest.approx(start)
    late = [np.median([height(step, seed) for step in PROBED if STEPS / 2 < step <= 820]) for seed in seeds]
    assert seen(edge_sharpness(arm="edge", limit=LIMIT, of="late"), table) == pytest.approx(math.exp(np.mean(np.log(late))))
    other = changed(planned, {"arms.below.factors.peak_lr": (LR / 4,)})
    quarter = table_of(other, outcome)
    own = seen(edge_sharpness(arm="below", limit=LIMIT, of="highest", until=0.0), quarter)
    of_edge = seen(edge_sharpness(arm="below", limit=LIMIT, of="highest", until=0.0, lr_of="edge"), quarter)
    assert of_edge == pytest.approx(4 * own)


def test_of_mini_batches_parts_of_a_run_are_means(table: TrialArrays) -> None:
    seeds = table.seed_numbers
    for of, first, last in (("late", 0.5, 1.0), ("third", 0.5, 0.75), ("last", 0.75, 1.0)):
        inside = [step for step in PROBED if first * STEPS < step <= min(820, last * STEPS)]
        means = [np.mean([height(step, seed) / (2.0 + step / STEPS) for step in inside]) for seed in seeds]
        sharpness = seen(edge_sharpness(arm="edge", limit=LIMIT, of=of, batches="mean"), table)
        assert sharpness == pytest.approx(math.exp(np.mean(np.log(means))))
    pooled, whole = (
        seen(edge_sharpness(arm="edge", limit=LIMIT, of="start", batches=batches), table) for batches in ("pooled", "none")
    )
    assert pooled == pytest.approx(whole / 4)


def test_what_has_no_number(planned: Study, table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="no run of 'below' comes to the edge of stability"):
        observe(edge_loss(arm="below", limit=LIMIT, of="rising_steps"), table)
    whole = "windows of 50 steps are not whole points of a training curve with one each 20"
    with pytest.raises(NotEstimableError, match=whole):
        observe(edge_loss(arm="edge", limit=LIMIT, of="falling_windows", window=50), table)
    old = frame(planned, outcome)
    old["curve_probe_sharpness"] = None
    with pytest.raises(
        NotEstimableError, match=r"sharpness was not measured in 'edge'; the study has to set measurement\.sharpness"
    ):
        observe(edge_sharpness(arm="edge", limit=LIMIT), TrialArrays(planned, "laptop", old))


def test_eigenvalues_that_did_not_converge_are_left_out(planned: Study) -> None:
    def lost(trial: Trial) -> LaneResult:
        whole = outcome(trial)
        if trial.arm != "edge":
            return whole
        values = [math.nan if step in (600.0, 700.0) else 1.5 * LIMIT / LR for step in PROBED]
        return replace(whole, curves={**whole.curves, "probe_sharpness": values})

    assert seen(edge_sharpness(arm="edge", limit=LIMIT), table_of(planned, lost)) == (pytest.approx(1.5))
