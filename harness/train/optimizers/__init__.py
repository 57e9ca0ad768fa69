"""Optimizers over a pack, a module each: to add one is to add a module, whose class it calls OPTIMIZER.

A module is imported without torch, for the words that pages and plans read; what computes imports it itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...declare import Training
from ...declare.own_address import OWN
from ...declare.registry import registered
from .base import PackedOptimizer, Part

if TYPE_CHECKING:
    from torch import Tensor


def optimizer_kind(name: str) -> type[PackedOptimizer]:
    """The class of an optimizer. Raises UserError for an unknown name."""
    if name == OWN:
        from ..workloads.own.optimizer import OwnOptimizer

        return OwnOptimizer
    kind: type[PackedOptimizer] = registered("optimizer", "train/optimizers", "OPTIMIZER", name)
    return kind


def make_optimizer(
    lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor, parts: Sequence[Part] = ()
) -> PackedOptimizer:
    return optimizer_kind(lanes[0].optimizer)(lanes, parameters_KP, decays_P, parts)
