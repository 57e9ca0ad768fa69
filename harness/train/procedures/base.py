"""The protocol between the pack loop and a procedure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...declare import Configuration, Training
from ...randomness import Order
from ..part import EnginePart
from ..workloads.data import Dataset, Index, Split

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Tap
    from ..learner import Learner


@dataclass(frozen=True)
class Making:
    """The ingredients of a procedure: the lanes of a pack, the orders by which they draw, their data and the learner."""

    lanes: Sequence[Configuration]
    orders: Sequence[Order]
    dataset: Dataset
    learner: Learner

    @property
    def trainings(self) -> list[Training]:
        return [lane.training for lane in self.lanes]


@dataclass(frozen=True)
class Evaluation:
    """The loss of fixed examples of a split, noted under `record` after the steps in `after`; 0 is before the
    first. is_curve: whether the record has a row for each of these, even if there is only one. among: maps inputs and
    targets of the sample to targets of which those that do not count are NOT_COUNTED; None: all count. accuracy: the record of
    the share that is right, in the same shape, where targets are classes; None: there is none. Of the training split the
    examples are as they are trained on. by_start: of the weights at initialization, by what the loss measures now."""

    record: str
    split: Split
    examples: int
    after: tuple[int, ...]
    is_curve: bool = False
    among: Callable[[Tensor, Tensor], Tensor] | None = None
    accuracy: str | None = None
    by_start: bool = False


class Procedure(EnginePart):
    """Decides which examples a step sees, the loss that is descended, and what follows and is evaluated; for a pack's lanes.

    A procedure lies around another one, and passes on all that it does not override; the innermost (Plain) does everything
    itself.

    `batch` and `gradient` are parts of the step, which may be compiled once, or captured once as a CUDA graph: they compute on
    tensors of the device that stay where they are, and no branch depends on the values of these. All else happens on the host,
    before a step or between two. Nothing may depend on neighbours or on when a training was interrupted: what is random is
    keyed on a lane's seed and the step or epoch, and what is remembered is in `state`.
    """

    # How far out it lies: those of lower numbers are inside.
    place: ClassVar[int]

    def __init__(self, inner: Procedure, making: Making):
        self.inner = inner
        self.prepare(making)

    def prepare(self, making: Making) -> None:
        """Set up whatever it keeps beside the inner one."""

    @classmethod
    def around(cls, inner: Procedure, making: Making) -> Procedure:
        """This procedure around the inner one if some lane asks for it; else the inner one."""
        return cls(inner, making) if any(map(cls.applies, making.lanes)) else inner

    @property
    def steps_per_draw(self) -> int:
        """How many steps one draw serves."""
        return self.inner.steps_per_draw

    def block_of(self, step: int) -> tuple[int, int]:
        """Which draw serves a step, and the first step that it serves."""
        return self.inner.block_of(step)

    def draw(self, block: int) -> Index:
        """The training examples of the `block`-th run of `steps_per_draw` steps, [steps, K, B]. If rows are fewer than the
        steps, they repeat. B may differ between blocks."""
        return self.inner.draw(block)

    def examples_of(self, step: int) -> Tensor:
        """The training examples of a step, from 0, [K, B]; on the host."""
        import torch

        block, first = self.block_of(step)
        drawn = self.draw(block)
        return torch.from_numpy(drawn[(step - first) % len(drawn)])

    def batch(self, index_KB: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and targets of the examples of a step, [K, B, ...]."""
        return self.inner.batch(index_KB)

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Each lane's mean loss over these examples, [K], and its gradient, [K, P]; as PackedNetwork.gradient.

        Also asked of a part of a batch, by probes.
        """
        return self.inner.gradient(inputs, targets, tap, scale_K, out_KP)

    def before(self, step: int) -> None:
        """Run before a step, from 0."""
        self.inner.before(step)

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        """Run when `step` steps are done. losses: of the evaluations just made, by their record, [K] each; and the records of
        every step, for the last one."""
        self.inner.after(step, losses)

    def evaluations(self) -> tuple[Evaluation, ...]:
        """All losses that are evaluated on the way."""
        return self.inner.evaluations()

    def sample(self, split: Split, examples: int) -> tuple[Tensor, Tensor]:
        """The fixed examples of a split that evaluations see, [examples, ...]."""
        return self.inner.sample(split, examples)

    def tallies(self) -> dict[str, Tensor]:
        """Its counts so far for probes to read, [K, ...] each; of the steps that are done."""
        return self.inner.tallies()

    def training_sample(self, examples: int) -> tuple[Tensor, Tensor]:
        """Fixed, evenly spread training examples as they are trained on, [examples, ...]; all where more are asked for."""
        return self.inner.training_sample(examples)

    def state(self) -> dict[str, Tensor]:
        """The tensors by which it goes on; a checkpoint is written from them and copied into them."""
        return self.inner.state()
