"""Remedies when a run gives an alarm: undo an update, go back to an earlier state, or lower the LR.

Lanes are told apart by masks on the device: nothing waits for a number of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...declare import Configuration, Training
from ..part import Cost
from ..result import LOSSES, NORMS
from .base import Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor

# A loss is an alarm above this many times the mean of the nine losses before it.
RATIO, RATIO_WINDOW = 2.0, 9
# Or a loss or gradient norm above its mean over a window of steps by a number of standard deviations.
DEVIATIONS, WINDOW = 6.0, 128
# Steps from checkpoint to checkpoint, and of the ramp after a lower LR.
EVERY = 20


ALARMS = {
    "oracle": "after the fault",
    "loss_ratio": "where the loss is above twice the mean of nine before",
    "deviations": "where loss or gradient norm is 6 deviations above the mean of 128 before",
}
WORDS = {
    "skip": "the step is undone",
    "roll_back": "the last checkpoint but one of every {every} steps is gone back to",
    "lower_lr": "the LR is halved and rises again over {every} steps",
    "halve_lr": "the LR is halved",
}


class Remedies(Procedure):
    """losses_KS, norms_KS: of the steps so far, nan for those to come. before_step: the state that a step began with; older,
    newer: the last two checkpoints."""

    place, setting, adds = 120, "training.remedy", Cost(copies=9)
    settings = ("training.alarm",)

    def prepare(self, making: Making) -> None:
        import torch

        learner, lanes = making.learner, making.trainings
        self.learner, self.clock, self.lr_SK = learner, learner.clock, learner.lr_SK
        self.lanes = lanes
        device = learner.clock.device
        self.losses_KS, self.norms_KS = (torch.full_like(learner.lr_SK.t().contiguous(), float("nan")) for _ in range(2))
        self.takes = {name: torch.tensor([lane.remedy == name for lane in lanes], device=device) for name in WORDS}
        self.alarms = {
            name: torch.tensor([lane.remedy != "none" and lane.alarm == name for lane in lanes], device=device)
            for name in ALARMS
        }
        self.skips, self.rolls_back = (any(lane.remedy == name for lane in lanes) for name in ("skip", "roll_back"))
        self.before_step, self.older, self.newer = self._copied(), self._copied(), self._copied()

    @classmethod
    def check(cls, configuration: Configuration) -> None:
        if configuration.training.alarm == "deviations" and not configuration.measurement.gradient_norms:
            raise ValueError("alarm = deviations: is by loss and gradient norm; set measurement.gradient_norms, too")

    @classmethod
    def words(cls, training: Training) -> str:
        return f", {ALARMS[training.alarm]} " + WORDS[training.remedy].format(every=EVERY)

    def before(self, step: int) -> None:
        super().before(step)
        if self.skips:
            self._put(self.before_step, self._changing(), "skip")
        if self.rolls_back and step % EVERY == 0:
            self._put(self.older, self.newer, "roll_back")
            self._put(self.newer, self._changing(), "roll_back")

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        super().after(step, losses)
        self.losses_KS[:, step - 1] = losses[LOSSES]
        if NORMS in losses:
            self.norms_KS[:, step - 1] = losses[NORMS]
        alarm_K = self._alarm(step - 1)
        for name, kept in (("skip", self.before_step), ("roll_back", self.older)):
            self._put(self._changing(), kept, name, alarm_K)
        self._lower(step, alarm_K)

    def _alarm(self, step: int) -> Tensor:
        """Whether a lane's step gives an alarm by the lane's own rule, [K]."""
        import torch

        last = torch.tensor([step == lane.faulty_steps.stop - 1 for lane in self.lanes], device=self.losses_KS.device)
        found_K = self.alarms["oracle"] & last
        if step >= RATIO_WINDOW:
            mean_K = self.losses_KS[:, step - RATIO_WINDOW : step].mean(dim=1)
            found_K |= self.alarms["loss_ratio"] & ~(self.losses_KS[:, step] <= RATIO * mean_K)
        if step >= WINDOW:
            found_K |= self.alarms["deviations"] & (_stands_out(self.losses_KS, step) | _stands_out(self.norms_KS, step))
        return found_K

    def _lower(self, step: int, alarm_K: Tensor) -> None:
        """Lower the LR of the steps to come."""
        import torch

        later_lr_SK = self.lr_SK[step:]
        ramp_S1 = (0.5 + 0.5 * torch.arange(len(later_lr_SK), device=later_lr_SK.device) / EVERY).clamp(max=1.0).unsqueeze(1)
        later_lr_SK.mul_(torch.where(alarm_K & self.takes["lower_lr"], ramp_S1, torch.ones_like(ramp_S1)))
        later_lr_SK.mul_(torch.where(alarm_K & self.takes["halve_lr"], 0.5, 1.0))

    def _changing(self) -> dict[str, Tensor]:
        """The tensors that a step changes, [K, ...] each."""
        network = self.learner.network
        buffers = {f"buffer {name}": value for name, value in network.buffers.items()}
        return {"weights": network.flat_KP.detach(), **self.learner.optimizer.state, **buffers}

    def _copied(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self._changing().items()}

    def _put(self, into: dict[str, Tensor], values: dict[str, Tensor], remedy: str, where_K: Tensor | bool = True) -> None:
        """Copy the values of the lanes with a remedy; other lanes keep their own, whatever their neighbours have."""
        import torch

        for name, value in values.items():
            into[name].copy_(torch.where(_like(self.takes[remedy] & where_K, value), value, into[name]))

    def state(self) -> dict[str, Tensor]:
        kept = {"before": self.before_step, "older": self.older, "newer": self.newer}
        return (
            self.inner.state()
            | {"remedies.losses": self.losses_KS, "remedies.norms": self.norms_KS}
            | {f"remedies.{place}.{name}": value for place, values in kept.items() for name, value in values.items()}
        )


def _like(lanes_K: Tensor, value: Tensor) -> Tensor:
    """A mask of lanes with as many sides as what it chooses of."""
    return lanes_K.view(-1, *[1] * (value.dim() - 1))


def _stands_out(values_KS: Tensor, step: int) -> Tensor:
    """Whether a lane's value is an outlier, [K]; one that is not finite is."""
    before_KS = values_KS[:, step - WINDOW : step]
    return ~(values_KS[:, step] <= before_KS.mean(dim=1) + DEVIATIONS * before_KS.std(dim=1))


PROCEDURE = Remedies
