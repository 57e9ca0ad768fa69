"""Losses, batches, data and modules of every kind that people bring along, each a workload."""

import copy
import random
from collections.abc import Callable
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
from tests.harness.train.own_workloads import (
    CLASSES,
    SYMBOLS,
    WIDTH,
    Made,
    Pair,
    each_token,
    embedded,
    images,
    layers,
    linear,
    made,
    net,
    over_tokens,
    padded_tokens,
    recomputing,
    tied,
    tokens,
    vectors,
)

SIZES = {"training": 120, "validation": 40, "test": 41}
cross_entropy = F.cross_entropy


def of(module: Any, loss: Any = cross_entropy, draw: Any = vectors, **more: Any) -> OwnWorkload:
    """Named by the table below."""
    drawn = {split: draw(size, seed) for seed, (split, size) in enumerate(SIZES.items())}
    return OwnWorkload("own", module, loss, **drawn, **more)


# ---- what a module gives


@dataclass
class Output:
    logits: Tensor
    loss: Tensor | None = None


def gives(wrap: Callable[[Tensor, Tensor | None], Any]) -> Callable[[], nn.Module]:
    """A network whose outputs are given in this way."""

    def call(module: Any, x: Tensor, labels: Tensor | None = None) -> Any:
        logits = module.net(x)
        return wrap(logits, None if labels is None else F.cross_entropy(logits, labels))

    return made(call, net=net)


def with_labels(examples: int, seed: int) -> dict[str, Tensor]:
    x, y = vectors(examples, seed)
    return {"x": x, "labels": y}


def both_inputs(examples: int, seed: int) -> tuple[Pair, Tensor]:
    """One argument after the other, and a target."""
    x, y = vectors(examples, seed)
    return (x[:, :4], x[:, 4:]), y


def two_targets(examples: int, seed: int) -> tuple[Tensor, dict[str, Tensor]]:
    x, y = vectors(examples, seed)
    return x, {"label": y, "size": x.square().sum(1, keepdim=True)}


def heads(module: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = torch.tanh(module.trunk(x))
    return module.label(h), module.size(h)


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

    def __getitem__(self, index: int) -> Any:
        return self.x[index], int(self.y[index])


class Sequences(Pairs):
    """Examples of unlike lengths."""

    def __init__(self, examples: int, seed: int):
        self.x, self.y = padded_tokens(examples, seed)

    def __getitem__(self, index: int) -> Pair:
        kept = self.y[index] != -100
        return self.x[index][kept], self.y[index][kept]


class Named(Pairs):
    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"x": self.x[index], "labels": self.y[index]}


class Augmented(Pairs):
    """Draws as it is read, by all three generators."""

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        moved = 0.1 * torch.randn(8) + 0.1 * random.random() + 0.1 * float(np.random.rand())
        return self.x[index] + moved, int(self.y[index])


def padding(items: list[Pair]) -> Pair:
    """As long as the longest of the batch."""
    pad = nn.utils.rnn.pad_sequence
    return pad([x for x, _ in items], batch_first=True), pad([y for _, y in items], batch_first=True, padding_value=-100)


def noisy_training(examples: int, seed: int) -> Any:
    return Augmented(examples, seed) if seed == 0 else Pairs(examples, seed)


def halves(examples: int, seed: int) -> DataLoader[Any]:
    """One dataset for all splits, parted by samplers."""
    start = [0, 120, 160][seed]
    return DataLoader(Pairs(201, 9), sampler=SubsetRandomSampler(range(start, start + examples)))


def next_symbol(examples: int, seed: int) -> Pair:
    x, y = tokens(examples, seed)
    return x, y[:, -1]


def numbers(examples: int, seed: int) -> Pair:
    x, _ = vectors(examples, seed)
    return x, x[:, 0] - 0.5 * x[:, 1]


# ---- losses


def masked_tokens(examples: int, seed: int) -> dict[str, Tensor]:
    x, y = padded_tokens(examples, seed)
    return {"input_ids": x, "attention_mask": (y != -100).long(), "labels": y.clamp(min=0)}


