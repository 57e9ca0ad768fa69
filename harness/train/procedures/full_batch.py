"""Sampling nothing: every step sees all training examples."""

from ...declare import Configuration
from ...errors import UserError
from ...randomness import numpy_generator
from ..workloads.data import Dataset, Index
from .plain import Plain


class FullBatch(Plain):
    """Gradient descent proper: the same examples in the same order at every step, for all seeds; gradients have no noise.

    The order is random and fixed: a probe takes half the batch for a sample of it, and a user's examples may come class by
    class. The variance it finds is that of a random batch of this size.
    """

    value, said = "full", ", all training examples at every step"
    excludes = {"training.batch_ramp": "with sampling = full a step sees all examples; choose replacement or epochs"}

    @classmethod
    def require_data(cls, configuration: Configuration, dataset: Dataset) -> None:
        super().require_data(configuration, dataset)
        batch, examples = configuration.training.batch_size, len(dataset.examples_index(configuration.workload.context))
        if batch != examples:
            raise UserError(
                f"batch_size = {batch}: with sampling = full a step sees all {examples} training examples of dataset"
                f" '{dataset.name}'; set batch_size = {examples}"
            )

    @property
    def steps_per_draw(self) -> int:
        return self.training.steps

    def draw_of(self, seed: int, block: int) -> Index:
        return numpy_generator(0, "full batch", 0).permutation(self.dataset.examples_index(self.context))[None]


PROCEDURE = FullBatch
