"""The way back: from a claim to the trials its verdict rests on, and from a trial's digest to all that is known of it."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...declare import Configuration, Criterion, Judgement, Study, arms_of
from ...declare.metrics.estimating.evaluation import evaluate
from ...declare.observed import ShareOfRuns
from ...declare.trials import NotEstimableError
from ...errors import UserError, unknown
from ...judge.error_rates import FRAGILE, error_rates, standing, why_fragile
from ...judge.judge import report
from ...judge.robustness import Robustness
from ...judge.spelling import region
from ...judge.trial_arrays import TrialArrays
from ...judge.trial_sets import HERE, PUBLISHED, TrialSet
from ...judge.verdict import Verdict
from ...judge.verdict_memory import JudgedTrials, published_verdicts, recalled_verdicts
from ...judge.withdrawing import as_judged
from ...launch.events import finite
from ...plan import catalog
from ...plan.recipe import trial_recipe
from ...plan.store import evidence, trial_rows, trial_schema
from ...plan.store.ledger import Ledger
from ...plan.store.store import Store
from ...results import ForPeople, ForScripts, Result
from .references import find_sets

# Firmness before the correction over all claims.
ALONE = error_rates(())
# Shorter beginnings of digests name too many trials.
SHORTEST_PREFIX = 4
BLOCKS = "▁▂▃▄▅▆▇█"
SPARKLINE_POINTS = 40


class Basis(Result):
    """A criterion of a verdict, with its estimate and 95% interval in `unit`."""

    criterion: str
    unit: str
    claimed: str
    refuted: str
    null: ForScripts[float | None]
    margin: ForScripts[float | None]
    test: ForScripts[str]
    panel: ForScripts[str | None]
    expected: ForScripts[dict[str, Any] | None]
    verdict: str | None
    reading: ForScripts[str | None]
    level: ForScripts[float | None]
    says: ForScripts[str | None]
    estimate: float | None
    low: float | None
    high: float | None
    seeds: int | None
    reason: str | None
    by_seed: dict[int, float | None]
    """the estimate from each seed alone"""
    observable: ForScripts[dict[str, Any]]
    arms: ForScripts[list[str]]


class TrialBehind(Result):
    digest: str
    arm: str
    point: dict[str, Any]
    seed: int
    outcome: str
    test_loss: float | None


class Explanation(Result):
    claim: str
    paraphrase: str
    kinds: ForScripts[list[str]]
    sources: list[dict[str, Any]]
    measure: str
    """what was declared to be measured"""
    study: str
    version: int
    study_hash: ForScripts[str]
    scale: str
    device: str
    source: str
    """stored or published"""
    verdict: str
    """supported, partly, refuted, open, out of regime, invalid or withdrawn"""
    reason: str
    withdrawn: ForScripts[dict[str, str] | None]
    note: str
    criteria: list[Basis]
    reported: list[str]
    """measured beside it; decides nothing"""
    robustness: Robustness | None
    trials: ForScripts[list[TrialBehind]]
    standing: str
    """firm, fragile, exact or computed, before the correction over all claims; empty: undecided"""
    fragile: list[str]
    """what the verdict does not survive"""
    whole_verdict: ForPeople[Any] = None  # a Verdict, of which only lines for people are made
    quantifier: ForPeople[Any] = None


def explain(
    store: Store,
    claim_id: str,
    studies: Sequence[Study],
    scale: str | None = None,
    device: str | None = None,
    source: str | None = None,
) -> list[Explanation]:
    """An explanation for every scale and device at which one of the studies judges the claim, judged ones first.

    scale, device, source: only such sets, as in `find_sets`. Raises UserError for an unknown claim, and if nothing is stored.
    """
    judging = [(study, judgement) for study in studies for judgement in study.judgements if judgement.claim == claim_id]
    if not judging:
        raise unknown("claim", claim_id, {judgement.claim for study in studies for judgement in study.judgements})
    explanations = []
    for study, judgement in judging:
        sets = find_sets(store, study, scale, device, source)
        judged = [trial_set for trial_set in sets if study.scale(trial_set.scale).judged]
        explanations += [_explained(store, trial_set, judgement) for trial_set in (sets if scale else judged or sets)]
    if not explanations:
        names = ", ".join(study.name for study, _ in judging)
        raise UserError(f"claim '{claim_id}': no stored or published trials of study {names} to judge it by; run it first")
    return explanations


def _explained(store: Store, records: TrialSet, judgement: Judgement) -> Explanation:
    judged = _judged(store, records)
    verdict = next(verdict for verdict in judged.verdicts if verdict.claim == judgement.claim)
    register = catalog.register().including(records.study)
    claim = register.claim(judgement.claim)
    titles = {document.key: document.title for document in register.documents}
    criteria = judgement.criteria_at(records.scale)
    arms = set[str]().union(*(arms_of(criterion.observe) for criterion in criteria))
    robust = next((robustness for robustness in judged.robustness if robustness.claim == judgement.claim), None)
    stands = standing(as_judged(verdict), robust, ALONE)
    return Explanation(
        claim=claim.id,
        paraphrase=claim.paraphrase,
        kinds=list(claim.kinds),
        sources=[
            {"document": source.document, "title": titles[source.document], "section": source.section}
            for source in claim.sources
        ],
        measure=claim.measure,
        study=records.study.name,
        version=records.study.version,
        study_hash=records.study.hash,
        scale=records.scale,
        device=records.device,
        source=records.source,
        verdict=verdict.verdict,
        reason=verdict.reason,
        withdrawn=verdict.withdrawn,
        note=judgement.note,
        criteria=[_basis(criterion, verdict, records) for criterion in criteria],
        reported=report(judgement, records.table) if records.study.scale(records.scale).judged else [],
        robustness=robust,
        trials=_behind(records.trials[records.trials["arm"].isin(arms)]),
        standing=stands,
        fragile=why_fragile(as_judged(verdict), robust, ALONE) if robust is not None and stands == FRAGILE else [],
        whole_verdict=verdict,
        quantifier=judgement.quantifier or claim.quantifier,
    )


def _judged(store: Store, records: TrialSet) -> JudgedTrials:
    """Verdicts on a set as the pages show them; remembered if nothing has changed."""
    known = published_verdicts(records.study) if records.source == PUBLISHED else recalled_verdicts(store, records.study)
    return JudgedTrials.of(records, known or ())


def by_seed(criterion: Criterion, table: TrialArrays) -> dict[int, float | None]:
    """The observation on each seed alone, selection included; None if one seed does not give it.

    Empty for shares of runs, computed numbers, and what cannot be observed at all.
    """
    if isinstance(criterion.observe, ShareOfRuns) or criterion.observe.grade != "measured":
        return {}
    # The seeds that its arms share, which may be more than those of the study.
    table = table.of_arms(arms_of(criterion.observe) & set(table.study.arms_at(table.scale)))
    try:
        with np.errstate(all="ignore"):
            values = evaluate(criterion.observe, table, np.eye(table.seeds))
    except NotEstimableError:
        return {}
    estimates = {seed: finite(float(value)) for seed, value in zip(table.seed_numbers, values, strict=True)}
    return estimates if any(value is not None for value in estimates.values()) else {}


def _basis(criterion: Criterion, verdict: Verdict, records: TrialSet) -> Basis:
    finding = next((finding for finding in verdict.findings if finding.name == criterion.name), None)
    of_finding = ("verdict", "reading", "level", "estimate", "low", "high", "seeds", "reason")
    return Basis(
        criterion=criterion.name,
        unit=criterion.written_in,
        claimed=region(criterion.claimed, criterion),
        refuted=region(criterion.refuted, criterion),
        null=criterion.null,
        margin=criterion.margin,
        test=criterion.test or "effect",
        panel=criterion.panel,
        expected=criterion.expected and criterion.expected.model_dump(mode="json"),
        **{name: finding and getattr(finding, name) for name in of_finding},
        says=finding and str(finding.says),
        by_seed=by_seed(criterion, records.table) if records.study.scale(records.scale).judged else {},
        observable=criterion.observe.model_dump(mode="json"),
        arms=sorted(arms_of(criterion.observe)),
    )


def _behind(trials: pd.DataFrame) -> list[TrialBehind]:
    rows = trials[list(TrialBehind.model_fields)].to_dict("records")
    return [
        TrialBehind.model_validate({**row, "point": json.loads(row["point"]), "test_loss": finite(row["test_loss"])})
        for row in rows
    ]


def find_trial(store: Store, prefix: str) -> dict[str, Any]:
    """All that is known of the one trial whose digest begins so: every column, and `source`.

    The store's ledgers are looked through first, then the published evidence. Raises UserError where there is none or several.
    """
    if len(prefix) < SHORTEST_PREFIX or any(character not in "0123456789abcdef" for character in prefix):
        raise UserError(f"trial '{prefix}': give at least {SHORTEST_PREFIX} of a digest's hexadecimal digits")
    rows = {row["digest"]: row for row in _matching(store, prefix)}
    if not rows:
        raise UserError(f"no trial in this store or the published evidence has a digest that begins with '{prefix}'")
    if len(rows) > 1:
        shown = ", ".join(sorted(rows)[:5])
        raise UserError(
            f"'{prefix}' begins the digests of {len(rows)} trials ({shown}{', …' * (len(rows) > 5)}): give more of it"
        )
    return next(iter(rows.values()))


def _matching(store: Store, prefix: str) -> Iterator[dict[str, Any]]:
    """Rows of trials with that prefix; the store's last, so that they count if both have a trial."""
    published = ((trial_rows.decode(file.read_bytes()), PUBLISHED) for file in evidence.tables())
    own = ((rows, HERE) for study in store.folders("ledger") for rows in Ledger(store, study).holding(prefix))
    for table, source in itertools.chain(published, own):
        wanted = [digest.startswith(prefix) for digest in table.column("digest").to_pylist()]
        for row in table.filter(wanted).to_pylist():
            yield {**row, "source": source}


