"""The table of arms against plain means and Student's intervals on planted trials."""

import numpy as np
import pandas as pd
import pytest
import scipy

from folklore.harness.declare import Arm, Study
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.trial_sets import HERE, TrialSet, trial_sets
from folklore.reports.arms_table import MOST_ROWS, arms_table
from folklore.studies.kit import loss_gap, no_worse
from tests.harness.helpers import INITIAL_LOSS, bowl, changed, frame, result

BEST = 2.0**-7


def with_arms(study: Study, **arms: Arm) -> Study:
    return changed(study, arms={**study.model_dump()["arms"], **arms})


def recorded(study: Study, floors: dict[str, float], noise: float = 0.01) -> TrialSet:
    def outcome(trial: Trial):
        optimum = -20 if trial.arm == "edge" else -7
        if trial.arm == "half" and trial.configuration.training.peak_lr > 2.0**-6:
            return result(float("nan"), divergence_step=3)
        return result(bowl(trial, optimum, floors.get(trial.arm, 2.0), noise=noise))

    (records,) = trial_sets(study, frame(study, outcome), HERE)
    return records


def losses(records: TrialSet, arm: str) -> np.ndarray:
    """Test losses at the value with the lowest mean validation loss, by seed."""
    own = records.trials[records.trials["arm"] == arm].sort_values("seed")
    finished = own.assign(validation_loss=own["validation_loss"].fillna(INITIAL_LOSS))
    best = finished.groupby("point")["validation_loss"].mean().idxmin()
    return own[own["point"] == best]["test_loss"].to_numpy()


def student(values: np.ndarray) -> tuple[float, float, float]:
    half = scipy.stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return values.mean() - half, values.mean(), values.mean() + half


def test_it_is_what_plain_arithmetic_gives(study: Study) -> None:
    records = recorded(study, {"none": 2.1})
    table = arms_table(records)
    (panel,) = table.panels
    reference, other = panel.rows
    assert (reference.label, reference.reference, reference.gap) == ("no <warmup>", True, "")
    assert (panel.reference, panel.best_of, panel.loss) == ("no <warmup>", "best LR", "test loss (nats)")
    none, half = losses(records, "none"), losses(records, "half")
    for row, values in ((reference, none), (other, half)):
        assert str(row.best) == '0.00781 <span class="soft">(2<span class="caret">^</span><sup>−7</sup>)</span>'
        assert row.seen == pytest.approx(student(values), abs=0.002)
        assert row.loss == f"{values.mean():.4f}", "as many digits as an interval of five thousandths leaves"
    assert other.difference is not None
    low, estimate, high = other.difference
    reduction = INITIAL_LOSS - half.mean()
    assert estimate == pytest.approx((half.mean() - none.mean()) / reduction)
    # Paired: the interval of the differences of the seeds, as a share of the loss reduction.
    assert (low, high) == pytest.approx([student(half - none)[end] / reduction for end in (0, 2)], abs=0.003)
    assert other.gap == f"−{-100 * estimate:.1f}%"
    assert (reference.diverged, other.diverged) == ("0 of 25", "5 of 25")
    assert other.side == "better"


def test_seeds_are_paired(study: Study) -> None:
    """Noise that all arms share by seed is in their losses' intervals, and in no difference."""

    def outcome(trial: Trial):
        return result(bowl(trial, -7, 2.0 if trial.arm == "half" else 2.1) + 0.3 * trial.seed)

    (records,) = trial_sets(study, frame(study, outcome), HERE)
    (panel,) = arms_table(records).panels
    _, row = panel.rows
    assert row.seen is not None
    assert row.difference is not None
    assert row.seen[2] - row.seen[0] > 0.5
    assert row.difference[2] - row.difference[0] < 0.1


def test_the_arm_that_is_declared_is_the_reference(study: Study) -> None:
    (panel,) = arms_table(recorded(changed(study, {"arms.half.reference": True}), {})).panels
    assert [row.reference for row in panel.rows] == [False, True], "in declared order"
    assert panel.reference == "half warmup"
    assert panel.rows[0].gap


def test_an_optimum_at_the_edge_is_no_number(study: Study) -> None:
    with_edge = with_arms(study, edge=Arm(label="at the edge", settings={"warmup_fraction": 0.25}))
    (panel,) = arms_table(recorded(with_edge, {})).panels
    row = panel.rows[-1]
    assert (row.loss, row.gap, row.note) == ("", "", "at the edge of its grid: no optimum")
    assert "−9" in row.best
    # And if it is the reference, there is nothing to compare others with.
    (panel,) = arms_table(recorded(changed(with_edge, {"arms.edge.reference": True}), {})).panels
    assert [row.note for row in panel.rows[:2]] == ["the reference has no number"] * 2
    assert all(row.loss for row in panel.rows[:2])


