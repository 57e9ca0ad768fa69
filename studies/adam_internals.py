"""What do the parts of Adam do: bias correction, epsilon, the second moment and its memory?"""

from typing import Any

from .kit import *

# A constant LR, so that recovery is not an effect of the schedule; no decay, which would move weights itself.
CONSTANT = {"schedule": "constant", "warmup_fraction": 0.05, "steps": 800}
# The outlier comes halfway, at the best LR or an octave beside it.
NEAR_LR, STEADY_LR = lr_grid(-8, -6), lr_grid(-9, -5)
LONG, LONG_LR = {**CONSTANT, "steps": 1500}, lr_grid(-9, -3)
SHORT, SHORT_LR = {"steps": 400, "schedule": "cosine"}, lr_grid(-11, -5)
# The late loss is judged at 2^-4, about 8 times a pilot's best for both β2, and reported at these. (Multiples of each arm's own
# best LR made the interval that of choosing between neighbouring octaves.)
OTHERS = {"2^-5": 2.0**-5, "2^-3": 2.0**-3}


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
    """How much higher the training loss on the same batches is in a part of the run, by default after the outlier."""
    window = {"tuned_for": "steady", "first": first, "last": last}
    return loss_gap(arm, reference, Curve, best_of=("steady",), of="train_loss", **window)


def beta2_adds(lr: float, first: float = 0.5, last: float = 1.0) -> LossGap:
    """How much higher the training loss is with a β2 of 0.999 than with 0.95, by default in the second half."""
    window = {"value": lr, "first": first, "last": last}
    return loss_gap("beta2_0.999", "beta2_0.95", Curve, best_of=("beta2_0.95",), of="train_loss", **window)


def late_spikes(beta2: str, lr: float) -> Observed:
    """Spikes per 1,000 steps in the second half of a run."""
    return Curve(arm=f"beta2_{beta2}", of="train_loss_spikes", value=lr, first=0.5) * 1000


def time_constant(clause: str, moment: str, steps: float, says: str) -> Criterion:
    """`steps` to within a factor of two; a factor of four refutes."""
    return Criterion(
        name=f"time constant of the uncorrected {moment} moment, steps",
        clause=clause,
        observe=computed("adam.uncorrected", f"{moment}_moment_steps"),
        **inside(steps / 2, 2 * steps, refuted=(steps / 4, 4 * steps), unit="steps"),
        says=says,
    )


BIAS = judgement(
    "adam.bias",
    time_constant("a", "first", 10, "Without bias correction, the first moment is too small for {estimate}"),
    time_constant("b", "second", 1000, "Without it, the second moment is too small for {estimate}"),
    Criterion(
        name="first step without correction over the first with it",
        clause="c",
        observe=computed("adam.uncorrected", "first_step"),
        **above(1.1, refuted=0.9, null=1.0, unit="x"),
        says="The first step is {larger} without correction",
    ),
    right={"supported": "1,000 steps", "refuted": "thousands"},
    reported={
        "largest step over the one with correction": (computed("adam.uncorrected", "largest_step"), "x"),
        "the step at which it occurs": computed("adam.uncorrected", "largest_at"),
        "last step with an error above 10%": computed("adam.uncorrected", "wrong_until"),
        "tuned loss without correction minus with it, no warmup, of the loss reduction": (
            loss_gap("uncorrected", "corrected"),
            "relative",
        ),
        "the same with 20% warmup": (loss_gap("uncorrected_warmup", "corrected_warmup"), "relative"),
    },
)

EPSILON = judgement(
    "adam.epsilon",
    Criterion(
        name="largest error of LR x gradient / epsilon as the step, far below epsilon",
        clause="a",
        observe=computed("adam.small_gradients", "error"),
        **below(0.02, refuted=0.1, unit="share"),
        says="For gradients at least 100 times below epsilon, Adam's step is LR x gradient / epsilon to within {estimate}",
    ),
    Criterion(
        name="largest step over gradient, over LR / epsilon",
        clause="b",
        observe=computed("adam.small_gradients", "cap"),
        **below(1.001, refuted=1.1, unit="x"),
        says="At constant gradients, the largest step is {estimate} LR x gradient / epsilon",
    ),
    reported={"step over LR at gradients of 1e-12": computed("adam.small_gradients", "tiny_step")},
)

