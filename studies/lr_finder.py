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
TENTH = {"claimed": Within(low=5.012, high=19.953), "refuted": Outside(low=2.512, high=39.811), "unit": "x"}
NEAR = {"claimed": Within(low=-1.0, high=1.0), "refuted": Outside(low=-1.0, high=1.0), "unit": "octaves"}
CHEAP = {"claimed": AtMost(value=0.01), "refuted": AtLeast(value=0.01), "unit": "relative"}
WINS = {"null": 0.0, "claimed": AtLeast(value=0.0), "refuted": AtMost(value=0.0), "unit": "relative"}
STABLE = {"claimed": AtMost(value=2.0), "refuted": AtLeast(value=2.0), "unit": "x"}
THOUSANDTH = {"claimed": Within(low=3e-4, high=3e-3), "refuted": Outside(low=3e-4, high=3e-3)}

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
        "That mean lags by some 50 steps, in which the LR of a 300-step ramp grows about 20 times: a pick depends on the"
        " smoothing, too.",
        "Picks are read off the 300-step ramp if nothing else is said.",
    ),
    revised="Nulls and panels by workload; no threshold moved.",
    answer=("finder.steepest", "finder.margin", "finder.head_to_head", "finder.ratio"),
    judgements=(
        Judgement(
            claim="finder.margin",
            criteria=(
                Criterion(
                    name="divergence LR over best LR, GPT with AdamW",
                    panel="GPT with AdamW",
                    observe=Quotient(top=FinderPick(arm="gpt_300", rule="divergence"), bottom=Optimum(arm="gpt")),
                    says="On the GPT with AdamW, the range test diverges at {estimate} the best learning rate",
                    **TENTH,
                ),
                Criterion(
                    name="divergence LR over best LR, MLP with SGD",
                    panel="MLP with SGD",
                    observe=Quotient(top=FinderPick(arm="mlp_sgd_300", rule="divergence"), bottom=Optimum(arm="mlp_sgd")),
                    says="On the MLP with SGD, the range test diverges at {estimate} the best learning rate",
                    **TENTH,
                ),
                Criterion(
                    name="divergence LR over best LR, MLP with AdamW",
                    panel="MLP with AdamW",
                    observe=Quotient(top=FinderPick(arm="mlp_adam_300", rule="divergence"), bottom=Optimum(arm="mlp_adam")),
                    says="On the MLP with AdamW, the range test diverges at {estimate} the best learning rate",
                    **TENTH,
                ),
                Criterion(
                    name="divergence LR over best LR, CNN with AdamW",
                    panel="CNN with AdamW",
                    observe=Quotient(top=FinderPick(arm="cnn_300", rule="divergence"), bottom=Optimum(arm="cnn")),
                    says="On the CNN with AdamW, the range test diverges at {estimate} the best learning rate",
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
            advice={
                "supported": "Begin at a tenth of the LR at which the range test diverges.",
                "partly": "Begin at a tenth of the LR at which the range test diverges, and try an octave on either side.",
                "refuted": "Do not begin at a tenth of where a range test diverges: try some learning rates in whole runs.",
                "refuted: larger": "Do not begin at a tenth of where a smoothed range test diverges: that is far too high.",
                "refuted: smaller": "Do not begin at a tenth of where a range test diverges: the best learning rate is nearer.",
            },
        ),
        Judgement(
            claim="finder.steepest",
            criteria=(
                Criterion(
                    name="steepest pick (against log LR) from the best LR, GPT with AdamW",
                    panel="GPT with AdamW",
                    observe=Log2(of=Quotient(top=FinderPick(arm="gpt_300", rule="steepest_log"), bottom=Optimum(arm="gpt"))),
                    says="On the GPT with AdamW, the steepest point lies {higher} than the best learning rate",
                    **NEAR,
                ),
                Criterion(
                    name="regret of the steepest pick, GPT with AdamW",
                    panel="GPT with AdamW",
                    observe=FinderRegret(arm="gpt", range_test="gpt_300", rule="steepest_log"),
                    says="The GPT with AdamW ends {higher} in loss at the steepest point than at the best learning rate",
                    **CHEAP,
                ),
                Criterion(
                    name="steepest pick from the best LR, MLP with SGD",
                    panel="MLP with SGD",
                    observe=Log2(
                        of=Quotient(top=FinderPick(arm="mlp_sgd_300", rule="steepest_log"), bottom=Optimum(arm="mlp_sgd"))
                    ),
                    says="On the MLP with SGD, the steepest point lies {higher} than the best learning rate",
                    **NEAR,
                ),
                Criterion(
                    name="regret of the steepest pick, MLP with SGD",
                    panel="MLP with SGD",
                    observe=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="steepest_log"),
                    says="The MLP with SGD ends {higher} in loss at the steepest point than at the best learning rate",
                    **CHEAP,
                ),
                Criterion(
                    name="steepest pick from the best LR, MLP with AdamW",
                    panel="MLP with AdamW",
                    observe=Log2(
                        of=Quotient(top=FinderPick(arm="mlp_adam_300", rule="steepest_log"), bottom=Optimum(arm="mlp_adam"))
                    ),
                    says="On the MLP with AdamW, the steepest point lies {higher} than the best learning rate",
                    **NEAR,
                ),
                Criterion(
                    name="regret of the steepest pick, MLP with AdamW",
                    panel="MLP with AdamW",
                    observe=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="steepest_log"),
                    says="The MLP with AdamW ends {higher} in loss at the steepest point than at the best learning rate",
                    **CHEAP,
                ),
                Criterion(
                    name="steepest pick from the best LR, CNN with AdamW",
                    panel="CNN with AdamW",
                    observe=Log2(of=Quotient(top=FinderPick(arm="cnn_300", rule="steepest_log"), bottom=Optimum(arm="cnn"))),
                    says="On the CNN with AdamW, the steepest point lies {higher} than the best learning rate",
                    **NEAR,
                ),
                Criterion(
                    name="regret of the steepest pick, CNN with AdamW",
                    panel="CNN with AdamW",
                    observe=FinderRegret(arm="cnn", range_test="cnn_300", rule="steepest_log"),
                    says="The CNN with AdamW ends {higher} in loss at the steepest point than at the best learning rate",
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
            advice={
                "supported": "Begin at the steepest point of the range test.",
                "partly": "Begin at the steepest point of the range test, and try an octave on either side.",
                "refuted": "Take the steepest point as the middle of a search, four octaves to either side.",
            },
        ),
        Judgement(
            claim="finder.head_to_head",
            criteria=(
                Criterion(
                    name="regret of the steepest pick minus regret of a tenth of divergence, GPT with AdamW",
                    panel="GPT with AdamW",
                    observe=Gap(
                        left=FinderRegret(arm="gpt", range_test="gpt_300", rule="steepest_log"),
                        right=FinderRegret(arm="gpt", range_test="gpt_300", rule="tenth_of_divergence"),
                    ),
                    says="On the GPT with AdamW, a tenth of the divergence LR costs {less} loss than the steepest point",
                    **WINS,
                ),
                Criterion(
                    name="regret of the steepest pick minus regret of a tenth of divergence, MLP with SGD",
                    panel="MLP with SGD",
                    observe=Gap(
                        left=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="steepest_log"),
                        right=FinderRegret(arm="mlp_sgd", range_test="mlp_sgd_300", rule="tenth_of_divergence"),
                    ),
                    says="On the MLP with SGD, a tenth of the divergence LR costs {less} loss than the steepest point",
                    **WINS,
                ),
                Criterion(
                    name="regret of the steepest pick minus regret of a tenth of divergence, MLP with AdamW",
                    panel="MLP with AdamW",
                    observe=Gap(
                        left=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="steepest_log"),
                        right=FinderRegret(arm="mlp_adam", range_test="mlp_adam_300", rule="tenth_of_divergence"),
                    ),
                    says="On the MLP with AdamW, a tenth of the divergence LR costs {less} loss than the steepest point",
                    **WINS,
                ),
                Criterion(
                    name="regret of the steepest pick minus regret of a tenth of divergence, CNN with AdamW",
                    panel="CNN with AdamW",
                    observe=Gap(
                        left=FinderRegret(arm="cnn", range_test="cnn_300", rule="steepest_log"),
                        right=FinderRegret(arm="cnn", range_test="cnn_300", rule="tenth_of_divergence"),
                    ),
                    says="On the CNN with AdamW, a tenth of the divergence LR costs {less} loss than the steepest point",
                    **WINS,
                ),
            ),
            note=(
                "Supported means that a tenth of the divergence LR (TB) has the lower regret; refuted that the steepest"
                " descent (TD, CP) has it. Each line says who wins where."
            ),
            advice={
                "supported": "Prefer a tenth of the divergence LR to the steepest point.",
                "partly": "Read both off the range test and try both in whole runs.",
                "refuted": "Prefer the steepest point to a tenth of the LR at which a smoothed range test diverges.",
            },
        ),
        Judgement(
            claim="finder.ramp",
            criteria=(
                Criterion(
                    name="a tenth of divergence, largest over smallest pick of 100, 300 and 1000 steps, MLP with SGD",
                    panel="MLP with SGD",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="mlp_sgd_100", rule="tenth_of_divergence"),
                            FinderPick(arm="mlp_sgd_300", rule="tenth_of_divergence"),
                            FinderPick(arm="mlp_sgd_1000", rule="tenth_of_divergence"),
                        )
                    ),
                    says="On the MLP with SGD, ramps of 100 to 1000 steps put a tenth of the divergence LR {estimate} apart",
                    **STABLE,
                ),
                Criterion(
                    name="a tenth of divergence, largest over smallest pick, MLP with AdamW",
                    panel="MLP with AdamW",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="mlp_adam_100", rule="tenth_of_divergence"),
                            FinderPick(arm="mlp_adam_300", rule="tenth_of_divergence"),
                            FinderPick(arm="mlp_adam_1000", rule="tenth_of_divergence"),
                        )
                    ),
                    says="On the MLP with AdamW, ramps of 100 to 1000 steps put a tenth of the divergence LR {estimate} apart",
                    **STABLE,
                ),
                Criterion(
                    name="steepest, largest over smallest pick of 100, 300 and 1000 steps, GPT with AdamW",
                    panel="GPT with AdamW",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="gpt_100", rule="steepest_log"),
                            FinderPick(arm="gpt_300", rule="steepest_log"),
                            FinderPick(arm="gpt_1000", rule="steepest_log"),
                        )
                    ),
                    says="On the GPT with AdamW, ramps of 100 to 1000 steps put the steepest point {estimate} apart",
                    **STABLE,
                ),
                Criterion(
                    name="steepest, largest over smallest pick, MLP with SGD",
                    panel="MLP with SGD",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="mlp_sgd_100", rule="steepest_log"),
                            FinderPick(arm="mlp_sgd_300", rule="steepest_log"),
                            FinderPick(arm="mlp_sgd_1000", rule="steepest_log"),
                        )
                    ),
                    says="On the MLP with SGD, ramps of 100 to 1000 steps put the steepest point {estimate} apart",
                    **STABLE,
                ),
                Criterion(
                    name="steepest, largest over smallest pick, CNN with AdamW",
                    panel="CNN with AdamW",
                    observe=Spread(
                        parts=(
                            FinderPick(arm="cnn_100", rule="steepest_log"),
                            FinderPick(arm="cnn_300", rule="steepest_log"),
                            FinderPick(arm="cnn_1000", rule="steepest_log"),
                        )
                    ),
                    says="On the CNN with AdamW, ramps of 100 to 1000 steps put the steepest point {estimate} apart",
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
            advice={
                "supported": "Make the ramp as short as you like, down to 100 steps.",
                "partly": "Repeat the range test with a ramp three times as long before you trust its pick.",
                "refuted": "Do not trust one range test: its pick depends on the length of the ramp.",
            },
        ),
        Judgement(
            claim="finder.ratio",
            criteria=(
                Criterion(
                    name="median update-to-weight ratio of a layer at the best LR, GPT with AdamW",
                    panel="GPT with AdamW",
                    observe=CurveMedian(arm="gpt", curve="median_update_ratio"),
                    says="On the GPT with AdamW, the median layer's updates are {estimate} of its weights at the best LR",
                    **THOUSANDTH,
                ),
                Criterion(
                    name="median update-to-weight ratio of a layer at the best LR, MLP with SGD",
                    panel="MLP with SGD",
                    observe=CurveMedian(arm="mlp_sgd", curve="median_update_ratio"),
                    says="On the MLP with SGD, the median layer's updates are {estimate} of its weights at the best LR",
                    **THOUSANDTH,
                ),
                Criterion(
                    name="median update-to-weight ratio of a layer at the best LR, MLP with AdamW",
                    panel="MLP with AdamW",
                    observe=CurveMedian(arm="mlp_adam", curve="median_update_ratio"),
                    says="On the MLP with AdamW, the median layer's updates are {estimate} of its weights at the best LR",
                    **THOUSANDTH,
                ),
                Criterion(
                    name="median update-to-weight ratio of a layer at the best LR, CNN with AdamW",
                    panel="CNN with AdamW",
                    observe=CurveMedian(arm="cnn", curve="median_update_ratio"),
                    says="On the CNN with AdamW, the median layer's updates are {estimate} of its weights at the best LR",
                    **THOUSANDTH,
                ),
            ),
            note="The median over layers at each probed step, then over the steps; gains and biases count with their layer.",
            advice={
                "supported": "If updates are far from a thousandth of the weights, look at the learning rate.",
                "partly": "Take a thousandth of the weights as a rough guide to the size of updates, and no more.",
                "refuted": "Do not tune the learning rate to updates of a thousandth of the weights.",
            },
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
