"""From gradients to updates: the LR of each step, clipping, loss scaling and the optimizer of all lanes."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from ...models import Model
from ..declare import Configuration, Training, Workload
from ..randomness import Order
from .clipping import clip_factor, clip_limits
from .loss_scaling import LossScaler
from .optimizer_switch import with_switch
from .optimizers import make_optimizer, optimizer_kind
from .optimizers.adam import Adam
from .optimizers.base import Part
from .scaled_parameter import ScaledParameter
from .schedules import learning_rate_table
from .weight_rounding import WeightRounding, nearest
from .workloads.built_in import parametrization_of
from .workloads.network import PackedNetwork

EARLIER, MADE = "earlier", "made"
# State that belongs to a training's own steps: its schedule, and how many updates lie before them.
OF_A_RUN = ("lr", EARLIER)


class Learner:
    """Holds all that training changes beside the records: the network's parameters, and their optimizer.

    clock: the number of the step, on the device, int64 [1]. lr_SK: the LR of every step and lane. started: which lanes took a
    start. earlier_K1: updates that lanes had made before it, of those that take the optimizer along.
    """

    def __init__(self, lanes: Sequence[Configuration], network: PackedNetwork):
        trainings, device = [lane.training for lane in lanes], network.flat_KP.device
        self.network = network
        self.clock = torch.zeros(1, dtype=torch.int64, device=device)
        parts = _parts(network)
        first = make_optimizer(trainings, network.flat_KP, network.decays_P, parts)
        first.attach(network)
        self.optimizer = with_switch(first, trainings, network.flat_KP, network.decays_P, parts)
        self.scaler = LossScaler(trainings, device)
        self.lr_SK = torch.from_numpy(learning_rate_table(trainings)).float().to(device)
        self.clip_limit_K = clip_limits(trainings, device)
        self.lr_multiplier = _lr_multiplier(lanes, network)
        if self.lr_multiplier is not None:
            first.decay_apart_from(self.lr_multiplier)
        # Steps that each parameter has taken, of networks where not all take part in each.
        noted = network.took_part
        self.taken_KN = None if noted is None else torch.zeros(noted.shape, dtype=torch.float64)
        self.started, self.initial = [False] * len(lanes), dict[str, Tensor]()
        self.rounding: WeightRounding | None = None
        self.goes_on = [lane.training.start_state == "optimizer" for lane in lanes]
        self.earlier_K1 = torch.zeros(len(lanes), 1, dtype=torch.float64, device=device) if any(self.goes_on) else None

    @torch.no_grad()
    def learn(self, gradient_KP: Tensor) -> None:
        """Clip the gradient, in place, update the parameters by it, and move the clock on."""
        if self.clip_limit_K is not None:
            gradient_KP.mul_(clip_factor(gradient_KP.norm(dim=1), self.clip_limit_K))
        self.update(gradient_KP)
        self.clock.add_(1)

    def update(self, gradient_KP: Tensor) -> None:
        """Apply the optimizer; with dynamic loss scaling a lane whose gradient is not finite stays as it is."""
        lr = self.lr_SK.index_select(0, self.clock).view(-1, 1)
        if self.lr_multiplier is not None:
            lr = lr * self.lr_multiplier
        parameters_KP = self.network.flat_KP
        finite_K = gradient_KP.isfinite().all(dim=1) if self.scaler.skips else None
        moves, steps = self._moving(finite_K)
        changed = [] if moves is None else [parameters_KP, *self.optimizer.state.values()]
        before = [tensor.clone() for tensor in changed]
        self.optimizer.update(parameters_KP, gradient_KP, lr, steps)
        for tensor, old in zip(changed, before, strict=True):
            tensor.copy_(torch.where(moves, tensor, old))  # type: ignore[arg-type]
        if self.rounding is not None:
            parameters_KP.copy_(self.rounding(parameters_KP))
        if finite_K is not None:
            self.scaler.update(finite_K)

    def round_weights(self, orders: Sequence[Order], how: str) -> None:
        """From here on weights are BF16 numbers; `how` updates are rounded: 'nearest' or 'stochastic'."""
        self.rounding = WeightRounding(orders, self.clock, at_random=how == "stochastic")
        self.network.flat_KP.copy_(nearest(self.network.flat_KP))

    def _moving(self, finite_K: Tensor | None) -> tuple[Tensor | None, Tensor]:
        """The entries that an update changes, [K, 1] or [K, P], or None: all; and the number of the step. As in torch, entries
        without a part in the loss take no step: neither decay nor momentum go on, and steps are counted apart, [K, P]."""
        moves, steps, took_part_KN = None if finite_K is None else finite_K.unsqueeze(1), self.made, self.network.took_part
        if took_part_KN is None or self.taken_KN is None:
            return moves, steps
        if not bool(took_part_KN.all()):
            took_part_KP = self.network.over_entries(took_part_KN)
            moves = took_part_KP if moves is None else moves & took_part_KP
        if not self.scaler.skips:
            if not bool((self.taken_KN == steps.cpu()).all()):
                steps = self.network.over_entries(self.taken_KN)
            self.taken_KN += took_part_KN
        return moves, steps

    @property
    def made(self) -> Tensor:
        """The updates that lanes have made, float64 [1, 1], or [K, 1] where they differ."""
        if self.scaler.skips:
            return self.scaler.state["updates"].double().unsqueeze(1)
        clock = self.clock.double().view(1, 1)
        return clock if self.earlier_K1 is None else clock + self.earlier_K1

    def preconditioner(self) -> Tensor:
        """The divisor of Adam's average gradient at this point, [K, P]; an LR of an entry's own is no part of it."""
        assert isinstance(self.optimizer, Adam)
        return self.optimizer.preconditioner(self.made)

    def lane_state(self, lane: int) -> dict[str, Tensor]:
        """The state that another training can start from, on the host."""
        tensors = {name: tensor[lane] for name, tensor in self.state().items() if name not in OF_A_RUN}
        made = self.made.expand(len(self.goes_on), 1)
        return {name: tensor.detach().cpu().clone() for name, tensor in {**tensors, MADE: made[lane]}.items()}

    @torch.no_grad()
    def start(self, lane: int, state: Mapping[str, Tensor]) -> None:
        """Let a lane go on from a state of `lane_state`. Raises ValueError for the state of another network."""
        own = {name: tensor[lane] for name, tensor in self.state().items() if name not in OF_A_RUN}
        self.initial = self.initial or self._of_network()
        if not self.goes_on[lane]:
            own = {name: own[name] for name in self.initial}
        elif not self.scaler.skips:
            own = {name: tensor for name, tensor in own.items() if not name.startswith("scaler.")}
        for name, tensor in own.items():
            if name in self.initial and (name not in state or state[name].shape != tensor.shape):
                raise ValueError(f"the state that lane {lane} starts from has no {name} of shape {list(tensor.shape)}")
            if name in state:  # beside one whose optimizer is switched, a lane has moments that it does not use
                tensor.copy_(state[name])
        if self.goes_on[lane] and self.earlier_K1 is not None:
            self.earlier_K1[lane] = state[MADE].to(self.earlier_K1.device)
        self.started[lane] = True

    @contextmanager
    @torch.no_grad()
    def as_initialized(self) -> Iterator[None]:
        """Inside, the network has the values from before any start."""
        started = self._of_network() if self.initial else {}
        self._put(self.initial)
        yield
        self._put(started)
        self.initial = {}

    def _of_network(self) -> dict[str, Tensor]:
        """A copy of weights and buffers."""
        tensors = {name: tensor for name, tensor in self.state().items() if name == "weights" or name.startswith("buffer.")}
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}

    def _put(self, values: Mapping[str, Tensor]) -> None:
        for name, tensor in values.items():
            self.state()[name].copy_(tensor)

    def state(self) -> dict[str, Tensor]:
        """All that is needed to go on from here but for the clock, as tensors that a checkpoint is copied into."""
        return {
            "weights": self.network.flat_KP,
            "lr": self.lr_SK,
            **{f"buffer.{name}": value for name, value in self.network.buffers.items()},
            **{f"optimizer.{name}": value for name, value in self.optimizer.state.items()},
            **{f"scaler.{name}": value for name, value in self.scaler.state.items()},
            **({} if self.taken_KN is None else {"taken": self.taken_KN}),
            **({} if self.earlier_K1 is None else {EARLIER: self.earlier_K1}),
        }


def _parts(network: PackedNetwork) -> list[Part]:
    """The places of the model's weights in a lane's row."""
    starts = itertools.accumulate(network.sizes, initial=0)
    return [Part(start, p.shape, p.growing_sides == 2) for start, p in zip(starts, network.model.parameters, strict=False)]


def lr_multipliers(workload: Workload, training: Training, model: Model) -> list[float]:
    """The factor of each parameter's LR; all ones in standard parametrization if none is scaled."""
    scheme, rule = parametrization_of(workload), optimizer_kind(training.optimizer).mup_rule
    return [scheme.lr_multiplier(p.growing_sides, rule) * ScaledParameter.factor(training, p.name) for p in model.parameters]


def _lr_multiplier(lanes: Sequence[Configuration], network: PackedNetwork) -> Tensor | None:
    """The factor of every entry's LR, [P], or [K, P] if lanes differ; None if all have the lane's own."""
    of_lanes = [lr_multipliers(lane.workload, lane.training, network.model) for lane in lanes]
    if any(multipliers != of_lanes[0] for multipliers in of_lanes):
        return torch.stack([network.spread(multipliers) for multipliers in of_lanes])
    return None if set(of_lanes[0]) == {1.0} else network.spread(of_lanes[0])
