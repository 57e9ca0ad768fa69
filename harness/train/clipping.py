"""Clipping of each lane's gradient by its norm."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..declare import Training


def clip_limits(lanes: Sequence[Training], device: torch.device) -> Tensor | None:
    """Each lane's largest gradient norm, [K]; None where no lane clips."""
    if all(lane.clip_norm is None for lane in lanes):
        return None
    return torch.tensor([float("inf") if lane.clip_norm is None else lane.clip_norm for lane in lanes], device=device)


def clip_factor(norm_K: Tensor, limit_K: Tensor) -> Tensor:
    """The factor of each lane's gradient, [K, 1], as torch.nn.utils.clip_grad_norm_."""
    return (limit_K / (norm_K + 1e-6)).clamp(max=1.0).unsqueeze(1)
