"""Optimizers over a pack: parameters and gradients are [K, P], hyper-parameters [K, 1], one update for all lanes.

The arithmetic follows torch.optim, and the tests hold each against it. `decays` [P] marks the parameters that weight
decay acts on. An update changes the parameters in place.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from folklore.harness.spec import Training

# Parameters a lane from which a CPU's time goes into passes over memory: torch's kernel then makes one where ours makes eight.
KERNEL_FROM = 100_000


class PackedOptimizer(ABC):
    """Holds the hyper-parameters of K lanes and the state of one kind of optimizer."""

    def __init__(self, lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor):
        self.lanes = lanes
        self.device = parameters_KP.device
        self.decay_KP = self.per_lane("weight_decay") * decays_P
        self.state = {name: torch.zeros_like(parameters_KP) for name in self.moments}
        # Tensors of this size made anew would be mapped and unmapped by the allocator at every step.
        self.gradient_KP, self.scratch_KP = torch.empty_like(parameters_KP), torch.empty_like(parameters_KP)

    @property
    @abstractmethod
    def moments(self) -> tuple[str, ...]:
        """Names of the state tensors [K, P]."""

    def per_lane(self, field: str) -> Tensor:
        values = [getattr(lane, field) for lane in self.lanes]
        return torch.tensor(values, dtype=torch.float32, device=self.device).unsqueeze(1)

    @property
    def decays_any(self) -> bool:
        return any(lane.weight_decay for lane in self.lanes)

    @abstractmethod
    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        """Apply the update of `step` (from 0), float64 [1, 1], or where lanes skip updates what each lane has made, [K, 1].

        lr_K1 may be [K, P]. Every pass over [K, P] counts: on a CPU a large pack spends its time on memory here.
        """

    @abstractmethod
    def gradient_between(self, parameters_KP: Tensor, before_KP: Tensor, after_KP: Tensor) -> Tensor:
        """The gradient [K, P] whose update of `parameters_KP` moved the first of the moments from `before_KP` to `after_KP`.

        These may lie in the host's memory, and then so does what is returned.
        """


class Adam(PackedOptimizer):
    """Adam (Kingma and Ba 2015, algorithm 1); weight decay enters the gradient as L2.

    Where the second moment starts at the first squared gradient the bias correction is kept. Dropping it would leave
    entries whose first gradient happens to be small with steps 1 / sqrt(1 - beta2) too large (LOG.md); keeping it makes
    early steps smaller, by up to sqrt(1 - beta2^t), and leaves an entry with a first gradient of zero as in plain Adam.
    """

    moments = ("first", "second")
    kernel = staticmethod(torch._fused_adam_)

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
        self.parts = _parts(decays_P)

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        if self.kernel_serves(lr_K1, step):
            self.update_by_kernel(parameters_KP, gradient_KP, lr_K1, step)
            return
        gradient_KP = self.regularize(parameters_KP, gradient_KP, lr_K1)
        correction1, correction2 = self.accumulate(gradient_KP, step)
        # m / c1 / (sqrt(v / c2) + epsilon), with the corrections moved to where they are [K, 1].
        root2 = correction2.sqrt()
        denominator = torch.sqrt(self.state["second"], out=self.scratch_KP).add_(self.epsilon * root2)
        direction = torch.div(self.state["first"], denominator, out=self.scratch_KP)
        parameters_KP.addcmul_(direction, lr_K1 * (root2 / correction1), value=-1.0)

    def kernel_serves(self, lr_K1: Tensor, step: Tensor) -> bool:
        """Whether torch's own kernel does the same, faster: wide lanes on a CPU, in a step that is not compiled."""
        wide = self.device.type == "cpu" and self.gradient_KP.shape[1] >= KERNEL_FROM
        alike = lr_K1.shape[1] == 1 and step.numel() == 1 and not self.any_starts_full
        return wide and alike and not torch.compiler.is_compiling()

    def update_by_kernel(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        """Lane by lane, for the kernel's hyper-parameters are numbers. It counts steps from 1."""
        taken, rates = (step + 1).view(()).float(), lr_K1.view(-1).tolist()
        tensors = (parameters_KP, gradient_KP, self.state["first"], self.state["second"])
        for lane, rate, *rows in zip(self.lanes, rates, *tensors, strict=True):
            for decays, parts in self.parts.items():
                parameters, gradients, first, second = ([row[part] for part in parts] for row in rows)
                self.kernel(
                    parameters,
                    gradients,
                    first,
                    second,
                    [],
                    [taken] * len(parts),
                    lr=rate,
                    beta1=lane.beta1,
                    beta2=lane.beta2,
                    weight_decay=lane.weight_decay if decays else 0.0,
                    eps=lane.epsilon,
                    amsgrad=False,
                    maximize=False,
                )

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        return torch.addcmul(gradient_KP, self.decay_KP, parameters_KP) if self.decays_any else gradient_KP

    def gradient_between(self, parameters_KP: Tensor, before_KP: Tensor, after_KP: Tensor) -> Tensor:
        gradient_KP = (after_KP - before_KP).div_((1 - self.beta1).to(after_KP.device)).add_(before_KP)
        return self.without_decay(parameters_KP, gradient_KP)

    def without_decay(self, parameters_KP: Tensor, regularized_KP: Tensor) -> Tensor:
        decay_KP = self.decay_KP.to(parameters_KP.device)
        return regularized_KP.addcmul_(decay_KP, parameters_KP, value=-1.0) if self.decays_any else regularized_KP

    def accumulate(self, gradient_KP: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        """Move both averages on; returns the bias corrections 1 - beta^t, [K, 1] each."""
        square = torch.square(gradient_KP, out=self.scratch_KP)
        if self.any_starts_full:
            starts_now = self.starts_full & (step == 0)
            self.state["second"].copy_(torch.where(starts_now, square, self.state["second"]))
        self.state["first"].lerp_(gradient_KP, 1 - self.beta1)
        # Not lerp_: once a square has overflowed it would be nan from the next step on, and torch.optim's stays infinite.
        self.state["second"].mul_(self.beta2).addcmul_(square, 1 - self.beta2)
        return (1 - self.beta1_64.pow(step + 1)).float(), (1 - self.beta2_64.pow(step + 1)).float()


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2)."""

    kernel = staticmethod(torch._fused_adamw_)

    def regularize(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor) -> Tensor:
        if self.decays_any:
            parameters_KP.addcmul_(parameters_KP, torch.mul(self.decay_KP, lr_K1, out=self.scratch_KP), value=-1.0)
        return gradient_KP

    def without_decay(self, parameters_KP: Tensor, regularized_KP: Tensor) -> Tensor:
        return regularized_KP


class RAdam(AdamW):
    """Rectified Adam (Liu et al. 2020, algorithm 2) with decoupled weight decay, as in torch.optim.RAdam."""

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        gradient_KP = self.regularize(parameters_KP, gradient_KP, lr_K1)
        correction1, correction2 = self.accumulate(gradient_KP, step)
        limit = 2 / (1 - self.beta2_64) - 1
        length = limit - 2 * (step + 1) * self.beta2_64.pow(step + 1) / (1 - self.beta2_64.pow(step + 1))
        rectifier = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)).clamp(min=0).sqrt()
        denominator = torch.sqrt(self.state["second"], out=self.scratch_KP).add_(self.epsilon)
        adaptive = torch.div((rectifier * correction2.sqrt()).float(), denominator, out=self.scratch_KP)
        factor = torch.where(length > 5, adaptive, 1.0)
        parameters_KP.addcmul_(factor.mul_(self.state["first"]), lr_K1 / correction1, value=-1.0)


class SGD(PackedOptimizer):
    """SGD with heavy-ball or Nesterov momentum, torch's form: the LR multiplies the whole buffer."""

    moments = ("momentum",)

    def __init__(self, lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor):
        super().__init__(lanes, parameters_KP, decays_P)
        self.momentum = self.per_lane("momentum")
        self.nesterov = lanes[0].nesterov

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        direction = torch.addcmul(gradient_KP, self.decay_KP, parameters_KP) if self.decays_any else gradient_KP
        buffer = self.state["momentum"].mul_(self.momentum).add_(direction)
        moved = torch.addcmul(direction, self.momentum, buffer) if self.nesterov else buffer
        parameters_KP.addcmul_(moved, lr_K1, value=-1.0)

    def gradient_between(self, parameters_KP: Tensor, before_KP: Tensor, after_KP: Tensor) -> Tensor:
        momentum, decay_KP = (each.to(after_KP.device) for each in (self.momentum, self.decay_KP))
        direction_KP = torch.addcmul(after_KP, momentum, before_KP, value=-1.0)
        return direction_KP.addcmul_(decay_KP, parameters_KP, value=-1.0) if self.decays_any else direction_KP


KINDS: dict[str, type[PackedOptimizer]] = {"adamw": AdamW, "adam": Adam, "radam": RAdam, "sgd": SGD}


def make_optimizer(lanes: Sequence[Training], parameters_KP: Tensor, decays_P: Tensor) -> PackedOptimizer:
    return KINDS[lanes[0].optimizer](lanes, parameters_KP, decays_P)


def _parts(decays_P: Tensor) -> dict[bool, list[slice]]:
    """Whether weight decay acts -> the runs of parameters where it does, or does not."""
    edges = (decays_P[1:] != decays_P[:-1]).nonzero().view(-1).add(1).tolist()
    found: dict[bool, list[slice]] = {}
    for start, end in itertools.pairwise([0, *edges, len(decays_P)]):
        found.setdefault(bool(decays_P[start]), []).append(slice(start, end))
    return found


def clip_limits(lanes: Sequence[Training], device: torch.device) -> Tensor | None:
    """Each lane's largest gradient norm, [K]; None where no lane clips."""
    if all(lane.clip_norm is None for lane in lanes):
        return None
    return torch.tensor([float("inf") if lane.clip_norm is None else lane.clip_norm for lane in lanes], device=device)


def clip_factor(norm_K: Tensor, limit_K: Tensor) -> Tensor:
    """What each lane's gradient is multiplied by, [K, 1], as torch.nn.utils.clip_grad_norm_."""
    return (limit_K / (norm_K + 1e-6)).clamp(max=1.0).unsqueeze(1)
