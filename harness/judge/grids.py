"""Weaknesses of the grids that a verdict was read off: too coarse for it to be firm, or read at an end."""

from collections.abc import Iterator

import numpy as np

from ..declare import Judgement
from ..declare.design import in_words
from ..declare.trials import NotEstimableError
from .observe import observe
from .trial_arrays import TrialArrays

# Octaves between two values of a factor, which are read as they stand.
COARSEST = 0.5


def weak_grids(judgement: Judgement, table: TrialArrays) -> list[str]:
    """A clause for each weakness of the grids by whose points a claim's criteria chose."""
    clauses: dict[str, None] = {}
    for criterion in judgement.criteria_at(table.scale):
        own = table.of_seeds(table.seed_numbers)
        try:
            observe(criterion.observe, own)
        except NotEstimableError:
            continue
        clauses |= dict.fromkeys(_weaknesses(own))
    return list(clauses)


def _weaknesses(table: TrialArrays) -> Iterator[str]:
    """At the ends first, then how coarse the grids are."""
    several = [(arm, over, index) for arm, over, index in sorted(table.chosen) if len(table.grid(arm, over)) > 1]
    for arm, over, index in several:
        grid = table.grid(arm, over)
        if index in (0, len(grid) - 1):
            yield f"the {in_words(over)} chosen for {table.arm_name(arm)}, {grid[index]:.3g}, lies at an end of its grid"
    coarse = {over for arm, over, index in several if _octaves(table, arm, over, index) > COARSEST + 1e-6}
    for over in sorted(coarse):
        yield f"the best {in_words(over)} is read off a grid coarser than half octaves"


def _octaves(table: TrialArrays, arm: str, over: str, index: int) -> float:
    """The widest step beside the value chosen; 0 for values that have no logarithm."""
    grid = table.grid(arm, over)[max(0, index - 1) : index + 2]
    return float(np.abs(np.diff(np.log2(grid))).max()) if (grid > 0).all() else 0.0
