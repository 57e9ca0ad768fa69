"""Compacted pictures against those matplotlib wrote: the same points, styles and letters, and every reference to something."""

import io
import re
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from folklore.reports.figures.render import THEME
from folklore.reports.figures.svg import FONTS, LINK, SVG, compact

NUMBER = re.compile(r"-?\d*\.?\d+")


def _figure() -> Figure:
    with mpl.rc_context(THEME):
        figure = Figure(figsize=(6.0, 2.0))
        left, right = figure.subplots(1, 2)
        x = np.linspace(0.0, 7.0, 120)
        left.fill_between(x, np.sin(x) - 0.3, np.sin(x) + 0.2, alpha=0.2, label="a <band>")
        left.plot(x, np.where(np.abs(x - 3.5) < 0.4, np.nan, np.sin(x)), marker="o", markevery=0.1)
        left.set(title="Broken & banded", xlabel="step", ylim=(-1.0, 1.0))
        right.plot(x[::20], np.cos(x[::20]), marker="D", linestyle="--")
        right.bar([2.0], [0.5], hatch="//")
        right.plot(x[::20], np.cos(x[::20]) / 2, marker="D", linestyle="none", color="#123456")
        left.legend()
        return figure


def _written(figure: Figure) -> str:
    buffer = io.StringIO()
    with mpl.rc_context(THEME):
        figure.savefig(buffer, format="svg", transparent=True)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def written() -> str:
    return _written(_figure())


def _read(text: str) -> ElementTree.Element:
    """The picture with the style of each class written where it is used."""
    root = ElementTree.fromstring(text[text.index("<svg") :])
    sheets = "".join(each.text or "" for each in root.iter(f"{SVG}style"))
    classes = dict(re.findall(r"\.(\w+)\{([^}]*)\}", sheets))
    for each in root.iter():
        if "class" in each.attrib:
            each.set("style", classes[each.attrib.pop("class")])
    return root


def _points(path: str) -> list[tuple[float, float]]:
    """The corners of a path of lines, by the rules of SVG: lower case is relative, numbers after a command repeat it."""
    found: list[tuple[float, float]] = []
    x = y = 0.0
    start = (0.0, 0.0)
    for command, rest in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        if command == "z":
            x, y = start
        numbers = [float(number) for number in NUMBER.findall(rest)]
        for index, (dx, dy) in enumerate(zip(numbers[::2], numbers[1::2], strict=True)):
            x, y = (dx, dy) if command.isupper() else (x + dx, y + dy)
            if command in "Mm" and index == 0:
                start = (x, y)
            found.append((x, y))
    return found


def _paths(text: str) -> list[str]:
    """Those of lines alone."""
    root = ElementTree.fromstring(text[text.index("<svg") :])
    return [path for each in root.iter(f"{SVG}path") if "C" not in (path := each.attrib["d"])]


def test_its_points_are_those_that_were_drawn(written: str) -> None:
    before, after = _paths(written), _paths(compact(written))
    assert len(before) == len(after) > 5
    assert max(len(_points(path)) for path in before) > 200
    for old, new in zip(before, after, strict=True):
        # Curves keep a tenth of a point, rounded once however many points come before.
        assert np.array(_points(new)) == pytest.approx(np.array(_points(old)), abs=0.0501)
        assert old.count("M") == new.count("M") + new.count("m"), "where a line is broken it stays so"
        assert old.count("z") == new.count("z")


def test_everything_is_clipped_as_it_was(written: str) -> None:
    """By itself or by a group around it; ids are numbered anew."""

    def clips(text: str) -> list[int]:
        found: list[str] = []

        def walk(parent: ElementTree.Element, clip: str) -> None:
            for each in parent:
                own = each.get("clip-path", clip)
                if each.tag in (f"{SVG}path", f"{SVG}use", f"{SVG}text") and parent.tag not in (f"{SVG}defs", f"{SVG}clipPath"):
                    found.append(own)
                walk(each, own)

        walk(_read(text), "")
        return [found.index(each) for each in found]

    assert clips(compact(written)) == clips(written)
    assert len(set(clips(written))) > 1
    assert compact(written).count("clip-path") < written.count("clip-path")


def test_every_marker_has_its_place_shape_and_style(written: str) -> None:
    def markers(text: str) -> list[tuple[float, float, str, str]]:
        root = _read(text)
        shapes = {f"#{each.attrib['id']}": each.attrib["d"] for each in root.iter(f"{SVG}path") if "id" in each.attrib}
        found = []

        def walk(parent: ElementTree.Element, style: str) -> None:
            for each in parent:
                own = each.get("style", style)
                if each.tag == f"{SVG}use":
                    shape = len(NUMBER.findall(shapes[each.attrib[LINK]]))
                    found.append((float(each.attrib["x"]), float(each.attrib["y"]), own.replace(" ", ""), str(shape)))
                walk(each, own)

        walk(root, "")
        return found

    before, after = markers(written), markers(compact(written))
    assert len(before) == len(after) > 20
    for old, new in zip(before, after, strict=True):
        assert new[:2] == pytest.approx(old[:2], abs=0.006)
        assert new[2:] == old[2:]


def test_nothing_refers_to_what_is_not_there(written: str) -> None:
    text = compact(written)
    names = re.findall(r' id="([^"]*)"', text)
    referred = set(re.findall(r'(?:url\(|href=")#(\w+)', text))
    assert "fill:url(#" in text, "a hatched bar"
    assert len(names) == len(set(names))
    assert referred == set(names)


def test_its_letters_are_those_that_were_written(written: str) -> None:
    def told(text: str) -> list[str]:
        return [each.text or "" for each in ElementTree.fromstring(text[text.index("<svg") :]).iter(f"{SVG}text")]

    assert told(compact(written)) == told(written)
    assert "Broken & banded" in told(written)
    styles = [each.attrib["style"] for each in _read(compact(written)).iter(f"{SVG}text")]
    assert [f"font-family:{FONTS}" in style for style in styles] == [True] * len(told(written))
    assert compact(written).count(f"font-family:{FONTS}") < len(told(written)) / 2, "each style is written once"


def test_it_is_less_than_half(written: str) -> None:
    assert len(compact(written)) < 0.5 * len(written)
    assert compact(written) == compact(_written(_figure()))
