"""What takes memory in training, and how do accumulation and recomputation change it?"""

from typing import Any

from .kit import *

# Trained only for the step time: one LR suffices.
LR, MLP_LR = {"peak_lr": (2.0**-9,)}, {"peak_lr": (2.0**-13,)}
# Matrices so large that compute, not Python, dominates the step time.
MLP = {"model": "mlp", "dataset": "digits", "width": 1024, "depth": 9, "batch_size": 256}
# A checkpoint at every block, as is common, and the root of the number of blocks.
EVERY_BLOCK, ROOT = {"recompute_segments": 9}, {"recompute_segments": 3}
PARTS = 4


def gpt(label: str, **settings: Any) -> Arm:
    """The reference has no settings of its own."""
    return Arm(panel="GPT", label=label, settings=settings, factors=LR, reference=not settings)


def mlp(label: str, **recomputing: Any) -> Arm:
    return Arm(panel="MLP", label=label, settings={**MLP, **recomputing}, factors=MLP_LR, reference=not recomputing)


def both_mlps(**settings: int) -> dict[str, dict[str, int]]:
    return {"mlp_plain": settings, "mlp_recomputed": settings}


def on_a_gpu(description: str, blocks: int, root: int, mlp_width: int, **workload: int) -> Scale:
    """root: segments, about the root of the number of blocks."""
    return scales.gpu(
        description,
        workload={"depth": blocks, "heads": 16, **workload},
        training={"precision": "bf16", "steps": 40},
        arm_settings={
            "recomputed": {"recompute_segments": blocks},
            "root": {"recompute_segments": root},
            **both_mlps(width=mlp_width, batch_size=8192),
        },
        seeds=6,
    )


def time_over(arm: str, other: str) -> SpeedUp:
    """Step time of an arm over another's."""
    return SpeedUp(arm=other, reference=arm)


def lever(clause: str, name: str, number: str, says: str, times: float) -> Criterion:
    """A lever's factor agrees with the document's to within a tenth."""
    return Criterion(
        name=name,
        clause=clause,
        observe=computed("memory.levers", number),
        says=says,
        **inside(0.9 * times, 1.1 * times, unit="x"),
    )


def slower(panel: str, kept: str, recomputed: str) -> Criterion:
    return Criterion(
        name=f"step time, recomputed over kept, {panel}",
        panel=panel,
        observe=time_over(recomputed, kept),
        says=f"Recomputing every block makes a step of the {panel} take {{estimate}} as long",
        **inside(1.2, 1.3, refuted=(1.1, 1.4), null=1.0, unit="x"),
    )


def larger(panel: str, number: str, what: str) -> Criterion:
    """what: the subject of the sentence."""
    return Criterion(
        name=f"{panel}, with checkpoints over without",
        panel=panel,
        observe=computed("memory.with_checkpoints", number),
        says=f"With checkpoints, {what} is {{estimate}} as large",
        **inside(2.0, 3.0, refuted=AtMost(value=1.5), null=1.0, unit="x"),
    )


def deeper(batch: int) -> Criterion:
    return larger(f"depth at a batch of {batch}", f"depth_at_{batch}", f"the largest model, by depth, at batch {batch}")


ACCUMULATION = judgement(
    "mem.accumulation",
    Criterion(
        name="distance of the gradient of equal micro-batches from the whole batch's",
        observe=computed("memory.accumulation", "error"),
        says="Up to 16 equal micro-batches reproduce the large batch's gradient with a relative error of {estimate}",
        **below(1e-5, refuted=1e-3),
    ),
    reported={
        "the same for unequal micro-batches with equally weighted mean losses": (
            computed("memory.accumulation", "unequal_error"),
            "share",
        ),
        f"step time with {PARTS} micro-batches over that with one micro-batch": (time_over("accumulated", "micro"), "x"),
        "step time with micro-batches over that with the whole batch": (time_over("accumulated", "plain"), "x"),
    },
)

PEAK = judgement(
    "mem.accumulation_peak",
    Criterion(
        name="exponent of the peak on the number of micro-batches of one size",
        clause="a",
        observe=computed("memory.accumulation_peak", "exponent"),
        says="With k accumulated micro-batches of one size, peak activation memory scales as k^{estimate}",
        **inside(-0.02, 0.02, refuted=AtLeast(value=0.5)),
    ),
    Criterion(
        name="exponent of the peak on the number of parts of one batch",
        clause="b",
        observe=computed("memory.accumulation_peak", "parted_exponent"),
        says="With one batch split into k parts, peak activation memory scales as k^{estimate}",
        **below(-0.9, refuted=-0.5),
    ),
)

CHECKPOINTS = judgement(
    "mem.checkpoint_memory",
    Criterion(
        name="exponent of the peak on depth, as many checkpoints as its root",
        clause="a",
        observe=computed("memory.depth", "root"),
        says="With √depth checkpoints, peak activation memory scales as depth^{estimate}",
        **inside(0.45, 0.6, refuted=AtLeast(value=0.8)),
    ),
    Criterion(
        name="exponent of the peak on depth, all kept",
        clause="b",
        observe=computed("memory.depth", "kept"),
        says="Without checkpoints, peak activation memory scales as depth^{estimate}",
        **inside(0.95, 1.05, refuted=AtMost(value=0.75)),
    ),
    right={"supported": "square root"},
    reported={"exponent with a checkpoint at every block, 4 to 36 blocks": computed("memory.depth", "every_block")},
)

