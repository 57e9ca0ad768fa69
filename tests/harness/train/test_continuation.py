"""A start from another trial's checkpoint: what is taken along goes on as if nothing had come between."""

from typing import Any

import pytest
import torch

from folklore.harness.declare import Workload
from folklore.harness.errors import UserError
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.starting import LaneState
from folklore.harness.train.workloads import workload_of
from folklore.harness.train.workloads.own.network import ByItself, PackedLanes
from tests.harness.train.contract import CNN, DEEP, GPT, lane, own, pack, trained
from tests.harness.train.single_steps import assert_losses_agree

STEADY = {"schedule": "constant", "warmup_fraction": 0.0}
GOES_ON = {"starts_from": "first", "start_state": "optimizer"}
# So many steps that the next draw of batches, a short one, begins among those of the second trial.
BEFORE, AFTER = 15, 7


def started(parent: Pack, workload: Workload, number: int = 0, **settings: Any) -> Lane:
    """A lane that starts where a lane of a trained pack stands."""
    made = lane(workload, parent.seeds[number], **{**GOES_ON, **settings})
    return Lane(made.configuration, made.seed, LaneState.from_tensors(parent.lane_state(number).to_tensors()))


@pytest.mark.parametrize(
    ("workload", "settings"),
    [
        (DEEP, {"optimizer": "sgd", "momentum": 0.9, "peak_lr": 0.1}),
        (DEEP, {"optimizer": "adamw"}),
        (DEEP, {"optimizer": "adamw", "second_moment_start": "first_gradient", "clip_norm": 0.5}),
        (DEEP, {"optimizer": "lamb"}),
        (DEEP, {"optimizer": "radam"}),
        (DEEP, {"optimizer": "sophia"}),
        (DEEP, {"optimizer": "sgd", "sampling": "epochs", "batch_size": 90}),
        (DEEP, {"optimizer": "sgd", "sampling": "full", "batch_size": 1079}),
        (GPT, {"optimizer": "adamw", "dropout": 0.2, "data_order": 3}),
        (GPT, {"optimizer": "adamw", "precision": "fp16", "loss_scaling": "dynamic", "loss_scale": 2.0**22}),
        (CNN, {"optimizer": "sgd", "augmentation": "flip_and_shift", "micro_batches": 2}),
        (own("perceptron"), {"optimizer": "adamw"}),
        (own("batch_norm"), {"optimizer": "sgd"}),
        (own("dropout"), {"optimizer": "adamw"}),
        (own("sparse"), {"optimizer": "adamw"}),
    ],
)
@pytest.mark.usefixtures("short_draws")
def test_a_trial_that_goes_on_is_the_rest_of_a_longer_one(workload: Workload, settings: dict[str, Any]) -> None:
    """To the last bit: the same steps are made in the same order, whatever ended in between."""
    before, after = (2, 3) if settings.get("sampling") == "full" else (BEFORE, AFTER)
    settings = {**STEADY, **settings}
    whole = trained(lane(workload, 5, **settings, steps=before + after))
    parent = trained(lane(workload, 5, **settings, steps=before))
    child = trained(started(parent, workload, **settings, steps=after))
    assert torch.equal(child.records["train_loss"], whole.records["train_loss"][before:])
    assert torch.equal(child.network.flat_KP, whole.network.flat_KP)
    assert torch.equal(child.records["test_loss"], whole.records["test_loss"])


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "lamb"])
@pytest.mark.usefixtures("short_draws")
def test_an_own_trial_goes_on_in_the_other_way_of_the_two(optimizer: str) -> None:
    """By itself where a packed one stood, and packed where one by itself did: beside a trial that was packed throughout."""
    workload, settings = own("perceptron"), {**STEADY, "optimizer": optimizer}

    def lanes(steps: int, *seeds: int) -> Pack:
        return trained(*(lane(workload, seed, **settings, steps=steps) for seed in seeds))

    whole, packed, alone = lanes(BEFORE + AFTER, 4, 5), lanes(BEFORE, 4, 5), lanes(BEFORE, 5)
    child = trained(started(packed, workload, 1, **settings, steps=AFTER))
    other = trained(*(started(parent, workload, **settings, steps=AFTER) for parent in (packed, alone)))
    assert [type(pack.network) for pack in (packed, alone, child, other)] == [PackedLanes, ByItself, ByItself, PackedLanes]
    for made in (child, other):
        assert_losses_agree(made.records["train_loss"][:, -1], whole.records["train_loss"][BEFORE:, 1])
        assert torch.allclose(made.network.flat_KP[-1], whole.network.flat_KP[1], rtol=1e-4, atol=1e-6)


