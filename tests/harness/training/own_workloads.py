"""Workloads as users write them: some can be packed, some cannot."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.checkpoint import checkpoint

from folklore.harness import OwnWorkload

CLASSES, SYMBOLS, WIDTH = 4, 11, 16
Pair = tuple[Tensor, Tensor]


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


def own(name: str, module, draw=vectors, loss=F.cross_entropy) -> OwnWorkload:  # type: ignore[no-untyped-def]
    return OwnWorkload(name, module, loss, draw(300, 0), draw(80, 1), draw(80, 2))


def each_token(outputs: Tensor, targets: Tensor) -> Tensor:
    """A loss for each sequence, [B]."""
    return F.cross_entropy(outputs.transpose(1, 2), targets, reduction="none").mean(dim=1)


class Attention(nn.Module):
    """A causal transformer block by nn.MultiheadAttention, or by torch's scaled_dot_product_attention."""

    def __init__(self, multihead: bool):
        super().__init__()
        self.position = nn.Parameter(0.1 * torch.randn(9, WIDTH))
        self.embedding = nn.Embedding(SYMBOLS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.multihead = nn.MultiheadAttention(WIDTH, 2, batch_first=True) if multihead else None
        self.qkv = None if multihead else nn.Linear(WIDTH, 3 * WIDTH)
        self.readout = nn.Linear(WIDTH, SYMBOLS)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(9))

    def forward(self, x: Tensor) -> Tensor:
        h = self.embedding(x) + self.position
        normal = self.norm(h)
        if self.multihead is not None:
            mixed, _ = self.multihead(normal, normal, normal, attn_mask=self.mask, is_causal=True, need_weights=False)
        else:
            assert self.qkv is not None
            q, k, v = (each.unflatten(2, (2, -1)).transpose(1, 2) for each in self.qkv(normal).chunk(3, dim=2))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.readout(h + mixed)


class Tied(nn.Module):
    """The readout is the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.readout = nn.Embedding(SYMBOLS, WIDTH), nn.Linear(WIDTH, SYMBOLS, bias=False)
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.readout.weight = self.embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.readout(torch.relu(self.hidden(self.embedding(x))))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(SYMBOLS, WIDTH), nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.readout = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, x: Tensor) -> Tensor:
        return self.readout(self.lstm(self.embedding(x))[0])


class Partial(nn.Module):
    """A layer that is not trained, one that the loss does not see, and one that is."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen, self.unseen, self.readout = nn.Linear(8, WIDTH), nn.Linear(8, 8), nn.Linear(WIDTH, CLASSES)
        self.frozen.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.readout(torch.tanh(self.frozen(x)))


class Calls(nn.Module):
    """Scales by a number that it takes out of a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x / x.abs().max().item())


class Branches(Calls):
    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) if x.sum() > 0 else self.layer(-x)


class Remembers(Calls):
    """Puts a new tensor in its buffer's place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(dim=0)
        return self.layer(x - self.mean)


def layers(*between: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(8, WIDTH), *between, nn.ReLU(), nn.Linear(WIDTH, CLASSES))


def normalized() -> nn.Module:
    """Without a bias before the norm: its gradient would be rounding alone, which Adam makes steps of."""
    return nn.Sequential(nn.Linear(8, WIDTH, bias=False), nn.BatchNorm1d(WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))


def convolutions() -> nn.Module:
    first = (nn.Conv2d(1, 8, 3, padding=1, stride=2), nn.GroupNorm(2, 8), nn.ReLU())
    return nn.Sequential(*first, nn.Conv2d(8, 8, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, CLASSES))


perceptron = own("perceptron", layers)
convolutional = own("convolutional", convolutions, images)
multihead = own("multihead", lambda: Attention(True), tokens, each_token)
scaled_dot_product = own("scaled dot product", lambda: Attention(False), tokens, each_token)
tied = own("tied", Tied, tokens, each_token)
partial = own("partial", Partial)
batch_norm = own("batch norm", normalized)
dropout = own("dropout", lambda: layers(nn.Dropout(0.2)))
recurrent = own("recurrent", Recurrent, tokens, each_token)
calls_item = own("calls item", Calls)
branches = own("branches", Branches)
remembers = own("remembers", Remembers)


# ---- modules that are more than functional_call makes of them: right where each is called by itself


class Recomputed(nn.Module):
    """Activations are computed again in the backward pass, in either of torch's ways."""

    def __init__(self, reentrant: bool):
        super().__init__()
        self.reentrant = reentrant
        self.first, self.block = nn.Linear(8, WIDTH), nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
        self.last = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(checkpoint(self.block, torch.tanh(self.first(x)), use_reentrant=self.reentrant))  # type: ignore[no-any-return]


class Reversed(torch.autograd.Function):
    """A backward pass of its own that reads the weight from the module."""

    @staticmethod
    def forward(context, x, layer):  # type: ignore[no-untyped-def]
        context.layer = layer
        return x @ layer.weight.detach().t()

    @staticmethod
    def backward(context, gradient):  # type: ignore[no-untyped-def]
        return gradient @ context.layer.weight.detach(), None