def trial_facts(row: Mapping[str, Any]) -> dict[str, Any]:
    """A trial as JSON: configuration as it differs from the defaults, losses in nats, times in seconds, curves as lists."""
    configuration = Configuration.model_validate_json(row["configuration"])
    read_as_they_are = (
        *("digest", "study", "version", "scale", "device", "arm", "seed", "outcome", "divergence_step"),
        *("initial_loss", "train_loss", "validation_loss", "test_loss", "seconds", "step_seconds", "examples_per_second"),
        *("peak_memory_bytes", "lanes", "program", "program_note", "width_source", "pack", "finished_at", "engine_version"),
        *("data_hash", "study_hash", "source"),
    )
    curves = {
        name: row.get(trial_schema.CURVE_PREFIX + name)
        for name in (*trial_schema.STEPS_OF, *set(trial_schema.STEPS_OF.values()))
    }
    return {
        **{name: finite(row.get(name)) for name in read_as_they_are},
        "point": json.loads(row["point"]),
        "recipe": trial_recipe(configuration),
        "differs_from_defaults": configuration.identity(),
        "environment": json.loads(row["environment"]),
        "curves": {name: [finite(value) for value in values] for name, values in sorted(curves.items()) if values},
    }


def sparkline(values: Sequence[float | None], points: int = SPARKLINE_POINTS) -> str:
    """A curve as a line of blocks, lowest to highest; '×' where it is not finite."""
    kept = [values[round(index)] for index in np.linspace(0, len(values) - 1, min(points, len(values)))] if values else []
    finite = [value for value in kept if value is not None and math.isfinite(value)]
    if not finite:
        return "×" * len(kept)
    low, high = min(finite), max(finite)
    span = high - low or 1.0

    def block(value: float | None) -> str:
        if value is None or not math.isfinite(value):
            return "×"
        return BLOCKS[min(len(BLOCKS) - 1, int((value - low) / span * len(BLOCKS)))]

    return "".join(block(value) for value in kept)
