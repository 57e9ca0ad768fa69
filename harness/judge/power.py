"""The power of a study's criteria with its seeds, before anything is trained.

A criterion's expected value, of theory or a publication, has a verdict by the criterion's regions; its power is the probability
of that verdict with this many seeds (judge/statistics/power.py). Shares of runs have the exact binomial sum. The spread s
(standard error times sqrt(n), on the axis of the interval) comes from a pilot: stored or published trials, from which nothing
else is taken, or from the study's declaration.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ..declare import Criterion, Study, arms_of
from ..declare.level import ALPHA
from ..declare.observed import ShareOfRuns
from ..declare.trials import NotEstimableError
from ..errors import UserError
from ..results import DESCRIBED, ForScripts
from .observe import observe
from .outcomes import DECIDED, OPEN, deciding_regions, favours, on_claimed_side, outcome, probabilities
from .spelling import spell_declared
from .statistics.intervals import LEAST_SEEDS, Observation, binomial
from .statistics.power import POWER, decided_distance, least_seeds, power_inside
from .statistics.seeds import MOST_ADVISED_SEEDS
from .trial_arrays import TrialArrays
from .trial_sets import TrialSet


# Numbers are None if they are not declared, or if there is no spread. pilot: its estimate. verdict: the one that the expected
# value should have.
@dataclass(frozen=True)
class Resolution:
    """The effect that the planned seeds can show of one criterion, with 80% power."""

    __pydantic_config__ = DESCRIBED

    claim: str
    criterion: str
    unit: str
    pilot: ForScripts[float | None]
    resolves: float | None
    """how far inside its region a value must lie to be decided; none: not known"""
    log_axis: bool
    """whether that is a factor, and no difference"""
    expected: float | None
    """the value predicted beforehand"""
    verdict: ForScripts[str]
    power: float | None
    """how often these seeds would show the expected value"""
    seeds: int | None
    """as many as give the expected value, or one like the pilot's, 80% power"""
    underpowered: ForScripts[str]
    reason: str
    """why there are no numbers"""


def pilot_of(sets: Sequence[TrialSet], scale: str) -> TrialSet | None:
    """The set to take spreads from: one of this scale, else of another that is judged; of those the one with most seeds."""
    able = [
        trial_set
        for trial_set in sets
        if trial_set.study.scale(trial_set.scale).judged and len(whole_seeds(trial_set)) >= LEAST_SEEDS
    ]
    return max(able, key=lambda trial_set: (trial_set.scale == scale, len(whole_seeds(trial_set))), default=None)


def whole_seeds(records: TrialSet) -> list[int]:
    """Judged seeds that have as many trials as the seed that has most: a run that was cut short has whole seeds."""
    count = records.trials["seed"].value_counts().to_dict() if len(records.trials) else {}
    judged = [seed for seed in records.study.seed_numbers_at(records.scale) if seed in count]
    most = max((count[seed] for seed in judged), default=0)
    return [seed for seed in judged if count[seed] == most]


def resolutions(
    study: Study, scale: str, seeds: int, pilot: TrialSet | None, wanted: Callable[[Criterion], bool] = lambda criterion: True
) -> Iterator[Resolution]:
    """The resolution of every wanted criterion that is judged at `scale` with this many seeds."""
    table = None
    if pilot is not None:
        seeds_of = whole_seeds(pilot)
        table = TrialArrays(pilot.study, pilot.scale, pilot.trials, seed_numbers=seeds_of, computations=pilot.computations)
    for judgement in study.judgements:
        for criterion in filter(wanted, judgement.criteria_at(scale)):
            own = study.shared_seeds_at(scale, arms_of(criterion.observe))
            yield resolution(judgement.claim, criterion, scale, max(seeds, own), table)


def resolution(claim: str, criterion: Criterion, scale: str, seeds: int, table: TrialArrays | None) -> Resolution:
    """The resolution of one criterion. table: the pilot's trials; None: only the spread that the study declares is known."""
    observation, reason = None, "no pilot: there is no spread of stored or published trials"
    if table is not None:
        try:
            observation, reason = observe(criterion.observe, table), ""
        except NotEstimableError as error:
            reason = str(error)
    log_axis = criterion.observe.log_axis
    spread, expected = observation.spread if observation else None, criterion.expected
    if expected is not None and expected.scales is not None and scale not in expected.scales:
        expected = None
    if spread is None and expected is not None:
        spread = expected.spread
    resolves = decided_distance(spread, seeds) if spread is not None else None
    if resolves is not None and log_axis:
        resolves = math.exp(min(resolves, 700.0))
    if observation is not None and observation.spread is None:
        reason = "a share of runs or a computed number: its interval is not based on a spread"
    facts = (claim, criterion.name, criterion.written_in, observation.estimate if observation else None, resolves, log_axis)
    if expected is None:
        enough = seeds_for(criterion, observation.estimate, spread) if observation is not None and spread is not None else None
        return Resolution(*facts, None, "", None, enough, "", reason)
    power = power_at(criterion, expected.value, spread, seeds)
    enough = None if power is None else seeds_for(criterion, expected.value, spread)
    verdict = verdict_of(criterion, expected.value)
    return Resolution(*facts, expected.value, verdict, power, enough, criterion.underpowered, reason if power is None else "")


