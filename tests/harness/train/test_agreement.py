"""A program that does something else than the eager step is told from one that rounds otherwise and from the eager step itself,
by planted faults. Cases are the contract's: a new optimizer, number format or procedure joins by itself, or is missing there,
which fails."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from folklore.harness.train import programs
from folklore.harness.train.agreement import MOST_CALLS, Agreement, Step, StepCheck
from folklore.harness.train.pack import Pack
from folklore.harness.train.precisions import precision_named
from folklore.harness.train.procedures import Procedure
from folklore.harness.train.programs import EAGER, Program
from folklore.harness.train.workloads.data.text import Text
from tests.harness.train import contract
from tests.harness.train.contract import CAPTURED, OF_MODELS, OF_OPTIMIZERS, OF_PRECISIONS
from tests.harness.train.plain_steps import VARIANTS, lanes, larger_update, plant, reordered

Fault = Callable[[Pack], None]


def rate_of_the_neighbour(pack: Pack) -> None:
    pack.lr_SK.copy_(pack.lr_SK.flip(1))
    pack._plain_step()
    pack.lr_SK.copy_(pack.lr_SK.flip(1))


def another_batch(pack: Pack) -> None:
    pack._draws.copy_(pack._draws.roll(1, dims=0))
    pack._plain_step()
    pack._draws.copy_(pack._draws.roll(-1, dims=0))


def larger_loss(pack: Pack) -> None:
    pack._plain_step()
    pack.records["train_loss"][pack.step] *= 1.1


def moments_as_they_were(pack: Pack) -> None:
    before = {name: tensor.clone() for name, tensor in pack.optimizer.state.items()}
    pack._plain_step()
    for name, moment in before.items():
        pack.optimizer.state[name].copy_(moment)


def last_moment_as_it_was(pack: Pack) -> None:
    """Undoes the last moment among those that a step moves: Sophia's curvature is not one."""
    before = {name: pack.optimizer.state[name].clone() for name in pack.optimizer.moments}
    pack._plain_step()
    *_, name = (name for name, moment in before.items() if not torch.equal(moment, pack.optimizer.state[name]))
    pack.optimizer.state[name].copy_(before[name])


def one_entry_is_nan(pack: Pack) -> None:
    pack._plain_step()
    pack.network.flat_KP[1, 3] = float("nan")


def a_layer_left_out(pack: Pack) -> None:
    before_KP = pack.network.flat_KP.clone()
    pack._plain_step()
    size = pack.network.layer_sizes[-1]
    pack.network.flat_KP[:, -size:] = before_KP[:, -size:]


def clock_stands_still(pack: Pack) -> None:
    pack._plain_step()
    pack.clock.sub_(1)


def record_of_another_step(pack: Pack) -> None:
    pack._plain_step()
    pack.records["train_loss"][pack.step - 1] = 1.0


def record_of_something_else(pack: Pack) -> None:
    pack._plain_step()
    pack.records["test_loss"][0] = 1.0


def larger_gradient(pack: Pack) -> None:
    """By 1%, or by four times that if a number format rounds more coarsely."""
    factor = 1 + max(0.01, 4 * precision_named(pack.training.precision).gradient)

    class Larger(Procedure):
        def gradient(self, *arguments: Any, **more: Any) -> tuple[torch.Tensor, torch.Tensor]:
            losses_K, gradient_KP = super().gradient(*arguments, **more)
            return losses_K, gradient_KP.mul_(factor)

    inner = pack.procedure
    pack.procedure = Larger(inner, making=None)  # type: ignore[arg-type]
    pack._plain_step()
    pack.procedure = inner


def no_update(pack: Pack) -> None:
    before = [tensor.clone() for tensor in learned(pack)]
    pack._plain_step()
    for value, earlier in zip(learned(pack), before, strict=True):
        value.copy_(earlier)


def lanes_in_each_others_place(pack: Pack) -> None:
    pack._plain_step()
    for value in (*learned(pack), pack.optimizer.gradient_KP):
        value.copy_(value.flip(0))


def no_gradient_left(pack: Pack) -> None:
    before_KP = pack.optimizer.gradient_KP.clone()
    pack._plain_step()
    pack.optimizer.gradient_KP.copy_(before_KP)


def learned(pack: Pack) -> list[torch.Tensor]:
    return [pack.network.flat_KP, *pack.optimizer.state.values()]


