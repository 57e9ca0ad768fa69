"""A pack of a user's own module: lanes that share a program through torch.func, or one module by itself."""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils._pytree import tree_map

from .....models import Drop, Tap
from ....declare import Workload
from ....errors import UserCodeError
from ....randomness import Order, key
from ..data import DataFacts
from ..data.base import EVALUATION_TARGETS
from ..network import PackedNetwork, Scores
from .finding import find_again
from .itself import UNPICKLABLE, ModuleItself, python_state
from .model import OwnModule
from .module import counts_of, own_data
from .objective import Objective, Tree
from .place import place


class OwnNetwork(PackedNetwork, ABC):
    """Steps and evaluations take the numbers of examples (dataset.py), [K, B] or [N], as inputs and as targets.

    Buffers, such as running statistics, belong to a lane as its parameters do. In training the module is in train mode, and
    what it draws is keyed on seed, step and part of the batch; evaluations are in eval mode. It shows no activations. A loss
    that is a sum is shown as its mean, and `sums`.
    """

    shows = False
    model: OwnModule
    took_part: Tensor

    def __init__(
        self,
        model: OwnModule,
        workload: Workload,
        facts: DataFacts,
        seeds: Sequence[int],
        device: torch.device,
        precision: str,
    ):
        assert workload.own is not None, "of a user's workload"
        self.seeds, self.found = tuple(seeds), find_again(workload.own)
        super().__init__(model, workload, facts, seeds, device, precision)
        self.examples = own_data(workload.own, device.type)
        self.buffers = {name: torch.stack([state[name] for state in self.states]).to(device) for name in self.model.state}
        del self.states
        self.names = [*(parameter.name for parameter in self.model.parameters), *self.model.state]
        self.took_part = torch.ones(len(seeds), len(self.sizes), dtype=torch.bool)
        reduction = self.model.reduction
        self.sums, self.in_parts = reduction.kind == "sum", reduction.kind != "neither"
        self.measures = self.found.workload.metric is not None
        self.rule = (
            f"workload '{self.found.address}': runs whose loss on a sample of their training examples ends above its start have"
            " diverged, and count with their start; if the loss is meant to rise, say loss_may_rise=True"
        )
        self.counts = counts_of(workload.own, device.type, precision)
        self.kept_at_start = self.kept()

    @property
    def objective(self) -> Objective:
        """The module with its loss that is called."""
        return self.model.objective

    def kept(self) -> bytes | None:
        """The state that the module and its loss keep beside their tensors, pickled; None if it cannot be pickled."""
        with suppress(*UNPICKLABLE):
            return python_state(self.objective, self.names)
        return None

    def losses(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        views: dict[str, Tensor] | None = None,
        drop: Drop | None = None,
    ) -> Tensor:
        """Mean loss of each lane by the workload's own loss, [K]. A module drops by itself or not at all."""
        assert views is None, "an own module is called with its own values"
        losses_K = self.losses_of(inputs)
        return losses_K / self.counted(inputs) if self.sums else losses_K

    @abstractmethod
    def losses_of(self, numbers_KB: Tensor) -> Tensor:
        """Values of the workload's loss, [K]."""

    def _itself(self, lane: int) -> ModuleItself:
        """A lane's module, whose values lie in the pack's buffers."""
        made = self.model.itself(self.seeds[lane])
        rows = {**self.views_of(self.flat_KP), **self.buffers}
        made.lies_in({name: tensor.detach()[lane] for name, tensor in rows.items()})
        return made

    def starts(self, seeds: Sequence[int]) -> Tensor:
        starts = [self.model.start(seed) for seed in seeds]
        self.states = [state for _, state in starts]
        return torch.stack([flat for flat, _ in starts])

    def share(self, part: Tensor, whole: Tensor, axis: int = 0) -> Tensor:
        """As of PackedNetwork, by the counts of the loss's mean; a part in which nothing counts has no share."""
        counts = (self.counts[numbers].sum(dim=axis) for numbers in (part, whole))
        return torch.nan_to_num(torch.div(*counts)).float()

    def counted(self, targets: Tensor) -> Tensor:
        """As of PackedNetwork, by the counts of the loss's mean."""
        return self.counts[targets].sum(dim=1).float()

    def _said(self, what: str) -> UserCodeError:
        return UserCodeError(f"workload '{self.found.address}': {what}")

    def _drawing(self, lane: int) -> AbstractContextManager[None]:
        """Random draws inside depend on a lane's seed and step."""
        order = self.orders[lane] if self.orders else Order(self.seeds[lane])
        return self.model.keyed(key(order.seed, f"forward:{order.passed + self.step}" + f":{self.part}" * (self.part > 0)))

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Eval mode inside."""
        with self.model.evaluating():
            yield

    @contextmanager
    def in_fp32(self) -> Iterator[None]:
        """Also eval mode: a loss that draws again at every pass has no Hessian."""
        with super().in_fp32(), self.buffers_kept(), self.evaluating():
            yield

    def examples_at_once(self, targets: Tensor) -> int:
        """As of PackedNetwork, but all examples where parts tell nothing of the whole."""
        return max(1, EVALUATION_TARGETS // self.examples.targets_each) if self.in_parts else len(targets)

    @torch.no_grad()
    def scores(self, inputs: Tensor, targets: Tensor) -> Scores:
        """As of PackedNetwork, over the parts in which something counts."""
        with self.buffers_kept(), self.evaluating():
            lanes = len(self.flat_KP)
            total_K = torch.zeros(lanes, device=self.flat_KP.device)
            # Parts of one size: a single example left over may have no loss.
            for part in torch.tensor_split(inputs, math.ceil(len(inputs) / self.examples_at_once(targets))):
                if float(share := self.share(part, inputs)):
                    total_K += self.losses(part.expand(lanes, -1), part.expand(lanes, -1)) * share
            return Scores(total_K, self._measured(inputs) if self.measures else None)

    def scores_of_start(self, inputs: Tensor, wanted_K: Tensor, batches: Iterator[Tensor]) -> Scores:
        """As of PackedNetwork, but infinite where the loss may rise."""
        if self.found.workload.loss_may_rise:
            return Scores(torch.full_like(self.flat_KP[:, 0], math.inf), None)
        return super().scores_of_start(inputs, wanted_K, batches)

    def _measured(self, numbers: Tensor) -> Tensor:
        """The workload's metric, lane by lane, by the number of examples, [K]; nan where a loss may be, too."""
        metric = self.found.workload.metric
        assert metric is not None
        total_K = torch.zeros(len(self.flat_KP), device=self.flat_KP.device)
        for part in torch.split(numbers, self.examples_at_once(numbers)):
            for lane in range(len(total_K)):
                made = self._in_eval_mode(lane)
                with self._drawing(lane), self.model.precision(self.dtype):
                    measured = made.objective.measured(metric, *self.examples.batch(part))
                total_K[lane] += measured * (len(part) / len(numbers))
        return total_K

    def _in_eval_mode(self, lane: int) -> ModuleItself:
        made = self._itself(lane)
        made.objective.module.eval()
        return made


