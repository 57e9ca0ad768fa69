"""All that studies are written with, in one import: `from folklore.studies.kit import *`.

What a study declares, every metric that several studies use, criteria (criteria.py), and the usual workloads and grids.
"""

from collections.abc import Callable, Mapping, Sequence
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
# Where warmup is not what is asked: in warmup_ladder 2, 10% cost 3.5, 2.5 and 0.8% of the loss reduction against 40%, so that
# whatever does with fewer steps of warmup would gain at the smallest sizes for that alone.
LONG_WARMUP: dict[str, Any] = LADDER_GPT | {"warmup_fraction": 0.4}


class Rung(NamedTuple):
    """scale: its name. width, depth: of the GPT. best_log2_lr: about that of warmup_ladder 2 with 40% warmup at the first three
    sizes, and as that goes on at the others. where: the device, and for how long it may take a study."""

    scale: str
    width: int
    depth: int
    best_log2_lr: float
    where: str
    device: str = "cpu"

    @property
    def parameters(self) -> int:
        """Without embeddings: twelve times the square of the width in a block, but for norms and biases."""
        return 12 * self.depth * self.width**2

    def steps(self, tokens_a_parameter: float = TOKENS_A_PARAMETER, batch_size: int = LADDER_GPT["batch_size"]) -> int:
        steps = tokens_a_parameter * self.parameters / (batch_size * LADDER_GPT["context"])
        return int(round(steps, -1)) if steps >= 100 else round(steps)

    @property
    def description(self) -> str:
        return f"{self.where}: {self.parameters / 1000:,.0f} thousand parameters, {self.steps():,} steps"

    @property
    def shape(self) -> dict[str, Any]:
        return dict(width=self.width, depth=self.depth, heads=self.width // 16)


RUNGS = (
    Rung("laptop", 32, 1, -5.5, "two CPU cores, minutes"),
    Rung("rung_25k", 32, 2, -6, "two CPU cores, ten minutes"),
    Rung("rung_50k", 48, 2, -6.5, "two CPU cores, half an hour"),
    Rung("rung_80k", 48, 3, -7, "two CPU cores, an hour"),
    Rung("gpu", 128, 5, -8.5, "one GPU, minutes", "cuda"),
    Rung("rung_3m", 192, 7, -9, "one GPU, half an hour", "cuda"),
    Rung("cluster", 320, 8, -10, "GPUs, hours", "cuda"),
)
LADDER = tuple(rung.scale for rung in RUNGS)


def ladder_draft(module: str, **options: Any) -> Draft:
    """A draft of a study over the rungs, with long warmup and five seeds. options: of the study, in place of these too."""
    usual: dict[str, Any] = dict(version=1, factors=lr_grid(-7, -5, per_octave=2), seeds=5, ladder=LADDER)
    return Draft(module, LONG_WARMUP, **usual | options)


def climb(
    study: Draft,
    around: Mapping[str | tuple[str, ...], tuple[float, float]],
    usual: tuple[float, float] = (-1.5, 1.5),
    own: Callable[[Rung], Settings] = lambda rung: {},
    rungs: Sequence[Rung] = RUNGS,
) -> None:
    """Declares a scale for every rung, with LRs in half octaves about the best one of the rung.

    around: arms -> octaves from it to their lowest and highest LR; usual: of all others. own: what a study sets at a rung.
    """
    for rung in rungs:

        def grid(octaves: tuple[float, float], best: float = rung.best_log2_lr) -> dict[str, tuple[float, ...]]:
            return lr_grid(best + octaves[0], best + octaves[1], per_octave=2)

        tuned = {"factors": grid(usual), "arm_factors": {arms: grid(octaves) for arms, octaves in around.items()}}
        options = {"device": rung.device, "seeds": 5, **tuned, **own(rung)}
        study.scale(rung.scale, rung.description, rung.shape | {"steps": rung.steps()}, **options)