def test_a_difference_that_a_claim_rests_on_is_the_claims(study: Study) -> None:
    """The same trials gave two intervals on one page: the table's, of the reference's loss, and the claim's."""
    decides = no_worse(loss_gap("none", "half"), "gap", "says", margin=0.01).model_dump()
    records = recorded(changed(study, {"judgements.0.criteria": [decides]}), {"none": 2.1})
    (verdict,) = records.verdicts()
    (panel,) = arms_table(records, [verdict]).panels
    assert verdict.estimate is not None
    assert verdict.low is not None
    assert verdict.high is not None
    assert panel.rows[1].difference == (-verdict.high, -verdict.estimate, -verdict.low)
    assert panel.rows[1].gap_interval.endswith(") 90%")


@pytest.mark.parametrize(("floor", "low"), [(0.0, 0.0), (-0.05, -0.1)])
def test_an_interval_ends_at_zero_if_no_loss_is_negative(study: Study, floor: float, low: float) -> None:
    """Student's interval of a squared error near zero reached below it. That of a log density may."""

    def outcome(trial: Trial):
        return result(bowl(trial, -7, floor + 0.1 * (trial.seed == study.seeds_at("laptop"))))

    (records,) = trial_sets(study, frame(study, outcome), HERE)
    interval = arms_table(records).panels[0].rows[0].seen
    assert interval is not None
    assert interval[0] == 0.0 if low == 0.0 else interval[0] < -0.05


def test_arms_of_one_point_have_their_final_loss(study: Study) -> None:
    one = with_arms(study, once=Arm(label="once", settings={"warmup_fraction": 0.1}, factors={"peak_lr": (BEST,)}))
    records = recorded(one, {"once": 1.9})
    (panel,) = arms_table(records).panels
    assert panel.rows[-1].seen == pytest.approx(student(losses(records, "once")), abs=0.002)
    assert panel.rows[-1].diverged == "0 of 5"


def test_what_varies_two_factors_says_so(study: Study) -> None:
    two = Arm(label="two", panel="other", factors={"warmup_fraction": (0.1, 0.2)})
    table = arms_table(recorded(with_arms(study, two=two, three=Arm(label="three", panel="other")), {}))
    notes = [row.note for row in table.panels[1].rows]
    assert notes[0].startswith("it varies ")
    assert notes[1] == "the reference has no number"


def test_range_tests_are_left_out(study: Study) -> None:
    settings = {"schedule": "exponential", "warmup_fraction": 0.0}
    ramp = Arm(label="ramp", panel="range tests", settings=settings, factors={"peak_lr": (1.0,)})
    table = arms_table(recorded(with_arms(study, ramp=ramp), {}))
    assert table.range_tests == ("range tests: ramp",)
    assert [row.label for panel in table.panels for row in panel.rows] == ["no <warmup>", "half warmup"]


def test_an_arm_alone_in_its_panel_is_compared_with_none(study: Study) -> None:
    alone = with_arms(study, alone=Arm(label="alone", panel="<own>", settings={"warmup_fraction": 0.25}))
    table = arms_table(recorded(alone, {}))
    last = table.panels[-1]
    assert (last.reference, [row.label for row in last.rows]) == ("", ["<own>: alone"])
    assert last.rows[0].loss


def test_many_arms_are_folded(study: Study) -> None:
    arms = {
        f"arm{i}": Arm(label=f"arm {i}", panel="many" if i < 20 else "more", settings={"warmup_fraction": (i + 1) / 100})
        for i in range(40)
    }
    table = arms_table(recorded(with_arms(study, **arms), {}))
    assert (table.arms, len(table.panels), table.open_panels) == (42, 3, 1)
    many = table.panels[1]
    assert len(many.open_rows) == MOST_ROWS
    assert len(many.folded_rows) == 20 - MOST_ROWS
    assert many.summary.startswith("lowest loss: arm ")


def test_missing_trials_are_no_number(study: Study) -> None:
    whole = recorded(study, {})
    kept = whole.trials.drop(whole.trials.index[whole.trials["arm"] == "none"][:1])
    (panel,) = arms_table(TrialSet(study, "laptop", "cpu", HERE, pd.DataFrame(kept))).panels
    assert panel.rows[0].note.startswith("1 of 25 trials")
    assert panel.rows[1].note == "the reference has no number"
