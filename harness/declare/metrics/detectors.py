"""Detectors of loss spikes: a score of every step by the steps before it, and the limit above which a published rule gives an
alarm. Losses and norms are one run's, [steps]; the first steps of a window score -inf, and what is not finite scores inf."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from ..curves.roughness import GAUSSIAN, SPIKE_DEVIATIONS, SPIKE_WINDOW
from ..trials import Numbers

Detector = Literal["loss_ratio", "deviations", "norm_ratio", "spike", "robust_norm", "zclip"]
WORDS = (
    "loss_ratio: a loss over the mean of nine before it (published: 2); deviations: a loss or gradient norm above its mean of"
    " 128 steps before, in standard deviations (6, OLMo); norm_ratio: a gradient norm over its median of 50 steps before (3);"
    " spike, robust_norm: a loss, or a gradient norm, above its median of 50 steps before, in robust deviations (6); zclip: a"
    " gradient norm above its moving average, in moving deviations (2.5)"
)
# Moving averages of ZClip (Kumar et al. 2025): their memory, the steps that they begin with, and what keeps a quotient finite.
ZCLIP_MEMORY, ZCLIP_STEPS, ZCLIP_LIMIT, ZCLIP_SMALL = 0.97, 25, 2.5, 1e-6
# The least deviation, or mean, to divide by.
TINY = 1e-12
Scores = Callable[[Numbers, Numbers], Numbers]


def _by_window(values: Numbers, window: int, score: Callable[[Numbers, Numbers], Numbers]) -> Numbers:
    """The scores of values, by the windows before them; score: of values [n] and windows [n, window]."""
    scores = np.full(values.shape, -np.inf)
    before = np.lib.stride_tricks.sliding_window_view(values, window)[:-1]
    with np.errstate(invalid="ignore", over="ignore"):
        made = score(values[window:], before)
    scores[window:] = np.where(np.isfinite(values[window:]) & ~np.isnan(made), made, np.inf)
    return scores


def _standard(values: Numbers, before: Numbers) -> Numbers:
    return np.asarray((values - before.mean(axis=-1)) / np.maximum(before.std(axis=-1, ddof=1), TINY))


def _robust(values: Numbers, before: Numbers) -> Numbers:
    median = np.median(before, axis=-1)
    deviation = GAUSSIAN * np.median(np.abs(before - median[..., None]), axis=-1)
    return np.asarray((values - median) / np.maximum(deviation, TINY))


def loss_ratio(losses: Numbers, norms: Numbers) -> Numbers:
    return _by_window(losses, 9, lambda values, before: values / np.maximum(before.mean(axis=-1), TINY))


def deviations(losses: Numbers, norms: Numbers) -> Numbers:
    """OLMo's skip step (OLMo team 2025)."""
    return np.maximum(_by_window(losses, 128, _standard), _by_window(norms, 128, _standard))


def norm_ratio(losses: Numbers, norms: Numbers) -> Numbers:
    return _by_window(norms, 50, lambda values, before: values / np.maximum(np.median(before, axis=-1), TINY))


def spike(losses: Numbers, norms: Numbers) -> Numbers:
    return _by_window(losses, SPIKE_WINDOW, _robust)


def robust_norm(losses: Numbers, norms: Numbers) -> Numbers:
    return _by_window(norms, SPIKE_WINDOW, _robust)


def zclip(losses: Numbers, norms: Numbers) -> Numbers:
    """The z-score of each norm (Kumar et al. 2025, arXiv:2504.02507, and their package). One above the published limit enters
    the averages as what ZClip would clip it to, whatever limit gives alarms here."""
    scores = np.full(norms.shape, -np.inf)
    mean, variance = norms[..., :ZCLIP_STEPS].mean(axis=-1), norms[..., :ZCLIP_STEPS].var(axis=-1)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for step in range(ZCLIP_STEPS, norms.shape[-1]):
            norm, deviation = norms[..., step], np.sqrt(variance)
            score = (norm - mean) / (deviation + ZCLIP_SMALL)
            clipped = mean + deviation * ZCLIP_LIMIT**2 / score
            entering = np.where(score > ZCLIP_LIMIT, clipped, norm)
            mean = ZCLIP_MEMORY * mean + (1 - ZCLIP_MEMORY) * entering
            variance = ZCLIP_MEMORY * variance + (1 - ZCLIP_MEMORY) * (entering - mean) ** 2
            scores[..., step] = np.where(np.isfinite(norm) & ~np.isnan(score), score, np.inf)
    return scores


# Scores of as many runs are kept, by any rule.
KEPT = 8192


@dataclass(frozen=True)
class Rule:
    """limit: the published one, or that of ours."""

    scores: Scores
    limit: float
    label: str

    def score(self, losses: Numbers, norms: Numbers) -> Numbers:
        """The scores of every run. They are kept: all readings of a claim, and those without one seed, ask for the same
        runs."""
        if losses.ndim > 1:
            return np.array([self.score(*run) for run in zip(losses, norms, strict=True)])
        return _kept(self.scores, *(np.asarray(series, dtype=np.float64).tobytes() for series in (losses, norms)))


@lru_cache(maxsize=KEPT)
def _kept(scores: Scores, losses: bytes, norms: bytes) -> Numbers:
    values = scores(np.frombuffer(losses), np.frombuffer(norms))
    values.flags.writeable = False
    return values


RULES: dict[Detector, Rule] = {
    "loss_ratio": Rule(loss_ratio, 2.0, "loss over the mean of nine"),
    "spike": Rule(spike, SPIKE_DEVIATIONS, "robust deviations of the loss"),
    "robust_norm": Rule(robust_norm, 6.0, "robust deviations of the gradient norm"),
    "deviations": Rule(deviations, 6.0, "OLMo's deviations of loss or norm"),
    "zclip": Rule(zclip, ZCLIP_LIMIT, "ZClip's deviations of the gradient norm"),
    "norm_ratio": Rule(norm_ratio, 3.0, "gradient norm over its median"),
}
