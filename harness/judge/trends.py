"""How the effects of a study change along its ladder: what each criterion shows at each rung, and the word for the line.

Read off verdicts, so that trials of a store, published ones and those of another machine are points alike. The effect of a
ratio is its logarithm; the standard error of an interval at another level is worked out back.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from ..declare import Criterion, Study, arms_of
from .regimes import run_size
from .sentences import Sentence
from .spelling import spell
from .statistics.ladders import Rung, Trend, judge_ladder, outcome, predicted, slope_seen
from .statistics.pooling import effect_of
from .statistics.two_samples import Effect
from .trend_sentences import trend_sentence
from .verdict import CriterionFinding, Verdict

# A line needs two rungs, a prediction of the next one two below it.
LEAST_RUNGS = 2


@dataclass(frozen=True)
class Point:
    """A criterion at one rung. size: parameters without embeddings. estimate, low, high: as its verdict has them."""

    scale: str
    device: str
    size: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Prediction:
    """The effect that the rungs below predicted at a rung, in its unit. outcome: hit or missed; '' if it is not trained."""

    scale: str
    size: float
    estimate: float
    low: float
    high: float
    outcome: str = ""


@dataclass(frozen=True)
class ClaimTrend:
    """The trend of one criterion of a claim. sentence: what a reader takes away, with its numbers."""

    claim: str
    criterion: str
    unit: str
    points: tuple[Point, ...]
    trend: Trend
    sentence: Sentence
    predictions: tuple[Prediction, ...]


def trends(
    study: Study, verdicts: Iterable[Verdict], stored: Mapping[str, Sequence[Mapping[str, Any]]] = MappingProxyType({})
) -> list[ClaimTrend]:
    """The trend of every criterion of a study that has a number at two rungs of its ladder or more. verdicts: of any scales; of
    one scale on two kinds of device the first counts. stored: scale -> `predictions` that were kept before it was trained."""
    measured = _measured(study, study.ladder or (), verdicts)
    return [_trend(claim, criterion, known, stored) for claim, criterion, known in measured]


def points(study: Study, verdicts: Iterable[Verdict]) -> dict[tuple[str, str], tuple[Point, ...]]:
    """Claim and criterion -> its rungs that have a number, be it one alone."""
    known = _known_rungs(study, study.ladder or (), verdicts)
    return {(claim, criterion.name): tuple(rung.point for rung in rungs) for claim, criterion, rungs in known}


def predictions(study: Study, scale: str, verdicts: Iterable[Verdict]) -> list[dict[str, str | float]]:
    """Predictions for each criterion at a scale by the rungs below it, which a declaration keeps before that rung is trained.
    Empty if the scale is no rung, or fewer than two are below it."""
    ladder = study.ladder or ()
    below = ladder[: ladder.index(scale)] if scale in ladder else ()
    rows: list[dict[str, str | float]] = []
    for claim, criterion, known in _measured(study, below, verdicts):
        if (size := _size(study, scale, criterion)) is not None:
            expected = _prediction(criterion, predicted([known_rung.rung for known_rung in known], size), scale, size)
            numbers = {name: getattr(expected, name) for name in ("size", "estimate", "low", "high")}
            rows.append({"claim": claim, "criterion": criterion.name, **numbers})
    return rows


def slopes_in_view(study: Study, scale: str, verdicts: Iterable[Verdict]) -> list[tuple[str, str]]:
    """Criterion and, in its unit, the change for each tenfold of parameters that the ladder up to a scale would show in four of
    five tries. A rung not measured yet is taken to be as noisy between seeds as the largest one that is. Empty if the scale is
    no rung; criteria without a number at two rungs are left out."""
    ladder = study.ladder or ()
    climbed = ladder[: ladder.index(scale) + 1] if scale in ladder else ()
    slopes = []
    for _, criterion, known in _measured(study, climbed, verdicts):
        by_scale, largest = {known_rung.point.scale: known_rung.rung for known_rung in known}, known[-1].rung.effect
        spread = largest.error * math.sqrt(largest.seeds)
        sizes, errors = [], []
        for rung in climbed:
            if (size := _size(study, rung, criterion)) is not None:
                seeds = study.shared_seeds_at(rung, arms_of(criterion.observe))
                sizes.append(size)
                errors.append(by_scale[rung].effect.error if rung in by_scale else spread / math.sqrt(seeds))
        slope = slope_seen(sizes, errors, max(1, largest.seeds - 1))
        slopes.append((criterion.name, spell(_off_axis(criterion, slope), criterion.written_in)))
    return slopes


@dataclass(frozen=True)
class _Known:
    """A rung as the line takes it, and as it is shown."""

    point: Point
    rung: Rung


def _measured(
    study: Study, ladder: Sequence[str], verdicts: Iterable[Verdict]
) -> Iterator[tuple[str, Criterion, list[_Known]]]:
    """The same of criteria that have a number at two rungs."""
    return (known for known in _known_rungs(study, ladder, verdicts) if len(known[2]) >= LEAST_RUNGS)


def _known_rungs(
    study: Study, ladder: Sequence[str], verdicts: Iterable[Verdict]
) -> Iterator[tuple[str, Criterion, list[_Known]]]:
    """Claim, criterion, and its rungs that have a number, one of each size."""
    by_rung: dict[tuple[str, str], Verdict] = {}
    for verdict in verdicts:
        by_rung.setdefault((verdict.claim, verdict.scale), verdict)
    for judgement in study.judgements:
        of_claim = [by_rung[judgement.claim, scale] for scale in ladder if (judgement.claim, scale) in by_rung]
        for criterion in judgement.criteria:
            rungs = (_known(study, criterion, verdict) for verdict in of_claim)
            by_size = {known_rung.point.size: known_rung for known_rung in rungs if known_rung is not None}
            yield judgement.claim, criterion, list(by_size.values())


def _known(study: Study, criterion: Criterion, verdict: Verdict) -> _Known | None:
    """A criterion's rung by its verdict; None without a number, or with an end of its interval that is not finite on the
    effect's axis."""
    finding = next((finding for finding in verdict.findings if finding.name == criterion.name), None)
    size = _size(study, verdict.scale, criterion)
    if size is None or finding is None or finding.estimate is None:
        return None
    assert finding.low is not None
    assert finding.high is not None
    if not all(math.isfinite(_on_axis(criterion, end)) for end in (finding.low, finding.high)):
        return None
    point = Point(verdict.scale, verdict.device, size, finding.estimate, finding.low, finding.high)
    return _Known(point, Rung(size, _effect(criterion, finding)))


