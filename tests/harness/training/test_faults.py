"""Faults and what mends them, against plain PyTorch and against runs without a fault."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from folklore.harness.errors import UserError
from folklore.harness.spec import Training, Workload
from folklore.harness.training.pack import Pack
from folklore.harness.training.procedures.remedies import Remedies
from folklore.harness.workloads.own.finding import find
from tests.harness.training import contract

MLP = Workload(model="mlp", dataset="digits", width=8, depth=1)
STEPS, FAULTY = 20, 10
lane = partial(
    contract.lane,
    steps=STEPS,
    batch_size=8,
    optimizer="sgd",
    momentum=0.9,
    weight_decay=0.0,
    schedule="constant",
    warmup_fraction=0.0,
    peak_lr=2.0**-5,
    remedy_steps=4,
    measurement={**contract.FEW, "gradient_norms": True},
)


def at(made: Pack, step: int) -> torch.Tensor:
    """All weights when so many steps are done, [K, P]."""
    while made.step < step:
        made.advance(0.0)
    return made.network.flat_KP.detach().clone()


def test_a_gradient_that_is_too_large_is_learnt_from_as_one_by_torch() -> None:
    made = contract.pack(lane(MLP, 1, fault="gradient", fault_size=50.0, clip_norm=None))
    batches = [made.procedure.batch(made.procedure.examples_of(step)) for step in range(STEPS)]  # type: ignore[attr-defined]
    weights = {name: view[0].detach().clone().requires_grad_() for name, view in made.network.views.items()}
    optimizer = torch.optim.SGD(weights.values(), lr=2.0**-5, momentum=0.9)
    for step, (inputs, targets) in enumerate(batches):
        optimizer.zero_grad()
        x = torch.relu(inputs[0].flatten(1) @ weights["hidden.0.weight"] + weights["hidden.0.bias"])
        loss = F.cross_entropy(x @ weights["readout.weight"] + weights["readout.bias"], targets[0])
        (loss * (50.0 if step == FAULTY else 1.0)).backward()
        optimizer.step()
    made.advance()
    for name, view in made.network.views.items():
        assert torch.allclose(view[0], weights[name], rtol=1e-3, atol=1e-4), name


def test_only_the_faulty_steps_have_wrong_labels() -> None:
    made = contract.pack(lane(MLP, 1, fault="labels", fault_steps=3), lane(MLP, 1))
    for step in range(STEPS):
        made.learner.clock.fill_(step)
        faulty, clean = made.procedure.batch(made.procedure.examples_of(step))[1]  # type: ignore[attr-defined]
        assert torch.equal(faulty, clean) == (step not in range(FAULTY, FAULTY + 3))


def test_a_skipped_step_is_as_if_it_had_not_been() -> None:
    """Bit by bit until the fault, then on other weights than without one; and the weights stay where they were for a step."""
    made, clean = contract.pack(lane(MLP, 1, fault="gradient", remedy="skip")), contract.pack(lane(MLP, 1))
    assert torch.equal(at(made, FAULTY), at(clean, FAULTY))
    before = at(made, FAULTY)
    assert torch.equal(at(made, FAULTY + 1), before)
    assert not torch.equal(at(made, FAULTY + 2), before)


def test_a_skipped_step_leaves_no_trace() -> None:
    """Neither in the weights nor in what the optimizer keeps, its momentum."""
    made = contract.pack(lane(MLP, 1, fault="gradient", remedy="skip"))
    at(made, FAULTY)
    before = {name: value.clone() for name, value in made.learner.optimizer.state.items()}
    at(made, FAULTY + 1)
    assert before
    for name, value in made.learner.optimizer.state.items():
        assert torch.equal(value, before[name]), name


def test_skipping_does_not_heal_weights_that_were_hit_and_going_back_does() -> None:
    hit = {"fault": "weights", "fault_size": 0.5}
    skipped, rolled, clean = (
        contract.pack(lane(MLP, 1, **each)) for each in ({**hit, "remedy": "skip"}, {**hit, "remedy": "roll_back"}, {})
    )
    fourth, tenth = at(clean, 4), at(clean, FAULTY)  # checkpoints are of steps 0, 4, 8: the last but one is that of step 4
    assert torch.equal(at(rolled, FAULTY + 1), fourth)
    off = (at(skipped, FAULTY + 1) - tenth).square().mean().sqrt() / tenth.square().mean().sqrt()
    assert float(off) == pytest.approx(0.5, rel=0.2)


def test_lr_is_lowered_for_a_time_or_for_good() -> None:
    made = contract.pack(*(lane(MLP, 1, fault="gradient", remedy=name) for name in ("lower_lr", "halve_lr", "skip")))
    made.advance()
    lowered, halved, kept = (made.lr_SK / 2.0**-5).t()
    assert lowered[: FAULTY + 1].tolist() == kept[: FAULTY + 1].tolist() == [1.0] * (FAULTY + 1)
    assert lowered[FAULTY + 1 : FAULTY + 7].tolist() == [0.5, 0.625, 0.75, 0.875, 1.0, 1.0]
    assert set(halved[FAULTY + 1 :].tolist()) == {0.5}
    assert set(kept.tolist()) == {1.0}


@pytest.mark.parametrize(("alarm", "step", "size", "expected"), [
    ("loss_ratio", 30, 2.1, True),
    ("loss_ratio", 30, 1.9, False),
    ("loss_ratio", 5, 100.0, False),
    ("deviations", 140, 2.1, True),
    ("deviations", 140, 1.05, False),
    ("deviations", 30, 100.0, False),
])  # fmt: skip
def test_alarms_are_given_by_the_rule(alarm: str, step: int, size: float, expected: bool) -> None:
    """Losses lie around 1 with a deviation of 0.1."""
    made = contract.pack(lane(MLP, 1, steps=200, remedy="skip", alarm=alarm))
    procedure = made.procedure
    assert isinstance(procedure, Remedies)
    procedure.losses_KS[:] = 1 + 0.1 * torch.tensor([1.0, -1.0]).repeat(100)
    procedure.norms_KS[:] = 1.0 + 0.1 * torch.tensor([1.0, -1.0]).repeat(100)
    procedure.losses_KS[0, step] = size
    assert bool(procedure._alarm(step)[0]) == expected


def test_an_alarm_by_the_norm_needs_norms() -> None:
    with pytest.raises(ValueError, match=r"set measurement\.gradient_norms, too"):
        contract.lane(MLP, remedy="skip", alarm="deviations")
    assert Training().fault == "none"


def test_the_norm_of_every_step_is_that_before_clipping() -> None:
    made = contract.pack(
        lane(MLP, 1, clip_norm=1e-3, measurement={"probes": STEPS, "gradient_norms": True, "curve_points": STEPS})
    )
    made.advance()
    (result,) = made.results()
    norms = result.curves["train_gradient_norm"]
    assert norms == pytest.approx(result.curves["probe_gradient_norm"], rel=1e-4)
    assert min(norms) > 1e-2


def test_what_cannot_go_wrong_or_be_mended_is_refused_in_a_line() -> None:
    numbers = Workload(model="linear", dataset="regression:4")
    with pytest.raises(UserError, match="fault = labels: dataset 'regression:4' has targets that are no classes"):
        contract.pack(contract.lane(numbers, optimizer="sgd", fault="labels"))
    contract.pack(contract.lane(numbers, optimizer="sgd", fault="gradient"))


def test_buffers_go_back_with_the_weights() -> None:
    """Of an own module with batch norm: its running means are those before the step that is skipped."""
    own = find("tests.harness.training.own_workloads:batch_norm").declared
    made = contract.pack(contract.lane(own, optimizer="sgd", steps=STEPS, fault="gradient", remedy="skip"))
    at(made, FAULTY)
    before = {name: value.clone() for name, value in made.network.buffers.items()}
    at(made, FAULTY + 1)
    assert before
    for name, value in made.network.buffers.items():
        assert torch.equal(value, before[name]), name
