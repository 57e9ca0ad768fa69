"""Rows that look like one run and are several: a column that tells them apart is missing from the reading.

Train, validation and test rows of one seed are no three runs, and five runs that were written one after the other without a
seed are not one.
"""

from collections.abc import Sequence

import pandas as pd

from .blocks import BOOKKEEPING, makes_blocks
from .roles import words_of
from .runs import Runs, telling
from .table import PREFIX, Problem

EXAMPLES = 3


def shared(runs: Runs, factors: Sequence[str]) -> tuple[pd.DataFrame, Problem | None]:
    """Rows of one arm, task, seed and step with several values. If a run trained on after a halt, its later rows count."""
    if runs.tuned:
        return runs.frame, None
    keys = ["arm", "task", "seed", "name", *factors]
    # Rows of other settings are other runs: they are compared in blocks.
    columns = [str(name) for name in runs.frame if str(name).startswith(PREFIX)]
    keys += [name for name in columns if makes_blocks(runs.frame[name], name.removeprefix(PREFIX))]
    return _of_curves(runs, keys) if runs.frame["step"].notna().any() else _of_finals(runs, keys)


def _of_curves(runs: Runs, keys: Sequence[str]) -> tuple[pd.DataFrame, Problem | None]:
    frame, ends = runs.frame, runs.final()
    again = frame.duplicated(["run", "step"]) & frame["step"].notna()
    if not again.any():
        twins = ends[ends.duplicated(list(keys), keep=False)]
        what, consequence = "runs that only their steps tell apart", "each time the steps begin again a run begins"
        return frame, Problem(what, len(twins), consequence, _names(twins)) if len(twins) else None
    several = frame[again]
    if column := _telling(frame, ["run", "step"]):
        return frame, _mixed("runs with several values at a step", several["run"].nunique(), column)
    frame = frame.drop_duplicates(["run", "step"], keep="last")
    at_end = several.merge(ends[["run", "step"]], on=["run", "step"])
    if len(at_end):
        what = "runs with several values at their last step"
        consequence = "the last one counts; if they are several runs, name what tells them apart with --seed or --run"
        return frame, Problem(what, at_end["run"].nunique(), consequence, _names(at_end), True)
    what, consequence = "runs that log a step more than once", "the later row counts, as if the run had been resumed there"
    return frame, Problem(what, several["run"].nunique(), consequence, _names(several))


def _of_finals(runs: Runs, keys: Sequence[str]) -> tuple[pd.DataFrame, Problem | None]:
    frame = runs.frame
    if frame["seed"].isna().all():
        return frame, None
    again = frame[frame["seed"].notna()].duplicated([*keys])
    if not again.any():
        return frame, None
    column = _telling(frame, list(keys))
    what, count = "rows that share arm, task and seed", int(again.sum())
    if column:
        return frame, _mixed(what, count, column)
    consequence = "each counts as a run; if they are none, name what tells them apart with --task, --arm or --step"
    return frame, Problem(what, count, consequence, _names(frame.loc[again.index[again]]), True)


def _mixed(what: str, count: int, column: str) -> Problem:
    consequence = f"{column} tells them apart: keep one with --where {column}=…, or name it with --task, --arm or --run"
    return Problem(what, count, consequence, (column,), True)


def _telling(frame: pd.DataFrame, keys: Sequence[str]) -> str:
    columns = [str(name) for name in frame if str(name).startswith(PREFIX)]
    others = [name for name in columns if not words_of(name.removeprefix(PREFIX)) & BOOKKEEPING]
    return telling(frame, keys, others).removeprefix(PREFIX)


def _names(rows: pd.DataFrame) -> tuple[str, ...]:
    shown = rows["name"].fillna(rows["seed"]).fillna(rows["arm"]).astype(str)
    return tuple(shown.unique()[:EXAMPLES])
