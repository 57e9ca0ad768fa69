"""Runs whose truth is known: arms of normal or awkward noise with a planted difference, and laws and tries of known shape.

Numbers are in standard deviations of a run about a mean of `base`, so that with the usual base of 100 a difference of 1 is 1%.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
import scipy  # its parts load when they are first used: seconds, and much that is read here needs none
from numpy.typing import NDArray

from folklore.harness.elsewhere.laws import fitted
from folklore.harness.elsewhere.run_verdict import RunVerdict
from folklore.harness.elsewhere.runs import Runs
from folklore.harness.elsewhere.samples import Pair, Sample
from folklore.harness.judge.statistics.intervals import Numbers
from folklore.harness.judge.statistics.two_samples import Spread, pooled_spread

Generator = np.random.Generator
# The planted difference of b and a on each task.
Effects = tuple[float, ...]
Draw = Callable[[Generator, Effects], Runs]
LOG_MEAN, LOG_DEVIATION = math.exp(0.5), math.sqrt(math.e * (math.e - 1))
OUTLIERS, OUTLYING = 0.1, 8.0


# Noise of mean 0 and (but for outliers) deviation 1: Student's t with 3 degrees of freedom; lognormal; one run in ten far
# off to the bad side.
SHAPES: Mapping[str, Callable[[Generator, int], Numbers]] = {
    "normal": lambda generator, runs: generator.standard_normal(runs),
    "heavy tails": lambda generator, runs: generator.standard_t(3, runs) / math.sqrt(3),
    "skewed": lambda generator, runs: (generator.lognormal(0, 1, runs) - LOG_MEAN) / LOG_DEVIATION,
    "outliers": lambda generator, runs: (
        generator.standard_normal(runs) + OUTLYING * ((generator.random(runs) < OUTLIERS) - OUTLIERS)
    ),
}


@dataclass(frozen=True)
class Arms:
    """Draws runs of b and a, and of arms beside them.

    runs, spreads: of b and of a. shared: the correlation of runs with the same seed; None: seeds are not told. diverging: share
    of runs that end in NaN. unit: what values are rounded to. others: arms of five runs each, whose spread is `others_spread`.
    task_spreads: what the noise of every second task is multiplied by.
    """

    runs: tuple[int, int] = (5, 5)
    spreads: tuple[float, float] = (1.0, 1.0)
    shape: str = "normal"
    shared: float | None = None
    diverging: float = 0.0
    unit: float = 0.0
    others: int = 0
    others_spread: float = 1.0
    task_spread: float = 1.0
    base: float = 100.0

    def __call__(self, generator: Generator, effects: Effects) -> Runs:
        parts = [
            pd.DataFrame({"arm": arm, "seed": self._seeds(values), "task": task, "value": values, "size": 2.0**index})
            for index, (task, arms) in enumerate(self._tasks(generator, effects))
            for arm, values in arms.items()
        ]
        return runs_from(pd.concat(parts, ignore_index=True))

    def pairs(self, generator: Generator, effects: Effects) -> tuple[list[Pair], Spread | None]:
        """The same runs as samples, and the spread of all arms: what a table of them comes to, without a table's time."""
        tasks = list(self._tasks(generator, effects))
        paired = self.shared is not None
        pairs = [Pair(task, self._sample(arms["b"]), self._sample(arms["a"]), paired) for task, arms in tasks]
        return pairs, pooled_spread([values for _, arms in tasks for values in arms.values()])

    def _sample(self, values: Numbers) -> Sample:
        return Sample(values, tuple(self._seeds(values)), np.zeros(len(values), bool), np.full(len(values), np.nan))

    def _seeds(self, values: Numbers) -> list[str]:
        return [""] * len(values) if self.shared is None else [str(seed) for seed in range(len(values))]

    def _tasks(self, generator: Generator, effects: Effects) -> Iterator[tuple[str, dict[str, Numbers]]]:
        """The values of each arm on each task."""
        noise, names = SHAPES[self.shape], [f"other {index}" for index in range(self.others)]
        for index, effect in enumerate(effects):
            scale = self.task_spread if index % 2 else 1.0
            common = math.sqrt(self.shared or 0.0) * generator.standard_normal(max(self.runs))
            own = math.sqrt(1 - (self.shared or 0.0))
            b, a = (
                self.base + scale * spread * (common[:runs] + own * noise(generator, runs))
                for runs, spread in zip(self.runs, self.spreads, strict=True)
            )
            arms = {"b": b + effect, "a": a}
            arms |= {name: self.base + self.others_spread * noise(generator, 5) for name in names}
            yield f"task {index}", {arm: self._written(generator, values) for arm, values in arms.items()}

    def _written(self, generator: Generator, values: Numbers) -> Numbers:
        """As they stand in a table: rounded, and nan if they diverged."""
        values = self.unit * np.round(values / self.unit) if self.unit else values
        return np.where(generator.random(len(values)) < self.diverging, np.nan, values) if self.diverging else values


