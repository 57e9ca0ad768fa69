"""What becomes of a claim over all tasks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..declare.level import ALPHA
from ..judge.combining import SOME_WORKLOADS, combined
from ..judge.outcomes import DECIDED, OPEN, probabilities
from ..judge.sentences import Number, Sentence
from ..judge.settling import what_would_settle
from ..judge.statistics.pooling import average, heterogeneity
from ..judge.statistics.two_samples import Effect, Spread
from ..judge.verdict import CriterionFinding
from ..words import counted
from .claims import Question, RunClaim
from .comparing import Assumptions, Part, compared, level_of, question_of, verdict_of
from .samples import Pair

# A verdict that rests on fewer runs in an arm is never firm.
LEAST_RUNS = 3
# The normal quantile of a two-sided 95% interval.
Z = 1.96
# What the distances of bounds from the null are multiplied by, to see whether a verdict depends on them.
QUARTERS = {"bounds a quarter nearer": 0.75, "bounds a quarter further": 1.25}
# What verdicts on a task come to, in a word.
SIDES = {"holds": ("supported", "partly"), "fails": ("refuted",), "open": ("open",)}


@dataclass(frozen=True, kw_only=True)
class RunVerdict:
    """One claim.

    estimate, low, high: of the effect in `unit` ('relative': a share of the other arm; else the metric's own); None if there is
    no number for all tasks together. smallest_visible: the effect that such runs show in four of five repetitions. fragile: why
    a verdict that decides is not firm. notes: what else a reader should know. tuned: the curves of both arms (tuned.py).
    """

    claim: RunClaim
    verdict: str
    reading: str
    unit: str
    estimate: float | None
    low: float | None
    high: float | None
    p: float
    level: float
    parts: tuple[Part, ...]
    reason: str
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
        """What was seen, with its number and interval."""
        return _sentence(self)

    def to_dict(self) -> dict[str, Any]:
        parts = [
            {"task": each.name, "verdict": each.verdict, "reading": each.reading, "estimate": each.estimate,
             "low": each.effect and each.effect.low, "high": each.effect and each.effect.high, "runs": list(each.runs),
             "method": each.method}
            for each in self.parts
        ]  # fmt: skip
        numbers = ("estimate", "low", "high", "unit", "p", "level", "smallest_visible")
        told = {name: getattr(self, name) for name in ("verdict", "reading", *numbers, "reason", "settling")}
        lists = {"fragile": list(self.fragile), "notes": list(self.notes)}
        beside = {"strength": self.strength, **lists, "answer": str(self.answer)}
        return {"claim": self.claim.text, **told, **beside, "parts": parts}


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
    """On how many tasks it holds, and on which it fails."""
    sides = {word: [each.name for each in judged.parts if each.verdict in verdicts] for word, verdicts in SIDES.items()}
    held = f"It holds on {len(sides['holds'])} of {len(judged.parts)}"
    return "; ".join([held, *(f"{word} on {', '.join(names)}" for word, names in sides.items() if names and word != "holds")])


def _number(judged: RunVerdict, word: str) -> Number:
    """Without its sign, which the word says."""
    estimate = judged.estimate or 0.0
    sign = -1 if estimate < 0 else 1
    ends = [sign * (estimate if each is None else each) for each in (judged.low, judged.high)]
    unit = "share" if judged.unit == "relative" else ""
    return Number(sign * estimate, min(ends), max(ends), unit, f"{judged.level:.0%}", word)


def judge_pairs(
    claim: RunClaim, given: Sequence[Pair], how: Assumptions, shared: Spread | None, question: Question | None = None
) -> RunVerdict:
    question = question or question_of(claim, given)
    parts = [compared(claim, pair, how, shared, question, len(given) == 1) for pair in given]
    return together(claim, parts, tuple(notes_on(claim, given)), question)


def _finding(part: Part, question: Question) -> CriterionFinding:
    effect = part.effect
    p = probabilities(question, effect) if effect else None
    return CriterionFinding(
        name=part.name, unit="", verdict=part.verdict, reading=part.reading, estimate=part.estimate, low=None, high=None,
        seeds=min(part.runs), p_supported=p.supported if p else 1.0, p_refuted=p.refuted if p else 1.0,
        p_direction=p.direction if p else 1.0, reason="", panel=part.name,
    )  # fmt: skip


def together(claim: RunClaim, parts: Sequence[Part], notes: tuple[str, ...], question: Question | None = None) -> RunVerdict:
    """Over all tasks. What tasks say decisively differently has no number in common."""
    question = question or claim.question
    findings = [_finding(each, question) for each in parts]
    # Over all tasks: what holds on most and fails on one has no average worth a number.
    over = combined(findings, "all" if claim.quantifier == "average" else claim.quantifier)
    effects = [each.effect for each in parts if each.effect is not None]
    apart = over.reading == SOME_WORKLOADS
    if claim.quantifier != "average" or apart:
        p = 1.0 if over.verdict == OPEN else over.p
        return _judged(claim, question, parts, over.verdict, over.reading, None, p, notes)
    if not effects:
        return _judged(claim, question, parts, OPEN, "too noisy", None, 1.0, notes)
    mean = effects[0] if len(effects) == 1 else average(effects, level_of(question))
    verdict, reading = verdict_of(question, mean)
    # Of the verdict; of one that decides nothing, that of "no difference", or of what would decide.
    seen = probabilities(question, mean)
    undecided = min(seen.direction, seen.opposite) if question.side else min(seen.supported, seen.refuted)
    p = {"supported": seen.supported, "refuted": seen.refuted, "partly": seen.direction}.get(verdict, undecided)
    return _judged(claim, question, parts, verdict, reading, mean, p, (*notes, *_notes_on_tasks(parts, effects)))


def _notes_on_tasks(parts: Sequence[Part], effects: Sequence[Effect]) -> Iterator[str]:
    """Tasks that have no effect, or other effects than each other."""
    bare = sum(each.effect is None and "no percentage" in each.method for each in parts)
    if single := len(parts) - len(effects) - bare:
        yield f"{single} tasks have one run an arm and do not count"
    if bare:
        yield f"{bare} tasks have a mean too near zero for percentages and do not count: claim an absolute difference"
    if len(effects) > 1 and (p := heterogeneity(effects)) <= ALPHA:
        yield f"the effect differs between tasks (Cochran's Q: p = {p:.2g}), so the average is one of these tasks alone"


def _judged(
    claim: RunClaim, question: Question, parts: Sequence[Part], verdict: str, reading: str, mean: Effect | None, p: float,
    notes: tuple[str, ...],
) -> RunVerdict:  # fmt: skip
    few = min(min(each for each in part.runs if each) for part in parts)
    fragile = (f"an arm has {counted(few, 'run')}",) if few < LEAST_RUNS else ()
    only = parts[0].estimate if len(parts) == 1 else None
    settling = ""
    if verdict == OPEN and mean is not None:
        settling = what_would_settle(mean, question, ALPHA).replace("seed", "run")
    elif verdict == OPEN and mean is None and few == 1:
        settling = "run each arm with at least 3 seeds" + _by_known_spread(parts)
    return RunVerdict(
        claim=claim, verdict=verdict, reading=reading, unit="relative" if claim.relative else "",
        estimate=mean.estimate if mean else only, low=mean.low if mean else None, high=mean.high if mean else None, p=p,
        level=level_of(question), parts=tuple(parts), reason=_reason(verdict, reading, parts), settling=settling,
        smallest_visible=mean.smallest_visible if mean else None, fragile=fragile, notes=notes,
    )  # fmt: skip


def _by_known_spread(parts: Sequence[Part]) -> str:
    """Of one run against one: which standard deviation between seeds, if it is known, would show the difference."""
    if len(parts) > 1 or len(parts[0].samples) < 2:
        return ""
    difference = abs(float(np.mean(parts[0].samples[0]) - np.mean(parts[0].samples[1])))
    return f", or give their standard deviation with --sd: below {difference / (Z * math.sqrt(2)):.2g} shows a difference"


def _reason(verdict: str, reading: str, parts: Sequence[Part]) -> str:
    if reading == SOME_WORKLOADS:
        sides = {
            side: [each.name for each in parts if each.verdict in words] for side, words in SIDES.items() if side != "open"
        }
        return "; ".join(f"{side} on {', '.join(names)}" for side, names in sides.items() if names)
    if verdict == OPEN and all(each.effect is None for each in parts):
        return "one run against one: nothing tells the effect from noise"
    return ""


def notes_on(claim: RunClaim, given: Sequence[Pair]) -> Iterator[str]:
    """What a reader should know of the samples: runs that diverged, were left out, or agree to the last digit."""
    sides = [[each.arm for each in given], [each.other for each in given]]
    diverged = [sum(int(np.sum(each.diverged)) for each in samples) for samples in sides]
    counts = [sum(map(len, samples)) for samples in sides]
    if any(diverged) and claim.target is None:
        told = " and ".join(
            f"{bad} of {count} runs of '{arm}'" for bad, count, arm in zip(diverged, counts, claim.arms, strict=True)
        )
        p = scipy.stats.fisher_exact([diverged, [a - b for a, b in zip(counts, diverged, strict=True)]]).pvalue
        yield f"{told} end without a finite number (Fisher's exact test: p = {p:.2g})"
    elif any(diverged):
        yield f"{sum(diverged)} runs never reach {claim.metric} {claim.target:g}, and count with their last step"
    if all(pair.paired and pair.by == "seed" for pair in given):
        yield f"paired by seed: {sum(len(pair.arm) for pair in given)} pairs"
    if dropped := sum(each.dropped for each in given):
        yield f"{counted(dropped, 'run')} without a partner in the other arm left out of the pairs"
    if any(len(set(map(float, each.values))) == 1 < len(each) for samples in sides for each in samples):
        yield "all runs of an arm agree to the last digit: is the seed used?"
