"""The gradient noise scale: from two batches, as probes measure it, and by brute force over single examples.

McCandlish et al. 2018, An Empirical Model of Large-Batch Training, equation 2.9 and appendix A.1.
"""

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # torch takes seconds to import, and estimators need no more than the arithmetic
    from torch import Tensor

Number = TypeVar("Number", float, NDArray[np.float64])


def half_batch_variance(half_KP: "Tensor", whole_KP: "Tensor", batch: int, half: int) -> "Tensor":
    """Variance of the batch gradient, tr(Sigma)/B, [K], from the gradient of a batch and that of `half` of its examples.

    With g the mean of B independent example gradients of covariance Sigma and h the mean of b of them,
    E|h - g|^2 = tr(Sigma) (1/b - 1/B): the two-batch estimator with the small batch inside the large one.
    """
    return (half_KP - whole_KP).square().sum(1) / (batch / half - 1)


def noise_parts(square: Number, variance: Number, batch: int) -> tuple[Number, Number]:
    """tr(Sigma) and |G|^2 from the squared norm of a batch's gradient and its variance. The squared norm is larger than that
    of the mean gradient by the variance; what is left can come out negative."""
    return variance * batch, square - variance


def noise_scale(gradients_NP: "Tensor") -> float:
    """tr(Sigma) / |G|^2 in examples, of N single-example gradients; |G|^2 without the share that noise adds to it."""
    trace = float(gradients_NP.var(dim=0).sum())
    signal = float(gradients_NP.mean(dim=0).square().sum()) - trace / len(gradients_NP)
    return trace / signal
