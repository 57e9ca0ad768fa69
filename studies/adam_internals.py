"""What do the parts of Adam do: bias correction, epsilon, the second moment and what it remembers?"""

from folklore.harness.observables import Computed, CurveMean, FallShare, Scaled, TunedLoss
from folklore.harness.spec import (
    Alternative,
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

# Constant, so that what a run recovers from is not what its schedule does; no decay, which would move weights on its own.
CONSTANT = {"schedule": "constant", "warmup_fraction": 0.05, "steps": 800}
# Half-way, at the best LR or an octave beside it, wherever that turns out to be.
NEAR_LR, STEADY_LR = {"peak_lr": log2_grid(-8, -6, per_octave=1)}, {"peak_lr": log2_grid(-9, -5, per_octave=1)}
LONG = {**CONSTANT, "steps": 1500}
LONG_LR = {"peak_lr": log2_grid(-9, -3, per_octave=1)}
SHORT = {"steps": 400, "schedule": "cosine"}
SHORT_LR = {"peak_lr": log2_grid(-11, -5, per_octave=1)}
# Training loss of the same batches, from the outlier on and in tenths of the run.
AT_STEADY = {"curve": "train_loss", "tuned_for": "steady"}
HALF, NEXT, LAST = {**AT_STEADY, "first": 0.5}, {**AT_STEADY, "first": 0.5, "last": 0.6}, {**AT_STEADY, "first": 0.9}
FALL = {"best_of": ("steady",)}
ADDED = {
    arm: FallShare(left=CurveMean(arm=arm, **HALF), right=CurveMean(arm="steady", **HALF), **FALL)
    for arm in ("whole", "memory", "kick")
}
ADDED_NEXT = FallShare(left=CurveMean(arm="memory", **NEXT), right=CurveMean(arm="steady", **NEXT), **FALL)
ADDED_LAST = FallShare(left=CurveMean(arm="memory", **LAST), right=CurveMean(arm="steady", **LAST), **FALL)
MEMORY_AFTER_KICK = FallShare(left=CurveMean(arm="whole", **LAST), right=CurveMean(arm="kick", **LAST), **FALL)
# The second half of a run, and its second tenth, at declared LRs: with either β2 about 8 and 16 times the best one of a pilot.
# (At multiples of each arm's own best LR the interval was that of choosing between neighbours of an octave.)
LATE, EARLY = {"curve": "train_loss", "first": 0.5}, {"curve": "train_loss", "first": 0.1, "last": 0.2}
HIGH = {"2^-4": 2.0**-4, "2^-3": 2.0**-3}
WRITTEN = {"2^-4": "1/16", "2^-3": "1/8"}
OF_LONG = {"best_of": ("beta2_0.95",)}
BETA2_ADDED = {
    lr: FallShare(
        left=CurveMean(arm="beta2_0.999", value=value, **LATE),
        right=CurveMean(arm="beta2_0.95", value=value, **LATE),
        **OF_LONG,
    )
    for lr, value in HIGH.items()
}
BETA2_ADDED_EARLY = {
    lr: FallShare(
        left=CurveMean(arm="beta2_0.999", value=value, **EARLY),
        right=CurveMean(arm="beta2_0.95", value=value, **EARLY),
        **OF_LONG,
    )
    for lr, value in HIGH.items()
}
BETA2_AT_BEST = FallShare(left=TunedLoss(arm="beta2_0.999"), right=TunedLoss(arm="beta2_0.95"), **OF_LONG)

STUDY = Study(
    name="adam_internals",
    version=1,
    title="Inside Adam",
    question="What do the parts of Adam do: bias correction, epsilon, the second moment and what it remembers?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(optimizer="adamw", batch_size=16, weight_decay=0.0, warmup_fraction=0.0, beta2=0.999),
    measurement=Measurement(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    arms={
        "steady": Arm(panel="Outlier", label="no outlier", settings=CONSTANT, factors=STEADY_LR, reference=True),
        "whole": Arm(panel="Outlier", label="outlier", settings={**CONSTANT, "outlier": "whole"}, factors=NEAR_LR),
        "memory": Arm(panel="Outlier", label="its memory alone", settings={**CONSTANT, "outlier": "memory"}, factors=NEAR_LR),
        "kick": Arm(panel="Outlier", label="its own step alone", settings={**CONSTANT, "outlier": "kick"}, factors=NEAR_LR),
        "beta2_0.95": Arm(panel="β2", label="β2 0.95", settings={**LONG, "beta2": 0.95}, factors=LONG_LR, reference=True),
        "beta2_0.999": Arm(panel="β2", label="β2 0.999", settings={**LONG, "beta2": 0.999}, factors=LONG_LR),
        "corrected": Arm(panel="Correction", label="corrected", settings=SHORT, factors=SHORT_LR, reference=True),
        "uncorrected": Arm(
            panel="Correction", label="not corrected", settings={**SHORT, "bias_correction": False}, factors=SHORT_LR
        ),
        "corrected_warmup": Arm(
            panel="Correction", label="corrected, 20% warmup", settings={**SHORT, "warmup_fraction": 0.2}, factors=SHORT_LR
        ),
        "uncorrected_warmup": Arm(
            panel="Correction",
            label="not corrected, 20% warmup",
            settings={**SHORT, "warmup_fraction": 0.2, "bias_correction": False},
            factors=SHORT_LR,
        ),
    },
    factors=SHORT_LR,
    seeds=16,
    first_seed=22_000,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            arm_settings={
                name: {"steps": 60}
                for name in ("steady", "whole", "memory", "kick", "beta2_0.95", "beta2_0.999", "corrected", "uncorrected")
            }
            | {name: {"steps": 60} for name in ("corrected_warmup", "uncorrected_warmup")},
            measurement={"evaluation_examples": 8, "final_examples": 16},
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about three minutes of training",
            departures=(
                "About 7,000 parameters, 1,500 steps at most: 'long' runs are 1.5 time constants of a β2 of 0.999.",
                "The outlier is a whole batch's gradient, 1000 times too large in every weight at once.",
            ),
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes: 0.4M parameters on Python's standard library",
            device="cuda",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 32, "precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            factors={"peak_lr": log2_grid(-12, -7, per_octave=1)},
            arm_factors={
                **{name: {"peak_lr": log2_grid(-11, -8, per_octave=1)} for name in ("steady", "whole", "memory", "kick")},
                **{name: {"peak_lr": log2_grid(-11, -3, per_octave=1)} for name in ("beta2_0.95", "beta2_0.999")},
                **{
                    name: {"peak_lr": log2_grid(-13, -7, per_octave=1)}
                    for name in ("corrected", "uncorrected", "corrected_warmup", "uncorrected_warmup")
                },
            },
            seeds=8,
        ),
        "cluster": Scale(
            description="many GPUs, hours: a 115M-parameter byte-level model on web text",
            device="cuda",
            workload={"dataset": "web-text", "width": 768, "depth": 16, "heads": 12, "context": 1024},
            training={"batch_size": 64, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 2048},
            arm_settings={
                **{name: {"steps": 10_000} for name in ("steady", "whole", "memory", "kick", "beta2_0.95", "beta2_0.999")},
                **{name: {"steps": 2000} for name in ("corrected", "uncorrected", "corrected_warmup", "uncorrected_warmup")},
            },
            arm_factors={
                **{name: {"peak_lr": log2_grid(-12, -9, per_octave=1)} for name in ("steady", "whole", "memory", "kick")},
                **{name: {"peak_lr": log2_grid(-12, -3, per_octave=1)} for name in ("beta2_0.95", "beta2_0.999")},
                **{
                    name: {"peak_lr": log2_grid(-14, -8, per_octave=1)}
                    for name in ("corrected", "uncorrected", "corrected_warmup", "uncorrected_warmup")
                },
            },
            seeds=6,
        ),
    },
    departures=(
        "Computed numbers have no seeds: their regions were written when they were known, most of them from designs of before.",
        "The exact claims are worked out with the optimizers that studies train with, at gradients that are given.",
        "The outlier is put into Adam's moments before its step: past any clipping, which is there to keep it out.",
        "'Its own step alone': 50 steps after it, when it has moved the weights, the second moment forgets it.",
    ),
    answer=("adam.bias", "adam.outlier", "adam.half_life", "adam.beta2_spikes"),
    judgements=(
        Judgement(
            claim="adam.bias",
            right={"supported": "1,000 steps", "refuted": "thousands"},
            criteria=(
                Criterion(
                    name="time constant of the uncorrected first moment, steps",
                    observe=Computed(function="adam.uncorrected", number="first_moment_steps"),
                    claimed=Within(low=5.0, high=20.0),
                    refuted=Outside(low=2.5, high=40.0),
                    says="Without correction the first moment is too small for {estimate}",
                    unit="steps",
                ),
                Criterion(
                    name="time constant of the uncorrected second moment, steps",
                    observe=Computed(function="adam.uncorrected", number="second_moment_steps"),
                    claimed=Within(low=500.0, high=2000.0),
                    refuted=Outside(low=250.0, high=4000.0),
                    says="The second moment is too small for {estimate}",
                    unit="steps",
                ),
                Criterion(
                    name="first step without correction over the first with it",
                    observe=Computed(function="adam.uncorrected", number="first_step"),
                    null=1.0,
                    claimed=AtLeast(value=1.1),
                    refuted=AtMost(value=0.9),
                    says="The first step is {larger} without correction",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="largest step over the one with correction",
                    observe=Computed(function="adam.uncorrected", number="largest_step"),
                    unit="x",
                ),
                Reported(name="the step at which that is", observe=Computed(function="adam.uncorrected", number="largest_at")),
                Reported(
                    name="last step that is wrong by more than 10%",
                    observe=Computed(function="adam.uncorrected", number="wrong_until"),
                ),
                Reported(
                    name="tuned loss without correction, less that with it, no warmup, of the fall",
                    observe=FallShare(left=TunedLoss(arm="uncorrected"), right=TunedLoss(arm="corrected")),
                    unit="relative",
                ),
                Reported(
                    name="the same with 20% warmup",
                    observe=FallShare(left=TunedLoss(arm="uncorrected_warmup"), right=TunedLoss(arm="corrected_warmup")),
                    unit="relative",
                ),
            ),
            note=(
                "A time constant is the number of steps until a moment has come to 1 - 1/e of a constant gradient. The first"
                " moment alone would make steps too small; the second, whose root divides, makes them too large, and wins: by"
                " more than 10% until step 1,750, so that 1,000 and a few thousand are both fair, and what parts the sides is"
                " the sign."
            ),
            advice={
                "supported": "Keep the bias correction; without it the first steps are several times too large.",
                "partly": "Keep the bias correction.",
                "refuted": "Work out the first steps of your own betas before you drop the correction.",
            },
        ),
        Judgement(
            claim="adam.epsilon",
            criteria=(
                Criterion(
                    name="largest error of LR x gradient / epsilon as the step, far below epsilon",
                    observe=Computed(function="adam.small_gradients", number="error"),
                    claimed=AtMost(value=0.02),
                    refuted=AtLeast(value=0.1),
                    says="A hundred times below epsilon and further, LR x gradient / epsilon is Adam's step to {estimate}",
                    unit="share",
                ),
                Criterion(
                    name="largest step over gradient, over LR / epsilon",
                    observe=Computed(function="adam.small_gradients", number="cap"),
                    claimed=AtMost(value=1.001),
                    refuted=AtLeast(value=1.1),
                    says="At constant gradients the step is nowhere more than {estimate} LR x gradient / epsilon",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="step over LR at gradients of 1e-12",
                    observe=Computed(function="adam.small_gradients", number="tiny_step"),
                ),
            ),
            note=(
                "That weights with tiny gradients still get sensible updates is the other way round: below epsilon a step"
                " vanishes with its gradient."
            ),
            advice={
                "supported": "Compare epsilon with the root of the second moment: weights far below it hardly move.",
                "refuted": "Measure the effective LR of weights with small gradients.",
            },
        ),
        Judgement(
            claim="adam.half_life",
            criteria=(
                Criterion(
                    name="half-life of an outlier in the second moment at β2 0.999, steps",
                    observe=Computed(function="adam.outlier", number="half_life"),
                    claimed=Within(low=630.0, high=770.0),
                    refuted=Outside(low=350.0, high=1400.0),
                    says="At a β2 of 0.999 an outlier's weight in the second moment halves every {estimate}",
                    unit="steps",
                ),
            ),
            reported=(
                Reported(
                    name="steps until Adam's step is within 10% again, after a gradient 1000 times too large",
                    observe=Computed(function="adam.outlier", number="recovery"),
                    unit="steps",
                ),
            ),
            note=(
                "The step divides by the root, which forgets at half the speed. A smaller outlier is forgotten sooner: the"
                " table."
            ),
            advice={
                "supported": (
                    "After a gradient 100 times too large or more expect small steps, for thousands of steps at a β2 of 0.999."
                ),
                "refuted": "Work out the half-life of your own β2.",
            },
        ),
        Judgement(
            claim="adam.beta2_spikes",
            criteria=(
                *(
                    Criterion(
                        name=f"late training loss at an LR of {lr}, β2 0.999 less 0.95, of the fall",
                        panel=f"LR {lr}",
                        observe=BETA2_ADDED[lr],
                        null=0.0,
                        margin=0.02,
                        claimed=AtLeast(value=0.02),
                        refuted=AtMost(value=0.0),
                        says=f"At an LR of {WRITTEN[lr]} a β2 of 0.999 leaves the late loss {{higher}} than 0.95, of the fall",
                        unit="relative",
                    )
                    for lr in HIGH
                ),
            ),
            reported=(
                Reported(name="tuned loss, β2 0.999 less 0.95, of the fall", observe=BETA2_AT_BEST, unit="relative"),
                *(
                    Reported(
                        name=f"at an LR of {lr}, in the second tenth of the run", observe=BETA2_ADDED_EARLY[lr], unit="relative"
                    )
                    for lr in HIGH
                ),
                *(
                    Reported(
                        name=f"spikes in 1,000 late steps at an LR of {lr}, β2 {beta2}",
                        observe=Scaled(
                            of=CurveMean(arm=f"beta2_{beta2}", curve="train_loss_spikes", value=value, first=0.5), by=1000.0
                        ),
                    )
                    for lr, value in HIGH.items()
                    for beta2 in ("0.95", "0.999")
                ),
            ),
            note=(
                "A spike is a step whose loss lies six robust deviations above the median of the 50 before: a pilot had next to"
                " none at this size, so that what is judged is how well a run bears a high LR, late. The second tenth says"
                " whether the harm is older."
            ),
            advice={
                "supported": "If a run has to bear an LR well above its best, try a β2 of 0.95.",
                "partly": "If a run has to bear an LR well above its best, try a β2 of 0.95; it is no cure at all of them.",
                "refuted": "Look elsewhere than at β2 if a run is unstable.",
            },
        ),
        Judgement(
            claim="adam.rmsprop",
            criteria=(
                Criterion(
                    name="distance after 200 steps, of the way",
                    observe=Computed(function="adam.beside_rmsprop", number="distance"),
                    claimed=AtMost(value=1e-6),
                    refuted=AtLeast(value=1e-3),
                    says="Adam without momentum and correction ends {estimate} of the way from RMSProp after 200 steps",
                ),
            ),
            note="Both are the engine's own, which tests hold against torch.optim's; epsilon stands outside the root in both.",
            advice={
                "supported": "Read results on RMSProp as results on Adam without momentum.",
                "refuted": "Tell the two apart in what you read.",
            },
        ),
        Judgement(
            claim="adam.outlier",
            right={"supported": "memory", "refuted": "kick"},
            criteria=(
                Criterion(
                    name="training loss that an outlier's memory adds in the tenth of the run after it, of the fall",
                    observe=ADDED_NEXT,
                    null=0.0,
                    margin=0.01,
                    claimed=AtLeast(value=0.01),
                    refuted=AtMost(value=0.0),
                    says="An outlier's memory alone leaves the loss after it {higher}, of the fall",
                    unit="relative",
                    alternatives=(
                        Alternative(name="in the whole half after it", observe=ADDED["memory"]),
                        Alternative(name="in the last tenth", observe=ADDED_LAST),
                    ),
                ),
                Criterion(
                    name="what its memory adds in the last tenth if its own step has thrown the weights off, of the fall",
                    observe=MEMORY_AFTER_KICK,
                    null=0.0,
                    margin=0.01,
                    claimed=AtLeast(value=0.01),
                    refuted=AtMost(value=0.0),
                    says="After the outlier's own step its memory leaves the loss {higher}, of the fall",
                    unit="relative",
                ),
            ),
            reported=(
                Reported(name="training loss that its own step adds, of the fall", observe=ADDED["kick"], unit="relative"),
                Reported(name="training loss that all of it adds, of the fall", observe=ADDED["whole"], unit="relative"),
                Reported(
                    name="how far an outlier moves its weight at β2 0.999, once v has settled",
                    observe=Computed(function="adam.outlier", number="kick"),
                    unit="LRs",
                ),
                Reported(
                    name="how far an outlier moves its weight at β2 0.95, once v has settled",
                    observe=Computed(function="adam.outlier", number="kick_095"),
                    unit="LRs",
                ),
            ),
            note=(
                "The memory makes later steps smaller, and nothing else. That is next to harmless by itself; after the"
                " outlier's own step, which throws the weights off, it makes them come back more slowly. Runs that are lost"
                " count with the loss they began with."
            ),
            advice={
                "supported": "After an outlier, reset Adam's second moment.",
                "partly": "Keep outliers out by clipping; if one got through, resetting Adam's second moment speeds recovery.",
                "refuted": "Keep outliers out by clipping: their own step is what harms.",
            },
        ),
    ),
    published=(
        Published(
            claim="adam.beta2_spikes",
            finding=(
                "Loss spikes in vision transformers follow an out-of-date second moment; a lower β2 or clipping the update"
                " removes them."
            ),
            source="Wortsman et al. 2023",
            link="https://arxiv.org/abs/2304.13013",
            how="reported",
        ),
    ),
)