def runs_from(frame: pd.DataFrame) -> Runs:
    """Runs of a loss, one for each row: arm, seed ('': unknown), task, value, and the factors."""
    around = pd.DataFrame({"run": np.arange(len(frame)), "name": pd.NA, "step": np.nan})
    frame = frame.assign(seed=frame["seed"].replace("", pd.NA))
    return Runs(pd.concat([frame, around], axis=1), "loss", {}, {}, "lower", ("worlds",), ("simulated",))


@dataclass(frozen=True)
class Tries:
    """Draws losses of tuned runs with the quantile function `losses`; b's are lower by the effect."""

    losses: Callable[[Numbers], Numbers]
    tries: int = 10

    def __call__(self, generator: Generator, effects: Effects) -> Runs:
        values = np.concatenate([self.losses(generator.random(self.tries)) + effect for effect in (effects[0], 0.0)])
        frame = pd.DataFrame({"arm": np.repeat(["b", "a"], self.tries), "seed": "", "task": "", "value": values})
        return replace(runs_from(frame), tuned=True)

    def covered(self, judged: RunVerdict, effects: Effects) -> bool:
        """Whether both bands hold the median of the best of k, F^-1(1 - 2^(-1 / k)), at every k."""
        median = self.losses(1 - 0.5 ** (1 / np.arange(1, self.tries + 1)))
        pairs = zip(judged.tuned, (effects[0], 0.0), strict=True)
        return all(bool(np.all((band.low <= median + effect) & (median + effect <= band.high))) for band, effect in pairs)


@dataclass(frozen=True)
class Answers:
    """Draws losses of b and a on the same items, b's less by the effect.

    items: in how many clusters, of sizes that grow to `largest` times the first; deviations of clusters', items' and seeds' own
    differences between the arms, and of what is left. right_or_wrong: losses are 0 or 1, 1 with a chance of about a half that
    both arms have in common.
    """

    items: int = 100
    seeds: int = 1
    clusters: int = 0
    largest: float = 1.0
    deviations: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0)
    right_or_wrong: bool = False
    base: float = 100.0

    def __call__(self, generator: Generator, effects: Effects) -> Runs:
        place = self._places()
        of_cluster, of_item, of_seed, rest = self.deviations
        own = of_cluster * generator.standard_normal(place.max() + 1)[place] + of_item * generator.standard_normal(self.items)
        hard, parts = generator.uniform(0.3, 0.7, self.items), []
        for arm, sign in (("b", 1.0), ("a", 0.0)):
            for seed in range(self.seeds):
                shift = sign * (effects[0] + own) + of_seed * generator.standard_normal()
                values = self.base + shift + rest * generator.standard_normal(self.items)
                if self.right_or_wrong:
                    values = (generator.random(self.items) < np.clip(hard + sign * effects[0], 0, 1)).astype(float)
                labels = {"arm": arm, "seed": str(seed), "task": "", "item": np.arange(self.items), "cluster": place}
                parts.append(pd.DataFrame({**labels, "value": values}))
        roles = {"item": "item", "cluster": "cluster"} if self.clusters else {"item": "item"}
        frame = pd.concat(parts, ignore_index=True)
        return replace(runs_from(frame if self.clusters else frame.drop(columns="cluster")), roles=roles)

    def _places(self) -> NDArray[np.int64]:
        """The cluster of each item."""
        if not self.clusters:
            return np.arange(self.items)
        ends = np.cumsum(np.geomspace(1.0, self.largest, self.clusters))
        return np.searchsorted(ends / ends[-1], (np.arange(self.items) + 0.5) / self.items)


SIZES: Numbers = 2.0 ** np.arange(4.0, 10.0)
ZIGZAG = np.array([1, -1, 1, -1, 1, -1])


@dataclass(frozen=True)
class Hyperbola:
    """Draws samples to a loss at six batch sizes, which miss a hyperbola by the effect. noise: of ln(samples)."""

    noise: float = 0.05
    runs: int = 3

    def __call__(self, generator: Generator, effects: Effects) -> Runs:
        sizes = np.repeat(SIZES, self.runs)
        noise = self.noise * generator.standard_normal(len(sizes)) - self.noise**2 / 2
        values = np.repeat(missing(effects[0]), self.runs) * np.exp(noise)
        return runs_from(pd.DataFrame({"arm": "all runs", "seed": "", "task": "", "value": values, "batch_size": sizes}))


@cache
def missing(residual: float) -> Numbers:
    """Values at SIZES whose best hyperbola misses them by a root mean square logarithm of this much."""

    def values(zigzag: float) -> Numbers:
        return np.asarray(1000 * (1 + SIZES / 100) * np.exp(zigzag * ZIGZAG))

    def excess(zigzag: float) -> float:
        return fitted(SIZES, values(zigzag)).residual - residual

    return values(scipy.optimize.brentq(excess, 0, 2)) if residual else values(0.0)
