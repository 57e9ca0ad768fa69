"""Criteria with their regions, and the judgements on claims made of them. All of it is fixed before the first trial.

A criterion has an axis, that of its observable, and on it up to four declared things: the null (no effect), the region claimed,
the region that refutes, and the margin below which a difference does not matter. harness/judge/outcomes.py says which
verdict an interval has among them.
"""

import string
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from .base import WORDS, DeclaredAs, Spec
from .claims import Quantifier
from .observed import ANY_KIND, Observable, Observed, ShareOfRuns
from .rules import AtLeast, AtMost, Outside, Rule, Within

# Blanks, in braces, that a sentence of a criterion may have (harness/judge/sentences.py fills them in).
BLANKS = ("estimate", "value", "low", "high", "lower", "higher", "smaller", "larger", "less", "more", "costs", "gains")
# Verdicts for which a practitioner can be told what to do, with the readings that each can have.
ADVISED: dict[str, tuple[str, ...]] = {
    "supported": (),
    "partly": ("smaller", "larger", "direction", "some parts", "untested parts", "some workloads"),
    "refuted": ("smaller", "larger", "no effect", "opposite", "different", "worse"),
    "open": ("too noisy", "between", "multiplicity"),
}
READINGS = (
    *ADVISED["partly"],
    *("no effect", "opposite", "different", "worse", "too noisy", "between", "multiplicity"),
)


class Expected(Spec):
    """The value that theory or a publication predicts for a criterion's observable, and its source.

    With a spread, a study whose seeds would show the prediction with less than 80% power cannot be declared.
    """

    value: float = Field(description="on the axis of the observable")
    source: str = Field(min_length=1, description="the theory or publication, with the place")
    spread: float | None = Field(
        default=None,
        gt=0,
        description="deviation between seeds as a pilot had it (standard error times the root of its seeds), of the logarithm"
        " where the axis is one",
    )
    scales: tuple[str, ...] | None = Field(default=None, description="predicted for these scales only; none: for all")


class Alternative(Spec):
    """Another reading of a criterion, as reasonable as the first: a verdict that it changes is fragile."""

    name: str
    observe: Observable


def _by_name(readings: Any) -> Any:
    """Name -> an observable, or an observable and its unit, as a list of what has a name."""
    if not isinstance(readings, Mapping):
        return readings
    named = []
    for name, reading in readings.items():
        parts = reading if isinstance(reading, tuple | list) else (reading,)
        if len(parts) not in (1, 2):
            raise ValueError(f"'{name}' has {len(parts)} parts: must be an observable, or an observable and its unit")
        named.append({"name": name, **dict(zip(("observe", "unit"), parts, strict=False))})
    return tuple(named)


Alternatives = Annotated[
    tuple[Alternative, ...], BeforeValidator(_by_name, json_schema_input_type=tuple[Alternative, ...] | dict[str, Observable])
]


