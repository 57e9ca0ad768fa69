"""The verdict on a claim over all tasks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..declare.level import ALPHA
from ..judge.combining import SOME_WORKLOADS, combined
from ..judge.outcomes import DECIDED, OPEN, PARTLY, REFUTED, SUPPORTED, TOO_NOISY, outcome, probabilities
from ..judge.sentences import Number, Sentence
from ..judge.settling import what_would_settle
from ..judge.statistics.pooling import average, heterogeneity
from ..judge.statistics.two_samples import Effect, Spread
from ..judge.verdict import ClaimVerdict
from ..results import ForScripts, Result
from ..words import counted
from .claims import Question, RunClaim
from .comparing import Assumptions, TaskFinding, compared, level_of, question_of
from .samples import Pair

# A verdict that rests on fewer runs in an arm is never firm.
LEAST_RUNS = 3
# The normal quantile of a two-sided 95% interval.
Z = 1.96
# A word -> the verdicts on a task that it stands for.
SIDES = {"holds": (SUPPORTED, PARTLY), "fails": (REFUTED,), "open": (OPEN,)}


class TaskResult(Result):
    task: str
    verdict: str
    reading: ForScripts[str]
    estimate: float
    low: float | None
    high: float | None
    runs: list[int]
    """of both arms"""
    method: str


class RunVerdictResult(Result):
    """A verdict on these runs; nothing was declared beforehand unless you say so yourself."""

    claim: str
    verdict: str
    """supported, partly, refuted, open, out of regime, invalid or withdrawn"""
    reading: str
    estimate: float | None
    low: float | None
    high: float | None
    unit: str
    """'relative' is a share of the other arm; empty: the metric's own"""
    p: float
    level: ForScripts[float]
    smallest_visible: float | None
    """the effect that such runs show in four of five repetitions"""
    reason: str
    settling: str
    """what would settle an open one"""
    strength: str
    """firm, fragile, or empty if nothing is decided; of one or two runs an arm never firm"""
    fragile: list[str]
    """what the verdict does not survive"""
    notes: list[str]
    answer: str
    parts: list[TaskResult]


@dataclass(frozen=True, kw_only=True)
class RunVerdict(ClaimVerdict):
    """The verdict on one claim about runs trained elsewhere.

    unit: 'relative': a share of the other arm; else the metric's own. smallest_visible: the effect that such runs show in four
    of five repetitions. fragile: why a verdict that decides is not firm. notes: what else a reader should know. tuned: the
    curves of both arms (tuned.py).
    """

    claim: RunClaim
    findings: tuple[TaskFinding, ...]
    level: float
    settling: str = ""
    smallest_visible: float | None = None
    fragile: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tuned: tuple[Any, ...] = ()

    @property
    def firm(self) -> bool:
        return self.verdict in DECIDED and not self.fragile

    @property
    def strength(self) -> str:
        return "" if self.verdict not in DECIDED else "firm" if self.firm else "fragile"

    @property
    def answer(self) -> Sentence:
        """A sentence on the effect, with its number and interval."""
        return _sentence(self)

    def row(self) -> RunVerdictResult:
        """The result that `folklore judge --json` prints."""
        parts = [TaskResult.model_validate({**vars(finding), "task": finding.name}) for finding in self.findings]
        said = {"claim": self.claim.text, "strength": self.strength, "answer": str(self.answer), "parts": parts}
        return RunVerdictResult.model_validate({**vars(self), **said})


def _sentence(judged: RunVerdict) -> Sentence:
    """'b' is 1.2% (95% CI 0.8–1.6%) lower than 'a'."""
    claim = judged.claim
    if judged.estimate is None:
        return Sentence((judged.reason or _by_task(judged), "."))
    if claim.law:
        return Sentence((f"{claim.metric} misses the hyperbola in {claim.factor} by ", _number(judged, ""), "."))
    other = f"'{claim.other}'" if isinstance(claim.other, str) else f"{claim.other:g}"
    arm = f"The best of many tries of '{claim.arm}'" if judged.tuned else f"'{claim.arm}'"
    below = judged.estimate < 0
    if claim.target is not None:
        number = _number(judged, "fewer" if below else "more")
        return Sentence((f"{arm} takes ", number, f" steps to {claim.metric} {claim.target:g} than {other}."))
    return Sentence((f"{arm} is ", _number(judged, "lower" if below else "higher"), f" than {other}."))


def _by_task(judged: RunVerdict) -> str:
    """A clause on how many tasks the claim holds, and on which it fails."""
    holding = sum(finding.verdict in SIDES["holds"] for finding in judged.findings)
    held = f"It holds on {holding} of {len(judged.findings)}"
    return "; ".join([held, *_sides(judged.findings, ("fails", "open"))])


