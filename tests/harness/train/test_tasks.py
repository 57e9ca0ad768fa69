"""Tasks in sequence: what a lane sees, what it is held by and what it may change, against plain PyTorch."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from folklore.harness.declare import Workload
from folklore.harness.randomness import numpy_generator
from folklore.harness.train.pack import Pack
from folklore.harness.train.procedures.consolidation import Consolidation
from folklore.harness.train.procedures.tasks import Tasks
from folklore.harness.train.workloads.data import Split, load
from tests.harness.train import contract
from tests.harness.train.contract import trained
from tests.harness.train.single_steps import relu_mlp, weights_of

SIZE = {"model": "mlp", "dataset": "digits", "width": 8, "depth": 2}
BY_CLASS = Workload(**SIZE, tasks=5)
lane = partial(contract.lane, steps=20, batch_size=8, optimizer="sgd", momentum=0.0, weight_decay=0.0, schedule="constant")
LABELS = load("digits").arrays("train")[1].numpy()


def tasks_of(made: Pack) -> Tasks:
    procedure = made.procedure
    while not isinstance(procedure, Tasks):
        procedure = procedure.inner
    return procedure


def drawn(made: Pack, step: int) -> np.ndarray:
    """Tasks of the examples of a step, [K, B]."""
    return LABELS[tasks_of(made).examples_of(step).numpy()] // 2


def plain_loss(scenario: str, tasks: int, logits: Tensor, targets: Tensor) -> Tensor:
    """As the three scenarios are defined, one example after the other."""
    classes_per_task = 10 // tasks
    losses = []
    for row, target in zip(logits, targets.tolist(), strict=True):
        first = target // classes_per_task * classes_per_task
        chosen = {
            "class": (row, target),
            "domain": (row[:classes_per_task], target % classes_per_task),
            "task": (row[first : first + classes_per_task], target - first),
        }
        values, own = chosen[scenario]
        losses.append(-F.log_softmax(values, dim=0)[own])
    return torch.stack(losses).mean()


@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
def test_a_lane_is_what_plain_torch_makes_of_the_same_examples(scenario: str) -> None:
    """Layers at their own LRs from the second task on, too."""
    workload = BY_CLASS.model_copy(update={"scenario": scenario})
    made = contract.pack(lane(workload, 3, peak_lr=0.05, replay=0.25, layer_lr_decay=0.5, later_lr=0.5))
    weights = weights_of(made, 0)
    features, labels = load("digits").arrays("train")
    for step in range(20):
        index = tasks_of(made).examples_of(step)[0]
        loss = plain_loss(scenario, 5, relu_mlp(weights, features[index]), labels[index])
        gradients = torch.autograd.grad(loss, list(weights.values()))
        for (name, value), gradient in zip(weights.items(), gradients, strict=True):
            below = {"hidden.0": 2, "hidden.1": 1, "readout": 0}[name.rpartition(".")[0]]
            value.data -= 0.05 * (0.5 * 0.5**below if step >= 4 else 1.0) * gradient
    made.advance()
    for name, view in made.network.views.items():
        assert torch.allclose(view[0], weights[name], rtol=1e-4, atol=1e-6), name


def gpt(weights: dict[str, Tensor], tokens: Tensor) -> Tensor:
    """Logits of a GPT of one block and two heads, its adapters added to the matrices that they adapt."""
    width = weights["embedding.token.weight"].shape[1]

    def normed(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (width,), weights[f"{name}.gain"], weights[f"{name}.bias"])

    def linear(x: Tensor, name: str) -> Tensor:
        matrix, adapter = weights[f"{name}.weight"], f"adapter.{name}"
        if f"{adapter}.up" in weights:
            matrix = matrix + weights[f"{adapter}.down"] @ weights[f"{adapter}.up"]
        return x @ matrix + weights[f"{name}.bias"]

    x = weights["embedding.token.weight"][tokens] + weights["embedding.position.weight"]
    heads = linear(normed(x, "blocks.0.norm1"), "blocks.0.attention.qkv").unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2)
    x = x + linear(mixed, "blocks.0.attention.out")
    x = x + linear(F.gelu(linear(normed(x, "blocks.0.norm2"), "blocks.0.mlp.up")), "blocks.0.mlp.down")
    return normed(x, "final.norm") @ weights["final.readout.weight"]


@pytest.mark.parametrize("rank", [0, 3])
def test_a_lane_of_two_texts_is_what_plain_torch_makes_of_them(rank: int) -> None:
    """With replay; adapters alone learn from the second text on. Losses are of the text that they say."""
    workload = Workload(dataset="python-docs+python-source", width=8, depth=1, heads=2, context=8, tasks=2, adapter_rank=rank)
    looks = {**contract.FEW, "evaluations": 5, "final_examples": 40}
    made = contract.pack(lane(workload, 3, looks, peak_lr=0.5, replay=0.25, later_lr=0.5))
    weights = weights_of(made, 0)
    text = load(workload.dataset)
    of_task = text.tasks_of("train", 2, 8)

    def loss(split: Split, index: np.ndarray) -> Tensor:
        inputs, targets = text.gather(text.arrays(split), torch.from_numpy(index), 8)
        return F.cross_entropy(gpt(weights, inputs).flatten(0, 1), targets.flatten())

    for step in range(20):
        index = tasks_of(made).examples_of(step)[0].numpy()
        assert (of_task[index] == step // 10).sum() == (6 if step >= 10 else 8)
        gradients = torch.autograd.grad(loss("train", index), list(weights.values()), allow_unused=True)
        for (name, value), gradient in zip(weights.items(), gradients, strict=True):
            if rank == 0 or name.startswith("adapter.") == (step >= 10):
                assert gradient is not None
                value.data -= 0.5 * (0.5 if step >= 10 else 1.0) * gradient
    made.advance()
    for name, view in made.network.views.items():
        assert torch.allclose(view[0], weights[name], rtol=1e-3, atol=1e-5), name
    (result,) = made.results()
    chosen = text.sample_index("test", 40, 8)
    for task, name in enumerate(("old", "new")):
        own = chosen[text.tasks_of("test", 2, 8)[chosen] == task]
        assert result.curves[f"evaluation_{name}_loss"][-1] == pytest.approx(float(loss("test", own).detach()), rel=1e-4)
    assert np.isnan(result.curves["evaluation_old_loss"][0])


def test_examples_are_of_the_task_and_a_share_of_earlier_ones() -> None:
    made = contract.pack(lane(BY_CLASS), lane(BY_CLASS, replay=0.25), lane(BY_CLASS, task_order="joint"))
    for step in range(20):
        alone, replaying, joint = drawn(made, step)
        task = step // 4
        assert (alone == task).all()
        assert (replaying == task).sum() == (6 if task else 8)
        assert (replaying <= task).all()
        assert step > 3 or len(set(joint)) > 1
    # Lanes of one seed see the same new examples.
    indices = tasks_of(made).examples_of(10).numpy()
    assert (indices[0, 2:] == indices[1, 2:]).all()


def test_a_share_that_is_no_whole_number_of_examples_is_replayed_on_average() -> None:
    """20% of 8 examples are one or two. Whole numbers are the same at every step."""
    made = contract.pack(lane(BY_CLASS, replay=0.2, steps=500), lane(BY_CLASS, replay=0.25, steps=500))
    tasks_SKB = LABELS[np.concatenate([tasks_of(made).draw(block) for block in range(2)])[100:500]] // 2
    replayed = (tasks_SKB < np.arange(100, 500)[:, None, None] // 100).sum(axis=2)
    assert set(replayed[:, 0]) == {1, 2}
    assert replayed[:, 0].mean() == pytest.approx(1.6, abs=0.1)
    assert set(replayed[:, 1]) == {2}


def test_the_fisher_information_is_that_of_its_definition() -> None:
    """Over all classes, weighted by the model's own probabilities."""
    made = contract.pack(lane(BY_CLASS, consolidation=1.0))
    made.advance(0.0)
    procedure = made.procedure
    assert isinstance(procedure, Consolidation)
    weights = weights_of(made, 0)
    chosen = tasks_of(made).examples[1]
    index = chosen[np.linspace(0, len(chosen) - 1, 4).round().astype(int)]
    expected = torch.zeros(made.network.flat_KP.shape[1])
    for features in load("digits").arrays("train")[0][index]:
        log_chances = F.log_softmax(relu_mlp(weights, features[None])[0], dim=0)
        for label in range(10):
            gradients = torch.autograd.grad(log_chances[label], list(weights.values()), retain_graph=True)
            joined = torch.cat([gradient.flatten() for gradient in gradients])
            expected += log_chances[label].exp().detach() * joined.square() / 4
    assert torch.allclose(procedure.fisher_of(1)[0], expected, rtol=1e-3, atol=1e-7)


