"""What does training hold in memory, and what do accumulation and recomputation change about it?"""

from typing import Any

from folklore.harness.metrics import SpeedUp
from folklore.harness.spec import Arm, AtLeast, AtMost, Criterion, Measurement, Published, Scale, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import below, computed, inside, judgement

# Trained for its step time alone: what is learned does not matter, and one LR serves.
LR, MLP_LR = {"peak_lr": (2.0**-9,)}, {"peak_lr": (2.0**-13,)}
# An MLP's matrices are so large that compute, and not Python, takes a step's time.
MLP = {"model": "mlp", "dataset": "digits", "width": 1024, "depth": 9, "batch_size": 256}
# A checkpoint at every block, as is common, and as many as the root of the blocks.
EVERY_BLOCK, ROOT = {"recompute_segments": 9}, {"recompute_segments": 3}
PARTS = 4


def gpt(label: str, **settings: Any) -> Arm:
    """Without settings of its own it is what others are compared with."""
    return Arm(panel="GPT", label=label, settings=settings, factors=LR, reference=not settings)


def mlp(label: str, **recomputing: Any) -> Arm:
    return Arm(panel="MLP", label=label, settings={**MLP, **recomputing}, factors=MLP_LR, reference=not recomputing)


def both_mlps(**settings: int) -> dict[str, dict[str, int]]:
    return {"mlp_plain": settings, "mlp_recomputed": settings}


def on_a_gpu(description: str, blocks: int, root: int, mlp_width: int, **workload: int) -> Scale:
    """root: as many segments as about the root of the blocks."""
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
    """Step time of an arm over that of another."""
    return SpeedUp(arm=other, reference=arm)


