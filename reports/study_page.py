"""A study's page: its answer, every arm, its claims with the figures that show them, and how to get them again.

In two steps. `draw` makes all that needs the trials, and writes figures and curves; `content` puts what was judged into words,
for which the verdicts of all studies have to be known: how firm one stands depends on how many there are.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd

from ..harness.declare import Claim, Judgement, Study
from ..harness.declare.own_address import GIVEN
from ..harness.declare.parts import all_parts
from ..harness.judge.attempts import attempts
from ..harness.judge.error_rates import ErrorRates, standing
from ..harness.judge.explaining import told_workloads
from ..harness.judge.judge import OF_THIS_SIZE
from ..harness.judge.outcomes import INVALID, VERDICTS, WITHDRAWN
from ..harness.judge.power import Resolution, resolution, whole_seeds
from ..harness.judge.robustness import Robustness
from ..harness.judge.trial_sets import HERE, TrialSet
from ..harness.judge.verdict import Verdict
from ..harness.judge.verdict_history import history
from ..harness.judge.verdict_memory import JudgedTrials
from ..harness.plan import catalog
from ..harness.plan.catalog import Register
from ..harness.plan.recipe import study_recipe
from ..harness.plan.store.declaration import changed_since
from ..harness.plan.store.mlflow_address import runs_link
from ..harness.plan.store.source_check import commits_of, counted_sources, sources_of
from ..harness.plan.store.trial_schema import SUMMARY
from ..harness.train.workloads import workload_of
from ..harness.train.workloads.base import PROOF, READ
from ..harness.words import counted, enumerated, power_of_two
from .answers import answer, decided_first
from .arms_table import ArmsTable, arms_table
from .claim_cards import Card, card, citation
from .figures import choosing, search, trial_curves
from .figures.drawing import leading, on_a_card
from .figures.render import as_svg, pixels, save
from .highlights import CHOSEN
from .places import card_figure_file, figure_name, trials_page
from .setup_lines import environment_of, for_whom, minutes, setup_lines
from .words import share

# What a page says about the machine, in this order; the rest of the environment follows.
MACHINE = ("device", "devices", "cpu", "cores", "memory_gib", "system", "python", "torch")
# Of the latest trial alone; `_sources` counts those of all.
OF_SOURCES = ("git_commit", "sources", "engine_sources")

# Where `make mlflow` shows a store's runs.
MLFLOW = "http://127.0.0.1:5000/"

# Trials that a page lists, with their curves: more than anybody reads, and as much as a browser takes.
MOST_TRIALS = 8_000

# Cautions and departures that the first screen has room for.
MOST_CAVEATS = 4
# Of all verdicts among which one stands.
Rates = Callable[[Verdict], ErrorRates]
# A neighbour in the order of the catalogue: name and title.
Neighbour = tuple[str, str]


@dataclass(frozen=True)
class Section:
    """The parts of a page that need the trials, of one scale on one kind of device. as_of: the day of its latest trial, as
    2026-11-28. figures: by claim, and by name those of the whole study. lead: the one that the page begins with, broad. whom:
    what its verdicts speak for, a line.
    resolutions: by claim."""

    name: str
    scale: str
    device: str
    source: str
    as_of: str
    runs: int
    judged: JudgedTrials
    arms: ArmsTable | None
    setup: list[tuple[str, str]]
    figures: dict[str, dict[str, str]]
    lead: dict[str, str] | None
    whom: str
    resolutions: dict[str, list[Resolution]]
    declared: dict[str, Any] | None
    tables: dict[str, list[dict[str, Any]]]
    details: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.scale}-{self.device}"


def draw(records: TrialSet, judged: JudgedTrials, output: Path, store_option: str = "", with_picture: bool = False) -> Section:
    """Writes figures and curves into `output` on the way. with_picture: the leading figure as a PNG, too."""
    trials, study = records.trials, records.study
    environment = environment_of(records)
    machine = {key: environment[key] for key in MACHINE if key in environment}
    name = f"{study.name}-{records.scale}-{records.device}"
    able = judged.meant_to_be and not any(verdict.verdict == INVALID for verdict in judged.verdicts)
    drawn, lead = ({}, None) if judged.meant_to_be and not able else _draw(records, judged, output, with_picture)
    factors = sorted({factor for point in set(trials["point"]) for factor in json.loads(point)})
    shown = _of_first_seeds(trials, MOST_TRIALS)
    files = _write_curves(name, shown, output, study)
    return Section(
        name=name,
        scale=records.scale,
        device=records.device,
        source=records.source,
        as_of=max(trials["finished_at"])[:10],
        runs=len(trials),
        judged=judged,
        arms=arms_table(records, judged.verdicts) if judged.meant_to_be else None,
        setup=setup_lines(records, machine),
        whom=for_whom(records, machine),
        figures=drawn,
        lead=lead,
        resolutions=_resolutions(records) if able else {},
        declared=_declared(records),
        tables={judgement.claim: _tables(records, judgement) for judgement in study.judgements},
        details={
            "machine": machine,
            "versions": {key: value for key, value in environment.items() if key not in (*MACHINE, *OF_SOURCES, PROOF, READ)},
            "recipe": study_recipe(study, records.scale),
            "command": _command(study, records.scale, store_option),
            "advice_before": {verdict.claim: _advice_before(records, verdict) for verdict in judged.verdicts},
            "packing": _packing(trials),
            "diverged": share(int((trials["outcome"] == "diverged").sum()), len(trials)),
            "minutes": minutes(records),
            "importances": search.importances(records) if able else {},
            "data_hash": trials["data_hash"].iloc[0],
            "engine_version": int(trials["engine_version"].iloc[0]),
            "hashes": records.ran_under,
            "sources": _sources(records),
            "as_is": records.source_check.as_is if records.source_check else None,
            "trials": [_trial(row, study, factors, list(files)) for row in shown[list(SUMMARY)].to_dict("records")],
            "left_out": len(trials) - len(shown),
            "curve_files": list(files.values()),
            "factors": factors,
        },
    )


def content(
    study: Study,
    register: Register,
    sections: Sequence[Section],
    rates: Rates,
    calibrated: Sequence[Mapping[str, Any]] = (),
    neighbours: tuple[Neighbour | None, Neighbour | None] = (None, None),
    experiment: str | None = None,
    store_option: str = "",
    site_url: str = "",
    with_mlflow: bool = True,
    grown: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The values of the template. calibrated: rows of the calibration. experiment: the study's id
    in the store's MLflow. store_option: what a command needs to reach the store. site_url: where the pages will be, if that is
    known. with_mlflow: whether the page leads to MLflow. grown: how effects change along the study's ladder (growth.py)."""
    leads = [section.lead for section in sections if section.lead]
    return {
        "study": study,
        "as_of": max((section.as_of for section in sections), default=""),
        "picture": leads[0]["picture"] if leads else "",
        "sections": [
            {
                **_section(study, register, section, rates, calibrated, site_url),
                "in_mlflow": section.source == HERE and with_mlflow,
            }
            for section in sections
        ],
        "command": _command(study, None, store_option),
        "trials_page": trials_page(study.name),
        "previous": neighbours[0],
        "next": neighbours[1],
        "calibrated": bool(calibrated),
        "grown": grown,
        "run_of": "" if experiment is None else MLFLOW + runs_link(experiment, "tags.`folklore.digest` = 'DIGEST'"),
        "mlflow": MLFLOW if experiment is None else f"{MLFLOW}#/experiments/{experiment}/runs?workflowType=machine_learning",
    }


