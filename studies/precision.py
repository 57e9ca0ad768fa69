"""What do 16-bit and 8-bit numbers do to training, and what fixes it?"""

from folklore.harness.observables import (
    CurveDistance,
    Exact,
    FailureRate,
    MemoryRatio,
    OperationError,
    RelativeGap,
    SpeedUp,
    TunedLoss,
    UnderflowShare,
    Unmeasured,
)
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
    log2_grid,
)

# One pass over 512 tokens is one of 4096 accumulated micro-batches: two million tokens a step, as in a large run. Its loss is
# divided by 4096 before the backward pass, and its gradient multiplied by as much, as summing the others would do.
MICRO = {"loss_scaling": "static", "loss_scale": 2.0**-12}
# Features in units so small that their numbers are large, up to 30000: finite in FP16, but the first convolution's sums pass
# 65504. The group norm after it undoes the scale.
LARGE = {
    "model": "cnn",
    "dataset": "digits",
    "width": 8,
    "depth": 1,
    "feature_scale": 2.0**14,
    "batch_size": 16,
    "steps": 100,
    "weight_decay": 0.0,
}
LARGE_LR = {"peak_lr": log2_grid(-4, 3, 1)}
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
# 0.5% of the loss does not matter; being better never refutes.
NO_WORSE = {"test": "no_worse", "null": 0.0, "margin": 0.005, "unit": "relative"}

