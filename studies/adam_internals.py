"""What do the parts of Adam do: bias correction, epsilon, the second moment and its memory?"""

from collections.abc import Iterator
from functools import partial

from .kit import *

study = Draft(
    __file__,
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.999, weight_decay=0.0, batch_size=16, warmup_fraction=0.0)
    | dict(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    version=2,
    factors=lr_grid(-11, -5),
    seeds=16,
    first_seed=52_000,
    answer=("adam.bias", "adam.outlier", "adam.half_life", "adam.beta2_spikes"),
)

# A constant LR, so that recovery is not an effect of the schedule; no decay, which would move weights itself.
CONSTANT = {"schedule": "constant", "warmup_fraction": 0.05, "steps": 800}

# The outlier comes halfway, at the best LR or an octave beside it.
outlier_arm = partial(study.arm, panel="Outlier", settings=CONSTANT, factors=lr_grid(-8, -6))
OUTLIER = (
    outlier_arm("steady", "no outlier", factors=lr_grid(-9, -5), reference=True),
    outlier_arm("whole", "outlier", outlier="whole"),
    outlier_arm("memory", "its memory alone", outlier="memory"),
    outlier_arm("kick", "its own step alone", outlier="kick"),
)

beta2_arm = partial(study.arm, panel="β2", settings=CONSTANT, steps=1500, factors=lr_grid(-9, -3))
BETA2 = (
    beta2_arm("beta2_0.95", "β2 0.95", beta2=0.95, reference=True),
    beta2_arm("beta2_0.999", "β2 0.999", beta2=0.999),
)

correction_arm = partial(study.arm, panel="Correction", schedule="cosine", steps=400, factors=lr_grid(-11, -5))
CORRECTION = (
    correction_arm("corrected", "corrected", reference=True),
    correction_arm("uncorrected", "not corrected", bias_correction=False),
    correction_arm("corrected_warmup", "corrected, 20% warmup", warmup_fraction=0.2),
    correction_arm("uncorrected_warmup", "not corrected, 20% warmup", warmup_fraction=0.2, bias_correction=False),
)

study.smoke(dict(evaluation_examples=8, final_examples=16), arm_settings={tuple(study.arms): {"steps": 60}})
study.laptop("about three minutes of training")
study.gpu(
    "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
    GPU_GPT | dict(batch_size=32, precision="tf32", evaluation_examples=128, final_examples=512),
    factors=lr_grid(-12, -7),
    arm_factors={OUTLIER: lr_grid(-11, -8), BETA2: lr_grid(-11, -3), CORRECTION: lr_grid(-13, -7)},
    seeds=8,
)
study.cluster(
    "many GPUs, hours: a 115M-parameter byte-level model on web text",
    CLUSTER_GPT | dict(batch_size=64, precision="bf16", evaluation_examples=512, final_examples=2048),
    arm_settings={OUTLIER: {"steps": 10_000}, BETA2: {"steps": 10_000}, CORRECTION: {"steps": 2000}},
    arm_factors={OUTLIER: lr_grid(-12, -9), BETA2: lr_grid(-12, -3), CORRECTION: lr_grid(-14, -8)},
    seeds=6,
)

# Claims.

uncorrected = partial(computed, "adam.uncorrected")


@study.claim("adam.bias", right={"supported": "1,000 steps", "refuted": "thousands"})
def bias() -> Iterator[Part]:
    for clause, moment, steps, condition in (
        ("a", "first", 10, "Without bias correction"),
        ("b", "second", 1000, "Without it"),
    ):
        yield within(
            steps / 2,
            steps * 2,
            uncorrected(f"{moment}_moment_steps"),
            f"time constant of the uncorrected {moment} moment, steps",
            f"{condition}, the {moment} moment is too small for {{estimate}}",
            clause=clause,
            refuted=(steps / 4, steps * 4),
            unit="steps",
        )
    yield at_least(
        1.1,
        uncorrected("first_step"),
        "first step without correction over the first with it",
        "The first step is {larger} without correction",
        clause="c",
        refuted=0.9,
        null=1.0,
        unit="x",
    )
    yield reported(uncorrected("largest_step"), "largest step over the one with correction", "x")
    yield reported(uncorrected("largest_at"), "the step at which it occurs")
    yield reported(uncorrected("wrong_until"), "last step with an error above 10%")
    added = loss_gap("uncorrected", "corrected")
    yield reported(added, "tuned loss without correction minus with it, no warmup, of the loss reduction")
    yield reported(loss_gap("uncorrected_warmup", "corrected_warmup"), "the same with 20% warmup")


