"""Number formats against torch's, and loss scaling against torch.amp.GradScaler, step for step."""

import math
from typing import Any

import pytest
import torch

from folklore.harness.declare import Training
from folklore.harness.declare.configuration import LOSS_SCALES
from folklore.harness.train.loss_scaling import LossScaler
from folklore.harness.train.precisions import precision_named
from folklore.harness.train.probes.underflow import FP16_FLUSHED, underflow_shares
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data.text import Text
from folklore.models.emulated_fp8 import Fp8Product, rounded
from tests.harness.train import contract
from tests.harness.train.contract import GPT, lane
from tests.harness.train.single_steps import assert_losses_agree

LANES = 3


def scaled_lanes(**changes: Any) -> list[Training]:
    return [Training(precision="fp16", loss_scaling="dynamic", **changes)] * LANES


def test_the_scale_follows_grad_scaler() -> None:
    """Each lane meets its own overflows; torch's scaler drives one parameter with the same ones."""
    generator = torch.Generator().manual_seed(0)
    finite_TK = torch.rand(60, LANES, generator=generator) > 0.2
    ours = LossScaler(scaled_lanes(), torch.device("cpu"))
    scales = []
    for finite_K in finite_TK:
        ours.update(finite_K)
        scales.append(ours.state["scale"].clone())
    for number in range(LANES):
        parameter = torch.nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([parameter], lr=0.0)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=3)
        for step, finite in enumerate(finite_TK[:, number].tolist()):
            optimizer.zero_grad()
            scaler.scale(parameter.sum() * (1.0 if finite else math.inf)).backward()
            scaler.step(optimizer)
            scaler.update()
            assert scaler.get_scale() == float(scales[step][number]), (number, step)


def test_a_scaled_loss_has_the_same_gradient(text: Text) -> None:
    """Bit by bit, for powers of two change no FP32 number's digits; clipping and optimizers that know no size would hide it."""
    network = workload_of(GPT).network(text.facts, [0, 1], torch.device("cpu"), "fp32")
    index = torch.from_numpy(text.batch_index(0, 0, 8, GPT.context)[0].reshape(2, 4))
    batch = text.gather(text.arrays("train"), index, GPT.context)
    losses_K, gradient_KP = network.gradient(*batch)
    of_scaled_K, scaled_KP = network.gradient(*batch, scale_K=torch.tensor([2.0**10, 2.0**-4]))
    assert of_scaled_K.equal(losses_K)
    assert scaled_KP.equal(gradient_KP)


def test_a_pack_follows_grad_scaler(text: Text) -> None:
    """Losses, gradients, skipped updates, scales and weights of a lane against torch's scaler and AdamW, step by step from the
    lane's weights, and from a scale that overflows."""
    fields = {"loss_scale": 2.0**24, "steps": 24, "clip_norm": 0.5, "weight_decay": 0.0}
    pack = contract.pack(*(lane(GPT, seed, precision="fp16", loss_scaling="dynamic", **fields) for seed in (1, 2)))
    plain = workload_of(GPT).network(text.facts, [2], torch.device("cpu"), "fp16")
    weights = list(plain.views.values())
    optimizer = torch.optim.AdamW(weights, weight_decay=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=3)
    skipped = 0

    def updates() -> float:
        return float(pack.scaler.state["updates"][1])

    for step in range(24):
        pack._draw()
        inputs, targets = (array[1:2] for array in pack._batch())
        old_KP, made = pack.network.flat_KP.clone(), updates()
        pack._train_step()
        skips = updates() == made
        plain.flat_KP.copy_(old_KP[1:])
        for group in optimizer.param_groups:
            group["lr"] = float(pack.lr_SK[step, 1])
        optimizer.zero_grad()
        loss = plain.losses(inputs, targets).sum()
        assert_losses_agree(pack.records["train_loss"][step, 1], loss.detach(), "fp16")
        # Which side of FP16's edge a gradient falls on is a matter of rounding if it is that near to it.
        overflow = {factor: overflows(loss * scaler.get_scale() * factor, weights) for factor in (1 - 2**-6, 1.0, 1 + 2**-6)}
        assert skips in overflow.values(), step
        scaler.scale(loss).backward()
        if skips != overflow[1.0]:
            for weight in weights:
                weight.grad.fill_(math.inf if skips else 0.0)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(weights, 0.5)
        if not skips:
            ours_KP = pack.optimizer.gradient_KP[1:]
            for weight, gradient in zip(weights, plain.views_of(ours_KP).values(), strict=True):
                near = (weight.grad - gradient).abs().max() <= precision_named("fp16").gradient * ours_KP.abs().max()
                assert near or overflow[1.0], step
                weight.grad.copy_(gradient)
        skipped += skips
        scaler.step(optimizer)
        scaler.update()
        assert float(pack.scaler.state["scale"][1]) == scaler.get_scale(), step
        assert (pack.network.flat_KP[1] - plain.flat_KP[0]).abs().max() <= 1e-3 * pack.lr_SK[step, 1] + 1e-6, step
    assert skipped > 3
    assert updates() == 24 - skipped


