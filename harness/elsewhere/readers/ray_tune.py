"""Results of Ray Tune, read without it: a folder for each trial with result.json or progress.csv, and params.json."""

from typing import Any

from ..table import Table
from .columns import are_tries, flat, frame_of
from .json_tables import lines_of
from .source import EmptyError, Source, json_of, problem, readable
from .text_tables import texts_of

RESULT, PROGRESS, PARAMETERS = "result.json", "progress.csv", "params.json"
ERRORS = ("error.txt", "error.pkl")
STEP = "training_iteration"
# Columns that Tune adds about itself and the machine.
OF_TUNE = {"date", "timestamp", "pid", "hostname", "node_ip", "done", "should_checkpoint", "experiment_tag", "config", "run"}
OF_TUNE |= {"time_since_restore", "iterations_since_restore", "checkpoint_dir_name", "timesteps_since_restore", "warmup_time"}


def recognizes(source: Source) -> bool:
    return bool(_trials(source))


def read(source: Source) -> Table:
    """run (the trial's folder), training_iteration, what was reported, hyperparameters as config/NAME. Raises UserError."""
    rows: list[dict[str, Any]] = []
    settings = {folder: _parameters(source, _inside(folder, PARAMETERS)) for folder in _trials(source)}
    empty, failed = [], []
    for folder, log in _trials(source).items():
        if any(_inside(folder, name) in source.files for name in ERRORS):
            failed.append(folder)
            continue
        reported = _reported(source, log)
        if not reported:
            empty.append(folder)
            continue
        run = source.run_of(log)
        around = {"run": run, **{f"config/{name}": value for name, value in flat(settings[folder], "/").items()}}
        rows += [{**around, **row} for row in reported]
    if not rows:
        raise source.error("no trial reported a result", "name a folder with trials that did")
    problems = (
        *problem("trials that ended in an error", len(failed), "left out; if they diverged, the verdict is too good", failed),
        *problem("trials without a result", len(empty), "left out", empty),
    )
    with readable(source.place):
        frame = frame_of(rows)
    return Table(frame, source.shown, "Ray Tune results", {"run": "run", "step": STEP}, problems, are_tries(settings.values()))


def _trials(source: Source) -> dict[str, str]:
    """Folder -> the log of each trial: what is said at once, the JSON lines, else the CSV."""
    files = set(source.files)
    folders = [file.rpartition("/")[0] for file in source.named_files(PARAMETERS)]
    logs = {folder: {_inside(folder, name) for name in (RESULT, PROGRESS)} & files for folder in folders}
    return {folder: max(names) for folder, names in logs.items() if names}


def _parameters(source: Source, file: str) -> dict[str, Any]:
    parameters = json_of(source.root / file)
    if not isinstance(parameters, dict):
        raise source.error(f"{file} is no object of hyperparameters", "name folders that Ray Tune wrote")
    return parameters


def _reported(source: Source, log: str) -> list[dict[str, Any]]:
    """The reported rows, without values that are the same in all trials or say nothing of training."""
    path = source.root / log
    try:
        records: list[dict[str, Any]] = lines_of(path)[0] if log.endswith(RESULT) else texts_of(path).table.to_pylist()
    except EmptyError:
        return []
    rows = [{name.replace(".", "/"): value for name, value in row.items()} for row in records]
    return [
        {name: value for name, value in row.items() if name.partition("/")[0] not in OF_TUNE} for row in rows if row.get(STEP)
    ]


def _inside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
