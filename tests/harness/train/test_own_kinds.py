"""Modules, losses and data of every kind: each step and evaluation of a lane is what a plain PyTorch loop makes of it.

The lane is not of the first seed and lies beside another. Rounding is that of harness/train/agreement.py.
"""

import itertools
import random
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import WeightedRandomSampler

from folklore.harness.errors import UserError
from folklore.harness.plan.store.trial_rows import judged_losses
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.records import Records
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.own import identity
from folklore.harness.train.workloads.own import module as own_modules
from folklore.harness.train.workloads.own import network as own_network
from folklore.harness.train.workloads.own.finding import find
from folklore.harness.train.workloads.own.model import OwnModule
from tests.harness.train import contract, own_kinds
from tests.harness.train.own_kinds import KINDS, PACKED, REASONS
from tests.harness.train.own_loops import assert_own_lane_is_torchs
from tests.harness.train.single_steps import TORCHS
from tests.parts import fast_for

STEPS, BATCH, SEED = 6, 8, 3
# The same files, again and again.
SOURCE = cache(identity._source)
SUMS = ("a sum", "a sum over tokens")


def pack(kind: str, monkeypatch: pytest.MonkeyPatch, **training: object) -> Pack:
    monkeypatch.setattr(own_kinds, "chosen", KINDS[kind], raising=False)
    monkeypatch.setattr(identity, "_source", SOURCE)
    find.cache_clear()
    for cached in (own_modules.own_module, own_modules.own_data, own_modules.counts_of):
        cached.cache_clear()
    settings = {"steps": STEPS, "batch_size": BATCH, "peak_lr": 2.0**-6, "optimizer": "adamw", **training}
    workload = find(f"{own_kinds.__name__}:chosen").declared
    measurement = {"probes": 2, "evaluations": 2, "evaluation_examples": 40, "final_examples": 80}
    chosen = contract.lane(workload, measurement=measurement, **settings).configuration
    workload_of(workload).require_trainable(chosen)
    apart = workload_of(workload).apart(chosen.training)
    return Pack([Lane(chosen, seed) for seed in ((SEED,) if apart else (1, SEED))], load(workload.dataset))


WEIGHED = (
    "a loss for each example", "a sum", "a sum over tokens", "a mean over tokens", "a mean over what is not zero",
    "a mean over what a mask marks", "a mean over shifted tokens", "weights of classes", "weights of classes in a function",
    "a loss with a parameter", "several outputs and targets", "a loader that pads", "squares",
)  # fmt: skip
# One of each way to weigh, with data of every form.
WEIGHED_FAST = (
    "a loss for each example", "a sum over tokens", "a mean over tokens", "a mean over what a mask marks",
    "weights of classes in a function", "a loss with a parameter", "several outputs and targets", "a loader that pads",
)  # fmt: skip
# What a loss is found to be of its examples.
WORDS = {
    "a loss for each example": "a mean over examples",
    "a sum": "a sum over examples",
    "a sum over tokens": "a sum over examples",
    "a mean over tokens": "a mean over targets that are not -100",
    "a mean over what is not zero": "a mean over targets that are not 0",
    "a mean over what a mask marks": "a mean over what inputs['attention_mask'] marks",
    "a mean over shifted tokens": "a mean over targets after the first that are not -100",
    "weights of classes": "a mean by the weights of classes",
    "weights of classes in a function": "a mean by the counts that the workload gives",
    "a loss of a batch as a whole": "of a batch as a whole: neither a mean nor a sum over its examples",
    "a loss that draws": "a mean over examples",
    "a loader that pads": "a mean over targets that are not -100",
    "examples that are drawn again": "a mean over examples",
}
# These alone meet some path; of the others every second. A module that is compiled takes as long as ten others.
ALONE = {
    "gives its loss first",
    "a hook after accumulation",
    "adapted by ranks",
    "a symmetric weight, and counts",
    "complex weights behind an odd number",
}
FAST = {*list(KINDS)[::2], *WORDS, *ALONE, *REASONS} - {*WEIGHED_FAST, "compiled"}


def assert_as_torch(made: Pack, kind: str) -> None:
    assert_own_lane_is_torchs(made, len(made.lanes) - 1, KINDS[kind], kind in SUMS)
    words = made.network.model.reduction.words  # type: ignore[union-attr]
    assert words == WORDS.get(kind, words)


