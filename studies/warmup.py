"""What does a linear ramp to the peak learning rate buy?"""

from folklore.harness.observables import (
    CureRate,
    CurveRatio,
    DivergenceTime,
    FailureRate,
    FallShare,
    Gap,
    Log2,
    LossAt,
    LRSensitivity,
    MaxTrainable,
    NoiseScale,
    Quotient,
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
    Reported,
    Scale,
    Study,
    Training,
    Within,
    Workload,
    log2_grid,
)

# One bar for all short AdamW runs: above the best of them by a share of the fall of the loss.
SHORT = ("none", "warmup_20%", "radam", "first_gradient", "held")
LONG = ("long_none", "long_5%", "long_20%")
NONE = MaxTrainable(arm="none", best_of=SHORT, of="fall")
RAMPED = MaxTrainable(arm="warmup_20%", best_of=SHORT, of="fall")
WIDENING = Log2(of=Quotient(top=RAMPED, bottom=NONE))
NONE_10 = MaxTrainable(arm="none", best_of=SHORT, within=0.1, of="fall")
RAMPED_10 = MaxTrainable(arm="warmup_20%", best_of=SHORT, within=0.1, of="fall")
WIDENING_10 = Log2(of=Quotient(top=RAMPED_10, bottom=NONE_10))
# 10% of the fall: SGD without a ramp does not come within 5% of SGD with one, at any LR of a pilot.
SGD_ARMS = ("sgd", "sgd_warmup_20%")
SGD_NONE = MaxTrainable(arm="sgd", best_of=SGD_ARMS, within=0.1, of="fall")
SGD_RAMPED = MaxTrainable(arm="sgd_warmup_20%", best_of=SGD_ARMS, within=0.1, of="fall")
# A diverged run counts with its loss at initialization: where the mean has lost half of the fall, about half of the
# runs diverge.
EDGE_20 = MaxTrainable(arm="sgd_warmup_20%", best_of=SGD_ARMS, within=0.5, of="fall")
EDGE_60 = MaxTrainable(arm="sgd_warmup_60%", best_of=SGD_ARMS, within=0.5, of="fall")
# A ramp that ends after step 100, and a batch at which few single batches throw a run off below the edge.
SGD_RUN = {"steps": 600, "batch_size": 16}
# Quarter octaves from below to above the peak at which SGD with 20% of warmup begins to diverge.
PAST_ONE = (1.0, 2.0**0.25, 2.0**0.5)
# What a length of warmup costs against 20%, and what no warmup costs against each length.
COST_5 = FallShare(left=TunedLoss(arm="long_5%"), right=TunedLoss(arm="long_20%"), best_of=LONG)
COST_HALF = FallShare(left=TunedLoss(arm="long_0.5%"), right=TunedLoss(arm="long_20%"), best_of=LONG)
NONE_OVER_HALF = FallShare(left=TunedLoss(arm="long_none"), right=TunedLoss(arm="long_0.5%"), best_of=LONG)
NONE_OVER_5 = FallShare(left=TunedLoss(arm="long_none"), right=TunedLoss(arm="long_5%"), best_of=LONG)
NONE_OVER_20 = FallShare(left=TunedLoss(arm="long_none"), right=TunedLoss(arm="long_20%"), best_of=LONG)
# Being better never refutes. At laptop scale a paired difference scatters by 1.2% of the fall between seeds (pilot).
NO_WORSE = {"test": "no_worse", "null": 0.0, "unit": "relative"}
LAPTOP = ("smoke", "laptop")
LARGER = ("gpu", "cluster")
LOWERS = {"null": 0.0, "margin": 0.01, "claimed": AtLeast(value=0.01), "refuted": AtMost(value=0.0), "unit": "relative"}
RECOVERS = {"null": 0.0, "claimed": AtLeast(value=0.5), "refuted": AtMost(value=0.5), "unit": "share"}
AT_THE_END = {"claimed": Within(low=0.5, high=2.0), "refuted": Outside(low=0.5, high=2.0), "unit": "x"}
MOST = {"claimed": AtLeast(value=0.5), "refuted": AtMost(value=0.5), "unit": "share"}

