"""Criteria on their axes: what lies where."""

import re

import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Expected, Observable, Published, Within
from folklore.harness.declare.metrics import Curve, FinalLoss, Gap, MaxTrainable, Quotient, TunedLoss
from folklore.harness.judge.verdict import CriterionFinding
from folklore.reports.figures.axis import Axis, Label, interval_marks, placed
from folklore.reports.figures.strip import Strip, StripMark, strips
from tests.verdicts import a_finding

GAP = Gap(left=TunedLoss(arm="a"), right=TunedLoss(arm="b"))
RATIO = Quotient(top=MaxTrainable(arm="a"), bottom=MaxTrainable(arm="b"))


def criterion(observe: Observable = GAP, **fields: object) -> Criterion:
    regions = {"claimed": AtLeast(value=1e-2), "refuted": AtMost(value=1e-4)}
    return Criterion(**{"name": "one", "observe": observe, **regions, **fields})  # type: ignore[arg-type]


def finding(low: float | None, estimate: float | None, high: float | None, **fields: object) -> CriterionFinding:
    return a_finding("open", estimate=estimate, low=low, high=high, **fields)


def rects(drawing: str, name: str) -> list[tuple[float, float]]:
    """Left and right end of every band of a name, in percent."""
    found = re.findall(rf'<rect class="{name}" x="([\d.]+)%" width="([\d.]+)%"', drawing)
    return [(float(x), float(x) + float(width)) for x, width in found]


def centre(drawing: str) -> float:
    (found,) = re.findall(r'<circle cx="([\d.]+)%"', drawing)
    return float(found)


@pytest.mark.parametrize(
    ("observe", "middle"), [(Curve(arm="a", of="probe_update_ratio", statistic="median"), 1e-3), (GAP, 5.05e-3)]
)
def test_the_axis_is_that_of_what_is_observed(observe: Observable, middle: float) -> None:
    """Half-way between 1e-4 and 1e-2 lies their geometric mean for a scale, and the arithmetic one for a difference."""
    (strip,) = strips([StripMark(criterion(observe), finding(1e-4, middle, 1e-2), "one")])
    assert centre(strip.rows[0].drawing) == pytest.approx(50, abs=0.1)


@pytest.mark.parametrize("estimate", [0.0101, 0.02, 0.5, 40.0])
@pytest.mark.parametrize("observe", [GAP, RATIO])
def test_an_estimate_lies_in_the_band_of_the_region_that_holds_it(observe: Observable, estimate: float) -> None:
    (strip,) = strips([StripMark(criterion(observe), finding(estimate / 2, estimate, estimate * 2), "one")])
    drawing = strip.rows[0].drawing
    ((left, right),) = rects(drawing, "claimed")
    ((refuted_left, refuted_right),) = rects(drawing, "refuting")
    assert left <= centre(drawing) <= right <= 100.01
    assert refuted_left == 0
    assert refuted_right < left


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        ("share", ["0.5 points", "0.125 points", "expected 0.75 points: theory"]),  # a difference of two shares
        ("relative", ["+0.5%", "+0.125%", "expected +0.75%: theory"]),
        ("x", ["0.005x", "0.00125x", "expected 0.0075x: theory"]),
    ],
)
def test_thresholds_stand_on_the_axis_as_they_were_declared(unit: str, told: list[str]) -> None:
    regions = {"claimed": AtLeast(value=0.005), "refuted": AtMost(value=-0.005), "null": 0.0, "margin": 0.00125}
    asked = criterion(**regions, unit=unit, expected=Expected(value=0.0075, source="theory"))
    (strip,) = strips([StripMark(asked, finding(-0.001, 0.0, 0.001), "one")], "laptop")
    assert [text for text in told if f">{text}</text>" not in strip.ticks] == []


def test_rows_of_one_unit_share_an_axis_and_others_have_their_own() -> None:
    seen = [
        StripMark(criterion(unit="nats"), finding(0.1, 0.2, 0.3), "first"),
        StripMark(criterion(RATIO, unit="x"), finding(1, 2, 3), "ratio"),
        StripMark(criterion(unit="nats"), finding(0.2, 0.3, 0.4), "second"),
    ]
    nats, ratio = strips(seen)
    assert [row.name for row in nats.rows] == ["first", "second"]
    assert rects(nats.rows[0].drawing, "claimed") == rects(nats.rows[1].drawing, "claimed")
    assert centre(nats.rows[0].drawing) < centre(nats.rows[1].drawing)
    assert [row.name for row in ratio.rows] == ["ratio"]
    assert "claimed" in nats.heads