def require_power(study: Study, scale: str, pilot: TrialSet | None) -> None:
    """Raises UserError if a criterion would show its expected value with less than 80% power, and does not say why it is
    declared anyway. Without a spread the power is unknown, and nothing is refused.
    """
    for resolution in resolutions(study, scale, study.seeds_at(scale), pilot, lambda criterion: criterion.expected is not None):
        if resolution.power is None or resolution.power >= POWER or resolution.underpowered:
            continue
        assert resolution.expected is not None
        enough = f"{resolution.seeds} seeds suffice" if resolution.seeds else f"not even {MOST_ADVISED_SEEDS} seeds suffice"
        raise UserError(
            f"claim '{resolution.claim}' at scale '{scale}': {study.seeds_at(scale)} seeds show the expected"
            f" {spell_declared(resolution.expected, resolution.unit)} of '{resolution.criterion}' with"
            f" {resolution.power:.0%} power, and {POWER:.0%} is"
            f" needed: {enough}; add seeds, or say in the criterion's `underpowered` why it is declared anyway"
        )


def verdict_of(criterion: Criterion, value: float) -> str:
    """The verdict of a value that is known without error."""
    return outcome(criterion, known := _known(value), probabilities(criterion, known))[0]


def _known(value: float) -> Observation:
    return Observation(value, value, value, 1, lambda low, high: 0.0 if low <= value <= high else 1.0)


def power_at(criterion: Criterion, value: float, spread: float | None, seeds: int) -> float | None:
    """Probability that this many seeds give the verdict that the value has; None without a spread."""
    if criterion.observe.grade != "measured":
        return 1.0
    wanted = verdict_of(criterion, value)
    if wanted == OPEN:
        return 0.0
    if isinstance(criterion.observe, ShareOfRuns):
        return _power_of_share(criterion, value, seeds, wanted)
    if spread is None or seeds < 2:
        return None
    if not spread:  # the pilot's seeds were all alike
        return 1.0
    alpha = ALPHA * (2 if criterion.one_sided else 1)
    regions = [piece for piece in deciding_regions(criterion) if _region_has(criterion, piece, wanted)]
    ends = [tuple(_on_axis(criterion, end) for end in (low, high)) for low, high in regions if low <= value <= high]
    return max((power_inside(_on_axis(criterion, value), piece, spread, seeds, alpha) for piece in ends), default=0.0)


def _region_has(criterion: Criterion, piece: tuple[float, float], verdict: str) -> bool:
    """Whether intervals inside a region have a verdict at least as telling as the one wanted: inside the region claimed, or
    anywhere on the claimed side of the null for `partly`."""
    if verdict == "supported":
        return piece in criterion.claimed.pieces
    return on_claimed_side(criterion, piece) if verdict == "partly" else not favours(criterion, piece)


def _on_axis(criterion: Criterion, value: float) -> float:
    if not criterion.observe.log_axis:
        return value
    return math.log(value) if value > 0 else -math.inf


def _power_of_share(criterion: Criterion, value: float, seeds: int, wanted: str) -> float:
    """The total probability of the outcomes that have the wanted verdict."""
    total = 0.0
    for successes in range(seeds + 1):
        observation = binomial(successes, seeds)
        if outcome(criterion, observation, probabilities(criterion, observation))[0] == wanted:
            total += float(scipy.stats.binom.pmf(successes, seeds, min(1.0, max(0.0, value))))
    return total


def seeds_for(criterion: Criterion, value: float, spread: float | None) -> int | None:
    """The least number of seeds with 80% power at a value; None if none up to MOST_ADVISED_SEEDS has."""
    if verdict_of(criterion, value) not in DECIDED:
        return None
    most = MOST_ADVISED_SEEDS if spread is not None else 200  # a share's power is a sum over all outcomes
    return least_seeds(lambda seeds: power_at(criterion, value, spread, seeds) or 0.0, LEAST_SEEDS, most)
