"""Regions of an observation's axis. A verdict needs the whole interval inside one."""

import math
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from .base import Spec

Write = Callable[[float], str]


def plain(value: float) -> str:
    return f"{value:g}"


class _Threshold(Spec):
    value: float

    EXAMPLE: ClassVar[dict[str, float]] = {"value": 0.05}

    def moved(self, by: float, no_effect: float, log_axis: bool) -> Self:
        """A copy with its distance from no effect multiplied. On a log axis it keeps its sign: one at 0 or below stays."""
        if not log_axis or no_effect == 0:
            value = no_effect + (self.value - no_effect) * by
        else:
            value = float(no_effect * (self.value / no_effect) ** by) if self.value > 0 else self.value
        return self.model_copy(update={"value": value})


class AtLeast(_Threshold):
    """From `value` on: [value, inf)."""

    kind: Literal["at_least"] = "at_least"

    @property
    def pieces(self) -> tuple[tuple[float, float], ...]:
        return ((self.value, math.inf),)

    def words(self, write: Write = plain) -> str:
        return f"at least {write(self.value)}"


class AtMost(_Threshold):
    """Up to `value`: (-inf, value]."""

    kind: Literal["at_most"] = "at_most"

    @property
    def pieces(self) -> tuple[tuple[float, float], ...]:
        return ((-math.inf, self.value),)

    def words(self, write: Write = plain) -> str:
        return f"at most {write(self.value)}"


class _Band(Spec):
    low: float
    high: float

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low = {self.low}: must be below high = {self.high}")
        return self

    def moved(self, by: float, no_effect: float, log_axis: bool) -> Self:
        """A copy with its width multiplied, wherever no effect lies: in the logarithm on a log axis."""
        if log_axis and self.low > 0:
            centre, half = math.sqrt(self.low * self.high), math.sqrt(self.high / self.low) ** by
            return self.model_copy(update={"low": centre / half, "high": centre * half})
        centre, half = (self.low + self.high) / 2, by * (self.high - self.low) / 2
        return self.model_copy(update={"low": centre - half, "high": centre + half})


class Within(_Band):
    """From `low` to `high`: [low, high]. Around zero it is an equivalence margin: the two one-sided tests."""

    kind: Literal["within"] = "within"

    EXAMPLE: ClassVar[dict[str, float]] = {"low": -0.01, "high": 0.01}

    @property
    def pieces(self) -> tuple[tuple[float, float], ...]:
        return ((self.low, self.high),)

    def words(self, write: Write = plain) -> str:
        return f"between {write(self.low)} and {write(self.high)}"


class Outside(_Band):
    """Up to `low`, or from `high` on: (-inf, low] or [high, inf)."""

    kind: Literal["outside"] = "outside"

    EXAMPLE: ClassVar[dict[str, float]] = {"low": -0.01, "high": 0.01}

    @property
    def pieces(self) -> tuple[tuple[float, float], ...]:
        return ((-math.inf, self.low), (self.high, math.inf))

    def words(self, write: Write = plain) -> str:
        return f"at most {write(self.low)} or at least {write(self.high)}"


Rule = Annotated[AtLeast | AtMost | Within | Outside, Field(discriminator="kind")]