def lever(name: str, number: str, says: str, times: float) -> Criterion:
    """A lever's factor is the document's if it agrees to a tenth."""
    return Criterion(
        name=name, observe=computed("memory.levers", number), says=says, **inside(0.9 * times, 1.1 * times, unit="x")
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
    """what: the part of the sentence that is larger."""
    return Criterion(
        name=f"{panel}, with checkpoints over without",
        panel=panel,
        observe=computed("memory.with_checkpoints", number),
        says=f"With checkpoints {what} is {{larger}}",
        **inside(2.0, 3.0, refuted=AtMost(value=1.5), null=1.0, unit="x"),
    )


def deeper(batch: int) -> Criterion:
    return larger(f"depth at a batch of {batch}", f"depth_at_{batch}", f"the deepest model at a batch of {batch}")


ACCUMULATION = judgement(
    "mem.accumulation",
    Criterion(
        name="distance of the gradient of equal micro-batches from the whole batch's",
        observe=computed("memory.accumulation", "error"),
        says="Up to 16 equal micro-batches give the large batch's gradient to within {estimate} of its size",
        **below(1e-5, refuted=1e-3),
    ),
    reported={
        "the same of unequal micro-batches whose mean losses count alike": (
            computed("memory.accumulation", "unequal_error"),
            "share",
        ),
        f"time of a step of {PARTS} micro-batches over that of one micro-batch": (time_over("accumulated", "micro"), "x"),
        "time of a step of micro-batches over that of the whole batch": (time_over("accumulated", "plain"), "x"),
    },
    note=(
        "In FP32. Micro-batches of unequal size are wrong if each counts alike: sum the loss over tokens, and divide by the"
        " tokens of all. A step of k micro-batches takes k times as long as one micro-batch, which is the 8x of CP; against the"
        " whole batch it is the same compute in smaller pieces."
    ),
    if_supported="Accumulate for a batch that does not fit; weight unequal micro-batches by their tokens.",
    if_refuted="Do not accumulate before you have compared gradients on your own model.",
)

PEAK = judgement(
    "mem.accumulation_peak",
    Criterion(
        name="exponent of the peak on the number of micro-batches of one size",
        observe=computed("memory.accumulation_peak", "exponent"),
        says="The peak of activations grows as the power {estimate} of the number of accumulated micro-batches",
        **inside(-0.02, 0.02, refuted=AtLeast(value=0.5)),
    ),
    Criterion(
        name="exponent of the peak on the number of parts of one batch",
        observe=computed("memory.accumulation_peak", "parted_exponent"),
        says="Parting one batch further makes it fall as the power {estimate} of the parts",
        **below(-0.9, refuted=-0.5),
    ),
    note=(
        "Activations alone. The gradients that are summed up come on top while the next micro-batch is at its peak, as many"
        " bytes as the weights, where a plain step has none yet; this engine holds them twice."
    ),
    if_supported="Choose the micro-batch by what fits, and the number of them by the batch that you want.",
    if_refuted="Measure the peak at every number of micro-batches.",
)

CHECKPOINTS = judgement(
    "mem.checkpoint_memory",
    Criterion(
        name="exponent of the peak on depth, as many checkpoints as its root",
        observe=computed("memory.depth", "root"),
        says="With √depth checkpoints the peak of activations grows as depth to the {estimate}",
        **inside(0.45, 0.6, refuted=AtLeast(value=0.8)),
    ),
    Criterion(
        name="exponent of the peak on depth, all kept",
        observe=computed("memory.depth", "kept"),
        says="If all is kept it grows as depth to the {estimate}",
        **inside(0.95, 1.05, refuted=AtMost(value=0.75)),
    ),
    right={"supported": "square root"},
    reported={"exponent with a checkpoint at every block, 4 to 36 blocks": computed("memory.depth", "every_block")},
    note=(
        "From 4 to 36 blocks. Logits do not grow with depth, so that both lie below 1/2 and 1. It grows as the root; a"
        " checkpoint at every block keeps less in all at these depths, for a block's inner tensors outweigh its input."
    ),
    if_supported="Place a checkpoint at every block, up to some dozens of them, if activations do not fit.",
    if_refuted="Count the peak of your own model with and without checkpoints: folklore budget.",
)

COST = judgement(
    "mem.checkpoint_cost",
    Criterion(
        name="operations that recomputing every block adds to a step",
        observe=computed("memory.recomputed_operations", "extra"),
        says="Recomputing all of every block of a 7B GPT adds {estimate} operations to a step",
        **inside(0.30, 0.36, refuted=(0.2, 0.5), unit="relative"),
    ),
    reported={
        "as torch does it, which leaves out the last product of every block": (
            computed("memory.recomputed_operations", "extra_in_torch"),
            "relative",
        )
    },
    note="A third of a step is its forward pass. The readout, which nobody recomputes, is what is missing to it.",
    if_supported="Count on a third more compute at most if every block is recomputed; torch comes to a fifth.",
    if_refuted="Count the operations of your own model before you recompute.",
)

TIME = judgement(
    "mem.checkpoint_time",
    slower("GPT", "plain", "recomputed"),
    slower("MLP", "mlp_plain", "mlp_recomputed"),
    reported={"GPT, in 3 segments": (time_over("root", "plain"), "x")},
    if_supported="Count on 20 to 30% more time if every block is recomputed.",
    if_partly="Time a few steps before you recompute: what it costs depends on what else a step spends time on.",
    if_refuted="Time a few steps before you recompute: it costs another share of a step.",
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
    note="The table is a right budget: of a GPT with 32 blocks of width 4096, 8 sequences of 2048 tokens a step.",
    if_supported="Count one byte a parameter.",
    if_refuted="Count 4 bytes a parameter for weights, 4 for gradients and 8 for Adam, before any activation.",
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
    if_supported="Budget twice the weights for Adam's state, four times if the weights alone are in BF16.",
    if_refuted="Count the state of your own optimizer.",
)

LEVERS = judgement(
    "mem.levers",
    lever("memory at batch 32 over 8", "batch", "Batch 32 to 8 makes all memory of a 7B GPT {estimate} less", 4.0),
    lever("memory at 2048 tokens over 1024", "sequence", "Half the sequence makes it {estimate} less", 2.0),
    lever("memory in FP32 over mixed precision", "precision", "Mixed precision makes it {estimate} less", 2.0),
    right={"supported": "as listed", "refuted": "only activations"},
    reported={
        "share of the activations that a checkpoint at every block saves": (computed("memory.levers", "checkpoints"), "share"),
        "sum of the document's parts over the GPU beside which they stand": (
            computed("memory.levers", "parts_over_stated"),
            "x",
        ),
    },
    note=(
        "All memory of a GPT of 6.7 billion parameters with Adam, 8 sequences of 2048 tokens but for what is changed; between"
        " 1x, where weights fill it, and the document's factor, where activations do. Mixed precision: weights, gradients and"
        " state stay FP32, and a 16-bit copy of the weights comes on top; with all in 16 bits it is 2x. The document's GB are"
        " of another size of model, and its factors do not follow from them."
    ),
    if_supported="Use the list as it stands.",
    if_partly="Divide only the activations by a lever's factor: weights, gradients and state stay.",
    if_refuted="Divide only the activations by a lever's factor: weights, gradients and state stay.",
)

SIZE = judgement(
    "mem.checkpoint_size",
    larger("batch", "batch", "the largest batch of a GPT-2 medium"),
    *map(deeper, (2, 8, 16)),
    note="On a GPU of 24 GiB, FP32, Adam. What checkpoints allow depends on the share of activations in the memory.",
    if_supported="Expect checkpoints to fit a model or a batch two to three times as large.",
    if_partly="Count first, with folklore budget: checkpoints shrink activations, and nothing else.",
    if_refuted="Count first, with folklore budget: checkpoints shrink activations, and nothing else.",
)

STUDY = Study(
    name="memory",
    # Version 1 had regions that were widened or narrowed after numbers of pilots had been seen (reports/log).
    version=2,
    title="Memory of training",
    question="What does training hold in memory, and what do accumulation and recomputation change about it?",
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
            "about two minutes of timed steps", "Times are of a CPU, of GPTs of width 128 and MLPs of width 1024."
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
    departures=(
        "Computed numbers have no seeds: their regions were written when they were known, most of them from designs of before.",
        "Memory is counted as torch asks for it: an allocator's rounding and libraries' workspaces come on top.",
        "Attention is torch's fused kernel, which writes no matrix of tokens by tokens.",
        "What is recomputed are blocks; the readout is not. torch stops as soon as all that was kept is there again.",
    ),
    answer=("mem.budget", "mem.levers", "mem.checkpoint_memory", "mem.checkpoint_size"),
    judgements=(ACCUMULATION, PEAK, CHECKPOINTS, COST, TIME, BUDGET, ADAM_STATES, LEVERS, SIZE),
    published=(
        Published(
            claim="mem.checkpoint_memory",
            finding="Memory of √n for n layers, for one more forward pass; a 1000-layer residual network from 48 GB to 7 GB.",
            source="Chen et al. 2016",
            link="https://arxiv.org/abs/1604.06174",
        ),
    ),
)
