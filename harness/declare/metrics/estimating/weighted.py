"""Functions that estimators share: means over weighted seeds, and the tuned value of an arm."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...configuration import Configuration, Training
from ...curves import SETTING_OF
from ...design import in_words
from ...observed import Observed
from ...parts import arms_of
from ...trials import NotEstimableError, Numbers, Trials

# Octaves within which two values of a factor are the same.
SAME_VALUE = 1e-6


def mean(values_GS: Numbers, weights_RS: Numbers) -> Numbers:
    """Weighted means over seeds, [R, G]."""
    return np.asarray(weights_RS @ values_GS.T / weights_RS.sum(1, keepdims=True))


def tuned(arm: str, over: str, trials: Trials, weights: Numbers, by_points: bool = True) -> NDArray[np.int64]:
    """Index of the lowest mean validation loss under every weighting, [R]. An edge of the grid is no optimum.

    by_points: the grid point itself is read, and no vertex of a parabola. Where an arm has one value, searched or given, there
    is nothing to choose any more.
    """
    best = mean(trials.losses(arm, over, "validation_loss"), weights).argmin(axis=1)
    grid = trials.grid(arm, over)
    if by_points:
        trials.chosen.add((arm, over, int(best[0])))
    if len(grid) > 1 and best[0] in (0, len(grid) - 1):
        raise NotEstimableError(
            "open",
            f"the best {in_words(over)} of {trials.arm_name(arm)}, {grid[best[0]]:.3g}, {at_the_edge(int(best[0]))}",
        )
    return np.asarray(best)


def tuned_loss(arm: str, over: str, trials: Trials, weights: Numbers, column: str = "test_loss") -> Numbers:
    """Mean test loss at the arm's tuned value under every weighting, nats [R]. Raises NotEstimableError at an edge. column:
    another loss, or an error, that is read there."""
    best = tuned(arm, over, trials, weights)
    means = mean(trials.losses(arm, over, column), weights)
    if trials.vertex and means.shape[1] > 1:
        return _at_vertex(np.log2(trials.grid(arm, over)), means, best)
    return means[np.arange(len(weights)), best]


def _at_vertex(x: Numbers, means_RG: Numbers, best_R: NDArray[np.int64]) -> Numbers:
    """The least of the parabola through the best point and its neighbours, [R]; the point itself where it is no minimum."""
    rows, inner = np.arange(len(means_RG)), np.clip(best_R, 1, len(x) - 2)
    before, middle, after = (means_RG[rows, inner + step] for step in (-1, 0, 1))
    x0, x1, x2 = (x[inner + step] for step in (-1, 0, 1))
    slope = (after - middle) / (x2 - x1), (middle - before) / (x1 - x0)
    curvature = (slope[0] - slope[1]) / (x2 - x0)
    tangent = slope[1] + curvature * (x1 - x0)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = middle - tangent**2 / (4 * curvature)
    return np.where((curvature > 0) & (inner == best_R), least, means_RG[rows, best_R])


def initial_loss(searched: Mapping[str, str], trials: Trials, weights: Numbers) -> Numbers:
    """Mean loss at initialization of some arms, each with the factor that its values are of, [R]: what all that they learn is
    measured from."""
    return np.asarray(np.mean([seed_mean(_starts(arm, over, trials), weights) for arm, over in searched.items()], axis=0))


def _starts(arm: str, over: str, trials: Trials) -> Numbers:
    """Loss at initialization of each seed, [S]: of its runs that do not diverge, if there are any. The loss that a diverged run
    counts with can be chosen otherwise (judge/robustness.py), that at which all runs start cannot."""
    start, ended = _initial(arm, over, trials), ~trials.diverged(arm, over)
    counted = ended | ~ended.any(axis=0)
    return np.asarray((start * counted).sum(axis=0) / counted.sum(axis=0))


def share_of_fall(amount: Numbers, start: Numbers, lowest: Numbers) -> Numbers:
    """amount / (start - lowest), [R]; nan for resamples in which nothing falls. Out of regime if nothing does in the
    estimate."""
    fall = start - lowest
    if fall[0] <= 0:
        raise NotEstimableError(
            "out of regime",
            f"the loss does not fall below the {start[0]:.3g} it starts from, and there is no fall to take a share of",
        )
    return np.divide(amount, fall, out=np.full_like(fall, np.nan), where=fall > 0)


def _initial(arm: str, over: str, trials: Trials) -> Numbers:
    return np.asarray(trials.values(arm, over, "initial_loss"), dtype=np.float64)


def at_the_edge(index: int) -> str:
    """Ends a clause on what lies at one of the two ends of a grid."""
    end, further = ("lowest", "lower") if index == 0 else ("highest", "higher")
    return f"is the {end} that was tried; a grid that goes {further} would settle it"


def tuned_index(arm: str, over: str, trials: Trials) -> int:
    """Index of the arm's tuned value on its grid. Raises NotEstimableError at an edge."""
    return int(tuned(arm, over, trials, trials.resamples[:1])[0])


