"""Training at the edge of stability: how the sharpness stands to the largest at which an optimizer is stable, and what the
loss does there (Cohen et al. 2021, arXiv:2103.00065; 2022, arXiv:2207.14484; of mini-batches Andreyev and Beneventano 2024,
arXiv:2412.20553).

A run is at the edge from the first probe on whose sharpness comes to the limit (what looks at sharpness itself begins a little
below), until its training loss is down to a share of the loss it began with: with next to no loss left nothing drives the
sharpness any more. Probes of a run's first hundredth do not count: Adam's averages form there, and what it divides by is not
yet of the size of a gradient.
"""

import math
import warnings
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field

from ...harness.declare.metrics.estimating.weighted import kept, seed_mean, settings_of, stacked
from ...harness.declare.metrics.functions import metric
from ...harness.declare.observed import ARM, ObservedArm
from ...harness.declare.trials import NotEstimableError, Numbers, Trials

# The share of the limit from which on sharpness counts. A loss counts from the limit on: below it there is nothing to see.
NEAR = 0.9
# Share of the run whose probes only say where it starts.
EARLY = 0.01
# Shares of a run between which its probes are read.
PARTS = {"late": (0.5, 1.0), "third": (0.5, 0.75), "last": (0.75, 1.0)}
OfLoss = Literal["rising_steps", "falling_windows"]
Batches = Literal["none", "mean", "pooled"]

Limit = Annotated[
    float,
    Field(
        gt=0,
        description="LR x sharpness above which the optimizer is unstable on a quadratic: 2 for gradient descent,"
        " 2 (1 + beta) for heavy-ball momentum, 2 (1 + beta) / (1 + 2 beta) for Nesterov's, 2 (1 + beta1) / (1 - beta1) for"
        " Adam, of its preconditioned Hessian",
    ),
]
Preconditioned = Annotated[bool, Field(description="of the Hessian between the inverse roots of what Adam divides by")]
Until = Annotated[
    float,
    Field(ge=0, lt=1, description="it ends where the training loss is down to this share of the loss it began with"),
]


@dataclass(frozen=True)
class Edge:
    """Runs of an arm that is trained at one LR, with sharpness measured at probes: the fields of both metrics."""

    arm: str
    limit: float
    preconditioned: bool
    until: float
    of: str
    lr_of: str | None = None
    batches: Batches = "none"

    @property
    def curve(self) -> str:
        if self.batches != "none":
            return "probe_batch_sharpness" if self.batches == "mean" else "probe_batch_sharpness_pooled"
        return "probe_preconditioned_sharpness" if self.preconditioned else "probe_sharpness"

    @property
    def words(self) -> str:
        return self.curve.removeprefix("probe_").removesuffix("_pooled").replace("_", " ")

    def measured(self, trials: Trials) -> tuple[Numbers, Numbers]:
        """Steps [P] and sharpness [S, P], nan where it did not converge."""
        return _curve(self.arm, "probe_step", trials)[0], _curve(self.arm, self.curve, trials)

    def sharpness(self, trials: Trials) -> tuple[Numbers, Numbers]:
        """Steps [P], and LR x sharpness over the limit, [S, P]; nan where it did not converge, and after a run's end."""
        steps, values = self.measured(trials)
        return steps, np.where(steps <= self.ends(trials)[:, None], self.lr(trials) * values / self.limit, np.nan)

    def lr(self, trials: Trials) -> float:
        arm = self.lr_of or self.arm
        return float(trials.grid(arm, trials.only_factor(arm))[0])

    def ends(self, trials: Trials) -> Numbers:
        """The last step that counts of each run, [S]."""
        step, loss = _curve(self.arm, "step", trials)[0], _curve(self.arm, "train_loss", trials)
        start = np.asarray(trials.values(self.arm, trials.only_factor(self.arm), "initial_loss"), dtype=np.float64)[0]
        down = loss <= self.until * start[:, None]
        return np.asarray(np.where(down.any(axis=1), step[down.argmax(axis=1)], step[-1]))

    def begins(self, trials: Trials) -> Numbers:
        """The first step at the edge of each run, [S]; infinite where it never comes there."""
        steps, values = self.sharpness(trials)
        reached = 1.0 if self.of in get_args(OfLoss) else NEAR
        there = (values >= reached) & (steps > EARLY * steps[-1])
        return np.asarray(np.where(there.any(axis=1), steps[there.argmax(axis=1)], np.inf))


