"""What do the parts of Adam do: bias correction, epsilon, the second moment and what it remembers?"""

from typing import Any

from folklore.harness.metrics import Curve, LossGap
from folklore.harness.spec import Arm, Criterion, Measurement, Observed, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import above, below, computed, exceeds, inside, judgement, loss_gap, lr_grid

# Constant, so that what a run recovers from is not what its schedule does; no decay, which would move weights on its own.
CONSTANT = {"schedule": "constant", "warmup_fraction": 0.05, "steps": 800}
# Half-way, at the best LR or an octave beside it, wherever that turns out to be.
NEAR_LR, STEADY_LR = lr_grid(-8, -6), lr_grid(-9, -5)
LONG, LONG_LR = {**CONSTANT, "steps": 1500}, lr_grid(-9, -3)
SHORT, SHORT_LR = {"steps": 400, "schedule": "cosine"}, lr_grid(-11, -5)
# Declared LRs, with either β2 about 8 and 16 times the best one of a pilot, and how sentences spell them. (At multiples of each
# arm's own best LR the interval was that of choosing between neighbours of an octave.)
HIGH = {"2^-4": (2.0**-4, "1/16"), "2^-3": (2.0**-3, "1/8")}


def outlier_arm(label: str, outlier: str) -> Arm:
    return Arm(panel="Outlier", label=label, settings={**CONSTANT, "outlier": outlier}, factors=NEAR_LR)


def correction_arm(label: str, reference: bool = False, **settings: Any) -> Arm:
    return Arm(panel="Correction", label=label, settings={**SHORT, **settings}, factors=SHORT_LR, reference=reference)


ARMS = {
    "steady": Arm(panel="Outlier", label="no outlier", settings=CONSTANT, factors=STEADY_LR, reference=True),
    "whole": outlier_arm("outlier", "whole"),
    "memory": outlier_arm("its memory alone", "memory"),
    "kick": outlier_arm("its own step alone", "kick"),
    "beta2_0.95": Arm(panel="β2", label="β2 0.95", settings={**LONG, "beta2": 0.95}, factors=LONG_LR, reference=True),
    "beta2_0.999": Arm(panel="β2", label="β2 0.999", settings={**LONG, "beta2": 0.999}, factors=LONG_LR),
    "corrected": correction_arm("corrected", reference=True),
    "uncorrected": correction_arm("not corrected", bias_correction=False),
    "corrected_warmup": correction_arm("corrected, 20% warmup", warmup_fraction=0.2),
    "uncorrected_warmup": correction_arm("not corrected, 20% warmup", warmup_fraction=0.2, bias_correction=False),
}


def by_panel(outlier: Any, beta2: Any, correction: Any) -> dict[str, Any]:
    """Overrides of all arms at a scale."""
    overrides = {"Outlier": outlier, "β2": beta2, "Correction": correction}
    return {name: overrides[arm.panel] for name, arm in ARMS.items()}


def outlier_adds(arm: str, reference: str = "steady", first: float = 0.5, last: float = 1.0) -> LossGap:
    """How much higher the training loss of the same batches is in a part of the run: from the outlier on, if not told."""
    window = {"tuned_for": "steady", "first": first, "last": last}
    return loss_gap(arm, reference, Curve, best_of=("steady",), of="train_loss", **window)


def beta2_adds(lr: float, first: float = 0.5, last: float = 1.0) -> LossGap:
    """How much higher the training loss at an LR is with a β2 of 0.999 than with 0.95: in the second half, if not told."""
    window = {"value": lr, "first": first, "last": last}
    return loss_gap("beta2_0.999", "beta2_0.95", Curve, best_of=("beta2_0.95",), of="train_loss", **window)


def late_spikes(beta2: str, lr: float) -> Observed:
    """Of 1,000 steps in the second half of a run."""
    return Curve(arm=f"beta2_{beta2}", of="train_loss_spikes", value=lr, first=0.5) * 1000


def time_constant(moment: str, steps: float, says: str) -> Criterion:
    """So many steps, to a factor of two; what is beyond a factor of four refutes."""
    return Criterion(
        name=f"time constant of the uncorrected {moment} moment, steps",
        observe=computed("adam.uncorrected", f"{moment}_moment_steps"),
        **inside(steps / 2, 2 * steps, refuted=(steps / 4, 4 * steps), unit="steps"),
        says=says,
    )


