"""Random numbers keyed on (seed, use, block), so that no lane's numbers depend on its neighbours or on a restart."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Generator


def key(seed: int, use: str) -> int:
    """A 63-bit key for one use of one seed."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{use}".encode()).digest()[:8], "big") >> 1


@dataclass(frozen=True)
class Order:
    """The order in which a training draws its batches and all else but its initialization: a seed, and how many of its steps
    lie before the first one."""

    seed: int
    passed: int = 0

    def after(self, steps: int) -> "Order":
        return Order(self.seed, self.passed + steps)


def torch_generator(seed: int, use: str) -> "Generator":
    import torch  # takes seconds, and most that need a key train nothing

    return torch.Generator().manual_seed(key(seed, use))


def numpy_generator(seed: int, use: str, block: int) -> np.random.Generator:
    """A counter-based generator: block 7 can be drawn without drawing blocks 0 to 6."""
    return np.random.Generator(np.random.Philox(key=[key(seed, use), block]))
