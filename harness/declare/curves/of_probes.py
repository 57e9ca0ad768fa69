"""The curves that probes measure, by the field of Measurement that asks for them; harness/train/probes measures them."""

from .curve import Curve

# The batch gradient, before clipping.
GRADIENT_NORM = Curve(
    "probe_gradient_norm", "nats", "norm of the batch gradient, before clipping", tracked="weights/gradient_norm", place=6
)
LAYER_GRADIENT_NORM = Curve(
    "probe_layer_gradient_norm",
    "nats",
    "gradient norm of each layer, in the order of `layers`",
    across="layers",
    heavy=True,
    place=0,
)

# A pass over half the batch.
GRADIENT_VARIANCE = Curve(
    "probe_gradient_variance",
    "nats^2",
    "trace of the covariance of the batch gradient, from half a batch",
    tracked="weights/gradient_variance",
    place=7,
)
LAYER_ACTIVATION = Curve(
    "probe_layer_activation",
    "",
    "mean absolute value of each activation, in the order of `taps`",
    across="taps",
    place=2,
)

# How far an update moves the weights.
UPDATE_RATIO = Curve(
    "probe_update_ratio", "", "norm of the update over that of the weights", tracked="weights/update_ratio", place=8
)
WEIGHT_NORM = Curve("probe_weight_norm", "", "norm of all weights", tracked="weights/norm", place=9)
MEDIAN_UPDATE_RATIO = Curve(
    "probe_median_update_ratio", "", "median over the layers of update over weights", place=10, derived=True
)
LAYER_UPDATE_RATIO = Curve(
    "probe_layer_update_ratio",
    "",
    "update over weights of each layer, in the order of `layers`",
    across="layers",
    heavy=True,
    place=1,
)
MATRIX_UPDATE_RATIO = Curve("probe_matrix_update_ratio", "", "median over the weight matrices of update over weights")
MATRIX_UPDATE_RATIO_LOW = Curve(
    "probe_matrix_update_ratio_low", "", "lower quartile over the weight matrices of update over weights"
)
MATRIX_UPDATE_RATIO_HIGH = Curve(
    "probe_matrix_update_ratio_high", "", "upper quartile over the weight matrices of update over weights"
)
MATRIX_UPDATE_RATIO_LEAST = Curve(
    "probe_matrix_update_ratio_least", "", "smallest of the weight matrices' updates over weights"
)
MATRIX_UPDATE_RATIO_MOST = Curve("probe_matrix_update_ratio_most", "", "largest of the weight matrices' updates over weights")

# The largest eigenvalue of the Hessian.
SHARPNESS = Curve(
    "probe_sharpness", "nats", "largest eigenvalue of the Hessian of the training loss", tracked="weights/sharpness"
)
SHARPNESS_RESIDUAL = Curve("probe_sharpness_residual", "", "|Hv - value v| over the value, of that eigenvalue and its vector v")

# Along the gradients of mini-batches.
BATCH_SHARPNESS = Curve(
    "probe_batch_sharpness",
    "nats",
    "curvature of a mini-batch's loss along its own gradient, mean over mini-batches",
    tracked="weights/batch_sharpness",
)
BATCH_SHARPNESS_POOLED = Curve(
    "probe_batch_sharpness_pooled", "nats", "the same with mini-batches weighed by their squared gradients"
)

# The largest eigenvalue between the inverse roots of what Adam divides by.
PRECONDITIONED_SHARPNESS = Curve(
    "probe_preconditioned_sharpness",
    "",
    "largest eigenvalue of the Hessian between the inverse roots of what Adam divides by",
    tracked="weights/preconditioned_sharpness",
)
PRECONDITIONED_SHARPNESS_RESIDUAL = Curve(
    "probe_preconditioned_sharpness_residual", "", "|Mv - value v| over the value, of that matrix M and its v"
)

# How the gradient is spread over the weight matrices.
OF_FIXED = "of the gradient of fixed training examples' loss"
FLOW_NORM = Curve("probe_flow_norm", "nats", f"norm {OF_FIXED}")
FLOW_LEAST = Curve("probe_flow_least", "nats", f"norm {OF_FIXED}, of the weight matrix where it is smallest")
FLOW_MOST = Curve("probe_flow_most", "nats", f"norm {OF_FIXED}, of the weight matrix where it is largest")
FLOW_HIDDEN_LEAST = Curve(
    "probe_flow_hidden_least", "nats", f"norm {OF_FIXED}, smallest of the matrices from hidden to hidden units"
)
FLOW_HIDDEN_MOST = Curve(
    "probe_flow_hidden_most", "nats", f"norm {OF_FIXED}, largest of the matrices from hidden to hidden units"
)
FLOW_RMS_LEAST = Curve(
    "probe_flow_rms_least", "nats", f"root mean square {OF_FIXED}, of the weight matrix where it is smallest"
)
FLOW_RMS_MOST = Curve("probe_flow_rms_most", "nats", f"root mean square {OF_FIXED}, of the weight matrix where it is largest")
FLOW_FIRST = Curve("probe_flow_first", "nats", f"root mean square {OF_FIXED}, of the first weight matrix")
FLOW_LAST = Curve("probe_flow_last", "nats", f"root mean square {OF_FIXED}, of the last weight matrix before the readout")
FLOW_FIRST_UPDATE = Curve("probe_flow_first_update", "", "update over weights of the first weight matrix")
FLOW_LAST_UPDATE = Curve("probe_flow_last_update", "", "update over weights of the last weight matrix before the readout")
FLOW_FIRST_MOVED = Curve(
    "probe_flow_first_moved", "", "distance of the first weight matrix from its start, over its norm there"
)
FLOW_LAST_MOVED = Curve(
    "probe_flow_last_moved", "", "distance of the last weight matrix before the readout from its start, over its norm there"
)