STUDY = Study(
    name="precision",
    # Version 1 (seeds 300 to 309) scaled features so far that FP16 held no input, counted the logits' gradients among the
    # activations', and summed in BF16 for norm and softmax but in FP32 for the product; version 2 (500 to 509) probed every
    # step of the runs that are timed (LOG.md).
    version=3,
    title="Numerical precision",
    question="What do 16-bit and 8-bit numbers do to training, and what fixes it?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(optimizer="adamw", schedule="cosine", warmup_fraction=0.05, batch_size=32, steps=150, beta2=0.95),
    measurement=Measurement(probes=10, evaluations=2, evaluation_examples=128, final_examples=512),
    arms={
        "fp32": Arm(label="FP32", panel="GPT", settings={"underflow": True}),
        "fp32_micro": Arm(label="FP32, loss over 4096 micro-batches", panel="GPT", settings={**MICRO, "underflow": True}),
        "bf16": Arm(label="BF16", panel="GPT", settings={"precision": "bf16"}),
        "fp16": Arm(label="FP16, no scaling", panel="GPT", settings={"precision": "fp16"}),
        "fp16_micro": Arm(
            label="FP16, no scaling, loss over 4096 micro-batches",
            panel="GPT",
            settings={"precision": "fp16", **MICRO},
            factors={"peak_lr": log2_grid(-12, -5, 1)},
        ),
        "fp16_static": Arm(
            label="FP16, the same, scaled by 2^14",
            panel="GPT",
            settings={"precision": "fp16", "loss_scaling": "static", "loss_scale": 2.0**2},
        ),
        "fp16_dynamic": Arm(
            label="FP16, dynamic scaling", panel="GPT", settings={"precision": "fp16", "loss_scaling": "dynamic"}
        ),
        "fp8": Arm(label="FP8, scaled per tensor", panel="GPT", settings={"precision": "fp8"}),
        "fp8_unscaled": Arm(label="FP8, unscaled", panel="GPT", settings={"precision": "fp8_unscaled"}),
        "large_fp32": Arm(label="FP32", panel="CNN, large features", settings={**LARGE}, factors=LARGE_LR),
        "large_bf16": Arm(label="BF16", panel="CNN, large features", settings={**LARGE, "precision": "bf16"}, factors=LARGE_LR),
        "large_fp16": Arm(
            label="FP16, dynamic scaling",
            panel="CNN, large features",
            settings={**LARGE, "precision": "fp16", "loss_scaling": "dynamic"},
            factors=LARGE_LR,
        ),
        "solo_fp32_256": Arm(label="FP32, width 256", panel="speed", settings=SMALL_SIZE, factors=SOLO_LR, scales=ON_GPU),
        "solo_tf32_256": Arm(
            label="TF32, width 256", panel="speed", settings={**SMALL_SIZE, "precision": "tf32"}, factors=SOLO_LR, scales=ON_GPU
        ),
        "solo_bf16_256": Arm(
            label="BF16, width 256", panel="speed", settings={**SMALL_SIZE, "precision": "bf16"}, factors=SOLO_LR, scales=ON_GPU
        ),
        "solo_fp32_1024": Arm(label="FP32, width 1024", panel="speed", settings=MIDDLE_SIZE, factors=SOLO_LR, scales=ON_GPU),
        "solo_tf32_1024": Arm(
            label="TF32, width 1024",
            panel="speed",
            settings={**MIDDLE_SIZE, "precision": "tf32"},
            factors=SOLO_LR,
            scales=ON_GPU,
        ),
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
    factors={"peak_lr": log2_grid(-7, -4)},
    seeds=10,
    first_seed=600,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 10},
            measurement={"probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16},
            factors={"peak_lr": (2.0**-6,)},
            arm_factors={
                "fp16_micro": {"peak_lr": (2.0**-8,)},
                "large_fp32": {"peak_lr": (2.0**-2,)},
                "large_bf16": {"peak_lr": (2.0**-2,)},
                "large_fp16": {"peak_lr": (2.0**-2,)},
            },
            arm_settings={"large_fp32": {"steps": 5}, "large_bf16": {"steps": 5}, "large_fp16": {"steps": 5}},
            seeds=1,
            judged=False,
        ),
        "laptop": Scale(description="two CPU cores, at most five minutes of training; numbers only, no times"),
        "gpu": Scale(
            description="one GPU, about a minute: more seeds, and times and memory of single runs",
            device="cuda",
            training={"steps": 300},
            departures=("300 steps, not 150.",),
        ),
        "cluster": Scale(
            description="a larger GPT on web text, and times and memory of single runs",
            device="cuda",
            workload={"dataset": "web-text", "width": 128, "depth": 4, "heads": 4, "context": 128},
            training={"steps": 1000},
            departures=("A GPT of 0.9M parameters on web text, 1000 steps of 4096 tokens a pass.",),
        ),
    },
    departures=(
        "At laptop scale a GPT of 7000 parameters on Python's documentation, 150 steps of 512 tokens. Weights and optimizer"
        " states are FP32 at every scale.",
        "Large batches are stood in for by their loss: one micro-batch whose loss is divided by 4096 for the backward pass.",
        "The workload that overflows is a CNN whose features were left in units that make them large (up to 30000).",
        "FP8 is emulated: operands of products are rounded to E4M3 forward and E5M2 backward, but for attention's two;"
        " sums are FP32. Its loss is judged, its speed and memory are not.",
        "The FP32 that BF16 is timed against does its products in FP32, not TF32; TF32 stands beside it.",
    ),
    revised=(
        "BF16 and scaled FP16 are asked whether they are no worse, where equality within 0.5% was asked: by that, FP16 with"
        " dynamic scaling would be open. Nulls."
    ),
    answer=("prec.bf16_loss", "prec.fp16_underflow", "prec.fp16_scaled", "prec.fp16_overflow"),
    judgements=(
        Judgement(
            claim="prec.bf16_loss",
            criteria=(
                Criterion(
                    name="tuned loss, BF16 against FP32",
                    observe=RelativeGap(left=TunedLoss(arm="bf16"), right=TunedLoss(arm="fp32")),
                    says="BF16 ends {higher} in loss than FP32",
                    **NO_WORSE,
                ),
            ),
            advice={
                "supported": "Train in BF16 without loss scaling.",
                "refuted": "Compare BF16 with FP32 on your own model before you rely on it.",
            },
        ),
        Judgement(
            claim="prec.fp16_underflow",
            criteria=(
                Criterion(
                    name="share of hidden activations' non-zero gradients that FP16 flushes, loss over 4096 micro-batches",
                    observe=UnderflowShare(arm="fp32_micro", of="activation"),
                    claimed=AtLeast(value=0.01),
                    refuted=AtMost(value=0.01),
                    says="With its loss over 4096, as over so many micro-batches, FP16 flushes {estimate} of gradients to zero",
                    unit="share",
                ),
                Criterion(
                    name="tuned loss, FP16 with its loss over 4096 micro-batches against FP32",
                    observe=RelativeGap(left=TunedLoss(arm="fp16_micro"), right=TunedLoss(arm="fp32")),
                    null=0.0,
                    claimed=AtLeast(value=0.005),
                    refuted=AtMost(value=-0.005),
                    margin=0.005,
                    says="Unscaled, that ends {higher} in loss than FP32",
                    unit="relative",
                ),
            ),
            reported=(
                Reported(
                    name="tuned loss, FP16 without scaling or micro-batches against FP32",
                    observe=RelativeGap(left=TunedLoss(arm="fp16"), right=TunedLoss(arm="fp32")),
                    unit="relative",
                ),
                Reported(
                    name="gradients flushed: hidden activations, micro-batches, loss scale 2^4",
                    observe=UnderflowShare(arm="fp32_micro", of="activation", scale_exponent=4),
                ),
                Reported(
                    name="gradients flushed: hidden activations, micro-batches, loss scale 2^8",
                    observe=UnderflowShare(arm="fp32_micro", of="activation", scale_exponent=8),
                ),
                Reported(
                    name="gradients flushed: hidden activations, micro-batches, loss scale 2^16",
                    observe=UnderflowShare(arm="fp32_micro", of="activation", scale_exponent=16),
                ),
                Reported(
                    name="gradients flushed: logits, micro-batches, loss scale 1",
                    observe=UnderflowShare(arm="fp32_micro", of="logits"),
                ),
                Reported(
                    name="gradients flushed: logits, micro-batches, loss scale 2^16",
                    observe=UnderflowShare(arm="fp32_micro", of="logits", scale_exponent=16),
                ),
                Reported(
                    name="gradients flushed: weights, micro-batches, loss scale 1",
                    observe=UnderflowShare(arm="fp32_micro", of="weight"),
                ),
                Reported(
                    name="gradients flushed: weights, micro-batches, loss scale 2^8",
                    observe=UnderflowShare(arm="fp32_micro", of="weight", scale_exponent=8),
                ),
                Reported(
                    name="gradients flushed: weights, micro-batches, loss scale 2^16",
                    observe=UnderflowShare(arm="fp32_micro", of="weight", scale_exponent=16),
                ),
                Reported(
                    name="gradients flushed: hidden activations, one pass of 512 tokens alone",
                    observe=UnderflowShare(arm="fp32", of="activation"),
                ),
                Reported(
                    name="gradients flushed: logits, one pass of 512 tokens alone",
                    observe=UnderflowShare(arm="fp32", of="logits"),
                ),
                Reported(
                    name="gradients flushed: weights, one pass of 512 tokens alone",
                    observe=UnderflowShare(arm="fp32", of="weight"),
                ),
            ),
            note=(
                "The share is measured on gradients of FP32 runs at their best LR. If the loss is not worse, only the mechanism"
                " is shown, and the claim holds in part."
            ),
            advice={
                "supported": "If you train in FP16, scale the loss, above all if many micro-batches are accumulated.",
                "partly": "If you train in FP16, scale the loss: gradients underflow, whether or not the loss shows it.",
                "refuted": "If an FP16 run stalls, do not look for the cause in underflow first.",
            },
        ),
        Judgement(
            claim="prec.fp16_scaled",
            criteria=(
                Criterion(
                    name="tuned loss, FP16 over 4096 micro-batches scaled by 2^14 against FP32",
                    observe=RelativeGap(left=TunedLoss(arm="fp16_static"), right=TunedLoss(arm="fp32")),
                    says="FP16 with a fixed loss scale ends {higher} in loss than FP32",
                    **NO_WORSE,
                ),
                Criterion(
                    name="tuned loss, FP16 with dynamic scaling against FP32",
                    observe=RelativeGap(left=TunedLoss(arm="fp16_dynamic"), right=TunedLoss(arm="fp32")),
                    says="FP16 with dynamic scaling ends {higher} in loss than FP32",
                    **NO_WORSE,
                ),
            ),
            note=(
                "Non-inferiority: FP16 that is better does not speak against it. Dynamic scaling starts at 2^16 as in torch and"
                " skips the first updates, whose gradients overflow: a delay that is long for a short run."
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
                    name="runs that fail in FP16, activations past 65504",
                    observe=FailureRate(arm="large_fp16", tuned_for="large_bf16"),
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.5),
                    says="If activations pass 65504, {estimate} of the FP16 runs fail",
                    unit="share",
                ),
                Criterion(
                    name="runs that fail in BF16, the same",
                    observe=FailureRate(arm="large_bf16", tuned_for="large_bf16"),
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.5),
                    says="Of the same runs in BF16, {estimate} fail",
                    unit="share",
                ),
            ),
            reported=(
                Reported(
                    name="tuned loss there, BF16 against FP32",
                    observe=RelativeGap(left=TunedLoss(arm="large_bf16"), right=TunedLoss(arm="large_fp32")),
                    unit="relative",
                ),
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
                Criterion(
                    name="median distance of gradient norms, BF16 from FP32",
                    observe=CurveDistance(arm="bf16", reference="fp32"),
                    claimed=AtMost(value=0.05),
                    refuted=AtLeast(value=0.05),
                    says="Gradient norms in BF16 lie {estimate} off those in FP32 at the median step",
                    unit="relative",
                ),
                Criterion(
                    name="median distance of gradient norms, scaled FP16 from FP32",
                    observe=CurveDistance(arm="fp16_static", reference="fp32"),
                    claimed=AtMost(value=0.05),
                    refuted=AtLeast(value=0.05),
                    says="Gradient norms in scaled FP16 lie {estimate} off those in FP32 at the median step",
                    unit="relative",
                ),
            ),
            reported=(
                Reported(
                    name="median distance with dynamic scaling, whose skipped updates shift the run",
                    observe=CurveDistance(arm="fp16_dynamic", reference="fp32"),
                    unit="relative",
                ),
            ),
            advice={
                "supported": "If gradient norms in 16 bits differ from FP32's by much more than 5%, look for an error.",
                "partly": "Compare gradient norms with FP32's only in the format that stays near it.",
                "refuted": "Do not take a difference of gradient norms from FP32's for an error.",
            },
        ),
        Judgement(
            claim="prec.range",
            criteria=(
                Criterion(
                    name="largest FP16 number, by doubling until it overflows",
                    observe=Exact(check="fp16_largest"),
                    claimed=Within(low=65503.0, high=65505.0),
                    refuted=Outside(low=65503.0, high=65505.0),
                    says="The largest FP16 number is {estimate}",
                ),
                Criterion(
                    name="smallest FP16 number, by halving until it is flushed",
                    observe=Exact(check="fp16_smallest"),
                    claimed=Within(low=4e-8, high=7e-8),
                    refuted=Outside(low=4e-8, high=7e-8),
                    says="The smallest FP16 number above zero is {estimate}",
                ),
                Criterion(
                    name="octaves of BF16's normal range over FP32's",
                    observe=Exact(check="bf16_exponent_bits"),
                    claimed=Within(low=0.99, high=1.01),
                    refuted=Outside(low=0.99, high=1.01),
                    says="BF16's normal range has {estimate} of FP32's octaves",
                    unit="share",
                ),
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
                    name="layer norm, error step by step in BF16 over that in FP32 rounded once",
                    observe=OperationError(operation="layer_norm", format="bf16"),
                    null=1.0,
                    claimed=AtLeast(value=2.0),
                    refuted=AtMost(value=1.5),
                    says="Layer norm in BF16 has {estimate} the error of FP32 rounded once",
                    unit="x",
                ),
                Criterion(
                    name="softmax, error step by step in BF16 over that in FP32 rounded once",
                    observe=OperationError(operation="softmax", format="bf16"),
                    null=1.0,
                    claimed=AtLeast(value=2.0),
                    refuted=AtMost(value=1.5),
                    says="Softmax in BF16 has {estimate} the error of FP32 rounded once",
                    unit="x",
                ),
                Criterion(
                    name="matrix product, the same",
                    observe=OperationError(operation="matmul", format="bf16"),
                    claimed=AtMost(value=2.0),
                    refuted=AtLeast(value=2.0),
                    says="A matrix product in BF16 has {estimate} the error of FP32 rounded once",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="layer norm in FP16",
                    observe=OperationError(operation="layer_norm", format="fp16"),
                    unit="x",
                ),
                Reported(
                    name="softmax in FP16",
                    observe=OperationError(operation="softmax", format="fp16"),
                    unit="x",
                ),
                Reported(
                    name="GELU in BF16",
                    observe=OperationError(operation="gelu", format="bf16"),
                    unit="x",
                ),
                Reported(
                    name="layer norm, sums in BF16 too",
                    observe=OperationError(operation="layer_norm", format="bf16", sums="same"),
                    unit="x",
                ),
                Reported(
                    name="softmax, sums in BF16 too",
                    observe=OperationError(operation="softmax", format="bf16", sums="same"),
                    unit="x",
                ),
                Reported(
                    name="matrix product, sums in BF16 too",
                    observe=OperationError(operation="matmul", format="bf16", sums="same"),
                    unit="x",
                ),
            ),
            note=(
                "Some operations and not others: the matrix product stands for the others. For all three, every intermediate"
                " result is BF16 and every sum FP32."
            ),
            advice={
                "supported": "Keep layer norm and softmax in FP32; matrix products can stay in BF16.",
                "partly": "Keep layer norm and softmax in FP32 if that is cheap: BF16 adds to the error of one rounding.",
                "partly: some parts": "Keep only those operations in FP32 whose error in BF16 is twice one rounding's.",
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
                    observe=RelativeGap(left=TunedLoss(arm="fp8"), right=TunedLoss(arm="fp32")),
                    claimed=AtMost(value=0.01),
                    refuted=AtLeast(value=0.01),
                    says="Emulated FP8 with a scale for each tensor ends {higher} in loss than FP32",
                    unit="relative",
                ),
                Criterion(
                    name="tuned loss, FP8 unscaled against scaled",
                    observe=RelativeGap(left=TunedLoss(arm="fp8_unscaled"), right=TunedLoss(arm="fp8")),
                    null=0.0,
                    claimed=AtLeast(value=0.0),
                    refuted=AtMost(value=0.0),
                    says="Emulated FP8 without scales ends {higher} in loss than with them",
                    unit="relative",
                ),
                Criterion(
                    name="what FP8 saves",
                    observe=Unmeasured(reason="FP8 is emulated here: its products cost what FP32's do, on any device"),
                    claimed=AtLeast(value=1.0),
                    refuted=AtMost(value=1.0),
                    says="FP8 saves {estimate}",
                    unit="x",
                ),
            ),
            advice={
                "supported": "Train in FP8 with a scale for each tensor to save memory.",
                "partly": "In FP8, give every tensor a scale of its own, and measure on your own GPU what it saves.",
                "refuted": "Stay with BF16.",
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