def masked(module: Any, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
    logits = module.net(input_ids)
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none") * attention_mask
    return {"loss": losses.sum() / attention_mask.sum(), "logits": logits}


def shifted(module: Any, input_ids: Tensor, labels: Tensor) -> Output:
    """A language model as libraries have them: labels are shifted inside."""
    logits = module.net(input_ids)
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


def one_number(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.mse_loss(outputs.squeeze(1), targets)


def noisy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs + 0.3 * torch.randn_like(outputs), targets)


def numpy_noisy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs * float(np.random.uniform(0.5, 1.5)), targets)


def python_noisy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs * random.uniform(0.5, 1.5), targets)


class WarmedUp:
    """A loss that counts its calls: a second term comes in later."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.calls += 1
        return F.cross_entropy(outputs, targets) + 0.1 * (self.calls > 4) * outputs.square().mean()


# ---- modules


def attention() -> nn.Module:
    """A causal transformer block by torch's scaled_dot_product_attention."""

    def call(m: Any, x: Tensor) -> Tensor:
        h = m.embedding(x) + m.position
        q, k, v = (heads.unflatten(2, (2, -1)).transpose(1, 2) for heads in m.qkv(m.norm(h)).chunk(3, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=m.mask).transpose(1, 2).flatten(2)
        return m.readout(h + mixed)  # type: ignore[no-any-return]

    return Made(
        call,
        position=nn.Parameter(0.1 * torch.randn(9, WIDTH)),
        embedding=nn.Embedding(SYMBOLS, WIDTH),
        norm=nn.LayerNorm(WIDTH),
        qkv=nn.Linear(WIDTH, 3 * WIDTH),
        readout=nn.Linear(WIDTH, SYMBOLS),
        mask=nn.Buffer(nn.Transformer.generate_square_subsequent_mask(9)),
    )


class Symmetric(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.triu() + weight.triu(1).t()


def symmetric(size: int = WIDTH) -> nn.Module:
    layer = nn.Linear(size, size)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    return layer


def dictionaries() -> nn.Module:
    """Parameters in a list, a dict and a tensor of their own; a layer that is used twice."""
    return Made(
        lambda m, x: m.scale * (m.again(m.again(torch.tanh(x @ m.list[0]))) @ m.dict["out"]),
        list=nn.ParameterList([nn.Parameter(0.3 * torch.randn(8, WIDTH))]),
        dict=nn.ParameterDict({"out": nn.Parameter(0.3 * torch.randn(WIDTH, CLASSES))}),
        again=nn.Linear(WIDTH, WIDTH),
        scale=nn.Parameter(torch.tensor(1.0)),
    )


class Reversed(torch.autograd.Function):
    """A backward pass of its own that reads the weight from the module."""

    @staticmethod
    def forward(context, x, layer):  # type: ignore[no-untyped-def]
        context.layer = layer
        return x @ layer.weight.detach().t()

    @staticmethod
    def backward(context, gradient):  # type: ignore[no-untyped-def]
        return gradient @ context.layer.weight.detach(), None


def reversing(module: Any, x: Tensor) -> Tensor:
    h = torch.tanh(module.first(x))
    return module.last(h + Reversed.apply(h, module.second) + module.second(h))  # type: ignore[no-any-return]


def counting(module: Any, x: Tensor) -> Tensor:
    """Counts its calls in a buffer that is not saved, and warms its own scale up by it."""
    if module.training:
        module.calls += 1
    return module.net(x) * (1 + module.calls.clamp(max=10) / 10)  # type: ignore[no-any-return]


def counter() -> nn.Buffer:
    return nn.Buffer(torch.zeros((), dtype=torch.int64), persistent=False)


def encoder_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0, batch_first=True)


def sliced() -> nn.Module:
    """A parameter that is a part of a larger storage."""
    module = net()
    whole = torch.randn(3 * WIDTH, 8) * 0.3
    module[0].weight = nn.Parameter(whole[WIDTH : 2 * WIDTH])  # type: ignore[index]
    return module


def _halve(parameter: Tensor) -> None:
    assert parameter.grad is not None
    parameter.grad *= 0.5


def hooked(where: str) -> Callable[[], nn.Module]:
    """A network whose gradients are changed by a hook of a weight, of what is accumulated, or of a module."""

    def factory() -> nn.Module:
        module: Any = net()
        if where == "weight":
            module[0].weight.register_hook(lambda gradient: (3.0 * gradient).clamp(-0.1, 0.1))
        elif where == "accumulated":
            module[2].weight.register_post_accumulate_grad_hook(_halve)
        else:
            module[1].register_full_backward_hook(lambda module, inner, outer: (2.0 * inner[0],))
        return module  # type: ignore[no-any-return]

    return factory


def upsampled() -> nn.Module:
    down = (nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(inplace=True), nn.ConvTranspose2d(4, 2, 2, stride=2))
    return nn.Sequential(*down, nn.InstanceNorm2d(2, affine=True), nn.Flatten(), nn.Linear(128, CLASSES))


def initialized_by_numpy() -> nn.Module:
    module = net()
    with torch.no_grad():
        module[0].weight.copy_(torch.from_numpy(np.random.randn(WIDTH, 8) * 0.3))  # type: ignore[index]
    return module


class Adapted(nn.Module):
    """A low-rank update that is merged into its frozen weight in eval mode."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Linear(8, WIDTH).requires_grad_(False)
        self.up, self.down = nn.Parameter(0.1 * torch.randn(WIDTH, 2)), nn.Parameter(torch.randn(2, 8))
        self.last, self.merged = nn.Linear(WIDTH, CLASSES), False

    def train(self, mode: bool = True) -> "Adapted":
        super().train(mode)
        if mode == self.merged:
            self.frozen.weight.data += (-1.0 if mode else 1.0) * (self.up @ self.down).detach()
            self.merged = not mode
        return self

    def forward(self, x: Tensor) -> Tensor:
        h = self.frozen(x)
        return self.last(torch.tanh(h if self.merged else h + x @ self.down.t() @ self.up.t()))  # type: ignore[no-any-return]


def backbone() -> nn.Sequential:
    module = nn.Sequential(nn.Linear(8, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU(), nn.Dropout(0.9))
    module[1].running_var.fill_(4.0)  # type: ignore[operator,union-attr]
    return module.requires_grad_(False).eval()


class Kept(nn.Sequential):
    def train(self, mode: bool = True) -> "Kept":
        super().train(mode)
        self[0].eval()
        return self


# ---- what is kept, beside tensors, by a module or what it holds


def expert(module: Any, x: Tensor) -> Tensor:
    """Each example goes to the likelier of two; one that nobody goes to takes no part."""
    weights = module.gate(x + 2.0).softmax(dim=1)
    chosen, outputs = weights.argmax(dim=1), x.new_zeros(len(x), CLASSES)
    for number, network in enumerate(module.experts):
        if (own := chosen == number).any():
            outputs[own] = weights[own, number, None] * network(x[own])
    return outputs


class Counter:
    def __init__(self) -> None:
        self.calls = 0


def stepped(make: Callable[[], Any], count: Callable[[Any, int], int]) -> Callable[[], nn.Module]:
    """Its outputs grow with its calls in train mode, counted by what `make` gives and `count` moves on and reads."""
    return made(
        lambda m, x: m.net(x) * (1 + min(count(m.kept, int(m.training)), 10) / 10),
        net=net,
        kept=make,
    )


def in_object(kept: Any, more: int) -> int:
    kept.calls += more
    return int(kept.calls)


def in_generator(kept: random.Random, more: int) -> int:
    return kept.randrange(5) if more else 0


def hooked_by_a_closure() -> nn.Module:
    module, calls = net(), [0]

    def grow(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        calls[0] += module.training
        return (inputs[0] * (1 + min(calls[0], 10) / 10),)

    module.register_forward_pre_hook(grow)
    return module


def leaving(layer: Any, x: Tensor) -> Tensor:
    outputs = torch.tanh(layer.linear(x))
    layer.left.append(outputs.square().mean())
    return outputs


def auxiliary(module: Any, x: Tensor) -> dict[str, Tensor]:
    """Layers leave a loss in a list that they share with the module."""
    module.left.clear()
    logits = module.last(module.second(module.first(x)))
    return {"logits": logits, "extra": torch.stack(module.left).sum()}


def with_auxiliary() -> nn.Module:
    penalties: list[Tensor] = []
    first, second = (Made(leaving, linear=nn.Linear(8, 8), left=penalties) for _ in range(2))
    return Made(auxiliary, left=penalties, first=first, second=second, last=nn.Linear(8, CLASSES))


def scaled_by_data(module: Any, x: Tensor) -> Tensor:
    """Takes its scale from the first batch that it sees in train mode: an attribute, or a buffer that was None."""
    if getattr(module, "scale", None) is None:
        module.scale = x.std(dim=0)
    return module.net(x / module.scale)  # type: ignore[no-any-return]


def with_empty_buffer() -> nn.Module:
    module = Made(scaled_by_data, net=net())
    module.register_buffer("scale", None)
    return module


def teaching(module: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """An average of itself, in a plain list, teaches it."""
    with torch.no_grad():
        taught = module.teacher[0](x).softmax(dim=1)
        if module.training:
            for own, others in zip(module.net.parameters(), module.teacher[0].parameters(), strict=True):
                others.lerp_(own, 0.3)
    return module.net(x), taught


def taught() -> nn.Module:
    pupil = net()
    return Made(teaching, net=pupil, teacher=[copy.deepcopy(pupil).requires_grad_(False)])


def padded_set(module: Any, x: Tensor) -> Tensor:
    """torch's encoder with padding, whose fast path in eval mode has zeros where its layers have other numbers."""
    padded = torch.arange(x.shape[1]) >= (x.shape[1] - x[:, :1] % 3)
    return module.last(module.encoder(module.embedding(x), src_key_padding_mask=padded).mean(dim=1))  # type: ignore[no-any-return]


def with_lstm() -> nn.Module:
    return Made(
        lambda m, x: m.readout(m.lstm(m.embedding(x))[0]),
        embedding=nn.Embedding(SYMBOLS, WIDTH),
        lstm=nn.LSTM(WIDTH, WIDTH, batch_first=True),
        readout=nn.Linear(WIDTH, SYMBOLS),
    )


def remembering(module: Any, x: Tensor) -> Tensor:
    """Puts a new tensor in its buffer's place."""
    if module.training:
        module.mean = 0.9 * module.mean + 0.1 * x.mean(dim=0)
    return module.layer(x - module.mean)  # type: ignore[no-any-return]


def with_a_list() -> nn.Module:
    """A weight that is used from a list."""
    made = Made(
        lambda m, x: m.b(torch.tanh(F.linear(x, m.hidden[0], m.a.bias))), a=nn.Linear(8, WIDTH), b=nn.Linear(WIDTH, CLASSES)
    )
    made.hidden = [made.a.weight]
    return made


def annealing(module: Any, x: Tensor) -> Tensor:
    module.calls += module.training
    return module.net(x) / max(0.2, 1.0 - module.calls / 150)  # type: ignore[no-any-return]


def carrying(module: Any, x: Tensor) -> Tensor:
    """A tensor that is no buffer, and a counter with an underscore."""
    outputs = module.net(x) - module.mean + 0.01 * module._calls
    if module.training:
        module.mean, module._calls = 0.9 * module.mean + 0.1 * outputs.detach().mean(dim=0), module._calls + 1
    return outputs  # type: ignore[no-any-return]


CLASS_WEIGHTS = torch.tensor([0.2, 1.0, 3.0, 0.5])


def frozen_bias() -> nn.Module:
    made = net()
    made[0].bias.requires_grad_(False)  # type: ignore[index, union-attr]
    return made


# Lanes of these share a program.
PACKED = {
    # what a module gives, and what it is called with
    "gives an object": of(gives(lambda logits, _: Output(logits)), lambda out, y: F.cross_entropy(out.logits, y)),
    "gives its loss": of(gives(lambda _, loss: loss), None, with_labels),
    "gives its loss in a dict": of(gives(lambda logits, loss: {"loss": loss, "logits": logits}), None, with_labels),
    "gives its loss in an object": of(gives(Output), None, with_labels),
    "gives its loss first": of(gives(lambda logits, loss: (loss, logits)), None, with_labels),
    "a batch that is a dict, and a loss of it": of(
        gives(lambda logits, _: logits), lambda out, batch: F.cross_entropy(out, batch["labels"]), with_labels
    ),
    "several inputs": of(
        made(lambda m, left, right: m.left(left) * m.right(right) + m.left(left), left=linear(4), right=linear(4)),
        draw=both_inputs,
    ),
    "several outputs and targets": of(
        made(heads, trunk=linear(8, WIDTH), label=linear(WIDTH), size=linear(WIDTH, 1)), of_heads, two_targets
    ),
    # data
    "arrays in double precision": of(net, draw=arrays),
    "a dataset of tensors": of(net, draw=lambda examples, seed: TensorDataset(*vectors(examples, seed))),
    "a dataset of dicts": of(gives(Output), None, Named),
    "a loader": of(net, draw=lambda examples, seed: DataLoader(Pairs(examples, seed), batch_size=7, shuffle=True)),
    "examples that are drawn again": of(net, draw=noisy_training),
    "a loader's sampler": of(net, draw=halves),
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
    "a mean over what a mask marks": of(made(masked, net=embedded), None, masked_tokens),
    "a mean over shifted tokens": of(made(shifted, net=embedded), None, shifted_tokens),
    "weights of classes": of(net, nn.CrossEntropyLoss(weight=CLASS_WEIGHTS)),
    "weights of classes in a function": of(
        net, lambda out, y: F.cross_entropy(out, y, weight=CLASS_WEIGHTS), counts=lambda x, y: CLASS_WEIGHTS[y]
    ),
    "a loss with a parameter": of(net, Tempered()),
    "a loss of a batch as a whole": of(net, contrastive),
    "a loss below zero": of(lambda: net(2), density, numbers, loss_may_be_negative=True),
    "squares": of(lambda: net(1), one_number, numbers, loss_unit=""),
    # modules
    "complex weights behind an odd number": of(
        made(
            lambda m, x: (x.to(torch.complex64) @ m.weight + m.bias).abs() * m.scale.sum() + m.shift,
            scale=lambda: nn.Parameter(torch.rand(3)),
            weight=lambda: nn.Parameter(0.3 * torch.randn(8, CLASSES, dtype=torch.complex64)),
            shift=lambda: nn.Parameter(torch.randn(1)),
            bias=lambda: nn.Parameter(0.3 * torch.randn(CLASSES, dtype=torch.complex64)),
        )
    ),
    "an orthogonal weight": of(
        lambda: nn.Sequential(parametrizations.orthogonal(nn.Linear(8, 8)), nn.Tanh(), nn.Linear(8, CLASSES))
    ),
    "parameters in lists and dicts": of(dictionaries),
    "torch's transformer": of(
        made(
            lambda m, x: m.last(m.layer(m.lift(x[..., None])).mean(dim=1)),
            lift=linear(1, WIDTH),
            layer=encoder_layer,
            last=linear(WIDTH),
        )
    ),
    "a part of a storage": of(sliced),
    "a frozen bias": of(frozen_bias),
    "convolutions upwards, in place": of(upsampled, draw=images),
    "a start from NumPy": of(initialized_by_numpy),
    "compiled": of(lambda: torch.compile(net(), backend="eager")),
    "tied weights": of(tied, each_token, tokens),
    "a backbone kept in eval mode": of(lambda: Kept(backbone(), nn.Linear(WIDTH, CLASSES))),
    # what is kept beside tensors
    "one start": of(lambda: torch.manual_seed(3) and net(), one_start=True),
}
# Kinds whose lanes are each a module by itself.
APART = {
    # data
    "a loader that pads": of(
        embedded, over_tokens, lambda examples, seed: DataLoader(Sequences(examples, seed), collate_fn=padding)
    ),
    # losses
    "a loss that draws": of(net, noisy),
    "a loss that draws by NumPy": of(net, numpy_noisy),
    "a loss that draws by Python": of(net, python_noisy),
    "rare draws": of(lambda: layers(nn.Identity()), python_noisy, packed=False),
    "a loss that counts": of(net, WarmedUp()),
    # modules
    "lstm": of(with_lstm, each_token, tokens),
    "calls .item()": of(made(lambda m, x: m.layer(x / x.abs().max().item()), layer=linear(8))),
    "branches on its data": of(made(lambda m, x: m.layer(x if x.sum() > 0 else -x), layer=linear(8))),
    "recomputed": of(lambda: recomputing(False)),
    "a weight in a list": of(with_a_list),
    "a layer that is frozen and one that is not seen": of(
        made(
            lambda m, x: m.readout(torch.tanh(m.frozen(x))),
            frozen=lambda: nn.Linear(8, WIDTH).requires_grad_(False),
            unseen=linear(8, 8),
            readout=linear(WIDTH),
        )
    ),
    "lazy layers": of(lambda: nn.Sequential(nn.LazyLinear(WIDTH), nn.LazyBatchNorm1d(), nn.Tanh(), nn.LazyLinear(CLASSES))),
    "weights normed by hooks": of(
        lambda: nn.Sequential(older_weight_norm(nn.Linear(8, WIDTH)), nn.Tanh(), nn.Linear(WIDTH, CLASSES))
    ),
    "a backward pass of its own": of(made(reversing, first=linear(8, WIDTH), second=linear(WIDTH, WIDTH), last=linear(WIDTH))),
    "recomputed, reentrant": of(lambda: recomputing(True)),
    "a buffer that counts": of(made(counting, net=net, calls=counter)),
    "a hook of a weight": of(hooked("weight")),
    "a hook after accumulation": of(hooked("accumulated")),
    "a hook of a module": of(hooked("module")),
    "a norm without momentum": of(
        lambda: nn.Sequential(nn.Linear(8, WIDTH, bias=False), nn.BatchNorm1d(WIDTH, momentum=None), nn.Linear(WIDTH, CLASSES))
    ),
    "dropout of channels": of(lambda: layers(nn.AlphaDropout(0.3))),
    "adapted by ranks": of(Adapted),
    # what is kept beside tensors
    "replaces a buffer": of(made(remembering, layer=linear(8), mean=lambda: nn.Buffer(torch.zeros(8)))),
    "a counter": of(made(annealing, net=net, calls=int)),
    "a tensor that is no buffer": of(made(carrying, net=linear(8), mean=lambda: torch.zeros(CLASSES), _calls=int)),
    "experts, some idle": of(made(expert, gate=linear(8, 2), experts=lambda: nn.ModuleList([net(), net()]))),
    "a symmetric weight, and counts": of(lambda: nn.Sequential(symmetric(8), stepped(Counter, in_object)())),
    "a generator of its own": of(stepped(lambda: random.Random(3), in_generator)),
    "a hook with a closure": of(hooked_by_a_closure),
    "losses in a shared list": of(with_auxiliary, lambda out, y: F.cross_entropy(out["logits"], y) + out["extra"]),
    "a buffer from the first batch": of(with_empty_buffer),
    "a teacher in a list": of(taught, lambda out, y: F.cross_entropy(out[0], y) + F.mse_loss(out[0].softmax(1), out[1])),
    "scripted": of(lambda: torch.jit.script(net())),
    "made in eval mode": of(lambda: layers(nn.Dropout(0.4)).eval()),
    "padding and torch's fast path": of(
        made(
            padded_set,
            embedding=lambda: nn.Embedding(SYMBOLS, WIDTH),
            encoder=lambda: nn.TransformerEncoder(encoder_layer(), 1),
            last=linear(WIDTH, SYMBOLS),
        ),
        draw=next_symbol,
    ),
}
KINDS = PACKED | APART
# Words about some of them.
REASONS = {
    "a norm without momentum": "it changes 1.running_mean, 1.running_var, 1.num_batches_tracked as it trains",
    "replaces a buffer": "it changes mean as it trains",
    "a counter": "it changes calls as it trains",
    "a tensor that is no buffer": "it changes _calls, mean as it trains",
    "dropout of channels": "it draws random numbers as it trains (dropout and its like)",
    "a loader that pads": "its loader puts batches together by itself",
    "rare draws": "the workload says packed=False",
    "lstm": "torch's vmap has no rule for aten::lstm",
    "calls .item()": "it calls .item()",
    "branches on its data": "its control flow depends on its data",
    "recomputed": "its backward pass computes again (activation checkpointing)",
    "a weight in a list": "some of its parameters take no part in its loss",
    "a layer that is frozen and one that is not seen": "some of its parameters take no part in its loss",
}
