"""Observables of one run's curves: windows, slopes and quotients of curves that are known, and factors by exponentials."""

import itertools
import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from folklore.harness.declare import Study
from folklore.harness.declare.base import declared
from folklore.harness.declare.metrics import Curve
from folklore.harness.declare.metrics.curve import STEPS_OF, Statistic
from folklore.harness.declare.observed import Observable
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from tests.calibration.trial_cases import CASES
from tests.harness.declare.metrics.planted import table_of, with_arms
from tests.harness.helpers import INITIAL_LOSS, bowl, frame, result

STEPS = [float(step) for step in range(1, 11)]
BEST = 2.0**-7


def losses(trial: Trial) -> list[float]:
    """At the best LR 10, 9, … 1 and one more for each seed; elsewhere a loss that rises at every other step."""
    if trial.configuration.training.peak_lr == BEST:
        return [11.0 - step + trial.seed for step in STEPS]
    return [5.0 + step % 2 for step in STEPS]


def outcome(trial: Trial) -> LaneResult:
    trained = result(
        bowl(trial, -7, 2.0),
        step=STEPS,
        train_loss=losses(trial),
        train_loss_swing=[0.5] * 10,
        train_loss_spikes=[0.0] * 9 + [0.1],
        evaluation_step=[2.5, 5.0, 7.5, 10.0],
        evaluation_loss=[3.0, 2.0, 3.0, 4.0],
        probe_step=STEPS,
        probe_gradient_norm=[3.0 * step**-0.5 for step in STEPS],
    )
    if trial.arm == "half" and trial.seed == 0 and trial.configuration.training.peak_lr == 2.0**-5:
        return replace(
            trained, outcome="diverged", divergence_step=6, curves={**trained.curves, "train_loss": [5.0] * 5 + [np.nan] * 5}
        )
    return trained


@pytest.fixture(scope="module")
def table(study: Study) -> TrialArrays:
    return table_of(study, outcome)


def test_a_window_begins_after_its_first_share_and_ends_with_its_last(table: TrialArrays) -> None:
    observation = observe(Curve(arm="none", of="train_loss", first=0.2, last=0.5), table)
    assert observation.estimate == pytest.approx(np.mean([8.0, 7.0, 6.0]) + np.mean(range(5)))
    assert observe(Curve(arm="none", of="train_loss_spikes", first=0.5), table).estimate == pytest.approx(0.02)


def test_it_is_read_at_the_value_tuned_at_a_multiple_of_it_or_at_a_declared_one(table: TrialArrays) -> None:
    whole = {"arm": "none", "of": "train_loss"}
    tuned, twice, declared = (
        observe(Curve(**whole, **place), table).estimate for place in ({}, {"times": 2.0}, {"value": 2.0**-6})
    )
    assert tuned == pytest.approx(5.5 + 2.0)
    assert twice == declared == pytest.approx(5.5)
    with pytest.raises(NotEstimableError, match="was not trained at the peak LR"):
        observe(Curve(**whole, value=0.3), table)
    with pytest.raises(ValidationError, match="give tuned_for or value"):
        Curve(**whole, value=0.3, tuned_for="half")
    with pytest.raises(ValidationError, match=r"first = 0.5: must be below last = 0.5"):
        Curve(**whole, first=0.5, last=0.5)


def test_a_training_loss_is_a_loss_and_a_lost_one_counts_as_at_the_start(table: TrialArrays) -> None:
    assert Curve(arm="none", of="train_loss").of_losses == "is one"
    assert Curve(arm="none", of="train_loss_swing").of_losses == "no zero"
    observation = observe(Curve(arm="half", of="train_loss", value=2.0**-5, first=0.5), table)
    assert observation.estimate == pytest.approx((INITIAL_LOSS + 4 * np.mean([5.0, 6.0, 5.0, 6.0, 5.0])) / 5, rel=0.02)