@pytest.mark.parametrize("kind", fast_for(FAST, KINDS))
def test_a_lane_is_what_a_plain_loop_makes_of_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = pack(kind, monkeypatch)
    assert_as_torch(made, kind)
    reason = made.network.model.proof.apart  # type: ignore[attr-defined]
    assert (not reason) == (kind in PACKED) == (len(made.lanes) == 2), reason
    assert reason.startswith(REASONS.get(kind, ""))


@pytest.mark.parametrize("optimizer", TORCHS)
@pytest.mark.parametrize("kind", ["arrays in double precision", "dropout of channels", "experts, some idle"])
def test_either_way_learns_by_any_recipe(kind: str, optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed, by itself, and by itself where some parameters take no step: by each optimizer that torch has."""
    recipe = {"schedule": "linear", "weight_decay": 0.3, "clip_norm": 0.1, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4}
    recipe |= {"momentum": 0.8, "nesterov": optimizer == "sgd", "optimizer": optimizer}
    assert_as_torch(pack(kind, monkeypatch, **recipe), kind)


@pytest.mark.parametrize("kind", fast_for(WEIGHED_FAST, WEIGHED))
def test_parts_of_a_batch_weigh_by_what_the_loss_is_a_mean_of(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Micro-batches of one example against a plain loop that sees the batch whole, and an evaluation in chunks of three."""
    monkeypatch.setattr(own_network, "EVALUATION_TARGETS", 3 * 9)
    assert_as_torch(pack(kind, monkeypatch, micro_batches=BATCH), kind)


def test_a_part_in_which_nothing_counts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third example is all padding: alone its mean is not finite."""

    def drawn(examples: int, seed: int) -> own_kinds.Pair:
        inputs, targets = own_kinds.padded_tokens(examples, seed)
        targets[::3] = -100
        return inputs, targets

    for packed in (True, False):
        empty = own_kinds.of(own_kinds.embedded, own_kinds.over_tokens, drawn, packed=packed)
        monkeypatch.setitem(KINDS, "empty", empty)
        made = pack("empty", monkeypatch, micro_batches=BATCH)
        assert len(made.lanes) == 1 + packed
        assert_own_lane_is_torchs(made, -1, empty)


def test_a_batch_that_is_no_sum_of_its_parts_is_not_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        UserError, match=r"micro_batches = 2: the loss of the own workload is of a batch as a whole.*say by counts="
    ):
        pack("a loss of a batch as a whole", monkeypatch, micro_batches=2)
    right = "weights of classes in a function"
    guessed = own_kinds.of(KINDS[right].module, KINDS[right].loss)
    monkeypatch.setitem(KINDS, "guessed", guessed)
    with pytest.raises(UserError, match=r"say by counts="):
        pack("guessed", monkeypatch, micro_batches=2)
    pack(right, monkeypatch, micro_batches=2)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_mixed_precision_is_torchs_autocast(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = pack("torch's transformer", monkeypatch, precision=precision, loss_scale=128.0)
    assert len(made.lanes) == 1, "autocast is not followed by packed lanes"
    format_of = {"bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    module = KINDS["torch's transformer"].made(SEED)
    inputs, targets = KINDS["torch's transformer"].training
    index = torch.from_numpy(load(made.lanes[-1].configuration.workload.dataset).batch_index(SEED, 0, BATCH, 0)[0])
    with torch.autocast("cpu", format_of):
        loss = torch.nn.functional.cross_entropy(module(inputs[index]), targets[index])
    (128.0 * loss).backward()
    losses_K, gradient_KP = made.network.gradient(index[None], index[None], scale_K=torch.full((1,), 128.0))
    assert float(losses_K) == float(loss)
    for name, value in made.network.views_of(gradient_KP).items():
        assert torch.equal(value[0], module.get_parameter(name).grad / 128.0), name
    with torch.no_grad():
        exact = torch.nn.functional.cross_entropy(module(inputs[index]), targets[index])
    assert float(exact) != float(loss), "nothing would be seen"


def test_a_run_diverges_where_its_training_loss_leaves_its_start_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where it learns its training examples by heart, and what it has not seen gets worse."""

    def noise(examples: int, seed: int) -> own_kinds.Pair:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(examples, 8, generator=generator), torch.randint(0, 4, (examples,), generator=generator)

    wide = own_kinds.of(lambda: nn.Sequential(nn.Linear(8, 256), nn.ReLU(), nn.Linear(256, 4)), draw=noise)
    monkeypatch.setitem(KINDS, "by heart", wide)
    for peak_lr, outcome in ((2.0**-5, "finished"), (2.0**6, "diverged")):
        made = pack("by heart", monkeypatch, steps=100, peak_lr=peak_lr)
        made.advance()
        result = made.results()[0]
        assert not result.test_loss <= result.initial_loss
        assert result.outcome == outcome
        assert made.diverged_lanes() == len(made.lanes) * (outcome == "diverged")


def from_queue(module: Any, x: Tensor) -> Tensor:
    """Similarity to another view of an example, before that to earlier outputs."""
    ours = nn.functional.normalize(module.net(x), dim=1)
    other = nn.functional.normalize(module.net(x + 0.1 * torch.sin(7 * x)), dim=1)
    logits = torch.cat([(ours * other).sum(1, keepdim=True), ours @ module.queue.clone().t()], 1)
    if module.training:
        module.queue = torch.cat([other.detach(), module.queue])[: len(module.queue)]
    return 5 * logits


def with_queue() -> nn.Module:
    return own_kinds.made(
        from_queue, net=own_kinds.net, queue=lambda: nn.Buffer(nn.functional.normalize(torch.randn(16, 4), dim=1))
    )()


def first_of_all(outputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs, torch.zeros_like(targets))


class GrowingPart:
    """A loss, and a part whose weight grows by the calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.calls += outputs.requires_grad
        return nn.functional.cross_entropy(outputs, targets) + 0.05 * self.calls * outputs.exp().mean()


RISING = {"a queue": (with_queue, first_of_all), "a part that gains weight": (own_kinds.net, GrowingPart())}


@pytest.mark.parametrize("kind", RISING)
def test_the_start_is_measured_by_what_the_loss_is_at_the_end(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss that rises because it measures more is no divergence, and counts as it is."""
    module, loss = RISING[kind]
    monkeypatch.setitem(KINDS, kind, own_kinds.of(module, loss))
    made = pack(kind, monkeypatch, steps=60)
    made.advance()
    risen_K = made.records.risen()
    assert risen_K.any(), "nothing would be seen"
    assert made.diverged_lanes() == 0
    for result, risen in zip(made.results(), risen_K.tolist(), strict=True):
        assert result.outcome == "finished"
        assert result.initial_loss > result.test_loss or not risen


def test_running_statistics_do_not_make_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are of the weights: beside others' statistics the starting weights would have any loss, and divergence be missed."""
    monkeypatch.setattr(Records, "risen", lambda records: torch.ones(1, dtype=torch.bool))

    def normalized() -> nn.Module:
        return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))

    monkeypatch.setitem(KINDS, "normalized", own_kinds.of(normalized, packed=False))
    made = pack("normalized", monkeypatch)
    made.advance()
    assert len(made.lanes) == 1, "packed lanes are not measured again"
    assert torch.equal(made.records["initial_training_sample_again"], made.records["initial_training_sample"])