FAULTS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        larger_gradient, larger_update, no_update, lanes_in_each_others_place, rate_of_the_neighbour, another_batch,
        larger_loss, moments_as_they_were, last_moment_as_it_was, one_entry_is_nan, a_layer_left_out, clock_stands_still,
        record_of_another_step, record_of_something_else, no_gradient_left,
    )
}  # fmt: skip

# All examples are in every batch; and gradients that are all clipped have the limit as their size.
NO_FAULTS = {
    ("sampling full", "another_batch"), ("full in micro-batches", "another_batch"),
    ("micro-batches of a text's epochs", "larger_gradient"),
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURED)
def test_the_eager_step_agrees_with_itself_and_a_wrong_one_does_not(name: str) -> None:
    """From equal states, also if an update is skipped, which shows nothing. Nothing of a fault remains; in cases about moments
    it comes at an early step, too. Every model, optimizer and number format has all faults, every other case has a third of
    them."""
    pack, eager = (contract.pack(*CAPTURED[name].lanes()) for _ in range(2))
    check, steps_of_faults = pack._step_check(), (1, 5) if name in OF_OPTIMIZERS else (5,)
    whole, place = name in OF_MODELS | OF_OPTIMIZERS | OF_PRECISIONS, list(CAPTURED).index(name)
    faults = {wrong: fault for number, (wrong, fault) in enumerate(FAULTS.items()) if whole or number % 3 == place % 3}
    for step in range(6):
        for run in (pack, eager):
            run._draw()
            run.procedure.before(step)
        start = values(pack)
        eager._plain_step()
        for wrong, fault in faults.items() if step in steps_of_faults else ():
            verdict = pack._step_check()(pack._plain_step, lambda fault=fault: fault(pack))  # type: ignore[misc]
            assert (verdict.difference == "") == ((name, wrong) in NO_FAULTS), (step, wrong)
            assert_equal(pack, eager)
            restore(pack, start)
        verdict = check(pack._plain_step, pack._plain_step)
        assert verdict.difference == "", step
        skips = bool((pack.scaler.state["scale"] < start["scaler.scale"]).any())
        assert (verdict.settled, verdict.proven) == (not skips, not skips), step
        assert_equal(pack, eager)
        for run in (pack, eager):
            run._follow()


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "lamb", "muon", "radam"])
def test_a_held_lane_is_compared_by_its_gradient(optimizer: str, text: Text) -> None:
    """Nothing but Adam's second moment moves in it: a gradient that is 1% off, and the moment made of it, are told."""

    def wrong(pack: Pack) -> None:
        larger_gradient(pack)
        for value, correct in zip(learned(pack), right, strict=True):
            value[0].copy_(correct[0])

    pack = Pack(lanes(optimizer=optimizer, ramp="held", warmup_fraction=0.5)[:1] * 2, text)
    for step in range(3):
        pack._draw()
        start = values(pack)
        pack._plain_step()
        right = [tensor.clone() for tensor in learned(pack)]
        restore(pack, start)
        verdict = pack._step_check()(pack._plain_step, lambda: wrong(pack))
        assert verdict.difference.startswith("the gradient of lane "), step
        pack.step += 1
    assert torch.equal(pack.network.flat_KP, Pack(pack.lanes, text).network.flat_KP), "the ramp is held all along"


def test_lanes_that_cannot_move_are_waited_for_unless_another_moves(text: Text) -> None:
    """A first LR of zero shows no update. A program that has shown none is not remembered, and not waited for for ever."""
    held, moving = (lanes(ramp=ramp, warmup_fraction=0.5, steps=8)[0] for ramp in ("held", "linear"))
    for chosen, at_once in (([held, held], False), ([held, moving], True)):
        pack = Pack(chosen, text)
        check, verdicts = pack._step_check(), []
        while not pack.done:
            pack._draw()
            verdicts.append(check(pack._plain_step, pack._plain_step))
            pack.step += 1
        assert [verdict.settled for verdict in verdicts] == [verdict.proven for verdict in verdicts]
        assert [verdict.proven for verdict in verdicts] == ([True] * 8 if at_once else [False] * 4 + [True] * 4)
    check.calls, check.moved_K[:] = MOST_CALLS, False
    pack.lr_SK.zero_()
    pack.clock.zero_()
    assert check(pack._plain_step, pack._plain_step) == Agreement(settled=True, proven=False)


def assert_equal(pack: Pack, eager: Pack) -> None:
    for (name, ours), theirs in zip(values(pack).items(), values(eager).values(), strict=True):
        assert torch.equal(ours.nan_to_num(), theirs.nan_to_num()), name


