"""A metric of what probes saw while runs were trained."""

import itertools
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..observed import END, Example, FactorName, Observed, ObservedArm, OfLosses
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.gradient_noise import noise_parts
from .estimating.weighted import seed_mean, stacked, training_of, tuned

# Neighbouring probes that a noise curve averages, each part on its own.
SMOOTHED_PROBES = 5


class NoiseScale(Observed):
    """tr(Sigma) / |G|^2 in examples, at the tuned LR (McCandlish et al. 2018, appendix A.1).

    Both parts are averaged over the probes from `first` to `last` of the run and over seeds, and then divided. With `pieces`
    that is done in each of this many equal pieces of that window, and the pieces are averaged: a mean over steps. If each step
    on the way costs 1 + noise scale / B, all of them cost S_min (1 + B_crit / B), with B_crit that mean.
    """

    kind: Literal["noise_scale"] = "noise_scale"
    arm: ObservedArm
    first: Annotated[float, END] = Field(default=0.0, ge=0, lt=1, description="where the probes begin, as a share of the run")
    last: Annotated[float, END] = Field(default=1.0, gt=0, le=1, description="where the probes end, as a share of the run")
    pieces: int | None = Field(default=None, ge=2, le=100, description="equal pieces of the window; none: one")
    over: FactorName = "peak_lr"

    LOG_AXIS: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    AT_ONE_POINT: ClassVar[bool] = True
    FIGURE: ClassVar[str] = "curves"
    UNIT: ClassVar[str] = "examples"
    EXAMPLE: ClassVar[Example] = {"arm": "batch_32", "first": 0.5, "last": 1.0}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """tr(Sigma) / |G|^2 in examples, [R] (McCandlish et al. 2018, equation 2.9): both parts are means over probes and
        weighted means over seeds, then divided, in every piece. Not estimable if the squared mean gradient comes out
        negative."""
        arm, over = self.arm, self.over
        best = tuned(arm, over, trials, weights)
        share, *parts = _noise_parts(arm, over, trials)
        ends = np.linspace(self.first, self.last, (self.pieces or 1) + 1)
        scales = []
        for begin, end in itertools.pairwise(ends):
            inside = (share > begin) & (share <= end)
            if not inside.any():
                raise NotEstimableError("open", f"{trials.arm_name(arm)} has no probe in a piece of its window", "add probes")
            trace, signal = (seed_mean(np.nanmean(np.where(inside, part, np.nan), axis=2)[best], weights) for part in parts)
            if signal[0] <= 0:
                lost = f"the mean gradient of {trials.arm_name(arm)} is lost in its noise"
                raise NotEstimableError("open", lost, "more probes or a larger batch would show it")
            scales.append(np.where(signal > 0, trace / np.where(signal > 0, signal, 1.0), np.nan))
        return np.asarray(np.mean(scales, axis=0))


def _noise_parts(arm: str, over: str, trials: Trials) -> tuple[Numbers, Numbers, Numbers]:
    """Share of the run, tr(Sigma) and |G|^2 at every probe, [G, S, probes]."""
    training = training_of(arm, over, trials)
    steps = stacked(trials.values(arm, over, "curve_probe_step"))
    variance = stacked(trials.values(arm, over, "curve_probe_gradient_variance"))
    square = stacked(trials.values(arm, over, "curve_probe_gradient_norm")) ** 2
    trace, signal = noise_parts(square, variance, training.batch_size)
    if training.batch_ramp:
        trace *= np.vectorize(lambda step: training.batch_size_at(int(step) - 1) / training.batch_size)(steps)
    return steps / training.steps, trace, signal


def noise_curve(arm: str, over: str, trials: Trials, weights: Numbers) -> tuple[Numbers, Numbers]:
    """The noise scale over training at the tuned LR, for a figure: share of the run [P] and examples [R, P], nan where not
    positive; neighbouring probes are averaged, each part on its own."""
    best = tuned(arm, over, trials, weights)[0]
    share, *parts = (part[best] for part in _noise_parts(arm, over, trials))
    window = np.ones(SMOOTHED_PROBES) / SMOOTHED_PROBES
    smooth = np.apply_along_axis(np.convolve, 1, np.array([share[0], *parts[0], *parts[1]]), window, mode="valid")
    split = 1 + len(parts[0])
    trace, signal = (weights @ part / weights.sum(axis=1, keepdims=True) for part in (smooth[1:split], smooth[split:]))
    return smooth[0], np.where(signal > 0, trace / np.where(signal > 0, signal, 1.0), np.nan)