class Criterion(Spec):
    """One observation and what decides on it.

    test: an effect is claimed to lie in a region; or an arm is claimed to be no worse than another by more than the margin
    (being better never refutes), or equal to it within the margin. For the latter two the regions follow from null and margin,
    and tests are made at 5% a side: their intervals are 90% ones.
    """

    name: str
    observe: Observable
    test: Literal["effect", "no_worse", "equivalence"] | None = Field(default=None, description="none: effect")
    null: float | None = Field(default=None, description="where there is no effect: 0, or 1 for a ratio; none: there is none")
    # Neither has a default: without a margin to work them out of, `_with_regions` asks for both.
    claimed: Annotated[Rule, DeclaredAs("supported")] = Field(
        default=None,
        validate_default=True,
        description="the region that supports the claim; if test is set it follows from null and margin",
    )
    refuted: Rule = Field(
        default=None, validate_default=True, description="the region that refutes the claim; follows likewise"
    )
    margin: float | None = Field(
        default=None,
        gt=0,
        description="a distance from the null that does not matter; a factor above 1 where the axis is a logarithm",
    )
    better: Literal["lower", "higher"] | None = Field(
        default=None, description="of no_worse: which side of the null is the better one; none: lower"
    )
    expected: Expected | None = None
    underpowered: Annotated[str, WORDS] = Field(
        default="", description="why it is declared though its seeds show the expected value with less than 80% power"
    )
    says: Annotated[str, WORDS] = Field(
        default="", description="the sentence a reader gets; in braces " + ", ".join(BLANKS) + "; none: its name and number"
    )
    panel: str | None = Field(default=None, description="the workload it is observed on, where a claim speaks of several")
    clause: Annotated[str, WORDS] = Field(
        default="", pattern="^[a-z]?$", description="the letter of the clause of the claim's measure that it decides"
    )
    precondition: bool | None = Field(
        default=None, description="it is no part of the claim: where it is not supported, the claim is out of regime"
    )
    alternatives: Alternatives | None = Field(default=None, description="other readings, which decide nothing")
    unit: str = Field(
        default="",
        description="how numbers are written: 'relative' in percent with a sign, 'share' in percent (a difference of two in"
        " points), 'x' as a factor, else this behind them",
    )
    scales: tuple[str, ...] | None = Field(default=None, description="judged at these scales only; none: at all")

    @model_validator(mode="before")
    @classmethod
    def _with_regions(cls, value: Any) -> Any:
        """Reads `supported`, as the region claimed was called before, and works out regions that follow from a margin."""
        if not isinstance(value, dict):
            return value
        value = dict(value)
        if "supported" in value and "claimed" not in value:
            value["claimed"] = value.pop("supported")
        if value.get("test") in ("no_worse", "equivalence"):
            declared_regions = (value.get("claimed"), value.get("refuted"))
            regions = _regions_of_margin(value)
            if regions is not None and declared_regions == (None, None):
                value["claimed"], value["refuted"] = regions
        for region in ("claimed", "refuted"):
            if value.get(region) is None:
                way = "give null and margin" if value.get("test") in ("no_worse", "equivalence") else "declare it"
                raise ValueError(f"criterion '{value.get('name', '')}': the region {region} is missing; {way}")
        return value

    @model_validator(mode="after")
    def _regions_are_apart(self) -> Self:
        for low, high in self.claimed.pieces:
            for other_low, other_high in self.refuted.pieces:
                if max(low, other_low) < min(high, other_high):
                    raise ValueError(
                        f"criterion '{self.name}': claimed ({self.claimed.words()}) and refuted"
                        f" ({self.refuted.words()}) overlap; no observation may do both"
                    )
        return self

    @model_validator(mode="after")
    def _margin_fits(self) -> Self:
        name = f"criterion '{self.name}'"
        if self.margin is not None and self.null is None:
            raise ValueError(f"{name}: margin = {self.margin:g} is a distance from the null; give the null, too")
        if self.margin is not None and self.observe.log_axis and self.margin <= 1:
            raise ValueError(f"{name}: margin = {self.margin:g} must be a factor above 1, for the axis is a logarithm")
        if self.null is not None and self.observe.log_axis and self.null <= 0:
            raise ValueError(f"{name}: null = {self.null:g} must be above 0, for the axis is a logarithm")
        if self.test in ("no_worse", "equivalence"):
            regions = _regions_of_margin(dict(self))
            if regions is None:
                raise ValueError(f"{name}: test = {self.test} needs a null and a margin; give both")
            if regions != (self.claimed, self.refuted):
                raise ValueError(f"{name}: the regions of test = {self.test} follow from its margin; leave them out")
        if self.better is not None and self.test != "no_worse":
            raise ValueError(f"{name}: better = {self.better} belongs to test = no_worse; set that or leave it out")
        return self

    @model_validator(mode="after")
    def _null_lies_outside(self) -> Self:
        """An effect is claimed to be other than none by more than does not matter."""
        if self.null is None or self.one_sided:
            return self
        name = f"criterion '{self.name}'"
        low, high = self.negligible or (self.null, self.null)
        for start, end in self.claimed.pieces:
            if start < self.null < end:
                raise ValueError(
                    f"{name}: null = {self.null:g} lies inside the region claimed ({self.claimed.words()}); leave it out,"
                    " or set test to equivalence or no_worse"
                )
            if max(start, low) < min(end, high):
                raise ValueError(
                    f"{name}: the region claimed ({self.claimed.words()}) holds differences within margin ="
                    f" {self.margin:g}, which do not matter; claim more than the margin, or leave it out"
                )
        least, most = self.bounds
        if self.null <= least or self.null >= most:
            raise ValueError(
                f"{name}: null = {self.null:g} lies at the end of what can be observed, and nothing lies beyond it;"
                " leave it out"
            )
        return self

    @model_validator(mode="after")
    def _values_can_be_observed(self) -> Self:
        name, (least, most) = f"criterion '{self.name}'", self.bounds
        if self.expected is not None:
            value = self.expected.value
            if not least <= value <= most or (self.observe.log_axis and value <= 0):
                raise ValueError(f"{name}: expected.value = {value:g} cannot be observed; give one that can")
        for which, rule in (("claimed", self.claimed), ("refuted", self.refuted)):
            if all(high < least or low > most or (self.observe.log_axis and high <= 0) for low, high in rule.pieces):
                raise ValueError(f"{name}: nothing that can be observed is {which} ({rule.words()}); give another region")
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if isinstance(self.observe, ShareOfRuns) else self.observe.bounds

    @model_validator(mode="after")
    def _sentence_can_be_filled(self) -> Self:
        try:
            blanks = [blank for _, blank, _, _ in string.Formatter().parse(self.says) if blank is not None]
        except ValueError:
            raise ValueError(f"criterion '{self.name}': says has a brace without its other; close it or double it") from None
        for blank in blanks:
            if blank not in BLANKS:
                raise ValueError(
                    f"criterion '{self.name}': says holds {{{blank}}}, which is none of {', '.join(BLANKS)}; use one of those"
                )
        return self

    @property
    def written_in(self) -> str:
        """The unit that its numbers are written in."""
        return self.observe.written_in(self.unit)

    @property
    def one_sided(self) -> bool:
        """Whether it is tested at 5% a side, so that its interval is a 90% one."""
        return self.test in ("no_worse", "equivalence")

    @property
    def side(self) -> int:
        """The side of the null that is claimed: 1 above it, -1 below it, 0 around it or without a null."""
        if self.null is None or self.one_sided:
            return 0
        if all(low >= self.null for low, _ in self.claimed.pieces):
            return 1
        return -1 if all(high <= self.null for _, high in self.claimed.pieces) else 0

    @property
    def negligible(self) -> tuple[float, float] | None:
        """The band around the null within which a difference does not matter."""
        if self.null is None or self.margin is None:
            return None
        return _band(self.null, self.margin, self.observe.log_axis)

    def moved(self, by: float) -> Self:
        """A copy in which the distances of its regions from no effect are multiplied, and the widths of its bands."""
        no_effect, log_axis = self.observe.no_effect, self.observe.log_axis
        regions = {name: getattr(self, name).moved(by, no_effect, log_axis) for name in ("claimed", "refuted")}
        return self.model_copy(update=regions)


