"""What does a linear ramp to the peak learning rate buy?"""

from folklore.harness.observables import (
    CureRate,
    CurveRatio,
    DivergenceTime,
    FailureRate,
    Gap,
    Log2,
    LRSensitivity,
    MaxTrainable,
    Quotient,
    RelativeGap,
    Share,
    TunedLoss,
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
    Scale,
    Study,
    Training,
    Within,
    Workload,
    log2_grid,
)

ADAMW_ARMS = ("none", "warmup_0.5%", "warmup_5%", "warmup_20%", "radam", "first_gradient")
LONGEST = MaxTrainable(arm="warmup_20%", best_of=ADAMW_ARMS)
NONE = MaxTrainable(arm="none", best_of=ADAMW_ARMS)
WIDENING = Log2(of=Quotient(top=LONGEST, bottom=NONE))
# 0.5% of the loss does not matter; being better never refutes.
NO_WORSE = {"test": "no_worse", "null": 0.0, "margin": 0.005, "unit": "relative"}

STUDY = Study(
    name="warmup",
    # Version 1 was run once, with beta2 0.999 and seeds 0 to 5; LOG.md says what was wrong with it. No threshold changed.
    version=2,
    title="Learning-rate warmup",
    question="What does a linear ramp to the peak learning rate buy?",
    workload=Workload(model="gpt", dataset="python-docs", width=32, depth=2, heads=2, context=32),
    # No gradient clipping: it is a remedy of its own and would hide what warmup does.
    training=Training(
        # The second moment averages over 1 / (1 - beta2) steps. 20 of 300 are an early part of the run, as 1000 are of a
        # long one; at 0.999 all of this run would be early, and RAdam a smaller LR throughout.
        beta2=0.95,
        optimizer="adamw",
        schedule="cosine",
        final_fraction=0.1,
        batch_size=8,
        steps=300,
        weight_decay=0.1,
        clip_norm=None,
    ),
    measurement=Measurement(probes=20, evaluations=4, evaluation_examples=64, final_examples=128),
    arms={
        "none": Arm(panel="Adam", label="AdamW, no warmup", settings={"warmup_fraction": 0.0}),
        "warmup_0.5%": Arm(panel="Adam", label="AdamW, 0.5% warmup", settings={"warmup_fraction": 0.005}),
        "warmup_5%": Arm(panel="Adam", label="AdamW, 5% warmup", settings={"warmup_fraction": 0.05}),
        "warmup_20%": Arm(panel="Adam", label="AdamW, 20% warmup", settings={"warmup_fraction": 0.2}),
        "radam": Arm(panel="Adam", label="RAdam, no warmup", settings={"optimizer": "radam", "warmup_fraction": 0.0}),
        "first_gradient": Arm(
            panel="Adam",
            label="AdamW, v0 = g0², no warmup",
            settings={"second_moment_start": "first_gradient", "warmup_fraction": 0.0},
        ),
        # SGD's decay is L2, multiplied by its much larger LR: none here, so that the arms differ in the ramp alone.
        "sgd": Arm(
            panel="SGD",
            label="SGD, no warmup",
            settings={"optimizer": "sgd", "warmup_fraction": 0.0, "weight_decay": 0.0},
            factors={"peak_lr": log2_grid(-7, -1)},
        ),
        "sgd_warmup_5%": Arm(
            panel="SGD",
            label="SGD, 5% warmup",
            settings={"optimizer": "sgd", "warmup_fraction": 0.05, "weight_decay": 0.0},
            # Only its divergence is judged: the octaves around it.
            factors={"peak_lr": log2_grid(-3, 1)},
        ),
        "sgd_warmup_20%": Arm(
            panel="SGD",
            label="SGD, 20% warmup",
            settings={"optimizer": "sgd", "warmup_fraction": 0.2, "weight_decay": 0.0},
            factors={"peak_lr": log2_grid(-5, 1)},
        ),
    },
    factors={"peak_lr": log2_grid(-9, -3)},
    seeds=7,
    first_seed=100,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 20},
            measurement={"probes": 4, "evaluations": 2, "evaluation_examples": 8, "final_examples": 16},
            factors={"peak_lr": (2.0**-9, 2.0**-6, 2.0**-3)},
            arm_factors={
                "sgd": {"peak_lr": (2.0**-6, 2.0**-4, 2.0**-2)},
                "sgd_warmup_5%": {"peak_lr": (2.0**-6, 2.0**-3, 2.0**0)},
                "sgd_warmup_20%": {"peak_lr": (2.0**-6, 2.0**-3, 2.0**0)},
            },
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(description="two CPU cores, at most five minutes of training"),
        "gpu": Scale(
            description="one GPU, about a minute",
            device="cuda",
            workload={"width": 128, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 16, "steps": 600, "precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            # Lower than at laptop scale: in standard parametrization the best LR falls with width (study mup_transfer).
            factors={"peak_lr": log2_grid(-12, -5)},
            arm_factors={
                "sgd": {"peak_lr": log2_grid(-8, -1, per_octave=1)},
                "sgd_warmup_5%": {"peak_lr": log2_grid(-6, 1, per_octave=1)},
                "sgd_warmup_20%": {"peak_lr": log2_grid(-6, 1, per_octave=1)},
            },
            seeds=6,
        ),
        "cluster": Scale(
            description="many GPUs, hours: a 115M-parameter byte-level model on web text",
            device="cuda",
            workload={"dataset": "web-text", "width": 768, "depth": 16, "heads": 12, "context": 1024},
            training={"batch_size": 64, "steps": 4000, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 2048, "probes": 100, "evaluations": 20},
            factors={"peak_lr": log2_grid(-13, -4, per_octave=1)},
            arm_factors={
                "sgd": {"peak_lr": log2_grid(-8, 0, per_octave=1)},
                "sgd_warmup_5%": {"peak_lr": log2_grid(-7, 1, per_octave=1)},
                "sgd_warmup_20%": {"peak_lr": log2_grid(-7, 1, per_octave=1)},
            },
            seeds=7,
        ),
    },
    departures=(
        "A small GPT on one text, hundreds to thousands of steps: the documents speak of transformers at modern scale.",
        "No gradient clipping, so that its effect is not taken for warmup's.",
        "One schedule (cosine to 10% of the peak) and one batch size a scale.",
        "Diverged means: not finite, or ending at or above the loss at initialization. Its step is the first from which the"
        " training loss stays above the loss at initialization.",
        "Starting Adam's second moment at the first squared gradient, with its bias correction, also shrinks early steps: it"
        " mends the moment and ramps at once.",
        "At laptop scale 0.5% of the run is two steps, and 20% is sixty: shares of the run are compared, not step counts.",
    ),
    revised=(
        "Shorter warmups are asked whether they are no worse, where equality within 0.5% was asked. Nulls and expected values."
    ),
    answer=("warmup.widens", "warmup.improves_best", "warmup.duration", "warmup.late_nan"),
    judgements=(
        Judgement(
            claim="warmup.widens",
            criteria=(
                Criterion(
                    name="largest trainable LR, 20% warmup over none",
                    observe=Quotient(top=LONGEST, bottom=NONE),
                    null=1.0,
                    claimed=AtLeast(value=2.0),
                    refuted=AtMost(value=1.2),
                    expected=Expected(value=4.0, source="Kalra and Barkeshli 2024, WRN-16-4 with 1024 steps of warmup"),
                    says="20% warmup makes the largest learning rate that still trains {larger}",
                    unit="x",
                    alternatives=(
                        Alternative(
                            name="a bar of 2%",
                            observe=Quotient(
                                top=MaxTrainable(arm="warmup_20%", best_of=ADAMW_ARMS, within=0.02),
                                bottom=MaxTrainable(arm="none", best_of=ADAMW_ARMS, within=0.02),
                            ),
                        ),
                        Alternative(
                            name="a bar of 20%",
                            observe=Quotient(
                                top=MaxTrainable(arm="warmup_20%", best_of=ADAMW_ARMS, within=0.2),
                                bottom=MaxTrainable(arm="none", best_of=ADAMW_ARMS, within=0.2),
                            ),
                        ),
                    ),
                ),
                Criterion(
                    name="LR sensitivity, none minus 20% warmup",
                    observe=Gap(left=LRSensitivity(arm="none"), right=LRSensitivity(arm="warmup_20%")),
                    null=0.0,
                    claimed=AtLeast(value=0.0),
                    refuted=AtMost(value=0.0),
                    says="Averaged over the learning rates tried, a wrong one costs {less} with it",
                    unit="nats",
                ),
            ),
            advice={
                "supported": "Warm up if the learning rate cannot be tuned finely: it forgives a rate that is too high.",
                "partly": "Warm up if the learning rate cannot be tuned finely, but do not count on twice the range.",
                "refuted": "Do not expect warmup to let a larger learning rate train here.",
            },
        ),
        Judgement(
            claim="warmup.improves_best",
            criteria=(
                Criterion(
                    name="tuned loss, none over 5% warmup",
                    observe=RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="warmup_5%")),
                    null=0.0,
                    claimed=AtLeast(value=0.0),
                    refuted=AtMost(value=0.0),
                    says="With the learning rate tuned for both, 5% warmup ends {lower} than none",
                    unit="relative",
                ),
            ),
            advice={
                "supported": "Warm up even if the learning rate is tuned.",
                "refuted": "If the learning rate is tuned, leave warmup out or keep it for safety: it lowers no loss.",
                "refuted: opposite": "If the learning rate is tuned, leave warmup out: it costs loss.",
            },
        ),
        Judgement(
            claim="warmup.transformer_diverges",
            note="Seven seeds can refute: the exact interval of 7 out of 7 reaches down to 0.59, and support needs 17.",
            criteria=(
                Criterion(
                    name="share of runs without warmup that diverge at the LR tuned for 5% warmup",
                    observe=FailureRate(arm="none", tuned_for="warmup_5%"),
                    claimed=AtLeast(value=0.8),
                    refuted=AtMost(value=0.8),
                    says="{estimate} of the runs without warmup diverge at the learning rate tuned for 5% warmup",
                    unit="share",
                ),
            ),
            advice={
                "supported": "Never train a transformer without warmup.",
                "refuted": "A run without warmup that diverges has another cause to look for.",
            },
        ),
        Judgement(
            claim="warmup.duration",
            note=(
                "Non-inferiority: a shorter warmup that is better does not speak against 'enough'. The shares are of 300 steps:"
                " 0.5% is two steps."
            ),
            criteria=(
                Criterion(
                    name="tuned loss, 5% over 20% warmup",
                    observe=RelativeGap(left=TunedLoss(arm="warmup_5%"), right=TunedLoss(arm="warmup_20%")),
                    says="5% warmup ends {higher} than 20%",
                    **NO_WORSE,
                ),
                Criterion(
                    name="tuned loss, 0.5% over 20% warmup",
                    observe=RelativeGap(left=TunedLoss(arm="warmup_0.5%"), right=TunedLoss(arm="warmup_20%")),
                    says="0.5% warmup ends {higher} than 20%",
                    **NO_WORSE,
                ),
            ),
            advice={
                "supported": "Spend 0.5% to 5% of the steps on warmup; more buys nothing.",
                "partly": "Spend 5% of the steps on warmup rather than 0.5%.",
                "refuted": "Warm up for longer than 5% of a short run.",
            },
        ),
        Judgement(
            claim="warmup.mechanism",
            note=(
                "The register asks how much of the widened range each arm recovers and names no threshold. Fixed here: an arm"
                " that mends the second moment recovers at least half of the octaves, and SGD, which has no second moment,"
                " gains at most half as many octaves from a ramp. The AdamW arms and RAdam share one bar, 5% above the best of"
                " them; each SGD arm is measured against its own best, because a ramp also lowers SGD's best loss."
            ),
            criteria=(
                Criterion(
                    name="share of the widening recovered by v0 = g0²",
                    observe=Share(
                        part=Log2(of=Quotient(top=MaxTrainable(arm="first_gradient", best_of=ADAMW_ARMS), bottom=NONE)),
                        whole=WIDENING,
                        whole_at_least=0.25,
                    ),
                    null=0.0,
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.25),
                    expected=Expected(value=1.0, source="Kalra and Barkeshli 2024: the same learning rates train"),
                    says="Starting Adam's second moment at the first squared gradient recovers {estimate} of the widened range",
                    unit="share",
                ),
                Criterion(
                    name="share of the widening recovered by RAdam",
                    observe=Share(
                        part=Log2(of=Quotient(top=MaxTrainable(arm="radam", best_of=ADAMW_ARMS), bottom=NONE)),
                        whole=WIDENING,
                        whole_at_least=0.25,
                    ),
                    null=0.0,
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.25),
                    says="RAdam recovers {estimate}",
                    unit="share",
                ),
                Criterion(
                    name="SGD's octaves gained by 20% warmup over AdamW's",
                    observe=Share(
                        part=Log2(
                            of=Quotient(
                                top=MaxTrainable(arm="sgd_warmup_20%"),
                                bottom=MaxTrainable(arm="sgd"),
                            )
                        ),
                        whole=WIDENING,
                        whole_at_least=0.25,
                    ),
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.75),
                    says="SGD, which has no second moment, gains {estimate} of AdamW's octaves from the same ramp",
                    unit="share",
                ),
            ),
            advice={
                "supported": "RAdam, or a second moment that starts at the first squared gradient, can replace warmup.",
                "partly": "Mending Adam's second moment replaces a part of warmup.",
                "refuted": "Keep warmup with every optimizer: Adam's second moment is not why it helps.",
            },
        ),
        Judgement(
            claim="warmup.early_gradients",
            right={"supported": "large, noisy", "refuted": "small"},
            criteria=(
                Criterion(
                    name="gradient norm, first 1% of the steps over last 10%",
                    observe=CurveRatio(arm="none", curve="gradient_norm"),
                    null=1.0,
                    claimed=AtLeast(value=1.0),
                    refuted=AtMost(value=1.0),
                    says="Over the first 1% of the steps the gradient norm is {larger} than over the last 10%",
                    unit="x",
                ),
                Criterion(
                    name="variance of the gradient, first 1% of the steps over last 10%",
                    observe=CurveRatio(arm="none", curve="gradient_variance"),
                    null=1.0,
                    claimed=AtLeast(value=1.0),
                    refuted=AtMost(value=1.0),
                    says="The variance of the gradient is {larger}",
                    unit="x",
                ),
            ),
            advice={
                "supported": "Expect large, noisy gradients at the start: warmup acts on those.",
                "refuted": "Expect small gradients at the start.",
            },
        ),
        Judgement(
            claim="warmup.late_nan",
            note=(
                "Looked at where SGD with 5% warmup begins to diverge: the lowest peak LR at which most seeds do (AdamW did not"
                " diverge at any usable LR in a one-seed pilot). The register names no thresholds; fixed here: divergence"
                " starts between half and twice the end of warmup, and each remedy cures at least half of the runs."
            ),
            criteria=(
                Criterion(
                    name="step of divergence over end of warmup",
                    observe=DivergenceTime(arm="sgd_warmup_5%"),
                    claimed=Within(low=0.5, high=2.0),
                    refuted=Outside(low=0.5, high=2.0),
                    says="SGD runs with 5% warmup that diverge do so at {estimate} the last step of warmup",
                    unit="x",
                ),
                Criterion(
                    name="share of diverged runs cured by 20% warmup",
                    observe=CureRate(arm="sgd_warmup_5%", by_arm="sgd_warmup_20%"),
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.5),
                    says="20% warmup cures {estimate} of them",
                    unit="share",
                ),
                Criterion(
                    name="share of diverged runs cured by a quarter of the peak",
                    observe=CureRate(arm="sgd_warmup_5%", octaves_down=2.0),
                    claimed=AtLeast(value=0.5),
                    refuted=AtMost(value=0.5),
                    says="A quarter of the peak cures {estimate}",
                    unit="share",
                ),
            ),
            advice={
                "supported": "If a run diverges at the end of warmup, warm up longer or lower the peak.",
                "partly": "If a run diverges at the end of warmup, try a longer warmup or a lower peak first.",
                "refuted": "If a run diverges, do not look for the cause in warmup.",
            },
        ),
    ),
    published=(
        Published(
            claim="warmup.widens",
            finding="WRN-16-4 on CIFAR-10: 1024 steps of warmup multiply the largest trainable LR by 4.",
            source="Kalra and Barkeshli 2024, released tables",
            link="https://arxiv.org/abs/2406.09405",
            value=4.0,
            criterion="largest trainable LR, 20% warmup over none",
            how="read",
        ),
        Published(
            claim="warmup.improves_best",
            finding="ResNet-20 on CIFAR-10, AdamW at LR 0.01, top-1 error: no warmup 9.06 ± 0.42, untuned linear 8.81 ± 0.06.",
            source="Ma and Yarats 2021",
            link="https://arxiv.org/abs/1910.04209",
            how="read",
        ),
        Published(
            claim="warmup.mechanism",
            finding="Adam started at v0 = g0² trains at the same LRs without warmup as plain Adam does with it.",
            source="Kalra and Barkeshli 2024",
            link="https://arxiv.org/abs/2406.09405",
            how="read",
        ),
    ),
)
