"""One number of each claim of batch_scaling again, from the published trials by plain pandas and NumPy."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, best, curves, fall, means, published, runs, start, trials, vertex

STUDY = "batch_scaling"
# Of most of its arms.
SEEDS = 15


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
    share = regret / fall(table, "long_adam_8", "long_adam_256")
    assert share == pytest.approx(published("scaling.breaks", STUDY, 2), rel=1e-3)


@pytest.mark.parametrize(
    ("criterion", "small", "large", "seeds"), [(0, "mlp_sgd_16", "mlp_sgd_64", 80), (1, "gpt_sgd_2", "gpt_sgd_8", 10)]
)
def test_the_gap_of_trajectories(criterion: int, small: str, large: str, seeds: int) -> None:
    """Without the sign of noise: the published gap lies between the signed one and the plain mean of absolute gaps."""
    table = trials(STUDY, seeds)
    lr = best(table, small)
    own, theirs = (curves(runs(table, *setting), "evaluation_loss")[:, 2:] for setting in ((small, lr), (large, 4 * lr)))
    assert len(own) == len(theirs) == seeds
    gap = (theirs - own).mean(axis=0)
    reduction = start(table, small, large) - at(table, small, lr)
    least, most = abs(gap.mean()) / reduction, np.abs(gap).mean() / reduction
    assert least - 0.005 <= published("scaling.trajectory", STUDY, criterion) <= most + 1e-6


def test_what_warmup_gains_a_larger_batch(table: pd.DataFrame) -> None:
    """AdamW, at 8 and at the root of 8 times the LR tuned there at 64, with short and long warmup."""
    lr = vertex(table, "gpt_adam_8")
    gain_of_small = loss_near(table, "gpt_adam_8", lr) - loss_near(table, "warm_adam_8", lr)
    gain_of_large = loss_near(table, "short_adam_64", lr + 1.5) - loss_near(table, "warm_adam_64", lr + 1.5)
    more = (gain_of_large - gain_of_small) / fall(table, "gpt_adam_8")
    assert more == pytest.approx(published("scaling.warmup_with_batch", STUDY, 1), rel=1e-3)
