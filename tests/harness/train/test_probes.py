"""Probes against brute force over single examples and weights."""

import numpy as np
import pytest
import torch

from folklore.harness.declare import Measurement, Training, Workload
from folklore.harness.declare.curves import CURVES
from folklore.harness.declare.curves.curve import Curve
from folklore.harness.train import pack as pack_module
from folklore.harness.train.measured_steps import evaluation_steps, probe_steps
from folklore.harness.train.noise import noise_scale
from folklore.harness.train.probes import PROBES
from folklore.harness.train.probes.base import Probe, ProbedStep
from folklore.harness.train.probes.half_batch import gradient_variance
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.data.text import Text
from tests.harness.train import contract
from tests.harness.train.contract import GPT, MLP, PLAIN_PROBES, lane, trained, tried


def test_layer_norms_make_up_the_whole(text: Text) -> None:
    network = workload_of(GPT).network(text.facts, [0, 1], torch.device("cpu"), "fp32")
    values = torch.randn_like(network.flat_KP)
    assert torch.allclose(network.layer_norms(values).square().sum(1).sqrt(), values.norm(dim=1))
    qkv = network.layers.index("blocks.0.attention.qkv")
    start = sum(
        size for size, p in zip(network.sizes, network.model.parameters, strict=True) if p.layer in network.layers[:qkv]
    )
    expected = values[:, start : start + 8 * 24 + 24].norm(dim=1)
    assert torch.allclose(network.layer_norms(values)[:, qkv], expected)


class LargestWeight(Probe):
    curves = (Curve("probe_largest_weight", "", "the largest weight"), Curve("probe_layer_largest", "", "", across="layers"))

    def after_update(self, step: ProbedStep, before_KP: torch.Tensor) -> dict[str, torch.Tensor]:
        layers = torch.split(step.network.flat_KP.abs(), step.network.layer_sizes, dim=1)
        by_layer = torch.stack([part.amax(dim=1) for part in layers], dim=1)
        return {"probe_largest_weight": by_layer.amax(dim=1), "probe_layer_largest": by_layer}


def test_a_further_probe_is_recorded_for_its_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine knows no probe by its name."""
    monkeypatch.setattr(pack_module, "PROBES", (*PROBES, LargestWeight()))
    pack = trained(lane(GPT, 0, {"probes": 4}), lane(GPT, 1, {"probes": 4}))
    for number, result in enumerate(pack.results()):
        assert result.curves["probe_largest_weight"][-1] == pytest.approx(float(pack.network.flat_KP[number].abs().max()))
        assert np.max(result.layer_curves["probe_layer_largest"], axis=1).tolist() == result.curves["probe_largest_weight"]
        assert len(result.curves["probe_gradient_norm"]) == len(result.curves["probe_step"])


def test_every_probe_gives_its_curves_and_no_other() -> None:
    """The curves of a GPT with all that a text has, and of a network of ReLUs, whose units can be dead."""
    looked_at = {"flow_examples": 8, "sharpness_examples": 8, "training_examples": 4, "test_examples": 4}
    looked_at |= {"gradient_norms": True, **tried(PLAIN_PROBES)}
    sharp = {"sharpness": "end", "preconditioned_sharpness": True, "token_rows": True}
    units = Workload(model="mlp", dataset="digits", width=8, depth=3, tasks=2)
    names: set[str] = set()
    for workload, extras in ((GPT, sharp), (units, {"dead_units": True})):
        looks = {"probes": 2, "final_examples": 40, **looked_at, **extras}
        (result,) = trained(lane(workload, measurement=looks, steps=40, batch_size=4)).results()
        names |= {name for name, values in {**result.curves, **result.layer_curves}.items() if np.isfinite(values).any()}
    assert names == {curve.name for curve in CURVES}


def test_steps_are_spread_and_end_at_the_end() -> None:
    measurement = Measurement(probes=20, evaluations=4)
    steps = probe_steps(Training(steps=300), measurement)
    assert steps[:3] == [0, 1, 2]
    assert steps[-1] == 299
    assert len(steps) == 23
    assert evaluation_steps(Training(steps=300), measurement) == [74, 149, 224, 299]


def test_more_probes_than_steps() -> None:
    assert probe_steps(Training(steps=5), Measurement(probes=20)) == [0, 1, 2, 3, 4]
    assert evaluation_steps(Training(steps=2), Measurement(evaluations=4))[-1] == 1


def test_update_ratio_is_what_the_optimizer_did() -> None:
    """SGD without momentum: |update| / |weights| = lr * |gradient| / |weights|, from the probe's own numbers."""
    fields = {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "schedule": "constant", "warmup_fraction": 0.0}
    (result,) = trained(lane(GPT, measurement={"probes": 4}, steps=4, peak_lr=0.01, **fields)).results()
    curves = result.curves
    expected = 0.01 * np.array(curves["probe_gradient_norm"]) / np.array(curves["probe_weight_norm"])
    assert np.allclose(curves["probe_update_ratio"], expected, rtol=1e-3)


def test_ratios_of_weight_matrices_alone() -> None:
    """Quartiles over the parameters with two sides, worked out one by one; gains, biases and a zero readout do not count."""
    workload = GPT.model_copy(update={"zero_readout": True})
    pack = contract.pack(*(lane(workload, seed, steps=2, warmup_fraction=0.0) for seed in (0, 1)))
    before = {name: view.detach().clone() for name, view in pack.network.views.items()}
    pack.advance(seconds=0.0)  # one step
    for number in range(2):
        ratios = []
        for name, view in pack.network.views.items():
            weight = float(before[name][number].norm())
            if view[number].ndim > 1 and weight > 0:
                ratios.append(float((view[number].detach() - before[name][number]).norm()) / weight)
        assert len(ratios) == len([view for view in before.values() if view.ndim > 2]) - 1
        for curve, share in (("", 50), ("_low", 25), ("_high", 75), ("_least", 0), ("_most", 100)):
            measured = pack.records[f"probe_matrix_update_ratio{curve}"]
            assert float(measured[0, number]) == pytest.approx(np.percentile(ratios, share), rel=1e-4)


# ---- noise


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
    for _ in range(6_400 // batch):
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
