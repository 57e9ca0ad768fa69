"""One number of each claim of critical_batch again, from the published trials by plain pandas."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, first_at, published, runs, trials

STUDY = "critical_batch"
# With the further ones of every arm.
SEEDS = 40
# Panel -> the batch sizes of its arms, the anchor, and the share of the anchor's fall that the target lies at.
PANELS = {
    "mlp": ((4, 8, 16, 32, 64, 128, 256, 512), "mlp_8", 0.95),
    "noisy": ((8, 16, 32, 64, 128, 256, 512, 1024, 2048), "noisy_64", 0.95),
    "gpt": ((4, 8, 16, 32, 64, 128), "gpt_32", 0.9),
}


def target(table: pd.DataFrame, anchor: str, share: float) -> float:
    rows = runs(table, anchor, best(table, anchor))
    start = rows["initial_loss"].mean()
    return float(start - share * (start - curves(rows, "evaluation_loss")[:, -1].mean()))


def log_steps(run: pd.Series, goal: float) -> float:
    """ln of the steps at which a run's validation loss, by straight lines between evaluations, first comes to the goal."""
    steps, losses = np.r_[0.0, run["curve_evaluation_step"]], np.r_[run["initial_loss"], run["curve_evaluation_loss"]]
    return float(np.log(max(1.0, first_at(goal, steps, losses)) if (losses <= goal).any() else steps[-1]))


def tuned_runs(table: pd.DataFrame, arm: str, goal: float) -> pd.DataFrame:
    """Each seed at the LR that needs fewest steps on the others: ln of its steps, and whether it comes to the goal."""
    rows = runs(table, arm)
    rows = rows.assign(
        log=[log_steps(run, goal) for _, run in rows.iterrows()],
        reached=[min(losses) <= goal for losses in rows["curve_evaluation_loss"]],
    )
    wide = rows.pivot(index="seed", columns="lr", values="log")
    chosen = {seed: wide.drop(index=seed).mean().idxmin() for seed in wide.index}
    return rows[rows["lr"] == rows["seed"].map(chosen)]


@cache
def runs_of(panel: str) -> pd.DataFrame:
    (sizes, anchor, share), table = PANELS[panel], trials(STUDY, SEEDS)
    goal = target(table, anchor, share)
    return pd.concat([tuned_runs(table, f"{panel}_{size}", goal).assign(batch=size) for size in sizes])


def steps_of(panel: str) -> dict[int, float]:
    return {int(size): float(mean) for size, mean in runs_of(panel).groupby("batch")["log"].mean().items()}


def knee(steps: dict[int, float]) -> float:
    """B_crit of the hyperbola through the means of ln S, by trying many: the best level is the mean of the residuals."""
    tried = np.geomspace(1, 10_000, 400_001)
    sums = np.zeros((2, len(tried)))
    for size, log in steps.items():
        residual = log - np.log1p(tried / size)
        sums += np.stack([residual, residual**2])
    return float(tried[(sums[1] - sums[0] ** 2 / len(steps)).argmin()])


def noise_scale(table: pd.DataFrame, arm: str, first: float, last: float) -> float:
    """tr(Sigma) over |G|^2 of the probes in a part of the run, each averaged before they are divided."""
    spent, batch = {"cnn_noise": 160, "gpt_noise": 130}[arm], 64
    share, variance, norm = (
        curves(runs(table, arm), f"probe_{name}") for name in ("step", "gradient_variance", "gradient_norm")
    )
    inside = (share[0] / spent > first) & (share[0] / spent <= last)
    return float(batch * variance[:, inside].mean() / (norm**2 - variance)[:, inside].mean())


def test_the_critical_batch_size() -> None:
    """On the GPT, all of whose runs come to the target."""
    assert knee(steps_of("gpt")) == pytest.approx(published("crit.hyperbola", STUDY, 3), rel=1e-4)


@pytest.mark.parametrize(
    ("claim", "panel", "criterion", "size"),
    [("crit.hyperbola", "mlp", 4, 64), ("crit.ceiling", "gpt", 7, 64), ("crit.small_batch_slow", "gpt", 7, 4)],
)
def test_what_a_doubled_batch_gains(claim: str, panel: str, criterion: int, size: int) -> None:
    steps = steps_of(panel)
    assert np.exp(steps[size] - steps[2 * size]) == pytest.approx(published(claim, STUDY, criterion), rel=1e-6)


def test_the_critical_batch_size_over_the_noise_scale(table: pd.DataFrame) -> None:
    """By a mean over five pieces of the way to the target, and by the ratio of the means of its parts."""
    pieces = [noise_scale(table, "gpt_noise", first, first + 0.1) for first in np.arange(5) / 10]
    for criterion, scale in ((6, np.mean(pieces)), (7, noise_scale(table, "gpt_noise", 0.0, 0.5))):
        assert knee(steps_of("gpt")) / scale == pytest.approx(published("crit.noise_scale", STUDY, criterion), rel=1e-4)


def test_the_noise_scale_late_over_early(table: pd.DataFrame) -> None:
    ratio = noise_scale(table, "cnn_noise", 0.5, 1.0) / noise_scale(table, "cnn_noise", 0.0, 0.05)
    assert ratio == pytest.approx(published("crit.grows", STUDY, 2), rel=1e-6)


def test_the_critical_batch_size_with_noisy_labels_over_that_with_clean_ones() -> None:
    """All of these runs come to the target."""
    assert all(runs_of(panel)["reached"].all() for panel in ("noisy", "mlp"))
    noisy, clean = (knee(steps_of(panel)) for panel in ("noisy", "mlp"))
    assert noisy / clean == pytest.approx(published("crit.range", STUDY), rel=1e-4)


def test_what_a_larger_batch_saves_where_the_noise_is_large() -> None:
    """The first two criteria of the claim show that the noise is dialled."""
    noisy, clean = (steps_of(panel)[16] - steps_of(panel)[128] for panel in ("noisy", "mlp"))
    assert np.exp(noisy - clean) == pytest.approx(published("crit.advice", STUDY, 2), rel=1e-6)
