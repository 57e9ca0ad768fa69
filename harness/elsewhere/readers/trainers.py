"""Logs of trainers: Hugging Face's trainer_state.json and Lightning's metrics.csv. A run is a folder, a row is a step."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import yaml

from ...declare.study_file import LARGEST_STUDY, read_study_file
from ...errors import UserError
from ...input_files import open_regular
from ..table import Role, Table
from .columns import Record, are_tries, beside, by_step, flat, frame_of
from .source import EmptyError, Source, json_of, problem, readable, text_of
from .text_tables import Texts, problems_of, texts_of

STATE, METRICS, HYPERPARAMETERS = "trainer_state.json", "metrics.csv", "hparams.yaml"
CHECKPOINT = re.compile(r"checkpoint-\d+")
ROLES: dict[Role, str] = {"run": "run", "step": "step"}
# Names of values that differ whenever the same is measured again.
OF_TIME = re.compile(r"runtime|per_second")
# A line of hparams.yaml that gives a plain value.
PLAIN = re.compile(r"^\w+: [^\s!&*|>{\[].*$", re.MULTILINE)
# Keys of a state that hold settings of the run.
TOLD = ("max_steps", "num_train_epochs", "train_batch_size")


def recognizes_states(source: Source) -> bool:
    return bool(source.named_files(STATE))


def read_states(source: Source) -> Table:
    """Hugging Face: run, step, and what was logged at each step, training and evaluation in one row.

    The latest checkpoint of a run counts. Raises UserError.
    """
    latest: dict[str, Record] = {}
    for file in source.named_files(STATE):
        state, run = _state(source, file), _run_of(source, file)
        if run not in latest or state["global_step"] >= latest[run]["global_step"]:
            latest[run] = state
    trials = [state.get("trial_params") or {} for state in latest.values()]
    settings = [
        {**{name: state[name] for name in TOLD if name in state}, **flat(trial)}
        for state, trial in zip(latest.values(), trials, strict=True)
    ]
    logs = {run: state["log_history"] for run, state in latest.items()}
    return _table(source, "Hugging Face trainer states", logs, settings, are_tries(trials) and all(trials))


def recognizes_metrics(source: Source) -> bool:
    """Only Lightning's have both columns: other metrics.csv are tables."""
    return any(_is_lightning(source, file) for file in source.named_files(METRICS))


def read_metrics(source: Source) -> Table:
    """Lightning: run, step, what was logged at each step, training and validation in one row, and the hyperparameters of
    hparams.yaml. Raises UserError."""
    texts: dict[str, Texts] = {}
    settings, unread, empty = [], [], []
    for file in source.named_files(METRICS):
        try:
            texts[source.run_of(file)] = texts_of(source.root / file)
        except EmptyError:
            empty.append(source.run_of(file))
            continue
        hyperparameters, is_whole = _hyperparameters(source, file)
        settings.append(hyperparameters)
        unread += [] if is_whole else [source.run_of(file)]
    if not texts:
        raise EmptyError(source.root)
    logs = {run: content.table.to_pylist() for run, content in texts.items()}
    table = _table(source, "Lightning's CSV logs", logs, settings, False)
    return replace(
        table,
        problems=(
            *table.problems,
            *problems_of(texts),
            *problem("runs without a logged step", len(empty), "left out", empty),
            *problem("runs with hyperparameters that are no plain values", len(unread), "these are left out", unread),
        ),
    )


def _table(source: Source, kind: str, logs: dict[str, list[Any]], settings: Sequence[Record], tuned: bool) -> Table:
    rows, twice = [], []
    for (run, log), setting in zip(logs.items(), settings, strict=True):
        merged, again = by_step(log, "step")
        names = {name for row in merged for name in row}
        rows += [{"run": run, **beside(setting, {*names, "run"}, "hparams."), **row} for row in merged]
        twice += [run] if any(not OF_TIME.search(name) for name in again) else []
    empty = [run for run, log in logs.items() if not log]
    problems = (
        *problem("runs without a logged step", len(empty), "left out", empty),
        *problem("runs that logged a value twice at one step", len(twice), "the first one counts", twice),
    )
    if not rows:
        raise source.error("no step is logged in it", "name a folder with runs that trained")
    with readable(source.place):
        return Table(frame_of(rows), source.shown, kind, ROLES, problems, tuned)


def _state(source: Source, file: str) -> dict[str, Any]:
    """Raises UserError for JSON that is no state."""
    state = json_of(source.root / file)
    log = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(log, list) or not all(isinstance(entry, dict) for entry in log):
        raise source.error(f"{file} has no log_history, a list of objects", "name files that the Trainer wrote")
    step = state.get("global_step")
    return {**state, "global_step": step if isinstance(step, int) else -1}


def _run_of(source: Source, file: str) -> str:
    """The output folder, above the checkpoint."""
    run = PurePath(source.run_of(file))
    if not CHECKPOINT.fullmatch(run.name):
        return str(run)
    if run.parent.name:
        return str(run.parent)
    folder = source.root.resolve()
    return folder.parent.name if folder.name == run.name else folder.name


def _is_lightning(source: Source, file: str) -> bool:
    with readable(source.root / file), open_regular(source.root / file) as opened:
        header = opened.readline(1_000_000).decode("utf-8", "replace")
    return {"step", "epoch"} <= {name.strip() for name in header.split(",")}


def _hyperparameters(source: Source, file: str) -> tuple[Record, bool]:
    """The values in hparams.yaml beside a file, and whether they are all of it: Python objects in it are never made."""
    path = (source.root / file).with_name(HYPERPARAMETERS)
    if not path.exists():
        return {}, True
    try:
        parameters = read_study_file(path)
        return (flat(parameters), True) if isinstance(parameters, dict) else ({}, parameters is None)
    except UserError:
        plain = PLAIN.findall(text_of(path, LARGEST_STUDY).decode())
    with readable(path):
        try:
            return yaml.safe_load("\n".join(plain)) or {}, False
        except yaml.YAMLError:
            return {}, False
