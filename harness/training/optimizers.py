"""Optimizers over a pack: parameters and gradients are [K, P], hyper-parameters [K, 1], one update for all lanes.

The arithmetic follows torch.optim, and the tests hold each against it. `decays` [P] marks the parameters that weight
decay acts on. An update changes the parameters in place.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from harness.spec import Training


class PackedOptimizer(ABC):
    """Holds the hyper-parameters of K lanes and the state of one kind of optimizer."""

    def __init__(self, lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor):
        self.lanes = lanes
        self.device = parameters_KP.device
        self.decay_KP = self.per_lane("weight_decay") * decays_P
        self.state = {name: torch.zeros_like(parameters_KP) for name in self.moments}

    @property
    @abstractmethod
    def moments(self) -> tuple[str, ...]:
        """Names of the state tensors [K, P]."""

    def per_lane(self, field: str) -> Tensor:
        values = [getattr(lane, field) for lane in self.lanes]
        return torch.tensor(values, dtype=torch.float32, device=self.device).unsqueeze(1)

    @abstractmethod
    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: int | Tensor) -> None:
        """Apply the update of `step` (from 0); where lanes skip updates, it is what each lane has made, float64 [K, 1]."""


class Adam(PackedOptimizer):
    """Adam (Kingma and Ba 2015, algorithm 1); weight decay enters the gradient as L2.

    Where the second moment starts at the first squared gradient the bias correction is kept. Dropping it would leave
    entries whose first gradient happens to be small with steps 1 / sqrt(1 - beta2) too large (LOG.md); keeping it makes
    early steps smaller, by up to sqrt(1 - beta2^t), and leaves an entry with a first gradient of zero as in plain Adam.
    """

    moments = ("first", "second")

    def __init__(self, lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor):
        super().__init__(lanes, parameters_KP, decays_P)
        self.beta1, self.beta2, self.epsilon = (self.per_lane(name) for name in ("beta1", "beta2", "epsilon"))
        # Powers in float64: 0.999^t in float32 loses the digits that 1 - 0.999^t needs.
        self.beta1_64, self.beta2_64 = (
            torch.tensor([getattr(lane, name) for lane in lanes], dtype=torch.float64, device=self.device).unsqueeze(1)
            for name in ("beta1", "beta2")
        )
        first_gradient = [lane.second_moment_start == "first_gradient" for lane in lanes]
        self.starts_full = torch.tensor(first_gradient, device=self.device).unsqueeze(1)
        self.any_starts_full = any(first_gradient)

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: int | Tensor) -> None:
        gradient_KP = self.regularize(parameters_KP, gradient_KP, lr_K1)
        correction1, correction2 = self.accumulate(gradient_KP, step)
        denominator = self.state["second"].sqrt().div_(correction2.sqrt()).add_(self.epsilon)
        parameters_KP.sub_(lr_K1 / correction1 * self.state["first"] / denominator)

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        return gradient_KP + self.decay_KP * parameters_KP

    def accumulate(self, gradient_KP: Tensor, step: int | Tensor) -> tuple[Tensor, Tensor]:
        """Move both averages on; returns the bias corrections 1 - beta^t, [K, 1] each."""
        square = gradient_KP.square()
        if self.any_starts_full:
            starts_now = self.starts_full & torch.as_tensor(step == 0, device=self.device)
            self.state["second"].copy_(torch.where(starts_now, square, self.state["second"]))
        self.state["first"].lerp_(gradient_KP, 1 - self.beta1)
        self.state["second"].mul_(self.beta2).add_(square.mul_(1 - self.beta2))
        return (1 - self.beta1_64.pow(step + 1)).float(), (1 - self.beta2_64.pow(step + 1)).float()


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2)."""

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        parameters_KP.mul_(1 - lr_K1 * self.decay_KP)
        return gradient_KP


class RAdam(AdamW):
    """Rectified Adam (Liu et al. 2020, algorithm 2) with decoupled weight decay, as in torch.optim.RAdam."""

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: int | Tensor) -> None:
        gradient_KP = self.regularize(parameters_KP, gradient_KP, lr_K1)
        correction1, correction2 = self.accumulate(gradient_KP, step)
        limit = 2 / (1 - self.beta2_64) - 1
        length = limit - 2 * (step + 1) * self.beta2_64.pow(step + 1) / (1 - self.beta2_64.pow(step + 1))
        rectifier = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)).clamp(min=0).sqrt()
        adaptive = correction2.sqrt() / (self.state["second"].sqrt() + self.epsilon)
        factor = torch.where(length > 5, rectifier.float() * adaptive, 1.0)
        parameters_KP.sub_(lr_K1 / correction1 * self.state["first"] * factor)


class SGD(PackedOptimizer):
    """SGD with heavy-ball or Nesterov momentum, torch's form: the LR multiplies the whole buffer."""

    moments = ("momentum",)

    def __init__(self, lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor):
        super().__init__(lanes, parameters_KP, decays_P)
        self.momentum = self.per_lane("momentum")
        self.nesterov = lanes[0].nesterov

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: int | Tensor) -> None:
        direction = gradient_KP + self.decay_KP * parameters_KP
        buffer = self.state["momentum"].mul_(self.momentum).add_(direction)
        parameters_KP.sub_(lr_K1 * (direction + self.momentum * buffer if self.nesterov else buffer))


KINDS: dict[str, type[PackedOptimizer]] = {"adamw": AdamW, "adam": Adam, "radam": RAdam, "sgd": SGD}


def make_optimizer(lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor) -> PackedOptimizer:
    return KINDS[lanes[0].optimizer](lanes, parameters_KP, decays_P)


def clip_factor(norm_K: Tensor, lanes: Sequence[Training]) -> Tensor | None:
    """What each lane's gradient is multiplied by, [K, 1], as torch.nn.utils.clip_grad_norm_; None where no lane clips."""
    if all(lane.clip_norm is None for lane in lanes):
        return None
    limits = [float("inf") if lane.clip_norm is None else lane.clip_norm for lane in lanes]
    limit_K = torch.tensor(limits, device=norm_K.device)
    return (limit_K / (norm_K + 1e-6)).clamp(max=1.0).unsqueeze(1)
