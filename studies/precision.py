"""What do 16-bit and 8-bit numbers do to training, and what fixes it?"""

from folklore.harness.observables import (
    Computed,
    CurveDistance,
    CurveMedian,
    FailureRate,
    FallShare,
    FinalLoss,
    Gap,
    LossAt,
    MaxTrainable,
    MemoryRatio,
    Quotient,
    SpeedUp,
    TunedLoss,
    UnderflowShare,
    Unmeasured,
)
from folklore.harness.spec import (
    Alternative,
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Expected,
    Judgement,
    Measurement,
    OnEach,
    Outside,
    Published,
    Reported,
    Scale,
    Study,
    Training,
    Within,
    Workload,
    log2_grid,
)

# A pass sees few tokens; a large step sums the gradients of many passes, and its loss is a mean over all their tokens. So each
# pass's loss is divided by their number before the backward pass, and its gradient multiplied by as much, as summing the others
# would do. In FP32 nothing changes. At laptop scale a pass has 128 tokens: 2^14 of them are two million.
PASSES_05M = {"loss_scaling": "static", "loss_scale": 2.0**-12}
PASSES_2M = {"loss_scaling": "static", "loss_scale": 2.0**-14}
PASSES_17M = {"loss_scaling": "static", "loss_scale": 2.0**-17}
# The same two million tokens, and a loss scale of 2^16.
PASSES_2M_SCALED = {"loss_scaling": "static", "loss_scale": 2.0**2}
# From 2^16, as in torch, the first updates of a short run overflow and are skipped.
DYNAMIC = {"precision": "fp16", "loss_scaling": "dynamic"}
# From within reach, 2^10 as in the document: no update is skipped. On pilot seeds the GPT of 2000 steps then ended within 0.03%
# of the fall of FP32; from 2^16, 0.6% of it off either way, for want of its first updates.
FROM_1024 = {**DYNAMIC, "loss_scale": 2.0**10}
# A factor that is no power of two: the same FP32 run but for its last digits.
AGAIN = {"loss_scaling": "static", "loss_scale": 3.0}
# Panels that are trained at one LR, the same for all formats, tuned beforehand in FP32 on other seeds: what is switched is the
# format and nothing else, which is the check the documents describe.
LONG = {"steps": 2000, "probes": 20}
LONG_LR = {"peak_lr": (2.0**-7.5,)}
MLP = {
    "model": "mlp",
    "dataset": "digits",
    "width": 64,
    "depth": 2,
    "optimizer": "sgd",
    "weight_decay": 0.0,
    "batch_size": 32,
    "steps": 500,
    "probes": 40,
}
MLP_LR = {"peak_lr": (2.0**-5.5,)}
# Half the batch and 3.4 times the LR is near the CNN's best LR, where FP32 parts from itself if only its last digits change, on
# pilot seeds by 0.5% of the fall and 3 to 10% in gradient norm: no format can be told from another there.
CNN = {"model": "cnn", "dataset": "digits", "width": 16, "depth": 2, "batch_size": 32, "steps": 300, "probes": 20}
CNN_LR = {"peak_lr": (2.0**-8.25,)}
CHAOTIC = {**CNN, "batch_size": 16}
CHAOTIC_LR = {"peak_lr": (2.0**-6.5,)}
# Features in units so small that their numbers are large, up to 30000: finite in FP16, but the first convolution's sums pass
# 65504. The group norm after it undoes the scale.
LARGE = {**CHAOTIC, "feature_scale": 2.0**14, "steps": 100, "weight_decay": 0.0, "probes": 10}
LARGE_LR = {"peak_lr": (2.0**-2,)}
# To where FP32 itself fails, which is at 2^5. Between 2^-2 and 2^0 nothing is read.
WIDE_LR = {"peak_lr": (*log2_grid(-8, -2, 1), *log2_grid(0, 6, 1))}
SMALL_SIZE = {
    "width": 256,
    "depth": 4,
    "heads": 4,
    "context": 256,
    "batch_size": 32,
    "steps": 16,
    "probes": 2,
    "evaluations": 1,
    "final_examples": 64,
    "solo": True,
}
MIDDLE_SIZE = {**SMALL_SIZE, "width": 1024, "heads": 16}
LARGE_SIZE = {**SMALL_SIZE, "width": 2048, "heads": 32}
SOLO_LR = {"peak_lr": (2.0**-10,)}
ON_GPU = ("gpu", "cluster")
NOT_ON_GPU = ("smoke", "laptop")
# 0.5% of the fall does not matter; being better never refutes.
NO_WORSE = {"test": "no_worse", "null": 0.0, "margin": 0.005, "unit": "relative"}
ROUNDING = "theory: BF16 has FP32's exponents, so that nothing underflows, and roundings average out over steps"
MIXED = "Micikevicius et al. 2018: losses equal to FP32's with FP32 weights and a scaled loss"
NEAR_LR = {"peak_lr": log2_grid(-8, -4, 1)}
GPU_NEAR_LR = {"peak_lr": log2_grid(-9, -6, 1)}
GPU_WIDE_LR = {"peak_lr": (*log2_grid(-9, -5, 1), 1.0, 2.0, 4.0, 8.0, 32.0)}
CLUSTER_NEAR_LR = {"peak_lr": log2_grid(-11, -6, 1)}
GPU_CNN = {"width": 64, "depth": 3, "steps": 400}
SMOKE = {"steps": 5, "probes": 2}
# Workloads whose formats are compared at one LR.
WHOLE_RUNS = {
    "GPT, 2000 steps": {"arm": "long", "model": "GPT of 2000 steps"},
    "MLP, SGD": {"arm": "mlp", "model": "MLP with SGD"},
    "CNN": {"arm": "cnn", "model": "CNN"},
}
# Inputs far from zero for their spread: what layer norm takes off first is a hundred times what it keeps, and is rounded.
# Means of 512 inputs lie 512^-1/2 from 100. BF16, whose numbers lie 0.5 apart there, rounds them to 100: 11 unit roundoffs of
# a spread of one. FP16, 2^-4 apart, rounds them by up to 2^-5, about uniformly: 37. Of a spread of 0.1 BF16 would keep hardly
# an input.
BF16_FAR = Expected(value=11.3, source="theory: means that lie 512^-1/2 from 100 are rounded to 100", spread=0.1)
FP16_FAR = Expected(value=36.95, source="theory: the mean's rounding, uniform over 2^-4", spread=0.1)
FAR = {"offset": 100.0, "spread": 1.0}
FROM_ITSELF = CurveDistance(arm="cnn_again", reference="cnn_fp32")
# Half of FP32's fall, for every format.
BAR = {"within": 0.5, "of": "fall", "best_of": ("fp32",)}
LOW_BAR = {**BAR, "within": 0.4}
HIGH_BAR = {**BAR, "within": 0.6}
# As near to the best as an LR must be to learn more than how frequent each character is.
NEAR_BAR = {**BAR, "within": 0.15}
BARS_BF16_NEAR = Alternative(
    name="15% of the fall",
    observe=Quotient(top=MaxTrainable(arm="bf16", **NEAR_BAR), bottom=MaxTrainable(arm="fp32", **NEAR_BAR)),
)
OTHER_BARS = (
    Alternative(
        name="40% of the fall",
        observe=Quotient(top=MaxTrainable(arm="<arm>", **LOW_BAR), bottom=MaxTrainable(arm="fp32", **LOW_BAR)),
    ),
    Alternative(
        name="60% of the fall",
        observe=Quotient(top=MaxTrainable(arm="<arm>", **HIGH_BAR), bottom=MaxTrainable(arm="fp32", **HIGH_BAR)),
    ),
)
LR_RANGE = {
    "null": 1.0,
    "claimed": Outside(low=0.8, high=1.25),
    "refuted": Within(low=0.8, high=1.25),
    "unit": "x",
}

