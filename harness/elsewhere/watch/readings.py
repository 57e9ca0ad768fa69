"""Measurements, on their device until they are read."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.float64]
LOSS, NORM, GRADIENTS = "loss", "gradient_norm", "gradients"
UPDATES, RATIOS, LRS = "updates", "update_ratios", "lr"
SILENT, SCALE, SKIPPED = "silent_units", "loss_scale", "skipped"


# One number a time.
SERIES = (LOSS, NORM, SCALE, SKIPPED)


class Reading(NamedTuple):
    """A quantity. steps: of the loop, from 1. values: of a series one for each step; else, of its one step, one for each
    parameter, layer, activation or group of the optimizer."""

    name: str
    steps: NDArray[np.int64]
    values: Numbers


class Readings:
    """Measurements that wait on their device, so that no step waits for them. unread: how many wait."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, int, Tensor | Numbers | float]] = []

    def add(self, name: str, step: int, value: Tensor | Numbers | float) -> None:
        self._waiting.append((name, step, value))

    @property
    def unread(self) -> int:
        return len(self._waiting)

    def read(self, last: int | None = None) -> list[Reading]:
        """All since the last time, in one transfer: each series as one reading, then all others in their order. last: what
        is of later steps still waits, as the losses of a step that is not done."""
        waiting = [item for item in self._waiting if last is None or item[1] <= last]
        self._waiting = [item for item in self._waiting if last is not None and item[1] > last]
        on_host = iter(_transferred([value for _, _, value in waiting if isinstance(value, Tensor)]))
        series, others = dict[str, tuple[list[int], list[float]]](), list[Reading]()
        for name, step, value in waiting:
            read = next(on_host) if isinstance(value, Tensor) else value
            if name in SERIES:
                steps, values = series.setdefault(name, ([], []))
                steps.append(step)
                values.append(float(read))
            else:
                others.append(Reading(name, np.array([step]), np.asarray(read)))
        return [*(Reading(name, np.array(steps), np.array(values)) for name, (steps, values) in series.items()), *others]


def _transferred(tensors: Sequence[Tensor]) -> list[Numbers]:
    if not tensors:
        return []
    device = tensors[0].device
    flat = torch.cat([tensor.detach().reshape(-1).to(device, torch.float32) for tensor in tensors]).cpu().double().numpy()
    parts = np.split(flat, np.cumsum([tensor.numel() for tensor in tensors])[:-1])
    return [part.reshape(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]
