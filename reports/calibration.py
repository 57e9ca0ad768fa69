"""The page that says how often the judge is right, from what reports/evidence holds of its calibration."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, get_args

from ..harness.declare.level import LEVEL
from ..harness.judge.statistics.ladders import Word
from ..harness.plan.store import evidence

# The goals: coverage of a 95% interval, and false verdicts at the most.
LEAST_COVERAGE, MOST_COVERAGE, MOST_FALSE = 0.93, 0.97, 0.05
# Rates of false verdicts that may have been counted, and the verdict each is of.
WRONGS = {"false_supported": "supported", "false_partly": "partly", "false_refuted": "refuted"}
# Rates of judged runs that have a goal.
OF_RUNS = ("false_supported", "false_refuted", "firm_false", "coverage")
# Rates of judged ladders that have a goal: words that are not true at the most, intervals that cover at the least.
OF_TRENDS = {"false": MOST_FALSE, "slope": LEVEL, "prediction": LEVEL}
COVERAGES = ("coverage", "slope", "prediction")
TREND_WORDS = get_args(Word)
# Of the worlds that miss a goal, how many the first screen names.
WORST_SHOWN = 2

Row = Mapping[str, Any]


def rows() -> list[dict[str, Any]]:
    """The rows as they were counted; none if that was never done."""
    return _counted("calibration.json")


def _counted(file: str) -> list[dict[str, Any]]:
    path = evidence.FOLDER / file
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def runs_elsewhere() -> list[dict[str, Any]]:
    """A row for each test and condition of `folklore judge`; none if that was never counted. off: rates that miss their goal
    beyond the chance of counting this many worlds."""
    test_rows = _counted("judged_runs_calibration.json")
    goals = {name: "level" if name == "coverage" else "most" for name in OF_RUNS}
    return [{**row, "off": [name for name, goal in goals.items() if _misses(row, name, row[goal])]} for row in test_rows]


def trends() -> list[dict[str, Any]]:
    """A row for each kind of ladder, number of rungs and of seeds, and way of the errors, of the judge of ladders; none if
    that was never counted. off: as above."""
    return [_with_off(row) for row in _counted("ladders_calibration.json")]


def _with_off(row: Row) -> dict[str, Any]:
    return {**row, "off": [name for name, goal in OF_TRENDS.items() if _misses(row, name, goal)]}


def _misses(row: Row, name: str, goal: float | None) -> bool:
    """Whether by three standard errors of a share at its goal, which is the least of a coverage and the most of others."""
    if goal is None or row[name] is None:
        return False
    beyond = goal - row[name] if name in COVERAGES else row[name] - goal
    return bool(beyond > 3 * math.sqrt(goal * (1 - goal) / row["worlds"]))


def _summed(ladder_rows: Sequence[Row]) -> dict[str, Any]:
    """The cells of ladders that differ in the way of their errors alone, and of all ladders; apart: single rows that miss a
    goal, which the sum of their cell may keep; missed: how many there are of each rate, and the worst."""
    cells = [list(group) for _, group in groupby(ladder_rows, key=lambda row: (row["world"], row["rungs"], row["seeds"]))]
    off = {name: [row for row in ladder_rows if name in row["off"]] for name in OF_TRENDS}
    return {
        "cells": [_sum(cell) for cell in cells],
        "whole": _sum(ladder_rows),
        "rows": len(ladder_rows),
        "apart": [row for row in ladder_rows if row["off"]],
        "missed": {name: (len(rows), max(rows, key=partial(_distance, name))) for name, rows in off.items() if rows},
    }


def _sum(group: Sequence[Row]) -> dict[str, Any]:
    worlds = sum(row["worlds"] for row in group)
    counts = {name: sum(row[name] * row["worlds"] for row in group) for name in (*TREND_WORDS, *OF_TRENDS)}
    shares = {name: round(count / worlds, 4) for name, count in counts.items()}
    return _with_off({**group[0], "worlds": worlds, **shares})


def _distance(name: str, row: Row) -> float:
    return abs(float(row[name]) - OF_TRENDS[name])


def _by_observable(world_rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    ordered = sorted(world_rows, key=lambda row: row["observable"])
    return [(name, list(group)) for name, group in groupby(ordered, key=lambda row: row["observable"])]


def content(world_rows: Sequence[Row], elsewhere: Sequence[Row] = (), ladders: Sequence[Row] = ()) -> dict[str, Any]:
    """The values of the page's template."""
    covered = [row["coverage"] for row in world_rows if row["coverage"] is not None]
    wrongs = [name for name in WRONGS if any(row.get(name) is not None for row in world_rows)]
    wrong = [row[name] for row in world_rows for name in wrongs if row.get(name) is not None]
    return {
        "kinds": [_kind(name, group) for name, group in _by_observable(world_rows)],
        "elsewhere": elsewhere,
        "trends": _summed(ladders) if ladders else None,
        "trend_words": TREND_WORDS,
        "wrongs": wrongs,
        "mean_coverage": sum(covered) / len(covered) if covered else None,
        "rates_of": [_rate_of(name, world_rows) for name in wrongs],
        "conditions": _conditions(world_rows),
        "short": sorted((row for row in world_rows if _too_short(row)), key=lambda row: float(row["coverage"]))[:WORST_SHOWN],
        "wrong": _most_often_false(world_rows, wrongs),
        "worlds": sum(row["worlds"] for row in world_rows),
        "intervals": len(covered),
        "inside": sum(LEAST_COVERAGE <= coverage <= MOST_COVERAGE for coverage in covered),
        "below": sum(coverage < LEAST_COVERAGE for coverage in covered),
        "above": sum(coverage > MOST_COVERAGE for coverage in covered),
        "rates": len(wrong),
        "too_often": sum(rate > MOST_FALSE for rate in wrong),
        "least": LEAST_COVERAGE,
        "most": MOST_COVERAGE,
        "most_false": MOST_FALSE,
    }


