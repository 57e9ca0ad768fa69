"""The published evidence: trials in the repository, judged anew at every build of the pages."""

import hashlib
from pathlib import Path

import pandas as pd
import pyarrow as pa

from harness import table
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
    return path


def state(study: str) -> list[str]:
    """Names the files of a study's evidence and what is in them."""
    return [f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in _files(study)]


def published_sets(study: Study) -> list[RecordSet]:
    files = _files(study.name)
    if not files:
        return []
    trials = pd.concat([table.frame(table.decode(file.read_bytes())) for file in files], ignore_index=True)
    return record_sets(study, trials[trials["study"] == study.name], PUBLISHED)


def _files(study: str) -> list[Path]:
    return sorted(FOLDER.glob(f"{study}-*.parquet"))
