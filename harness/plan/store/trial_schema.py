"""The trials table's columns: one row a trial, what every later step reads."""

from dataclasses import dataclass

import pyarrow as pa

from ...declare import curves
from ...declare.curves.curve import Curve

# Curves with one value a step, and those with one for each layer or the like.
CURVES = tuple(curve.name for curve in curves.CURVES if not curve.across)
LAYER_CURVES = tuple(curve.name for curve in curves.CURVES if curve.across)
CURVE_PREFIX = "curve_"


@dataclass(frozen=True)
class Column:
    """A column and what it holds. unit: of its numbers, '' where it has none; nan or null: see the description."""

    name: str
    type: pa.DataType
    unit: str
    description: str


def in_unit(unit: str, of_loss: str = "nats", squares: bool | None = None) -> str:
    """A column's unit where the loss has its own; one without a unit leaves none. squares: whether losses are squared errors,
    which have none; None: some are."""
    if "nats" not in unit:
        return unit
    if squares or not of_loss:
        return ""
    return unit.replace("nats", of_loss) + ("" if squares is False else ", of a squared error none")


def _column(curve: Curve) -> Column:
    values = pa.list_(pa.list_(pa.float32())) if curve.across else pa.list_(pa.float32())
    return Column(CURVE_PREFIX + curve.name, values, curve.unit, curve.description)


# Curve with one value a step -> the curve of the steps that its values belong to.
STEPS_OF = {curve.name: curve.steps for curve in curves.CURVES if curve.steps is not None and not curve.across}
COLUMNS = (
    Column("digest", pa.string(), "", "identity of the trial: study, version, engine, device, data, configuration and seed"),
    Column("study", pa.string(), "", "the study it was trained for"),
    Column("version", pa.int32(), "", "of the study"),
    Column("study_hash", pa.string(), "", "of the whole declaration, thresholds included, when the trial ran"),
    Column("engine_version", pa.int32(), "", "of the training engine"),
    Column("scale", pa.string(), "", "smoke, laptop, workstation, gpu, cluster"),
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
    Column(
        "initial_accuracy",
        pa.float64(),
        "",
        "share of targets with the largest logit, or an own workload's metric, before the first step",
    ),
    Column("validation_accuracy", pa.float64(), "", "at the end; null where targets are numbers, and in older trials"),
    Column("test_accuracy", pa.float64(), "", "at the end; null where targets are numbers, and in older trials"),
    Column("final_training_loss", pa.float64(), "nats", "of fixed training examples, in eval mode; null if not asked for"),
    Column("final_training_accuracy", pa.float64(), "", "of fixed training examples, in eval mode; null if not asked for"),
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
    Column("environment", pa.string(), "", "JSON: machine, versions, and the commit and state of the sources"),
    Column("layers", pa.list_(pa.string()), "", "names of the layers"),
    Column("taps", pa.list_(pa.string()), "", "names of the activations"),
    *map(_column, curves.CURVES),
)
SCHEMA = pa.schema([(column.name, column.type) for column in COLUMNS])
# Not read to judge and not published; activations are, because coordinate checks need them.
HEAVY = tuple(CURVE_PREFIX + curve.name for curve in curves.CURVES if curve.heavy)
# All that an observation or a page reads, and what is published.
JUDGED = tuple(name for name in SCHEMA.names if name not in (*HEAVY, "layers", "taps"))
SUMMARY = tuple(name for name in SCHEMA.names if not name.startswith(CURVE_PREFIX) and name not in ("layers", "taps"))
# Columns of JSON objects; words of `outcome`; columns that may be null, as a number that is none becomes when it is published.
OBJECTS = ("point", "configuration", "environment")
OUTCOMES = ("finished", "diverged")
NULLABLE = tuple(
    column.name
    for column in COLUMNS
    if column.name not in SUMMARY or pa.types.is_floating(column.type) or "null" in column.description
)