def test_a_loss_on_some_tokens_is_one_and_is_read_at_evaluations(study: Study) -> None:
    def evaluated(trial: Trial) -> LaneResult:
        """Three evaluations; one lost run."""
        loss = np.nan if (trial.arm, trial.seed) == ("half", 0) else 2.0 + trial.seed
        return result(bowl(trial, -7, 2.0), evaluation_step=[3.0, 6.0, 10.0], token_loss_rare=[9.0, 8.0, loss])

    table = table_of(study, evaluated)
    late = {"of": "token_loss_rare", "first": 0.9}
    assert Curve(arm="none", **late).of_losses == "is one"
    assert observe(Curve(arm="none", **late), table).estimate == pytest.approx(2.0 + np.mean(range(5)))
    assert observe(Curve(arm="half", **late), table).estimate == pytest.approx((INITIAL_LOSS + 3 + 4 + 5 + 6) / 5)
    assert observe(Curve(arm="none", of="token_loss_rare", last=0.4), table).estimate == pytest.approx(9.0)


def test_the_slope_of_a_power_is_its_exponent(table: TrialArrays) -> None:
    for first in (0.0, 0.3):
        observation = observe(Curve(arm="none", of="probe_gradient_norm", statistic="slope", first=first), table)
        assert observation.estimate == pytest.approx(-0.5, abs=1e-6)


def test_a_window_without_points_and_trials_from_before_have_no_number(study: Study, table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="no point of its"):
        observe(Curve(arm="none", of="train_loss", first=0.91, last=0.95), table)
    old = frame(study, outcome)
    old["curve_train_loss_swing"] = None
    with pytest.raises(NotEstimableError, match="train it again"):
        observe(Curve(arm="none", of="train_loss_swing"), TrialArrays(study, "laptop", old))


def rises(of: str, arm: str = "none", **options: float) -> Curve:
    return Curve(arm=arm, of=of, statistic="rises", **options)


def test_rises_are_those_of_neighbouring_points_in_the_window(table: TrialArrays) -> None:
    assert observe(rises("train_loss"), table).estimate == 0.0
    # 6, 5, 6, … of ten points: four of nine steps up; from the sixth on 5, 6, 5, 6, 5: two of four.
    assert observe(rises("train_loss", value=2.0**-6), table).estimate == pytest.approx(4 / 9)
    assert observe(rises("train_loss", value=2.0**-6, first=0.5), table).estimate == pytest.approx(2 / 4)


def test_of_evaluations_it_is_the_loss_on_one_sample(table: TrialArrays) -> None:
    # 3, 2, 3, 4: two rises of three.
    assert observe(rises("evaluation_loss"), table).estimate == pytest.approx(2 / 3)
    assert observe(rises("evaluation_loss", last=0.5), table).estimate == 0.0
    assert observe(rises("evaluation_loss", by=0.99), table).estimate == pytest.approx(2 / 3)
    assert observe(rises("evaluation_loss", by=1.0), table).estimate == 0.0


def test_a_run_that_diverges_always_rises(table: TrialArrays) -> None:
    observation = observe(rises("train_loss", arm="half", value=2.0**-5), table)
    assert observation.estimate == pytest.approx((1 + 4 * 4 / 9) / 5)


def test_one_point_is_no_rise(table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="no two points"):
        observe(rises("train_loss", first=0.9), table)


FORMER_KINDS = [
    ({"kind": "curve_mean", "curve": "train_loss", "first": 0.5}, Curve(arm="a", of="train_loss", first=0.5)),
    ({"kind": "curve_slope", "curve": "lr", "value": 0.5}, Curve(arm="a", of="lr", statistic="slope", value=0.5)),
    ({"kind": "curve_quotient", "top": "lr", "bottom": "train_loss"}, Curve(arm="a", of="lr", divided_by="train_loss")),
    (
        {"kind": "curve_median", "curve": "gradient_norm", "after": 0.5},
        Curve(arm="a", of="probe_gradient_norm", statistic="median", first=0.5),
    ),
    ({"kind": "rising_share", "by": 0.1}, rises("evaluation_loss", "a", by=0.1)),
    ({"kind": "rising_share", "of": "train", "times": 2.0}, rises("train_loss", "a", times=2.0)),
]


