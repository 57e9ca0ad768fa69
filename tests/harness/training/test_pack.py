"""A lane must be what the trial would be alone, whatever lies beside it: at every step of a training, each from equal states.

The rounding is that of harness/training/agreement.py.
"""

import math

import pytest
import torch

from folklore.harness.data.text import Text
from folklore.harness.errors import UserError
from folklore.harness.spec import Configuration, Measurement, Training, Workload
from folklore.harness.training.pack import Lane, Pack
from folklore.harness.training.result import LaneResult
from folklore.harness.training.schedules import learning_rates
from folklore.models import View
from tests.harness.training.single_steps import assert_lane_is_torchs, assert_parts_agree

WORKLOAD = Workload(width=16, depth=2, heads=2, context=16)
MEASUREMENT = Measurement(probes=4, evaluations=2, evaluation_examples=8, final_examples=16)


def lane(seed: int = 0, **training: object) -> Lane:
    settings = {"steps": 40, "batch_size": 4, "peak_lr": 2.0**-7, **training}
    return Lane(Configuration(workload=WORKLOAD, training=Training(**settings), measurement=MEASUREMENT), seed)


def train(lanes: list[Lane], text: Text) -> list[LaneResult]:
    pack = Pack(lanes, text)
    pack.advance()
    return pack.results()


def varied(count: int) -> list[Lane]:
    return [
        lane(
            seed=index % 4,
            peak_lr=2.0 ** -(6 + index % 3),
            warmup_fraction=0.1 * (index % 2),
            weight_decay=0.01 * index,
            schedule=("cosine", "linear", "constant")[index % 3],
            clip_norm=1.0 if index % 5 == 0 else None,
            second_moment_start="first_gradient" if index % 7 == 0 else "zero",
        )
        for index in range(count)
    ]


@pytest.mark.parametrize("optimizer", ["adamw", "radam", "sgd"])
def test_packs_of_1_3_and_16_agree(text: Text, optimizer: str) -> None:
    lanes = [
        Lane(
            each.configuration.model_copy(
                update={"training": each.configuration.training.model_copy(update={"optimizer": optimizer})}
            ),
            each.seed,
        )
        for each in varied(16)
    ]
    parts = [[0], [1, 2, 3], [4], list(range(5, 16))]
    assert_parts_agree(Pack(lanes, text), [(Pack([lanes[each] for each in part], text), part) for part in parts])


def test_order_does_not_matter(text: Text) -> None:
    lanes = varied(6)
    assert_parts_agree(Pack(lanes, text), [(Pack(lanes[::-1], text), range(5, -1, -1))])


def test_a_diverged_neighbour_changes_nothing(text: Text) -> None:
    healthy = lane(seed=1, optimizer="sgd", peak_lr=2.0**-5)
    doomed = lane(seed=2, optimizer="sgd", peak_lr=1e6)
    beside = train([doomed, healthy, doomed], text)
    assert [each.outcome for each in beside] == ["diverged", "finished", "diverged"]
    assert math.isnan(beside[0].test_loss)
    assert beside[0].divergence_step is not None
    pack = Pack([doomed, healthy, doomed], text)
    assert_parts_agree(pack, [(Pack([healthy], text), [1])])
    assert pack.network.flat_KP.isfinite().all(dim=1).tolist() == [False, True, False]