class OwnBackward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(8, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.first(x))
        return self.last(h + Reversed.apply(h, self.second) + self.second(h))  # type: ignore[no-any-return]


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.hidden = [self.a.weight]

    def forward(self, x: Tensor) -> Tensor:
        return self.b(torch.tanh(F.linear(x, self.hidden[0], self.a.bias)))  # type: ignore[no-any-return]


class Annealed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net, self.calls = nn.Sequential(nn.Linear(8, WIDTH), nn.Tanh(), nn.Linear(WIDTH, CLASSES)), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += self.training
        return self.net(x) / max(0.2, 1.0 - self.calls / 150)  # type: ignore[no-any-return]


class Carried(nn.Module):
    """A tensor that is no buffer, and a counter with an underscore."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.mean, self._calls = nn.Linear(8, CLASSES), torch.zeros(CLASSES), 0

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.net(x) - self.mean + 0.01 * self._calls
        if self.training:
            self.mean, self._calls = 0.9 * self.mean + 0.1 * outputs.detach().mean(dim=0), self._calls + 1
        return outputs  # type: ignore[no-any-return]


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


def _backbone() -> nn.Sequential:
    made = nn.Sequential(nn.Linear(8, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU(), nn.Dropout(0.9))
    made[1].running_var.fill_(4.0)  # type: ignore[operator,union-attr]
    return made.requires_grad_(False).eval()


class Kept(nn.Sequential):
    def train(self, mode: bool = True) -> "Kept":
        super().train(mode)
        self[0].eval()
        return self


def _hooked() -> nn.Module:
    made = nn.Sequential(nn.Linear(8, WIDTH), nn.Tanh(), nn.Linear(WIDTH, CLASSES))
    made[0].weight.register_hook(lambda gradient: 3.0 * gradient)
    return made


def _halve(parameter: Tensor) -> None:
    assert parameter.grad is not None
    parameter.grad *= 0.5


def _hooked_after() -> nn.Module:
    made = nn.Sequential(nn.Linear(8, WIDTH), nn.Tanh(), nn.Linear(WIDTH, CLASSES))
    made[2].weight.register_post_accumulate_grad_hook(_halve)
    return made


def _hooked_module() -> nn.Module:
    made = nn.Sequential(nn.Linear(8, WIDTH), nn.Tanh(), nn.Linear(WIDTH, CLASSES))
    made[1].register_full_backward_hook(lambda module, inner, outer: (2.0 * inner[0],))
    return made


recomputed = own("recomputed", lambda: Recomputed(False))
recomputed_reentrant = own("recomputed_reentrant", lambda: Recomputed(True))
own_backward = own("own_backward", OwnBackward)
listed = own("listed", Listed)
annealed = own("annealed", Annealed)
carried = own("carried", Carried)
adapted = own("adapted", Adapted)
eval_backbone = own("eval_backbone", lambda: nn.Sequential(_backbone(), nn.Linear(WIDTH, CLASSES)))
kept_backbone = own("kept_backbone", lambda: Kept(_backbone(), nn.Linear(WIDTH, CLASSES)))
hooked = own("hooked", _hooked)
hooked_after = own("hooked_after", _hooked_after)
hooked_module = own("hooked_module", _hooked_module)
weight_normed = own(
    "weight_normed", lambda: nn.Sequential(weight_norm(nn.Linear(8, WIDTH)), nn.Tanh(), nn.Linear(WIDTH, CLASSES))
)


def _embedded(sparse: bool) -> nn.Module:
    return nn.Sequential(nn.Embedding(SYMBOLS, WIDTH, sparse=sparse), nn.Linear(WIDTH, SYMBOLS))


sparse = own("sparse", lambda: _embedded(True), tokens, each_token)
dense = own("dense", lambda: _embedded(False), tokens, each_token)
summed = own("summed", lambda: nn.Linear(8, CLASSES), loss=nn.CrossEntropyLoss(reduction="sum"))
averaged = own("averaged", lambda: nn.Linear(8, CLASSES), loss=nn.CrossEntropyLoss(reduction="mean"))
apart = own("apart", lambda: nn.Linear(8, CLASSES), loss=nn.CrossEntropyLoss(reduction="none"))


def padded_tokens(examples: int, seed: int) -> Pair:
    """As tokens, the longest first, padded with 0 and, in the targets, -100."""
    x, y = tokens(examples, seed)
    length = torch.randint(2, 10, (examples,), generator=torch.Generator().manual_seed(seed + 9))
    padding = torch.arange(9) >= length.sort(descending=True).values[:, None]
    return x.masked_fill(padding, 0), y.masked_fill(padding, -100)


def over_tokens(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean over all that are not padding, as torch has it."""
    return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())


padded = own("padded", Tied, padded_tokens, over_tokens)
