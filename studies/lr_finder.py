"""Does a learning-rate range test find a good learning rate?"""

from folklore.harness.observables import (
    CurveMedian,
    FinderPick,
    FinderRegret,
    Gap,
    Log2,
    Optimum,
    Quotient,
    Spread,
    SuggestionRate,
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

GPT = {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "context": 16, "batch_size": 16, "beta2": 0.95}
MLP_SGD = {
    "model": "mlp",
    "dataset": "digits",
    "width": 64,
    "depth": 2,
    "batch_size": 32,
    "optimizer": "sgd",
    "weight_decay": 0.0,
}
MLP_ADAM = {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2, "batch_size": 32}
CNN = {"model": "cnn", "dataset": "digits", "width": 16, "depth": 2, "batch_size": 16}
# The range test: 1e-6 to 100 by equal factors, every step's loss kept.
RANGE = {
    "schedule": "exponential",
    "ramp_start": 1e-8,
    "warmup_fraction": 0.0,
    "probes": 2,
    "evaluations": 1,
    "evaluation_examples": 64,
    "final_examples": 64,
    "curve_points": 1000,
}
TOP = {"peak_lr": (100.0,)}
# Factors of 10^0.7, 10^1.3 and 10^0.4, 10^1.6.
TENTH = {"supported": Within(low=5.012, high=19.953), "refuted": Outside(low=2.512, high=39.811), "unit": "x"}
NEAR = {"supported": Within(low=-1.0, high=1.0), "refuted": Outside(low=-1.0, high=1.0), "unit": "octaves"}
CHEAP = {"supported": AtMost(value=0.01), "refuted": AtLeast(value=0.01), "unit": "relative"}
WINS = {"supported": AtLeast(value=0.0), "refuted": AtMost(value=0.0), "unit": "relative"}
STABLE = {"supported": AtMost(value=2.0), "refuted": AtLeast(value=2.0), "unit": "x"}
THOUSANDTH = {"supported": Within(low=3e-4, high=3e-3), "refuted": Outside(low=3e-4, high=3e-3)}

STUDY = Study(
    name="lr_finder",
    version=1,
    title="The learning-rate range test",
    question="Does a learning-rate range test find a good learning rate?",
    workload=Workload(heads=2),
    training=Training(optimizer="adamw", schedule="cosine", final_fraction=0.1, warmup_fraction=0.05),
    measurement=Measurement(probes=20, evaluations=4, evaluation_examples=128, final_examples=359),
    arms={
        "gpt": Arm(label="full runs", panel="GPT, AdamW", settings={**GPT, "steps": 524}),
        "mlp_sgd": Arm(label="full runs", panel="MLP, SGD", settings={**MLP_SGD, "steps": 256}),
        "mlp_adam": Arm(label="full runs", panel="MLP, AdamW", settings={**MLP_ADAM, "steps": 256}),
        "cnn": Arm(label="full runs", panel="CNN, AdamW", settings={**CNN, "steps": 200}),
        "gpt_100": Arm(label="100 steps", panel="range tests: GPT", settings={**GPT, **RANGE, "steps": 100}, factors=TOP),
        "gpt_300": Arm(label="300 steps", panel="range tests: GPT", settings={**GPT, **RANGE, "steps": 300}, factors=TOP),
        "gpt_1000": Arm(label="1000 steps", panel="range tests: GPT", settings={**GPT, **RANGE, "steps": 1000}, factors=TOP),
        "mlp_sgd_100": Arm(
            label="100 steps", panel="range tests: MLP, SGD", settings={**MLP_SGD, **RANGE, "steps": 100}, factors=TOP
        ),
        "mlp_sgd_300": Arm(
            label="300 steps", panel="range tests: MLP, SGD", settings={**MLP_SGD, **RANGE, "steps": 300}, factors=TOP
        ),
        "mlp_sgd_1000": Arm(
            label="1000 steps", panel="range tests: MLP, SGD", settings={**MLP_SGD, **RANGE, "steps": 1000}, factors=TOP
        ),
        "mlp_adam_100": Arm(
            label="100 steps", panel="range tests: MLP, AdamW", settings={**MLP_ADAM, **RANGE, "steps": 100}, factors=TOP
        ),
        "mlp_adam_300": Arm(
            label="300 steps", panel="range tests: MLP, AdamW", settings={**MLP_ADAM, **RANGE, "steps": 300}, factors=TOP
        ),
        "mlp_adam_1000": Arm(
            label="1000 steps", panel="range tests: MLP, AdamW", settings={**MLP_ADAM, **RANGE, "steps": 1000}, factors=TOP
        ),
        "cnn_100": Arm(label="100 steps", panel="range tests: CNN", settings={**CNN, **RANGE, "steps": 100}, factors=TOP),
        "cnn_300": Arm(label="300 steps", panel="range tests: CNN", settings={**CNN, **RANGE, "steps": 300}, factors=TOP),
        "cnn_1000": Arm(label="1000 steps", panel="range tests: CNN", settings={**CNN, **RANGE, "steps": 1000}, factors=TOP),
    },
    factors={"peak_lr": log2_grid(-12, 4)},
    seeds=10,
    first_seed=300,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            measurement={"probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16},
            factors={"peak_lr": (2.0**-8, 2.0**-6, 2.0**-4)},
            arm_settings={
                "gpt": {"steps": 10},
                "mlp_sgd": {"steps": 10},
                "mlp_adam": {"steps": 10},
                "cnn": {"steps": 10},
                "gpt_1000": {"steps": 40},
                "mlp_sgd_1000": {"steps": 40},
                "mlp_adam_1000": {"steps": 40},
                "cnn_1000": {"steps": 40},
                "gpt_300": {"steps": 30},
                "mlp_sgd_300": {"steps": 30},
                "mlp_adam_300": {"steps": 30},
                "cnn_300": {"steps": 30},
            },
            seeds=1,
            judged=False,
        ),
        "laptop": Scale(description="two CPU cores, at most five minutes of training"),
        "gpu": Scale(
            description="one GPU, about a minute: the same runs on more seeds",
            device="cuda",
            seeds=32,
        ),
        "cluster": Scale(
            description="many GPUs: wider models",
            device="cuda",
            arm_settings={
                "gpt": {"width": 64, "depth": 2, "steps": 2000},
                "gpt_100": {"width": 64, "depth": 2},
                "gpt_300": {"width": 64, "depth": 2},
                "gpt_1000": {"width": 64, "depth": 2},
                "cnn": {"width": 64, "steps": 1000},
                "cnn_100": {"width": 64},
                "cnn_300": {"width": 64},
                "cnn_1000": {"width": 64},
            },
            seeds=32,
        ),
    },
    departures=(
        "Four small workloads. The best LR is that of whole runs of 200 to 524 steps with a cosine decay: it depends on the"
        " horizon and the schedule, which a range test never sees.",
        "Rules as fastai's and Lightning's code has them, on the loss smoothed by an exponential mean of 0.98, from 1e-6 to"
        " 100. Divergence is a smoothed loss of four times the best: another multiple gives another LR.",
        "Picks are read off the 300-step ramp where nothing else is said.",
    ),
    judgements=(
        Judgement(
            claim="finder.margin",
            criteria=(
                Criterion(
                    name="divergence LR over best LR, GPT with AdamW",
                    observe=Quotient(top=FinderPick(arm="gpt_300", rule="divergence"), bottom=Optimum(arm="gpt")),
                    **TENTH,
                ),
                Criterion(
                    name="divergence LR over best LR, MLP with SGD",
                    observe=Quotient(top=FinderPick(arm="mlp_sgd_300", rule="divergence"), bottom=Optimum(arm="mlp_sgd")),
                    **TENTH,
                ),
                Criterion(
                    name="divergence LR over best LR, MLP with AdamW",
                    observe=Quotient(top=FinderPick(arm="mlp_adam_300", rule="divergence"), bottom=Optimum(arm="mlp_adam")),
                    **TENTH,
                ),
                Criterion(
                    name="divergence LR over best LR, CNN with AdamW",
                    observe=Quotient(top=FinderPick(arm="cnn_300", rule="divergence"), bottom=Optimum(arm="cnn")),
                    **TENTH,
                ),
            ),
            reported=(
                Reported(
                    name="range tests of 100 steps that diverge at all, GPT",
                    observe=SuggestionRate(arm="gpt_100", rule="divergence"),
                ),
                Reported(
                    name="range tests of 100 steps that diverge at all, CNN",
                    observe=SuggestionRate(arm="cnn_100", rule="divergence"),
                ),
            ),
            note="The claim is general: it is refuted where one workload refutes it.",
        ),
        Judgement(
            claim="finder.steepest",
            criteria=(
                Criterion(
                    name="steepest pick (against log LR) from the best LR, GPT with AdamW",
                    observe=Log2(of=Quotient(top=FinderPick(arm="gpt_300", rule="steepest_log"), bottom=Optimum(arm="gpt"))),
                    **NEAR,
                ),
                Criterion(
                    name="regret of the steepest pick, GPT with AdamW",
                    observe=FinderRegret(arm="gpt", range_test="gpt_300", rule="steepest_log"),
                    **CHEAP,
                ),
                Criterion(
                    name="steepest pick from the best LR, MLP with SGD",
                    observe=Log2(
                        of=Quotient(top=FinderPick(arm="mlp_sgd_300", rule="steepest_log"), bottom=Optimum(arm="mlp_sgd"))
                    ),
                    **NEAR,
                ),
                Criterion(
                    name="regret of the steepest pick, MLP with SGD",
                    observe=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="steepest_log"),
                    **CHEAP,
                ),
                Criterion(
                    name="steepest pick from the best LR, MLP with AdamW",
                    observe=Log2(
                        of=Quotient(top=FinderPick(arm="mlp_adam_300", rule="steepest_log"), bottom=Optimum(arm="mlp_adam"))
                    ),
                    **NEAR,
                ),
                Criterion(
                    name="regret of the steepest pick, MLP with AdamW",
                    observe=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="steepest_log"),
                    **CHEAP,
                ),
                Criterion(
                    name="steepest pick from the best LR, CNN with AdamW",
                    observe=Log2(of=Quotient(top=FinderPick(arm="cnn_300", rule="steepest_log"), bottom=Optimum(arm="cnn"))),
                    **NEAR,
                ),
                Criterion(
                    name="regret of the steepest pick, CNN with AdamW",
                    observe=FinderRegret(arm="cnn", range_test="cnn_300", rule="steepest_log"),
                    **CHEAP,
                ),
            ),
            reported=(
                Reported(
                    name="valley from the best LR, GPT",
                    observe=Log2(of=Quotient(top=FinderPick(arm="gpt_300", rule="valley"), bottom=Optimum(arm="gpt"))),
                    unit="octaves",
                ),
                Reported(
                    name="regret of valley, GPT",
                    observe=FinderRegret(arm="gpt", range_test="gpt_300", rule="valley"),
                    unit="relative",
                ),
                Reported(
                    name="slide from the best LR, GPT",
                    observe=Log2(of=Quotient(top=FinderPick(arm="gpt_300", rule="slide"), bottom=Optimum(arm="gpt"))),
                    unit="octaves",
                ),
                Reported(
                    name="regret of slide, GPT",
                    observe=FinderRegret(arm="gpt", range_test="gpt_300", rule="slide"),
                    unit="relative",
                ),
                Reported(
                    name="a tenth of the minimum from the best LR, GPT",
                    observe=Log2(
                        of=Quotient(top=FinderPick(arm="gpt_300", rule="tenth_of_minimum"), bottom=Optimum(arm="gpt"))
                    ),
                    unit="octaves",
                ),
                Reported(
                    name="regret of a tenth of the minimum, GPT",
                    observe=FinderRegret(arm="gpt", range_test="gpt_300", rule="tenth_of_minimum"),
                    unit="relative",
                ),
                Reported(
                    name="steepest against the LR itself, from the best LR, GPT",
                    observe=Log2(of=Quotient(top=FinderPick(arm="gpt_300", rule="steepest_linear"), bottom=Optimum(arm="gpt"))),
                    unit="octaves",
                ),
                Reported(
                    name="regret of steepest against the LR itself, GPT",
                    observe=FinderRegret(arm="gpt", range_test="gpt_300", rule="steepest_linear"),
                    unit="relative",
                ),
                Reported(
                    name="valley from the best LR, MLP with SGD",
                    observe=Log2(of=Quotient(top=FinderPick(arm="mlp_sgd_300", rule="valley"), bottom=Optimum(arm="mlp_sgd"))),
                    unit="octaves",
                ),
                Reported(
                    name="regret of valley, MLP with SGD",
                    observe=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="valley"),
                    unit="relative",
                ),
                Reported(
                    name="regret of slide, MLP with SGD",
                    observe=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="slide"),
                    unit="relative",
                ),
                Reported(
                    name="regret of a tenth of the minimum, MLP with SGD",
                    observe=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="tenth_of_minimum"),
                    unit="relative",
                ),
                Reported(
                    name="steepest against the LR itself, from the best LR, MLP with SGD",
                    observe=Log2(
                        of=Quotient(top=FinderPick(arm="mlp_sgd_300", rule="steepest_linear"), bottom=Optimum(arm="mlp_sgd"))
                    ),
                    unit="octaves",
                ),
                Reported(
                    name="regret of valley, MLP with AdamW",
                    observe=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="valley"),
                    unit="relative",
                ),
                Reported(
                    name="regret of slide, MLP with AdamW",
                    observe=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="slide"),
                    unit="relative",
                ),
                Reported(
                    name="regret of a tenth of the minimum, MLP with AdamW",
                    observe=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="tenth_of_minimum"),
                    unit="relative",
                ),
                Reported(
                    name="regret of valley, CNN with AdamW",
                    observe=FinderRegret(arm="cnn", range_test="cnn_300", rule="valley"),
                    unit="relative",
                ),
                Reported(
                    name="regret of slide, CNN with AdamW",
                    observe=FinderRegret(arm="cnn", range_test="cnn_300", rule="slide"),
                    unit="relative",
                ),
                Reported(
                    name="regret of a tenth of the minimum, CNN with AdamW",
                    observe=FinderRegret(arm="cnn", range_test="cnn_300", rule="tenth_of_minimum"),
                    unit="relative",
                ),
            ),
            note=(
                "Judged for the slope against the logarithm of the LR, which the plots of the documents show; the other"
                " estimators that go by the name, and fastai's other rules, stand beside it."
            ),
        ),
        Judgement(
            claim="finder.head_to_head",
            criteria=(
                Criterion(
                    name="regret of the steepest pick minus regret of a tenth of divergence, GPT with AdamW",
                    observe=Gap(
                        left=FinderRegret(arm="gpt", range_test="gpt_300", rule="steepest_log"),
                        right=FinderRegret(arm="gpt", range_test="gpt_300", rule="tenth_of_divergence"),
                    ),
                    **WINS,
                ),
                Criterion(
                    name="regret of the steepest pick minus regret of a tenth of divergence, MLP with SGD",
                    observe=Gap(
                        left=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="steepest_log"),
                        right=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="tenth_of_divergence"),
                    ),
                    **WINS,
                ),
                Criterion(
                    name="regret of the steepest pick minus regret of a tenth of divergence, MLP with AdamW",
                    observe=Gap(
                        left=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="steepest_log"),
                        right=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="tenth_of_divergence"),
                    ),
                    **WINS,
                ),
                Criterion(
                    name="regret of the steepest pick minus regret of a tenth of divergence, CNN with AdamW",
                    observe=Gap(
                        left=FinderRegret(arm="cnn", range_test="cnn_300", rule="steepest_log"),
                        right=FinderRegret(arm="cnn", range_test="cnn_300", rule="tenth_of_divergence"),
                    ),
                    **WINS,
                ),
            ),
            note=(
                "Supported means that a tenth of the divergence LR (TB) has the lower regret on all four workloads; refuted"
                " that the steepest descent (TD, CP) has it on one at least. Each line says who wins where."
            ),
        ),
        Judgement(
            claim="finder.ramp",
            criteria=(
                Criterion(
                    name="a tenth of divergence, largest over smallest pick of 100, 300 and 1000 steps, MLP with SGD",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="mlp_sgd_100", rule="tenth_of_divergence"),
                            FinderPick(arm="mlp_sgd_300", rule="tenth_of_divergence"),
                            FinderPick(arm="mlp_sgd_1000", rule="tenth_of_divergence"),
                        )
                    ),
                    **STABLE,
                ),
                Criterion(
                    name="a tenth of divergence, largest over smallest pick, MLP with AdamW",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="mlp_adam_100", rule="tenth_of_divergence"),
                            FinderPick(arm="mlp_adam_300", rule="tenth_of_divergence"),
                            FinderPick(arm="mlp_adam_1000", rule="tenth_of_divergence"),
                        )
                    ),
                    **STABLE,
                ),
                Criterion(
                    name="steepest, largest over smallest pick of 100, 300 and 1000 steps, GPT with AdamW",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="gpt_100", rule="steepest_log"),
                            FinderPick(arm="gpt_300", rule="steepest_log"),
                            FinderPick(arm="gpt_1000", rule="steepest_log"),
                        )
                    ),
                    **STABLE,
                ),
                Criterion(
                    name="steepest, largest over smallest pick, MLP with SGD",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="mlp_sgd_100", rule="steepest_log"),
                            FinderPick(arm="mlp_sgd_300", rule="steepest_log"),
                            FinderPick(arm="mlp_sgd_1000", rule="steepest_log"),
                        )
                    ),
                    **STABLE,
                ),
                Criterion(
                    name="steepest, largest over smallest pick, CNN with AdamW",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="cnn_100", rule="steepest_log"),
                            FinderPick(arm="cnn_300", rule="steepest_log"),
                            FinderPick(arm="cnn_1000", rule="steepest_log"),
                        )
                    ),
                    **STABLE,
                ),
            ),
            reported=(
                Reported(
                    name="valley, largest over smallest pick, GPT",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="gpt_100", rule="valley"),
                            FinderPick(arm="gpt_300", rule="valley"),
                            FinderPick(arm="gpt_1000", rule="valley"),
                        )
                    ),
                    unit="x",
                ),
                Reported(
                    name="a tenth of divergence, 300 against 1000 steps, GPT",
                    observe=Quotient(
                        top=FinderPick(arm="gpt_300", rule="tenth_of_divergence"),
                        bottom=FinderPick(arm="gpt_1000", rule="tenth_of_divergence"),
                    ),
                    unit="x",
                ),
                Reported(
                    name="a tenth of divergence, 300 against 1000 steps, CNN",
                    observe=Quotient(
                        top=FinderPick(arm="cnn_300", rule="tenth_of_divergence"),
                        bottom=FinderPick(arm="cnn_1000", rule="tenth_of_divergence"),
                    ),
                    unit="x",
                ),
            ),
        ),
        Judgement(
            claim="finder.ratio",
            criteria=(
                Criterion(
                    name="median update-to-weight ratio of a layer at the best LR, GPT with AdamW",
                    observe=CurveMedian(arm="gpt", curve="median_update_ratio"),
                    **THOUSANDTH,
                ),
                Criterion(
                    name="median update-to-weight ratio of a layer at the best LR, MLP with SGD",
                    observe=CurveMedian(arm="mlp_sgd", curve="median_update_ratio"),
                    **THOUSANDTH,
                ),
                Criterion(
                    name="median update-to-weight ratio of a layer at the best LR, MLP with AdamW",
                    observe=CurveMedian(arm="mlp_adam", curve="median_update_ratio"),
                    **THOUSANDTH,
                ),
                Criterion(
                    name="median update-to-weight ratio of a layer at the best LR, CNN with AdamW",
                    observe=CurveMedian(arm="cnn", curve="median_update_ratio"),
                    **THOUSANDTH,
                ),
            ),
            note="The median over layers at each probed step, then over the steps; gains and biases count with their layer.",
        ),
    ),
    published=(
        Published(
            claim="finder.steepest",
            finding=(
                "Tools that say steepest differ: fastai takes the slope against the log of the LR, Lightning against the LR"
                " itself, which favours small LRs."
            ),
            source="released code of fastai and Lightning",
            how="read",
        ),
    ),
)
