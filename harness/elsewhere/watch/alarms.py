"""The rules that fire on what was read: numbers of one run in, events out."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...declare.metrics.detectors import RULES as DETECTORS
from ...declare.metrics.detectors import Detector
from . import readings, rules
from .layers import Layers
from .readings import Numbers, Reading

# Values before the one that a rule on losses and norms judges.
WINDOWS: dict[Detector, int] = {"loss_ratio": 9, "deviations": 128, "spike": 50, "norm_ratio": 50}
WINDOW = max(WINDOWS.values())
# Rule -> the quantities that it reads.
SERIES: dict[Detector, tuple[str, ...]] = {
    "loss_ratio": (readings.LOSS,),
    "deviations": (readings.LOSS, readings.NORM),
    "spike": (readings.LOSS,),
    "norm_ratio": (readings.NORM,),
}
# Rule -> how far a value is from those of the window before it.
SIZES: dict[str, Callable[[Numbers, float], float]] = {
    "loss_ratio": lambda before, value: _over(value, before.mean()),
    "deviations": lambda before, value: _over(value - before.mean(), before.std(ddof=1)),
    "spike": lambda before, value: _over(value - np.median(before), 1.4826 * np.median(np.abs(before - np.median(before)))),
    "norm_ratio": lambda before, value: _over(value, np.median(before)),
}


@dataclass(frozen=True)
class Event:
    """A rule that fired at a step, from 1. value: how far, in the rule's unit. where: quantity or layer. is_minor: it did so
    by its letter only (rules.MINOR_RISE)."""

    rule: str
    step: int
    value: float
    where: str
    is_minor: bool = False


class Alarms:
    """Keeps what its rules need of the past: windows of the last losses and norms, and the first ones."""

    def __init__(self, layers: Layers, activations: Sequence[str]):
        """activations: a list that grows as they are met."""
        self.layers, self.activations = layers, activations
        self._last = {name: deque[float](maxlen=WINDOW) for name in (readings.LOSS, readings.NORM)}
        self._first = {readings.LOSS: (list[float](), rules.FIRST_LOSSES), readings.NORM: (list[float](), rules.FIRST_NORMS)}
        self._in_a_row: dict[tuple[str, str], int] = defaultdict(int)
        self._lrs: list[float] = []

    def take(self, new: Sequence[Reading]) -> list[Event]:
        """Events of what was read, by step; losses first, which tell the other rules whether a run has learnt."""
        events = [event for name in (readings.LOSS, readings.NORM) for event in self._of_series(name, new)]
        tests = {
            readings.LRS: self._keep_lr,
            readings.RATIOS: self._of_updates,
            readings.GRADIENTS: self._of_gradients,
            readings.SILENT: self._of_units,
            readings.SCALE: self._of_scale,
        }
        events += [event for reading in new if reading.name in tests for event in tests[reading.name](reading)]
        return sorted(events, key=lambda event: event.step)

    def _of_series(self, name: str, new: Sequence[Reading]) -> Iterator[Event]:
        for reading in (reading for reading in new if reading.name == name):
            is_finite = np.isfinite(reading.values)
            for at in np.flatnonzero(~is_finite):
                yield Event("nonfinite", int(reading.steps[at]), float(reading.values[at]), name)
            yield from self._of_finite(name, reading.steps[is_finite], reading.values[is_finite])

    def _of_finite(self, name: str, steps: NDArray[np.int64], new: Numbers) -> Iterator[Event]:
        first, count = self._first[name]
        first += new[: count - len(first)].tolist()
        before = len(self._last[name])
        values = np.array([*self._last[name], *new])
        self._last[name].extend(new.tolist())
        for rule, quantities in SERIES.items():
            # A value with fewer than the rule's window before it fires nothing.
            if name in quantities and len(values) > WINDOWS[rule]:
                fires = np.asarray(DETECTORS[rule].scores(values, values) > DETECTORS[rule].limit)
                for at in np.flatnonzero(fires[before:]) + before:
                    past, value = values[at - WINDOWS[rule] : at], float(values[at])
                    is_minor = self._is_minor(name, past, value)
                    yield Event(rule, int(steps[at - before]), SIZES[rule](past, value), name, is_minor)

    def _is_minor(self, name: str, past: Numbers, value: float) -> bool:
        """Whether a value is small beside what the run has gained, or began with."""
        first, mean = float(np.median(self._first[name][0])), float(past.mean())
        if name == readings.NORM:
            return value < first or self._loss_is(lambda last, first: last < rules.FLOOR * first)
        return value - mean < (rules.MINOR_RISE_AT_FLOOR if mean < rules.FLOOR * first else rules.MINOR_RISE) * (first - mean)

    def _keep_lr(self, reading: Reading) -> Iterator[Event]:
        self._lrs.append(float(reading.values.max()))
        yield from ()

    def _of_updates(self, reading: Reading) -> Iterator[Event]:
        """Ratios of changes to weights, by layer; layers that were zero have none."""
        ratios = reading.values[self.layers.is_matrix]
        there = np.isfinite(ratios) & (ratios > 0)
        if not there.any():
            return
        names = np.array(self.layers.names)[self.layers.is_matrix][there]
        median = float(np.median(ratios[there]))
        looks = 1 if median > rules.UPDATE_ABSURD else rules.LOOKS
        yield from self._lasting("update_large", "", median > rules.UPDATE_MOST, int(reading.steps[0]), median, looks)
        is_small = median < rules.UPDATE_LEAST and self._loss_is_high() and self._lr_is_high()
        yield from self._lasting("update_small", "", is_small, int(reading.steps[0]), median)
        for name, factor in zip(names, ratios[there] / median, strict=True):
            differs = bool(factor > rules.LAYER_FACTOR or factor < 1 / rules.LAYER_FACTOR)
            yield from self._lasting("layers_differ", name, differs, int(reading.steps[0]), float(factor))

    def _of_gradients(self, reading: Reading) -> Iterator[Event]:
        total = float(np.linalg.norm(reading.values))
        first = float(np.median(self._first[readings.NORM][0] or [total]))
        is_zero = total < rules.NEAR_ZERO * first and self._loss_is_high()
        yield from self._lasting("gradient_zero", "", is_zero, int(reading.steps[0]), total / first if first else 0.0)
        # A frozen layer has none, and hides no other.
        there = self.layers.is_matrix & (reading.values > 0)
        matrices = reading.values[there]
        half = len(matrices) // 2
        if half:
            name = np.array(self.layers.names)[there][int(matrices[:half].argmin())]
            share = float(matrices[:half].min() / matrices[half:].max())
            events = self._lasting("vanishing", "", share < rules.VANISHED, int(reading.steps[0]), share)
            yield from (replace(event, where=str(name)) for event in events)

    def _of_units(self, reading: Reading) -> Iterator[Event]:
        for name, share in zip(self.activations, reading.values, strict=False):
            if share > rules.SILENT_SHARE:
                yield Event("silent_units", int(reading.steps[0]), float(share), name)

    def _of_scale(self, reading: Reading) -> Iterator[Event]:
        for step, scale in zip(reading.steps, reading.values, strict=True):
            if scale < rules.LEAST_SCALE:
                yield Event("loss_scale", int(step), float(scale), "")

    def _lasting(
        self, rule: str, where: str, fires: bool, step: int, value: float, looks: int = rules.LOOKS
    ) -> Iterator[Event]:
        self._in_a_row[rule, where] = self._in_a_row[rule, where] + 1 if fires else 0
        if self._in_a_row[rule, where] >= looks:
            yield Event(rule, step, value, where)

    def _loss_is_high(self) -> bool:
        return self._loss_is(lambda last, first: last > rules.HIGH_LOSS * first)

    def _loss_is(self, test: Callable[[float, float], bool]) -> bool:
        """Whether the medians of the last and the first losses pass a test; False before there are enough."""
        first, last = self._first[readings.LOSS][0], [*self._last[readings.LOSS]][-rules.FIRST_LOSSES :]
        return len(first) == rules.FIRST_LOSSES and test(float(np.median(last)), float(np.median(first)))

    def _lr_is_high(self) -> bool:
        """Whether the LR is neither in a warmup nor at the end of a decay."""
        lrs = self._lrs
        return len(lrs) >= rules.LOOKS and lrs[-1] <= lrs[-rules.LOOKS] and lrs[-1] >= 0.5 * max(lrs)


def _over(value: float, size: float) -> float:
    """Past values may all be the same, or zero."""
    return float(value) / float(size) if size else float("inf")
