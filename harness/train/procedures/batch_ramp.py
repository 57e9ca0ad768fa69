"""A batch that grows while training: the same examples in the same order, in fewer and larger steps."""

from __future__ import annotations

import numpy as np

from ...declare import Configuration
from ..workloads.data import STEPS_PER_DRAW, Index
from .base import Making, Procedure


class BatchRamp(Procedure):
    """Cuts its batches from the stream of examples that the run without a ramp would see: runs of a seed that differ in their
    ramps alone see the same examples in the same order.

    A draw serves a run of steps of one batch size; where it reaches beyond those, what lies there is not used.
    """

    place, setting = 30, "training.batch_ramp"

    def prepare(self, making: Making) -> None:
        training = making.lanes[0].training
        self.batch_size = training.batch_size
        # First step, batch size and first example of every draw.
        self.blocks: list[tuple[int, int, int]] = []
        examples = 0
        for first, end, batch in training.batch_segments:
            starts = range(first, end, STEPS_PER_DRAW)
            self.blocks += [(start, batch, examples + (start - first) * batch) for start in starts]
            examples += (end - first) * batch

    @classmethod
    def check(cls, configuration: Configuration) -> None:
        training = configuration.training
        ramp, factor, first_batch = training.batch_ramp, training.batch_ramp_factor, training.batch_size
        if training.warmup_fraction > ramp[0]:
            raise ValueError(
                f"batch_ramp = {ramp}: begins before the warmup ends, at {training.warmup_fraction:g}; begin later"
            )
        for batch in (first_batch * factor**power for power in range(1, len(ramp) + 1)):
            if batch < 2 or abs(batch - round(batch)) > 1e-6:
                raise ValueError(
                    f"batch_ramp_factor = {factor:g}: makes batches of {batch:g} of batch_size = {first_batch}; must make whole"
                    " ones of 2 at least"
                )
        if any(first >= end for first, end, _ in training.batch_segments):
            raise ValueError(f"batch_ramp = {ramp}: leaves no step between two of its shares; take more steps")

    def block_of(self, step: int) -> tuple[int, int]:
        block = max(number for number, (first, _, _) in enumerate(self.blocks) if first <= step)
        return block, self.blocks[block][0]

    def draw(self, block: int) -> Index:
        _, batch, first = self.blocks[block]
        lanes, examples = self.inner.draw(0).shape[1], STEPS_PER_DRAW * batch
        a_draw = self.inner.steps_per_draw * self.batch_size
        draws = range(first // a_draw, (first + examples - 1) // a_draw + 1)
        # Of every lane one example after another, [K, N].
        stream = np.concatenate([self.inner.draw(number).swapaxes(0, 1).reshape(lanes, -1) for number in draws], axis=1)
        skipped = first - draws[0] * a_draw
        cut = stream[:, skipped : skipped + examples].reshape(lanes, STEPS_PER_DRAW, batch)
        return np.ascontiguousarray(cut.swapaxes(0, 1))


PROCEDURE = BatchRamp
