"""The gradient noise scale of a set of single-example gradients, by brute force and by two batches.

McCandlish et al. 2018, An Empirical Model of Large-Batch Training, equation 2.9 and appendix A.1.
"""

from torch import Tensor


def critical_noise_scale(gradients_NP: Tensor) -> float:
    """tr(Sigma) / |G|^2 in examples, of N single-example gradients; |G|^2 without the share that noise adds to it."""
    trace = float(gradients_NP.var(dim=0).sum())
    signal = float(gradients_NP.mean(dim=0).square().sum()) - trace / len(gradients_NP)
    return trace / signal


def two_batch_parts(small_square: float, large_square: float, small: int, large: int) -> tuple[float, float]:
    """tr(Sigma) and |G|^2 from the mean squared gradient norms at two batch sizes; unbiased, so the second can be negative."""
    trace = (small_square - large_square) / (1 / small - 1 / large)
    signal = (large * large_square - small * small_square) / (large - small)
    return trace, signal
