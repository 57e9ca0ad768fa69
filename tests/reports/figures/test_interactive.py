"""What can be asked of a figure is what it shows."""

import json

import pytest

from folklore.harness.judging.observe import observe
from folklore.reports.figures import choosing, lr
from folklore.reports.figures.drawing import LINES, POINTS, Panel, grid
from folklore.reports.figures.interactive import specification
from folklore.reports.figures.palette import numbered
from folklore.reports.figures.scales import Scale
from tests.reports.figures.helpers import drawn, judgement_of, published


def test_every_row_of_the_frame_is_in_a_trace() -> None:
    drawing = drawn(lr.of_study(published("warmup")))
    told = specification(drawing)
    frame = drawing.frame
    rows = int(frame["mark"].isin((*LINES, *POINTS)).sum())
    assert sum(len(trace["x"]) for trace in told["data"] if "fill" not in trace) == rows
    assert any(trace.get("fill") == "toself" for trace in told["data"])
    assert told["layout"]["xaxis"]["type"] == "log"
    listed = [trace["name"] for trace in told["data"] if trace["showlegend"]]
    assert len(listed) == len(set(listed))


def test_regions_and_numbers_can_be_asked_too() -> None:
    records = published("warmup")
    judgement = judgement_of(records, "warmup.improves_best")
    shown = choosing.claim_figure(records, judgement)
    assert shown is not None
    told = specification(drawn(shown.drawing))
    assert {shape["type"] for shape in told["layout"]["shapes"]} == {"rect", "line"}
    seen = observe(judgement.criteria_at("laptop")[0].observe, records.table)
    assert any(f"{abs(seen.estimate):.2%}" in note["text"] for note in told["layout"]["annotations"])


def test_names_are_escaped_and_intervals_are_error_bars() -> None:
    panel = Panel(Scale("a <b>"), Scale("y", 10), "<i>")
    panel.add("estimate", "<script>", numbered(0), x=1.0, y=10.0, low=5.0, high=30.0)
    panel.note("1 < 2", 1.0, 100.0)
    drawing = grid([panel])
    assert drawing is not None
    told = specification(drawing)
    (trace,) = told["data"]
    assert trace["name"] == "&lt;script>"
    assert (trace["error_y"]["array"], trace["error_y"]["arrayminus"]) == ([20], [5])
    assert "<script>" not in json.dumps(told)
    (note,) = [each for each in told["layout"]["annotations"] if "1 &lt; 2" in each["text"]]
    assert note["y"] == pytest.approx(2.0), "the library wants logarithms"
