"""How often a word about a ladder of models is false, and intervals cover: ladders whose line is known, drawn and judged."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import product, repeat
from multiprocessing import get_context
from typing import Any

import numpy as np

from folklore.harness.judge.statistics.ladders import Rung, Trend, judge_ladder, outcome, predicted
from folklore.harness.judge.statistics.pooling import effect_of
from folklore.harness.randomness import numpy_generator

Row = dict[str, Any]
# World, number of rungs and of seeds, way of the errors.
Kind = tuple[str, int, int, str]
SMALLEST, LARGEST, MARGIN = 12e3, 100e3, 2.0
WORDS = ("turns", "none", "holds", "grows", "fades", "open")
# Each world's effect at the smallest and at the largest size, in errors of a rung. At the edges, a word is just false.
WORLDS: Mapping[str, tuple[float, float]] = {
    "constant": (8.0, 8.0),
    "small": (3.0, 3.0),
    "none": (0.0, 0.0),
    "fading": (10.0, 2.0),
    "growing": (2.0, 10.0),
    "turning": (6.0, -6.0),
    "bent": (8.0, 8.0),
    "uneven": (8.0, 8.0),
    "edge of none": (0.0, MARGIN),
    "edge of turns": (8.0, 0.0),
    "edge of holds": (8 + 2 * math.log10(LARGEST / SMALLEST), 8 - 2 * math.log10(LARGEST / SMALLEST)),
}
# By how many errors the middle lies above the line; the deviation of a rung from it.
BENDS, SCATTER = {"bent": 4.0}, {"uneven": 1.0}
# Errors of rungs: the last over the first.
ERRORS = {"alike": 1.0, "growing": 4.0, "shrinking": 0.25}
RUNGS, SEEDS = (2, 3, 4, 5), (3, 6)


def rows(
    worlds: int,
    seed: int = 0,
    only: Sequence[str] = (),
    processes: int = 1,
    progress: Callable[[int, int], None] = lambda done, planned: None,
    rungs: Sequence[int] = RUNGS,
    seeds: Sequence[int] = SEEDS,
    errors: Sequence[str] = tuple(ERRORS),
) -> list[Row]:
    """A row for each kind of world, number of rungs and of seeds, and way of the errors, from this many ladders.

    A share for each word; false: of words that are not true; slope, crossing: coverage of the interval, the latter where its
    word is true; prediction: share of new rungs, one step further, in the interval predicted; bent: share called so.
    Deterministic for a seed, whatever the number of processes.
    """
    wanted = kinds(only, rungs, seeds, errors)
    ladder_rows = []
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) if processes > 1 else nullcontext() as pool:
        for row in (pool.map if pool else map)(_row, *zip(*wanted, strict=True), repeat(worlds), repeat(seed)):
            ladder_rows.append(row)
            progress(len(ladder_rows), len(wanted))
    return ladder_rows


def kinds(
    only: Sequence[str] = (),
    rungs: Sequence[int] = RUNGS,
    seeds: Sequence[int] = SEEDS,
    errors: Sequence[str] = tuple(ERRORS),
) -> list[Kind]:
    """Two rungs are neither bent nor uneven."""
    names = [name for name in WORLDS if not only or name in only]
    return [kind for kind in product(names, rungs, seeds, errors) if kind[1] > 2 or kind[0] not in (*BENDS, *SCATTER)]


def _row(name: str, rungs: int, runs: int, errors: str, worlds: int, seed: int) -> Row:
    counts: Counter[str] = Counter()
    for world in range(worlds):
        generator = numpy_generator(seed, f"ladder {name} {rungs} {runs} {errors}", world)
        *ladder, new = drawn(name, rungs, runs, errors, generator)
        trend = judge_ladder(ladder, MARGIN if name != "none" else 2 * MARGIN + 2)
        expected = predicted(ladder, new.size)
        came = outcome((expected.low, expected.high), new.effect.estimate)
        counts.update([trend.word, *(["bent"] * trend.bent), came])
        counts.update(false=trend.word != "open" and trend.word not in true_words(name))
        counts.update(_covered(name, trend))
    row: Row = {"world": name, "rungs": rungs, "seeds": runs, "errors": errors, "worlds": worlds}
    row |= {word: counts[word] / worlds for word in (*WORDS, "false", "bent")}
    of = {"slope": worlds, "crossing": counts["crossings"]}
    return (
        row
        | {part: counts[part] / many if many else None for part, many in of.items()}
        | {"prediction": counts["hit"] / worlds}
    )


def drawn(name: str, rungs: int, runs: int, errors: str, generator: np.random.Generator) -> list[Rung]:
    """A ladder with one rung more than asked for, a step beyond."""
    place = np.arange(rungs + 1) / (rungs - 1)
    first, last = WORLDS[name]
    true = first + (last - first) * place + BENDS.get(name, 0.0) * 4 * place * (1 - place)
    error = ERRORS[errors] ** (place - 0.5)
    values = true + generator.standard_normal(rungs + 1) * np.hypot(error, SCATTER.get(name, 0.0))
    measured = error * np.sqrt(generator.chisquare(runs - 1, rungs + 1) / (runs - 1))
    sizes = SMALLEST * (LARGEST / SMALLEST) ** place
    return [
        Rung(float(size), effect_of(float(value), float(deviation), runs - 1, runs))
        for size, value, deviation in zip(sizes, values, measured, strict=True)
    ]


def true_words(name: str) -> set[str]:
    """The words that are true of a world's line."""
    first, last = WORLDS[name]
    change = (last - first) / math.log10(LARGEST / SMALLEST)
    margin = MARGIN if name != "none" else 2 * MARGIN + 2
    holds = {
        "turns": first * last < 0,
        "none": max(abs(first), abs(last)) < margin,
        "holds": last != 0 and abs(change) < abs(first + last) / 4 - 1e-9,
        "grows": change * last > 0,
        "fades": change * first < 0,
    }
    return {word for word, is_true in holds.items() if is_true}


def _covered(name: str, trend: Trend) -> dict[str, bool]:
    first, last = WORLDS[name]
    change = (last - first) / math.log10(LARGEST / SMALLEST)
    covered = {"slope": trend.slope.low <= change <= trend.slope.high}
    if trend.crossing and trend.word in true_words(name):
        target = 0.0 if trend.word == "turns" else math.copysign(MARGIN, trend.smallest.estimate)
        true = SMALLEST * 10 ** min(300.0, (target - first) / change)
        covered |= {"crossings": True, "crossing": trend.crossing.low <= true <= trend.crossing.high}
    return covered
