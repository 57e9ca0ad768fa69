"""The state a lane starts from, and the order in which it draws, if it goes on where another trial stood."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ..declare import Training
from ..randomness import Order, key


@dataclass(frozen=True)
class LaneState:
    """The state of a lane: tensors as Learner.lane_state names them, and its order from there on."""

    tensors: Mapping[str, Tensor]
    order: Order

    def to_tensors(self) -> dict[str, Tensor]:
        """The whole state, as a file holds it."""
        return {**self.tensors, ORDER: torch.tensor([self.order.seed, self.order.passed])}

    @classmethod
    def from_tensors(cls, whole: Mapping[str, Tensor]) -> "LaneState":
        """The inverse of `to_tensors`. Raises KeyError or ValueError for tensors that are no state."""
        seed, passed = whole[ORDER].tolist()
        return cls({name: tensor for name, tensor in whole.items() if name != ORDER}, Order(seed, passed))


ORDER = "order"


def order_of(training: Training, seed: int, start: LaneState | None) -> Order:
    """The order in which a lane sees its examples: it continues that of its start, or begins another one."""
    own = key(seed, f"data order {training.data_order}") if training.data_order else seed
    return start.order if start is not None and start.order.seed == own else Order(own)
