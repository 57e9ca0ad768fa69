"""Does the best learning rate move with width or depth, and does muP hold it still?"""

from folklore.harness.observables import FallShare, Gap, MeanActivationSlope, Optimum, Slope, TransferRegret, TunedLoss
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

STANDARD = {"parametrization": "standard"}
MUP = {"parametrization": "mup"}
# A coordinate check looks at the first five steps at an LR far above the best one. Its readout starts at zero, so that the
# logits it sees are learnt: muP's random ones fall as width^-0.5 before anything is learnt.
CHECK = {"steps": 5, "zero_readout": True, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16}
CHECK_LR = {"peak_lr": (2.0**-6,)}
LAPTOP = ("smoke", "laptop")
# 16x in width.
ON_GPU = ("gpu", "cluster")
# The optimum stays within half an octave over 8x in width: what a half-octave grid, as fine as the published ones, can tell.
UNCHANGED = {"test": "equivalence", "null": 0.0, "margin": 1 / 6}
# Twice the width, at most 1.07x the activations; 1.23x over 8x.
FLAT = {"test": "equivalence", "null": 0.0, "margin": 0.1}
# Seven points of a half-octave grid average the noise that three would pass on; grids are wide enough to hold them.
WINDOW = {"window_octaves": 1.5}
NARROWER = {"window_octaves": 1.0}
# Around 2^-8; and around 2^-9.5, up to where the LR tuned at width 32 may lie.
AROUND_MUPS = (2.0**-9.5, 2.0**-9, 2.0**-8.5, 2.0**-8, 2.0**-7.5, 2.0**-7, 2.0**-6.5)
AROUND_SP_128S = (2.0**-11, 2.0**-10.5, 2.0**-10, 2.0**-9.5, 2.0**-9, 2.0**-8.5, 2.0**-8, 2.0**-7.5)

BASE_32, BASE_128 = Optimum(arm="base_32", **WINDOW), Optimum(arm="base_128", **WINDOW)
SP_SLOPE = Slope(
    points=(
        (32, BASE_32),
        (64, Optimum(arm="sp_64", **WINDOW)),
        (128, Optimum(arm="sp_128", **WINDOW)),
        (128, BASE_128),
        (256, Optimum(arm="sp_256", **WINDOW)),
        (512, Optimum(arm="sp_512", **WINDOW)),
        (1024, Optimum(arm="sp_1024", **WINDOW)),
        (2048, Optimum(arm="sp_2048", **WINDOW)),
    )
)
# Where the standard parametrization does not shift, a workload cannot tell muP's invariance from its own.
SHIFTS = {"null": 0.0, "claimed": AtMost(value=-0.3), "refuted": AtLeast(value=0.0)}
CHECKED_MUP = (
    (32, "check_32"),
    (64, "check_64"),
    (128, "check_128"),
    (256, "check_256"),
    (512, "check_512"),
    (1024, "check_1024"),
)
CHECKED_SP = (
    (32, "check_32"),
    (64, "check_sp_64"),
    (128, "check_sp_128"),
    (256, "check_sp_256"),
    (512, "check_sp_512"),
    (1024, "check_sp_1024"),
)
TRAINED_MUP = (
    (64, "mup_64"),
    (128, "mup_128"),
    (256, "mup_256"),
    (512, "mup_512"),
    (1024, "mup_1024"),
    (2048, "mup_2048"),
)