def _size(study: Study, scale: str, criterion: Criterion) -> float | None:
    read = run_size([criterion], study, scale)
    return None if read is None or read.parameters is None else float(read.parameters)


def _effect(criterion: Criterion, finding: CriterionFinding) -> Effect:
    """The effect of a finding; its standard error follows from its interval by Student's t with the seeds' degrees of
    freedom."""
    ends = (finding.estimate, finding.low, finding.high)
    estimate, low, high = (_on_axis(criterion, float(end)) for end in ends if end is not None)
    freedom = max(1, finding.seeds - 1)
    half = float(scipy.stats.t.ppf(0.5 + finding.level / 2, freedom))
    return effect_of(estimate, (high - low) / 2 / half, freedom, finding.seeds)


def _on_axis(criterion: Criterion, value: float) -> float:
    if not criterion.observe.log_axis:
        return value
    return math.log(value) if value > 0 else -math.inf


def _off_axis(criterion: Criterion, value: float) -> float:
    return math.exp(min(value, 709.0)) if criterion.observe.log_axis else value


def _margin(criterion: Criterion) -> float:
    """The smallest effect that matters: the criterion's, else from its null to what is claimed; a ratio's as a logarithm."""
    if criterion.margin is not None:
        return abs(_on_axis(criterion, criterion.margin))
    null = criterion.null if criterion.null is not None else _off_axis(criterion, 0.0)
    bounds = [bound for piece in criterion.claimed.pieces for bound in piece if math.isfinite(bound)]
    apart = [abs(_on_axis(criterion, bound) - _on_axis(criterion, null)) for bound in bounds if bound > 0]
    return min((distance for distance in apart if distance > 0), default=0.0)


def _trend(
    claim: str, criterion: Criterion, known: Sequence[_Known], stored: Mapping[str, Sequence[Mapping[str, Any]]]
) -> ClaimTrend:
    trend = judge_ladder([known_rung.rung for known_rung in known], _margin(criterion))
    sentence = trend_sentence(trend, criterion.written_in, ratio=criterion.observe.log_axis)
    points = tuple(known_rung.point for known_rung in known)
    checked = []
    for count in range(LEAST_RUNGS, len(known)):
        place = (claim, criterion.name)
        kept = [row for row in stored.get(points[count].scale, ()) if (row["claim"], row["criterion"]) == place]
        checked.append(_checked(criterion, known[:count], known[count], kept))
    return ClaimTrend(claim, criterion.name, criterion.written_in, points, trend, sentence, tuple(checked))


def _checked(criterion: Criterion, below: Sequence[_Known], rung: _Known, kept: Sequence[Mapping[str, Any]]) -> Prediction:
    """The prediction for a rung with its outcome: the one that was kept before the rung was trained, for those below may have
    changed since; else by those below."""
    if kept:
        prediction = Prediction(rung.point.scale, *(kept[0][name] for name in ("size", "estimate", "low", "high")))
    else:
        expected = predicted([known_rung.rung for known_rung in below], rung.point.size)
        prediction = _prediction(criterion, expected, rung.point.scale, rung.point.size)
    return replace(prediction, outcome=outcome((prediction.low, prediction.high), rung.point.estimate))


def _prediction(criterion: Criterion, expected: Effect, scale: str, size: float) -> Prediction:
    estimate, low, high = (_off_axis(criterion, end) for end in (expected.estimate, expected.low, expected.high))
    return Prediction(scale, size, estimate, low, high)