def _section(
    study: Study,
    register: Register,
    section: Section,
    rates: Rates,
    calibrated: Sequence[Mapping[str, Any]],
    site_url: str,
) -> dict[str, Any]:
    judged = section.judged
    robust = {robustness.claim: robustness for robustness in judged.robustness}
    cards = _cards(study, register, section, robust, rates, calibrated, site_url) if judged.meant_to_be else []
    claims = {judgement.claim for judgement in study.judgements}
    warned = caveats(study, section)

    def stands(verdict: Verdict) -> str:
        return standing(verdict, robust.get(verdict.claim), rates(verdict))

    stand = [verdict for verdict in judged.verdicts if verdict.verdict != WITHDRAWN]
    return {
        "all": section,
        "description": study.scales[section.scale].description,
        "answer": answer(stand, study.answer, stands) if judged.meant_to_be else None,
        "lead": section.lead,
        "cards_by_claim": {claim_card.claim.id: claim_card for claim_card in cards},
        "loss_is_asked": _asks_for_losses(study, section.scale),
        "withdrawn": [claim_card for claim_card in cards if claim_card.erratum],
        "tally": _tally(cards),
        "caveats": warned[:MOST_CAVEATS],
        "more_caveats": warned[MOST_CAVEATS:],
        "cards": cards,
        "of_documents": _of_documents([claim_card.claim for claim_card in cards], register),
        "other_figures": [key for key in section.figures if key not in claims],
        **section.details,
    }


