"""Estimates that figures read off trials, with 95% intervals, as columns of a frame, by the resamples that the judge uses."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, cast

import numpy as np

from ...harness.declare import Criterion, Judgement
from ...harness.declare.configuration import Configuration
from ...harness.declare.level import LEVEL
from ...harness.declare.metrics.curve import STEPS_OF
from ...harness.declare.metrics.estimating.weighted import stacked
from ...harness.declare.observed import Observed
from ...harness.declare.parts import all_parts
from ...harness.declare.trials import NotEstimableError, Numbers
from ...harness.judge.observe import observe
from ...harness.judge.statistics.intervals import LEAST_SEEDS, Observation, t_quantile
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import Columns

Metric = TypeVar("Metric", bound=Observed)


def band(values_RX: Numbers, seeds: int, log: bool = False) -> Columns:
    """y, low and high at every x, of what resamples of the seeds give: the interval that observations have. nan where there is
    none, as under LEAST_SEEDS seeds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        on_axis = np.log(values_RX) if log else np.asarray(values_RX, dtype=np.float64)
    centre = on_axis[0]
    if seeds < LEAST_SEEDS:
        half = np.full(centre.shape, np.nan)
    else:
        resamples = np.where(np.isfinite(on_axis[1:]), on_axis[1:], np.nan)
        many = np.isfinite(resamples).mean(axis=0) >= 0.9
        counts = np.maximum(1, np.isfinite(resamples).sum(axis=0))
        mean = np.nansum(resamples, axis=0) / counts
        deviation = np.sqrt(np.nansum((resamples - mean) ** 2, axis=0) / counts)
        half = np.where(many, t_quantile(seeds - 1, LEVEL) * deviation * math.sqrt(seeds / (seeds - 1)), np.nan)
    ends = {"y": centre, "low": centre - half, "high": centre + half}
    return {name: np.exp(value) for name, value in ends.items()} if log else ends


def seed_band(values_SX: Numbers, table: TrialArrays, log: bool = False) -> Columns:
    """Mean over the seeds and its 95% interval at every x; log: the geometric mean."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(values_SX) if log else np.asarray(values_SX, dtype=np.float64)
        means = table.resamples @ values / table.resamples.sum(axis=1, keepdims=True)
    ends = band(means, table.seeds)
    return {name: np.exp(value) for name, value in ends.items()} if log else ends


def number(metric: Observed, table: TrialArrays, criterion: Criterion | None = None) -> Observation | None:
    """None where it has no number. criterion: what decides by it, whose test may have one side."""
    level = 1 - (1 - LEVEL) * (2 if criterion is not None and criterion.one_sided else 1)
    try:
        return observe(metric, table, level)
    except NotEstimableError:
        return None


def metrics(judgement: Judgement, scale: str, kind: Callable[..., Metric]) -> Iterator[tuple[Criterion, Metric]]:
    """A claim's criteria with every metric of a kind in them, however deep it lies."""
    for criterion in judgement.criteria_at(scale):
        yield from ((criterion, part) for part in of_kind(all_parts(criterion.observe), kind))


def of_kind(metrics: Iterable[Observed], kind: Callable[..., Metric]) -> list[Metric]:
    """kind: a class, or what functions became (harness/declare/metrics/functions.py)."""
    return [metric for metric in metrics if isinstance(metric, cast(type[Metric], kind))]


def known(records: TrialSet, judgement: Judgement, kind: Callable[..., Metric]) -> list[tuple[Criterion, Metric, Observation]]:
    """The metrics of a kind that have a number, with it."""
    parts = metrics(judgement, records.scale, kind)
    observations = ((c, metric, number(metric, records.table, c if metric == c.observe else None)) for c, metric in parts)
    return [(criterion, metric, observation) for criterion, metric, observation in observations if observation is not None]


def is_searched(table: TrialArrays, arm: str, over: str) -> bool:
    """Whether an arm has more than one value of a factor, on a grid or proposed."""
    search = table.study.search_of(table.scale, arm)
    return (search is not None and search.factor == over) or len(table.study.factors_at(table.scale, arm).get(over, ())) > 1


def configuration_of(arm: str, over: str, table: TrialArrays) -> Configuration:
    """At the first value of the factor: neither the workload nor steps and batch size depend on it."""
    return table.study.configuration(table.scale, arm, {over: float(table.grid(arm, over)[0])})


def example_unit(arm: str, over: str, table: TrialArrays) -> str:
    """The unit that a batch counts: examples, or a language model's sequences."""
    return "sequences" if configuration_of(arm, over, table).workload.model == "gpt" else "examples"


def run_curve(arm: str, curve: str, over: str, index: int, table: TrialArrays) -> tuple[Numbers, Numbers]:
    """Steps [P] and a curve [S, P], at a value of the factor."""
    curves = (stacked(table.values(arm, over, f"curve_{name}")[index : index + 1])[0] for name in (STEPS_OF[curve], curve))
    steps, values = curves
    return steps[0], values
