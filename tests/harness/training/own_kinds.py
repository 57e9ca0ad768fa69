"""What people bring along: losses, batches, data and modules of every kind, each a workload. (own_workloads.py has those that
are told apart by whether they can be packed.)"""

import copy
import random
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize
from torch.nn.utils import weight_norm as older_weight_norm
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler, TensorDataset

from folklore.harness import OwnWorkload
from tests.harness.training.own_workloads import (
    CLASSES,
    SYMBOLS,
    WIDTH,
    Pair,
    Tied,
    each_token,
    images,
    layers,
    over_tokens,
    padded_tokens,
    tokens,
    vectors,
)  # fmt: skip

SIZES = {"training": 120, "validation": 40, "test": 41}
cross_entropy = F.cross_entropy


def of(module: Any, loss: Any = cross_entropy, draw: Any = vectors, **more: Any) -> OwnWorkload:
    """Named by the table below."""
    drawn = {split: draw(size, seed) for seed, (split, size) in enumerate(SIZES.items())}
    return OwnWorkload("own", module, loss, **drawn, **more)


def net(classes: int = CLASSES) -> nn.Module:
    return nn.Sequential(nn.Linear(8, WIDTH), nn.Tanh(), nn.Linear(WIDTH, classes))


def embedded() -> nn.Module:
    return nn.Sequential(nn.Embedding(SYMBOLS, WIDTH), nn.Linear(WIDTH, SYMBOLS))


# ---- what a module gives


@dataclass
class Output:
    logits: Tensor
    loss: Tensor | None = None


class Gives(nn.Module):
    """Its outputs in the way that `wrap` has."""

    def __init__(self, wrap: Any):
        super().__init__()
        self.net, self.wrap = net(), wrap

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Any:
        logits = self.net(x)
        return self.wrap(logits, None if labels is None else F.cross_entropy(logits, labels))


def with_labels(examples: int, seed: int) -> dict[str, Tensor]:
    x, y = vectors(examples, seed)
    return {"x": x, "labels": y}


def both_inputs(examples: int, seed: int) -> tuple[Pair, Tensor]:
    """One argument after the other, and a target."""
    x, y = vectors(examples, seed)
    return (x[:, :4], x[:, 4:]), y


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, CLASSES), nn.Linear(4, CLASSES)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.left(left) * self.right(right) + self.left(left)  # type: ignore[no-any-return]


def two_targets(examples: int, seed: int) -> tuple[Tensor, dict[str, Tensor]]:
    x, y = vectors(examples, seed)
    return x, {"label": y, "size": x.square().sum(1, keepdim=True)}


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.label, self.size = nn.Linear(8, WIDTH), nn.Linear(WIDTH, CLASSES), nn.Linear(WIDTH, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.trunk(x))
        return self.label(h), self.size(h)


def of_heads(outputs: tuple[Tensor, Tensor], targets: dict[str, Tensor]) -> Tensor:
    return F.cross_entropy(outputs[0], targets["label"]) + 0.1 * F.mse_loss(outputs[1], targets["size"])


# ---- data


def arrays(examples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """In double precision, as NumPy draws them."""
    x, y = vectors(examples, seed)
    return x.double().numpy(), y.numpy()


class Pairs(Dataset):  # type: ignore[type-arg]
    def __init__(self, examples: int, seed: int):
        self.x, self.y = vectors(examples, seed)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.x[index], int(self.y[index])


class Sequences(Dataset):  # type: ignore[type-arg]
    """Of unlike lengths."""

    def __init__(self, examples: int, seed: int):
        x, y = padded_tokens(examples, seed)
        self.pairs = [(a[b != -100], b[b != -100]) for a, b in zip(x, y, strict=True)]

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> Pair:
        return self.pairs[index]


def padding(items: list[Pair]) -> Pair:
    """As long as the longest of the batch."""
    pad = nn.utils.rnn.pad_sequence
    return pad([x for x, _ in items], batch_first=True), pad([y for _, y in items], batch_first=True, padding_value=-100)


class Named(Pairs):
    def __getitem__(self, index: int) -> dict[str, Tensor]:  # type: ignore[override]
        return {"x": self.x[index], "labels": self.y[index]}


# ---- losses


def masked_tokens(examples: int, seed: int) -> dict[str, Tensor]:
    x, y = padded_tokens(examples, seed)
    return {"input_ids": x, "attention_mask": (y != -100).long(), "labels": y.clamp(min=0)}


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = embedded()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        logits = self.net(input_ids)
        each = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none") * attention_mask
        return {"loss": each.sum() / attention_mask.sum(), "logits": logits}


class Shifted(nn.Module):
    """A language model as libraries have them: labels are shifted inside."""

    def __init__(self) -> None:
        super().__init__()
        self.net = embedded()

    def forward(self, input_ids: Tensor, labels: Tensor) -> Output:
        logits = self.net(input_ids)
        return Output(logits, F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()))


