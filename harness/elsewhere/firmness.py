"""Whether a verdict on runs is firm: every other reasonable reading of the same runs gives it, too."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..judge.outcomes import DECIDED
from ..judge.statistics.intervals import Numbers
from ..judge.statistics.pooling import random_effects
from ..judge.statistics.two_samples import Spread
from .claims import RunClaim
from .comparing import Assumptions, against_number, compared, level_of, question_of, verdict_of
from .run_verdict import QUARTERS, RunVerdict, judge_pairs, together
from .samples import Mask, Pair, Sample

# Readings that give another verdict are named up to this number.
MOST_TOLD = 3
# Of this many runs or fewer each is left out in turn.
FEW_RUNS = 20


def why_fragile(
    claim: RunClaim, judged: RunVerdict, given: Sequence[Pair], how: Assumptions, shared: Spread | None
) -> Iterator[str]:
    """Every other reasonable reading of the same runs under which the verdict would be another."""
    if judged.verdict not in DECIDED:
        return
    yield from _without_end(claim, [side for pair in given for side in (pair.arm, pair.other)])
    if any(np.array_equal(np.sort(each.arm.values), np.sort(each.other.values)) for each in given):
        yield "both arms hold the same runs"
    told = [f"{verdict} {name}" for name, verdict in _other_readings(claim, given, how, shared) if verdict != judged.verdict]
    yield from told[:MOST_TOLD]
    if len(told) > MOST_TOLD:
        yield f"and {len(told) - MOST_TOLD} more"
    question = question_of(claim, given)
    for name, by in QUARTERS.items() if claim.size else ():
        other = judge_pairs(claim, given, how, shared, question.moved(by)).verdict
        if other != judged.verdict:
            yield f"{other} with {name}"
    if any("single run" in each.method for each in judged.parts):
        yield "an arm with a single run borrows its spread from the others"


def why_fragile_alone(claim: RunClaim, judged: RunVerdict, given: Sequence[tuple[str, Sample]]) -> Iterator[str]:
    """The same of an arm that is compared with a number."""

    def verdict(task: str, kept: Mask) -> str:
        parts = [against_number(claim, name, each.kept(kept) if name == task else each) for name, each in given]
        return together(claim, parts, ()).verdict

    if judged.verdict not in DECIDED:
        return
    yield from _without_end(claim, [sample for _, sample in given])
    told = []
    for task, sample in given:
        left_out = _telling(sample.values) if len(sample) > 2 else ()
        told += [f"{verdict(task, np.arange(len(sample)) != index)} without {_run(sample, index)}" for index in left_out]
        if 0 < sample.diverged.sum() < len(sample):
            told.append(f"{verdict(task, ~sample.diverged)} without the runs that diverged")
    for name, by in QUARTERS.items() if claim.size else ():
        moved = replace(claim, size=by * (claim.size or 0.0))
        told.append(f"{together(moved, [against_number(moved, *each) for each in given], ()).verdict} with {name}")
    yield from [each for each in told if not each.startswith(judged.verdict)][:MOST_TOLD]


def _without_end(claim: RunClaim, samples: Sequence[Sample]) -> Iterator[str]:
    """Runs that end without a number count with the worst one: how large the effect is depends on that."""
    count = sum(int(sample.diverged.sum()) for sample in samples)
    if count and claim.target is None:
        yield f"{count} run{'s end' if count > 1 else ' ends'} without a finite number"


def _telling(values: Numbers) -> Sequence[int]:
    """Which runs are left out: of few runs each, for one in the middle may decide by the spread without it; else the ends."""
    return range(len(values)) if len(values) <= FEW_RUNS else sorted({int(np.argmin(values)), int(np.argmax(values))})


def _run(side: Sample, index: int) -> str:
    return f"seed {side.seeds[index]}" if side.seeds[index] else f"the run that ended at {side.values[index]:.4g}"


def _other_readings(
    claim: RunClaim, given: Sequence[Pair], how: Assumptions, shared: Spread | None
) -> Iterator[tuple[str, str]]:
    question = question_of(claim, given)

    def verdict(other: Sequence[Pair], assuming: Assumptions = how) -> str:
        return judge_pairs(claim, other, assuming, shared, question).verdict

    if any(each.arm.diverged.any() or each.other.diverged.any() for each in given):
        finished = [each.finished() for each in given]
        if all(len(each.arm) and len(each.other) for each in finished):
            yield "without the runs that diverged", verdict(finished)
    if any(not each.paired and len(each.arm) != len(each.other) for each in given):
        # Welch's interval is too short if the small arm shows less spread than it has, as skewed values often do.
        yield "if both arms vary alike", verdict(given, replace(how, one_spread=True))
    parts = [compared(claim, pair, how, shared, claim.question, len(given) == 1) for pair in given]
    effects = [each.effect for each in parts if each.effect]
    if len(effects) > 2 and claim.quantifier == "average":
        over = random_effects(effects, level_of(claim.question))
        yield "for tasks of which these are a sample", verdict_of(claim.question, over)[0]
    for place, pair in enumerate(given):  # each run that tells most left out
        for of_other, side in ((False, pair.arm), *(((True, pair.other),) if not pair.paired else ())):
            values = side.values - pair.other.values if pair.paired else side.values
            for index in _telling(values) if len(side) > 2 else ():
                others = [*given[:place], pair.without(index, of_other), *given[place + 1 :]]
                yield f"without {_run(side, index)}" + f" on {pair.task}" * bool(pair.task and len(given) > 1), verdict(others)
