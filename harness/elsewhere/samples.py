"""Samples of runs: one value for each run, and what two arms have in common."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import UserError, unknown
from ..judge.statistics.intervals import Numbers
from .claims import RunClaim
from .runs import Runs

Mask = NDArray[np.bool_]

# Arms that share at least this many seeds are compared in pairs.
LEAST_PAIRS = 3


@dataclass(frozen=True)
class Sample:
    """The values of an arm on one task [n].

    seeds: of each value, '' if unknown; diverged: which values stand for runs that diverged or never reached the value; stops:
    the last step of each run.
    """

    values: Numbers
    seeds: tuple[str, ...]
    diverged: Mask
    stops: Numbers

    def __len__(self) -> int:
        return len(self.values)

    def kept(self, which: Mask) -> "Sample":
        chosen = [seed for seed, keep in zip(self.seeds, which, strict=True) if keep]
        return Sample(self.values[which], tuple(chosen), self.diverged[which], self.stops[which])


@dataclass(frozen=True)
class Pair:
    """Two arms on one task, or an arm and a number; if they are paired, run i of both has the same seed, or what stands for it:
    by. dropped: runs without a partner. exact: the other side is a number, a sample of one value without an error."""

    task: str
    arm: Sample
    other: Sample
    paired: bool
    dropped: int = 0
    by: str = "seed"
    exact: bool = False

    @property
    def sides(self) -> tuple[Sample, ...]:
        """The samples that are made of runs."""
        return (self.arm,) if self.exact else (self.arm, self.other)

    def without(self, index: int, of_other: bool = False) -> "Pair":
        """The pair without one run of the arm (and its partner), or of the other arm."""
        arm, other = (np.ones(len(side), bool) for side in (self.arm, self.other))
        if self.paired or not of_other:
            arm[index] = False
        if self.paired or of_other:
            other[index] = False
        return replace(self, arm=self.arm.kept(arm), other=self.other.kept(other))

    def finished(self) -> "Pair":
        """The pair without runs that diverged."""
        arm, other = ~self.arm.diverged, ~self.other.diverged
        if self.paired:
            arm = other = arm & other
        return replace(self, arm=self.arm.kept(arm), other=self.other.kept(other))


def read_values(runs: Runs, claim: RunClaim) -> pd.DataFrame:
    """A row a run: arm, task, seed, run, value, stop (its last step), diverged. The claim reads the last value, that at a
    step, or the steps to a value. Raises UserError."""
    frame, last = runs.frame, runs.final()
    if (claim.step is not None or claim.target is not None) and frame["step"].isna().all():
        raise UserError(f"claim '{claim.text}': the runs have no steps; say which column holds them with --step")
    if claim.step is not None:
        values = _at_step(frame, last, claim.step)
    elif claim.target is not None:
        values = _steps_to(frame, last, claim)
    else:
        values = last.assign(stop=last["step"])
    diverged = ~np.isfinite(values["value"].to_numpy(float))
    return values.assign(value=_with_worst(runs, values, diverged, claim), diverged=diverged | values.get("censored", False))


def _at_step(frame: pd.DataFrame, last: pd.DataFrame, step: float) -> pd.DataFrame:
    """The last value up to the step, of runs that came so far."""
    reached = last[last["step"] >= step]
    if reached.empty:
        raise UserError(f"no run came to step {step:g}: the longest ends at {last['step'].max():g}; name an earlier one")
    values = frame[(frame["step"] <= step) & frame["run"].isin(reached["run"])].groupby("run", sort=False).tail(1)
    return values.assign(stop=values["step"]).reset_index(drop=True)


def _steps_to(frame: pd.DataFrame, last: pd.DataFrame, claim: RunClaim) -> pd.DataFrame:
    """The steps until each run reaches the value, between two rows by a straight line. A run that never does counts with its
    last step, and as censored."""
    target = claim.target
    assert target is not None
    falling = frame.groupby("run", sort=False)["value"].first().median() > target
    sign = 1.0 if falling else -1.0
    first = {run: crossing(part["step"], part["value"], target, sign) for run, part in frame.groupby("run", sort=False)}
    steps = last["run"].map(first)
    return last.assign(value=steps.fillna(last["step"]), censored=steps.isna(), stop=last["step"])


def crossing(steps: pd.Series, values: pd.Series, target: float, sign: float = 1.0) -> float:
    """The step at which values first come down to the target (or up to it: sign -1); nan if they never do."""
    x, y = steps.to_numpy(float), sign * values.to_numpy(float)
    there = np.flatnonzero(y <= sign * target)
    if not len(there):
        return math.nan
    index = int(there[0])
    if index == 0 or not math.isfinite(y[index - 1]):
        return float(x[index])
    share = (y[index - 1] - sign * target) / (y[index - 1] - y[index])
    return float(x[index - 1] + share * (x[index] - x[index - 1]))


def _with_worst(runs: Runs, values: pd.DataFrame, diverged: Mask, claim: RunClaim) -> pd.Series:
    """A diverged run counts with the worst finite value that any run of its task began or ended with."""
    if not diverged.any():
        return values["value"]
    better = runs.better or ("higher" if claim.comparison.startswith(">") else "lower")
    ends = pd.concat([runs.frame.groupby("run").head(1), values])
    by_task = ends[np.isfinite(ends["value"].astype(float))].groupby("task")["value"]
    worst = by_task.max() if better == "lower" else by_task.min()
    if set(values["task"]) - set(worst.index):
        raise UserError(f"claim '{claim.text}': every run of a task diverged, so there is nothing to compare; leave it out")
    return values["value"].where(pd.Series(~diverged, index=values.index), values["task"].map(worst))


def pairs(values: pd.DataFrame, claim: RunClaim, paired: bool | None = None) -> Iterator[Pair]:
    """The claim's two arms on each task that has both, or its arm and its number. paired: None: if they share seeds. Raises
    UserError for unknown arms."""
    for arm in claim.arms:
        if not (values["arm"] == arm).any():
            raise unknown("arm", arm, values["arm"].unique())
    for task, part in values[values["arm"].isin(claim.arms)].groupby("task", sort=False):
        sides = [part[part["arm"] == arm] for arm in claim.arms]
        if isinstance(claim.other, float):
            yield against_number(str(task), sample(part), claim.other)
        elif len(sides[0]) and len(sides[1]):
            yield _pair(str(task), sides[0], sides[1], paired)


def against_number(task: str, arm: Sample, number: float) -> Pair:
    exact = Sample(np.array([number]), ("",), np.zeros(1, bool), np.full(1, math.nan))
    return Pair(task, arm, exact, paired=False, exact=True)


def _pair(task: str, arm: pd.DataFrame, other: pd.DataFrame, paired: bool | None) -> Pair:
    shared = sorted(set(arm["seed"].dropna()) & set(other["seed"].dropna()))
    unique = not arm["seed"].duplicated().any() and not other["seed"].duplicated().any()
    if paired is False or len(shared) < (2 if paired else LEAST_PAIRS) or not unique:
        if paired:
            raise UserError(f"--paired: the arms share {len(shared)} seeds; at least 2 are needed, and each once in an arm")
        return Pair(task, sample(arm), sample(other), False)
    chosen = [side.set_index("seed").loc[shared].reset_index() for side in (arm, other)]
    return Pair(task, sample(chosen[0]), sample(chosen[1]), True, len(arm) + len(other) - 2 * len(shared))


def sample(part: pd.DataFrame) -> Sample:
    return Sample(
        part["value"].to_numpy(float),
        tuple(part["seed"].astype(object).where(part["seed"].notna(), "")),
        part["diverged"].to_numpy(bool),
        part["stop"].to_numpy(float),
    )
