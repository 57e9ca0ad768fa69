"""Rules that every training keeps, whatever it trains and measures: the cases are in contract.py."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import pytest
import torch

from folklore.harness.declare import Configuration, Measurement, Training
from folklore.harness.declare.base import Mark, marked
from folklore.harness.declare.configuration import MODELS, OPTIMIZERS
from folklore.harness.declare.registry import module_names
from folklore.harness.train.pack import Pack
from folklore.harness.train.probes import PROBES
from folklore.harness.train.programs import Program
from tests.harness.train import test_programs
from tests.harness.train.contract import (
    CAPTURED,
    CASES,
    DEEP,
    GPT,
    OF_MEASUREMENTS,
    OF_MODELS,
    OF_PROCEDURES,
    OF_STARTS,
    Case,
    assert_interrupted_is_whole,
    assert_parts_agree,
    dataset_of,
    lane,
    pack,
    trained,
)
from tests.harness.train.plain_steps import compared_at_every_step
from tests.parts import short_form

EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
COMPILED = {
    name: case for name, case in (OF_PROCEDURES | OF_STARTS).items() if name in CAPTURED and case.workload.model == "mlp"
}
# Batches that change, steps that are undone, lanes that start elsewhere, weights that stay.
COMPILED_DAILY = ("a ramp in epochs and micro-batches", "faults and remedies", "starts that are gone back to", "adapters")

PACKS: dict[int, Pack] = {}


def pack_of(case: Case) -> Pack:
    """A pack shared by tests that do not care how far it is trained."""
    return PACKS.setdefault(id(case), PACKS.get(id(case)) or pack(*case.lanes()))


@EVERY
@pytest.mark.usefixtures("short_draws")
def test_a_lane_is_what_it_is_alone_in_any_order_and_beside_one_that_is_lost(case: Case) -> None:
    if len(case.own) == 1:
        pytest.skip("a module by itself has no neighbours")
    lanes = case.lanes()
    lost = len(lanes)
    whole = pack(*lanes, lanes[1])
    whole.network.flat_KP[lost] = torch.nan
    rest = list(range(lost - 1, 0, -1))
    assert_parts_agree(whole, [(pack(lanes[0]), [0]), (pack(*(lanes[number] for number in rest)), rest)])
    assert whole.network.flat_KP.isfinite().all(dim=1).tolist() == [True] * lost + [False]


@EVERY
@pytest.mark.usefixtures("short_draws")
def test_an_interrupted_training_is_the_whole_one(case: Case) -> None:
    assert_interrupted_is_whole(case.lanes(), case.stops)


@pytest.mark.parametrize("case", (OF_MODELS | OF_PROCEDURES).values(), ids=OF_MODELS | OF_PROCEDURES)
def test_a_seed_decides_the_start_and_the_batches(case: Case) -> None:
    if len(case.own) == 1:
        pytest.skip("a module by itself has no neighbours")
    """And nothing else does: arms are compared in pairs."""
    made = pack(*case.lanes())
    assert made.seeds == [3, 4, 4]
    is_drawn = case.workload.model not in ("linear", "quadratic")  # these start where their closed forms do
    for values, differ in (
        (made.network.flat_KP, is_drawn),
        (made._draws.transpose(0, 1), made.training.sampling != "full"),
    ):
        first, second, third = values
        assert torch.equal(second, third)
        assert torch.equal(first, second) != differ


@pytest.mark.parametrize(
    "case",
    [*OF_MEASUREMENTS.values(), Case(GPT, measurement={"probes": 12, "evaluations": 12})],
    ids=[*OF_MEASUREMENTS, "every step"],
)
def test_what_is_measured_changes_no_training(case: Case) -> None:
    looked, plain = trained(*case.lanes()), trained(*replace(case, measurement={"probes": 2, "evaluations": 1}).lanes())
    assert torch.equal(looked.network.flat_KP, plain.network.flat_KP)
    for name in ("train_loss", "test_loss"):
        assert torch.equal(looked.records[name], plain.records[name])
    assert looked.records.keys() >= plain.records.keys()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_learns(optimizer: str) -> None:
    """At one of some LRs, which lie further apart than any optimizer's best ones."""
    fields = {"optimizer": optimizer, "trust_coefficient": 0.05, "steps": 80, "batch_size": 32}
    lanes = (lane(DEEP, measurement={"final_examples": 128}, peak_lr=2.0**power, **fields) for power in (-9, -6, -4, -2))
    assert any(result.test_loss < 0.8 * result.initial_loss for result in trained(*lanes).results())


