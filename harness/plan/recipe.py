"""The recipe of a trial, or of all trials of a study at a scale, in words: model, data, optimizer, schedule, what it sees."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..declare import Configuration, Search, Study, Training
from ..declare.design import in_words
from ..declare.own_address import OWN
from ..train.optimizers import optimizer_kind
from ..train.parts import parts_of
from ..train.precisions import precision_named
from ..train.schedules.base import percent
from ..train.workloads import workload_of
from ..words import power_of_two

LR = "peak_lr"
# Longer lists of values are given by their ends.
LISTED = 4


def trial_recipe(configuration: Configuration) -> dict[str, str]:
    """A line for each part of what is trained and how."""
    return {**_parts(configuration), "peak LR": power_of_two(configuration.training.peak_lr)}


def study_recipe(study: Study, scale: str) -> dict[str, str]:
    """A line for each part; where arms differ in it, with the text of each group of arms."""
    arms_by_text: dict[str, dict[str, list[str]]] = {}
    for arm, parts in _by_arm(study, scale).items():
        parts["peak LR"] = _lr(study, scale, arm)
        if any(arm_spec.search for arm_spec in study.arms.values()):
            search = study.search_of(scale, arm)
            parts["search"] = "none" if search is None or search.factor == LR else f"{in_words(search.factor)} {_tuned(search)}"
        for name, text in parts.items():
            arms_by_text.setdefault(name, {}).setdefault(text, []).append(arm)
    recipe = {name: _by_text(arms) for name, arms in arms_by_text.items()}
    seeds = study.seed_numbers_at(scale)
    further: dict[int, list[str]] = {}
    for arm, own in study.further_seeds_at(scale).items():
        further.setdefault(own.stop - seeds[0], []).append(arm)
    called = {count: ", ".join(arms) if len(arms) <= 4 else f"{len(arms)} of the arms" for count, arms in further.items()}
    more = [f"; {count} for {arms}" for count, arms in called.items()]
    return {**recipe, "seeds": f"{len(seeds)}, numbered {seeds[0]} to {seeds[-1]}, for each arm and value{''.join(more)}"}


def _by_arm(study: Study, scale: str) -> dict[str, dict[str, str]]:
    """Arm -> its parts. A part has one text for each value of a factor other than the LR."""
    parts = {}
    for arm in study.arms_at(scale):
        texts: dict[str, dict[str, None]] = {}  # of each part its texts, each once, in order
        for configuration in settings_of(study, scale, arm):
            for name, text in _parts(configuration).items():
                texts.setdefault(name, {})[text] = None
        parts[arm] = {name: " / ".join(variants) for name, variants in texts.items()}
    return parts


def settings_of(study: Study, scale: str, arm: str) -> list[Configuration]:
    """One configuration for each combination of the values of an arm's factors but the LR."""
    others = {name: values for name, values in study.factors_at(scale, arm).items() if name != LR}
    points = (dict(zip(others, values, strict=True)) for values in itertools.product(*others.values()))
    return [study.configuration(scale, arm, point) for point in points]


def _by_text(arms: Mapping[str, Sequence[str]]) -> str:
    """The text that most arms have, and those of the others."""
    ordered = sorted(arms.items(), key=lambda pair: -len(pair[1]))
    texts = [f"in {', '.join(names)}: {text}" for text, names in ordered]
    if 2 * len(ordered[0][1]) > sum(map(len, arms.values())):
        texts[0] = ordered[0][0]
    return "; ".join(texts)


def _parts(configuration: Configuration) -> dict[str, str]:
    workload, training = configuration.workload, configuration.training
    lines: dict[str, str] = {}
    for part in parts_of(configuration):
        lines[part.line] = lines.get(part.line, "") + part.words(training)
    decay, clip = f"weight decay {training.weight_decay:g}", training.clip_norm
    order = f", data order {training.data_order}" * (training.data_order > 0)
    clipping = "no clipping" if clip is None else f"gradients clipped to norm {clip:g}"
    return {
        "model": workload_of(workload).model_words,
        "data": workload_of(workload).data_words,
        "optimizer": f"{training.optimizer}, {lines['hyperparameters']}, {decay}, {clipping}{lines.get('optimizer', '')}",
        "linear warmup": _warmup(training),
        "schedule": lines["schedule"],
        "training": seen([configuration]) + order + lines["training"],
        "number format": precision_named(training.precision).words(training),
    }


def _warmup(training: Training) -> str:
    if not training.warmup_fraction:
        return "none"
    held = "held at zero " * (training.ramp == "held")
    return f"{held}over the first {percent(training.warmup_fraction)} of the steps"


def optimizer_name(training: Training) -> str:
    return "own optimizer" if training.optimizer == OWN else optimizer_kind(training.optimizer).__name__


def seen(settings: Sequence[Configuration]) -> str:
    """The amount of data that these settings are trained on: 300 steps of 8 × 32 tokens: 76,800 tokens, 3.1 a parameter without
    embeddings. Numbers that differ between them are ranges."""
    trainings, workloads = [setting.training for setting in settings], [workload_of(setting.workload) for setting in settings]
    counts = [workload.batch(training.examples)[0] for workload, training in zip(workloads, trainings, strict=True)]
    unit, of_text = workloads[0].batch(1)[1], workloads[0].reads_text
    batches = {", then ".join(f"{size:,}" for *_, size in training.batch_segments) for training in trainings}
    batch = (
        batches.pop() if len(batches) == 1 else _range([size for training in trainings for *_, size in training.batch_segments])
    )
    context = f" × {_range([setting.workload.context for setting in settings])}" * of_text
    text = f"{_range([training.steps for training in trainings])} steps of {batch}{context} {unit}: {_range(counts)} {unit}"
    ratios = [count / w.hidden_parameters for count, w in zip(counts, workloads, strict=True) if w.hidden_parameters]
    return f"{text}, {_range(ratios, _ratio)} a parameter without embeddings" if of_text and ratios else text


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _range(values: Sequence[Any], spell: Callable[[Any], str] = "{:,}".format) -> str:
    low, high = spell(min(values)), spell(max(values))
    return low if low == high else f"{low}–{high}"


def _lr(study: Study, scale: str, arm: str) -> str:
    search = study.search_of(scale, arm)
    if search is not None and search.factor == LR:
        return _tuned(search)
    values = study.factors_at(scale, arm).get(LR)
    if values is None:
        return power_of_two(study.configuration(scale, arm, {}).training.peak_lr)
    grid = sorted(float(value) for value in values if isinstance(value, int | float))
    if len(grid) <= LISTED:
        return ", ".join(power_of_two(lr) for lr in grid)
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
