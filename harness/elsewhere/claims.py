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
    samples: hyperbola in batch_size within 8%    a law: E (1 + B / B_crit)

Behind it: `on all tasks`, `on most tasks`, `on some tasks`; default: on average over tasks that agree. What follows the arms
may stand in any order.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from ..declare import AtLeast, AtMost, Outside, Rule, Within
from ..errors import UserError

Comparison = Literal["<", ">", "<=", ">=", "="]
Quantifier = Literal["average", "all", "most", "some"]

# An effect within this share of the claimed one counts as none: somebody who claims 1% is not served by a third of it.
NEGLIGIBLE_SHARE = 1 / 3

# Characters of a claim, which is one line, and those of it that an error quotes.
LONGEST, MOST_QUOTED = 1000, 200
# Larger numbers, and sizes below one over that, have squares that no computer can hold.
LARGEST_NUMBER = 1e100
# Columns that every table of runs has, none of which is a size.
OWN_COLUMNS = ("arm", "seed", "task", "run", "name", "value")

_NUMBER = r"[-+]?(?:\d[\d_,]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_SIZE = rf"(?P<size>{_NUMBER})\s*(?P<unit>%|points?|)"
# What may follow the arms or the law. Each is matched at the end of a text without blanks there, so that it takes linear time.
_CLAUSES = (
    re.compile(r"\son\s+(?P<quantifier>all|most|some)\s+\w+$"),
    re.compile(rf"\s(?P<word>by|within)\s+{_SIZE}$"),
    re.compile(r"\sover\s+(?P<factor>(?:(?!\sover\s)[^<>=≤≥])+)$"),
)
_LAW = re.compile(r"(?P<law>hyperbola)\s+in\s+(?P<factor>.+)", re.DOTALL)
_AT = re.compile(rf"(?P<metric>.+)\sat\s+(?P<step>{_NUMBER})")
_TO = re.compile(rf"(?:steps\s+)?to\s+(?P<metric>.+)\s(?P<target>{_NUMBER})")
_COMPARED = re.compile(r"(?P<sign><=|>=|≤|≥|<|>|==?)")
FORMS = (
    "METRIC: A < B by 1%, METRIC: A <= B within 1%, METRIC: A = B within 1%, METRIC: A < 3.28, or METRIC: hyperbola in COLUMN"
)


@dataclass(frozen=True)
class Question:
    """The rules that decide on an observation of a claim; judging.outcomes.Question."""

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
        """The question with bounds that lie nearer to the null, or further from it."""
        claimed, refuted = (rule.moved(by, 0.0, log_axis=False) for rule in (self.claimed, self.refuted))
        band = None if self.negligible is None else (by * self.negligible[0], by * self.negligible[1])
        return replace(self, claimed=claimed, refuted=refuted, negligible=band)