class Ascent(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        return -gradients[0]


@pytest.mark.parametrize("may_rise", [False, True])
def test_a_loss_that_rises_by_a_reversed_gradient_is_declared(
    may_rise: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing but the workload can tell it from a divergence; the message says by which rule that is one, and the way out."""

    def reversed_net() -> nn.Module:
        return own_kinds.made(lambda m, x: Ascent.apply(m.net(x)), net=own_kinds.net)()

    monkeypatch.setitem(KINDS, "reversed", own_kinds.of(reversed_net, loss_may_rise=may_rise))
    made = pack("reversed", monkeypatch, steps=60)
    made.advance()
    assert made.diverged_lanes() == (0 if may_rise else len(made.lanes))
    assert ("say loss_may_rise=True" in caplog.text) is not may_rise
    for result in made.results():
        assert result.outcome == ("finished" if may_rise else "diverged")
        counted = judged_losses(*map(np.array, (result.test_loss, result.initial_loss, result.outcome)))
        assert float(counted) == (result.test_loss if may_rise else result.initial_loss)


def test_a_loss_that_may_rise_still_diverges_where_it_is_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "may rise", own_kinds.of(own_kinds.net, loss_may_rise=True))
    made = pack("may rise", monkeypatch, steps=60, peak_lr=2.0**120, optimizer="sgd")
    made.advance()
    assert made.diverged_lanes() == 2
    assert all(result.outcome == "diverged" and np.isfinite(result.initial_loss) for result in made.results())


@pytest.mark.parametrize("draws", ["torch", "numpy", "random", "a generator of its own"])
def test_what_examples_draw_does_not_hide_what_the_loss_is(draws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = np.random.default_rng(0)
    draw_once = {
        "torch": lambda: float(torch.randn(())),
        "numpy": np.random.randn,
        "random": random.random,
        "a generator of its own": own.standard_normal,
    }[draws]

    class Noisy(own_kinds.Pairs):
        def __getitem__(self, index: int) -> Any:
            return self.x[index] + 2.0 * draw_once(), self.y[index]

    monkeypatch.setitem(KINDS, "noisy", own_kinds.of(own_kinds.net, draw=Noisy, version="1"))
    (inputs, targets), count, part = own_modules.tried(KINDS["noisy"])
    made = OwnModule(KINDS["noisy"].objective, inputs, targets, (count, part))
    assert made.reduction.words == "a mean over examples"


class Momentum(torch.optim.Optimizer):
    """A user's own optimizer, with a state and a second group at half of the LR."""

    def __init__(self, parameters: list[Any]):
        groups = [{"params": parameters[:1], "lr": 1.0}, {"params": parameters[1:], "lr": 0.5}]
        super().__init__(groups, {"lr": 1.0})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                moved = self.state[parameter].setdefault("moved", torch.zeros_like(parameter))
                if parameter.grad is None:
                    continue
                moved.mul_(0.9).add_(parameter.grad)
                parameter.sub_(group["lr"] * moved / (1.0 + moved.abs()))


@pytest.mark.parametrize("kind", ["a dataset of tensors", "experts, some idle", "complex weights behind an odd number"])
def test_an_optimizer_of_ones_own_is_what_it_is_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial by itself, with what the optimizer keeps; the LR of each of its groups in the proportion that it gave them."""
    monkeypatch.setitem(KINDS, kind, replace(KINDS[kind], optimizer=Momentum))
    made = pack(kind, monkeypatch, optimizer="own")
    assert len(made.lanes) == 1
    assert_as_torch(made, kind)
    assert not pack(kind, monkeypatch, optimizer="own").load(made.state()), "what it keeps lies in no state"


def test_what_an_own_optimizer_does_not_follow_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"give it one by OwnWorkload\(optimizer=...\), or name another"):
        pack("squares", monkeypatch, optimizer="own")
    monkeypatch.setitem(KINDS, "squares", replace(KINDS["squares"], optimizer=Momentum))
    pack("squares", monkeypatch, optimizer="own")
    with pytest.raises(UserError, match=r"loss_scaling = dynamic: an own optimizer does not follow it; leave it out"):
        pack("squares", monkeypatch, optimizer="own", loss_scaling="dynamic")
    with pytest.raises(UserError, match=r"remedy = skip: an own optimizer does not follow it; leave it out"):
        pack("squares", monkeypatch, optimizer="own", remedy="skip")
    monkeypatch.setitem(KINDS, "squares", replace(KINDS["squares"], optimizer=lambda parameters: 3))
    with pytest.raises(UserError, match=r"optimizer\(\) gives a int: must give a torch.optim.Optimizer"):
        pack("squares", monkeypatch, optimizer="own")


@pytest.mark.parametrize("packed", [True, False])
def test_a_metric_is_evaluated_beside_the_loss(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """More is better; packed or by itself, in chunks, it is that of the module in eval mode."""

    def right(outputs: Tensor, targets: Tensor) -> Tensor:
        return outputs.argmax(dim=1) == targets

    net = own_kinds.net if packed else lambda: nn.Sequential(own_kinds.net(), nn.Dropout(0.5))
    workload = own_kinds.of(net, metric=right)
    monkeypatch.setitem(KINDS, "measured", workload)
    monkeypatch.setattr(own_network, "EVALUATION_TARGETS", 7)
    made = pack("measured", monkeypatch)
    made.advance()
    assert (len(made.lanes) == 2) == packed
    module = workload.made(SEED).eval()
    with torch.no_grad():
        for name, value in made.network.views_of(made.network.flat_KP).items():
            module.get_parameter(name).copy_(value[-1])
    inputs, targets = workload.test
    assert made.results()[-1].test_accuracy == pytest.approx(float(right(module(inputs), targets).float().mean()))
    assert len(made.results()[-1].curves["evaluation_accuracy"]) == 2


def shared() -> nn.Module:
    """Two parameters over one memory, which torch's optimizers would move twice."""
    made = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    made[1].weight.data = made[0].weight.data  # type: ignore[union-attr]
    return made


calls = itertools.count()


def keeping(module: Any, x: Tensor) -> Tensor:
    module.kept = next(calls) > 300
    return module.net(x)  # type: ignore[no-any-return]


SELDOM = {
    "draws by Python's or NumPy's generators now and then": own_kinds.made(
        lambda m, x: m.net(x if random.random() > 0.02 else -x), net=own_kinds.net
    ),
    "changes what it keeps beside its tensors": own_kinds.made(keeping, net=own_kinds.net, kept=bool),
}


def test_sparse_gradients_are_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.optim's AdamW takes no sparse gradient: an embedding that has them has those of one that has none."""
    numbers, gradients = torch.arange(8)[None], []
    for sparse in (True, False):
        monkeypatch.setitem(
            KINDS,
            "sparse",
            own_kinds.of(lambda: own_kinds.embedded(sparse), own_kinds.each_token, own_kinds.tokens, packed=False),  # noqa: B023
        )
        _, gradient_KP = pack("sparse", monkeypatch).network.gradient(numbers, numbers)
        gradients.append(gradient_KP.clone())
    assert torch.allclose(*gradients, rtol=1e-4)


@pytest.mark.parametrize("what", SELDOM)
def test_what_happens_seldom_is_seen_when_it_does_and_has_a_way_out(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "seldom", own_kinds.of(SELDOM[what]))
    with pytest.raises(UserError, match=f"it {what}, which packed lanes have in common; say packed=False"):
        pack("seldom", monkeypatch, steps=400).advance()
    workload = own_kinds.of(SELDOM[what], packed=False)
    monkeypatch.setitem(KINDS, "seldom", workload)
    assert_own_lane_is_torchs(pack("seldom", monkeypatch), 0, workload)


def test_what_cannot_be_a_lanes_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = own_kinds.DataLoader(own_kinds.Pairs(40, 0), sampler=WeightedRandomSampler([1.0] * 40, 40))
    with pytest.raises(UserError, match=r"draws by a WeightedRandomSampler.*give a loader without it"):
        own_kinds.of(own_kinds.net, draw=lambda examples, seed: loader)
    held = own_kinds.Tempered()
    with pytest.raises(UserError, match=r"loss holds a Tempered with parameters.*give the module itself as the loss"):
        own_kinds.of(own_kinds.net, lambda outputs, targets: held(outputs, targets))
    own_kinds.of(own_kinds.net, own_kinds.Tempered())
    monkeypatch.setitem(KINDS, "shared", own_kinds.of(shared))
    with pytest.raises(UserError, match=r"0.weight and 1.weight share their memory: tie them by making them one"):
        pack("shared", monkeypatch)


def late(module: Any, x: Tensor) -> Tensor:
    module.late = max(0, int(module.calls) - 5)
    return own_kinds.counting(module, x) / (1 + module.late)


def test_a_module_that_begins_to_count_late_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """No state holds what it keeps, and a first step shows nothing of it."""
    monkeypatch.setitem(KINDS, "late", own_kinds.of(own_kinds.made(late, net=own_kinds.net, calls=own_kinds.counter, late=int)))
    for steps, goes_on in ((3, True), (7, False)):
        made = pack("late", monkeypatch, steps=8)
        for _ in range(steps):
            made.advance(0.0)
        assert pack("late", monkeypatch, steps=8).load(made.state()) == goes_on
