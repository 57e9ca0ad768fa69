"""Random numbers that depend on a key alone."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def keyed(key: int, device: str = "cpu") -> Iterator[None]:
    """Random draws of torch, Python and NumPy inside depend on this key alone; their generators are restored. Not
    torch.manual_seed, which formats and keeps a stack for every kind of device that is not used."""
    with torch.random.fork_rng(devices=[device] if device != "cpu" else []), _python_and_numpy(key):
        torch.default_generator.manual_seed(key)
        if device != "cpu":
            torch.cuda.manual_seed(key)
        yield


@contextmanager
def _python_and_numpy(key: int) -> Iterator[None]:
    before = random.getstate(), np.random.get_state()
    random.seed(key)
    np.random.seed(key % 2**32)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