def overflows(loss: torch.Tensor, weights: list[torch.Tensor]) -> bool:
    return not all(gradient.isfinite().all() for gradient in torch.autograd.grad(loss, weights, retain_graph=True))


def test_fp8_rounds_as_torch_does() -> None:
    values = torch.randn(2, 50, generator=torch.Generator().manual_seed(1)) * torch.tensor([[1.0], [1e-3]])
    assert torch.equal(rounded(values, torch.float8_e4m3fn, False), values.to(torch.float8_e4m3fn).float())
    scaled = rounded(values, torch.float8_e4m3fn, True)
    for number in range(2):
        factor = 448.0 / values[number].abs().max()
        assert torch.allclose(scaled[number], (values[number] * factor).to(torch.float8_e4m3fn).float() / factor)
    # Three bits of mantissa: half a unit is a sixteenth; unscaled small values are flushed instead.
    assert float(((scaled - values).abs() / values.abs()).median()) < 1 / 16
    assert float(rounded(torch.full((1, 1), 1e-4), torch.float8_e4m3fn, False)) == 0.0
    assert float(rounded(torch.full((1, 1), 1e6), torch.float8_e5m2, False)) == 57344.0
    assert float(rounded(torch.zeros(1, 1), torch.float8_e4m3fn, True)) == 0.0


def test_fp8_products_round_operands_and_gradients() -> None:
    generator = torch.Generator().manual_seed(2)
    x, weight = (torch.randn(shape, generator=generator).requires_grad_() for shape in ((2, 5, 4), (2, 4, 3)))
    product = Fp8Product.apply(x, weight, True)
    x8, weight8 = rounded(x.detach(), torch.float8_e4m3fn, True), rounded(weight.detach(), torch.float8_e4m3fn, True)
    assert torch.allclose(product, torch.bmm(x8, weight8))
    upstream = torch.randn(product.shape, generator=generator)
    product.backward(upstream)
    upstream8 = rounded(upstream, torch.float8_e5m2, True)
    assert torch.allclose(x.grad, torch.bmm(upstream8, weight8.transpose(1, 2)))
    assert torch.allclose(weight.grad, torch.bmm(x8.transpose(1, 2), upstream8))


def test_underflow_is_what_casting_flushes(text: Text) -> None:
    """The share of weight gradients against torch's own cast to FP16, at every loss scale."""
    network = workload_of(GPT).network(text.facts, [0, 1], torch.device("cpu"), "fp32")
    index = torch.from_numpy(text.batch_index(0, 0, 512, GPT.context)[0].reshape(2, 256))
    inputs, targets = text.gather(text.arrays("train"), index, GPT.context)
    _, gradient_KP = network.gradient(inputs, targets)
    shares = underflow_shares(network, inputs, targets)
    for column, scale in enumerate(LOSS_SCALES):
        cast = (gradient_KP * scale).half()
        expected = ((gradient_KP != 0) & (cast == 0)).sum(1) / (gradient_KP != 0).sum(1)
        assert torch.allclose(shares[2][:, column], expected, atol=1e-6)
    # A loss divided by 2^12 and scaled by 2^12 is the loss itself.
    divided = underflow_shares(network, inputs, targets, torch.full((2,), 2.0**-12))
    for share, of_divided in zip(shares, divided, strict=True):
        assert torch.allclose(of_divided[:, 12:], share[:, :-12], atol=1e-6)
        assert (of_divided[:, 0] > share[:, 0]).all()
        assert (of_divided.diff(dim=1) <= 0).all()
    assert float(torch.tensor(FP16_FLUSHED).half()) == 0.0
    assert float(torch.tensor(FP16_FLUSHED * (1 + 2**-10)).half()) > 0.0


@pytest.mark.parametrize(("precision", "share"), [("bf16", 0.1), ("fp16", 0.02), ("fp8", 0.5), ("fp8_unscaled", 0.7)])
def test_every_format_has_nearly_the_gradients_of_fp32(text: Text, precision: str, share: float) -> None:
    """At states along an FP32 training. share: of the norm, as much as its few bits of mantissa make of each number."""
    pack = contract.pack(lane(GPT, steps=30, batch_size=8))
    narrow = workload_of(GPT).network(text.facts, [0], torch.device("cpu"), precision)
    while not pack.done:
        pack._draw()
        narrow.flat_KP.copy_(pack.network.flat_KP)
        (exact_K, exact_KP), (losses_K, gradient_KP) = (network.gradient(*pack._batch()) for network in (pack.network, narrow))
        off = (gradient_KP - exact_KP).norm() / exact_KP.norm()
        assert 0 < off < share, pack.step
        assert float(losses_K) == pytest.approx(float(exact_K), abs=share / 4)
        pack._train_step()