HALF_LIFE = judgement(
    "adam.half_life",
    Criterion(
        name="half-life of an outlier in the second moment at β2 0.999, steps",
        observe=computed("adam.outlier", "half_life"),
        **inside(630.0, 770.0, refuted=(350.0, 1400.0), unit="steps"),
        says="With a β2 of 0.999, an outlier's weight in the second moment halves every {estimate}",
    ),
    reported={
        "steps until Adam's step is within 10% again, after a gradient 1000 times too large": (
            computed("adam.outlier", "recovery"),
            "steps",
        )
    },
)

BETA2_SPIKES = judgement(
    "adam.beta2_spikes",
    Criterion(
        name="late training loss at an LR of 2^-4, β2 0.999 less 0.95, of the loss reduction",
        observe=beta2_adds(2.0**-4),
        **above(0.0, null=0.0, unit="relative"),
        says="Late in training at eight times the best LR, a β2 of 0.999 {costs} of the loss reduction compared with 0.95",
        alternatives={
            "at twice that LR": beta2_adds(2.0**-3),
            "at half that LR": beta2_adds(2.0**-5),
            "in the last tenth": beta2_adds(2.0**-4, first=0.9),
        },
    ),
    reported={
        "tuned loss, β2 0.999 minus 0.95, of the loss reduction": (
            loss_gap("beta2_0.999", "beta2_0.95", best_of=("beta2_0.95",)),
            "relative",
        ),
        **{f"at an LR of {lr}": (beta2_adds(value), "relative") for lr, value in OTHERS.items()},
        "at an LR of 2^-4, in the second tenth of the run": (beta2_adds(2.0**-4, first=0.1, last=0.2), "relative"),
        **{
            f"spikes in 1,000 late steps at an LR of {lr}, β2 {beta2}": late_spikes(beta2, value)
            for lr, value in {"2^-4": 2.0**-4, "2^-3": 2.0**-3}.items()
            for beta2 in ("0.95", "0.999")
        },
    },
)

RMSPROP = judgement(
    "adam.rmsprop",
    Criterion(
        name="distance after 200 steps, of the way",
        observe=computed("adam.beside_rmsprop", "distance"),
        **below(1e-6, refuted=1e-3),
        says="After 200 steps, Adam without momentum and correction matches RMSProp to a relative distance of {estimate}",
    ),
)

OUTLIER = judgement(
    "adam.outlier",
    exceeds(
        "training loss that an outlier's memory adds in the tenth of the run after it, of the loss reduction",
        outlier_adds("memory", last=0.6),
        "In the tenth of the run after an outlier, its memory in the second moment alone {costs} of the loss reduction",
        by=0.01,
        clause="a",
        alternatives={
            "in the whole half after it": outlier_adds("memory"),
            "in the last tenth": outlier_adds("memory", first=0.9),
        },
    ),
    exceeds(
        "what its memory adds in the last tenth if its own step has thrown the weights off, of the loss reduction",
        outlier_adds("whole", "kick", first=0.9),
        "After the outlier's own step, its memory {costs} of the loss reduction",
        by=0.01,
        clause="b",
    ),
    right={"supported": "memory", "refuted": "kick"},
    reported={
        "training loss added by its own step, of the loss reduction": (outlier_adds("kick"), "relative"),
        "training loss added by all of it, of the loss reduction": (outlier_adds("whole"), "relative"),
        "distance an outlier moves its weight at β2 0.999, with v settled": (computed("adam.outlier", "kick"), "LRs"),
        "distance an outlier moves its weight at β2 0.95, with v settled": (computed("adam.outlier", "kick_095"), "LRs"),
    },
)

STUDY = study(
    __file__,
    version=2,
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(optimizer="adamw", batch_size=16, weight_decay=0.0, warmup_fraction=0.0, beta2=0.999),
    measurement=Measurement(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    arms=ARMS,
    factors=SHORT_LR,
    seeds=16,
    first_seed=52_000,
    scales={
        "smoke": scales.smoke(
            arm_settings={arm: {"steps": 60} for arm in ARMS}, measurement={"evaluation_examples": 8, "final_examples": 16}
        ),
        "laptop": scales.laptop(
            "about three minutes of training",
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
    answer=("adam.bias", "adam.outlier", "adam.half_life", "adam.beta2_spikes"),
    judgements=(BIAS, EPSILON, HALF_LIFE, BETA2_SPIKES, RMSPROP, OUTLIER),
)