def restore(pack: Pack, start: dict[str, torch.Tensor]) -> None:
    for name, value in pack._tensors().items():
        value.copy_(start[name])


def started(variant: str, text: Text, steps: int, **training: Any) -> tuple[Pack, StepCheck]:
    pack = Pack(lanes(**{**VARIANTS[variant], **training}), text)
    for _ in range(steps):
        pack._train_step()
    pack._draw()
    return pack, pack._step_check()


def values(pack: Pack) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in pack._tensors().items()}


@pytest.mark.parametrize("steps", [0, 12])
# Masks of dropout belong to places in the batch, and not to examples.
@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "dropout"])
def test_a_program_that_rounds_otherwise_agrees(variant: str, steps: int, text: Text) -> None:
    """Also if every lane's update is skipped, as happens at first with a large loss scale."""
    pack, check = started(variant, text, steps)
    scale_K = pack.scaler.state["scale"].clone()
    verdict = check(pack._plain_step, lambda: reordered(pack))
    skips_K = pack.scaler.state["scale"] < scale_K
    assert skips_K.all() == (variant == "dynamic scaling" and steps == 0)
    assert verdict.difference == ""
    assert verdict.settled == (not skips_K.any()), "a lane that skips shows nothing"


@pytest.mark.parametrize("variant", ["adamw", "bf16", "dynamic scaling"])
def test_long_sums_in_any_order_agree(variant: str, text: Text) -> None:
    """Gains and biases of 512 positions, which a CPU sums in the narrow format itself: a tenth of the largest, in bf16."""
    pack, check = started(variant, text, 0, batch_size=64)
    for step in range(5):
        assert check(pack._plain_step, lambda: reordered(pack)).difference == "", step
        pack.step += 1


def test_a_step_that_fails_halfway_leaves_no_trace(text: Text) -> None:
    pack, check = started("adamw", text, 3)
    before = values(pack)

    def fails() -> None:
        pack._plain_step()
        raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        check(pack._plain_step, fails)
    for name, value in values(pack).items():
        assert torch.equal(value.nan_to_num(), before[name].nan_to_num()), name


def test_an_overflow_at_the_edge_is_no_difference_and_one_at_every_step_is(text: Text) -> None:
    """Dynamic scaling goes to where the largest scaled gradient is a rounding away from infinity."""

    def overflows(pack: Pack) -> None:
        scale = pack.scaler.state["scale"]
        scale.mul_(2.0**30)
        pack._plain_step()
        scale.div_(2.0**30)

    pack, check = started("dynamic scaling", text, 3, loss_scale=2.0**8)
    verdicts = []
    for _ in range(3):
        verdicts.append(check(pack._plain_step, lambda: overflows(pack)))
        pack.step += 1
    assert [verdict.settled for verdict in verdicts[:2]] == [False, False]
    assert [verdict.difference for verdict in verdicts[:2]] == ["", ""]
    assert verdicts[2].difference == "the gradient of lane 0 overflows at other steps than the eager one"


@pytest.mark.parametrize("what", ["weights", "scaler's scale", "scaler's updates"])
def test_a_skipped_step_changes_nothing_but_its_scale(what: str, text: Text) -> None:
    def wrong(pack: Pack) -> None:
        pack._plain_step()
        (pack.network.flat_KP if what == "weights" else pack.scaler.state[what.split()[1]]).mul_(0.5).add_(1.0)

    pack, check = started("dynamic scaling", text, 0)
    verdict = check(pack._plain_step, lambda: wrong(pack))
    assert pack.scaler.state["updates"].tolist() == [0.0, 0.0]
    assert verdict.difference == f"the {what} is not equal"


def test_an_update_may_jump_where_it_is_a_sign_of_nearly_nothing_and_nowhere_else(text: Text) -> None:
    def other_side(pack: Pack, entry: int) -> None:
        before = float(pack.network.flat_KP[0, entry])
        pack._plain_step()
        pack.network.flat_KP[0, entry] = 2 * before - pack.network.flat_KP[0, entry]

    pack, _ = started("lion", text, 3, weight_decay=0.0)
    start = values(pack)
    pack._plain_step()
    gradient_KP, beta1 = pack.optimizer.gradient_KP.clone(), pack.training.beta1
    nearly, surely = gradient_KP[0].abs().topk(2).indices.tolist()
    restore(pack, start)
    momentum_KP = pack.optimizer.state["momentum"]
    momentum_KP[0, nearly] = gradient_KP[0, nearly] * (beta1 - 1) / beta1 * (1 + 1e-6)
    for entry, differs in ((nearly, False), (surely, True)):
        start = values(pack)
        verdict = pack._step_check()(pack._plain_step, lambda entry=entry: other_side(pack, entry))  # type: ignore[misc]
        assert (verdict.difference != "") == differs
        restore(pack, start)


