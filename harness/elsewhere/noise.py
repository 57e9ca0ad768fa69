"""The noise of a metric between runs that share everything but the seed, and the differences that it leaves visible."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd

from ..declare.level import ALPHA
from ..errors import UserError
from ..judge.spelling import in_prose, number_and_interval
from ..judge.statistics import noise as level_of
from ..judge.statistics.intervals import Numbers, binomial
from ..judge.statistics.noise import CLEARLY, NoiseLevel
from ..results import DESCRIBED, ForScripts, Result
from ..words import counted
from .outcome_file import RunOutcome

# Runs an arm for which the smallest visible difference is reported.
SEEDS = (1, 3, 5, 10)
# A difference that is reported in any case, as a share of the mean.
USUAL_DIFFERENCE = 0.01
# Comparisons of stored arms that are reported if no difference is given.
LAST_COMPARISONS = 2
# A curve of fewer steps is none.
LEAST_STEPS = 3


@dataclass(frozen=True)
class Difference:
    """Between two arms, absolute or as a share of the mean. seeds: runs an arm with which it was seen."""

    value: float
    relative: bool
    seeds: int = 1


@dataclass(frozen=True)
class Group:
    """Runs that share everything but the seed. level: None for a single one."""

    arm: str
    task: str
    values: Numbers
    level: NoiseLevel | None

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    def row(self) -> "GroupResult":
        known = self.level
        spread = {"standard_deviation": known and known.deviation, "interval": known and (known.low, known.high)}
        return GroupResult(arm=self.arm, task=self.task, runs=len(self.values), mean=self.mean, **spread)


# low, high: by the interval of the standard deviation. relative: None if the mean has no sign.
@dataclass(frozen=True)
class Visible:
    """The smallest difference that this many seeds an arm show with 80% power."""

    __pydantic_config__ = DESCRIBED

    seeds: int
    difference: float
    low: float
    high: float
    relative: float | None
    """to the mean"""


@dataclass(frozen=True)
class Needed:
    __pydantic_config__ = DESCRIBED

    difference: float
    relative: float | None
    seeds: int | None
    """an arm, that show it with 80% power; none: more than is any advice"""


@dataclass(frozen=True)
class Compared:
    __pydantic_config__ = DESCRIBED

    name: str
    difference: float
    relative: float | None
    seeds: tuple[int, int]
    p: float
    """that noise alone makes it so large"""
    within_noise: bool


@dataclass(frozen=True)
class Repeat:
    """One seed run twice."""

    seed: int
    first: float
    second: float

    @property
    def is_same(self) -> bool:
        return self.first == self.second


class GroupResult(Result):
    arm: str
    task: str
    runs: int
    mean: float
    standard_deviation: float | None
    interval: tuple[float, float] | None


class StepResult(Result):
    step: float
    standard_deviation: float


class RepeatResult(Result):
    seed: int
    first: float
    second: float
    same: bool


class NoiseResult(Result):
    answer: str
    metric: str
    runs: int
    mean: float
    standard_deviation: float
    """over seeds"""
    interval: tuple[float, float]
    """of the standard deviation, 95%"""
    interval_method: ForScripts[str]
    chi_square_interval: ForScripts[tuple[float, float]]
    robust_interval: ForScripts[tuple[float, float] | None]
    degrees_of_freedom: ForScripts[int]
    normal_p: ForScripts[float | None]
    equal_spread_p: ForScripts[float | None]
    seed_is_used: bool
    """false: all runs end at the same number, and nothing was measured"""
    groups: ForScripts[tuple[GroupResult, ...]]
    visible: tuple[Visible, ...]
    needed: tuple[Needed, ...]
    compared: tuple[Compared, ...]
    """the differences asked for, or the last two between arms"""
    curve: ForScripts[tuple[StepResult, ...]]
    settles_at: ForScripts[float | None]
    repeat: ForScripts[RepeatResult | None]
    diverged: int
    stopped_early: int
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class Noise:
    """groups: of the runs that count. curve: (step, standard deviation) at steps that all of them have. settles_at: the first
    step from which on the deviation stays in the interval of the last. diverged: runs that ended in NaN or infinity; short:
    runs that stopped before the others of their arm. Neither counts, nor do failed ones (problems)."""

    metric: str
    groups: tuple[Group, ...]
    level: NoiseLevel
    robust: tuple[float, float] | None
    normal_p: float | None
    equal_spread_p: float | None
    curve: tuple[tuple[float, float], ...]
    diverged: int = 0
    short: int = 0
    differences: tuple[Difference, ...] = ()
    repeat: Repeat | None = None
    problems: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        return sum(len(group.values) for group in self.groups)

    @property
    def mean(self) -> float:
        """The mean of the groups' means."""
        return float(np.mean([group.mean for group in self.groups]))

    @property
    def is_alike(self) -> bool:
        """Whether no two runs differ: then the seed is not used."""
        return self.level.deviation == 0

    @property
    def is_normal(self) -> bool:
        return self.normal_p is None or self.normal_p >= CLEARLY

    @property
    def interval(self) -> tuple[float, float]:
        """The chi-square interval, or if the data are clearly not normal, Bonett's."""
        return (self.level.low, self.level.high) if self.is_normal or self.robust is None else self.robust

    @property
    def settles_at(self) -> float | None:
        index = level_of.settles([deviation for _, deviation in self.curve], *self.interval)
        return None if index is None else self.curve[index][0]

    @cached_property
    def base(self) -> float | None:
        """The base of relative differences: the mean without its sign; None for values of both signs."""
        values = np.concatenate([group.values for group in self.groups])
        return abs(self.mean) if (values > 0).all() or (values < 0).all() else None

    def relative(self, difference: float) -> float | None:
        return None if self.base is None else difference / self.base

    def absolute(self, difference: Difference) -> float:
        if not difference.relative:
            return difference.value
        if self.base is None:
            raise UserError(
                f"--difference {100 * difference.value:g}%: values of both signs have no mean for percent; give it absolutely"
            )
        return difference.value * self.base

    @cached_property
    def visible(self) -> tuple[Visible, ...]:
        deviation, visible = self.level.deviation, []
        for seeds in SEEDS:
            difference = level_of.visible_difference(deviation, seeds, self.level.degrees)
            low, high = (difference * end / deviation if deviation else 0.0 for end in self.interval)
            visible.append(Visible(seeds, difference, low, high, self.relative(difference)))
        return tuple(visible)

    @cached_property
    def needed(self) -> tuple[Needed, ...]:
        """Seeds for 1% of the mean, and for each difference that is asked for."""
        usual = [] if self.base is None else [USUAL_DIFFERENCE * self.base]
        wanted = dict.fromkeys([*usual, *map(self.absolute, self.differences)])
        known = (self.level.deviation, self.level.degrees)
        return tuple(
            Needed(difference, self.relative(difference), level_of.seeds_to_show(difference, *known)) for difference in wanted
        )

    @cached_property
    def compared(self) -> tuple[Compared, ...]:
        """The differences that are asked for, or else the last two between arms that follow each other."""
        if self.differences:
            return tuple(self._seen(difference) for difference in self.differences)
        arms = list(dict.fromkeys(group.arm for group in self.groups))
        pairs = list(pairwise(arms))[-LAST_COMPARISONS:]
        return tuple(comparison for first, second in pairs if (comparison := self._between(first, second)) is not None)

    def _seen(self, difference: Difference) -> Compared:
        value, seeds = self.absolute(difference), difference.seeds
        name = f"{100 * difference.value:g}%" if difference.relative else f"{difference.value:g}"
        p_value = level_of.noise_p(value, 2 / seeds, self.level)
        return Compared(name, value, self.relative(value), (seeds, seeds), p_value, p_value >= ALPHA)

    def _between(self, first: str, second: str) -> Compared | None:
        """The mean difference over the tasks that both arms have; None if there are none."""
        before, after = ({group.task: group for group in self.groups if group.arm == arm} for arm in (first, second))
        tasks = [task for task in before if task in after]
        if not tasks:
            return None
        difference = float(np.mean([after[task].mean - before[task].mean for task in tasks]))
        sizes = [sum(len(groups[task].values) for task in tasks) for groups in (before, after)]
        weight = sum(1 / len(groups[task].values) for task in tasks for groups in (before, after)) / len(tasks) ** 2
        p_value = level_of.noise_p(difference, weight, self.level)
        runs = (sizes[0], sizes[1])
        return Compared(f"{second} − {first}", difference, self.relative(difference), runs, p_value, p_value >= ALPHA)

    @property
    def answer(self) -> str:
        if self.is_alike:
            where = f" at exactly {self.groups[0].values[0]:.10g}" if len(self.groups) == 1 else " alike within their arms"
            if any(deviation for _, deviation in self.curve):
                return f"All {self.runs} runs end{where}, though their curves differ: write the metric with more digits"
            return f"All {self.runs} runs end{where}: the seed is not used"
        number, interval = number_and_interval(self.level.deviation, *self.interval, level="95%")
        one = self.visible[0]
        share = "" if one.relative is None else f" ({percent(one.relative)})"
        cause = "the seed alone" if self.repeat is None or self.repeat.is_same else "the seed and from run to run"
        return (
            f"Runs differ by {number} {interval} from {cause}; one run against one shows nothing below"
            f" {number_and_interval(one.difference, one.low, one.high)[0]}{share}"
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        return (*self.problems, *self._cautions())

    def _cautions(self) -> Iterator[str]:
        if self.diverged:
            every = self.runs + self.diverged
            share = binomial(self.diverged, every)
            yield (
                f"{self.diverged} of {every} runs diverged (95% CI {share.low:.0%} to {share.high:.0%}): the standard deviation"
                " is that of the others"
            )
        if self.short:
            yield f"{counted(self.short, 'run')} stopped before the last step of the same arm's others: left out"
        if not self.is_normal and self.robust is not None:
            yield (
                f"the runs are clearly not normal (Shapiro and Wilk's p {self.normal_p:.2g}): the interval is Bonett's, which"
                f" allows for that; chi-square's is {in_prose(self.level.deviation, self.level.low, self.level.high)}, and what"
                " one run against one shows is rough"
            )
        if self.equal_spread_p is not None and self.equal_spread_p < ALPHA:
            deviations = [group.level.deviation for group in self.groups if group.level is not None and group.level.degrees > 1]
            yield (
                f"the arms differ in spread (Levene's p {self.equal_spread_p:.2g}): single standard deviations go from"
                f" {min(deviations):.2g} to {max(deviations):.2g}, and the pooled one fits none of them"
            )

    def row(self) -> NoiseResult:
        """For machines: the keys stay."""
        curve = tuple(StepResult(step=step, standard_deviation=deviation) for step, deviation in self.curve)
        repeat = self.repeat and RepeatResult(**vars(self.repeat), same=self.repeat.is_same)
        return NoiseResult(
            answer=self.answer,
            metric=self.metric,
            runs=self.runs,
            mean=self.mean,
            standard_deviation=self.level.deviation,
            interval=self.interval,
            interval_method="chi-square" if self.interval == (self.level.low, self.level.high) else "bonett",
            chi_square_interval=(self.level.low, self.level.high),
            robust_interval=self.robust,
            degrees_of_freedom=self.level.degrees,
            normal_p=self.normal_p,
            equal_spread_p=self.equal_spread_p,
            seed_is_used=not self.is_alike,
            groups=tuple(group.row() for group in self.groups),
            visible=self.visible,
            needed=self.needed,
            compared=self.compared,
            curve=curve,
            settles_at=self.settles_at,
            repeat=repeat,
            diverged=self.diverged,
            stopped_early=self.short,
            cautions=self.cautions,
        )


def percent(share: float) -> str:
    """A share in percent, with two digits, from ten on whole: 0.16%, 12%."""
    return f"{100 * share:.2g}%" if abs(share) < 0.1 else f"{share:.0%}"


def parse_difference(text: str) -> Difference:
    """0.003, 0.4% or 0.4%@3: the third as it was seen with three runs an arm. Raises UserError."""
    match = re.fullmatch(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*(?:@\s*(\d{1,9}))?\s*", text)
    if match is None or not math.isfinite(float(match[1])) or not float(match[1]) or int(match[3] or 1) < 1:
        raise UserError(f"--difference {text}: give a number or percent, and the runs an arm it was seen with, such as 0.4%@3")
    return Difference(float(match[1]) / (100 if match[2] else 1), bool(match[2]), int(match[3] or 1))


def noise_of(
    frame: pd.DataFrame,
    metric: str,
    differences: Sequence[Difference] = (),
    repeat: Repeat | None = None,
    problems: Sequence[str] = (),
) -> Noise:
    """frame: arm, task, run, step, value, a row for each run and step. Raises UserError if no two runs can be compared."""
    last = frame.groupby("run", sort=False).tail(1)
    diverged = ~np.isfinite(last["value"])
    arms = [last["arm"], last["task"]]
    early = last["step"] < last["step"].groupby(arms).transform("max")
    # Unless half of an arm stopped before its last step: then its runs have lengths of their own.
    short = early & (early.astype(float).groupby(arms).transform("mean") < 0.5) & ~diverged
    counted = last[~diverged & ~short]
    groups = tuple(_groups(counted))
    values = [group.values for group in groups]
    level = level_of.noise_level(values)
    if level is None:
        raise UserError(
            f"no two runs that share everything but the seed end in a number ({len(last)} runs, {int(diverged.sum())} of them"
            " diverged): the noise is not known; give more seeds, or say with --arm what the arms are"
        )
    tests = level_of.robust_interval(values), level_of.normal_p(values), level_of.equal_spread_p(values)
    curve, left_out = _curve(frame[frame["run"].isin(counted["run"])]), (int(diverged.sum()), int(short.sum()))
    return Noise(metric, groups, level, *tests, curve, *left_out, tuple(differences), repeat, tuple(problems))


def _groups(last: pd.DataFrame) -> Iterator[Group]:
    for (arm, task), rows in last.groupby(["arm", "task"], sort=False):
        values = rows["value"].to_numpy(dtype=float)
        yield Group(str(arm), str(task), values, level_of.noise_level([values]))


def _curve(frame: pd.DataFrame) -> tuple[tuple[float, float], ...]:
    """The pooled standard deviation at each step that all runs have."""
    known = frame[np.isfinite(frame["step"])].drop_duplicates(["run", "step"], keep="last")
    counts = known["step"][np.isfinite(known["value"])].value_counts()
    steps = counts.index[counts == frame["run"].nunique()]
    if len(steps) < LEAST_STEPS:
        return ()
    spreads = known[known["step"].isin(steps)].groupby(["step", "arm", "task"])["value"].agg(["count", "var"]).dropna()
    freedom = spreads["count"] - 1
    by_step = (freedom * spreads["var"]).groupby("step").sum() / freedom.groupby("step").sum()
    return tuple((float(step), math.sqrt(variance)) for step, variance in by_step.items())


def frame_of(outcomes: Sequence[RunOutcome]) -> pd.DataFrame:
    """The runs of one command in the form of stored runs: those that came to a value, the repeated one left out."""
    rows = [
        {"arm": "", "task": "", "run": outcome.seed, "seed": outcome.seed, "step": step, "value": value}
        for outcome in outcomes
        if outcome.value is not None and not outcome.again
        for step, value in outcome.curve
    ]
    return pd.DataFrame(rows, columns=["arm", "task", "run", "seed", "step", "value"])


def repeat_of(outcomes: Sequence[RunOutcome]) -> Repeat | None:
    """The seed that was run twice, if both came to a finite value."""
    second = next((outcome for outcome in outcomes if outcome.again), None)
    first = next((outcome for outcome in outcomes if second and outcome.seed == second.seed and not outcome.again), None)
    values = [
        outcome.value
        for outcome in (first, second)
        if outcome is not None and outcome.value is not None and math.isfinite(outcome.value)
    ]
    return Repeat(second.seed, values[0], values[1]) if second is not None and len(values) == 2 else None
