"""All pages: an index with the claims x scales matrix, and a page for each study. Equal data gives equal bytes."""

import json
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.catalog import Register
from harness.declaration import changed_since
from harness.judge import VERDICTS, region, report, spell
from harness.own.finding import address_of
from harness.records import RecordSet
from harness.spec import Study
from reports import calibration, figures, procedures
from reports.judged import Judged
from reports.side_by_side import side_by_side
from reports.strip import strip
from reports.words import power_of_two, share

CURVES = (
    ("train_loss", "step", "training loss (nats)"),
    ("probe_gradient_norm", "probe_step", "gradient norm"),
    ("probe_gradient_variance", "probe_step", "variance of the batch gradient"),
)
# What a page says about the machine, in this order; the rest of the environment follows.
MACHINE = ("device", "devices", "cpu", "cores", "memory_gib", "system", "python", "torch", "git_commit")


def write(
    output: Path,
    studies: Sequence[Study],
    register: Register,
    sets_of: Callable[[Study], Sequence[RecordSet]],
    only: Collection[str] | None = None,
    known: Callable[[Study], list[Judged] | None] = lambda study: None,
) -> dict[str, list[Judged]]:
    """Write the site into a folder; returns what became of every study's claims. sets_of: the stored trials of a study.

    only: the studies whose pages are written; the index links to those that are there. known: what is known without judging of
    a study whose page is not written.
    """
    pages = Environment(
        loader=PackageLoader("reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    pages.filters["spell"] = spell
    output.mkdir(parents=True, exist_ok=True)
    (output / "figures").mkdir(exist_ok=True)
    _save(output / "style.css", pages.get_template("style.css").render())
    counted = calibration.rows()
    if counted:
        _save(
            output / "calibration.html",
            pages.get_template("calibration.html").render(calibration.content(counted, calibration.methods())),
        )

    def judge_and_write(study: Study) -> list[Judged]:
        write_page = only is None or study.name in only
        if not write_page and (remembered := known(study)) is not None:
            return remembered
        sets = sets_of(study)
        before = known(study) or []
        judged = [Judged.of(records, before) for records in sets]
        if write_page:
            own = list(zip(sets, judged, strict=True))
            text = pages.get_template("study.html").render(_study(study, register, own, output))
            _save(output / f"{study.name}.html", text)
        return judged

    # The longest first, so that none is left for the end.
    in_turn = sorted(studies, key=_observations, reverse=True)
    found = dict(zip((study.name for study in in_turn), side_by_side(judge_and_write, in_turn), strict=True))
    # A variation's verdicts are of something else than the claims' study: they stand on its own page alone.
    studies = [study for study in studies if study.variation_of is None]
    judged = [each for study in studies for each in found[study.name]]
    there = {study.name for study in studies if (output / f"{study.name}.html").exists()}
    _save(
        output / "index.html",
        pages.get_template("index.html").render(_index(studies, register, judged, there), calibrated=bool(counted)),
    )
    return found


def _observations(study: Study) -> int:
    """How much there is to observe of a study, for judging takes as long."""
    return sum(len(judgement.criteria) + len(judgement.reported) for judgement in study.judgements)


def _index(studies: Sequence[Study], register: Register, judged: Sequence[Judged], there: Collection[str]) -> dict[str, Any]:
    """The matrix: rows are claims in register order, columns the scales and devices that were judged. there: linked pages."""
    columns = sorted(
        {(each.scale, each.device) for each in judged if each.meant_to_be},
        key=lambda column: (
            ["laptop", "gpu", "cluster"].index(column[0]) if column[0] in ("laptop", "gpu", "cluster") else 9,
            column,
        ),
    )
    verdicts = {(v.claim, v.scale, v.device): v for each in judged for v in each.verdicts}
    groups: dict[str, list[dict[str, Any]]] = {study.name: [] for study in studies}
    filed = [(claim.study, claim) for claim in register.claims]
    filed += [(study.name, claim) for study in studies for claim in study.claims]
    for group, claim in filed:
        cells = [verdicts.get((claim.id, *column)) for column in columns]
        groups.setdefault(group, []).append({"claim": claim, "cells": cells, "studied": any(cells)})
    counts = {name: sum(v.verdict == name for v in verdicts.values() if (v.scale, v.device) in columns) for name in VERDICTS}
    return {
        "columns": columns,
        "groups": {name: rows for name, rows in groups.items() if rows},
        "written": there,
        "counts": counts,
        "claims": len(filed),
        "studied": len({v.claim for v in verdicts.values()}),
        "documents": register.documents,
    }


def _study(study: Study, register: Register, judged: Sequence[tuple[RecordSet, Judged]], output: Path) -> dict[str, Any]:
    return {
        "study": study,
        "claims": {judgement.claim: register.including(study).claim(judgement.claim) for judgement in study.judgements},
        "judgements": {judgement.claim: judgement for judgement in study.judgements},
        "documents": {document.key: document for document in register.documents},
        "sections": [_section(records, each, output) for records, each in judged],
        "strip": strip,
        "region": region,
    }


def _section(records: RecordSet, judged: Judged, output: Path) -> dict[str, Any]:
    """Everything a study page shows of one scale on one kind of device."""
    trials, verdicts = records.trials, judged.verdicts
    environment = json.loads(trials["environment"].iloc[-1])
    factors = sorted({factor for point in set(trials["point"]) for factor in json.loads(point)})
    name = f"{records.study.name}-{records.scale}-{records.device}"
    drawn: list[tuple[str, str, str | None]] = []
    if records.study.scale(records.scale).judged and not any(verdict.verdict == "invalid" for verdict in verdicts):
        drawn = [
            (
                "Test loss against the peak learning rate: means over seeds; points, where there are, are single runs.",
                "lr",
                figures.lr_curves(records),
            ),
            ("What the exponents are fitted to, with 95% intervals.", "exponents", figures.exponents(records)),
            ("Range tests, and what each rule picks from every seed's.", "range-tests", procedures.range_tests(records)),
            ("Steps to the target against the batch size, at the tuned LR.", "batch", procedures.batch_sweeps(records)),
            ("The gradient noise scale over training.", "noise", procedures.noise_scales(records)),
            ("What FP16 would flush to zero, by loss scale.", "underflow", procedures.underflow(records)),
            ("At each arm's tuned learning rate, means over seeds.", "curves", figures.training_curves(records, CURVES)),
        ]
    files = {f"figures/{name}-{kind}.svg": (caption, svg) for caption, kind, svg in drawn if svg is not None}
    for file, (_, svg) in files.items():
        _save(output / file, svg)
    return {
        "records": records,
        "judged": records.study.scale(records.scale).judged,
        "verdicts": verdicts,
        "robustness": {each.claim: each for each in judged.robustness},
        "declared": _declared(records),
        "reported": _reported(records),
        "criteria": {judgement.claim: judgement.criteria_at(records.scale) for judgement in records.study.judgements},
        "figures": [(caption, file) for file, (caption, _) in files.items()],
        "machine": {key: environment[key] for key in MACHINE if key in environment},
        "versions": {key: value for key, value in environment.items() if key not in MACHINE},
        "seeds": records.study.seeds_at(records.scale),
        "packing": _packing(trials),
        "diverged": share(int((trials["outcome"] == "diverged").sum()), len(trials)),
        "minutes": f"{trials['seconds'].sum() / 60:.1f}",
        "data_hash": trials["data_hash"].iloc[0],
        "engine_version": int(trials["engine_version"].iloc[0]),
        "hashes": sorted(set(trials["study_hash"]) - {records.study.hash}),
        "trials": [_trial(row, records.study, factors) for row in trials.to_dict("records")],
        "factors": factors,
        "command": _command(records.study, records.scale),
    }


def _command(study: Study, scale: str) -> str:
    """What trains the same again."""
    if study.workload.model == "own":
        return f"folklore run {study.variation_of} --scale {scale} --workload {address_of(study.workload.dataset)}"
    return f"make study-{study.name} SCALE={scale}"


def _declared(records: RecordSet) -> dict[str, Any] | None:
    """When the study was written down, how many trials were there by then, and what has changed; None: it was not."""
    if not records.declarations:
        return None
    first = records.declarations[0]
    return {
        "at": first.declared_at[:16].replace("T", " "),
        "hash": first.hash,
        "trials_before": first.trials_before,
        "changes": changed_since(records.declarations, records.study),
        "looks": records.looks,
    }


def _packing(trials: pd.DataFrame) -> str:
    """How wide the packs were, and what they ran as; trials of before that was recorded do not say."""
    programs = sorted(set(trials["program"].dropna())) if "program" in trials else []
    few, many = int(trials["lanes"].min()), int(trials["lanes"].max())
    return f"{few} to {many} lanes" + (f", {', '.join(programs)}" if programs else "")


def _reported(records: RecordSet) -> dict[str, list[str]]:
    """Claim -> what is shown beside its criteria."""
    if not records.study.scale(records.scale).judged:
        return {}
    table = records.table
    return {judgement.claim: report(judgement, table) for judgement in records.study.judgements}


def _trial(row: Mapping[Hashable, Any], study: Study, factors: Sequence[str]) -> dict[str, Any]:
    point = json.loads(row["point"])
    return {
        "digest": row["digest"],
        "arm": study.arms[row["arm"]].label if row["arm"] in study.arms else row["arm"],
        "point": [_spelled(point.get(factor, "")) for factor in factors],
        "seed": row["seed"],
        "outcome": row["outcome"] + ("" if pd.isna(row["divergence_step"]) else f" at step {int(row['divergence_step'])}"),
        "losses": [
            "–" if pd.isna(row[name]) else f"{row[name]:.4f}" for name in ("train_loss", "validation_loss", "test_loss")
        ],
    }


def _spelled(value: Any) -> str:
    return power_of_two(value) if isinstance(value, float) else str(value)


def _save(path: Path, text: str) -> None:
    path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
