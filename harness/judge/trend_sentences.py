"""One sentence, with its numbers, for the trend of an effect along a ladder of models."""

import math

from .sentences import Number, Sentence
from .statistics.ladders import Crossing, Trend
from .statistics.two_samples import Effect

# Suffixes of sizes.
MULTIPLES = (("B", 1e9), ("M", 1e6), ("k", 1e3))
BENT = " The ladder bends, so the line says nothing beyond it."


def trend_sentence(trend: Trend, unit: str = "", ratio: bool = False) -> Sentence:
    """The word of a trend with the numbers behind it. unit: of the effect. ratio: the effect is the logarithm of a ratio, shown
    as a factor."""

    def value(end: float) -> float:
        return math.exp(min(end, 709.0)) if ratio else end

    def number(effect: Effect) -> Number:
        estimate, low, high = map(value, (effect.estimate, effect.low, effect.high))
        return Number(estimate, low, high, "x" if ratio else unit)

    of_slope = (" it changes by ", "a factor of " * ratio, number(trend.slope), " for each tenfold.")
    span = f"from {size_words(trend.sizes[0])} to {size_words(trend.sizes[1])} parameters"
    margin = value(trend.margin)
    limit = Number(margin, margin, margin, "x" if ratio else unit)
    parts: dict[str, tuple[str | Number, ...]] = {
        "turns": (f"The effect turns {span}: its sign changes", *_at(trend.crossing), "."),
        "none": ("The effect stays below ", limit, f" at all sizes {span}:", *of_slope),
        "holds": (f"The effect holds {span}:", *of_slope),
        "grows": (f"The effect grows {span}:", *of_slope),
        "fades": (f"The effect fades {span}:", *of_slope, *_fading(trend.crossing, limit)),
        "open": (f"The trend {span} is open:", *of_slope),
    }
    said = parts[trend.word] + ((BENT,) if trend.bent else ())
    return Sentence(tuple(part for part in said if part))


def size_words(size: float) -> str:
    """A size as 12k or 1.2M; "no bound" if it is not finite."""
    if not 0 < size < math.inf:
        return "no bound"
    for suffix, multiple in MULTIPLES:
        if float(f"{size:.3g}") >= multiple:
            return f"{float(f'{size / multiple:.3g}'):g}{suffix}"
    return f"{size:.3g}"


def _at(crossing: Crossing | None) -> tuple[str, ...]:
    if crossing is None:
        return ()
    return (f" at {size_words(crossing.size)} (95% CI {size_words(crossing.low)} to {size_words(crossing.high)})",)


def _fading(crossing: Crossing | None, limit: Number) -> tuple[str | Number, ...]:
    if crossing is None:
        return ()
    outside = ", beyond the sizes measured" if crossing.extrapolated else ""
    return (" It comes down to ", limit, *_at(crossing), f"{outside}.")
