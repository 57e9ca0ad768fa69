"""Evals: two arms on the same items, or one against a number.

A row is an answer: of an arm to an item, by a seed or in a repetition if there are several. Arms are paired by item, clusters
of items (questions on one passage) count as wholes, and seeds are crossed with items (judge/statistics/crossed.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import UserError, unknown
from ..judge.outcomes import DECIDED, OPEN, TOO_NOISY, outcome, probabilities
from ..judge.statistics.crossed import (
    Labels,
    Sources,
    crossed_difference,
    crossed_level,
    difference_of_shares,
    share_above,
)
from ..judge.statistics.intervals import Numbers
from ..judge.statistics.pooling import random_effects
from ..judge.statistics.two_samples import Effect, NoBaseError, NoSpreadError
from ..words import counted
from .checks import require_one_unit
from .claims import Question, RunClaim
from .comparing import Assumptions, TaskFinding, level_of
from .firmness import MOST_NAMED, with_moved_thresholds
from .roles import RESULTS, words_of
from .run_verdict import RunVerdict, together
from .runs import Runs
from .samples import LEAST_PAIRS
from .table import PREFIX, Problem

# Fewer clusters tell little of their spread; up to this number of seeds or clusters, each is left out in turn.
LEAST_CLUSTERS, MOST_LEFT_OUT = 5, 20
# More items, or more seeds, pay if they narrow the interval by more than this.
WORTH = 0.05


@dataclass(frozen=True)
class Answers:
    """Answers of both arms to the items of a task that all their seeds answered.

    arm [I, S], other [I, T] or none, if it is a number: an item a row, a seed a column. clusters [I]: of each item. paired:
    column j of both arms is one seed. left_out: items that a seed of an arm did not answer.
    """

    task: str
    arm: Numbers
    other: Numbers | None
    clusters: Labels
    cluster_names: tuple[str, ...]
    seeds: tuple[tuple[str, ...], ...]
    paired: bool
    left_out: int = 0

    @property
    def sides(self) -> tuple[Numbers, ...]:
        return (self.arm,) if self.other is None else (self.arm, self.other)

    @property
    def are_clustered(self) -> bool:
        return len(self.cluster_names) < len(self.arm)

    @property
    def are_right_or_wrong(self) -> bool:
        return all(side.shape[1] == 1 and bool(np.isin(side, (0.0, 1.0)).all()) for side in self.sides)

    def without_cluster(self, index: int) -> "Answers":
        kept = self.clusters != index
        names = (*self.cluster_names[:index], *self.cluster_names[index + 1 :])
        clusters = self.clusters[kept] - (self.clusters[kept] > index)
        other = None if self.other is None else self.other[kept]
        return replace(self, arm=self.arm[kept], other=other, clusters=clusters, cluster_names=names)

    def without_seed(self, index: int, of_other: bool) -> "Answers":
        arm = self.arm if of_other and not self.paired else np.delete(self.arm, index, axis=1)
        other = self.other
        if other is not None and (of_other or self.paired):
            other = np.delete(other, index, axis=1)
        return replace(self, arm=arm, other=other)


def checked_items(runs: Runs) -> Runs:
    """The runs with the problems of their answers: those without a score, and repeated ones that no seed tells apart."""
    rows, problems = runs.frame, list[Problem]()
    if count := int((rows["item"] == "").sum()):
        problems.append(Problem("answers without an item", count, "left out"))
        rows = rows[rows["item"] != ""].reset_index(drop=True)
        runs = replace(runs, frame=rows)
    if len(missing := rows[~np.isfinite(rows["value"].astype(float))]):
        names = tuple(missing["item"].astype(str).unique()[:3])
        problems.append(Problem("answers without a score", len(missing), "their items are left out in both arms", names))
    keys = ["arm", "task", "seed", "item", *(["cluster"] if "cluster" in rows else [])]
    if again := int(rows.duplicated(keys).sum()):
        problems.append(
            Problem(
                "answers of one arm and seed to the same item",
                again,
                "their mean counts; is a column of seeds, or of items, missing?",
            )
        )
    return runs.with_problems(*problems)


def judge_items(runs: Runs, claim: RunClaim, how: Assumptions, with_readings: bool = True) -> RunVerdict:
    """Two arms, or one and a number. Raises UserError for other claims, and for arms that share no items."""
    if claim.law or claim.factor or claim.step is not None or claim.target is not None:
        raise UserError(
            f"claim '{claim.text}': of items only final scores are compared, as in 'accuracy: b > a'; leave out the rest"
        )
    if how.deviation is not None or how.step_worth is not None:
        raise UserError("--sd and --step-worth are about runs; leave them out, or --item")
    finite = np.isfinite(runs.frame["value"].astype(float))
    require_one_unit(runs.frame.assign(diverged=~finite), claim, how.also)
    all_answers = list(answers_of(runs.frame, claim, how.paired))
    if not all_answers:
        others = " and ".join(f"--{role} {runs.roles[role]}" for role in ("seed", "cluster") if role in runs.roles)
        check = f", and whether {others} is the same for both" * bool(others)
        raise UserError(
            f"claim '{claim.text}': no task has items that both arms answered; say with --item what identifies one{check}"
        )
    question = _question(claim, all_answers)
    judged, sources = _judged(claim, question, all_answers, runs)
    reasons = tuple(_why_fragile(claim, question, judged, all_answers, runs, how)) if with_readings else ()
    return replace(judged, fragile=(*judged.fragile, *reasons), notes=(*judged.notes, *_notes(runs, all_answers, sources)))


def answers_of(rows: pd.DataFrame, claim: RunClaim, paired: bool | None) -> Iterator[Answers]:
    """The claim's arms on each task whose items both answered."""
    for arm in claim.arms:
        if not (rows["arm"] == arm).any():
            raise unknown("arm", arm, rows["arm"].unique())
    rows = rows[rows["arm"].isin(claim.arms)]
    # Items may be numbered within their passage.
    places = rows["cluster"].astype(str) if "cluster" in rows else pd.Series("", index=rows.index)
    rows = rows.assign(place=places, key=places + "\0" + rows["item"].astype(str), seed=rows["seed"].fillna(""))
    for task, part in rows.groupby("task", sort=False):
        tables = [_table(part[part["arm"] == arm]) for arm in claim.arms]
        shared = [table.dropna().index for table in tables]
        items = shared[0].intersection(shared[-1], sort=False)
        if len(items):
            yield _answers(str(task), [table.loc[items] for table in tables], part, tables, paired, "cluster" in rows)


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """An item a row, a seed a column; nan where there is no answer, or none with a score."""
    finite = rows.assign(value=rows["value"].astype(float).where(np.isfinite(rows["value"].astype(float))))
    return finite.groupby(["key", "seed"], sort=False)["value"].mean().unstack("seed")


