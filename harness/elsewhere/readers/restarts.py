"""Rows of a run in the order in which they were written, where steps may fall: the run was resumed from a checkpoint, its
counter began again, or another run was written to the same place."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..roles import METRIC_WORDS, words_of
from ..table import Problem
from .source import problem

# Two measurements of one state agree to this share.
SAME_STATE = 1e-6


@dataclass
class Restarts:
    """run: 0 for rows of the first run, 1 for those of the next [rows]. steps: as they go on over restarts [rows]. counts:
    whether no later part of the run overwrote the row [rows]. resumed, recounted: how often the run went on at an
    earlier step, and with steps counted from its first."""

    run: list[int]
    steps: list[int]
    counts: list[bool]
    resumed: int = 0
    recounted: int = 0

    @property
    def runs(self) -> int:
        return max(self.run, default=0) + 1


@dataclass
class _Run:
    """rows: of each metric those that count so far; shift: what is added to its steps as they are written."""

    number: int = 0
    rows: dict[str, list[int]] = field(default_factory=dict)
    shift: dict[str, int] = field(default_factory=dict)


def restarts_of(steps: Sequence[int], values: Sequence[float], series: Sequence[str] = ()) -> Restarts:
    """series: the metric of each row, if there are several; each may count its steps in its own way."""
    names = series or [""] * len(steps)
    restarts, run = Restarts([], list(steps), [True] * len(steps)), _Run()
    for start, stop in pairwise([0, *_falls(steps, names), len(steps)]):
        if start:
            first: dict[str, int] = {}
            for row in range(start, stop):
                first.setdefault(names[row], row)
            run = _after_fall(restarts, run, steps, values, first)
        for row in range(start, stop):
            restarts.run.append(run.number)
            restarts.steps[row] += run.shift.get(names[row], 0)
            run.rows.setdefault(names[row], []).append(row)
    return restarts


def _after_fall(restarts: Restarts, run: _Run, steps: Sequence[int], values: Sequence[float], first: Mapping[str, int]) -> _Run:
    """The run that goes on there, or the next. first: the first row of each metric there, in their order."""
    fallen, known = next(iter(first)), {name: row for name, row in first.items() if name in run.rows}
    if steps[first[fallen]] > steps[run.rows[fallen][0]]:
        restarts.resumed += 1
    elif _go_on(values, run.rows, known):
        restarts.recounted += 1
        run.shift |= {name: _last_step(restarts.steps, run.rows[name], values, row) for name, row in known.items()}
    else:
        return _Run(run.number + 1)
    for name, row in known.items():
        _supersede(restarts, run.rows[name], steps[row] + run.shift.get(name, 0))
    return run


def _last_step(steps: Sequence[int], rows: Sequence[int], values: Sequence[float], new: int) -> int:
    """The step from which a restarted counter counts on: the last step; the one after it, if its first step is a 0 at which
    something else was measured."""
    last = rows[-1]
    gap = steps[last] - steps[rows[-2]] if len(rows) > 1 else 1
    is_new = steps[new] == 0 and not math.isclose(values[last], values[new], rel_tol=SAME_STATE)
    return steps[last] + gap * is_new


def _falls(steps: Sequence[int], names: Sequence[str]) -> list[int]:
    """The rows at which the steps of a metric fall. Falls of other metrics there belong to the same restart."""
    falls, last = [], dict[str, int]()
    for row, (step, name) in enumerate(zip(steps, names, strict=True)):
        if step < last.get(name, step):
            falls.append(row)
            last = {}
        last[name] = step
    return falls


def _go_on(values: Sequence[float], before: Mapping[str, Sequence[int]], first: Mapping[str, int]) -> bool:
    """Whether a part's first values are nearer to the last ones before than to the run's first ones. Losses and their
    like decide if they are logged; a learning rate begins again with its schedule."""
    telling = [name for name in first if words_of(name) & METRIC_WORDS] or [*first]
    nearer = 0.0
    for name in telling:
        begin, end, new = (values[row] for row in (before[name][0], before[name][-1], first[name]))
        if begin != end and all(map(math.isfinite, (begin, end, new))):
            nearer += (abs(new - begin) - abs(new - end)) / abs(end - begin)
    return nearer > 0


def _supersede(restarts: Restarts, rows: list[int], step: int) -> None:
    """Drops a metric's rows at and after a step from which on it was written again."""
    while rows and restarts.steps[rows[-1]] >= step:
        restarts.counts[rows.pop()] = False


def placed_after(steps: Sequence[int], series: Sequence[str]) -> list[int]:
    """Steps in which a negative one, which is none, is one after the last step before: of its metric, or else of all."""
    placed: list[int] = []
    last, latest = dict[str, int](), None
    for step, name in zip(steps, series, strict=True):
        before = last.get(name, latest)
        if step >= 0:
            latest = step
        last[name] = before + 1 if step < 0 and before is not None else step
        placed.append(last[name])
    return placed


def rows_of(
    restarts: Restarts, values: Sequence[Any], series: Sequence[str]
) -> tuple[dict[tuple[int, int], dict[str, Any]], bool]:
    """Run and step -> the value of each metric, and whether one has several there: the last counts."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    is_twice = False
    for run, step, counts, name, value in zip(restarts.run, restarts.steps, restarts.counts, series, values, strict=True):
        if counts:
            row = rows.setdefault((run, step), {})
            is_twice = is_twice or name in row
            row[name] = value
    return {key: rows[key] for key in sorted(rows)}, is_twice


def part_name(run: str, part: int) -> str:
    """The name of a run, with a number if another was written to the same place before."""
    return f"{run}#{part + 1}" if part else run


def problems_of(restarts: Mapping[str, Restarts], twice: Sequence[str] = ()) -> tuple[Problem, ...]:
    """The problems of runs, by their names. twice: those with several values of a metric at a step."""
    resumed = [name for name, restart in restarts.items() if restart.resumed]
    recounted = [name for name, restart in restarts.items() if restart.recounted]
    several = [name for name, restart in restarts.items() if restart.runs > 1]
    more = sum(restarts[name].runs - 1 for name in several)
    return (
        *problem(
            "runs that were resumed at an earlier step", len(resumed), "what they had logged from there on is left out", resumed
        ),
        *problem(
            "runs whose steps begin again while their values go on",
            len(recounted),
            "the later part of the same run: its steps count on from the last one before",
            recounted,
        ),
        *problem("runs that begin again at their first step and value", more, "runs of their own, named #2 and so on", several),
        *problem("runs that logged a value twice at one step", len(twice), "the last one counts", twice),
    )
