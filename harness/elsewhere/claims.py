"""Claims about runs, as a line of text.

    loss: b < a                     b ends lower
    loss: b < a by 1%               and by at least 1% of a's mean (or: by 0.02)
    accuracy: b > a by 0.5 points   percentage points
    loss: b <= a within 1%          b is no worse: not higher by more than 1%
    loss: b = a within 1%           neither higher nor lower by more than 1%
    val_loss: b < 3.28              b's mean lies below a number
    val_loss at 2000: b < a         at a step
    steps to val_loss 3.28: b < a by 10%       the steps until a value is reached
    loss: b < a over parameters     does the difference change with a column? (its sign, its size)
    samples: hyperbola in batch_size within 8%    a law: E (1 + B / B_crit); also: power law in …

Behind it: `on all tasks`, `on most tasks`, `on some tasks`; default: on average over tasks that agree.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..declare import AtLeast, AtMost, Outside, Rule, Within
from ..errors import UserError

Comparison = Literal["<", ">", "<=", ">=", "="]
Law = Literal["hyperbola", "power law"]
Quantifier = Literal["average", "all", "most", "some"]

# Within this share of what is claimed an effect counts as none: somebody who claims 1% is not served by a third of it.
NEGLIGIBLE_SHARE = 1 / 3

_NUMBER = r"[-+]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_QUANTIFIED = re.compile(r"\s+on\s+(?P<quantifier>all|most|some)\s+\w+\s*$")
_SIZED = re.compile(rf"\s+(?P<word>by|within)\s+(?P<size>{_NUMBER})\s*(?P<unit>%|points?|)\s*$")
_OVER = re.compile(r"\s+over\s+(?P<factor>[^<>=]+?)\s*$")
_LAW = re.compile(r"^\s*(?P<law>hyperbola|power law)\s+in\s+(?P<factor>.+?)\s*$")
_AT = re.compile(rf"^(?P<metric>.+?)\s+at\s+(?P<step>{_NUMBER})\s*$")
_TO = re.compile(rf"^\s*(?:steps\s+)?to\s+(?P<metric>.+?)\s+(?P<target>{_NUMBER})\s*$")
_COMPARED = re.compile(r"(?P<sign><=|>=|≤|≥|<|>|==?)")
FORMS = (
    "METRIC: A < B by 1%, METRIC: A <= B within 1%, METRIC: A = B within 1%, METRIC: A < 3.28, or METRIC: hyperbola in COLUMN"
)


@dataclass(frozen=True)
class Question:
    """What decides on an observation of a claim; judging.outcomes.Question."""

    claimed: Rule
    refuted: Rule
    test: str | None
    null: float | None
    side: int
    negligible: tuple[float, float] | None = None

    @property
    def one_sided(self) -> bool:
        """Whether it is tested at 5% a side: of equivalence and non-inferiority."""
        return self.test in ("no_worse", "equivalence")

    def moved(self, by: float) -> "Question":
        """With bounds that lie nearer to the null, or further from it."""

        def rule(each: Rule) -> Rule:
            return each.model_copy(update={name: by * value for name, value in each if name in ("value", "low", "high")})

        band = None if self.negligible is None else (by * self.negligible[0], by * self.negligible[1])
        return Question(rule(self.claimed), rule(self.refuted), self.test, self.null, self.side, band)


@dataclass(frozen=True)
class RunClaim:
    """A claim as it was read.

    other: an arm, or a number. size: what the effect is claimed to be, or may be at most; relative: as a share of the other
    arm's mean; points: in percentage points, hundredths if the metric is a share. step, target: where the metric is read, or
    the value that it has to reach. factor: the column that sizes stand in.
    """

    text: str
    metric: str
    arm: str = ""
    comparison: Comparison = "="
    other: str | float = ""
    size: float | None = None
    relative: bool = False
    points: bool = False
    step: float | None = None
    target: float | None = None
    factor: str = ""
    law: Law | None = None
    quantifier: Quantifier = "average"

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(each for each in (self.arm, self.other) if isinstance(each, str) and each)

    @property
    def question(self) -> Question:
        """Of the difference arm - other, or of how far a law is missed."""
        size = self.size or 0.0
        if self.law is not None:
            return Question(AtMost(value=size), AtLeast(value=2 * size), None, None, 0)
        if self.comparison == "=":
            return Question(Within(low=-size, high=size), Outside(low=-size, high=size), "equivalence", 0.0, 0)
        sign = 1 if self.comparison.startswith(">") else -1
        below, above = (AtMost, AtLeast) if sign < 0 else (AtLeast, AtMost)
        if self.comparison.endswith("="):
            return Question(below(value=-sign * size), above(value=-sign * size), "no_worse", 0.0, 0)
        band = (-NEGLIGIBLE_SHARE * size, NEGLIGIBLE_SHARE * size) if size else None
        return Question(below(value=sign * size), above(value=0.0), None, 0.0, sign, band)


def claims_of_file(content: Any, name: str) -> list[str]:
    """The lines of a YAML file: a list, or `claims:` with one. Raises UserError."""
    lines = content.get("claims") if isinstance(content, Mapping) else content
    if not isinstance(lines, list) or not lines or not all(isinstance(each, str) for each in lines):
        raise UserError(f"{name}: must be a list of claims, each a line such as '{FORMS.split(', METRIC')[0]}' in quotes")
    return lines


def read_claim(text: str, metric: str | None = None) -> RunClaim:
    """metric: of a claim that names none. Raises UserError with the forms that there are."""
    place = _outside_quotes(text)[0].find(":")
    head, body = (metric, text) if place < 0 else (text[:place], text[place + 1 :])
    if not head:
        raise UserError(f"claim '{text}': names no metric; write {FORMS}")
    quantified = _QUANTIFIED.search(body)
    body = body[: quantified.start()] if quantified else body
    quantifier: Any = quantified["quantifier"] if quantified else "average"
    sized = _SIZED.search(body)
    body = body[: sized.start()] if sized else body
    size = None if sized is None else _number(sized["size"]) / (100 if sized["unit"] == "%" else 1)
    if size is not None and not 0 < size < math.inf:
        raise UserError(f"claim '{text}': {size:g} must be above 0; the sign says which way, as in A < B by 1%")
    if law := _LAW.match(body):
        named: Any = law["law"]
        return RunClaim(text, head.strip(), size=size or 0.1, relative=True, factor=_unquoted(law["factor"]), law=named,
                        quantifier="all" if quantifier == "average" else quantifier)  # fmt: skip
    over = _OVER.search(body)
    body = body[: over.start()] if over else body
    arm, comparison, other = _compared(text, body)
    _require_fitting(text, comparison, sized["word"] if sized else None)
    unit = sized["unit"] if sized else ""
    where = _where(head.strip())
    return RunClaim(
        text, arm=arm, comparison=comparison, other=other, size=size, relative=unit == "%", points="point" in unit,
        quantifier=quantifier, factor=_unquoted(over["factor"]) if over else "", **where
    )  # fmt: skip


def _where(head: str) -> dict[str, Any]:
    """The metric, and the step at which it is read or the value that it has to reach."""
    if found := _TO.match(head.removeprefix("steps ") if head.startswith("steps to") else head):
        return {"metric": found["metric"], "target": _number(found["target"])}
    if found := _AT.match(head):
        return {"metric": found["metric"], "step": _number(found["step"])}
    return {"metric": head}


def _compared(text: str, body: str) -> tuple[str, Comparison, str | float]:
    parts, quoted = _outside_quotes(body)
    signs = list(_COMPARED.finditer(parts))
    if len(signs) != 1:
        wrong = "has no <, >, <=, >= or =" if not signs else f"has {len(signs)} signs; put names that hold one in quotes"
        raise UserError(f"claim '{text}': {wrong}; write {FORMS}")
    left, right = body[: signs[0].start()], body[signs[0].end() :]
    arm, other = _unquoted(left), _unquoted(right)
    if not arm or not other:
        raise UserError(f"claim '{text}': an arm is missing beside {signs[0]['sign']}; write {FORMS}")
    if arm == other:
        raise UserError(f"claim '{text}': compares '{arm}' with itself; name two arms")
    sign: Any = {"≤": "<=", "≥": ">=", "==": "="}.get(signs[0]["sign"], signs[0]["sign"])
    number = re.fullmatch(_NUMBER, right.strip())
    return arm, sign, _number(right) if number and not quoted else other


def _require_fitting(text: str, comparison: Comparison, word: str | None) -> None:
    """'by' belongs to < and >, 'within' to the others, which have no meaning without."""
    needed = "by" if comparison in ("<", ">") else "within"
    if word is None and needed == "within":
        raise UserError(f"claim '{text}': {comparison} needs a margin that does not matter; add 'within 1%'")
    if word not in (None, needed):
        raise UserError(f"claim '{text}': '{word}' does not go with {comparison}; write '{needed}'")


def _outside_quotes(text: str) -> tuple[str, bool]:
    """The text with whatever stands in quotes blanked out, and whether anything does."""
    blanked = re.sub(r"'[^']*'|\"[^\"]*\"", lambda match: " " * len(match[0]), text)
    return blanked, blanked != text


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _number(text: str) -> float:
    return float(text.strip().replace(",", "").replace("_", ""))
