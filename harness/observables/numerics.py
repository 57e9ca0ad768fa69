"""Errors of single operations, and exact numbers. What they compute with is torch, which is imported when they do."""

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
]


class OperationError(Observed):
    """Error of an operation computed step by step in a 16-bit format, over that computed in FP32 and rounded once.

    Both are root mean square errors against FP64 on random inputs, one draw for each seed; the geometric mean over seeds.
    """

    kind: Literal["operation_error"] = "operation_error"
    operation: Literal["layer_norm", "softmax", "matmul", "gelu"] = Field(description="what is computed")
    format: Literal["bf16", "fp16"] = Field(description="the 16-bit format")
    sums: Literal["fp32", "same"] = Field(default="fp32", description="what sums are made in: FP32, or the format itself")

    LOG_AXIS: ClassVar[bool] = True
    NO_EFFECT: ClassVar[float] = 1.0
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "none (a ratio of errors)"
    EXAMPLE: ClassVar[Example] = {"operation": "softmax", "format": "bf16"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """exp of the weighted mean of ln(error step by step in 16 bits / error of FP32 rounded once), [R], without unit."""
        from folklore.harness.observables.estimating.operations import relative_error  # computes with torch

        seeds = trials.seed_numbers
        ratios = [
            relative_error(self.operation, self.format, seed, True, self.sums)
            / relative_error(self.operation, self.format, seed, False, self.sums)
            for seed in seeds
        ]
        return np.asarray(np.exp(seed_mean(np.log(ratios), weights)))


class Exact(Observed):
    """The number an exact check works out, the same at every seed (harness/observables/estimating/exact.py has the checks)."""

    kind: Literal["exact"] = "exact"
    check: ExactCheck = Field(description="the number that is worked out")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    EXACT: ClassVar[bool] = True
    UNIT: ClassVar[str] = "of the number"
    EXAMPLE: ClassVar[Example] = {"check": "fp16_largest"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """The check's number under every weighting: it has no error."""
        from folklore.harness.observables.estimating.exact import CHECKS  # computes with torch, which takes seconds to import

        return np.full(len(weights), CHECKS[self.check]())