def test_a_lane_that_has_diverged_eagerly_has_to_by_a_program(text: Text) -> None:
    pack, check = started("adamw", text, 3)

    def diverges() -> None:
        pack._plain_step()
        pack.network.flat_KP[1] = float("nan")

    assert check(diverges, pack._plain_step).difference == "lane 1 is finite, and eagerly not finite"


def test_a_lane_that_has_diverged_is_not_waited_for(text: Text) -> None:
    pack, check = started("adamw", text, 3)
    pack.network.flat_KP[1] = float("nan")
    verdict = check(pack._plain_step, lambda: reordered(pack))
    assert (verdict.settled, verdict.difference) == (True, "")
    pack, check = started("adamw", text, 3)
    pack.network.flat_KP[1] = float("nan")
    assert check(pack._plain_step, lambda: larger_update(pack)).difference.startswith("the weights of lane 0 is off by")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)


@pytest.mark.usefixtures("planted")
def test_a_pack_whose_program_differs_is_the_eager_one_and_says_so(text: Text, caplog: pytest.LogCaptureFixture) -> None:
    eager, pack = Pack(lanes(), text), Pack(lanes(), text, program=Program(compiled=True))
    eager.advance()
    pack.advance()
    assert torch.equal(pack.records["train_loss"], eager.records["train_loss"])
    assert torch.equal(pack.network.flat_KP, eager.network.flat_KP)
    (line,) = (record.message for record in caplog.records)
    assert line.startswith("packs run eagerly: compiled differs from the eager step (the weights of lane ")
    assert "to have it compiled again, remove" in line
    assert (pack.runner.program, pack.runner.differs) == (EAGER, True)
    for result, plain in zip(pack.results(), eager.results(), strict=True):
        assert result.program == "eager"
        assert result.program_note is not None
        assert result.program_note in line
        assert plain.program_note is None


@pytest.mark.parametrize("variant", ["adamw", "dynamic scaling", "dropout", "bf16"])
def test_a_known_program_is_looked_at_by_its_loss(variant: str, text: Text) -> None:
    """Its step stays if its losses are those of the eager network; else the eager step is made."""
    pack, _ = started(variant, text, 12)
    eager, _ = started(variant, text, 12)
    start = values(pack)
    eager._plain_step()
    for fault in (another_batch, larger_loss):
        verdict = pack._loss_check()(pack._plain_step, lambda fault=fault: fault(pack))  # type: ignore[misc]
        assert verdict.difference.startswith("the loss of lane ")
        assert_equal(pack, eager)
        restore(pack, start)
    for program in (pack._plain_step, lambda: larger_update(pack)):
        assert pack._loss_check()(pack._plain_step, program) == Agreement(settled=True, proven=False)
        before = values(pack)
        restore(pack, start)
        program()
        assert all(torch.equal(before[name].nan_to_num(), tensor.nan_to_num()) for name, tensor in values(pack).items())
        restore(pack, start)


def test_a_known_program_is_not_compared_again(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor in packs of other rates, seeds and schedules; but in one whose lanes clip, in one of one lane, and for every batch
    size of a ramp."""
    compiled_steps: list[Step] = []
    monkeypatch.setattr(programs, "compiled", lambda step: compiled_steps.append(step) or step)
    monkeypatch.setattr(programs, "missing_compiler", lambda device: "")
    full: list[int] = []
    whole = StepCheck.__call__
    monkeypatch.setattr(StepCheck, "__call__", lambda check, *steps: full.append(1) or whole(check, *steps))
    agreed: set[str] = set()
    for chosen, compared in (
        (lanes(), 1), (lanes()[::-1], 0), (lanes(beta1=0.5, schedule="linear"), 0), (lanes(clip_norm=1.0), 1),
        (lanes()[:1], 1), (lanes(clip_norm=2.0), 0), (lanes(batch_ramp=(0.5,)), 2),
    ):  # fmt: skip
        full.clear()
        pack = Pack(chosen, text, program=Program(compiled=True), agreed=agreed)
        pack.advance()
        assert (pack.runner.program.name, pack.runner.note) == ("compiled", "")
        assert len(full) == compared, chosen
    assert len(agreed) == 5