def _answers(
    task: str,
    tables: Sequence[pd.DataFrame],
    rows: pd.DataFrame,
    whole: Sequence[pd.DataFrame],
    paired: bool | None,
    has_clusters: bool,
) -> Answers:
    shared = [seed for seed in tables[0].columns if seed and seed in tables[-1].columns]
    are_same = len(tables) == 2 and len(shared) == tables[0].shape[1] == tables[1].shape[1]
    if paired and not are_same:
        raise UserError("--paired: the seeds of the arms are not the same; leave it out, they are paired by item all the same")
    in_pairs = are_same and paired is not False and (bool(paired) or len(shared) >= LEAST_PAIRS)
    if in_pairs:
        tables = [table[shared] for table in tables]
    items = tables[0].index
    of_items = rows.drop_duplicates("key").set_index("key")["place"].loc[items] if has_clusters else pd.Series(items, items)
    clusters, names = pd.factorize(of_items)
    every = whole[0].index.union(whole[-1].index)
    values = [table.to_numpy(float) for table in tables]
    seeds = tuple(tuple(map(str, table.columns)) for table in tables)
    other = values[1] if len(values) == 2 else None
    return Answers(task, values[0], other, clusters, tuple(map(str, names)), seeds, in_pairs, len(every) - len(items))


def _question(claim: RunClaim, all_answers: Sequence[Answers]) -> Question:
    """The claim's question; percentage points are hundredths if scores are shares."""
    if claim.points and all(float(np.abs(side).max()) <= 1 for answers in all_answers for side in answers.sides):
        assert claim.size is not None
        return replace(claim, size=claim.size / 100).question
    return claim.question


def compared_items(claim: RunClaim, question: Question, answers: Answers, alone: bool) -> tuple[TaskFinding, Sources | None]:
    """alone: whether it is the only task; then a mean too near zero is an error, else the task has no percentage."""
    means = [side.mean(axis=1) for side in answers.sides]
    facts: dict[str, Any] = {
        "name": answers.task,
        "panel": answers.task,
        "runs": (len(means[0]), len(means[0]) if answers.other is not None else 0),
        "seeds": len(answers.cluster_names),
    }
    try:
        effect, sources, method = _effect(claim, answers, level_of(question))
    except NoSpreadError as error:
        method = str(error)
    except NoBaseError as error:
        if alone:
            raise UserError(str(error)) from None
        method = f"no percentage: {error}"
    else:
        return TaskFinding.of(question, effect, effect=effect, method=method, **facts), sources
    base = claim.other if isinstance(claim.other, float) else float(means[1].mean())
    difference = float(means[0].mean()) - base
    estimate = difference / abs(base) if claim.relative and base else difference
    return TaskFinding(verdict=OPEN, reading=TOO_NOISY, estimate=estimate, method=method, **facts), None


