"""What a study can resolve with its seeds, and how many a claim needs, said before anything is trained.

From a pilot: stored or published trials, of which only the spread between seeds and the estimate are taken. With spread s (the
standard error times sqrt(S)) on the axis of the interval, n seeds decide a value that lies further inside a region than

    (t_0.975 + t_0.8) s / sqrt(n),    both quantiles with n - 1 degrees of freedom,

in four of five repetitions, with 1 - 0.025 / m in place of 0.975 for a study of m claims: the first step of Holm's correction,
which a verdict has to pass in the worst case. It is the usual approximation to the noncentral t (Chow et al. 2008, 3.1).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from folklore.harness.judging.intervals import LEAST_SEEDS, Observation
from folklore.harness.judging.judge import ALPHA, MOST_ADVISED_SEEDS
from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.spec import Criterion
from folklore.harness.spec.trials import UndecidableError

POWER = 0.8


@dataclass(frozen=True)
class Resolution:
    """One criterion. pilot: its estimate. resolves: how far inside a region a value must lie for the planned seeds to decide
    it, a factor (log_axis) or a difference. seeds: that a value like the pilot's needs; None: it lies in neither region, or no
    number of seeds would do. reason: why there is no number.
    """

    claim: str
    criterion: str
    unit: str
    pilot: float | None
    resolves: float | None
    log_axis: bool
    seeds: int | None
    reason: str


def pilot_of(sets: Sequence[TrialSet], scale: str) -> TrialSet | None:
    """The set to take spreads from: one of this scale, else of another that is judged; of those the one with most seeds."""
    able = [each for each in sets if each.study.scale(each.scale).judged and len(whole_seeds(each)) >= LEAST_SEEDS]
    return max(able, key=lambda each: (each.scale == scale, len(whole_seeds(each))), default=None)


def whole_seeds(records: TrialSet) -> list[int]:
    """Judged seeds that have as many trials as the seed that has most: a run that was cut short has whole seeds."""
    count = records.trials["seed"].value_counts().to_dict() if len(records.trials) else {}
    judged = [seed for seed in records.study.seed_numbers_at(records.scale) if seed in count]
    most = max((count[seed] for seed in judged), default=0)
    return [seed for seed in judged if count[seed] == most]


def resolutions(pilot: TrialSet, scale: str, seeds: int) -> Iterator[Resolution]:
    """For every criterion that is judged at `scale` with so many seeds."""
    table = TrialArrays(pilot.study, pilot.scale, pilot.trials, seed_numbers=whole_seeds(pilot))
    for judgement in pilot.study.judgements:
        for criterion in judgement.criteria_at(scale):
            yield _resolution(judgement.claim, criterion, table, seeds)


def _resolution(claim: str, criterion: Criterion, table: TrialArrays, seeds: int) -> Resolution:
    def without(reason: str) -> Resolution:
        return Resolution(claim, criterion.name, criterion.unit, None, None, False, None, reason)

    try:
        seen = observe(criterion.observe, table)
    except UndecidableError as error:
        return without(str(error))
    if seen.spread is None:
        return without("a share of runs or an exact number: its interval does not come from a spread")
    claims = len(table.study.judgements)
    reach = decided_distance(seen.spread, seeds, claims)
    resolves = math.exp(reach) if seen.log_axis else reach
    return Resolution(
        claim, criterion.name, criterion.unit, seen.estimate, resolves, seen.log_axis, seeds_for(seen, criterion, claims), ""
    )


def decided_distance(spread: float, seeds: int, claims: int = 1, power: float = POWER) -> float:
    """How far inside a region, on the axis of the interval, a value is decided with that power among so many claims."""
    return _quantiles(seeds, claims, power) * spread / math.sqrt(seeds)


@cache
def _quantiles(seeds: int, claims: int, power: float) -> float:
    return float(scipy.stats.t.ppf(1 - ALPHA / claims / 2, seeds - 1) + scipy.stats.t.ppf(power, seeds - 1))


def seeds_for(seen: Observation, criterion: Criterion, claims: int = 1, power: float = POWER) -> int | None:
    """The least number of seeds that decides a value like the pilot's with that power among so many claims."""
    assert seen.spread is not None

    def axis(value: float) -> float:
        return math.log(value) if seen.log_axis and value > 0 else -math.inf if seen.log_axis else value

    inside = [
        min(axis(seen.estimate) - axis(low), axis(high) - axis(seen.estimate))
        for rule in (criterion.supported, criterion.refuted)
        for low, high in rule.pieces
        if low <= seen.estimate <= high
    ]
    if not inside or max(inside) <= 0:
        return None
    for seeds in range(3, MOST_ADVISED_SEEDS + 1):
        if decided_distance(seen.spread, seeds, claims, power) <= max(inside):
            return seeds
    return None
