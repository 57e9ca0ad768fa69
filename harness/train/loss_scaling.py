"""The scaling of losses that narrow number formats need."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..declare import Training
from .precisions import base

# torch.amp.GradScaler's constants.
GROWTH_FACTOR, BACKOFF_FACTOR = 2.0, 0.5


class LossScaler:
    """Multiplies each lane's loss before the backward pass and divides its gradient after it.

    Dynamic scaling follows torch.amp.GradScaler, lane by lane: an update whose gradient is not finite is skipped and
    halves the scale; this many finite updates in a row double it. `state` holds the scales [K], the finite updates since
    the last change [K], and the updates made [K], which an optimizer's bias correction counts by.
    """

    def __init__(self, lanes: Sequence[Training], device: torch.device):
        self.kind = lanes[0].loss_scaling
        scales = [lane.loss_scale if self.kind != "none" else 1.0 for lane in lanes]
        zeros = torch.zeros(len(lanes), device=device)
        self.state = {"scale": torch.tensor(scales, device=device), "finite_steps": zeros, "updates": zeros.clone()}

    @property
    def scale(self) -> Tensor | None:
        """The factor of each lane's loss, [K]; None without scaling."""
        return None if self.kind == "none" else self.state["scale"]

    @property
    def skips(self) -> bool:
        return self.kind == "dynamic"

    def update(self, finite_K: Tensor) -> None:
        """Move scale and counts on after a step whose gradients were finite where `finite_K` says so."""
        scale, steps = self.state["scale"], self.state["finite_steps"]
        self.state["updates"] += finite_K
        steps.copy_(torch.where(finite_K, steps + 1, 0.0))
        grows = steps >= base.GROWTH_INTERVAL
        scale.copy_(torch.where(finite_K, torch.where(grows, scale * GROWTH_FACTOR, scale), scale * BACKOFF_FACTOR))
        steps.copy_(torch.where(grows, 0.0, steps))