@dataclass(frozen=True)
class RunClaim:
    """A claim as it was read.

    other: an arm, or a number. size: what the effect is claimed to be, or may be at most; relative: as a share of the other
    arm's mean; points: in percentage points, hundredths if the metric is a share. step, target: where the metric is read, or
    the value that it has to reach. factor: the column that sizes stand in. law: whether a hyperbola in them is claimed.
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
    law: bool = False
    quantifier: Quantifier = "average"

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(side for side in (self.arm, self.other) if isinstance(side, str) and side)

    @property
    def question(self) -> Question:
        """The question about the difference arm - other, or about how far a law is missed."""
        size = self.size or 0.0
        if self.law:
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
    if not isinstance(lines, list) or not lines or not all(isinstance(line, str) for line in lines):
        raise UserError(f"{name}: must be a list of claims, each a line such as '{FORMS.split(', METRIC')[0]}' in quotes")
    return lines


def read_claim(text: str, metric: str | None = None) -> RunClaim:
    """metric: of a claim that names none. Raises UserError with the forms that there are."""
    if len(text) > LONGEST:
        raise _wrong(text, f"has {len(text):,} characters, more than {LONGEST:,}; shorten the names in it")
    place = _without_quoted(text).find(":")
    head, body = (metric or "", text) if place < 0 else (text[:place], text[place + 1 :])
    if not head.strip():
        raise _wrong(text, f"names no metric; write {FORMS}")
    body, clauses = _clauses(text, body.strip())
    where, size = _where(head.strip()), _size(text, clauses)
    if body.startswith("power law in "):
        raise _wrong(text, "a power law is not judged any more; write 'hyperbola in COLUMN', or fit the exponent yourself")
    if law := _LAW.fullmatch(body):
        return _of_law(text, law["factor"], size, clauses, where)
    arm, comparison, other = _compared(text, body)
    _require_fitting(text, comparison, clauses.get("word"))
    factor = _factor(text, clauses.get("factor", ""), where["metric"])
    if factor and isinstance(other, float):
        raise _wrong(text, f"'over' compares two arms at each size; name an arm in place of {other:g}")
    unit, quantifier = clauses.get("unit", ""), cast("Quantifier", clauses.get("quantifier", "average"))
    return RunClaim(
        text, arm=arm, comparison=comparison, other=other, size=size, relative=unit == "%", points="point" in unit,
        quantifier=quantifier, factor=factor, **where,
    )  # fmt: skip


def require_size(option: str, text: str) -> None:
    """Raises UserError unless a text is what may follow 'by' or 'within' in a claim."""
    sized = re.fullmatch(_SIZE, text.strip()) if len(text) <= LONGEST else None
    if sized is None or not _is_size(_number(sized["size"])):
        raise UserError(f"{option} {text:.{MOST_QUOTED}}: must be a number above 0, such as 1%, 0.02 or 0.5 points")


def _wrong(text: str, rule: str) -> UserError:
    more = "…" * (len(text) > MOST_QUOTED)
    return UserError(f"claim '{text[:MOST_QUOTED]}{more}': {rule}")


def _clauses(text: str, body: str) -> tuple[str, dict[str, str]]:
    """The body without what follows the arms, and the parts of that by name."""
    parts: dict[str, str] = {}
    while match := next(filter(None, (pattern.search(_without_quoted(body)) for pattern in _CLAUSES)), None):
        more = {name: body[slice(*match.span(name))] for name in match.groupdict()}
        if parts.keys() & more.keys():
            word = match[0].split()[0]
            raise _wrong(text, f"has two parts such as '{word} …'; keep one, and put names that hold one in quotes")
        parts |= more
        body = body[: match.start()].rstrip()
    return body, parts


def _size(text: str, clauses: Mapping[str, str]) -> float | None:
    if "size" not in clauses:
        return None
    number = _number(clauses["size"])
    if not _is_size(number):
        raise _wrong(text, f"{number:g} must be above 0; the sign says which way, as in A < B by 1%")
    return number / (100 if clauses["unit"] == "%" else 1)


def _is_size(number: float) -> bool:
    return number > 1 / LARGEST_NUMBER


def _of_law(text: str, factor: str, size: float | None, clauses: Mapping[str, str], where: Mapping[str, Any]) -> RunClaim:
    """A law holds on all tasks unless the claim says otherwise."""
    if "factor" in clauses:
        raise _wrong(text, "'over' does not go with a hyperbola; name one column, after 'in'")
    if size is not None and (clauses["word"], clauses["unit"]) != ("within", "%"):
        raise _wrong(text, "a hyperbola is missed by a share; write 'within 8%'")
    return RunClaim(
        text, size=size or 0.1, relative=True, factor=_factor(text, factor, where["metric"]), law=True,
        quantifier=cast("Quantifier", clauses.get("quantifier", "all")), **where,
    )  # fmt: skip


def _factor(text: str, named: str, metric: str) -> str:
    """The column of sizes. Raises UserError for one that can be none."""
    factor = _unquoted(named)
    if factor.lower() in OWN_COLUMNS or (factor and factor == metric):
        raise _wrong(text, f"'{factor}' is no size; name a column of numbers such as parameters, tokens or batch_size")
    return factor


def _where(head: str) -> dict[str, Any]:
    """The metric, and the step at which it is read or the value that it has to reach."""
    if match := _TO.fullmatch(head):
        return {"metric": _unquoted(match["metric"]), "target": _number(match["target"])}
    if match := _AT.fullmatch(head):
        return {"metric": _unquoted(match["metric"]), "step": _number(match["step"])}
    return {"metric": _unquoted(head)}


def _compared(text: str, body: str) -> tuple[str, Comparison, str | float]:
    signs = list(_COMPARED.finditer(_without_quoted(body)))
    if len(signs) != 1:
        wrong = "has no <, >, <=, >= or =" if not signs else f"has {len(signs)} signs; put names that hold one in quotes"
        raise _wrong(text, f"{wrong}; write {FORMS}")
    left, right = body[: signs[0].start()], body[signs[0].end() :].strip()
    arm, other = _unquoted(left), _unquoted(right)
    if not arm or not other:
        raise _wrong(text, f"an arm is missing beside {signs[0]['sign']}; write {FORMS}")
    if arm == other:
        raise _wrong(text, f"compares '{arm}' with itself; name two arms")
    sign: Any = {"≤": "<=", "≥": ">=", "==": "="}.get(signs[0]["sign"], signs[0]["sign"])
    return arm, sign, _number(right) if re.fullmatch(_NUMBER, right) else other


def _require_fitting(text: str, comparison: Comparison, word: str | None) -> None:
    """'by' belongs to < and >, 'within' to the others, which have no meaning without."""
    needed = "by" if comparison in ("<", ">") else "within"
    if word is None and needed == "within":
        raise _wrong(text, f"{comparison} needs a margin that does not matter; add 'within 1%'")
    if word not in (None, needed):
        raise _wrong(text, f"'{word}' does not go with {comparison}; write '{needed}'")


def _without_quoted(text: str) -> str:
    """The text with a quotation mark for each character of what stands in quotes."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", lambda match: match[0][0] * len(match[0]), text)


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _number(text: str) -> float:
    """Raises UserError for one that cannot be computed with."""
    number = float(text.replace(",", "").replace("_", ""))
    if abs(number) > LARGEST_NUMBER:
        shown = text[:20] + "…" * (len(text) > 20)
        raise UserError(f"the number {shown} of a claim: must not be above {LARGEST_NUMBER:g}; write a smaller one")
    return number
