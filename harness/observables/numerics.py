"""Errors of single operations, and exact numbers. What they compute with is torch, which is imported when they do."""

from functools import cache
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from folklore.harness.observables.estimating.weighted import seed_mean
from folklore.harness.spec.observed import Example, Observed, OfLosses
from folklore.harness.spec.trials import Numbers, Trials

ExactCheck = Literal[
    "cosine_half_way",
    "doubled_noise",
    "fp16_largest",
    "fp16_smallest",
    "bf16_exponent_bits",
    "autocast_forward",
    "autocast_backward",
    "adam_uncorrected_first_step",
    "adam_uncorrected_largest_step",
    "adam_uncorrected_largest_at",
    "adam_uncorrected_wrong_until",
    "adam_first_moment_steps",
    "adam_second_moment_steps",
    "adam_epsilon_error",
    "adam_epsilon_cap",
    "adam_tiny_step",
    "second_moment_half_life",
    "outlier_recovery",
    "outlier_kick",
    "outlier_kick_095",
    "adam_rmsprop_distance",
    "lone_gradient",
    "lone_gradient_099",
    "lone_gradient_095",
    "lone_gradient_spread",
    "steady_gradient",
    "sgd_l2_distance",
    "sgd_momentum_l2_distance",
    "decoupled_decay_spread",
    "l2_rank_correlation",
    "l2_rank_correlation_at_0.1",
    "l2_weaker_share",
    "quadratic_threshold",
    "quadratic_best_lr",
    "quadratic_best_rate",
    "newton_order",
    "descent_order",
    "descent_rate",
    "accumulated_gradient_error",
    "unequal_micro_batches_error",
    "accumulation_peak_exponent",
    "parted_batch_peak_exponent",
    "kept_memory_exponent",
    "recomputed_memory_exponent",
    "every_block_memory_exponent",
    "recomputed_operations",
    "recomputed_operations_in_torch",
    "fp32_weights_gb",
    "adam_state_over_weights",
    "adam_state_over_bf16_weights",
    "document_parts_over_stated",
    "batch_lever",
    "sequence_lever",
    "precision_lever",
    "checkpoint_lever",
    "checkpoint_larger_batch",
    "checkpoint_deeper_batch_2",
    "checkpoint_deeper_batch_8",
    "checkpoint_deeper_batch_16",
    "lion_state_over_adam",
    "lamb_share_spread",
    "lars_share_spread",
    "lars_share_spread_with_decay",
    "lars_share_spread_with_momentum",
    "lamb_distance_by_update_norm",
    "lamb_spread_by_gradient_norm",
    "lamb_clamped_share",
    "gradient_variance_exponent_mlp",
    "gradient_variance_exponent_gpt",
    "epochs_variance_exponent_mlp",
    "replacement_variance_error",
    "epochs_variance_error",
    "large_step_operations_exponent",
    "step_operations_exponent",
    "step_all_operations_exponent",
    "memory_on_batch_exponent",
    "activations_on_batch_exponent",
    "smaller_batch_saves_gb",
    "smallest_batch_over_gpu",
    "batch_ramp_updates",
]


class OperationError(Observed):
    """Error of an operation computed step by step in a 16-bit format, over that computed in FP32 and rounded once; or over the
    format's unit roundoff.

    Errors are root mean squares against FP64 on the same random 16-bit inputs, relative to the result's own root mean square,
    one draw for each seed; the geometric mean over seeds.
    """

    kind: Literal["operation_error"] = "operation_error"
    operation: Literal["layer_norm", "variance", "softmax", "log_sum_exp", "matmul", "gelu"] = Field(
        description="what is computed"
    )
    format: Literal["bf16", "fp16"] = Field(description="the 16-bit format")
    sums: Literal["fp32", "same"] = Field(default="fp32", description="what sums are made in: FP32, or the format itself")
    offset: float | None = Field(default=None, description="mean of the inputs; none: 2")
    spread: float | None = Field(default=None, gt=0, description="standard deviation of the inputs; none: 4")
    over: Literal["unit_roundoff"] | None = Field(
        default=None,
        description="what the error is divided by: the largest relative error of rounding once to nearest (2^-8 in BF16, 2^-11"
        " in FP16); none: the error of FP32 rounded once",
    )

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "none (a ratio of errors)"
    EXAMPLE: ClassVar[Example] = {"operation": "softmax", "format": "bf16"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean of ln(e / r), [R], without unit: e is the error step by step in 16 bits, r that of FP32
        rounded once or the unit roundoff u = eps / 2 (Higham 2002, section 2.1). To first order, n rounded steps that amplify
        nothing have e <= n u."""
        from folklore.harness.observables.estimating import operations  # computes with torch

        inputs = (
            operations.OFFSET if self.offset is None else self.offset,
            operations.SPREAD if self.spread is None else self.spread,
        )
        ratios = []
        for seed in trials.seed_numbers:
            error = operations.relative_error(self.operation, self.format, seed, True, self.sums, *inputs)
            if self.over == "unit_roundoff":
                ratios.append(error / operations.unit_roundoff(self.format))
            else:
                ratios.append(error / operations.relative_error(self.operation, self.format, seed, False, self.sums, *inputs))
        return np.asarray(np.exp(seed_mean(np.log(ratios), weights)))


class Exact(Observed):
    """The number an exact check works out, the same at every seed (harness/observables/estimating/exact has the checks)."""

    kind: Literal["exact"] = "exact"
    check: ExactCheck = Field(description="the number that is worked out")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    EXACT: ClassVar[bool] = True
    UNIT: ClassVar[str] = "of the number"
    EXAMPLE: ClassVar[Example] = {"check": "fp16_largest"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """The check's number under every weighting: it has no error."""
        return np.full(len(weights), _worked_out(self.check))


@cache
def _worked_out(check: str) -> float:
    """Once a process: it rests on no trial, so that no choice of trials (judging/robustness.py has dozens) can change it."""
    from folklore.harness.observables.estimating.exact import CHECKS  # computes with torch, which takes seconds to import

    return float(CHECKS[check].number())
