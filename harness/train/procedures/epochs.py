"""Sampling without replacement: every training example once an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...declare import Configuration
from ...errors import UserError
from ..workloads.data import Dataset, Index
from .plain import Plain

if TYPE_CHECKING:
    from ..workloads.network import PackedNetwork


class Epochs(Plain):
    """The epochs of a seed, each in an order of its own, follow each other as one stream that batches are cut from.

    So if the batch size does not divide the number of examples, the last batch of an epoch ends with the first examples of the
    next one: no example is left out, and none is seen twice within an epoch.
    """

    value, said = "epochs", ", every example once an epoch in a random order"

    @classmethod
    def require_data(cls, configuration: Configuration, dataset: Dataset) -> None:
        super().require_data(configuration, dataset)
        batch, examples = configuration.training.largest_batch_size, len(dataset.examples_index(configuration.workload.context))
        name = "batch_size" if batch == configuration.training.batch_size else "the largest batch"
        if batch > examples:
            raise UserError(
                f"{name} = {batch}: with sampling = epochs must be at most {examples}, the training examples of dataset"
                f" '{dataset.name}'"
            )

    def __init__(self, configuration: Configuration, seeds: Sequence[int], dataset: Dataset, network: PackedNetwork):
        super().__init__(configuration, seeds, dataset, network)
        self.examples = len(dataset.examples_index(self.context))
        # A seed's last order, by its epoch: an epoch of a large set is longer than a draw.
        self._orders: dict[int, tuple[int, Index]] = {}

    def draw_of(self, seed: int, block: int) -> Index:
        count = self.steps_per_draw * self.training.batch_size
        first, skipped = divmod(block * count, self.examples)
        last = (block * count + count - 1) // self.examples
        stream = np.concatenate([self._order(seed, epoch) for epoch in range(first, last + 1)])
        return stream[skipped : skipped + count].reshape(self.steps_per_draw, self.training.batch_size)

    def _order(self, seed: int, epoch: int) -> Index:
        known = self._orders.get(seed)
        if known is None or known[0] != epoch:
            known = self._orders[seed] = (epoch, self.dataset.epoch_index(seed, epoch, self.context))
        return known[1]


PROCEDURE = Epochs
