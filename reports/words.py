"""How numbers and names are written on pages and axes."""

import math


def power_of_two(value: float) -> str:
    """2^-6.5 for what lies on a half-octave grid, three digits for the rest."""
    if value <= 0:
        return f"{value:.3g}"
    exponent = math.log2(value)
    if math.isclose(exponent * 2, round(exponent * 2), abs_tol=1e-9):
        return f"2^{exponent:g}"
    return f"{value:.3g}"


def share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


SUPERSCRIPTS = str.maketrans("-0123456789.", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹·")


def power(value: float, base: int = 10) -> str:
    """An axis label: 2⁻⁵, or 1000 where that is as short; other than whole powers as they are."""
    exponent = math.log(value, base) if value > 0 else math.nan
    if not math.isclose(exponent, round(exponent, 0) if value > 0 else 0.0, abs_tol=1e-9):
        return f"{value:.3g}"
    return f"{value:g}" if 1 <= value < 10_000 else f"{base}{str(round(exponent)).translate(SUPERSCRIPTS)}"
