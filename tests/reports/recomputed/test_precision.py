"""Each claim of the precision study: one decisive number again, from the published trials by pandas and numpy alone."""

import numpy as np
import pandas as pd
import pytest
import torch

from tests.reports.recomputed.tables import at, best, means, published, tuned

STUDY = "precision"


def start(table: pd.DataFrame, *arms: str) -> float:
    """Mean loss at initialization: of each seed's runs that ended well (of all, if none did), then over seeds and arms."""
    of_arms = []
    for arm in arms:
        rows = table[table["arm"] == arm]
        seeds = []
        for _, runs in rows.groupby("seed"):
            well = runs[runs["outcome"] == "finished"]
            seeds.append((well if len(well) else runs)["initial_loss"].mean())
        of_arms.append(np.mean(seeds))
    return float(np.mean(of_arms))


def of_the_fall(table: pd.DataFrame, left: str, right: str, loss: float | None = None) -> float:
    above = (tuned(table, left) if loss is None else loss) - tuned(table, right)
    return above / (start(table, left, right) - min(tuned(table, left), tuned(table, right)))


def one_lr(table: pd.DataFrame, left: str, right: str) -> float:
    """Of arms trained at one LR."""
    losses = [float(table[table["arm"] == arm]["test_loss"].mean()) for arm in (left, right)]
    return (losses[0] - losses[1]) / (start(table, left, right) - min(losses))


def not_finite(table: pd.DataFrame, arm: str, lr: float) -> float:
    runs = table[(table["arm"] == arm) & np.isclose(table["lr"], lr)]
    return float(np.mean([not np.isfinite(np.asarray(curve, dtype=float)).all() for curve in runs["curve_train_loss"]]))


def largest_trainable(table: pd.DataFrame, arm: str, bar: float) -> float:
    losses = means(table, arm)["test_loss"].sort_index()
    last = int(np.flatnonzero(losses.to_numpy() <= bar)[-1])
    low, high = losses.index.to_numpy(dtype=float)[last : last + 2]
    below, above = losses.to_numpy()[last : last + 2]
    return float(low * (high / low) ** ((bar - below) / (above - below)))


def test_bf16_loss(table: pd.DataFrame) -> None:
    assert of_the_fall(table, "bf16", "fp32") == pytest.approx(published("prec.bf16_loss", STUDY), rel=1e-6)
    assert one_lr(table, "cnn_bf16", "cnn_fp32") == pytest.approx(published("prec.bf16_loss", STUDY, 3), rel=1e-6)


def test_fp16_underflow(table: pd.DataFrame) -> None:
    rows = table[(table["arm"] == "fp32_passes") & np.isclose(table["lr"], best(table, "fp32_passes"))]
    shares = [np.mean([probe[3] for probe in probes]) for probes in rows["curve_probe_layer_underflow_activation"]]
    assert np.mean(shares) == pytest.approx(published("prec.fp16_underflow", STUDY), rel=1e-6)
    assert of_the_fall(table, "fp16_2m", "fp32") == pytest.approx(published("prec.fp16_underflow", STUDY, 1), rel=1e-6)


def test_learning_stops(table: pd.DataFrame) -> None:
    there = at(table, "fp16_2m", best(table, "fp32"))
    assert of_the_fall(table, "fp16_2m", "fp32", there) == pytest.approx(published("prec.fp16_underflow", STUDY, 2), rel=1e-6)


def test_fp16_scaled(table: pd.DataFrame) -> None:
    assert one_lr(table, "long_fp16", "long_fp32") == pytest.approx(published("prec.fp16_scaled", STUDY, 1), rel=1e-6)


def test_fp16_overflow(table: pd.DataFrame) -> None:
    share = float((table[table["arm"] == "large_bf16"]["outcome"] == "diverged").mean())
    assert share == pytest.approx(published("prec.fp16_overflow", STUDY, 1))


def test_grad_norms(table: pd.DataFrame) -> None:
    norms = {
        arm: np.stack(table[table["arm"] == arm].sort_values("seed")["curve_probe_gradient_norm"].to_list())
        for arm in ("long_bf16", "long_fp32")
    }
    off = np.median(np.abs(norms["long_bf16"] / norms["long_fp32"] - 1), axis=1).mean()
    assert off == pytest.approx(published("prec.grad_norms", STUDY), rel=1e-6)


def test_range(table: pd.DataFrame) -> None:
    assert published("prec.range", STUDY) == float(np.finfo(np.float16).max)
    assert published("prec.range", STUDY, 1) == float(np.finfo(np.float16).smallest_subnormal)


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
        seen = (centred / np.sqrt(square / half(512) + half(1e-5))).astype(np.float64)
        errors.append(np.sqrt(((seen - right) ** 2).mean() / (right**2).mean()) * 2**11)
    assert np.exp(np.log(errors).mean()) == pytest.approx(published("prec.sensitive_ops", STUDY, 2), rel=0.1)


def test_fp8(table: pd.DataFrame) -> None:
    assert of_the_fall(table, "fp8", "fp32") == pytest.approx(published("prec.fp8", STUDY), rel=1e-6)


def test_fp16_nan(table: pd.DataFrame) -> None:
    lr = best(table, "fp32")
    assert not_finite(table, "fp16_2m", lr) == pytest.approx(published("prec.fp16_nan", STUDY))
    assert not_finite(table, "fp16", 512 * lr) == pytest.approx(published("prec.fp16_nan", STUDY, 2))


def test_mixed_formats(table: pd.DataFrame) -> None:
    """The gradients that reach and leave a product's backward pass under autocast."""
    weight, x = torch.ones(4, 4, requires_grad=True), torch.ones(2, 4)
    with torch.autocast("cpu", dtype=torch.float16):
        product = x @ weight
    seen: list[torch.dtype] = []
    assert product.grad_fn is not None
    product.grad_fn.register_hook(lambda *sides: seen.extend(each.dtype for side in sides for each in side if each is not None))
    (gradient,) = torch.autograd.grad(product.sum(), weight)
    assert gradient.dtype == torch.float32
    assert np.mean([each.itemsize == 2 for each in seen]) == published("prec.mixed_formats", STUDY) == 1.0


def test_lr_range(table: pd.DataFrame) -> None:
    lowest = float(means(table, "fp32")["test_loss"].min())
    bar = lowest + 0.5 * (start(table, "fp32") - lowest)
    ratio = largest_trainable(table, "fp16_2m", bar) / largest_trainable(table, "fp32", bar)
    assert ratio == pytest.approx(published("prec.lr_range", STUDY), rel=1e-6)
