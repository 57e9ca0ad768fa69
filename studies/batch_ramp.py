"""Does raising the batch size during training have the effect of lowering the LR, in fewer updates?"""

from functools import partial
from typing import Any

from .kit import *

SGD_LRS = lr_grid(-10, -6)
study = Draft(
    __file__,
    DIGITS_MLP
    | dict(label_noise=0.6, optimizer="sgd", momentum=0.9, weight_decay=0.0, warmup_fraction=0.0, batch_size=4)
    | dict(steps=4096, step_factor=0.25, probes=10, evaluations=16, curve_points=20)
    | dict(evaluation_examples=359, final_examples=359, training_examples=359),
    version=1,
    factors=SGD_LRS,
    seeds=20,
    first_seed=29_000,
    answer=("ramp.equivalent",),
)


# Arms.


# When the LR is lowered or the batch size raised, as shares of the run's examples.
CHANGES = (0.5, 0.75)
CONSTANT: dict[str, Any] = {"schedule": "constant"}
LOWERED: dict[str, Any] = {"schedule": "step", "step_drops": CHANGES}
HALVED = LOWERED | {"step_factor": 0.5}


def raised_steps(factor: float, steps: int = 4096) -> int:
    """Steps in which a run whose batch size is raised by a factor twice sees as many examples as others in `steps`."""
    return round(steps * (0.5 + 0.25 / factor + 0.25 / factor**2))


def raised(factor: float, steps: int = 4096) -> dict[str, Any]:
    return {"batch_ramp": CHANGES, "batch_ramp_factor": factor, "steps": raised_steps(factor, steps)}


sgd_arm = partial(study.arm, panel="SGD", factors=SGD_LRS)
sgd_arm("decay", "LR / 4 twice", settings=LOWERED, reference=True)
sgd_arm("ramp", "batch x 4 twice", settings=CONSTANT | raised(4.0))
sgd_arm("both", "LR / 2 and batch x 2, twice", settings=HALVED | raised(2.0))
sgd_arm("constant", "neither", settings=CONSTANT)
sgd_arm("half_ramp", "batch x 2 twice: too little", settings=CONSTANT | raised(2.0))

large_arm = partial(
    study.arm, panel="SGD, eight times the batch", batch_size=32, factors=lr_grid(-7, -3), scales=("smoke", "laptop")
)
large_arm("large_decay", "LR / 4 twice, from batch 32", settings=LOWERED, steps=512, reference=True)
large_arm("large_ramp", "batch x 4 twice, from batch 32", settings=CONSTANT | raised(4.0, 512))

adamw_arm = partial(study.arm, panel="AdamW", optimizer="adamw", factors=lr_grid(-12, -8))
adamw_arm("adamw_decay", "AdamW, LR / 2 twice", settings=HALVED, reference=True)
adamw_arm("adamw_ramp", "AdamW, batch x 4 twice", settings=CONSTANT | raised(4.0))
adamw_arm("adamw_constant", "AdamW, neither", settings=CONSTANT)

# Times the batch size -> the steps there over those at a constant batch size.
SHARES = {1: 1 / 2, 4: 1 / 16, 16: 1 / 64}
for times in SHARES:
    # Trained solo for their step time.
    study.arm(
        f"solo_{times}",
        f"batch {4 * times}, alone",
        "step time",
        CONSTANT | dict(steps=48, solo=True, probes=2, evaluations=1, evaluation_examples=8, final_examples=8),
        batch_size=4 * times,
        factors=peak_lrs(-8),
    )

study.smoke(
    steps=64,
    arm_settings={
        ("ramp", "adamw_ramp", "large_ramp"): {"steps": raised_steps(4.0, 64)},
        ("both", "half_ramp"): {"steps": raised_steps(2.0, 64)},
        "large_decay": {"steps": 64},
    },
)
study.laptop("about five minutes of training")
study.gpu("one GPU, at most four minutes: a CNN of 64 channels", model="cnn", width=64, seeds=15)
study.cluster("a GPU of a cluster, an hour: a CNN of 256 channels and depth 4", model="cnn", width=256, depth=4)


