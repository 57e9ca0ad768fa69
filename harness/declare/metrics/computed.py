"""A number that a function computes, instead of a run: a computed job of the study (harness/declare/computed.py)."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...errors import unknown
from ..base import canonical_json
from ..computed import ComputedJob, Grade, Number, check_as_today, job_of, operation_error_as_today, registry, written_as_before
from ..observed import Example, FormerKind, Observed, OfLosses
from ..trials import Numbers, Trials
from .estimating.weighted import seed_mean

Argument = int | float | str | bool


class Computed(Observed):
    """A number of a computed job: without an error, or, where it is measured, the mean over seeds (geometric on a log axis)."""

    kind: Literal["computed"] = "computed"
    function: str = Field(description="what computes it: MODULE.FUNCTION of studies/computed")
    arguments: dict[str, Argument] = Field(default={}, description="what the function is called with")
    number: str = Field(description="which of its numbers is read")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "of the number"
    EXAMPLE: ClassVar[Example] = {"function": "constants.number_formats", "number": "fp16_largest"}
    FORMER: ClassVar[Mapping[str, FormerKind]] = {"exact": check_as_today, "operation_error": operation_error_as_today}

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        known = registry().named(self.function)
        known.require(self.arguments)
        if self.number not in known.numbers:
            raise unknown(f"number of {self.function}", self.number, known.numbers)
        return self

    def first_declared(self) -> dict[str, Any] | None:
        """Hashes of studies go on with the kinds that it was published as."""
        return written_as_before(self.function, self.arguments, self.number)

    def __hash__(self) -> int:
        """Equal for equal observables, though arguments are a dictionary."""
        return hash((self.function, self.number, canonical_json(self.arguments)))

    @property
    def as_registered(self) -> Number:
        return registry().named(self.function).numbers[self.number]

    @property
    def grade(self) -> Grade:
        return self.as_registered.grade

    @property
    def log_axis(self) -> bool:
        return self.as_registered.log_axis

    @property
    def no_effect(self) -> float:
        return 1.0 if self.log_axis else 0.0

    @property
    def figure(self) -> str:
        return "forest" if self.grade == "measured" else ""

    def margin(self, value: float) -> float:
        return self.as_registered.margin(value)

    def job(self, seeds: tuple[int, ...]) -> ComputedJob:
        """seeds: those that the study trains at the scale."""
        return job_of(self.function, self.arguments, seeds)

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        """[R]. Without an error the same under every weighting; measured: the weighted mean over seeds."""
        values = trials.computed(self.job(trials.declared_seeds), self.number)
        if self.grade != "measured":
            return np.full(len(weights), values[0])
        if not self.log_axis:
            return np.asarray(seed_mean(values, weights))
        return np.asarray(np.exp(seed_mean(np.log(values), weights)))
