"""Our muP against the `mup` package (Microsoft): initial variances, learning-rate multipliers and the steps of a training."""

import math
import warnings

import pytest
import torch
from torch import nn

from folklore.harness.errors import UserError
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.pack import Lane, Pack
from folklore.harness.training.schedules import learning_rates
from folklore.harness.training.suitability import lr_multipliers
from folklore.harness.workloads import data, workload_of
from folklore.harness.workloads.data import DataFacts
from folklore.models import GPT, MLP, Parametrization
from folklore.models.parametrization import LR_RULES
from tests.benchmarks.plain import PlainBlock, PlainGPT
from tests.harness.training.single_steps import assert_lane_is_torchs
from tests.models.layout import as_in_torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import mup

BASE, WIDTH, FEATURES, CLASSES = 16, 128, 64, 10
WORKLOAD = Workload(model="mlp", dataset="digits", width=WIDTH, depth=3, parametrization="mup", base_width=BASE)


class PlainMLP(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(FEATURES, width), nn.Linear(width, width), nn.Linear(width, width)])
        self.readout = mup.MuReadout(width, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.readout(x)


def reference() -> PlainMLP:
    model = PlainMLP(WIDTH)
    mup.set_base_shapes(model, PlainMLP(BASE), delta=PlainMLP(2 * BASE), rescale_params=False)
    return model


def test_initial_variances() -> None:
    """mup.init scales the standard deviation a weight has at the base width; ours must come to the same."""
    theirs, base = reference(), MLP(FEATURES, CLASSES, BASE, 3, Parametrization(1.0))
    ours = MLP(FEATURES, CLASSES, WIDTH, 3, Parametrization(WIDTH / BASE))
    for parameter, at_base in zip(ours.parameters, base.parameters, strict=True):
        weight = theirs.get_parameter(parameter.name)
        if parameter.decays:
            mup.init.normal_(weight, std=at_base.initial_std)
            assert float(weight.detach().std()) == pytest.approx(parameter.initial_std, rel=0.06), parameter.name


@pytest.mark.parametrize(("optimizer", "theirs"), [("adam", mup.MuAdam), ("sgd", mup.MuSGD)])
def test_learning_rate_multipliers_of_the_mlp(optimizer: str, theirs: type) -> None:
    model = reference()
    groups = theirs(model.parameters(), lr=1.0).param_groups
    expected = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    ours = workload_of(WORKLOAD).model(DataFacts("x", CLASSES, (FEATURES,)))
    multipliers = lr_multipliers(WORKLOAD, Training(optimizer=optimizer), ours)
    for parameter, multiplier in zip(ours.parameters, multipliers, strict=True):
        assert multiplier == pytest.approx(expected[id(model.get_parameter(parameter.name))]), parameter.name


@pytest.mark.parametrize(("optimizer", "theirs"), [("adamw", mup.MuAdam), ("sgd", mup.MuSGD)])
def test_learning_rate_multipliers_of_the_gpt(optimizer: str, theirs: type) -> None:
    """mup sees which sides of a weight grow from the shapes alone."""

    def shaped(width: int) -> nn.Module:
        module = nn.Module()
        for parameter in GPT(50, 8, width, 2, 2).parameters:
            module.register_parameter(parameter.name.replace(".", "_"), nn.Parameter(torch.zeros(parameter.shape)))
        return module

    module = shaped(WIDTH)
    mup.set_base_shapes(module, shaped(BASE), delta=shaped(2 * BASE), rescale_params=False)
    groups = theirs(module.parameters(), lr=1.0).param_groups
    expected = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    workload = Workload(width=WIDTH, parametrization="mup", base_width=BASE, context=8)
    ours = workload_of(workload).model(DataFacts("x", 50))
    for parameter, multiplier in zip(
        ours.parameters, lr_multipliers(workload, Training(optimizer=optimizer), ours), strict=True
    ):
        theirs_lr = expected[id(module.get_parameter(parameter.name.replace(".", "_")))]
        assert multiplier == pytest.approx(theirs_lr), parameter.name


@pytest.mark.parametrize(("optimizer", "theirs"), [("adam", mup.MuAdam), ("sgd", mup.MuSGD)])
def test_every_step_is_theirs(optimizer: str, theirs: type) -> None:
    """60 steps on digits with their model and their optimizer, each from our weights."""
    training = Training(
        optimizer=optimizer, peak_lr=2.0**-7, steps=60, batch_size=16, weight_decay=0.0, epsilon=1e-3, schedule="constant"
    )
    measurement = Measurement(probes=2, evaluations=1, evaluation_examples=8, final_examples=8)
    digits = data.load("digits")
    pack = Pack([Lane(Configuration(workload=WORKLOAD, training=training, measurement=measurement), 4)], digits)
    model = reference()
    settings = {"momentum": 0.9} if optimizer == "sgd" else {"eps": 1e-3}
    optimizer_of_mup = theirs(model.parameters(), lr=1.0, **settings)
    multipliers = [group["lr"] for group in optimizer_of_mup.param_groups]
    index, rates = torch.from_numpy(digits.batch_index(4, 0, 16, 32)), learning_rates(training)

    def loss_at(step: int) -> torch.Tensor:
        inputs, targets = digits.gather(digits.arrays("train"), index[step], 32)
        return nn.functional.cross_entropy(model(inputs.flatten(1)), targets)

    def set_rates(step: int) -> None:
        for group, multiplier in zip(optimizer_of_mup.param_groups, multipliers, strict=True):
            group["lr"] = rates[step] * multiplier

    assert_lane_is_torchs(pack, 0, dict(model.named_parameters()), optimizer_of_mup, loss_at, set_rates, layout=as_in_torch)
    losses = pack.results()[0].curves["train_loss"]
    assert losses[-1] < 0.7 * losses[0]


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
    training = Training(
        optimizer="adam", peak_lr=2.0**-7, steps=20, batch_size=4, weight_decay=0.0, epsilon=1e-3, schedule="constant"
    )
    measurement = Measurement(probes=2, evaluations=1, evaluation_examples=8, final_examples=8)
    workload, text = widened(heads, base_heads), data.load("python-docs")
    pack = Pack([Lane(Configuration(workload=workload, training=training, measurement=measurement), 4)], text)
    head_at_base = BASE // (base_heads or heads)

    def shaped(width: int) -> PlainMuGPT:
        return PlainMuGPT(workload.model_copy(update={"width": width}), text.facts, head_at_base)

    model = PlainMuGPT(workload, text.facts, head_at_base)
    mup.set_base_shapes(model, shaped(BASE), delta=shaped(2 * BASE), rescale_params=False)
    optimizer = mup.MuAdam(model.parameters(), lr=1.0, eps=1e-3)
    multipliers = [group["lr"] for group in optimizer.param_groups]
    index, rates = torch.from_numpy(text.batch_index(4, 0, 4, 8)), learning_rates(training)
    names = [parameter.name for parameter in pack.network.model.parameters]

    def loss_at(step: int) -> torch.Tensor:
        inputs, targets = text.gather(text.arrays("train"), index[step], 8)
        return nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    def set_rates(step: int) -> None:
        for group, multiplier in zip(optimizer.param_groups, multipliers, strict=True):
            group["lr"] = rates[step] * multiplier

    theirs = dict(zip(names, model.parameters(), strict=True))
    assert_lane_is_torchs(pack, 0, theirs, optimizer, loss_at, set_rates, layout=as_in_torch)
    losses = pack.results()[0].curves["train_loss"]
    assert losses[-1] < 0.9 * losses[0]


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
        lr_multipliers(WORKLOAD, lion, ours)
    with pytest.raises(AssertionError, match="muP has no LR rule 'sign'"):
        Parametrization(2.0).lr_multiplier(1, "sign")
    assert set(lr_multipliers(WORKLOAD.model_copy(update={"parametrization": "standard"}), lion, ours)) == {1.0}
