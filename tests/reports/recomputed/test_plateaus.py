"""One number of each claim of plateaus again, from the published trials by plain pandas."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import curves, final, published, runs, start, trials

STUDY = "plateaus"


@pytest.mark.parametrize(
    ("criterion", "run", "best_of", "seeds"), [(4, "right", "right_tenth", 36), (13, "narrow", "narrow_stay", 42)]
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
    rows = runs(table, "low_stay")
    losses, first = curves(rows, "evaluation_loss"), rows["initial_loss"].to_numpy()[:, None]
    curve = pd.Series(np.where(losses < first, losses, first).mean(axis=0), index=range(1, losses.shape[1] + 1))
    fall = start(table, "right_tenth", "low_stay") - final(table, "right_tenth")
    means = [np.mean([curve[at] for at in places]) for places in ((16, 17, 18), (18, 19, 20))]
    assert (means[0] - means[1]) / fall == pytest.approx(published("decay.raise_lr", STUDY, 0), rel=1e-9)
