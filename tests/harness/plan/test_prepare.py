"""Refusals before anything is trained, and the assumptions of a plan."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.declare import Configuration, Measurement, Scale, Study, Training, Workload
from folklore.harness.errors import UserError
from folklore.harness.options import Options
from folklore.harness.plan import cost
from folklore.harness.plan.prepare import default_scale, prepare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.description import Device
from folklore.harness.train.workloads import data, workload_of
from tests.harness.helpers import changed


def prepared(study: Study, folder: Path, workload: dict[str, Any], only_plan: bool, **training: Any) -> None:
    dump = study.model_dump()
    other = Study.model_validate(dump | {"workload": workload, "training": dump["training"] | training})
    prepare(
        other,
        "laptop",
        Options(str(folder)),
        Ledger(Store(str(folder)), study.name),
        only_plan,
        CPU,
    )


CPU = Device("cpu", "c", 2, 8 << 30)
MLP = {"model": "mlp", "dataset": "digits", "width": 8, "depth": 1}


@pytest.mark.parametrize("only_plan", [False, True])
def test_a_full_batch_is_refused_where_it_is_not_all_examples(study: Study, only_plan: bool, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"batch_size = 4: with sampling = full a step sees all 1079 training examples of dataset"
    ):
        prepared(study, tmp_path, MLP, only_plan, sampling="full")
    prepared(study, tmp_path, MLP, only_plan, sampling="full", batch_size=1079)
    prepared(study, tmp_path, MLP, only_plan, sampling="epochs")
    assert list(tmp_path.iterdir()) == []


def test_data_still_to_be_given_can_be_planned_with(study: Study, tmp_path: Path) -> None:
    text = {**study.workload.model_dump(), "dataset": "web-text"}
    prepared(study, tmp_path, text, True, sampling="full")
    with pytest.raises(UserError, match="say where it lies with --data web-text=text:PATH"):
        prepared(study, tmp_path, text, False, sampling="full")


def test_a_rung_sees_its_data_four_times_at_most(study: Study, tmp_path: Path) -> None:
    """Otherwise it would differ from smaller ones in how often its data are repeated; more data are the way out."""
    scales = {name: Scale(description=name, workload={"width": width}) for name, width in (("laptop", 8), ("wide", 16))}
    fields = {"scales": {name: scale.model_dump() for name, scale in scales.items()}, "ladder": ("laptop", "wide")}
    ladder = changed(study, {"training.steps": 400, "training.batch_size": 500}, **fields)
    ledger = Ledger(Store(str(tmp_path)), ladder.name)
    refused = r"see it \d\.\d times, and a rung of a ladder at most 4: give more with --data python-docs=text:PATH"
    with pytest.raises(UserError, match=refused):
        prepare(ladder, "wide", Options(str(tmp_path)), ledger, True, CPU)
    more = tmp_path / "more.txt"
    more.write_text("a text of words, some of them twice; " * 100_000)
    options = Options(str(tmp_path), datasets={"python-docs": f"text:{more}"})
    prepare(ladder, "wide", options, ledger, True, CPU)
    prepare(changed(ladder, ladder=None), "wide", Options(str(tmp_path)), ledger, True, CPU)


def test_arms_may_read_one_text_in_two_tokenizers(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models, checks and hashes of an arm are those of its tokens; a user gives the text once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    written, words = tmp_path / "a.txt", "a text of words, some of them twice; "
    written.write_text(words * 4000)
    half = study.arms["half"].model_copy(update={"settings": {"tokenizer": "bpe-512"}})
    workload = study.workload.model_copy(update={"dataset": "web-text"})
    two = changed(study, arms={"none": study.arms["none"], "half": half}, workload=workload)
    options = Options(str(tmp_path / "store"), datasets={"web-text": f"text:{written}"})
    ready = prepare(two, "laptop", options, Ledger(Store(options.store), two.name), cluster=CPU)
    assert ready.datasets == dict.fromkeys(("web-text", "web-text in bpe-512"), f"text:{written}")
    hashes = {trial.arm: trial.data_hash for trial in ready.plan.trials}
    assert hashes == {"none": ready.data_hashes["web-text"], "half": ready.data_hashes["web-text in bpe-512"]}
    assert hashes["none"] != hashes["half"]
    classes = {trial.arm: ready.facts[trial.configuration.workload.data].classes for trial in ready.plan.trials}
    assert classes == {"none": len(set(words)), "half": 512}


def test_memory_is_that_of_a_micro_batch() -> None:
    workload = Workload(model="mlp", dataset="digits", width=8, depth=1)
    model = workload_of(workload).model(data.load("digits").facts)
    weights = 4 * (64 * 8 + 8 + 8 * 10 + 10)

    def held(micro_batches: int, **measurement: Any) -> int:
        training = Training(batch_size=1000, micro_batches=micro_batches)
        return cost.lane_bytes(
            Configuration(workload=workload, training=training, measurement=Measurement(**measurement)), model
        )

    assert held(1) == 8 * weights + 4 * 1000 * model.activations_per_example
    assert held(10) == 9 * weights + 4 * 100 * model.activations_per_example
    assert held(10, underflow=True) == 9 * weights + 4 * 1000 * model.activations_per_example


def test_eigenvalues_are_counted() -> None:
    """15 products of 6 forward passes a look, and a basis of 80 vectors beside what three passes over its examples keep."""
    workload = Workload(model="mlp", dataset="digits", width=8, depth=1)
    model = workload_of(workload).model(data.load("digits").facts)
    weights = 4 * (64 * 8 + 8 + 8 * 10 + 10)

    def configuration(**measurement: Any) -> Configuration:
        return Configuration(
            workload=workload, training=Training(batch_size=32, steps=100), measurement=Measurement(probes=7, **measurement)
        )

    plain = configuration()
    for kind, looks in (("off", 0), ("end", 1), ("probes", 7)):
        looked_at = configuration(sharpness=kind, sharpness_examples=500)
        more = cost.trial_passes(looked_at) - cost.trial_passes(plain)
        assert more == pytest.approx(looks * 15 * 6 * 500)
        held = cost.lane_bytes(looked_at, model) - cost.lane_bytes(plain, model)
        vectors = {"off": 0, "end": 83, "probes": 84}[kind]
        assert held == (0 if kind == "off" else vectors * weights + 3 * 4 * 500 * model.activations_per_example)


@pytest.mark.parametrize("solo", [False, True])
def test_cores_are_busy_with_packs_and_free_for_runs_that_are_timed_alone(
    solo: bool, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = changed(study, {"measurement.solo": solo})

    def seconds(busy: float) -> float:
        rate = replace(cost.RATES["cpu"], busy_factor=busy)
        monkeypatch.setitem(cost.RATES, "cpu", rate)
        ready = prepare(timed, "laptop", Options(str(tmp_path)), Ledger(Store(str(tmp_path)), timed.name), True, CPU)
        return ready.estimate.seconds - rate.start_seconds

    assert seconds(3.0) == pytest.approx((1 if solo else 3) * seconds(1.0))


def test_a_scale_of_another_name_is_taken_before_one_that_is_never_judged(study: Study) -> None:
    scales = {"smoke": study.scales["smoke"], "quick": study.scales["laptop"]}
    assert default_scale(changed(study, scales=scales), CPU) == "quick"
    assert default_scale(changed(study, scales=dict(study.scales)), CPU) == "laptop"
    assert default_scale(changed(study, scales={"smoke": study.scales["smoke"], "gpu": study.scales["laptop"]}), CPU) == "smoke"


def test_a_workstation_is_taken_only_by_name(study: Study) -> None:
    smoke, laptop = study.scales["smoke"], study.scales["laptop"]
    both = changed(study, scales={"smoke": smoke, "workstation": laptop, "laptop": laptop})
    assert (default_scale(both, CPU), default_scale(changed(study, scales={"smoke": smoke, "workstation": laptop}), CPU)) == (
        "laptop",
        "smoke",
    )
