"""Precisions of products and activations: a module each, whose PRECISION it is. To add one is to add a module.

Optimizer states stay in FP32, and so do weights, unless a precision rounds them (Micikevicius et al. 2018, section 3.1).
Precision is explicit, not autocast's. A module is imported without torch, for plans.
"""

from ...declare.registry import registered
from .base import Precision


def precision_named(name: str) -> Precision:
    """Raises UserError for an unknown name."""
    precision: Precision = registered("precision", "train/precisions", "PRECISION", name)
    return precision
