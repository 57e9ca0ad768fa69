"""Functions whose numbers studies compute instead of training for them, with how good each number is.

A module is one subject and computes with the engine's own parts. What is listed here is read without importing them.
`version` is raised by hand when a number changes beyond its tolerance.
"""

from collections.abc import Mapping
from typing import Any

from ...harness.declare.computed import EXACT, MEASURED, Function, Number, computed

# Float64 arithmetic of some thousand operations: what processors differ in stays far below this.
FLOAT64 = computed(1e-9)
# Orders of convergence are read at errors down to 1e-9, whose own last digits are rounding.
NEAR_A_MINIMUM = computed(1e-5)
MEASURED_RATIO = Number("measured", log_axis=True)

FUNCTIONS = (
    Function("constants.cosine", 1, {"half_way": EXACT}),
    Function("constants.noise_scale", 1, {"doubled": FLOAT64}),
    Function("constants.number_formats", 1, dict.fromkeys(("fp16_largest", "fp16_smallest", "bf16_exponent_bits"), EXACT)),
    Function("constants.autocast", 1, dict.fromkeys(("forward", "backward"), EXACT)),
    Function(
        "adam.uncorrected",
        1,
        dict.fromkeys(("largest_at", "wrong_until", "first_moment_steps", "second_moment_steps"), EXACT)
        | dict.fromkeys(("first_step", "largest_step"), FLOAT64),
    ),
    Function("adam.small_gradients", 1, dict.fromkeys(("error", "cap", "tiny_step"), FLOAT64)),
    Function("adam.outlier", 1, {"recovery": EXACT} | dict.fromkeys(("half_life", "kick", "kick_095"), FLOAT64)),
    Function("adam.beside_rmsprop", 1, {"distance": FLOAT64}),
    Function("sparse.lone_gradients", 1, dict.fromkeys(("at_0999", "at_099", "at_095", "spread", "steady"), FLOAT64)),
    Function("ramp.updates", 1, {"ratio": EXACT}),
    Function("decay.sgd", 1, dict.fromkeys(("distance", "momentum_distance"), FLOAT64)),
    Function("decay.shrinkage", 1, dict.fromkeys(("spread", "rank_correlation", "weaker"), MEASURED), {"decay": ()}),
    Function("descent.quadratic", 1, {"threshold": EXACT} | dict.fromkeys(("best_lr", "best_rate"), FLOAT64)),
    Function(
        "descent.near_a_minimum",
        1,
        dict.fromkeys(("newton_order", "descent_order", "descent_rate"), NEAR_A_MINIMUM),
    ),
    Function("memory.accumulation", 1, {"error": MEASURED_RATIO, "unequal_error": MEASURED}),
    Function("memory.accumulation_peak", 1, dict.fromkeys(("exponent", "parted_exponent"), EXACT)),
    Function("memory.depth", 1, dict.fromkeys(("kept", "root", "every_block"), EXACT)),
    Function("memory.recomputed_operations", 1, dict.fromkeys(("extra", "extra_in_torch"), EXACT)),
    Function("memory.weights", 1, {"fp32_gb": EXACT}),
    Function("memory.adam_state", 1, dict.fromkeys(("over_fp32_weights", "over_bf16_weights"), EXACT)),
    Function("memory.levers", 1, dict.fromkeys(("batch", "sequence", "precision", "checkpoints", "parts_over_stated"), EXACT)),
    Function("memory.with_checkpoints", 1, dict.fromkeys(("batch", "depth_at_2", "depth_at_8", "depth_at_16"), EXACT)),
    Function("noise.gpt_gradient_variance", 1, {"exponent": MEASURED}),
    Function(
        "noise.mlp_gradient_variance",
        1,
        dict.fromkeys(("exponent", "epochs_exponent", "replacement_error", "epochs_error"), MEASURED),
    ),
    Function("noise.operations", 3, dict.fromkeys(("large_deviation", "small_deviation", "small_constant"), FLOAT64)),
    Function(
        "noise.memory",
        3,
        dict.fromkeys(
            ("deviation", "constant_gb", "sequence_gb", "smallest_over_line", "saved_gb", "smallest_over_gpu"), FLOAT64
        ),
    ),
    Function(
        "operations.error",
        1,
        dict.fromkeys(("over_unit_roundoff", "over_rounded_once"), MEASURED_RATIO),
        {
            "operation": ("layer_norm", "variance", "softmax", "log_sum_exp", "matmul", "gelu"),
            "format": ("bf16", "fp16"),
            "sums": ("fp32", "same"),
            "offset": (),
            "spread": (),
        },
    ),
    Function("optimizers.state", 1, {"lion_over_adam": EXACT}),
    Function("optimizers.clamped", 1, {"smallest_share": EXACT}),
    Function(
        "optimizers.layerwise",
        1,
        dict.fromkeys(("lamb", "lars", "lars_with_decay", "lars_with_momentum", "lamb_by_gradient"), MEASURED_RATIO)
        | {"lamb_distance": MEASURED},
    ),
)


def _now(function: str, number: str, **arguments: Any) -> dict[str, Any]:
    return {"function": function, "number": number, "arguments": arguments}