def _asks_for_losses(study: Study, scale: str) -> bool:
    """Whether losses decide on any claim, so that a table of them belongs on top."""
    criteria = [criterion for judgement in study.judgements for criterion in judgement.criteria_at(scale)]
    return any(part.loss_in_it() for criterion in criteria for part in all_parts(criterion.observe))


def _of_documents(claims: Sequence[Claim], register: Register) -> bool | None:
    """Whether documents make the claims of a page; None if they make some, and others are questions of our own."""
    registered = {claim.id for claim in register.claims}
    origins = {claim.id in registered and not claim.own for claim in claims}
    return origins.pop() if len(origins) == 1 else None


def _cards(
    study: Study,
    register: Register,
    section: Section,
    robust: Mapping[str, Robustness],
    rates: Rates,
    calibrated: Sequence[Mapping[str, Any]],
    site_url: str,
) -> list[Card]:
    known, documents = register.including(study), {document.key: document for document in register.documents}
    judgements = {judgement.claim: judgement for judgement in study.judgements}
    past = history()

    def place(verdict: Verdict) -> tuple[str, str, str, str]:
        return verdict.claim, study.name, verdict.scale, verdict.device

    return [
        card(
            verdict,
            known.claim(verdict.claim),
            judgements[verdict.claim],
            documents,
            robust.get(verdict.claim),
            rates(verdict),
            section.resolutions.get(verdict.claim, ()),
            study.published,
            section.judged.reported.get(verdict.claim, ()),
            section.tables.get(verdict.claim, ()),
            calibrated,
            [change for change in past.verdicts if change.place == place(verdict)],
            [
                rule_change
                for rule_change in past.rules
                if (rule_change.claim, rule_change.study) == (verdict.claim, study.name)
            ],
            citation(verdict, known.claim(verdict.claim), study, section.as_of, site_url),
            section.details["command"],
            section.details["advice_before"].get(verdict.claim, ""),
            [
                attempt
                for attempt in attempts()
                if (attempt.claim, attempt.study, attempt.scale, attempt.device) == place(verdict)
            ],
        )
        for verdict in section.judged.verdicts
    ]


def _advice_before(records: TrialSet, verdict: Verdict) -> str:
    """The advice that was declared before the trials, if it reads otherwise now."""
    if not records.declarations:
        return ""
    before = records.declarations[0].advice_on(verdict.claim, verdict.verdict, verdict.reading)
    return before if before != verdict.advice.removeprefix(OF_THIS_SIZE) else ""


def _tally(cards: Sequence[Card]) -> list[tuple[str, int]]:
    """Verdict -> how many claims have it, those that there are."""
    counts = Counter(claim_card.verdict.verdict for claim_card in cards)
    return [(verdict, counts[verdict]) for verdict in (*VERDICTS, WITHDRAWN) if counts[verdict]]


def caveats(study: Study, section: Section) -> list[str]:
    """Reasons that could overturn a verdict of this scale, the gravest first."""
    declared, warnings = section.declared, []
    if study.revised:
        warnings.append(
            f"Criteria were written after these trials had been seen: {study.revised[:1].lower()}{study.revised[1:]}"
        )
    elif section.details["hashes"]:
        warnings.append(
            "The declaration of this study changed after these trials ran: criteria were written with them in view."
        )
    if declared and declared["trials_before"]:
        warnings.append(f"Declared when {counted(declared['trials_before'], 'trial')} had been seen.")
    if declared and declared["changes"]:
        warnings.append(f"Changed since its first declaration: {counted(len(declared['changes']), 'field')}, listed below.")
    if declared and declared["looks"]:
        warnings.append(f"Judged after {', '.join(map(str, declared['looks']))} seeds at the most; alpha is spent by looks.")
    if section.details["as_is"]:
        warnings.append(f"Published without proof of its sources: {section.details['as_is']}")
    warnings += dict.fromkeys(caution for verdict in section.judged.verdicts for caution in verdict.cautions)
    return [*warnings, *study.scales[section.scale].departures]


