"""Many arms at once: their order, and which of them no difference tells apart.

Every two arms are compared as a claim about them would be, blocks and pairs included, and corrected for all comparisons (Holm
1979). An arm's rank is a range: from one more than the arms that are surely better to all arms less those that are surely
worse. Over several tasks scores are brought to one unit first: 0 is a task's worst run and 1 its best, so that no task decides
by the size of its numbers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from ..declare.level import ALPHA
from ..errors import UserError
from ..judge.statistics.pooling import average
from ..judge.statistics.two_samples import NoSpreadError, against
from ..results import ForScripts, Result
from .claims import RunClaim, read_claim
from .comparing import Assumptions
from .items import answers_of, compared_items
from .judge_runs import CONFOUNDED, JudgeOptions, judge_claim, read_runs
from .run_verdict import RunVerdict
from .runs import Runs
from .samples import read_values
from .table import Problem

# More arms have too many pairs for a correction to leave any.
MOST_ARMS = 60
MeanOf = Callable[[pd.DataFrame], tuple[float, float | None, float | None]]


class PlacedResult(Result):
    arm: str
    best_rank: int
    worst_rank: int
    """no difference that is surely there puts it higher or lower"""
    mean: float
    """of several tasks: of scores from 0, a task's worst run, to 1, its best"""
    low: float | None
    high: float | None
    runs: int
    mean_rank: float | None
    """over tasks"""
    improvement: float | None
    """how often its runs are better than those of another arm on the same task"""
    tied: list[str]
    """arms that are neither surely better nor surely worse"""

    @property
    def ranks(self) -> str:
        return str(self.best_rank) if self.best_rank == self.worst_rank else f"{self.best_rank}–{self.worst_rank}"


class RankingResult(Result):
    metric: str
    better: str
    tasks: list[str]
    comparisons: ForScripts[int]
    arms: list[PlacedResult]
    problems: list[Problem]


@dataclass(frozen=True)
class Ranking:
    """runs: those that are ranked; arms: the best first."""

    runs: Runs
    arms: tuple[PlacedResult, ...]
    comparisons: int

    @property
    def is_of_tasks(self) -> bool:
        return len(self.runs.tasks) > 1

    def row(self) -> RankingResult:
        """The result that `folklore judge --rank --json` prints."""
        return RankingResult(
            metric=self.runs.metric,
            better=str(self.runs.better),
            tasks=[task for task in self.runs.tasks if task],
            comparisons=self.comparisons,
            arms=list(self.arms),
            problems=list(self.runs.problems),
        )


def rank_sources(sources: Sequence[str], options: JudgeOptions) -> Ranking:
    """Reads, checks and ranks all arms. Raises UserError as judging does."""
    return rank(read_runs(sources, options.reading, [], ()), options.how)


def rank(runs: Runs, how: Assumptions) -> Ranking:
    """Raises UserError without a direction, and for fewer than two arms or too many."""
    if runs.better is None:
        raise UserError(f"is a lower or a higher {runs.metric} better? Say --minimize or --maximize")
    if not 2 <= len(runs.arms) <= MOST_ARMS:
        raise UserError(
            f"--rank orders from 2 to {MOST_ARMS} arms, and there are {len(runs.arms)}: choose some with --where, or say with"
            " --arm which column holds them"
        )
    is_lower = runs.better == "lower"
    claims = [_better(runs.metric, arm, other, is_lower) for arm, other in combinations(runs.arms, 2)]
    values = runs.frame[np.isfinite(runs.frame["value"])] if runs.of_items else read_values(runs, claims[0])
    if len(runs.tasks) > 1:  # scores, of which a higher one is better
        values, is_lower = _in_one_unit(values, is_lower), False
        claims = [_better(runs.metric, claim.arm, str(claim.other), is_lower) for claim in claims]
    scored = replace(runs, frame=values) if runs.of_items else runs
    arms = [arm for arm in runs.arms if (values["arm"] == arm).any()]
    judged, problems = _judged_pairs(scored, claims, how, values)
    surely_better = _surely_better(judged, len(claims), is_lower)
    mean = _mean_of_items if runs.of_items else _mean
    placed = [_placed(arm, arms, values, surely_better, is_lower, mean) for arm in arms]
    ordered = sorted(placed, key=lambda arm: arm.mean if is_lower else -arm.mean)
    return Ranking(runs.with_problems(*problems), tuple(ordered), len(claims))


def _judged_pairs(
    runs: Runs, claims: Sequence[RunClaim], how: Assumptions, values: pd.DataFrame
) -> tuple[list[RunVerdict], tuple[Problem, ...]]:
    """Verdicts on the pairs that can be compared, and a problem for the others, such as arms that share no task. Raises
    UserError if no pair can be."""
    judged, reasons = [], list[UserError]()
    for claim in claims:
        try:
            judged.append(judge_claim(runs, claim, how, values, with_readings=False))
        except UserError as error:
            reasons.append(error)
    if not judged:
        raise reasons[0]
    names = tuple(map(str, reasons[:1]))
    return judged, (Problem("pairs of arms that cannot be compared", len(reasons), "they are tied", names),) if reasons else ()


def _better(metric: str, arm: str, other: str, is_lower: bool) -> RunClaim:
    sign = "<" if is_lower else ">"
    return replace(read_claim(f"x: b {sign} a"), metric=metric, arm=arm, other=other, text=f"{metric}: {arm} {sign} {other}")