class PackedLanes(OwnNetwork):
    """Lanes that share one program. Their random draws cannot be told apart, and their module's state is no lane's: in the
    proof they draw and keep nothing, and a module that begins to do so ends the run."""

    def losses_of(self, numbers_KB: Tensor) -> Tensor:
        before = _generators()
        losses_K = self.model.losses({**self.views, **self.buffers}, *self._read(numbers_KB))
        if _generators() != before:
            raise self._said("it draws by Python's or NumPy's generators now and then, which packed lanes have in common")
        return losses_K

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """As of PackedNetwork, but 0 for a part of a batch in which nothing counts, whose mean is not finite."""
        losses_K, gradient_KP = super().gradient(inputs, targets, tap, scale_K, out_KP)
        if scale_K is None:
            return losses_K, gradient_KP
        counts_K = scale_K != 0
        return torch.where(counts_K, losses_K, 0.0), gradient_KP.masked_fill_(~counts_K.unsqueeze(1), 0.0)

    def scores(self, inputs: Tensor, targets: Tensor) -> Scores:
        """As of OwnNetwork; raises UserCodeError for a module that has begun to keep a state."""
        if self.kept() != self.kept_at_start:
            raise self._said("it changes what it keeps beside its tensors, which packed lanes have in common")
        return super().scores(inputs, targets)

    def _read(self, numbers_KB: Tensor) -> tuple[Tree, Tree]:
        """The examples, stacked; random draws of a dataset as it is read depend on a lane's seed and step."""
        if not self.examples.is_read:
            return self.examples.batch(numbers_KB)
        read = []
        for lane, numbers in enumerate(numbers_KB):
            with self._drawing(lane):
                read.append(self.examples.batch(numbers))
        batch: tuple[Tree, Tree] = tree_map(lambda *tensors: torch.stack(tensors), *read)
        return batch

    def _said(self, what: str) -> UserCodeError:
        return super()._said(f"{what}; say packed=False")


