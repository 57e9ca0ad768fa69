"""Norms before what adds to the stream and after the sum, against torch.nn.TransformerEncoderLayer: outputs and gradients."""

import math

import pytest
import torch
from torch import Tensor, nn

from folklore.harness.spec import Workload
from folklore.harness.workloads.architectures import architecture_named
from folklore.models import GPT, View

VOCABULARY, CONTEXT, WIDTH, DEPTH, HEADS, LANES, BATCH = 11, 12, 16, 3, 4, 2, 3
OURS = {
    "self_attn.in_proj_weight": "attention.qkv.weight",
    "self_attn.in_proj_bias": "attention.qkv.bias",
    "self_attn.out_proj.weight": "attention.out.weight",
    "self_attn.out_proj.bias": "attention.out.bias",
    "linear1.weight": "mlp.up.weight",
    "linear1.bias": "mlp.up.bias",
    "linear2.weight": "mlp.down.weight",
    "linear2.bias": "mlp.down.bias",
    **{
        f"norm{index}.{ours[0]}": f"norm{index}.{ours[1]}"
        for index in (1, 2)
        for ours in (("weight", "gain"), ("bias", "bias"))
    },
}


class Plain(nn.Module):
    def __init__(self, view: dict[str, Tensor], lane: int, post: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=not post)
            for _ in range(DEPTH)
        )
        self.token, self.position = (nn.Parameter(view[f"embedding.{name}.weight"][lane]) for name in ("token", "position"))
        self.readout = nn.Parameter(view["final.readout.weight"][lane])
        self.norm = nn.Identity() if post else nn.LayerNorm(WIDTH)
        with torch.no_grad():
            if not post:
                self.norm.weight.copy_(view["final.norm.gain"][lane])
                self.norm.bias.copy_(view["final.norm.bias"][lane])
            for index, block in enumerate(self.blocks):
                for name, parameter in block.named_parameters():
                    ours = view[f"blocks.{index}.{OURS[name]}"][lane]
                    parameter.copy_(ours.T if ours.dim() == 2 else ours)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token[tokens] + self.position[: tokens.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        for block in self.blocks:
            x = block(x, src_mask=mask, is_causal=True)
        return self.norm(x) @ self.readout


@pytest.mark.parametrize("post", [False, True])
def test_a_gpt_is_that_of_torch(post: bool) -> None:
    model = GPT(VOCABULARY, CONTEXT, WIDTH, DEPTH, HEADS, post_norm=post)
    generator = torch.Generator().manual_seed(2)
    values = {p.name: torch.randn(LANES, *p.shape, generator=generator) * 0.3 for p in model.parameters}
    view = View({name: value.requires_grad_() for name, value in values.items()})
    tokens = torch.randint(VOCABULARY, (LANES, BATCH, CONTEXT), generator=generator)
    logits = model(view, tokens)
    logits.square().mean((1, 2, 3)).sum().backward()
    assert ("final.norm.gain" in view) == (not post)
    for lane in range(LANES):
        plain = Plain({name: value.detach() for name, value in view.items()}, lane, post)
        expected = plain(tokens[lane])
        assert torch.allclose(logits[lane], expected, atol=1e-4)
        expected.square().mean().backward()
        assert torch.allclose(view["embedding.token.weight"].grad[lane], plain.token.grad, atol=1e-4)
        for index, block in enumerate(plain.blocks):
            for name, parameter in block.named_parameters():
                ours = view[f"blocks.{index}.{OURS[name]}"].grad[lane]
                assert torch.allclose(ours.T if ours.dim() == 2 else ours, parameter.grad, atol=1e-4), name


def test_what_is_added_is_scaled_down_with_the_depth_before_a_norm_alone() -> None:
    """After a norm the stream cannot grow; Vaswani et al. 2017 scale nothing."""
    for post, expected in ((False, 1 / math.sqrt(2 * DEPTH)), (True, 1.0)):
        model = GPT(VOCABULARY, CONTEXT, WIDTH, DEPTH, HEADS, post_norm=post)
        stds = {p.name: p.initial_std for p in model.parameters}
        assert stds["blocks.0.attention.out.weight"] == pytest.approx(expected / math.sqrt(WIDTH))
        assert stds["blocks.0.mlp.down.weight"] == pytest.approx(expected / math.sqrt(4 * WIDTH))


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_hidden_parameters(placement: str) -> None:
    model = GPT(VOCABULARY, CONTEXT, WIDTH, DEPTH, HEADS, post_norm=placement == "post")
    ends = ("embedding.", "final.readout")
    expected = sum(math.prod(p.shape) for p in model.parameters if not p.name.startswith(ends))
    workload = Workload(width=WIDTH, depth=DEPTH, heads=HEADS, norm_placement=placement)
    assert architecture_named("gpt").hidden_parameters(workload) == expected
