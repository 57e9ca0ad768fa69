"""A key tells steps apart that are made of other operations: their operations are written down and compared.

Every field that a shape key leaves out has a value here that is not its default: those in the `settings` of an optimizer or a
schedule join by themselves.
"""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from folklore.harness.declare import Configuration, Training, Workload
from folklore.harness.declare.base import Mark, marked
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.programs import Program
from folklore.harness.train.step_key import step_key
from folklore.harness.train.workloads.data import load
from folklore.harness.train.workloads.data.text import Text
from tests.harness.train.contract import OWN_FIELDS
from tests.harness.train.plain_steps import GPT, MEASUREMENT

CAPTURED, COMPILED = Program(captured=True), Program(compiled=True)
DIGITS = Workload.model_validate({"model": "mlp", "dataset": "digits", "width": 8, "depth": 1})
TASKS = DIGITS.model_copy(update={"tasks": 2})
Change = tuple[dict[str, Any], Any]
# Field -> where it is changed, and to which value.
TRAINING: dict[str, Change] = {
    **OWN_FIELDS,
    "peak_lr": ({}, 0.5),
    "schedule": ({}, "reduce_on_plateau"),
    "warmup_fraction": ({"ramp": "held"}, 0.0),
    "ramp": ({"warmup_fraction": 0.5}, "held"),
    "final_fraction": ({}, 0.5),
    "step_drops": ({"schedule": "step"}, (0.3,)),
    "step_factor": ({"schedule": "step"}, 0.3),
    "sampling": ({}, "epochs"),
    "steps": ({}, 12),
    "beta1": ({}, 0.0),
    "beta2": ({}, 0.5),
    "epsilon": ({}, 1e-3),
    "second_moment_start": ({}, "first_gradient"),
    "bias_correction": ({}, False),
    "momentum": ({"optimizer": "sgd"}, 0.0),
    "nesterov": ({"optimizer": "sgd"}, True),
    "weight_decay": ({}, 0.0),
    "independent_decay": ({"optimizer": "adamw"}, True),
    "clip_norm": ({}, 1.0),
    "dropout": ({}, 0.5),
    "augmentation": ({"workload": DIGITS}, "shift"),
    "shift_pixels": ({"workload": DIGITS, "augmentation": "shift"}, 2),
    "sgd_from": ({}, 0.5),
    "sgd_lr": ({"sgd_from": 0.5}, 0.5),
    "loss_scale": ({"precision": "fp16", "loss_scaling": "static"}, 2.0),
    "outlier": ({}, "whole"),
    "fault": ({}, "gradient"),
    "fault_fraction": ({"fault": "labels"}, 0.3),
    "fault_steps": ({"fault": "labels"}, 2),
    "fault_size": ({"fault": "gradient"}, 3.0),
    "remedy": ({"fault": "gradient"}, "skip"),
    "alarm": ({"remedy": "skip"}, "loss_ratio"),
    "task_order": ({"workload": TASKS}, "joint"),
    "replay": ({"workload": TASKS}, 0.5),
    "consolidation": ({"workload": TASKS}, 1.0),
    "later_lr": ({"workload": TASKS}, 0.5),
    "layer_lr_decay": ({"workload": TASKS}, 0.5),
    "scaled_parameter": ({"scaled_lr": 0.5}, "embedding*"),
    "scaled_lr": ({"scaled_parameter": "embedding*"}, 0.5),
    "starts_from": ({}, "first"),
    "start_fraction": ({"starts_from": "first"}, 0.5),
    "start_state": ({"starts_from": "first"}, "optimizer"),
    "data_order": ({}, 1),
}
WORKLOAD: dict[str, Change] = {
    "base_heads": ({"parametrization": "mup"}, 1),
    "feature_scale": ({"model": "mlp", "dataset": "digits", "width": 8, "depth": 1}, 2.0),
    "label_noise": ({"model": "mlp", "dataset": "digits", "width": 8, "depth": 1}, 0.5),
    "training_set_size": ({"model": "mlp", "dataset": "digits", "width": 8, "depth": 1}, 100),
    "training_set": ({"model": "mlp", "dataset": "digits", "width": 8, "depth": 1, "training_set_size": 100}, "drawn"),
}
# Those by which other operations are made, as this test finds them.
CHANGING = {
    "ramp", "warmup_fraction", "second_moment_start", "bias_correction", "nesterov", "weight_decay", "clip_norm", "dropout",
    "augmentation", "shift_pixels", "sgd_from", "scaled_lr", "fault",
    "consolidation", "later_lr", "layer_lr_decay", "feature_scale", "start_state",
}  # fmt: skip


