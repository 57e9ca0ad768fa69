"""How often the judge of other people's runs is wrong: simulated runs with known truth, judged as any others, and counted."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none

from folklore.harness.elsewhere.claims import RunClaim, read_claim
from folklore.harness.elsewhere.comparing import Assumptions, level_of
from folklore.harness.elsewhere.gate import BASELINE, CANDIDATE, DAMAGE, DRIFT, FINE, TOO_GOOD, Gate, baseline_text, gate
from folklore.harness.elsewhere.judge_runs import JudgeOptions, corrected, judge_claim, judge_given
from folklore.harness.elsewhere.run_verdict import RunVerdict
from folklore.harness.elsewhere.samples import against_number
from folklore.harness.errors import UserError
from folklore.harness.judge.outcomes import REFUTED, SUPPORTED
from folklore.harness.judge.statistics.intervals import Numbers
from folklore.harness.judge.statistics.noise import noise_level, robust_interval, visible_difference
from folklore.harness.judge.statistics.power import POWER
from folklore.harness.judge.statistics.two_samples import difference
from folklore.harness.randomness import numpy_generator

from .run_cases import CASES, Case
from .run_worlds import SHAPES, Arms, Draw, Effects, Generator

Row = dict[str, Any]
# Worlds and seed -> rows.
Task = Callable[[int, int], list[Row]]
# Shares of the worlds that measure power, which needs fewer digits than a rate of 2.5%, and that go through a gate's files.
OF_POWER, OF_GATE = 0.25, 0.25


def rows(
    worlds: int,
    seed: int = 0,
    only: Sequence[str] = (),
    processes: int = 1,
    progress: Callable[[int, int], None] = lambda done, planned: None,
) -> list[Row]:
    """A row for each test and condition, from this many worlds for each planted effect.

    false_supported, false_refuted: shares of verdicts that are false, where the truth lies at the edge of the region; most: the
    share that may be. firm_false: the larger of the shares that are false and called firm. coverage: of intervals of this
    level. power: share supported where the claim is surely true. told: a rate that the judge itself states, to be compared with
    the one it is of. refused: share that is not judged. Deterministic for a seed, whatever the number of processes.
    """
    tasks: list[Task] = [partial(_row_of_case, index) for index, case in enumerate(CASES) if not only or case.test in only]
    tasks += [task for name, several in OTHERS.items() if not only or name in only for task in several]
    test_rows: list[Row] = []
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) if processes > 1 else nullcontext() as pool:
        done = (pool.map if pool else map)(_call, tasks, repeat(worlds), repeat(seed))
        for count, several in enumerate(done, start=1):
            test_rows += several
            progress(count, len(tasks))
    return test_rows


def tests() -> tuple[str, ...]:
    """Names of all tests."""
    return tuple(dict.fromkeys((*(case.test for case in CASES), *OTHERS)))


def _call(task: Task, worlds: int, seed: int) -> list[Row]:
    return task(worlds, seed)


def _row_of_case(index: int, worlds: int, seed: int) -> list[Row]:
    case = CASES[index]
    claim = read_claim(case.claim)
    one_sided = not claim.law and claim.question.one_sided
    count = max(1, round(case.share * worlds))
    short = tally(case, claim, case.short, count, seed)
    meeting = short if case.meeting == case.short else tally(case, claim, case.meeting, count, seed)
    beyond = tally(case, claim, case.beyond, max(1, round(OF_POWER * count)), seed)

    def share(counts: Counter[str], name: str) -> float:
        return round(counts[name] / max(1, counts["judged"]), 4)

    row = {
        **_begun(case.test, case.condition, count),
        "most": 0.05 if one_sided else 0.025,
        "false_supported": share(short, SUPPORTED),
        "false_refuted": share(meeting, REFUTED),
        "firm_false": max(share(short, f"firm {SUPPORTED}"), share(meeting, f"firm {REFUTED}")),
        "level": level_of(claim.question),
        "coverage": _share(short["covered"], short["intervals"]),
        "power": share(beyond, SUPPORTED),
        "refused": _share(short["refused"], count),
    }
    return [row]


def tally(case: Case, claim: RunClaim, effects: Effects, worlds: int, seed: int) -> Counter[str]:
    """Over worlds of one planted effect: each verdict, and how often it is firm; worlds that are refused with a line that says
    why, or judged; intervals, and those that are covered: hold the truth."""
    counts: Counter[str] = Counter()
    for world in range(worlds):
        generator = numpy_generator(seed, f"{case.test} {case.condition} {effects}", world)
        try:
            judged = corrected([judged_of(case.draw, claim, generator, effects)])[0]
        except UserError:
            counts["refused"] += 1
            continue
        covered = case.covered(judged, effects)
        counts.update(["judged", judged.verdict, *[f"firm {judged.verdict}"] * judged.firm])
        counts.update(intervals=covered is not None, covered=bool(covered))
    return counts


def judged_of(draw: Draw, claim: RunClaim, generator: Generator, effects: Effects) -> RunVerdict:
    """The verdict, by way of samples if that gives the same as a table does: seven times as fast."""
    if not isinstance(draw, Arms) or draw.diverging or claim.factor:
        return judge_claim(draw(generator, effects), claim, Assumptions())
    pairs, shared = draw.pairs(generator, effects)
    if isinstance(claim.other, float):
        pairs = [against_number(pair.task, pair.arm, claim.other) for pair in pairs]
    return judge_given(claim, pairs, Assumptions(), shared)


def _begun(test: str, condition: str, worlds: int) -> Row:
    rates = ("most", "false_supported", "false_refuted", "firm_false", "level", "coverage", "power", "told", "refused")
    return {"test": test, "condition": condition, "worlds": worlds, **dict.fromkeys(rates)}


def _share(count: int, of: int) -> float | None:
    return round(count / of, 4) if of else None


# --- several claims together


TOGETHER = 20


def _together(worlds: int, seed: int) -> list[Row]:
    """Twenty claims of which none is true: how often one or more is called firm."""
    name, claim, draw = "20 claims together", read_claim("loss: b < a"), Arms((10, 10))
    count, firm = max(1, round(0.25 * worlds)), 0
    for world in range(count):
        generator = numpy_generator(seed, name, world)
        judged = corrected([judged_of(draw, claim, generator, (0.0,)) for _ in range(TOGETHER)])
        firm += any(verdict.firm for verdict in judged)
    rates = {"most": 0.05, "firm_false": _share(firm, count)}
    return [{**_begun(name, "10 runs, none true: any is called firm", count), **rates}]


# --- the gate


MARGIN = 1.0


# Truth of the candidates and the share of outcomes that may be: what is counted, and the rate that the gate itself tells of it.
GATES = {
    "unchanged": (0.0, ((DAMAGE, "false_refuted", 0.05, "false_alarms"), (DRIFT, "false_supported", 0.025, None))),
    "worse by the margin": (MARGIN, ((DAMAGE, "false_refuted", 0.05, None), (FINE, "false_supported", 0.05, None))),
    "worse by twice the margin": (2 * MARGIN, ((DAMAGE, "power", None, "caught"),)),
    "better by the margin": (-MARGIN, ((TOO_GOOD, "false_supported", 0.001, None),)),
}


def _gate(candidates: int, kept: int, name: str, worlds: int, seed: int) -> list[Row]:
    """Candidates against a baseline file of kept runs, through files; a row for each outcome that is counted."""
    truth, counted = GATES[name]
    runs, count = f"{candidates} against {kept} runs", max(1, round(OF_GATE * worlds))
    with TemporaryDirectory() as folder:
        gates = [
            _gated(Arms((candidates, kept)), truth, Path(folder), numpy_generator(seed, f"gate {runs} {name}", world))
            for world in range(count)
        ]
    gate_rows = []
    for outcome, column, most, rate in counted:
        row = _begun("gate", f"{runs}, {name}: called {outcome}", count)
        passed = (FINE, DRIFT) if outcome == FINE else (outcome,)
        stated = [getattr(judged_gate, rate) for judged_gate in gates if getattr(judged_gate, rate) is not None] if rate else []
        row |= {"most": most, column: _share(sum(judged_gate.outcome in passed for judged_gate in gates), count)}
        gate_rows.append({**row, "told": round(float(np.mean(stated)), 4) if stated else None})
    return gate_rows


def _gated(draw: Arms, truth: float, folder: Path, generator: Generator) -> Gate:
    runs = draw(generator, (truth,))
    for name, arm in ((CANDIDATE, "b"), (BASELINE, "a")):
        frame = runs.frame[runs.frame["arm"] == arm].assign(arm=name)
        (folder / f"{name}.csv").write_text(baseline_text(replace(runs, frame=frame)), encoding="utf-8")
    return gate([str(folder / f"{CANDIDATE}.csv")], str(folder / f"{BASELINE}.csv"), str(MARGIN), JudgeOptions())


# --- how far runs differ


def _deviation(shape: str, groups: int, runs: int, is_robust: bool, worlds: int, seed: int) -> list[Row]:
    """Coverage of the interval of the standard deviation, which all shapes but outliers have as 1."""
    name = "noise: standard deviation" + ", without normality" * is_robust
    condition = f"{groups} x {runs} runs, {shape}"
    generator, held = numpy_generator(seed, f"{name} {condition}", 0), []
    for _ in range(worlds):
        values = [SHAPES[shape](generator, runs) for _ in range(groups)]
        ends = robust_interval(values) if is_robust else _ends(values)
        if ends is not None:
            held.append(ends[0] <= 1 <= ends[1])
    return [{**_begun(name, condition, worlds), "level": 0.95, "coverage": _share(sum(held), len(held))}]


def _ends(values: list[Numbers]) -> tuple[float, float] | None:
    level = noise_level(values)
    return None if level is None else (level.low, level.high)


def _visible(runs: int, worlds: int, seed: int) -> list[Row]:
    """How often a difference that is called visible is seen: of one run an arm with the spread of 10 others."""
    name, known = "noise: visible difference", 10
    generator, detections = numpy_generator(seed, f"{name} {runs}", 0), 0
    gap = visible_difference(1.0, runs, known - 1)
    for _ in range(worlds):
        x, y = generator.standard_normal(runs) + gap, generator.standard_normal(runs)
        if runs > 1:
            detections += difference(x, y).p_inside(0, math.inf) <= 0.05
        else:
            spread = float(np.std(generator.standard_normal(known), ddof=1))
            detections += float(x[0] - y[0]) / (spread * math.sqrt(2)) > scipy.stats.t.isf(0.025, known - 1)
    return [{**_begun(name, f"{runs} runs an arm", worlds), "power": _share(detections, worlds), "told": POWER}]


def _deviations(is_robust: bool) -> list[Task]:
    shapes, sizes = ("normal", "heavy tails", "skewed"), ((1, 5), (3, 5), (1, 20))
    return [partial(_deviation, shape, groups, runs, is_robust) for shape in shapes for groups, runs in sizes]


OTHERS: dict[str, list[Task]] = {
    "20 claims together": [_together],
    "gate": [partial(_gate, candidates, kept, name) for candidates, kept in ((3, 5), (5, 20)) for name in GATES],
    "noise: standard deviation": _deviations(False),
    "noise: standard deviation, without normality": _deviations(True),
    "noise: visible difference": [partial(_visible, runs) for runs in (1, 3, 5, 10)],
}