def test_weights_alone_are_taken_with_an_optimizer_that_begins() -> None:
    """As by hand: the weights of the one are put into a fresh pack."""
    parent = trained(lane(DEEP, 5, **STEADY))
    child = pack(started(parent, DEEP, start_state="weights", data_order=1, **STEADY))
    by_hand = pack(lane(DEEP, 5, data_order=1, **STEADY))
    by_hand.network.flat_KP.copy_(parent.network.flat_KP)
    for run in (child, by_hand):
        run.advance()
    assert torch.equal(child.network.flat_KP, by_hand.network.flat_KP)
    assert torch.equal(child.records["train_loss"], by_hand.records["train_loss"])


def test_initial_losses_are_those_of_the_untrained_network() -> None:
    """So that a trial is not called diverged because it ends above a start that was trained."""
    parent = trained(lane(DEEP, 5, peak_lr=2.0**-4, steps=100, batch_size=32))
    child = trained(started(parent, DEEP, start_state="weights"))
    assert torch.equal(child.records["initial_loss"], parent.records["initial_loss"])
    assert child.records["train_loss"][0] < 0.7 * child.records["initial_loss"]


def test_an_order_of_its_own_has_other_batches_and_the_same_start() -> None:
    parent = trained(lane(DEEP, 5, **STEADY))
    on, begins, same, other = (pack(started(parent, DEEP, data_order=order, **STEADY)) for order in (0, 1, 1, 2))
    begun = pack(lane(DEEP, 5, data_order=1))
    assert torch.equal(on.network.flat_KP, begins.network.flat_KP)
    assert torch.equal(begins._draws, same._draws)
    assert torch.equal(begins._draws, begun._draws), "an order that begins begins at its first batch"
    drawn = [set(map(tuple, made._draws[:12, 0].tolist())) for made in (parent, on, begins, other)]
    assert all(not one & two for number, one in enumerate(drawn) for two in drawn[:number])


def test_a_third_trial_goes_on_where_the_second_stood() -> None:
    whole = trained(lane(DEEP, 5, **STEADY, steps=30))
    made = trained(lane(DEEP, 5, **STEADY, steps=10))
    for _ in range(2):
        made = trained(started(made, DEEP, **STEADY, steps=10))
    assert torch.equal(made.network.flat_KP, whole.network.flat_KP)


def test_a_checkpoint_on_the_way_is_that_of_a_trial_that_ended_there() -> None:
    parent = pack(lane(DEEP, 5, **STEADY, steps=12))
    parent.advance(until=7)
    assert parent.step == 7
    kept = parent.lane_state(0)
    parent.advance()
    ended = trained(lane(DEEP, 5, **STEADY, steps=7)).lane_state(0)
    assert kept.order == ended.order
    assert all(torch.equal(kept.tensors[name], tensor) for name, tensor in ended.tensors.items())


def test_what_it_starts_from_must_be_there_and_fit() -> None:
    with pytest.raises(UserError, match=r"starts_from = first: a trial starts from a checkpoint .* train it by folklore run"):
        trained(Lane(lane(DEEP, 5, **GOES_ON).configuration, 5))
    with pytest.raises(ValueError, match="has no weights of shape"):
        pack(started(trained(lane(CNN)), DEEP))


def test_what_no_checkpoint_holds_of_an_own_workload_is_refused() -> None:
    """A module that keeps something in Python, where it is planned if that is known then; an own optimizer, where declared."""
    remembers = own("remembers")
    configuration = Lane(lane(DEEP, **STEADY).configuration, 0).configuration
    wanted = configuration.model_copy(
        update={"workload": remembers, "training": configuration.training.model_copy(update=GOES_ON)}
    )
    workload = workload_of(remembers)
    if workload.model().remembered:
        with pytest.raises(UserError, match="beside its tensors, which no checkpoint holds"):
            workload.require_trainable(wanted)
    made = pack(lane(own("annealed"), **STEADY))
    made.advance()
    with pytest.raises(UserError, match="leaves no checkpoint to start from"):
        made.lane_state(0)
    with pytest.raises(ValueError, match="not with an own optimizer"):
        lane(own("perceptron"), optimizer="own", **GOES_ON)
