"""Rows of the trials table, from results to Parquet and back, with a checksum on every page."""

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...declare import Configuration, Measurement, Study, Training, Workload, canonical_json
from ...declare.design import MOST
from ...declare.trial import Trial
from ...train import ENGINE_VERSION
from ...train.result import LaneResult
from .trial_schema import CURVE_PREFIX, NULLABLE, OBJECTS, OUTCOMES, SCHEMA, SUMMARY

if TYPE_CHECKING:
    import pandas as pd

# Arrow's own allocator keeps what a large table has left: 90 MB of 50,000 trials.
pa.set_memory_pool(pa.system_memory_pool())


def rows(
    study: Study,
    scale: str,
    device: str,
    data_hash: str,
    pack: str,
    trials: Sequence[Trial],
    results: Sequence[LaneResult],
    environment: dict[str, str],
    width_source: str = "given",
) -> pa.Table:
    """The table of one finished pack. AssertionError where a row holds what has no column, or lacks what is no curve: pyarrow
    would drop the one and leave the other empty."""
    shared = {
        "study": study.name,
        "version": study.version,
        "study_hash": study.hash,
        "engine_version": ENGINE_VERSION,
        "scale": scale,
        "device": device,
        "data_hash": data_hash,
        "pack": pack,
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": canonical_json(environment),
        "width_source": width_source,
    }
    records = [{**shared, **_row(trial, result)} for trial, result in zip(trials, results, strict=True)]
    for row in records:
        homeless, lacking = row.keys() - set(SCHEMA.names), set(SUMMARY) - row.keys()
        assert not homeless, (
            f"no column for {', '.join(sorted(homeless))}: describe a curve in its probe, all else in trial_schema.py"
        )
        assert not lacking, f"nothing for column {', '.join(sorted(lacking))}"
    return pa.Table.from_pylist(records, schema=SCHEMA)


def _row(trial: Trial, result: LaneResult) -> dict[str, object]:
    measured = {field.name: getattr(result, field.name) for field in fields(result)}
    curves = {**measured.pop("curves"), **measured.pop("layer_curves")}
    return {
        "digest": trial.digest,
        "arm": trial.arm,
        "point": canonical_json(trial.point),
        "seed": trial.seed,
        "configuration": canonical_json(trial.configuration.model_dump(mode="json")),
        **measured,
        **{CURVE_PREFIX + name: curve for name, curve in curves.items()},
    }


def encode(table: pa.Table) -> bytes:
    """Curves are split into byte streams, which makes their exponents compress; identifiers and words use dictionaries."""
    words = [field.name for field in table.schema if pa.types.is_string(field.type)]
    buffer = io.BytesIO()
    pq.write_table(
        table,
        buffer,
        compression="zstd",
        compression_level=9,
        use_dictionary=words,
        use_byte_stream_split=[f"{name}.list.element" for name in table.column_names if name.startswith(CURVE_PREFIX)] or False,
        write_page_checksum=True,
    )
    return buffer.getvalue()


def decode(content: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """Raises pyarrow.ArrowException, OSError or ValueError for what is torn, fails its checksums, or is no table of trials."""
    wanted = [field for field in SCHEMA if columns is None or field.name in columns]
    with pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True) as file:
        present = set(file.schema_arrow.names)
        stored = file.read([field.name for field in wanted if field.name in present])
    # A column that came later than the file is empty.
    arrays = [stored[field.name] if field.name in present else pa.nulls(len(stored), field.type) for field in wanted]
    table = pa.table(arrays, schema=pa.schema(wanted))
    return readable(table)


def readable(table: pa.Table) -> pa.Table:
    """The table itself. Raises ValueError for nulls if each trial has something, and for texts that nobody writes there."""
    for name in table.column_names:
        values = table[name]
        if values.null_count and name not in NULLABLE:
            raise ValueError(f"column '{name}' lacks {values.null_count} of {len(values)} values")
        if name in OBJECTS:
            for text in values.unique().to_pylist():
                _require_object(name, text)
        if name == "finished_at":
            for text in values.unique().to_pylist():
                datetime.fromisoformat(text)
        if name == "outcome" and (foreign := set(values.unique().to_pylist()) - set(OUTCOMES)):
            raise ValueError(f"column 'outcome' holds '{min(foreign):.80}'; known: {', '.join(OUTCOMES)}")
    return table


