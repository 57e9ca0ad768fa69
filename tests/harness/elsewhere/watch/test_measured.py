"""Measurements equal what plain torch computes."""

import logging

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from folklore.harness import Watch
from folklore.harness.elsewhere.watch import layers as layers_module
from tests.harness.elsewhere.watch.helpers import adamw, batches, mlp, sgd, train, watched_mlp


def test_norms_and_ratios() -> None:
    model, optimizer, watch = watched_mlp(adamw, every=1)
    for x, y in batches(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        watch(loss)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        layer = model[2]
        gradient = torch.cat([layer.weight.grad.flatten(), layer.bias.grad]).norm()
        before = layer.weight.detach().clone()
        optimizer.step()
        change = layer.weight.detach() - before
        report = watch.report()
        assert report.spans["gradient_norm"].last == pytest.approx(norm.item(), rel=1e-6)
        assert report.spans["loss"].last == loss.item()
        assert report.layers["2"] == pytest.approx((gradient.item(), (change.norm() / before.norm()).item()), rel=1e-5)


def test_large_parameters_are_measured_by_some_of_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers_module, "MOST_COPIED", 100)
    model = mlp(128)
    optimizer = sgd(model.parameters())
    watch = Watch(model, optimizer, every=1)
    before = model[2].weight.detach().clone()
    train(model, optimizer, 1, watch)
    assert sum(copy.numel() for copy in watch.layers.copies()) < 1000
    exact = (model[2].weight.detach() - before).norm() / before.norm()
    assert watch.report().layers["2"][1] == pytest.approx(exact.item(), rel=0.7)


def test_gradients_before_clipping() -> None:
    """Only if they are asked for; else the report says that they are clipped."""
    reports = {}
    for asks in (True, False):
        model, optimizer, watch = watched_mlp(sgd, every=1)
        for x, y in batches(20):
            F.cross_entropy(model(x), y).backward()
            if asks:
                watch.gradients()
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            optimizer.step()
            optimizer.zero_grad()
        reports[asks] = watch.report()
    assert reports[True].spans["gradient_norm"].least > 0.02
    assert reports[False].spans["gradient_norm"].most < 0.011
    assert [any("clipped" in note for note in reports[asks].notes) for asks in (True, False)] == [False, True]


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Sigmoid(), nn.Tanh()])
def test_silent_units(activation: nn.Module) -> None:
    """A quarter of the units has a large bias; all examples of a thousand and more are seen."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), activation, nn.Linear(32, 3))
    with torch.no_grad():
        model[0].bias[:8] = -50.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    watch = Watch(model, optimizer, every=1)
    train(model, optimizer, 15, watch)
    assert watch.units is not None
    assert watch.report().units == dict.fromkeys(watch.units.names, -1.0)
    train(model, optimizer, 2, watch)
    assert [*(watch.report().units or {}).values()] == [0.25]


def test_silent_channels_of_functions() -> None:
    """Activations that are no modules, of a convolution, whose units are its channels."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.head = nn.Conv2d(1, 4, 3), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(F.relu(self.conv(x)).mean(dim=(2, 3)))

    torch.manual_seed(0)
    model = Net()
    with torch.no_grad():
        model.conv.bias[0] = -50.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    watch = Watch(model, optimizer, every=1)
    for _ in range(2):
        model(torch.randn(100, 1, 5, 5)).sum().backward()
        optimizer.step()
    assert watch.report().units == {"relu after conv": 0.25}


def test_a_loss_may_come_after_the_update() -> None:
    model, optimizer, watch = watched_mlp(adamw, every=1)
    for step, (x, y) in enumerate(batches(3), 1):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        watch(loss)
        assert watch.report().measured["losses"] == step
    report = watch.report()
    assert report.spans["loss"].count == 3
    assert report.spans["loss"].last == loss.item()


def test_updates_that_a_scaler_skips_are_counted() -> None:
    model = mlp()
    optimizer = adamw(model.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    watch = Watch(model, optimizer, every=1, scaler=scaler)
    for step, (x, y) in enumerate(batches(6)):
        loss = F.cross_entropy(model(x), y) * (float("inf") if step in (2, 3, 4) else 1)
        scaler.scale(loss).backward()
        watch(loss)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    report = watch.report()
    assert report.updates == 3
    assert report.skipped >= 1
    assert {finding.rule.name for finding in report.findings} == {"nonfinite", "loss_scale"}


def test_gradients_that_a_fused_optimizer_unscales() -> None:
    """They reach it scaled, and an update with infinite ones does nothing."""
    norms = {}
    for scale in (1.0, 1024.0):
        model = mlp()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        watch = Watch(model, optimizer, every=1)
        for step, (x, y) in enumerate(batches(4)):
            loss = F.cross_entropy(model(x), y)
            scaler.scale(loss * (float("inf") if step == 3 else 1)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        norms[scale] = watch.report().spans["gradient_norm"]
        assert watch.report().skipped == 1
        assert not watch.report().findings
    assert norms[1024.0].last == pytest.approx(norms[1.0].last, rel=1e-4)


def test_half_precision() -> None:
    model = mlp().to(torch.bfloat16)
    optimizer = sgd(model.parameters())
    watch = Watch(model, optimizer, every=1)
    for x, y in batches(3):
        loss = F.cross_entropy(model(x.bfloat16()), y)
        loss.backward()
        watch(loss)
        exact = torch.cat([parameter.grad.float().flatten() for parameter in model.parameters()]).norm()
        optimizer.step()
        optimizer.zero_grad()
    assert watch.report().spans["gradient_norm"].last == pytest.approx(exact.item(), rel=1e-5)


def test_it_rests_by_what_it_costs_and_says_how_often_it_measured(caplog: pytest.LogCaptureFixture) -> None:
    model, optimizer, watch = watched_mlp(adamw)
    with caplog.at_level(logging.WARNING):
        train(model, optimizer, 400, watch)
    measured = watch.report().measured
    assert measured["losses"] == 400
    assert 2 <= measured["looks"] < 100
    assert f"of {measured['looks']:,}; own time" in str(watch)
