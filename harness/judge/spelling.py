"""Numbers and regions as people read them."""

import math
from decimal import Decimal

from ..declare import POINTS, Criterion, Rule

PERCENT = ("relative", "share")
HUNDREDTHS = (*PERCENT, POINTS)
# A number of more digits was not written but computed: 1/3, or 1 over a margin of 1.1.
MOST_DECLARED_DIGITS = 12


def spell(value: float, unit: str = "") -> str:
    """A measured number as people read it: differences ("relative") in percent with two decimals, shares in percent,
    differences of shares in points and others to three digits, from a thousand on whole."""
    if unit == "relative":
        return f"{value:+.2%}" if value else "0%"
    value = (100 * value if unit in HUNDREDTHS else value) + 0.0  # -0.0 has no sign
    return _with_unit(f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}", unit)


def spell_declared(value: float, unit: str = "") -> str:
    """A number of a declaration (a threshold, a null, an expected value) digit by digit: 0.5%, +2%, 1.001x, 65,503. One that
    was worked out is rounded."""
    digits = +Decimal(repr(float(value))).normalize()
    if len(digits.as_tuple().digits) > MOST_DECLARED_DIGITS:
        return spell(value, unit)
    if unit in HUNDREDTHS:
        digits = (100 * digits).normalize()
    number = f"{digits:,f}" if 1e-5 <= abs(digits) < 1e9 or not digits else f"{float(digits):.{MOST_DECLARED_DIGITS}g}"
    return _with_unit(f"+{number}" if unit == "relative" and digits > 0 else number, unit)


def spell_interval(estimate: float, low: float, high: float, unit: str = "") -> str:
    """An estimate with its interval; an exact number stands alone."""
    number = spell(estimate, unit)
    if low == estimate == high:
        return number
    ends = (spell(100 * end) if unit == POINTS else spell(end, unit) for end in (low, high))
    return f"{number} [{', '.join(ends)}]"


def region(rule: Rule, criterion: Criterion) -> str:
    """A rule's region in the unit of its criterion."""
    return rule.words(lambda value: spell_declared(value, criterion.written_in))


def in_prose(estimate: float, low: float, high: float, unit: str = "") -> str:
    """An estimate as it stands in a sentence: 1.8x (1.6–2.0), 1.1% (0.6–1.6). An exact number stands alone."""
    return " ".join(number_and_interval(estimate, low, high, unit)).rstrip()


def number_and_interval(estimate: float, low: float, high: float, unit: str = "", level: str = "") -> tuple[str, str]:
    """An estimate in prose, and its interval in parentheses: none if it is known exactly. level: of the interval, if it is to
    be named: (95% CI 0.6–1.6%)."""
    percent = 100 if unit in HUNDREDTHS else 1
    estimate, low, high = (percent * value for value in (estimate, low, high))
    if low == estimate == high:
        return _with_unit(f"{estimate:.3g}".replace("-", "−") if abs(estimate) < 1e3 else f"{estimate:,.0f}", unit), ""
    decimals = _decimals(estimate, (high - low) / 2)
    number, *ends = (_fixed(value, decimals) for value in (estimate, low, high))
    between = " to " if low < 0 or "no bound" in ends or any("e" in end for end in ends) else "–"
    if level and {number} == set(ends):  # it would say nothing
        return _with_unit(number, unit), ""
    if level:
        return _with_unit(
            number, unit
        ), f"({level} CI {between.join(ends)}{'%' * (unit in PERCENT and 'no bound' not in ends)})"
    return _with_unit(number, unit), f"({between.join(ends)})"


def _fixed(value: float, decimals: int) -> str:
    """With this many decimals, a true minus sign, and no sign before a zero. Ends that are not finite are no bounds."""
    if not math.isfinite(value):
        return "no bound"
    if value and abs(value) < 1e-6:
        return f"{value:.2g}".replace("-", "−")
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if not float(text.replace(",", "")) else text.replace("-", "−")


def _decimals(estimate: float, half: float) -> int:
    """Decimals that give the estimate two significant digits, or half its interval's width one, but at most two for the half
    width and five for the estimate."""

    def places(value: float, digits: int) -> int:
        return digits - 1 - math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0

    if not math.isfinite(half):
        return max(0, min(9, places(estimate, 2)))
    most = places(estimate, 5) if estimate else 9
    return min(9, max(0, min(max(places(estimate, 2), places(half, 1)), places(half, 2), most)))


def _with_unit(number: str, unit: str) -> str:
    if unit in PERCENT:
        return f"{number}%"
    if unit == POINTS:
        return f"{number} point{'s' * (number.lstrip('-−') != '1')}"
    return f"{number}x" if unit == "x" else f"{number} {unit}".rstrip()