def _require_object(name: str, text: str) -> None:
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError(f"column '{name}' holds {text:.80}, no JSON object")
    fits, rule = SHAPES[name]
    if not fits(content):
        raise ValueError(f"column '{name}' holds {text:.80}; {rule}")


def _is_point(content: dict[str, Any]) -> bool:
    return all(name.isidentifier() and name not in SCHEMA.names for name in content) and all(map(_is_value, content.values()))


def _is_configuration(content: dict[str, Any]) -> bool:
    parts = [content.get(name) for name in Configuration.model_fields]
    if not all(isinstance(part, dict) for part in parts) or not isinstance(content["workload"].get("dataset"), str):
        return False
    return not any(isinstance(part.get(name), str | list | dict) for part in parts if part for name in NUMBERS)


def _is_environment(content: dict[str, Any]) -> bool:
    return "device" in content and all(isinstance(value, str) for value in content.values())


def _is_value(value: Any) -> bool:
    """Whether a study may declare it: a number is finite, and an integer one that a float holds."""
    if isinstance(value, int):
        return abs(value) < MOST
    return value is None or isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


# Fields of a configuration that tables have as columns of numbers.
NUMBERS = tuple(
    name
    for part in (Workload, Training, Measurement)
    for name, field in part.model_fields.items()
    if field.annotation == float | None
)
# Column -> the check of its objects, and its rule in words.
SHAPES: dict[str, tuple[Callable[[dict[str, Any]], bool], str]] = {
    "point": (_is_point, "factors have names of fields, none is a column's, and single values"),
    "configuration": (_is_configuration, "it has workload, training and measurement, a dataset, and numbers for numbers"),
    "environment": (_is_environment, "it has texts alone, and names a device"),
}


def frame(table: pa.Table, curves: Mapping[str, Callable[[], NDArray[np.object_]]] | None = None) -> "pd.DataFrame":
    """A pandas frame with one further column for each factor that occurs in `point`, in a fixed row order. curves: column ->
    what reads its values, in the rows of the table, once they are asked for."""
    import pandas as pd  # takes memory and time that counting does without

    from .curve_columns import CurveColumn, CurveSource

    coded_points = _coded(table["point"])
    known = [json.loads(point) for point in coded_points.dictionary.to_pylist()]
    points = pd.DataFrame([known[index] for index in coded_points.indices.to_pylist()])
    clash = points.columns.intersection(table.column_names)
    assert clash.empty, f"a factor has the name of a column: {list(clash)}"
    keys = points.assign(arm=table["arm"].to_pandas(), seed=table["seed"].to_pandas())
    by = ["arm", *points.columns, "seed"]
    try:
        order = keys.sort_values(by, kind="stable").index.to_numpy()
    except TypeError:  # a stranger's texts and numbers in one factor
        order = keys.astype(str).sort_values(by, kind="stable").index.to_numpy()
    columns = {name: _values(table[name], name in OBJECTS).take(order) for name in table.column_names}
    for name, read in (curves or {}).items():
        columns[name] = pd.Series(CurveColumn(CurveSource(read), order), index=order)
    return pd.concat([pd.DataFrame(columns, copy=False), points.take(order)], axis=1).reset_index(drop=True)


def _values(column: pa.ChunkedArray, is_shared: bool) -> "pd.Series[Any]":
    """is_shared: long texts that many trials have in common are held once, and not once a trial."""
    import pandas as pd

    if pa.types.is_list(column.type):
        return pd.Series(lists(column), dtype=object)
    if not is_shared:
        values: pd.Series[Any] = column.to_pandas()
        return values
    coded = _coded(column)
    texts = np.array(coded.dictionary.to_pylist(), dtype=object)[coded.indices.to_numpy()]
    return pd.Series(texts, dtype=object)


def lists(column: pa.ChunkedArray) -> NDArray[np.object_]:
    """The lists of a column, piece by piece and without a copy of what they hold."""
    pieces = [chunk.to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=object)


def _coded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Each text once, and numbers that stand for them."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return coded.unify_dictionaries().combine_chunks()


def judged_losses(
    loss: NDArray[np.float64], initial: NDArray[np.float64], outcome: "NDArray[np.object_] | pd.Series"
) -> NDArray[np.float64]:
    """Losses in nats as they are judged: a diverged run, or one that ends above its start or not finite, counts with its loss
    at initialization. All three of one shape."""
    return np.where((outcome == "diverged") | ~(loss < initial), initial, loss)
