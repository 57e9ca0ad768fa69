"""Whether the spikes of a run come again where another run goes on beside it: with the same batches, or from the same state."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ..curves.roughness import SPIKE_WINDOW
from ..observed import Example, FactorName, Observed, ObservedArm, OfLosses
from ..trials import ADD_SEEDS, NotEstimableError, Numbers, Trials
from .detectors import RULES
from .estimating.weighted import training_of
from .spikes import Flags, every_step

# Steps without an alarm before one that begins a spike.
QUIET = 10


class SpikeRecurrence(Observed):
    """Share of the spikes of one arm's runs at which runs that started from a checkpoint, and go on beside them, spike too: the
    experiment of Chowdhery et al. 2022 (PaLM, section 5.1). A spike is a loss six robust deviations above the median of the 50
    steps before it."""

    kind: Literal["spike_recurrence"] = "spike_recurrence"
    arm: ObservedArm = Field(description="the arm that starts from a checkpoint")
    of: ObservedArm = Field(description="the arm whose spikes are looked for, after as many steps as that checkpoint has")
    within_steps: int = Field(default=5, ge=0, description="by how many steps both may differ")
    other_seeds: bool = Field(default=False, description="look at the runs of all other seeds: what chance comes to")
    over: FactorName = "peak_lr"

    AT_ONE_POINT: ClassVar[bool] = True
    BOUNDS: ClassVar[tuple[float, float]] = (0.0, 1.0)
    OF_LOSSES: ClassVar[OfLosses] = "no zero"
    FIGURE: ClassVar[str] = "forest"
    UNIT: ClassVar[str] = "share of the spikes, 0 to 1"
    EXAMPLE: ClassVar[Example] = {"arm": "goes_on", "of": "trained_once"}

    def estimate(self, trials: Trials, weights: Numbers) -> Numbers:
        spikes_ST, again_ST = self._both(trials)
        if not spikes_ST.any():
            raise NotEstimableError("open", f"{trials.arm_name(self.of)} has no spike to look for", ADD_SEEDS)
        # How many spikes of each run another one meets.
        met_SS = spikes_ST.astype(float) @ _spread(again_ST, self.within_steps).astype(float).T
        with np.errstate(invalid="ignore"):
            if self.other_seeds:
                others_RS = weights.sum(axis=1, keepdims=True) - weights
                met_RS = (weights @ (met_SS - np.diag(met_SS.diagonal())).T) / others_RS
            else:
                met_RS = np.broadcast_to(met_SS.diagonal(), weights.shape)
            return np.asarray((weights * met_RS).sum(axis=1) / (weights @ spikes_ST.sum(axis=1)))

    def _both(self, trials: Trials) -> tuple[Flags, Flags]:
        """First steps of spikes, [S, steps], of the steps that both arms have and that have a window before them."""
        followed, _, of = every_step(self.of, self.over, trials)
        losses, _, training = every_step(self.arm, self.over, trials)
        if training.starts_from is None:
            raise NotEstimableError("open", f"{trials.arm_name(self.arm)} starts from no checkpoint", "name one by starts_from")
        first = training.start_step(training_of(training.starts_from, self.over, trials).steps)
        if first + training.steps > of.steps:
            ends_before = f"{trials.arm_name(self.of)} ends before {trials.arm_name(self.arm)}"
            raise NotEstimableError("open", ends_before, "give this one fewer steps")
        beside = slice(first + SPIKE_WINDOW, first + training.steps)
        return _spikes(followed)[:, beside], _spikes(losses)[:, SPIKE_WINDOW:]


def _spikes(losses_ST: Numbers) -> Flags:
    """The first step of every spike."""
    alarm_ST = RULES["spike"].score(losses_ST, losses_ST) > RULES["spike"].limit
    before = np.zeros_like(alarm_ST)
    for steps in range(1, QUIET + 1):
        before[:, steps:] |= alarm_ST[:, :-steps]
    return np.asarray(alarm_ST & ~before)


def _spread(flags_ST: Flags, steps: int) -> Flags:
    """Also as many steps before and after."""
    found = flags_ST.copy()
    for shift in range(1, steps + 1):
        found[:, shift:] |= flags_ST[:, :-shift]
        found[:, :-shift] |= flags_ST[:, shift:]
    return found
