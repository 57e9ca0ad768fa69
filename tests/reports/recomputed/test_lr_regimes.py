"""One number of each claim of lr_regimes again, from the published trials by plain pandas and numpy."""

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import best, curves, fall, final, first_at, means, published, runs, start, trials, tuned

STUDY = "lr_regimes"
BEST = {"mlp_sgd": 2.0**-4.5, "mlp_adam": 2.0**-6, "gpt_sgd": 2.0**-2, "gpt_adam": 2.0**-6}
TOO_HIGH = {"mlp_sgd": 2.0**-2, "mlp_adam": 2.0**-2, "gpt_adam": 2.0**-3}


@pytest.fixture(scope="module")
def cosine() -> pd.DataFrame:
    """With all seeds of the arms at many LRs."""
    return trials(STUDY, seeds=16)


def test_a_basin(cosine: pd.DataFrame) -> None:
    """On a grid a hundred times as fine, interpolated, between the first values on either side that are not below one bar."""
    widths, arms = {}, ("mlp_adam", "mlp_sgd")
    lowest = min(means(cosine, arm)["test_loss"].min() for arm in arms)
    bar = lowest + 0.05 * (start(cosine, *arms) - lowest)
    for arm in arms:
        losses = means(cosine, arm)["test_loss"]
        x = np.log2(losses.index.to_numpy(dtype=float))
        fine = np.linspace(x[0], x[-1], 200_001)
        inside = np.interp(fine, x, losses) <= bar
        middle = np.abs(fine - x[losses.to_numpy().argmin()]).argmin()
        outside = np.flatnonzero(~inside)
        widths[arm] = fine[outside[outside > middle][0]] - fine[outside[outside < middle][-1]]
    assert published("adam.lr_tolerance", STUDY) == pytest.approx(widths["mlp_adam"] / widths["mlp_sgd"], rel=1e-4)


def test_the_share_lost_at_three_times_the_best(cosine: pd.DataFrame) -> None:
    """By numpy's own least squares through two octaves on either side."""
    losses = means(cosine, "gpt_adam")
    x = np.log2(losses.index.to_numpy(dtype=float))
    near = np.abs(x - np.log2(best(cosine, "gpt_adam"))) <= 2 + 1e-6
    square, slope, _ = np.polyfit(x[near], losses["validation_loss"].to_numpy()[near], 2)
    there = np.interp(-slope / (2 * square) + np.log2(3), x, losses["test_loss"])
    expected = (there - tuned(cosine, "gpt_adam")) / fall(cosine, "gpt_adam")
    assert published("lr.sharp", STUDY, 7) == pytest.approx(expected, rel=1e-6)


def test_steps_at_a_tenth_of_the_lr(cosine: pd.DataFrame) -> None:
    fast, slow = runs(cosine, "gpt_adam_constant", BEST["gpt_adam"]), runs(cosine, "gpt_adam_slow", BEST["gpt_adam"] / 10)
    first = float(fast["initial_loss"].mean())
    target = first - 0.8 * (first - curves(fast, "evaluation_loss")[:, -1].mean())

    def log_steps(rows: pd.DataFrame) -> float:
        initial, losses = rows["initial_loss"].to_numpy()[:, None], curves(rows, "evaluation_loss")
        steps = np.r_[0, curves(rows, "evaluation_step")[0]]
        return float(
            np.mean([np.log(first_at(target, steps, row)) for row in np.hstack([initial, np.minimum(losses, initial)])])
        )

    ratio = np.exp(log_steps(slow) - log_steps(fast))
    assert published("lr.too_low", STUDY, 6) == pytest.approx(ratio, rel=1e-6)


def rises(table: pd.DataFrame, arm: str, lr: float, alone: str = "") -> float:
    """Share of evaluations that rise by more than 0.025 nats; 1 for a diverged run. alone: an arm of this LR only."""
    rows = runs(table, alone or arm, lr)
    share = curves(rows, "evaluation_step") / curves(rows, "evaluation_step").max()
    inside = (share[0] > 0.1 + 1e-9) & (share[0] <= 0.6 + 1e-9)
    up = (np.diff(curves(rows, "evaluation_loss")[:, inside], axis=1) > 0.025).mean(axis=1)
    return float(np.where(rows["outcome"] == "diverged", 1.0, up).mean())


def test_a_bouncing_loss(cosine: pd.DataFrame) -> None:
    for index, arm in enumerate(TOO_HIGH):
        expected = rises(cosine, arm, TOO_HIGH[arm]) - rises(cosine, arm, BEST[arm])
        assert published("lr.too_high", STUDY, index) == pytest.approx(expected, abs=1e-9)


def test_a_smooth_loss() -> None:
    """On all 100 seeds."""
    table, best = trials(STUDY, seeds=100), BEST["mlp_adam"]
    expected = rises(table, "mlp_adam", best, "mlp_adam_best") - rises(table, "mlp_adam", best / 4, "mlp_adam_quarter")
    assert published("lr.smooth", STUDY, 1) == pytest.approx(expected, abs=1e-9)


