"""The trials table: one row a trial, the columns every later step reads. Parquet, with a checksum on every page."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from harness.plan import Trial
from harness.spec import Study, canonical_json
from harness.training import ENGINE_VERSION
from harness.training.result import LaneResult

# name, unit, what it is
_CURVES = (
    ("step", "steps", "the last step of each bin of the run, from 1"),
    ("train_loss", "nats", "training loss, mean over each bin"),
    ("lr", "", "learning rate, mean over each bin"),
    ("evaluation_step", "steps", "the steps after which the validation sample was passed over"),
    ("evaluation_loss", "nats", "loss on the validation sample"),
    ("probe_step", "steps", "the steps that were looked at closely"),
    ("probe_gradient_norm", "nats", "norm of the batch gradient, before clipping"),
    ("probe_gradient_variance", "nats^2", "trace of the covariance of the batch gradient, from half a batch"),
    ("probe_update_ratio", "", "norm of the update over that of the weights"),
    ("probe_weight_norm", "", "norm of all weights"),
    ("probe_median_update_ratio", "", "median over the layers of update over weights"),
)
_LAYER_CURVES = (
    ("probe_layer_gradient_norm", "nats", "gradient norm of each layer, in the order of `layers`"),
    ("probe_layer_update_ratio", "", "update over weights of each layer, in the order of `layers`"),
    ("probe_layer_activation", "", "mean absolute value of each activation, in the order of `taps`"),
    ("probe_layer_underflow_activation", "share", "of hidden activations' gradients that FP16 flushes, by loss scale"),
    ("probe_layer_underflow_logits", "share", "of the logits' gradients that FP16 flushes, by loss scale"),
    ("probe_layer_underflow_weight", "share", "of the weights' gradients that FP16 flushes, by loss scale"),
)
CURVES = tuple(name for name, _, _ in _CURVES)
LAYER_CURVES = tuple(name for name, _, _ in _LAYER_CURVES)
CURVE_PREFIX = "curve_"


@dataclass(frozen=True)
class Column:
    """A column and what it holds. unit: of its numbers, '' where it has none; nan or null: see the description."""

    name: str
    type: pa.DataType
    unit: str
    description: str


# Curve -> what its values belong to.
STEPS_OF = {
    "train_loss": "step",
    "lr": "step",
    "evaluation_loss": "evaluation_step",
    **{name: "probe_step" for name in CURVES if name.startswith("probe_") and name != "probe_step"},
}
COLUMNS = (
    Column("digest", pa.string(), "", "identity of the trial: study, version, engine, device, data, configuration and seed"),
    Column("study", pa.string(), "", "the study it was trained for"),
    Column("version", pa.int32(), "", "of the study"),
    Column("study_hash", pa.string(), "", "of the whole declaration, thresholds included, when the trial ran"),
    Column("engine_version", pa.int32(), "", "of the training engine"),
    Column("scale", pa.string(), "", "smoke, laptop, gpu, cluster"),
    Column("device", pa.string(), "", "cpu or cuda"),
    Column("data_hash", pa.string(), "", "of the dataset's content"),
    Column("arm", pa.string(), "", "the setting that is compared"),
    Column("point", pa.string(), "", "JSON: factor -> value; the factors also have columns of their own"),
    Column("seed", pa.int32(), "", "equal seeds share initialization and data order in all arms"),
    Column("configuration", pa.string(), "", "JSON: workload, training and measurement, everything resolved"),
    Column("outcome", pa.string(), "", "finished or diverged"),
    Column(
        "divergence_step",
        pa.int64(),
        "steps",
        "from 1: from here on the loss stays above its start; null unless diverged",
    ),
    Column("initial_loss", pa.float64(), "nats", "on the validation sample, before the first step"),
    Column("train_loss", pa.float64(), "nats", "mean of the last 5% of the steps; nan where it stopped being finite"),
    Column("validation_loss", pa.float64(), "nats", "at the end, what a tuned LR is chosen by; nan where not finite"),
    Column("test_loss", pa.float64(), "nats", "at the end, what is judged; nan where not finite"),
    Column("examples_per_second", pa.float64(), "1/s", "of the whole pack"),
    Column("seconds", pa.float64(), "s", "time of the pack over its lanes"),
    Column("peak_memory_bytes", pa.int64(), "bytes", "of the whole pack: of the GPU, or of the process on a CPU"),
    Column("step_seconds", pa.float64(), "s", "median of a plain step; of trials that are trained alone, else null"),
    Column("lanes", pa.int32(), "trials", "trained side by side in its pack"),
    Column("program", pa.string(), "", "what plain steps ran as: eager, compiled, captured; null in older trials"),
    Column("program_note", pa.string(), "", "why plain steps ran as something else than planned; null if they did not"),
    Column("width_source", pa.string(), "", "why so many lanes: given, measured, nominal, alone; null in older trials"),
    Column("pack", pa.string(), "", "the pack it was trained in"),
    Column("finished_at", pa.string(), "", "when its pack was done, UTC, ISO 8601"),
    Column("environment", pa.string(), "", "JSON: machine and versions"),
    Column("layers", pa.list_(pa.string()), "", "names of the layers"),
    Column("taps", pa.list_(pa.string()), "", "names of the activations"),
    *(Column(CURVE_PREFIX + name, pa.list_(pa.float32()), unit, words) for name, unit, words in _CURVES),
    *(Column(CURVE_PREFIX + name, pa.list_(pa.list_(pa.float32())), unit, words) for name, unit, words in _LAYER_CURVES),
)
SCHEMA = pa.schema([(column.name, column.type) for column in COLUMNS])
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
    found = [{**shared, **_row(trial, result)} for trial, result in zip(trials, results, strict=True)]
    for row in found:
        homeless, lacking = row.keys() - set(SCHEMA.names), set(SUMMARY) - row.keys()
        assert not homeless, f"no column for {', '.join(sorted(homeless))}: add it to harness/table.py"
        assert not lacking, f"nothing for column {', '.join(sorted(lacking))}"
    return pa.Table.from_pylist(found, schema=SCHEMA)


def _row(trial: Trial, result: LaneResult) -> dict[str, object]:
    measured = ("outcome", "divergence_step", "initial_loss", "train_loss", "validation_loss", "test_loss", "lanes", "program")
    spent = ("program_note", "examples_per_second", "seconds", "peak_memory_bytes", "step_seconds", "layers", "taps")
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


def judged_losses(
    loss: NDArray[np.float64], initial: NDArray[np.float64], outcome: NDArray[np.object_] | pd.Series
) -> NDArray[np.float64]:
    """Losses in nats as they are judged: a diverged run, or one that ends above its start or not finite, counts with its loss
    at initialization. All three of one shape."""
    return np.where((outcome == "diverged") | ~(loss < initial), initial, loss)
