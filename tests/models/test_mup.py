"""Our muP against the `mup` package (Microsoft): initial variances, learning-rate multipliers and the steps of a training."""

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from folklore.harness.declare import Configuration, Measurement, Training, Workload
from folklore.harness.errors import UserError
from folklore.harness.train.learner import lr_multipliers
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.parts import require_model
from folklore.harness.train.workloads import data, workload_of
from folklore.harness.train.workloads.data import DataFacts
from folklore.models import CNN, GPT, MLP, Parametrization
from folklore.models.parametrization import LR_RULES
from tests.benchmarks.plain import PlainBlock, PlainGPT
from tests.harness.train.single_steps import assert_lane_is_torchs
from tests.models.layout import as_in_torch
from tests.models.test_cnn import PlainCNN, examples, random_view

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import mup

BASE, WIDTH, FEATURES, CLASSES, IMAGE = 16, 128, 64, 10, (3, 8, 8)
WORKLOAD = Workload(model="mlp", dataset="digits", width=WIDTH, depth=3, parametrization="mup", base_width=BASE)


class PlainMLP(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(FEATURES, width), nn.Linear(width, width), nn.Linear(width, width)])
        self.readout = mup.MuReadout(width, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.flatten(1)
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.readout(x)


def in_mup(made: Callable[[int], nn.Module]) -> nn.Module:
    """A model with the shapes that mup reads off two others."""
    model = made(WIDTH)
    mup.set_base_shapes(model, made(BASE), delta=made(2 * BASE), rescale_params=False)
    return model


def plain_cnn(width: int) -> nn.Module:
    return PlainCNN(IMAGE, width, 8, mup.MuReadout)


OURS: dict[str, Callable[..., Any]] = {
    "mlp": lambda width, *scheme: MLP(FEATURES, CLASSES, width, 3, *scheme),
    "cnn": lambda width, *scheme: CNN(IMAGE, 5, width, 3, *scheme),
    "gpt": lambda width, *scheme: GPT(50, 8, width, 2, 2, *scheme),
}


@pytest.mark.parametrize(("name", "theirs"), [("mlp", PlainMLP), ("cnn", plain_cnn)])
def test_initial_variances(name: str, theirs: Callable[[int], nn.Module]) -> None:
    """mup.init scales the standard deviation a weight has at the base width; ours must come to the same."""
    torch.manual_seed(0)
    model = in_mup(theirs)
    base, ours = (OURS[name](width, Parametrization(width / BASE)) for width in (BASE, WIDTH))
    for parameter, at_base in zip(ours.parameters, base.parameters, strict=True):
        if parameter.decays:
            weight = model.get_parameter(parameter.name)
            mup.init.normal_(weight, std=at_base.initial_std)
            assert float(weight.detach().std()) == pytest.approx(parameter.initial_std, rel=0.06), parameter.name


@pytest.mark.parametrize(("optimizer", "theirs"), [("adam", mup.MuAdam), ("adamw", mup.MuAdam), ("sgd", mup.MuSGD)])
@pytest.mark.parametrize("name", OURS)
def test_learning_rate_multipliers(name: str, optimizer: str, theirs: type) -> None:
    """mup sees which sides of a weight grow from the shapes alone."""

    def shaped(width: int) -> nn.Module:
        module = nn.Module()
        for parameter in OURS[name](width).parameters:
            module.register_parameter(parameter.name.replace(".", "_"), nn.Parameter(torch.zeros(parameter.shape)))
        return module

    model, ours = in_mup(shaped), OURS[name](WIDTH)
    groups = theirs(model.parameters(), lr=1.0).param_groups
    expected = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    workload = WORKLOAD.model_copy(update={"model": name})
    for parameter, multiplier in zip(
        ours.parameters, lr_multipliers(workload, Training(optimizer=optimizer), ours), strict=True
    ):
        theirs_lr = expected[id(model.get_parameter(parameter.name.replace(".", "_")))]
        assert multiplier == pytest.approx(theirs_lr), parameter.name


def test_logits_of_a_cnn_are_theirs() -> None:
    model, ours = in_mup(plain_cnn), OURS["cnn"](WIDTH, Parametrization(WIDTH / BASE))
    view, x = random_view(ours), examples(IMAGE)
    with torch.no_grad():
        for name, value in view.items():
            model.get_parameter(name.replace(".gain", ".weight")).copy_(as_in_torch(name, value[0]))
    assert torch.allclose(ours(view, x)[0], model(x[0]), atol=1e-5)


def assert_every_step_is_theirs(
    workload: Workload, training: Training, model: nn.Module, optimizer: torch.optim.Optimizer, lost: float
) -> None:
    """A pack beside mup's model and optimizer, whose LRs are multiples of one. lost: the share of the loss that is left."""
    dataset = data.load(workload.dataset)
    measurement = Measurement(probes=2, evaluations=1, evaluation_examples=8, final_examples=8)
    pack = Pack([Lane(Configuration(workload=workload, training=training, measurement=measurement), 4)], dataset)
    index = torch.from_numpy(dataset.batch_index(4, 0, training.batch_size, workload.context))
    names = [parameter.name for parameter in pack.network.model.parameters]

    def loss_at(step: int) -> torch.Tensor:
        inputs, targets = dataset.gather(dataset.arrays("train"), index[step], workload.context)
        return nn.functional.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())

    theirs = dict(zip(names, model.parameters(), strict=True))
    assert_lane_is_torchs(pack, 0, theirs, optimizer, loss_at, layout=as_in_torch)
    losses = pack.results()[0].curves["train_loss"]
    assert losses[-1] < lost * losses[0]


STEADY = {"peak_lr": 2.0**-7, "weight_decay": 0.0, "epsilon": 1e-3, "schedule": "constant"}


