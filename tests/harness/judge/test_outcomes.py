"""Which verdict and reading an interval has: every case of the table in harness/judge/outcomes.py."""

import itertools
import math

import numpy as np
import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Outside, Rule, Within
from folklore.harness.declare.metrics import Computed, FinalLoss, Gap, MaxTrainable, Quotient
from folklore.harness.judge.outcomes import outcome, probabilities
from folklore.harness.judge.statistics.intervals import Observation, Sampled, student

GAP = Gap(left=FinalLoss(arm="a"), right=FinalLoss(arm="b"))
RATIO = Quotient(top=MaxTrainable(arm="a"), bottom=MaxTrainable(arm="b"))


def seen(low: float, high: float, log_axis: bool = False) -> Observation:
    """An observation of ten seeds whose 95% interval is that."""
    axis = math.log if log_axis else float
    ends = [axis(low), axis(high)]
    centre, half = sum(ends) / 2, (ends[1] - ends[0]) / 2
    estimate = math.exp(centre) if log_axis else centre
    observation = student(Sampled(estimate, np.ones(2), 10, log_axis), half / 2.2621571628)
    assert (observation.low, observation.high) == pytest.approx((low, high), rel=1e-6, abs=1e-9)
    return observation


def judged(criterion: Criterion, observation: Observation, alpha: float = 0.05) -> tuple[str, str]:
    return outcome(criterion, observation, probabilities(criterion, observation), alpha)


def effect(claimed: Rule, refuted: Rule, null: float | None = 0.0, margin: float | None = None) -> Criterion:
    return Criterion(name="x", observe=GAP, null=null, claimed=claimed, refuted=refuted, margin=margin)


SHARE = {"kind": "failure_rate", "arm": "a", "tuned_for": "b"}
AT_LEAST_TWO = effect(AtLeast(value=2.0), AtMost(value=0.5), margin=0.3)


@pytest.mark.parametrize(
    ("interval", "verdict", "reading"),
    [
        ((2.1, 3.0), "supported", ""),
        ((0.6, 1.9), "partly", "smaller"),
        ((0.6, 2.5), "partly", "direction"),
        ((0.1, 0.4), "refuted", "smaller"),
        ((-0.2, 0.2), "refuted", "no effect"),
        ((-0.4, 0.4), "refuted", "smaller"),  # inside the refuting region, but not within the margin
        ((-5.0, 0.4), "refuted", "smaller"),
        ((-2.0, -1.0), "refuted", "opposite"),
        ((-2.0, 3.0), "open", "too noisy"),
        ((-0.1, 1.5), "open", "too noisy"),  # surely not as claimed, but whether it is anything only noise leaves open
    ],
)
def test_an_effect(interval: tuple[float, float], verdict: str, reading: str) -> None:
    assert judged(AT_LEAST_TWO, seen(*interval)) == (verdict, reading)


@pytest.mark.parametrize(
    ("interval", "verdict", "reading"),
    [
        ((-3.0, -2.1), "supported", ""),
        ((-1.9, -0.6), "partly", "smaller"),
        ((1.0, 2.0), "refuted", "opposite"),
        ((-0.4, -0.1), "refuted", "smaller"),
    ],
)
def test_an_effect_below_the_null(interval: tuple[float, float], verdict: str, reading: str) -> None:
    """The same with the sign turned: more negative is larger."""
    assert judged(effect(AtMost(value=-2.0), AtLeast(value=-0.5)), seen(*interval)) == (verdict, reading)


def test_a_band_can_be_exceeded() -> None:
    band = effect(Within(low=5.0, high=20.0), AtMost(value=1.5), null=0.0)
    assert judged(band, seen(6.0, 18.0)) == ("supported", "")
    assert judged(band, seen(25.0, 40.0)) == ("partly", "larger")
    assert judged(band, seen(2.0, 4.0)) == ("partly", "smaller")
    outside = effect(Within(low=5.0, high=20.0), Outside(low=2.0, high=50.0), null=None)
    assert judged(outside, seen(60.0, 90.0)) == ("refuted", "larger")
    assert judged(outside, seen(0.5, 1.5)) == ("refuted", "smaller")
    assert judged(outside, seen(25.0, 40.0)) == ("open", "between")
    assert judged(outside, seen(25.0, 60.0)) == ("open", "too noisy"), "it may lie beyond 50, which refutes"
    alike = effect(AtLeast(value=1.0), AtMost(value=1.0), null=None)
    assert judged(alike, Observation(1.0, 1.0, 1.0, 5, lambda low, high: 1.0)) == ("open", "between"), "no noise at all"


