"""A study of memory in training: what takes it, and how accumulation and recomputation change it."""

from collections.abc import Iterator
from functools import partial

from .kit import *

study = Draft(
    __file__,
    dict(model="gpt", dataset="markov:26", width=128, depth=9, heads=4, context=64)
    | dict(optimizer="adamw", schedule="constant", warmup_fraction=0.0, batch_size=8, steps=16)
    | dict(probes=2, evaluations=1, evaluation_examples=8, final_examples=8, solo=True),
    version=2,  # why each version: reports/log
    factors=peak_lrs(-9),
    seeds=16,
    first_seed=21_300,
    answer=("mem.adam_states", "mem.accumulation_peak", "mem.checkpoint_memory", "mem.levers"),
)

# Arms, trained only for the step time: one LR suffices.

gpt_arm = partial(study.arm, panel="GPT", factors=peak_lrs(-9))
PLAIN = gpt_arm("plain", "whole batch, all kept", reference=True)
# A checkpoint at every block, as is common, and the root of the number of blocks.
RECOMPUTED = gpt_arm("recomputed", "every block recomputed", recompute_segments=9)
ROOT = gpt_arm("root", "recomputed in 3 segments", recompute_segments=3)
ACCUMULATED = gpt_arm("accumulated", "4 micro-batches of a quarter", micro_batches=4)
MICRO = gpt_arm("micro", "one micro-batch, a quarter", batch_size=2)

# Matrices so large that compute, not Python, dominates the step time.
MLP = {"model": "mlp", "dataset": "digits", "width": 1024, "depth": 9, "batch_size": 256}
mlp_arm = partial(study.arm, panel="MLP", settings=MLP, factors=peak_lrs(-13))
MLPS = (
    mlp_arm("mlp_plain", "all kept", reference=True),
    mlp_arm("mlp_recomputed", "every block recomputed", recompute_segments=9),
)

study.smoke(dict(width=16, heads=2, context=16), arm_settings={MLPS: {"width": 32, "batch_size": 64}})
study.laptop("about two minutes of timed steps")
study.gpu(
    "one GPU, at most four minutes",
    dict(width=1024, depth=16, heads=16, context=512, steps=40, precision="bf16"),
    arm_settings={
        RECOMPUTED: {"recompute_segments": 16},
        ROOT: {"recompute_segments": 4},
        MLPS: {"width": 4096, "batch_size": 8192},
    },
    seeds=6,
)
study.cluster(
    "a GPU of a cluster, ten minutes: blocks of a model of a billion parameters",
    dict(width=2048, depth=24, heads=16, context=1024, steps=40, precision="bf16"),
    arm_settings={
        RECOMPUTED: {"recompute_segments": 24},
        ROOT: {"recompute_segments": 5},
        MLPS: {"width": 8192, "batch_size": 8192},
    },
    seeds=6,
)


# Claims.


def time_ratio(arm: str, over: str) -> SpeedUp:
    """Step time of an arm over another's."""
    return SpeedUp(arm=over, reference=arm)


study.claim(
    "mem.accumulation",
    at_most(
        1e-5,
        computed("memory.accumulation", "error"),
        "distance of the gradient of equal micro-batches from the whole batch's",
        "Up to 16 equal micro-batches reproduce the large batch's gradient with a relative error of {estimate}",
        refuted=1e-3,
    ),
    reported(
        computed("memory.accumulation", "unequal_error"),
        "the same for unequal micro-batches with equally weighted mean losses",
        "share",
    ),
    reported(time_ratio(ACCUMULATED, MICRO), "step time with 4 micro-batches over that with one micro-batch"),
    reported(time_ratio(ACCUMULATED, PLAIN), "step time with micro-batches over that with the whole batch"),
)

study.claim(
    "mem.accumulation_peak",
    within(
        -0.02,
        0.02,
        computed("memory.accumulation_peak", "exponent"),
        "exponent of the peak on the number of micro-batches of one size",
        "With k accumulated micro-batches of one size, peak activation memory scales as k^{estimate}",
        clause="a",
        refuted=AtLeast(value=0.5),
    ),
    at_most(
        -0.9,
        computed("memory.accumulation_peak", "parted_exponent"),
        "exponent of the peak on the number of parts of one batch",
        "With one batch split into k parts, peak activation memory scales as k^{estimate}",
        clause="b",
        refuted=-0.5,
    ),
)