def edge_of(metric: Any) -> Edge:
    values: dict[str, Any] = {field.name: getattr(metric, field.name, field.default) for field in fields(Edge)}
    return Edge(**values)


@metric(
    unit="of the limit: 1 at the edge",
    of_losses="no zero",
    log_axis=True,
    at_one_point=True,
    figure="curves",
    settings=lambda metric: settings_of(edge_of(metric).curve),
    example={"arm": "none", "limit": 2.0, "preconditioned": True},
    # At an LR of 0.01: the first probe is too early, and the last comes after the end. The second run never comes to the edge.
    planted=(
        {
            "none": {
                "curve_probe_step": [[1, 20, 40, 60, 80, 100]] * 2,
                "curve_probe_preconditioned_sharpness": [[900.0, 160, 190, 170, 210, 900], [900.0, 20, 40, 50, 30, 900]],
                "curve_step": [[50, 90, 100]] * 2,
                "curve_train_loss": [[4.0, 0.05, 0.01]] * 2,
            }
        },
        math.sqrt(0.95 * 0.25),
    ),
)
def edge_sharpness(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    limit: Limit,
    preconditioned: Preconditioned = False,
    until: Until = 0.01,
    of: Annotated[
        Literal["median", "highest", "start", "late", "third", "last"],
        Field(
            description="'median': over the probes at the edge; a run that never comes there counts with the highest it comes"
            " to; 'highest': over all probes; 'start': at the last probe of the run's first hundredth; 'late': the median over"
            " the probes of its second half; 'third', 'last': over those of its third and last quarter; these three are means"
            " where it is a mean over mini-batches"
        ),
    ] = "median",
    lr_of: Annotated[str | None, ARM, Field(description="the arm whose LR is taken; none: its own")] = None,
    batches: Annotated[
        Batches,
        Field(
            description="'mean': in the place of the largest eigenvalue the curvature of mini-batches' losses along their own"
            " gradients, mean over mini-batches (batch sharpness); 'pooled': with these weighed by their squared gradients"
        ),
    ] = "none",
) -> Numbers:
    """LR x sharpness over the largest that is stable: 1 at the edge of stability.

    exp of the weighted mean over seeds of ln(LR x sharpness / limit), [R], without unit; runs without a value count nowhere."""
    edge = Edge(arm, limit, preconditioned, until, of, lr_of, batches)
    steps, values = edge.sharpness(trials)
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.filterwarnings("ignore", "All-NaN")
        early = steps <= max(EARLY * steps[-1], steps[0])
        highest = np.nanmax(np.where(early, np.nan, values), axis=1)
        if of == "start":
            sharpness = values[:, np.flatnonzero(early)[-1]]
        elif of == "highest":
            sharpness = highest
        elif of in PARTS:
            shares, (after, until_share) = steps / steps[-1], PARTS[of]
            inside = np.where((shares > after) & (shares <= until_share), values, np.nan)
            sharpness = np.nanmedian(inside, axis=1) if batches == "none" else np.nanmean(inside, axis=1)
        else:
            inside = np.where(steps >= edge.begins(trials)[:, None], values, np.nan)
            median = np.nanmedian(inside, axis=1)
            sharpness = np.where(np.isfinite(median), median, highest)
        logs = np.log(sharpness)
    if not np.isfinite(logs).any():
        raise NotEstimableError("open", f"no run of {trials.arm_name(arm)} has a sharpness there", "another LR would")
    return np.asarray(np.exp(seed_mean(logs, weights)))


