"""Does raising the batch during training do what lowering the LR does, in fewer updates?"""

from folklore.harness.observables import (
    Computed,
    FallShare,
    Gap,
    LossAt,
    Mean,
    MeanGap,
    NoiseScale,
    Scaled,
    SpeedUp,
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

# When the LR is lowered or the batch raised, as shares of the run's examples.
CHANGES = (0.5, 0.75)
# A run without a ramp; with one it has the same examples in 0.5 + 0.25/f + 0.25/f^2 of the steps.
STEPS = 4096
STEPS_BY_FACTOR = {4: 2368, 2: 2816}
LARGE_STEPS = {1: 512, 4: 296}
CONSTANT = {"schedule": "constant"}
LOWERED = {"schedule": "step", "step_drops": CHANGES}
ADAMW = {"optimizer": "adamw"}
SGD_LRS, LARGE_LRS, ADAMW_LRS = log2_grid(-10, -6, 1), log2_grid(-7, -3, 1), log2_grid(-12, -8, 1)
SMITH = "Smith et al. 2018, section 5.1: learning curves agree"
# Trained alone for their step time.
SOLO = {"steps": 48, "probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 8, "solo": True, **CONSTANT}
# Seconds of a run whose batch is ramped up over those of one whose batch stays, from the step times of its three batch sizes:
# half of the steps at 1 time, a sixteenth at the time of four times the batch, a 64th at that of sixteen times.
TIME = Scaled(
    of=Mean(
        parts=(
            Scaled(of=SpeedUp(arm="solo_1", reference="solo_1"), by=1 / 2),
            Scaled(of=SpeedUp(arm="solo_1", reference="solo_4"), by=1 / 16),
            Scaled(of=SpeedUp(arm="solo_1", reference="solo_16"), by=1 / 64),
        )
    ),
    by=3.0,
)


# Arms are compared at the LR that is tuned for the run whose LR is lowered, `decay`.
STUDY = Study(
    name="batch_ramp",
    version=1,
    title="Raising the batch in place of lowering the LR",
    question="Does raising the batch during training do what lowering the LR does, in fewer updates?",
    workload=Workload(model="mlp", dataset="digits", width=64, depth=2, label_noise=0.6),
    training=Training(
        optimizer="sgd", momentum=0.9, weight_decay=0.0, warmup_fraction=0.0, batch_size=4, steps=STEPS, step_factor=0.25
    ),
    measurement=Measurement(
        probes=10, evaluations=16, evaluation_examples=359, final_examples=359, curve_points=20, training_examples=359
    ),
    arms={
        "decay": Arm(panel="SGD", label="LR / 4 twice", settings=LOWERED, factors={"peak_lr": SGD_LRS}, reference=True),
        "ramp": Arm(
            panel="SGD",
            label="batch x 4 twice",
            settings={**CONSTANT, "batch_ramp": CHANGES, "batch_ramp_factor": 4.0, "steps": STEPS_BY_FACTOR[4]},
            factors={"peak_lr": SGD_LRS},
        ),
        "both": Arm(
            panel="SGD",
            label="LR / 2 and batch x 2, twice",
            settings={
                **LOWERED,
                "step_factor": 0.5,
                "batch_ramp": CHANGES,
                "batch_ramp_factor": 2.0,
                "steps": STEPS_BY_FACTOR[2],
            },
            factors={"peak_lr": SGD_LRS},
        ),
        "constant": Arm(panel="SGD", label="neither", settings=CONSTANT, factors={"peak_lr": SGD_LRS}),
        "half_ramp": Arm(
            panel="SGD",
            label="batch x 2 twice: too little",
            settings={**CONSTANT, "batch_ramp": CHANGES, "batch_ramp_factor": 2.0, "steps": STEPS_BY_FACTOR[2]},
            factors={"peak_lr": SGD_LRS},
        ),
        "large_decay": Arm(
            panel="SGD, eight times the batch",
            label="LR / 4 twice, from batch 32",
            settings={**LOWERED, "batch_size": 32, "steps": LARGE_STEPS[1]},
            factors={"peak_lr": LARGE_LRS},
            reference=True,
            scales=("smoke", "laptop"),
        ),
        "large_ramp": Arm(
            panel="SGD, eight times the batch",
            label="batch x 4 twice, from batch 32",
            settings={
                **CONSTANT,
                "batch_size": 32,
                "batch_ramp": CHANGES,
                "batch_ramp_factor": 4.0,
                "steps": LARGE_STEPS[4],
            },
            factors={"peak_lr": LARGE_LRS},
            scales=("smoke", "laptop"),
        ),
        "adamw_decay": Arm(
            panel="AdamW",
            label="AdamW, LR / 2 twice",
            settings={**ADAMW, **LOWERED, "step_factor": 0.5},
            factors={"peak_lr": ADAMW_LRS},
            reference=True,
        ),
        "adamw_ramp": Arm(
            panel="AdamW",
            label="AdamW, batch x 4 twice",
            settings={**ADAMW, **CONSTANT, "batch_ramp": CHANGES, "batch_ramp_factor": 4.0, "steps": STEPS_BY_FACTOR[4]},
            factors={"peak_lr": ADAMW_LRS},
        ),
        "adamw_constant": Arm(
            panel="AdamW", label="AdamW, neither", settings={**ADAMW, **CONSTANT}, factors={"peak_lr": ADAMW_LRS}
        ),
        **{
            f"solo_{times}": Arm(
                panel="step time",
                label=f"batch {4 * times}, alone",
                settings={**SOLO, "batch_size": 4 * times},
                factors={"peak_lr": (2.0**-8,)},
            )
            for times in (1, 4, 16)
        },
    },
    factors={"peak_lr": SGD_LRS},
    seeds=20,
    first_seed=29_000,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 64},
            arm_settings={
                **{arm: {"steps": 37} for arm in ("ramp", "adamw_ramp", "large_ramp")},
                **{arm: {"steps": 44} for arm in ("both", "half_ramp")},
                "large_decay": {"steps": 64},
            },
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about five minutes of training",
            departures=("An MLP of 9,000 parameters on 1,079 digits, of which 60% have a random label.",),
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes: a CNN of 64 channels",
            device="cuda",
            workload={"model": "cnn", "width": 64},
            seeds=15,
        ),
        "cluster": Scale(
            description="a GPU of a cluster, an hour: a CNN of 256 channels and depth 4",
            device="cuda",
            workload={"model": "cnn", "width": 256, "depth": 4},
        ),
    },
    departures=(
        "Batches of 4, 16 and 64, far below the number of examples; the last one is near the noise scale, which is reported.",
        "Momentum stays at 0.9, and with it the number of updates, not of examples, that it remembers.",
        "The LR changes in two drops. With a smooth schedule the batch would have to follow every step.",
    ),
    answer=("ramp.equivalent",),
    judgements=(
        Judgement(
            claim="ramp.equivalent",
            criteria=(
                Criterion(
                    name="test loss with neither, over that of the lowered LR",
                    observe=FallShare(
                        left=LossAt(arm="constant", tuned_for="decay"), right=TunedLoss(arm="decay"), best_of=("decay",)
                    ),
                    null=0.0,
                    claimed=AtLeast(value=0.02),
                    refuted=AtMost(value=0.0),
                    precondition=True,
                    says="Lowering the LR matters here: without it {estimate} of the fall are lost",
                    unit="share",
                ),
                Criterion(
                    name="test loss with the raised batch, over that of the lowered LR",
                    observe=FallShare(
                        left=LossAt(arm="ramp", tuned_for="decay"), right=TunedLoss(arm="decay"), best_of=("decay",)
                    ),
                    claimed=Within(low=-0.01, high=0.01),
                    refuted=Outside(low=-0.03, high=0.03),
                    expected=Expected(value=0.0, source=SMITH, spread=0.0105),
                    alternatives=(
                        Alternative(
                            name="at half the LR",
                            observe=FallShare(
                                left=LossAt(arm="ramp", tuned_for="decay", times=0.5),
                                right=LossAt(arm="decay", tuned_for="decay", times=0.5),
                                best_of=("decay",),
                            ),
                        ),
                    ),
                    says="Raising the batch instead of lowering the LR changes the test loss by {estimate} of the fall",
                    unit="relative",
                ),
                Criterion(
                    name="the same at twice the LR, where noise does more",
                    observe=FallShare(
                        left=LossAt(arm="ramp", tuned_for="decay", times=2.0),
                        right=LossAt(arm="decay", tuned_for="decay", times=2.0),
                        best_of=("decay",),
                    ),
                    claimed=Within(low=-0.01, high=0.01),
                    refuted=Outside(low=-0.03, high=0.03),
                    expected=Expected(value=0.0, source=SMITH, spread=0.009),
                    says="At twice the LR it changes it by {estimate}",
                    unit="relative",
                ),
                Criterion(
                    name="time of the run whose batch is raised, over that of the other",
                    observe=TIME,
                    null=1.0,
                    claimed=AtMost(value=0.9),
                    refuted=AtLeast(value=1.0),
                    says="It takes {estimate} the time",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="updates with the raised batch over those without",
                    observe=Computed(function="ramp.updates", number="ratio"),
                ),
                Reported(
                    name="test loss of half the LR and twice the batch, twice, over that of the lowered LR",
                    observe=FallShare(
                        left=LossAt(arm="both", tuned_for="decay"), right=TunedLoss(arm="decay"), best_of=("decay",)
                    ),
                    unit="relative",
                ),
                Reported(
                    name="the same of a batch that is raised too little, x 2 twice",
                    observe=FallShare(
                        left=LossAt(arm="half_ramp", tuned_for="decay"), right=TunedLoss(arm="decay"), best_of=("decay",)
                    ),
                    unit="relative",
                ),
                Reported(
                    name="the same of a batch that is raised too little, at twice the LR",
                    observe=FallShare(
                        left=LossAt(arm="half_ramp", tuned_for="decay", times=2.0),
                        right=LossAt(arm="decay", tuned_for="decay", times=2.0),
                        best_of=("decay",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="mean gap of the two trajectories over examples, after the first change",
                    observe=MeanGap(arm="ramp", tuned_for="decay", after=0.5, absolute=True),
                    unit="relative",
                ),
                Reported(
                    name="mean gap of the trajectories with neither and with the lowered LR, after the first change",
                    observe=MeanGap(arm="constant", tuned_for="decay", after=0.5, absolute=True),
                    unit="relative",
                ),
                Reported(
                    name="test error of the raised batch less that of the lowered LR",
                    observe=Gap(
                        left=LossAt(arm="ramp", tuned_for="decay", of="test_error"),
                        right=TunedLoss(arm="decay", of="test_error"),
                    ),
                    unit="share",
                ),
                Reported(
                    name="loss on training examples of the raised batch less that of the lowered LR",
                    observe=FallShare(
                        left=LossAt(arm="ramp", tuned_for="decay", of="final_training_loss"),
                        right=TunedLoss(arm="decay", of="final_training_loss"),
                        best_of=("decay",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="the same criterion from a batch of 32, which ends at 512, beyond the noise scale",
                    observe=FallShare(
                        left=LossAt(arm="large_ramp", tuned_for="large_decay"),
                        right=TunedLoss(arm="large_decay"),
                        best_of=("large_decay",),
                    ),
                    unit="relative",
                ),
                Reported(name="noise scale in examples, at batch 4", observe=NoiseScale(arm="decay", first=0.25)),
                Reported(
                    name="AdamW: batch x 4 in place of LR / 2, the rule of the root, of the fall",
                    observe=FallShare(
                        left=LossAt(arm="adamw_ramp", tuned_for="adamw_decay"),
                        right=TunedLoss(arm="adamw_decay"),
                        best_of=("adamw_decay",),
                    ),
                    unit="relative",
                ),
                Reported(
                    name="AdamW: neither, of the fall",
                    observe=FallShare(
                        left=LossAt(arm="adamw_constant", tuned_for="adamw_decay"),
                        right=TunedLoss(arm="adamw_decay"),
                        best_of=("adamw_decay",),
                    ),
                    unit="relative",
                ),
            ),
            note=(
                "All runs of a seed see the same examples in the same order and are one run until half of them are seen. 1% of"
                " the fall is our bar for equal, 3% for different. Where neither change does anything, all arms are equal and"
                " nothing is shown: then the claim is out of regime. A batch raised by half as many octaves shows how sharply"
                " the rule is tested: near the best LR hardly, at twice it well, which a pilot showed and a criterion was added"
                " for. Better use of the hardware is read as less time for the same examples: it follows from"
                " the step times of the three batch sizes, trained alone; in proportion to the batch they would make it 1."
            ),
            advice={
                "supported": (
                    "Below the noise scale raise the batch where you would lower the LR, by the same factor, if larger batches"
                    " run faster on your hardware."
                ),
                "refuted": "Lower the LR: a larger batch does not do the same.",
            },
        ),
    ),
    published=(
        Published(
            claim="ramp.equivalent",
            finding="With SGD, momentum and Adam raising the batch reaches the accuracy of decaying the LR, in fewer updates.",
            source="Smith et al. 2018, section 5.1",
            link="https://arxiv.org/abs/1711.00489",
            how="reported",
        ),
    ),
)
