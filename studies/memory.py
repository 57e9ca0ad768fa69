"""What does training hold in memory, and what do accumulation and recomputation change about it?"""

from folklore.harness.observables import Computed, SpeedUp
from folklore.harness.spec import (
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Judgement,
    Measurement,
    Outside,
    Published,
    Reported,
    Scale,
    Study,
    Training,
    Within,
    Workload,
)

# Trained for its step time alone: what is learned does not matter, and one LR serves.
LR, MLP_LR = {"peak_lr": (2.0**-9,)}, {"peak_lr": (2.0**-13,)}
# An MLP's matrices are so large that compute, and not Python, takes a step's time.
MLP = {"model": "mlp", "dataset": "digits", "width": 1024, "depth": 9, "batch_size": 256}
# A checkpoint at every block, as is common, and as many as the root of the blocks.
EVERY_BLOCK, ROOT = {"recompute_segments": 9}, {"recompute_segments": 3}
PARTS = 4
# A lever's factor is the document's if it agrees to a tenth.
TENTH = {
    times: {"claimed": Within(low=0.9 * times, high=1.1 * times), "refuted": Outside(low=0.9 * times, high=1.1 * times)}
    for times in (2.0, 4.0)
}
# Panel, number, and what of a sentence.
LARGER = (
    ("batch", "batch", "the largest batch of a GPT-2 medium"),
    ("depth at a batch of 2", "depth_at_2", "the deepest model at a batch of 2"),
    ("depth at a batch of 8", "depth_at_8", "the deepest model at a batch of 8"),
    ("depth at a batch of 16", "depth_at_16", "the deepest model at a batch of 16"),
)

