"""Sentences that know their numbers: text and what was measured, put into words only when they are shown."""

import string
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..declare import Criterion
from ..words import capitalized
from .spelling import number_and_interval

# Blanks of a criterion's sentence (declare/criterion.py) that say which way a positive difference goes, or a ratio above one,
# and the word for the other way.
OPPOSITES = {"lower": "higher", "higher": "lower", "smaller": "larger", "larger": "smaller", "less": "more", "more": "less"}
# The same as verbs, which stand before the number.
VERBS = {"costs": "gains", "gains": "costs"}


@dataclass(frozen=True)
class Number:
    """An estimate with its interval, in the unit of a criterion. level: of the interval. word: the way a difference goes."""

    estimate: float
    low: float
    high: float
    unit: str = ""
    level: str = "95%"
    word: str = ""

    @property
    def value(self) -> str:
        """1.8x."""
        return number_and_interval(self.estimate, self.low, self.high, self.unit)[0]

    @property
    def rest(self) -> str:
        """The text after the value, with a blank before it: larger (95% CI 1.6–2.0). Empty without an interval and a word."""
        _, interval = number_and_interval(self.estimate, self.low, self.high, self.unit, self.level)
        return "".join(f" {part}" for part in (self.word, interval) if part)

    def __str__(self) -> str:
        return self.value + self.rest


@dataclass(frozen=True)
class Sentence:
    """Pieces of text and numbers, in their order. Its `str` is the plain text."""

    parts: tuple[str | Number, ...] = ()

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


def plain(sentences: Iterable[Sentence]) -> str:
    """Several sentences as one text."""
    return " ".join(map(str, sentences))


def filled(criterion: Criterion, estimate: float, low: float, high: float) -> Sentence:
    """A criterion's sentence with its numbers filled in; if it has none, its name and its number."""
    measurement = Number(estimate, low, high, criterion.written_in, "90%" if criterion.one_sided else "95%")
    if not criterion.says:
        return Sentence((f"{capitalized(criterion.name)}: ", measurement, "."))
    numbers = {
        "estimate": measurement,
        "value": replace(measurement, low=estimate, high=estimate),
        "low": replace(measurement, estimate=low, high=low),
        "high": replace(measurement, estimate=high, low=high),
        **{blank: _compared(measurement, blank, criterion.observe.log_axis) for blank in (*OPPOSITES, *VERBS)},
    }
    parts: list[str | Number] = []
    for text, blank, _, _ in string.Formatter().parse(capitalized(criterion.says)):
        if blank in VERBS:
            number = numbers[blank]
            parts += [f"{text}{number.word} ", replace(number, word="")]
        else:
            parts += [text] if blank is None else [text, numbers[blank]]
    if not str(parts[-1]).endswith((".", "!", "?")):
        parts.append(".")
    return Sentence(tuple(parts))


def _compared(number: Number, blank: str, ratio: bool) -> Number:
    """A difference without its sign, or a ratio above one, and the word for its direction."""
    if not (0 < number.estimate < 1 if ratio else number.estimate < 0):
        return replace(number, word=blank)
    estimate, low, high = (turned(end, ratio) for end in (number.estimate, number.high, number.low))
    return replace(number, estimate=estimate, low=low, high=high, word={**OPPOSITES, **VERBS}[blank])


def turned(value: float, ratio: bool) -> float:
    """A difference the other way round, or a ratio."""
    return (1 / value if value else float("inf")) if ratio else -value
