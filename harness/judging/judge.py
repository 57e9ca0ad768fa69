"""From observations to verdicts, by the regions declared beforehand.

A criterion is supported (refuted) where the whole 95% interval lies inside its supported (refuted) region. A claim is
supported if all its criteria are, refuted if one is (Bonferroni over its criteria). Holm's correction runs over the
claims of a study: what does not survive it is inconclusive.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from numpy.typing import NDArray

from folklore.harness.judging.intervals import Observation
from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.spec import Criterion, Judgement, Outside, Reported, Rule, Study, Within
from folklore.harness.spec.trials import UndecidableError

ALPHA = 0.05
# Beyond this many seeds "add seeds" is no advice.
MOST_ADVISED_SEEDS = 1000
SUPPORTED, REFUTED, INCONCLUSIVE, OUT_OF_REGIME, INVALID = "supported", "refuted", "open", "out of regime", "invalid"
VERDICTS = (SUPPORTED, REFUTED, INCONCLUSIVE, OUT_OF_REGIME, INVALID)


@dataclass(frozen=True)
class Finding:
    """One criterion on one table. Numbers are None where there are none."""

    name: str
    unit: str
    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    seeds: int
    p_supported: float
    p_refuted: float
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What becomes of one claim at one scale on one kind of device; the numbers are those of the deciding criterion."""

    study: str
    claim: str
    scale: str
    device: str
    verdict: str
    estimate: float | None
    low: float | None
    high: float | None
    seeds: int
    trials: int
    reason: str
    unit: str
    findings: tuple[Finding, ...]

    def row(self) -> dict[str, Any]:
        """The flat form that `folklore verdicts --json` prints."""
        return {name: value for name, value in asdict(self).items() if name not in ("unit", "findings")}


def judge(
    study: Study,
    scale: str,
    device: str,
    trials: pd.DataFrame,
    failures: Mapping[str, str] | None = None,
    table: TrialArrays | None = None,
    alpha: float = ALPHA,
) -> list[Verdict]:
    """A verdict for every judgement of the study, in declared order.

    table: the trials as arrays, where they are at hand. alpha: the error rate; intervals are those of level 1 - alpha.
    """
    if not study.scale(scale).judged:
        return [_unjudged(study, judgement, scale, device, len(trials)) for judgement in study.judgements]
    table = table or TrialArrays(study, scale, trials, dict(failures or {}))
    found = [tuple(_finding(each, table, alpha) for each in judgement.criteria_at(scale)) for judgement in study.judgements]
    adjusted = holm([min(_p_supported(findings), _p_refuted(findings)) for findings in found])
    return [
        _verdict(study, judgement, scale, device, len(trials), findings, p, alpha)
        for judgement, findings, p in zip(study.judgements, found, adjusted, strict=True)
    ]


def report(judgement: Judgement, table: TrialArrays) -> list[str]:
    """What is shown beside a claim and decides nothing, a line each: what the study reports, and of slopes the other error."""
    scatter = [line for each in judgement.criteria_at(table.scale) if (line := _scatter(each, table)) is not None]
    return [*(_reported(reported, table) for reported in judgement.reported), *scatter]


def _scatter(criterion: Criterion, table: TrialArrays) -> str | None:
    """A slope has two errors: that of the seeds, which is in its interval, and that of points beside their line."""
    try:
        error = criterion.observe.scatter(table)
        if error is None:
            return None
        seen = observe(criterion.observe, table)
    except UndecidableError:
        return None
    assert seen.spread is not None
    by_seeds = seen.spread / math.sqrt(seen.seeds)
    return (
        f"{criterion.name}: standard error {by_seeds:.2g} by seeds (in the interval), {error:.2g} by its points beside the line"
    )


def _reported(reported: Reported, table: TrialArrays) -> str:
    try:
        seen = observe(reported.observe, table)
    except UndecidableError as error:
        return f"{reported.name}: no number, because {error}"
    return f"{reported.name}: {spell_interval(seen.estimate, seen.low, seen.high, reported.unit)}"


