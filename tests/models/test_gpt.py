"""The packed GPT, with norms before what adds to the stream or after the sum, against torch.nn.TransformerEncoderLayer."""

import math

import pytest
import torch
from torch import Tensor, nn

from folklore.harness.declare import Workload
from folklore.harness.train.workloads.architectures import architecture_named
from folklore.models import GPT, Parametrization, View
from tests.models.layout import as_in_torch

VOCABULARY, CONTEXT, WIDTH, DEPTH, HEADS, LANES, BATCH = 11, 12, 16, 3, 4, 3, 2
OURS = {
    "self_attn.in_proj_": "attention.qkv.",
    "self_attn.out_proj": "attention.out",
    "linear1": "mlp.up",
    "linear2": "mlp.down",
    "norm1.weight": "norm1.gain",
    "norm2.weight": "norm2.gain",
    "norm.weight": "final.norm.gain",
    "norm.bias": "final.norm.bias",
}


class Plain(nn.Module):
    """One lane of a view as layers of torch."""

    def __init__(self, view: View, lane: int, post: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=not post)
            for _ in range(DEPTH)
        )
        self.embedding = nn.ModuleDict({"token": nn.Embedding(VOCABULARY, WIDTH), "position": nn.Embedding(CONTEXT, WIDTH)})
        self.final = nn.ModuleDict({"readout": nn.Linear(WIDTH, VOCABULARY, bias=False)})
        self.norm = nn.Identity() if post else nn.LayerNorm(WIDTH)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(as_in_torch(name, view[in_ours(name)][lane]))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding["token"](tokens) + self.embedding["position"](torch.arange(tokens.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        for block in self.blocks:
            x = block(x, src_mask=mask, is_causal=True)
        return self.final["readout"](self.norm(x))


def in_ours(name: str) -> str:
    for theirs, ours in OURS.items():
        name = name.replace(theirs, ours)
    return name


def gpt(post: bool = False) -> GPT:
    return GPT(VOCABULARY, CONTEXT, WIDTH, DEPTH, HEADS, post_norm=post)


def random_view(model: GPT) -> View:
    generator = torch.Generator().manual_seed(0)
    return View({p.name: (torch.randn(LANES, *p.shape, generator=generator) * 0.3).requires_grad_() for p in model.parameters})


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(VOCABULARY, (LANES, BATCH, CONTEXT), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("post", [False, True])
def test_every_lane_and_its_gradients_are_those_of_torch(post: bool, tokens: Tensor) -> None:
    model = gpt(post)
    view = random_view(model)
    logits = model(view, tokens)
    assert logits.shape == (LANES, BATCH, CONTEXT, VOCABULARY)
    logits.square().mean((1, 2, 3)).sum().backward()
    for lane in range(LANES):
        plain = Plain(view, lane, post)
        expected = plain(tokens[lane])
        assert torch.allclose(logits[lane], expected, atol=1e-4)
        expected.square().mean().backward()
        gradients = {in_ours(name): parameter.grad for name, parameter in plain.named_parameters()}
        assert gradients.keys() == view.keys()
        for name, gradient in gradients.items():
            assert torch.allclose(as_in_torch(name, view[name].grad[lane]), gradient, atol=1e-4), name


def test_no_position_sees_a_later_one(tokens: Tensor) -> None:
    """By gradients: the logits at position t do not depend on the embeddings of later positions."""
    view = random_view(gpt())
    gpt()(view, tokens)[:, :, 5].square().sum().backward()
    gradient = view["embedding.position.weight"].grad
    assert gradient[:, 6:].abs().max() == 0
    assert gradient[:, :6].abs().min(dim=2).values.min() > 0


def test_parameters_and_operations_are_counted() -> None:
    per_block = 4 * WIDTH + 3 * WIDTH * WIDTH + 3 * WIDTH + WIDTH * WIDTH + WIDTH + 8 * WIDTH * WIDTH + 5 * WIDTH
    expected = DEPTH * per_block + (2 * VOCABULARY + CONTEXT) * WIDTH + 2 * WIDTH
    assert sum(math.prod(p.shape) for p in gpt().parameters) == expected
    matmul = DEPTH * 12 * WIDTH * WIDTH + VOCABULARY * WIDTH
    assert gpt().flops_per_example == CONTEXT * (2 * matmul + 4 * DEPTH * WIDTH * CONTEXT)
    for placement in ("pre", "post"):
        hidden = (p for p in gpt(placement == "post").parameters if not p.name.startswith(("embedding.", "final.readout")))
        workload = Workload(width=WIDTH, depth=DEPTH, heads=HEADS, norm_placement=placement)
        assert architecture_named("gpt").hidden_parameters(workload) == sum(math.prod(p.shape) for p in hidden)


@pytest.mark.parametrize(("post", "expected"), [(False, 1 / math.sqrt(2 * DEPTH)), (True, 1.0)])
def test_what_is_added_is_scaled_down_with_the_depth_before_a_norm_alone(post: bool, expected: float) -> None:
    """After a norm the stream cannot grow; Vaswani et al. 2017 scale nothing."""
    stds = {p.name: p.initial_std for p in gpt(post).parameters}
    assert stds["blocks.0.attention.out.weight"] == pytest.approx(expected / math.sqrt(WIDTH))
    assert stds["blocks.0.mlp.down.weight"] == pytest.approx(expected / math.sqrt(4 * WIDTH))


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="width 16 is not a multiple of heads 3"):
        GPT(VOCABULARY, CONTEXT, 16, DEPTH, 3)


def test_the_depth_rule_is_a_factor_of_what_blocks_add(tokens: Tensor) -> None:
    """So it is the model without it whose last matrices and biases of each branch are multiplied by base_depth / depth."""
    ruled = GPT(VOCABULARY, CONTEXT, WIDTH, 4, HEADS, Parametrization(base_depth=2))
    plain = GPT(VOCABULARY, CONTEXT, WIDTH, 4, HEADS)
    view = random_view(ruled)
    halved = View(
        {
            name: view[name] / 2 if ".attention.out." in name or ".mlp.down." in name else view[name]
            for name in (parameter.name for parameter in ruled.parameters)
        }
    )
    assert torch.allclose(ruled(view, tokens), plain(halved, tokens), rtol=1e-4, atol=1e-4)
    assert not torch.allclose(ruled(view, tokens), plain(view, tokens), rtol=1e-4, atol=1e-4)


def test_with_the_depth_rule_matrices_start_as_at_the_base_depth() -> None:
    def starts(depth: int, base_depth: int | None) -> dict[str, float]:
        block = GPT(VOCABULARY, CONTEXT, WIDTH, depth, HEADS, Parametrization(base_depth=base_depth)).blocks[0]
        return {parameter.name: parameter.initial_std for layer in block.layers for parameter in layer.parameters}

    assert starts(8, 2) == starts(2, None) != starts(8, None)


def test_a_depth_rule_is_for_norms_before_the_branch() -> None:
    with pytest.raises(ValueError, match="base_depth = 2: no depth rule for norms after the sum; leave out norm_placement"):
        Workload(base_depth=2, norm_placement="post")
    with pytest.raises(ValueError, match="base_depth"):
        Workload(model="mlp", dataset="digits", base_depth=2)
    assert Workload(base_depth=2).base_depth == 2