def shifted_tokens(examples: int, seed: int) -> dict[str, Tensor]:
    x, y = padded_tokens(examples, seed)
    return {"input_ids": x, "labels": x.masked_fill(y == -100, -100)}


def zero_ignored(examples: int, seed: int) -> Pair:
    x, y = padded_tokens(examples, seed)
    return x, (y + 1).clamp(min=0)  # -100 becomes 0, the class that is ignored


class Tempered(nn.Module):
    """A loss with a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor([0.3]))

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs * self.log_scale.exp(), targets)


def contrastive(outputs: Tensor, targets: Tensor) -> Tensor:
    """Each example against all others of its batch."""
    return F.cross_entropy(outputs @ outputs.t() / 3.0, torch.arange(len(outputs), device=outputs.device))


def density(outputs: Tensor, targets: Tensor) -> Tensor:
    """May be negative."""
    mean, log_deviation = outputs[:, 0], outputs[:, 1]
    return (log_deviation + 0.5 * ((targets - mean) / log_deviation.exp()).square()).mean() - 3.0


def numbers(examples: int, seed: int) -> Pair:
    x, _ = vectors(examples, seed)
    return x, x[:, 0] - 0.5 * x[:, 1]


def one_number(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.mse_loss(outputs.squeeze(1), targets)


def noisy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs + 0.3 * torch.randn_like(outputs), targets)


def numpy_noisy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs * float(np.random.uniform(0.5, 1.5)), targets)


def python_noisy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs * random.uniform(0.5, 1.5), targets)


def two_classes(examples: int, seed: int) -> Pair:
    x, y = vectors(examples, seed)
    return x, (y > 1).float()[:, None]


def negative_log(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.nll_loss(torch.log_softmax(outputs, dim=1), targets)


# ---- modules


class Complex(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(8, CLASSES, dtype=torch.complex64))
        self.bias = nn.Parameter(torch.zeros(CLASSES, dtype=torch.complex64))

    def forward(self, x: Tensor) -> Tensor:
        return (x.to(torch.complex64) @ self.weight + self.bias).abs()


class Orthogonal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, CLASSES)
        parametrizations.orthogonal(self.first)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.tanh(self.first(x)))  # type: ignore[no-any-return]


class Symmetric(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.triu() + weight.triu(1).t()


def symmetric() -> nn.Module:
    made = net()
    made.insert(1, nn.Linear(WIDTH, WIDTH))  # type: ignore[operator]
    parametrize.register_parametrization(made[1], "weight", Symmetric())  # type: ignore[index]
    return made


def symmetric_square() -> nn.Module:
    made = nn.Linear(8, 8)
    parametrize.register_parametrization(made, "weight", Symmetric())
    return made


class Averaged(nn.Module):
    """Evaluates by an average of its weights, which a step of training moves."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, CLASSES)
        self.register_buffer("average", self.layer.weight.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return F.linear(x, self.average, self.layer.bias)  # type: ignore[arg-type]
        self.average.mul_(0.9).add_(self.layer.weight.detach(), alpha=0.1)  # type: ignore[operator,union-attr]
        return self.layer(x)  # type: ignore[no-any-return]


class Dictionaries(nn.Module):
    """Parameters in a list, a dict and a tensor of their own; a layer that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.list = nn.ParameterList([nn.Parameter(0.3 * torch.randn(8, WIDTH))])
        self.dict = nn.ParameterDict({"out": nn.Parameter(0.3 * torch.randn(WIDTH, CLASSES))})
        self.again, self.scale = nn.Linear(WIDTH, WIDTH), nn.Parameter(torch.tensor(1.0))

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(x @ self.list[0])
        return self.scale * (self.again(self.again(h)) @ self.dict["out"])  # type: ignore[no-any-return]


class Deep(nn.Module):
    """Drops whole layers, as drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, WIDTH)
        self.blocks = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.last = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        for block in self.blocks:
            if not self.training or torch.rand(()) > 0.3:
                h = h + torch.tanh(block(h))
        return self.last(h)  # type: ignore[no-any-return]


