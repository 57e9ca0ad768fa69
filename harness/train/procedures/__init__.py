"""Procedures: the work of a trial beyond the plain loop, each a class around another one. The pack loop names none of them.

A module each, whose class it calls PROCEDURE: to add one is to add a module. It is imported without torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from ...declare import Configuration
from ...declare.registry import module_names
from ...randomness import Order
from ..workloads.data import Dataset
from .base import Evaluation, Making, Procedure
from .plain import Plain

if TYPE_CHECKING:
    from ..learner import Learner

_KINDS = [import_module(f"{__name__}.{name}").PROCEDURE for name in module_names("train/procedures")]
# Of the innermost, one for each value of `sampling`; of the others, from the inside to the outside.
SAMPLINGS: dict[str, type[Plain]] = {kind.value: kind for kind in _KINDS if issubclass(kind, Plain)}
PROCEDURES: list[type[Procedure]] = sorted(
    (kind for kind in _KINDS if not issubclass(kind, Plain)), key=lambda kind: kind.place
)


def make_procedure(lanes: Sequence[Configuration], orders: Sequence[Order], dataset: Dataset, learner: Learner) -> Procedure:
    """The procedure of a pack of these lanes."""
    making, seeds = Making(lanes, orders, dataset, learner), [order.seed for order in orders]
    procedure: Procedure = SAMPLINGS[lanes[0].training.sampling](lanes[0], seeds, dataset, learner.network)
    for kind in PROCEDURES:
        procedure = kind.around(procedure, making)
    return procedure


__all__ = ["PROCEDURES", "SAMPLINGS", "Evaluation", "Procedure", "make_procedure"]
