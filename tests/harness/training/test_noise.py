"""The two-batch noise scale of probes against brute force over single examples, at the start and after training."""

import numpy as np
import pytest
import torch

from folklore.harness.training.noise import noise_scale
from folklore.harness.training.probes.half_batch import gradient_variance
from folklore.harness.workloads.data import load
from tests.harness.training.contract import MLP, lane, trained

BATCH = 64


@pytest.mark.parametrize("steps", [2, 40])
def test_two_batches_against_single_examples(steps: int) -> None:
    dataset = load("digits")
    fields = {"optimizer": "sgd", "batch_size": BATCH, "peak_lr": 0.05, "schedule": "constant", "warmup_fraction": 0.0}
    network = trained(lane(MLP, steps=steps, **fields)).network
    features, labels = dataset.arrays("train")
    singles = torch.cat([network.gradient(features[None, i : i + 1], labels[None, i : i + 1])[1] for i in range(len(labels))])
    expected = noise_scale(singles)
    generator = np.random.default_rng(steps)
    trace, signal = [], []
    for _ in range(400):
        index = torch.from_numpy(generator.integers(0, len(labels), BATCH))
        inputs, targets = features[index][None], labels[index][None]
        _, gradient_KP = network.gradient(inputs, targets)
        variance = float(gradient_variance(network, inputs, targets, gradient_KP))
        trace.append(variance * BATCH)
        signal.append(float(gradient_KP.square().sum()) - variance)
    assert np.mean(trace) / np.mean(signal) == pytest.approx(expected, rel=0.1)


def test_the_scale_of_known_noise() -> None:
    """Deviation 3 in each of 10 dimensions around a mean of length 2: 90 / 4."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.zeros(10, dtype=torch.float64)
    mean[0] = 2.0
    gradients = mean + 3.0 * torch.randn(200_000, 10, generator=generator, dtype=torch.float64)
    assert noise_scale(gradients) == pytest.approx(90 / 4, rel=0.02)
