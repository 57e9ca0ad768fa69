"""Two arms on one task, or an arm against a number: the effect, and its verdict there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..declare.level import ALPHA, LEVEL
from ..errors import UserError
from ..judge.outcomes import OPEN, TOO_NOISY
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
from ..judge.verdict import Finding, decided
from .claims import Question, RunClaim
from .samples import Pair


@dataclass(frozen=True)
class Assumptions:
    """Choices in comparing samples. paired: None: if the arms share seeds. deviation: between runs, known from elsewhere.
    step_worth: what a further step takes off the metric, for arms that end at different steps. one_spread: unpaired arms vary
    alike. also: settings that may differ between the arms (or the metric: between its units)."""

    paired: bool | None = None
    deviation: float | None = None
    step_worth: float | None = None
    one_spread: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TaskFinding(Finding):
    """The outcome on one task, or at one size.

    effect: None without a spread; then estimate alone is known. runs: of the arm and of the other, 0 of a number. samples: the
    values of the arm and of the other, for figures; of a law the sizes, the means at them, and the fit's parameters.
    """

    estimate: float
    effect: Effect | None = None
    runs: tuple[int, int]
    method: str
    samples: tuple[Numbers, ...] = ()

    def asked(self, question: Question) -> "TaskFinding":
        """The outcome of another question."""
        return self if self.effect is None else replace(self, **decided(question, self.effect))


def question_of(claim: RunClaim, pairs: Sequence[Pair]) -> Question:
    """The claim's question; percentage points are hundredths if the metric is a share."""
    if claim.points and all(float(np.max(np.abs(side.values))) <= 1 for pair in pairs for side in (pair.arm, pair.other)):
        assert claim.size is not None
        return replace(claim, size=claim.size / 100).question
    return claim.question


def compared(
    claim: RunClaim, pair: Pair, how: Assumptions, shared: Spread | None, question: Question, alone: bool = True
) -> TaskFinding:
    """alone: whether it is the only task; then a mean too near zero is an error, else the task has no percentage."""
    x, y = pair.arm.values, pair.other.values
    if how.step_worth is not None and not pair.exact:  # as if the arm had trained for as many steps as the other
        x = x - how.step_worth * float(np.mean(pair.other.stops) - np.mean(pair.arm.stops))
    facts: dict[str, Any] = {
        "name": pair.task,
        "panel": pair.task,
        "runs": (len(x), 0 if pair.exact else len(y)),
        "seeds": min(len(side) for side in pair.sides),
        "samples": (x, y)[: len(pair.sides)],
    }
    try:
        effect, method = _effect(x, y, pair, how, shared, claim.relative, level_of(question))
    except NoSpreadError:
        method = "one run" if pair.exact else "one run against one"
    except NoBaseError as error:
        if alone:
            raise UserError(str(error)) from None
        method = f"no percentage: {error}"
    else:
        return TaskFinding.of(question, effect, effect=effect, method=method, **facts)
    difference, base = float(np.mean(x) - np.mean(y)), abs(float(np.mean(y))) if claim.relative else 1.0
    estimate = difference / base if base else math.inf
    return TaskFinding(verdict=OPEN, reading=TOO_NOISY, estimate=estimate, method=method, **facts)


def _effect(
    x: Numbers, y: Numbers, pair: Pair, how: Assumptions, shared: Spread | None, relative: bool, level: float
) -> tuple[Effect, str]:
    """The effect by the spread of the samples themselves, of all arms if one has a single run, or a known one; and how."""
    spread, method = None, f"paired by {pair.by}" if pair.paired else "independent runs (Welch)"
    if how.deviation is not None:
        spread, method = Spread(how.deviation), "standard deviation given"
    elif pair.exact:
        method = "one sample (Student)"
    elif not pair.paired and min(len(x), len(y)) < 2:
        if shared is None:
            raise NoSpreadError
        spread, method = shared, f"a single run; standard deviation of all arms ({shared.freedom:g} degrees of freedom)"
    elif not pair.paired and how.one_spread:
        spread, method = pooled_spread([x, y]), "independent runs (Student)"
    if pair.exact:
        return against(x, float(y[0]), spread, relative, level), method
    compare = relative_difference if relative else difference
    return compare(x, y, pair.paired and spread is None, spread, level), method


def level_of(question: Question) -> float:
    return 1 - 2 * ALPHA if question.one_sided else LEVEL
