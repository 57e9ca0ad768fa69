"""A watched run ends bit for bit where it would without a watch, and leaves nothing behind."""

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from folklore.harness import Watch
from tests.harness.elsewhere.watch.helpers import adamw, batches, mlp, sgd, train, watched_mlp

Run = Callable[[bool], nn.Module]


def one_loop(make: Callable[[Any], torch.optim.Optimizer]) -> Run:
    def run(watches: bool) -> nn.Module:
        model = mlp()
        optimizer = make(model.parameters())
        train(model, optimizer, 30, Watch(model, optimizer, every=1) if watches else None)
        return model

    return run


def accumulated(watches: bool) -> nn.Module:
    model = mlp()
    optimizer = adamw(model.parameters())
    watch = Watch(model, optimizer, every=1) if watches else None
    for step, (x, y) in enumerate(batches(30), 1):
        loss = F.cross_entropy(model(x), y)
        (loss / 3).backward()
        if watch:
            watch(loss)
        if step % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
    assert watch is None or (watch.updates, watch.report().measured["losses"]) == (10, 10)
    return model


def closed(watches: bool) -> nn.Module:
    model = mlp()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    watch = Watch(model, optimizer, every=1) if watches else None
    for x, y in batches(5):

        def closure(x: Tensor = x, y: Tensor = y) -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        if watch:
            watch(loss)
    assert watch is None or watch.report().measured == {"losses": 5, "gradients": 5, "looks": 5}
    return model


def tied_and_frozen(watches: bool) -> nn.Module:
    """Several groups, a frozen layer, a shared weight, sparse gradients, dropout."""
    torch.manual_seed(0)
    model = nn.ModuleDict(
        {"in": nn.Embedding(50, 16, sparse=True), "drop": nn.Dropout(0.2), "up": nn.Linear(16, 16), "mid": nn.Linear(16, 16)}
    )
    head = nn.Linear(16, 16)
    head.weight = model["up"].weight
    model["head"], model["tokens"] = head, nn.Embedding(50, 16)
    model["mid"].requires_grad_(False)
    rest = [*model["up"].parameters(), model["head"].bias]
    optimizer = torch.optim.SGD([{"params": model["in"].parameters()}, {"params": rest, "lr": 0.5}], lr=0.1)
    watch = Watch(model, optimizer, every=1) if watches else None
    for step in range(20):
        tokens = torch.randint(0, 50, (8, 4), generator=torch.Generator().manual_seed(step))
        hidden = F.gelu(model["mid"](model["up"](model["drop"](model["in"](tokens)))))
        loss = model["head"](hidden).square().mean()
        loss.backward()
        if watch:
            watch(loss)
        optimizer.step()
        optimizer.zero_grad()
    if watch:
        report = watch.report()
        assert report.layers["in"][0] > 0
        assert report.layers["mid"][0] == 0
        assert any("2 parameters are frozen" in note for note in report.notes)
        assert any("1 parameters take gradients and are not in the optimizer" in note for note in report.notes)
    return model


def compiled(watches: bool) -> nn.Module:
    """Watched but for its units."""
    model = mlp()
    whole = torch.compile(model, backend="eager", fullgraph=True)
    optimizer = adamw(model.parameters())
    watch = Watch(whole, optimizer, every=1) if watches else None
    train(whole, optimizer, 5, watch)
    if watch:
        assert [*watch.report().layers] == ["0", "2", "4"]
        assert watch.report().units is None
    return model


@pytest.mark.parametrize("run", [one_loop(sgd), one_loop(adamw), accumulated, closed, tied_and_frozen, compiled])
def test_parameters_are_bit_equal(run: Run) -> None:
    # What other tests compiled or skipped is forgotten: all Sequentials share one forward, and its marks.
    torch.compiler.reset()
    watched, plain = run(True), run(False)
    for ours, theirs in zip(watched.parameters(), plain.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_model_that_is_compiled_later_has_one_whole_graph() -> None:
    torch.compiler.reset()
    model, optimizer, watch = watched_mlp(adamw, every=2)
    with torch._dynamo.config.patch(error_on_recompile=True):
        train(torch.compile(model, backend="eager", fullgraph=True), optimizer, 9, watch)
    assert watch.report().measured["looks"] == 5


def test_a_closed_watch_leaves_nothing_behind() -> None:
    model = mlp()
    optimizer = adamw(model.parameters())
    with Watch(model, optimizer) as watch:
        train(model, optimizer, 3, watch)
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks
    train(model, optimizer, 3, None)
    assert watch.report().updates == 3


def saved(model: nn.Module) -> nn.Module:
    """As it is loaded where this project is not installed."""
    buffer = io.BytesIO()
    torch.save(model, buffer)
    assert b"folklore" not in buffer.getvalue()
    assert b"harness" not in buffer.getvalue()
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)  # type: ignore[no-any-return]


@pytest.mark.parametrize("duplicate", [saved, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_a_watched_model_is_a_model(duplicate: Callable[[nn.Module], nn.Module]) -> None:
    """Which is trained, and compiled, without being heard."""
    model, optimizer, watch = watched_mlp(adamw, every=1)
    train(model, optimizer, 3, watch)
    twin = duplicate(model)
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    torch.compiler.reset()
    train(torch.compile(twin, backend="eager", fullgraph=True), adamw(twin.parameters()), 2, None)
    assert watch.units is not None
    assert watch.units.passes == {True: 3, False: 0}


def raising(model: nn.Module) -> None:
    with pytest.raises(RuntimeError):
        model(torch.randn(4, 9))
    F.relu(torch.randn(4, 4))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda model: model.eval()(torch.randn(4, 8)), id="an evaluation"),
        pytest.param(lambda model: copy.deepcopy(model)(torch.randn(4, 8)), id="a copy"),
        pytest.param(raising, id="what comes after a forward pass that raises"),
    ],
)
def test_what_is_not_the_model_s_training_is_not_watched(call: Callable[[nn.Module], None]) -> None:
    model = mlp()
    watch = Watch(model, adamw(model.parameters()), every=1)
    call(model)
    assert watch.units is not None
    assert watch.units.names == []
