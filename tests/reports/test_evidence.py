"""The published numbers, held to a second record of them: no change of code or wording moves one unseen."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from folklore.harness.plan.store import evidence

RECORD = Path(__file__).parent / "golden" / "evidence.json"
# Of a number: the last digits of floats differ between machines.
DIGITS = 6


def numbers(finding: Mapping[str, Any]) -> str:
    """A verdict or a finding in short."""
    parts = [
        "none" if finding[name] is None else f"{finding[name]:.{DIGITS}g}"
        for name in ("estimate", "low", "high")
        if name in finding
    ]
    return f"{finding['verdict']} {parts[0]} [{parts[1]}, {parts[2]}] of {finding['seeds']} seeds"


def published_numbers() -> dict[str, Any]:
    """Digests of the trials of every file of evidence, and every verdict and criterion with its estimate and interval."""
    trials = {}
    for file in sorted(evidence.FOLDER.glob("*.parquet")):
        digests = sorted(pq.read_table(file, columns=["digest"])["digest"].to_pylist())
        trials[file.name] = f"{len(digests)} trials, {hashlib.sha256(' '.join(digests).encode()).hexdigest()}"
    verdicts = {}
    for study, kept in json.loads((evidence.FOLDER / "verdicts.json").read_text(encoding="utf-8")).items():
        for judged in kept["judged"]:
            for verdict in judged["verdicts"]:
                place = f"{study} at {judged['scale']} scale ({judged['device']}), {verdict['claim']}"
                verdicts[place] = numbers(verdict)
                verdicts |= {f"{place}: {finding['name']}": numbers(finding) for finding in verdict["findings"]}
            for robust in judged["robustness"]:
                others = {alternative["choice"]: alternative["verdict"] for alternative in robust["alternatives"]}
                place = f"{study} at {judged['scale']} scale ({judged['device']}), {robust['claim']}, robustness"
                verdicts[place] = "; ".join(f"{name}: {it}" for name, it in {**robust["without_seed"], **others}.items())
    return {"trials": trials, "verdicts": verdicts}


def test_published_trials_and_verdicts_are_those_on_record() -> None:
    """New evidence is written down by FOLKLORE_GOLDEN=write, and the difference is looked at."""
    published = published_numbers()
    if os.environ.get("FOLKLORE_GOLDEN") == "write":
        RECORD.write_text(json.dumps(published, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert published == json.loads(RECORD.read_text(encoding="utf-8")), "look at it, then FOLKLORE_GOLDEN=write pytest …"
