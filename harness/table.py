"""The trials table: one row a trial, the columns every later step reads. Parquet, with a checksum on every page."""

import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.plan import Trial
from harness.spec import Study, canonical_json
from harness.training import ENGINE_VERSION
from harness.training.result import LaneResult

CURVES = (
    "step",
    "train_loss",
    "lr",
    "evaluation_step",
    "evaluation_loss",
    "probe_step",
    "probe_gradient_norm",
    "probe_gradient_variance",
    "probe_update_ratio",
    "probe_weight_norm",
    "probe_median_update_ratio",
)
LAYER_CURVES: tuple[str, ...] = (
    "probe_layer_gradient_norm",
    "probe_layer_update_ratio",
    "probe_layer_activation",
    "probe_layer_underflow_activation",  # where measured, and so are the next two; columns are loss scales
    "probe_layer_underflow_logits",
    "probe_layer_underflow_weight",
)
CURVE_PREFIX = "curve_"

SCHEMA = pa.schema(
    [
        ("digest", pa.string()),  # identity of the trial
        ("study", pa.string()),
        ("version", pa.int32()),
        ("study_hash", pa.string()),  # of the whole declaration, thresholds included, when the trial ran
        ("engine_version", pa.int32()),
        ("scale", pa.string()),
        ("device", pa.string()),  # cpu or cuda
        ("data_hash", pa.string()),
        ("arm", pa.string()),
        ("point", pa.string()),  # JSON: factor -> value
        ("seed", pa.int32()),
        ("configuration", pa.string()),  # JSON, everything resolved
        ("outcome", pa.string()),  # finished or diverged
        ("divergence_step", pa.int64()),  # from 1; null unless diverged
        ("initial_loss", pa.float64()),  # nats
        ("train_loss", pa.float64()),  # nats, mean of the last 5% of steps
        ("validation_loss", pa.float64()),  # nats; nan where not finite
        ("test_loss", pa.float64()),
        ("examples_per_second", pa.float64()),  # of the whole pack
        ("seconds", pa.float64()),  # pack seconds / lanes
        ("peak_memory_bytes", pa.int64()),  # of the whole pack
        ("step_seconds", pa.float64()),  # median of a plain step; of trials that are trained alone
        ("lanes", pa.int32()),
        ("program", pa.string()),  # eager, compiled, captured
        ("width_source", pa.string()),  # why so many lanes: given, measured, nominal, alone
        ("pack", pa.string()),
        ("finished_at", pa.string()),  # UTC
        ("environment", pa.string()),  # JSON: machine and versions
        ("layers", pa.list_(pa.string())),
        ("taps", pa.list_(pa.string())),  # what the activation curve's columns are
        *((CURVE_PREFIX + name, pa.list_(pa.float32())) for name in CURVES),
        *((CURVE_PREFIX + name, pa.list_(pa.list_(pa.float32()))) for name in LAYER_CURVES),
    ]
)
# Not read to judge and not published; activations are, because coordinate checks need them.
HEAVY = (CURVE_PREFIX + "probe_layer_gradient_norm", CURVE_PREFIX + "probe_layer_update_ratio")
SUMMARY = tuple(name for name in SCHEMA.names if not name.startswith(CURVE_PREFIX) and name not in ("layers", "taps"))


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
    """The table of one finished pack."""
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
    return pa.Table.from_pylist(
        [{**shared, **_row(trial, result)} for trial, result in zip(trials, results, strict=True)], schema=SCHEMA
    )


def _row(trial: Trial, result: LaneResult) -> dict[str, object]:
    measured = ("outcome", "divergence_step", "initial_loss", "train_loss", "validation_loss", "test_loss", "lanes", "program")
    spent = ("examples_per_second", "seconds", "peak_memory_bytes", "step_seconds", "layers", "taps")
    return {
        "digest": trial.digest,
        "arm": trial.arm,
        "point": canonical_json(trial.point),
        "seed": trial.seed,
        "configuration": canonical_json(trial.configuration.model_dump(mode="json")),
        **{name: getattr(result, name) for name in (*measured, *spent)},
        **{CURVE_PREFIX + name: curve for name, curve in {**result.curves, **result.layer_curves}.items()},
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
    """Raises pyarrow.ArrowException or OSError for a file that is torn or whose checksums do not hold."""
    wanted = [field for field in SCHEMA if columns is None or field.name in columns]
    with pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True) as file:
        present = set(file.schema_arrow.names)
        found = file.read([field.name for field in wanted if field.name in present])
    # A column that came later than the file is empty.
    arrays = [found[field.name] if field.name in present else pa.nulls(len(found), field.type) for field in wanted]
    return pa.table(arrays, schema=pa.schema(wanted))


def frame(table: pa.Table) -> pd.DataFrame:
    """A pandas frame with one further column for each factor that occurs in `point`, in a fixed row order."""
    data: pd.DataFrame = table.to_pandas()
    points = pd.DataFrame([json.loads(point) for point in data["point"]], index=data.index)
    clash = points.columns.intersection(data.columns)
    assert clash.empty, f"a factor has the name of a column: {list(clash)}"
    return pd.concat([data, points], axis=1).sort_values(["arm", *points.columns, "seed"], ignore_index=True, kind="stable")
