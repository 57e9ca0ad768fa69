"""All that studies are written with, in one import: `from folklore.studies.kit import *`.

What a study declares, every metric that several studies use, criteria (criteria.py), and the usual workloads and grids.
"""

from typing import Any

from ..harness.declare import *
from ..harness.declare.draft import Draft as Draft
from ..harness.declare.draft import Part as Part
from ..harness.declare.draft import Settings as Settings
from ..harness.declare.metrics import *
from .comparing import compare as compare
from .criteria import *

# Workloads of laptop scale, and what one GPU and a cluster make of a GPT.
SMALL_GPT: dict[str, Any] = {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "heads": 2, "context": 16}
DIGITS_MLP: dict[str, Any] = {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2}
GPU_GPT: dict[str, Any] = {"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64}
CLUSTER_GPT: dict[str, Any] = {"dataset": "web-text", "width": 768, "depth": 16, "heads": 12, "context": 1024}


def peak_lrs(*exponents: float) -> dict[str, tuple[float, ...]]:
    """Factors of an arm: a peak LR of 2 to the power of each exponent."""
    return {"peak_lr": tuple(2.0**exponent for exponent in exponents)}


def lr_grid(low: float, high: float, per_octave: int = 1) -> dict[str, tuple[float, ...]]:
    """Factors of an arm: peak LRs from 2^low to 2^high, both included."""
    count = round((high - low) * per_octave) + 1
    return peak_lrs(*(low + index / per_octave for index in range(count)))
