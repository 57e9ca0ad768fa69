"""Makes texts and records a frame whose columns have types.

Numbers with a fraction are Float64: <NA> is a blank cell, nan and inf are what a diverged run wrote down. Whole numbers are
int64, or Int64 if some are blank. A text column keeps words like None, which are blanks among numbers.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pandas.arrays import FloatingArray

from ...input_files import TooMuchError
from ..roles import NAMES, last_part
from ..table import MOST_COLUMNS, MOST_ROWS

BLANKS = pa.array(["", "None", "none", "null", "NULL", "NA", "N/A", "#N/A", "<NA>"])
# Cells of a frame; a list of records can have columns of its own for each of them.
MOST_CELLS = 100_000_000
FEW = 1000
Record = Mapping[str, Any]


def frame_of(records: Sequence[Record]) -> pd.DataFrame:
    """A row for each record, columns in the order in which names come up. Raises TooMuchError."""
    names = list(dict.fromkeys(name for record in records for name in record))
    require_bounded(len(records), len(names))
    return pd.DataFrame({name: _typed_values([record.get(name) for record in records]) for name in names})


def typed(column: pa.ChunkedArray) -> "pd.Series[Any]":
    """A column of Arrow as pandas holds it; texts that are all numbers become numbers."""
    column = _numbers_of(column) if pa.types.is_string(column.type) else column
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return written(column.cast(pa.float64()).fill_null(0.0).to_numpy(), np.array(column.is_null()))
    if column.null_count and (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        nullable = pd.BooleanDtype() if pa.types.is_boolean(column.type) else pd.Int64Dtype()
        series: pd.Series[Any] = column.to_pandas(types_mapper=lambda _: nullable)
        return series
    return pd.Series(column.to_pandas())


def written(values: NDArray[np.float64], blank: NDArray[np.bool_] | None = None) -> "pd.Series[Any]":
    """Numbers as Float64 in which nan stays nan. pandas' own conversions would make it <NA>."""
    return pd.Series(FloatingArray(values.copy(), np.zeros(len(values), bool) if blank is None else blank))


def flat(record: Record, separator: str = ".") -> dict[str, Any]:
    """A record without records in it: {"a": {"b": 1}} is {"a.b": 1}."""
    fields: dict[str, Any] = {}
    pending = [(str(name), value) for name, value in reversed([*record.items()])]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            pending += [(f"{name}{separator}{inner}", entry) for inner, entry in reversed(value.items())]
        else:
            fields[name] = value
    return fields


def by_step(records: Iterable[Record], step: str) -> tuple[list[dict[str, Any]], set[str]]:
    """One record a step, joined from all records of that step, and the names on which they disagree: the first value counts.

    Records without a step are left out.
    """
    rows: dict[Any, dict[str, Any]] = {}
    again = set()
    for record in records:
        if not isinstance(at := record.get(step), int | float | str) or at == "":
            continue
        merged = rows.setdefault(at, {})
        for name, value in record.items():
            if value is not None and value != "" and merged.setdefault(name, value) != value:
                again.add(name)
    return list(rows.values()), again


def beside(settings: Record, taken: Iterable[str], prefix: str) -> dict[str, Any]:
    """Hyperparameters by their names, those that a metric has too with a prefix."""
    others = set(taken)
    return {prefix + name if name in others else name: value for name, value in settings.items()}


def are_tries(settings: Iterable[Record]) -> bool:
    """Whether runs try hyperparameters: these differ, and some were run once. A grid over seeds repeats each of them."""
    kept = ({name: value for name, value in flat(record, "/").items() if not _is_seed(name)} for record in settings)
    runs = Counter(json.dumps(record, sort_keys=True, default=str) for record in kept)
    return len(runs) > 1 and min(runs.values()) == 1


def _is_seed(name: str) -> bool:
    return "seed" in name.lower() or last_part(name) in NAMES["seed"]


def require_bounded(rows: int, columns: int) -> None:
    """Raises TooMuchError."""
    if rows > MOST_ROWS:
        raise TooMuchError(f"has {rows:,} rows, more than {MOST_ROWS:,}, the most that are read")
    if columns > MOST_COLUMNS:
        raise TooMuchError(f"has more than {MOST_COLUMNS:,} columns, the most that are read")
    if rows * columns > MOST_CELLS:
        raise TooMuchError(f"has {rows:,} rows of {columns:,} columns, more than {MOST_CELLS:,} cells, the most that are read")


def _typed_values(values: list[Any]) -> "pd.Series[Any]":
    """Values of several types, numbers of more than 64 bits and lists are read from their texts."""
    try:
        array = pa.array(values, from_pandas=False)
    except (pa.ArrowException, OverflowError, UnicodeError):
        array = None
    if array is not None and not pa.types.is_nested(array.type):
        return typed(pa.chunked_array([array]))
    texts = pa.array([None if value is None else _text(value) for value in values], pa.string())
    return typed(pa.chunked_array([texts]))


def _text(value: Any) -> str:
    text = json.dumps(value, default=str) if isinstance(value, list | tuple) else str(value)
    return text.encode("utf-8", "replace").decode()


def _numbers_of(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as whole numbers, numbers or booleans, if all of them are."""
    trimmed = pc.utf8_trim_whitespace(texts)
    candidates = pc.if_else(pc.is_in(trimmed, BLANKS), None, trimmed)
    if candidates.null_count == len(candidates):
        return pa.chunked_array([pa.nulls(len(candidates), pa.float64())])
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            pc.cast(candidates.slice(0, FEW), kind)  # most texts are told soon
            return pc.cast(candidates, kind)
        except pa.ArrowInvalid:
            continue
    return pc.if_else(pc.equal(trimmed, ""), None, trimmed)