def _sides(findings: Sequence[TaskFinding], words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if names := [finding.name for finding in findings if finding.verdict in SIDES[word]]:
            yield f"{word} on {', '.join(names)}"


def _number(judged: RunVerdict, word: str) -> Number:
    """The estimate without its sign, which the word says."""
    estimate = judged.estimate or 0.0
    sign = -1 if estimate < 0 else 1
    ends = [sign * (estimate if end is None else end) for end in (judged.low, judged.high)]
    unit = "share" if judged.unit == "relative" else ""
    return Number(sign * estimate, min(ends), max(ends), unit, f"{judged.level:.0%}", word)


def judge_pairs(
    claim: RunClaim, pairs: Sequence[Pair], how: Assumptions, shared: Spread | None, question: Question | None = None
) -> RunVerdict:
    question = question or question_of(claim, pairs)
    findings = [compared(claim, pair, how, shared, question, len(pairs) == 1) for pair in pairs]
    return together(claim, findings, tuple(notes_on(claim, pairs)), question)


def together(
    claim: RunClaim, findings: Sequence[TaskFinding], notes: tuple[str, ...], question: Question | None = None
) -> RunVerdict:
    """The verdict over all tasks. Tasks that decisively disagree have no number in common."""
    question = question or claim.question
    # Over all tasks: what holds on most and fails on one has no average worth a number.
    over = combined(findings, "all" if claim.quantifier == "average" else claim.quantifier)
    effects = [finding.effect for finding in findings if finding.effect is not None]
    if claim.quantifier != "average" or over.reading == SOME_WORKLOADS:
        p = 1.0 if over.verdict == OPEN else over.p
        return _judged(claim, question, findings, over.verdict, over.reading, None, p, notes)
    if not effects:
        return _judged(claim, question, findings, OPEN, TOO_NOISY, None, 1.0, notes)
    mean = effects[0] if len(effects) == 1 else average(effects, level_of(question))
    chances = probabilities(question, mean)
    verdict, reading = outcome(question, mean, chances)
    # The verdict's; if it decides nothing, that of "no difference", or of what would decide.
    undecided = min(chances.direction, chances.opposite) if question.side else min(chances.supported, chances.refuted)
    p = {SUPPORTED: chances.supported, REFUTED: chances.refuted, PARTLY: chances.direction}.get(verdict, undecided)
    return _judged(claim, question, findings, verdict, reading, mean, p, (*notes, *_notes_on_tasks(findings, effects)))


def _notes_on_tasks(findings: Sequence[TaskFinding], effects: Sequence[Effect]) -> Iterator[str]:
    """Tasks that have no effect, or other effects than each other."""
    bare = sum(finding.effect is None and "no percentage" in finding.method for finding in findings)
    if single := len(findings) - len(effects) - bare:
        yield f"{single} tasks have one run an arm and do not count"
    if bare:
        yield f"{bare} tasks have a mean too near zero for percentages and do not count: claim an absolute difference"
    if len(effects) > 1 and (p := heterogeneity(effects)) <= ALPHA:
        yield f"the effect differs between tasks (Cochran's Q: p = {p:.2g}), so the average is one of these tasks alone"


def _judged(
    claim: RunClaim, question: Question, findings: Sequence[TaskFinding], verdict: str, reading: str, mean: Effect | None,
    p: float, notes: tuple[str, ...],
) -> RunVerdict:  # fmt: skip
    few = min(min(count for count in finding.runs if count) for finding in findings)
    fragile = (f"an arm has {counted(few, 'run')}",) if few < LEAST_RUNS else ()
    only = findings[0].estimate if len(findings) == 1 else None
    settling = ""
    if verdict == OPEN and mean is not None:
        settling = what_would_settle(mean, question, ALPHA).replace("seed", "run")
    elif verdict == OPEN and mean is None and few == 1:
        settling = "run each arm with at least 3 seeds" + _by_known_spread(findings)
    return RunVerdict(
        claim=claim, verdict=verdict, reading=reading, unit="relative" if claim.relative else "",
        estimate=mean.estimate if mean else only, low=mean.low if mean else None, high=mean.high if mean else None, p=p,
        level=level_of(question), findings=tuple(findings), reason=_reason(verdict, reading, findings), settling=settling,
        smallest_visible=mean.smallest_visible if mean else None, fragile=fragile, notes=notes,
    )  # fmt: skip


def _by_known_spread(findings: Sequence[TaskFinding]) -> str:
    """A clause for one run against one: the standard deviation between seeds below which the difference would show."""
    if len(findings) > 1 or len(findings[0].samples) < 2:
        return ""
    difference = abs(float(np.mean(findings[0].samples[0]) - np.mean(findings[0].samples[1])))
    return f", or give their standard deviation with --sd: below {difference / (Z * math.sqrt(2)):.2g} shows a difference"


def _reason(verdict: str, reading: str, findings: Sequence[TaskFinding]) -> str:
    if reading == SOME_WORKLOADS:
        return "; ".join(_sides(findings, ("holds", "fails")))
    if verdict == OPEN and all(finding.effect is None for finding in findings):
        return "one run against one: nothing tells the effect from noise"
    return ""


def notes_on(claim: RunClaim, pairs: Sequence[Pair]) -> Iterator[str]:
    """Notes on the samples: runs that diverged, were left out, or agree to the last digit."""
    sides = list(zip(*(pair.sides for pair in pairs), strict=True))
    diverged = [sum(int(np.sum(sample.diverged)) for sample in samples) for samples in sides]
    counts = [sum(map(len, samples)) for samples in sides]
    if any(diverged) and claim.target is None:
        subject = " and ".join(
            f"{bad} of {count} runs of '{arm}'" for bad, count, arm in zip(diverged, counts, claim.arms, strict=True)
        )
        yield f"{subject} end without a finite number" + (_fisher(diverged, counts) if len(sides) == 2 else "")
    elif any(diverged):
        yield f"{sum(diverged)} runs never reach {claim.metric} {claim.target:g}, and count with their last step"
    if all(pair.paired and pair.by == "seed" for pair in pairs):
        yield f"paired by seed: {sum(len(pair.arm) for pair in pairs)} pairs"
    if dropped := sum(pair.dropped for pair in pairs):
        yield f"{counted(dropped, 'run')} without a partner in the other arm left out of the pairs"
    if any(len(set(map(float, sample.values))) == 1 < len(sample) for samples in sides for sample in samples):
        yield "all runs of an arm agree to the last digit: is the seed used?"


def _fisher(diverged: Sequence[int], counts: Sequence[int]) -> str:
    finished = [count - bad for count, bad in zip(counts, diverged, strict=True)]
    return f" (Fisher's exact test: p = {scipy.stats.fisher_exact([diverged, finished]).pvalue:.2g})"
