"""The few numbers that a watch keeps of what it read, however long the run."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from . import readings
from .alarms import Event
from .layers import Layers
from .readings import Numbers, Reading
from .steps import Steps
from .units import Units

# The name of the median matrix's.
UPDATE_RATIO = "update_ratio"


@dataclass
class Span:
    """A quantity over the run. at_most: values within a thousandth of the largest. not_finite: values that count as none."""

    first: float = math.nan
    last: float = math.nan
    least: float = math.inf
    most: float = -math.inf
    count: int = 0
    at_most: int = 0
    not_finite: int = 0

    def take(self, values: Numbers) -> None:
        finite = values[np.isfinite(values)]
        self.not_finite += len(values) - len(finite)
        if not len(finite):
            return
        self.first = self.first if self.count else float(finite[0])
        self.last, self.least = float(finite[-1]), min(self.least, float(finite.min()))
        most = max(self.most, float(finite.max()))
        kept = self.at_most if most <= self.most * 1.001 else 0
        self.at_most, self.most = kept + int((finite >= most * 0.999).sum()), most
        self.count += len(finite)

    def __str__(self) -> str:
        bad = f", not finite at {self.not_finite}" if self.not_finite else ""
        return f"{self.first:.3g} at first, {self.last:.3g} at last, {self.least:.3g} to {self.most:.3g}{bad}"


@dataclass
class Fired:
    """A rule that fired. count: at how many steps."""

    first: Event
    last: Event
    count: int = 0

    def take(self, event: Event) -> None:
        self.count += event.step != self.last.step or not self.count
        self.last = event


@dataclass
class WatchedRun:
    """losses, gradients, looks: at how many steps each was measured. skipped: updates that did nothing, as a fused optimizer
    under a loss scaler says. with_gradient: layers that ever had one. spans, latest, fired, minor: by quantity, by reading, by
    rule. units: None if they are not listened to."""

    layers: Layers
    steps: Steps
    units: Units | None
    losses: int = 0
    gradients: int = 0
    looks: int = 0
    skipped: int = 0
    norm_is_given: bool = False
    own_seconds: float = 0.0
    seconds: float = 0.0
    with_gradient: set[str] = field(default_factory=set)
    spans: dict[str, Span] = field(default_factory=dict)
    latest: dict[str, Numbers] = field(default_factory=dict)
    fired: dict[str, Fired] = field(default_factory=dict)
    minor: Counter[str] = field(default_factory=Counter)

    def take(self, new: Sequence[Reading], events: Sequence[Event]) -> list[Event]:
        """The events whose rule fires for the first time."""
        for reading in new:
            self._count(reading)
            if (series := series_of(reading, self.layers)) is not None:
                self.spans.setdefault(series.name, Span()).take(series.values)
            self.latest[reading.name] = reading.values
        known = set(self.fired)
        self.minor.update(event.rule for event in events if event.is_minor)
        for event in (event for event in events if not event.is_minor):
            self.fired.setdefault(event.rule, Fired(event, event)).take(event)
        return [fired.first for rule, fired in self.fired.items() if rule not in known]

    def _count(self, reading: Reading) -> None:
        if reading.name == readings.LOSS:
            self.losses += len(reading.steps)
        if reading.name == readings.GRADIENTS:
            self.gradients += 1
            self.with_gradient |= {self.layers.names[i] for i in np.flatnonzero(reading.values)}
        self.looks += reading.name == readings.RATIOS
        if reading.name == readings.SKIPPED:
            self.skipped += int(np.count_nonzero(reading.values))


def series_of(reading: Reading, layers: Layers) -> Reading | None:
    """A reading in one number a step: of ratios the median matrix's, of LRs the largest group's, of units the largest share, of
    gradients none."""
    name, steps, values = reading
    if name == readings.LRS:
        return Reading(name, steps, values.max(keepdims=True))
    if name == readings.RATIOS:
        moved = values[layers.is_matrix & np.isfinite(values)]
        return Reading(UPDATE_RATIO, steps, np.median(moved, keepdims=True)) if len(moved) else None
    if name == readings.SILENT:
        return Reading(name, steps, values.max(keepdims=True)) if len(values) and values.max() >= 0 else None
    return None if name in (readings.GRADIENTS, readings.SKIPPED) else reading
