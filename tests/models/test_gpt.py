"""The packed GPT against one written with torch.nn, lane by lane."""

import math

import pytest
import torch
from torch import nn

from folklore.models import GPT, View
from tests.models.layout import as_in_torch

VOCABULARY, CONTEXT, WIDTH, DEPTH, HEADS, LANES, BATCH = 11, 12, 16, 2, 4, 3, 2


class PlainBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, positions, _ = x.shape
        q, k, v = (part.view(batch, positions, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH / HEADS)
        later = torch.ones(positions, positions, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, positions, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class PlainGPT(nn.Module):
    """Reads one lane of a packed view."""

    def __init__(self, view: dict[str, torch.Tensor], lane: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(PlainBlock() for _ in range(DEPTH))
        self.norm, self.readout = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        names = {"token.weight": "embedding.token.weight", "position.weight": "embedding.position.weight"}
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                ours = names.get(name, name)
                for layer in ("qkv", "out"):
                    ours = ours.replace(f".{layer}.", f".attention.{layer}.")
                for layer in ("up", "down"):
                    ours = ours.replace(f".{layer}.", f".mlp.{layer}.")
                if ours.startswith(("norm", "readout")):
                    ours = f"final.{ours}"
                if "norm" in ours:
                    ours = ours.replace(".weight", ".gain")
                parameter.copy_(as_in_torch(ours, view[ours][lane]))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.readout(self.norm(x))


def random_view(model: GPT, seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {p.name: torch.randn(LANES, *p.shape, generator=generator) * 0.3 for p in model.parameters}


@pytest.fixture
def model() -> GPT:
    return GPT(VOCABULARY, CONTEXT, WIDTH, DEPTH, HEADS)


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(VOCABULARY, (LANES, BATCH, CONTEXT), generator=torch.Generator().manual_seed(1))


def test_every_lane_is_the_plain_model(model: GPT, tokens: torch.Tensor) -> None:
    view = View(random_view(model))
    logits = model(view, tokens)
    assert logits.shape == (LANES, BATCH, CONTEXT, VOCABULARY)
    for lane in range(LANES):
        assert torch.allclose(logits[lane], PlainGPT(view, lane)(tokens[lane]), atol=1e-4)


def test_gradients_are_those_of_the_plain_model(model: GPT, tokens: torch.Tensor) -> None:
    view = View({name: value.requires_grad_() for name, value in random_view(model).items()})
    model(view, tokens).square().mean((1, 2, 3)).sum().backward()
    for lane in range(LANES):
        plain = PlainGPT({name: value.detach() for name, value in view.items()}, lane)
        plain(tokens[lane]).square().mean().backward()
        assert torch.allclose(view["blocks.0.attention.qkv.weight"].grad[lane].t(), plain.blocks[0].qkv.weight.grad, atol=1e-4)
        assert torch.allclose(view["embedding.token.weight"].grad[lane], plain.token.weight.grad, atol=1e-4)
        assert torch.allclose(view["final.norm.gain"].grad[lane], plain.norm.weight.grad, atol=1e-4)


def test_no_position_sees_a_later_one(model: GPT, tokens: torch.Tensor) -> None:
    """By gradients: the logits at position t do not depend on the embeddings of later positions."""
    view = View(random_view(model))
    position = view["embedding.position.weight"].requires_grad_()
    model(view, tokens)[:, :, 5].square().sum().backward()
    assert position.grad[:, 6:].abs().max() == 0
    assert position.grad[:, :6].abs().min(dim=2).values.min() > 0


def test_lanes_do_not_touch(model: GPT, tokens: torch.Tensor) -> None:
    view = View({name: value.requires_grad_() for name, value in random_view(model).items()})
    model(view, tokens)[1].square().sum().backward()
    for name, value in view.items():
        assert value.grad[[0, 2]].abs().max() == 0, name
        assert value.grad[1].abs().max() > 0, name


def test_parameter_counts(model: GPT) -> None:
    per_block = 4 * WIDTH + 3 * WIDTH * WIDTH + 3 * WIDTH + WIDTH * WIDTH + WIDTH + 8 * WIDTH * WIDTH + 5 * WIDTH
    expected = DEPTH * per_block + (2 * VOCABULARY + CONTEXT) * WIDTH + 2 * WIDTH
    assert sum(math.prod(p.shape) for p in model.parameters) == expected
    matmul = DEPTH * 12 * WIDTH * WIDTH + VOCABULARY * WIDTH
    assert model.flops_per_example == CONTEXT * (2 * matmul + 4 * DEPTH * WIDTH * CONTEXT)


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="width 16 is not a multiple of heads 3"):
        GPT(VOCABULARY, CONTEXT, 16, DEPTH, 3)
