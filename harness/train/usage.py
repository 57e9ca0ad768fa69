"""Time and memory that a pack takes."""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


class Usage:
    """seconds: of the whole training so far. step_times: of plain steps that prepared nothing, in packs of one lane."""

    def __init__(self, device: torch.device):
        self.device = device
        self.seconds = 0.0
        self.step_times: list[float] = []
        self.plain_peak_bytes = self.earlier_peak_bytes = 0

    @contextmanager
    def step(self, plain: bool, settled: bool) -> Iterator[None]:
        """A step with the device's queue empty before and after it, so that its time is its own. settled: whether it prepares
        nothing; plain: whether it neither probes nor evaluates."""
        self.synchronize()
        if plain and self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)  # probes and evaluations are not the run's own
        started = time.perf_counter()
        yield
        self.synchronize()
        if plain:
            if settled:
                self.step_times.append(time.perf_counter() - started)
            # A replayed graph allocates nothing that is counted: the steps that prepare it show what it takes.
            if self.device.type == "cuda":
                self.plain_peak_bytes = max(self.plain_peak_bytes, torch.cuda.max_memory_allocated(self.device))

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Inside, more is held than the training itself needs: a device's peak is counted on from where it was before.

        On a CPU the peak is the process's own, which the system does not take back."""
        if self.device.type == "cuda":
            self.earlier_peak_bytes = self._device_peak_bytes()
        try:
            yield
        finally:
            if self.device.type == "cuda":
                torch.cuda.reset_peak_memory_stats(self.device)

    @property
    def step_seconds(self) -> float | None:
        """Median time of a step; None if none was timed by itself."""
        return float(np.median(self.step_times)) if self.step_times else None

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def peak_memory_bytes(self) -> int:
        """Peak of the whole pack: the device's allocator on a GPU (over plain steps for a lane trained alone), the process's
        resident set on a CPU."""
        if self.plain_peak_bytes:
            return self.plain_peak_bytes
        if self.device.type == "cuda":
            return self._device_peak_bytes()
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

    def _device_peak_bytes(self) -> int:
        return max(self.earlier_peak_bytes, torch.cuda.max_memory_allocated(self.device))
