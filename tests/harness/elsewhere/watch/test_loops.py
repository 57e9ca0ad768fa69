"""Loops as people have them: steps that are skipped, optimizers that are made again or wrapped, layers that join later."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from folklore.harness import Watch
from folklore.harness.elsewhere.watch.watch import MOST_UNREAD
from folklore.harness.errors import UserError
from tests.harness.elsewhere.watch.helpers import adamw, batches, mlp, sgd, train, watched_mlp

NAN = float("nan")


def losses_of(model: nn.Module, steps: int, nan_from: int = 10**9) -> Iterator[Tensor]:
    """nan_from: the first step, from 0, whose loss is no number."""
    for step, (x, y) in enumerate(batches(steps)):
        yield F.cross_entropy(model(x), y) * (NAN if step >= nan_from else 1.0)


def rules_of(watch: Watch) -> set[str]:
    return {finding.rule.name for finding in watch.report().findings}


def test_losses_that_a_scaler_never_lets_become_an_update(caplog: pytest.LogCaptureFixture) -> None:
    """All 180 are counted, the scale is followed down, and the first of them is told when it comes."""
    model = mlp()
    optimizer, scaler = sgd(model.parameters()), torch.amp.GradScaler("cpu", init_scale=1024.0)
    watch = Watch(model, optimizer, every=1, scaler=scaler)
    for step, loss in enumerate(losses_of(model, 200, nan_from=20)):
        scaler.scale(loss).backward()
        watch(loss)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        assert ("not finite" in caplog.text) == (step >= 20)
    report = watch.report()
    (fault,) = (finding for finding in report.findings if finding.rule.name == "nonfinite")
    assert (fault.updates, fault.first, fault.last) == (180, 21, 200)
    assert rules_of(watch) == {"nonfinite", "loss_scale"}
    assert (report.updates, report.skipped, report.spans["loss"].not_finite) == (20, 179, 180)
    assert any(
        note.startswith("the watched SGD made no update after its update 20, and 180 losses came") for note in report.notes
    )
    assert len([record for record in caplog.records if "no update of the watched SGD" in record.message]) == 1


@pytest.mark.parametrize("is_after", [False, True])
def test_a_loop_that_skips_single_steps(is_after: bool) -> None:
    """A bad loss is that of its own step, and spoils no other."""
    model, optimizer, watch = watched_mlp(sgd, every=1)
    for step, loss in enumerate(losses_of(model, 40)):
        bad = step in (20, 21, 30)
        if not bad:
            loss.backward()
        if is_after and not bad:
            optimizer.step()
        watch(loss * NAN if bad else loss)
        if not is_after and not bad:
            optimizer.step()
        optimizer.zero_grad()
    report = watch.report()
    assert (report.updates, report.steps, report.skipped) == (37, 40, 3)
    assert (report.spans["loss"].count, report.spans["loss"].not_finite) == (37, 3)
    assert [(finding.first, finding.last, finding.updates) for finding in report.findings] == [(21, 31, 3)]
    note = "3 steps had no update of the watched SGD, skipped by the loop or by a loss scaler, of which a few are normal"
    assert note in report.notes


def test_a_last_loss_that_ends_the_loop() -> None:
    model, optimizer, watch = watched_mlp(sgd)
    for loss in losses_of(model, 5, nan_from=4):
        watch(loss)
        if not torch.isfinite(loss):
            break
        optimizer.step()
    assert rules_of(watch) == {"nonfinite"}


def test_an_optimizer_that_is_made_again() -> None:
    """Its losses are watched, a rise among them as well; that it trains is not known, and said."""
    model, optimizer, watch = watched_mlp(sgd, every=1)
    train(model, optimizer, 60, watch)
    other = sgd(model.parameters())
    for step, loss in enumerate(losses_of(model, 60)):
        loss.backward()
        watch(loss * (50 if step == 30 else 1))
        other.step()
        other.zero_grad()
    report = watch.report()
    assert (report.updates, report.measured["losses"]) == (60, 120)
    assert {"loss_ratio", "spike"} <= rules_of(watch)
    assert {finding.first for finding in report.findings} == {91}
    assert any("no update after its update 60, and 60 losses came" in note for note in report.notes)


def test_an_optimizer_that_never_steps() -> None:
    model = mlp()
    watch = Watch(model, sgd(mlp().parameters()))
    train(model, sgd(model.parameters()), 200, watch)
    report = watch.report()
    assert report.spans["loss"].last < report.spans["loss"].first
    assert any(note.startswith("the watched SGD made no update, and 200 losses came") for note in report.notes)
    assert "the watched SGD holds no parameter of the model: no update is measured" in report.notes


@pytest.mark.parametrize("counts", [[4, 4, 2, 4, 4, 1, 4], [1, 3, 1, 1], [100, 100, 100]])
def test_accumulated_losses_are_of_one_step(counts: list[int]) -> None:
    """Means over what a step accumulates, also if the last of an epoch has fewer."""
    _, optimizer, watch = watched_mlp(sgd, every=1)
    for value, count in enumerate(counts):
        for part in range(count):
            watch(value + part - (count - 1) / 2)
        optimizer.step()
    report = watch.report()
    assert report.updates == len(counts)
    assert report.spans["loss"].last == len(counts) - 1
    assert report.skipped <= 2 * (max(counts) > 64) * 36 + (counts[0] == 1) * 2


def test_losses_wait_in_bounded_number() -> None:
    watch = watched_mlp(sgd, every=10**6)[2]
    watch._reads.every, watch._reads.step = 10**9, 10**9  # as if reading were too dear
    most = 0
    for _ in range(3000):
        watch(torch.tensor(1.0))
        most = max(most, watch._readings.unread)
    assert most <= MOST_UNREAD
    assert watch.report().spans["loss"].count > 2900


class Wrapper:
    """Has an optimizer and is none."""

    def __init__(self, inner: Any, name: str = "optimizer"):
        setattr(self, name, inner)
        self.inner = inner

    def step(self) -> None:
        self.inner.step()

    def zero_grad(self) -> None:
        self.inner.zero_grad()


def accelerated(inner: torch.optim.Optimizer) -> Any:
    accelerate = pytest.importorskip("accelerate")
    return accelerate.Accelerator(cpu=True).prepare(inner)


@pytest.mark.parametrize(
    "wrap",
    [
        accelerated,
        Wrapper,
        lambda inner: Wrapper(Wrapper(inner, "_optimizer"), "optim"),
        lambda inner: torch.optim.lr_scheduler.LambdaLR(inner, lambda step: 1.0),
    ],
)
def test_wrapped_optimizers_are_heard(wrap: Any) -> None:
    model = mlp()
    inner = adamw(model.parameters())
    watch = Watch(model, wrap(inner), every=1)
    train(model, inner, 5, watch)
    assert watch.report().measured == {"losses": 5, "gradients": 5, "looks": 5}


@pytest.mark.parametrize(
    ("model", "optimizer", "message"),
    [
        (mlp(), Wrapper(None), "a Wrapper is no torch.optim.Optimizer and wraps none"),
        (mlp(), [sgd(mlp().parameters())], "a list is no torch.optim.Optimizer .*of several, one Watch for each"),
        (sgd(mlp().parameters()), mlp(), "a SGD is no torch.nn.Module"),
    ],
)
def test_what_cannot_be_watched_is_refused_in_a_line(model: Any, optimizer: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Watch(model, optimizer)


def test_layers_that_join_later() -> None:
    """In a group of their own, thawed, or put in the place of another."""
    model = mlp()
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model[4].parameters(), lr=0.1)
    watch = Watch(model, optimizer, every=1)
    train(model, optimizer, 10, watch)
    early = watch.report()
    assert early.layers["0"][1] != early.layers["0"][1]
    assert "layers that had no gradient at any of 10 measurements: 0" in early.notes
    model[0].requires_grad_(True)
    model[2] = nn.Sequential(nn.Linear(32, 32), nn.Tanh())
    optimizer.add_param_group({"params": [*model[0].parameters(), *model[2].parameters()], "lr": 5.0})
    before = model[0].weight.detach().clone()
    train(model, optimizer, 1, watch)
    report = watch.report()
    ratio = (model[0].weight.detach() - before).norm() / before.norm()
    assert report.layers["0"][1] == pytest.approx(ratio.item(), rel=1e-5)
    assert report.layers["2.0"][0] > 0
    assert not any("frozen" in note or "no gradient" in note for note in report.notes)
    assert report.lrs == pytest.approx((0.1, 5.0))
    assert "lr: 0.1 at first, 5 at last, 0.1 to 5; its 2 groups at last: 0.1 to 5" in str(report)


class WithoutLr(torch.optim.Optimizer):
    def __init__(self, parameters: Any):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for parameter in self.param_groups[0]["params"]:
            parameter.sub_(0.01 * parameter.grad)


def test_an_optimizer_without_lrs() -> None:
    model, optimizer, watch = watched_mlp(WithoutLr, every=1)
    train(model, optimizer, 2, watch)
    report = watch.report()
    assert (report.lrs, report.measured["looks"]) == ((), 2)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda model: model[0], "the forward pass of the watched Sequential was not called"),
        (lambda model: model.eval(), "the forward pass of the watched Sequential was called in evaluation mode only"),
    ],
)
def test_a_forward_pass_that_is_not_heard(call: Any, reason: str) -> None:
    model = nn.Sequential(mlp())
    optimizer = sgd(model.parameters())
    watch = Watch(model, optimizer, every=1)
    train(call(model), optimizer, 5, watch)
    notes = " ".join(watch.report().notes)
    assert reason in notes
    assert "ReLU" not in notes


def test_nothing_is_called_clipped_that_nothing_clips() -> None:
    """Neither few norms nor norms that are all the same, of one batch or of several."""
    for passes, steps in ((1, 2), (1, 40), (3, 40)):
        model = nn.Linear(4, 1)
        optimizer = sgd(model.parameters())
        watch = Watch(model, optimizer, every=1)
        for _ in range(steps):
            for _ in range(passes):
                loss = model(torch.ones(2, 4)).sum()
                loss.backward()
                watch(loss)
            optimizer.step()
            optimizer.zero_grad()
        assert not any("clipped" in note for note in watch.report().notes)


def test_rules_that_have_not_seen_enough(caplog: pytest.LogCaptureFixture) -> None:
    model, optimizer, watch = watched_mlp(sgd, every=1)
    with caplog.at_level(logging.WARNING):
        train(model, optimizer, 12, watch)
    report = watch.report()
    assert report.lacking == {
        "deviations": "12 of 129 losses, 12 of 129 gradient norms",
        "spike": "12 of 51 losses",
        "norm_ratio": "12 of 51 gradient norms",
        "silent_units": "no activation on 1,000 examples",
        "loss_scale": "no loss scale, for want of scaler=",
    }
    assert "None of the 7 rules that saw enough has fired." in str(report)
    assert "spike (12 of 51 losses)" in str(report)
