"""The trials table's columns: one row a trial, what every later step reads."""

from dataclasses import dataclass

import pyarrow as pa

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
# All that an observation or a page reads, and what is published.
JUDGED = tuple(name for name in SCHEMA.names if name not in (*HEAVY, "layers", "taps"))
SUMMARY = tuple(name for name in SCHEMA.names if not name.startswith(CURVE_PREFIX) and name not in ("layers", "taps"))