TEXTS = Workload(width=4, depth=1, heads=2, context=3, dataset="python-docs+python-source", tasks=2)


def test_the_fisher_information_of_a_text() -> None:
    """Along every output alone in the place of random signs it is that of its definition, over all symbols of all tokens; along
    signs the mean of many is."""
    made = contract.pack(lane(TEXTS, 1, consolidation=1.0), lane(TEXTS, 2, consolidation=1.0))
    made.advance(0.0)
    procedure, network = made.procedure, made.network
    assert isinstance(procedure, Consolidation)
    inputs, targets = procedure.inner.batch(torch.tensor([[5], [900]]))
    symbols = tasks_of(made).dataset.facts.classes
    expected_KP, seen_KP = torch.zeros_like(network.flat_KP), torch.zeros_like(network.flat_KP)
    for position in range(3):
        for symbol in range(symbols):
            log_chances = network.outputs(inputs)[:, 0, position].log_softmax(dim=-1)[:, symbol]
            gradients = torch.autograd.grad(log_chances.sum(), network.leaves, materialize_grads=True)
            expected_KP += log_chances.detach().exp().unsqueeze(1) * network.joined(gradients).square()
            one = torch.zeros(2, 1, 3, symbols)
            one[..., position, symbol] = 1.0
            seen_KP += procedure.along(inputs, one).square()
    assert torch.allclose(seen_KP, expected_KP, rtol=1e-3, atol=1e-6 * float(expected_KP.max()))
    generator = torch.Generator().manual_seed(0)
    signs = 2.0 * torch.randint(2, (300, 2, 1, 3, symbols), generator=generator).float() - 1.0
    mean_KP = torch.stack([procedure.along(inputs, drawn_signs).square() for drawn_signs in signs]).mean(dim=0)
    assert torch.allclose(mean_KP.sum(dim=1), expected_KP.sum(dim=1), rtol=0.05)
    assert torch.corrcoef(torch.stack([mean_KP[0], expected_KP[0]]))[0, 1] > 0.95
    assert targets.shape == (2, 1, 3)


