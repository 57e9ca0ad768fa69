"""Step times of the study of memory again, from the published trials, and the batch that fits, by arithmetic.

What else is computed there is tested in tests/studies/computed/test_computed_numbers.py.
"""

import numpy as np
import pandas as pd
import pytest

from folklore.harness.plan.catalog import load_study
from tests.reports.recomputed.tables import published

STUDY = "memory"


def of(claim: str, number: str) -> float:
    """The published number of a claim's criterion that reads this number of its function."""
    (judgement,) = (judgement for judgement in load_study(STUDY).judgements if judgement.claim == claim)
    (index,) = (at for at, criterion in enumerate(judgement.criteria) if getattr(criterion.observe, "number", "") == number)
    return published(claim, STUDY, index)


def parameters(width: int, depth: int, context: int, classes: int) -> int:
    """Parameters of a GPT: matrices, biases and gains of blocks, final norm, embedding and readout, positions."""
    return depth * (12 * width**2 + 13 * width) + 2 * width + 2 * classes * width + context * width


@pytest.mark.parametrize(("criterion", "plain", "again"), [(0, "plain", "recomputed"), (1, "mlp_plain", "mlp_recomputed")])
def test_checkpoint_time(table: pd.DataFrame, criterion: int, plain: str, again: str) -> None:
    seconds = table.pivot(index="seed", columns="arm", values="step_seconds")
    ratio = np.exp(np.log(seconds[again] / seconds[plain]).mean())
    assert ratio == pytest.approx(published("mem.checkpoint_time", STUDY, criterion), rel=1e-6)


def test_checkpoint_size(table: pd.DataFrame) -> None:
    """The batch of a GPT-2 medium that fits 24 GiB. All kept, the worst moment is the end of the forward pass. In segments it
    comes in the readout, by its three numbers a class, or in the backward pass of a segment, beside gradients; five segments
    of 24 blocks hold five at once, and 24 hold one."""
    width, depth, context, classes = 1024, 24, 1024, 32_000
    weights = parameters(width, depth, context, classes)
    free = 24 * 2**30 - 12 * weights
    kept = 4 * context * ((16 * depth + 2) * width + 3 * classes)

    def fits(segments: int, held: int) -> int:
        readout, backward = (segments + 2) * width + 3 * classes, (segments + 16 * held) * width
        return int(min(free / readout, (free - 4 * weights) / backward) / (4 * context))

    largest = max(fits(5, 5), fits(24, 1))
    assert of("mem.checkpoint_size", "batch") == pytest.approx(largest / int(free / kept), rel=0.1)