class ByItself(OwnNetwork):
    """One lane, whose module is called as plain PyTorch calls it, so that all it has beside its tensors (hooks, modes, lists,
    recomputation, counters in Python) is its own."""

    @cached_property
    def module(self) -> ModuleItself:
        return self._itself(0)

    @property
    def objective(self) -> Objective:
        return self.module.objective

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """By backward(), as PackedNetwork has it."""
        scale = 1.0 if scale_K is None else float(scale_K)
        gradient_KP = torch.zeros_like(self.flat_KP) if out_KP is None else out_KP.zero_()
        took_part = torch.zeros_like(self.took_part)
        losses_1 = torch.zeros_like(self.flat_KP[:, 0])
        if scale:  # else nothing counts in this part of a batch, and its mean is not finite
            loss, gradients = self.module.gradient(lambda _: self.losses(inputs, targets)[0], scale)
            losses_1[0] = loss
            self.joined(gradients, out=gradient_KP).div_(scale)
            took_part[0] = torch.tensor(self.module.took_part)
        # A parameter that takes part in one part of a batch takes part.
        self.took_part = took_part | self.took_part if self.part else took_part
        return losses_1, gradient_KP

    def keeps(self) -> bool:
        """Whether the module keeps, or will keep, a state beside its tensors."""
        return bool(self.model.remembered) or (now := self.kept()) is None or now != self.kept_at_start

    @property
    def leaves(self) -> list[Tensor]:
        """The module's own parameters."""
        return self.module.trained

    def as_leaves(self, values_KP: Tensor) -> list[Tensor]:
        return [leaf[0] for leaf in super().as_leaves(values_KP)]

    def joined(self, leaves: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
        return super().joined([leaf.unsqueeze(0) for leaf in leaves], out)

    def optimizer(self) -> Optimizer:
        """The workload's own; require_model has seen that there is one. Raises UserCodeError for anything else."""
        make = self.found.workload.optimizer
        made = make(self.module.trained) if make is not None else None
        if not isinstance(made, Optimizer):
            raise UserCodeError(f"optimizer() gives a {type(made).__name__}: must give a torch.optim.Optimizer")
        return made

    def losses_of(self, numbers_KB: Tensor) -> Tensor:
        try:
            with self._drawing(0), self.model.precision(self.dtype):
                loss: Tensor = self.module.objective(*self.examples.batch(numbers_KB[0]))
            self.module.settle()
        except ValueError as error:
            if place(error):
                raise
            raise self._said(str(error)) from None
        for name, value in self.module.frozen.items():
            if value.requires_grad:
                raise self._said(
                    f"{name} begins to be trained on the way; let it require gradients from the start, and detach it"
                )
        return loss.unsqueeze(0)

    @contextmanager
    def buffers_kept(self) -> Iterator[None]:
        """Restores also the module's state in Python, and the weights, which a call may change."""
        took_part, weights_KP = self.took_part, self.flat_KP.clone()
        with super().buffers_kept(), ExitStack() as kept:
            with suppress(*UNPICKLABLE):
                kept.enter_context(self.module.kept())
            yield
        self.took_part = took_part
        self.flat_KP.copy_(weights_KP)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        with self.module.evaluating():
            yield
        self.module.settle()

    @torch.no_grad()
    def scores_of_start(self, inputs: Tensor, wanted_K: Tensor, batches: Iterator[Tensor]) -> Scores:
        """Counters are as they are now; queues and targets follow the weights by these batches, without a step. Running
        statistics are of the weights, and start with them."""
        if self.found.workload.loss_may_rise or not bool(wanted_K.any()):
            return super().scores_of_start(inputs, wanted_K, batches)
        with self.buffers_kept():
            weights_P, state = self.model.start(self.seeds[0])
            self.flat_KP.copy_(weights_P)
            for numbers_KB in batches:
                self.losses(numbers_KB, numbers_KB)
            for name in self.model.statistics:
                self.buffers[name].copy_(state[name])
            return Scores(self.scores(inputs, inputs).loss, None)

    def _in_eval_mode(self, lane: int) -> ModuleItself:
        return self.module


def _generators() -> tuple[object, int]:
    """The states of Python's and NumPy's generators."""
    return random.getstate(), int(np.random.get_state(legacy=False)["state"]["pos"])