def _effect(claim: RunClaim, answers: Answers, level: float) -> tuple[Effect, Sources | None, str]:
    arm, other, clusters = answers.arm, answers.other, answers.clusters
    are_shares = answers.are_right_or_wrong and not answers.are_clustered and not claim.relative and len(arm) > 1
    if other is None:
        assert isinstance(claim.other, float)
        if are_shares and 0 <= claim.other <= 1:
            return share_above(arm[:, 0], claim.other, level), None, "share of the items (Clopper and Pearson)"
        unit = abs(claim.other) if claim.relative else 1.0
        if unit == 0:
            raise NoBaseError("0 is no base for percentages; claim an absolute difference")
        effect, sources = crossed_level(arm, claim.other, clusters, unit, level)
        return effect, sources, "mean over the items" + _of_clusters(answers)
    if are_shares:
        return difference_of_shares(arm[:, 0], other[:, 0], level), None, "paired by item (Bonett and Price)"
    effect, sources = crossed_difference(arm, other, clusters, claim.relative, answers.paired, level)
    return effect, sources, "paired by item" + _of_clusters(answers)


def _of_clusters(answers: Answers) -> str:
    clustered = f", {len(answers.cluster_names)} clusters" if answers.are_clustered else ""
    return clustered + (", crossed with seeds" if max(side.shape[1] for side in answers.sides) > 1 else "")


def _judged(
    claim: RunClaim, question: Question, all_answers: Sequence[Answers], runs: Runs | None = None
) -> tuple[RunVerdict, list[Sources | None]]:
    compared = [compared_items(claim, question, answers, len(all_answers) == 1) for answers in all_answers]
    judged = together(claim, [finding for finding, _ in compared], (), question)
    sources = [source for _, source in compared]
    if any(source is not None and source.seeds for source in sources):  # more items alone leave the seeds' part
        return replace(judged, settling=""), sources
    sampled = "item" if runs is None or "cluster" not in runs.roles else "cluster"
    return replace(judged, settling=judged.settling.replace(" run", f" {sampled}")), sources


def _notes(runs: Runs, all_answers: Sequence[Answers], sources: Sequence[Sources | None]) -> Iterator[str]:
    """Notes on what the interval rests on, and on what would narrow it."""
    items, clusters = (
        sum(len(answers.arm) for answers in all_answers),
        sum(len(answers.cluster_names) for answers in all_answers),
    )
    name = runs.roles["item"]
    of_clusters = f" in {clusters} clusters of {runs.roles['cluster']}" if "cluster" in runs.roles else ""
    yield f"{'paired by' if all_answers[0].other is not None else 'over'} {name}: {items} items{of_clusters}"
    if left_out := sum(answers.left_out for answers in all_answers):
        yield f"{counted(left_out, 'item')} left out that a seed of an arm did not answer"
    if all(side.shape[1] == 1 for answers in all_answers for side in answers.sides):
        yield "one seed an arm: the interval is for other items, not for other training runs"
    elif any(side.shape[1] == 1 for answers in all_answers for side in answers.sides):
        yield "an arm has one seed: how far its other seeds would lie apart is not in the interval"
    known = [source for source in sources if source is not None and source.seeds]
    if known:
        yield _worth(known)


def _worth(sources: Sequence[Sources]) -> str:
    """A sentence on how far twice the items and twice the seeds would narrow the interval."""
    whole = sum(source.total for source in sources)
    narrowed = [
        (sum(source.with_more(**{of: 2}) for source in sources) / whole) ** 0.5 if whole else 1.0 for of in ("items", "seeds")
    ]
    sentence = f"twice the items would narrow the interval to {narrowed[0]:.0%}, twice the seeds to {narrowed[1]:.0%}"
    if abs(narrowed[0] - narrowed[1]) < WORTH:
        return sentence
    return f"{sentence}: spend on {'items' if narrowed[0] < narrowed[1] else 'seeds'}"


