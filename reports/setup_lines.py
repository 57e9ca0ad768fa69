"""What was trained, in one line each: model, data, steps, optimizer, seeds, machine."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..harness.declare import Configuration, Study
from ..harness.judge.regimes import in_thousands
from ..harness.judge.trial_sets import TrialSet
from ..harness.train.schedules import schedule_named
from ..harness.train.workloads import workload_of
from ..harness.train.workloads.base import PROOF, READ
from ..harness.words import counted, enumerated
from .arms_table import RANGE_TEST

NAMES = {"adamw": "AdamW", "adam": "Adam", "radam": "RAdam", "sgd": "SGD", "sgdw": "SGDW", "lion": "Lion",
         "rmsprop": "RMSProp", "lars": "LARS", "lamb": "LAMB", "muon": "Muon", "own": "own optimizer"}  # fmt: skip
# Beyond this many different schedules they are only counted.
MOST_NAMED = 2


def setup_lines(records: TrialSet, machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pairs of a word and a line."""
    study, scale = records.study, records.scale
    settings = [setting for arm in study.arms_at(scale) for setting in _settings(study, scale, arm)]
    trained = [each for each in settings if each.training.schedule != RANGE_TEST] or settings
    by_model: dict[str, list[Configuration]] = {}
    for each in trained:
        by_model.setdefault(each.workload.model, []).append(each)
    lines = []
    for model, several in by_model.items():
        data = enumerated(list(dict.fromkeys(workload_of(each.workload).data_name for each in several)))
        on = "" if model == "quadratic" else f", on {data}"
        lines += [("model", f"{_model(model, several)}{on}"), ("trained", _seen(several))]
    optimizers = dict.fromkeys(NAMES.get(each.training.optimizer, each.training.optimizer) for each in trained)
    lines.append(("optimizer", f"{enumerated(list(optimizers))}; {_schedules(trained)}"))
    diverged = int((records.trials["outcome"] == "diverged").sum())
    runs = f"{study.seeds_at(scale)} seeds, {counted(len(records.trials), 'run')}"
    lines.append(("runs", f"{runs}, {diverged:,} diverged" if diverged else f"{runs}, none diverged"))
    cores = f", {machine['cores']} cores" if "cores" in machine and records.device == "cpu" else ""
    # The packs' own seconds, of which as many pass at once as there are cores.
    on_cores = ", all cores together" if cores else ""
    environment = environment_of(records)
    for word, name in (("data", READ), ("workload", PROOF)):
        if said := environment.get(name):
            lines.append((word, f"{said[:1].upper()}{said[1:]}"))
    lines.append(("machine", f"{machine['device']}{cores}; {minutes(records)} of training{on_cores}"))
    return lines


def minutes(records: TrialSet) -> str:
    return counted_minutes(float(records.trials["seconds"].sum()) / 60)


def counted_minutes(count: float) -> str:
    return f"{count:.1f} minutes" if count < 10 else f"{count:.0f} minutes" if count < 120 else f"{count / 60:.1f} hours"


def _settings(study: Study, scale: str, arm: str) -> Iterable[Configuration]:
    """The setting of an arm; its factors but the LR may change what is shown, at either end of their values."""
    factors = study.factors_at(scale, arm)
    for end in (0, -1):
        yield study.configuration(scale, arm, {name: values[end] for name, values in factors.items()})


def _model(model: str, settings: Sequence[Configuration]) -> str:
    counts = sorted({workload_of(each.workload).hidden_parameters or 0 for each in settings})
    workload = workload_of(settings[0].workload)
    if model == "quadratic":
        sizes = dict.fromkeys(each.workload.dataset.partition(":")[2] for each in settings)
        return f"Quadratic of {enumerated(list(sizes))} dimensions"
    name = model.upper() if model in ("mlp", "cnn", "gpt") else workload.model_name
    if not counts[-1]:
        return name
    size = " to ".join(dict.fromkeys(in_thousands(count) for count in (counts[0], counts[-1])))
    return f"{name} of {size} parameters beside {'embeddings' if workload.reads_text else 'input and output'}"


def _seen(settings: Sequence[Configuration]) -> str:
    """300 steps of 8 x 32 tokens: 77k tokens, 3.1 a parameter."""
    text = workload_of(settings[0].workload).reads_text
    steps = [each.training.steps for each in settings]
    batches = [batch for each in settings for _, _, batch in each.training.batch_segments]
    contexts = [each.workload.context if text else 1 for each in settings]
    seen = [each.training.examples * context for each, context in zip(settings, contexts, strict=True)]
    unit = "tokens" if text else "examples"
    batch = _range(batches) + (f" × {_range(contexts)} tokens" if text else " examples")
    found = f"{_range(steps)} steps of {batch}: {_range(seen, in_thousands)} {unit}"
    if not text:
        return found
    sizes = (workload_of(each.workload).hidden_parameters for each in settings)
    ratios = [count / hidden for count, hidden in zip(seen, sizes, strict=True) if hidden]
    return f"{found}, {_range(ratios, _ratio)} a parameter without embeddings" if ratios else found


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _range(values: Sequence[Any], spell: Any = "{:,}".format) -> str:
    low, high = spell(min(values)), spell(max(values))
    return low if low == high else f"{low}–{high}"


def _schedules(settings: Sequence[Configuration]) -> str:
    words = list(dict.fromkeys(schedule_named(each.training.schedule).words(each.training) for each in settings))
    return enumerated(words) if len(words) <= MOST_NAMED else f"{len(words)} schedules"


def environment_of(records: TrialSet) -> dict[str, Any]:
    """Of the latest trial."""
    return dict(json.loads(records.trials["environment"].iloc[-1]))
