"""How does the best learning rate depend on the batch size, at equal examples?"""

from folklore.harness.observables import (
    FallShare,
    FormGap,
    Gap,
    LossAt,
    MeanGap,
    NoiseScale,
    Optimum,
    Slope,
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

MLP = {
    "model": "mlp",
    "dataset": "digits",
    "width": 64,
    "depth": 2,
    "label_noise": 0.6,
    "evaluation_examples": 359,
}
# Of which seeds differ a third as much by warmup, and losses of both batch sizes can be told apart to 1% of the fall.
CALM = {**MLP, "label_noise": 0.2}
SGD = {"optimizer": "sgd"}
# Arms at whose sizes only a laptop's models train.
LAPTOP = ("smoke", "laptop")
LARGE = ("gpu", "cluster")
# From far below the plateau of single-token statistics to where runs diverge.
BIG_SGD = log2_grid(-7, 3, 1)
MLP_SGD_POINTS = (
    (2, Optimum(arm="mlp_sgd_2", window_octaves=1.0)),
    (4, Optimum(arm="mlp_sgd_4", window_octaves=1.0)),
    (8, Optimum(arm="mlp_sgd_8", window_octaves=1.0)),
    (16, Optimum(arm="mlp_sgd_16", window_octaves=1.0)),
    (32, Optimum(arm="mlp_sgd_32", window_octaves=1.0)),
    (64, Optimum(arm="mlp_sgd_64", window_octaves=1.0)),
)
MLP_ADAM_POINTS = (
    (4, Optimum(arm="mlp_adam_4", window_octaves=1.0)),
    (8, Optimum(arm="mlp_adam_8", window_octaves=1.0)),
    (16, Optimum(arm="mlp_adam_16", window_octaves=1.0)),
    (32, Optimum(arm="mlp_adam_32", window_octaves=1.0)),
    (64, Optimum(arm="mlp_adam_64", window_octaves=1.0)),
)
GPT_SGD_POINTS = (
    (2, Optimum(arm="gpt_sgd_2", window_octaves=1.0)),
    (4, Optimum(arm="gpt_sgd_4", window_octaves=1.0)),
    (8, Optimum(arm="gpt_sgd_8", window_octaves=1.0)),
)
GPT_ADAM_POINTS = (
    (2, Optimum(arm="gpt_adam_2", window_octaves=1.0)),
    (4, Optimum(arm="gpt_adam_4", window_octaves=1.0)),
    (8, Optimum(arm="gpt_adam_8", window_octaves=1.0)),
    (16, Optimum(arm="gpt_adam_16", window_octaves=1.0)),
)
HALF_LIFE_POINTS = (
    (4, Optimum(arm="half_life_4", window_octaves=1.0)),
    (16, Optimum(arm="mlp_adam_16", window_octaves=1.0)),
    (64, Optimum(arm="half_life_64", window_octaves=1.0)),
)
# The exponents in dispute are 0, 1/2 and 1. A region holds what lies nearer to the exponent claimed than to another of them.
LINEAR = {"null": 0.5, "claimed": Within(low=0.75, high=1.25), "refuted": Outside(low=0.75, high=1.25)}
# No null: growth as such is not in dispute, so that an exponent surely above 0 is no part of an answer.
ROOT = {"claimed": Within(low=0.25, high=0.75), "refuted": Outside(low=0.25, high=0.75)}
# As shares of the fall: 2% as bar of a failing rule, 3% for curves that are the same, 1% for a gain by warmup.
FAILS = {"null": 0.0, "claimed": AtLeast(value=0.02), "refuted": AtMost(value=0.02), "unit": "relative"}
SERVES = {"test": "no_worse", "null": 0.0, "margin": 0.02, "unit": "relative"}
SAME = {"claimed": AtMost(value=0.03), "refuted": AtLeast(value=0.03), "unit": "relative"}
GAINS = {"null": 0.0, "claimed": AtLeast(value=0.01), "refuted": AtMost(value=0.01), "unit": "relative"}
LARGER = {
    "gpt_sgd_2": {"batch_size": 10},
    "gpt_sgd_4": {"batch_size": 20},
    "gpt_sgd_8": {"batch_size": 40},
    "gpt_sgd_128": {"batch_size": 640, "micro_batches": 8},
    "gpt_adam_2": {"batch_size": 10},
    "gpt_adam_4": {"batch_size": 20},
    "gpt_adam_8": {"batch_size": 40},
    "gpt_adam_16": {"batch_size": 80},
    "long_adam_8": {"batch_size": 20},
    "long_adam_256": {"batch_size": 640, "micro_batches": 8},
    "wide_adam_8": {"batch_size": 20},
    "wide_adam_256": {"batch_size": 640, "micro_batches": 8},
}
LARGER_GRIDS = {
    "gpt_sgd_2": {"peak_lr": log2_grid(-7, -2, 1)},
    "gpt_sgd_4": {"peak_lr": log2_grid(-6, -1, 1)},
    "gpt_sgd_8": {"peak_lr": log2_grid(-5, 0, 1)},
    "gpt_sgd_128": {"peak_lr": log2_grid(-4, 2, 1)},
    "gpt_adam_2": {"peak_lr": log2_grid(-11, -7, 1)},
    "gpt_adam_4": {"peak_lr": log2_grid(-11, -7, 1)},
    "gpt_adam_8": {"peak_lr": log2_grid(-10, -6, 1)},
    "gpt_adam_16": {"peak_lr": log2_grid(-10, -6, 1)},
    "long_adam_8": {"peak_lr": log2_grid(-10, -6, 1)},
    "long_adam_256": {"peak_lr": log2_grid(-9, -4, 1)},
    "wide_adam_8": {"peak_lr": log2_grid(-10, -6, 1)},
    "wide_adam_256": {"peak_lr": log2_grid(-8, -4, 1)},
}

STUDY = Study(
    name="batch_scaling",
    # Version 4 (seeds 700 to 715) read optima off three grid points, its regions were wider apart from the question than its
    # intervals, its large batch had 16 updates, and two of its numbers were a maximum and a smallest value over noise (LOG.md).
    version=5,
    title="Learning rate and batch size",
    question="How does the best learning rate depend on the batch size, at equal examples?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(
        optimizer="adamw",
        schedule="cosine",
        final_fraction=0.1,
        warmup_fraction=0.05,
        weight_decay=0.0,
        batch_size=8,
    ),
    measurement=Measurement(probes=20, evaluations=20, evaluation_examples=180, final_examples=359),
    arms={
        "mlp_sgd_2": Arm(
            label="B 2",
            panel="MLP, SGD",
            settings={**MLP, **SGD, "batch_size": 2, "steps": 4096},
            factors={"peak_lr": log2_grid(-10, -6)},
            scales=LAPTOP,
        ),
        "mlp_sgd_4": Arm(
            label="B 4",
            panel="MLP, SGD",
            settings={**MLP, **SGD, "batch_size": 4, "steps": 2048},
            factors={"peak_lr": log2_grid(-9, -5)},
            scales=LAPTOP,
        ),
        "mlp_sgd_8": Arm(
            label="B 8",
            panel="MLP, SGD",
            settings={**MLP, **SGD, "batch_size": 8, "steps": 1024},
            factors={"peak_lr": log2_grid(-8, -4)},
            reference=True,
            scales=LAPTOP,
        ),
        "mlp_sgd_16": Arm(
            label="B 16",
            panel="MLP, SGD",
            settings={**MLP, **SGD, "batch_size": 16, "steps": 512},
            factors={"peak_lr": log2_grid(-7, -3)},
            scales=LAPTOP,
        ),
        "mlp_sgd_32": Arm(
            label="B 32",
            panel="MLP, SGD",
            settings={**MLP, **SGD, "batch_size": 32, "steps": 256},
            factors={"peak_lr": log2_grid(-7, -2)},
            scales=LAPTOP,
        ),
        "mlp_sgd_64": Arm(
            label="B 64",
            panel="MLP, SGD",
            settings={**MLP, **SGD, "batch_size": 64, "steps": 128},
            factors={"peak_lr": log2_grid(-6, -1)},
            scales=LAPTOP,
        ),
        "mlp_adam_4": Arm(
            label="B 4",
            panel="MLP, AdamW, fixed betas",
            settings={**MLP, "batch_size": 4, "steps": 2048},
            factors={"peak_lr": log2_grid(-10, -6)},
            scales=LAPTOP,
        ),
        "mlp_adam_8": Arm(
            label="B 8",
            panel="MLP, AdamW, fixed betas",
            settings={**MLP, "batch_size": 8, "steps": 1024},
            factors={"peak_lr": log2_grid(-9, -5)},
            reference=True,
            scales=LAPTOP,
        ),
        "mlp_adam_16": Arm(
            label="B 16",
            panel="MLP, AdamW, fixed betas",
            settings={**MLP, "batch_size": 16, "steps": 512},
            factors={"peak_lr": log2_grid(-9, -5)},
            scales=LAPTOP,
        ),
        "mlp_adam_32": Arm(
            label="B 32",
            panel="MLP, AdamW, fixed betas",
            settings={**MLP, "batch_size": 32, "steps": 256},
            factors={"peak_lr": log2_grid(-9, -5)},
            scales=LAPTOP,
        ),
        "mlp_adam_64": Arm(
            label="B 64",
            panel="MLP, AdamW, fixed betas",
            settings={**MLP, "batch_size": 64, "steps": 128},
            factors={"peak_lr": log2_grid(-8, -4)},
            scales=LAPTOP,
        ),
        "half_life_4": Arm(
            label="B 4, half-life",
            panel="MLP, AdamW, betas of a fixed half-life",
            settings={**MLP, "batch_size": 4, "steps": 2048, "beta1": 0.9 ** (4 / 16), "beta2": 0.999 ** (4 / 16)},
            factors={"peak_lr": log2_grid(-10, -6)},
            reference=True,
            scales=LAPTOP,
        ),
        "half_life_64": Arm(
            label="B 64, half-life",
            panel="MLP, AdamW, betas of a fixed half-life",
            settings={**MLP, "batch_size": 64, "steps": 128, "beta1": 0.9 ** (64 / 16), "beta2": 0.999 ** (64 / 16)},
            factors={"peak_lr": log2_grid(-8, -4)},
            scales=LAPTOP,
        ),
        "gpt_sgd_2": Arm(
            label="B 2",
            panel="GPT, SGD",
            settings={**SGD, "batch_size": 2, "steps": 4096},
            factors={"peak_lr": log2_grid(-8, -3)},
            reference=True,
        ),
        "gpt_sgd_4": Arm(
            label="B 4",
            panel="GPT, SGD",
            settings={**SGD, "batch_size": 4, "steps": 2048},
            factors={"peak_lr": log2_grid(-6, -2)},
        ),
        "gpt_sgd_8": Arm(
            label="B 8",
            panel="GPT, SGD",
            settings={**SGD, "batch_size": 8, "steps": 1024},
            factors={"peak_lr": log2_grid(-6, -1)},
        ),
        "gpt_sgd_128": Arm(
            label="B 128",
            panel="GPT, SGD",
            settings={**SGD, "batch_size": 128, "steps": 64},
            factors={"peak_lr": BIG_SGD},
        ),
        "gpt_adam_2": Arm(
            label="B 2",
            panel="GPT, AdamW",
            settings={"batch_size": 2, "steps": 4096},
            factors={"peak_lr": log2_grid(-9, -6)},
            reference=True,
        ),
        "gpt_adam_4": Arm(
            label="B 4",
            panel="GPT, AdamW",
            settings={"batch_size": 4, "steps": 2048},
            factors={"peak_lr": log2_grid(-9, -6)},
        ),
        "gpt_adam_8": Arm(
            label="B 8",
            panel="GPT, AdamW",
            settings={"batch_size": 8, "steps": 1024},
            factors={"peak_lr": log2_grid(-8, -5)},
        ),
        "gpt_adam_16": Arm(
            label="B 16",
            panel="GPT, AdamW",
            settings={"batch_size": 16, "steps": 512},
            factors={"peak_lr": log2_grid(-8, -5)},
        ),
        "long_adam_8": Arm(
            label="B 8, twice as long",
            panel="GPT, AdamW, 16384 sequences",
            settings={"batch_size": 8, "steps": 2048},
            factors={"peak_lr": log2_grid(-8, -5)},
            reference=True,
        ),
        "long_adam_256": Arm(
            label="B 256, twice as long",
            panel="GPT, AdamW, 16384 sequences",
            settings={"batch_size": 256, "steps": 64},
            factors={"peak_lr": log2_grid(-7, -3)},
        ),
        # Read at the rule's LRs alone: grids hold what the rule makes of the LR that pilots found best for the small batch.
        "long_sgd_4": Arm(
            label="B 4, 40% warmup",
            panel="GPT, SGD, warmup",
            settings={**SGD, "batch_size": 4, "steps": 2048, "warmup_fraction": 0.4},
            factors={"peak_lr": (2.0**-5, 2.0**-4.5, 2.0**-4, 2.0**-3.5)},
            reference=True,
            scales=LAPTOP,
        ),
        "short_sgd_32": Arm(
            label="B 32, 5% warmup",
            panel="GPT, SGD, warmup",
            settings={**SGD, "batch_size": 32, "steps": 256},
            factors={"peak_lr": (2.0**-2, 2.0**-1.5, 2.0**-1, 2.0**-0.5)},
            scales=LAPTOP,
        ),
        "long_sgd_32": Arm(
            label="B 32, 40% warmup",
            panel="GPT, SGD, warmup",
            settings={**SGD, "batch_size": 32, "steps": 256, "warmup_fraction": 0.4},
            factors={"peak_lr": (2.0**-2, 2.0**-1.5, 2.0**-1, 2.0**-0.5)},
            scales=LAPTOP,
        ),
        "warm_sgd_128": Arm(
            label="B 128, 40% warmup",
            panel="GPT, SGD, warmup",
            settings={**SGD, "batch_size": 128, "steps": 64, "warmup_fraction": 0.4},
            factors={"peak_lr": log2_grid(0, 3, 1)},
            scales=LAPTOP,
        ),
        "warm_adam_8": Arm(
            label="B 8, 40% warmup",
            panel="GPT, AdamW, warmup",
            settings={"batch_size": 8, "steps": 1024, "warmup_fraction": 0.4},
            factors={"peak_lr": (2.0**-7.5, 2.0**-7, 2.0**-6.5, 2.0**-6)},
            reference=True,
            scales=LAPTOP,
        ),
        "short_adam_64": Arm(
            label="B 64, 5% warmup",
            panel="GPT, AdamW, warmup",
            settings={"batch_size": 64, "steps": 128},
            factors={"peak_lr": (2.0**-6, 2.0**-5.5, 2.0**-5, 2.0**-4.5)},
            scales=LAPTOP,
        ),
        "warm_adam_64": Arm(
            label="B 64, 40% warmup",
            panel="GPT, AdamW, warmup",
            settings={"batch_size": 64, "steps": 128, "warmup_fraction": 0.4},
            factors={"peak_lr": (2.0**-6, 2.0**-5.5, 2.0**-5, 2.0**-4.5)},
            scales=LAPTOP,
        ),
        "calm_8": Arm(
            label="B 8, 5% warmup",
            panel="MLP, SGD, 20% label noise",
            settings={**CALM, **SGD, "batch_size": 8, "steps": 1024},
            factors={"peak_lr": log2_grid(-8, -4)},
            reference=True,
            scales=LAPTOP,
        ),
        "calm_64": Arm(
            label="B 64, 5% warmup",
            panel="MLP, SGD, 20% label noise",
            settings={**CALM, **SGD, "batch_size": 64, "steps": 128},
            factors={"peak_lr": log2_grid(-4, -2)},
            scales=LAPTOP,
        ),
        "warm_calm_8": Arm(
            label="B 8, 40% warmup",
            panel="MLP, SGD, 20% label noise",
            settings={**CALM, **SGD, "batch_size": 8, "steps": 1024, "warmup_fraction": 0.4},
            factors={"peak_lr": log2_grid(-7, -5)},
            scales=LAPTOP,
        ),
        "warm_calm_64": Arm(
            label="B 64, 40% warmup",
            panel="MLP, SGD, 20% label noise",
            settings={**CALM, **SGD, "batch_size": 64, "steps": 128, "warmup_fraction": 0.4},
            factors={"peak_lr": log2_grid(-4, -2)},
            scales=LAPTOP,
        ),
        # With long warmup on whole grids, since no pilot has placed an LR at these scales.
        "wide_adam_8": Arm(
            label="B 8, 40% warmup",
            panel="GPT, AdamW, 40% warmup",
            settings={"batch_size": 8, "steps": 2048, "warmup_fraction": 0.4},
            factors={"peak_lr": log2_grid(-11, -5)},
            reference=True,
            scales=("smoke", *LARGE),
        ),
        "wide_adam_256": Arm(
            label="B 256, 40% warmup",
            panel="GPT, AdamW, 40% warmup",
            settings={"batch_size": 256, "steps": 64, "warmup_fraction": 0.4},
            factors={"peak_lr": log2_grid(-11, -5)},
            scales=("smoke", *LARGE),
        ),
    },
    factors={"peak_lr": log2_grid(-12, -3)},
    seeds=15,
    first_seed=2000,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            examples=1024,
            measurement={"probes": 2, "evaluations": 2, "evaluation_examples": 16, "final_examples": 16},
            seeds=1,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, some six minutes of training: two models, each with both optimizers, at six batch sizes"
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes; a GPT of 0.56 million parameters on source text",
            device="cuda",
            workload={"dataset": "python-source", "width": 144, "depth": 2, "heads": 4, "context": 64},
            examples=40960,
            seeds=5,
            arm_settings=LARGER,
            arm_factors=LARGER_GRIDS,
            departures=(
                "40960 sequences of 64 tokens are 2.6 million tokens, 4.7 a parameter: early training.",
                "Batches are 5 times those of the labels (2.5 times where training is twice as long at laptop scale), of"
                " longer sequences. Exponents do not depend on a factor common to all batch sizes. The noise scale stands"
                " beside.",
            ),
        ),
        "cluster": Scale(
            description="many GPUs, hours; a GPT of 25 million parameters on web text",
            device="cuda",
            workload={"dataset": "web-text", "width": 512, "depth": 8, "heads": 8, "context": 256},
            examples=1048576,
            seeds=5,
            arm_settings=LARGER,
            arm_factors=LARGER_GRIDS,
            departures=(
                "1048576 sequences of 256 tokens are 268 million tokens, about 10 a parameter.",
                "Batches are 5 times those of the labels (2.5 times where training is twice as long at laptop scale).",
            ),
        ),
    },
    departures=(
        "A GPT of one layer and width 16 on Python's documentation: 8192 sequences of 16 tokens are 131 thousand tokens, some"
        " 15 a parameter, and less than one pass; twice as many where the rule is to break under AdamW.",
        "An MLP on scikit-learn's digits, 1079 training images, 60% of their labels drawn at random, once, so that the noise"
        " scale is some 300 images and a sweep fits below it: 8192 examples are eight passes, training before it overfits.",
        "One schedule (5% warmup, cosine to 10%), no weight decay. Momentum and betas do not change with the batch size.",
    ),
    answer=("scaling.sgd_linear", "scaling.adam_sqrt", "scaling.breaks", "scaling.trajectory"),
    judgements=(
        Judgement(
            claim="scaling.sgd_linear",
            note=(
                "Every doubling counts up to a quarter of the noise scale, which pilots put at some 300 images and 40"
                " sequences: 64 and 8. The region, 0.75 to 1.25, is what lies nearer to 1 than to the square root's 1/2: it"
                " decides between the documents, and not whether the rule is exact. In versions 1 to 4 it was 0.8 to 1.2."
                " Exponents of parts of the MLP's sweep stand beside."
            ),
            reported=(
                Reported(name="exponent of MLP and SGD from B = 2 to 8 alone", observe=Slope(points=MLP_SGD_POINTS[:3])),
                Reported(name="exponent of MLP and SGD from B = 16 to 64 alone", observe=Slope(points=MLP_SGD_POINTS[3:])),
                Reported(
                    name="AICc of the saturating form minus that of the power law, MLP and SGD, B = 2 to 64",
                    observe=FormGap(points=MLP_SGD_POINTS, left="saturating", right="power", exponent=1.0),
                ),
                Reported(
                    name="noise scale in examples, MLP and SGD at B = 64", observe=NoiseScale(arm="mlp_sgd_64", first=0.05)
                ),
                Reported(
                    name="exponent of GPT and SGD from B = 2 to 8, too short a range", observe=Slope(points=GPT_SGD_POINTS)
                ),
                Reported(
                    name="noise scale in sequences, GPT and SGD at B = 8", observe=NoiseScale(arm="gpt_sgd_8", first=0.05)
                ),
            ),
            criteria=(
                Criterion(
                    name="exponent of the best LR in B, MLP, SGD",
                    panel="MLP, SGD",
                    observe=Slope(points=MLP_SGD_POINTS),
                    **LINEAR,
                    says="With SGD, the best learning rate of an MLP scales as the batch size to the power {estimate}",
                    expected=Expected(
                        value=1.0, source="Goyal et al. 2017, the linear scaling rule", spread=0.2, scales=LAPTOP[1:]
                    ),
                    scales=LAPTOP[1:],
                    alternatives=(
                        Alternative(
                            name="parabola through three points",
                            observe=Slope(
                                points=(
                                    (2, Optimum(arm="mlp_sgd_2")),
                                    (4, Optimum(arm="mlp_sgd_4")),
                                    (8, Optimum(arm="mlp_sgd_8")),
                                    (16, Optimum(arm="mlp_sgd_16")),
                                    (32, Optimum(arm="mlp_sgd_32")),
                                    (64, Optimum(arm="mlp_sgd_64")),
                                )
                            ),
                        ),
                    ),
                ),
                Criterion(
                    name="exponent of the best LR in B, GPT, SGD",
                    panel="GPT, SGD",
                    observe=Slope(points=GPT_SGD_POINTS),
                    **LINEAR,
                    says="With SGD, the best learning rate of a GPT scales as the batch size to the power {estimate}",
                    # At laptop scale a quarter of the noise scale leaves 4x in B, in which flat optima resolve no exponent
                    # (five pilot seeds: 1.5 with an error of 0.24). It is reported there.
                    scales=("gpu", "cluster"),
                    alternatives=(
                        Alternative(
                            name="parabola through three points",
                            observe=Slope(
                                points=(
                                    (2, Optimum(arm="gpt_sgd_2")),
                                    (4, Optimum(arm="gpt_sgd_4")),
                                    (8, Optimum(arm="gpt_sgd_8")),
                                )
                            ),
                        ),
                    ),
                ),
            ),
            advice={
                "supported": "With SGD below the critical batch size, raise the learning rate in proportion to the batch size.",
                "partly": "With SGD below the critical batch size, raise the learning rate and tune around the linear rule.",
                "refuted": "With SGD, tune the learning rate again for a new batch size: the linear rule misses it.",
                "refuted: opposite": (
                    "With SGD, raise the learning rate by no more than the root of the batch, or tune it again."
                ),
            },
        ),
        Judgement(
            claim="scaling.adam_sqrt",
            right={"supported": "square root"},
            note=(
                "Betas are fixed, as in the documents, which do not rescale them; what theory rescales stands beside. Every"
                " doubling counts up to a quarter of the noise scale, which pilots put at some 270 images and 90 sequences: 64"
                " and 16. The region, 0.25 to 0.75, is what lies nearer to 1/2 than to 0 and to the 1 of the linear rule: it"
                " decides between the documents. In versions 1 to 4 it was 0.3 to 0.7, and the null was 0."
            ),
            reported=(
                Reported(
                    name="exponent with betas of a fixed half-life in examples, MLP, B = 4 to 64",
                    observe=Slope(points=HALF_LIFE_POINTS),
                ),
                Reported(
                    name="AICc of the saturating form minus that of the power law, MLP and AdamW, B = 4 to 64",
                    observe=FormGap(points=MLP_ADAM_POINTS, left="saturating", right="power", exponent=0.5),
                ),
                Reported(name="exponent of GPT and AdamW from B = 4 to 16", observe=Slope(points=GPT_ADAM_POINTS[1:])),
                Reported(
                    name="noise scale in examples, MLP and AdamW at B = 64", observe=NoiseScale(arm="mlp_adam_64", first=0.05)
                ),
                Reported(
                    name="noise scale in sequences, GPT and AdamW at B = 16", observe=NoiseScale(arm="gpt_adam_16", first=0.05)
                ),
            ),
            criteria=(
                Criterion(
                    name="exponent of the best LR in B, MLP, AdamW, fixed betas",
                    panel="MLP, AdamW",
                    observe=Slope(points=MLP_ADAM_POINTS),
                    **ROOT,
                    says=(
                        "With fixed betas, the best learning rate of AdamW for an MLP scales as the batch size to the power"
                        " {estimate}"
                    ),
                    expected=Expected(
                        value=0.5,
                        source="Malladi et al. 2022, the square-root rule, there with rescaled betas",
                        spread=0.17,
                        scales=LAPTOP[1:],
                    ),
                    scales=LAPTOP[1:],
                    alternatives=(
                        Alternative(
                            name="parabola through three points",
                            observe=Slope(
                                points=(
                                    (4, Optimum(arm="mlp_adam_4")),
                                    (8, Optimum(arm="mlp_adam_8")),
                                    (16, Optimum(arm="mlp_adam_16")),
                                    (32, Optimum(arm="mlp_adam_32")),
                                    (64, Optimum(arm="mlp_adam_64")),
                                )
                            ),
                        ),
                    ),
                ),
                Criterion(
                    name="exponent of the best LR in B, GPT, AdamW, fixed betas",
                    panel="GPT, AdamW",
                    observe=Slope(points=GPT_ADAM_POINTS),
                    **ROOT,
                    says=(
                        "With fixed betas, the best learning rate of AdamW for a GPT scales as the batch size to the power"
                        " {estimate}"
                    ),
                    expected=Expected(
                        value=0.5,
                        source="Malladi et al. 2022, the square-root rule, there with rescaled betas",
                        spread=0.23,
                        scales=LAPTOP[1:],
                    ),
                    alternatives=(
                        Alternative(
                            name="parabola through three points",
                            observe=Slope(
                                points=(
                                    (2, Optimum(arm="gpt_adam_2")),
                                    (4, Optimum(arm="gpt_adam_4")),
                                    (8, Optimum(arm="gpt_adam_8")),
                                    (16, Optimum(arm="gpt_adam_16")),
                                )
                            ),
                        ),
                    ),
                ),
            ),
            advice={
                "supported": "With Adam below the critical batch size, raise the learning rate with the root of the batch.",
                "partly": "With Adam below the critical batch size, raise the learning rate and tune around the square root.",
                "refuted": "With Adam, tune the learning rate again for a new batch size: the square-root rule misses it.",
                "refuted: smaller": "With Adam, raise the learning rate by less than the root of the batch, or tune it again.",
                "refuted: larger": "With Adam, raise the learning rate by more than the root of the batch, and tune it again.",
            },
        ),
        Judgement(
            claim="scaling.breaks",
            note=(
                "A rule fails if it costs 2% of the fall, and serves if it surely costs less; no document says how much a"
                " failing rule costs. One rule places the batches. Past the noise scale is the first doubling of at least twice"
                " the noise scale of runs of the same length, with 64 updates: pilots put it at some 40 sequences for SGD, so"
                " 128, and at 110 for AdamW in runs twice as long, so 256. Short of it is the largest doubling up to a quarter,"
                " from a fourth of that batch. With 64 updates 5% of warmup is three of them: SGD with 40% stands beside, for a"
                " warmup too short is another reason to diverge. The sides about further speedup are judged in critical_batch."
            ),
            reported=(
                Reported(
                    name="noise scale in sequences, GPT and AdamW, B = 8, 16384 sequences",
                    observe=NoiseScale(arm="long_adam_8", first=0.05),
                ),
                Reported(
                    name="regret of no scaling, GPT and AdamW, B = 8 to 256, of the fall",
                    observe=FallShare(
                        left=LossAt(arm="long_adam_256", tuned_for="long_adam_8", times=1.0, window_octaves=1.0),
                        right=LossAt(arm="long_adam_256", tuned_for="long_adam_256", window_octaves=1.0),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="loss that the linear rule costs SGD at B = 128 if 40% of the run is warmup, of the fall",
                    observe=FallShare(
                        left=LossAt(arm="warm_sgd_128", tuned_for="gpt_sgd_8", times=16.0, window_octaves=1.0),
                        right=LossAt(arm="gpt_sgd_128", tuned_for="gpt_sgd_128", window_octaves=1.0),
                        best_of=("gpt_sgd_128",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="noise scale in sequences, GPT and SGD at B = 2", observe=NoiseScale(arm="gpt_sgd_2", first=0.05)
                ),
            ),
            criteria=(
                Criterion(
                    name="regret of the linear rule from B = 8 to 128, GPT, SGD",
                    panel="GPT, SGD with the linear rule",
                    observe=FallShare(
                        left=LossAt(arm="gpt_sgd_128", tuned_for="gpt_sgd_8", times=16.0, window_octaves=1.0),
                        right=LossAt(arm="gpt_sgd_128", tuned_for="gpt_sgd_128", window_octaves=1.0),
                    ),
                    **FAILS,
                    says=(
                        "By the linear rule from batch size 8, SGD at 128 ends {higher} of the fall than at its best learning"
                        " rate"
                    ),
                    alternatives=(
                        Alternative(
                            name="from the best grid point",
                            observe=FallShare(
                                left=LossAt(arm="gpt_sgd_128", tuned_for="gpt_sgd_8", times=16.0),
                                right=LossAt(arm="gpt_sgd_128", tuned_for="gpt_sgd_128"),
                            ),
                        ),
                    ),
                ),
                Criterion(
                    name="regret of the linear rule from B = 2 to 8, GPT, SGD",
                    panel="GPT, SGD with the linear rule",
                    observe=FallShare(
                        left=LossAt(arm="gpt_sgd_8", tuned_for="gpt_sgd_2", times=4.0, window_octaves=1.0),
                        right=LossAt(arm="gpt_sgd_8", tuned_for="gpt_sgd_8", window_octaves=1.0),
                    ),
                    **SERVES,
                    says=(
                        "By the linear rule from batch size 2, SGD at 8 ends {higher} of the fall than at its best learning"
                        " rate"
                    ),
                ),
                Criterion(
                    name="regret of the square-root rule from B = 8 to 256, GPT, AdamW",
                    panel="GPT, AdamW with the square-root rule",
                    observe=FallShare(
                        left=LossAt(arm="long_adam_256", tuned_for="long_adam_8", times=32**0.5, window_octaves=1.0),
                        right=LossAt(arm="long_adam_256", tuned_for="long_adam_256", window_octaves=1.0),
                    ),
                    **FAILS,
                    says=(
                        "By the square-root rule from batch size 8, AdamW at 256 ends {higher} of the fall than at its best"
                        " learning rate"
                    ),
                    alternatives=(
                        Alternative(
                            name="from B = 8, three-point window",
                            observe=FallShare(
                                left=LossAt(arm="long_adam_256", tuned_for="long_adam_8", times=32**0.5, window_octaves=0.5),
                                right=LossAt(arm="long_adam_256", tuned_for="long_adam_256", window_octaves=0.5),
                            ),
                        ),
                    ),
                ),
                Criterion(
                    name="regret of the square-root rule from B = 4 to 16, GPT, AdamW",
                    panel="GPT, AdamW with the square-root rule",
                    observe=FallShare(
                        left=LossAt(arm="gpt_adam_16", tuned_for="gpt_adam_4", times=2.0, window_octaves=1.0),
                        right=LossAt(arm="gpt_adam_16", tuned_for="gpt_adam_16", window_octaves=1.0),
                    ),
                    **SERVES,
                    says=(
                        "By the square-root rule from batch size 4, AdamW at 16 ends {higher} of the fall than at its best"
                        " learning rate"
                    ),
                ),
            ),
            advice={
                "supported": "Scale the learning rate by the rule below the critical batch size, and tune it again beyond.",
                "partly": "Tune the learning rate again past the critical batch size; below it, check the rule once.",
                "refuted": "Do not trust the critical batch size to say how far a rule reaches: tune the learning rate.",
            },
        ),
        Judgement(
            claim="scaling.trajectory",
            right={"supported": "per example"},
            note=(
                "The largest batch up to a quarter of the noise scale against a fourth of it, on each panel. The bar of 3% is"
                " ours, now of the fall and on average from a tenth of the run on. A gap that an unscaled LR leaves as well"
                " would say little: it is reported beside."
            ),
            reported=(
                Reported(
                    name="the same without scaling the LR, MLP and SGD",
                    observe=MeanGap(arm="mlp_sgd_64", tuned_for="mlp_sgd_16", times=1.0, absolute=True),
                    unit="relative",
                ),
                Reported(
                    name="the same without scaling the LR, GPT and SGD",
                    observe=MeanGap(arm="gpt_sgd_8", tuned_for="gpt_sgd_2", times=1.0, absolute=True),
                    unit="relative",
                ),
                Reported(
                    name="the same without scaling the LR, GPT and AdamW",
                    observe=MeanGap(arm="gpt_adam_16", tuned_for="gpt_adam_4", times=1.0, absolute=True),
                    unit="relative",
                ),
                Reported(
                    name="signed gap, GPT and SGD",
                    observe=MeanGap(arm="gpt_sgd_8", tuned_for="gpt_sgd_2", times=4.0),
                    unit="relative",
                ),
                Reported(
                    name="signed gap, GPT and AdamW",
                    observe=MeanGap(arm="gpt_adam_16", tuned_for="gpt_adam_4", times=2.0),
                    unit="relative",
                ),
                Reported(
                    name="the same without scaling the LR, MLP and AdamW",
                    observe=MeanGap(arm="mlp_adam_64", tuned_for="mlp_adam_16", times=1.0, absolute=True),
                    unit="relative",
                ),
            ),
            criteria=(
                Criterion(
                    name="mean gap of the validation curves at equal examples, MLP, SGD, B = 16 and 64",
                    panel="MLP, SGD with the linear rule",
                    observe=MeanGap(arm="mlp_sgd_64", tuned_for="mlp_sgd_16", times=4.0, absolute=True),
                    **SAME,
                    says=(
                        "By the linear rule, an MLP's losses under SGD at batches of 16 and 64 lie {estimate} of the fall apart"
                        " on average"
                    ),
                    scales=LAPTOP[1:],
                ),
                Criterion(
                    name="mean gap of the validation curves at equal examples, GPT, SGD, B = 2 and 8",
                    panel="GPT, SGD with the linear rule",
                    observe=MeanGap(arm="gpt_sgd_8", tuned_for="gpt_sgd_2", times=4.0, absolute=True),
                    **SAME,
                    says=(
                        "By the linear rule, a GPT's losses under SGD at batches of 2 and 8 lie {estimate} of the fall apart on"
                        " average"
                    ),
                    alternatives=(
                        Alternative(
                            name="from 20% of the run on",
                            observe=MeanGap(arm="gpt_sgd_8", tuned_for="gpt_sgd_2", times=4.0, after=0.2, absolute=True),
                        ),
                    ),
                ),
                Criterion(
                    name="mean gap of the validation curves at equal examples, MLP, AdamW, B = 16 and 64",
                    panel="MLP, AdamW with the square-root rule",
                    observe=MeanGap(arm="mlp_adam_64", tuned_for="mlp_adam_16", times=2.0, absolute=True),
                    **SAME,
                    says=(
                        "By the square-root rule, an MLP's losses under AdamW at batches of 16 and 64 lie {estimate} of the"
                        " fall apart on average"
                    ),
                    scales=LAPTOP[1:],
                ),
                Criterion(
                    name="mean gap of the validation curves at equal examples, GPT, AdamW, B = 4 and 16",
                    panel="GPT, AdamW with the square-root rule",
                    observe=MeanGap(arm="gpt_adam_16", tuned_for="gpt_adam_4", times=2.0, absolute=True),
                    **SAME,
                    says=(
                        "By the square-root rule, a GPT's losses under AdamW at batches of 4 and 16 lie {estimate} of the fall"
                        " apart on average"
                    ),
                    alternatives=(
                        Alternative(
                            name="from 20% of the run on",
                            observe=MeanGap(arm="gpt_adam_16", tuned_for="gpt_adam_4", times=2.0, after=0.2, absolute=True),
                        ),
                    ),
                ),
            ),
            advice={
                "supported": (
                    "Compare curves at equal examples after scaling: a lasting gap above 3% of the fall points to an error."
                ),
                "partly": "Compare curves at equal examples after scaling, and expect them to agree for some models only.",
                "refuted": "After scaling batch and learning rate, compare final losses: curves differ on the way.",
            },
        ),
        Judgement(
            claim="scaling.warmup_with_batch",
            note=(
                "A gain that grows with the batch, and not the place of a flat minimum. Each panel raises the batch eightfold,"
                " to the largest doubling up to the noise scale with 100 updates or more, and the LR by the rule from the LR"
                " tuned for the small batch with 5% warmup. The documents name no model, so an MLP is a panel although pilots"
                " showed no effect there; with 20% label noise, for at 60% seeds differ too much to tell 1% of the fall. Warmup"
                " is a share of the run: at the large batch 40% of it are as many updates as 5% at the small one."
            ),
            reported=(
                Reported(
                    name="gain by the long warmup at B = 32, GPT, SGD, of the fall",
                    observe=FallShare(
                        left=LossAt(arm="short_sgd_32", tuned_for="gpt_sgd_4", times=8.0, window_octaves=1.0),
                        right=LossAt(arm="long_sgd_32", tuned_for="gpt_sgd_4", times=8.0, window_octaves=1.0),
                        best_of=("gpt_sgd_4",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="gain by the long warmup at B = 64, GPT, AdamW, of the fall",
                    observe=FallShare(
                        left=LossAt(arm="short_adam_64", tuned_for="gpt_adam_8", times=8**0.5, window_octaves=1.0),
                        right=LossAt(arm="warm_adam_64", tuned_for="gpt_adam_8", times=8**0.5, window_octaves=1.0),
                        best_of=("gpt_adam_8",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="gain by the long warmup at B = 64, MLP, SGD, of the fall",
                    observe=FallShare(
                        left=LossAt(arm="calm_64", tuned_for="calm_8", times=8.0, window_octaves=1.0),
                        right=LossAt(arm="warm_calm_64", tuned_for="calm_8", times=8.0, window_octaves=1.0),
                        best_of=("calm_8",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="noise scale in images, MLP with 20% label noise, SGD, B = 8",
                    observe=NoiseScale(arm="calm_8", first=0.05),
                ),
            ),
            criteria=(
                Criterion(
                    name="gain by 40% instead of 5% warmup at B = 32 less that at B = 4, GPT, SGD",
                    panel="GPT, SGD with the linear rule",
                    observe=Gap(
                        left=FallShare(
                            left=LossAt(arm="short_sgd_32", tuned_for="gpt_sgd_4", times=8.0, window_octaves=1.0),
                            right=LossAt(arm="long_sgd_32", tuned_for="gpt_sgd_4", times=8.0, window_octaves=1.0),
                            best_of=("gpt_sgd_4",),
                        ),
                        right=FallShare(
                            left=LossAt(arm="gpt_sgd_4", tuned_for="gpt_sgd_4", times=1.0, window_octaves=1.0),
                            right=LossAt(arm="long_sgd_4", tuned_for="gpt_sgd_4", times=1.0, window_octaves=1.0),
                            best_of=("gpt_sgd_4",),
                        ),
                    ),
                    **GAINS,
                    says=(
                        "At the LRs of the linear rule, 40% instead of 5% warmup gains a GPT under SGD {estimate} more of the"
                        " fall at batch size 32 than at 4"
                    ),
                    scales=LAPTOP[1:],
                ),
                Criterion(
                    name="gain by 40% instead of 5% warmup at B = 64 less that at B = 8, GPT, AdamW",
                    panel="GPT, AdamW with the square-root rule",
                    observe=Gap(
                        left=FallShare(
                            left=LossAt(arm="short_adam_64", tuned_for="gpt_adam_8", times=8**0.5, window_octaves=1.0),
                            right=LossAt(arm="warm_adam_64", tuned_for="gpt_adam_8", times=8**0.5, window_octaves=1.0),
                            best_of=("gpt_adam_8",),
                        ),
                        right=FallShare(
                            left=LossAt(arm="gpt_adam_8", tuned_for="gpt_adam_8", times=1.0, window_octaves=1.0),
                            right=LossAt(arm="warm_adam_8", tuned_for="gpt_adam_8", times=1.0, window_octaves=1.0),
                            best_of=("gpt_adam_8",),
                        ),
                    ),
                    **GAINS,
                    says=(
                        "At the LRs of the square-root rule, 40% instead of 5% warmup gains a GPT under AdamW {estimate} more"
                        " of the fall at batch size 64 than at 8"
                    ),
                    scales=LAPTOP[1:],
                ),
                Criterion(
                    name="gain by 40% instead of 5% warmup at B = 64 less that at B = 8, MLP, SGD",
                    panel="MLP, SGD with the linear rule",
                    observe=Gap(
                        left=FallShare(
                            left=LossAt(arm="calm_64", tuned_for="calm_8", times=8.0, window_octaves=1.0),
                            right=LossAt(arm="warm_calm_64", tuned_for="calm_8", times=8.0, window_octaves=1.0),
                            best_of=("calm_8",),
                        ),
                        right=FallShare(
                            left=LossAt(arm="calm_8", tuned_for="calm_8", times=1.0, window_octaves=1.0),
                            right=LossAt(arm="warm_calm_8", tuned_for="calm_8", times=1.0, window_octaves=1.0),
                            best_of=("calm_8",),
                        ),
                    ),
                    **GAINS,
                    says=(
                        "At the LRs of the linear rule, 40% instead of 5% warmup gains an MLP under SGD {estimate} more of the"
                        " fall at batch size 64 than at 8"
                    ),
                    scales=LAPTOP[1:],
                ),
                Criterion(
                    name="gain by 40% instead of 5% warmup at 32 times the batch less that at the smaller one, GPT, AdamW",
                    panel="GPT, AdamW with the square-root rule",
                    observe=Gap(
                        left=FallShare(
                            left=LossAt(arm="long_adam_256", tuned_for="long_adam_8", times=32**0.5, window_octaves=1.0),
                            right=LossAt(arm="wide_adam_256", tuned_for="long_adam_8", times=32**0.5, window_octaves=1.0),
                            best_of=("long_adam_8",),
                        ),
                        right=FallShare(
                            left=LossAt(arm="long_adam_8", tuned_for="long_adam_8", window_octaves=1.0),
                            right=LossAt(arm="wide_adam_8", tuned_for="long_adam_8", window_octaves=1.0),
                            best_of=("long_adam_8",),
                        ),
                    ),
                    **GAINS,
                    says=(
                        "At the LRs of the square-root rule, 40% instead of 5% warmup gains AdamW {estimate} more of the fall"
                        " at 32 times the batch size than at the smaller one"
                    ),
                    scales=LARGE,
                ),
            ),
            advice={
                "supported": "Warm up for a larger share of the run if you raise the batch size by a rule.",
                "partly": "Try a longer warmup if you raise the batch size by a rule.",
                "refuted": "Keep the share of warmup if you raise the batch size.",
                "refuted: opposite": "Shorten warmup if you raise the batch size.",
            },
        ),
    ),
    published=(
        Published(
            claim="scaling.sgd_linear",
            finding=(
                "ResNet-50 on ImageNet, top-1 error at batch 8192: linear rule 23.74 ± 0.09, square root 26.22 ± 0.03, unscaled"
                " 41.67 ± 0.10; 23.60 ± 0.12 at batch 256."
            ),
            source="Goyal et al. 2017",
            link="https://arxiv.org/abs/1706.02677",
            how="read",
        ),
        Published(
            claim="scaling.adam_sqrt",
            finding="GPT-2 small, tuned pairs: exponent 0.56 at fixed beta2.",
            source="two tuned points of a released sweep",
            value=0.56,
            criterion="exponent of the best LR in B, GPT, AdamW, fixed betas",
            how="computed from read data",
            if_different=(
                "Two tuned points fix an exponent to some 0.2, and theirs lie on factors of two; and short runs: with 0.999 as"
                " second beta, runs of 512 updates or fewer end within its memory. The exponent at betas of a fixed half-life"
                " tells the latter."
            ),
        ),
        Published(
            claim="scaling.adam_sqrt",
            finding="GPT-2 small, tuned pairs: exponent 0.11 at a fixed half-life in tokens.",
            source="two tuned points of a released sweep",
            how="computed from read data",
        ),
        Published(
            claim="scaling.adam_sqrt",
            finding="Theory of Adam's noise: LR times the root of the factor of B, 1 - beta1 and 1 - beta2 times the factor.",
            source="Malladi et al. 2022, code",
            link="https://arxiv.org/abs/2205.10287",
            how="read",
        ),
    ),
)
