"""One number of each claim of decay again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from folklore.harness.judge.verdict_memory import published_verdicts
from folklore.harness.plan.catalog import load_study
from tests.reports.recomputed.tables import best, curves, final, gap, published, runs, start, trials

STUDY = "decay"
# Most of the arms at 20 tokens per parameter, and those of some close verdicts, have as many; the others have six.
OF_MOST = 12


def curve(table: pd.DataFrame, arm: str) -> pd.Series:
    """The mean validation loss at the arm's best LR by evaluation, from 1; a loss above the start counts with it."""
    found = runs(table, arm, best(table, arm))
    losses, first = curves(found, "evaluation_loss"), found["initial_loss"].to_numpy()[:, None]
    capped = np.where(losses < first, losses, first)
    return pd.Series(capped.mean(axis=0), index=range(1, capped.shape[1] + 1))


@pytest.mark.parametrize(
    ("claim", "criterion", "left", "right", "seeds"),
    [
        ("decay.cosine_vs_linear", 0, "linear", "cosine", OF_MOST),
        ("decay.cosine_vs_step", 1, "late_step", "cosine", OF_MOST),
        ("decay.beats_constant", 4, "constant", "step", OF_MOST),
        ("decay.final_positive", 0, "zero_20", "cosine", 24),
        ("decay.final_positive", 1, "zero_40", "tenth_40", 16),
        ("decay.final_positive", 2, "zero_80", "tenth_80", OF_MOST),
        ("decay.trapezoid", 1, "trapezoid_80", "tenth_80", 6),
    ],
)
def test_a_gap_of_tuned_losses(claim: str, criterion: int, left: str, right: str, seeds: int) -> None:
    assert gap(trials(STUDY, seeds), left, right) == pytest.approx(published(claim, STUDY, criterion), rel=1e-9)


@pytest.mark.parametrize(
    ("criterion", "run", "best_of", "seeds"), [(4, "right", "right_tenth", 36), (13, "narrow", "narrow_stay", 48)]
)
def test_what_lowering_gains(criterion: int, run: str, best_of: str, seeds: int) -> None:
    """Arms that are trained at one LR, at the best one and of three hidden units; the loss reduction ends at one of them."""
    table = trials(STUDY, seeds)
    stay, tenth = f"{run}_stay", f"{run}_tenth"
    gain = final(table, stay) - final(table, tenth)
    fall = start(table, *{best_of, stay, tenth}) - final(table, best_of)
    assert gain / fall == pytest.approx(published("decay.plateau_rule", STUDY, criterion), rel=1e-9)


def test_what_raising_too_low_a_learning_rate_gains(table: pd.DataFrame) -> None:
    change = final(table, "low_ten_times") - final(table, "low_stay")
    fall = start(table, "right_tenth", "low_ten_times", "low_stay") - final(table, "right_tenth")
    assert change / fall == pytest.approx(published("decay.raise_lr", STUDY, 1), rel=1e-9)


def test_a_plateau_falls_by_means_of_three_evaluations(table: pd.DataFrame) -> None:
    """30 evaluations: the 17th stands a tenth of the steps before the 19th, the switch comes after the 20th."""
    seen = curve(table, "low_stay")
    fall = start(table, "right_tenth", "low_stay") - final(table, "right_tenth")
    means = [np.mean([seen[at] for at in places]) for places in ((16, 17, 18), (18, 19, 20))]
    assert (means[0] - means[1]) / fall == pytest.approx(published("decay.raise_lr", STUDY, 0), rel=1e-9)


def test_the_trend_of_the_floor() -> None:
    """Two doublings lie between 20 and 80 tokens per parameter."""
    table = trials(STUDY, OF_MOST)
    change = gap(table, "zero_80", "tenth_80") - gap(table, "zero_20", "cosine")
    assert change / 2 == pytest.approx(published("decay.floor_and_length", STUDY), rel=1e-9)


def of_first_half(table: pd.DataFrame, arm: str) -> float:
    """20 evaluations: the first stands at 5% of the run, the tenth at its half."""
    seen = curve(table, arm)
    return float((seen[1] - seen[10]) / (seen[1] - seen[20]))


def test_what_the_first_half_makes() -> None:
    """The arm of cosine decay has more seeds than the one that it is set against."""
    table = trials(STUDY, 24)
    assert of_first_half(table, "cosine") == pytest.approx(published("decay.first_half", STUDY), rel=1e-9)
    table = trials(STUDY, OF_MOST)
    more = of_first_half(table, "cosine") - of_first_half(table, "constant")
    assert more == pytest.approx(published("decay.first_half", STUDY, 3), rel=1e-9)
    cosine, constant = curve(table, "cosine"), curve(table, "constant")
    from_one_loss = (cosine[1] - constant[10]) / (cosine[1] - constant[20])
    points = 100 * (of_first_half(table, "cosine") - from_one_loss)
    (judged,) = published_verdicts(load_study(STUDY)) or ()
    beside = [each for each in judged.reported["decay.first_half"] if "from cosine's loss" in each]
    assert f"20 tokens a parameter: {points:.3g} points [" in beside[0]
    assert abs(points) < 0.25 * abs(100 * more), "most of it is gone, as the note says"
