"""Numbers and regions as readers have them."""

import pytest

from folklore.harness.declare import POINTS, AtLeast, AtMost, Criterion, Observed, Reported
from folklore.harness.declare.metrics import FinalLoss, Gap, LossGap, RelativeGap, Scaled, Share, TunedLoss
from folklore.harness.judge.spelling import in_prose, region, spell, spell_declared, spell_interval

RELATIVE = RelativeGap(left=FinalLoss(arm="a"), right=FinalLoss(arm="b"))


def criterion(unit: str) -> Criterion:
    return Criterion(name="tuned loss", observe=RELATIVE, claimed=AtLeast(value=0.005), refuted=AtMost(value=-0.005), unit=unit)


@pytest.mark.parametrize(
    ("numbers", "unit", "text"),
    [
        ((1.8, 1.58, 2.04), "x", "1.8x (1.6–2.0)"),
        ((0.011, 0.006, 0.016), "relative", "1.1% (0.6–1.6)"),
        ((-0.002, -0.011, 0.006), "relative", "−0.20% (−1.10 to 0.60)"),
        ((0.41, 0.0, 1.0), "share", "41% (0–100)"),
        ((28.0, 28.0, 28.0), "GB", "28 GB"),
        ((12345.0, 11000.0, 13000.0), "", "12,345 (11,000–13,000)"),
        ((16.3, 9.4, 28.2), "x", "16x (9–28)"),
        ((0.0402, 0.0244, 0.0559), "nats", "0.040 nats (0.024–0.056)"),
        ((2.9532, 2.9511, 2.9553), "nats", "2.953 nats (2.951–2.955)"),
        ((0.0002, -0.005, 0.006), "relative", "0.02% (−0.50 to 0.60)"),
        ((1.000006, 0.999998, 1.000014), "relative", "100.00% (100.00–100.00)"),
        ((0.33, 0.21, 0.44), POINTS, "33 points (21–44)"),
        ((0.01, 0.01, 0.01), POINTS, "1 point"),
    ],
)
def test_numbers_in_prose(numbers: tuple[float, float, float], unit: str, text: str) -> None:
    assert in_prose(*numbers, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.005, "share", "0.5%"),
        (0.999, "share", "99.9%"),
        (0.4999, "share", "49.99%"),
        (0.07, "share", "7%"),
        (-0.005, "relative", "-0.5%"),
        (0.02, "relative", "+2%"),
        (0.00125, "relative", "+0.125%"),
        (0.0, "relative", "0%"),
        (1.00001, "x", "1.00001x"),
        (20.0, "x", "20x"),
        (36.95, "nats", "36.95 nats"),
        (65503.0, "", "65,503"),
        (4e6, "tokens", "4,000,000 tokens"),
        (6.5e-08, "", "6.5e-08"),
        (1e30, "", "1e+30"),
        (1 / 1.1, "x", "0.909x"),  # worked out of a margin: nobody declared sixteen digits
        (1 / 3, "share", "33.3%"),
        (-0.0, "x", "0x"),
        (0.005, POINTS, "0.5 points"),
        (-0.01, POINTS, "-1 point"),
    ],
)
def test_what_was_declared_is_told_digit_by_digit(value: float, unit: str, text: str) -> None:
    assert spell_declared(value, unit) == text


def test_a_region_is_told_as_it_was_declared() -> None:
    """A threshold of half a percent is not 0%, whatever its unit."""
    for unit, text in (("share", "0.5%"), ("relative", "+0.5%"), ("x", "0.005x"), ("nats", "0.005 nats")):
        asked = criterion(unit)
        assert region(asked.claimed, asked) == f"at least {text}"
        assert region(asked.refuted, asked) == f"at most -{text.lstrip('+')}"


def error(arm: str) -> Observed:
    return TunedLoss(arm=arm, of="test_error")


LOSS_GAP = LossGap(left=FinalLoss(arm="a"), right=FinalLoss(arm="b"))
RECOVERED = Share(part=LOSS_GAP, whole=RELATIVE, whole_at_least=0.01)


@pytest.mark.parametrize(
    ("observe", "unit", "written"),
    [
        (error("a") - error("b"), "share", POINTS),
        (Scaled(of=error("a") - error("b"), by=0.5), "share", POINTS),
        (RECOVERED - RECOVERED, "relative", POINTS),
        (LOSS_GAP - LOSS_GAP, "relative", POINTS),
        (LOSS_GAP, "relative", "relative"),
        (error("a"), "share", "share"),
        (RECOVERED, "share", "share"),
        (LOSS_GAP, "share", "share"),
        (RelativeGap(left=error("a"), right=error("b")), "relative", "relative"),
        (error("a") / error("b"), "x", "x"),
        (FinalLoss(arm="a") - FinalLoss(arm="b"), "nats", "nats"),
        (Gap(left=RELATIVE, right=RELATIVE), "relative", "relative"),
    ],
)
def test_a_difference_of_shares_is_in_points(observe: Observed, unit: str, written: str) -> None:
    """33 points more, where 33% more would be a ratio. Shares themselves, and what is relative, stay in percent."""
    assert Reported(name="a number", observe=observe, unit=unit).written_in == written
    asked = Criterion(name="a", observe=observe, claimed=AtLeast(value=0.05), refuted=AtMost(value=0.02), unit=unit)
    assert asked.written_in == written
    points = region(asked.claimed, asked).endswith(" points")
    assert points is (written == POINTS)
    assert asked.unit == unit, "as it was declared"


def test_an_interval_of_points_names_them_once() -> None:
    assert spell_interval(0.055, 0.031, 0.079, POINTS) == "5.5 points [3.1, 7.9]"
    assert spell_interval(0.055, 0.031, 0.079, "share") == "5.5% [3.1%, 7.9%]"
    assert spell(-0.12, POINTS) == "-12 points"