BIAS = judgement(
    "adam.bias",
    time_constant("first", 10, "Without correction the first moment is too small for {estimate}"),
    time_constant("second", 1000, "The second moment is too small for {estimate}"),
    Criterion(
        name="first step without correction over the first with it",
        observe=computed("adam.uncorrected", "first_step"),
        **above(1.1, refuted=0.9, null=1.0, unit="x"),
        says="The first step is {larger} without correction",
    ),
    right={"supported": "1,000 steps", "refuted": "thousands"},
    reported={
        "largest step over the one with correction": (computed("adam.uncorrected", "largest_step"), "x"),
        "the step at which that is": computed("adam.uncorrected", "largest_at"),
        "last step that is wrong by more than 10%": computed("adam.uncorrected", "wrong_until"),
        "tuned loss without correction, less that with it, no warmup, of the fall": (
            loss_gap("uncorrected", "corrected"),
            "relative",
        ),
        "the same with 20% warmup": (loss_gap("uncorrected_warmup", "corrected_warmup"), "relative"),
    },
    note=(
        "A time constant is the number of steps until a moment has come to 1 - 1/e of a constant gradient. The first moment"
        " alone would make steps too small; the second, whose root divides, makes them too large, and wins: by more than 10%"
        " until step 1,750, so that 1,000 and a few thousand are both fair, and what parts the sides is the sign."
    ),
    if_supported="Keep the bias correction; without it the first steps are several times too large.",
    if_partly="Keep the bias correction.",
    if_refuted="Work out the first steps of your own betas before you drop the correction.",
)

EPSILON = judgement(
    "adam.epsilon",
    Criterion(
        name="largest error of LR x gradient / epsilon as the step, far below epsilon",
        observe=computed("adam.small_gradients", "error"),
        **below(0.02, refuted=0.1, unit="share"),
        says="A hundred times below epsilon and further, LR x gradient / epsilon is Adam's step to {estimate}",
    ),
    Criterion(
        name="largest step over gradient, over LR / epsilon",
        observe=computed("adam.small_gradients", "cap"),
        **below(1.001, refuted=1.1, unit="x"),
        says="At constant gradients the step is nowhere more than {estimate} LR x gradient / epsilon",
    ),
    reported={"step over LR at gradients of 1e-12": computed("adam.small_gradients", "tiny_step")},
    note=(
        "That weights with tiny gradients still get sensible updates is the other way round: below epsilon a step vanishes with"
        " its gradient."
    ),
    if_supported="Compare epsilon with the root of the second moment: weights far below it hardly move.",
    if_refuted="Measure the effective LR of weights with small gradients.",
)

HALF_LIFE = judgement(
    "adam.half_life",
    Criterion(
        name="half-life of an outlier in the second moment at β2 0.999, steps",
        observe=computed("adam.outlier", "half_life"),
        **inside(630.0, 770.0, refuted=(350.0, 1400.0), unit="steps"),
        says="At a β2 of 0.999 an outlier's weight in the second moment halves every {estimate}",
    ),
    reported={
        "steps until Adam's step is within 10% again, after a gradient 1000 times too large": (
            computed("adam.outlier", "recovery"),
            "steps",
        )
    },
    note="The step divides by the root, which forgets at half the speed. A smaller outlier is forgotten sooner: the table.",
    if_supported="After a gradient 100 times too large or more expect small steps, for thousands of steps at a β2 of 0.999.",
    if_refuted="Work out the half-life of your own β2.",
)

BETA2_SPIKES = judgement(
    "adam.beta2_spikes",
    *(
        exceeds(
            f"late training loss at an LR of {lr}, β2 0.999 less 0.95, of the fall",
            beta2_adds(value),
            f"At an LR of {spelled} a β2 of 0.999 leaves the late loss {{higher}} than 0.95, of the fall",
            by=0.02,
            panel=f"LR {lr}",
        )
        for lr, (value, spelled) in HIGH.items()
    ),
    reported={
        "tuned loss, β2 0.999 less 0.95, of the fall": (
            loss_gap("beta2_0.999", "beta2_0.95", best_of=("beta2_0.95",)),
            "relative",
        ),
        **{
            f"at an LR of {lr}, in the second tenth of the run": (beta2_adds(value, first=0.1, last=0.2), "relative")
            for lr, (value, _) in HIGH.items()
        },
        **{
            f"spikes in 1,000 late steps at an LR of {lr}, β2 {beta2}": late_spikes(beta2, value)
            for lr, (value, _) in HIGH.items()
            for beta2 in ("0.95", "0.999")
        },
    },
    note=(
        "A spike is a step whose loss lies six robust deviations above the median of the 50 before: a pilot had next to none at"
        " this size, so that what is judged is how well a run bears a high LR, late. The second tenth says whether the harm is"
        " older."
    ),
    if_supported="If a run has to bear an LR well above its best, try a β2 of 0.95.",
    if_partly="If a run has to bear an LR well above its best, try a β2 of 0.95; it is no cure at all of them.",
    if_refuted="Look elsewhere than at β2 if a run is unstable.",
)