def _too_short(row: Row) -> bool:
    return row["coverage"] is not None and row["coverage"] < LEAST_COVERAGE


def _rate_of(name: str, world_rows: Sequence[Row]) -> tuple[str, float]:
    """A verdict, and how often it is given wrongly, on average over the kinds of world."""
    rates = [row[name] for row in world_rows if row.get(name) is not None]
    return WRONGS[name], sum(rates) / len(rates)


def _conditions(world_rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The conditions under which intervals are too short most often: in how many of how many kinds of world."""
    covered = [row for row in world_rows if row["coverage"] is not None]
    counted = [
        {"condition": name, "kinds": len(own), "short": sum(map(_too_short, own))}
        for name in sorted({row["condition"] for row in covered})
        if (own := [row for row in covered if row["condition"] == name])
    ]
    counted.sort(key=lambda condition: -condition["short"] / condition["kinds"])
    return [condition for condition in counted if condition["short"]][:WORST_SHOWN]


def _most_often_false(world_rows: Sequence[Row], wrongs: Sequence[str]) -> list[dict[str, Any]]:
    """The worlds in which a verdict is false too often, the worst first."""
    worst = [
        {"observable": row["observable"], "world": row["world"], "what": WRONGS[name], "rate": row[name]}
        for row in world_rows
        for name in wrongs
        if row.get(name) is not None and row[name] > MOST_FALSE
    ]
    return sorted(worst, key=lambda world: -float(world["rate"]))[:WORST_SHOWN]


def _kind(name: str, group: Sequence[Row]) -> dict[str, Any]:
    seeds = sorted({row["seeds"] for row in group})
    return {"name": name, "rows": group, "by_seeds": [_worst([r for r in group if r["seeds"] == count]) for count in seeds]}


def _worst(group: Sequence[Row]) -> dict[str, Any]:
    """The extremes over the worlds of one kind and number of seeds."""
    covered = [row["coverage"] for row in group if row["coverage"] is not None]
    return {
        "seeds": group[0]["seeds"],
        "plain": next((row["coverage"] for row in group if row["condition"] == "plain"), None),
        "low": min(covered, default=None),
        "high": max(covered, default=None),
        **{name: max((row[name] for row in group if row.get(name) is not None), default=None) for name in WRONGS},
        "power": group[0]["power"],
    }
