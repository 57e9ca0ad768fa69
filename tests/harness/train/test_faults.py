"""Faults and their remedies, against plain PyTorch and against runs without a fault."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from folklore.harness.declare import Workload
from folklore.harness.train.pack import Pack
from folklore.harness.train.procedures.remedies import Remedies
from tests.harness.train import contract
from tests.harness.train.single_steps import relu_mlp, weights_of

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
    measurement={**contract.FEW, "gradient_norms": True},
)


def at(made: Pack, step: int) -> torch.Tensor:
    """All weights when so many steps are done, [K, P]."""
    while made.step < step:
        made.advance(0.0)
    return made.network.flat_KP.detach().clone()


def test_a_gradient_that_is_too_large_is_learnt_from_as_one_by_torch() -> None:
    made = contract.pack(lane(MLP, 1, fault="gradient", fault_size=50.0, clip_norm=None))
    batches = [made.procedure.batch(made.procedure.examples_of(step)) for step in range(STEPS)]
    weights = weights_of(made, 0)
    optimizer = torch.optim.SGD(weights.values(), lr=2.0**-5, momentum=0.9)
    for step, (inputs, targets) in enumerate(batches):
        optimizer.zero_grad()
        loss = F.cross_entropy(relu_mlp(weights, inputs[0]), targets[0])
        (loss * (50.0 if step == FAULTY else 1.0)).backward()
        optimizer.step()
    made.advance()
    for name, view in made.network.views.items():
        assert torch.allclose(view[0], weights[name], rtol=1e-3, atol=1e-4), name


def test_only_the_faulty_steps_have_wrong_labels() -> None:
    made = contract.pack(lane(MLP, 1, fault="labels", fault_steps=3), lane(MLP, 1))
    for step in range(STEPS):
        made.learner.clock.fill_(step)
        faulty, clean = made.procedure.batch(made.procedure.examples_of(step))[1]
        assert torch.equal(faulty, clean) == (step not in range(FAULTY, FAULTY + 3))


@pytest.mark.parametrize(("workload", "kept"), [(MLP, ()), (contract.own("batch_norm"), ("buffer",))])
def test_a_skipped_step_leaves_no_trace(workload: Workload, kept: tuple[str, ...]) -> None:
    """Bit by bit until the fault as without one; the step changes neither weights and buffers nor what the optimizer keeps, its
    momentum; then training goes on."""
    made, clean = contract.pack(lane(workload, 1, fault="gradient", remedy="skip")), contract.pack(lane(workload, 1))
    before_KP = at(made, FAULTY)
    assert torch.equal(before_KP, at(clean, FAULTY))
    held = ("weights", "optimizer", *kept)
    before = {name: value.clone() for name, value in made.learner.state().items() if name.startswith(held)}
    assert {name.partition(".")[0] for name in before} == set(held)
    at(made, FAULTY + 1)
    for name, value in before.items():
        assert torch.equal(made.learner.state()[name], value), name
    assert not torch.equal(at(made, FAULTY + 2), before_KP)


def test_skipping_does_not_heal_weights_that_were_hit_and_going_back_does() -> None:
    hit = {"fault": "weights", "fault_size": 0.5}
    skipped, rolled, clean = (
        contract.pack(lane(MLP, 1, **fault)) for fault in ({**hit, "remedy": "skip"}, {**hit, "remedy": "roll_back"}, {})
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


def test_the_norm_of_every_step_is_that_before_clipping() -> None:
    made = contract.pack(
        lane(MLP, 1, clip_norm=1e-3, measurement={"probes": STEPS, "gradient_norms": True, "curve_points": STEPS})
    )
    made.advance()
    (result,) = made.results()
    norms = result.curves["train_gradient_norm"]
    assert norms == pytest.approx(result.curves["probe_gradient_norm"], rel=1e-4)
    assert min(norms) > 1e-2
