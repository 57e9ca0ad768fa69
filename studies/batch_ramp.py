"""Does raising the batch size during training have the effect of lowering the LR, in fewer updates?"""

from typing import Any

from .kit import *

# When the LR is lowered or the batch size raised, as shares of the run's examples.
CHANGES = (0.5, 0.75)
STEPS, LARGE_STEPS, SMOKE_STEPS = 4096, 512, 64
CONSTANT = {"schedule": "constant"}
LOWERED = {"schedule": "step", "step_drops": CHANGES}
HALVED = {**LOWERED, "step_factor": 0.5}
ADAMW = {"optimizer": "adamw"}
LARGE_BATCH = {"batch_size": 32, "steps": LARGE_STEPS}
SGD_LRS, LARGE_LRS, ADAMW_LRS = lr_grid(-10, -6), lr_grid(-7, -3), lr_grid(-12, -8)
# Trained solo for their step time.
SOLO = {"steps": 48, "probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 8, "solo": True, **CONSTANT}
# Arm -> the factor that raises its batch size, twice.
RAISED = {"ramp": 4.0, "adamw_ramp": 4.0, "large_ramp": 4.0, "both": 2.0, "half_ramp": 2.0}


def ramped_steps(arm: str, steps: int) -> int:
    """Steps in which an arm with a raised batch size sees as many examples as others in `steps`."""
    factor = RAISED[arm]
    return round(steps * (0.5 + 0.25 / factor + 0.25 / factor**2))


def ramp(arm: str, steps: int = STEPS) -> dict[str, Any]:
    return {"batch_ramp": CHANGES, "batch_ramp_factor": RAISED[arm], "steps": ramped_steps(arm, steps)}


def over_lowered(arm: str, lowered: str = "decay", times: float = 1.0, **of: Any) -> LossGap:
    """How much higher an arm ends than the one whose LR is lowered, both at that one's tuned LR or a multiple."""
    right = TunedLoss(arm=lowered, **of) if times == 1.0 else LossAt(arm=lowered, tuned_for=lowered, times=times, **of)
    return LossGap(left=LossAt(arm=arm, tuned_for=lowered, times=times, **of), right=right, best_of=(lowered,))


def same_loss(name: str, says: str, times: float, spread: float, **options: Any) -> Criterion:
    """The raised batch size ends like the lowered LR, at a multiple of the LR."""
    return Criterion(
        name=name,
        observe=over_lowered("ramp", times=times),
        **inside(-0.01, 0.01, refuted=(-0.03, 0.03), unit="relative"),
        expected=predicted(0.0, "Smith et al. 2018, section 5.1: learning curves agree", spread=spread),
        says=says,
        **options,
    )


def trajectory_gap(arm: str) -> MeanGap:
    return MeanGap(arm=arm, tuned_for="decay", after=0.5, absolute=True)


# Time with a raised over that with a constant batch size, from the step times of the three sizes: relative to the steps at a
# constant size there are half at the first, a sixteenth at four times and a 64th at sixteen times that size.
SHARES = {1: 1 / 2, 4: 1 / 16, 16: 1 / 64}
TIMES = tuple(SpeedUp(arm="solo_1", reference=f"solo_{times}") * share for times, share in SHARES.items())
TIME = Mean(parts=TIMES) * len(TIMES)

# Arms are compared at the LR tuned for `decay`, whose LR is lowered.
EQUIVALENT = judgement(
    "ramp.equivalent",
    exceeds(
        "test loss with neither, over that of the lowered LR",
        over_lowered("constant"),
        "Without lowering the LR, {estimate} of the loss reduction is lost",
        by=0.02,
        margin=None,
        precondition=True,
        unit="share",
    ),
    same_loss(
        "test loss with the raised batch, over that of the lowered LR",
        "Raising the batch size instead of lowering the LR {costs} of the loss reduction",
        times=1.0,
        spread=0.0105,
        clause="a",
        alternatives={"at half the LR": over_lowered("ramp", times=0.5)},
    ),
    same_loss(
        "the same at twice the LR, where noise does more",
        "At twice the LR, raising the batch size {costs} of the loss reduction",
        times=2.0,
        spread=0.009,
        clause="b",
    ),
    Criterion(
        name="time of the run whose batch is raised, over that of the other",
        clause="c",
        observe=TIME,
        **below(0.9, refuted=1.0, null=1.0, unit="x"),
        says="With a raised batch size, a run takes {estimate} the time",
    ),
    reported={
        "updates with the raised batch size over those without": computed("ramp.updates", "ratio"),
        "test loss with half the LR and twice the batch size, twice, over that with the lowered LR": (
            over_lowered("both"),
            "relative",
        ),
        "the same with a batch size raised too little, x 2 twice": (over_lowered("half_ramp"), "relative"),
        "the same with a batch size raised too little, at twice the LR": (over_lowered("half_ramp", times=2.0), "relative"),
        "mean gap of the two trajectories over examples, after the first change": (trajectory_gap("ramp"), "relative"),
        "mean gap of the trajectories with neither and with the lowered LR, after the first change": (
            trajectory_gap("constant"),
            "relative",
        ),
        "test error with the raised batch size minus that with the lowered LR": (
            LossAt(arm="ramp", tuned_for="decay", of="test_error") - TunedLoss(arm="decay", of="test_error"),
            "share",
        ),
        "loss on training examples with the raised batch size minus that with the lowered LR": (
            over_lowered("ramp", of="final_training_loss"),
            "relative",
        ),
        "the same criterion from a batch of 32, which ends at 512, beyond the noise scale": (
            over_lowered("large_ramp", "large_decay"),
            "relative",
        ),
        "noise scale in examples, at batch 4": NoiseScale(arm="decay", first=0.25),
        "AdamW: batch x 4 instead of LR / 2 (square-root rule), of the loss reduction": (
            over_lowered("adamw_ramp", "adamw_decay"),
            "relative",
        ),
        "AdamW: neither, of the loss reduction": (over_lowered("adamw_constant", "adamw_decay"), "relative"),
    },
)

STUDY = study(
    __file__,
    version=1,
    workload=Workload(model="mlp", dataset="digits", width=64, depth=2, label_noise=0.6),
    training=Training(
        optimizer="sgd", momentum=0.9, weight_decay=0.0, warmup_fraction=0.0, batch_size=4, steps=STEPS, step_factor=0.25
    ),
    measurement=Measurement(
        probes=10, evaluations=16, evaluation_examples=359, final_examples=359, curve_points=20, training_examples=359
    ),
    arms={
        "decay": Arm(panel="SGD", label="LR / 4 twice", settings=LOWERED, factors=SGD_LRS, reference=True),
        "ramp": Arm(panel="SGD", label="batch x 4 twice", settings={**CONSTANT, **ramp("ramp")}, factors=SGD_LRS),
        "both": Arm(panel="SGD", label="LR / 2 and batch x 2, twice", settings={**HALVED, **ramp("both")}, factors=SGD_LRS),
        "constant": Arm(panel="SGD", label="neither", settings=CONSTANT, factors=SGD_LRS),
        "half_ramp": Arm(
            panel="SGD", label="batch x 2 twice: too little", settings={**CONSTANT, **ramp("half_ramp")}, factors=SGD_LRS
        ),
        "large_decay": Arm(
            panel="SGD, eight times the batch",
            label="LR / 4 twice, from batch 32",
            settings={**LOWERED, **LARGE_BATCH},
            factors=LARGE_LRS,
            reference=True,
            scales=("smoke", "laptop"),
        ),
        "large_ramp": Arm(
            panel="SGD, eight times the batch",
            label="batch x 4 twice, from batch 32",
            settings={**CONSTANT, **LARGE_BATCH, **ramp("large_ramp", LARGE_STEPS)},
            factors=LARGE_LRS,
            scales=("smoke", "laptop"),
        ),
        "adamw_decay": Arm(
            panel="AdamW", label="AdamW, LR / 2 twice", settings={**ADAMW, **HALVED}, factors=ADAMW_LRS, reference=True
        ),
        "adamw_ramp": Arm(
            panel="AdamW",
            label="AdamW, batch x 4 twice",
            settings={**ADAMW, **CONSTANT, **ramp("adamw_ramp")},
            factors=ADAMW_LRS,
        ),
        "adamw_constant": Arm(panel="AdamW", label="AdamW, neither", settings={**ADAMW, **CONSTANT}, factors=ADAMW_LRS),
        **{
            f"solo_{times}": Arm(
                panel="step time",
                label=f"batch {4 * times}, alone",
                settings={**SOLO, "batch_size": 4 * times},
                factors={"peak_lr": (2.0**-8,)},
            )
            for times in SHARES
        },
    },
    factors=SGD_LRS,
    seeds=20,
    first_seed=29_000,
    scales={
        "smoke": scales.smoke(
            training={"steps": SMOKE_STEPS},
            arm_settings={
                **{arm: {"steps": ramped_steps(arm, SMOKE_STEPS)} for arm in RAISED},
                "large_decay": {"steps": SMOKE_STEPS},
            },
        ),
        "laptop": scales.laptop(
            "about five minutes of training",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: a CNN of 64 channels", workload={"model": "cnn", "width": 64}, seeds=15
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, an hour: a CNN of 256 channels and depth 4",
            workload={"model": "cnn", "width": 256, "depth": 4},
        ),
    },
    answer=("ramp.equivalent",),
    judgements=(EQUIVALENT,),
)
