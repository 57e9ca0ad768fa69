"""The table that a reader hands on: the rows of a source with the names that they have there, and its problems."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from ..results import ForPeople, ForScripts

# Roles of columns: the number that is judged; what is compared; the repetition; how far a run has come; the data set or
# benchmark that a run belongs to; the run itself; the item of an eval that a row answers; what items belong to together.
Role = Literal["metric", "arm", "seed", "step", "task", "run", "item", "cluster"]
ROLES: tuple[Role, ...] = ("metric", "arm", "seed", "step", "task", "run", "item", "cluster")

# Columns that readers add: the source as it was named on the command line, and the file inside it.
SOURCE, FILE = "source", "file"
# The name of a column without one.
UNNAMED = "unnamed"
# The prefix of columns that have no role.
PREFIX = "column "
# Rows of all sources together; cells of one row; characters of a line.
MOST_ROWS, MOST_COLUMNS, MOST_LINE = 5_000_000, 10_000, 10_000_000


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with the runs.

    what: in the plural ("runs that are there twice"); count: how many; consequence: what was done about it, or what it means
    for the verdicts; examples: some of their names; names: all of them, of a problem that a reader met. doubtful: whether no
    verdict is firm while it stands; of_verdicts: whether it bears on comparisons alone.
    """

    what: str
    count: int
    consequence: str
    examples: tuple[str, ...] = ()
    doubtful: ForScripts[bool] = False
    of_verdicts: ForScripts[bool] = False
    names: ForPeople[tuple[str, ...]] = field(default=(), repr=False)


@dataclass(frozen=True)
class Table:
    """frame: a row for each run, or for each run and step, columns named as in the source. roles: what columns are, where the
    format says it itself (a trainer's log knows its step); the others are guessed later. source: as it was named; format: what
    it was read as, in words ("CSV", "Hugging Face trainer states"). tuned: each run of an arm has other hyperparameters.
    """

    frame: pd.DataFrame
    source: str
    format: str
    roles: Mapping[Role, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    tuned: bool = False
