"""How numbers and names are written on pages and axes."""

import math

from markupsafe import Markup

from ..harness.words import half_octaves


def share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


SUPERSCRIPTS = str.maketrans("-0123456789.", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹·")


def power(value: float, base: int = 10) -> str:
    """An axis label: 2⁻⁵, or 1000 where that is as short, and 2⁻⁵·⁵; other than whole powers, and half ones of two, as they
    are."""
    exponent = math.log(value, base) if value > 0 else math.nan
    parts = 2 if base == 2 else 1
    nearest = round(exponent * parts) / parts if value > 0 else 0.0
    if not math.isclose(exponent, nearest, abs_tol=1e-9):
        return f"{value:.3g}"
    return f"{value:g}" if 1 <= value < 10_000 and nearest.is_integer() else f"{base}{f'{nearest:g}'.translate(SUPERSCRIPTS)}"


def with_power(value: float) -> Markup:
    """0.00552 and, softer, its power of two, 2^-7.5, where it lies on a half-octave grid; copied as text it keeps its caret."""
    exponent = half_octaves(value)
    if exponent is None or exponent >= 0:
        return Markup(f"{value:.3g}")
    power = Markup('2<span class="caret">^</span><sup>{}</sup>').format(f"{exponent:g}".replace("-", "−"))
    return Markup('{} <span class="soft">({})</span>').format(f"{value:.3g}", power)


# What stands beside a verdict: why it is not more.
READINGS = {
    "smaller": "the value is smaller than claimed",
    "larger": "the value is larger than claimed",
    "direction": "right direction, size open",
    "some parts": "some parts hold",
    "untested parts": "a part cannot be tested",
    "some workloads": "depends on the workload",
    "no effect": "no effect that matters",
    "opposite": "the opposite is true",
    "different": "not the same",
    "worse": "costs more than the margin",
    "too noisy": "too noisy",
    "between": "between the regions",
    "multiplicity": "not significant over several tests",
    "precondition": "precondition not met",
}
# What one criterion, or one workload, comes to.
OUTCOMES = {
    "supported": "✓ holds",
    "partly": "◐ in part",
    "refuted": "✗ fails",
    "open": "? open",
    "out of regime": "– not shown",
    "invalid": "! invalid",
}
