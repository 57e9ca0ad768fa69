"""A design: what is trained. Arms, factors, seeds and scales, and the configuration of each trial."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator
from pydantic_core import PydanticCustomError

from ..errors import unknown
from .base import LONGEST_LABEL, WORDS, Longest, Spec, Undeclared
from .change import Change
from .configuration import SQUARED_ERROR, Configuration, Measurement, Training, Workload

AnySpec = TypeVar("AnySpec", bound=Spec)

MOST = 2**63


def _said_once(must: str) -> WrapValidator:
    """A value that fits none of several types is one finding, and not one for each type."""

    def validated(value: Any, fits: ValidatorFunctionWrapHandler) -> Any:
        try:
            # An integer that no float holds is no number of anything here.
            if not isinstance(value, int) or abs(value) < MOST:
                return fits(value)
        except ValidationError:
            pass
        raise PydanticCustomError("no_such_value", "must be {must}", {"must": must})

    return WrapValidator(validated)


Value = Annotated[bool | int | float | str | None, _said_once("a finite number, a text, true, false or none")]
Setting = Annotated[
    bool | int | float | str | tuple[float, ...] | None,
    _said_once("a finite number, a text, true, false, none or a list of finite numbers"),
]
Number = Annotated[int | float, _said_once("a finite number")]
Factors = dict[str, tuple[Value, ...]]


def in_words(factor: str) -> str:
    """A factor as readers call it."""
    return factor.replace("_", " ").replace("lr", "LR")


def log2_grid(low: int, high: int, per_octave: int = 2) -> tuple[float, ...]:
    """2^low ... 2^high, `per_octave` points an octave, both ends included."""
    return tuple(2.0 ** (low + index / per_octave) for index in range((high - low) * per_octave + 1))


def is_none(value: Any) -> bool:
    """Whether a field that came after declarations were published is none: they say nothing of it."""
    return value is None


class Range(Spec):
    """A factor and the values of it that a search may propose."""

    factor: str = "peak_lr"
    low: float = Field(ge=0)
    high: float = Field(gt=0)
    linear: bool | None = Field(
        default=None, exclude_if=is_none, description="proposed evenly on a linear scale; none: on a logarithmic one"
    )

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"search.low = {self.low}: must be below search.high = {self.high}")
        if self.low == 0 and not self.linear:
            raise ValueError("search.low = 0: has no logarithm; raise it, or set linear = true")
        return self

    def spread(self, count: int) -> list[float]:
        """This many values from low to high, evenly on its scale."""
        return [float(value) for value in (np.linspace if self.linear else np.geomspace)(self.low, self.high, count)]

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2 if self.linear else math.sqrt(self.low * self.high)

    def share(self, value: float) -> float:
        """Where a value lies between low, 0, and high, 1, on its scale."""
        if self.linear:
            return (value - self.low) / (self.high - self.low)
        return math.log(value / self.low) / math.log(self.high / self.low)


class Arm(Spec):
    """A setting that is compared: overrides of training, workload or measurement, its own values of a factor if need be."""

    label: Annotated[str, WORDS, Longest(LONGEST_LABEL)]
    panel: Annotated[str, WORDS, Longest(LONGEST_LABEL)] = Field(default="", description="arms of one panel share a plot")
    settings: dict[str, Setting] = {}
    factors: Factors = {}
    scales: tuple[str, ...] | None = Field(default=None, description="train it at these scales only; none: at all")
    searched: bool | None = Field(default=None, description="a factor is proposed by the study's search, not read from a grid")
    search: Range | None = Field(
        default=None, exclude_if=is_none, description="that factor and its range; none: those of the study's search"
    )
    reference: Annotated[bool, WORDS] = Field(
        default=False, description="the others of its panel are compared with it in the table of arms; else with the first"
    )


class Scale(Spec):
    """How large a study is run: overrides, seeds, and what it is meant for."""

    description: Annotated[str, WORDS]
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="what the scale is meant for; plans assume it")
    workload: dict[str, Value] = {}
    training: dict[str, Value] = {}
    measurement: dict[str, Value] = {}
    examples: int | None = Field(default=None, ge=1, le=10**15, strict=True, description="as Study.examples")
    factors: Factors = {}
    arm_factors: dict[str, Factors] = {}
    arm_settings: dict[str, dict[str, Setting]] | None = Field(
        default=None, description="overrides of single arms, before the arm's own"
    )
    search: dict[str, Number] | None = Field(default=None, description="overrides of the study's search")
    seeds: int | None = Field(default=None, ge=1, le=10_000, strict=True)
    arm_seeds: dict[str, Annotated[int, Field(ge=1, le=10_000, strict=True)]] | None = Field(
        default=None, description="seeds of arms that need more than the others; what reads such arms alone has all of them"
    )
    judged: bool = True
    untuned: Literal[True] | None = Field(
        default=None,
        exclude_if=is_none,
        description="values of factors come from elsewhere: where an optimum is read, all arms have one value, and departures"
        " say where it comes from",
    )
    departures: Annotated[tuple[str, ...], WORDS] = Field(
        default=(), description="what else keeps this scale's verdicts from overclaiming"
    )


class Search(Range):
    """How a factor of the searched arms is tuned: Optuna's proposals, an equal number for every arm, in equal rounds.

    The best proposal, by mean validation loss over `seeds` seeds that are not judged on, is then trained on the judged ones.
    """

    rounds: int = Field(default=3, ge=1, le=100)
    proposals: int = Field(default=4, ge=1, le=100, description="proposals an arm and round")
    seeds: int = Field(default=2, ge=1, le=100, strict=True)
    first_seed: int = Field(ge=0, le=2**30, strict=True)
    sampler: Literal["tpe", "random"] = "tpe"

    @property
    def seed_numbers(self) -> range:
        return range(self.first_seed, self.first_seed + self.seeds)

    @property
    def budget(self) -> int:
        """Proposals an arm."""
        return self.rounds * self.proposals


class Design(Spec):
    """The runs that a study trains: its arms at factors, seeds and scales. Claims are no part of it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")
    version: int = Field(ge=1, le=1_000_000, strict=True, description="raised when a change makes earlier results incomparable")
    title: Annotated[str, WORDS, Longest(LONGEST_LABEL)]
    question: Annotated[str, WORDS]
    workload: Workload = Workload()
    training: Training = Training()
    measurement: Measurement = Measurement()
    examples: int | None = Field(
        default=None, ge=1, description="train every arm on this many examples: its steps follow from its batch size"
    )
    arms: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.%+-]{0,63}$")], Arm] = Field(min_length=1)
    factors: Factors
    seeds: int = Field(ge=1, le=10_000, strict=True)
    first_seed: int = Field(
        default=0, ge=0, le=2**30, strict=True, description="a new version judges on seeds that no pilot has seen"
    )
    search: Search | None = None
    scales: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")], Scale] = Field(min_length=1)
    loss_name: Annotated[str, WORDS] = Field(default="loss", description="what pages call the loss that is trained on")
    loss_unit: Annotated[str, WORDS] = Field(default="nats", description="what its values are spelled in")
    changes: Annotated[tuple[Change, ...], Undeclared("it tells where the study comes from")] = Field(
        default=(), description="set by a run that changes a study: what it changed and why, the first change first"
    )

    def squares(self, scale: str, arms: Iterable[str]) -> bool | None:
        """Whether arms are trained on a squared error; None if some are."""
        squares = {self.configuration(scale, arm, {}).workload.squares for arm in arms}
        return squares.pop() if len(squares) == 1 else None

    @property
    def squares_anywhere(self) -> bool | None:
        """The same of all arms at all scales."""
        squares = {self.squares(scale, self.arms_at(scale)) for scale in self.scales}
        return squares.pop() if len(squares) == 1 else None

    def loss_unit_of(self, scale: str, arms: Iterable[str]) -> str:
        """The unit of their losses; '' for squared errors, which have none, and for arms that have no common one."""
        return self.loss_unit if self.squares(scale, arms) is False else ""

    def loss_label(self, which: str, scale: str, arms: Iterable[str]) -> str:
        """The loss of arms as an axis names it: test loss (nats), test loss (half the squared error)."""
        squares = self.squares(scale, arms)
        unit = {True: SQUARED_ERROR, False: self.loss_unit, None: ""}[squares]
        return f"{which} {self.loss_name} ({unit})" if unit else f"{which} {self.loss_name}"

    def declared_seeds_at(self, scale: str) -> int:
        return self.scale(scale).seeds or self.seeds

    def seeds_at(self, scale: str) -> int:
        """The seeds it is trained and judged on: those declared, unless a run has added some."""
        added = [change.seeds[scale] for change in self.changes if scale in change.seeds]
        return added[-1] if added else self.declared_seeds_at(scale)

    def seed_numbers_at(self, scale: str) -> range:
        return range(self.first_seed, self.first_seed + self.seeds_at(scale))

    def further_seeds_at(self, scale: str) -> dict[str, range]:
        """Arm -> the seeds that it has beyond those of all arms, if any."""
        own = {arm: self.shared_seeds_at(scale, (arm,)) for arm in self.scale(scale).arm_seeds or {}}
        last = self.seed_numbers_at(scale).stop
        return {arm: range(last, self.first_seed + count) for arm, count in own.items() if self.first_seed + count > last}

    def shared_seeds_at(self, scale: str, arms: Iterable[str]) -> int:
        """The number of seeds that all of these arms have."""
        seeds, own = self.seeds_at(scale), self.scale(scale).arm_seeds or {}
        return min((max(seeds, own.get(arm, seeds)) for arm in arms), default=seeds)

    def scale(self, name: str) -> Scale:
        if name not in self.scales:
            raise unknown(f"scale of study '{self.name}'", name, self.scales)
        return self.scales[name]

    def arms_at(self, scale: str) -> list[str]:
        """The arms that are trained at a scale, in declared order."""
        return [name for name, arm in self.arms.items() if arm.scales is None or scale in arm.scales]

    def search_at(self, scale: str) -> Search | None:
        """The search as the scale overrides it; None where no arm of the scale is searched."""
        if self.search is None or not any(self.arms[arm].searched for arm in self.arms_at(scale)):
            return None
        return Search.model_validate({**self.search.model_dump(), **(self.scale(scale).search or {})})

    @property
    def searched_factors(self) -> set[str]:
        return {search.factor for search in (self.search, *(arm.search for arm in self.arms.values())) if search is not None}

    def search_of(self, scale: str, arm: str) -> Search | None:
        """The search at a scale, over the factor and range of an arm; None if the arm is not searched."""
        search, own = self.search_at(scale) if self.arms[arm].searched else None, self.arms[arm].search
        return search if search is None or own is None else search.model_copy(update=vars(own))

    def proposes(self, scale: str, arm: str, factor: str) -> bool:
        """Whether an arm's values of a factor are searched."""
        search = self.search_of(scale, arm)
        return search is not None and search.factor == factor

    def searches_at(self, scale: str) -> dict[str, Search]:
        """Searched arm -> its search, of the arms of a scale."""
        return {arm: search for arm in self.arms_at(scale) if (search := self.search_of(scale, arm)) is not None}

    def factors_at(self, scale: str, arm: str) -> Factors:
        """The values of every factor; the narrowest declaration wins: scale and arm, then arm, then scale, then study.

        A searched factor has no values beforehand: it is left out.
        """
        chosen, search = self.scale(scale), self.search_of(scale, arm)
        factors = {**self.factors, **chosen.factors, **self.arms[arm].factors, **chosen.arm_factors.get(arm, {})}
        return factors if search is None else {name: values for name, values in factors.items() if name != search.factor}

    def searched_point(self, scale: str, arm: str, value: float) -> dict[str, Value]:
        """The point at which a searched arm is trained for a value of its searched factor."""
        search = self.search_of(scale, arm)
        assert search is not None
        return {**{name: values[0] for name, values in self.factors_at(scale, arm).items()}, search.factor: value}

    def configuration(self, scale: str, arm: str, point: Mapping[str, Value]) -> Configuration:
        """The resolved setting of one trial, but for its seed."""
        chosen = self.scale(scale)
        overrides = {**self.arms[arm].settings, **(chosen.arm_settings or {}).get(arm, {}), **point}
        training = _overlay(self.training, chosen.training, overrides)
        examples = chosen.examples or self.examples
        if examples is not None:
            training = _overlay(training, {"steps": training.steps_for(examples)})
        workload = _overlay(self.workload, chosen.workload, overrides)
        measurement = _overlay(self.measurement, chosen.measurement, overrides)
        return _configuration(_shared(workload), training, _shared(measurement))


def _overlay(base: AnySpec, *layers: Mapping[str, Any]) -> AnySpec:
    """The base with those overrides that are fields of it; the base itself if there are none, so that points share it."""
    fields = type(base).model_fields
    known = {name: value for layer in layers for name, value in layer.items() if name in fields}
    return _overlaid(base, tuple(known.items()), repr(known)) if known else base


# Each setting of a study is asked for again and again: when it is declared, planned, judged and shown.
@lru_cache(maxsize=1 << 14)
def _overlaid(base: AnySpec, known: tuple[tuple[str, Any], ...], spelled: str) -> AnySpec:
    """spelled: tells what counts as equal and is not the same: 1 and 1.0."""
    return type(base).model_validate({**vars(base), **dict(known)})


@lru_cache(maxsize=1 << 10)
def _shared(part: AnySpec) -> AnySpec:
    """The first part that is equal to this one."""
    return part


@lru_cache(maxsize=1 << 14)
def _configuration(workload: Workload, training: Training, measurement: Measurement) -> Configuration:
    return Configuration(workload=workload, training=training, measurement=measurement)
