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
