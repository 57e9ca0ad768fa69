"""A pack of a GPT against a plain loop of torch, and what a pack refuses. Rules for all packs: test_contract.py."""

import math
from functools import partial

import pytest
import torch

from folklore.harness.declare import Workload
from folklore.harness.errors import UserError
from folklore.harness.train.workloads.data.text import Text
from folklore.models import View
from tests.harness.train import contract
from tests.harness.train.contract import pack, trained
from tests.harness.train.single_steps import assert_lane_is_torchs

WORKLOAD = Workload(width=16, depth=2, heads=2, context=16)
lane = partial(contract.lane, WORKLOAD, steps=40, batch_size=4, peak_lr=2.0**-7)


def test_a_lane_that_diverges_says_when() -> None:
    healthy = lane(seed=1, optimizer="sgd", peak_lr=2.0**-5)
    doomed = lane(seed=2, optimizer="sgd", peak_lr=1e6)
    beside = trained(doomed, healthy, doomed).results()
    assert [outcome.outcome for outcome in beside] == ["diverged", "finished", "diverged"]
    assert math.isnan(beside[0].test_loss)
    assert beside[0].divergence_step is not None


def test_matches_a_plain_torch_loop(text: Text) -> None:
    """The trial trained alone by autograd on separate tensors, torch.optim.AdamW and torch's clipping."""
    chosen = lane(seed=3, clip_norm=0.7, weight_decay=0.1)
    training = chosen.configuration.training
    made = pack(lane(seed=1), chosen, lane(seed=2))
    model = made.network.model
    weights = {p.name: torch.nn.Parameter(torch.zeros(1, *p.shape)) for p in model.parameters}
    groups = [
        {"params": [weights[p.name] for p in model.parameters if p.decays], "weight_decay": 0.1},
        {"params": [weights[p.name] for p in model.parameters if not p.decays], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1.0)
    tokens = torch.from_numpy(text.splits["train"])
    starts = text.batch_index(3, 0, training.batch_size, WORKLOAD.context)

    def loss_at(step: int) -> torch.Tensor:
        windows = torch.stack([tokens[s : s + WORKLOAD.context + 1] for s in starts[step]]).long()
        logits = model(View(weights), windows[None, :, :-1])
        return torch.nn.functional.cross_entropy(logits.flatten(0, 2), windows[:, 1:].flatten())

    assert_lane_is_torchs(made, 1, weights, optimizer, loss_at, clip_norm=0.7, layout=lambda name, value: value.unsqueeze(0))
    losses = made.results()[1].curves["train_loss"]
    assert losses[-1] < losses[0]


def test_a_state_of_another_pack_is_refused() -> None:
    made = pack(lane(), lane(seed=1))
    assert not made.load(pack(lane(), lane(seed=1), lane(seed=2)).state())
    assert made.step == 0


def test_lanes_of_different_shapes_are_refused() -> None:
    with pytest.raises(UserError, match="must agree"):
        pack(lane(), lane(steps=41))


def test_results_before_the_end_are_refused() -> None:
    with pytest.raises(ValueError, match="step 0 of 40"):
        pack(lane()).results()


def test_lanes_of_one_seed_start_from_one_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing a large model takes seconds; and what is kept of the last draw must not be what a pack trains on."""
    from folklore.harness.train.workloads import network

    drawn: list[int] = []
    genuine = network.torch_generator
    monkeypatch.setattr(network, "torch_generator", lambda seed, use: drawn.append(seed) or genuine(seed, use))
    seeds = (1231, 1232, 1231)
    made = pack(*(lane(seed=seed) for seed in seeds))
    assert drawn == [1231, 1232]
    first_KP = made.network.flat_KP.clone()
    assert torch.equal(first_KP[0], first_KP[2])
    assert not torch.equal(first_KP[0], first_KP[1])
    made.advance()
    assert torch.equal(made.network.starts(seeds), first_KP)
