"""Elastic weight consolidation: weights that matter to earlier tasks are held where these left them.

Kirkpatrick et al. 2017, equation 3: to the loss of a task comes lambda / 2 sum_i F_i (theta_i - theta*_i)^2 for every earlier
one, with the diagonal of its Fisher information F at the weights theta* that its training ended with. The sums over tasks of F
and of F theta* are all that has to be kept.

With classes F is summed over all labels. A text would need as many backward passes as tokens times symbols: there F is
estimated without bias, by one backward pass of each window along random signs, as the diagonal of a product of matrices is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...randomness import numpy_generator
from .base import Making, Procedure
from .tasks import Tasks

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Tap


# Examples of each task that its Fisher information is estimated on.
EXAMPLES = 64


class Consolidation(Procedure):
    """Adds the penalty's gradient to that of the loss, which is reported as it is. strength_K1: lambda; fisher_KP, held_KP:
    sums over earlier tasks of F, and of F theta*."""

    place, setting = 70, "training.consolidation"
    said = f", elastic weight consolidation of strength {{t.consolidation:g}} by {EXAMPLES} examples"

    def prepare(self, making: Making) -> None:
        import torch

        tasks = self.inner
        while not isinstance(tasks, Tasks):
            tasks = tasks.inner
        self.order, self.network, self.seeds = tasks, making.learner.network, [order.seed for order in making.orders]
        strengths = [lane.consolidation for lane in making.trainings]
        self.strength_K1 = torch.tensor(strengths, device=self.network.flat_KP.device).unsqueeze(1)
        self.fisher_KP, self.held_KP = (torch.zeros_like(self.network.flat_KP) for _ in range(2))

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        import torch

        losses_K, gradient_KP = self.inner.gradient(inputs, targets, tap, scale_K)
        pulled_KP = self.strength_K1 * (self.fisher_KP * self.network.flat_KP.detach() - self.held_KP)
        return losses_K, torch.add(gradient_KP, pulled_KP, out=out_KP)

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        super().after(step, losses)
        if step in self.order.starts[1:]:
            fisher_KP = self.fisher_of(self.order.task_of(step - 1))
            self.fisher_KP += fisher_KP
            self.held_KP += fisher_KP * self.network.flat_KP.detach()

    def fisher_of(self, task: int) -> Tensor:
        """The diagonal of a task's Fisher information at the weights as they are, [K, P]: the mean over examples x of the task
        of sum_y p(y | x) (d log p(y | x) / d theta)^2, over the classes that compete for x; of a text over its tokens."""
        import torch

        chosen = self.order.examples[task]
        spread = torch.linspace(0, len(chosen) - 1, min(EXAMPLES, len(chosen))).round().long()
        lanes, total_KP = len(self.network.flat_KP), torch.zeros_like(self.network.flat_KP)
        for example in torch.from_numpy(chosen)[spread].tolist():
            index_K1 = torch.full((lanes, 1), example, device=total_KP.device)
            inputs, targets = self.inner.batch(index_K1)
            if targets.dim() > 2:
                shape = (*targets.shape[1:], self.order.dataset.facts.classes)
                drawn = [numpy_generator(seed, "fisher", example).integers(2, size=shape) for seed in self.seeds]
                signs = 2.0 * torch.from_numpy(np.stack(drawn)).to(total_KP) - 1.0
                total_KP += self.along(inputs, signs).square() / targets.shape[-1]
                continue
            for label in self._labels(targets):
                labels = torch.full_like(targets, label)
                losses_K, gradient_KP = self.network.gradient(inputs, labels)
                total_KP += torch.exp(-losses_K).unsqueeze(1) * gradient_KP.square()
        return total_KP / len(spread)

    def along(self, inputs: Tensor, signs: Tensor) -> Tensor:
        """The gradient of the outputs times what random signs [K, 1, tokens, symbols] are multiplied by: the root of the
        covariance diag(p) - p p' of the gradients by the outputs. The mean of its squares is the sum of the tokens' F."""
        import torch

        with torch.enable_grad():
            outputs = self.network.outputs(inputs).float()
            p = outputs.detach().softmax(dim=-1)
            roots = p.sqrt() * signs
            pulled = (outputs * (roots - p * roots.sum(dim=-1, keepdim=True))).sum()
            return self.network.joined(torch.autograd.grad(pulled, self.network.leaves, materialize_grads=True))

    def _labels(self, targets: Tensor) -> Sequence[int]:
        """All labels that compete with an example's own; in the scenario 'domain' each stands for one of every task."""
        own, classes = int(targets.flatten()[0]), self.order.classes
        if self.network.scenario == "class":
            return range(classes * self.order.tasks)
        return range(own // classes * classes, (own // classes + 1) * classes)

    def state(self) -> dict[str, Tensor]:
        return self.inner.state() | {"consolidation.fisher": self.fisher_KP, "consolidation.held": self.held_KP}


PROCEDURE = Consolidation
