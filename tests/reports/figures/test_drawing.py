"""A drawing's frame, and where its parts stand."""

import math
from dataclasses import replace

import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Expected
from folklore.harness.declare.metrics import Optimum, Quotient
from folklore.reports.figures.drawing import Drawing, Panel, caption, grid, leading, on_a_card
from folklore.reports.figures.palette import numbered
from folklore.reports.figures.render import PIXELS_AN_INCH, as_figure, laid_out
from folklore.reports.figures.scales import Scale
from tests.reports.figures.helpers import seen_in


def panel(*names: str, title: str = "") -> Panel:
    panel = Panel(Scale("x"), Scale("y"), title)
    for index, name in enumerate(names):
        panel.add("curve", name, numbered(index), x=[1.0, 2.0, 3.0], y=[1.0, 2.0, 4.0 + index])
    return panel


def test_a_row_for_every_number() -> None:
    pair = panel("a", "b")
    pair.note("said", 1.0, math.inf)
    assert len(seen_in(pair)) == 7
    assert pair.listed == ["a", "b"]
    assert pair.limits("y")[0] < 1.0 < 5.0 < pair.limits("y")[1]
    drawing = grid([panel("a"), panel("b"), panel("c")])
    assert drawing is not None
    assert [len(seen_in(part)) for part in drawing.panels] == [3, 3, 3]
    assert grid([]) is None


def test_regions_are_those_of_the_criterion() -> None:
    criterion = Criterion(
        name="wider",
        observe=Quotient(top=Optimum(arm="a"), bottom=Optimum(arm="b")),
        null=1.0,
        claimed=AtLeast(value=1.5),
        refuted=AtMost(value=1.1),
        expected=Expected(value=4.0, source="planted"),
    )
    plot = panel("a")
    plot.regions(criterion, "y")
    claimed, refuted = (seen_in(plot).query(f"series == '{name}'").iloc[0] for name in ("_claimed", "_refuted"))
    assert (claimed["low"], claimed["high"], refuted["low"], refuted["high"]) == (1.5, math.inf, -math.inf, 1.1)
    assert list(seen_in(plot).query("mark == 'rule'")["y"]) == [1.0, 4.0]
    assert caption(Drawing(((replace(plot, caption="Own."),),))) == (
        "Own. Green: the claim holds; red: it fails. Dotted: no difference. Dash-dotted: expected beforehand."
    )
    assert caption(Drawing(((replace(panel("a"), caption="Own."),),))) == "Own.", "what is not there is not explained"
    mirrored = panel("a")
    mirrored.regions(criterion, "y", both_sides=True)
    assert len(seen_in(mirrored).query("series == '_claimed'")) == 2


def test_names_of_a_panel_stand_below_it() -> None:
    (legend,) = laid_out(Drawing(((panel(*"abcdefg"),),))).legends
    assert legend.names == tuple("abcdefg")
    assert legend.top > laid_out(Drawing(((panel("a"),),))).placed[0].panel.height


def test_panels_with_the_same_names_share_a_legend_above() -> None:
    drawing = grid([panel("a", "b"), panel("a", "b"), panel("a", "b")])
    assert drawing is not None
    layout = laid_out(drawing)
    (legend,) = layout.legends
    assert legend.names == ("a", "b")
    assert all(box.top > legend.top for box in layout.placed)


@pytest.mark.parametrize("leads", [False, True])
def test_panels_do_not_cover_each_other(leads: bool) -> None:
    drawing = grid([(panel("a"), panel("a")), panel("b"), panel("c", title="long " * 20)])
    assert drawing is not None
    drawing = leading(drawing) if leads else drawing
    placed = laid_out(drawing).placed
    boxes = [(box.left, box.left + box.width, box.top, box.top + box.panel.height) for box in placed]
    assert all(0 < left < right < drawing.width for left, right, _, _ in boxes)
    for index, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[index + 1 :]:
            assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
    assert len({round(right - left, 6) for left, right, _, _ in boxes}) == 1


def test_a_page_begins_with_a_broad_figure_of_few_panels() -> None:
    drawing = grid([panel("a", "b"), *(panel(name) for name in "cdefg")])
    assert drawing is not None
    lead = leading(drawing)
    assert len(lead.stacks) == 2
    assert as_figure(lead).get_figwidth() * PIXELS_AN_INCH == pytest.approx(1000, rel=0.01)
    assert len(on_a_card(drawing).panels) == 1
    assert len(leading(Drawing(((panel("a"),),))).stacks) == 1
