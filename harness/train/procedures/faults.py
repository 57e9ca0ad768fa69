"""What goes wrong at a step that is known: a batch with wrong labels, a gradient that is far too large, weights that are hit
by something else than data."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ....models import Tap
from ...declare import Configuration, Training
from ...errors import UserError
from ...randomness import Order, torch_generator
from ..counted import Counted
from ..learner import Learner
from ..workloads.data import Dataset
from .base import Procedure


def require_labels(configuration: Configuration, dataset: Dataset) -> None:
    """Raises UserError for labels that are to be wrong where there are none."""
    if configuration.training.fault == "labels" and not dataset.facts.classes:
        raise UserError(
            f"fault = labels: dataset '{dataset.name}' has targets that are no classes; choose another fault, such as gradient"
        )


class Faults(Procedure):
    """Lanes without a fault are as they are alone. What is random depends on a lane's seed and the step."""

    def __init__(
        self, inner: Procedure, lanes: Sequence[Training], orders: Sequence[Order], dataset: Dataset, learner: Learner
    ):
        super().__init__(inner)
        self.lanes, self.orders, self.network, self.clock = lanes, tuple(orders), learner.network, learner.clock
        self.drawn, self.classes = Counted(orders, "faulty labels", learner.clock), dataset.facts.classes
        self.labels_K, self.gradient_K = (
            torch.tensor([lane.fault == kind for lane in lanes], device=learner.clock.device) for kind in ("labels", "gradient")
        )
        starts, ends = zip(*((lane.faulty_steps.start, lane.faulty_steps.stop) for lane in lanes), strict=True)
        self.starts_K, self.ends_K = (torch.tensor(each, device=learner.clock.device) for each in (starts, ends))
        self.size_K = torch.tensor([lane.fault_size for lane in lanes], device=learner.clock.device)

    def _is_faulty(self) -> Tensor:
        """Of each lane whether this step is one of its faulty ones, [K]."""
        return (self.clock >= self.starts_K) & (self.clock < self.ends_K)

    def batch(self, index_KB: Tensor) -> tuple[Tensor, Tensor]:
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
        losses_K, gradient_KP = self.inner.gradient(inputs, targets, tap, scale_K, out_KP)
        times_K = torch.where(self.gradient_K & self._is_faulty(), self.size_K, torch.ones_like(self.size_K))
        return losses_K, gradient_KP.mul_(times_K.unsqueeze(1))

    @torch.no_grad()
    def before(self, step: int) -> None:
        super().before(step)
        for index, (lane, order) in enumerate(zip(self.lanes, self.orders, strict=True)):
            if lane.fault == "weights" and step == lane.faulty_steps.start:
                weights_P = self.network.flat_KP[index]
                noise_P = torch.randn(weights_P.shape, generator=torch_generator(order.seed, "faulty weights"))
                weights_P.add_(noise_P.to(weights_P.device) * weights_P.square().mean().sqrt() * lane.fault_size)
