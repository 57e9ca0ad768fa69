"""SVG text as small as a page needs it: matplotlib writes each letter's style again, and a line for every point.

Nothing that can be seen changes: points of curves keep a tenth of a point (1/720 inch), everything else a hundredth.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
LINK = f"{XLINK}href"
# Matplotlib's list of families, over 150 letters for each text: the second is as wide as the first, and on most machines.
FONTS = "'DejaVu Sans',Verdana,sans-serif"
# A path of this many points is a curve or a band; shorter ones are markers, whose roundness shows.
MANY_POINTS = 20

_NUMBER = re.compile(r"-?\d+\.\d+")
_POINT = re.compile(r"([MLz])\s*(?:(-?[\d.]+) (-?[\d.]+)\s*)?")
_REFERENCE = re.compile(r"#(\w+)")
_FONTS = re.compile(r"font-family:[^;]*")


def compact(text: str) -> str:
    """The same picture. text: as matplotlib writes it."""
    ElementTree.register_namespace("", SVG[1:-1])
    ElementTree.register_namespace("xlink", XLINK[1:-1])
    root = ElementTree.fromstring(text[text.index("<svg") :])
    short = _names(root)
    for each in root.iter():
        _shorten(each, short)
    _simplify(root)
    _name_styles(root)
    return ElementTree.tostring(root, encoding="unicode")


def _name_styles(root: Element) -> None:
    """A style that several elements have is written once, as a class: a figure is a file, so its names are its own."""
    sheet = next(root.iter(f"{SVG}style"), None)
    if sheet is None:
        return
    several = [style for style, times in Counter(each.get("style") for each in root.iter()).items() if style and times > 1]
    names = {style: f"s{index}" for index, style in enumerate(several)}
    sheet.text = (sheet.text or "") + "".join(f".{name}{{{style}}}" for style, name in names.items())
    for each in root.iter():
        if (style := each.get("style")) in names:
            del each.attrib["style"]
            each.set("class", names[style])


def _names(root: Element) -> dict[str, str]:
    """The ids that something refers to, by number."""
    told = (value for each in root.iter() for name, value in each.attrib.items() if name != "id")
    found = dict.fromkeys(name for value in told for name in _REFERENCE.findall(value))
    there = {each.get("id") for each in root.iter()}
    return {name: f"i{index}" for index, name in enumerate(name for name in found if name in there)}


def _shorten(each: Element, names: dict[str, str]) -> None:
    """An element's attributes and the white space around it."""
    if not (each.text or "").strip():
        each.text = None
    each.tail = None
    for name, value in list(each.attrib.items()):
        if name == "id":
            del each.attrib[name]
            if value in names:
                each.set(name, names[value])
        elif name == "d":
            each.set(name, _path(value))
        elif name == "style":
            style = _FONTS.sub(f"font-family:{FONTS}", value.replace("; ", ";").replace(": ", ":"))
            each.set(name, _referring(style, names))
        elif name == "transform" and value.startswith("rotate(-0 "):
            del each.attrib[name]
        else:
            each.set(name, _NUMBER.sub(lambda found: _number(found[0]), _referring(value, names)))


def _referring(value: str, names: dict[str, str]) -> str:
    """With the ids it refers to by their new names; colours begin alike and are none."""
    return _REFERENCE.sub(lambda found: f"#{names.get(found[1], found[1])}", value)


def _number(text: str, digits: int = 2) -> str:
    """0.50 -> 0.5, 3.00 -> 3, -0.00 -> 0."""
    short = f"{float(text):.{digits}f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _path(text: str) -> str:
    points = _POINT.findall(text)
    if len(points) < MANY_POINTS or "".join(text.split()) != "".join("".join(each) for each in points):
        return re.sub(r" ?([A-Za-z]) ?", r"\1", " ".join(_NUMBER.sub(lambda found: _number(found[0]), text).split()))
    return "".join(_steps(points))


def _steps(points: list[tuple[str, str, str]]) -> Iterator[str]:
    """Each point by its distance from the one before it, in whole tenths, so that no error adds up."""
    x = y = 0
    start, before = (0, 0), ""
    for command, *place in points:
        if command == "z":
            (x, y), before = start, "z"
            yield "z"
            continue
        new_x, new_y = (round(10 * float(value)) for value in place)
        dx, dy = _tenths(new_x - x), _tenths(new_y - y)
        # Numbers after an l are further points of it.
        yield ("l" if before != "l" else "" if dx.startswith("-") else " ") if command == "L" else "m" if before else "M"
        yield f"{dx}{dy}" if dy.startswith("-") else f"{dx} {dy}"
        x, y, before = new_x, new_y, "l" if command == "L" else "m"
        if command == "M":
            start = (x, y)


def _tenths(value: int) -> str:
    """12 -> 1.2, -5 -> -.5, 30 -> 3."""
    whole, rest = divmod(abs(value), 10)
    return ("-" if value < 0 else "") + (f"{whole or ''}.{rest}" if rest else str(whole))


def _simplify(parent: Element) -> None:
    """Groups that say nothing give way to what they hold, and neighbours of one style and marker share a group."""
    found: list[Element] = []
    for child in parent:
        _simplify(child)
        if child.tag == f"{SVG}g" and not child.attrib:
            found += child
        elif not (child.tag == f"{SVG}metadata" or (child.tag == f"{SVG}defs" and not len(child))):
            found.append(child)
    found = [each for _, alike in groupby(found, key=_style_of_marker) for each in _grouped(list(alike))]
    parent[:] = [each for clip, alike in groupby(found, key=_clip_of) for each in _clipped(clip, list(alike))]


def _style_of_marker(each: Element) -> str | None:
    return each.get("style") if each.tag == f"{SVG}use" else None


def _clip_of(each: Element) -> str | None:
    """What it is clipped by, where that means the same for a group around it."""
    return each.get("clip-path") if "transform" not in each.attrib else None


def _clipped(clip: str | None, alike: list[Element]) -> list[Element]:
    """Neighbours that one panel clips say so once."""
    if clip is None or len(alike) < 2:
        return alike
    group = Element(f"{SVG}g", {"clip-path": clip})
    for each in alike:
        del each.attrib["clip-path"]
    group.extend(alike)
    return [group]


def _grouped(alike: list[Element]) -> list[Element]:
    if len(alike) < 2 or _style_of_marker(alike[0]) is None:
        return alike
    group = Element(f"{SVG}g", {"style": alike[0].attrib["style"]})
    for each in alike:
        del each.attrib["style"]
    group.extend(alike)
    return [group]