COST = judgement(
    "mem.checkpoint_cost",
    Criterion(
        name="operations that recomputing every block adds to a step",
        observe=computed("memory.recomputed_operations", "extra"),
        says="Recomputing every block of a 7B GPT completely adds {estimate} to the operations of a step",
        **inside(0.30, 0.36, refuted=(0.2, 0.5), unit="relative"),
    ),
    reported={
        "as in torch, which omits the last product of every block": (
            computed("memory.recomputed_operations", "extra_in_torch"),
            "relative",
        )
    },
)

TIME = judgement(
    "mem.checkpoint_time",
    slower("GPT", "plain", "recomputed"),
    slower("MLP", "mlp_plain", "mlp_recomputed"),
    reported={"GPT, in 3 segments": (time_over("root", "plain"), "x")},
)

BUDGET = judgement(
    "mem.budget",
    Criterion(
        name="GB of 7 billion FP32 numbers",
        observe=computed("memory.weights", "fp32_gb"),
        says="The FP32 weights of 7 billion parameters take {estimate}",
        **inside(6.3, 7.7, refuted=AtLeast(value=14.0), unit="GB"),
    ),
    right={"supported": "7 GB", "refuted": "28 GB"},
)

ADAM_STATES = judgement(
    "mem.adam_states",
    Criterion(
        name="bytes of Adam's state over those of FP32 weights",
        observe=computed("memory.adam_state", "over_fp32_weights"),
        says="Adam's state takes {estimate} the memory of FP32 weights",
        **inside(1.9, 2.1, refuted=(1.5, 2.5), unit="x"),
    ),
    reported={"over weights in BF16, the state in FP32": (computed("memory.adam_state", "over_bf16_weights"), "x")},
)

LEVERS = judgement(
    "mem.levers",
    lever("a", "memory at batch 32 over 8", "batch", "At batch 32, a 7B GPT takes {estimate} the memory of batch 8", 4.0),
    lever(
        "b",
        "memory at 2048 tokens over 1024",
        "sequence",
        "At 2,048 tokens, a 7B GPT takes {estimate} the memory of 1,024 tokens",
        2.0,
    ),
    lever(
        "c",
        "memory in FP32 over mixed precision",
        "precision",
        "In FP32, a 7B GPT takes {estimate} the memory of mixed precision",
        2.0,
    ),
    right={"supported": "as listed", "refuted": "only activations"},
    reported={
        "share of the activations that a checkpoint at every block saves": (computed("memory.levers", "checkpoints"), "share"),
        "sum of the document's parts over the stated GPU": (
            computed("memory.levers", "parts_over_stated"),
            "x",
        ),
    },
)

SIZE = judgement(
    "mem.checkpoint_size",
    larger("batch", "batch", "the largest batch of a GPT-2 medium"),
    *map(deeper, (2, 8, 16)),
)

STUDY = study(
    __file__,
    # Version 1 had regions that were changed after pilots (reports/log).
    version=2,
    workload=Workload(model="gpt", dataset="markov:26", width=128, depth=9, heads=4, context=64),
    training=Training(optimizer="adamw", batch_size=8, steps=16, schedule="constant", warmup_fraction=0.0),
    measurement=Measurement(probes=2, evaluations=1, evaluation_examples=8, final_examples=8, solo=True),
    arms={
        "plain": gpt("whole batch, all kept"),
        "recomputed": gpt("every block recomputed", **EVERY_BLOCK),
        "root": gpt("recomputed in 3 segments", **ROOT),
        "accumulated": gpt(f"{PARTS} micro-batches of a quarter", micro_batches=PARTS),
        "micro": gpt("one micro-batch, a quarter", batch_size=2),
        "mlp_plain": mlp("all kept"),
        "mlp_recomputed": mlp("every block recomputed", **EVERY_BLOCK),
    },
    factors=LR,
    seeds=16,
    first_seed=21_300,
    scales={
        "smoke": scales.smoke(
            workload={"width": 16, "heads": 2, "context": 16}, arm_settings=both_mlps(width=32, batch_size=64)
        ),
        "laptop": scales.laptop(
            "about two minutes of timed steps",
        ),
        "gpu": on_a_gpu("one GPU, at most four minutes", blocks=16, root=4, mlp_width=4096, width=1024, context=512),
        "cluster": on_a_gpu(
            "a GPU of a cluster, ten minutes: blocks of a model of a billion parameters",
            blocks=24,
            root=5,
            mlp_width=8192,
            width=2048,
            context=1024,
        ),
    },
    answer=("mem.budget", "mem.levers", "mem.checkpoint_memory", "mem.checkpoint_size"),
    judgements=(ACCUMULATION, PEAK, CHECKPOINTS, COST, TIME, BUDGET, ADAM_STATES, LEVERS, SIZE),
)