def _resolutions(records: TrialSet) -> dict[str, list[Resolution]]:
    """Effects that the planned seeds can show, by the spread of these trials. For whole seeds only: a cut run has no table."""
    if len(whole_seeds(records)) < records.study.seeds_at(records.scale):
        return {}
    seeds = records.study.seeds_at(records.scale)
    return {
        judgement.claim: [
            resolution(judgement.claim, criterion, records.scale, seeds, records.table)
            for criterion in judgement.criteria_at(records.scale)
        ]
        for judgement in records.study.judgements
    }


def _command(study: Study, scale: str | None, store_option: str) -> str:
    """The command that trains the same again; scale: None leaves it to the machine.

    The store's declarations know a variation by its name, and what was declared in Python. An own workload that a run was given
    is given again; one that is an arm's stands in the study's file.
    """
    at_scale = f" --scale {scale}" if scale else ""
    varied, own = study.variation_of, study.workload.own
    if varied and own:
        name = study.file or varied
        if own.module == GIVEN:
            return f"folklore.harness.run({name!r}{f', {scale!r}' if scale else ''}, workload=workload)"
        return f"folklore run {quote(name)}{at_scale} {workload_of(study.workload).option}{store_option}"
    if study.name not in catalog.study_names():
        return f"folklore run {quote(study.file) if study.file and not varied else study.name}{at_scale}{store_option}"
    return f"make study-{study.name}" + (f" SCALE={scale}" if scale else "")


def _draw(
    records: TrialSet, judged: JudgedTrials, output: Path, with_picture: bool
) -> tuple[dict[str, dict[str, str]], dict[str, str] | None]:
    """Claim, or name of a figure of the whole study -> its caption and image, which is written; without an image if the
    caption says that there is nothing to draw. And the figure that the page begins with."""
    judgements = records.study.judgements if judged.meant_to_be else ()
    shown = {judgement.claim: choosing.claim_figure(records, judgement) for judgement in judgements}
    whole = {figure.kind: figure for figure in choosing.study_figures(records)}
    drawn = {key: figure for key, figure in {**shown, **whole}.items() if figure}
    files: dict[str, str] = {}
    place = partial(figure_name, records.study.name, records.scale, records.device)
    written = {key: write_figure(figure, place(key), output, files) for key, figure in drawn.items()}
    for claim in CHOSEN:
        if claim in drawn and (drawing := drawn[claim].drawing) is not None:
            path = output / card_figure_file(records.study.name, records.scale, records.device, claim)
            path.write_text(as_svg(on_a_card(drawing)), "utf-8")
    there = [key for key, figure in drawn.items() if figure.drawing is not None]
    lead = _leading_claim(records.study, judged.verdicts, there) if judged.meant_to_be else next(iter(there), None)
    names = next((told_workloads(verdict) for verdict in judged.verdicts if verdict.claim == lead), ())
    if lead is None:
        return written, None
    wide = _written_wide(drawn[lead], written[lead], output, names, with_picture)
    return written, {**wide, "claim": lead}


def _leading_claim(study: Study, verdicts: Sequence[Verdict], drawn: Collection[str]) -> str | None:
    """The claim whose figure a page begins with: of those that answer its question, else of all, the first decided one."""
    every = [*decided_first(verdicts, study.answer), *decided_first(verdicts, [verdict.claim for verdict in verdicts])]
    return next((verdict.claim for verdict in every if verdict.claim in drawn), None)


def _written_wide(
    shown: choosing.Shown, written: Mapping[str, str], output: Path, names: Sequence[str], with_picture: bool
) -> dict[str, str]:
    """picture: a PNG, which is what pages that link here can show."""
    assert shown.drawing is not None
    wide = leading(shown.drawing, names)
    file = written["image"].removesuffix(".svg") + "-wide.svg"
    (output / file).write_text(as_svg(wide), "utf-8")
    picture = file.replace(".svg", ".png") if with_picture else ""
    if picture:
        save(wide, output / picture)
    width, height = pixels(wide)
    return {**written, "image": file, "width": width, "height": height, "narrow": written["image"], "picture": picture}