def _band(null: float, margin: float, log_axis: bool) -> tuple[float, float]:
    return (null / margin, null * margin) if log_axis else (null - margin, null + margin)


def _regions_of_margin(value: dict[str, Any]) -> tuple[Rule, Rule] | None:
    """The regions claimed and refuted by a test for equivalence or non-inferiority; None if something is missing for them."""
    null, margin, observe = value.get("null"), value.get("margin"), value.get("observe")
    if not isinstance(null, int | float) or not isinstance(margin, int | float) or margin <= 0:
        return None
    if not isinstance(observe, Observed):
        assert ANY_KIND.loaded, "observables are read once folklore.harness.declare.metrics is imported"
        with suppress(ValidationError):
            observe = cast(Observed, TypeAdapter[Any](Observable).validate_python(observe))
    if not isinstance(observe, Observed):
        return None
    try:
        low, high = _band(float(null), float(margin), observe.log_axis)
    except OverflowError:
        return None
    if not low < high:
        return None
    if value["test"] == "equivalence":
        return Within(low=low, high=high), Outside(low=low, high=high)
    if value.get("better") == "higher":
        return AtLeast(value=low), AtMost(value=low)
    return AtMost(value=high), AtLeast(value=high)


class Reported(Spec):
    """An observation that is shown beside a claim's criteria and decides nothing.

    Also by name: an observable, or an observable and its unit.
    """

    name: str
    observe: Observable
    unit: str = ""

    @property
    def written_in(self) -> str:
        return self.observe.written_in(self.unit)


