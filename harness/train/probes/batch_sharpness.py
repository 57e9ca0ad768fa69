"""Batch sharpness (Andreyev and Beneventano 2024, arXiv:2412.20553, from its third version on): how mini-batches' losses curve
along their own gradients, along which steps go. The mean over mini-batches of g'Hg / |g|^2, with gradient and Hessian of one's
loss.

At the weights that a step leaves, as of sharpness. The batches are of the training's size, drawn with replacement from the
examples that sharpness is measured on, and others at every probe. Beside it the ratio of the two means, which weighs batches
by their squared gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...declare import Configuration
from ...declare.curves.of_probes import BATCH_SHARPNESS, BATCH_SHARPNESS_POOLED, OF_PROBES
from ...randomness import numpy_generator
from ..part import Cost
from .base import Probe, ProbedStep
from .sharpness import PASSES

if TYPE_CHECKING:
    from torch import Tensor


class BatchSharpness(Probe):
    curves = OF_PROBES["batch_sharpness"]
    setting = "measurement.batch_sharpness"

    @classmethod
    def cost(cls, configuration: Configuration) -> Cost:
        measurement, batch = configuration.measurement, configuration.training.largest_batch_size
        passes = measurement.probes * measurement.batch_sharpness * batch * (3.0 + PASSES)
        return Cost(copies=3, activation_bytes=4 * 3 * batch, passes=passes)

    def after_update(self, step: ProbedStep, before_KP: Tensor) -> dict[str, Tensor]:
        import torch

        from ..hessian import along_gradient

        inputs, targets = step.training_sample(step.measurement.sharpness_examples)
        shape = (step.measurement.batch_sharpness, step.targets.shape[1])
        generators = [numpy_generator(seed, "batch sharpness", step.network.step) for seed in step.seeds]
        drawn = np.stack([generator.integers(len(targets), size=shape) for generator in generators], axis=1)
        index_MKB = torch.from_numpy(drawn).to(targets.device)
        pairs = [along_gradient(step.network, inputs[index_KB], targets[index_KB]) for index_KB in index_MKB]
        curvature_MK, square_MK = (torch.stack(values) for values in zip(*pairs, strict=True))
        return {
            BATCH_SHARPNESS.name: (curvature_MK / square_MK).mean(dim=0),
            BATCH_SHARPNESS_POOLED.name: curvature_MK.mean(dim=0) / square_MK.mean(dim=0),
        }


PROBE = BatchSharpness()
