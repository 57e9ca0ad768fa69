"""A program that does something else than the eager step is told from one that rounds otherwise; by planted faults."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from folklore.harness.data.text import Text
from folklore.harness.spec.configuration import OPTIMIZERS
from folklore.harness.training.agreement import StepCheck
from folklore.harness.training.pack import Pack
from folklore.harness.training.programs import EAGER, Program
from tests.harness.training.plain_steps import VARIANTS, lanes, larger_update, plant, reordered

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
    before = {name: each.clone() for name, each in pack.optimizer.state.items()}
    pack._plain_step()
    for name, each in before.items():
        pack.optimizer.state[name].copy_(each)


def last_moment_as_it_was(pack: Pack) -> None:
    """Of those that a step moves: Sophia's curvature is not one."""
    before = {name: pack.optimizer.state[name].clone() for name in pack.optimizer.moments}
    pack._plain_step()
    *_, name = (name for name, each in before.items() if not torch.equal(each, pack.optimizer.state[name]))
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


FAULTS: dict[str, Fault] = {
    each.__name__: each
    for each in (
        larger_update, rate_of_the_neighbour, another_batch, larger_loss, moments_as_they_were, last_moment_as_it_was,
        one_entry_is_nan, a_layer_left_out, clock_stands_still, record_of_another_step,
    )
}  # fmt: skip


def started(variant: str, text: Text, steps: int, **training: Any) -> tuple[Pack, StepCheck]:
    pack = Pack(lanes(**{**VARIANTS[variant], **training}), text)
    for _ in range(steps):
        pack._train_step()
    pack._draw()
    return pack, pack._step_check()


def values(pack: Pack) -> dict[str, torch.Tensor]:
    return {name: each.clone() for name, each in pack.state().items() if name != "progress"} | {"clock": pack.clock.clone()}


@pytest.mark.parametrize("steps", [0, 12])
# Masks of dropout belong to places in the batch, and not to examples.
@pytest.mark.parametrize("variant", [each for each in VARIANTS if each != "dropout"])
def test_a_program_that_rounds_otherwise_agrees(variant: str, steps: int, text: Text) -> None:
    """Also where every lane's update is skipped, as those of a large loss scale are at first."""
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
    for step in range(20):
        assert check(pack._plain_step, lambda: reordered(pack)).difference == "", step
        pack.step += 1


@pytest.mark.parametrize("steps", [0, 12])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_told_and_leaves_no_trace(fault: str, variant: str, steps: int, text: Text) -> None:
    scaling = {"loss_scale": 2.0**8} if variant == "dynamic scaling" else {}
    pack, check = started(variant, text, steps, **scaling)
    eager, _ = started(variant, text, steps, **scaling)
    eager._plain_step()

    verdict = check(pack._plain_step, lambda: FAULTS[fault](pack))
    assert verdict.difference != ""
    for name, value in values(pack).items():
        assert torch.equal(value.nan_to_num(), values(eager)[name].nan_to_num()), name


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
    assert [each.settled for each in verdicts[:2]] == [False, False]
    assert [each.difference for each in verdicts[:2]] == ["", ""]
    assert verdicts[2].difference == "the gradient of lane 0 overflows at other steps than the eager one"


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
    assert "to have it compiled anew, remove" in line
    assert (pack.runner.program, pack.runner.differs) == (EAGER, True)
    for result, plain in zip(pack.results(), eager.results(), strict=True):
        assert result.program == "eager"
        assert result.program_note is not None
        assert result.program_note in line
        assert plain.program_note is None


def test_gradients_are_read_off_the_moments(text: Text) -> None:
    for variant in OPTIMIZERS:
        pack, _ = started(variant, text, 12, clip_norm=None, weight_decay=0.3)
        before = values(pack)
        pack._plain_step()
        first = f"optimizer.{pack.optimizer.moments[0]}"
        found_KP = pack.optimizer.gradient_between(
            before["weights"], before[first], pack.optimizer.state[first.partition(".")[2]]
        )
        gradient_KP = pack.optimizer.gradient_KP
        assert (found_KP - gradient_KP).abs().max() < 1e-5 * gradient_KP.abs().max(), variant
