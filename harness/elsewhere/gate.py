"""A gate for continuous integration: new runs against a baseline that holds runs, and no golden value.

A golden value breaks with a container, and says nothing of noise. Here a candidate is *damaged* if it is surely worse than the
baseline by more than the margin, *drifting* if surely worse by less, *too good* if it is better by more than the margin and by
more than chance gives once in a thousand times: then the data leak, or something else is measured.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import scipy

from ..declare.level import ALPHA
from ..errors import UserError
from ..judge.outcomes import REFUTED, SUPPORTED
from ..judge.statistics.intervals import Observation
from ..judge.statistics.two_samples import Effect
from ..results import fields_of
from .checks import checked
from .claims import read_claim
from .judge_runs import JudgedRuns, JudgeOptions, corrected, judge_claim
from .runs import Runs, runs_of

BASELINE, CANDIDATE = "baseline", "candidate"
DAMAGE, DRIFT, TOO_GOOD, FINE, OPEN = "damage", "drift", "too good", "fine", "open"
# The way to a gate of an eval.
INSTEAD_OF_GATE = "name both files and write --claim 'accuracy: tonight >= main within 1 point' --fail-on refuted"
# The probability that chance alone makes a run that is called too good.
SELDOM = 0.001
MEANINGS = {
    FINE: "surely no worse than the baseline by more than the margin",
    DAMAGE: "surely worse than the baseline by more than the margin",
    DRIFT: "surely worse than the baseline, but not by more than the margin",
    TOO_GOOD: "better than the baseline by more than the margin and chance: do the data leak, or is something else measured?",
    OPEN: "too few runs to tell",
}


@dataclass(frozen=True)
class Gate:
    """false_alarms: how often an unchanged candidate with as many runs would be called damaged; caught: how often one that is
    worse by twice the margin would be."""

    outcome: str
    judged: JudgedRuns
    false_alarms: float | None
    caught: float | None

    def row(self) -> dict[str, Any]:
        rates = {"false_alarms": self.false_alarms, "caught": self.caught}
        return {**fields_of(self.judged.row()), "gate": {"outcome": self.outcome, "meaning": MEANINGS[self.outcome], **rates}}


def gate(candidates: Sequence[str], baseline: str, margin: str, options: JudgeOptions) -> Gate:
    """margin: '1%' or '0.02'. Raises UserError."""
    sides = [_side([baseline], BASELINE, options), _side(candidates, CANDIDATE, options)]
    better = sides[0].better
    if better is None:
        raise UserError(f"is a lower or a higher {sides[0].metric} better? Say --minimize or --maximize")
    runs = _joined(sides)
    sign = "<=" if better == "lower" else ">="
    claim = replace(read_claim(f"'{runs.metric}': {CANDIDATE} {sign} {BASELINE} within {margin}"), metric=runs.metric)
    assert claim.size is not None
    judged = judge_claim(runs, claim, options.how)
    effect = judged.findings[0].effect if len(judged.findings) == 1 else None
    frequencies = rates(effect, claim.size) if effect is not None and effect.error else (None, None)
    outcome = _outcome(judged.verdict, effect, claim.size, better)
    return Gate(outcome, JudgedRuns((runs,), tuple(corrected([judged]))), *frequencies)


def _side(sources: Sequence[str], arm: str, options: JudgeOptions) -> Runs:
    runs = runs_of(sources, options.reading)
    if runs.of_items:
        raise UserError(f"--baseline compares runs, and these are answers to items: {INSTEAD_OF_GATE}")
    runs = checked(runs)
    return replace(runs, frame=runs.frame.assign(arm=arm))


def _joined(sides: Sequence[Runs]) -> Runs:
    """One set of runs. Raises UserError if the sides hold different metrics."""
    first, second = sides
    if first.metric != second.metric:
        raise UserError(f"the baseline holds '{first.metric}', the runs hold '{second.metric}'; name one with --metric")
    moved = second.frame.assign(run=second.frame["run"] + first.frame["run"].max() + 1)
    frame = pd.concat([first.frame, moved], ignore_index=True)
    sources, formats = first.sources + second.sources, tuple(dict.fromkeys(first.formats + second.formats))
    problems = tuple(dict.fromkeys(first.problems + second.problems))
    return replace(first, frame=frame, sources=sources, formats=formats, problems=problems)


def _outcome(verdict: str, effect: Effect | None, margin: float, better: str) -> str:
    if verdict == REFUTED:
        return DAMAGE
    if effect is not None:
        worse = 1 if better == "lower" else -1
        if _surely_beyond(effect, -worse * margin, -worse, SELDOM):
            return TOO_GOOD
        if _surely_beyond(effect, 0.0, worse, ALPHA / 2) and verdict == SUPPORTED:
            return DRIFT
    return FINE if verdict == SUPPORTED else OPEN


def _surely_beyond(effect: Observation, edge: float, side: int, alpha: float) -> bool:
    region = (edge, math.inf) if side > 0 else (-math.inf, edge)
    return effect.p_inside(*region) / 2 <= alpha


def rates(effect: Effect, margin: float) -> tuple[float, float]:
    """Rates of calling damaged an unchanged candidate, and one that is worse by twice the margin: noncentral t.

    The shift over an estimated error is too large on average; Hedges' factor (1981) makes up for that.
    """
    freedom = min(effect.freedom, 1e6)
    critical = scipy.stats.t.ppf(1 - ALPHA, freedom)
    hedges = scipy.special.poch((freedom - 1) / 2, 0.5) / math.sqrt(freedom / 2)
    shift = hedges * margin / effect.error
    return float(scipy.stats.nct.sf(critical, freedom, -shift)), float(scipy.stats.nct.sf(critical, freedom, shift))


def baseline_text(runs: Runs) -> str:
    """The runs as CSV, to be kept beside the code: what `--baseline` reads."""
    frame = runs.frame.rename(columns={"value": runs.metric})
    kept = ["run", *(column for column in ("arm", "task", "seed", "step") if frame[column].nunique() > 1)]
    buffer = io.StringIO()
    frame[[*kept, runs.metric]].to_csv(buffer, index=False, lineterminator="\n", na_rep="")
    return buffer.getvalue()