class Straight(torch.autograd.Function):
    """Rounds, and passes the gradient straight through."""

    @staticmethod
    def forward(context, x):  # type: ignore[no-untyped-def]
        return (4 * x).round() / 4

    @staticmethod
    def backward(context, gradient):  # type: ignore[no-untyped-def]
        return gradient


class Quantized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(Straight.apply(torch.tanh(self.first(x))))  # type: ignore[no-any-return]


class Counted(nn.Module):
    """Counts its calls in a buffer that is not saved, and warms its own scale up by it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = net()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.calls += 1
        return self.net(x) * (1 + self.calls.clamp(max=10) / 10)  # type: ignore[no-any-return]


class Unfreezes(nn.Module):
    """Its first layer takes no part until its fifth call."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last, self.calls = nn.Linear(8, 8), nn.Linear(8, CLASSES), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += self.training
        return self.last(self.first(x) if self.calls > 5 else x)  # type: ignore[no-any-return]


class Memory(nn.Module):
    """Keeps the last batch's outputs in a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.last = net(), {"mean": 0.0}

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.net(x) - 0.1 * self.last["mean"]
        if self.training:
            self.last["mean"] = float(outputs.detach().mean())
        return outputs  # type: ignore[no-any-return]


class Pointwise(nn.Module):
    """Attention over a set, by torch's own layer."""

    def __init__(self) -> None:
        super().__init__()
        self.lift = nn.Linear(1, WIDTH)
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.last = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layer(self.lift(x[..., None])).mean(dim=1))  # type: ignore[no-any-return]


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.gru = nn.Embedding(SYMBOLS, WIDTH), nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.readout = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, x: Tensor) -> Tensor:
        return self.readout(self.gru(self.embedding(x))[0])  # type: ignore[no-any-return]


class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag, self.last = nn.EmbeddingBag(SYMBOLS, WIDTH), nn.Linear(WIDTH, SYMBOLS)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.bag(x))  # type: ignore[no-any-return]


def next_symbol(examples: int, seed: int) -> Pair:
    x, y = tokens(examples, seed)
    return x, y[:, -1]


def sliced() -> nn.Module:
    """A parameter that is a part of a larger storage."""
    made = net()
    whole = torch.randn(3 * WIDTH, 8) * 0.3
    made[0].weight = nn.Parameter(whole[WIDTH : 2 * WIDTH])  # type: ignore[index]
    return made


def frozen_bias() -> nn.Module:
    made = net()
    made[0].bias.requires_grad_(False)  # type: ignore[index]
    return made


def clipped() -> nn.Module:
    """Each parameter's gradient is cut as it comes."""
    made = net()
    for each in made.parameters():
        each.register_hook(lambda gradient: gradient.clamp(-0.01, 0.01))
    return made


def upsampled() -> nn.Module:
    down = (nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(inplace=True), nn.ConvTranspose2d(4, 2, 2, stride=2))
    return nn.Sequential(*down, nn.InstanceNorm2d(2, affine=True), nn.Flatten(), nn.Linear(128, CLASSES))


def initialized_by_numpy() -> nn.Module:
    made = net()
    with torch.no_grad():
        made[0].weight.copy_(torch.from_numpy(np.random.randn(WIDTH, 8) * 0.3))  # type: ignore[index]
    return made


def compiled() -> nn.Module:
    return torch.compile(net(), backend="eager")  # type: ignore[return-value]


def averaging_norm() -> nn.Module:
    return nn.Sequential(nn.Linear(8, WIDTH, bias=False), nn.BatchNorm1d(WIDTH, momentum=None), nn.Linear(WIDTH, CLASSES))


