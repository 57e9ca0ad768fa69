"""All that studies are written with, in one import: `from folklore.studies.kit import *`.

What a study declares, every metric that several studies use, criteria (criteria.py), and the usual workloads and grids.
"""

from typing import Any, NamedTuple

from ..harness.declare import *
from ..harness.declare.draft import Draft as Draft
from ..harness.declare.draft import Part as Part
from ..harness.declare.draft import Settings as Settings
from ..harness.declare.metrics import *
from .comparing import compare as compare
from .criteria import *

# Workloads of laptop scale, and what one GPU and a cluster make of a GPT.
SMALL_GPT: dict[str, Any] = {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "heads": 2, "context": 16}
DIGITS_MLP: dict[str, Any] = {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2}
GPU_GPT: dict[str, Any] = {"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64}
CLUSTER_GPT: dict[str, Any] = {"dataset": "web-text", "width": 768, "depth": 16, "heads": 12, "context": 1024}


def peak_lrs(*exponents: float) -> dict[str, tuple[float, ...]]:
    """Factors of an arm: a peak LR of 2 to the power of each exponent."""
    return {"peak_lr": tuple(2.0**exponent for exponent in exponents)}


def lr_grid(low: float, high: float, per_octave: int = 1) -> dict[str, tuple[float, ...]]:
    """Factors of an arm: peak LRs from 2^low to 2^high, both included."""
    count = round((high - low) * per_octave) + 1
    return peak_lrs(*(low + index / per_octave for index in range(count)))


# A ladder: GPTs whose width and depth grow in turn, with heads of 16, and 20 tokens for each parameter without embeddings.
LADDER_GPT: dict[str, Any] = (
    dict(model="gpt", dataset="python-packages", tokenizer="bpe-512", context=64, width=32, depth=1, heads=2)
    | dict(optimizer="adamw", beta2=0.95, weight_decay=0.1, schedule="cosine", final_fraction=0.1, warmup_fraction=0.1)
    | dict(batch_size=16, steps=240, probes=2, evaluations=4, evaluation_examples=128, final_examples=512)
)
TOKENS_A_PARAMETER = 20


class Rung(NamedTuple):
    """scale: its name. width, depth: of the GPT. where: the device, and for how long it may take a study."""

    scale: str
    width: int
    depth: int
    where: str
    device: str = "cpu"

    @property
    def parameters(self) -> int:
        """Without embeddings: twelve times the square of the width in a block, but for norms and biases."""
        return 12 * self.depth * self.width**2

    @property
    def settings(self) -> dict[str, Any]:
        tokens = LADDER_GPT["batch_size"] * LADDER_GPT["context"]
        steps = round(TOKENS_A_PARAMETER * self.parameters / tokens, -1)
        return dict(width=self.width, depth=self.depth, heads=self.width // 16, steps=int(steps))


RUNGS = (
    Rung("laptop", 32, 1, "two CPU cores, minutes"),
    Rung("rung_25k", 32, 2, "two CPU cores, ten minutes"),
    Rung("rung_50k", 48, 2, "two CPU cores, half an hour"),
    Rung("rung_80k", 48, 3, "two CPU cores, an hour"),
    Rung("gpu", 128, 5, "one GPU, minutes", "cuda"),
    Rung("rung_3m", 192, 7, "one GPU, half an hour", "cuda"),
    Rung("cluster", 320, 8, "GPUs, hours", "cuda"),
)
LADDER = tuple(rung.scale for rung in RUNGS)