def _why_fragile(
    claim: RunClaim, question: Question, judged: RunVerdict, all_answers: Sequence[Answers], runs: Runs, how: Assumptions
) -> Iterator[str]:
    """Other reasonable readings of the same answers that give another verdict."""
    if judged.verdict not in DECIDED:
        return
    if (fewest := min(len(answers.cluster_names) for answers in all_answers)) < LEAST_CLUSTERS:
        yield f"only {counted(fewest, 'cluster' if 'cluster' in runs.roles else 'item')}"
    readings = [*_other_readings(claim, question, judged, all_answers), *_other_tables(claim, question, runs, how)]
    others = [f"{verdict} {choice}" for choice, verdict in readings if verdict != judged.verdict]
    yield from others[:MOST_NAMED]
    if len(others) > MOST_NAMED:
        yield f"and {len(others) - MOST_NAMED} more"
    yield from with_moved_thresholds(claim, judged, question)


def _other_readings(
    claim: RunClaim, question: Question, judged: RunVerdict, all_answers: Sequence[Answers]
) -> Iterator[tuple[str, str]]:
    effects = [finding.effect for finding in judged.findings if finding.effect]
    if len(effects) > 2 and claim.quantifier == "average":
        over = random_effects(effects, level_of(question))
        yield "for tasks of which these are a sample", outcome(question, over, probabilities(question, over))[0]
    for place, answers in enumerate(all_answers):
        where = f" on {answers.task}" * bool(answers.task and len(all_answers) > 1)
        for choice, fewer in (*_with_fewer_clusters(answers), *_with_fewer_seeds(answers)):
            finding, _ = compared_items(claim, question, fewer, len(all_answers) == 1)
            others = [*judged.findings[:place], finding, *judged.findings[place + 1 :]]
            yield f"without {choice}{where}", together(claim, others, (), question).verdict


def _with_fewer_clusters(answers: Answers) -> Iterator[tuple[str, Answers]]:
    if answers.are_clustered and 2 < len(answers.cluster_names) <= MOST_LEFT_OUT:
        for index, name in enumerate(answers.cluster_names):
            yield f"cluster {name}", answers.without_cluster(index)


def _with_fewer_seeds(answers: Answers) -> Iterator[tuple[str, Answers]]:
    for of_other, side in enumerate(answers.sides[:1] if answers.paired else answers.sides):
        for index in range(side.shape[1]) if 2 < side.shape[1] <= MOST_LEFT_OUT else ():
            yield f"seed {answers.seeds[of_other][index]}", answers.without_seed(index, bool(of_other))


def _other_tables(claim: RunClaim, question: Question, runs: Runs, how: Assumptions) -> Iterator[tuple[str, str]]:
    """Verdicts with missing answers as the worst, and with clusters that the table holds and nobody named."""
    rows = runs.frame[runs.frame["arm"].isin(claim.arms)]
    better = runs.better or ("higher" if claim.comparison.startswith(">") else "lower")
    whole = _with_missing_as_worst(rows, better)
    if whole is not None:
        yield "with missing answers as the worst", _verdict(whole, claim, question, how)
    for name in _unnamed_clusters(rows) if "cluster" not in rows else ():
        clustered = rows.assign(cluster=rows[name].astype(str))
        yield f"with --cluster {name.removeprefix(PREFIX)}", _verdict(clustered, claim, question, how)


def _with_missing_as_worst(rows: pd.DataFrame, better: str) -> pd.DataFrame | None:
    """With the worst score of the task where an arm's seed has none for an item that any arm answered; None: all are there."""
    keys = [name for name in ("cluster", "item") if name in rows]
    own = ["task", "arm", "seed"]
    asked = rows[["task", *keys]].drop_duplicates()
    seeds = rows[own].fillna("").drop_duplicates()
    whole = seeds.merge(asked, on="task").merge(rows.fillna({"seed": ""}), how="left", on=[*own, *keys])
    values = whole["value"].astype(float)
    finite = np.isfinite(values)
    if finite.all():
        return None
    worst = values.where(finite).groupby(whole["task"]).transform("min" if better == "higher" else "max")
    return whole.assign(value=values.where(finite, worst))


def _verdict(rows: pd.DataFrame, claim: RunClaim, question: Question, how: Assumptions) -> str:
    return _judged(claim, question, list(answers_of(rows, claim, how.paired)))[0].verdict


def _unnamed_clusters(rows: pd.DataFrame) -> Iterator[str]:
    """Columns that hold one value for each item, and the same for several: what items may have in common."""
    items = rows.groupby(["task", "item"], sort=False)
    count = items.ngroups
    for name in (str(column) for column in rows if str(column).startswith(PREFIX)):
        levels = rows[name].nunique()
        may_be = LEAST_CLUSTERS <= levels <= count / 2 and not words_of(name.removeprefix(PREFIX)) & RESULTS
        if may_be and items[name].nunique(dropna=False).max() == 1:
            yield name
