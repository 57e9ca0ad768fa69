"""One run that logs from several processes: files, folders or rows of ranks, of which the lowest counts."""

import re
from dataclasses import replace
from typing import Any

import pandas as pd
from pandas.api.types import is_float_dtype, is_numeric_dtype

from ..roles import NAMES, last_part
from ..table import FILE, Table
from .source import problem

IN_NAME = re.compile(r"[/_\-. ]?(?<![a-z])(?:(?:global|world|local)[_\-]?)?rank[_\-=. ]?(\d+)(?!\d)", re.IGNORECASE)
# Columns of the rank, the one that tells most processes apart first; of what else differs between processes.
COLUMNS = ("global_rank", "world_rank", "rank", "local_rank")
OF_PROCESSES = {*COLUMNS, "node_rank", "pid", "process", "worker", "host", "hostname", "node", "device", "gpu", "gpu_id"}
# A column of texts with more of them tells no runs apart; it is of times or messages.
MOST_LEVELS = 50
CONSEQUENCE = "one run logs from several processes: the lowest rank counts"


def of_lowest_rank(table: Table) -> Table:
    """The table without the rows of a run's other ranks. Ranks count from 0; those of LoRA, or places in a contest, do not."""
    frame = table.frame
    names = [name for name in (FILE, table.roles.get("run", FILE)) if name in frame]
    for name in names:
        texts = frame[name].astype(str)
        ranks = pd.to_numeric(texts.str.extract(IN_NAME, expand=False))
        if ranks.notna().any():
            run = texts.str.replace(IN_NAME, "", regex=True).str.lstrip("/")
            return _without_others(table, ranks, [run, *(frame[other] for other in names if other != name)], name)
    columns = {last_part(str(name)): str(name) for name in reversed(frame.columns) if is_numeric_dtype(frame[name])}
    rank = next((columns[name] for name in COLUMNS if name in columns), None)
    return table if rank is None else _without_others(table, frame[rank], [frame[name] for name in _identity(frame)])


def _identity(frame: pd.DataFrame) -> list[str]:
    """The columns in which rows of one run agree."""
    named = {name for role in ("arm", "seed", "task", "run") for name in NAMES[role]}
    free = [str(name) for name in frame if last_part(str(name)) not in OF_PROCESSES and not is_float_dtype(frame[name])]
    few = {name for name in free if not is_numeric_dtype(frame[name]) and frame[name].nunique() <= MOST_LEVELS}
    return [name for name in free if name in few or name == FILE or last_part(name) in named]


def _without_others(table: Table, ranks: "pd.Series[Any]", keys: "list[pd.Series[Any]]", name: str = "") -> Table:
    """keys: what is the same for all ranks of a run. name: the column that the first of them becomes."""
    by = keys or [pd.Series(0, index=ranks.index)]
    groups = ranks.groupby(by, sort=False, dropna=False)
    counted = (groups.transform("min") == 0) & (groups.transform("max") == groups.transform("nunique") - 1)
    others = (counted & (ranks > 0)).fillna(False).astype(bool)
    if not others.any():
        return table
    frame = table.frame.assign(**({name: keys[0].where(counted & ranks.notna(), table.frame[name])} if name else {}))
    processes = pd.DataFrame({str(place): column for place, column in enumerate([*keys, ranks])})[others].drop_duplicates()
    shown = ["/".join(map(str, key)) for key in processes.iloc[:, :-1].drop_duplicates().itertuples(index=False)]
    problems = problem("further ranks of runs", len(processes), CONSEQUENCE, shown)
    return replace(table, frame=frame[~others].reset_index(drop=True), problems=(*table.problems, *problems))