def test_a_ratio_is_judged_on_its_logarithm() -> None:
    criterion = Criterion(
        name="x", observe=RATIO, null=1.0, claimed=AtLeast(value=2.0), refuted=AtMost(value=1.05), margin=1.1, unit="x"
    )
    assert criterion.negligible == pytest.approx((1 / 1.1, 1.1))
    assert judged(criterion, seen(2.1, 4.0, log_axis=True)) == ("supported", "")
    assert judged(criterion, seen(1.2, 1.8, log_axis=True)) == ("partly", "smaller")
    assert judged(criterion, seen(0.95, 1.08, log_axis=True)) == ("refuted", "no effect")
    assert judged(criterion, seen(0.3, 0.8, log_axis=True)) == ("refuted", "opposite")


def test_being_better_never_refutes() -> None:
    criterion = Criterion.model_validate(
        {"name": "x", "observe": GAP.model_dump(), "test": "no_worse", "null": 0.0, "margin": 0.5}
    )
    assert criterion.claimed == AtMost(value=0.5)
    assert judged(criterion, seen(-9.0, -7.0)) == ("supported", "")
    assert judged(criterion, seen(0.6, 0.9)) == ("refuted", "worse")
    assert judged(criterion, seen(-1.0, 2.0)) == ("open", "too noisy")
    higher = Criterion.model_validate({**criterion.model_dump(exclude={"claimed", "refuted"}), "better": "higher"})
    assert judged(higher, seen(7.0, 9.0)) == ("supported", "")
    assert judged(higher, seen(-2.0, -0.6)) == ("refuted", "worse")


def test_equivalence_is_two_one_sided_tests_at_five_percent_a_side() -> None:
    """Supported exactly if the 90% interval lies inside the margin; against scipy's t distribution."""
    from scipy.stats import t

    criterion = Criterion.model_validate(
        {"name": "x", "observe": GAP.model_dump(), "test": "equivalence", "null": 0.0, "margin": 1.0}
    )
    generator = np.random.default_rng(3)
    verdicts = set()
    for mean, error in itertools.product(generator.uniform(-1.5, 1.5, 20), (0.1, 0.3, 0.6)):
        observation = student(Sampled(mean, np.ones(2), 10, False), error)
        half = t.ppf(0.95, 9) * error
        inside, outside = abs(mean) + half <= 1.0, abs(mean) - half >= 1.0
        verdict, _ = judged(criterion, observation)
        assert verdict == ("supported" if inside else "refuted" if outside else "open")
        verdicts.add(verdict)
    assert verdicts == {"supported", "refuted", "open"}


def test_an_exact_number_is_inside_or_not() -> None:
    criterion = Criterion(
        name="x",
        observe=Computed(function="constants.number_formats", number="fp16_largest"),
        claimed=AtLeast(value=3.0),
        refuted=AtMost(value=2.0),
        null=1.0,
    )

    def known(value: float) -> Observation:
        return Observation(value, value, value, 5, lambda low, high: 0.0 if low <= value <= high else 1.0)

    assert judged(criterion, known(3.0)) == ("supported", "")
    assert judged(criterion, known(2.5)) == ("partly", "smaller")
    assert judged(criterion, known(2.0)) == ("refuted", "smaller")


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"null": 5.0}, "lies inside the region claimed"),
        ({"margin": 3.0}, "holds differences within margin = 3, which do not matter"),
        ({"expected": {"value": -1.0, "source": "x"}, "observe": RATIO.model_dump(), "null": 1.0}, "cannot be observed"),
        ({"observe": SHARE, "claimed": {"kind": "at_least", "value": 0.8}}, "lies at the end of what can be observed"),
        ({"observe": SHARE, "null": None}, "nothing that can be observed is claimed"),
        ({"test": "no_worse", "null": 10**400, "margin": 1.0, "claimed": None, "refuted": None}, "region claimed is missing"),
    ],
)  # fmt: skip
def test_what_cannot_come_out_is_refused(declared: dict[str, object], says: str) -> None:
    whole = {**AT_LEAST_TWO.model_dump(), "margin": None, "refuted": {"kind": "at_most", "value": 0.5}, **declared}
    with pytest.raises(ValueError, match=says):
        Criterion.model_validate(whole)