def test_a_falling_norm(cosine: pd.DataFrame) -> None:
    for index, (arm, lr) in enumerate(BEST.items()):
        rows = runs(cosine, arm, lr)
        share = curves(rows, "probe_step") / (256 if arm.startswith("mlp") else 400)
        late = share[0] > 0.1
        slopes = [
            np.polyfit(np.log(share[0][late]), np.log(norms[late]), 1)[0] for norms in curves(rows, "probe_gradient_norm")
        ]
        assert published("lr.norm_falls", STUDY, index) == pytest.approx(np.mean(slopes), rel=1e-4, abs=1e-6)


def test_a_stuck_matrix(table: pd.DataFrame) -> None:
    def apart(arm: str) -> float:
        rows = runs(table, arm, BEST["gpt_sgd"])
        share = curves(rows, "probe_step")[0] / 400
        middle = (share > 0.25) & (share <= 0.75)
        most, least = (curves(rows, f"probe_matrix_update_ratio_{name}")[:, middle].mean() for name in ("most", "least"))
        return float(most / least)

    assert published("lr.layers_differ", STUDY, 8) == pytest.approx(apart("gpt_sgd_stuck") / apart("gpt_sgd"), rel=1e-6)


def test_a_fast_fall(cosine: pd.DataFrame) -> None:
    rows = runs(cosine, "gpt_sgd", BEST["gpt_sgd"])
    share, losses = curves(rows, "step")[0] / 400, curves(rows, "train_loss")

    def over(first: float) -> float:
        return float(losses[:, (share > first + 1e-9) & (share <= first + 0.1 + 1e-9)].mean())

    expected = (over(0.15) - over(0.875)) / fall(cosine, "gpt_sgd")
    assert published("lr.phases", STUDY, 8) == pytest.approx(expected, rel=1e-6)


def test_what_the_norm_tells() -> None:
    """On the 20 seeds that all flat runs have."""
    table = trials(STUDY, seeds=20)

    def signal(rows: pd.DataFrame) -> np.ndarray:
        return curves(rows, "probe_gradient_norm") ** 2 - curves(rows, "probe_gradient_variance")

    best = BEST["mlp_sgd"]
    healthy = runs(table, "mlp_sgd_best", best)  # trials that two arms share stand under the first
    first = np.sqrt(np.maximum(signal(healthy)[:, 0], 0))
    own_fall = (healthy["initial_loss"] - healthy["test_loss"]).to_numpy()
    hits: dict[str, list[np.ndarray]] = {"vanishing": [], "dead": [], "small": [], "large": []}
    for arm, lrs in (
        ("deep", [best]),
        ("tiny", [best / 1000]),
        ("tiny_tanh", [best / 1000]),
        *((high, [2.0 ** (exponent / 2) for exponent in range(-6, -1)]) for high in ("high", "high_tanh")),
    ):
        for lr in lrs:
            rows = runs(table, f"mlp_sgd_{arm}", lr)
            late = signal(rows)[:, signal(rows).shape[1] // 2 :].mean(axis=1)
            with np.errstate(divide="ignore"):  # one seed has nothing left of its first norm
                ratio = np.sqrt(np.maximum(late, 0)) / first
            losses = curves(rows, "evaluation_loss")[:, 10:]
            flat = np.isfinite(late) & (np.abs(losses.mean(axis=1) - rows["initial_loss"].to_numpy()) < 0.5 * own_fall)
            if arm == "deep":
                hits["vanishing"].append((ratio < 0.3)[flat])
            elif arm.startswith("tiny"):
                hits["small"].append(((ratio >= 0.3) & (ratio <= 0.96))[flat])
            else:
                swings = np.sqrt((np.diff(losses, axis=1) ** 2).mean(axis=1)) >= 0.1 * own_fall
                hits["dead"].append((ratio < 0.3)[flat & ~swings])
                hits["large"].append((ratio > 0.96)[flat & swings])
    shares = {cause: np.concatenate(parts).mean() for cause, parts in hits.items()}
    expected = ((shares["vanishing"] + shares["dead"]) / 2 + shares["small"] + shares["large"]) / 3
    assert published("lr.grad_not_loss", STUDY) == pytest.approx(expected)


def test_the_most_important() -> None:
    """How far the four changes of the LR move the loss over how far those of the batch size do, on all 28 seeds."""
    table = trials(STUDY, seeds=28)
    lr = BEST["gpt_adam"]
    by_size = np.array([final(table, f"gpt_adam_batch_{size}") for size in (2, 8, 32, 160)])
    # Trials that two arms share stand under the first.
    either = table[table["arm"].isin(["gpt_adam_best", "gpt_adam_lr"])].groupby("lr")["test_loss"].mean()
    by_lr = [either.iloc[np.abs(np.log(either.index / (times * lr))).argmin()] for times in (0.1, 0.5, 1, 2, 10)]
    baseline = by_lr.pop(2)
    expected = np.abs(np.array(by_lr) - baseline).mean() / np.abs(by_size - baseline).mean()
    assert published("lr.most_important", STUDY, 17) == pytest.approx(expected, rel=1e-6)
