"""Refusals of a training before its first step, in a line that says what would do."""

from typing import Any

import pytest

from folklore.harness.declare import Workload
from folklore.harness.errors import UserError
from tests.harness.train import contract

GPT = {"width": 8, "depth": 5, "heads": 2, "context": 8}
MLP = {"model": "mlp", "dataset": "digits", "width": 8, "depth": 3}
CNN = MLP | {"model": "cnn"}
LINEAR = {"model": "linear", "dataset": "regression:4"}
TASKS = MLP | {"tasks": 2}
RAMP = {"batch_ramp": (0.5, 0.75), "batch_ramp_factor": 4.0, "batch_size": 4, "steps": 37}
FORMS = ({"norm": "layer"}, {"residual": True}, {"activation": "tanh"}, {"model": "cnn"})

# A workload, what of a training and a measurement is asked for, and the line. Of a declaration:
DECLARED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (MLP, {"scaled_lr": 0.1}, r"scaled_lr = 0\.1: is of training.scaled_parameter; set that, too, or leave"),
    (
        MLP,
        {"optimizer": "sgd", "outlier": "whole"},
        "outlier = whole: is put into Adam's moments, and optimizer = sgd; choose adam or adamw",
    ),
    (MLP, {"optimizer": "lion", "sgd_from": 0.5}, "sgd_from = 0.5: SGD takes over from Adam, and optimizer = lion; choose"),
    (
        MLP,
        {"optimizer": "radam", "bias_correction": False},
        r"bias_correction = False: radam's .* built on it; choose adam, adamw, lamb or muon",
    ),
    (GPT | {"loss": "squared_error"}, {}, "loss = squared_error: is of cnn or mlp, and model = gpt"),
    (
        MLP,
        {"optimizer": "sgd", "measurement": {"sharpness": "probes", "preconditioned_sharpness": True}},
        "preconditioned_sharpness = True: is by Adam's second moment, and optimizer = sgd",
    ),
    (LINEAR | {"tasks": 2}, {}, "tasks = 2: is of cnn or gpt or mlp, and model = linear"),
    (GPT | {"tasks": 2, "scenario": "task"}, {}, "scenario = task: is of classes of an mlp or a cnn, and model = gpt"),
    (GPT | {"tasks": 2}, {"layer_lr_decay": 0.5}, "layer_lr_decay = 0.5: is of classes of an mlp or a"),
    (MLP | {"scenario": "task"}, {}, "scenario = task: is of workload.tasks; set that, too, or leave it out"),
    (MLP | {"adapter_rank": 4}, {}, "adapter_rank = 4: is of workload.tasks; set that, too, or leave it out"),
    (MLP, {"replay": 0.1}, "replay = 0.1: is of workload.tasks; set that, too, or leave it out"),
    (TASKS, {"sampling": "epochs"}, "sampling = epochs: each of several tasks draws with replacement; leave it out"),
    (MLP | {"training_set": "drawn"}, {}, "training_set = drawn: says which examples training_set_size means; set that, too"),
    (
        MLP | {"training_set": "drawn", "training_set_size": 9},
        {"measurement": {"training_examples": 9}},
        "training_examples = 9: evaluates the same training examples in all lanes",
    ),
    (MLP, {"alarm": "loss_ratio"}, r"alarm = loss_ratio: is of training\.remedy; set that, too, or leave it out"),
    (MLP, {"remedy": "skip", "alarm": "deviations"}, r"set measurement\.gradient_norms, too"),
    (MLP, RAMP | {"batch_ramp": (0.5, 0.5)}, r"batch_ramp = \(0\.5, 0\.5\): must rise, each inside \(0, 1\)"),
    (MLP, RAMP | {"batch_ramp": (1.0,)}, r"batch_ramp = \(1\.0,\): must rise, each inside \(0, 1\)"),
    (MLP, RAMP | {"batch_ramp_factor": 1.3}, r"batch_ramp_factor = 1\.3: makes batches of 5\.2 of batch_size = 4"),
    (MLP, RAMP | {"batch_ramp_factor": 0.25}, r"batch_ramp_factor = 0\.25: makes batches of 1 of batch_size = 4"),
    (MLP, RAMP | {"steps": 4}, r"batch_ramp = \(0\.5, 0\.75\): leaves no step between two of its shares; take more steps"),
    (MLP, RAMP | {"warmup_fraction": 0.6}, r"batch_ramp = \(.*\): begins before the warmup ends, at 0\.6; begin later"),
    (
        MLP,
        RAMP | {"sampling": "full"},
        r"batch_ramp = \(.*\): with sampling = full a step sees all examples; choose",
    ),
]
# Of a pack:
PACKED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        GPT,
        {"augmentation": "shift"},
        "augmentation = shift: the examples of dataset .* are a text and no images; leave it",
    ),
    (CNN, {"augmentation": "shift", "shift_pixels": 8}, "must be less than a side of the images of dataset 'digits', 8 x 8"),
    (
        LINEAR,
        {"dropout": 0.1},
        "dropout = 0.1: model 'linear' has no place for it, cnn and gpt and mlp have; leave",
    ),
    (GPT, {"recompute_segments": 6}, r"recompute_segments = 6: model 'gpt' has 5 blocks .*; choose at most 5"),
    (LINEAR, {"recompute_segments": 1}, r"recompute_segments = 1: model 'linear' has 0 blocks .*; leave it at 0"),
    (
        MLP,
        {"scaled_parameter": "hidden.3.weight", "scaled_lr": 0.1},
        r"scaled_parameter = hidden\.3\.weight: model 'mlp' has no such parameter; choose one",
    ),
    (
        {"model": "linear", "dataset": "quadratic:4"},
        {"optimizer": "sophia"},
        "classes from the model's softmax, and the targets of dataset 'quadratic:4' are",
    ),
    (MLP | {"loss": "squared_error"}, {"optimizer": "sophia"}, "'sophia' samples classes from the model's softmax"),
    (GPT | {"parametrization": "mup"}, {"optimizer": "sophia"}, "optimizer 'sophia' has no published rule in muP"),
    (MLP | {"depth": 1}, {"optimizer": "muon"}, "'muon': model 'mlp' of depth 1 has no hidden matrix, .* adamw; choose that"),
    (MLP, RAMP | {"batch_size": 128, "sampling": "epochs"}, "the largest batch = 2048: with sampling = epochs must be at most"),
    (
        MLP,
        {"batch_size": 1080, "sampling": "epochs"},
        "batch_size = 1080: with sampling = epochs must be at most 1079, the training examples",
    ),
    *(
        (
            workload,
            {"batch_size": batch, "sampling": "full"},
            f"batch_size = {batch}: with sampling = full a step sees all {examples} training examples of dataset"
            f" '{workload['dataset']}'; set batch_size = {examples}",
        )
        for workload, batch, examples in ((MLP, 8, 1079), (MLP, 1080, 1079), (LINEAR, 8, 16384))
    ),
    (GPT | {"training_set": "drawn", "training_set_size": 99}, {}, "training_set = drawn: dataset 'markov' is a text"),
    (MLP | {"tasks": 3}, {}, "tasks = 3: must divide the number of classes of dataset 'digits', 10"),
    (MLP | {"tasks": 5}, {"steps": 4}, "tasks = 5: must be at most steps = 4"),
    (GPT | {"tasks": 2}, {}, r"tasks = 2: dataset 'markov' is 1 text\(s\), each of which is a task; join"),
    (LINEAR, {"fault": "labels"}, "fault = labels: dataset 'regression:4' has targets that are no classes"),
    (MLP, {"measurement": {"token_rows": True}}, "model 'mlp' is not known to have an embedding of tokens; choose gpt"),
    *(
        (MLP | form, {"measurement": {"dead_units": True}}, "are of an mlp of ReLUs without norm or residual stream; choose")
        for form in FORMS
    ),
]


def trained(workload: dict[str, Any], asked: dict[str, Any]) -> None:
    contract.pack(contract.lane(Workload.model_validate(workload), **asked))


@pytest.mark.parametrize(("workload", "asked", "line"), DECLARED)
def test_what_is_declared_is_refused(workload: dict[str, Any], asked: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        trained(workload, asked)


@pytest.mark.parametrize(("workload", "asked", "line"), PACKED)
def test_what_does_not_fit_its_workload_is_refused(workload: dict[str, Any], asked: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError, match=line):
        trained(workload, asked)


def test_an_epoch_may_be_one_batch() -> None:
    trained(MLP, {"batch_size": 1079, "sampling": "epochs"})
