"""Criteria by the region that they claim, observations reported beside them, and gaps of losses."""

from typing import Any

from ..harness.declare import *
from ..harness.declare.metrics import *


def computed(function: str, number: str, **arguments: Any) -> Computed:
    """A number of a function in studies/computed, which trains nothing: `module.function`."""
    return Computed(function=function, arguments=arguments, number=number)


def loss_gap(arm: str, reference: str, metric: Any = TunedLoss, best_of: tuple[str, ...] = (), **options: Any) -> LossGap:
    """How much higher the arm ends than the reference, paired by seed, as a share of the loss reduction.

    metric: the loss of each, a kind such as TunedLoss, FinalLoss or LossAt; options: its other fields. best_of: the arms whose
    lowest loss ends the reduction; none: both.
    """
    return LossGap(left=metric(arm=arm, **options), right=metric(arm=reference, **options), best_of=best_of)


def at_equal_training_loss(arm: str, reference: str, level: float, of: str = "evaluation_loss", **options: Any) -> Gap:
    """How much higher a curve of the arm lies than the reference's, each where its training loss first comes to a level.

    For generalization, early stopping and the LR as a lever: at equal steps one of the two has simply learnt more.
    """
    return _matched(arm, reference, of=of, where="train_loss", level=level, **options)


def at_equal_new_accuracy(arm: str, reference: str, level: float, **options: Any) -> Gap:
    """How much higher the arm's accuracy on old tasks is, each where that on the new one first comes to a level."""
    return _matched(arm, reference, of="evaluation_old_accuracy", where="evaluation_new_accuracy", level=level, **options)


def _matched(arm: str, reference: str, **options: Any) -> Gap:
    return Gap(left=Matched(arm=arm, **options), right=Matched(arm=reference, **options))


def relative_loss_gap(arm: str, reference: str, metric: Any = TunedLoss, **options: Any) -> RelativeGap:
    """The same as a share of the reference's loss."""
    return RelativeGap(left=metric(arm=arm, **options), right=metric(arm=reference, **options))


def predicted(value: float, source: str, spread: float | None = None, scales: tuple[str, ...] | None = None) -> Expected:
    """The prediction of theory or a publication for a criterion. spread: between seeds, as a pilot had it."""
    return Expected(value=value, source=source, spread=spread, scales=scales)


def at_least(
    value: float, observe: Any, name: str = "", says: str = "", refuted: float | None = None, **options: Any
) -> Criterion:
    """Claimed from a value up, refuted from there down, or from `refuted` down."""
    bound = value if refuted is None else refuted
    return criterion(AtLeast(value=value), AtMost(value=bound), observe, name, says, **options)


def at_most(
    value: float, observe: Any, name: str = "", says: str = "", refuted: float | None = None, **options: Any
) -> Criterion:
    """Claimed from a value down, refuted from there up, or from `refuted` up."""
    bound = value if refuted is None else refuted
    return criterion(AtMost(value=value), AtLeast(value=bound), observe, name, says, **options)


def within(
    low: float,
    high: float,
    observe: Any,
    name: str = "",
    says: str = "",
    refuted: Rule | tuple[float, float] | None = None,
    **options: Any,
) -> Criterion:
    """Claimed within a range; refuted outside of it, or of a wider one, or where `refuted` says."""
    if refuted is None or isinstance(refuted, tuple):
        least, most = refuted or (low, high)
        refuted = Outside(low=least, high=most)
    return criterion(Within(low=low, high=high), refuted, observe, name, says, **options)


def as_published(
    value: float, margin: float, observe: Any, source: str, name: str = "", says: str = "", **options: Any
) -> Criterion:
    """The number that theory or a publication gives, where there is one: a criterion is that number, and no bar of ours.

    margin: how far from it does not matter, a difference, or a factor above 1 where the metric's axis is a logarithm.
    """
    low, high = (value / margin, value * margin) if observe.log_axis else (value - margin, value + margin)
    return within(low, high, observe, name, says, expected=predicted(value, source), **options)


def beyond(low: float, high: float, observe: Any, name: str = "", says: str = "", **options: Any) -> Criterion:
    """Claimed outside of a range, refuted within it."""
    return criterion(Outside(low=low, high=high), Within(low=low, high=high), observe, name, says, **options)


def no_worse(observe: Any, name: str = "", says: str = "", margin: float = 0.005, **options: Any) -> Criterion:
    """Non-inferiority: at most `margin` higher than the reference; being better never refutes."""
    return criterion(None, None, observe, name, says, **{"test": "no_worse", "null": 0.0, "margin": margin, **options})


def equivalent(observe: Any, name: str = "", says: str = "", *, margin: float, **options: Any) -> Criterion:
    """The same as the reference within `margin`, either way."""
    return criterion(None, None, observe, name, says, **{"test": "equivalence", "null": 0.0, "margin": margin, **options})


def exceeds(observe: Any, name: str = "", says: str = "", by: float = 0.005, **options: Any) -> Criterion:
    """Above zero by at least what matters; refuted at zero and below, and where it is surely smaller than that."""
    return at_least(by, observe, name, says, **{"null": 0.0, "margin": by, "refuted": 0.0, **options})


def criterion(claimed: Rule | None, refuted: Rule | None, observe: Any, name: str, says: str, **options: Any) -> Criterion:
    """A criterion of two regions, in the unit of its metric unless another is given."""
    words = {"name": name, "says": says, "unit": unit_of(observe)}
    return Criterion(**{**words, "observe": observe, "claimed": claimed, "refuted": refuted, **options})


def reported(observe: Any, name: str = "", unit: str | None = None) -> Reported:
    """An observation beside a claim's criteria, which decides nothing."""
    return Reported(name=name, observe=observe, unit=unit_of(observe) if unit is None else unit)


def unit_of(observe: Observed) -> str:
    """How numbers of a metric are spelled: shares in percent, gaps of losses in percent with a sign, ratios as factors."""
    if isinstance(observe, LossGap | RelativeGap | MeanGap):
        return "relative"
    if observe.is_share or observe.UNIT.startswith(("share", "relative")) or getattr(observe, "of", None) == "test_error":
        return "share"
    if isinstance(observe, Gap):
        return unit_of(observe.left)
    if observe.UNIT.startswith("none (a ratio") or (isinstance(observe, Curve) and observe.divided_by is not None):
        return "x"
    return "octaves" if observe.UNIT == "octaves" else ""
