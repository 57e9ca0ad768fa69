"""Each claim of the precision study: one decisive number again, from the published trials by pandas and numpy alone."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tests.reports.recomputed.tables import at, best, curves, fall, gap, means, published, runs, start, tuned

STUDY = "precision"


def not_finite(table: pd.DataFrame, arm: str, lr: float) -> float:
    return float((~np.isfinite(curves(runs(table, arm, lr), "train_loss"))).any(axis=1).mean())


def largest_trainable(table: pd.DataFrame, arm: str, bar: float) -> float:
    losses = means(table, arm)["test_loss"].sort_index()
    last = int(np.flatnonzero(losses.to_numpy() <= bar)[-1])
    low, high = losses.index.to_numpy(dtype=float)[last : last + 2]
    below, above = losses.to_numpy()[last : last + 2]
    return float(low * (high / low) ** ((bar - below) / (above - below)))


@pytest.mark.parametrize(
    ("claim", "criterion", "left", "right", "of"),
    [
        ("prec.bf16_loss", 1, "small_bf16", "small_fp32", tuned),
        ("prec.bf16_weights", 0, "small_nearest", "small_bf16", tuned),
        ("prec.fp16_underflow", 1, "fp16_2m", "fp32", tuned),
        ("prec.fp16_scaled", 1, "fp16_2m_scaled", "fp32", tuned),
        ("prec.fp8", 0, "fp8", "fp32", tuned),
    ],
)
def test_a_gap_of_losses(
    table: pd.DataFrame, claim: str, criterion: int, left: str, right: str, of: Callable[[pd.DataFrame, str], float]
) -> None:
    assert gap(table, left, right, of) == pytest.approx(published(claim, STUDY, criterion), rel=1e-6)


def test_stochastic_rounding(table: pd.DataFrame) -> None:
    made_up = gap(table, "small_nearest", "small_stochastic", tuned) / gap(table, "small_nearest", "small_bf16", tuned)
    assert made_up == pytest.approx(published("prec.bf16_weights", STUDY, 1), rel=1e-6)


def test_fp16_underflow(table: pd.DataFrame) -> None:
    underflow = runs(table, "fp32_passes", best(table, "fp32_passes"))["curve_probe_layer_underflow_activation"]
    shares = [np.mean([probe[3] for probe in probes]) for probes in underflow]
    assert np.mean(shares) == pytest.approx(published("prec.fp16_underflow", STUDY), rel=1e-6)


def test_learning_stops(table: pd.DataFrame) -> None:
    lost = at(table, "fp16_2m", best(table, "fp32")) - tuned(table, "fp32")
    share = lost / fall(table, "fp16_2m", "fp32")
    assert share == pytest.approx(published("prec.fp16_underflow", STUDY, 2), rel=1e-6)


def test_fp16_overflow(table: pd.DataFrame) -> None:
    share = float((table[table["arm"] == "large_bf16"]["outcome"] == "diverged").mean())
    assert share == pytest.approx(published("prec.fp16_overflow", STUDY, 1))


def test_grad_norms(table: pd.DataFrame) -> None:
    lr = best(table, "small_fp32")
    bf16, fp32 = (curves(runs(table, f"small_{name}", lr), "probe_gradient_norm") for name in ("bf16", "fp32"))
    off = np.median(np.abs(bf16 / fp32 - 1), axis=1).mean()
    assert off == pytest.approx(published("prec.grad_norms", STUDY), rel=1e-6)


def test_sensitive_ops(table: pd.DataFrame) -> None:
    """Another generator's inputs: of numpy's FP16, summed in FP32, with the same order of roundings."""
    errors = []
    for seed in range(8):
        x = np.random.default_rng(seed).normal(100, 1, (64, 512)).astype(np.float16)
        half = np.float16
        wide = x.astype(np.float64)
        right = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        total = x.astype(np.float32).sum(1, keepdims=True).astype(half)
        centred = x - total / half(512)
        square = (centred * centred).astype(np.float32).sum(1, keepdims=True).astype(half)
        actual = (centred / np.sqrt(square / half(512) + half(1e-5))).astype(np.float64)
        errors.append(np.sqrt(((actual - right) ** 2).mean() / (right**2).mean()) * 2**11)
    assert np.exp(np.log(errors).mean()) == pytest.approx(published("prec.sensitive_ops", STUDY, 2), rel=0.1)


def test_fp16_nan(table: pd.DataFrame) -> None:
    lr = best(table, "fp32")
    assert not_finite(table, "fp16_2m", lr) == pytest.approx(published("prec.fp16_nan", STUDY))
    assert not_finite(table, "fp16", 512 * lr) == pytest.approx(published("prec.fp16_nan", STUDY, 2))


def test_lr_range(table: pd.DataFrame) -> None:
    lowest = float(means(table, "fp32")["test_loss"].min())
    bar = lowest + 0.5 * (start(table, "fp32") - lowest)
    ratio = largest_trainable(table, "fp16_2m", bar) / largest_trainable(table, "fp32", bar)
    assert ratio == pytest.approx(published("prec.lr_range", STUDY), rel=1e-6)