def test_of_a_text_it_is_the_mean_over_windows_and_tokens() -> None:
    """Estimated from as many windows as there are examples, and the same in a pack and alone."""
    both, alone = (contract.pack(*(lane(TEXTS, seed, consolidation=1.0) for seed in seeds)) for seeds in ((1, 2), (2,)))
    estimates = []
    for made in (both, alone):
        assert isinstance(made.procedure, Consolidation)
        estimates.append(made.procedure.fisher_of(0)[-1])
    assert torch.allclose(estimates[0], estimates[1], rtol=1e-3, atol=1e-6 * float(estimates[0].max()))
    windows = tasks_of(alone).examples[0]
    total_P = torch.zeros_like(estimates[1])
    for start in windows[np.linspace(0, len(windows) - 1, 4).round().astype(int)]:
        inputs, _ = alone.procedure.inner.batch(torch.tensor([[start]]))
        symbols = tasks_of(alone).dataset.facts.classes
        signs = numpy_generator(2, "fisher", int(start)).integers(2, size=(1, 3, symbols))
        total_P += alone.procedure.along(inputs, 2.0 * torch.from_numpy(signs[None]).float() - 1.0)[0].square()  # type: ignore[attr-defined]
    assert torch.allclose(estimates[1], total_P / 4 / 3, rtol=1e-4, atol=1e-6 * float(total_P.max()))


