"""Optimizers over a pack, a module each: to add one is to add a module, whose class it calls OPTIMIZER.

A module is imported without torch, for the words that pages and plans read; what computes imports it itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from folklore.harness.errors import unknown
from folklore.harness.spec import Training
from folklore.harness.spec.configuration import OPTIMIZERS
from folklore.harness.training.optimizers.base import PackedOptimizer

if TYPE_CHECKING:
    from torch import Tensor


def optimizer_kind(name: str) -> type[PackedOptimizer]:
    """The class of an optimizer. Raises UserError for a name that is none's."""
    if name not in OPTIMIZERS:
        raise unknown("optimizer", name, OPTIMIZERS)
    kind: type[PackedOptimizer] = import_module(f"{__name__}.{name}").OPTIMIZER
    return kind


def make_optimizer(lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor) -> PackedOptimizer:
    return optimizer_kind(lanes[0].optimizer)(lanes, parameters_KP, decays_P)
