"""Metrics of what a watched quantity tells about a run whose loss does not fall, and of how far changes move a loss."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.estimating.evaluation import evaluate
from ...harness.declare.metrics.estimating.weighted import position, stacked
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import ARM, ArmName, FactorName, Observable
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

# The share of the run from which on its gradient norm is read: it is flat by then, if ever.
LATE = 0.5
# A loss is flat that has not made this share of the healthy run's fall.
FLAT = 0.5
Runs = tuple[tuple[str, float], ...]
# Answer that the norm gives -> the causes of which it is right.
ANSWERS = {"near zero": ("vanishing", "dead"), "normal": ("too_small",), "huge": ("too_large",)}
CAUSES = tuple(cause for causes in ANSWERS.values() for cause in causes)
FINAL = [{"kind": "final_loss", "arm": arm} for arm in ("low", "high", "middle")]


@metric(
    unit="of its parts",
    of_losses="no zero",
    bounds=(0.0, float("inf")),
    example={"parts": FINAL[:2], "origin": FINAL[2]},
    planted=(
        {"low": {"test_loss": [1.0, 2.0]}, "high": {"test_loss": [3.0, 3.0]}, "middle": {"test_loss": [2.0, 2.0]}},
        0.75,
    ),
)
def mean_distance(
    trials: Trials,
    weights: Numbers,
    parts: Annotated[tuple[Observable, ...], Field(min_length=1, description="the observables whose distances are averaged")],
    origin: Annotated[Observable, Field(description="the observable that they are distances from")],
) -> Numbers:
    """The mean distance of some observables from another: how much changes change it, for better or worse.

    mean_i |part_i - origin|, [R], seeds paired. Of parts that lie at the origin noise makes it larger than zero."""
    middle = evaluate(origin, trials, weights)
    return np.asarray(np.mean([np.abs(evaluate(part, trials, weights) - middle) for part in parts], axis=0))


@dataclass(frozen=True)
class Diagnosis:
    """A rule that tells from the gradient norm why a loss is flat: the fields of norm_diagnosis, runs by their cause."""

    healthy: str
    healthy_value: float
    runs: Mapping[str, Runs]
    swing: float | None
    vanishing_below: float
    large_above: float
    over: str

    def share_told(self, cause: str, trials: Trials, weights: Numbers) -> Numbers:
        told_S, flat_S = self._told(cause, trials)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(weights @ told_S / (weights @ flat_S))

    def _told(self, cause: str, trials: Trials) -> tuple[Numbers, Numbers]:
        """How many of a cause's runs are told rightly, and how many are flat, of each seed, [S]."""
        first_S, fall_S = self._healthy(trials)
        right_S, runs_S = np.zeros(trials.seeds), np.zeros(trials.seeds)
        for arm, value in self.runs[cause]:
            place = position(trials, arm, self.over, value)
            late = _late(_squares(arm, self.over, trials)[place]).mean(axis=1)
            is_flat = np.isfinite(late) & self._is_flat(cause, arm, place, fall_S, trials)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.sqrt(np.maximum(late, 0.0)) / first_S
            near_zero, huge = ratio < self.vanishing_below, ratio > self.large_above
            hits = {"too_small": ~near_zero & ~huge, "too_large": huge}.get(cause, near_zero)
            right_S += hits & is_flat
            runs_S += is_flat
        if not runs_S.any():
            arms = " and ".join(dict.fromkeys(trials.arm_name(arm) for arm, _ in self.runs[cause]))
            raise NotEstimableError(
                "out of regime", f"no run of {arms} has a loss that is flat and finite, and so none whose cause could be told"
            )
        return right_S, runs_S

    def _is_flat(self, cause: str, arm: str, place: int, fall_S: Numbers, trials: Trials) -> Numbers:
        """Whether the loss is flat, and of runs at too large an LR whether it swings as their cause has it, [S]."""
        start, end = _start_and_end(arm, self.over, place, trials)
        if self.swing is None:
            return np.asarray(np.isfinite(end) & (start - end < FLAT * fall_S))
        late = _late(stacked(trials.values(arm, self.over, "curve_evaluation_loss"))[place])
        is_flat = np.abs(late.mean(axis=1) - start) < FLAT * fall_S  # of what is not finite: False
        swings = np.sqrt(np.square(np.diff(late, axis=1)).mean(axis=1)) >= self.swing * fall_S
        return np.asarray(is_flat & {"too_large": swings, "dead": ~swings}.get(cause, is_flat))

    def _healthy(self, trials: Trials) -> tuple[Numbers, Numbers]:
        """The first gradient norm and the fall of the loss of each seed's healthy run, [S]."""
        place = position(trials, self.healthy, self.over, self.healthy_value)
        start, end = _start_and_end(self.healthy, self.over, place, trials)
        return np.sqrt(np.maximum(_squares(self.healthy, self.over, trials)[place, :, 0], 0.0)), start - end