STUDY = Study(
    name="mup_transfer",
    # Version 2: widths from 16, 120 steps, heads whose size grew, the regret relative to the loss, a largest slope over noise.
    # Version 3 has heads of one size from width 32 on, optima from a window, regrets as shares of the fall, mean slopes of the
    # coordinate check with the standard parametrization beside it, and depth.
    version=3,
    title="Learning-rate transfer across widths",
    question="Does the best learning rate move with width or depth, and does muP hold it still?",
    # Constant LR and few steps, as the publication: a workload on which the standard parametrization does shift. With decay and
    # longer runs it hardly does, and then nothing could be told apart. Heads keep their size and grow in number, as most people
    # widen. The readout starts as usual: from zero, runs of width 32 differ three times as much and end 0.2 nats higher.
    workload=Workload(model="gpt", dataset="python-docs", depth=2, heads=2, context=32, base_width=32, base_heads=2),
    training=Training(
        optimizer="adamw",
        schedule="constant",
        warmup_fraction=0.0,
        weight_decay=0.0,
        batch_size=8,
        steps=150,
    ),
    measurement=Measurement(probes=5, evaluations=2, evaluation_examples=64, final_examples=128),
    arms={
        # At the base width both parametrizations are the same network: one arm serves both.
        "base_32": Arm(
            label="width 32",
            panel="standard, and muP's base",
            settings={"width": 32},
            factors={"peak_lr": log2_grid(-10, -6)},
            scales=LAPTOP,
        ),
        "sp_64": Arm(
            label="width 64",
            panel="standard",
            settings={**STANDARD, "width": 64, "heads": 4},
            factors={"peak_lr": log2_grid(-11, -7)},
            scales=LAPTOP,
        ),
        # Its regret at the LR tuned at width 32 is judged.
        "sp_128": Arm(
            label="width 128",
            panel="standard",
            settings={**STANDARD, "width": 128, "heads": 8},
            factors={"peak_lr": AROUND_SP_128S},
            scales=LAPTOP,
        ),
        "mup_64": Arm(
            label="width 64",
            panel="muP",
            settings={**MUP, "width": 64, "heads": 4},
            factors={"peak_lr": AROUND_MUPS},
            scales=LAPTOP,
        ),
        "mup_128": Arm(
            label="width 128",
            panel="muP",
            settings={**MUP, "width": 128, "heads": 8},
            factors={"peak_lr": AROUND_MUPS},
            scales=LAPTOP,
        ),
        "mup_256": Arm(label="width 256", panel="muP", settings={**MUP, "width": 256, "heads": 16}),
        "base_128": Arm(label="width 128", panel="standard, and muP's base", settings={"width": 128}, scales=ON_GPU),
        "sp_256": Arm(
            label="width 256",
            panel="standard",
            settings={**STANDARD, "width": 256, "heads": 4},
            factors={"peak_lr": log2_grid(-14, -8)},
            scales=ON_GPU,
        ),
        # The regret in standard parametrization is judged here on a GPU.
        "sp_512": Arm(
            label="width 512",
            panel="standard",
            settings={**STANDARD, "width": 512, "heads": 8},
            factors={"peak_lr": log2_grid(-15, -7)},
            scales=ON_GPU,
        ),
        "sp_1024": Arm(
            label="width 1024",
            panel="standard",
            settings={**STANDARD, "width": 1024, "heads": 16},
            factors={"peak_lr": log2_grid(-16, -10, per_octave=1)},
            scales=ON_GPU,
        ),
        "sp_2048": Arm(
            label="width 2048",
            panel="standard",
            settings={**STANDARD, "width": 2048, "heads": 32},
            factors={"peak_lr": log2_grid(-18, -11, per_octave=1)},
            scales=ON_GPU,
        ),
        "mup_512": Arm(label="width 512", panel="muP", settings={**MUP, "width": 512, "heads": 8}, scales=ON_GPU),
        "mup_1024": Arm(label="width 1024", panel="muP", settings={**MUP, "width": 1024, "heads": 16}, scales=ON_GPU),
        "mup_2048": Arm(label="width 2048", panel="muP", settings={**MUP, "width": 2048, "heads": 32}, scales=ON_GPU),
        # On a GPU the depths have the width of the base there, 128.
        "depth_2": Arm(label="depth 2", panel="depth", settings={**STANDARD, "depth": 2}, scales=ON_GPU),
        "depth_1": Arm(
            label="depth 1",
            panel="depth",
            settings={**STANDARD, "depth": 1},
            scales=LAPTOP,
        ),
        "depth_4": Arm(label="depth 4", panel="depth", settings={**STANDARD, "depth": 4}),
        "depth_8": Arm(
            label="depth 8", panel="depth", settings={**STANDARD, "depth": 8}, factors={"peak_lr": log2_grid(-11, -7)}
        ),
        # At width 32 and depth 16, LRs two octaves apart differ by less than seeds do: too narrow to have an optimum.
        "depth_16": Arm(label="depth 16", panel="depth", settings={**STANDARD, "depth": 16}, scales=ON_GPU),
        "depth_32": Arm(label="depth 32", panel="depth", settings={**STANDARD, "depth": 32}, scales=ON_GPU),
        # The base, and so of both parametrizations.
        "check_32": Arm(label="width 32", panel="check, muP", settings={**CHECK, "width": 32}, factors=CHECK_LR, scales=LAPTOP),
        "check_64": Arm(
            label="muP, width 64",
            panel="check, muP",
            settings={**MUP, **CHECK, "width": 64, "heads": 4},
            factors=CHECK_LR,
            scales=LAPTOP,
        ),
        "check_128": Arm(
            label="muP, width 128",
            panel="check, muP",
            settings={**MUP, **CHECK, "width": 128, "heads": 8},
            factors=CHECK_LR,
            scales=LAPTOP,
        ),
        "check_256": Arm(
            label="muP, width 256", panel="check, muP", settings={**MUP, **CHECK, "width": 256, "heads": 16}, factors=CHECK_LR
        ),
        "check_512": Arm(
            label="muP, width 512",
            panel="check, muP",
            settings={**MUP, **CHECK, "width": 512, "heads": 8},
            factors=CHECK_LR,
            scales=ON_GPU,
        ),
        "check_1024": Arm(
            label="muP, width 1024",
            panel="check, muP",
            settings={**MUP, **CHECK, "width": 1024, "heads": 16},
            factors=CHECK_LR,
            scales=ON_GPU,
        ),
        "check_sp_64": Arm(
            label="standard, width 64",
            panel="check, standard",
            settings={**STANDARD, **CHECK, "width": 64, "heads": 4},
            factors=CHECK_LR,
            scales=LAPTOP,
        ),
        "check_sp_128": Arm(
            label="standard, width 128",
            panel="check, standard",
            settings={**STANDARD, **CHECK, "width": 128, "heads": 8},
            factors=CHECK_LR,
            scales=LAPTOP,
        ),
        "check_sp_256": Arm(
            label="standard, width 256",
            panel="check, standard",
            settings={**STANDARD, **CHECK, "width": 256, "heads": 16},
            factors=CHECK_LR,
        ),
        "check_sp_512": Arm(
            label="standard, width 512",
            panel="check, standard",
            settings={**STANDARD, **CHECK, "width": 512, "heads": 8},
            factors=CHECK_LR,
            scales=ON_GPU,
        ),
        "check_sp_1024": Arm(
            label="standard, width 1024",
            panel="check, standard",
            settings={**STANDARD, **CHECK, "width": 1024, "heads": 16},
            factors=CHECK_LR,
            scales=ON_GPU,
        ),
    },
    factors={"peak_lr": log2_grid(-10, -6)},
    seeds=6,
    first_seed=2000,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 10},
            measurement={"probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16},
            factors={"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)},
            arm_factors={
                "base_32": {"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)},
                "sp_64": {"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)},
                "sp_128": {"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)},
                "mup_64": {"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)},
                "mup_128": {"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)},
                "depth_8": {"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)},
            },
            seeds=1,
            judged=False,
        ),
        # More than the five minutes of other studies: 8x in width from a base that is no toy ends at 256, where a run takes 7
        # seconds of a core, and muP's arm there is nearly half of the work.
        "laptop": Scale(
            description="two CPU cores, at most ten minutes of training",
            arm_factors={"mup_256": {"peak_lr": AROUND_MUPS}},
        ),
        "gpu": Scale(
            description="one GPU, minutes: widths 128 to 2048 with heads of 64, as Yang et al. 2022 (122 constant-LR steps)",
            device="cuda",
            workload={"dataset": "python-source", "width": 128, "context": 64, "base_width": 128},
            training={"batch_size": 16, "steps": 122, "precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            factors={"peak_lr": log2_grid(-12, -7)},
            arm_factors={
                "mup_1024": {"peak_lr": log2_grid(-12, -7, per_octave=1)},
                "mup_2048": {"peak_lr": log2_grid(-12, -7, per_octave=1)},
                "depth_4": {"peak_lr": log2_grid(-13, -8)},
                "depth_8": {"peak_lr": log2_grid(-13, -8)},
                "depth_16": {"peak_lr": log2_grid(-13, -8)},
                "depth_32": {"peak_lr": log2_grid(-14, -8, per_octave=1)},
            },
            arm_settings={
                "mup_256": {"heads": 4},
                "check_256": {"heads": 4},
                "check_sp_256": {"heads": 4},
            },
            seeds=5,
            departures=(
                "122 steps of 16 sequences of 64 tokens, in TF32: 125 thousand tokens, 0.3 a parameter at width 128 and 0.001"
                " at 2048, so early training.",
            ),
        ),
        "cluster": Scale(
            description="many GPUs, hours: the same arms on web text, from 120 tokens a parameter at the base to 0.6",
            device="cuda",
            workload={"dataset": "web-text", "width": 128, "context": 512, "base_width": 128},
            training={"batch_size": 64, "steps": 2000, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 2048},
            factors={"peak_lr": log2_grid(-12, -6)},
            arm_factors={
                "depth_4": {"peak_lr": log2_grid(-13, -7)},
                "depth_8": {"peak_lr": log2_grid(-13, -7)},
                "depth_16": {"peak_lr": log2_grid(-13, -7)},
            },
            arm_settings={
                "mup_256": {"heads": 4},
                "check_256": {"heads": 4},
                "check_sp_256": {"heads": 4},
            },
            seeds=5,
            departures=(
                "2000 steps of 64 sequences of 512 tokens: 66 million tokens, 120 a parameter at width 128, 10 at 512 and 0.6"
                " at 2048. Wide models are early in training, narrow ones are not.",
            ),
        ),
    },
    departures=(
        "Small GPTs on one text, a constant LR and, at laptop scale, 150 steps of 8 sequences of 32 tokens: 38 thousand"
        " tokens, 1.1 a parameter at width 32 and 0.02 at 256. This is early training, chosen because the standard"
        " parametrization shifts there. With a decaying LR and longer runs the published shift nearly vanishes.",
        "Width alone grows, by more heads of the same size; depth is asked about by itself, at the base width, where muP and"
        " the standard parametrization are one network. So what holds of depth holds under muP as well.",
        "Weight decay is zero: how it should scale with width is a question of its own.",
    ),
    answer=("mup.regret", "mup.sp_shifts", "mup.invariant", "mup.depth"),
    judgements=(
        Judgement(
            claim="mup.sp_shifts",
            criteria=(
                Criterion(
                    name="exponent of the best LR in width, standard parametrization",
                    observe=SP_SLOPE,
                    expected=Expected(
                        value=-1.0, source="Yang et al. 2022, figure: 2^-10 at width 128, 2^-16 at width 8192", spread=0.12
                    ),
                    says="In standard parametrization, the best learning rate scales as the width to the power {estimate}",
                    alternatives=(
                        Alternative(
                            name="optima from a narrower window",
                            observe=Slope(
                                points=(
                                    (32, Optimum(arm="base_32", **NARROWER)),
                                    (64, Optimum(arm="sp_64", **NARROWER)),
                                    (128, Optimum(arm="sp_128", **NARROWER)),
                                    (128, Optimum(arm="base_128", **NARROWER)),
                                    (256, Optimum(arm="sp_256", **NARROWER)),
                                    (512, Optimum(arm="sp_512", **NARROWER)),
                                    (1024, Optimum(arm="sp_1024", **NARROWER)),
                                    (2048, Optimum(arm="sp_2048", **NARROWER)),
                                )
                            ),
                        ),
                    ),
                    **SHIFTS,
                ),
            ),
            advice={
                "supported": "If you widen a model without muP, tune the learning rate again, beginning below the old one.",
                "partly": "If you widen a model without muP, expect its best learning rate to be somewhat lower.",
                "refuted": "If you widen a model, keep its learning rate and check one value below it.",
            },
        ),
        Judgement(
            claim="mup.invariant",
            note=(
                "The margin is half an octave over 8x in width, as fine as published grids can tell. Where the standard"
                " parametrization does not shift, the workload says nothing about muP."
            ),
            criteria=(
                Criterion(
                    name="exponent of the best LR in width, muP",
                    observe=Slope(
                        points=(
                            (32, BASE_32),
                            (64, Optimum(arm="mup_64", **WINDOW)),
                            (128, Optimum(arm="mup_128", **WINDOW)),
                            (128, BASE_128),
                            (256, Optimum(arm="mup_256", **WINDOW)),
                            (512, Optimum(arm="mup_512", **WINDOW)),
                            (1024, Optimum(arm="mup_1024", **WINDOW)),
                            (2048, Optimum(arm="mup_2048", **WINDOW)),
                        )
                    ),
                    expected=Expected(
                        value=0.0, source="Yang et al. 2022, figure: about 2^-10 from width 128 to 8192", spread=0.1
                    ),
                    says="Under muP, the best learning rate scales as the width to the power {estimate}",
                    alternatives=(
                        Alternative(
                            name="optima from a narrower window",
                            observe=Slope(
                                points=(
                                    (32, Optimum(arm="base_32", **NARROWER)),
                                    (64, Optimum(arm="mup_64", **NARROWER)),
                                    (128, Optimum(arm="mup_128", **NARROWER)),
                                    (128, Optimum(arm="base_128", **NARROWER)),
                                    (256, Optimum(arm="mup_256", **NARROWER)),
                                    (512, Optimum(arm="mup_512", **NARROWER)),
                                    (1024, Optimum(arm="mup_1024", **NARROWER)),
                                    (2048, Optimum(arm="mup_2048", **NARROWER)),
                                )
                            ),
                        ),
                    ),
                    **UNCHANGED,
                ),
                Criterion(
                    name="the workload shifts in standard parametrization",
                    observe=SP_SLOPE,
                    precondition=True,
                    says="In standard parametrization, the best learning rate scales as the width to the power {estimate}",
                    **SHIFTS,
                ),
            ),
            # If muP's optimum moves: from the base's narrowness, then this slope, without the base, is nearer 0.
            reported=(
                Reported(
                    name="the same exponent over the three widths of the standard parametrization",
                    observe=Slope(
                        points=(
                            (32, BASE_32),
                            (64, Optimum(arm="mup_64", **WINDOW)),
                            (128, Optimum(arm="mup_128", **WINDOW)),
                        )
                    ),
                ),
                Reported(
                    name="the same exponent without the base width",
                    observe=Slope(
                        points=(
                            (64, Optimum(arm="mup_64", **WINDOW)),
                            (128, Optimum(arm="mup_128", **WINDOW)),
                            (256, Optimum(arm="mup_256", **WINDOW)),
                            (512, Optimum(arm="mup_512", **WINDOW)),
                            (1024, Optimum(arm="mup_1024", **WINDOW)),
                            (2048, Optimum(arm="mup_2048", **WINDOW)),
                        )
                    ),
                ),
            ),
            advice={
                "supported": "Under muP, keep the learning rate when you widen the model.",
                "refuted": "Under muP, tune the learning rate again when you widen the model.",
            },
        ),
        Judgement(
            claim="mup.regret",
            note="Losses are compared as shares of the fall from initialization to the tuned loss.",
            criteria=(
                Criterion(
                    name="share of the fall lost at width 256 with the LR tuned at width 32, muP",
                    observe=TransferRegret(arm="mup_256", tuned_for="base_32", of="fall"),
                    test="no_worse",
                    null=0.0,
                    margin=0.01,
                    expected=Expected(value=0.0, source="Yang et al. 2022: the same LR is best at every width", spread=0.006),
                    says="Under muP, width 256 loses {estimate} of its fall in loss at the best learning rate of width 32",
                    unit="share",
                    scales=LAPTOP,
                ),
                Criterion(
                    name="share of the fall lost at width 2048 with the LR tuned at width 128, muP",
                    observe=TransferRegret(arm="mup_2048", tuned_for="base_128", of="fall"),
                    test="no_worse",
                    null=0.0,
                    margin=0.01,
                    says="Under muP, width 2048 loses {estimate} of its fall in loss at the best learning rate of width 128",
                    unit="share",
                    scales=ON_GPU,
                ),
                Criterion(
                    name="share of the fall lost from width 32 to 128, standard minus muP",
                    observe=Gap(
                        left=TransferRegret(arm="sp_128", tuned_for="base_32", of="fall"),
                        right=TransferRegret(arm="mup_128", tuned_for="base_32", of="fall"),
                    ),
                    null=0.0,
                    claimed=AtLeast(value=0.01),
                    refuted=AtMost(value=0.0),
                    says="From width 32 to 128, the same learning rate loses {estimate} more of the fall in standard"
                    " parametrization than under muP",
                    unit="share",
                    scales=LAPTOP,
                ),
                Criterion(
                    name="share of the fall lost from width 128 to 512, standard minus muP",
                    observe=Gap(
                        left=TransferRegret(arm="sp_512", tuned_for="base_128", of="fall"),
                        right=TransferRegret(arm="mup_512", tuned_for="base_128", of="fall"),
                    ),
                    null=0.0,
                    claimed=AtLeast(value=0.01),
                    refuted=AtMost(value=0.0),
                    says="From width 128 to 512, the same learning rate loses {estimate} more of the fall in standard"
                    " parametrization than under muP",
                    unit="share",
                    scales=ON_GPU,
                ),
            ),
            # Wider is better under muP, at its own best LR.
            reported=(
                Reported(name="tuned loss at the base width 32", observe=TunedLoss(arm="base_32")),
                Reported(name="tuned loss at width 64, muP", observe=TunedLoss(arm="mup_64")),
                Reported(name="tuned loss at width 128, muP", observe=TunedLoss(arm="mup_128")),
                Reported(name="tuned loss at width 256, muP", observe=TunedLoss(arm="mup_256")),
                Reported(
                    name="share of the fall that muP's tuned loss lies above the standard one at width 128",
                    observe=FallShare(left=TunedLoss(arm="mup_128"), right=TunedLoss(arm="sp_128")),
                    unit="share",
                ),
            ),
            advice={
                "supported": "Under muP, tune the learning rate on a narrow model and keep it for a wider one.",
                "partly": "Under muP, begin at the learning rate of a narrow model and check one value on either side.",
                "refuted": "Do not carry a learning rate from a narrow model to a wide one, muP or not.",
            },
        ),
        Judgement(
            claim="mup.coord_check",
            note=(
                "Slopes of log activation size on log width: of the last block and of the logits, mean over the first five"
                " steps at an LR four times the best one, as the publication's check has it. What becomes of them by the end of"
                " training, at an LR of 2^-8, is reported beside."
            ),
            criteria=(
                Criterion(
                    name="slope of the logits over five steps, muP",
                    observe=MeanActivationSlope(points=CHECKED_MUP),
                    expected=Expected(value=0.0, source="Yang et al. 2022: sizes that do not depend on the width", spread=0.03),
                    says="Over five steps under muP, logits change as the width to the power {estimate}",
                    **FLAT,
                ),
                Criterion(
                    name="slope of the last block over five steps, muP",
                    observe=MeanActivationSlope(points=CHECKED_MUP, tap=-2),
                    expected=Expected(value=0.0, source="Yang et al. 2022: sizes that do not depend on the width", spread=0.05),
                    says="Over five steps under muP, the stream behind the last block changes as the width to the power"
                    " {estimate}",
                    **FLAT,
                ),
                # What the check is for: without muP it shows the growth.
                Criterion(
                    name="slope of the logits over five steps, standard parametrization",
                    observe=MeanActivationSlope(points=CHECKED_SP),
                    precondition=True,
                    null=0.0,
                    claimed=AtLeast(value=0.2),
                    refuted=AtMost(value=0.0),
                    says="In standard parametrization, logits change as the width to the power {estimate}",
                ),
            ),
            reported=(
                Reported(
                    name="slope of the last block over five steps, standard parametrization",
                    observe=MeanActivationSlope(points=CHECKED_SP, tap=-2),
                ),
                Reported(
                    name="slope of the logits at the end of training, muP",
                    observe=MeanActivationSlope(points=TRAINED_MUP, steps=2, end=True, at=2.0**-8),
                ),
                Reported(
                    name="slope of the last block at the end of training, muP",
                    observe=MeanActivationSlope(points=TRAINED_MUP, tap=-2, steps=2, end=True, at=2.0**-8),
                ),
                Reported(
                    name="slope of the last block at the end of training from width 32, standard parametrization",
                    observe=MeanActivationSlope(
                        points=((32, "base_32"), (64, "sp_64"), (128, "sp_128")), tap=-2, steps=2, end=True, at=2.0**-8
                    ),
                ),
                Reported(
                    name="slope of the embedding over five steps, muP", observe=MeanActivationSlope(points=CHECKED_MUP, tap=0)
                ),
            ),
            advice={
                "supported": "Run this check on your own muP model: over the first steps, mean slopes of up to 0.1 are right.",
                "partly": "Run this check on your own muP model, and expect one of the two slopes to leave 0 somewhat.",
                "refuted": "Find the layer whose activations follow the width before you train wide models.",
            },
        ),
        Judgement(
            claim="mup.depth",
            note=(
                "At the base width both parametrizations are the same network, so that the slope is muP's as well. The matrices"
                " that write into the residual stream start at 1/sqrt(2 depth) of their size, as GPT-2's do. Of the details of"
                " the architecture depth alone is asked about, early in training."
            ),
            criteria=(
                Criterion(
                    name="exponent of the best LR in depth, 1 to 8",
                    observe=Slope(
                        points=(
                            (1, Optimum(arm="depth_1", **WINDOW)),
                            (2, BASE_32),
                            (4, Optimum(arm="depth_4", **WINDOW)),
                            (8, Optimum(arm="depth_8", **WINDOW)),
                        )
                    ),
                    claimed=Outside(low=-0.1, high=0.1),
                    refuted=Within(low=-0.1, high=0.1),
                    expected=Expected(
                        value=-0.5,
                        source="theory: under Adam every block moves by about the LR, whatever the depth, and moves of blocks"
                        " that differ add up in the stream as the square root of their number",
                        spread=0.12,
                    ),
                    says="At fixed width, the best learning rate scales as the depth to the power {estimate}",
                    alternatives=(
                        Alternative(
                            name="optima from a narrower window",
                            observe=Slope(
                                points=(
                                    (1, Optimum(arm="depth_1", **NARROWER)),
                                    (2, Optimum(arm="base_32", **NARROWER)),
                                    (4, Optimum(arm="depth_4", **NARROWER)),
                                    (8, Optimum(arm="depth_8", **NARROWER)),
                                )
                            ),
                        ),
                        # One block cannot build on another.
                        Alternative(
                            name="without depth 1",
                            observe=Slope(
                                points=(
                                    (2, BASE_32),
                                    (4, Optimum(arm="depth_4", **WINDOW)),
                                    (8, Optimum(arm="depth_8", **WINDOW)),
                                )
                            ),
                        ),
                    ),
                    scales=LAPTOP,
                ),
                Criterion(
                    name="exponent of the best LR in depth, 2 to 32",
                    observe=Slope(
                        points=(
                            (2, Optimum(arm="depth_2", **WINDOW)),
                            (4, Optimum(arm="depth_4", **WINDOW)),
                            (8, Optimum(arm="depth_8", **WINDOW)),
                            (16, Optimum(arm="depth_16", **WINDOW)),
                            (32, Optimum(arm="depth_32", **WINDOW)),
                        )
                    ),
                    claimed=Outside(low=-0.1, high=0.1),
                    refuted=Within(low=-0.1, high=0.1),
                    says="At fixed width, the best learning rate scales as the depth to the power {estimate}",
                    scales=ON_GPU,
                ),
            ),
            advice={
                "supported": "When you deepen a model, tune the learning rate again, with muP too.",
                "refuted": "When you deepen a model whose residual matrices start at 1/sqrt(2 depth), keep its learning rate.",
            },
        ),
    ),
    published=(
        Published(
            claim="mup.sp_shifts",
            finding="Transformer, Adam, width 128 to 8192: best LR 2^-10 to 2^-16 in standard parametrization.",
            source="Yang et al. 2022, figure",
            link="https://arxiv.org/abs/2203.03466",
            value=-1.0,
            criterion="exponent of the best LR in width, standard parametrization",
            how="read",
            if_different=(
                "Vector-like parameters want the same LR at every width; where the model is narrow their share of the learning"
                " is large, and the shift is smaller. The published widths begin where ours end."
            ),
        ),
        Published(
            claim="mup.invariant",
            finding="Transformer, Adam, width 128 to 8192: best LR about 2^-10 throughout under muP.",
            source="Yang et al. 2022, figure",
            link="https://arxiv.org/abs/2203.03466",
            value=0.0,
            criterion="exponent of the best LR in width, muP",
            how="read",
            if_different=(
                "A narrow base: if the same exponent without the base width, reported beside it, is nearer 0, the base was too"
                " narrow for the limit that muP speaks of."
            ),
        ),
    ),
)