STUDY = Study(
    name="memory",
    # Version 1 had regions that were widened or narrowed after numbers of pilots had been seen (LOG.md).
    version=2,
    title="Memory of training",
    question="What does training hold in memory, and what do accumulation and recomputation change about it?",
    workload=Workload(model="gpt", dataset="markov:26", width=128, depth=9, heads=4, context=64),
    training=Training(optimizer="adamw", batch_size=8, steps=16, schedule="constant", warmup_fraction=0.0),
    measurement=Measurement(probes=2, evaluations=1, evaluation_examples=8, final_examples=8, solo=True),
    arms={
        "plain": Arm(panel="GPT", label="whole batch, all kept", factors=LR, reference=True),
        "recomputed": Arm(panel="GPT", label="every block recomputed", settings=EVERY_BLOCK, factors=LR),
        "root": Arm(panel="GPT", label="recomputed in 3 segments", settings=ROOT, factors=LR),
        "accumulated": Arm(
            panel="GPT", label=f"{PARTS} micro-batches of a quarter", settings={"micro_batches": PARTS}, factors=LR
        ),
        "micro": Arm(panel="GPT", label="one micro-batch, a quarter", settings={"batch_size": 2}, factors=LR),
        "mlp_plain": Arm(panel="MLP", label="all kept", settings=MLP, factors=MLP_LR, reference=True),
        "mlp_recomputed": Arm(panel="MLP", label="every block recomputed", settings={**MLP, **EVERY_BLOCK}, factors=MLP_LR),
    },
    factors=LR,
    seeds=16,
    first_seed=21_300,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            workload={"width": 16, "heads": 2, "context": 16},
            arm_settings={name: {"width": 32, "batch_size": 64} for name in ("mlp_plain", "mlp_recomputed")},
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about two minutes of timed steps",
            departures=("Times are of a CPU, of GPTs of width 128 and MLPs of width 1024.",),
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes",
            device="cuda",
            workload={"width": 1024, "depth": 16, "heads": 16, "context": 512},
            training={"precision": "bf16", "steps": 40},
            arm_settings={
                "recomputed": {"recompute_segments": 16},
                "root": {"recompute_segments": 4},
                "mlp_plain": {"width": 4096, "batch_size": 8192},
                "mlp_recomputed": {"width": 4096, "batch_size": 8192},
            },
            seeds=6,
        ),
        "cluster": Scale(
            description="a GPU of a cluster, ten minutes: blocks of a model of a billion parameters",
            device="cuda",
            workload={"width": 2048, "depth": 24, "heads": 16, "context": 1024},
            training={"precision": "bf16", "steps": 40},
            arm_settings={
                "recomputed": {"recompute_segments": 24},
                "root": {"recompute_segments": 5},
                "mlp_plain": {"width": 8192, "batch_size": 8192},
                "mlp_recomputed": {"width": 8192, "batch_size": 8192},
            },
            seeds=6,
        ),
    },
    departures=(
        "Computed numbers have no seeds: their regions were written when they were known, most of them from designs of before.",
        "Memory is counted as torch asks for it: an allocator's rounding and libraries' workspaces come on top.",
        "Attention is torch's fused kernel, which writes no matrix of tokens by tokens.",
        "What is recomputed are blocks; the readout is not. torch stops as soon as all that was kept is there again.",
    ),
    answer=("mem.budget", "mem.levers", "mem.checkpoint_memory", "mem.checkpoint_size"),
    judgements=(
        Judgement(
            claim="mem.accumulation",
            criteria=(
                Criterion(
                    name="distance of the gradient of equal micro-batches from the whole batch's",
                    observe=Computed(function="memory.accumulation", number="error"),
                    claimed=AtMost(value=1e-5),
                    refuted=AtLeast(value=1e-3),
                    says="Up to 16 equal micro-batches give the large batch's gradient to within {estimate} of its size",
                ),
            ),
            reported=(
                Reported(
                    name="the same of unequal micro-batches whose mean losses count alike",
                    observe=Computed(function="memory.accumulation", number="unequal_error"),
                    unit="share",
                ),
                Reported(
                    name=f"time of a step of {PARTS} micro-batches over that of one micro-batch",
                    observe=SpeedUp(arm="micro", reference="accumulated"),
                    unit="x",
                ),
                Reported(
                    name="time of a step of micro-batches over that of the whole batch",
                    observe=SpeedUp(arm="plain", reference="accumulated"),
                    unit="x",
                ),
            ),
            note=(
                "In FP32. Micro-batches of unequal size are wrong if each counts alike: sum the loss over tokens, and divide by"
                " the tokens of all. A step of k micro-batches takes k times as long as one micro-batch, which is the 8x of CP;"
                " against the whole batch it is the same compute in smaller pieces."
            ),
            advice={
                "supported": "Accumulate for a batch that does not fit; weight unequal micro-batches by their tokens.",
                "refuted": "Do not accumulate before you have compared gradients on your own model.",
            },
        ),
        Judgement(
            claim="mem.accumulation_peak",
            criteria=(
                Criterion(
                    name="exponent of the peak on the number of micro-batches of one size",
                    observe=Computed(function="memory.accumulation_peak", number="exponent"),
                    claimed=Within(low=-0.02, high=0.02),
                    refuted=AtLeast(value=0.5),
                    says="The peak of activations grows as the power {estimate} of the number of accumulated micro-batches",
                ),
                Criterion(
                    name="exponent of the peak on the number of parts of one batch",
                    observe=Computed(function="memory.accumulation_peak", number="parted_exponent"),
                    claimed=AtMost(value=-0.9),
                    refuted=AtLeast(value=-0.5),
                    says="Parting one batch further makes it fall as the power {estimate} of the parts",
                ),
            ),
            note=(
                "Activations alone. The gradients that are summed up come on top while the next micro-batch is at its peak, as"
                " many bytes as the weights, where a plain step has none yet; this engine holds them twice."
            ),
            advice={
                "supported": "Choose the micro-batch by what fits, and the number of them by the batch that you want.",
                "refuted": "Measure the peak at every number of micro-batches.",
            },
        ),
        Judgement(
            claim="mem.checkpoint_memory",
            right={"supported": "square root"},
            criteria=(
                Criterion(
                    name="exponent of the peak on depth, as many checkpoints as its root",
                    observe=Computed(function="memory.depth", number="root"),
                    claimed=Within(low=0.45, high=0.6),
                    refuted=AtLeast(value=0.8),
                    says="With √depth checkpoints the peak of activations grows as depth to the {estimate}",
                ),
                Criterion(
                    name="exponent of the peak on depth, all kept",
                    observe=Computed(function="memory.depth", number="kept"),
                    claimed=Within(low=0.95, high=1.05),
                    refuted=AtMost(value=0.75),
                    says="If all is kept it grows as depth to the {estimate}",
                ),
            ),
            reported=(
                Reported(
                    name="exponent with a checkpoint at every block, 4 to 36 blocks",
                    observe=Computed(function="memory.depth", number="every_block"),
                ),
            ),
            note=(
                "From 4 to 36 blocks. Logits do not grow with depth, so that both lie below 1/2 and 1. It grows as the root; a"
                " checkpoint at every block keeps less in all at these depths, for a block's inner tensors outweigh its input."
            ),
            advice={
                "supported": "Place a checkpoint at every block, up to some dozens of them, if activations do not fit.",
                "refuted": "Count the peak of your own model with and without checkpoints: folklore budget.",
            },
        ),
        Judgement(
            claim="mem.checkpoint_cost",
            criteria=(
                Criterion(
                    name="operations that recomputing every block adds to a step",
                    observe=Computed(function="memory.recomputed_operations", number="extra"),
                    claimed=Within(low=0.30, high=0.36),
                    refuted=Outside(low=0.2, high=0.5),
                    says="Recomputing all of every block of a 7B GPT adds {estimate} operations to a step",
                    unit="relative",
                ),
            ),
            reported=(
                Reported(
                    name="as torch does it, which leaves out the last product of every block",
                    observe=Computed(function="memory.recomputed_operations", number="extra_in_torch"),
                    unit="relative",
                ),
            ),
            note="A third of a step is its forward pass. The readout, which nobody recomputes, is what is missing to it.",
            advice={
                "supported": "Count on a third more compute at most if every block is recomputed; torch comes to a fifth.",
                "refuted": "Count the operations of your own model before you recompute.",
            },
        ),
        Judgement(
            claim="mem.checkpoint_time",
            criteria=tuple(
                Criterion(
                    name=f"step time, recomputed over kept, {panel}",
                    panel=panel,
                    observe=SpeedUp(arm=kept, reference=recomputed),
                    null=1.0,
                    claimed=Within(low=1.2, high=1.3),
                    refuted=Outside(low=1.1, high=1.4),
                    says=f"Recomputing every block makes a step of the {panel} take {{estimate}} as long",
                    unit="x",
                )
                for panel, kept, recomputed in (("GPT", "plain", "recomputed"), ("MLP", "mlp_plain", "mlp_recomputed"))
            ),
            reported=(Reported(name="GPT, in 3 segments", observe=SpeedUp(arm="plain", reference="root"), unit="x"),),
            advice={
                "supported": "Count on 20 to 30% more time if every block is recomputed.",
                "partly": "Time a few steps before you recompute: what it costs depends on what else a step spends time on.",
                "refuted": "Time a few steps before you recompute: it costs another share of a step.",
            },
        ),
        Judgement(
            claim="mem.budget",
            right={"supported": "7 GB", "refuted": "28 GB"},
            criteria=(
                Criterion(
                    name="GB of 7 billion FP32 numbers",
                    observe=Computed(function="memory.weights", number="fp32_gb"),
                    claimed=Within(low=6.3, high=7.7),
                    refuted=AtLeast(value=14.0),
                    says="The FP32 weights of 7 billion parameters take {estimate}",
                    unit="GB",
                ),
            ),
            note="The table is a right budget: of a GPT with 32 blocks of width 4096, 8 sequences of 2048 tokens a step.",
            advice={
                "supported": "Count one byte a parameter.",
                "refuted": "Count 4 bytes a parameter for weights, 4 for gradients and 8 for Adam, before any activation.",
            },
        ),
        Judgement(
            claim="mem.adam_states",
            criteria=(
                Criterion(
                    name="bytes of Adam's state over those of FP32 weights",
                    observe=Computed(function="memory.adam_state", number="over_fp32_weights"),
                    claimed=Within(low=1.9, high=2.1),
                    refuted=Outside(low=1.5, high=2.5),
                    says="Adam's state takes {estimate} the memory of FP32 weights",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="over weights in BF16, the state in FP32",
                    observe=Computed(function="memory.adam_state", number="over_bf16_weights"),
                    unit="x",
                ),
            ),
            advice={
                "supported": "Budget twice the weights for Adam's state, four times if the weights alone are in BF16.",
                "refuted": "Count the state of your own optimizer.",
            },
        ),
        Judgement(
            claim="mem.levers",
            right={"supported": "as listed", "refuted": "only activations"},
            criteria=(
                Criterion(
                    name="memory at batch 32 over 8",
                    observe=Computed(function="memory.levers", number="batch"),
                    says="Batch 32 to 8 makes all memory of a 7B GPT {estimate} less",
                    unit="x",
                    **TENTH[4.0],
                ),
                Criterion(
                    name="memory at 2048 tokens over 1024",
                    observe=Computed(function="memory.levers", number="sequence"),
                    says="Half the sequence makes it {estimate} less",
                    unit="x",
                    **TENTH[2.0],
                ),
                Criterion(
                    name="memory in FP32 over mixed precision",
                    observe=Computed(function="memory.levers", number="precision"),
                    says="Mixed precision makes it {estimate} less",
                    unit="x",
                    **TENTH[2.0],
                ),
            ),
            reported=(
                Reported(
                    name="share of the activations that a checkpoint at every block saves",
                    observe=Computed(function="memory.levers", number="checkpoints"),
                    unit="share",
                ),
                Reported(
                    name="sum of the document's parts over the GPU beside which they stand",
                    observe=Computed(function="memory.levers", number="parts_over_stated"),
                    unit="x",
                ),
            ),
            note=(
                "All memory of a GPT of 6.7 billion parameters with Adam, 8 sequences of 2048 tokens but for what is changed;"
                " between 1x, where weights fill it, and the document's factor, where activations do. Mixed precision: weights,"
                " gradients and state stay FP32, and a 16-bit copy of the weights comes on top; with all in 16 bits it is 2x."
                " The document's GB are of another size of model, and its factors do not follow from them."
            ),
            advice={
                "supported": "Use the list as it stands.",
                "partly": "Divide only the activations by a lever's factor: weights, gradients and state stay.",
                "refuted": "Divide only the activations by a lever's factor: weights, gradients and state stay.",
            },
        ),
        Judgement(
            claim="mem.checkpoint_size",
            criteria=tuple(
                Criterion(
                    name=f"{panel}, with checkpoints over without",
                    panel=panel,
                    observe=Computed(function="memory.with_checkpoints", number=number),
                    null=1.0,
                    claimed=Within(low=2.0, high=3.0),
                    refuted=AtMost(value=1.5),
                    says=f"With checkpoints {what} is {{larger}}",
                    unit="x",
                )
                for panel, number, what in LARGER
            ),
            note="On a GPU of 24 GiB, FP32, Adam. What checkpoints allow depends on the share of activations in the memory.",
            advice={
                "supported": "Expect checkpoints to fit a model or a batch two to three times as large.",
                "partly": "Count first, with folklore budget: checkpoints shrink activations, and nothing else.",
                "refuted": "Count first, with folklore budget: checkpoints shrink activations, and nothing else.",
            },
        ),
    ),
    published=(
        Published(
            claim="mem.checkpoint_memory",
            finding="Memory of √n for n layers, for one more forward pass; a 1000-layer residual network from 48 GB to 7 GB.",
            source="Chen et al. 2016",
            link="https://arxiv.org/abs/1604.06174",
            how="reported",
        ),
    ),
)
