"""Does the best learning rate move with width, and does muP hold it still?"""

from folklore.harness.observables import ActivationSlope, Gap, Optimum, Slope, TransferRegret
from folklore.harness.spec import (
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Expected,
    Judgement,
    Measurement,
    Published,
    Scale,
    Study,
    Training,
    Workload,
    log2_grid,
)

STANDARD = {"parametrization": "standard"}
MUP = {"parametrization": "mup"}
# A coordinate check looks at the first five steps at a deliberately large LR; the readout starts at zero, so that what it
# says is learnt.
CHECK = {"steps": 5, "zero_readout": True}
CHECK_LR = {"peak_lr": (2.0**-5,)}
# An exponent of up to 0.2 is 1.5x in LR over 8x in width.
UNCHANGED = {"test": "equivalence", "null": 0.0, "margin": 0.2}
# 32x in width.
ON_GPU = ("gpu", "cluster")

STUDY = Study(
    name="mup_transfer",
    # Version 1: five seeds from 100, wider grids, widths to 128 at every scale; its curves placed these grids (LOG.md).
    version=2,
    title="Learning-rate transfer across widths",
    question="Does the best learning rate move with width, and does muP hold it still?",
    # Constant LR and few steps: a workload on which the standard parametrization does shift. With decay and longer runs it
    # hardly does, and then nothing could be told apart.
    workload=Workload(model="gpt", dataset="python-docs", depth=2, heads=2, context=32, base_width=16),
    training=Training(
        optimizer="adamw",
        schedule="constant",
        warmup_fraction=0.0,
        weight_decay=0.0,
        batch_size=8,
        steps=120,
    ),
    measurement=Measurement(probes=5, evaluations=2, evaluation_examples=64, final_examples=128),
    arms={
        "sp_16": Arm(
            label="width 16", panel="standard", settings={**STANDARD, "width": 16}, factors={"peak_lr": log2_grid(-9, -5)}
        ),
        "sp_32": Arm(
            label="width 32", panel="standard", settings={**STANDARD, "width": 32}, factors={"peak_lr": log2_grid(-9, -6)}
        ),
        "sp_64": Arm(
            label="width 64", panel="standard", settings={**STANDARD, "width": 64}, factors={"peak_lr": log2_grid(-10, -7)}
        ),
        # Up to where the LR tuned at width 16 may lie: its regret is judged here.
        "sp_128": Arm(
            label="width 128", panel="standard", settings={**STANDARD, "width": 128}, factors={"peak_lr": log2_grid(-11, -6)}
        ),
        "sp_256": Arm(
            label="width 256",
            panel="standard",
            settings={**STANDARD, "width": 256},
            factors={"peak_lr": log2_grid(-13, -8)},
            scales=ON_GPU,
        ),
        "sp_512": Arm(
            label="width 512",
            panel="standard",
            settings={**STANDARD, "width": 512},
            factors={"peak_lr": log2_grid(-14, -6)},
            scales=ON_GPU,
        ),
        "mup_16": Arm(label="width 16", panel="muP", settings={**MUP, "width": 16}),
        "mup_32": Arm(label="width 32", panel="muP", settings={**MUP, "width": 32}),
        "mup_64": Arm(label="width 64", panel="muP", settings={**MUP, "width": 64}),
        "mup_128": Arm(label="width 128", panel="muP", settings={**MUP, "width": 128}),
        "mup_256": Arm(label="width 256", panel="muP", settings={**MUP, "width": 256}, scales=ON_GPU),
        "mup_512": Arm(label="width 512", panel="muP", settings={**MUP, "width": 512}, scales=ON_GPU),
        "check_16": Arm(label="width 16", panel="check", settings={**MUP, **CHECK, "width": 16}, factors=CHECK_LR),
        "check_32": Arm(label="width 32", panel="check", settings={**MUP, **CHECK, "width": 32}, factors=CHECK_LR),
        "check_64": Arm(label="width 64", panel="check", settings={**MUP, **CHECK, "width": 64}, factors=CHECK_LR),
        "check_128": Arm(label="width 128", panel="check", settings={**MUP, **CHECK, "width": 128}, factors=CHECK_LR),
        "check_256": Arm(
            label="width 256", panel="check", settings={**MUP, **CHECK, "width": 256}, factors=CHECK_LR, scales=ON_GPU
        ),
        "check_512": Arm(
            label="width 512", panel="check", settings={**MUP, **CHECK, "width": 512}, factors=CHECK_LR, scales=ON_GPU
        ),
    },
    factors={"peak_lr": log2_grid(-8, -5)},
    seeds=7,
    first_seed=500,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 10},
            measurement={"probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16},
            factors={"peak_lr": (2.0**-8, 2.0**-6, 2.0**-4)},
            arm_factors={
                "sp_16": {"peak_lr": (2.0**-8, 2.0**-6, 2.0**-4)},
                "sp_32": {"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)},
                "sp_64": {"peak_lr": (2.0**-10, 2.0**-8, 2.0**-6)},
                "sp_128": {"peak_lr": (2.0**-10, 2.0**-8, 2.0**-6)},
            },
            seeds=1,
            judged=False,
        ),
        "laptop": Scale(description="two CPU cores, at most five minutes of training"),
        "gpu": Scale(
            description="one GPU, about a minute; widths to 512, a longer context and a larger batch",
            device="cuda",
            workload={"context": 64},
            training={"batch_size": 32, "steps": 300, "precision": "tf32"},
            departures=("300 steps of 32 sequences of 64 tokens, in TF32.",),
            measurement={"evaluation_examples": 256, "final_examples": 512},
        ),
        "cluster": Scale(
            description="many GPUs, hours: the same arms on web text, as deep as a 100M-parameter model",
            device="cuda",
            workload={"dataset": "web-text", "context": 512, "depth": 12},
            training={"batch_size": 64, "steps": 2000, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 2048},
        ),
    },
    departures=(
        "Small GPTs on one text, a constant LR and, at laptop scale, 120 steps: chosen because the standard parametrization"
        " shifts there. With a decaying LR and longer runs the published shift nearly vanishes.",
        "Width alone grows; depth, heads, context and batch stay.",
        "Weight decay is zero: how it should scale with width is a question of its own.",
    ),
    revised="Nulls, equivalence of invariant and expected values; no threshold moved.",
    answer=("mup.regret", "mup.sp_shifts", "mup.invariant", "mup.coord_check"),
    judgements=(
        Judgement(
            claim="mup.sp_shifts",
            criteria=(
                Criterion(
                    name="exponent of the best LR in width, standard parametrization",
                    observe=Slope(
                        points=(
                            (16, Optimum(arm="sp_16")),
                            (32, Optimum(arm="sp_32")),
                            (64, Optimum(arm="sp_64")),
                            (128, Optimum(arm="sp_128")),
                            (256, Optimum(arm="sp_256")),
                            (512, Optimum(arm="sp_512")),
                        )
                    ),
                    null=0.0,
                    claimed=AtMost(value=-0.3),
                    refuted=AtLeast(value=0.0),
                    expected=Expected(value=-1.0, source="Yang et al. 2022, figure: 2^-10 at width 128, 2^-16 at width 8192"),
                    says="In standard parametrization, the best learning rate scales as the width to the power {estimate}",
                ),
            ),
            advice={
                "supported": "If you widen a model without muP, tune the learning rate again, beginning below the old one.",
                "partly": "If you widen a model without muP, expect its best learning rate to be somewhat lower.",
                "refuted": "If you widen a model, keep its learning rate and check one value below it.",
            },
        ),
        Judgement(
            claim="mup.invariant",
            criteria=(
                Criterion(
                    name="exponent of the best LR in width, muP",
                    observe=Slope(
                        points=(
                            (16, Optimum(arm="mup_16")),
                            (32, Optimum(arm="mup_32")),
                            (64, Optimum(arm="mup_64")),
                            (128, Optimum(arm="mup_128")),
                            (256, Optimum(arm="mup_256")),
                            (512, Optimum(arm="mup_512")),
                        )
                    ),
                    expected=Expected(value=0.0, source="Yang et al. 2022, figure: about 2^-10 from width 128 to 8192"),
                    says="Under muP, the best learning rate scales as the width to the power {estimate}",
                    **UNCHANGED,
                ),
            ),
            advice={
                "supported": "Under muP, keep the learning rate when you widen the model.",
                "refuted": "Under muP, tune the learning rate again when you widen the model.",
            },
        ),
        Judgement(
            claim="mup.regret",
            criteria=(
                Criterion(
                    name="loss at width 128 with the LR tuned at width 16, over its own best, muP",
                    observe=TransferRegret(arm="mup_128", tuned_for="mup_16"),
                    claimed=AtMost(value=0.01),
                    refuted=AtLeast(value=0.01),
                    says="Under muP, width 128 ends {higher} in loss at the best learning rate of width 16 than at its own",
                    unit="relative",
                ),
                Criterion(
                    name="loss at width 512 with the LR tuned at width 16, over its own best, muP",
                    observe=TransferRegret(arm="mup_512", tuned_for="mup_16"),
                    claimed=AtMost(value=0.01),
                    refuted=AtLeast(value=0.01),
                    says="Under muP, width 512 ends {higher} in loss at the best learning rate of width 16 than at its own",
                    unit="relative",
                    scales=ON_GPU,
                ),
                Criterion(
                    name="regret in standard parametrization minus regret under muP",
                    observe=Gap(
                        left=TransferRegret(arm="sp_128", tuned_for="sp_16"),
                        right=TransferRegret(arm="mup_128", tuned_for="mup_16"),
                    ),
                    null=0.0,
                    claimed=AtLeast(value=0.0),
                    refuted=AtMost(value=0.0),
                    says="From width 16 to 128, the same learning rate costs {more} in standard parametrization than under muP",
                    unit="relative",
                ),
            ),
            advice={
                "supported": "Under muP, tune the learning rate on a narrow model and keep it for a wider one.",
                "partly": "Under muP, begin at the learning rate of a narrow model and check one value on either side.",
                "refuted": "Do not carry a learning rate from a narrow model to a wide one, muP or not.",
            },
        ),
        Judgement(
            claim="mup.coord_check",
            note=(
                "The largest slope over steps 1 to 5, the embedding, both blocks and the logits: a maximum, so noise speaks"
                " against the claim."
            ),
            criteria=(
                Criterion(
                    name="largest slope of log activation size on log width, muP",
                    observe=ActivationSlope(
                        points=(
                            (16, "check_16"),
                            (32, "check_32"),
                            (64, "check_64"),
                            (128, "check_128"),
                            (256, "check_256"),
                            (512, "check_512"),
                        )
                    ),
                    claimed=AtMost(value=0.1),
                    refuted=AtLeast(value=0.1),
                    says="Over five steps under muP, activations change with the width to the power {estimate} at most",
                ),
            ),
            advice={
                "supported": "Run this check on your own muP model: slopes of up to 0.1 are right.",
                "refuted": "Find the layer whose activations follow the width before you train wide models.",
            },
        ),
    ),
    published=(
        Published(
            claim="mup.sp_shifts",
            finding="Transformer, Adam, width 128 to 8192: best LR 2^-10 to 2^-16 in standard parametrization.",
            source="Yang et al. 2022, figure",
            link="https://arxiv.org/abs/2203.03466",
            value=-1.0,
            criterion="exponent of the best LR in width, standard parametrization",
            how="read",
        ),
        Published(
            claim="mup.invariant",
            finding="Transformer, Adam, width 128 to 8192: best LR about 2^-10 throughout under muP.",
            source="Yang et al. 2022, figure",
            link="https://arxiv.org/abs/2203.03466",
            value=0.0,
            criterion="exponent of the best LR in width, muP",
            how="read",
        ),
    ),
)