study.claim(
    "adam.epsilon",
    at_most(
        0.02,
        computed("adam.small_gradients", "error"),
        "largest error of LR x gradient / epsilon as the step, far below epsilon",
        "For gradients at least 100 times below epsilon, Adam's step is LR x gradient / epsilon to within {estimate}",
        clause="a",
        refuted=0.1,
        unit="share",
    ),
    at_most(
        1.001,
        computed("adam.small_gradients", "cap"),
        "largest step over gradient, over LR / epsilon",
        "At constant gradients, the largest step is {estimate} LR x gradient / epsilon",
        clause="b",
        refuted=1.1,
        unit="x",
    ),
    reported(computed("adam.small_gradients", "tiny_step"), "step over LR at gradients of 1e-12"),
)

study.claim(
    "adam.half_life",
    within(
        630.0,
        770.0,
        computed("adam.outlier", "half_life"),
        "half-life of an outlier in the second moment at β2 0.999, steps",
        "With a β2 of 0.999, an outlier's weight in the second moment halves every {estimate}",
        refuted=(350.0, 1400.0),
        unit="steps",
    ),
    reported(
        computed("adam.outlier", "recovery"),
        "steps until Adam's step is within 10% again, after a gradient 1000 times too large",
        "steps",
    ),
)


def beta2_adds(lr: float, first: float = 0.5, last: float = 1.0) -> LossGap:
    """How much higher the training loss is with a β2 of 0.999 than with 0.95, by default in the second half."""
    return loss_gap(
        "beta2_0.999", "beta2_0.95", Curve, best_of=("beta2_0.95",), of="train_loss", value=lr, first=first, last=last
    )


# Judged at 2^-4, about 8 times a pilot's best LR for both β2. (Multiples of each arm's own best LR made the interval that of
# choosing between neighbouring octaves.)
@study.claim("adam.beta2_spikes")
def late_loss() -> Iterator[Part]:
    yield at_least(
        0.0,
        beta2_adds(2.0**-4),
        "late training loss at an LR of 2^-4, β2 0.999 less 0.95, of the loss reduction",
        "Late in training at eight times the best LR, a β2 of 0.999 {costs} of the loss reduction compared with 0.95",
        null=0.0,
        alternatives={
            "at twice that LR": beta2_adds(2.0**-3),
            "at half that LR": beta2_adds(2.0**-5),
            "in the last tenth": beta2_adds(2.0**-4, first=0.9),
        },
    )
    tuned = loss_gap("beta2_0.999", "beta2_0.95", best_of=("beta2_0.95",))
    yield reported(tuned, "tuned loss, β2 0.999 minus 0.95, of the loss reduction")
    for exponent in (-5, -3):
        yield reported(beta2_adds(2.0**exponent), f"at an LR of 2^{exponent}")
    yield reported(beta2_adds(2.0**-4, first=0.1, last=0.2), "at an LR of 2^-4, in the second tenth of the run")
    for exponent in (-4, -3):
        for arm in BETA2:
            spikes = Curve(arm=arm, of="train_loss_spikes", value=2.0**exponent, first=0.5) * 1000
            yield reported(spikes, f"spikes in 1,000 late steps at an LR of 2^{exponent}, {study.arms[arm].label}")


study.claim(
    "adam.rmsprop",
    at_most(
        1e-6,
        computed("adam.beside_rmsprop", "distance"),
        "distance after 200 steps, of the way",
        "After 200 steps, Adam without momentum and correction matches RMSProp to a relative distance of {estimate}",
        refuted=1e-3,
    ),
)


def outlier_adds(arm: str, reference: str = "steady", first: float = 0.5, last: float = 1.0) -> LossGap:
    """How much higher the training loss on the same batches is in a part of the run, by default after the outlier."""
    return loss_gap(arm, reference, Curve, best_of=("steady",), of="train_loss", tuned_for="steady", first=first, last=last)


study.claim(
    "adam.outlier",
    exceeds(
        outlier_adds("memory", last=0.6),
        "training loss that an outlier's memory adds in the tenth of the run after it, of the loss reduction",
        "In the tenth of the run after an outlier, its memory in the second moment alone {costs} of the loss reduction",
        by=0.01,
        clause="a",
        alternatives={
            "in the whole half after it": outlier_adds("memory"),
            "in the last tenth": outlier_adds("memory", first=0.9),
        },
    ),
    exceeds(
        outlier_adds("whole", "kick", first=0.9),
        "what its memory adds in the last tenth if its own step has thrown the weights off, of the loss reduction",
        "After the outlier's own step, its memory {costs} of the loss reduction",
        by=0.01,
        clause="b",
    ),
    reported(outlier_adds("kick"), "training loss added by its own step, of the loss reduction"),
    reported(outlier_adds("whole"), "training loss added by all of it, of the loss reduction"),
    reported(computed("adam.outlier", "kick"), "distance an outlier moves its weight at β2 0.999, with v settled", "LRs"),
    reported(computed("adam.outlier", "kick_095"), "distance an outlier moves its weight at β2 0.95, with v settled", "LRs"),
    right={"supported": "memory", "refuted": "kick"},
)

STUDY = study.declared()
