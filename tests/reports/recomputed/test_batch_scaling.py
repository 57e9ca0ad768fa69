"""One number of each claim of batch_scaling again, from the published trials by plain pandas and NumPy."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, best, means, published, trials, vertex

STUDY = "batch_scaling"


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """With all seeds of most of its arms."""
    return trials(STUDY, seeds=15)


def loss_near(table: pd.DataFrame, arm: str, octave: float) -> float:
    loss = means(table, arm)["test_loss"]
    return float(np.interp(octave, np.log2(loss.index.to_numpy()), loss.to_numpy()))


@pytest.mark.parametrize(
    ("claim", "prefix", "sizes"),
    [("scaling.sgd_linear", "mlp_sgd", (2, 4, 8, 16, 32, 64)), ("scaling.adam_sqrt", "mlp_adam", (4, 8, 16, 32, 64))],
)
def test_an_exponent(table: pd.DataFrame, claim: str, prefix: str, sizes: tuple[int, ...]) -> None:
    exponent = np.polyfit(np.log2(sizes), [vertex(table, f"{prefix}_{size}") for size in sizes], 1)[0]
    assert exponent == pytest.approx(published(claim, STUDY), rel=1e-6)


def test_the_regret_of_the_square_root_rule(table: pd.DataFrame) -> None:
    ruled = loss_near(table, "long_adam_256", vertex(table, "long_adam_8") + 2.5)
    regret = ruled - loss_near(table, "long_adam_256", vertex(table, "long_adam_256"))
    arms = ("long_adam_8", "long_adam_256")
    start = table[table["arm"].isin(arms)]["initial_loss"].mean()
    lowest = min(at(table, arm, best(table, arm)) for arm in arms)
    assert regret / (start - lowest) == pytest.approx(published("scaling.breaks", STUDY, 2), rel=1e-3)


@pytest.mark.parametrize(
    ("criterion", "small", "large", "seeds"), [(0, "mlp_sgd_16", "mlp_sgd_64", 80), (1, "gpt_sgd_2", "gpt_sgd_8", 10)]
)
def test_the_gap_of_trajectories(criterion: int, small: str, large: str, seeds: int) -> None:
    """Without the sign of noise: the published gap lies between the signed one and the plain mean of absolute gaps."""
    table = trials(STUDY, seeds)
    lr = best(table, small)
    curves = {}
    for arm, factor in ((small, 1.0), (large, 4.0)):
        rows = table[(table["arm"] == arm) & np.isclose(table["lr"], factor * lr)].sort_values("seed")
        curves[arm] = np.stack(rows["curve_evaluation_loss"].to_list())[:, 2:]
        assert len(rows) == seeds
    gap = (curves[large] - curves[small]).mean(axis=0)
    fall = table[table["arm"].isin(tuple(curves))]["initial_loss"].mean() - at(table, small, lr)
    least, most = abs(gap.mean()) / fall, np.abs(gap).mean() / fall
    assert least - 0.005 <= published("scaling.trajectory", STUDY, criterion) <= most + 1e-6


def test_what_warmup_gains_a_larger_batch(table: pd.DataFrame) -> None:
    """AdamW, at 8 and at the root of 8 times the LR tuned there at 64, with short and long warmup."""
    tuned = vertex(table, "gpt_adam_8")
    gain_of_small = loss_near(table, "gpt_adam_8", tuned) - loss_near(table, "warm_adam_8", tuned)
    gain_of_large = loss_near(table, "short_adam_64", tuned + 1.5) - loss_near(table, "warm_adam_64", tuned + 1.5)
    start = table[table["arm"] == "gpt_adam_8"]["initial_loss"].mean()
    fall = start - at(table, "gpt_adam_8", best(table, "gpt_adam_8"))
    assert (gain_of_large - gain_of_small) / fall == pytest.approx(published("scaling.warmup_with_batch", STUDY, 1), rel=1e-3)
