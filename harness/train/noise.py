"""The gradient noise scale: from two batches, as probes measure it, and by brute force over single examples.

McCandlish et al. 2018, An Empirical Model of Large-Batch Training, equation 2.9 and appendix A.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def half_batch_variance(half_KP: Tensor, whole_KP: Tensor, batch: int, half: int) -> Tensor:
    """Variance of the batch gradient, tr(Sigma)/B, [K], from the gradient of a batch and that of `half` of its examples.

    With g the mean of B independent example gradients of covariance Sigma and h the mean of b of them,
    E|h - g|^2 = tr(Sigma) (1/b - 1/B): the two-batch estimator with the small batch inside the large one.
    """
    return (half_KP - whole_KP).square().sum(1) / (batch / half - 1)


def noise_scale(gradients_NP: Tensor) -> float:
    """tr(Sigma) / |G|^2 in examples, of N single-example gradients; |G|^2 without the share that noise adds to it."""
    trace = float(gradients_NP.var(dim=0).sum())
    signal = float(gradients_NP.mean(dim=0).square().sum()) - trace / len(gradients_NP)
    return trace / signal
