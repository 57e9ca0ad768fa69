"""The recipe of a trial, or of all trials of a study at a scale, in words: model, data, optimizer, schedule, what it sees."""

import itertools
import math
from collections.abc import Mapping, Sequence

from ..declare import Configuration, Search, Study, Training, Workload
from ..declare.design import in_words
from ..train.optimizer_switch import words as takeover_words
from ..train.optimizers import optimizer_kind
from ..train.schedules import schedule_named
from ..train.schedules.base import percent
from ..train.workloads import workload_of
from ..words import counted, power_of_two

LR = "peak_lr"
# Longer lists of values are told by their ends.
LISTED = 4


def trial_recipe(configuration: Configuration) -> dict[str, str]:
    """A line for each part of what is trained and how."""
    return {**_parts(configuration), "peak LR": power_of_two(configuration.training.peak_lr)}


def study_recipe(study: Study, scale: str) -> dict[str, str]:
    """A line for each part; where arms differ in it, what it is in which of them."""
    found: dict[str, dict[str, list[str]]] = {}
    for arm, parts in _by_arm(study, scale).items():
        parts["peak LR"] = _lr(study, scale, arm)
        if any(each.search for each in study.arms.values()):
            search = study.search_of(scale, arm)
            parts["search"] = "none" if search is None or search.factor == LR else f"{in_words(search.factor)} {_tuned(search)}"
        for name, text in parts.items():
            found.setdefault(name, {}).setdefault(text, []).append(arm)
    recipe = {name: _by_text(arms) for name, arms in found.items()}
    seeds = study.seed_numbers_at(scale)
    further: dict[int, list[str]] = {}
    for arm, own in study.further_seeds_at(scale).items():
        further.setdefault(own.stop - seeds[0], []).append(arm)
    called = {count: ", ".join(arms) if len(arms) <= 4 else f"{len(arms)} of the arms" for count, arms in further.items()}
    more = [f"; {count} for {arms}" for count, arms in called.items()]
    return {**recipe, "seeds": f"{len(seeds)}, numbered {seeds[0]} to {seeds[-1]}, for each arm and value{''.join(more)}"}


def _by_arm(study: Study, scale: str) -> dict[str, dict[str, str]]:
    """Arm -> its parts. Of a factor beside the LR a part has every text that its values give."""
    found = {}
    for arm in study.arms_at(scale):
        texts: dict[str, dict[str, None]] = {}  # of each part its texts, each once, in order
        others = {name: values for name, values in study.factors_at(scale, arm).items() if name != LR}
        for values in itertools.product(*others.values()):
            configuration = study.configuration(scale, arm, dict(zip(others, values, strict=True)))
            for name, text in _parts(configuration).items():
                texts.setdefault(name, {})[text] = None
        found[arm] = {name: " / ".join(each) for name, each in texts.items()}
    return found


def _by_text(arms: Mapping[str, Sequence[str]]) -> str:
    """What most arms have, and what others have in its place."""
    ordered = sorted(arms.items(), key=lambda each: -len(each[1]))
    texts = [f"in {', '.join(names)}: {text}" for text, names in ordered]
    if 2 * len(ordered[0][1]) > sum(map(len, arms.values())):
        texts[0] = ordered[0][0]
    return "; ".join(texts)


def _parts(configuration: Configuration) -> dict[str, str]:
    workload, training = configuration.workload, configuration.training
    return {
        "model": workload_of(workload).model_words,
        "data": workload_of(workload).data_words,
        "optimizer": _optimizer(training),
        "linear warmup": _warmup(training),
        "schedule": schedule_named(training.schedule).words(training),
        "training": _seen(workload, training) + _batches(training) + _of_tasks(workload, training) + _mended(training),
        "number format": _precision(training),
    }


def _optimizer(training: Training) -> str:
    own = optimizer_kind(training.optimizer).words(training)
    clipped = "no clipping" if training.clip_norm is None else f"gradients clipped to norm {training.clip_norm:g}"
    scaled = ""
    if training.scaled_parameter is not None and training.scaled_lr != 1:
        scaled = f", the LR of {training.scaled_parameter} times {training.scaled_lr:.3g}"
    return f"{training.optimizer}, {own}, weight decay {training.weight_decay:g}, {clipped}{scaled}{takeover_words(training)}"


def _warmup(training: Training) -> str:
    if not training.warmup_fraction:
        return "none"
    held = "held at zero " * (training.ramp == "held")
    return f"{held}over the first {percent(training.warmup_fraction)} of the steps"


def _seen(workload: Workload, training: Training) -> str:
    count = training.examples
    batch = str(training.batch_size) + "".join(f", then {size}" for _, _, size in training.batch_segments[1:])
    if workload_of(workload).reads_text:
        sequences = f"{batch} sequences of {workload.context} tokens"
        return f"{counted(training.steps, 'step')} x {sequences} = {count:,} sequences, {count * workload.context:,} tokens"
    return f"{counted(training.steps, 'step')} x {batch} examples = {count:,} examples"