def _finding(criterion: Criterion, table: TrialArrays, alpha: float) -> Finding:
    try:
        seen = observe(criterion.observe, table, 1 - alpha)
    except UndecidableError as error:
        return Finding(criterion.name, criterion.unit, error.verdict, None, None, None, table.seeds, 1.0, 1.0, str(error))
    p_supported, p_refuted = seen.p_in_rule(criterion.supported), seen.p_in_rule(criterion.refuted)
    numbers = f"{criterion.name}: {spell_interval(seen.estimate, seen.low, seen.high, criterion.unit)}"
    # What is computed exactly has no interval that could lie wholly anywhere.
    inside = "which is" if criterion.observe.EXACT else "wholly"
    if p_supported <= alpha:
        verdict, reason = SUPPORTED, f"{numbers}, {inside} {region(criterion.supported, criterion)}"
    elif p_refuted <= alpha:
        verdict, reason = REFUTED, f"{numbers}, {inside} {region(criterion.refuted, criterion)}"
    else:
        verdict, reason = INCONCLUSIVE, f"{numbers}; {_what_would_settle(seen, criterion, alpha)}"
    return Finding(
        criterion.name, criterion.unit, verdict, seen.estimate, seen.low, seen.high, seen.seeds, p_supported, p_refuted, reason
    )


def _verdict(
    study: Study,
    judgement: Judgement,
    scale: str,
    device: str,
    trials: int,
    findings: tuple[Finding, ...],
    p_adjusted: float,
    alpha: float,
) -> Verdict:
    verdict = _combined(findings)
    deciding = _deciding(findings, verdict)
    reason = deciding.reason
    if verdict in (SUPPORTED, REFUTED) and p_adjusted > alpha:
        reason += f"; but p = {p_adjusted:.2g} once corrected for its criteria and the study's {len(study.judgements)} claims"
        reason += _what_would_outweigh(min(deciding.p_supported, deciding.p_refuted), p_adjusted, deciding.seeds, alpha)
        verdict = INCONCLUSIVE
    elif verdict == SUPPORTED and len(findings) > 1:
        reason = f"{'both' if len(findings) == 2 else f'all {len(findings)}'} criteria hold; " + reason
    return Verdict(
        study.name,
        judgement.claim,
        scale,
        device,
        verdict,
        deciding.estimate,
        deciding.low,
        deciding.high,
        deciding.seeds,
        trials,
        reason,
        deciding.unit,
        findings,
    )


def _combined(findings: Sequence[Finding]) -> str:
    kinds = [finding.verdict for finding in findings]
    return next((kind for kind in (INVALID, REFUTED, OUT_OF_REGIME, INCONCLUSIVE) if kind in kinds), SUPPORTED)


def _deciding(findings: Sequence[Finding], verdict: str) -> Finding:
    """The criterion that made the verdict: the clearest refutation, the weakest support, else the first of its kind."""
    if verdict == SUPPORTED:
        return max(findings, key=lambda finding: finding.p_supported)
    same = [finding for finding in findings if finding.verdict == verdict] or list(findings)
    return min(same, key=lambda finding: finding.p_refuted) if verdict == REFUTED else same[0]


def _p_supported(findings: Sequence[Finding]) -> float:
    return max(finding.p_supported for finding in findings)


