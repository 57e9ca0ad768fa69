"""Spaces measurements so that their time stays within a share of the run's."""

import time

import torch


class Pace:
    """After something took c seconds, it rests for c/share seconds and `least` steps. Rest is not saved up: a long evaluation
    between two steps is followed by one measurement. The first time, which is cold, costs no rest."""

    def __init__(self, share: float, least: int = 1, every: int | None = None):
        """every: a fixed number of steps instead, whatever it costs."""
        self.share, self.least, self.every = share, every or least, every
        self.count, self.step, self.time = 0, 0, 0.0

    def is_due(self, step: int) -> bool:
        return step >= self.step and (self.every is not None or time.perf_counter() >= self.time)

    def spent(self, step: int, seconds: float) -> None:
        """To be called after each time."""
        rest = seconds / self.share if self.count else 0.0
        self.count, self.step, self.time = self.count + 1, step + self.least, time.perf_counter() + rest


class Stopwatch:
    """Seconds of what is done within it; on an accelerator it waits for the device before and after, to measure its work."""

    def __init__(self, device: torch.device):
        self.waits, self.device, self.seconds, self._start = device.type != "cpu", device, 0.0, 0.0

    def __enter__(self) -> "Stopwatch":
        self._wait()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._wait()
        self.seconds = time.perf_counter() - self._start

    def _wait(self) -> None:
        if self.waits:
            torch.accelerator.synchronize(self.device)