# ---- what is kept, beside tensors, by a module or what it holds


class Experts(nn.Module):
    """Each example goes to the likelier of two; one that nobody goes to takes no part."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 2), nn.ModuleList([net(), net()])

    def forward(self, x: Tensor) -> Tensor:
        weights = self.gate(x + 2.0).softmax(dim=1)
        chosen, outputs = weights.argmax(dim=1), x.new_zeros(len(x), CLASSES)
        for number, expert in enumerate(self.experts):
            if (own := chosen == number).any():
                outputs[own] = weights[own, number, None] * expert(x[own])
        return outputs


class Stepped(nn.Module):
    """Its outputs grow with its calls in train mode, counted by what `make` gives and `count` moves on and reads."""

    def __init__(self, make: Any, count: Any):
        super().__init__()
        self.net, self.kept, self.count = net(), make(), count

    def forward(self, x: Tensor) -> Tensor:
        calls = self.count(self.kept, int(self.training))
        return self.net(x) * (1 + min(calls, 10) / 10)  # type: ignore[no-any-return]


class Counter:
    def __init__(self) -> None:
        self.calls = 0


def in_object(kept: Any, more: int) -> int:
    kept.calls += more
    return int(kept.calls)


def in_array(kept: Any, more: int) -> int:
    kept[0] += more
    return int(kept[0])


def in_queue(kept: Any, more: int) -> int:
    kept.extend([torch.ones(1)] * more)
    return len(kept)


def in_generator(kept: random.Random, more: int) -> int:
    return kept.randrange(5) if more else 0


def hooked_by_a_closure() -> nn.Module:
    made, calls = net(), [0]

    def grow(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        calls[0] += module.training
        return (inputs[0] * (1 + min(calls[0], 10) / 10),)

    made.register_forward_pre_hook(grow)
    return made


class Auxiliary(nn.Module):
    """Layers leave a loss in a list that they share with the module."""

    class Layer(nn.Module):
        def __init__(self, left: list[Tensor]):
            super().__init__()
            self.linear, self.left = nn.Linear(8, 8), left

        def forward(self, x: Tensor) -> Tensor:
            outputs = torch.tanh(self.linear(x))
            self.left.append(outputs.square().mean())
            return outputs

    def __init__(self) -> None:
        super().__init__()
        self.left: list[Tensor] = []
        self.first, self.second, self.last = self.Layer(self.left), self.Layer(self.left), nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        self.left.clear()
        logits = self.last(self.second(self.first(x)))
        return {"logits": logits, "extra": torch.stack(self.left).sum()}


class FromData(nn.Module):
    """Takes its scale from the first batch that it sees in train mode: an attribute, or a buffer that was None."""

    def __init__(self, buffered: bool):
        super().__init__()
        self.net, self.buffered = net(), buffered
        if buffered:
            self.register_buffer("scale", None)

    def forward(self, x: Tensor) -> Tensor:
        if getattr(self, "scale", None) is None:
            self.scale = x.std(dim=0)
        return self.net(x / self.scale)  # type: ignore[no-any-return,operator]


class Taught(nn.Module):
    """An average of itself, in a plain list, teaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = net()
        self.teacher = [copy.deepcopy(self.net).requires_grad_(False)]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            taught = self.teacher[0](x).softmax(dim=1)
            if self.training:
                for own, others in zip(self.net.parameters(), self.teacher[0].parameters(), strict=True):
                    others.lerp_(own, 0.3)
        return self.net(x), taught


class SelfTrained(nn.Module):
    """Has an optimizer of its own for a part of it, and takes its steps itself."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.scale = net(), nn.Parameter(torch.ones(CLASSES), requires_grad=False)
        self.velocity = torch.zeros(CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.net(x) * self.scale.clone()
        if self.training:
            with torch.no_grad():
                self.velocity.mul_(0.9).add_(outputs.detach().mean(dim=0))
                self.scale.sub_(0.01 * self.velocity)
        return outputs  # type: ignore[no-any-return]


class WarmedUp:
    """A loss that counts its calls: a second term comes in later."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.calls += 1
        return F.cross_entropy(outputs, targets) + 0.1 * (self.calls > 4) * outputs.square().mean()