@metric(
    unit="share, 0 to 1",
    of_losses="no zero",
    at_one_point=True,
    bounds=(0.0, 1.0),
    figure="curves",
    settings=lambda metric: settings_of(edge_of(metric).curve),
    example={"arm": "none", "limit": 2.0, "of": "rising_steps"},
    # At an LR of 0.01 runs are at the edge from step 40 on and from step 60 on, until step 80.
    planted=(
        {
            "none": {
                "curve_probe_step": [[20, 40, 60, 100]] * 2,
                "curve_probe_sharpness": [[190.0, 200, 100, 100], [190.0, 190, 210, 100]],
                "curve_step": [[20, 40, 60, 80, 100]] * 2,
                "curve_train_loss": [[4.0, 3.0, 2.0, 0.05, 0.01]] * 2,
                "curve_train_loss_rises": [[0.0, 0.0, 0.2, 0.6, 1.0]] * 2,
            }
        },
        0.5,
    ),
)
def edge_loss(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    limit: Limit,
    of: Annotated[
        OfLoss,
        Field(
            description="'rising_steps': the share of steps whose loss is above the last step's; 'falling_windows': the share"
            " of windows whose mean loss is below the last window's"
        ),
    ],
    preconditioned: Preconditioned = False,
    until: Until = 0.01,
    window: Annotated[int, Field(ge=2, description="steps of a window; of whole points of the training curve")] = 100,
) -> Numbers:
    """How the training loss goes at the edge of stability: from step to step, or from window to window.

    Weighted mean over seeds of the share, [R]. A run that is never at the edge counts nowhere, and if none is the claim is out
    of regime; windows that are not finite do not fall."""
    edge = Edge(arm, limit, preconditioned, until, of)
    begin, end = edge.begins(trials)[:, None], edge.ends(trials)[:, None]
    if not np.isfinite(begin).any():
        raise NotEstimableError("out of regime", f"no run of {trials.arm_name(arm)} comes to the edge of stability")
    step = _curve(arm, "step", trials)[0]
    with np.errstate(invalid="ignore"):
        if of == "rising_steps":
            values = _curve(arm, "train_loss_rises", trials)
            first = np.concatenate([[0.0], step[:-1]])
        else:
            means, step = _windows(window, step, _curve(arm, "train_loss", trials))
            change = np.diff(means, axis=1)
            values = np.where(np.isfinite(change), change < 0, 0.0)
            # Both windows that are compared lie at the edge.
            first, step = np.concatenate([[0.0], step[:-2]]), step[1:]
        values = np.where((first >= begin) & (step <= end), values, np.nan)
        shares = np.nansum(values, axis=1) / np.isfinite(values).sum(axis=1)
    if not np.isfinite(shares).any():
        raise NotEstimableError("open", f"no run of {trials.arm_name(arm)} is at the edge for long enough", "train longer")
    return seed_mean(shares, weights)


def _windows(window: int, step: Numbers, loss: Numbers) -> tuple[Numbers, Numbers]:
    """Means [S, W] of whole windows, and their last steps [W]."""
    points = window / float(step[0])
    if points < 1 or abs(points - round(points)) > 1e-9 or not np.allclose(np.diff(step), step[0]):
        raise NotEstimableError(
            "invalid",
            f"windows of {window} steps are not whole points of a training curve with one each {step[0]:g} steps",
            "set measurement.curve_points accordingly",
        )
    size = round(points)
    count = len(step) // size
    return loss[:, : count * size].reshape(len(loss), count, size).mean(axis=2), step[size - 1 :: size][:count]


def _curve(arm: str, name: str, trials: Trials) -> Numbers:
    """[S, points]. Raises NotEstimableError if the trials have no such curve."""
    return np.asarray(stacked(kept(arm, trials.only_factor(arm), name, trials)[:1])[0])
