"""Observables without a number: those that are not observed yet, and metrics that Folklore no longer has."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from ..base import canonical_json, declared
from ..observed import Example, FormerKind, Observable, Observed, OfLosses
from ..trials import NotEstimableError, Numbers, Trials

# Metric that has left -> what does its work.
LEFT = {
    "doubling_gain": "a quotient of two steps_to_target says what a doubled batch saves",
    "form_gap": "slopes over parts of its points say where the curve bends",
    "rank_correlation": "a slope says whether it rises",
}
Part = int | float | str | Observable | None


class Unmeasured(Observed):
    """An observable that nothing here can show yet: always out of regime, with the reason."""

    kind: Literal["unmeasured"] = "unmeasured"
    reason: str = Field(description="why nothing can show it")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "none (there is no number)"
    EXAMPLE: ClassVar[Example] = {"reason": "needs a model of 1B parameters"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        raise NotEstimableError("out of regime", self.reason)


class Left(Observed):
    """A metric that an earlier Folklore had: what it declared stays readable, and has no number."""

    kind: Literal["left"] = "left"
    was: dict[str, Part | tuple[tuple[Part, ...], ...]] = Field(description="the metric as it was declared")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "none (there is no number)"
    EXAMPLE: ClassVar[Example] = {"was": {"kind": "rank_correlation"}}
    FORMER: ClassVar[Mapping[str, FormerKind]] = dict.fromkeys(LEFT, lambda value: {"was": value})

    def first_declared(self) -> dict[str, Any]:
        """Hashes of studies go on with what was declared."""
        return {name: declared(value) for name, value in self.was.items() if value is not None}

    def __hash__(self) -> int:
        return hash(canonical_json(self.first_declared()))

    @property
    def why(self) -> str:
        metric = str(self.was["kind"])
        return f"Folklore no longer has the metric {metric}: {LEFT[metric]}"

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        raise NotEstimableError("invalid", self.why)