def test_rows_whose_regions_differ_have_bands_and_names_of_their_own() -> None:
    other = criterion(claimed=AtMost(value=0.1), refuted=AtLeast(value=0.2))
    (strip,) = strips([StripMark(criterion(), finding(0.1, 0.2, 0.3), "up"), StripMark(other, finding(0.1, 0.2, 0.3), "down")])
    assert not strip.heads
    up, down = (row.drawing for row in strip.rows)
    assert rects(up, "claimed") != rects(down, "claimed")
    assert ">claimed</text>" in up
    assert ">refutes</text>" in down


def test_the_other_side_of_the_null_refutes_too() -> None:
    asked = criterion(RATIO, null=1.0, claimed=AtLeast(value=2.0), refuted=AtMost(value=0.5), margin=1.1, unit="x")
    (strip,) = strips([StripMark(asked, finding(1.2, 1.5, 1.9), "one")])
    drawing = strip.rows[0].drawing
    ((left, right),) = rects(drawing, "refuting")
    (null,) = re.findall(r'<line class="null" x1="([\d.]+)%"', drawing)
    assert (left, right) == pytest.approx((0, float(null)))
    ((low, high),) = rects(drawing, "margin")
    assert low < float(null) < high < centre(drawing)


def test_what_was_expected_and_what_others_measured_is_marked_with_its_source() -> None:
    asked = criterion(
        RATIO, null=1.0, claimed=AtLeast(value=2.0), refuted=AtMost(value=1.0), unit="x",
        expected=Expected(value=4.0, source="Kalra <and> Barkeshli 2024, WRN-16-4", scales=("laptop",)),
    )  # fmt: skip
    theirs = Published(claim="c", finding="f", source="Others 2020, table 1", how="read", value=3.0, criterion="one")
    (strip,) = strips([StripMark(asked, finding(1.2, 1.5, 1.9), "one", (theirs,))], "laptop")
    assert "expected 4x: Kalra &lt;and&gt; Barkeshli 2024</text>" in strip.ticks
    assert "3x: Others 2020</text>" in strip.ticks
    assert strip.rows[0].drawing.count('class="expected"') == strip.rows[0].drawing.count('class="other"') == 1
    (elsewhere,) = strips([StripMark(asked, finding(1.2, 1.5, 1.9), "one", (theirs,))], "gpu")
    assert "expected" not in elsewhere.ticks


def test_what_has_no_number_says_why_and_what_is_exact_has_no_axis() -> None:
    (strip,) = strips([StripMark(criterion(), finding(None, None, None, reason="<lost>"), "one")])
    assert strip == Strip(strip.rows)
    assert strip.rows[0].instead == "no number: <lost>"


def test_a_long_interval_does_not_press_the_rest_together() -> None:
    asked = criterion(claimed=Within(low=-1, high=1), refuted=AtLeast(value=1))
    (strip,) = strips([StripMark(asked, finding(-1000, 0.5, 1000), "one")])
    ((left, right),) = rects(strip.rows[0].drawing, "claimed")
    assert right - left > 20
    assert strip.rows[0].drawing.count('class="beyond"') == 2


def test_an_estimate_outside_the_drawing_is_an_arrow() -> None:
    marks = interval_marks(Axis(0, 1), 50, 60, 70, 10, "interval")
    assert "<circle" not in marks
    assert marks.count('class="beyond"') == 1


def test_a_90_percent_interval_says_so() -> None:
    (strip,) = strips([StripMark(criterion(), finding(0.1, 0.2, 0.3, level=0.9), "one")])
    assert strip.rows[0].interval == "(0.10–0.30) 90%"
    (strip,) = strips([StripMark(criterion(observe=FinalLoss(arm="a")), finding(0.1, 0.2, 0.3), "one")])
    assert strip.rows[0].interval == "(0.10–0.30)"


def test_labels_never_cover_each_other() -> None:
    lines = placed([Label(position, "a label") for position in (0, 5, 50, 55, 60, 99)])
    for index, (_, _, at, line) in enumerate(lines):
        for _, _, other, same in lines[index + 1 :]:
            assert line != same or abs(at - other) > 10
    assert {anchor for _, anchor, _, _ in lines} == {"start", "middle", "end"}