# The claim.


def over_lowered(arm: str, lowered: str = "decay", times: float = 1.0, **of: Any) -> LossGap:
    """How much higher an arm ends than the one whose LR is lowered, both at that one's tuned LR or a multiple."""
    right = TunedLoss(arm=lowered, **of) if times == 1.0 else LossAt(arm=lowered, tuned_for=lowered, times=times, **of)
    return LossGap(left=LossAt(arm=arm, tuned_for=lowered, times=times, **of), right=right, best_of=(lowered,))


ends_as_lowered = partial(within, -0.01, 0.01, refuted=(-0.03, 0.03))
smith = partial(predicted, 0.0, "Smith et al. 2018, section 5.1: learning curves agree")
trajectory_gap = partial(MeanGap, tuned_for="decay", after=0.5, absolute=True)
# Time with a raised over that with a constant batch size, from the step times of the three sizes.
TIMES = tuple(SpeedUp(arm="solo_1", reference=f"solo_{times}") * share for times, share in SHARES.items())

# Arms are compared at the LR tuned for `decay`, whose LR is lowered.
study.claim(
    "ramp.equivalent",
    at_least(
        0.02,
        over_lowered("constant"),
        "test loss with neither, over that of the lowered LR",
        "Without lowering the LR, {estimate} of the loss reduction is lost",
        refuted=0.0,
        null=0.0,
        unit="share",
        precondition=True,
    ),
    ends_as_lowered(
        over_lowered("ramp"),
        "test loss with the raised batch, over that of the lowered LR",
        "Raising the batch size instead of lowering the LR {costs} of the loss reduction",
        clause="a",
        expected=smith(spread=0.0105),
        alternatives={"at half the LR": over_lowered("ramp", times=0.5)},
    ),
    ends_as_lowered(
        over_lowered("ramp", times=2.0),
        "the same at twice the LR, where noise does more",
        "At twice the LR, raising the batch size {costs} of the loss reduction",
        clause="b",
        expected=smith(spread=0.009),
    ),
    at_most(
        0.9,
        Mean(parts=TIMES) * len(TIMES),
        "time of the run whose batch is raised, over that of the other",
        "With a raised batch size, a run takes {estimate} the time",
        clause="c",
        refuted=1.0,
        null=1.0,
        unit="x",
    ),
    reported(computed("ramp.updates", "ratio"), "updates with the raised batch size over those without"),
    reported(over_lowered("both"), "test loss with half the LR and twice the batch size, twice, over that with the lowered LR"),
    reported(over_lowered("half_ramp"), "the same with a batch size raised too little, x 2 twice"),
    reported(over_lowered("half_ramp", times=2.0), "the same with a batch size raised too little, at twice the LR"),
    reported(trajectory_gap(arm="ramp"), "mean gap of the two trajectories over examples, after the first change"),
    reported(
        trajectory_gap(arm="constant"),
        "mean gap of the trajectories with neither and with the lowered LR, after the first change",
    ),
    reported(
        LossAt(arm="ramp", tuned_for="decay", of="test_error") - TunedLoss(arm="decay", of="test_error"),
        "test error with the raised batch size minus that with the lowered LR",
    ),
    reported(
        over_lowered("ramp", of="final_training_loss"),
        "loss on training examples with the raised batch size minus that with the lowered LR",
    ),
    reported(
        over_lowered("large_ramp", "large_decay"),
        "the same criterion from a batch of 32, which ends at 512, beyond the noise scale",
    ),
    reported(NoiseScale(arm="decay", first=0.25), "noise scale in examples, at batch 4"),
    reported(
        over_lowered("adamw_ramp", "adamw_decay"),
        "AdamW: batch x 4 instead of LR / 2 (square-root rule), of the loss reduction",
    ),
    reported(over_lowered("adamw_constant", "adamw_decay"), "AdamW: neither, of the loss reduction"),
)

STUDY = study.declared()
