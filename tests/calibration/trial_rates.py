"""How often intervals cover the truth and verdicts are false, by drawing worlds and running observe and judge on each."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

from folklore.harness.declare import AtLeast, AtMost, Criterion, Judgement, Observed, Rule, Study
from folklore.harness.declare.metrics.estimating.evaluation import evaluate
from folklore.harness.declare.observed import ShareOfRuns
from folklore.harness.judge.judge import judge
from folklore.harness.judge.outcomes import PARTLY, REFUTED, SUPPORTED
from folklore.harness.randomness import numpy_generator
from folklore.harness.train.machine.description import available_cores

from .conditions import Condition
from .planted_table import SCALE, PlantedTable
from .trial_cases import BY_NAME, CASES, Case

EFFECTS = ("absent", "threshold", "beyond")
SEEDS = (5, 10, 20)
# Seeds of the one large world whose estimate is taken for the truth: its error is 5% of a standard error at 10 seeds.
TRUTH_SEEDS = 4000
# How far beside the truth a threshold lies, so that the truth is just outside the region.
NEAR = 1e-9
NO_TRIALS = pd.DataFrame()


@dataclass(frozen=True)
class Task:
    """Worlds of one kind and condition, for some numbers of seeds."""

    case: str
    condition: str
    seeds: tuple[int, ...]
    worlds: int
    seed: int


@dataclass
class Tally:
    """Counts over worlds: how many had an interval and for how many it held the truth, and how often a claim of the study was
    called supported, partly true or refuted."""

    worlds: int = 0
    decided: int = 0
    covered: int = 0
    supported: int = 0
    partly: int = 0
    refuted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def calibrate(
    worlds: int,
    seed: int = 0,
    only: Sequence[str] = (),
    seeds: Sequence[int] = SEEDS,
    conditions: Sequence[str] = (),
    processes: int | None = None,
    progress: Callable[[int, int], None] = lambda done, planned: None,
) -> list[dict[str, Any]]:
    """A row for every kind of observation, condition and number of seeds, from this many worlds for each planted effect.

    coverage: share of the intervals that hold the truth. false_supported, false_refuted: of verdicts where the truth lies just
    short of the region; false_partly: of verdicts where there is no effect. power: share supported where the effect is beyond
    the region; direction: share that is partly true or supported where it lies on its edge. Deterministic for a seed, whatever
    the number of processes.
    """
    tasks = [
        Task(case.name, condition.name, tuple(seeds), max(1, round(worlds * case.share)), seed)
        for case in CASES
        if not only or case.name in only
        for condition in case.conditions
        if not conditions or condition.name in conditions
    ]
    rows_by_task: dict[Task, list[dict[str, Any]]] = {}
    if processes == 1:
        for task in tasks:
            rows_by_task[task] = run(task)
            progress(len(rows_by_task), len(tasks))
    else:
        with ProcessPoolExecutor(processes or available_cores(), mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(run, task): task for task in tasks}
            for future in as_completed(waiting):
                rows_by_task[waiting[future]] = future.result()
                progress(len(rows_by_task), len(tasks))
    return [row for task in tasks for row in rows_by_task[task]]


def run(task: Task) -> list[dict[str, Any]]:
    """Draw the worlds of a task, judge each, count; a row for each number of seeds."""
    case = BY_NAME[task.case]
    condition = next(candidate for candidate in case.conditions if candidate.name == task.condition)
    true = {effect: truths(case, condition, size) for effect, size in zip(EFFECTS, case.effects, strict=True)}
    claims = tuple(_judgements(case, true))
    a_share = isinstance(case.observables[0], ShareOfRuns)
    impossible = [effect for effect in EFFECTS if a_share and true[effect][0] in (0.0, 1.0)]
    return [
        _row(
            task,
            seeds,
            {effect: _tally(task, case, condition, seeds, effect, claims, true[effect]) for effect in EFFECTS},
            impossible,
        )
        for seeds in task.seeds
    ]


def _tally(
    task: Task,
    case: Case,
    condition: Condition,
    seeds: int,
    effect: str,
    claims: tuple[Judgement, ...],
    true: Sequence[float],
) -> Tally:
    planned = case.declared(seeds, condition).model_copy(update={"judgements": claims})
    planted = case.effects[EFFECTS.index(effect)]
    tally = Tally()
    for world in range(task.worlds):
        generator = numpy_generator(task.seed, f"{case.name} {condition.name} {seeds} {effect}", world)
        table = PlantedTable(planned, case.draw(planned, planted, condition, generator))
        _count(tally, table, planned, true)
    return tally


def truths(case: Case, condition: Condition, effect: float) -> list[float]:
    """The values of the observables with very many seeds."""
    declared = case.declared(TRUTH_SEEDS, condition)
    generator = numpy_generator(0, f"truth of {case.name} {condition.name} {effect}", 0)
    table = PlantedTable(declared, case.draw(declared, effect, condition, generator))
    return [_limit(observable, table) for observable in case.observables]


def _limit(observable: Observed, table: PlantedTable) -> float:
    if isinstance(observable, ShareOfRuns):
        successes, runs = observable.counts(table)
        return successes / runs
    return float(evaluate(observable, table, np.ones((1, table.seeds)))[0])


def _judgements(case: Case, true: dict[str, list[float]]) -> Iterator[Judgement]:
    """Claims whose regions begin just beyond the truth of the world with the threshold's effect, and of that without one."""
    for index, observable in enumerate(case.observables):
        absent, threshold, beyond = (true[effect][index] for effect in EFFECTS)
        supported, refuted = (case.regions or _regions)(absent, threshold, beyond)
        # Regions of its own say for themselves where there is no effect.
        null = None if case.regions else _null(observable, absent)
        criterion = Criterion(name="planted", observe=observable, null=null, claimed=supported, refuted=refuted)
        yield Judgement(claim=f"planted.{index}", criteria=(criterion,))