def present(points: Sequence[tuple[float, Any]], trials: Trials) -> list[tuple[float, Any]]:
    """The points whose arms are trained at this scale. Raises NotEstimableError if they are fewer than the two of a line."""
    trained = set(trials.study.arms_at(trials.scale))
    here = [(x, part) for x, part in points if (arms_of(part) if isinstance(part, Observed) else {part}) <= trained]
    if len(here) < 2:
        raise NotEstimableError(
            "out of regime",
            f"{len(here)} of its {len(points)} points are trained at scale {trials.scale}, and a line needs two",
        )
    return here


def position(trials: Trials, arm: str, over: str, value: float) -> int:
    """Index of a value on an arm's grid. Raises NotEstimableError if it was not tried."""
    grid = trials.grid(arm, over)
    near = int(np.abs(np.log(grid / value)).argmin())
    if not math.isclose(grid[near], value, rel_tol=1e-6):
        raise NotEstimableError(
            "open",
            f"{trials.arm_name(arm)} was not trained at the {in_words(over)} of {value:.3g} that this compares",
            "a grid with it would settle it",
        )
    return near


def seed_mean(values_RS: Numbers, weights_RS: Numbers) -> Numbers:
    """Weighted means over seeds of values that differ between rows, or are the same for all, [R]; nan entries are left out."""
    present = np.isfinite(np.broadcast_to(values_RS, weights_RS.shape))
    weight = weights_RS * present
    with np.errstate(invalid="ignore"):
        return np.asarray((np.where(present, values_RS, 0.0) * weight).sum(axis=1) / weight.sum(axis=1))


def kept(arm: str, over: str, curve: str, trials: Trials) -> NDArray[Any]:
    """A curve of each run of an arm, [G, S]. Raises NotEstimableError where one has none: the study did not ask for it, or its
    trials are older than the curve."""
    curves = trials.values(arm, over, f"curve_{curve}")
    if any(points is None or not len(points) for points in curves.ravel()):
        what, name = in_words(curve.removeprefix("probe_").removeprefix("layer_")), trials.arm_name(arm)
        setting = next((setting for setting in settings_of(curve) if not _configuration(arm, over, trials).sets(setting)), None)
        if setting is not None:
            raise NotEstimableError("invalid", f"{what} was not measured in {name}", f"the study has to set {setting}")
        raise NotEstimableError("invalid", f"{name} was trained before its {what} was kept", "train it again")
    return curves


def settings_of(*curves: str) -> tuple[str, ...]:
    """The fields that a study has to set so that its runs keep these curves."""
    return tuple(dict.fromkeys(setting for curve in curves if (setting := SETTING_OF[curve])))


def training_of(arm: str, over: str, trials: Trials) -> Training:
    """The training of an arm: steps and batch size do not depend on the value of the factor."""
    return _configuration(arm, over, trials).training


def _configuration(arm: str, over: str, trials: Trials) -> Configuration:
    return trials.study.configuration(trials.scale, arm, {over: float(trials.grid(arm, over)[0])})


def stacked(values: NDArray[Any]) -> Numbers:
    """Curves of equal length in a column of trials [G, S] as one array [G, S, points]."""
    return np.array([[np.asarray(curve, dtype=np.float64) for curve in row] for row in values])


def evaluation_curves(arm: str, over: str, trials: Trials) -> Numbers:
    """Validation curves [G, S, E]; what is not finite counts with the loss at initialization."""
    losses = stacked(trials.values(arm, over, "curve_evaluation_loss"))
    initial = _initial(arm, over, trials)[..., None]
    return np.where(losses < initial, losses, initial)


def transferred(
    arm: str, tuned_for: str, times: float, over: str, trials: Trials, weights: Numbers
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """For every weighting, [R]: the index tuned for `tuned_for`, that of `times` its value on the arm's grid, and whether
    the arm's grid has such a value. Raises NotEstimableError where it has none for the estimate."""
    grid, source = trials.grid(arm, over), trials.grid(tuned_for, over) * times
    chosen = tuned(tuned_for, over, trials, weights)
    position(trials, arm, over, float(source[chosen[0]]))
    near = np.abs(np.log(grid[None, :] / source[:, None])).argmin(axis=1)
    return chosen, near[chosen], np.isclose(grid[near], source, rtol=1e-6)[chosen]