study.claim(
    "mem.checkpoint_memory",
    within(
        0.45,
        0.6,
        computed("memory.depth", "root"),
        "exponent of the peak on depth, as many checkpoints as its root",
        "With √depth checkpoints, peak activation memory scales as depth^{estimate}",
        clause="a",
        refuted=AtLeast(value=0.8),
    ),
    within(
        0.95,
        1.05,
        computed("memory.depth", "kept"),
        "exponent of the peak on depth, all kept",
        "Without checkpoints, peak activation memory scales as depth^{estimate}",
        clause="b",
        refuted=AtMost(value=0.75),
    ),
    reported(computed("memory.depth", "every_block"), "exponent with a checkpoint at every block, 4 to 36 blocks"),
    right={"supported": "square root"},
)

study.claim(
    "mem.checkpoint_cost",
    within(
        0.30,
        0.36,
        computed("memory.recomputed_operations", "extra"),
        "operations that recomputing every block adds to a step",
        "Recomputing every block of a 7B GPT completely adds {estimate} to the operations of a step",
        refuted=(0.2, 0.5),
        unit="relative",
    ),
    reported(
        computed("memory.recomputed_operations", "extra_in_torch"),
        "as in torch, which omits the last product of every block",
        "relative",
    ),
)


@study.claim("mem.checkpoint_time")
def slower() -> Iterator[Part]:
    for model, kept, recomputed in (("GPT", PLAIN, RECOMPUTED), ("MLP", *MLPS)):
        yield within(
            1.2,
            1.3,
            time_ratio(recomputed, kept),
            f"step time, recomputed over kept, {model}",
            f"Recomputing every block makes a step of the {model} take {{estimate}} as long",
            refuted=(1.1, 1.4),
            null=1.0,
            panel=model,
        )
    yield reported(time_ratio(ROOT, PLAIN), "GPT, in 3 segments")


study.claim(
    "mem.budget",
    within(
        6.3,
        7.7,
        computed("memory.weights", "fp32_gb"),
        "GB of 7 billion FP32 numbers",
        "The FP32 weights of 7 billion parameters take {estimate}",
        refuted=AtLeast(value=14.0),
        unit="GB",
    ),
    right={"supported": "7 GB", "refuted": "28 GB"},
)

study.claim(
    "mem.adam_states",
    within(
        1.9,
        2.1,
        computed("memory.adam_state", "over_fp32_weights"),
        "bytes of Adam's state over those of FP32 weights",
        "Adam's state takes {estimate} the memory of FP32 weights",
        refuted=(1.5, 2.5),
        unit="x",
    ),
    reported(computed("memory.adam_state", "over_bf16_weights"), "over weights in BF16, the state in FP32", "x"),
)


@study.claim("mem.levers", right={"supported": "as listed", "refuted": "only activations"})
def as_listed() -> Iterator[Part]:
    levers = partial(computed, "memory.levers")
    # The factors are the document's.
    for clause, lever, factor, name, condition, other in (
        ("a", "batch", 4.0, "memory at batch 32 over 8", "At batch 32", "batch 8"),
        ("b", "sequence", 2.0, "memory at 2048 tokens over 1024", "At 2,048 tokens", "1,024 tokens"),
        ("c", "precision", 2.0, "memory in FP32 over mixed precision", "In FP32", "mixed precision"),
    ):
        says = f"{condition}, a 7B GPT takes {{estimate}} the memory of {other}"
        yield within(0.9 * factor, 1.1 * factor, levers(lever), name, says, clause=clause, unit="x")
    yield reported(levers("checkpoints"), "share of the activations that a checkpoint at every block saves", "share")
    yield reported(levers("parts_over_stated"), "sum of the document's parts over the stated GPU", "x")


@study.claim("mem.checkpoint_size")
def larger() -> Iterator[Part]:
    for number, panel, subject in (
        ("batch", "batch", "the largest batch of a GPT-2 medium"),
        ("depth_at_2", "depth at a batch of 2", "the largest model, by depth, at batch 2"),
        ("depth_at_8", "depth at a batch of 8", "the largest model, by depth, at batch 8"),
        ("depth_at_16", "depth at a batch of 16", "the largest model, by depth, at batch 16"),
    ):
        yield within(
            2.0,
            3.0,
            computed("memory.with_checkpoints", number),
            f"{panel}, with checkpoints over without",
            f"With checkpoints, {subject} is {{estimate}} as large",
            refuted=AtMost(value=1.5),
            null=1.0,
            unit="x",
            panel=panel,
        )


STUDY = study.declared()
