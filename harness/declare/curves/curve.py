"""A curve that a run leaves over its steps, with all there is to say of it."""

from dataclasses import dataclass
from typing import Literal

# What one step has a value for: the lane itself, or each of these.
Across = Literal["", "layers", "taps", "loss_scales"]
# The curves that say to which steps the others belong.
STEP, EVALUATION_STEP, PROBE_STEP = "step", "evaluation_step", "probe_step"


@dataclass(frozen=True)
class Curve:
    """steps: the curve that says to which steps its values belong; None: it is one of those. across: what else has a value of
    its own at each step. tracked: its name in MLflow; None: it is not shown there. heavy: it is neither read to judge nor
    published. place: of its column among the first that were published, of lanes or across others; None: it came later, and
    follows by name. derived: made of other records once a run has ended. setting: what a study has to set so that runs keep it;
    none: all do.
    """

    name: str
    unit: str
    description: str
    steps: str | None = PROBE_STEP
    across: Across = ""
    tracked: str | None = None
    heavy: bool = False
    place: int | None = None
    derived: bool = False
    setting: str = ""
