"""The schedule that reads evaluations: a lane's LR drops when its validation loss stops falling, as by
torch.optim.lr_scheduler.ReduceLROnPlateau."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...declare import Training
from .base import Making, Procedure

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# A loss counts as better below (1 - THRESHOLD) times the best so far; torch's default.
THRESHOLD = 1e-4


class PlateauRule:
    """`state` holds each lane's best loss and its evaluations without improvement, [K] each."""

    def __init__(self, lanes: Sequence[Training], device: torch.device):
        import torch

        follows = [lane.schedule == "reduce_on_plateau" for lane in lanes]
        self.follows_K = torch.tensor(follows, device=device)
        self.patience_K = torch.tensor([float(lane.patience) for lane in lanes], device=device)
        self.factor_K = torch.tensor([lane.step_factor for lane in lanes], device=device)
        self.state = {
            "best": torch.full((len(lanes),), float("inf"), device=device),
            "waited": torch.zeros(len(lanes), device=device),
        }

    def drops(self, losses_K: Tensor) -> Tensor:
        """The factor of the LR of every later step after an evaluation, [K]."""
        import torch

        best, waited = self.state["best"], self.state["waited"]
        better = losses_K < best * (1 - THRESHOLD)
        best.copy_(torch.where(better, losses_K, best))
        waited.copy_(torch.where(better, 0.0, waited + 1))
        fires = self.follows_K & (waited > self.patience_K)
        waited.copy_(torch.where(fires, 0.0, waited))
        return torch.where(fires, self.factor_K, 1.0)


class PlateauDrops(Procedure):
    """Multiplies the LR of all steps to come, in the lanes that follow the rule."""

    place, setting, value = 90, "training.schedule", "reduce_on_plateau"

    def prepare(self, making: Making) -> None:
        self.lr_SK = making.learner.lr_SK
        self.rule = PlateauRule(making.trainings, self.lr_SK.device)

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        super().after(step, losses)
        if "evaluation_loss" in losses:
            self.lr_SK[step:] *= self.rule.drops(losses["evaluation_loss"])

    def state(self) -> dict[str, Tensor]:
        return self.inner.state() | {f"plateau.{name}": value for name, value in self.rule.state.items()}


PROCEDURE = PlateauDrops