RMSPROP = judgement(
    "adam.rmsprop",
    Criterion(
        name="distance after 200 steps, of the way",
        observe=computed("adam.beside_rmsprop", "distance"),
        **below(1e-6, refuted=1e-3),
        says="Adam without momentum and correction ends {estimate} of the way from RMSProp after 200 steps",
    ),
    note="Both are the engine's own, which tests hold against torch.optim's; epsilon stands outside the root in both.",
    if_supported="Read results on RMSProp as results on Adam without momentum.",
    if_refuted="Tell the two apart in what you read.",
)

OUTLIER = judgement(
    "adam.outlier",
    exceeds(
        "training loss that an outlier's memory adds in the tenth of the run after it, of the fall",
        outlier_adds("memory", last=0.6),
        "An outlier's memory alone leaves the loss after it {higher}, of the fall",
        by=0.01,
        alternatives={
            "in the whole half after it": outlier_adds("memory"),
            "in the last tenth": outlier_adds("memory", first=0.9),
        },
    ),
    exceeds(
        "what its memory adds in the last tenth if its own step has thrown the weights off, of the fall",
        outlier_adds("whole", "kick", first=0.9),
        "After the outlier's own step its memory leaves the loss {higher}, of the fall",
        by=0.01,
    ),
    right={"supported": "memory", "refuted": "kick"},
    reported={
        "training loss that its own step adds, of the fall": (outlier_adds("kick"), "relative"),
        "training loss that all of it adds, of the fall": (outlier_adds("whole"), "relative"),
        "how far an outlier moves its weight at β2 0.999, once v has settled": (computed("adam.outlier", "kick"), "LRs"),
        "how far an outlier moves its weight at β2 0.95, once v has settled": (computed("adam.outlier", "kick_095"), "LRs"),
    },
    note=(
        "The memory makes later steps smaller, and nothing else. That is next to harmless by itself; after the outlier's own"
        " step, which throws the weights off, it makes them come back more slowly. Runs that are lost count with the loss they"
        " began with."
    ),
    if_supported="After an outlier, reset Adam's second moment.",
    if_partly="Keep outliers out by clipping; if one got through, resetting Adam's second moment speeds recovery.",
    if_refuted="Keep outliers out by clipping: their own step is what harms.",
)

STUDY = Study(
    name="adam_internals",
    version=1,
    title="Inside Adam",
    question="What do the parts of Adam do: bias correction, epsilon, the second moment and what it remembers?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(optimizer="adamw", batch_size=16, weight_decay=0.0, warmup_fraction=0.0, beta2=0.999),
    measurement=Measurement(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    arms=ARMS,
    factors=SHORT_LR,
    seeds=16,
    first_seed=22_000,
    scales={
        "smoke": scales.smoke(
            arm_settings={arm: {"steps": 60} for arm in ARMS}, measurement={"evaluation_examples": 8, "final_examples": 16}
        ),
        "laptop": scales.laptop(
            "about three minutes of training",
            "About 7,000 parameters, 1,500 steps at most: 'long' runs are 1.5 time constants of a β2 of 0.999.",
            "The outlier is a whole batch's gradient, 1000 times too large in every weight at once.",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 32, "precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            factors=lr_grid(-12, -7),
            arm_factors=by_panel(outlier=lr_grid(-11, -8), beta2=lr_grid(-11, -3), correction=lr_grid(-13, -7)),
            seeds=8,
        ),
        "cluster": scales.gpu(
            "many GPUs, hours: a 115M-parameter byte-level model on web text",
            workload={"dataset": "web-text", "width": 768, "depth": 16, "heads": 12, "context": 1024},
            training={"batch_size": 64, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 2048},
            arm_settings=by_panel(outlier={"steps": 10_000}, beta2={"steps": 10_000}, correction={"steps": 2000}),
            arm_factors=by_panel(outlier=lr_grid(-12, -9), beta2=lr_grid(-12, -3), correction=lr_grid(-14, -8)),
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
    judgements=(BIAS, EPSILON, HALF_LIFE, BETA2_SPIKES, RMSPROP, OUTLIER),
    published=(
        Published(
            claim="adam.beta2_spikes",
            finding="Loss spikes in vision transformers follow an out-of-date second moment; a lower β2 or clipping the update"
            " removes them.",
            source="Wortsman et al. 2023",
            link="https://arxiv.org/abs/2304.13013",
        ),
    ),
)
