"""The published evidence: trials in the repository, and what was declared before they were trained."""

import hashlib
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa

from harness import table
from harness.declaration import Declaration
from harness.records import COLUMNS, PUBLISHED, RecordSet, record_sets
from harness.spec import Study

FOLDER = Path(__file__).parent / "evidence"


def path_of(study: str, scale: str, device: str) -> Path:
    return FOLDER / f"{study}-{scale}-{device}.parquet"


def publish(records: RecordSet) -> Path:
    """Write a set's trials, sorted, without the factor columns that `point` repeats. Equal trials give equal bytes."""
    rows = records.trials[list(COLUMNS)].drop_duplicates("digest").sort_values("digest")
    schema = pa.schema([field for field in table.SCHEMA if field.name in COLUMNS])
    path = path_of(records.study.name, records.scale, records.device)
    path.write_bytes(table.encode(pa.Table.from_pandas(rows, schema=schema, preserve_index=False).replace_schema_metadata()))
    declared = _declared_path(records.study.name, records.scale)
    declared.unlink(missing_ok=True)
    if records.declarations:
        # What was fixed beforehand goes with the trials: by which looks they are judged, and what has changed since.
        declared.write_text(
            "[" + ",\n".join(each.to_json().decode() for each in records.declarations) + "]\n", encoding="utf-8"
        )
    return path


def _declared_path(study: str, scale: str) -> Path:
    return FOLDER / f"{study}-{scale}.declared.json"


def declarations(study: str, scale: str) -> list[Declaration]:
    """What was written down before a scale's published trials; nothing of trials from before that was done."""
    path = _declared_path(study, scale)
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [Declaration.from_json(json.dumps(each).encode()) for each in found]


def state(study: str) -> list[str]:
    """Names the files of a study's evidence and what is in them."""
    files = [*_files(study), *sorted(FOLDER.glob(f"{study}-*.declared.json"))]
    return [f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files]


def published_sets(study: Study) -> list[RecordSet]:
    files = _files(study.name)
    if not files:
        return []
    trials = pd.concat([table.frame(table.decode(file.read_bytes())) for file in files], ignore_index=True)
    own = trials[trials["study"] == study.name]
    return record_sets(study, own, PUBLISHED, declared=lambda scale: declarations(study.name, scale))


def _files(study: str) -> list[Path]:
    return sorted(FOLDER.glob(f"{study}-*.parquet"))
