"""Plain training: batches drawn with replacement, the network's own gradient, and nothing after a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...declare import Configuration
from ..measured_steps import evaluation_steps
from ..result import AGAIN, ENDS
from ..workloads import workload_of
from ..workloads.data import STEPS_PER_DRAW, Dataset, Index, Split
from .base import Evaluation, Procedure

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Tap
    from ..workloads.network import PackedNetwork


class Plain(Procedure):
    """Lanes of equal seed see equal batches."""

    setting, value = "training.sampling", "replacement"

    def __init__(self, configuration: Configuration, seeds: Sequence[int], dataset: Dataset, network: PackedNetwork):
        self.training, self.measurement = configuration.training, configuration.measurement
        self.context = configuration.workload.context
        self.is_own = workload_of(configuration.workload).diverges_in_training
        self.diverges_in_training = self.is_own or self.measurement.test_examples > 0 or configuration.workload.tasks > 1
        self.seeds, self.dataset, self.network = tuple(seeds), dataset, network
        self.device = network.flat_KP.device
        self.arrays = self._on_device(dataset.training_arrays(configuration.workload.label_noise))

    @classmethod
    def require_data(cls, configuration: Configuration, dataset: Dataset) -> None:
        """Raises UserError for data that cannot be drawn from."""
        dataset.check(configuration.workload.context)

    @property
    def steps_per_draw(self) -> int:
        return STEPS_PER_DRAW

    def block_of(self, step: int) -> tuple[int, int]:
        return step // self.steps_per_draw, step - step % self.steps_per_draw

    def draw(self, block: int) -> Index:
        by_seed = {seed: self.draw_of(seed, block) for seed in dict.fromkeys(self.seeds)}
        return np.stack([by_seed[seed] for seed in self.seeds], axis=1)

    def draw_of(self, seed: int, block: int) -> Index:
        """One lane's part of a draw, [steps, B]."""
        return self.dataset.batch_index(seed, block, self.training.batch_size, self.context)

    def batch(self, index_KB: Tensor) -> tuple[Tensor, Tensor]:
        return self.dataset.gather(self.arrays, index_KB, self.context)

    def gradient(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        scale_K: Tensor | None = None,
        out_KP: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        return self.network.gradient(inputs, targets, tap, scale_K, out_KP)

    def before(self, step: int) -> None:
        """Nothing precedes a plain step."""

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        """Nothing follows a plain step."""

    def evaluations(self) -> tuple[Evaluation, ...]:
        steps, often, final = self.training.steps, self.measurement.evaluation_examples, self.measurement.final_examples
        on_the_way = tuple(step + 1 for step in evaluation_steps(self.training, self.measurement))
        return (
            Evaluation("initial_loss", "validation", often, (0,), accuracy="initial_accuracy"),
            Evaluation("evaluation_loss", "validation", often, on_the_way, is_curve=True, accuracy="evaluation_accuracy"),
            Evaluation("validation_loss", "validation", final, (steps,), accuracy="validation_accuracy"),
            Evaluation("test_loss", "test", final, (steps,), accuracy="test_accuracy"),
            *self._followed("train", "training", self.measurement.training_examples, on_the_way),
            *self._followed("test", "test", self.measurement.test_examples, on_the_way),
            *self._ends(),
        )

    def _ends(self) -> tuple[Evaluation, ...]:
        """Evaluations of the same training examples before and after a run, which show whether it diverged."""
        steps, often = self.training.steps, self.measurement.evaluation_examples
        pairs = zip(ENDS, (0, steps), strict=True) if self.diverges_in_training else ()
        evaluations = tuple(Evaluation(record, "train", often, (after,)) for record, after in pairs)
        again: tuple[tuple[str, Split], ...] = ((AGAIN[0], "train"), (AGAIN[1], "validation")) if self.is_own else ()
        return *evaluations, *(Evaluation(record, split, often, (steps,), by_start=True) for record, split in again)

    @staticmethod
    def _followed(split: Split, name: str, count: int, on_the_way: tuple[int, ...]) -> tuple[Evaluation, ...]:
        """Fixed examples of a split that are evaluated along the run, if there are to be any."""
        record, accuracy = f"evaluation_{name}_loss", f"evaluation_{name}_accuracy"
        return (Evaluation(record, split, count, on_the_way, is_curve=True, accuracy=accuracy),) if count else ()

    def sample(self, split: Split, examples: int) -> tuple[Tensor, Tensor]:
        import torch

        index = torch.from_numpy(self.dataset.sample_index(split, examples, self.context)).to(self.device)
        arrays = self.arrays if split == "train" else self._on_device(self.dataset.arrays(split))
        return self.dataset.gather(arrays, index, self.context)

    def tallies(self) -> dict[str, Tensor]:
        return {}

    def training_sample(self, examples: int) -> tuple[Tensor, Tensor]:
        return self.sample("train", examples)

    def state(self) -> dict[str, Tensor]:
        return {}

    def _on_device(self, arrays: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple(array.to(self.device) for array in arrays)


PROCEDURE = Plain
