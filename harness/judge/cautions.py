"""Warnings of calibration against an estimator in worlds like the one at hand, for verdicts to carry.

Calibration counts how often intervals of each kind of observation hold the truth in worlds with a given trouble
(tests/calibration). Here the trials at hand are searched for the same troubles; if intervals failed too often in such worlds,
with about as many seeds, the verdict says so.
"""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ..declare import Observed, arms_of, leaves
from ..declare.metrics.estimating.evaluation import evaluate
from ..declare.metrics.estimating.weighted import tuned_index
from ..declare.observed import ARM, ShareOfRuns
from ..declare.parts import all_parts, searched_factor
from ..declare.trials import NotEstimableError, Numbers
from ..plan.store import evidence
from .trial_arrays import TrialArrays

# Below this coverage of a 95% interval, in worlds of the same trouble, a verdict warns.
LEAST_COVERAGE = 0.90
# Standard errors from that of normal noise at which skewness or kurtosis counts as a trouble: one seed set in a hundred.
CLEARLY = 2.58
# More than this share of the runs at a value is a cliff, which estimators see, and no rare accident.
RARE = 0.5
# Fewer seeds show no shape.
LEAST_SEEDS_OF_A_SHAPE = 5
IN_WORDS = {
    "diverging runs": "Single runs diverge near the best value",
    "optimum near the edge": "The best value is next to the edge of its grid",
    "skewed": "The results are skewed across seeds",
    "heavy tails": "Single seeds are outliers",
}

Rows = Sequence[dict[str, Any]]


@cache
def published_calibration() -> Rows:
    """The last calibration; empty if there was none."""
    path = evidence.FOLDER / "calibration.json"
    return tuple(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else ()


def cautions(observable: Observed, table: TrialArrays, calibration: Rows) -> tuple[str, ...]:
    """A clause for every trouble of these trials in which intervals of this kind hold the truth too rarely."""
    if not calibration or observable.grade != "measured" or isinstance(observable, ShareOfRuns):
        return ()
    return tuple(
        f"{IN_WORDS[trouble]}: in simulations of this, such intervals cover the truth {coverage:.0%} of the time, not 95%"
        for trouble in troubles(observable, table)
        if (coverage := _coverage(observable, trouble, table.seeds, calibration)) is not None and coverage < LEAST_COVERAGE
    )


def _coverage(observable: Observed, trouble: str, seeds: int, calibration: Rows) -> float | None:
    """Coverage of the kind itself or, if that is not calibrated there, the worst of its parts; at the nearest calibrated number
    of seeds."""
    for kinds in ({observable.calibrated_as}, {part.calibrated_as for part in all_parts(observable)}):
        rows = [row for row in calibration if row["observable"] in kinds and row["condition"] == trouble]
        rows = [row for row in rows if row["coverage"] is not None]
        if rows:
            nearest = min((row["seeds"] for row in rows), key=lambda counted: abs(math.log(counted / seeds)))
            return float(min(row["coverage"] for row in rows if row["seeds"] == nearest))
    return None


def troubles(observable: Observed, table: TrialArrays) -> Iterator[str]:
    """Troubles of calibration's worlds that these trials visibly share."""
    grids = list(_tuned(observable, table))
    if any(0 < share <= RARE for _, _, diverged in grids for share in diverged):
        yield "diverging runs"
    if any(index in (1, points - 2) for index, points, _ in grids if points > 4):
        yield "optimum near the edge"
    if table.seeds < LEAST_SEEDS_OF_A_SHAPE:
        return
    with suppress(NotEstimableError):
        skewness, kurtosis = _shape(_of_single_seeds(observable, table))
        if abs(skewness) > CLEARLY:
            yield "skewed"
        if kurtosis > CLEARLY:
            yield "heavy tails"


def _tuned(observable: Observed, table: TrialArrays) -> Iterator[tuple[int, int, list[float]]]:
    """For every arm that is read at its tuned value: its index, the points of its grid, and the shares of runs that diverge
    there and at the values beside it: such a run moves the tuned value."""
    for leaf in leaves(observable):
        over = searched_factor(leaf)
        for arm in sorted(arms_of(leaf, ARM) & set(table.study.arms_at(table.scale))) if over else ():
            with suppress(NotEstimableError):
                index = tuned_index(arm, str(over), table)
                diverged = table.diverged(arm, str(over))
                beside = diverged[max(0, index - 1) : index + 2]
                yield index, len(diverged), beside.mean(axis=1).tolist()


def _of_single_seeds(observable: Observed, table: TrialArrays) -> Numbers:
    """The jackknife's pseudo-values (Tukey 1958), a number a seed; none if the estimate does not exist without one of them."""
    seeds = table.seeds
    values = evaluate(observable, table, np.vstack([np.ones(seeds), 1.0 - np.eye(seeds)]))
    if observable.log_axis:
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.log(values)
    return np.asarray(seeds * values[0] - (seeds - 1) * values[1:])


def _shape(values: Numbers) -> tuple[float, float]:
    """Skewness and excess kurtosis as multiples of their standard errors for normal noise (Cramer 1946, section 29.3)."""
    count, centred = len(values), values - values.mean()
    variance = float((centred**2).mean())
    if not np.isfinite(variance) or variance <= 0:
        return 0.0, 0.0
    skewness = float((centred**3).mean()) / variance**1.5
    kurtosis = float((centred**4).mean()) / variance**2 - 3
    of_skewness = math.sqrt(6 * (count - 2) / ((count + 1) * (count + 3)))
    of_kurtosis = math.sqrt(24 * count * (count - 2) * (count - 3) / ((count + 1) ** 2 * (count + 3) * (count + 5)))
    return skewness / of_skewness, kurtosis / of_kurtosis