class PaddedSet(nn.Module):
    """torch's encoder with padding, whose fast path in eval mode has zeros where its layers have other numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.encoder, self.last = nn.TransformerEncoder(layer, 1), nn.Linear(WIDTH, SYMBOLS)

    def forward(self, x: Tensor) -> Tensor:
        padding = torch.arange(x.shape[1]) >= (x.shape[1] - x[:, :1] % 3)
        return self.last(self.encoder(self.embedding(x), src_key_padding_mask=padding).mean(dim=1))  # type: ignore[no-any-return]


class Augmented(Pairs):
    """Draws as it is read, by all three generators."""

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        moved = 0.1 * torch.randn(8) + 0.1 * random.random() + 0.1 * float(np.random.rand())
        return self.x[index] + moved, int(self.y[index])


def noisy_training(examples: int, seed: int) -> Any:
    return Augmented(examples, seed) if seed == 0 else Pairs(examples, seed)


def halves(examples: int, seed: int) -> DataLoader[Any]:
    """One dataset for all splits, parted by samplers."""
    start = [0, 120, 160][seed]
    return DataLoader(Pairs(201, 9), sampler=SubsetRandomSampler(range(start, start + examples)))


KINDS = {
    # what a module gives, and what it is called with
    "gives a tuple": of(lambda: Gives(lambda logits, _: (logits, None)), lambda out, y: F.cross_entropy(out[0], y)),
    "gives a dict": of(lambda: Gives(lambda logits, _: {"logits": logits}), lambda out, y: F.cross_entropy(out["logits"], y)),
    "gives an object": of(lambda: Gives(lambda logits, _: Output(logits)), lambda out, y: F.cross_entropy(out.logits, y)),
    "gives its loss": of(lambda: Gives(lambda _, loss: loss), None, with_labels),
    "gives its loss in a dict": of(lambda: Gives(lambda logits, loss: {"loss": loss, "logits": logits}), None, with_labels),
    "gives its loss in an object": of(lambda: Gives(Output), None, with_labels),
    "gives its loss first": of(lambda: Gives(lambda logits, loss: (loss, logits)), None, with_labels),
    "a batch that is a dict, and a loss of it": of(
        lambda: Gives(lambda logits, _: logits), lambda out, batch: F.cross_entropy(out, batch["labels"]), with_labels
    ),
    "several inputs": of(Two, draw=both_inputs),
    "several outputs and targets": of(Heads, of_heads, two_targets),
    # data
    "arrays in double precision": of(net, draw=arrays),
    "a dataset": of(net, draw=Pairs),
    "a dataset of tensors": of(net, draw=lambda examples, seed: TensorDataset(*vectors(examples, seed))),
    "a dataset of dicts": of(lambda: Gives(Output), None, Named),
    "a loader": of(net, draw=lambda examples, seed: DataLoader(Pairs(examples, seed), batch_size=7, shuffle=True)),
    "a loader that pads": of(
        embedded, over_tokens, lambda examples, seed: DataLoader(Sequences(examples, seed), collate_fn=padding)
    ),
    # losses
    "a loss for each example": of(net, nn.CrossEntropyLoss(reduction="none")),
    "a sum": of(net, nn.CrossEntropyLoss(reduction="sum")),
    "a sum over tokens": of(
        embedded, lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten(), reduction="sum"), padded_tokens
    ),
    "a mean over tokens": of(embedded, over_tokens, padded_tokens),
    "a mean over what is not zero": of(
        lambda: nn.Sequential(nn.Embedding(SYMBOLS, WIDTH), nn.Linear(WIDTH, SYMBOLS + 1)),
        lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten(), ignore_index=0),
        zero_ignored,
    ),
    "a mean over what a mask marks": of(Masked, None, masked_tokens),
    "a mean over shifted tokens": of(Shifted, None, shifted_tokens),
    "weights of classes": of(net, nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.0, 3.0, 0.5]))),
    "weights of classes in a function": of(
        net,
        lambda out, y: F.cross_entropy(out, y, weight=torch.tensor([0.2, 1.0, 3.0, 0.5])),
        counts=lambda x, y: torch.tensor([0.2, 1.0, 3.0, 0.5])[y],
    ),
    "smoothed labels": of(net, nn.CrossEntropyLoss(label_smoothing=0.2)),
    "a loss with a parameter": of(net, Tempered()),
    "a loss of a batch as a whole": of(net, contrastive),
    "a loss below zero": of(lambda: net(2), density, numbers, loss_may_be_negative=True),
    "squares": of(lambda: net(1), one_number, numbers, loss_unit=""),
    "two classes": of(lambda: net(1), nn.BCEWithLogitsLoss(), two_classes),
    "a loss of log probabilities": of(net, negative_log),
    "a loss that draws": of(net, noisy),
    "a loss that draws by NumPy": of(net, numpy_noisy),
    "a loss that draws by Python": of(net, python_noisy),
    # modules
    "lazy layers": of(lambda: nn.Sequential(nn.LazyLinear(WIDTH), nn.LazyBatchNorm1d(), nn.Tanh(), nn.LazyLinear(CLASSES))),
    "complex weights": of(Complex),
    "an orthogonal weight": of(Orthogonal),
    "a symmetric weight": of(symmetric),
    "a spectral norm": of(
        lambda: nn.Sequential(parametrizations.spectral_norm(nn.Linear(8, WIDTH)), nn.Tanh(), nn.Linear(WIDTH, CLASSES))
    ),
    "weights normed by hooks": of(
        lambda: nn.Sequential(older_weight_norm(nn.Linear(8, WIDTH)), nn.Tanh(), nn.Linear(WIDTH, CLASSES))
    ),
    "an average of weights": of(Averaged),
    "parameters in lists and dicts": of(Dictionaries),
    "layers that are dropped": of(Deep),
    "rounded activations": of(Quantized),
    "a buffer that counts": of(Counted),
    "a layer that joins late": of(Unfreezes),
    "outputs kept in a dict": of(Memory),
    "torch's transformer": of(Pointwise),
    "a GRU": of(Gated, each_token, tokens),
    "bags of embeddings": of(Bag, draw=next_symbol),
    "a part of a storage": of(sliced),
    "a frozen bias": of(frozen_bias),
    "gradients cut by hooks": of(clipped),
    "convolutions upwards, in place": of(upsampled, draw=images),
    "a start from NumPy": of(initialized_by_numpy),
    "compiled": of(compiled),
    "a norm without momentum": of(averaging_norm),
    "dropout of channels": of(lambda: layers(nn.AlphaDropout(0.3))),
    "tied weights": of(Tied, each_token, tokens),
    # what is kept beside tensors
    "experts, some idle": of(Experts),
    "counts in an object": of(lambda: Stepped(Counter, in_object)),
    "a symmetric weight, and counts": of(lambda: nn.Sequential(symmetric_square(), Stepped(Counter, in_object))),
    "counts in an array": of(lambda: Stepped(lambda: np.zeros(1, dtype=np.int64), in_array)),
    "counts in a queue": of(lambda: Stepped(deque, in_queue)),
    "a generator of its own": of(lambda: Stepped(lambda: random.Random(3), in_generator)),
    "a hook with a closure": of(hooked_by_a_closure),
    "losses in a shared list": of(Auxiliary, lambda out, y: F.cross_entropy(out["logits"], y) + out["extra"]),
    "a scale from the first batch": of(lambda: FromData(False)),
    "a buffer from the first batch": of(lambda: FromData(True)),
    "a teacher in a list": of(Taught, lambda out, y: F.cross_entropy(out[0], y) + F.mse_loss(out[0].softmax(1), out[1])),
    "a part that trains itself": of(SelfTrained),
    "scripted": of(lambda: torch.jit.script(net())),
    "made in eval mode": of(lambda: layers(nn.Dropout(0.4)).eval()),
    "padding and torch's fast path": of(PaddedSet, draw=next_symbol),
    "a loss that counts": of(net, WarmedUp()),
    "examples that are drawn again": of(net, draw=noisy_training),
    "a loader's sampler": of(net, draw=halves),
    "rare draws": of(lambda: layers(nn.Identity()), python_noisy, packed=False),
    "one start": of(lambda: torch.manual_seed(3) and net(), one_start=True),
}
