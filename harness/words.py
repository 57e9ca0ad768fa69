"""Counts, lists and LRs in words, for messages, verdicts, recipes and pages alike."""

import math
import re
from collections.abc import Sequence


def counted(count: int, what: str) -> str:
    """3 claims, 1 claim, 2,400 runs."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def enumerated(names: Sequence[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def capitalized(text: str) -> str:
    """A text as a sentence begins: with a capital, unless it begins with a symbol (η*, k micro-batches, B_crit)."""
    return text[0].upper() + text[1:] if re.match(r"[a-z]{2}|a ", text) else text


def power_of_two(value: float) -> str:
    """2^-6.5 for what lies on a half-octave grid, three digits for the rest."""
    exponent = half_octaves(value)
    return f"{value:.3g}" if exponent is None else f"2^{exponent:g}"


def half_octaves(value: float) -> float | None:
    """The exponent of two of what lies on a half-octave grid; None for the rest."""
    if value <= 0:
        return None
    halves = 2 * math.log2(value)
    return round(halves) / 2 if math.isclose(halves, round(halves), abs_tol=1e-9) else None