def write_figure(shown: choosing.Shown, place: str, output: Path, files: dict[str, str]) -> dict[str, str]:
    """files: images before this one -> their file: claims that one figure shows share it."""
    if shown.drawing is None:
        return {"caption": shown.caption, "image": ""}
    image = as_svg(shown.drawing)
    file = files.setdefault(image, f"{place}.svg")
    (output / file).write_text(image, "utf-8")
    width, height = pixels(shown.drawing)
    return {"caption": shown.caption, "image": file, "id": place.removeprefix("figures/"), "width": width, "height": height}


def _of_first_seeds(trials: pd.DataFrame, most: int) -> pd.DataFrame:
    """As many trials as a page holds: of all arms and points, with the first of their seeds."""
    if len(trials) <= most:
        return trials
    of_each = trials["seed"].value_counts().sort_index().cumsum()
    last = max(of_each[of_each <= most].index, default=trials["seed"].min())
    first: pd.DataFrame = trials.loc[trials["seed"] <= last]
    return first


def _write_curves(name: str, trials: pd.DataFrame, output: Path, study: Study) -> dict[str, str]:
    """Arm -> its file."""
    files = {}
    for arm, (file, text) in trial_curves.files(name, trials, study).items():
        (output / "curves" / file).write_text(text, "utf-8")
        files[arm] = f"curves/{file}"
    return files


def _declared(records: TrialSet) -> dict[str, Any] | None:
    """When the study was written down, how many trials were there by then, and what has changed; None: it was not."""
    if not records.declarations:
        return None
    first = records.declarations[0]
    return {
        "at": first.declared_at[:16].replace("T", " "),
        "hash": first.hash,
        "trials_before": first.trials_before,
        "changes": changed_since(records.declarations, records.study),
        "otherwise": records.declared_otherwise,
        "looks": records.looks,
    }


def _tables(records: TrialSet, judgement: Judgement) -> list[dict[str, Any]]:
    """Tables that show where a claim's computed numbers come from."""
    return [table for computation in records.computed_for(judgement) for table in computation.tables]


def _sources(records: TrialSet) -> str:
    """Which sources trials were trained from; of published ones, as far as it was checked."""
    if records.source == HERE:
        return f"Sources of its trials: {counted_sources(records.trials)}."
    commits, check = commits_of(sources_of(records.trials)), records.source_check
    named = f"commit{'s' * (len(commits) > 1)} {enumerated(commits)}" if commits else "no commit"
    if check is None:
        changed = any(sources.commit.endswith("+") for sources in sources_of(records.trials))
        return f"Published before sources were checked: its trials name {named}{', with uncommitted changes' * changed}."
    if check.as_is is not None:
        findings = "; ".join(check.found)
        return f"Published as it is, for this reason: {check.as_is.rstrip('.')}. What was found of its sources: {findings}."
    declares = "each of which declares" if len(commits) > 1 else "which declares"
    return f"Trained from {named}, {declares} what is judged here, without uncommitted changes of the sources."


def _packing(trials: pd.DataFrame) -> str:
    """How wide the packs were, and what they ran as; trials of before that was recorded do not say."""
    programs = sorted(set(trials["program"].dropna())) if "program" in trials else []
    few, many = int(trials["lanes"].min()), int(trials["lanes"].max())
    return f"{few} to {many} lanes" + (f", {', '.join(programs)}" if programs else "")


def _trial(row: Mapping[Hashable, Any], study: Study, factors: Sequence[str], arms: Sequence[str]) -> dict[str, Any]:
    point = json.loads(row["point"])
    return {
        "digest": row["digest"],
        "arm": study.arms[row["arm"]].label if row["arm"] in study.arms else row["arm"],
        "curves": arms.index(row["arm"]),
        "point": [_spelled(point.get(factor, "")) for factor in factors],
        "seed": row["seed"],
        "outcome": row["outcome"] + ("" if pd.isna(row["divergence_step"]) else f" at step {int(row['divergence_step'])}"),
        "losses": [
            "–" if pd.isna(row[name]) else f"{row[name]:.4f}" for name in ("train_loss", "validation_loss", "test_loss")
        ],
    }


def _spelled(value: Any) -> str:
    return power_of_two(value) if isinstance(value, float) else str(value)
