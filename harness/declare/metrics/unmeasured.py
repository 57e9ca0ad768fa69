"""What is not observed yet."""

from typing import ClassVar, Literal

from pydantic import Field

from ..observed import Example, Observed, OfLosses
from ..trials import NotEstimableError, Numbers, Trials


class Unmeasured(Observed):
    """What nothing here can show yet: always out of regime, with the reason."""

    kind: Literal["unmeasured"] = "unmeasured"
    reason: str = Field(description="why nothing can show it")

    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    UNIT: ClassVar[str] = "none (there is no number)"
    EXAMPLE: ClassVar[Example] = {"reason": "needs a model of 1B parameters"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        raise NotEstimableError("out of regime", self.reason)