STUDY = Study(
    name="warmup",
    # Version 1 was run once, with beta2 0.999 and seeds 0 to 5; version 2 judged divergence on five runs, gave each SGD arm a
    # bar of its own, and asked 300 steps about shares of a run. Version 3 asked each question where it can be decided, but the
    # bar of the short runs lay above a loss at the low end of their grids (LOG.md). No threshold of it has changed.
    version=4,
    title="Learning-rate warmup",
    question="What does a linear ramp to the peak learning rate buy?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    # No gradient clipping but where it is the remedy: it would hide what warmup does.
    training=Training(
        # The second moment averages over 1 / (1 - beta2) steps. 20 of 400 are an early part of the run, as 1000 are of a
        # long one; at 0.999 all of this run would be early, and RAdam a smaller LR throughout.
        beta2=0.95,
        optimizer="adamw",
        schedule="cosine",
        final_fraction=0.1,
        batch_size=8,
        steps=400,
        weight_decay=0.1,
        clip_norm=None,
    ),
    measurement=Measurement(probes=20, evaluations=4, evaluation_examples=64, final_examples=256),
    arms={
        "none": Arm(panel="Adam", label="AdamW, no warmup", settings={"warmup_fraction": 0.0}),
        "warmup_20%": Arm(panel="Adam", label="AdamW, 20% warmup", settings={"warmup_fraction": 0.2}),
        "radam": Arm(panel="Adam", label="RAdam, no warmup", settings={"optimizer": "radam", "warmup_fraction": 0.0}),
        "first_gradient": Arm(
            panel="Adam",
            label="AdamW, v0 = g0², no warmup",
            settings={"second_moment_start": "first_gradient", "warmup_fraction": 0.0},
        ),
        # The second moment forms over 20 steps at LR 0; 400 steps follow, as many as the other arms take. The first
        # moment starts
        # afterwards: it would drive the run on where the gradient pointed before any step, which is another thing to go wrong.
        "held": Arm(
            panel="Adam",
            label="AdamW, v formed at LR 0, no ramp",
            settings={"ramp": "held", "steps": 420, "warmup_fraction": 1 / 21},
        ),
        "long_none": Arm(
            panel="Long",
            label="AdamW, long run, no warmup",
            settings={"warmup_fraction": 0.0, "steps": 2000},
            factors={"peak_lr": log2_grid(-8, -5, per_octave=1)},
        ),
        "long_0.5%": Arm(
            panel="Long",
            label="AdamW, long run, 0.5% warmup",
            settings={"warmup_fraction": 0.005, "steps": 2000},
            factors={"peak_lr": log2_grid(-8, -5, per_octave=1)},
            # What it costs there, 0.8 to 1.2% of the fall, is too near 1% for seeds that fit three minutes.
            scales=("smoke", *LARGER),
        ),
        "long_5%": Arm(
            panel="Long",
            label="AdamW, long run, 5% warmup",
            settings={"warmup_fraction": 0.05, "steps": 2000},
            factors={"peak_lr": log2_grid(-8, -5, per_octave=1)},
        ),
        "long_20%": Arm(
            panel="Long",
            label="AdamW, long run, 20% warmup",
            settings={"warmup_fraction": 0.2, "steps": 2000},
            factors={"peak_lr": log2_grid(-8, -5, per_octave=1)},
        ),
        # SGD's decay is L2, multiplied by its much larger LR: none here, so that the arms differ in the ramp alone.
        "sgd": Arm(
            panel="SGD",
            label="SGD, no warmup",
            settings={"optimizer": "sgd", "warmup_fraction": 0.0, "weight_decay": 0.0, **SGD_RUN},
            factors={"peak_lr": (2.0**-4, 2.0**-3, 2.0**-2, 0.5, 2.0**-0.75, 2.0**-0.5, 2.0**-0.25)},
        ),
        "sgd_warmup_20%": Arm(
            panel="SGD",
            label="SGD, 20% warmup",
            settings={"optimizer": "sgd", "warmup_fraction": 0.2, "weight_decay": 0.0, **SGD_RUN},
            factors={"peak_lr": (2.0**-3, 2.0**-2, 0.5, 2.0**-0.75, 2.0**-0.5, 2.0**-0.25, *PAST_ONE)},
        ),
        # A remedy is only looked at where the arm above diverges.
        "sgd_warmup_60%": Arm(
            panel="SGD",
            label="SGD, 60% warmup",
            settings={"optimizer": "sgd", "warmup_fraction": 0.6, "weight_decay": 0.0, **SGD_RUN},
            factors={"peak_lr": PAST_ONE},
        ),
        "sgd_clipped": Arm(
            panel="SGD",
            label="SGD, 20% warmup, clipped at 1.0",
            settings={"optimizer": "sgd", "warmup_fraction": 0.2, "weight_decay": 0.0, "clip_norm": 1.0, **SGD_RUN},
            factors={"peak_lr": (0.5, *PAST_ONE)},
        ),
    },
    # Half octaves where the short AdamW arms come to the bar, octaves around their best.
    factors={"peak_lr": (2.0**-8, 2.0**-7, 2.0**-6, *log2_grid(-5, -3))},
    seeds=22,
    first_seed=2100,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 20},
            measurement={"probes": 4, "evaluations": 2, "evaluation_examples": 8, "final_examples": 16},
            factors={"peak_lr": (2.0**-9, 2.0**-6, 2.0**-3)},
            arm_settings={
                "held": {"steps": 24, "warmup_fraction": 1 / 6},
                "long_none": {"steps": 40},
                "long_0.5%": {"steps": 40},
                "long_5%": {"steps": 40},
                "long_20%": {"steps": 40},
                "sgd": {"steps": 20},
                "sgd_warmup_20%": {"steps": 20},
                "sgd_warmup_60%": {"steps": 20},
                "sgd_clipped": {"steps": 20},
            },
            arm_factors={
                "long_none": {"peak_lr": (2.0**-9, 2.0**-6, 2.0**-3)},
                "long_0.5%": {"peak_lr": (2.0**-9, 2.0**-6, 2.0**-3)},
                "long_5%": {"peak_lr": (2.0**-9, 2.0**-6, 2.0**-3)},
                "long_20%": {"peak_lr": (2.0**-9, 2.0**-6, 2.0**-3)},
                "sgd": {"peak_lr": (2.0**-4, 2.0**-2, 2.0**0)},
                "sgd_warmup_20%": {"peak_lr": (2.0**-2, 2.0**0, 2.0**1)},
                "sgd_warmup_60%": {"peak_lr": (2.0**-2, 2.0**0, 2.0**1)},
                "sgd_clipped": {"peak_lr": (2.0**-2, 2.0**0, 2.0**1)},
            },
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about three minutes of training",
            departures=(
                "About 7,000 parameters: the long runs see 37 tokens a parameter, the short AdamW runs 7 and the SGD runs 22.",
                "At 2,000 steps, 0.5% of warmup is 10 steps, 5% is 100 and 20% is 400; 20% of SGD's 600 is 120.",
            ),
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes: 0.4M parameters on Python's standard library",
            device="cuda",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 32, "steps": 500, "precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            # Lower than at laptop scale: in standard parametrization the best LR falls with width (study mup_transfer).
            factors={"peak_lr": (2.0**-9, *log2_grid(-8, -4), 2.0**-3)},
            arm_settings={
                "held": {"steps": 520, "warmup_fraction": 1 / 26},
                "sgd": {"batch_size": 32},
                "sgd_warmup_20%": {"batch_size": 32},
                "sgd_warmup_60%": {"batch_size": 32},
                "sgd_clipped": {"batch_size": 32},
            },
            arm_factors={
                "long_none": {"peak_lr": log2_grid(-11, -6, per_octave=1)},
                "long_0.5%": {"peak_lr": log2_grid(-11, -6, per_octave=1)},
                "long_5%": {"peak_lr": log2_grid(-11, -6, per_octave=1)},
                "long_20%": {"peak_lr": log2_grid(-11, -6, per_octave=1)},
                "sgd": {"peak_lr": log2_grid(-6, 1, per_octave=1)},
                "sgd_warmup_20%": {"peak_lr": log2_grid(-5, 2, per_octave=1)},
                "sgd_warmup_60%": {"peak_lr": log2_grid(-4, 2, per_octave=1)},
                "sgd_clipped": {"peak_lr": log2_grid(-4, 2, per_octave=1)},
            },
            seeds=15,
        ),
        "cluster": Scale(
            description="many GPUs, hours: a 115M-parameter byte-level model on web text",
            device="cuda",
            workload={"dataset": "web-text", "width": 768, "depth": 16, "heads": 12, "context": 1024},
            training={"batch_size": 64, "steps": 2000, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 2048, "probes": 100, "evaluations": 20},
            factors={"peak_lr": log2_grid(-12, -6, per_octave=1)},
            arm_settings={
                "held": {"steps": 2020, "warmup_fraction": 20 / 2020},
                "long_none": {"steps": 10000},
                "long_0.5%": {"steps": 10000},
                "long_5%": {"steps": 10000},
                "long_20%": {"steps": 10000},
                "sgd": {"steps": 2000, "batch_size": 64},
                "sgd_warmup_20%": {"steps": 2000, "batch_size": 64},
                "sgd_warmup_60%": {"steps": 2000, "batch_size": 64},
                "sgd_clipped": {"steps": 2000, "batch_size": 64},
            },
            arm_factors={
                "long_none": {"peak_lr": log2_grid(-12, -8, per_octave=1)},
                "long_0.5%": {"peak_lr": log2_grid(-12, -8, per_octave=1)},
                "long_5%": {"peak_lr": log2_grid(-12, -8, per_octave=1)},
                "long_20%": {"peak_lr": log2_grid(-12, -8, per_octave=1)},
                "sgd": {"peak_lr": log2_grid(-6, 0, per_octave=1)},
                "sgd_warmup_20%": {"peak_lr": log2_grid(-5, 1, per_octave=1)},
                "sgd_warmup_60%": {"peak_lr": log2_grid(-5, 1, per_octave=1)},
                "sgd_clipped": {"peak_lr": log2_grid(-5, 1, per_octave=1)},
            },
            # Seventeen runs that all diverge are the fewest that show a share of 80%.
            seeds=17,
        ),
    },
    departures=(
        "Small GPTs on one text, trained early or to tens of tokens a parameter: the documents speak of transformers at modern"
        " scale.",
        "Layer norms stand before each block. A GPT with layer norms after them, which is known to need warmup, is not"
        " trained.",
        "No gradient clipping but where it is the remedy, so that its effect is not taken for warmup's.",
        "Diverged means: not finite, or ending at or above the loss at initialization. Its step is the first from which the"
        " training loss stays above the loss at initialization.",
        "Cured means: not diverged. A run that clipping keeps finite can still end far above a good loss.",
        "AdamW did not diverge at this size in 546 runs: SGD stands for what diverges, at a quarter of an octave or less above"
        " where it trains.",
        "Starting Adam's second moment at the first squared gradient, with its bias correction, also shrinks early steps, and"
        " so does RAdam: they mend the moment and ramp at once. Forming it at an LR of zero ramps nothing.",
    ),
    answer=("warmup.widens", "warmup.improves_best", "warmup.duration", "warmup.late_nan"),
    judgements=(
        Judgement(
            claim="warmup.widens",
            note=(
                "No document names a size; 1.5x is ours, about half an octave and a step of a common grid. The second part"
                " takes the lowest peak LR, on a grid of quarter octaves, at which SGD without warmup mostly diverges."
            ),
            criteria=(
                Criterion(
                    name="largest trainable LR, 20% warmup over none",
                    observe=Quotient(top=RAMPED, bottom=NONE),
                    null=1.0,
                    claimed=AtLeast(value=1.5),
                    refuted=AtMost(value=1.0),
                    margin=1.1,
                    expected=Expected(
                        value=4.0, source="Kalra and Barkeshli 2024, WRN-16-4 with 1024 steps of warmup", spread=0.25
                    ),
                    says="20% warmup makes the largest learning rate that still trains {larger}",
                    unit="x",
                    alternatives=(
                        Alternative(
                            name="a bar of 2% of the fall",
                            observe=Quotient(
                                top=MaxTrainable(arm="warmup_20%", best_of=SHORT, within=0.02, of="fall"),
                                bottom=MaxTrainable(arm="none", best_of=SHORT, within=0.02, of="fall"),
                            ),
                        ),
                        Alternative(name="a bar of 10% of the fall", observe=Quotient(top=RAMPED_10, bottom=NONE_10)),
                    ),
                ),
                Criterion(
                    name="share of diverged SGD runs cured by 20% warmup",
                    observe=CureRate(arm="sgd", by_arm="sgd_warmup_20%"),
                    says="Of the SGD runs that just diverge without it, 20% warmup saves {estimate} at the same learning rate",
                    **MOST,
                ),
            ),
            reported=(
                Reported(
                    name="LR sensitivity, none minus 20% warmup",
                    observe=Gap(left=LRSensitivity(arm="none"), right=LRSensitivity(arm="warmup_20%")),
                    unit="nats",
                ),
            ),
            advice={
                "supported": "Warm up if the learning rate cannot be tuned finely: it forgives a rate that is too high.",
                "partly": "Warm up if the learning rate cannot be tuned finely, but count on less than an octave.",
                "refuted": "Do not expect warmup to let a larger learning rate train here.",
            },
        ),
        Judgement(
            claim="warmup.improves_best",
            note=(
                "No document says so: the question is ours. It is asked of every length, so that none is picked for its luck."
                " Less than 1% of the fall does not matter here: seeds scatter by as much."
            ),
            criteria=(
                Criterion(
                    name="tuned loss, none over 0.5% warmup",
                    observe=NONE_OVER_HALF,
                    says="With the learning rate tuned for both, as a share of the fall 0.5% warmup ends {lower} than none",
                    scales=LARGER,
                    **LOWERS,
                ),
                Criterion(
                    name="tuned loss, none over 5% warmup",
                    observe=NONE_OVER_5,
                    says="With the learning rate tuned for both, as a share of the fall 5% warmup ends {lower} than none",
                    **LOWERS,
                ),
                Criterion(
                    name="tuned loss, none over 20% warmup",
                    observe=NONE_OVER_20,
                    says="20% warmup ends {lower} than none",
                    **LOWERS,
                ),
            ),
            advice={
                "supported": "Warm up even if the learning rate is tuned.",
                "partly": (
                    "If the learning rate is tuned, warm up for long rather than for a few steps, and expect little of it."
                ),
                "refuted": "If the learning rate is tuned, leave warmup out or keep it for safety: it lowers no loss.",
                "refuted: opposite": "If the learning rate is tuned, leave warmup out: it costs loss.",
            },
        ),
        Judgement(
            claim="warmup.transformer_diverges",
            note=(
                "The claim speaks of modern scale, so that only cluster scale judges it. A GPT with layer norms after its"
                " blocks would be the likelier one to diverge; the engine has none yet."
            ),
            criteria=(
                Criterion(
                    name="share of runs without warmup that diverge at the LR tuned for 5% warmup",
                    observe=FailureRate(arm="long_none", tuned_for="long_5%"),
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
                "The documents call a range usual: the question is whether more than its upper end buys anything."
                " Non-inferiority: a shorter warmup that is better does not speak against it. The margin is 0.5% of the fall,"
                " and 1% at laptop scale, for half a percent would take about 36 seeds there. 0.5% of 2,000 steps are 10, fewer"
                " than Adam's second moment averages: only cluster scale, with 50, judges the lower end. Numbers of steps from"
                " 500 to 10,000 are out of this run's reach."
            ),
            criteria=(
                Criterion(
                    name="tuned loss, 5% over 20% warmup",
                    observe=COST_5,
                    margin=0.01,
                    says="5% warmup ends {higher} than 20%, as a share of the fall",
                    scales=LAPTOP,
                    **NO_WORSE,
                ),
                Criterion(
                    name="tuned loss, 5% over 20% warmup, within 0.5%",
                    observe=COST_5,
                    margin=0.005,
                    says="5% warmup ends {higher} than 20%, as a share of the fall",
                    scales=LARGER,
                    **NO_WORSE,
                ),
                Criterion(
                    name="tuned loss, 0.5% over 20% warmup, within 0.5%",
                    observe=COST_HALF,
                    margin=0.005,
                    says="0.5% warmup ends {higher} than 20%, as a share of the fall",
                    scales=("cluster",),
                    **NO_WORSE,
                ),
            ),
            reported=(
                Reported(name="tuned loss, 0.5% over 20% warmup", observe=COST_HALF, unit="relative"),
                Reported(name="tuned loss, none over 20% warmup", observe=NONE_OVER_20, unit="relative"),
            ),
            advice={
                "supported": "Spend 5% of the steps on warmup: 20% buys less than 1% of the fall.",
                "partly": "Spend 5% of the steps on warmup rather than 0.5%.",
                "refuted": "Warm up for longer than 5% of a short run.",
            },
        ),
        Judgement(
            claim="warmup.mechanism",
            note=(
                "The claim has two halves. The second moment is a reason, because it is unreliable and low: an arm that mends"
                " it without warmup should then train at the LRs that warmup allows, to half of the octaves. And it is one of"
                " several: SGD, which has none, should gain from warmup, too, by half of what is asked of AdamW. All AdamW arms"
                " share one bar, and so do both SGD arms. v0 = g0² raises the moment, and by that ramps the step; a moment"
                " formed at LR 0 is reliable and ramps nothing. Where only the former recovers the range, smaller early steps"
                " are what counts."
            ),
            criteria=(
                Criterion(
                    name="share of the widening recovered by a second moment formed at LR 0",
                    observe=Share(
                        part=Log2(of=Quotient(top=MaxTrainable(arm="held", best_of=SHORT, of="fall"), bottom=NONE)),
                        whole=WIDENING,
                        whole_at_least=0.25,
                    ),
                    says=(
                        "Of the octaves that warmup adds for AdamW, a second moment formed at a learning rate of zero recovers"
                        " {estimate}"
                    ),
                    alternatives=(
                        Alternative(
                            name="a bar of 10% of the fall",
                            observe=Share(
                                part=Log2(
                                    of=Quotient(
                                        top=MaxTrainable(arm="held", best_of=SHORT, within=0.1, of="fall"), bottom=NONE_10
                                    )
                                ),
                                whole=WIDENING_10,
                                whole_at_least=0.25,
                            ),
                        ),
                    ),
                    **RECOVERS,
                ),
                Criterion(
                    name="share of the widening recovered by v0 = g0²",
                    observe=Share(
                        part=Log2(of=Quotient(top=MaxTrainable(arm="first_gradient", best_of=SHORT, of="fall"), bottom=NONE)),
                        whole=WIDENING,
                        whole_at_least=0.25,
                    ),
                    expected=Expected(value=1.0, source="Kalra and Barkeshli 2024: the same learning rates train", spread=0.5),
                    says="One that starts at the first squared gradient, which also shrinks early steps, recovers {estimate}",
                    **RECOVERS,
                ),
                Criterion(
                    name="octaves that SGD gains by 20% warmup",
                    observe=Log2(of=Quotient(top=SGD_RAMPED, bottom=SGD_NONE)),
                    null=0.0,
                    claimed=AtLeast(value=0.25),
                    refuted=AtMost(value=0.0),
                    margin=0.1,
                    says="SGD, which has no second moment, gains {estimate} from 20% warmup",
                    unit="octaves",
                    alternatives=(
                        Alternative(
                            name="a bar of 20% of the fall",
                            observe=Log2(
                                of=Quotient(
                                    top=MaxTrainable(arm="sgd_warmup_20%", best_of=SGD_ARMS, within=0.2, of="fall"),
                                    bottom=MaxTrainable(arm="sgd", best_of=SGD_ARMS, within=0.2, of="fall"),
                                )
                            ),
                        ),
                    ),
                ),
            ),
            reported=(
                Reported(
                    name="share of the widening recovered by RAdam",
                    observe=Share(
                        part=Log2(of=Quotient(top=MaxTrainable(arm="radam", best_of=SHORT, of="fall"), bottom=NONE)),
                        whole=WIDENING,
                        whole_at_least=0.25,
                    ),
                    unit="share",
                ),
                Reported(name="octaves that AdamW gains by 20% warmup", observe=WIDENING, unit="octaves"),
            ),
            advice={
                "supported": "A second moment that is mended replaces a part of warmup, with Adam alone: keep it with SGD.",
                "partly": "Keep warmup, or a change that makes early steps as small: not all that the claim says of the second"
                " moment holds here.",
                "refuted": "Keep warmup: a better second moment does not replace it.",
            },
        ),
        Judgement(
            claim="warmup.early_gradients",
            right={"supported": "large, noisy", "refuted": "small"},
            criteria=(
                Criterion(
                    name="gradient norm, first 1% of the steps over last 10%",
                    observe=CurveRatio(arm="long_none", curve="gradient_norm"),
                    null=1.0,
                    claimed=AtLeast(value=1.0),
                    refuted=AtMost(value=1.0),
                    says="Over the first 1% of the steps the gradient norm is {larger} than over the last 10%",
                    unit="x",
                    alternatives=(
                        Alternative(
                            name="the first 10% of the steps",
                            observe=CurveRatio(arm="long_none", curve="gradient_norm", first=0.1),
                        ),
                    ),
                ),
                Criterion(
                    name="variance of the gradient, first 1% of the steps over last 10%",
                    observe=CurveRatio(arm="long_none", curve="gradient_variance"),
                    null=1.0,
                    claimed=AtLeast(value=1.0),
                    refuted=AtMost(value=1.0),
                    says="The variance of the gradient is {larger}",
                    unit="x",
                    alternatives=(
                        Alternative(
                            name="the first 10% of the steps",
                            observe=CurveRatio(arm="long_none", curve="gradient_variance", first=0.1),
                        ),
                    ),
                ),
            ),
            reported=(
                Reported(
                    name="noise scale, first 10% of the steps", observe=NoiseScale(arm="long_none", last=0.1), unit="examples"
                ),
                Reported(
                    name="noise scale, last half of the steps", observe=NoiseScale(arm="long_none", first=0.5), unit="examples"
                ),
            ),
            advice={
                "supported": "Expect gradients at the start that are larger and vary more than later ones.",
                "partly": "Expect early gradients to differ from later ones in size and noise, not in both alike.",
                "refuted": "Expect small gradients at the start.",
            },
        ),
        Judgement(
            claim="warmup.late_nan",
            note=(
                "The times are taken at the lowest peak LR, on a grid of quarter octaves, at which SGD mostly diverges. If the"
                " peak at the end of warmup is the cause, divergence moves with that end; a bad batch would come at the same"
                " step, a third of the longer ramp. Whether a longer warmup cures a run depends on how far above the edge its"
                " peak lies: the question is how far the edge moves. 1.4x is ours, a step of a grid of half octaves, by which a"
                " peak is easily too high; less than half of that, 1.2x, refutes. A lower peak cures by how that LR is found,"
                " and decides nothing."
            ),
            criteria=(
                Criterion(
                    name="step of divergence over end of warmup, 20% warmup",
                    observe=DivergenceTime(arm="sgd_warmup_20%"),
                    says="SGD runs with 20% warmup that diverge do so at {estimate} the last step of warmup",
                    **AT_THE_END,
                ),
                Criterion(
                    name="step of divergence over end of warmup, 60% warmup",
                    observe=DivergenceTime(arm="sgd_warmup_60%"),
                    says="With 60% warmup it is {estimate}",
                    **AT_THE_END,
                ),
                Criterion(
                    name="largest peak LR at which half of the runs survive, 60% over 20% warmup",
                    observe=Quotient(top=EDGE_60, bottom=EDGE_20),
                    null=1.0,
                    margin=1.1,
                    claimed=AtLeast(value=1.4),
                    refuted=AtMost(value=1.2),
                    says="A warmup three times as long makes the peak at which runs start to diverge {larger}",
                    unit="x",
                    alternatives=(
                        Alternative(
                            name="a bar of 20% of the fall",
                            observe=Quotient(
                                top=MaxTrainable(arm="sgd_warmup_60%", best_of=SGD_ARMS, within=0.2, of="fall"),
                                bottom=MaxTrainable(arm="sgd_warmup_20%", best_of=SGD_ARMS, within=0.2, of="fall"),
                            ),
                        ),
                    ),
                ),
            ),
            reported=(
                Reported(
                    name="share of diverged runs cured by 60% warmup, just past the edge",
                    observe=CureRate(arm="sgd_warmup_20%", by_arm="sgd_warmup_60%"),
                    unit="share",
                ),
                Reported(
                    name="share of diverged runs cured by half of the peak",
                    observe=CureRate(arm="sgd_warmup_20%", octaves_down=1.0),
                    unit="share",
                ),
            ),
            advice={
                "supported": "If a run diverges at the end of warmup, warm up longer or lower the peak.",
                "partly": (
                    "If a run diverges at the end of warmup, the peak is too high: lower it; a longer ramp lets it be only a"
                    " little higher."
                ),
                "refuted": "If a run diverges, do not count on a longer warmup.",
            },
        ),
        Judgement(
            claim="warmup.clip_first",
            note=(
                "The same diverged runs as for a longer warmup, with gradients clipped at 1.0 at the same peak. 'No fewer' is"
                " asked run by run: a run speaks against clipping if longer warmup alone saves it."
            ),
            criteria=(
                Criterion(
                    name="share of diverged runs cured by clipping at 1.0",
                    observe=CureRate(arm="sgd_warmup_20%", by_arm="sgd_clipped"),
                    says="Clipping at 1.0 keeps {estimate} of the SGD runs that diverge from doing so",
                    **MOST,
                ),
                Criterion(
                    name="share of diverged runs in which clipping does no worse than 60% warmup",
                    observe=CureRate(arm="sgd_warmup_20%", by_arm="sgd_clipped", no_worse_than="sgd_warmup_60%"),
                    claimed=AtLeast(value=0.7),
                    refuted=AtMost(value=0.5),
                    says="In {estimate} of them clipping does no worse than a warmup three times as long",
                    unit="share",
                ),
            ),
            reported=(
                Reported(
                    name="loss of clipped SGD at twice the tuned LR, over that of unclipped SGD at the tuned one",
                    observe=FallShare(
                        left=LossAt(arm="sgd_clipped", tuned_for="sgd_warmup_20%", times=2.0),
                        right=TunedLoss(arm="sgd_warmup_20%"),
                        best_of=SGD_ARMS,
                    ),
                    unit="relative",
                ),
            ),
            advice={
                "supported": (
                    "If a run diverges some hundred steps in, clip first; then look at the loss, for a peak that is too high"
                    " stays so."
                ),
                "partly": "If a run diverges some hundred steps in, clip and warm up for longer.",
                "refuted": "If a run diverges some hundred steps in, clipping is not the first thing to try.",
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
            if_different=(
                "Likeliest is that a deep CNN and 1,024 steps of warmup gain more than a shallow GPT and 80. If all bars from 2"
                " to 20% of the fall miss the value, the bar is not the reason; gpu scale tells whether size is one."
            ),
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