# A check of declarations before functions had arguments -> what it is now.
FORMER: dict[str, Mapping[str, Any]] = {
    "cosine_half_way": _now("constants.cosine", "half_way"),
    "doubled_noise": _now("constants.noise_scale", "doubled"),
    "fp16_largest": _now("constants.number_formats", "fp16_largest"),
    "fp16_smallest": _now("constants.number_formats", "fp16_smallest"),
    "bf16_exponent_bits": _now("constants.number_formats", "bf16_exponent_bits"),
    "autocast_forward": _now("constants.autocast", "forward"),
    "autocast_backward": _now("constants.autocast", "backward"),
    "adam_uncorrected_first_step": _now("adam.uncorrected", "first_step"),
    "adam_uncorrected_largest_step": _now("adam.uncorrected", "largest_step"),
    "adam_uncorrected_largest_at": _now("adam.uncorrected", "largest_at"),
    "adam_uncorrected_wrong_until": _now("adam.uncorrected", "wrong_until"),
    "adam_first_moment_steps": _now("adam.uncorrected", "first_moment_steps"),
    "adam_second_moment_steps": _now("adam.uncorrected", "second_moment_steps"),
    "adam_epsilon_error": _now("adam.small_gradients", "error"),
    "adam_epsilon_cap": _now("adam.small_gradients", "cap"),
    "adam_tiny_step": _now("adam.small_gradients", "tiny_step"),
    "second_moment_half_life": _now("adam.outlier", "half_life"),
    "outlier_recovery": _now("adam.outlier", "recovery"),
    "outlier_kick": _now("adam.outlier", "kick"),
    "outlier_kick_095": _now("adam.outlier", "kick_095"),
    "adam_rmsprop_distance": _now("adam.beside_rmsprop", "distance"),
    "lone_gradient": _now("sparse.lone_gradients", "at_0999"),
    "lone_gradient_099": _now("sparse.lone_gradients", "at_099"),
    "lone_gradient_095": _now("sparse.lone_gradients", "at_095"),
    "lone_gradient_spread": _now("sparse.lone_gradients", "spread"),
    "steady_gradient": _now("sparse.lone_gradients", "steady"),
    "sgd_l2_distance": _now("decay.sgd", "distance"),
    "sgd_momentum_l2_distance": _now("decay.sgd", "momentum_distance"),
    "decoupled_decay_spread": _now("decay.shrinkage", "spread"),
    "l2_rank_correlation": _now("decay.shrinkage", "rank_correlation"),
    "l2_rank_correlation_at_0.1": _now("decay.shrinkage", "rank_correlation", decay=0.1),
    "l2_weaker_share": _now("decay.shrinkage", "weaker"),
    "quadratic_threshold": _now("descent.quadratic", "threshold"),
    "quadratic_best_lr": _now("descent.quadratic", "best_lr"),
    "quadratic_best_rate": _now("descent.quadratic", "best_rate"),
    "newton_order": _now("descent.near_a_minimum", "newton_order"),
    "descent_order": _now("descent.near_a_minimum", "descent_order"),
    "descent_rate": _now("descent.near_a_minimum", "descent_rate"),
    "accumulated_gradient_error": _now("memory.accumulation", "error"),
    "unequal_micro_batches_error": _now("memory.accumulation", "unequal_error"),
    "accumulation_peak_exponent": _now("memory.accumulation_peak", "exponent"),
    "parted_batch_peak_exponent": _now("memory.accumulation_peak", "parted_exponent"),
    "kept_memory_exponent": _now("memory.depth", "kept"),
    "recomputed_memory_exponent": _now("memory.depth", "root"),
    "every_block_memory_exponent": _now("memory.depth", "every_block"),
    "recomputed_operations": _now("memory.recomputed_operations", "extra"),
    "recomputed_operations_in_torch": _now("memory.recomputed_operations", "extra_in_torch"),
    "fp32_weights_gb": _now("memory.weights", "fp32_gb"),
    "adam_state_over_weights": _now("memory.adam_state", "over_fp32_weights"),
    "adam_state_over_bf16_weights": _now("memory.adam_state", "over_bf16_weights"),
    "document_parts_over_stated": _now("memory.levers", "parts_over_stated"),
    "batch_lever": _now("memory.levers", "batch"),
    "sequence_lever": _now("memory.levers", "sequence"),
    "precision_lever": _now("memory.levers", "precision"),
    "checkpoint_lever": _now("memory.levers", "checkpoints"),
    "checkpoint_larger_batch": _now("memory.with_checkpoints", "batch"),
    "checkpoint_deeper_batch_2": _now("memory.with_checkpoints", "depth_at_2"),
    "checkpoint_deeper_batch_8": _now("memory.with_checkpoints", "depth_at_8"),
    "checkpoint_deeper_batch_16": _now("memory.with_checkpoints", "depth_at_16"),
    "lion_state_over_adam": _now("optimizers.state", "lion_over_adam"),
    "lamb_share_spread": _now("optimizers.layerwise", "lamb"),
    "lars_share_spread": _now("optimizers.layerwise", "lars"),
    "lars_share_spread_with_decay": _now("optimizers.layerwise", "lars_with_decay"),
    "lars_share_spread_with_momentum": _now("optimizers.layerwise", "lars_with_momentum"),
    "lamb_distance_by_update_norm": _now("optimizers.layerwise", "lamb_distance"),
    "lamb_spread_by_gradient_norm": _now("optimizers.layerwise", "lamb_by_gradient"),
    "lamb_clamped_share": _now("optimizers.clamped", "smallest_share"),
    "gradient_variance_exponent_mlp": _now("noise.mlp_gradient_variance", "exponent"),
    "gradient_variance_exponent_gpt": _now("noise.gpt_gradient_variance", "exponent"),
    "epochs_variance_exponent_mlp": _now("noise.mlp_gradient_variance", "epochs_exponent"),
    "replacement_variance_error": _now("noise.mlp_gradient_variance", "replacement_error"),
    "epochs_variance_error": _now("noise.mlp_gradient_variance", "epochs_error"),
    "smaller_batch_saves_gb": _now("noise.memory", "saved_gb"),
    "smallest_batch_over_gpu": _now("noise.memory", "smallest_over_gpu"),
    "batch_ramp_updates": _now("ramp.updates", "ratio"),
}
