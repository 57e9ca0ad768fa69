"""One number of each claim of memory again: step times from the published trials, the others by arithmetic or plain torch."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from folklore.harness.plan.catalog import load_study
from tests.reports.recomputed.tables import published

STUDY = "memory"


def of(claim: str, number: str) -> float:
    """The published number of a claim's criterion that reads this number of its function."""
    (judgement,) = (each for each in load_study(STUDY).judgements if each.claim == claim)
    (index,) = (at for at, each in enumerate(judgement.criteria) if getattr(each.observe, "number", "") == number)
    return published(claim, STUDY, index)


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(x)))


def parameters(width: int, depth: int, context: int, classes: int) -> int:
    """Of a GPT: matrices, biases and gains of blocks, final norm, embedding and readout, positions."""
    return depth * (12 * width**2 + 13 * width) + 2 * width + 2 * classes * width + context * width


def test_accumulation(table: pd.DataFrame) -> None:
    """A gradient of 32 examples from 16 parts, of a small net of torch's: as near as FP32 adds up."""
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 8)), torch.randn(32, 16)
    answers = torch.randint(8, (32,))

    def gradient(rows: slice) -> torch.Tensor:
        loss = nn.functional.cross_entropy(net(x[rows]), answers[rows])
        return torch.cat([each.flatten() for each in torch.autograd.grad(loss, list(net.parameters()))])

    whole, parts = gradient(slice(None)), sum(gradient(slice(at, at + 2)) for at in range(0, 32, 2)) / 16
    assert 0 < of("mem.accumulation", "error") < 10 * float((parts - whole).norm() / whole.norm()) < 1e-5


def test_accumulation_peak(table: pd.DataFrame) -> None:
    """What is held is that of one part: as many bytes for any number of them, and 1/k of a batch that is parted in k."""
    assert of("mem.accumulation_peak", "exponent") == pytest.approx(0.0, abs=0.03)
    assert of("mem.accumulation_peak", "parted_exponent") == pytest.approx(-1.0, abs=0.03)


def test_checkpoint_memory(table: pd.DataFrame) -> None:
    """Of 4 to 36 blocks of plain torch modules in as many segments as the root: what autograd is given to keep, at the end of
    the forward pass, and the most that one segment makes beside it."""

    def kept(depth: int, segments: int) -> float:
        sizes: dict[int, int] = {}

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        blocks, x = [Block(8) for _ in range(depth)], torch.randn(2048, 8, requires_grad=True)
        weights = {each.untyped_storage().data_ptr() for block in blocks for each in block.parameters()}
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            for part in np.array_split(np.arange(depth), segments):
                stretch = nn.Sequential(*(blocks[index] for index in part))
                x = stretch(x) if segments == 1 else checkpoint(stretch, x, use_reentrant=False)
        return sum(size for at, size in sizes.items() if at not in weights)

    depths = np.array([4, 9, 16, 25, 36])
    all_kept = [kept(depth, 1) for depth in depths]
    # A segment's inputs are a stream each, and a segment that is recomputed keeps what its blocks do if all is kept.
    stream, block = 4 * 2048 * 8, all_kept[0] / 4
    recomputed = [np.sqrt(depth) * (stream + block) for depth in depths]
    found = [np.polyfit(np.log(depths), np.log(sizes), 1)[0] for sizes in (recomputed, all_kept)]
    assert of("mem.checkpoint_memory", "root") == pytest.approx(found[0], abs=0.07)
    assert of("mem.checkpoint_memory", "kept") == pytest.approx(found[1], abs=0.07)


def test_checkpoint_cost(table: pd.DataFrame) -> None:
    """Blocks once more, over blocks and readout three times: 32 blocks of width 4096, 32,000 classes, 2048 tokens. Attention is
    4 context x width operations a token, backward 2.5 times."""
    width, depth, classes, attention = 4096, 32, 32_000, 4 * 4096 * 2048
    block, readout = 24 * width**2, 2 * classes * width
    whole = 3 * (depth * block + readout) + 3.5 * depth * attention
    assert depth * (block + attention) / whole == pytest.approx(of("mem.checkpoint_cost", "extra"), rel=0.02)


@pytest.mark.parametrize(("criterion", "plain", "again"), [(0, "plain", "recomputed"), (1, "mlp_plain", "mlp_recomputed")])
def test_checkpoint_time(table: pd.DataFrame, criterion: int, plain: str, again: str) -> None:
    seconds = table.pivot(index="seed", columns="arm", values="step_seconds")
    ratio = np.exp(np.log(seconds[again] / seconds[plain]).mean())
    assert ratio == pytest.approx(published("mem.checkpoint_time", STUDY, criterion), rel=1e-6)


def test_budget(table: pd.DataFrame) -> None:
    assert of("mem.budget", "fp32_gb") == 7e9 * np.dtype(np.float32).itemsize / 1e9


def test_adam_states(table: pd.DataFrame) -> None:
    """What torch.optim.AdamW holds of a matrix."""
    weight = nn.Parameter(torch.ones(50, 50))
    optimizer = torch.optim.AdamW([weight])
    weight.sum().backward()
    optimizer.step()
    held = sum(each.nbytes for each in optimizer.state[weight].values() if each.dim())
    assert of("mem.adam_states", "over_fp32_weights") == held / weight.nbytes


def test_levers(table: pd.DataFrame) -> None:
    """Weights and state of a GPT of 6.7 billion parameters; of a token 16 numbers a block and unit of width, two of the final
    norm, and three of each class."""
    width, depth, classes = 4096, 32, 32_000

    def memory(batch: int, context: int) -> float:
        of_a_token = (16 * depth + 2) * width + 3 * classes
        return 12 * parameters(width, depth, context, classes) + 4 * batch * context * of_a_token

    assert of("mem.levers", "batch") == pytest.approx(memory(32, 2048) / memory(8, 2048), rel=0.01)
    assert of("mem.levers", "sequence") == pytest.approx(memory(8, 2048) / memory(8, 1024), rel=0.01)


def test_checkpoint_size(table: pd.DataFrame) -> None:
    """The batch of a GPT-2 medium that fits 24 GiB. All kept, the worst moment is the end of the forward pass. In segments it
    comes in the readout, by its three numbers a class, or in the backward pass of a segment, beside gradients; five segments
    of 24 blocks hold five at once, and 24 hold one."""
    width, depth, context, classes = 1024, 24, 1024, 32_000
    weights = parameters(width, depth, context, classes)
    free = 24 * 2**30 - 12 * weights
    kept = 4 * context * ((16 * depth + 2) * width + 3 * classes)

    def fits(segments: int, held: int) -> int:
        readout, backward = (segments + 2) * width + 3 * classes, (segments + 16 * held) * width
        return int(min(free / readout, (free - 4 * weights) / backward) / (4 * context))

    largest = max(fits(5, 5), fits(24, 1))
    assert of("mem.checkpoint_size", "batch") == pytest.approx(largest / int(free / kept), rel=0.1)
