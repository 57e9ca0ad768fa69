"""Figures of planted trials: every point, line and limit stands where its number is, and without a number there is none."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from folklore.harness.declare import (
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Expected,
    Judgement,
    Observable,
    Outside,
    Reported,
    Study,
    Within,
)
from folklore.harness.declare.metrics import FinalLoss
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.trial_sets import TrialSet
from folklore.harness.judge.verdict_memory import published_verdicts
from folklore.harness.train.result import LaneResult
from folklore.reports.figures import curves, fits, forest, lines, values
from folklore.studies.metrics.edge_of_stability import edge_sharpness
from folklore.studies.metrics.generalization import sharpness_correlation
from folklore.studies.metrics.gradient_flow import growth_factor
from folklore.studies.metrics.gradient_noise import between_lines
from tests.harness.helpers import result
from tests.reports.figures.helpers import drawn, judgement_of, planted, published, seen_in


def settings(place: int) -> dict[str, float]:
    """Settings of arm number `place`: no two arms may be the same."""
    return {"warmup_fraction": 0.01 * (1 + place)}


def judging(observable: Observable, **fields: object) -> Judgement:
    criterion = {"name": "one", "observe": observable, "claimed": AtLeast(value=0.75), "refuted": AtMost(value=0.25)}
    return Judgement(claim="flow.vanishing", criteria=(Criterion(**{**criterion, **fields}),))  # type: ignore[arg-type]


# ---- sharpness against the limits of the LRs

EDGE_LRS = {"slow": 0.01, "fast": 0.04, "other": 0.02, "flow": 0.001}
LIMITS = {"slow": 2.0, "fast": 2.0, "other": 3.8}
STEPS = [100.0, 200.0, 300.0]


@pytest.fixture
def edges(study: Study) -> TrialSet:
    def outcome(trial: Trial) -> LaneResult:
        heights = [20.0, 40.0 + trial.seed, 50.0]
        return result(1.0, probe_step=STEPS, probe_sharpness=heights, step=STEPS, train_loss=[2.0, 1.0, 0.01])

    arms = {
        arm: Arm(
            label=f"arm {arm}", panel="another" if arm == "other" else "two LRs",
            settings={**settings(place), "steps": 300}, factors={"peak_lr": (lr,)},
        )
        for place, (arm, lr) in enumerate(EDGE_LRS.items())
    }  # fmt: skip
    return planted(study, arms, outcome)


def judging_edges(reported: bool = True) -> Judgement:
    regions = {"claimed": Within(low=0.9, high=1.2), "refuted": Outside(low=0.7, high=1.5)}
    return Judgement(
        claim="eos.sharpness",
        criteria=tuple(
            Criterion(name=arm, observe=edge_sharpness(arm=arm, limit=LIMITS[arm]), **regions) for arm in ("slow", "fast")
        ),
        reported=(
            *(Reported(name="flow", observe=edge_sharpness(arm="flow", limit=2.0, of="highest")),) * reported,
            Reported(name="other", observe=edge_sharpness(arm="other", limit=LIMITS["other"])),
        ),
    )


def test_sharpness_and_limits_stand_where_they_are(edges: TrialSet) -> None:
    first, second = drawn(curves.draw(edges, judging_edges())).panels
    assert (first.title, second.title) == ("two LRs", "another")
    middle = float(np.exp(np.mean(np.log([40.0 + seed for seed in edges.table.seed_numbers]))))
    for arm in ("slow", "fast"):
        whole = seen_in(first).query(f"mark == 'line' and series.str.startswith('arm {arm}')")
        # Two LRs: along the axis is LR x steps. Once the loss is gone the line goes on, faint.
        assert list(whole["x"]) == pytest.approx([EDGE_LRS[arm] * step for step in STEPS])
        assert list(whole["y"]) == pytest.approx([20.0, middle, 50.0])
    assert list(seen_in(first).query("mark == 'rule'")["y"]) == pytest.approx([200.0, 50.0])
    assert list(seen_in(second).query("mark == 'rule'")["y"]) == pytest.approx([190.0])
    assert list(seen_in(second).query("series.str.startswith('arm other') and mark == 'line'")["x"]) == STEPS
    assert first.listed == ["arm flow", "arm slow: limit 2/LR, LR 0.01", "arm fast: limit 2/LR, LR 0.04"]
    without = drawn(curves.draw(edges, judging_edges(reported=False)))
    assert len(without.panels[0].listed) == 2
    bare = replace(edges, trials=edges.trials.assign(curve_probe_sharpness=None))
    assert curves.draw(bare, judging_edges()) is None


# ---- what grows by a factor

DEPTHS = (2, 4, 8)
FACTORS = {"steep": 0.5, "flat": 0.99}


@pytest.fixture
def deep(study: Study) -> TrialSet:
    def outcome(trial: Trial) -> LaneResult:
        kind, _, depth = trial.arm.partition("_")
        return result(2.0 * FACTORS[kind] ** int(depth) if kind in FACTORS else 2.0)

    arms = {
        f"{kind}_{depth}": Arm(
            label="arm", panel=kind, settings={**settings(place), "depth": depth}, factors={"peak_lr": (0.01,)}
        )
        for place, kind in enumerate(FACTORS)
        for depth in DEPTHS
    }
    return planted(study, arms, outcome)


def test_points_of_a_growth_and_what_was_expected_stand_where_they_are(deep: TrialSet) -> None:
    steep, flat = (
        growth_factor(points=tuple((depth, FinalLoss(arm=f"{kind}_{depth}")) for depth in DEPTHS)) for kind in FACTORS
    )
    judgement = judging(
        steep, claimed=AtMost(value=0.6), refuted=AtLeast(value=0.9), expected=Expected(value=0.25, source="planted")
    ).model_copy(update={"reported": (Reported(name="beside", observe=flat),)})
    (panel,) = drawn(fits.draw(deep, judgement)).panels
    points = seen_in(panel).query("mark == 'estimate'")
    assert [name.split(":")[0] for name in panel.listed] == list(FACTORS)
    for kind, factor in FACTORS.items():
        own = points[points["series"].str.startswith(kind)]
        assert np.allclose(own["x"], DEPTHS)
        assert np.allclose(own["y"], [2.0 * factor**depth for depth in DEPTHS])
    assert "0.500" in panel.listed[0]
    assert panel.listed[1].endswith("a layer")
    expected = seen_in(panel).query("series == '_theory'")
    assert list(expected["x"]) == [2, 8]
    assert np.allclose(expected["y"], [0.5, 0.5 * 0.25**6])
    assert (panel.y.log, panel.x.label) == (10, "depth")
    assert fits.draw(deep, judging(FinalLoss(arm="flat_2"))) is None


# ---- lines of arms

LINES = (("a0", "a1"), ("b0", "b1"))
LOSSES = {"a0": 1.0, "a1": 1.2, "b0": 2.0, "b1": 2.4}


def test_arms_and_lines_stand_where_their_means_are(study: Study) -> None:
    arms = {
        arm: Arm(label=f"arm {arm}", settings=settings(place), factors={"peak_lr": (0.01,)})
        for place, arm in enumerate(itertools.chain(*LINES))
    }
    records = planted(study, arms, lambda trial: result(LOSSES.get(trial.arm, 2.0) + 0.01 * trial.seed))
    near, far = (judging(between_lines(lines=LINES, of="test_loss", spread_at_least=spread)) for spread in (0.01, 50.0))
    (panel,) = drawn(lines.draw(records, near)).panels
    assert panel.y.names is not None
    assert list(panel.y.names.values()) == ["arm a0", "arm a1", "", "arm b0", "arm b1"]
    more = 0.01 * np.mean(records.table.seed_numbers)
    means = seen_in(panel).query("mark == 'estimate'")
    assert list(means["x"]) == pytest.approx([loss + more for loss in LOSSES.values()])
    assert list(means["y"]) == [0.0, -1.0, -3.0, -4.0]
    assert list(seen_in(panel).query("mark == 'rule'")["x"]) == pytest.approx([1.1 + more, 2.2 + more])
    assert lines.draw(records, far) is None


# ---- sharpness against the validation loss

BATCHES = {"small": 4.0, "large": 20.0}
LRS = (0.01, 0.02, 0.04)


def log_sharpness(arm: str, lr: float, seed: int) -> float:
    return math.log(BATCHES[arm]) - math.log2(lr) + 0.1 * seed


def test_settings_stand_where_their_mean_sharpness_is(study: Study) -> None:
    def outcome(trial: Trial) -> LaneResult:
        """The large batch never fits at the lowest LR."""
        if trial.arm not in BATCHES:
            return result(2.0)
        lr = trial.configuration.training.peak_lr
        log = log_sharpness(trial.arm, lr, trial.seed)
        return result(
            1.0,
            evaluation_step=[1.0, 10.0],
            evaluation_training_loss=[2.0, 1.5 if trial.arm == "large" and lr == LRS[0] else 0.0],
            evaluation_loss=[0.1 * log, 0.1 * log],
            probe_step=[1.0, 10.0],
            probe_sharpness=[math.exp(log)] * 2,
        )

    arms = {
        arm: Arm(label=f"{arm} batch", settings=settings(place), factors={"peak_lr": LRS}) for place, arm in enumerate(BATCHES)
    }
    records = planted(study, arms, outcome)
    half, nearly_all = (
        judging(sharpness_correlation(arms=tuple(BATCHES), level=1.0, least_share=share)) for share in (0.5, 0.95)
    )
    (panel,) = drawn(values.draw(records, half)).panels
    seeds = records.table.seed_numbers
    for arm, lrs in (("small", LRS), ("large", LRS[1:])):
        expected = [np.mean([log_sharpness(arm, lr, seed) for seed in seeds]) for lr in lrs]
        means = seen_in(panel).query(f"mark == 'estimate' and series == '{arm} batch'")
        assert np.log(means["x"]).tolist() == pytest.approx(expected, rel=1e-5)
        assert means["y"].tolist() == pytest.approx([0.1 * log for log in expected], rel=1e-5)
        assert len(seen_in(panel).query(f"mark == 'run' and series == '_{arm}'")) == len(lrs) * len(seeds)
    # All runs of a seed lie on one rising line.
    assert panel.title.startswith("rank correlation 1")
    assert values.draw(records, nearly_all) is None


# ---- forests


def test_a_row_is_the_interval_that_decides_and_its_seeds_lie_beside_it() -> None:
    """For a claim whose tests have one side, with intervals of 90%."""
    records = published("transformer_warmup")
    (judged,) = published_verdicts(records.study) or ()
    judgement = judgement_of(records, "warmup.pre_norm")
    (verdict,) = (verdict for verdict in judged.verdicts if verdict.claim == judgement.claim)
    assert all(criterion.one_sided for criterion in judgement.criteria)
    (panel,) = drawn(forest.draw(records, judgement)).panels
    rows = seen_in(panel).query("mark == 'estimate'")
    decides = [(100 * finding.low, 100 * finding.high) for finding in verdict.findings]
    assert list(zip(rows["left"], rows["right"], strict=True)) == [pytest.approx(interval) for interval in decides]
    assert not set(seen_in(panel).query("mark == 'run'")["y"]) & set(rows["y"])


def test_what_is_made_of_rows_is_a_row() -> None:
    """A gap of shares of points that rise, and a share of what spikes cost: neither names a figure."""
    for study, claim in (("lr_regimes", "lr.smooth"), ("spikes", "spike.playbook")):
        records = published(study)
        criteria = judgement_of(records, claim).criteria_at(records.scale)
        panels = drawn(forest.draw(records, judgement_of(records, claim))).panels
        assert {criterion.observe.figure for criterion in criteria} == {""}
        assert sum(len(seen_in(panel).query("mark == 'estimate'")) for panel in panels) == len(criteria)