# ---- programs


@pytest.mark.parametrize("case", CAPTURED.values(), ids=CAPTURED)
def test_a_step_could_be_captured(case: Case) -> None:
    made = pack_of(case)
    with test_programs.Watch() as watch:
        made._plain_step()
    assert watch.found == []


@test_programs.NEEDS_COMPILER
@pytest.mark.parametrize("name", short_form(COMPILED_DAILY, COMPILED))
def test_a_compiled_step_is_the_eager_one(name: str) -> None:
    case = COMPILED[name]
    shared = {**case.shared, "steps": 30}  # a ramp makes fewer updates of as many steps' examples
    if shared.get("sampling") in ("full", "replacement"):
        shared["optimizer"] = "adamw"  # with SGD the compiler for CPUs raises a KeyError (pytorch/pytorch#188228): eager steps
    test_programs.assert_compiled_is_eager(replace(case, shared=shared).lanes(), dataset_of(case.workload))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("case", CAPTURED.values(), ids=CAPTURED)
def test_a_captured_step_is_the_eager_one(case: Case) -> None:
    lanes = replace(case, shared={"steps": 12, **case.shared}).lanes()  # some before there is a capture
    made, check = compared_at_every_step(lanes, dataset_of(case.workload), Program(captured=True), "cuda")
    assert check.differences == []
    assert check.settled > 0
    assert made.runner.program == Program(captured=True)


# ---- what has a case


@cache
def configurations() -> list[list[Configuration]]:
    """Each case's configurations, one a lane."""
    return [[lane.configuration for lane in case.lanes()] for case in CASES.values()]


def values_of(spec: type[Any], field: str) -> Iterator[list[Any]]:
    """Each case's values of a field, one a lane."""
    part = "training" if spec is Training else "measurement"
    return ([getattr(getattr(configuration, part), field) for configuration in lanes] for lanes in configurations())


NO_CASE = "no case has it: name it in the `settings` of its optimizer or schedule, or write a case in contract.py"


@pytest.mark.parametrize("field", Training.model_fields)
def test_every_setting_of_a_training_has_a_case_and_differs_between_lanes_that_may(field: str) -> None:
    default = Training.model_fields[field].default
    assert any(value != default for values in values_of(Training, field) for value in values), NO_CASE
    if field in marked(Training, Mark.PER_LANE):
        assert any(len(set(values)) > 1 for values in values_of(Training, field)), NO_CASE


@pytest.mark.parametrize("field", sorted(Measurement.model_fields.keys() - {"solo", "curve_points"}))
def test_every_setting_of_a_measurement_has_a_case(field: str) -> None:
    """But for how a curve is thinned out, and that a lane is alone: both are of what is done with a pack."""
    default = Measurement.model_fields[field].default
    assert any(value != default for values in values_of(Measurement, field) for value in values), NO_CASE


def test_every_model_probe_and_procedure_has_a_case() -> None:
    assert OF_MODELS.keys() > set(MODELS)
    packs = [pack_of(case) for case in CASES.values()]
    assert {probe for made in packs for probe in made.probes} == set(PROBES)
    modules = [import_module(f"folklore.harness.train.procedures.{name}") for name in module_names("train/procedures")]
    kinds = {
        kind for module in modules for kind in vars(module).values() if inspect.isclass(kind) and hasattr(kind, "block_of")
    }
    covered = set()
    for made in packs:
        procedure: Any = made.procedure
        while procedure is not None:
            covered.add(type(procedure))
            procedure = getattr(procedure, "inner", None)
    assert covered == {kind for kind in kinds if kind.__module__ in {module.__name__ for module in modules}}
