"""A pack of a user's own module: lanes through torch.func where they can share a program, each a module by itself where not.

A lane by itself is called as plain PyTorch calls it, so that what its module is beside its tensors (hooks, modes, lists,
recomputation, counters in Python) is its own.
"""

import logging
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._pytree import tree_map

from .....models import Drop, ModuleItself, OwnModule, Tap, Tree
from .....models.module_itself import UNPICKLABLE, as_complex, python_state
from ....declare import Workload
from ....errors import UserCodeError
from ....randomness import Order, key
from ..data import DataFacts
from ..data.base import EVALUATION_TARGETS
from ..network import PackedNetwork, Scores
from .finding import find_again
from .module import counts_of, own_data
from .place import place

log = logging.getLogger(__name__)


class OwnNetwork(PackedNetwork):
    """What a step or an evaluation is given are the numbers of examples (dataset.py), [K, B] or [N], as inputs and as targets.

    Buffers, such as running statistics, belong to a lane as its parameters do. In training the module is in train mode, and
    what it draws is keyed on seed, step and part of the batch; evaluations are in eval mode. It shows no activations. A loss
    that is a sum is shown as its mean, and `sums`.
    """

    shows = False
    model: OwnModule

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
        # What lanes that share a program draw cannot be told apart: they draw nothing.
        self.packed = len(seeds) > 1 and not self.model.alone
        if len(seeds) > 1 and not self.packed:
            log.warning("lanes of an own workload are trained each by itself on this device: %s", self.model.alone)
        self.buffers = {name: torch.stack([each[name] for each in self.states]).to(device) for name in self.model.state}
        del self.states
        self.remembers = self.model.remembered
        self.names = [*(each.name for each in self.model.parameters), *self.model.state]
        self.kept_before: bytes | None = None
        self.took_part = torch.ones(len(seeds), len(self.sizes), dtype=torch.bool)
        self.lanes = [] if self.packed else [self._lane(lane) for lane in range(len(seeds))]
        self.lanes_before: list[bytes] = []
        with suppress(*UNPICKLABLE):
            self.lanes_before = [python_state(each.objective, self.names) for each in self.lanes]
        reduction = self.model.reduction
        self.sums, self.in_parts = reduction.kind == "sum", reduction.kind != "neither"
        self.measures = self.found.workload.metric is not None
        self.rule = (
            f"workload '{self.found.address}': runs whose loss on a sample of their training examples ends above its start have"
            " diverged, and count with their start; if the loss is meant to rise, say loss_may_rise=True"
        )
        self.counts = counts_of(workload.own, device.type, precision)

    def _lane(self, lane: int) -> ModuleItself:
        """A module whose values lie in the pack's buffers."""
        made = self.model.itself(self.seeds[lane])
        rows = {**self.views_of(self.flat_KP), **self.buffers}
        made.lies_in({name: each.detach()[lane] for name, each in rows.items()})
        return made

    def starts(self, seeds: Sequence[int]) -> Tensor:
        found = [self.model.start(seed) for seed in seeds]
        self.states = [state for _, state in found]
        return torch.stack([flat for flat, _ in found])

    def share(self, part: Tensor, whole: Tensor, axis: int = 0) -> Tensor:
        """By what the loss is a mean of; a part in which nothing counts has no share."""
        counts = (self.counts[each].sum(dim=axis) for each in (part, whole))
        return torch.nan_to_num(torch.div(*counts)).float()

    def counted(self, targets: Tensor) -> Tensor:
        """By what the loss is a mean of."""
        return self.counts[targets].sum(dim=1).float()

    def losses(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        views: dict[str, Tensor] | None = None,
        drop: Drop | None = None,
    ) -> Tensor:
        """Mean loss of each lane by the workload's own loss, [K]. A module drops by itself or not at all."""
        if self.lanes:
            assert views is None, "a module by itself has its own values"
            losses_K = torch.stack([self._loss_alone(lane, inputs[lane]) for lane in range(len(self.lanes))])
        else:
            view = {**(self.views if views is None else views), **self.buffers}
            before = _generators()
            losses_K = self.model.losses(view, *self._read(inputs))
            if _generators() != before:
                raise self._said("it draws by Python's or NumPy's generators now and then, which packed lanes have in common")
        return losses_K / self.counted(inputs) if self.sums else losses_K

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Losses [K] and gradients [K, P], as PackedNetwork has them."""
        scale_K = torch.ones_like(self.flat_KP[:, 0]) if scale_K is None else scale_K
        if not self.lanes:
            losses_K, gradient_KP = super().gradient(inputs, targets, tap, scale_K, out_KP)
            counts_K = scale_K != 0
            return torch.where(counts_K, losses_K, 0.0), gradient_KP.masked_fill_(~counts_K.unsqueeze(1), 0.0)
        losses_K = torch.empty_like(scale_K)
        gradient_KP = torch.empty_like(self.flat_KP) if out_KP is None else out_KP
        divisors = self.counted(inputs) if self.sums else torch.ones_like(scale_K)
        took_part = torch.zeros(len(self.lanes), len(self.sizes), dtype=torch.bool)
        for lane, made in enumerate(self.lanes):
            if not float(scale_K[lane]):
                # A part of a batch in which nothing counts, of which a mean is not finite.
                losses_K[lane], gradient_KP[lane] = 0.0, 0.0
                continue
            loss, found = made.gradient(lambda _: self._loss_alone(lane, inputs[lane]) / divisors[lane], scale_K[lane])  # noqa: B023
            losses_K[lane] = loss
            self.model.joined([each.unsqueeze(0) for each in found], out=gradient_KP[lane : lane + 1])
            took_part[lane] = torch.tensor(made.took_part)
        self._note(took_part)
        return losses_K, gradient_KP.div_(torch.where(scale_K == 0, 1.0, scale_K).unsqueeze(1))

    def noted(self, gradients: Sequence[Tensor | None]) -> list[Tensor]:
        """Of packed lanes: what takes no part takes none in any of them."""
        self._note(torch.tensor([each is not None for each in gradients]).expand(len(self.flat_KP), -1))
        pairs = zip(gradients, super().leaves, strict=True)
        values = [torch.zeros_like(leaf) if gradient is None else gradient for gradient, leaf in pairs]
        return [self.model.joined(values)] if any(each.padding for each in self.model.parameters) else values

    def keeps(self) -> bool:
        """Whether a lane's module keeps something now, beside its tensors, that it did not start with."""
        with suppress(*UNPICKLABLE):
            return [python_state(each.objective, self.names) for each in self.lanes] != self.lanes_before
        return bool(self.lanes)

    def _note(self, took_part_KN: Tensor) -> None:
        """Of a batch in parts, what takes part in one of them takes part."""
        before = self.took_part if self.part > 0 else None
        self.took_part = took_part_KN.clone() if before is None else took_part_KN | before

    @property
    def leaves(self) -> list[Tensor]:
        """Of lanes by themselves their modules' own parameters, lane after lane."""
        return [each for lane in self.lanes for each in lane.trained] or super().leaves

    def as_leaves(self, values_KP: Tensor) -> list[Tensor]:
        found = super().as_leaves(values_KP)
        return [each[lane] for lane in range(len(self.lanes)) for each in found] or found

    def joined(self, leaves: Sequence[Tensor]) -> Tensor:
        if not self.lanes:
            return self.model.joined(leaves)
        count = len(self.model.parameters)
        rows = [[each.unsqueeze(0) for each in leaves[at : at + count]] for at in range(0, len(leaves), count)]
        return torch.cat([self.model.joined(row) for row in rows])

    def optimizer_factory(self) -> Callable[[list[Any]], Optimizer]:
        """The workload's own; require_suited has seen that there is one."""
        make = self.found.workload.optimizer
        assert make is not None
        return make

    def of_lanes(self) -> list[list[Tensor]]:
        """Each lane's parameters, whose values lie in its row."""
        if self.lanes:
            return [lane.trained for lane in self.lanes]
        complexes = {each.name for each in self.model.parameters if each.is_complex}
        rows = {name: as_complex(each.detach()) if name in complexes else each.detach() for name, each in self.views.items()}
        return [[nn.Parameter(each[lane]) for each in rows.values()] for lane in range(len(self.flat_KP))]

    def _loss_alone(self, lane: int, numbers: Tensor) -> Tensor:
        made = self.lanes[lane]
        try:
            with self.model.keyed(self._key(lane)), self.model.precision(self.dtype):
                loss: Tensor = made.objective(*self.examples.batch(numbers))
            made.settle()
        except ValueError as error:
            if place(error):
                raise
            raise self._said(str(error)) from None
        for name, value in made.frozen.items():
            if value.requires_grad:
                raise self._said(
                    f"{name} begins to be trained on the way; let it require gradients from the start, and detach it"
                )
        return loss

    def _read(self, numbers_KB: Tensor) -> tuple[Tree, Tree]:
        """What a dataset draws as it is read is of a lane's seed and step."""
        if not self.examples.is_read:
            return self.examples.batch(numbers_KB)
        read = []
        for lane, numbers in enumerate(numbers_KB):
            with self.model.keyed(self._key(lane)):
                read.append(self.examples.batch(numbers))
        found: tuple[Tree, Tree] = tree_map(lambda *each: torch.stack(each), *read)
        return found

    def _said(self, what: str) -> UserCodeError:
        way_out = "; say packed=False" if self.packed else ""
        return UserCodeError(f"workload '{self.found.address}': {what}{way_out}")

    def _key(self, lane: int) -> int:
        order = self.orders[lane] if self.orders else Order(self.seeds[lane])
        return key(order.seed, f"forward:{order.passed + self.step}" + f":{self.part}" * (self.part > 0))

    @contextmanager
    def buffers_kept(self) -> Iterator[None]:
        """And what modules keep in Python."""
        took_part_KN, weights_KP = self.took_part, self.flat_KP.clone() if self.lanes else None
        with super().buffers_kept(), ExitStack() as kept:
            for lane in self.lanes:
                with suppress(*UNPICKLABLE):
                    kept.enter_context(lane.kept())
            yield
        self.took_part = took_part_KN
        if weights_KP is not None:  # which a module may change as it is called
            self.flat_KP.copy_(weights_KP)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        with ExitStack() as modes:
            if not self.lanes:
                modes.enter_context(self.model.evaluating())
            for lane in self.lanes:
                modes.enter_context(lane.evaluating())
            yield
        for lane in self.lanes:
            lane.settle()

    @contextmanager
    def in_fp32(self) -> Iterator[None]:
        """And in eval mode: what is drawn again at every pass has no Hessian."""
        with super().in_fp32(), self.buffers_kept(), self.evaluating():
            yield

    def examples_at_once(self, targets: Tensor) -> int:
        """All of them where parts tell nothing of the whole."""
        return max(1, EVALUATION_TARGETS // self.examples.targets_each) if self.in_parts else len(targets)

    @torch.no_grad()
    def scores(self, inputs: Tensor, targets: Tensor) -> Scores:
        """Of parts in which something counts."""
        self._require_unchanged()
        with self.buffers_kept(), self.evaluating():
            lanes = len(self.flat_KP)
            total_K = torch.zeros(lanes, device=self.flat_KP.device)
            # Parts of one size: a single example left over may have no loss.
            for part in torch.tensor_split(inputs, math.ceil(len(inputs) / self.examples_at_once(targets))):
                if float(share := self.share(part, inputs)):
                    total_K += self.losses(part.expand(lanes, -1), part.expand(lanes, -1)) * share
            return Scores(total_K, self._measured(inputs) if self.measures else None)

    @torch.no_grad()
    def scores_of_start(self, inputs: Tensor, wanted_K: Tensor, batches: Iterator[Tensor]) -> Scores:
        """Infinite where the loss may rise. Lanes that share a program keep nothing by which a loss measures something else.

        Counters are as they are now; queues and targets follow the weights by these batches, without a step. Running statistics
        are of the weights, and start with them.
        """
        if self.found.workload.loss_may_rise:
            return Scores(torch.full_like(self.flat_KP[:, 0], math.inf), None)
        none = super().scores_of_start(inputs, wanted_K, batches)
        if not self.lanes or not bool(wanted_K.any()):
            return none
        with self.buffers_kept():
            starts = [self.model.start(seed) for seed in self.seeds]
            self.flat_KP.copy_(torch.stack([weights_P for weights_P, _ in starts]))
            for numbers_KB in batches:
                self.losses(numbers_KB, numbers_KB)
            for name in self.model.statistics:
                self.buffers[name].copy_(torch.stack([state[name] for _, state in starts]))
            return Scores(torch.where(wanted_K, self.scores(inputs, inputs).loss, none.loss), None)

    def _require_unchanged(self) -> None:
        """What packed lanes have in common must not change: a module may begin to keep something late."""
        if not self.lanes:
            with suppress(*UNPICKLABLE):
                now = python_state(self.model.objective, self.names)
                self.kept_before = now if self.kept_before is None else self.kept_before
                if now != self.kept_before:
                    raise self._said("it changes what it keeps beside its tensors, which packed lanes have in common")

    def _measured(self, numbers: Tensor) -> Tensor:
        """The workload's metric, lane by lane, by the number of examples, [K]; nan where a loss may be, too."""
        metric = self.found.workload.metric
        assert metric is not None
        total_K = torch.zeros(len(self.flat_KP), device=self.flat_KP.device)
        for part in torch.split(numbers, self.examples_at_once(numbers)):
            for lane in range(len(total_K)):
                made = self.lanes[lane] if self.lanes else self._alone(lane)
                with self.model.keyed(self._key(lane)), self.model.precision(self.dtype):
                    measured = made.objective.measured(metric, *self.examples.batch(part))
                total_K[lane] += measured * (len(part) / len(numbers))
        return total_K

    def _alone(self, lane: int) -> ModuleItself:
        """A packed lane's module, in eval mode."""
        made = self._lane(lane)
        made.objective.module.eval()
        return made


def _generators() -> tuple[object, int]:
    """Where Python's and NumPy's generators stand."""
    return random.getstate(), int(np.random.get_state(legacy=False)["state"]["pos"])
