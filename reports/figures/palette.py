"""How each arm of a study is drawn, wherever it is: colour, marker and line.

Arms that are numbers of one kind (a share of warmup, a batch size, a width) have colours from dark to light in their order, the
same for equal numbers in all panels of the study; the others have hues that colour-blind readers tell apart, the same for equal
labels. Markers and lines differ too, so that prints in grey can be read. All of it follows from the study's declaration: an
arm looks the same at every scale, in every figure.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex

from ...harness.declare import Study

# Okabe and Ito 2008; its light hues darkened to a contrast of three on white, and its yellow left out.
HUES = ("#0072b2", "#d55e00", "#00875f", "#b0508a", "#b97a00", "#3a93c9", "#4d4d4d", "#7a5c2e")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
LINES = ("-", "--", "-.", ":")
# The part of viridis that stands out from white, and turned round from a dark page.
DARKEST, LIGHTEST = 0.0, 0.7
# Fewer are told apart better by hues.
LEAST_NUMBERS = 3
INK, SOFT = "#222222", "#6b6b6b"
CLAIMED, REFUTED, CRITICAL = "#16693f", "#b3261e", "#b97a00"

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    line: str


# Name, panel and label.
Named = tuple[str, str, str]


def looks(study: Study) -> Mapping[str, Look]:
    """Arm -> how it is drawn."""
    return _looks(tuple((name, arm.panel, arm.label) for name, arm in study.arms.items()))


@lru_cache(maxsize=64)
def _looks(arms: tuple[Named, ...]) -> Mapping[str, Look]:
    numbers = _numbers(arms)
    places = {kind: sorted({value for value, of in numbers.values() if of == kind}) for _, kind in numbers.values()}
    hues = _hues([named_arm for named_arm in arms if named_arm[0] not in numbers])
    # Markers of a panel's numbers are not given again.
    taken = {panel: len(places[numbers[arm][1]]) for arm, panel, _ in arms if arm in numbers}
    # Numbers of a second kind in a panel, or with other words around them, have the same colours and another line.
    worded: dict[str, list[str]] = defaultdict(list)
    for panel, words in dict.fromkeys((panel, _wording(label)) for arm, panel, label in arms if arm in numbers):
        worded[panel].append(words)
    arm_looks = {}
    for arm, panel, label in arms:
        if arm in numbers:
            value, kind = numbers[arm]
            index, count = places[kind].index(value), len(places[kind])
            colour = to_hex(mpl.colormaps["viridis"](DARKEST + (LIGHTEST - DARKEST) * index / max(1, count - 1)))
            arm_looks[arm] = Look(
                colour, MARKERS[index % len(MARKERS)], LINES[worded[panel].index(_wording(label)) % len(LINES)]
            )
        else:
            index = hues[arm]
            # After all hues have been used, lines differ.
            line = LINES[(index // len(HUES) + index) % len(LINES)]
            marker = MARKERS[(index + taken.get(panel, 0)) % len(MARKERS)]
            arm_looks[arm] = Look(HUES[index % len(HUES)], marker, line)
    return arm_looks


def _numbers(arms: Sequence[Named]) -> dict[str, tuple[float, str]]:
    """Arm -> its number and what it is a number of: of arms whose labels differ from others' of their panel in one number."""
    alike: dict[tuple[str, str], list[tuple[str, float, str]]] = defaultdict(list)
    for arm, panel, name in arms:
        label = _with_numbers(name)
        values = _NUMBER.findall(label)
        if len(values) == 1:
            (part,) = [part for part in label.split(", ") if _NUMBER.search(part)]
            alike[panel, _wording(name)].append((arm, float(values[0]), _NUMBER.sub("#", part)))
    return {
        arm: (value, kind)
        for group in alike.values()
        if len({value for _, value, _ in group}) >= LEAST_NUMBERS
        for arm, value, kind in group
    }


def _with_numbers(label: str) -> str:
    """ "no warmup" is a number of warmup, too."""
    return re.sub(r"\bno (?=\w)", "0 ", label).replace("%", "")


def _wording(label: str) -> str:
    """The words around its numbers."""
    return _NUMBER.sub("#", _with_numbers(label))


def _hues(arms: Sequence[Named]) -> dict[str, int]:
    """Arm -> place among the hues: the first that its panel has free, or the one its label has in another panel."""
    of_label: dict[str, int] = {}
    taken: dict[str, set[int]] = defaultdict(set)
    hues = {}
    for arm, panel, label in arms:
        place = of_label.get(label, -1)
        if place < 0 or place in taken[panel]:
            place = next(index for index in range(len(arms) + 1) if index not in taken[panel])
        of_label.setdefault(label, place)
        taken[panel].add(place)
        hues[arm] = place
    return hues


def shades(count: int) -> list[str]:
    """Colours from dark to light, for ordered things that are no arms."""
    return [to_hex(mpl.colormaps["viridis"](value)) for value in np.linspace(DARKEST, LIGHTEST, count)]


# What is no arm's, and is in no legend.
LOOKS = {
    "_ink": Look(INK, "o", "-"),
    "_soft": Look(SOFT, "o", "-"),
    "_claimed": Look(CLAIMED, "o", "-"),
    "_refuted": Look(REFUTED, "o", "-"),
    "_null": Look(INK, "o", ":"),
    "_expected": Look(INK, "o", "-."),
}


def numbered(index: int) -> Look:
    """The look of thing number `index` among those that are no arms: fits, computed curves."""
    return Look(HUES[index % len(HUES)], MARKERS[index % len(MARKERS)], LINES[index % len(LINES)])
