"""Whether a verdict on runs is firm: every other reasonable reading of the same runs gives it, too."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..judge.outcomes import DECIDED, outcome, probabilities
from ..judge.statistics.intervals import Numbers
from ..judge.statistics.pooling import random_effects
from ..judge.statistics.two_samples import Spread
from ..judge.verdict import THRESHOLDS, Alternative
from .claims import Question, RunClaim
from .comparing import Assumptions, level_of, question_of
from .run_verdict import RunVerdict, judge_pairs, together
from .samples import Pair, Sample

# Readings that give another verdict are named up to this number.
MOST_NAMED = 3
# Up to this number of runs, each is left out in turn.
FEW_RUNS = 20


def why_fragile(
    claim: RunClaim, judged: RunVerdict, pairs: Sequence[Pair], how: Assumptions, shared: Spread | None
) -> Iterator[str]:
    """Every other reasonable reading of the same runs under which the verdict would be another."""
    if judged.verdict not in DECIDED:
        return
    yield from _without_end(claim, pairs)
    if any(not pair.exact and np.array_equal(np.sort(pair.arm.values), np.sort(pair.other.values)) for pair in pairs):
        yield "both arms hold the same runs"
    question = question_of(claim, pairs)
    readings = _other_readings(claim, judged, pairs, how, shared, question)
    others = [f"{reading.verdict} {reading.choice}" for reading in readings if reading.verdict != judged.verdict]
    yield from others[:MOST_NAMED]
    if len(others) > MOST_NAMED:
        yield f"and {len(others) - MOST_NAMED} more"
    yield from with_moved_thresholds(claim, judged, question)
    if any("single run" in finding.method for finding in judged.findings):
        yield "an arm with a single run borrows its spread from the others"


def with_moved_thresholds(claim: RunClaim, judged: RunVerdict, question: Question) -> Iterator[str]:
    """Other verdicts with bounds that lie nearer to no effect, or further from it."""
    for name, by in THRESHOLDS.items() if claim.size and judged.verdict in DECIDED else ():
        moved = question.moved(by)
        verdict = together(claim, [finding.asked(moved) for finding in judged.findings], (), moved).verdict
        if verdict != judged.verdict:
            yield f"{verdict} with {name}"


def _without_end(claim: RunClaim, pairs: Sequence[Pair]) -> Iterator[str]:
    """Runs that end without a number count with the worst one: how large the effect is depends on that."""
    count = sum(int(side.diverged.sum()) for pair in pairs for side in pair.sides)
    if count and claim.target is None:
        yield f"{count} run{'s end' if count > 1 else ' ends'} without a finite number"


def _telling(values: Numbers) -> Sequence[int]:
    """Indices of runs to leave out: each of few, since one in the middle may decide by the spread without it; else the ends."""
    return range(len(values)) if len(values) <= FEW_RUNS else sorted({int(np.argmin(values)), int(np.argmax(values))})


def _run(side: Sample, index: int) -> str:
    return f"seed {side.seeds[index]}" if side.seeds[index] else f"the run that ended at {side.values[index]:.4g}"


def _other_readings(
    claim: RunClaim, judged: RunVerdict, pairs: Sequence[Pair], how: Assumptions, shared: Spread | None, question: Question
) -> Iterator[Alternative]:
    def read(choice: str, other: Sequence[Pair], assuming: Assumptions = how) -> Alternative:
        return Alternative(choice, judge_pairs(claim, other, assuming, shared, question).verdict)

    if any(side.diverged.any() for pair in pairs for side in pair.sides):
        finished = [pair.finished() for pair in pairs]
        if all(len(side) for pair in finished for side in pair.sides):
            yield read("without the runs that diverged", finished)
    if any(not pair.paired and not pair.exact and len(pair.arm) != len(pair.other) for pair in pairs):
        # Welch's interval is too short if the small arm shows less spread than it has, as skewed values often do.
        yield read("if both arms vary alike", pairs, replace(how, one_spread=True))
    effects = [finding.effect for finding in judged.findings if finding.effect]
    if len(effects) > 2 and claim.quantifier == "average":
        over = random_effects(effects, level_of(question))
        verdict, _ = outcome(question, over, probabilities(question, over))
        yield Alternative("for tasks of which these are a sample", verdict)
    for place, pair in enumerate(pairs):  # each run that tells most left out
        for of_other, side in enumerate(pair.sides[:1] if pair.paired else pair.sides):
            values = side.values - pair.other.values if pair.paired else side.values
            where = f" on {pair.task}" * bool(pair.task and len(pairs) > 1)
            for index in _telling(values) if len(side) > 2 else ():
                others = [*pairs[:place], pair.without(index, bool(of_other)), *pairs[place + 1 :]]
                yield read(f"without {_run(side, index)}{where}", others)
