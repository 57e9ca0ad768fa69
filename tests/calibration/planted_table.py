"""Trial tables of worlds whose truth is known, in the form that runs observe and judge on."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folklore.harness.declare import Spec, Study
from folklore.harness.declare.metrics.estimating.range_test_rules import SMOOTHING
from folklore.harness.judge.trial_arrays import RESAMPLES, TrialArrays

SCALE = "laptop"
# Loss at initialization, nats.
INITIAL_LOSS = 5.0

Column = NDArray[Any]
# Column -> arm -> values [G, S].
Columns = Mapping[str, Mapping[str, Column]]


class PlantedTable(TrialArrays):
    """A trial table made of arrays, without the rows in between: calibration makes hundreds of thousands of them.

    Everything from `values` on is that of a table of stored trials (a test holds both to the same numbers).
    """

    def __init__(self, study: Study, columns: Columns):
        self.study, self.scale, self.seeds = study, SCALE, study.seeds_at(SCALE)
        self.seed_numbers = tuple(study.seed_numbers_at(SCALE))
        self.failures = {}
        self.smoothing, self.vertex = SMOOTHING, False
        self.chosen: set[tuple[str, str, int]] = set()
        self.resample_count = RESAMPLES
        self.tunings = {}
        self.evaluated: dict[Spec, NDArray[np.float64]] = {}
        self._planted = columns

    def values(self, arm: str, over: str, column: str) -> Column:
        return self._planted[column][arm]
