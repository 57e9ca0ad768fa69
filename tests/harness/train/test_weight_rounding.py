"""Weights in BF16 against a plain computation, number by number."""

import struct

import pytest
import torch
from torch import Tensor

from folklore.harness.randomness import Order
from folklore.harness.train.pack import Pack
from folklore.harness.train.weight_rounding import WeightRounding, nearest, stochastic
from folklore.harness.train.workloads.data.text import Text
from tests.harness.train.contract import GPT, lane

WEIGHTS_KP = torch.randn(2, 4000, generator=torch.Generator().manual_seed(0))


def plain(value: float, drawn: int | None = None) -> float:
    """The BF16 number that an FP32 number goes to: the nearest, ties to the even one; or the one away from zero if a number of
    16 bits that is drawn and the 16 bits that are dropped come to 2^16 together."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    kept, dropped = bits >> 16, bits & 0xFFFF
    to_nearest = dropped > 0x8000 or (dropped == 0x8000 and kept % 2 == 1)
    up = to_nearest if drawn is None else dropped + drawn >= 0x10000
    (number,) = struct.unpack("<f", struct.pack("<I", (kept + up) << 16))
    return float(number)


def test_to_the_nearest() -> None:
    ties = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8])
    for values in (WEIGHTS_KP[0], ties):
        assert nearest(values).tolist() == [plain(value) for value in values.tolist()]


def test_at_random() -> None:
    drawn = torch.randint(2**32, (4000,), generator=torch.Generator().manual_seed(1))
    rounded = stochastic(WEIGHTS_KP[0], drawn).tolist()
    assert rounded == [plain(value, bits % 2**16) for value, bits in zip(WEIGHTS_KP[0].tolist(), drawn.tolist(), strict=True)]


def test_what_is_no_number_stays_and_bf16_numbers_do() -> None:
    ends = torch.tensor([float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 1.5, 2.0**-130])
    most = torch.full((7,), 2**16 - 1)
    assert torch.equal(stochastic(ends, most).nan_to_num(7.0), ends.nan_to_num(7.0))


def rounded_at(step: int, seed: int = 3, passed: int = 0) -> Tensor:
    clock = torch.tensor([step])
    return WeightRounding([Order(seed, passed), Order(seed + 1)], clock, at_random=True)(WEIGHTS_KP[:1].repeat(2, 1))


def test_it_depends_on_seed_and_step_alone() -> None:
    assert torch.equal(rounded_at(5), rounded_at(5))
    assert torch.equal(rounded_at(5)[0], rounded_at(2, passed=3)[0])
    assert not torch.equal(rounded_at(5), rounded_at(6))
    assert torch.equal(rounded_at(5, seed=4)[0], rounded_at(5)[1])


def test_it_is_right_in_the_mean() -> None:
    """An update of a tenth of the distance of BF16 numbers is made in the mean, and to the nearest never."""
    weights = torch.full((1, 200), 1 + 0.1 * 2**-7)
    rounding = [WeightRounding([Order(0)], torch.tensor([step]), at_random=True)(weights) for step in range(100)]
    ups = torch.stack(rounding).gt(1).float().mean()
    assert float(ups) == pytest.approx(0.1, abs=0.01)
    assert nearest(weights).eq(1).all()


@pytest.mark.parametrize("precision", ["bf16_weights", "bf16_weights_stochastic"])
def test_a_pack_holds_bf16_weights_from_the_start(text: Text, precision: str) -> None:
    pack = Pack([lane(GPT, precision=precision, steps=6)], text)
    before = pack.network.flat_KP.clone()
    assert torch.equal(before, nearest(before))
    pack.advance()
    assert torch.equal(pack.network.flat_KP, nearest(pack.network.flat_KP))
    assert not torch.equal(pack.network.flat_KP, before)
    assert all(not torch.equal(weight, nearest(weight)) for weight in pack.optimizer.state.values())