# ReLUs that are zero on all of fixed training examples.
DEAD_UNITS = Curve("probe_dead_units", "share", "share of the hidden units that are zero on all of fixed training examples")
DEAD_UNITS_FIRST = Curve("probe_dead_units_first", "share", "the same of the first layer's units")
DEAD_GRADIENT = Curve(
    "probe_dead_gradient",
    "nats",
    "largest entry of the gradient of those examples' loss with respect to the incoming weights and biases of such units",
)
LIVING_GRADIENT = Curve("probe_living_gradient", "nats", "the same of all other units")
REVIVED_UNITS = Curve("probe_revived_units", "share", "share of the units that were dead half-way and are not any more")
REVIVED_UNITS_FIRST = Curve("probe_revived_units_first", "share", "the same of the first layer's units")
REVIVED_UNITS_DEEPER = Curve("probe_revived_units_deeper", "share", "the same of the units above the first layer")
AWAKE_UNITS = Curve("probe_awake_units", "share", "share of the dead units that some held-out example wakes")

# How far rows of the embedding move for each occurrence of their token.
TOKEN_SLOPE = Curve(
    "probe_token_slope",
    "",
    "slope over tokens of the logarithm of a row's movement per occurrence, over its norm, on that of the token's frequency",
)
TOKEN_LENGTH_SLOPE = Curve("probe_token_length_slope", "", "the same of the movement itself, not over the row's norm")
TOKEN_STEP_SLOPE = Curve("probe_token_step_slope", "", "the same of a row's movement per step, over its norm")
TOKEN_UPDATE_RARE = Curve(
    "probe_token_update_rare",
    "",
    "movement per occurrence over the row's norm, geometric mean of the rarest quarter of the tokens that count",
)
TOKEN_UPDATE_COMMON = Curve("probe_token_update_common", "", "the same of the commonest quarter of them")


def _flushed(name: str, of: str, place: int) -> Curve:
    about = f"of {of} gradients that FP16 flushes, by loss scale"
    return Curve(f"probe_layer_underflow_{name}", "share", about, across="loss_scales", place=place)


UNDERFLOW = (
    _flushed("activation", "hidden activations'", place=3),
    _flushed("logits", "the logits'", place=4),
    _flushed("weight", "the weights'", place=5),
)

# Field of Measurement -> the curves that are kept if it is set; of '' they always are.
OF_PROBES: dict[str, tuple[Curve, ...]] = {
    "": (
        GRADIENT_NORM,
        LAYER_GRADIENT_NORM,
        GRADIENT_VARIANCE,
        LAYER_ACTIVATION,
        UPDATE_RATIO,
        WEIGHT_NORM,
        MEDIAN_UPDATE_RATIO,
        LAYER_UPDATE_RATIO,
        MATRIX_UPDATE_RATIO,
        MATRIX_UPDATE_RATIO_LOW,
        MATRIX_UPDATE_RATIO_HIGH,
        MATRIX_UPDATE_RATIO_LEAST,
        MATRIX_UPDATE_RATIO_MOST,
    ),
    "sharpness": (
        SHARPNESS,
        SHARPNESS_RESIDUAL,
    ),
    "batch_sharpness": (
        BATCH_SHARPNESS,
        BATCH_SHARPNESS_POOLED,
    ),
    "preconditioned_sharpness": (
        PRECONDITIONED_SHARPNESS,
        PRECONDITIONED_SHARPNESS_RESIDUAL,
    ),
    "gradient_flow": (
        FLOW_NORM,
        FLOW_LEAST,
        FLOW_MOST,
        FLOW_HIDDEN_LEAST,
        FLOW_HIDDEN_MOST,
        FLOW_RMS_LEAST,
        FLOW_RMS_MOST,
        FLOW_FIRST,
        FLOW_LAST,
        FLOW_FIRST_UPDATE,
        FLOW_LAST_UPDATE,
        FLOW_FIRST_MOVED,
        FLOW_LAST_MOVED,
    ),
    "dead_units": (
        DEAD_UNITS,
        DEAD_UNITS_FIRST,
        DEAD_GRADIENT,
        LIVING_GRADIENT,
        REVIVED_UNITS,
        REVIVED_UNITS_FIRST,
        REVIVED_UNITS_DEEPER,
        AWAKE_UNITS,
    ),
    "token_rows": (
        TOKEN_SLOPE,
        TOKEN_LENGTH_SLOPE,
        TOKEN_STEP_SLOPE,
        TOKEN_UPDATE_RARE,
        TOKEN_UPDATE_COMMON,
    ),
    "underflow": (*UNDERFLOW,),
}
