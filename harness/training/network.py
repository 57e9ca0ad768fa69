"""A pack's parameters in one flat buffer, and the losses and gradients of all lanes."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from harness.randomness import torch_generator
from harness.spec import Workload
from models import GPT, Parameter

# Tokens a lane that an evaluation holds at once: bounds its memory without changing its result beyond rounding.
EVALUATION_TOKENS = 4096


def build(workload: Workload, vocabulary: int) -> GPT:
    return GPT(vocabulary, workload.context, workload.width, workload.depth, workload.heads)


def initial_values(parameters: Sequence[Parameter], seed: int) -> Tensor:
    """One lane's starting point, [P]; it depends on the seed and the shapes alone."""
    generator = torch_generator(seed, "initialization")
    return torch.cat(
        [torch.randn(math.prod(p.shape), generator=generator) * p.initial_std + p.initial_mean for p in parameters]
    )


class PackedNetwork:
    """K copies of one model, one per seed in `seeds`, with parameters [K, P] that an optimizer may change in place."""

    def __init__(self, workload: Workload, vocabulary: int, seeds: Sequence[int], device: torch.device, precision: str):
        self.model = build(workload, vocabulary)
        self.compute_dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self.flat_KP = torch.stack([initial_values(self.model.parameters, seed) for seed in seeds]).to(device)
        self.sizes = [math.prod(p.shape) for p in self.model.parameters]
        self.views = {
            p.name: piece.view(len(seeds), *p.shape).requires_grad_()
            for p, piece in zip(self.model.parameters, torch.split(self.flat_KP, self.sizes, dim=1), strict=True)
        }
        decays = [torch.full((size,), float(p.decays)) for p, size in zip(self.model.parameters, self.sizes, strict=True)]
        self.decays_P = torch.cat(decays).to(device)
        self.layers = tuple(dict.fromkeys(p.layer for p in self.model.parameters))
        owner = [
            torch.full((size,), self.layers.index(p.layer)) for p, size in zip(self.model.parameters, self.sizes, strict=True)
        ]
        self.layer_of_P = torch.cat(owner).to(device)

    def losses(self, windows_KBT: Tensor) -> Tensor:
        """Mean next-token cross-entropy of each lane in nats, [K]; windows hold context + 1 tokens."""
        views = self.views
        if self.compute_dtype != torch.float32:
            views = {name: view.to(self.compute_dtype) for name, view in views.items()}
        logits_KBTV = self.model(views, windows_KBT[..., :-1])
        losses = F.cross_entropy(logits_KBTV.float().flatten(0, 2), windows_KBT[..., 1:].flatten(), reduction="none")
        return losses.view(windows_KBT.shape[0], -1).mean(dim=1)

    def gradient(self, windows_KBT: Tensor) -> tuple[Tensor, Tensor]:
        """Losses [K] and gradients [K, P]. The sum of the lane losses is differentiated: a mean would scale the LR by 1/K."""
        losses_K = self.losses(windows_KBT)
        gradients = torch.autograd.grad(losses_K.sum(), list(self.views.values()))
        return losses_K.detach(), torch.cat([gradient.flatten(1) for gradient in gradients], dim=1)

    @torch.no_grad()
    def evaluate(self, windows_NT: Tensor) -> Tensor:
        """Each lane's mean loss over the same windows, [K]."""
        lanes = self.flat_KP.shape[0]
        chunk = max(1, EVALUATION_TOKENS // windows_NT.shape[1])
        total = torch.zeros(lanes, device=self.flat_KP.device)
        for part_BT in torch.split(windows_NT, chunk):
            total += self.losses(part_BT.expand(lanes, *part_BT.shape)) * len(part_BT)
        return total / len(windows_NT)

    def layer_norms(self, values_KP: Tensor) -> Tensor:
        """Euclidean norm of each layer's slice, [K, layers]."""
        sums = torch.zeros(values_KP.shape[0], len(self.layers), device=values_KP.device)
        return sums.index_add_(1, self.layer_of_P, values_KP.square()).sqrt_()