def _batches(training: Training) -> str:
    """How batches are chosen and differentiated, if not as usual."""
    parts = f", {training.micro_batches} micro-batches a step" * (training.micro_batches > 1)
    recomputed = f", activations recomputed in {training.recompute_segments} segments" * (training.recompute_segments > 0)
    chosen = SAMPLINGS[training.sampling] + f", data order {training.data_order}" * (training.data_order > 0)
    return chosen + parts + recomputed + _regularization(training) + _outlier(training) + _start(training)


def _start(training: Training) -> str:
    """What it starts from, if not from initialization."""
    if training.starts_from is None:
        return ""
    at = "the end" if training.start_fraction == 1 else f"{percent(training.start_fraction)} of the steps"
    taken = {"weights": "the weights", "optimizer": "weights and optimizer state"}[training.start_state]
    return f", from {taken} of arm {training.starts_from} at {at}"


def _regularization(training: Training) -> str:
    dropped = f", {training.dropout:.3g} of the activations dropped" * (training.dropout > 0)
    if training.augmentation == "none":
        return dropped
    mirrored = " and half of them mirrored" * (training.augmentation == "flip_and_shift")
    return f"{dropped}, images shifted by up to {counted(training.shift_pixels, 'pixel')}{mirrored}"


def _outlier(training: Training) -> str:
    if training.outlier == "none":
        return ""
    found = f", a gradient {training.outlier_size:g} times too large at step {training.outlier_step + 1}"
    left_out = {"whole": "", "memory": ", in Adam's second moment alone", "kick": ", forgotten once it has moved the weights"}
    return found + left_out[training.outlier]


def _of_tasks(workload: Workload, training: Training) -> str:
    """How later tasks are trained, if not as the first one."""
    if workload.tasks == 1:
        return ""
    found = ", all tasks at once" * (training.task_order == "joint")
    found += f", {percent(training.replay)} of a batch from earlier tasks" * (training.replay > 0)
    if training.consolidation:
        found += f", elastic weight consolidation of strength {training.consolidation:g} by {training.fisher_examples} examples"
    if training.later_lr != 1:
        found += f", later tasks at {training.later_lr:g} times the LR"
    if training.layer_lr_decay != 1:
        found += f", their LR times {training.layer_lr_decay:g} a layer down"
    return found


FAULTS = {
    "labels": "{steps} of random labels at step {first}",
    "gradient": "gradients {size:g} times too large for {steps} at step {first}",
    "weights": "weights hit at step {first} by noise of {size:g} times their size",
}
ALARMS = {
    "oracle": "after the fault",
    "loss_ratio": "where the loss is above twice the mean of nine before",
    "deviations": "where loss or gradient norm is 6 deviations above the mean of 128 before",
}
REMEDIES = {
    "skip": "the step is undone",
    "roll_back": "the last checkpoint but one of every {every} steps is gone back to",
    "lower_lr": "the LR is halved and rises again over {every} steps",
    "halve_lr": "the LR is halved",
}


def _mended(training: Training) -> str:
    """What goes wrong at a known step, and what is done about it."""
    found, steps = "", training.faulty_steps
    if training.fault != "none":
        size, many = training.fault_size, counted(training.fault_steps, "step")
        found += ", " + FAULTS[training.fault].format(steps=many, first=steps.start + 1, size=size)
    if training.remedy != "none":
        found += f", {ALARMS[training.alarm]} " + REMEDIES[training.remedy].format(every=training.remedy_steps)
    return found


# The default goes without saying.
SAMPLINGS: Mapping[str, str] = {
    "replacement": "",
    "epochs": ", every example once an epoch in a random order",
    "full": ", all training examples at every step",
}


def _precision(training: Training) -> str:
    if training.loss_scaling == "none":
        return training.precision
    scaled = f"{training.precision}, losses scaled by {power_of_two(training.loss_scale)}"
    return scaled + f", doubled after {training.scale_growth_interval} finite steps" * (training.loss_scaling == "dynamic")


def _lr(study: Study, scale: str, arm: str) -> str:
    search = study.search_of(scale, arm)
    if search is not None and search.factor == LR:
        return _tuned(search)
    values = study.factors_at(scale, arm).get(LR)
    if values is None:
        return power_of_two(study.configuration(scale, arm, {}).training.peak_lr)
    grid = sorted(float(each) for each in values if isinstance(each, int | float))
    if len(grid) <= LISTED:
        return ", ".join(power_of_two(each) for each in grid)
    return f"{len(grid)} values from {power_of_two(grid[0])} to {power_of_two(grid[-1])}{_spacing(grid)}"


def _tuned(search: Search) -> str:
    low, high = power_of_two(search.low), power_of_two(search.high)
    return f"tuned by Optuna ({search.sampler}) from {low} to {high}: {search.budget} proposals in {search.rounds} rounds"


def _spacing(grid: Sequence[float]) -> str:
    """Points an octave of an even grid."""
    octaves = [math.log2(high / low) for low, high in itertools.pairwise(grid)]
    if not math.isclose(min(octaves), max(octaves), rel_tol=1e-6):
        return ""
    return f", {1 / octaves[0]:.3g} an octave"
