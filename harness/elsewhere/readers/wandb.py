"""Exports of Weights & Biases: runs with summary and config, as JSON or as CSV, and the wide tables of its plots."""

import ast
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..table import Problem, Role
from .columns import beside, flat, frame_of
from .source import problem

# A plot's table: "Step", then for each run its metric, and the least and greatest value that were averaged for a point.
OF_RUN = re.compile(r"(?P<run>.+) - (?P<metric>.+?)(?P<extreme>__MIN|__MAX)?", re.DOTALL)
UNFINISHED = ("crashed", "failed", "killed", "running", "preempted", "preempting", "pending")


def is_run(record: Mapping[str, Any]) -> bool:
    """Whether a record is a run as W&B's API gives it."""
    return isinstance(record.get("summary"), dict) or (isinstance(record.get("config"), dict) and "history" in record)


def settled(record: Mapping[str, Any]) -> dict[str, Any]:
    """A run as one row: summary and config under their own names, W&B's internals left out."""
    summary, config = (_part(record.get(name)) for name in ("summary", "config"))
    others = flat({name: value for name, value in record.items() if name not in ("summary", "config")})
    return {**others, **beside(config, {*summary, *others}, "config."), **beside(summary, others, "summary.")}


def _part(value: Any) -> dict[str, Any]:
    return flat({name: entry for name, entry in value.items() if name != "_wandb"}) if isinstance(value, dict) else {}


def from_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """A CSV of runs whose cells hold summary and config as Python writes them, with columns of their own instead."""
    columns = [name for name in ("summary", "config") if name in frame and frame[name].astype(str).str.startswith("{").all()]
    if "summary" not in columns:
        return frame
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return frame_of(
        [settled({str(name): _read(cell) if name in columns else cell for name, cell in row.items()}) for row in rows]
    )


def _read(cell: Any) -> Any:
    """Python's text of a dictionary. Raises ValueError."""
    try:
        return ast.literal_eval(re.sub(r"(?<=[:\[,] )(-?(?:nan|inf))\b", r"'\1'", str(cell)))
    except (ValueError, SyntaxError, TypeError, MemoryError):
        raise ValueError("has a cell of summary or config that is no dictionary of plain values") from None


def is_plot(frame: pd.DataFrame) -> bool:
    """Whether it is the table of a plot: after the first column only runs' metrics, with their extremes."""
    matches = [OF_RUN.fullmatch(str(name)) for name in frame.columns[1:]]
    return bool(matches) and all(matches) and any(match["extreme"] for match in matches if match)


def long_of(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[Role, str], tuple[Problem, ...]]:
    """A plot's table with a row for each run and step, a column for each metric. MIN and MAX are left out."""
    step = str(frame.columns[0])
    runs: dict[str, dict[str, str]] = {}
    for name in frame.columns[1:]:
        match = OF_RUN.fullmatch(str(name))
        if match and not match["extreme"]:
            runs.setdefault(match["run"], {})[str(name)] = match["metric"]
    parts = [
        frame[[step, *columns]].rename(columns=columns).dropna(how="all", subset=[*columns.values()]).assign(run=run)
        for run, columns in runs.items()
    ]
    averaged = [run for run, columns in runs.items() if any(_is_averaged(frame, name) for name in columns)]
    what, note = "runs whose points are averages over several steps", "W&B's export drew them so: the averages are judged"
    return pd.concat(parts, ignore_index=True), {"run": "run", "step": step}, problem(what, len(averaged), note, averaged)


def with_run(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[Role, str]]:
    """The frame with the roles of W&B's columns: runs go by id or name. Rows of one name and step are numbered as runs."""
    name = next((name for name in ("id", "name") if name in frame), None)
    if "_step" not in frame or name is None:
        return frame, {"step": "_step"} if "_step" in frame else {}
    if frame.duplicated([name, "_step"]).any():
        return frame.assign(run=range(len(frame))), {"run": "run", "step": "_step"}
    return frame, {"run": name, "step": "_step"}


def unfinished(frame: pd.DataFrame) -> tuple[Problem, ...]:
    """Runs that W&B says are not finished."""
    column = next((name for name in ("state", "State") if name in frame), None)
    if column is None or not frame[column].isin(["finished", *UNFINISHED]).all():
        return ()
    names = frame[next((name for name in ("name", "Name", "id", "ID") if name in frame), column)]
    runs = names[frame[column] != "finished"].unique()
    return problem("runs that did not finish", len(runs), "judged by what they had logged", runs)


def _is_averaged(frame: pd.DataFrame, name: str) -> bool:
    extremes = [_numbers(frame[column]) for column in (f"{name}__MIN", f"{name}__MAX") if column in frame]
    return any(not np.allclose(extreme, _numbers(frame[name]), 1e-9, 0, equal_nan=True) for extreme in extremes)


def _numbers(column: "pd.Series[Any]") -> NDArray[np.float64]:
    return pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
