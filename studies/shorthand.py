"""The field's usual comparisons, for studies. Each function returns a metric, or what is declared of one, like any other."""

from collections.abc import Mapping
from typing import Any

from folklore.harness.observables import FallShare, RelativeGap, TunedLoss
from folklore.harness.spec import Alternative, AtLeast, AtMost, Criterion, Reported


def lr_grid(low: float, high: float, per_octave: int = 1) -> dict[str, tuple[float, ...]]:
    """Factors of an arm: peak LRs from 2^low to 2^high, both included."""
    count = round((high - low) * per_octave) + 1
    return {"peak_lr": tuple(2.0 ** (low + index / per_octave) for index in range(count))}


def loss_gap(arm: str, reference: str, metric: Any = TunedLoss, **options: Any) -> FallShare:
    """How much higher the arm ends than the reference, paired by seed, as a share of the loss reduction.

    metric: the loss of each, a kind such as TunedLoss, FinalLoss or LossAt; options: its other fields.
    """
    return FallShare(left=metric(arm=arm, **options), right=metric(arm=reference, **options))


def relative_loss_gap(arm: str, reference: str, metric: Any = TunedLoss, **options: Any) -> RelativeGap:
    """The same as a share of the reference's loss."""
    return RelativeGap(left=metric(arm=arm, **options), right=metric(arm=reference, **options))


def no_worse(name: str, observe: Any, says: str, margin: float = 0.005, **options: Any) -> Criterion:
    """Non-inferiority: at most `margin` higher than the reference; being better never refutes."""
    return Criterion(
        **{"test": "no_worse", "null": 0.0, "margin": margin, "unit": "relative", **options},
        name=name,
        observe=observe,
        says=says,
    )


def exceeds(name: str, observe: Any, says: str, by: float = 0.005, **options: Any) -> Criterion:
    """Above zero by at least what matters; refuted at zero and below, and where it is surely smaller than that."""
    return Criterion(
        **{
            "null": 0.0,
            "margin": by,
            "claimed": AtLeast(value=by),
            "refuted": AtMost(value=0.0),
            "unit": "relative",
            **options,
        },
        name=name,
        observe=observe,
        says=says,
    )


def alternatives(readings: Mapping[str, Any]) -> tuple[Alternative, ...]:
    """Name -> another reading of a criterion."""
    return tuple(Alternative(name=name, observe=observe) for name, observe in readings.items())


def reported(metrics: Mapping[str, Any], unit: str = "") -> tuple[Reported, ...]:
    """Name -> what is shown beside the criteria and decides nothing."""
    return tuple(Reported(name=name, observe=observe, unit=unit) for name, observe in metrics.items())
