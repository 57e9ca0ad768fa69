"""How smooth a training loss is, step by step: what its means over many steps do not show."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# A step is a spike if its loss lies this many deviations above the median of this many steps before it, robustly estimated:
# 1.4826 times the median distance from the median (Huber 1981). Of Gaussian noise one step in 10^9 would.
SPIKE_WINDOW, SPIKE_DEVIATIONS, GAUSSIAN = 50, 6.0, 1.4826
# Steps whose windows are taken at once: medians copy them, and a run may have millions.
CHUNK = 20_000


def spikes(train_loss: Numbers) -> Numbers:
    """1 at every step that is a spike, else 0, [steps]; nan once a loss is not finite. None of the first SPIKE_WINDOW is
    one."""
    flags = np.zeros(len(train_loss))
    for start in range(SPIKE_WINDOW, len(train_loss), CHUNK):
        chunk = train_loss[start - SPIKE_WINDOW : start + CHUNK]
        flags[start : start + CHUNK] = _spikes(chunk)
    lost = np.flatnonzero(~np.isfinite(train_loss))
    flags[lost[0] if len(lost) else len(flags) :] = np.nan
    return flags


def _spikes(losses: Numbers) -> Numbers:
    """The same of the losses from the SPIKE_WINDOW-th on."""
    before = np.lib.stride_tricks.sliding_window_view(losses, SPIKE_WINDOW)[:-1]
    with np.errstate(invalid="ignore"):  # what is not finite is nan in the end
        median = np.median(before, axis=1)
        deviation = GAUSSIAN * np.median(np.abs(before - median[:, None]), axis=1)
        return np.asarray(losses[SPIKE_WINDOW:] - median > SPIKE_DEVIATIONS * deviation, dtype=np.float64)


def squared_changes(train_loss: Numbers) -> Numbers:
    """The squared change of each step's loss from the one before, [steps], nats squared; 0 at the first."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.square(np.diff(train_loss, prepend=train_loss[:1])))


def rises(train_loss: Numbers) -> Numbers:
    """1 at every step whose loss is above that of the one before, else 0, [steps]; 0 at the first; nan once a loss is not
    finite."""
    with np.errstate(invalid="ignore"):
        flags = np.asarray(np.diff(train_loss, prepend=train_loss[:1]) > 0, dtype=np.float64)
    lost = np.flatnonzero(~np.isfinite(train_loss))
    flags[lost[0] if len(lost) else len(flags) :] = np.nan
    return flags
