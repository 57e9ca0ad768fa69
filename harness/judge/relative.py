"""Whether losses may be compared by shares of each other.

That needs a zero below which no loss falls. Cross-entropies and squared errors have one; the negative logarithm of a density
has none: a constant in it moves every ratio and no difference.
"""

import numpy as np

from ..declare.metrics.estimating.weighted import stacked
from ..declare.observed import ARM, RANGE_TEST, Observed
from ..declare.parts import arms_of, relative_to_losses, searched_factor
from ..declare.trials import NotEstimableError
from .trial_arrays import TrialArrays

# Below this share of what is learned a loss is near zero: a margin of 1% of it is then a hundred-thousandth of the loss
# reduction, less than the rounding to which lanes of different packs agree (2e-4 of a loss that falls by nats).
NEAR_ZERO = 1e-3


def require_a_zero(observable: Observed, table: TrialArrays) -> None:
    """Raises NotEstimableError (out of regime) if an observable is relative to losses that are negative or near zero, in any
    seed at any value of the factor."""
    trained = set(table.study.arms_at(table.scale))
    for leaf in relative_to_losses(observable):
        ramps = arms_of(leaf, RANGE_TEST) & trained
        for ramp in sorted(ramps):
            _require_positive_ramp(ramp, table)
        if leaf.of_losses == "shares of ramps":
            continue
        for arm in sorted((arms_of(leaf, ARM) & trained) - ramps):
            _require_positive(arm, searched_factor(leaf) or table.only_factor(arm), table)


def _require_positive(arm: str, over: str, table: TrialArrays) -> None:
    lowest = float(table.losses(arm, over, "test_loss").min())
    start = float(table.values(arm, over, "initial_loss").min())
    if lowest <= NEAR_ZERO * (start - lowest):
        _refuse(arm, f"from {start:.3g} ", lowest, table)


def _require_positive_ramp(arm: str, table: TrialArrays) -> None:
    """Losses near zero are no problem here: range tests read smoothed losses."""
    losses = stacked(table.values(arm, table.only_factor(arm), "curve_train_loss"))
    lowest = float(np.min(losses, where=np.isfinite(losses), initial=np.inf))
    if lowest < 0:
        _refuse(arm, "", lowest, table)


def _refuse(arm: str, start: str, lowest: float, table: TrialArrays) -> None:
    end = f"{lowest:.3g} {table.study.loss_unit_of(table.scale, [arm])}".rstrip()
    raise NotEstimableError(
        "out of regime",
        f"relative losses are undefined here: the loss of arm '{arm}' falls {start}to {end}, which is"
        f" {'negative' if lowest < 0 else 'near zero'}",
        "judge a difference of losses instead",
    )
