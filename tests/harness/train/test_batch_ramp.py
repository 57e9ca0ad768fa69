"""A ramp of the batch against plain torch and counting: batches, LRs, steps, evaluations, cost, and what is refused."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from folklore.harness.declare import Training, Workload
from folklore.harness.plan.cost import lane_bytes, trial_passes
from folklore.harness.plan.recipe import trial_recipe
from folklore.harness.train.pack import Pack
from folklore.harness.train.schedules import learning_rates
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.data.examples import digits
from folklore.harness.train.workloads.data.text import Text
from folklore.models import View
from tests.harness.train import contract
from tests.harness.train.contract import GPT, MLP
from tests.harness.train.single_steps import assert_lane_is_torchs

# In 37 steps: 32 of 4 examples, 4 of 16 and 1 of 64, 256 in all.
RAMP = {"batch_ramp": (0.5, 0.75), "batch_ramp_factor": 4.0, "batch_size": 4}


lane = partial(contract.lane, measurement={"probes": 4, "evaluations": 8}, steps=37, **RAMP)


def batches(made: Pack, number: int) -> list[np.ndarray]:
    """The training examples that a lane sees in each of its steps."""
    indices = []
    for step in range(made.training.steps):
        made.step = step
        made.clock.fill_(step)
        made._draw()
        row = int((made.clock - made._first_drawn) % len(made._draws))
        indices.append(made._draws[row, number].numpy().copy())
    return indices


@pytest.mark.usefixtures("short_draws")
@pytest.mark.parametrize(("workload", "sampling"), [(MLP, "epochs"), (GPT, "replacement")], ids=["mlp", "gpt"])
def test_the_same_examples_in_the_same_order(workload: Workload, sampling: str, text: Text) -> None:
    """As the run without a ramp, over several draws of each batch size, in every lane."""
    dataset = text if workload.model == "gpt" else load("digits")
    # 888 steps see what 1536 of 4 see: 768 of 4, 96 of 16, 24 of 64.
    ramped = Pack([lane(workload, seed, steps=888, sampling=sampling) for seed in (3, 4)], dataset)
    plain = Pack([lane(workload, seed, steps=1536, batch_ramp=(), sampling=sampling) for seed in (3, 4)], dataset)
    for number in (0, 1):
        ours, theirs = batches(ramped, number), batches(plain, number)
        assert [len(batch) for batch in ours] == [4] * 768 + [16] * 96 + [64] * 24
        assert np.array_equal(np.concatenate(ours), np.concatenate(theirs))
    assert ramped.training.examples == plain.training.examples == 6144
    assert not np.array_equal(ours[0], batches(ramped, 0)[0])


@pytest.mark.parametrize(
    "training",
    [
        {"schedule": "constant", "warmup_fraction": 0.0},
        {"schedule": "cosine", "warmup_fraction": 0.1},
        {"schedule": "step", "warmup_fraction": 0.0, "step_drops": (0.5, 0.75)},
        {"schedule": "warmup_stable_decay", "warmup_fraction": 0.1, "decay_fraction": 0.3},
        {"schedule": "linear", "warmup_fraction": 0.25, "final_fraction": 0.0},
    ],
)
def test_the_lr_is_that_of_as_many_examples(training: dict[str, Any]) -> None:
    """Every step has the LR that the run without a ramp has once it has seen as many examples."""
    ramped = Training(steps=4736, **RAMP, **training)
    plain = learning_rates(Training(steps=8192, batch_size=4, **training))
    examples = 0
    for step, rate in enumerate(learning_rates(ramped)):
        assert rate == pytest.approx(plain[examples // 4], rel=1e-9), step
        examples += ramped.batch_size_at(step)
    assert examples == 32768
    assert Training(steps=2000, **training).nominal_steps == 2000


def test_against_plain_torch() -> None:
    """Losses, gradients and updates of every step on these batches, through two changes of the batch."""
    chosen = lane(MLP, 5, optimizer="sgd", momentum=0.9, weight_decay=0.0, steps=74)
    made = Pack([lane(MLP, 1, **chosen.configuration.training.model_dump(exclude={"peak_lr", *RAMP})), chosen], load("digits"))
    model = made.network.model
    weights = {p.name: torch.nn.Parameter(torch.zeros(1, *p.shape)) for p in model.parameters}
    theirs = torch.optim.SGD(weights.values(), lr=1.0, momentum=0.9)
    data = digits()
    features, labels = data.arrays("train")
    stream = np.concatenate([data.batch_index(5, draw, 4, 0).ravel() for draw in range(2)])
    edges = np.cumsum([0] + [4] * 64 + [16] * 8 + [64] * 2)

    def loss_at(step: int) -> Tensor:
        index = stream[edges[step] : edges[step + 1]]
        return torch.nn.functional.cross_entropy(model(View(weights), features[index][None])[0], labels[index])

    assert_lane_is_torchs(made, 1, weights, theirs, loss_at, layout=lambda name, value: value.unsqueeze(0))
    assert made.step == 74


@pytest.mark.parametrize(("steps", "factor", "shares"), [(37, 4.0, (0.5, 0.75)), (100, 2.0, (0.3,)), (61, 0.5, (0.2, 0.6))])
def test_steps_and_shares_by_counting(steps: int, factor: float, shares: tuple[float, ...]) -> None:
    training = Training(steps=steps, batch_size=8, batch_ramp=shares, batch_ramp_factor=factor, warmup_fraction=0.0)
    sizes = [training.batch_size_at(step) for step in range(steps)]
    examples = np.cumsum(sizes)
    assert training.examples == examples[-1]
    assert training.largest_batch_size == training.micro_batch_size == max(sizes)
    for share, (before, after) in zip(shares, [pair for pair in pairwise(sizes) if pair[0] != pair[1]], strict=True):
        assert after == before * factor
        changed = next(step for step in range(1, steps) if sizes[step] == after and sizes[step - 1] == before)
        assert abs(examples[changed - 1] - share * examples[-1]) <= max(before, after)
    for part in range(1, 8):
        off = np.abs(examples - part * examples[-1] / 7)
        assert off[training.steps_at(part, 7) - 1] == off.min()
    assert training.steps_at(7, 7) == steps
    assert training.steps_for(training.examples) == pytest.approx(steps, abs=2)


def test_evaluations_and_probes_come_after_equal_shares_of_the_examples() -> None:
    made = Pack([lane(MLP, steps=37)], load("digits"))
    made.advance()
    (result,) = made.results()
    # 256 examples: 32 steps of 4, 4 of 16, 1 of 64; an eighth of them is 32.
    assert result.curves["evaluation_step"] == [8, 16, 24, 32, 34, 36, 37]
    assert made.probe_steps == [0, 15, 31, 35, 36]
    assert result.curves["probe_step"] == [1, 16, 32, 36, 37]
    assert len(result.curves["train_loss"]) == 37
    assert np.isfinite(result.curves["probe_gradient_variance"]).all()
    assert result.examples_per_second * result.seconds == pytest.approx(256)


def test_a_plan_counts_the_examples() -> None:
    model = workload_of(MLP).model(digits().facts)
    ramped, plain = lane(MLP, steps=4736).configuration, lane(MLP, steps=8192, batch_ramp=()).configuration
    assert trial_passes(ramped) == pytest.approx(trial_passes(plain), rel=1e-3)
    largest = lane(MLP, batch_ramp=(), batch_size=64).configuration
    assert lane_bytes(ramped, model) == lane_bytes(largest, model)
    parts = lane(MLP, steps=4736, micro_batches=2).configuration
    assert lane_bytes(parts, model) < lane_bytes(plain, model) + 4 * 4 * sum(
        np.prod(parameter.shape) for parameter in model.parameters
    )
    assert "4,736 steps of 4, then 16, then 64 examples: 32,768 examples" in trial_recipe(ramped)["training"]
