"""Faults at a known step: a batch with wrong labels, a gradient that is far too large, weights that are hit by something
else than data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare import Configuration, Training
from ...errors import UserError
from ...randomness import torch_generator
from ...words import counted
from ..workloads.data import Dataset
from .base import Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Tap

WORDS = {
    "labels": "{steps} of random labels at step {first}",
    "gradient": "gradients {size:g} times too large for {steps} at step {first}",
    "weights": "weights hit at step {first} by noise of {size:g} times their size",
}


class Faults(Procedure):
    """Plants the faults; lanes without one train as they do alone. Randomness depends on a lane's seed and the step."""

    place, setting = 110, "training.fault"

    def prepare(self, making: Making) -> None:
        import torch

        from ..counted import Counted

        lanes, learner = making.trainings, making.learner
        self.lanes, self.orders, self.network, self.clock = lanes, tuple(making.orders), learner.network, learner.clock
        self.drawn, self.classes = Counted(making.orders, "faulty labels", learner.clock), making.dataset.facts.classes
        self.labels_K, self.gradient_K = (
            torch.tensor([lane.fault == kind for lane in lanes], device=learner.clock.device) for kind in ("labels", "gradient")
        )
        starts, ends = zip(*((lane.faulty_steps.start, lane.faulty_steps.stop) for lane in lanes), strict=True)
        self.starts_K, self.ends_K = (torch.tensor(steps, device=learner.clock.device) for steps in (starts, ends))
        self.size_K = torch.tensor([lane.fault_size for lane in lanes], device=learner.clock.device)

    @classmethod
    def require_data(cls, configuration: Configuration, dataset: Dataset) -> None:
        """Raises UserError for labels that are to be wrong where there are none."""
        if configuration.training.fault == "labels" and not dataset.facts.classes:
            raise UserError(
                f"fault = labels: dataset '{dataset.name}' has targets that are no classes; choose another fault, such as"
                " gradient"
            )

    @classmethod
    def words(cls, training: Training) -> str:
        size, steps = training.fault_size, counted(training.fault_steps, "step")
        return ", " + WORDS[training.fault].format(steps=steps, first=training.faulty_steps.start + 1, size=size)

    def _is_faulty(self) -> Tensor:
        """Whether this step is one of each lane's faulty ones, [K]."""
        return (self.clock >= self.starts_K) & (self.clock < self.ends_K)

    def batch(self, index_KB: Tensor) -> tuple[Tensor, Tensor]:
        import torch

        inputs, targets = super().batch(index_KB)
        if not self.classes:
            return inputs, targets
        faulty_K = (self.labels_K & self._is_faulty()).view(-1, *[1] * (targets.dim() - 1))
        drawn = self.drawn.bits("labels", targets[0].numel()).view(targets.shape) * self.classes >> 32
        return inputs, torch.where(faulty_K, drawn, targets)

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        import torch

        losses_K, gradient_KP = self.inner.gradient(inputs, targets, tap, scale_K, out_KP)
        times_K = torch.where(self.gradient_K & self._is_faulty(), self.size_K, torch.ones_like(self.size_K))
        return losses_K, gradient_KP.mul_(times_K.unsqueeze(1))

    def before(self, step: int) -> None:
        import torch

        super().before(step)
        for index, (lane, order) in enumerate(zip(self.lanes, self.orders, strict=True)):
            if lane.fault == "weights" and step == lane.faulty_steps.start:
                weights_P = self.network.flat_KP[index].detach()
                noise_P = torch.randn(weights_P.shape, generator=torch_generator(order.seed, "faulty weights"))
                weights_P.add_(noise_P.to(weights_P.device) * weights_P.square().mean().sqrt() * lane.fault_size)


PROCEDURE = Faults
