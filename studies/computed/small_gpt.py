"""A small GPT on letters without meaning, as the engine trains it: what is counted or compared in one step of it."""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...harness.declare import Configuration, Measurement, Training, Workload
from ...harness.randomness import numpy_generator
from ...harness.train.pack import Lane, Pack
from ...harness.train.workloads.data.text import Text, tokenize

# Many tokens a step, so that activations outweigh weights and gradients a hundred times.
GPT = Workload(model="gpt", width=16, depth=4, heads=2, context=64)
UNMEASURED = Measurement(probes=2, evaluations=1, evaluation_examples=2, final_examples=2)


@lru_cache(maxsize=1)
def _text() -> Text:
    letters = numpy_generator(0, "exact:text", 0).integers(ord("a"), ord("a") + 26, 40 * 4096)
    return tokenize("exact", letters.astype(np.uint8).tobytes())


def engine(seed: int = 0, **training: Any) -> tuple[Pack, Tensor, Tensor]:
    """A pack of one lane that is to train GPT so, and its first batch."""
    configuration = Configuration(
        workload=GPT,
        training=Training.model_validate({"steps": 2, "warmup_fraction": 0.0, **training}),
        measurement=UNMEASURED,
    )
    pack = Pack([Lane(configuration, seed)], _text())
    inputs, targets = pack.procedure.batch(torch.from_numpy(pack.procedure.draw(0))[0])
    return pack, inputs, targets