def test_consolidation_adds_the_gradient_of_its_penalty() -> None:
    """The penalty of all earlier tasks together, scaled by lambda; a lane without one is as it is alone."""
    strong, none = lane(BY_CLASS, consolidation=3.0), lane(BY_CLASS)
    made = contract.pack(strong, none)
    penalty, ends = torch.zeros_like(made.network.flat_KP[0]), []
    while made.step < 9:
        made.advance(0.0)
        if made.step in (4, 8):
            ends.append((made.network.flat_KP[0].detach().clone(), made.procedure.fisher_of(made.step // 4 - 1)[0]))  # type: ignore[attr-defined]
    weights_P = made.network.flat_KP[0].detach()
    for held_P, fisher_P in ends:
        penalty += 3.0 * fisher_P * (weights_P - held_P)
    batch = made.procedure.batch(made.procedure.examples_of(9))
    gradients, plain = (procedure.gradient(*batch)[1] for procedure in (made.procedure, made.procedure.inner))
    assert torch.allclose(gradients[0] - plain[0], penalty, rtol=1e-3, atol=1e-6)
    assert penalty.norm() > 1e-3
    assert torch.equal(gradients[1], plain[1])


def test_adapters_leave_what_they_adapt_and_learn_alone_later() -> None:
    """Bit by bit; and until the second task the run is one without adapters."""
    adapted = BY_CLASS.model_copy(update={"tasks": 2, "adapter_rank": 3})
    settings: dict[str, Any] = {"optimizer": "adamw", "weight_decay": 0.1, "peak_lr": 0.01}
    made = contract.pack(lane(adapted, 2, **settings))
    plain = contract.pack(lane(BY_CLASS.model_copy(update={"tasks": 2}), 2, **settings))
    for pack in (made, plain):
        while pack.step < 10:
            pack.advance(0.0)
    size = plain.network.flat_KP.shape[1]
    assert torch.allclose(made.network.flat_KP[:, :size], plain.network.flat_KP, rtol=1e-5, atol=1e-7)
    before = made.network.flat_KP.detach().clone()
    assert all((view == 0).all() for name, view in made.network.views.items() if name.endswith(".up"))
    made.advance()
    assert torch.equal(made.network.flat_KP[:, :size], before[:, :size])
    assert all((view != 0).any() for name, view in made.network.views.items() if name.startswith("adapter."))


def test_old_and_new_accuracy_are_of_the_tasks_that_they_say() -> None:
    workload = BY_CLASS.model_copy(update={"scenario": "domain"})
    made = trained(lane(workload, 1, peak_lr=0.1, measurement={**contract.FEW, "evaluations": 5, "final_examples": 359}))
    (result,) = made.results()
    features, labels = load("digits").arrays("test")
    right = relu_mlp(weights_of(made, 0), features)[:, :2].argmax(dim=1) == labels % 2
    old, new = (result.curves[f"evaluation_{name}_accuracy"] for name in ("old", "new"))
    assert old[-1] == pytest.approx(float(right[labels < 8].float().mean()), abs=1e-6)
    assert new[-1] == pytest.approx(float(right[labels >= 8].float().mean()), abs=1e-6)
    assert np.isnan(old[0])
    assert result.test_accuracy == pytest.approx(float(right.float().mean()), abs=1e-6)


def test_what_is_forgotten_is_no_divergence() -> None:
    (result,) = trained(lane(BY_CLASS, peak_lr=0.3, steps=200)).results()
    assert result.test_loss > result.initial_loss
    assert result.outcome == "finished"
