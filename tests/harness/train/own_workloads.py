"""Workloads as users write them, for all tests of training: some can be packed, some cannot."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from folklore.harness import OwnWorkload

CLASSES, SYMBOLS, WIDTH = 4, 11, 16
Pair = tuple[Tensor, Tensor]


class Made(nn.Module):
    """Parts by their names, and what a function makes of them and of inputs."""

    def __init__(self, call: Callable[..., Any], **parts: Any):
        super().__init__()
        self.call = call
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs: Tensor, **named: Tensor) -> Any:
        return self.call(self, *inputs, **named)


def made(call: Callable[..., Any], **parts: Callable[[], Any]) -> Callable[[], nn.Module]:
    """A factory of modules of these parts."""
    return lambda: Made(call, **{name: part() for name, part in parts.items()})


def linear(inputs: int, outputs: int = CLASSES) -> Callable[[], nn.Module]:
    return lambda: nn.Linear(inputs, outputs)


# ---- data


def vectors(examples: int, seed: int) -> Pair:
    """[N, 8], and which of the first four entries is largest."""
    x = torch.randn(examples, 8, generator=torch.Generator().manual_seed(seed))
    return x, x[:, :CLASSES].argmax(dim=1)


def images(examples: int, seed: int) -> Pair:
    """[N, 1, 8, 8] with one bright quadrant."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (examples,), generator=generator)
    bright = F.one_hot(labels, CLASSES).view(-1, 1, 2, 2).float()
    return F.interpolate(bright, scale_factor=4.0) + torch.randn(examples, 1, 8, 8, generator=generator), labels


def tokens(examples: int, seed: int) -> Pair:
    """[N, 9] counting upwards in steps of one or two, and each one's successor."""
    generator = torch.Generator().manual_seed(seed)
    start, step = (torch.randint(low, high, (examples, 1), generator=generator) for low, high in ((0, SYMBOLS), (1, 3)))
    sequence = (start + step * torch.arange(10)) % SYMBOLS
    return sequence[:, :-1], sequence[:, 1:]


def padded_tokens(examples: int, seed: int) -> Pair:
    """As tokens, the longest first, padded with 0 and, in the targets, -100."""
    x, y = tokens(examples, seed)
    length = torch.randint(2, 10, (examples,), generator=torch.Generator().manual_seed(seed + 9))
    padding = torch.arange(9) >= length.sort(descending=True).values[:, None]
    return x.masked_fill(padding, 0), y.masked_fill(padding, -100)


# ---- losses


def each_token(outputs: Tensor, targets: Tensor) -> Tensor:
    """A loss for each sequence, [B]."""
    return F.cross_entropy(outputs.transpose(1, 2), targets, reduction="none").mean(dim=1)


def over_tokens(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean over all that are not padding, as torch has it."""
    return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())


# ---- modules


def net(classes: int = CLASSES) -> nn.Module:
    return nn.Sequential(nn.Linear(8, WIDTH), nn.Tanh(), nn.Linear(WIDTH, classes))


def layers(*between: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(8, WIDTH), *between, nn.ReLU(), nn.Linear(WIDTH, CLASSES))


def embedded(sparse: bool = False) -> nn.Module:
    return nn.Sequential(nn.Embedding(SYMBOLS, WIDTH, sparse=sparse), nn.Linear(WIDTH, SYMBOLS))


def normalized() -> nn.Module:
    """Without a bias before the norm: its gradient would be rounding alone, which Adam makes steps of."""
    return nn.Sequential(nn.Linear(8, WIDTH, bias=False), nn.BatchNorm1d(WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))


def tied() -> nn.Module:
    """The readout is the embedding."""
    made = Made(
        lambda m, x: m.readout(torch.relu(m.hidden(m.embedding(x)))),
        embedding=nn.Embedding(SYMBOLS, WIDTH),
        readout=nn.Linear(WIDTH, SYMBOLS, bias=False),
        hidden=nn.Linear(WIDTH, WIDTH),
    )
    made.readout.weight = made.embedding.weight
    return made


def recomputing(reentrant: bool) -> nn.Module:
    """Activations are computed again in the backward pass, in either of torch's ways."""
    return Made(
        lambda m, x: m.last(checkpoint(m.block, torch.tanh(m.first(x)), use_reentrant=reentrant)),
        first=nn.Linear(8, WIDTH),
        block=nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()),
        last=nn.Linear(WIDTH, CLASSES),
    )


def remembering(module: Any, x: Tensor) -> Tensor:
    """Puts a new tensor in its buffer's place."""
    if module.training:
        module.mean = 0.9 * module.mean + 0.1 * x.mean(dim=0)
    return module.layer(x - module.mean)  # type: ignore[no-any-return]


def annealing(module: Any, x: Tensor) -> Tensor:
    module.calls += module.training
    return module.net(x) / max(0.2, 1.0 - module.calls / 150)  # type: ignore[no-any-return]


def own(name: str, module: Any, draw: Any = vectors, loss: Any = F.cross_entropy) -> OwnWorkload:
    return OwnWorkload(name, module, loss, draw(300, 0), draw(80, 1), draw(80, 2))


perceptron = own("perceptron", layers)
batch_norm = own("batch norm", normalized)
dropout = own("dropout", lambda: layers(nn.Dropout(0.2)))
sparse = own("sparse", lambda: embedded(True), tokens, each_token)
summed = own("summed", lambda: nn.Linear(8, CLASSES), loss=nn.CrossEntropyLoss(reduction="sum"))
padded = own("padded", tied, padded_tokens, over_tokens)
remembers = own("remembers", lambda: Made(remembering, layer=nn.Linear(8, CLASSES), mean=nn.Buffer(torch.zeros(8))))
annealed = own("annealed", lambda: Made(annealing, net=net(), calls=0))
