"""The trained setup, in one line each: model, data, steps, optimizer, seeds, machine."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..harness.declare import Configuration
from ..harness.judge.regimes import RunSize, in_thousands
from ..harness.judge.trial_sets import TrialSet
from ..harness.plan.recipe import optimizer_name, seen, settings_of
from ..harness.train.schedules import schedule_named
from ..harness.train.workloads import workload_of
from ..harness.train.workloads.base import PROOF, READ
from ..harness.words import capitalized, counted, enumerated
from .arms_table import RANGE_TEST

# Beyond this many different schedules they are only counted.
MOST_NAMED = 2


def setup_lines(records: TrialSet, machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pairs of a word and a line."""
    study, scale = records.study, records.scale
    settings = [setting for arm in study.arms_at(scale) for setting in settings_of(study, scale, arm)]
    trained = [setting for setting in settings if setting.training.schedule != RANGE_TEST] or settings
    by_model: dict[str, list[Configuration]] = {}
    for setting in trained:
        by_model.setdefault(setting.workload.model, []).append(setting)
    lines = []
    for model, several in by_model.items():
        data = enumerated(list(dict.fromkeys(workload_of(setting.workload).data_name for setting in several)))
        on = "" if model == "quadratic" else f", on {data}"
        lines += [("model", f"{_model(model, several)}{on}"), ("trained", seen(several))]
    optimizers = list(dict.fromkeys(optimizer_name(setting.training) for setting in trained))
    lines.append(("optimizer", f"{enumerated(optimizers)}; {_schedules(trained)}"))
    diverged = int((records.trials["outcome"] == "diverged").sum())
    runs = f"{study.seeds_at(scale)} seeds, {counted(len(records.trials), 'run')}"
    lines.append(("runs", f"{runs}, {diverged:,} diverged" if diverged else f"{runs}, none diverged"))
    cores = f", {machine['cores']} cores" if "cores" in machine and records.device == "cpu" else ""
    # The packs' own seconds, of which as many pass at once as there are cores.
    on_cores = ", all cores together" if cores else ""
    environment = environment_of(records)
    for word, name in (("data", READ), ("workload", PROOF)):
        if said := environment.get(name):
            lines.append((word, capitalized(said)))
    lines.append(("machine", f"{machine['device']}{cores}; {minutes(records)} of training{on_cores}"))
    return lines


def for_whom(records: TrialSet, machine: Mapping[str, Any]) -> str:
    """GPT, 3.3k parameters, 54k to 256k tokens seen · 2 cores · 22 seeds."""
    study, scale = records.study, records.scale
    by_model: dict[str, list[RunSize]] = {}
    for setting in (configuration for arm in study.arms_at(scale) for configuration in settings_of(study, scale, arm)):
        by_model.setdefault(_name(setting.workload.model, [setting]), []).append(RunSize.of(setting))
    models = [f"{name}, {size}" if (size := _sizes(sizes)) else name for name, sizes in by_model.items()]
    cores = f"{machine['cores']} cores" if "cores" in machine and records.device == "cpu" else str(machine["device"])
    return " · ".join([*models, cores, f"{study.seeds_at(scale)} seeds"])


def _sizes(runs: Sequence[RunSize]) -> str:
    parameters = _range([run.parameters for run in runs if run.parameters])
    seen_of = _range([run.tokens for run in runs])
    return ", ".join(filter(None, (f"{parameters} parameters" if parameters else "", f"{seen_of} {runs[0].unit} seen")))


def _range(counts: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(in_thousands(count) for count in (min(counts), max(counts)))) if counts else ""


def minutes(records: TrialSet) -> str:
    count = float(records.trials["seconds"].sum()) / 60
    return f"{count:.1f} minutes" if count < 10 else f"{count:.0f} minutes" if count < 120 else f"{count / 60:.1f} hours"


def _model(model: str, settings: Sequence[Configuration]) -> str:
    counts = sorted({workload_of(setting.workload).hidden_parameters or 0 for setting in settings})
    workload = workload_of(settings[0].workload)
    if model == "quadratic":
        sizes = dict.fromkeys(setting.workload.dataset.partition(":")[2] for setting in settings)
        return f"Quadratic of {enumerated(list(sizes))} dimensions"
    name = _name(model, settings)
    if not counts[-1]:
        return name
    return f"{name} of {_range(counts)} parameters beside {'embeddings' if workload.reads_text else 'input and output'}"


def _name(model: str, settings: Sequence[Configuration]) -> str:
    names = dict.fromkeys(workload_of(setting.workload).model_name for setting in settings)
    return model.upper() if model in ("mlp", "cnn", "gpt") else enumerated(list(names))


def _schedules(settings: Sequence[Configuration]) -> str:
    words = list(dict.fromkeys(schedule_named(setting.training.schedule).words(setting.training) for setting in settings))
    return enumerated(words) if len(words) <= MOST_NAMED else f"{len(words)} schedules"


def environment_of(records: TrialSet) -> dict[str, Any]:
    """The environment of the latest trial."""
    return dict(json.loads(records.trials["environment"].iloc[-1]))