def has_runs(metric: Any) -> Any:
    if not any(getattr(metric, cause) for cause in CAUSES):
        raise ValueError(f"no run to tell the cause of: give one of {', '.join(CAUSES)}")
    if metric.dead and metric.swing is None:
        raise ValueError("dead: give swing, which tells a dead run from one that swings")
    return metric


@metric(
    unit="share of the flat runs, 0 to 1",
    of_losses="no zero",
    at_one_point=True,
    bounds=(0.0, 1.0),
    figure="forest",
    check=has_runs,
    example={
        "healthy": "none",
        "healthy_value": 2.0**-7,
        "vanishing": [["deep", 2.0**-7]],
        "too_small": [["none", 2.0**-16]],
        "too_large": [["none", 2.0**-2]],
    },
)
def norm_diagnosis(
    trials: Trials,
    weights: Numbers,
    healthy: Annotated[ArmName, Field(description="the arm whose run is healthy")],
    healthy_value: Annotated[float, Field(gt=0, description="the value it is healthy at")],
    vanishing: Annotated[Runs, ARM, Field(description="pairs of an arm and a value at which gradients vanish")] = (),
    too_small: Annotated[Runs, ARM, Field(description="pairs of an arm and an LR that is too small")] = (),
    too_large: Annotated[Runs, ARM, Field(description="pairs of an arm and an LR that is too large")] = (),
    dead: Annotated[
        Runs, ARM, Field(description="pairs of an arm and an LR that is too large: runs that no longer swing")
    ] = (),
    swing: Annotated[
        float | None,
        Field(
            gt=0,
            description="a loss swings whose evaluations differ from the last by this share of the healthy run's fall, root"
            " mean square; none: the loss at the end says what is flat, and nothing has to swing",
        ),
    ] = None,
    vanishing_below: Annotated[float, Field(gt=0, description="share of the healthy run's first norm")] = 0.01,
    large_above: Annotated[float, Field(gt=0, description="multiple of the healthy run's first norm")] = 3.0,
    over: FactorName = "peak_lr",
) -> Numbers:
    """Balanced accuracy of a rule that tells from the gradient norm why a loss is flat: vanishing gradients where it is far
    below what a healthy run begins with, too large an LR where it lies above, too small a one in between. It is the mean over
    the causes of the share of their runs that are told, so that no cause counts for more by having more of them.

    Each seed's runs are held against its own healthy run. What falls is not flat, and a loss that is not finite is not either:
    such runs do not count; where a cause has none that do, there is nothing to tell it by. The norm is that of the gradient
    without the noise of its batch, which is what is left of a batch's where the gradient vanishes.

    mean over the answers of the mean over their causes of sum_s w_s told_s / sum_s w_s flat_s, [R]: of a cause's runs on a
    seed those that are flat, and of these those that are told. A run's norm is the root of the mean, over the probes of its
    second half, of |g|^2 less the variance of g. nan for resamples in which a cause has no flat run."""
    runs = {"vanishing": vanishing, "dead": dead, "too_small": too_small, "too_large": too_large}
    rule = Diagnosis(healthy, healthy_value, runs, swing, vanishing_below, large_above, over)
    means = []
    for causes in ANSWERS.values():
        shares = [rule.share_told(cause, trials, weights) for cause in causes if runs[cause]]
        if shares:
            means.append(np.mean(shares, axis=0))
    return np.asarray(np.mean(means, axis=0))


def _start_and_end(arm: str, over: str, place: int, trials: Trials) -> Numbers:
    """The loss at initialization and the test loss of each seed, [2, S]."""
    columns = (trials.values(arm, over, name)[place] for name in ("initial_loss", "test_loss"))
    return np.array([*columns], dtype=np.float64)


def _late(curves: Numbers) -> Numbers:
    """The second half of curves, [..., points]."""
    return curves[..., int(LATE * curves.shape[-1]) :]


def _squares(arm: str, over: str, trials: Trials) -> Numbers:
    """Squared norms of the gradient at the probes without its batch's noise, [G, S, probes]: unbiased, so that single ones can
    be negative."""
    norms, variances = (stacked(trials.values(arm, over, f"curve_probe_gradient_{name}")) for name in ("norm", "variance"))
    with np.errstate(invalid="ignore"):  # of a run that is lost
        return np.asarray(norms**2 - variances)
