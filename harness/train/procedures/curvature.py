"""The curvature that Sophia divides by: an estimate of the diagonal of the Gauss-Newton matrix, every few steps.

Gauss-Newton-Bartlett (Liu et al. 2023, arXiv:2305.14342, algorithm 2): labels are sampled from the model's own softmax on the
step's batch, and n g^2 is the estimate, where g is the gradient of the mean loss of these n labels. In its mean over samples it
is exact, because the gradients of different labels are independent and zero in the mean.

The step's whole batch is taken, where the paper takes half of it: a forward pass and a gradient more, every few steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...declare import Configuration, Training
from ...errors import UserError
from ...randomness import Order, torch_generator
from ..optimizers import sophia
from ..part import Cost
from ..workloads.data import Dataset
from .base import Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Model
    from ..workloads.base import BaseWorkload


class Curvature(Procedure):
    """Estimates before the steps 0, `EVERY`, and so on. Lanes of equal seed draw equal random numbers."""

    place, setting, value = 80, "training.optimizer", "sophia"
    adds = Cost(gradients=1 / sophia.EVERY)

    def prepare(self, making: Making) -> None:
        learner, training = making.learner, making.lanes[0].training
        assert isinstance(learner.optimizer, sophia.Sophia)
        self.network, self.optimizer, self.scaler = learner.network, learner.optimizer, learner.scaler
        self.size = training.micro_batch_size
        self.orders = tuple(making.orders)

    @classmethod
    def require_data(cls, configuration: Configuration, dataset: Dataset) -> None:
        """Raises UserError for targets that no softmax gives, and for a loss without one."""
        optimizer, loss = configuration.training.optimizer, configuration.workload.loss
        if loss == "cross_entropy" and dataset.facts.classes:
            return
        numbers = f"the targets of dataset '{dataset.name}' are numbers"
        has_none = f"loss = {loss} has none" if loss != "cross_entropy" else numbers
        raise UserError(
            f"optimizer '{optimizer}' samples classes from the model's softmax, and {has_none}; choose another optimizer, such"
            " as adamw"
        )

    @classmethod
    def require_model(cls, training: Training, workload: BaseWorkload, model: Model) -> None:
        if not workload.has_logits:
            raise UserError(
                f"optimizer '{training.optimizer}' samples classes from a model's softmax, and an own workload has a loss of"
                " its own; choose another optimizer, such as adamw"
            )

    def before(self, step: int) -> None:
        super().before(step)
        if step % sophia.EVERY == 0:
            self.optimizer.estimate(self.estimate(*self.batch(self.examples_of(step).to(self.network.flat_KP.device)), step))

    def estimate(self, inputs: Tensor, targets: Tensor, step: int) -> Tensor:
        """One estimate on these examples, [K, P]; of the targets only the shape matters."""
        labels = self.sampled(inputs, targets, step)
        gradient_KP = self.inner.gradient(inputs, labels, scale_K=self.scaler.scale)[1]
        return gradient_KP.square().mul_(labels[0].numel())

    def sampled(self, inputs: Tensor, targets: Tensor, step: int) -> Tensor:
        """Labels of the model's own distribution, in the place of the targets [K, B, ...]."""
        import torch

        uniform = torch.stack([self._uniform(order.after(step), targets.shape[1:]) for order in self.orders]).to(targets.device)
        parts = zip(torch.split(inputs, self.size, dim=1), torch.split(uniform, self.size, dim=1), strict=True)
        with torch.no_grad():
            drawn = [self._drawn(part, chances) for part, chances in parts]
        return torch.cat(drawn, dim=1).view_as(targets).to(targets.dtype)

    def _drawn(self, inputs: Tensor, uniform: Tensor) -> Tensor:
        """Labels: where each number falls among the classes' cumulated probabilities. In FP64, so that in another pack rounding
        changes a label only if a number lies as near to a bound."""
        import torch

        bounds = self.network.outputs(inputs).double().softmax(dim=-1).cumsum(dim=-1)
        labels = torch.searchsorted(bounds, (uniform.view(*bounds.shape[:-1], 1)) * bounds[..., -1:], right=True)
        return labels.squeeze(-1).clamp_(max=bounds.shape[-1] - 1).view_as(uniform)

    @staticmethod
    def _uniform(order: Order, shape: Sequence[int]) -> Tensor:
        import torch

        return torch.rand(*shape, generator=torch_generator(order.seed, f"sampled labels:{order.passed}"), dtype=torch.float64)


PROCEDURE = Curvature