class Operations(TorchDispatchMode):
    """Records a step's operations, with sizes and constants; a tensor is its type and how many sides it has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.found.append(f"{func} {_spelled((args, kwargs or {}))}")
        return func(*args, **(kwargs or {}))


def _spelled(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} {value.ndim}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, dict):
        return _spelled(sorted(value.items()))
    return repr(value)


def pack(text: Text, training: dict[str, Any], workload: Workload = GPT, lanes: int = 2) -> Pack:
    fields = {"steps": 10, "batch_size": 4, "optimizer": "adam", **training}
    configuration = Configuration(workload=workload, training=Training.model_validate(fields), measurement=MEASUREMENT)
    chosen = [Lane(configuration, seed) for seed in range(lanes)]
    return Pack(chosen, text if workload.model == "gpt" else load("digits"))


def operations(made: Pack) -> list[str]:
    made._draw()
    made._plain_step()
    with Operations() as recorder:
        made._plain_step()
    return recorder.found


def key(made: Pack, program: Program = CAPTURED) -> str:
    configurations = [lane.configuration for lane in made.lanes]
    return step_key(configurations, program, made.learner, made.procedure, made._draws.shape, made.data_hash)


def changed(text: Text, field: str) -> tuple[Pack, Pack]:
    """A pack, and one with another value of a field."""
    if field in WORKLOAD:
        fields, value = WORKLOAD[field]
        fields = {**(GPT.model_dump() if "model" not in fields else {}), **fields}
        return tuple(pack(text, {}, Workload.model_validate(settings)) for settings in (fields, {**fields, field: value}))  # type: ignore[return-value]
    fields, value = TRAINING[field]
    workload, training = fields.get("workload", GPT), {name: setting for name, setting in fields.items() if name != "workload"}
    first = {**training, "scaled_lr": 1.0} if field == "scaled_parameter" else training
    return pack(text, first, workload), pack(text, {**training, field: value}, workload)


def test_no_field_is_missing() -> None:
    assert set(TRAINING) == marked(Training, Mark.PER_LANE) | marked(Training, Mark.COSTS_NOTHING)
    assert set(WORKLOAD) == marked(Workload, Mark.COSTS_NOTHING)


def test_steps_of_other_operations_have_other_keys(text: Text) -> None:
    fields = set()
    for field in (*TRAINING, *WORKLOAD):
        before, after = changed(text, field)
        if operations(before) != operations(after):
            fields.add(field)
            assert key(before) != key(after), field
    assert fields >= CHANGING, CHANGING - fields


@pytest.mark.parametrize("field", ["peak_lr", "beta1", "beta2", "final_fraction", "steps", "sgd_lr", "fault_size"])
def test_values_of_tensors_share_a_key(field: str, text: Text) -> None:
    before, after = changed(text, field)
    assert key(before) == key(after)
    assert (key(before, COMPILED) == key(after, COMPILED)) == (field != "steps"), "a compiler writes sizes down"


def test_packs_of_several_lanes_share_a_key_and_their_operations(text: Text) -> None:
    """Equal but for sizes; compiled programs are written again for each number of lanes."""

    def kinds(made: Pack) -> list[str]:
        return [operation.partition(" ")[0] for operation in operations(made)]

    one, two, five = (pack(text, {"clip_norm": 1.0}, lanes=lanes) for lanes in (1, 2, 5))
    assert kinds(two) == kinds(five)
    assert key(two) == key(five)
    assert key(one) != key(two)
    assert len({key(made, COMPILED) for made in (one, two, five)}) == 3


def test_any_lane_counts(text: Text) -> None:
    """One that clips makes the step of all lanes clip."""
    plain, clipping = pack(text, {}), pack(text, {"clip_norm": 1.0})
    mixed = Pack([plain.lanes[0], clipping.lanes[1]], text)
    assert key(mixed) == key(clipping) != key(plain)


def test_an_optimizer_s_own_flag_is_part_of_the_key(text: Text) -> None:
    before, after = pack(text, {}), pack(text, {})
    after.optimizer.some_new_flag = True  # type: ignore[attr-defined]
    assert key(before) != key(after)
    assert torch.equal(before.network.flat_KP, after.network.flat_KP)
