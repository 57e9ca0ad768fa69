"""The two-batch noise scale of probes against brute force over single examples, at the start and after training."""

import numpy as np
import pytest
import torch

from folklore.harness.training.noise import noise_scale
from folklore.harness.training.probes.half_batch import gradient_variance
from folklore.harness.workloads.data import load
from tests.harness.training.contract import MLP, lane, trained


@pytest.mark.parametrize(("steps", "batch"), [(2, 64), (40, 7)])
def test_two_batches_against_single_examples(steps: int, batch: int) -> None:
    """Also of a batch without a middle; the variance alone, and over the signal."""
    dataset = load("digits")
    fields = {"optimizer": "sgd", "batch_size": 64, "peak_lr": 0.05, "schedule": "constant", "warmup_fraction": 0.0}
    network = trained(lane(MLP, steps=steps, **fields)).network
    features, labels = dataset.arrays("train")
    singles = torch.cat([network.gradient(features[None, i : i + 1], labels[None, i : i + 1])[1] for i in range(len(labels))])
    generator = np.random.default_rng(steps)
    trace, signal = [], []
    for _ in range(25_600 // batch):
        index = torch.from_numpy(generator.integers(0, len(labels), batch))
        inputs, targets = features[index][None], labels[index][None]
        _, gradient_KP = network.gradient(inputs, targets)
        variance = float(gradient_variance(network, inputs, targets, gradient_KP))
        trace.append(variance * batch)
        signal.append(float(gradient_KP.square().sum()) - variance)
    error = np.std(trace) / len(trace) ** 0.5
    assert abs(np.mean(trace) - float(singles.var(dim=0).sum())) < 4 * error < 0.2 * np.mean(trace)
    assert np.mean(trace) / np.mean(signal) == pytest.approx(noise_scale(singles), rel=0.1)


def test_the_scale_of_known_noise() -> None:
    """Deviation 3 in each of 10 dimensions around a mean of length 2: 90 / 4."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.zeros(10, dtype=torch.float64)
    mean[0] = 2.0
    gradients = mean + 3.0 * torch.randn(200_000, 10, generator=generator, dtype=torch.float64)
    assert noise_scale(gradients) == pytest.approx(90 / 4, rel=0.02)