# What trains without scales has no best LR: the fall is that of the runs with them.
FP8 = ("fp8",)

STUDY = Study(
    name="precision",
    # Version 1 (seeds 300 to 309) scaled features so far that FP16 held no input, counted the logits' gradients among the
    # activations', and summed in BF16 for norm and softmax but in FP32 for the product; version 2 (500 to 509) probed every
    # step of the runs that are timed; version 3 (600 to 609) judged runs of 150 steps on one workload, in shares of the loss,
    # and put layer norm's threshold where it was seen to lie. Version 4 (2000 to 2011) measured FP8's fall by an arm that
    # trains at no LR and so is best at an end of its grid (LOG.md).
    version=5,
    title="Numerical precision",
    question="What do 16-bit and 8-bit numbers do to training, and what fixes it?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(
        optimizer="adamw", schedule="cosine", warmup_fraction=0.05, final_fraction=0.0, batch_size=8, steps=400, beta2=0.95
    ),
    measurement=Measurement(probes=10, evaluations=2, evaluation_examples=64, final_examples=512),
    arms={
        "fp32": Arm(label="FP32", panel="GPT", settings={"underflow": True}, factors=WIDE_LR, reference=True),
        "bf16": Arm(label="BF16", panel="GPT", settings={"precision": "bf16"}, factors=WIDE_LR),
        "fp16": Arm(
            label="FP16, no scaling",
            panel="GPT",
            settings={"precision": "fp16"},
            factors={"peak_lr": (*log2_grid(-8, -4, 1), *log2_grid(0, 3, 1))},
        ),
        "fp16_dynamic": Arm(
            label="FP16, dynamic scaling, LRs at which FP16 overflows",
            panel="GPT, high LRs",
            settings=DYNAMIC,
            factors={"peak_lr": (2.0, 4.0, 8.0)},
        ),
        "fp32_passes": Arm(
            label="FP32, 17M tokens a step", panel="GPT", settings={**PASSES_17M, "underflow": True}, factors=NEAR_LR
        ),
        "fp16_05m": Arm(
            label="FP16, no scaling, 0.5M tokens a step",
            panel="GPT",
            settings={"precision": "fp16", **PASSES_05M},
            factors={"peak_lr": log2_grid(-10, -6, 1)},
        ),
        "fp16_2m": Arm(
            label="FP16, no scaling, 2M tokens a step",
            panel="GPT",
            settings={"precision": "fp16", **PASSES_2M},
            factors={"peak_lr": log2_grid(-11, -5, 1)},
        ),
        "fp16_2m_scaled": Arm(
            label="FP16, 2M tokens a step, scaled by 2^16",
            panel="GPT",
            settings={"precision": "fp16", **PASSES_2M_SCALED},
            factors=NEAR_LR,
        ),
        "fp8": Arm(label="FP8, scaled per tensor", panel="GPT", settings={"precision": "fp8"}, factors=NEAR_LR),
        "fp8_unscaled": Arm(
            label="FP8, unscaled",
            panel="GPT",
            settings={"precision": "fp8_unscaled"},
            factors={"peak_lr": log2_grid(-7, -5, 1)},
            scales=NOT_ON_GPU,
        ),
        "fp8_2m_unscaled": Arm(
            label="FP8, unscaled, 2M tokens a step",
            panel="GPT",
            settings={"precision": "fp8_unscaled", **PASSES_2M},
            factors=NEAR_LR,
        ),
        "long_fp32": Arm(label="FP32", panel="GPT, 2000 steps", settings=LONG, factors=LONG_LR, reference=True),
        "long_bf16": Arm(label="BF16", panel="GPT, 2000 steps", settings={**LONG, "precision": "bf16"}, factors=LONG_LR),
        "long_fp16": Arm(
            label="FP16, dynamic scaling", panel="GPT, 2000 steps", settings={**LONG, **FROM_1024}, factors=LONG_LR
        ),
        "mlp_fp32": Arm(label="FP32", panel="MLP, SGD", settings=MLP, factors=MLP_LR, reference=True),
        "mlp_bf16": Arm(label="BF16", panel="MLP, SGD", settings={**MLP, "precision": "bf16"}, factors=MLP_LR),
        "mlp_fp16": Arm(label="FP16, dynamic scaling", panel="MLP, SGD", settings={**MLP, **DYNAMIC}, factors=MLP_LR),
        "cnn_fp32": Arm(label="FP32", panel="CNN", settings=CNN, factors=CNN_LR, reference=True),
        "cnn_again": Arm(label="FP32, rounded otherwise", panel="CNN", settings={**CNN, **AGAIN}, factors=CNN_LR),
        "cnn_bf16": Arm(label="BF16", panel="CNN", settings={**CNN, "precision": "bf16"}, factors=CNN_LR),
        "cnn_fp16": Arm(label="FP16, dynamic scaling", panel="CNN", settings={**CNN, **DYNAMIC}, factors=CNN_LR),
        "chaotic_fp32": Arm(
            label="FP32", panel="CNN, high LR", settings=CHAOTIC, factors=CHAOTIC_LR, scales=NOT_ON_GPU, reference=True
        ),
        "chaotic_again": Arm(
            label="FP32, rounded otherwise",
            panel="CNN, high LR",
            settings={**CHAOTIC, **AGAIN},
            factors=CHAOTIC_LR,
            scales=NOT_ON_GPU,
        ),
        "chaotic_bf16": Arm(
            label="BF16",
            panel="CNN, high LR",
            settings={**CHAOTIC, "precision": "bf16"},
            factors=CHAOTIC_LR,
            scales=NOT_ON_GPU,
        ),
        "large_fp32": Arm(label="FP32", panel="CNN, large features", settings=LARGE, factors=LARGE_LR, reference=True),
        "large_bf16": Arm(label="BF16", panel="CNN, large features", settings={**LARGE, "precision": "bf16"}, factors=LARGE_LR),
        "large_fp16": Arm(
            label="FP16, no scaling", panel="CNN, large features", settings={**LARGE, "precision": "fp16"}, factors=LARGE_LR
        ),
        "large_fp16_dynamic": Arm(
            label="FP16, dynamic scaling", panel="CNN, large features", settings={**LARGE, **DYNAMIC}, factors=LARGE_LR
        ),
        "solo_fp32_256": Arm(label="FP32, width 256", panel="speed", settings=SMALL_SIZE, factors=SOLO_LR, scales=ON_GPU),
        "solo_bf16_256": Arm(
            label="BF16, width 256", panel="speed", settings={**SMALL_SIZE, "precision": "bf16"}, factors=SOLO_LR, scales=ON_GPU
        ),
        "solo_fp32_1024": Arm(label="FP32, width 1024", panel="speed", settings=MIDDLE_SIZE, factors=SOLO_LR, scales=ON_GPU),
        "solo_bf16_1024": Arm(
            label="BF16, width 1024",
            panel="speed",
            settings={**MIDDLE_SIZE, "precision": "bf16"},
            factors=SOLO_LR,
            scales=ON_GPU,
        ),
        "solo_fp32_2048": Arm(label="FP32, width 2048", panel="speed", settings=LARGE_SIZE, factors=SOLO_LR, scales=ON_GPU),
        "solo_tf32_2048": Arm(
            label="TF32, width 2048",
            panel="speed",
            settings={**LARGE_SIZE, "precision": "tf32"},
            factors=SOLO_LR,
            scales=ON_GPU,
        ),
        "solo_bf16_2048": Arm(
            label="BF16, width 2048",
            panel="speed",
            settings={**LARGE_SIZE, "precision": "bf16"},
            factors=SOLO_LR,
            scales=ON_GPU,
        ),
        "solo_fp16_2048": Arm(
            label="FP16, width 2048",
            panel="speed",
            settings={**LARGE_SIZE, "precision": "fp16", "loss_scaling": "dynamic"},
            factors=SOLO_LR,
            scales=ON_GPU,
        ),
    },
    factors=NEAR_LR,
    seeds=12,
    first_seed=2100,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 10},
            measurement={"probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16},
            factors={"peak_lr": (2.0**-6,)},
            arm_factors={
                "fp32": {"peak_lr": (2.0**-6,)},
                "bf16": {"peak_lr": (2.0**-6,)},
                "fp16": {"peak_lr": (2.0**-6,)},
                "fp16_dynamic": {"peak_lr": (2.0**1,)},
                "fp32_passes": {"peak_lr": (2.0**-6,)},
                "fp16_05m": {"peak_lr": (2.0**-8,)},
                "fp16_2m": {"peak_lr": (2.0**-8,)},
                "fp16_2m_scaled": {"peak_lr": (2.0**-6,)},
                "fp8": {"peak_lr": (2.0**-6,)},
                "fp8_unscaled": {"peak_lr": (2.0**-6,)},
                "fp8_2m_unscaled": {"peak_lr": (2.0**-6,)},
            },
            arm_settings={
                "long_fp32": SMOKE,
                "long_bf16": SMOKE,
                "long_fp16": SMOKE,
                "mlp_fp32": SMOKE,
                "mlp_bf16": SMOKE,
                "mlp_fp16": SMOKE,
                "cnn_fp32": SMOKE,
                "cnn_again": SMOKE,
                "cnn_bf16": SMOKE,
                "cnn_fp16": SMOKE,
                "chaotic_fp32": SMOKE,
                "chaotic_again": SMOKE,
                "chaotic_bf16": SMOKE,
                "large_fp32": SMOKE,
                "large_bf16": SMOKE,
                "large_fp16": SMOKE,
                "large_fp16_dynamic": SMOKE,
            },
            seeds=1,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, three to six minutes of training, by whether they multiply BF16; numbers, no times"
        ),
        "gpu": Scale(
            description="one GPU, minutes: larger models, and times and memory of single runs",
            device="cuda",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 64, "steps": 500},
            seeds=6,
            arm_factors={
                "fp32": GPU_WIDE_LR,
                "bf16": GPU_WIDE_LR,
                "fp16": GPU_WIDE_LR,
                "fp16_dynamic": {"peak_lr": (1.0, 2.0, 4.0, 8.0)},
                "fp16_05m": {"peak_lr": log2_grid(-10, -7, 1)},
                "fp16_2m": {"peak_lr": log2_grid(-12, -7, 1)},
                "fp32_passes": GPU_NEAR_LR,
                "fp16_2m_scaled": GPU_NEAR_LR,
                "fp8": GPU_NEAR_LR,
                "fp8_2m_unscaled": GPU_NEAR_LR,
                "long_fp32": {"peak_lr": (2.0**-8,)},
                "long_bf16": {"peak_lr": (2.0**-8,)},
                "long_fp16": {"peak_lr": (2.0**-8,)},
            },
            # A pass has 4096 tokens: two million are 2^9 of them.
            arm_settings={
                "fp32_passes": {"loss_scale": 2.0**-12},
                "fp16_05m": {"loss_scale": 2.0**-7},
                "fp16_2m": {"loss_scale": 2.0**-9},
                "fp16_2m_scaled": {"loss_scale": 2.0**7},
                "fp8_2m_unscaled": {"loss_scale": 2.0**-9},
                "long_fp32": {"steps": 700},
                "long_bf16": {"steps": 700},
                "long_fp16": {"steps": 700},
                "cnn_fp32": GPU_CNN,
                "cnn_again": GPU_CNN,
                "cnn_bf16": GPU_CNN,
                "cnn_fp16": GPU_CNN,
            },
            departures=(
                "GPTs of 0.5M parameters on the source text of Python's standard library: 500 steps of 4096 tokens, 4 tokens a"
                " parameter; the long runs 6. CNNs of 64 channels. Six seeds.",
            ),
        ),
        "cluster": Scale(
            description="many GPUs, hours: a larger GPT on web text, and times and memory of single runs",
            device="cuda",
            workload={"dataset": "web-text", "width": 256, "depth": 6, "heads": 8, "context": 256},
            training={"batch_size": 64, "steps": 2000},
            seeds=6,
            arm_factors={
                "fp32": GPU_WIDE_LR,
                "bf16": GPU_WIDE_LR,
                "fp16": GPU_WIDE_LR,
                "fp16_dynamic": {"peak_lr": (1.0, 2.0, 4.0, 8.0)},
                "fp16_05m": {"peak_lr": log2_grid(-11, -7, 1)},
                "fp16_2m": {"peak_lr": log2_grid(-13, -7, 1)},
                "fp32_passes": CLUSTER_NEAR_LR,
                "fp16_2m_scaled": CLUSTER_NEAR_LR,
                "fp8": CLUSTER_NEAR_LR,
                "fp8_2m_unscaled": CLUSTER_NEAR_LR,
                "long_fp32": {"peak_lr": (2.0**-9,)},
                "long_bf16": {"peak_lr": (2.0**-9,)},
                "long_fp16": {"peak_lr": (2.0**-9,)},
            },
            # A pass has 16384 tokens: two million are 2^7 of them.
            arm_settings={
                "fp32_passes": {"loss_scale": 2.0**-10},
                "fp16_05m": {"loss_scale": 2.0**-5},
                "fp16_2m": {"loss_scale": 2.0**-7},
                "fp16_2m_scaled": {"loss_scale": 2.0**9},
                "fp8_2m_unscaled": {"loss_scale": 2.0**-7},
                "long_fp32": {"steps": 6000},
                "long_bf16": {"steps": 6000},
                "long_fp16": {"steps": 6000},
                "cnn_fp32": GPU_CNN,
                "cnn_again": GPU_CNN,
                "cnn_bf16": GPU_CNN,
                "cnn_fp16": GPU_CNN,
            },
            departures=(
                "A GPT of 5M parameters on web text: 2000 steps of 16384 tokens, 7 tokens a parameter; the long runs 20.",
            ),
        ),
    },
    departures=(
        "At laptop scale a GPT of 7000 parameters on Python's documentation: 400 steps of 128 tokens, 7 tokens a parameter,"
        " early training; the long runs 2000 steps, 36. Weights and optimizer states are FP32 at every scale.",
        "Large steps are stood in for by their loss: one pass whose loss is divided as a mean over two million tokens would"
        " divide it. That the other passes would also average out noise is left out. It is one device that averages over them;"
        " of many devices in parallel each averages over its own tokens, and underflow sets in by these.",
        "The long runs and the MLP are trained at one LR, the same for all formats, tuned in FP32 on other seeds; the CNN at"
        " one that is calm, about a third of its best, where it ends two thirds down; the CNN with large features at one at"
        " which FP32 trains.",
        "Activations overflow where features were left in units that make them large (up to 30000), and at 512 times the best"
        " LR.",
        "FP8 is emulated: operands of products are rounded to E4M3 forward and E5M2 backward, but for attention's two; sums"
        " are FP32. Its loss is judged, its speed and memory are not.",
        "The FP32 that BF16 is timed against does its products in FP32, not TF32; TF32 stands beside it.",
    ),
    answer=("prec.bf16_loss", "prec.fp16_underflow", "prec.fp16_scaled", "prec.fp16_nan"),
    judgements=(
        Judgement(
            claim="prec.bf16_loss",
            criteria=(
                Criterion(
                    name="tuned loss, BF16 against FP32",
                    panel="GPT, 400 steps",
                    observe=FallShare(left=TunedLoss(arm="bf16"), right=TunedLoss(arm="fp32")),
                    expected=Expected(value=0.0, source=ROUNDING, spread=0.003, scales=("laptop",)),
                    says="GPT of 400 steps: BF16 ends {higher} in loss than FP32, of the fall",
                    **NO_WORSE,
                ),
                *OnEach(
                    panels=WHOLE_RUNS,
                    of=Criterion(
                        name="loss, BF16 against FP32, <model>",
                        panel="<panel>",
                        observe=FallShare(left=FinalLoss(arm="<arm>_bf16"), right=FinalLoss(arm="<arm>_fp32")),
                        expected=Expected(value=0.0, source=ROUNDING, spread=0.003, scales=("laptop",)),
                        says="<model>: BF16 ends {higher} in loss than FP32, of the fall",
                        **NO_WORSE,
                    ),
                    fields={
                        "GPT, 2000 steps": {"name": "loss of long runs, BF16 against FP32", "spread": 0.0016},
                        "MLP, SGD": {"spread": 0.0006},
                    },
                ).specs,
            ),
            reported=(
                Reported(
                    name="CNN: FP32 whose last digits differ, against FP32",
                    observe=FallShare(left=FinalLoss(arm="cnn_again"), right=FinalLoss(arm="cnn_fp32")),
                    unit="relative",
                ),
                Reported(
                    name="CNN near its best LR: BF16 against FP32",
                    observe=FallShare(left=FinalLoss(arm="chaotic_bf16"), right=FinalLoss(arm="chaotic_fp32")),
                    unit="relative",
                ),
                Reported(
                    name="CNN near its best LR: FP32 whose last digits differ, against FP32",
                    observe=FallShare(left=FinalLoss(arm="chaotic_again"), right=FinalLoss(arm="chaotic_fp32")),
                    unit="relative",
                ),
            ),
            note=(
                "No loss is scaled. Non-inferiority: BF16 that is better does not speak against it. The CNN is judged at an LR"
                " at which FP32 agrees with itself; near its best LR FP32 runs part by the margin if only their last digits"
                " differ, and stand below."
            ),
            advice={
                "supported": "Train in BF16 without loss scaling.",
                "partly": "Train in BF16 where this page shows it equal, and compare with FP32 elsewhere.",
                "refuted": "Compare BF16 with FP32 on your own model before you rely on it.",
            },
        ),
        Judgement(
            claim="prec.fp16_underflow",
            right={"supported": "zeros"},
            criteria=(
                Criterion(
                    name="share of hidden activations' non-zero gradients that FP16 flushes, 2M tokens a step",
                    observe=UnderflowShare(arm="fp32_passes", of="activation", scale_exponent=3),
                    claimed=AtLeast(value=0.01),
                    refuted=AtMost(value=0.01),
                    says="With two million tokens a step, unscaled FP16 flushes {estimate} of gradients to zero",
                    unit="share",
                ),
                Criterion(
                    name="tuned loss, unscaled FP16 of 2M tokens a step against FP32",
                    observe=FallShare(left=TunedLoss(arm="fp16_2m"), right=TunedLoss(arm="fp32")),
                    null=0.0,
                    claimed=AtLeast(value=0.005),
                    refuted=AtMost(value=-0.005),
                    margin=0.005,
                    says="Even at its own best LR that ends {higher} in loss than FP32, of the fall",
                    unit="relative",
                ),
                Criterion(
                    name="learning stops: what unscaled FP16 of 2M tokens a step loses of the fall at FP32's LR",
                    observe=FallShare(left=LossAt(arm="fp16_2m", tuned_for="fp32"), right=TunedLoss(arm="fp32")),
                    claimed=AtLeast(value=0.9),
                    refuted=AtMost(value=0.9),
                    says="At the LR that is best in FP32 it loses {estimate} of the fall",
                    unit="share",
                    alternatives=(
                        Alternative(
                            name="at half FP32's LR",
                            observe=FallShare(
                                left=LossAt(arm="fp16_2m", tuned_for="fp32", times=0.5), right=TunedLoss(arm="fp32")
                            ),
                        ),
                    ),
                ),
            ),
            reported=(
                Reported(
                    name="tuned loss, unscaled FP16 of one pass a step against FP32",
                    observe=FallShare(left=TunedLoss(arm="fp16"), right=TunedLoss(arm="fp32")),
                    unit="relative",
                ),
                Reported(
                    name="tuned loss, unscaled FP16 of 0.5M tokens a step against FP32",
                    observe=FallShare(left=TunedLoss(arm="fp16_05m"), right=TunedLoss(arm="fp32")),
                    unit="relative",
                ),
                Reported(
                    name="at FP32's LR, the same",
                    observe=FallShare(left=LossAt(arm="fp16_05m", tuned_for="fp32"), right=TunedLoss(arm="fp32")),
                    unit="relative",
                ),
                Reported(
                    name="gradients flushed: hidden activations, 17M tokens a step",
                    observe=UnderflowShare(arm="fp32_passes", of="activation"),
                    unit="share",
                ),
                Reported(
                    name="gradients flushed: hidden activations, loss scaled by 2^8 more",
                    observe=UnderflowShare(arm="fp32_passes", of="activation", scale_exponent=8),
                    unit="share",
                ),
                Reported(
                    name="gradients flushed: hidden activations, loss scaled by 2^16 more",
                    observe=UnderflowShare(arm="fp32_passes", of="activation", scale_exponent=16),
                    unit="share",
                ),
                Reported(
                    name="gradients flushed: hidden activations, one pass a step",
                    observe=UnderflowShare(arm="fp32", of="activation"),
                    unit="share",
                ),
                Reported(
                    name="gradients flushed: logits, one pass a step",
                    observe=UnderflowShare(arm="fp32", of="logits"),
                    unit="share",
                ),
                Reported(
                    name="gradients flushed: logits, 2M tokens a step",
                    observe=UnderflowShare(arm="fp32_passes", of="logits", scale_exponent=3),
                    unit="share",
                ),
                Reported(
                    name="gradients flushed: weights, 2M tokens a step",
                    observe=UnderflowShare(arm="fp32_passes", of="weight", scale_exponent=3),
                    unit="share",
                ),
            ),
            note=(
                "Two things are claimed, that gradients underflow and that learning suffers, and they are judged apart. How"
                " many tokens a step averages over decides: one pass of a small batch loses almost nothing."
            ),
            advice={
                "supported": "If you train in FP16, scale the loss, above all if a step averages over many tokens.",
                "partly": "If you train in FP16, scale the loss: gradients underflow, whether or not learning stops.",
                "refuted": "If an FP16 run stalls, do not look for the cause in underflow first.",
            },
        ),
        Judgement(
            claim="prec.fp16_scaled",
            criteria=(
                Criterion(
                    name="tuned loss, FP16 of 2M tokens a step scaled by 2^16 against FP32",
                    panel="GPT, 2M tokens a step",
                    observe=FallShare(left=TunedLoss(arm="fp16_2m_scaled"), right=TunedLoss(arm="fp32")),
                    expected=Expected(value=0.0, source=MIXED, spread=0.003, scales=("laptop",)),
                    says="GPT with two million tokens a step: FP16 scaled by 2^16 ends {higher} in loss than FP32, of the fall",
                    **NO_WORSE,
                ),
                *OnEach(
                    panels=WHOLE_RUNS,
                    of=Criterion(
                        name="loss, FP16 with dynamic scaling against FP32, <model>",
                        panel="<panel>",
                        observe=FallShare(left=FinalLoss(arm="<arm>_fp16"), right=FinalLoss(arm="<arm>_fp32")),
                        expected=Expected(value=0.0, source=MIXED, spread=0.003, scales=("laptop",)),
                        says="<model>: FP16 with dynamic scaling ends {higher} in loss than FP32, of the fall",
                        **NO_WORSE,
                    ),
                    fields={
                        "GPT, 2000 steps": {
                            "name": "loss of long runs, FP16 with dynamic scaling against FP32",
                            "spread": 0.002,
                        },
                        "MLP, SGD": {"spread": 0.0006},
                    },
                ).specs,
            ),
            note=(
                "Non-inferiority: FP16 that is better does not speak against it. On MLP and CNN dynamic scaling starts at 2^16"
                " as in torch and skips updates whose gradients overflow. On the long GPT it starts at 2^10, a document's"
                " factor, and skips none: each update skipped at the start moves the end of so short a run."
            ),
            advice={
                "supported": "If BF16 is unavailable, train in FP16 with loss scaling.",
                "partly": "If BF16 is unavailable, compare a fixed with a dynamic loss scale in FP16.",
                "refuted": "Prefer BF16 to FP16, even with loss scaling.",
            },
        ),
        Judgement(
            claim="prec.fp16_overflow",
            criteria=(
                Criterion(
                    name="runs that fail in FP16, activations past 65504 in the first forward pass",
                    panel="CNN, large features",
                    precondition=True,
                    observe=FailureRate(arm="large_fp16_dynamic", tuned_for="large_bf16"),
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.5),
                    says="If activations pass 65504, {estimate} of the FP16 runs fail",
                    unit="share",
                ),
                Criterion(
                    name="runs that fail in BF16, the same",
                    panel="CNN, large features",
                    observe=FailureRate(arm="large_bf16", tuned_for="large_bf16"),
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.5),
                    says="Of the runs that FP16 loses so, {estimate} fail in BF16",
                    unit="share",
                ),
                Criterion(
                    name="runs that fail in FP16 at 512 times the best LR",
                    panel="GPT, high LR",
                    precondition=True,
                    observe=FailureRate(arm="fp16_dynamic", tuned_for="fp32", times=512.0),
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.5),
                    says="At 512 times the best LR, {estimate} of the FP16 runs fail",
                    unit="share",
                ),
                Criterion(
                    name="runs that fail in BF16 at 512 times the best LR",
                    panel="GPT, high LR",
                    observe=FailureRate(arm="bf16", tuned_for="fp32", times=512.0),
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.5),
                    says="Of the runs that FP16 loses so, {estimate} fail in BF16",
                    unit="share",
                ),
            ),
            reported=(
                Reported(
                    name="loss of the CNN with large features, BF16 against FP32",
                    observe=FallShare(left=FinalLoss(arm="large_bf16"), right=FinalLoss(arm="large_fp32")),
                    unit="relative",
                ),
                Reported(
                    name="runs that fail in FP32 at 512 times the best LR",
                    observe=FailureRate(arm="fp32", tuned_for="fp32", times=512.0),
                    unit="share",
                ),
            ),
            note=(
                "That FP16 fails is no part of the claim: it speaks of runs that overflow. Large features overflow in the first"
                " forward pass, high LRs once weights have grown."
            ),
            advice={
                "supported": "If an FP16 run gives NaN, look for activations past 65504, and train in BF16.",
                "partly": "If an FP16 run gives NaN, try it in BF16, and bring large features into smaller units.",
                "refuted": "If an FP16 run gives NaN, do not count on BF16 to mend it.",
            },
        ),
        Judgement(
            claim="prec.grad_norms",
            criteria=(
                *OnEach(
                    panels={
                        "GPT, 2000 steps": {"arm": "long", "model": "GPT"},
                        "MLP, SGD": {"arm": "mlp", "model": "MLP with SGD"},
                    },
                    of=(
                        Criterion(
                            name="median distance of gradient norms, BF16 from FP32, <model>",
                            panel="<panel>",
                            observe=CurveDistance(arm="<arm>_bf16", reference="<arm>_fp32"),
                            claimed=AtMost(value=0.05),
                            refuted=AtLeast(value=0.05),
                            says="<model>: gradient norms in BF16 lie {estimate} off those in FP32 at the median step",
                            unit="share",
                        ),
                        Criterion(
                            name="median distance of gradient norms, FP16 with dynamic scaling from FP32, <model>",
                            panel="<panel>",
                            observe=CurveDistance(arm="<arm>_fp16", reference="<arm>_fp32"),
                            claimed=AtMost(value=0.05),
                            refuted=AtLeast(value=0.05),
                            says="<model>: those in FP16 with dynamic scaling lie {estimate} off",
                            unit="share",
                        ),
                    ),
                ).specs,
                Criterion(
                    name="median distance of gradient norms, BF16 from FP32, beyond FP32's from itself, CNN",
                    panel="CNN",
                    observe=Gap(left=CurveDistance(arm="cnn_bf16", reference="cnn_fp32"), right=FROM_ITSELF),
                    claimed=AtMost(value=0.05),
                    refuted=AtLeast(value=0.05),
                    says="CNN: gradient norms in BF16 lie {estimate} further off FP32's than a second FP32 run's",
                    unit="share",
                    alternatives=(
                        Alternative(
                            name="distance from FP32 alone", observe=CurveDistance(arm="cnn_bf16", reference="cnn_fp32")
                        ),
                    ),
                ),
                Criterion(
                    name="the same, FP16 with dynamic scaling, CNN",
                    panel="CNN",
                    observe=Gap(left=CurveDistance(arm="cnn_fp16", reference="cnn_fp32"), right=FROM_ITSELF),
                    claimed=AtMost(value=0.05),
                    refuted=AtLeast(value=0.05),
                    says="CNN: those in FP16 with dynamic scaling lie {estimate} further off",
                    unit="share",
                    alternatives=(
                        Alternative(
                            name="distance from FP32 alone", observe=CurveDistance(arm="cnn_fp16", reference="cnn_fp32")
                        ),
                    ),
                ),
            ),
            reported=(
                Reported(
                    name="median distance on the CNN of FP32 from itself with other last digits",
                    observe=FROM_ITSELF,
                    unit="share",
                ),
                Reported(
                    name="median distance on the CNN near its best LR, BF16 from FP32",
                    observe=CurveDistance(arm="chaotic_bf16", reference="chaotic_fp32"),
                    unit="share",
                ),
                Reported(
                    name="median distance on the CNN near its best LR, FP32 from itself",
                    observe=CurveDistance(arm="chaotic_again", reference="chaotic_fp32"),
                    unit="share",
                ),
                Reported(
                    name="median distance in BF16 of the GPT of 400 steps",
                    observe=CurveDistance(arm="bf16", reference="fp32"),
                    unit="share",
                ),
                Reported(
                    name="level on the CNN: median norm in BF16 over that in FP32",
                    observe=Quotient(
                        top=CurveMedian(arm="cnn_bf16", curve="gradient_norm"),
                        bottom=CurveMedian(arm="cnn_fp32", curve="gradient_norm"),
                    ),
                    unit="x",
                ),
                Reported(
                    name="level on the CNN: median norm in FP16 over that in FP32",
                    observe=Quotient(
                        top=CurveMedian(arm="cnn_fp16", curve="gradient_norm"),
                        bottom=CurveMedian(arm="cnn_fp32", curve="gradient_norm"),
                    ),
                    unit="x",
                ),
            ),
            note=(
                "Step by step, on the same batches. A run that magnifies small differences parts from itself, too: the CNN's"
                " distance is counted from FP32's own with other last digits, at a calm LR. Near its best LR even norms of two"
                " FP32 runs differ by several percent at the median step; those distances stand below and judge no format."
            ),
            advice={
                "supported": "If gradient norms in 16 bits differ from FP32's by much more than 5%, look for an error.",
                "partly": "Compare norms with FP32's over many steps: single steps part where a run magnifies any difference.",
                "refuted": "Do not take a difference of gradient norms from FP32's for an error.",
            },
        ),
        Judgement(
            claim="prec.range",
            criteria=(
                Criterion(
                    name="largest FP16 number, by doubling until it overflows",
                    observe=Computed(function="constants.number_formats", number="fp16_largest"),
                    claimed=Within(low=65503.0, high=65505.0),
                    refuted=Outside(low=65503.0, high=65505.0),
                    says="The largest FP16 number is {estimate}",
                ),
                Criterion(
                    name="smallest FP16 number, by halving until it is flushed",
                    observe=Computed(function="constants.number_formats", number="fp16_smallest"),
                    claimed=Within(low=4.5e-8, high=6.5e-8),
                    refuted=Outside(low=4.5e-8, high=6.5e-8),
                    says="The smallest FP16 number above zero is {estimate}",
                ),
                Criterion(
                    name="octaves of BF16's normal range over FP32's",
                    observe=Computed(function="constants.number_formats", number="bf16_exponent_bits"),
                    claimed=Within(low=0.99, high=1.01),
                    refuted=Outside(low=0.99, high=1.01),
                    says="BF16's normal range has {estimate} of FP32's octaves",
                    unit="share",
                ),
            ),
            note=(
                "The smallest number is 2^-24, 5.96e-8: the document's 5e-8 is rounded the wrong way. About 5e-8 is taken as"
                " 4.5e-8 to 6.5e-8."
            ),
            advice={
                "supported": "Expect FP16 to overflow past 65504 and to hold nothing below 6e-8; BF16 has FP32's range.",
                "refuted": "Look at the number formats of your own hardware before you rely on their limits.",
            },
        ),
        Judgement(
            claim="prec.sensitive_ops",
            criteria=(
                Criterion(
                    name="layer norm in BF16, error in unit roundoffs, inputs of mean 100 and spread 1",
                    panel="BF16, inputs far from zero",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "layer_norm", "format": "bf16", **FAR},
                        number="over_unit_roundoff",
                    ),
                    claimed=AtLeast(value=8.0),
                    refuted=AtMost(value=8.0),
                    expected=BF16_FAR,
                    says="On inputs of mean 100 and spread 1, layer norm in BF16 errs by {estimate} unit roundoffs",
                    alternatives=(
                        Alternative(
                            name="spread 0.1",
                            observe=Computed(
                                function="operations.error",
                                arguments={"operation": "layer_norm", "format": "bf16", "offset": 100.0, "spread": 0.1},
                                number="over_unit_roundoff",
                            ),
                        ),
                    ),
                ),
                Criterion(
                    name="matrix product in BF16, the same inputs",
                    panel="BF16, inputs far from zero",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "matmul", "format": "bf16", **FAR},
                        number="over_unit_roundoff",
                    ),
                    claimed=AtMost(value=8.0),
                    refuted=AtLeast(value=8.0),
                    says="A matrix product errs by {estimate} there",
                ),
                Criterion(
                    name="layer norm in FP16, error in unit roundoffs, inputs of mean 100 and spread 1",
                    panel="FP16, inputs far from zero",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "layer_norm", "format": "fp16", **FAR},
                        number="over_unit_roundoff",
                    ),
                    claimed=AtLeast(value=8.0),
                    refuted=AtMost(value=8.0),
                    expected=FP16_FAR,
                    says="On those, layer norm in FP16 errs by {estimate} unit roundoffs",
                    alternatives=(
                        Alternative(
                            name="spread 0.1",
                            observe=Computed(
                                function="operations.error",
                                arguments={"operation": "layer_norm", "format": "fp16", "offset": 100.0, "spread": 0.1},
                                number="over_unit_roundoff",
                            ),
                        ),
                    ),
                ),
                Criterion(
                    name="matrix product in FP16, the same inputs",
                    panel="FP16, inputs far from zero",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "matmul", "format": "fp16", **FAR},
                        number="over_unit_roundoff",
                    ),
                    claimed=AtMost(value=8.0),
                    refuted=AtLeast(value=8.0),
                    says="A matrix product errs by {estimate} there",
                ),
                Criterion(
                    name="layer norm in BF16, error in unit roundoffs, inputs of mean 2 and spread 4",
                    panel="BF16, inputs around zero",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "layer_norm", "format": "bf16"},
                        number="over_unit_roundoff",
                    ),
                    claimed=AtLeast(value=8.0),
                    refuted=AtMost(value=8.0),
                    says="On inputs of mean 2 and spread 4, layer norm in BF16 errs by {estimate} unit roundoffs",
                ),
                Criterion(
                    name="layer norm in FP16, error in unit roundoffs, inputs of mean 2 and spread 4",
                    panel="FP16, inputs around zero",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "layer_norm", "format": "fp16"},
                        number="over_unit_roundoff",
                    ),
                    claimed=AtLeast(value=8.0),
                    refuted=AtMost(value=8.0),
                    says="On those, layer norm in FP16 errs by {estimate} unit roundoffs",
                ),
            ),
            reported=(
                Reported(
                    name="softmax in BF16, mean 2 and spread 4",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "softmax", "format": "bf16"},
                        number="over_unit_roundoff",
                    ),
                ),
                Reported(
                    name="softmax in BF16, mean 100 and spread 1",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "softmax", "format": "bf16", **FAR},
                        number="over_unit_roundoff",
                    ),
                ),
                Reported(
                    name="log-sum-exp in BF16, mean 100 and spread 1",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "log_sum_exp", "format": "bf16", **FAR},
                        number="over_unit_roundoff",
                    ),
                ),
                Reported(
                    name="variance in BF16, mean 100 and spread 1",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "variance", "format": "bf16", **FAR},
                        number="over_unit_roundoff",
                    ),
                ),
                Reported(
                    name="variance in FP16, mean 100 and spread 1",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "variance", "format": "fp16", **FAR},
                        number="over_unit_roundoff",
                    ),
                ),
                Reported(
                    name="layer norm in BF16, mean 2 and spread 4, sums in BF16 too",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "layer_norm", "format": "bf16", "sums": "same"},
                        number="over_unit_roundoff",
                    ),
                ),
                Reported(
                    name="matrix product in BF16, mean 2 and spread 4, sums in BF16 too",
                    observe=Computed(
                        function="operations.error",
                        arguments={"operation": "matmul", "format": "bf16", "sums": "same"},
                        number="over_unit_roundoff",
                    ),
                ),
            ),
            note=(
                "Some operations and not others: the matrix product stands for the others. Every intermediate result has 16"
                " bits, every sum FP32; inputs are rounded first, so what rounding them loses is not counted. Layer norm makes"
                " six rounded steps, which explain an error of six unit roundoffs at most; eight is three bits lost to"
                " cancellation."
            ),
            advice={
                "supported": "Keep layer norm in FP32; matrix products can stay in 16 bits.",
                "partly": "Keep layer norm in FP32 if its inputs can lie far from zero.",
                "refuted": "Do not spend time on keeping single operations in FP32.",
            },
        ),
        Judgement(
            claim="prec.speed",
            criteria=(
                Criterion(
                    name="steps a second, BF16 over FP32, width 2048",
                    observe=SpeedUp(arm="solo_bf16_2048", reference="solo_fp32_2048"),
                    null=1.0,
                    claimed=AtLeast(value=1.5),
                    refuted=AtMost(value=1.5),
                    says="At width 2048, BF16 trains {estimate} as fast as FP32",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="BF16 over FP32, width 256",
                    observe=SpeedUp(arm="solo_bf16_256", reference="solo_fp32_256"),
                    unit="x",
                ),
                Reported(
                    name="BF16 over FP32, width 1024",
                    observe=SpeedUp(arm="solo_bf16_1024", reference="solo_fp32_1024"),
                    unit="x",
                ),
                Reported(
                    name="FP16 over FP32, width 2048",
                    observe=SpeedUp(arm="solo_fp16_2048", reference="solo_fp32_2048"),
                    unit="x",
                ),
                Reported(
                    name="TF32 over FP32, width 2048",
                    observe=SpeedUp(arm="solo_tf32_2048", reference="solo_fp32_2048"),
                    unit="x",
                ),
                Reported(
                    name="BF16 over TF32, width 2048",
                    observe=SpeedUp(arm="solo_bf16_2048", reference="solo_tf32_2048"),
                    unit="x",
                ),
            ),
            advice={
                "supported": "Train in BF16 to save time on a model of this width.",
                "refuted": "Time a few steps before you switch: BF16 gains less than 1.5x at this width.",
                "refuted: opposite": "Stay in FP32: BF16 is slower here.",
            },
        ),
        Judgement(
            claim="prec.memory",
            criteria=(
                Criterion(
                    name="peak memory, BF16 over FP32, width 2048",
                    observe=MemoryRatio(arm="solo_bf16_2048", reference="solo_fp32_2048"),
                    null=1.0,
                    claimed=AtMost(value=0.6),
                    refuted=AtLeast(value=0.75),
                    says="At width 2048, BF16 takes {estimate} the peak memory of FP32",
                    unit="x",
                ),
            ),
            reported=(
                Reported(name="width 256", observe=MemoryRatio(arm="solo_bf16_256", reference="solo_fp32_256"), unit="x"),
                Reported(name="width 1024", observe=MemoryRatio(arm="solo_bf16_1024", reference="solo_fp32_1024"), unit="x"),
            ),
            advice={
                "supported": "Count on 60% of FP32's memory or less if you train in BF16.",
                "partly": "Measure the peak before you count on half the memory: FP32 weights and optimizer states stay.",
                "refuted": "Do not count on half the memory: FP32 weights and optimizer states stay.",
            },
        ),
        Judgement(
            claim="prec.fp8",
            criteria=(
                Criterion(
                    name="tuned loss, FP8 scaled per tensor against FP32",
                    observe=FallShare(left=TunedLoss(arm="fp8"), right=TunedLoss(arm="fp32")),
                    test="no_worse",
                    null=0.0,
                    margin=0.01,
                    says="Emulated FP8 with a scale for each tensor ends {higher} in loss than FP32, of the fall",
                    unit="relative",
                ),
                Criterion(
                    name="loss, FP8 unscaled of 2M tokens a step against scaled",
                    observe=FallShare(
                        left=LossAt(arm="fp8_2m_unscaled", tuned_for="fp8"), right=TunedLoss(arm="fp8"), best_of=FP8
                    ),
                    null=0.0,
                    claimed=AtLeast(value=0.005),
                    refuted=AtMost(value=-0.005),
                    margin=0.005,
                    says="With two million tokens a step and no scales it ends {higher} in loss than with them, of the fall",
                    unit="relative",
                    alternatives=(
                        Alternative(
                            name="at half that LR",
                            observe=FallShare(
                                left=LossAt(arm="fp8_2m_unscaled", tuned_for="fp8", times=0.5),
                                right=TunedLoss(arm="fp8"),
                                best_of=FP8,
                            ),
                        ),
                        Alternative(
                            name="at four times that LR",
                            observe=FallShare(
                                left=LossAt(arm="fp8_2m_unscaled", tuned_for="fp8", times=4.0),
                                right=TunedLoss(arm="fp8"),
                                best_of=FP8,
                            ),
                        ),
                    ),
                ),
                Criterion(
                    name="what FP8 saves",
                    observe=Unmeasured(
                        reason="FP8 is emulated here and its numbers lie in FP32: what it saves shows on a Hopper or Blackwell"
                        " GPU that computes in it"
                    ),
                    claimed=AtLeast(value=1.0),
                    refuted=AtMost(value=1.0),
                    says="FP8 saves {estimate}",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="loss, FP8 unscaled of one pass a step against scaled",
                    observe=FallShare(
                        left=LossAt(arm="fp8_unscaled", tuned_for="fp8"), right=TunedLoss(arm="fp8"), best_of=FP8
                    ),
                    unit="relative",
                ),
            ),
            note="A scale for each tensor undoes the division by tokens, so scaled FP8 is the same at any number of them.",
            advice={
                "supported": "Train in FP8 with a scale for each tensor to save memory.",
                "partly": "In FP8, give every tensor a scale of its own, and measure on your own GPU what it saves.",
                "refuted": "Stay with BF16.",
            },
        ),
        Judgement(
            claim="prec.fp16_nan",
            right={"supported": "NaN", "refuted": "zeros"},
            criteria=(
                Criterion(
                    name="unscaled FP16 runs of 2M tokens a step that reach NaN",
                    panel="gradients underflow",
                    observe=FailureRate(arm="fp16_2m", tuned_for="fp32", of="not_finite"),
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.5),
                    says="Where gradients underflow, {estimate} of the unscaled FP16 runs reach NaN",
                    unit="share",
                    alternatives=(
                        Alternative(
                            name="at a quarter of that LR",
                            observe=FailureRate(arm="fp16_2m", tuned_for="fp32", times=0.25, of="not_finite"),
                        ),
                    ),
                ),
                Criterion(
                    name="the same runs scaled by 2^16 that reach NaN",
                    panel="gradients underflow",
                    observe=FailureRate(arm="fp16_2m_scaled", tuned_for="fp32", of="not_finite"),
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.5),
                    says="Of the same runs scaled, {estimate} do",
                    unit="share",
                ),
                Criterion(
                    name="unscaled FP16 runs at 512 times the best LR that reach NaN",
                    panel="high LR",
                    observe=FailureRate(arm="fp16", tuned_for="fp32", times=512.0, of="not_finite"),
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.5),
                    says="At 512 times the best LR, {estimate} of the unscaled FP16 runs reach NaN",
                    unit="share",
                ),
                Criterion(
                    name="the same runs with dynamic scaling that reach NaN",
                    panel="high LR",
                    observe=FailureRate(arm="fp16_dynamic", tuned_for="fp32", times=512.0, of="not_finite"),
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.5),
                    says="Of the same runs with dynamic scaling, {estimate} do",
                    unit="share",
                ),
                Criterion(
                    name="unscaled FP16 runs with activations past 65504 that reach NaN",
                    panel="large features",
                    observe=FailureRate(arm="large_fp16", tuned_for="large_fp32", of="not_finite"),
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.5),
                    says="If activations pass 65504, {estimate} of the unscaled FP16 runs reach NaN",
                    unit="share",
                ),
                Criterion(
                    name="the same runs with dynamic scaling, activations past 65504",
                    panel="large features",
                    observe=FailureRate(arm="large_fp16_dynamic", tuned_for="large_fp32", of="not_finite"),
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.5),
                    says="Of the same runs with dynamic scaling, {estimate} do",
                    unit="share",
                ),
            ),
            reported=(
                Reported(
                    name="unscaled FP16 runs at FP32's best LR, one pass a step, that reach NaN",
                    observe=FailureRate(arm="fp16", tuned_for="fp32", of="not_finite"),
                    unit="share",
                ),
                Reported(
                    name="FP32 runs at 512 times the best LR that reach NaN",
                    observe=FailureRate(arm="fp32", tuned_for="fp32", times=512.0, of="not_finite"),
                    unit="share",
                ),
            ),
            note=(
                "NaN that scaling does not cure is not for want of scaling: on some workload unscaled runs must reach NaN and"
                " scaled ones must not."
            ),
            advice={
                "supported": "If an FP16 run gives NaN, look first whether its loss is scaled.",
                "partly": (
                    "If an FP16 run gives NaN, look for overflow: a loss scale does not keep it away, and without one small"
                    " gradients become zero in silence."
                ),
                "refuted": "If an FP16 run gives NaN, look for activations past 65504: without scaling gradients become zero.",
            },
        ),
        Judgement(
            claim="prec.mixed_formats",
            right={"supported": "FP32 backward", "refuted": "16 bits"},
            criteria=(
                Criterion(
                    name="share of the backward pass's matrix products that FP16 autocast computes in 16 bits",
                    observe=Computed(function="constants.autocast", number="backward"),
                    claimed=AtMost(value=0.01),
                    refuted=AtLeast(value=0.5),
                    says="Under FP16 autocast, {estimate} of the backward pass's matrix products are in 16 bits",
                    unit="share",
                ),
            ),
            reported=(
                Reported(
                    name="share of the forward pass's matrix products that FP16 autocast computes in 16 bits",
                    observe=Computed(function="constants.autocast", number="forward"),
                    unit="share",
                ),
            ),
            note=(
                "Watched in torch itself, on the CPU and on a GPU if there is one: a transformer block's training step. The"
                " sides part over the backward pass, and it decides. Its products are computed in the forward pass's format;"
                " the weights' gradients are then handed over in FP32, because the weights are."
            ),
            advice={
                "supported": "Count on FP32 gradients under autocast: overflow is to be feared in the forward pass alone.",
                "refuted": "Scale the loss in FP16: matrix products of the backward pass are in 16 bits, too.",
            },
        ),
        Judgement(
            claim="prec.lr_range",
            criteria=OnEach(
                panels={
                    "FP16, 2M tokens a step": {
                        "arm": "fp16_2m",
                        "which": "unscaled FP16 of 2M tokens a step",
                        "sentence": "With two million tokens a step, unscaled FP16",
                    },
                    "FP16, one pass a step": {
                        "arm": "fp16",
                        "which": "FP16 of one pass",
                        "sentence": "With one small pass a step, FP16",
                    },
                    "BF16": {"arm": "bf16", "which": "BF16", "sentence": "BF16"},
                },
                of=Criterion(
                    name="largest trainable LR, <which> over FP32",
                    panel="<panel>",
                    observe=Quotient(top=MaxTrainable(arm="<arm>", **BAR), bottom=MaxTrainable(arm="fp32", **BAR)),
                    says="<sentence> trains up to {estimate} FP32's largest LR",
                    alternatives=OTHER_BARS,
                    **LR_RANGE,
                ),
                fields={"BF16": {"alternatives": (BARS_BF16_NEAR,)}},
            ).specs,
            reported=(
                Reported(
                    name="largest LR within 15% of the fall, unscaled FP16 of 0.5M tokens a step over FP32",
                    observe=Quotient(top=MaxTrainable(arm="fp16_05m", **NEAR_BAR), bottom=MaxTrainable(arm="fp32", **NEAR_BAR)),
                    unit="x",
                ),
            ),
            note=(
                "Trainable: the run ends half-way down FP32's fall or lower, one bar for all formats. The bar asks whether"
                " training is stable, not how good an LR is: the highest LRs that pass it learn little more than how frequent"
                " each character is. Within 15% of the fall is the LR that is worth using."
            ),
            advice={
                "supported": "If you change the number format, look for the highest stable LR anew.",
                "partly": "If you change the number format to FP16, look for the highest stable LR anew.",
                "refuted": "Keep the LR if you change the number format.",
            },
        ),
    ),
    published=(
        Published(
            claim="prec.fp16_underflow",
            finding=(
                "SSD: 66.8% of activation gradients are zero; a further 31% become zero in FP16 and training diverges; a loss"
                " scale of 8 suffices."
            ),
            source="Micikevicius et al. 2018",
            link="https://arxiv.org/abs/1710.03740",
            how="read",
        ),
        Published(
            claim="prec.fp16_scaled",
            finding="ResNet-50: 75.92 in FP32, 76.04 in mixed precision.",
            source="Micikevicius et al. 2018",
            link="https://arxiv.org/abs/1710.03740",
            how="reported",
        ),
    ),
)
