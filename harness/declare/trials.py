"""The table that an estimator reads: the trials of a study at one scale. harness/judge/trial_arrays.py makes such tables."""

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .base import Spec
from .computed import ComputedJob
from .design import Design

Numbers = NDArray[np.float64]

# Ends the reason why there is no number, if further seeds would bring one.
ADD_SEEDS = "add seeds"


class NotEstimableError(Exception):
    """There is no number. verdict: what the judge says instead.

    reason and remedy are clauses for the readers of pages, which go on after "no number, because": why there is none, and what
    would help. They name arms by their labels (Trials.arm_name).
    """

    def __init__(self, verdict: Literal["open", "out of regime", "invalid"], reason: str, remedy: str = ""):
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.verdict = verdict
        self.reason = reason
        self.remedy = remedy


class Trials(Protocol):
    """Factor values [G] by seeds [S] for each arm. Whatever has no number raises NotEstimableError."""

    scale: str
    seeds: int
    seed_numbers: tuple[int, ...]
    # All that are trained at the scale, of which seed_numbers may leave some out.
    declared_seeds: tuple[int, ...]
    # Weight of the past where range tests are smoothed.
    smoothing: float
    # Whether a tuned loss is that of the vertex of a parabola through the best point and those beside it.
    vertex: bool
    # The choices on grids with several values, by the points: arm, factor and index.
    chosen: set[tuple[str, str, int]]
    # The values worked out under `resamples`, by observable.
    evaluated: dict[Spec, Numbers]

    @property
    def study(self) -> Design:
        """The design that was trained."""

    def __hash__(self) -> int:
        """The hash of the table itself: values read off a table are remembered for it."""

    @property
    def resamples(self) -> Numbers:
        """Weights of the seeds, [1 + resamples, S]: ones first."""

    def grid(self, arm: str, over: str) -> Numbers:
        """The arm's values of a factor; of a searched one, the value that was chosen."""

    def values(self, arm: str, over: str, column: str) -> NDArray[Any]:
        """A column of the trials as [G, S]."""

    def losses(self, arm: str, over: str, column: str) -> Numbers:
        """A loss as [G, S]: what has diverged counts with the loss at initialization."""

    def diverged(self, arm: str, over: str) -> NDArray[np.bool_]:
        """Which runs have diverged, [G, S]."""

    def only_factor(self, arm: str) -> str:
        """The factor of an arm that is trained at one point."""

    def computed(self, job: ComputedJob, number: str) -> Numbers:
        """A number of a computed job for each seed, [S]; of one without seeds the same for all."""

    def arm_name(self, arm: str) -> str:
        """The name by which a reader knows an arm."""