@pytest.mark.parametrize(("former", "today"), FORMER_KINDS, ids=[f"{former}" for former, _ in FORMER_KINDS])
def test_a_kind_of_an_earlier_declaration_is_read_and_hashed_as_it_was(former: dict[str, object], today: Curve) -> None:
    assert TypeAdapter(Observable).validate_python({**former, "arm": "a"}) == today
    hashed = declared(today)
    assert hashed.items() >= {**former, "arm": "a", "over": "peak_lr"}.items()
    assert TypeAdapter(Observable).validate_python(hashed) == today


def test_the_hash_tells_all_curves_and_statistics_apart() -> None:
    """An earlier published kind knew fewer of them."""
    for of, statistic in itertools.product(STEPS_OF, get_args(Statistic)):
        curve = Curve(arm="a", of=of, statistic=statistic)
        assert TypeAdapter(Observable).validate_python(declared(curve)) == curve


def test_what_is_of_another_statistic_is_refused() -> None:
    with pytest.raises(ValidationError, match="no curve named 'loss'"):
        Curve(arm="a", of="loss")
    with pytest.raises(ValidationError, match="leave it out"):
        Curve(arm="a", of="train_loss", by=0.1)
    with pytest.raises(ValidationError, match="leave one of them out"):
        Curve(arm="a", of="train_loss", divided_by="lr", statistic="median")


def test_each_statistic_has_a_case_of_the_calibration() -> None:
    observed = [today for _, today in FORMER_KINDS]
    assert {observable.calibrated_as for observable in observed} <= {case.name for case in CASES}


# ---- quotients, and factors by exponentials


DEPTHS = (2, 4, 8)


def deep_outcome(trial: Trial) -> LaneResult:
    """The first layer's gradient is 0.1^depth of the last one's, times 1, e, e^2 … by seed; the last one's is the step's
    number, and the norm its square. Of arm d8 seed 0 has none."""
    if not trial.arm.startswith("d"):
        return result(2.0)
    depth = int(trial.arm[1:])
    first = [step * 0.1**depth * math.exp(trial.seed) for step in STEPS]
    gone = trial.arm == "d8" and trial.seed == 0
    return result(
        3.0 * 0.9**depth,
        probe_step=STEPS,
        probe_flow_first=[0.0] * 10 if gone else first,
        probe_flow_last=STEPS,
        probe_flow_norm=[step**2 for step in STEPS],
    )


@pytest.fixture(scope="module")
def deep_table(study: Study) -> TrialArrays:
    deep = with_arms(study, {f"d{depth}": {"warmup_fraction": 0.01 * depth} for depth in DEPTHS}, 0.01)
    return table_of(deep, deep_outcome)


def quotient(depth: int, **window: float) -> Curve:
    return Curve(arm=f"d{depth}", of="probe_flow_first", divided_by="probe_flow_last", **window)


def test_a_quotient_is_of_means_in_a_window_and_geometric_over_seeds(deep_table: TrialArrays) -> None:
    middle = math.exp(np.mean(range(deep_table.seeds)))
    for window in ({}, {"first": 0.5}, {"last": 0.1}):
        assert observe(quotient(2, **window), deep_table).estimate == pytest.approx(0.01 * middle)
    upside_down = Curve(arm="d2", of="probe_flow_last", divided_by="probe_flow_first")
    assert observe(upside_down, deep_table).estimate == pytest.approx(100 / middle)


def test_means_are_taken_before_they_are_divided(deep_table: TrialArrays) -> None:
    ratio = Curve(arm="d4", of="probe_flow_last", divided_by="probe_flow_norm", first=0.8)
    assert observe(ratio, deep_table).estimate == pytest.approx((9 + 10) / (81 + 100))


def test_a_gradient_of_zero_has_no_quotient(deep_table: TrialArrays) -> None:
    others = math.exp(np.mean(range(1, deep_table.seeds)))
    assert observe(quotient(8), deep_table).estimate == pytest.approx(1e-8 * others)


def test_a_window_without_a_probe_is_open(deep_table: TrialArrays) -> None:
    with pytest.raises(NotEstimableError, match="has no point of its"):
        observe(quotient(2, last=0.05), deep_table)


def test_it_reads_no_losses_but_those_of_curves_that_are() -> None:
    assert quotient(2).of_losses == "no zero"
    assert Curve(arm="d2", of="train_loss", divided_by="probe_flow_last").of_losses == "divides"