def _p_refuted(findings: Sequence[Finding]) -> float:
    return min(1.0, len(findings) * min(finding.p_refuted for finding in findings))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values, each at most ALPHA where Holm 1979 rejects at ALPHA. (statsmodels' collects garbage: 0.1 s a call.)"""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _unjudged(study: Study, judgement: Judgement, scale: str, device: str, trials: int) -> Verdict:
    reason = f"scale '{scale}' is not judged: {study.scale(scale).description}"
    return Verdict(
        study.name,
        judgement.claim,
        scale,
        device,
        OUT_OF_REGIME,
        None,
        None,
        None,
        study.seeds_at(scale),
        trials,
        reason,
        "",
        (),
    )


def _what_would_settle(seen: Observation, criterion: Criterion, alpha: float) -> str:
    """How many more seeds would decide if estimate and spread stay as they are, or why none would."""
    if not any(low <= seen.estimate <= high for rule in (criterion.supported, criterion.refuted) for low, high in rule.pieces):
        supported, refuted = region(criterion.supported, criterion), region(criterion.refuted, criterion)
        return f"the estimate is in neither region ({supported}: supported; {refuted}: refuted)"
    needed = seeds_needed(seen, criterion.supported, alpha) or seeds_needed(seen, criterion.refuted, alpha)
    if needed is None:
        return f"not even {MOST_ADVISED_SEEDS} seeds would settle it if estimate and spread stay as they are"
    more = needed - seen.seeds
    return f"about {more} more seed{'s' * (more != 1)} would settle it if estimate and spread stay as they are"


def _what_would_outweigh(p: float, p_adjusted: float, seeds: int, alpha: float) -> str:
    """How many more seeds would carry a p value over its correction, if estimate and spread stay as they are."""
    distance = float(scipy.stats.t.isf(p / 2, seeds - 1))
    more = np.arange(1, MOST_ADVISED_SEEDS)
    grown = 2 * scipy.stats.t.sf(distance * np.sqrt((seeds + more) / seeds), seeds + more - 1)
    enough = np.flatnonzero(grown * p_adjusted / p <= alpha)
    if not len(enough):
        return ""
    first = int(more[enough[0]])
    return f"; about {first} more seed{'s' * (first != 1)} would settle it"


def seeds_needed(seen: Observation, rule: Rule, alpha: float = ALPHA) -> int | None:
    """The least number of seeds whose interval would lie inside the rule's region; None where none would.

    Assumes that the estimate and the spread between seeds stay as they are.
    """
    for low, high in rule.pieces:
        if low <= seen.estimate <= high and seen.seeds <= MOST_ADVISED_SEEDS:
            seeds = np.arange(seen.seeds, MOST_ADVISED_SEEDS + 1)
            enough = np.flatnonzero(_would_decide(seen, low, high, seeds, alpha))
            if len(enough):
                return int(seeds[enough[0]])
    return None


def _would_decide(seen: Observation, low: float, high: float, seeds: NDArray[np.int64], alpha: float) -> NDArray[np.bool_]:
    if seen.spread is None:  # a share of runs: Clopper and Pearson's interval
        successes = np.rint(seen.estimate * seeds)
        least = np.where(successes > 0, scipy.stats.beta.ppf(alpha / 2, np.maximum(successes, 1), seeds - successes + 1), 0.0)
        failures = seeds - successes
        most = np.where(failures > 0, scipy.stats.beta.ppf(1 - alpha / 2, successes + 1, np.maximum(failures, 1)), 1.0)
        return np.asarray((low <= least) & (most <= high))
    axis = (lambda value: math.log(value) if value > 0 else -math.inf) if seen.log_axis else float
    centre = axis(seen.estimate)
    half = _t_quantiles(alpha)[seeds - 2] * seen.spread / np.sqrt(seeds)
    return np.asarray((axis(low) <= centre - half) & (centre + half <= axis(high)))


@cache
def _t_quantiles(alpha: float) -> NDArray[np.float64]:
    """Of 2, 3, … seeds."""
    return np.asarray(scipy.stats.t.ppf(1 - alpha / 2, np.arange(1, MOST_ADVISED_SEEDS)))


def region(rule: Rule, criterion: Criterion) -> str:
    """A rule's region in the unit of its criterion. A band around a value that an exact check must meet is that value."""
    if isinstance(rule, Within | Outside) and spell(rule.low, criterion.unit) == spell(rule.high, criterion.unit):
        return f"{'exactly' if isinstance(rule, Within) else 'other than'} {spell(rule.low, criterion.unit)}"
    return rule.words(lambda value: spell(value, criterion.unit))


def spell_interval(estimate: float, low: float, high: float, unit: str = "") -> str:
    """An estimate with its interval; what is known exactly stands alone."""
    told = spell(estimate, unit)
    return told if low == estimate == high else f"{told} [{spell(low, unit)}, {spell(high, unit)}]"


def spell(value: float, unit: str = "") -> str:
    """A number as people read it: relative values in percent, others to three digits or, from a thousand on, whole."""
    if unit == "relative":
        return f"{value:+.2%}" if value else "0%"
    number = f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"
    return number + (f" {unit}" if unit and unit != "x" else unit)
