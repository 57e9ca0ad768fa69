"""One number of each claim of decay again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, estimates, gap, means, published, runs, trials

STUDY = "decay"
# Of arms that close verdicts rest on, and of those that tell steps from tokens; the others have six.
OF_MOST, OF_FLOORS = 12, 16


def curve(table: pd.DataFrame, arm: str) -> pd.Series:
    """The mean validation loss at the arm's best LR by evaluation, from 1; a loss above the start counts with it."""
    rows = runs(table, arm, best(table, arm))
    losses, first = curves(rows, "evaluation_loss"), rows["initial_loss"].to_numpy()[:, None]
    capped = np.where(losses < first, losses, first)
    return pd.Series(capped.mean(axis=0), index=range(1, capped.shape[1] + 1))


@pytest.mark.parametrize(
    ("claim", "criterion", "left", "right", "seeds"),
    [
        ("decay.cosine_vs_linear", 0, "linear", "cosine", OF_MOST),
        ("decay.cosine_vs_step", 1, "late_step", "cosine", 6),
        ("decay.beats_constant", 3, "constant", "late_step", 6),
        ("decay.final_positive", 0, "zero_20", "cosine", OF_FLOORS),
        ("decay.final_positive", 1, "zero_40", "tenth_40", OF_MOST),
        ("decay.final_positive", 2, "zero_80", "tenth_80", OF_FLOORS),
        ("decay.trapezoid", 1, "trapezoid_80", "tenth_80", 6),
    ],
)
def test_a_gap_of_tuned_losses(claim: str, criterion: int, left: str, right: str, seeds: int) -> None:
    assert gap(trials(STUDY, seeds), left, right) == pytest.approx(published(claim, STUDY, criterion), rel=1e-9)


@pytest.mark.parametrize(
    ("claim", "criterion", "left", "right"),
    [
        ("decay.cosine_vs_linear", 1, "linear_80", "tenth_80"),
        ("decay.cosine_vs_step", 1, "late_step", "cosine"),
        ("decay.beats_constant", 5, "constant_80", "tenth_80"),
        ("decay.final_positive", 0, "zero_20", "cosine"),
        ("decay.final_positive", 1, "zero_80", "tenth_80"),
        ("decay.final_positive", 2, "zero_20_75k", "tenth_20_75k"),
        ("decay.trapezoid", 0, "trapezoid", "cosine"),
    ],
)
def test_a_gap_of_longer_runs(claim: str, criterion: int, left: str, right: str) -> None:
    number = gap(trials(STUDY, scale="workstation"), left, right)
    assert number == pytest.approx(published(claim, STUDY, criterion, "workstation"), rel=1e-9)


def floor_gap(cell: str) -> float:
    """The cost of cosine decay to zero against that to 10%; at 20 tokens per parameter 10% has the shape's own name."""
    return gap(trials(STUDY, OF_FLOORS), f"zero_{cell}", "cosine" if cell == "20" else f"tenth_{cell}")


def test_the_trend_of_the_floor() -> None:
    """Two doublings lie between 20 and 80 tokens per parameter, in one batch."""
    assert (floor_gap("80") - floor_gap("20_few")) / 2 == pytest.approx(published("decay.floor_and_length", STUDY), rel=1e-9)


def test_what_the_steps_make_of_it() -> None:
    """More steps come before or after more tokens: the mean of both, as a share of what both make."""
    few, usual, long_in_few, long = map(floor_gap, ("20_few", "20", "80_few", "80"))
    share = ((few - usual) + (long_in_few - long)) / 2 / (few - long)
    assert share == pytest.approx(published("decay.steps_or_tokens", STUDY), rel=1e-9)


@pytest.mark.parametrize("claim", ["decay.floor_and_length", "decay.steps_or_tokens"])
def test_longer_runs_have_no_trend(claim: str) -> None:
    """The best LRs of a quarter of the steps are the highest that were tried."""
    table = trials(STUDY, scale="workstation")
    for arm in ("tenth_20_few", "zero_20_few"):
        assert best(table, arm) == means(table, arm).index.max()
    assert estimates(STUDY, "workstation")[claim] == [None]


def of_first_half(table: pd.DataFrame, arm: str) -> float:
    """20 evaluations: the first stands at 5% of the run, the tenth at its half."""
    losses = curve(table, arm)
    return float((losses[1] - losses[10]) / (losses[1] - losses[20]))


def test_what_the_first_half_makes() -> None:
    """The arm of cosine decay has more seeds than the one that it is set against, from whose loss after warmup both count."""
    assert of_first_half(trials(STUDY, OF_FLOORS), "cosine") == pytest.approx(published("decay.first_half", STUDY), rel=1e-9)
    table = trials(STUDY, OF_MOST)
    cosine, constant = curve(table, "cosine"), curve(table, "constant")
    from_one_loss = (cosine[1] - constant[10]) / (cosine[1] - constant[20])
    more = of_first_half(table, "cosine") - from_one_loss
    assert more == pytest.approx(published("decay.first_half", STUDY, 2), rel=1e-9)
