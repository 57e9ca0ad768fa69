"""The trials of one study at one scale as arrays, and the resamples of its seeds that all observations share."""

import copy
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..declare import Spec, Study, canonical_json
from ..declare.computed import ComputedJob
from ..declare.design import in_words
from ..declare.metrics.estimating.range_test_rules import SMOOTHING
from ..declare.trials import NotEstimableError, Numbers
from ..plan.computing import require_computation
from ..plan.plan import points
from ..plan.search_results import tunings
from ..plan.store.computations import Computations
from ..plan.store.trial_rows import judged_losses
from ..randomness import numpy_generator

RESAMPLES = 2000
# Losses that every trial has, however old.
ALWAYS_MEASURED = ("train_loss", "validation_loss", "test_loss")


@lru_cache(maxsize=16)
def resamples(study: str, seeds: int, count: int) -> Numbers:
    """Weights [1 + count, S], ones first; the same for all tables of a study with this many seeds. Not to be written to."""
    drawn = numpy_generator(0, f"bootstrap:{study}", seeds).multinomial(seeds, np.full(seeds, 1 / seeds), size=count)
    weights = np.vstack([np.ones(seeds), drawn])
    weights.flags.writeable = False
    return weights


class TrialArrays:
    """The trials of one study at one scale as arrays: factor values [G] by seeds [S] for each arm."""

    def __init__(
        self,
        study: Study,
        scale: str,
        trials: pd.DataFrame,
        failures: dict[str, str] | None = None,
        seed_numbers: Sequence[int] | None = None,
        computations: Computations | None = None,
        with_further: bool = True,
    ):
        """seed_numbers: those that are judged; default: all of the scale. computations: results of computed jobs. with_further:
        whether arms also count with the seeds that they have beyond the study's."""
        self.study, self.scale, self._trials = study, scale, trials
        self.declared_seeds = tuple(study.seed_numbers_at(scale))
        self.seed_numbers = self.declared_seeds if seed_numbers is None else tuple(seed_numbers)
        self.computations = computations or {}
        self.seeds = len(self.seed_numbers)
        self.failures, self.with_further = failures or {}, with_further
        self.rows = {
            (arm, point, seed): index
            for index, (arm, point, seed) in enumerate(zip(trials["arm"], trials["point"], trials["seed"], strict=True))
        }
        self._columns: dict[str, NDArray[Any]] = {}
        self.tunings = tunings(study, scale, trials)
        self.smoothing = SMOOTHING  # of range tests
        self.vertex = False
        self.chosen: set[tuple[str, str, int]] = set()
        self.resample_count = RESAMPLES
        self.evaluated: dict[Spec, Numbers] = {}
        self._found: dict[tuple[str, str], NDArray[np.int64]] = {}
        # The table whose seeds this one has some of, and their indices.
        self._of: tuple[TrialArrays, list[int]] | None = None
        self._further: dict[int, TrialArrays] = {}

    def of_seeds(self, seed_numbers: Sequence[int]) -> "TrialArrays":
        """The same trials, of some of the seeds."""
        other = copy.copy(self)
        other.seed_numbers, other.seeds = tuple(seed_numbers), len(seed_numbers)
        other.evaluated, other._found, other._further, other.chosen = {}, {}, {}, set()
        other._of = self, [self.seed_numbers.index(seed) for seed in seed_numbers]
        return other

    def of_arms(self, arms: Collection[str]) -> "TrialArrays":
        """The same trials, with the seeds that all of these arms have beyond those of the study (Scale.arm_seeds)."""
        declared = self.study.seed_numbers_at(self.scale)
        further = self.study.shared_seeds_at(self.scale, arms) - len(declared)
        if further <= 0 or not self.with_further or self.seed_numbers[-1] not in declared:
            return self
        if further not in self._further:
            other = copy.copy(self)
            other.seed_numbers = (*self.seed_numbers, *range(declared.stop, declared.stop + further))
            other.seeds = len(other.seed_numbers)
            other.evaluated, other._found, other._of, other._further = {}, {}, None, {}
            self._further[further] = other
        return self._further[further]

    @property
    def resamples(self) -> Numbers:
        """Weights of the seeds, [1 + resample_count, S]: ones first. The same for every observation of the study."""
        return resamples(self.study.name, self.seeds, self.resample_count)

    def grid(self, arm: str, over: str) -> Numbers:
        """The arm's values of a factor; of a searched one, the value that was chosen."""
        search = self.study.search_of(self.scale, arm)
        if search is not None and search.factor == over:
            return np.array([self._tuned(arm)])
        return np.array(self.study.factors_at(self.scale, arm)[over], dtype=np.float64)

    def values(self, arm: str, over: str, column: str) -> NDArray[Any]:
        """A column as [G, S]. Raises NotEstimableError (invalid) if a trial is missing."""
        index = self._index(arm, over)
        missing = index < 0
        if missing.any():
            errors = sorted(set(self.failures.values()))
            why = f"; an error of this run: {errors[0]}" if errors else "; run the study again to train them"
            raise NotEstimableError(
                "invalid", f"{missing.sum()} of {index.size} trials of {self.arm_name(arm)} are missing or crashed{why}"
            )
        if column not in self._columns:
            self._columns[column] = self._trials[column].to_numpy()
        return self._columns[column][index]

    def losses(self, arm: str, over: str, column: str) -> Numbers:
        """A loss [G, S] in nats, as `judged_losses` counts it; so is an error, such as `test_error`, a share of examples."""
        outcome = self.values(arm, over, "outcome")
        if not column.endswith("_error"):
            loss, initial = self._measured(arm, over, column), self._measured(arm, over, "initial_loss")
        else:
            accuracy = column.removesuffix("_error") + "_accuracy"
            loss, initial = (1 - self._measured(arm, over, name) for name in (accuracy, "initial_accuracy"))
        if column not in ALWAYS_MEASURED and (np.isnan(loss) & (outcome != "diverged")).any():
            raise NotEstimableError(
                "invalid",
                f"{in_words(column)} was not measured in {self.arm_name(arm)}",
                "retrain with a study that measures it",
            )
        return judged_losses(loss, initial, outcome)

    def _measured(self, arm: str, over: str, column: str) -> Numbers:
        """Numbers of a column [G, S]; nan where there are none."""
        return self.values(arm, over, column).astype(np.float64)

    def computed(self, job: ComputedJob, number: str) -> Numbers:
        """A number of a computed job, [S]. Raises NotEstimableError if the store or the evidence has no such result."""
        values = require_computation(self.study, self.computations, job).values(number)
        return np.array([values[seed if job.seeds else None] for seed in self.seed_numbers])

    def diverged(self, arm: str, over: str) -> NDArray[np.bool_]:
        return np.asarray(self.values(arm, over, "outcome") == "diverged")

    def only_factor(self, arm: str) -> str:
        """The factor of an arm that is trained at one point."""
        self._require_trained(arm)
        if search := self.study.search_of(self.scale, arm):
            return search.factor
        ((factor, values),) = self.study.factors_at(self.scale, arm).items()
        if len(values) != 1:
            raise NotEstimableError(
                "open",
                f"{self.arm_name(arm)} is trained at {len(values)} {in_words(factor)}s, and this metric needs exactly one",
            )
        return factor

    def arm_name(self, arm: str) -> str:
        """An arm's name for readers: its label, with its panel if another arm has the same label."""
        chosen = self.study.arms[arm]
        shared = [candidate for candidate in self.study.arms.values() if candidate.label == chosen.label]
        return f"'{chosen.panel}: {chosen.label}'" if len(shared) > 1 and chosen.panel else f"'{chosen.label}'"

    def _require_trained(self, arm: str) -> None:
        """Raises NotEstimableError (out of regime) for an arm that is not trained at this scale."""
        if arm not in self.study.arms_at(self.scale):
            scales = self.study.arms[arm].scales or ()
            on_gpu = all(self.study.scale(scale).device == "cuda" for scale in scales)
            why = "it needs a GPU: " if on_gpu else ""
            raise NotEstimableError(
                "out of regime", f"{why}{self.arm_name(arm)} is trained at scale {' or '.join(scales)} only"
            )

    def _tuned(self, arm: str) -> float:
        """The searched value. Raises NotEstimableError if the search is not complete, or ends at its edge."""
        search, tuning = self.study.search_of(self.scale, arm), self.tunings.get(arm)
        assert search is not None
        name = self.arm_name(arm)
        if tuning is None or not tuning.complete:
            have = 0 if tuning is None else len(tuning.values)
            raise NotEstimableError(
                "invalid", f"the search of {name} has {have} of {search.budget} proposals", "run the study again to train them"
            )
        if tuning.at_edge:
            raise NotEstimableError(
                "open",
                f"the best {in_words(search.factor)} of {name}, {tuning.best:.3g}, lies at the edge of the searched range",
                "a wider range would settle it",
            )
        return tuning.best

    def _index(self, arm: str, over: str) -> NDArray[np.int64]:
        """Rows of an arm's trials, [G, S], -1 where one is missing. Kept: the same arms are asked for again and again."""
        if (arm, over) not in self._found:
            self._found[arm, over] = self._find(arm, over)
        return self._found[arm, over]

    def _find(self, arm: str, over: str) -> NDArray[np.int64]:
        if self._of is not None:
            whole, seeds = self._of
            return whole._index(arm, over)[:, seeds]
        self._require_trained(arm)
        wanted = [canonical_json(point) for name, point in points(self.study, self.scale) if name == arm]
        if self.study.arms[arm].searched:
            wanted = [canonical_json(self.study.searched_point(self.scale, arm, self._tuned(arm)))]
        if len(wanted) != len(self.grid(arm, over)):
            raise AssertionError(f"arm '{arm}' varies more than '{over}'; no observable here reads such a table")
        return np.array([[self.rows.get((arm, point, seed), -1) for seed in self.seed_numbers] for point in wanted])
