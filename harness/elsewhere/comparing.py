"""Two arms on one task, or an arm against a number: the effect, and its verdict there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..declare.level import ALPHA, LEVEL
from ..errors import UserError
from ..judge.outcomes import OPEN, outcome, probabilities
from ..judge.statistics.intervals import Numbers
from ..judge.statistics.two_samples import (
    Effect,
    NoBaseError,
    NoSpreadError,
    Spread,
    against,
    difference,
    pooled_spread,
    relative_difference,
)
from .claims import Question, RunClaim
from .samples import Pair, Sample


@dataclass(frozen=True)
class Assumptions:
    """How samples are compared. paired: None: if the arms share seeds. deviation: between runs, known from elsewhere.
    step_worth: what a further step takes off the metric, for arms that end at different steps. one_spread: unpaired arms vary
    alike. also: settings that may differ between the arms (or the metric: between its units)."""

    paired: bool | None = None
    deviation: float | None = None
    step_worth: float | None = None
    one_spread: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """What is seen on one task, or at one size.

    effect: None without a spread; then estimate alone is known. samples: the values of the arm and of the other, for figures;
    of a law the sizes, the means at them, and the fit's parameters.
    """

    name: str
    verdict: str
    reading: str
    estimate: float
    effect: Effect | None
    runs: tuple[int, int]
    method: str
    samples: tuple[Numbers, ...] = ()


def question_of(claim: RunClaim, given: Sequence[Pair]) -> Question:
    """Percentage points are hundredths where the metric is a share."""
    if claim.points and all(float(np.max(np.abs(each.values))) <= 1 for pair in given for each in (pair.arm, pair.other)):
        assert claim.size is not None
        return replace(claim, size=claim.size / 100).question
    return claim.question


def compared(
    claim: RunClaim, pair: Pair, how: Assumptions, shared: Spread | None, question: Question, alone: bool = True
) -> Part:
    """alone: whether it is the only task; then a mean too near zero is an error, else the task has no percentage."""
    x, y = pair.arm.values, pair.other.values
    if how.step_worth is not None:  # as if the arm had trained for as many steps as the other
        x = x - how.step_worth * float(np.mean(pair.other.stops) - np.mean(pair.arm.stops))
    runs, plain, base = (len(x), len(y)), float(np.mean(x) - np.mean(y)), abs(float(np.mean(y)))
    if claim.relative:
        plain = plain / base if base else math.inf
    try:
        effect, method = _effect(x, y, pair, how, shared, claim.relative, level_of(question))
    except NoSpreadError:
        return Part(pair.task, OPEN, "too noisy", plain, None, runs, "one run against one", (x, y))
    except NoBaseError as error:
        if alone:
            raise UserError(str(error)) from None
        return Part(pair.task, OPEN, "too noisy", plain, None, runs, f"no percentage: {error}", (x, y))
    return Part(pair.task, *verdict_of(question, effect), effect.estimate, effect, runs, method, (x, y))


def _effect(
    x: Numbers, y: Numbers, pair: Pair, how: Assumptions, shared: Spread | None, relative: bool, level: float
) -> tuple[Effect, str]:
    """With the spread of the samples themselves, of all arms if one has a single run, or one known from elsewhere."""
    spread, method = None, f"paired by {pair.by}" if pair.paired else "independent runs (Welch)"
    if how.deviation is not None:
        spread, method = Spread(how.deviation), "standard deviation given"
    elif not pair.paired and min(len(x), len(y)) < 2:
        if shared is None:
            raise NoSpreadError
        spread, method = shared, f"a single run; standard deviation of all arms ({shared.freedom:g} degrees of freedom)"
    elif not pair.paired and how.one_spread:
        spread, method = pooled_spread([x, y]), "independent runs (Student)"
    compare = relative_difference if relative else difference
    return compare(x, y, pair.paired and spread is None, spread, level), method


def against_number(claim: RunClaim, task: str, arm: Sample) -> Part:
    assert isinstance(claim.other, float)
    question, runs = claim.question, (len(arm), 0)
    try:
        effect = against(arm.values, claim.other, relative=claim.relative, level=level_of(question))
    except NoSpreadError:
        return Part(task, OPEN, "too noisy", float(arm.values[0] - claim.other), None, runs, "one run", (arm.values,))
    return Part(task, *verdict_of(question, effect), effect.estimate, effect, runs, "one sample (Student)", (arm.values,))


def level_of(question: Question) -> float:
    return 1 - 2 * ALPHA if question.one_sided else LEVEL


def verdict_of(question: Question, effect: Effect) -> tuple[str, str]:
    return outcome(question, effect, probabilities(question, effect))
