"""The gradient noise scale by brute force (McCandlish et al. 2018, An Empirical Model of Large-Batch Training, eq. 2.9).

Probes measure it from two batches instead: probes.py and the estimator of NoiseScale.
"""

from torch import Tensor


def noise_scale(gradients_NP: Tensor) -> float:
    """tr(Sigma) / |G|^2 in examples, of N single-example gradients; |G|^2 without the share that noise adds to it."""
    trace = float(gradients_NP.var(dim=0).sum())
    signal = float(gradients_NP.mean(dim=0).square().sum()) - trace / len(gradients_NP)
    return trace / signal
