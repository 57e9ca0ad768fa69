"""Random numbers that are a function of seed, step and place, computed on the device: the same on all of them, for any
neighbours, and as often as they are asked for.

A step that is captured as a CUDA graph can draw nothing again on the host. So a counter is hashed: 32 bits in int64, with
products that fit there, because what overflows is not the same everywhere. The hash is lowbias32 with the constants
0x21f0aaad and 0x735a2d97 (Wellons 2018, Prospecting for hash functions, and its later list of better constants).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..randomness import Order, key

BITS = 32
MASK = 2**BITS - 1
CHANCES = 2.0**BITS


def hashed(x: Tensor) -> Tensor:
    """A permutation of the integers below 2^32, entry by entry."""
    x = x ^ (x >> 16)
    x = (x * 0x21F0AAAD) & MASK
    x = x ^ (x >> 15)
    x = (x * 0x735A2D97) & MASK
    return x ^ (x >> 15)


def number_of(place: str) -> int:
    """A place's own 32 bits: FNV-1a (Fowler, Noll and Vo), in arithmetic that a compiler's trace follows."""
    bits = 0x811C9DC5
    for letter in place:
        bits = ((bits ^ ord(letter)) * 0x01000193) & MASK
    return bits


class Counted:
    """Random bits of K lanes at the step in `clock` [1], a tensor that stays where it is. use: what the numbers are for."""

    def __init__(self, orders: Sequence[Order], use: str, clock: Tensor):
        self.clock = clock
        passed = [order.passed for order in orders]
        self.passed_K1 = torch.tensor(passed, device=clock.device).unsqueeze(1) if any(passed) else None
        keys = [key(order.seed, use) for order in orders]
        # Two keys a lane, [K, 1] each.
        self.first_K1, self.second_K1 = (
            torch.tensor([lane_key >> shift & MASK for lane_key in keys], dtype=torch.int64, device=clock.device).unsqueeze(1)
            for shift in (0, 31)
        )

    def bits(self, place: str, count: int, start: int = 0) -> Tensor:
        """Integers below 2^32, [K, count]: those numbered from `start` on."""
        number = torch.arange(start, start + count, device=self.clock.device)
        step = self.clock if self.passed_K1 is None else self.clock + self.passed_K1
        at_K1 = hashed(self.first_K1 ^ (step & MASK))
        at_K1 = hashed(at_K1 ^ number_of(place))
        return hashed(((number ^ at_K1) + hashed(at_K1 ^ self.second_K1)) & MASK)
