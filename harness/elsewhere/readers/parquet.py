"""Parquet files."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...input_files import TooMuchError, open_regular, size_of
from ..table import FILE, Problem
from .columns import require_bounded, typed
from .source import LARGEST, EmptyError, each_of, problem, readable

BATCH = 65_536
READ = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string, pa.types.is_decimal),
    *(pa.types.is_temporal, pa.types.is_null),
)


def read_parquet(files: Mapping[str, Path]) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The rows of all files, each with its FILE if there are several; columns of lists are left out. Raises UserError."""
    parts, problems = each_of(files, _table)
    with readable(next(iter(files.values()))):
        tables = [
            table if len(files) == 1 else table.append_column(FILE, pa.array([name] * len(table), pa.string()))
            for name, (table, _) in parts.items()
        ]
        whole = pa.concat_tables(tables, promote_options="permissive")
        require_bounded(len(whole), whole.num_columns)
        frame = pd.DataFrame({name: typed(whole[name]) for name in whole.column_names})
    nested = dict.fromkeys(name for _, names in parts.values() for name in names)
    return frame, (*problems, *problem("columns of lists or bytes", len(nested), "left out", nested))


def _table(path: Path) -> tuple[pa.Table, list[str]]:
    """Columns of numbers, texts and dates, those of structures by dotted names; and the names of all others."""
    with readable(path), open_regular(path) as file:
        if not file.read(1):
            raise EmptyError(path)
        file.seek(0)
        texts = [column.path for column in pq.ParquetFile(file).schema if column.physical_type == "BYTE_ARRAY"]
        file.seek(0)
        opened = pq.ParquetFile(file, read_dictionary=texts, page_checksum_verification=True)
        require_bounded(opened.metadata.num_rows, opened.metadata.num_columns)
        if not opened.metadata.num_rows:
            raise EmptyError(path)
        table = pa.Table.from_batches(_bounded(opened))
        while any(pa.types.is_struct(field.type) for field in table.schema):
            table = table.flatten()
    columns = {name: _plain(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    kept = {name: column for name, column in columns.items() if any(is_read(column.type) for is_read in READ)}
    return pa.table(kept), [name for name in columns if name not in kept]


def _bounded(opened: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Batches whose texts are kept once each; a few bytes may stand for more than any memory holds. Raises TooMuchError."""
    total = 0
    for batch in opened.iter_batches(BATCH):
        for column in batch.columns:
            if pa.types.is_dictionary(column.type):
                total += int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
            elif not pa.types.is_primitive(column.type):
                total += int(column.nbytes)
        if total > LARGEST:
            raise TooMuchError(f"holds more than {size_of(LARGEST)} of text, the most that is read")
        yield batch


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