def _in_one_unit(values: pd.DataFrame, is_lower: bool) -> pd.DataFrame:
    """Scores from 0, a task's worst run, to 1, its best. Tasks whose runs do not differ are left out.

    Raises UserError if none is left."""
    goodness = (-1.0 if is_lower else 1.0) * values["value"].astype(float)
    of_tasks = goodness.groupby(values["task"])
    worst, best = of_tasks.transform("min"), of_tasks.transform("max")
    scores = values.assign(value=(goodness - worst) / (best - worst).where(best > worst))
    scores = scores[best > worst].reset_index(drop=True)
    if scores.empty:
        raise UserError("--rank: on every task all runs end alike, so there is no order; is the metric the one you meant?")
    return scores


def _surely_better(judged: Sequence[RunVerdict], count: int, is_lower: bool) -> set[tuple[str, str]]:
    """Pairs of an arm and one that it is surely better than, by Holm's correction for `count` pairs. The average over the tasks
    counts, also of tasks that disagree."""
    comparable = [verdict for verdict in judged if verdict.reading != CONFOUNDED]
    order = sorted((_p_and_pair(verdict, is_lower) for verdict in comparable), key=lambda comparison: comparison[0])
    better: set[tuple[str, str]] = set()
    for place, (p, pair) in enumerate(order):
        if p > ALPHA / (count - place):
            break
        better.add(pair)
    return better


def _p_and_pair(judged: RunVerdict, is_lower: bool) -> tuple[float, tuple[str, str]]:
    """The p value of no difference, and the two arms, the one that seems better first."""
    arm, other = judged.claim.arms
    effects = [finding.effect for finding in judged.findings if finding.effect is not None]
    if not effects:
        return 1.0, (arm, other)
    effect = effects[0] if len(effects) == 1 else average(effects)
    below, above = effect.p_inside(-math.inf, 0.0), effect.p_inside(0.0, math.inf)
    return min(below, above), (arm, other) if (below < above) == is_lower else (other, arm)


def _placed(
    arm: str, arms: Sequence[str], values: pd.DataFrame, surely_better: set[tuple[str, str]], is_lower: bool, mean_of: MeanOf
) -> PlacedResult:
    above = [other for other in arms if (other, arm) in surely_better]
    below = [other for other in arms if (arm, other) in surely_better]
    rows = values[values["arm"] == arm]
    mean, low, high = mean_of(rows)
    by_task = values["value"].groupby([values["task"], values["arm"]]).mean().unstack("arm")
    ranks = by_task.rank(axis=1, ascending=is_lower)[arm]
    return PlacedResult(
        arm=arm,
        best_rank=1 + len(above),
        worst_rank=len(arms) - len(below),
        mean=mean,
        low=low,
        high=high,
        runs=len(rows),
        mean_rank=float(ranks.mean()) if len(ranks) > 1 else None,
        improvement=_improvement(rows, values[values["arm"] != arm], is_lower),
        tied=[other for other in arms if other not in (arm, *above, *below)],
    )


def _mean(rows: pd.DataFrame) -> tuple[float, float | None, float | None]:
    """Over the tasks, each counting the same, with its 95% interval over the runs."""
    groups = [part.to_numpy(float) for _, part in rows.groupby("task", sort=False)["value"]]
    mean = float(np.mean([values.mean() for values in groups]))
    try:
        effects = [against(values, 0.0) for values in groups]
    except NoSpreadError:
        return mean, None, None
    effect = effects[0] if len(effects) == 1 else average(effects)
    return mean, effect.low, effect.high


def _mean_of_items(rows: pd.DataFrame) -> tuple[float, float | None, float | None]:
    """The same over items, in their clusters and crossed with seeds."""
    arm = str(rows["arm"].iloc[0])
    claim = replace(read_claim("x: a > 0"), arm=arm)
    findings = [compared_items(claim, claim.question, answers, False)[0] for answers in answers_of(rows, claim, None)]
    mean = float(np.mean([finding.estimate for finding in findings]))
    effects = [finding.effect for finding in findings if finding.effect is not None]
    if len(effects) < len(findings):
        return mean, None, None
    effect = effects[0] if len(effects) == 1 else average(effects)
    if rows["value"].isin((0.0, 1.0)).all():  # a share
        return mean, max(0.0, effect.low), min(1.0, effect.high)
    return mean, effect.low, effect.high


def _improvement(rows: pd.DataFrame, others: pd.DataFrame, is_lower: bool) -> float | None:
    """The share of pairs of a run and one of another arm on the same task in which it is better; ties count half. Tasks and
    arms count the same (Agarwal et al. 2021)."""
    sign = -1.0 if is_lower else 1.0
    shares = []
    for task, part in rows.groupby("task", sort=False):
        own = sign * part["value"].to_numpy(float)
        for _, other in others[others["task"] == task].groupby("arm"):
            sorted_values = np.sort(sign * other["value"].to_numpy(float))
            below, not_above = (np.searchsorted(sorted_values, own, side) for side in ("left", "right"))
            shares.append(float(np.mean(below + not_above)) / 2 / len(sorted_values))
    return float(np.mean(shares)) if shares else None
