"""Exact claims as checks: a number worked out from what the project itself computes with, or from torch's number formats.

No trial is read and no seed matters; a criterion's regions say which number is right. One file for a subject.
"""

from folklore.harness.observables.estimating.exact import (
    adam,
    constants,
    decay,
    descent,
    memory,
    noise,
    optimizers,
    ramp,
    sparse,
)
from folklore.harness.observables.estimating.exact.base import Check, Curve, Plot, Table

CHECKS: dict[str, Check] = {
    name: check
    for module in (constants, adam, decay, descent, memory, noise, optimizers, ramp, sparse)
    for name, check in module.CHECKS.items()
}

__all__ = ["CHECKS", "Check", "Curve", "Plot", "Table"]
