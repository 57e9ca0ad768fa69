"""Numbers, regions and sentences as people read them."""

import math
import string
from collections.abc import Callable
from typing import Any

from folklore.harness.spec import Criterion, Outside, Rule, Within

# Blanks of a criterion's sentence (spec/criterion.py): the word for a positive difference, or a ratio above one, and the other.
COMPARED = {
    "lower": ("lower", "higher"),
    "higher": ("higher", "lower"),
    "smaller": ("smaller", "larger"),
    "larger": ("larger", "smaller"),
    "less": ("less", "more"),
    "more": ("more", "less"),
}


def spell(value: float, unit: str = "") -> str:
    """A number as people read it: differences ("relative") and shares in percent, others to three digits, from a thousand on
    whole."""
    if unit == "relative":
        return f"{value:+.2%}" if value else "0%"
    if unit == "share":
        return f"{value:.0%}"
    number = f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"
    return number + (f" {unit}" if unit and unit != "x" else unit)


def spell_interval(estimate: float, low: float, high: float, unit: str = "") -> str:
    """An estimate with its interval; what is known exactly stands alone."""
    told = spell(estimate, unit)
    return told if low == estimate == high else f"{told} [{spell(low, unit)}, {spell(high, unit)}]"


def region(rule: Rule, criterion: Criterion) -> str:
    """A rule's region in the unit of its criterion. A band around a value that an exact check must meet is that value."""
    if isinstance(rule, Within | Outside) and spell(rule.low, criterion.unit) == spell(rule.high, criterion.unit):
        return f"{'exactly' if isinstance(rule, Within) else 'other than'} {spell(rule.low, criterion.unit)}"
    return rule.words(lambda value: spell(value, criterion.unit))


def in_prose(estimate: float, low: float, high: float, unit: str = "", level: str = "") -> str:
    """An estimate as it stands in a sentence: 1.8x (1.6–2.0), 1.1% (0.6–1.6). What is known exactly stands alone. level: of its
    interval, if it is not the usual one."""
    percent = 100 if unit in ("relative", "share") else 1
    estimate, low, high = (percent * each for each in (estimate, low, high))
    if low == estimate == high:
        return _with_unit(f"{estimate:.3g}".replace("-", "−") if abs(estimate) < 1e3 else f"{estimate:,.0f}", unit)
    decimals = _decimals(estimate, (high - low) / 2)
    told, *ends = (_fixed(each, decimals) for each in (estimate, low, high))
    between = " to " if low < 0 or "no bound" in ends else "–"
    return f"{_with_unit(told, unit)} ({between.join(ends)}{f', {level}' if level else ''})"


def _fixed(value: float, decimals: int) -> str:
    """With so many decimals, a true minus sign, and no sign before a zero. Ends that are not finite are no bounds."""
    if not math.isfinite(value):
        return "no bound"
    if value and abs(value) < 1e-6:
        return f"{value:.2g}".replace("-", "−")
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if not float(text.replace(",", "")) else text.replace("-", "−")


def _decimals(estimate: float, half: float) -> int:
    """So many that the estimate has two significant digits, or the half of its interval's width one, but no more than give that
    two, or the estimate five."""

    def places(value: float, digits: int) -> int:
        return digits - 1 - math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0

    if not math.isfinite(half):
        return max(0, min(9, places(estimate, 2)))
    most = places(estimate, 5) if estimate else 9
    return min(9, max(0, min(max(places(estimate, 2), places(half, 1)), places(half, 2), most)))


def _with_unit(number: str, unit: str) -> str:
    if unit in ("relative", "share"):
        return f"{number}%"
    return f"{number}x" if unit == "x" else f"{number} {unit}".rstrip()


def sentence(criterion: Criterion, estimate: float, low: float, high: float) -> str:
    """What a criterion says with its numbers filled in. Without a sentence of its own: its name and its number."""
    numbers = in_prose(estimate, low, high, criterion.unit, _level(criterion))
    if not criterion.says:
        return f"{criterion.name[:1].upper()}{criterion.name[1:]}: {numbers}."
    filled: dict[str, Callable[[], str]] = {
        "estimate": lambda: numbers,
        "value": lambda: in_prose(estimate, estimate, estimate, criterion.unit),
        "low": lambda: in_prose(low, low, low, criterion.unit),
        "high": lambda: in_prose(high, high, high, criterion.unit),
    }
    for blank in COMPARED:
        filled[blank] = lambda blank=blank: _compared(blank, estimate, low, high, criterion)  # type: ignore[misc]
    told = "".join(
        literal + (filled[blank]() if blank is not None else "")
        for literal, blank, _, _ in string.Formatter().parse(criterion.says)
    )
    return told if told.endswith((".", "!", "?")) else f"{told}."


def _compared(blank: str, estimate: float, low: float, high: float, criterion: Criterion) -> str:
    """A difference without its sign, or a ratio above one, and the word for its direction."""
    usual, other = COMPARED[blank]
    ratio = criterion.observe.log_axis
    turned = 0 < estimate < 1 if ratio else estimate < 0
    if turned:
        estimate, low, high = (_turned(each, ratio) for each in (estimate, high, low))
    return f"{in_prose(estimate, low, high, criterion.unit, _level(criterion))} {other if turned else usual}"


def _level(criterion: Criterion) -> str:
    """Tests at 5% a side have 90% intervals."""
    return "90%" if criterion.one_sided else ""


def _turned(value: Any, ratio: bool) -> float:
    return (1 / value if value else float("inf")) if ratio else -float(value)
