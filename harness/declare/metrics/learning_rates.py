"""The values of a factor, mostly learning rates, at which losses are low."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..design import in_words
from ..observed import ARM, MARGIN, Example, FactorName, Observed, ObservedArm, OfLosses, ShareOf
from ..trials import NotEstimableError, Numbers, Trials
from .estimating.weighted import SAME_VALUE, at_the_edge, initial_loss, mean, tuned

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Optimum(Observed):
    """The value of `over` with the lowest mean validation loss, by a parabola on the log axis: through the lowest grid point
    and its neighbours, or by least squares through all grid points within `window_octaves` of the lowest.

    The window ends before the first point beyond the neighbours at which a run diverged: a cliff is no part of the parabola,
    and bends it away from itself by a quarter of an octave (reports/log)."""

    kind: Literal["optimum"] = "optimum"
    arm: ObservedArm
    over: FactorName = "peak_lr"
    window_octaves: float | None = Field(
        default=None,
        gt=0,
        description="octaves on either side of the lowest grid point through which the parabola is fitted; none: its two"
        " neighbours",
    )
    of: Literal["test_loss"] | None = Field(default=None, description="whose lowest mean is meant; none: validation loss")

    LOG_AXIS: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "of the factor: of peak_lr none"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_5%"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """2^x at the vertex of the parabola in x = log2 of the factor, [R], in the factor's unit: through the lowest mean
        validation loss and its neighbours, or by least squares through the points within a window of it, [R] windows, and then
        no further out than these. Not estimable at an edge of the grid. A resample whose lowest point is an edge counts with
        that edge: left out, it would narrow the interval on one side."""
        arm, over = self.arm, self.over
        best = tuned(arm, over, trials, weights, by_points=False)
        loss = mean(trials.losses(arm, over, self.of or "validation_loss"), weights)
        best = loss.argmin(axis=1) if self.of else best
        x = np.log2(trials.grid(arm, over))
        inner = (best > 0) & (best < len(x) - 1)
        if self.window_octaves is None:
            vertex = _vertex_of_three(x, loss, best)
        else:
            diverged = mean(trials.diverged(arm, over).astype(np.float64), weights) > 0
            vertex = _vertex_of_window(x, loss, best, _window(x, best, self.window_octaves, diverged))
        return np.exp2(np.where(inner, vertex, x[best]))


def _vertex_of_three(x: Numbers, loss: Numbers, best: Indices) -> Numbers:
    """Vertex of the parabola through the lowest points and their neighbours, [R]; x [G], loss [R, G], best [R]."""
    middle = np.clip(best, 1, len(x) - 2)
    row = np.arange(len(loss))
    # Newton's divided differences, so that the grid need not be even.
    first = (loss[row, middle] - loss[row, middle - 1]) / (x[middle] - x[middle - 1])
    second = (loss[row, middle + 1] - loss[row, middle]) / (x[middle + 1] - x[middle])
    curvature = (second - first) / (x[middle + 1] - x[middle - 1])
    flat = curvature <= 0
    shift = np.where(flat, 0.0, -first / (2 * np.where(flat, 1.0, curvature)))
    vertex = (x[middle] + x[middle - 1]) / 2 + shift
    return np.where(flat, x[middle], vertex)


def _window(x: Numbers, best: Indices, octaves: float, diverged: Flags) -> Flags:
    """The grid points within this many octaves of the lowest, up to where runs diverge, and its neighbours in any case, [R, G];
    x [G], best [R], diverged [R, G]."""
    index = np.arange(len(x))
    steps = index - best[:, None]
    first_above = np.where(diverged & (steps > 1), index, len(x)).min(axis=1, keepdims=True)
    last_below = np.where(diverged & (steps < -1), index, -1).max(axis=1, keepdims=True)
    near = np.abs(x - x[best, None]) <= octaves + SAME_VALUE
    return np.asarray((near & (index < first_above) & (index > last_below)) | (np.abs(steps) <= 1))


def _vertex_of_window(x: Numbers, loss: Numbers, best: Indices, window: Flags) -> Numbers:
    """Vertex of the least-squares parabola through the points of each window, [R], kept inside it; the lowest point where that
    parabola is not convex. x [G], loss [R, G], best [R], window [R, G]."""
    centred = x - x[best, None]
    powers = np.stack([np.ones_like(centred), centred, centred**2], axis=-1) * window[..., None]
    # The lowest loss is taken off: sums of squares around it lose no digits.
    above = np.where(window, loss - loss[np.arange(len(best)), best, None], 0.0)
    normal, right = np.einsum("rgi,rgj->rij", powers, powers), np.einsum("rgi,rg->ri", powers, above)
    # At an end of the grid a window can hold two points, which fix no parabola: such a resample counts with the end itself.
    usable = window.sum(axis=1) >= 3
    normal[~usable] = np.eye(3)
    _, slope, curvature = np.linalg.solve(normal, right[..., None])[..., 0].T
    convex = usable & (curvature > 0)
    shift = np.where(convex, -slope / (2 * np.where(convex, curvature, 1.0)), 0.0)
    inside = np.where(window, centred, 0.0)
    return np.asarray(x[best] + np.clip(shift, inside.min(axis=1), inside.max(axis=1)))


class MaxTrainable(Observed):
    """Largest value of `over` whose mean loss stays within a share of the best; interpolated on the log axis.

    The bar lies above the lowest mean loss of any arm in `best_of` (empty: this arm alone), by that share of it or of the loss
    reduction to it."""

    kind: Literal["max_trainable"] = "max_trainable"
    arm: ObservedArm
    over: FactorName = "peak_lr"
    within: Annotated[float, MARGIN] = Field(
        default=0.05, gt=0, description="share above the lowest loss that still counts as near it"
    )
    best_of: Annotated[tuple[str, ...], ARM] = Field(
        default=(), description="the arms whose lowest loss is the best; none: this arm alone"
    )
    of: ShareOf = None

    LOG_AXIS: ClassVar[bool] = True
    OF_LOSSES: ClassVar[OfLosses] = "shares"
    FIGURE: ClassVar[str] = "lr"
    UNIT: ClassVar[str] = "of the factor: of peak_lr none"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_20%", "within": 0.05, "best_of": ["none", "warmup_20%"]}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """The largest value at which the mean test loss meets the bar, [R], in the factor's unit: interpolated linearly in loss
        and log2 of the factor between the last grid point below the bar and the next. The bar is L* + within L* or, of the
        fall, L* + within (L0 - L*), L* being the lowest of the arms compared. Not estimable if the arm never meets the bar or
        still does at the top of its grid, and where L* lies at the low end of one."""
        bar = self.bar(trials, weights)
        loss = mean(trials.losses(self.arm, self.over, "test_loss"), weights)
        grid = np.log2(trials.grid(self.arm, self.over))
        inside = loss <= bar[:, None]
        if not inside[0].any():
            none = f"no {in_words(self.over)} of {trials.arm_name(self.arm)}"
            share = f"{self.within:.0%} of the {'fall to the ' if self.of == 'fall' else ''}best loss"
            raise NotEstimableError("open", f"{none} comes within {share}")
        last = len(grid) - 1 - inside[:, ::-1].argmax(axis=1)
        if last[0] == len(grid) - 1:
            raise NotEstimableError(
                "open",
                f"the largest {in_words(self.over)} at which {trials.arm_name(self.arm)} still trains {at_the_edge(-1)}",
            )
        after = np.minimum(last + 1, len(grid) - 1)
        row = np.arange(len(weights))
        rise = loss[row, after] - loss[row, last]
        # Where a resample ends at the top of the grid, the top is all that can be said.
        step = np.divide(bar - loss[row, last], rise, out=np.zeros_like(rise), where=rise > 0)
        edge = grid[last] + step * (grid[after] - grid[last])
        return np.where(inside.any(axis=1), np.exp2(edge), np.nan)

    def bar(self, trials: Trials, weights: Numbers) -> Numbers:
        """The highest mean test loss that is good enough, nats [R]."""
        arms = self.best_of or (self.arm,)
        losses = [mean(trials.losses(arm, self.over, "test_loss"), weights[:1])[0] for arm in arms]
        best = int(np.argmin([loss.min() for loss in losses]))
        if losses[best].argmin() == 0:
            subject = f"the {in_words(self.over)} at which {trials.arm_name(arms[best])} ends lowest"
            raise NotEstimableError("open", f"the bar lies above a loss at the end of a grid: {subject} {at_the_edge(0)}")
        return _bar(self, trials, weights)

    @property
    def of_losses(self) -> OfLosses:
        return "no zero" if self.of == "fall" else self.OF_LOSSES


class BasinWidth(Observed):
    """Octaves of `over` around its best value within which the mean test loss stays within a share of the lowest; interpolated
    on the log axis at both ends."""

    kind: Literal["basin_width"] = "basin_width"
    arm: ObservedArm
    over: FactorName = "peak_lr"
    within: Annotated[float, MARGIN] = Field(
        default=0.05, gt=0, description="share above the lowest loss that still counts as near it"
    )
    best_of: Annotated[tuple[str, ...], ARM] = Field(
        default=(), description="the arms whose lowest loss is the best; none: this arm alone"
    )
    of: ShareOf = None
    open_below: Literal[True] | None = Field(
        default=None, description="where the loss is near its best at the low end of the grid, the width counts from that end"
    )

    OF_LOSSES: ClassVar[OfLosses] = "shares"
    FIGURE: ClassVar[str] = "lr"
    BOUNDS: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    UNIT: ClassVar[str] = "octaves"
    EXAMPLE: ClassVar[Example] = {"arm": "warmup_20%", "of": "fall"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """Octaves between the two values, below and above the grid point of the lowest mean test loss, at which the loss first
        meets the bar, [R]: interpolated linearly in loss and log2 of the factor. The bar is that of MaxTrainable. Not estimable
        where the loss is still below it at an end of the grid, of `open_below` at the high one; a resample counts with that
        end. 0 where no point meets it."""
        loss = mean(trials.losses(self.arm, self.over, "test_loss"), weights)
        x = np.log2(trials.grid(self.arm, self.over))
        bar = _bar(self, trials, weights)
        best = loss.argmin(axis=1)
        above = _first_above(x, loss, bar, best)
        below = -_first_above(-x[::-1], loss[:, ::-1], bar, len(x) - 1 - best)
        for index, met in ((-1, above), (0, below)):
            if np.isnan(met[0]) and not (index == 0 and self.open_below):
                subject = f"the {in_words(self.over)} at which {trials.arm_name(self.arm)} is still near its best"
                raise NotEstimableError("open", f"{subject} {at_the_edge(index)}")
        width = np.where(np.isnan(above), x[-1], above) - np.where(np.isnan(below), x[0], below)
        return np.where(loss.min(axis=1) <= bar, width, 0.0)

    @property
    def of_losses(self) -> OfLosses:
        return "no zero" if self.of == "fall" else self.OF_LOSSES


def _first_above(x: Numbers, loss: Numbers, bar: Numbers, best: Indices) -> Numbers:
    """Where the loss first rises above the bar beyond its lowest point, [R], interpolated; nan where it does not. x [G] rises,
    loss [R, G], bar and best [R]."""
    row = np.arange(len(loss))
    over = (loss > bar[:, None]) & (np.arange(len(x)) > best[:, None])
    after = over.argmax(axis=1)
    before = np.maximum(after - 1, 0)
    rise = loss[row, after] - loss[row, before]
    step = np.divide(bar - loss[row, before], rise, out=np.zeros_like(rise), where=rise > 0)
    return np.where(over.any(axis=1), x[before] + step * (x[after] - x[before]), np.nan)


def _bar(observable: MaxTrainable | BasinWidth, trials: Trials, weights: Numbers) -> Numbers:
    """The highest loss that still counts as near the lowest one of the arms compared, nats [R]."""
    arms, over = observable.best_of or (observable.arm,), observable.over
    lowest = np.min([mean(trials.losses(arm, over, "test_loss"), weights).min(axis=1) for arm in arms], axis=0)
    if observable.of != "fall":
        return np.asarray((1 + observable.within) * lowest)
    start = initial_loss(dict.fromkeys(arms, over), trials, weights)
    return np.asarray(lowest + observable.within * (start - lowest))
