"""The recipe of a trial, or of all trials of a study at a scale, in words: model, data, optimizer, schedule, what it sees."""

import itertools
import math
from collections.abc import Mapping, Sequence

from ..declare import Configuration, Search, Study, Training, Workload
from ..declare.design import in_words
from ..train.parts import parts_of
from ..train.precisions import precision_named
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
        "training": _seen(workload, training) + order + lines["training"],
        "number format": precision_named(training.precision).words(training),
    }


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
