"""From observations to verdicts, by the regions declared beforehand.

Each criterion has an outcome (outcomes.py), criteria combine to claims over their parts and workloads (combining.py), and every
claim is judged at 5% by itself. How many of a register's verdicts may be false is worked out over all of them
(error_rates.py).
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from ..declare import Claim, Criterion, Judgement, Regime, Reported, Study
from ..declare.claim_size import claim_size
from ..declare.level import ALPHA
from ..declare.parts import arms_of
from ..declare.trials import NotEstimableError
from ..plan import catalog
from . import explaining
from .cautions import Rows, cautions
from .combining import combined
from .confounding import confounded
from .observe import observe
from .outcomes import INVALID, OPEN, OUT_OF_REGIME, REFUTED, REGIME
from .regimes import below, outside, run_size
from .sentences import Sentence, filled
from .settling import what_would_settle
from .spelling import spell_interval
from .surprises import surprise
from .trial_arrays import TrialArrays
from .verdict import CriterionFinding, Verdict

# Begins the advice of trials smaller than what the claim speaks of.
OF_THIS_SIZE = "For models of this size: "


def judge(
    study: Study,
    scale: str,
    device: str,
    trials: pd.DataFrame,
    failures: Mapping[str, str] | None = None,
    table: TrialArrays | None = None,
    alpha: float = ALPHA,
    calibration: Rows = (),
) -> list[Verdict]:
    """A verdict for every judgement of the study, in declared order.

    table: the trials as arrays, if they are at hand. alpha: the error rate; intervals are those of level 1 - alpha.
    calibration: counts in simulated worlds, by which verdicts warn of estimators that fail in worlds like this one.
    """
    if not study.scale(scale).judged:
        return [_unjudged(study, judgement, scale, device, len(trials)) for judgement in study.judgements]
    table = table or TrialArrays(study, scale, trials, dict(failures or {}))
    claims = {claim.id: claim for claim in catalog.register().including(study).claims} if study.judgements else {}
    return [
        _verdict(judgement, claims.get(judgement.claim), table, device, len(trials), alpha, calibration)
        for judgement in study.judgements
    ]


def report(judgement: Judgement, table: TrialArrays) -> list[str]:
    """Lines shown beside a claim, which decide nothing: the study's reported numbers, and the other error of slopes."""
    numbers = (_reported(reported, table) for reported in judgement.reported)
    scatter = (_scatter(criterion, table) for criterion in judgement.criteria_at(table.scale))
    return [line for line in (*numbers, *scatter) if line is not None]


def _scatter(criterion: Criterion, table: TrialArrays) -> str | None:
    """A slope has two errors: that of the seeds, which is in its interval, and that of points beside their line."""
    try:
        error = criterion.observe.scatter(table)
        if error is None:
            return None
        observation = observe(criterion.observe, table)
    except NotEstimableError:
        return None
    assert observation.spread is not None
    by_seeds = observation.spread / math.sqrt(observation.seeds)
    return (
        f"{criterion.name}: standard error {by_seeds:.2g} between seeds (in the interval), {error:.2g} from points off the line"
    )


def _reported(reported: Reported, table: TrialArrays) -> str | None:
    """The line of a reported number; none where its arms are not trained at this scale."""
    try:
        observation = observe(reported.observe, table)
    except NotEstimableError as error:
        if error.verdict == "out of regime" and not arms_of(reported.observe) <= set(table.study.arms_at(table.scale)):
            return None
        return f"{reported.name}: no estimate, because {error}"
    return f"{reported.name}: {spell_interval(observation.estimate, observation.low, observation.high, reported.written_in)}"