def test_matches_a_plain_torch_loop(text: Text) -> None:
    """The trial trained alone by autograd on separate tensors, torch.optim.AdamW and torch's clipping."""
    chosen = lane(seed=3, clip_norm=0.7, weight_decay=0.1)
    training = chosen.configuration.training
    pack = Pack([lane(seed=1), chosen, lane(seed=2)], text)
    model = pack.network.model
    weights = {p.name: torch.nn.Parameter(torch.zeros(1, *p.shape)) for p in model.parameters}
    groups = [
        {"params": [weights[p.name] for p in model.parameters if p.decays], "weight_decay": 0.1},
        {"params": [weights[p.name] for p in model.parameters if not p.decays], "weight_decay": 0.0},
    ]
    optimizer, rates = torch.optim.AdamW(groups), learning_rates(training)
    tokens = torch.from_numpy(text.splits["train"])
    starts = text.batch_index(3, 0, training.batch_size, WORKLOAD.context)

    def loss_at(step: int) -> torch.Tensor:
        windows = torch.stack([tokens[s : s + WORKLOAD.context + 1] for s in starts[step]]).long()
        logits = model(View(weights), windows[None, :, :-1])
        return torch.nn.functional.cross_entropy(logits.flatten(0, 2), windows[:, 1:].flatten())

    def set_rates(step: int) -> None:
        for group in optimizer.param_groups:
            group["lr"] = rates[step]

    assert_lane_is_torchs(
        pack, 1, weights, optimizer, loss_at, set_rates, clip_norm=0.7, layout=lambda name, value: value.unsqueeze(0)
    )
    losses = pack.results()[1].curves["train_loss"]
    assert losses[-1] < losses[0]


def test_stopping_and_going_on_changes_nothing(text: Text) -> None:
    lanes = varied(3)
    whole = train(lanes, text)
    pack = Pack(lanes, text)
    while pack.step < 17:
        pack.advance(seconds=1e-9)
    state = {name: value.clone() for name, value in pack.state().items()}
    resumed = Pack(lanes, text)
    assert resumed.load(state)
    assert resumed.step == pack.step
    resumed.advance()
    for one, other in zip(whole, resumed.results(), strict=True):
        assert one.curves["train_loss"] == other.curves["train_loss"]
        assert one.curves["probe_gradient_norm"] == other.curves["probe_gradient_norm"]
        assert one.test_loss == other.test_loss


def test_a_state_of_another_pack_is_refused(text: Text) -> None:
    pack = Pack(varied(2), text)
    assert not pack.load(Pack(varied(3), text).state())
    assert pack.step == 0


def test_equal_seeds_share_start_and_batches(text: Text) -> None:
    """Arms are compared in pairs: the first loss, before any update, is the same in every lane of a seed."""
    results = train([lane(seed=5, peak_lr=2.0**-9), lane(seed=5, peak_lr=2.0**-5), lane(seed=6)], text)
    first = [result.curves["train_loss"][0] for result in results]
    assert first[0] == pytest.approx(first[1], abs=1e-5)
    assert abs(first[0] - first[2]) > 1e-3


def test_it_learns(text: Text) -> None:
    result = train([lane(steps=300, peak_lr=2.0**-6)], text)[0]
    assert result.outcome == "finished"
    assert result.test_loss < 0.75 * result.initial_loss


def test_lanes_of_different_shapes_are_refused(text: Text) -> None:
    with pytest.raises(UserError, match="must agree"):
        Pack([lane(), lane(steps=41)], text)


def test_results_before_the_end_are_refused(text: Text) -> None:
    with pytest.raises(ValueError, match="step 0 of 40"):
        Pack([lane()], text).results()


def test_lanes_of_one_seed_start_from_one_draw(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing a large model takes seconds; and what is kept of the last draw must not be what a pack trains on."""
    from folklore.harness.training import network

    drawn: list[int] = []
    genuine = network.torch_generator
    monkeypatch.setattr(network, "torch_generator", lambda seed, use: drawn.append(seed) or genuine(seed, use))
    seeds = (1231, 1232, 1231)
    pack = Pack([lane(seed=seed) for seed in seeds], text)
    assert drawn == [1231, 1232]
    first_KP = pack.network.flat_KP.clone()
    assert torch.equal(first_KP[0], first_KP[2])
    assert not torch.equal(first_KP[0], first_KP[1])
    pack.advance()
    assert torch.equal(pack.network.starts(seeds), first_KP)
