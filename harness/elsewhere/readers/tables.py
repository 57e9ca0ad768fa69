"""Tables in files: CSV and its relatives, JSON lines, JSON and Parquet, one file or a folder of files of one kind."""

from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

import pandas as pd

from ...declare.study_file import read_study_file
from ...errors import UserError
from ...input_files import open_regular
from ..table import FILE, Problem, Role, Table
from . import wandb
from .columns import flat, frame_of
from .json_tables import read_json, read_json_lines
from .parquet import read_parquet
from .source import Source, json_of, readable, refuse_pickle
from .text_tables import read_text_tables

Read = Callable[[Mapping[str, Path]], tuple[pd.DataFrame, tuple[Problem, ...]]]
CSV, TEXT, LINES, JSON, PARQUET = "CSV", "text table", "JSON lines", "JSON", "Parquet"
READERS: Mapping[str, Read] = {
    **{CSV: read_text_tables, TEXT: read_text_tables},
    **{LINES: read_json_lines, JSON: read_json, PARQUET: read_parquet},
}
ENDINGS = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), CSV),
    **dict.fromkeys((".txt", ".dat"), TEXT),
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonlines"), LINES),
    ".json": JSON,
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
}
# Files of a run's hyperparameters beside its table.
SETTINGS = ("config.json", "args.json", "params.json", "hparams.json", "hyperparameters.json")
YAML_SETTINGS = ("config.yaml", "config.yml", "args.yaml", "params.yaml", "hparams.yaml")
# Texts that lie among runs.
NOT_RUNS = ("requirements.txt", "readme.txt", "license.txt", "notes.txt", "stdout.txt", "stderr.txt")
OF_SETTINGS = "settings"


def recognizes(source: Source) -> bool:
    """A file, whatever it is called, or a folder with files that end as tables do."""
    return source.path is not None and (not source.is_folder or bool(_by_kind(source)))


def read(source: Source) -> Table:
    """Columns as they are named; FILE if there are several files. Raises UserError."""
    kind, files = _chosen(source)
    frame, problems = READERS[kind](files)
    own: dict[Role, str] = frame.attrs.get("roles", {})
    with readable(source.place):
        if wandb.is_plot(frame):
            frame, plot_roles, more = wandb.long_of(frame)
            return Table(frame, source.shown, "a plot of W&B as CSV", plot_roles, (*problems, *more))
        frame, roles = wandb.with_run(_with_settings(wandb.from_cells(frame), source, files))
    return Table(frame, source.shown, kind, {**own, **roles}, (*problems, *wandb.unfinished(frame)))


def _by_kind(source: Source) -> dict[str, list[str]]:
    """Kind -> the files of a folder that end so. Settings and text count only if there is nothing else."""
    kinds: dict[str, list[str]] = {}
    for file in source.files:
        name = file.rpartition("/")[2].lower()
        kind = ENDINGS.get(PurePath(name.removesuffix(".gz")).suffix)
        if kind and name not in NOT_RUNS:
            kinds.setdefault(OF_SETTINGS if name in SETTINGS else kind, []).append(file)
    settings, text = kinds.pop(OF_SETTINGS, None), kinds.pop(TEXT, None)
    return kinds or ({TEXT: text} if text else {JSON: settings} if settings else {})


def _chosen(source: Source) -> tuple[str, dict[str, Path]]:
    """The kind of the files, and their paths by name. Raises UserError for files of several kinds, and for a pickle."""
    assert source.path is not None
    if not source.is_folder:
        return _kind_of(source.path), {source.path.name: source.path}
    kinds = _by_kind(source)
    if len(kinds) > 1:
        counts = ", ".join(f"{len(files)} {kind}" for kind, files in kinds.items())
        raise source.error(f"holds files of several kinds ({counts})", "name those to judge, for example FOLDER/*.csv")
    ((kind, files),) = kinds.items()
    return kind, {file: source.root / file for file in files}


def _kind_of(path: Path) -> str:
    """The kind of a file by the end of its name, else by its first bytes. Raises UserError."""
    refuse_pickle(path)
    if kind := ENDINGS.get(PurePath(path.name.lower().removesuffix(".gz")).suffix):
        return kind
    with readable(path), open_regular(path) as file:
        start = file.read(4)
    return PARQUET if start == b"PAR1" else LINES if start[:1] == b"{" else JSON if start[:1] == b"[" else CSV


def _with_settings(frame: pd.DataFrame, source: Source, files: Mapping[str, Path]) -> pd.DataFrame:
    """The frame with the hyperparameters that lie beside each file as columns, by names that are still free."""
    if not (paths := [file for file in source.named_files(*SETTINGS, *YAML_SETTINGS) if file not in files]):
        return frame
    by_folder = {PurePath(file).parent: _settings(source.root / file) for file in paths}
    settings = [flat(by_folder.get(PurePath(name).parent, {})) for name in files]
    columns = frame_of(settings).set_axis(list(files)).drop(columns=list(frame.columns), errors="ignore")
    keys = frame[FILE] if FILE in frame else [*files] * len(frame)
    return pd.concat([frame, columns.loc[keys].reset_index(drop=True)], axis=1)


def _settings(path: Path) -> dict[str, Any]:
    """The hyperparameters in a file; none if it is no plain YAML."""
    if path.suffix == ".json":
        settings = json_of(path)
    else:
        try:
            settings = read_study_file(path)
        except UserError:
            return {}
    return settings if isinstance(settings, dict) else {}
