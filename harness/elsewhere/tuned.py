"""Tuned arms: each run has other hyperparameters, and the best of k tries counts.

The median of the best of k tries has simultaneous bands over all k (Lourie, Cho and He 2024, "Show your work with confidence";
the package `opda`). Two bands of 97.5% hold together with 95%. A claim is supported if the bands lie apart as it says at some
number of tries and at none the other way round; nothing is assumed of the losses' distribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..declare.level import ALPHA
from ..errors import UserError
from ..judge.outcomes import OPEN, PARTLY, REFUTED, SUPPORTED
from ..judge.statistics.intervals import Numbers
from .claims import RunClaim
from .comparing import TaskFinding
from .run_verdict import RunVerdict
from .samples import Mask, Pair

# For more tries an arm the narrower bands take minutes.
MOST_EXACT = 150


@dataclass(frozen=True)
class Tuning:
    """The median of the best of k tries [k], with its bands; a side without a bound is infinite."""

    low: Numbers
    middle: Numbers
    high: Numbers


def tuning(values: Numbers, tries: int, minimize: bool) -> Tuning:
    """The tuning curve of 1 … `tries` tries."""
    from opda.nonparametric import EmpiricalDistribution

    method = "ld_equal_tailed" if len(values) <= MOST_EXACT else "ks"
    generator = np.random.default_rng(0)
    ends = EmpiricalDistribution.confidence_bands(  # processes of its own would take longer to start than the bands
        values, 1 - ALPHA / 2, method=method, generator=generator, n_jobs=1
    )
    ks = np.arange(1, tries + 1)
    curves = [np.asarray(end.quantile_tuning_curve(ks, q=0.5, minimize=minimize), float) for end in ends]
    return Tuning(np.min(curves, axis=0), curves[1], np.max(curves, axis=0))


def judge_tuned(claim: RunClaim, pairs: Sequence[Pair]) -> RunVerdict:
    """The verdict on one task. Raises UserError for a claim or runs that tuned arms cannot be judged by."""
    if len(pairs) != 1 or claim.comparison not in ("<", ">"):
        raise UserError(f"claim '{claim.text}': tuned arms are compared by < or > on one task; choose one with --where")
    (pair,) = pairs
    minimize = claim.comparison == "<"
    tries = min(len(pair.arm), len(pair.other))
    arm, other = (tuning(side.values, tries, minimize) for side in (pair.arm, pair.other))
    sign = 1.0 if minimize else -1.0
    better, worse = _apart(arm, other, claim, sign)
    verdict, reading = _verdict(better, worse)
    at = tries if not better.any() else int(np.flatnonzero(better)[-1]) + 1
    gap = float(arm.middle[at - 1] - other.middle[at - 1])
    gap = gap / abs(float(other.middle[at - 1])) if claim.relative else gap
    finding = TaskFinding(
        name=pair.task, verdict=verdict, reading=reading, estimate=gap, seeds=tries, runs=(len(pair.arm), len(pair.other)),
        method="bands of tuning curves (opda)",
    )  # fmt: skip
    return RunVerdict(
        claim=claim, verdict=verdict, reading=reading, unit="relative" if claim.relative else "", estimate=gap, low=None,
        high=None, p=ALPHA if verdict != OPEN else 1.0, level=1 - ALPHA, findings=(finding,),
        reason=_reason(better, worse, tries),
        notes=(f"the difference is that of the medians of the best of {at} tries",), tuned=(arm, other),
    )  # fmt: skip


def _apart(arm: Tuning, other: Tuning, claim: RunClaim, sign: float) -> tuple[Mask, Mask]:
    """Masks of the numbers of tries at which the arm is surely better by what is claimed, and surely not better at all."""
    size = claim.size or 0.0
    best, worst = (arm.low, arm.high) if sign > 0 else (arm.high, arm.low)
    base = other.low if sign > 0 else other.high
    needed = base - sign * (size * np.abs(base) if claim.relative else size)
    with np.errstate(invalid="ignore"):
        return sign * worst < sign * needed, sign * best > sign * (other.high if sign > 0 else other.low)


def _verdict(better: Mask, worse: Mask) -> tuple[str, str]:
    if better.any() and worse.any():
        return PARTLY, "some parts"
    if better.any():
        return SUPPORTED, ""
    return (REFUTED, "opposite") if worse.any() else (OPEN, "too noisy")


def _reason(better: Mask, worse: Mask, tries: int) -> str:
    clauses = []
    for word, which in (("better", better), ("worse", worse)):
        if which.any():
            places = np.flatnonzero(which) + 1
            clauses.append(f"surely {word} with {places[0]} to {places[-1]} tries")
    return "; ".join(clauses) or f"the bands overlap at every number of tries up to {tries}"