Observing = Criterion | Reported | Alternative
ByName = dict[str, Observable | tuple[Observable, str]]


def _several(criteria: Any) -> Any:
    """One criterion as a list of one."""
    return (criteria,) if isinstance(criteria, Criterion | Mapping) else criteria


class Judgement(Spec):
    """How one claim is decided.

    Its criteria are parts, all of which have to hold, on each panel; the claim's quantifier says on how many of the panels.
    advice: what to do, by verdict, or by verdict and reading ("refuted: opposite"). right: which side of the documents each
    of "supported" and "refuted" shows to be right (Claim.sides).
    """

    claim: str
    criteria: Annotated[
        tuple[Criterion, ...],
        Field(min_length=1),
        BeforeValidator(_several, json_schema_input_type=Criterion | tuple[Criterion, ...]),
    ]
    quantifier: Quantifier | None = Field(default=None, description="over its panels; none: that of the claim")
    reported: Annotated[
        tuple[Reported, ...], BeforeValidator(_by_name, json_schema_input_type=tuple[Reported, ...] | ByName), WORDS
    ] = ()
    advice: Annotated[dict[str, str], WORDS] = Field(
        default={}, description="what to do, by verdict or 'verdict: reading', written before the outcome is known"
    )
    right: dict[Literal["supported", "refuted"], str] | None = Field(
        default=None, description="the side that each verdict shows to be right, by name"
    )
    note: Annotated[str, WORDS] = ""

    def criteria_at(self, scale: str) -> tuple[Criterion, ...]:
        return tuple(criterion for criterion in self.criteria if criterion.scales is None or scale in criterion.scales)

    def with_observations(self, changed: Callable[[Any], Any]) -> "Judgement":
        """A copy in which criteria, their other readings and reported observations are changed; those that become None are left
        out."""
        criteria = []
        for original in self.criteria:
            others = tuple(other for before in original.alternatives or () if (other := changed(before)) is not None)
            if (criterion := changed(original)) is not None:
                criteria.append(criterion.model_copy(update={"alternatives": others or None}))
        reported = (changed(observation) for observation in self.reported)
        kept = tuple(observation for observation in reported if observation is not None)
        return self.model_copy(update={"criteria": tuple(criteria), "reported": kept})

    def advice_on(self, verdict: str, reading: str) -> str:
        """The advice on an outcome; empty if none was declared."""
        return self.advice.get(f"{verdict}: {reading}") or self.advice.get(verdict, "")

    @model_validator(mode="after")
    def _advises_on_outcomes(self) -> Self:
        for key in self.advice:
            verdict, _, reading = key.partition(": ")
            if verdict not in ADVISED or (":" in key and reading not in ADVISED[verdict]):
                raise ValueError(
                    f"claim '{self.claim}': advice on '{key}': must be on one of {', '.join(ADVISED)}, alone or with ': ' and"
                    f" one of its readings ({', '.join(ADVISED.get(verdict, READINGS)) or 'it has none'})"
                )
        return self

    @model_validator(mode="after")
    def _has_parts(self) -> Self:
        if all(criterion.precondition for criterion in self.criteria):
            raise ValueError(f"claim '{self.claim}': every criterion is a precondition; one must be a part of the claim")
        return self