def _regions(absent: float, threshold: float, beyond: float) -> tuple[Rule, Rule]:
    if beyond > absent:
        return AtLeast(value=threshold + _near(threshold)), AtMost(value=absent - _near(absent))
    return AtMost(value=threshold - _near(threshold)), AtLeast(value=absent + _near(absent))


def _null(observable: Observed, absent: float) -> float | None:
    """The observed value without an effect; None if there is nothing on the other side of it."""
    impossible = isinstance(observable, ShareOfRuns) and absent in (0.0, 1.0)
    return None if impossible or (observable.log_axis and absent <= 0) else absent


def _near(value: float) -> float:
    return NEAR * max(1.0, abs(value))


def _count(tally: Tally, table: PlantedTable, planned: Study, true: Sequence[float]) -> None:
    verdicts = judge(planned, SCALE, "cpu", NO_TRIALS, table=table)
    tally.worlds += 1
    for verdict, value in zip(verdicts, true, strict=True):
        if verdict.low is None or verdict.high is None:
            tally.reasons[verdict.verdict] += 1
            continue
        tally.decided += 1
        tally.covered += verdict.low <= value + _near(value) and value - _near(value) <= verdict.high
    # With several claims in a study one false verdict among them is a false one.
    tally.supported += any(verdict.verdict == SUPPORTED for verdict in verdicts)
    tally.partly += any(verdict.verdict == PARTLY for verdict in verdicts)
    tally.refuted += any(verdict.verdict == REFUTED for verdict in verdicts)


def _row(task: Task, seeds: int, tally_by_effect: Mapping[str, Tally], impossible: Collection[str]) -> dict[str, Any]:
    """The row of one kind, condition and number of seeds, over the planted effects. impossible: effects beside whose truth
    there is no value, as below a share of zero, so that no verdict there can be false."""
    tallies = list(tally_by_effect.values())
    worlds, decided = sum(tally.worlds for tally in tallies), sum(tally.decided for tally in tallies)
    case = BY_NAME[task.case]
    # Where each false verdict is looked for: just outside the region; where there is but a side, in worlds of the other one.
    own = case.regions is not None
    against = "absent" if own else "threshold"
    for_it = ("threshold" if case.has_truth else "beyond") if own else "absent"
    edge = tally_by_effect["threshold"]
    row: dict[str, Any] = {
        "observable": task.case,
        "world": f"{task.condition}, {seeds} seeds",
        "condition": task.condition,
        "seeds": seeds,
        "worlds": worlds,
        "undecided": round(1 - decided / worlds / len(case.observables), 4),
        "coverage": None if not case.has_truth else _share(sum(tally.covered for tally in tallies), decided),
        "false_supported": None
        if against in impossible
        else _share(tally_by_effect[against].supported, tally_by_effect[against].worlds),
        "false_refuted": None
        if for_it in impossible
        else _share(tally_by_effect[for_it].refuted, tally_by_effect[for_it].worlds),
        "false_partly": None
        if own or "absent" in impossible
        else _share(tally_by_effect["absent"].partly, tally_by_effect["absent"].worlds),
        "direction": None if own else _share(edge.partly + edge.supported, edge.worlds),
        "power": _share(tally_by_effect["beyond"].supported, tally_by_effect["beyond"].worlds),
    }
    return row


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
