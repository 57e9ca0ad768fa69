"""The studies' networks written with torch.nn, as one would without lanes: what packs are measured and tested against."""

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from folklore.harness.declare import Workload
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data import DataFacts
from folklore.harness.train.workloads.network import initial_values
from folklore.models.cnn import LEAST_SIDE_TO_HALVE


class PlainBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, positions, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, positions, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, positions, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class PlainGPT(nn.Module):
    def __init__(self, workload: Workload, facts: DataFacts) -> None:
        super().__init__()
        width = workload.width
        self.token, self.position = nn.Embedding(facts.classes, width), nn.Embedding(workload.context, width)
        self.blocks = nn.Sequential(*(PlainBlock(width, workload.heads) for _ in range(workload.depth)))
        self.norm, self.readout = nn.LayerNorm(width), nn.Linear(width, facts.classes, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        return self.readout(self.norm(self.blocks(x)))


class PlainMLP(nn.Sequential):
    def __init__(self, workload: Workload, facts: DataFacts) -> None:
        sizes = [torch.Size(facts.features).numel(), *[workload.width] * workload.depth]
        hidden = [layer for i, o in itertools.pairwise(sizes) for layer in (nn.Linear(i, o), nn.ReLU())]
        super().__init__(nn.Flatten(), *hidden, nn.Linear(workload.width, facts.classes))


class PlainResidual(nn.Module):
    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        groups = max(groups for groups in range(1, 9) if width % groups == 0)
        self.stride = stride
        self.norm1, self.conv1 = nn.GroupNorm(groups, width), nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2, self.conv2 = nn.GroupNorm(groups, width), nn.Conv2d(width, width, 3, 1, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.conv1(F.relu(self.norm1(x)))
        return x[..., :: self.stride, :: self.stride] + self.conv2(F.relu(self.norm2(inner)))


class PlainCNN(nn.Module):
    def __init__(self, workload: Workload, facts: DataFacts) -> None:
        super().__init__()
        self.image = (1, *facts.features)[-3:]
        width, halved = workload.width, workload.depth // 2 if min(self.image[1:]) >= LEAST_SIDE_TO_HALVE else 0
        self.stem = nn.Conv2d(self.image[0], width, 3, padding=1, bias=False)
        self.blocks = nn.Sequential(*(PlainResidual(width, 2 if 0 < i == halved else 1) for i in range(workload.depth)))
        self.norm = nn.GroupNorm(max(groups for groups in range(1, 9) if width % groups == 0), width)
        self.readout = nn.Linear(width, facts.classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.blocks(self.stem(images.view(len(images), *self.image)))
        return self.readout(F.relu(self.norm(x)).mean(dim=(2, 3)))


PLAIN: dict[str, type[nn.Module]] = {"gpt": PlainGPT, "mlp": PlainMLP, "cnn": PlainCNN}


def plain_model(workload: Workload, facts: DataFacts, seed: int) -> nn.Module:
    """The workload's network in standard parametrization, with the weights that a lane of this seed starts from."""
    assert workload.parametrization == "standard", "the plain networks know standard parametrization alone"
    model, ours = PLAIN[workload.model](workload, facts), workload_of(workload).model(facts).parameters
    values = torch.split(initial_values(ours, seed), [torch.Size(p.shape).numel() for p in ours])
    with torch.no_grad():
        for theirs, parameter, value in zip(model.parameters(), ours, values, strict=True):
            ours_of_it = value.view(parameter.shape).t() if parameter.drawn_transposed else value.view(parameter.shape)
            assert theirs.shape == ours_of_it.shape, f"{parameter.name}: {tuple(theirs.shape)}"
            theirs.copy_(ours_of_it)
    return model