def _finding(
    criterion: Criterion, regime: Regime | None, table: TrialArrays, alpha: float, calibration: Rows, parts: int
) -> CriterionFinding:
    """The finding of one criterion. parts: how many are tested on its workload."""
    level = 1 - alpha * (2 if criterion.one_sided else 1)
    kept: dict[str, Any] = {"name": criterion.name, "unit": criterion.written_in, "level": level}
    kept |= {"panel": criterion.panel or "", "precondition": bool(criterion.precondition)}
    try:
        observation = observe(criterion.observe, table, level)
    except NotEstimableError as error:
        return CriterionFinding(
            verdict=error.verdict, estimate=None, seeds=table.seeds, reason=str(error), settling=error.remedy, **kept
        )
    finding = CriterionFinding.of(
        criterion,
        observation,
        alpha,
        says=filled(criterion, observation.estimate, observation.low, observation.high),
        cautions=cautions(criterion.observe, table, calibration),
        surprise=surprise(criterion, observation, table.scale),
        grade=criterion.observe.grade,
        claimed=explaining.in_question(criterion),
        **kept,
    )
    elsewhere = None if regime is None or criterion.precondition else outside(regime, criterion, table.study, table.scale)
    if elsewhere is not None:
        unknown: dict[str, Any] = {"p_supported": 1.0, "p_refuted": 1.0, "p_direction": 1.0}
        return replace(finding, verdict=OUT_OF_REGIME, reading=REGIME, reason=elsewhere, **unknown)
    verdict = finding.verdict
    unsure = verdict == OPEN or (verdict == REFUTED and parts * finding.p_refuted > alpha)
    settling = what_would_settle(observation, criterion, alpha, parts, verdict == REFUTED) if unsure else ""
    reason = explaining.reason(criterion, observation, verdict, finding.reading, settling)
    return replace(finding, reason=reason, settling=settling)


def _verdict(
    judgement: Judgement, claim: Claim | None, table: TrialArrays, device: str, trials: int, alpha: float, calibration: Rows
) -> Verdict:
    criteria = judgement.criteria_at(table.scale)
    parts = [criterion for criterion in criteria if not criterion.precondition]
    tested = Counter(part.panel for part in parts)
    findings = tuple(
        _finding(
            criterion,
            claim.regime if claim else None,
            table,
            alpha,
            calibration,
            1 if criterion.precondition else tested[criterion.panel],
        )
        for criterion in criteria
    )
    outcome = combined(findings, judgement.quantifier or (claim.quantifier if claim else "all"), alpha)
    deciding = explaining.deciding(findings, outcome)
    reason = explaining.explained(findings, outcome, deciding, alpha)
    answer = explaining.answer(findings, outcome, deciding)
    verdict, reading = outcome.verdict, outcome.reading
    lacking = below(claim_size(claim), run_size(parts, table.study, table.scale)) if claim else ""
    together = confounded(parts, table.study, table.scale)
    advice = judgement.advice_on(verdict, reading)
    return Verdict(
        study=table.study.name,
        claim=judgement.claim,
        scale=table.scale,
        device=device,
        verdict=verdict,
        estimate=deciding.estimate,
        low=deciding.low,
        high=deciding.high,
        seeds=deciding.seeds,
        trials=trials,
        reason=reason,
        unit=deciding.unit,
        findings=findings,
        reading=reading,
        answer=answer,
        advice=f"{OF_THIS_SIZE}{advice}" if advice and lacking else advice,
        p=outcome.p if verdict not in (OUT_OF_REGIME, INVALID) else 1.0,
        direction=outcome.direction,
        cautions=tuple(dict.fromkeys([*together, *(caution for finding in findings for caution in finding.cautions)])),
        panels=outcome.panels,
        right=dict[str, str]((judgement.right or {}).items()),
        surprise=deciding.surprise,
        after_the_fact=bool(table.study.revised),
        below_size=lacking,
    )


def _unjudged(study: Study, judgement: Judgement, scale: str, device: str, trials: int) -> Verdict:
    reason = f"scale '{scale}' is not judged: {study.scale(scale).description}"
    return Verdict(
        study=study.name,
        claim=judgement.claim,
        scale=scale,
        device=device,
        verdict=OUT_OF_REGIME,
        estimate=None,
        low=None,
        high=None,
        seeds=study.seeds_at(scale),
        trials=trials,
        reason=reason,
        unit="",
        findings=(),
        answer=(Sentence((reason,)),),
    )
