"""Promises that every workload keeps, built-in or a user's."""

import math

import cloudpickle
import pytest
import torch

from folklore.harness.declare import Configuration, Measurement, Training, Workload
from folklore.harness.declare.configuration import MODELS
from folklore.harness.errors import UserCodeError, UserError
from folklore.harness.train.parts import require_model
from folklore.harness.train.workloads import BaseWorkload, workload_of
from folklore.harness.train.workloads.own.finding import find, hand_over

SMALL = {"width": 8, "depth": 2, "context": 8}
DATASETS = {"gpt": "markov:5", "linear": "regression:4", "quadratic": "quadratic:4"}
OWN = "tests.harness.train.own_workloads:perceptron"
KINDS = (*MODELS, "own")


def workload(kind: str) -> BaseWorkload:
    if kind == "own":
        return workload_of(find(OWN).declared)
    size = {"parametrization": "mup", "zero_readout": True} if kind == "gpt" else {}
    return workload_of(Workload.model_validate({"model": kind, "dataset": DATASETS.get(kind, "digits"), **SMALL, **size}))


@pytest.mark.parametrize("kind", KINDS)
def test_it_makes_what_it_tells(kind: str) -> None:
    """Data, model, and a network with a loss have the shapes that it states before making any."""
    made = workload(kind)
    facts = made.data().facts
    network = made.network(facts, [0, 1], torch.device("cpu"), "fp32")
    arrays = made.data().arrays("train")
    index = torch.from_numpy(made.data().batch_index(0, 0, 4, SMALL["context"])[:2])
    losses_K = network.losses(*made.data().gather(arrays, index, SMALL["context"]))
    assert losses_K.shape == (2,)
    assert losses_K.isfinite().all()
    assert made.reads_text == (not facts.features)
    assert bool(made.embedding) == (made.embedding in network.views)
    assert network.shows == made.can_show("underflow")
    assert [p.shape for p in made.model(facts).parameters] == [p.shape for p in network.model.parameters]
    if made.hidden_parameters:
        assert made.hidden_parameters < sum(math.prod(p.shape) for p in network.model.parameters)


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_tells_is_told_of_its_kind(kind: str) -> None:
    made = workload(kind)
    is_own = kind == "own"
    assert OWN in made.model_name if is_own else made.model_name == kind
    assert made.model_words.startswith(made.model_name)
    assert made.option == (f"--workload {OWN}" if is_own else "")
    assert made.loss_unit == ("" if is_own or kind in ("linear", "quadratic") else "nats")
    assert made.may_be([kind])
    assert made.may_be(["resnet"]) == is_own
    assert bool(made.proof()) == is_own
    assert (made.hidden_parameters is None) == is_own
    assert made.can_show("gradient_flow")


def test_a_probe_finds_what_it_looks_at_or_the_workload_says_so() -> None:
    assert [kind for kind in KINDS if workload(kind).can_show("token_rows")] == ["gpt"]
    assert [kind for kind in KINDS if workload(kind).can_show("dead_units")] == ["mlp"]
    normed = Workload(model="mlp", dataset="digits", norm="layer")
    assert not workload_of(normed).can_show("dead_units")
    asked = Configuration(workload=find(OWN).declared, training=Training(), measurement=Measurement(underflow=True))
    with pytest.raises(UserError, match="underflow: needs activations, which an own workload does not show"):
        require_model(asked, workload("own").model(workload("own").data().facts))


def test_what_a_users_code_raises_is_told_from_all_else() -> None:
    """This file is none of ours, so what is raised here is a user's error."""
    with pytest.raises(UserCodeError, match=f"workload '{OWN}' raises ZeroDivisionError"), workload("own").raising():
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), workload("mlp").raising():
        raise ZeroDivisionError


def test_only_what_no_worker_can_find_travels() -> None:
    assert workload("own").pickled() is workload("mlp").pickled() is None
    own = find(OWN).workload
    handed = workload_of(hand_over(own).declared).pickled()
    assert handed is not None
    assert cloudpickle.loads(handed).workload.name == own.name
