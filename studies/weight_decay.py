"""What does weight decay do to the weights, and how does it differ from L2 in the loss?"""

from folklore.harness.observables import Computed, CurveMean, CurveSlope, Quotient
from folklore.harness.spec import (
    Alternative,
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Judgement,
    Measurement,
    Published,
    Reported,
    Scale,
    Study,
    Training,
    Workload,
)

MLP = {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2, "batch_size": 32}
GPT = {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "context": 16, "batch_size": 16}
SGD, ADAM = {"optimizer": "sgd"}, {"optimizer": "adamw"}
SETTINGS = {
    "mlp_sgd": {**MLP, **SGD},
    "mlp_adam": {**MLP, **ADAM},
    "gpt_sgd": {**GPT, **SGD},
    "gpt_adam": {**GPT, **ADAM},
}
# About the best LR of runs whose LR does not decay, by a pilot; both arms are read at it, so that decay is all that differs.
LRS = {"mlp_sgd": 2.0**-5, "mlp_adam": 2.0**-8, "gpt_sgd": 2.0**-3, "gpt_adam": 2.0**-7}
GRIDS = {arm: {"peak_lr": (lr / 2, lr, 2 * lr)} for arm, lr in LRS.items()}
# As common as each is: decoupled decay is multiplied by the LR, L2 by SGD's much larger one.
DECAYS = {"mlp_sgd": 5e-4, "mlp_adam": 0.1, "gpt_sgd": 5e-4, "gpt_adam": 0.1}
NAMES = {"mlp_sgd": "MLP with SGD", "mlp_adam": "MLP with AdamW", "gpt_sgd": "GPT with SGD", "gpt_adam": "GPT with AdamW"}
# The first probes and the last: where the weights began, and where they are.
START, END, LATE = {"first": 0.0, "last": 0.005}, {"first": 0.95}, {"first": 0.5}
NORM = {"curve": "probe_weight_norm"}
GROWTH = {
    (arm, times): Quotient(
        top=CurveMean(arm=arm, value=times * LRS[arm.removesuffix("_free")], **NORM, **END),
        bottom=CurveMean(arm=arm, value=times * LRS[arm.removesuffix("_free")], **NORM, **START),
    )
    for base in SETTINGS
    for arm in (base, f"{base}_free")
    for times in (0.5, 1.0, 2.0)
}
SLOPE = {
    (arm, times): CurveSlope(arm=arm, value=times * LRS[arm.removesuffix("_free")], **NORM, **LATE)
    for base in SETTINGS
    for arm in (base, f"{base}_free")
    for times in (0.5, 1.0, 2.0)
}
GPU_GPT = {"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64}
CLUSTER_GPT = {"dataset": "web-text", "width": 512, "depth": 8, "heads": 8, "context": 256, "batch_size": 64}

STUDY = Study(
    name="weight_decay",
    # Version 1 had a margin that had come down to 0.005 after its first run was seen (LOG.md).
    version=2,
    title="Weight decay",
    question="What does weight decay do to the weights, and how does it differ from L2 in the loss?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    # No decay of the LR, which would end the weights' growth by itself.
    training=Training(schedule="constant", warmup_fraction=0.05, steps=2000),
    measurement=Measurement(probes=40, evaluations=4, evaluation_examples=64, final_examples=256, curve_points=20),
    arms={
        **{
            arm: Arm(
                label="decayed", panel=NAMES[arm], settings={**SETTINGS[arm], "weight_decay": DECAYS[arm]}, factors=GRIDS[arm]
            )
            for arm in SETTINGS
        },
        **{
            f"{arm}_free": Arm(
                label="no decay", panel=NAMES[arm], settings={**SETTINGS[arm], "weight_decay": 0.0}, factors=GRIDS[arm]
            )
            for arm in SETTINGS
        },
    },
    factors={"peak_lr": (2.0**-7,)},
    seeds=10,
    first_seed=25_200,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 20},
            measurement={"probes": 4, "evaluation_examples": 8, "final_examples": 16},
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about three minutes of training",
            departures=("MLPs of 9,000 parameters and GPTs of 7,000, 2,000 steps.",),
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes: GPTs of 0.4M parameters on Python's standard library",
            device="cuda",
            training={"precision": "tf32"},
            arm_settings=dict.fromkeys(("gpt_sgd", "gpt_adam", "gpt_sgd_free", "gpt_adam_free"), GPU_GPT),
            seeds=5,
        ),
        "cluster": Scale(
            description="many GPUs, an hour: GPTs of 25M parameters on web text",
            device="cuda",
            training={"precision": "tf32", "steps": 5000},
            arm_settings=dict.fromkeys(("gpt_sgd", "gpt_adam", "gpt_sgd_free", "gpt_adam_free"), CLUSTER_GPT),
            seeds=5,
        ),
    },
    departures=(
        "Computed numbers have no seeds: their regions were written when they were known, most of them from designs of before.",
        "The norm is that of all weights together, gains and biases among them, of which norms' gains begin at one.",
        "At gpu and cluster scale the LRs are those of the laptop's models, not tuned anew.",
        "'Without bound' is read as: still growing with the step late in a run, at an LR that does not decay.",
    ),
    answer=("wd.growth", "wd.adamw_vs_l2", "wd.sgd_identity"),
    judgements=(
        Judgement(
            claim="wd.adamw_vs_l2",
            right={"supported": "second moment"},
            criteria=(
                Criterion(
                    name="spread of the shares that decoupled decay takes off, over their mean",
                    observe=Computed(function="decay.shrinkage", number="spread"),
                    claimed=AtMost(value=1e-3),
                    refuted=AtLeast(value=0.1),
                    says="Decoupled decay takes the same share off all weights, to within {estimate} of it",
                ),
                Criterion(
                    name="rank correlation of what L2 inside Adam takes off with the root of the second moment",
                    observe=Computed(function="decay.shrinkage", number="rank_correlation"),
                    claimed=AtMost(value=-0.5),
                    refuted=AtLeast(value=0.0),
                    says=(
                        "What L2 inside Adam takes off has a rank correlation of {estimate} with the root of the second moment"
                    ),
                ),
            ),
            reported=(
                Reported(
                    name="the same rank correlation at a coefficient of 0.1 in place of 0.001",
                    observe=Computed(function="decay.shrinkage", arguments={"decay": 0.1}, number="rank_correlation"),
                ),
                Reported(
                    name="share of weights that L2 inside Adam shrinks less than decoupled decay does",
                    observe=Computed(function="decay.shrinkage", number="weaker"),
                    unit="share",
                ),
            ),
            note=(
                "A small GPT after 150 steps, one more step with decay and without. L2 is divided by the root of the second"
                " moment, not of the momentum, and where that root is below one, as it mostly is, L2 is stronger at an equal"
                " coefficient and not weaker, by hundreds of times."
            ),
            advice={
                "supported": "With Adam, decay the weights themselves (AdamW); carry no coefficient over from L2.",
                "partly": "With Adam, decay the weights themselves (AdamW).",
                "refuted": "L2 and decoupled decay can stand in for each other under Adam.",
            },
        ),
        Judgement(
            claim="wd.sgd_identity",
            criteria=(
                Criterion(
                    name="distance of L2 from decoupled decay, SGD without momentum, of the way",
                    observe=Computed(function="decay.sgd", number="distance"),
                    claimed=AtMost(value=1e-6),
                    refuted=AtLeast(value=1e-3),
                    says="For SGD without momentum L2 and decoupled decay end {estimate} of the way apart after 200 steps",
                ),
                Criterion(
                    name="distance of L2 from decoupled decay, momentum 0.9, of the way",
                    observe=Computed(function="decay.sgd", number="momentum_distance"),
                    claimed=AtMost(value=1e-6),
                    refuted=AtLeast(value=1e-3),
                    says="With a momentum of 0.9 they end {estimate} of the way apart, though nothing is preconditioned",
                ),
            ),
            note="Decay outside the momentum is SGDW (Loshchilov and Hutter 2019); torch's SGD has it inside, which is L2.",
            advice={
                "supported": "For SGD, read weight decay and L2 as one.",
                "partly": (
                    "For SGD, weight decay and L2 are one if there is no momentum, or if decay goes through it as in torch."
                ),
                "refuted": "Say which of the two you mean for SGD, too.",
            },
        ),
        Judgement(
            claim="wd.growth",
            criteria=(
                *(
                    criterion
                    for arm in SETTINGS
                    for criterion in (
                        Criterion(
                            name=f"norm of the weights, end over start, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=GROWTH[arm, 1.0],
                            null=1.0,
                            margin=1.05,
                            claimed=AtLeast(value=2.0),
                            refuted=AtMost(value=1.0),
                            says=f"The decayed weights of the {NAMES[arm]} end {{larger}} than they began",
                            unit="x",
                            alternatives=(
                                Alternative(name="at half the LR", observe=GROWTH[arm, 0.5]),
                                Alternative(name="at twice the LR", observe=GROWTH[arm, 2.0]),
                            ),
                        ),
                        Criterion(
                            name=f"late exponent of the norm on the step, no decay, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=SLOPE[f"{arm}_free", 1.0],
                            null=0.0,
                            margin=0.02,
                            claimed=AtLeast(value=0.02),
                            refuted=AtMost(value=0.0),
                            says="Without decay they still grow late as the power {estimate} of the step",
                            alternatives=(
                                Alternative(name="at half the LR", observe=SLOPE[f"{arm}_free", 0.5]),
                                Alternative(name="at twice the LR", observe=SLOPE[f"{arm}_free", 2.0]),
                            ),
                        ),
                    )
                ),
            ),
            reported=(
                *(Reported(name=f"late exponent with decay, {NAMES[arm]}", observe=SLOPE[arm, 1.0]) for arm in SETTINGS),
                *(
                    Reported(name=f"end over start without decay, {NAMES[arm]}", observe=GROWTH[f"{arm}_free", 1.0], unit="x")
                    for arm in SETTINGS
                ),
            ),
            note="'Much larger' is twice, which is ours: the document gives no number. Both arms are read at one LR.",
            advice={
                "supported": "Watch the norm of the weights, and decay them in runs that go on for long.",
                "partly": (
                    "Watch the norm of the weights in runs that go on for long; how far they grow depends on the workload."
                ),
                "refuted": "Do not decay weights for fear of their growth.",
            },
        ),
    ),
    published=(
        Published(
            claim="wd.adamw_vs_l2",
            finding="L2 inside Adam shrinks weights with large gradients less than decoupled decay does.",
            source="Loshchilov and Hutter 2019, section 2",
            link="https://arxiv.org/abs/1711.05101",
            how="reported",
        ),
    ),
)