@pytest.mark.parametrize(
    ("optimizer", "theirs"), [("adam", partial(mup.MuAdam, eps=1e-3)), ("sgd", partial(mup.MuSGD, momentum=0.9))]
)
def test_every_step_is_theirs(optimizer: str, theirs: Callable[..., torch.optim.Optimizer]) -> None:
    """60 steps on digits with their model and their optimizer, each from our weights."""
    training = Training(optimizer=optimizer, steps=60, batch_size=16, **STEADY)
    model = in_mup(PlainMLP)
    assert_every_step_is_theirs(WORKLOAD, training, model, theirs(model.parameters(), lr=1.0), 0.7)


def test_at_the_base_width_both_parametrizations_are_the_same() -> None:
    plain, scaled = GPT(50, 8, BASE, 2, 2), GPT(50, 8, BASE, 2, 2, Parametrization(1.0))
    assert plain.parameters == scaled.parameters
    assert scaled.readout_multiplier == 1.0
    assert plain.blocks[0].scale == scaled.blocks[0].scale
    assert {Parametrization(1.0).lr_multiplier(sides, name) for sides in (0, 1, 2) for name in LR_RULES} == {1.0}


def test_attention_is_divided_by_the_head_and_not_its_root() -> None:
    """At the base the scale is 1/sqrt(d0); eight times wider it must be sqrt(d0)/d."""
    wide = GPT(50, 8, 8 * BASE, 2, 2, Parametrization(8.0))
    head = BASE // 2
    assert wide.blocks[0].scale == pytest.approx(math.sqrt(head) / (8 * head))


WIDENED = [(2, None), (2 * WIDTH // BASE, 2), (4, 2)]  # larger heads, more of the same size, and both


def widened(heads: int, base_heads: int | None) -> Workload:
    return Workload(width=WIDTH, heads=heads, parametrization="mup", base_width=BASE, base_heads=base_heads, context=8)


@pytest.mark.parametrize(("heads", "base_heads"), WIDENED)
def test_the_attention_scale_follows_the_head_as_mup_sees_it(heads: int, base_heads: int | None) -> None:
    """mup reads a head's growth from the shapes: by that 1/sqrt(d at the base width) is divided."""

    def shaped(width: int, heads: int) -> nn.Module:
        module = nn.Module()
        module.register_parameter("query", nn.Parameter(torch.zeros(heads, width // heads)))
        return module

    at_base = base_heads or heads
    module = shaped(WIDTH, heads)
    # The delta model differs in both, so that both sides count as growing.
    mup.set_base_shapes(module, shaped(BASE, at_base), delta=shaped(16 * BASE, 2 * at_base), rescale_params=False)
    growth = module.get_parameter("query").infshape[1].width_mult()
    ours = workload_of(widened(heads, base_heads)).model(DataFacts("x", 50))
    assert isinstance(ours, GPT)
    assert [block.scale for block in ours.blocks] == pytest.approx([(BASE // at_base) ** -0.5 / growth] * 2)


class PlainAttention(PlainBlock):
    """Its scores are divided as is asked."""

    scale = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, positions, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, positions, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True, scale=self.scale)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, positions, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class PlainMuGPT(PlainGPT):
    """With mup's readout, and its blocks' scores divided by the head's growth."""

    def __init__(self, workload: Workload, facts: DataFacts, at_base: int) -> None:
        super().__init__(workload, facts)
        blocks = [PlainAttention(workload.width, workload.heads) for _ in range(workload.depth)]
        for block in blocks:
            block.scale = math.sqrt(at_base) / (workload.width // workload.heads)
        self.blocks = nn.Sequential(*blocks)
        self.readout = mup.MuReadout(workload.width, facts.classes, bias=False)


@pytest.mark.parametrize(("heads", "base_heads"), WIDENED)
def test_every_step_of_a_gpt_is_theirs(heads: int, base_heads: int | None) -> None:
    """20 steps on text with their readout and their MuAdam, widened by larger heads, by more of them, and by both."""
    training = Training(optimizer="adam", steps=20, batch_size=4, **STEADY)
    workload, facts = widened(heads, base_heads), data.load("python-docs").facts

    def made(width: int) -> PlainMuGPT:
        return PlainMuGPT(workload.model_copy(update={"width": width}), facts, BASE // (base_heads or heads))

    model = in_mup(made)
    assert_every_step_is_theirs(workload, training, model, mup.MuAdam(model.parameters(), lr=1.0, eps=1e-3), 0.9)


def test_heads_at_the_base_width_divide_it() -> None:
    with pytest.raises(ValueError, match="base_heads = 3: must divide base_width = 16"):
        Workload(width=WIDTH, parametrization="mup", base_width=BASE, base_heads=3)


def test_a_zero_readout_starts_at_uniform() -> None:
    model = MLP(FEATURES, CLASSES, WIDTH, 2, Parametrization(8.0, zero_readout=True))
    assert model.parameters[-2].initial_std == 0.0


def test_an_optimizer_without_a_rule_has_no_mup() -> None:
    """It does not get Adam's rule for want of its own."""
    ours = workload_of(WORKLOAD).model(DataFacts("x", CLASSES, (FEATURES,)))
    lion = Training(optimizer="lion")
    with pytest.raises(UserError, match=r"optimizer 'lion' has no published rule in muP: choose parametrization = standard"):
        require_model(Configuration(workload=WORKLOAD, training=lion, measurement=Measurement()), ours)
    with pytest.raises(AssertionError, match="muP has no LR rule 'sign'"):
        Parametrization(2.0).lr_multiplier(1, "sign")
    assert set(lr_multipliers(WORKLOAD.model_copy(update={"parametrization": "standard"}), lion, ours)) == {1.0}
