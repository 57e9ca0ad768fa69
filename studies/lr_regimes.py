"""What do learning rates that are too low, right and too high look like, and is it the LR that matters most?"""

from folklore.harness.observables import (
    BasinWidth,
    CurveMean,
    CurveSlope,
    FailureRate,
    FallShare,
    FinalLoss,
    Gap,
    LossAfter,
    LossAt,
    MaxTrainable,
    Mean,
    MeanDistance,
    NormDiagnosis,
    Quotient,
    RisingShare,
    StepsToTarget,
    TunedLoss,
)
from folklore.harness.spec import (
    Alternative,
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Judgement,
    Measurement,
    Published,
    Reported,
    Scale,
    Study,
    Training,
    Workload,
    log2_grid,
)

MLP = {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2, "batch_size": 32, "steps": 256}
GPT = {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "context": 16, "batch_size": 16, "steps": 400}
# Decay as common as it is with each: decoupled it is multiplied by the LR, in SGD's gradient by SGD's much larger one.
SGD = {"optimizer": "sgd", "weight_decay": 5e-4}
ADAM = {"optimizer": "adamw", "weight_decay": 0.1}
SETTINGS = {"mlp_sgd": {**MLP, **SGD}, "mlp_adam": {**MLP, **ADAM}, "gpt_sgd": {**GPT, **SGD}, "gpt_adam": {**GPT, **ADAM}}
MLPS, SGDS = ("mlp_sgd", "mlp_adam"), ("mlp_sgd", "gpt_sgd")
NAMES = {"mlp_sgd": "MLP with SGD", "mlp_adam": "MLP with AdamW", "gpt_sgd": "GPT with SGD", "gpt_adam": "GPT with AdamW"}
# By a pilot, whose seeds are none of the study's: the best LR, and the first at which a tenth of the fall is lost. Curves are
# read at declared LRs: the best of a flat basin jumps between neighbours from one resample to the next, and beside a cliff a
# multiple of it is another world.
BEST = {"mlp_sgd": 2.0**-4.5, "mlp_adam": 2.0**-6, "gpt_sgd": 2.0**-2, "gpt_adam": 2.0**-6}
TOO_HIGH = {"mlp_sgd": 2.0**-2, "mlp_adam": 2.0**-2, "gpt_sgd": 2.0**0, "gpt_adam": 2.0**-3}
GRIDS = {
    "mlp_sgd": log2_grid(-12, 1),
    "mlp_adam": log2_grid(-13, 0),
    # Its cliff falls between two of them.
    "gpt_sgd": (*log2_grid(-9, -1), 2.0**-0.5, 2.0**-0.25, *log2_grid(0, 2)),
    "gpt_adam": (*log2_grid(-13, -2), *log2_grid(-1, 5, 1)),
}
# All but the GPT with SGD, which diverges at every LR from there on.
THAT_TRAIN = ("mlp_sgd", "mlp_adam", "gpt_adam")
STUCK = {
    "mlp_sgd": "hidden.1.weight",
    "mlp_adam": "hidden.1.weight",
    "gpt_sgd": "blocks.0.attention.qkv.weight",
    "gpt_adam": "blocks.0.attention.qkv.weight",
}
# What is changed by factors of ten and two, down and up. Of beta2 it is the share that is new: 0.999 is 0.001, and 0.99 ten
# times that. So it is of momentum, whose LR is changed along: LR / (1 - momentum) is what a gradient comes to, and
# momentum would else be one more LR.
DECAYS = {"mlp_sgd": (5e-5, 2.5e-4, 1e-3, 5e-3), "mlp_adam": (0.01, 0.05, 0.2, 1.0)}
BATCHES = {"mlp": (3, 16, 64, 320), "gpt": (2, 8, 32, 160)}
CHANGES = {
    arm: {
        "weight_decay": DECAYS[arm.replace("gpt", "mlp")],
        "batch_size": BATCHES[arm[:3]],
        "warmup_fraction": (0.005, 0.025, 0.1, 0.5),
        "clip_norm": (0.1, 0.5, 2.0, 10.0),
        **({"beta2": (0.99, 0.998, 0.9995, 0.9999)} if arm in ("mlp_adam", "gpt_adam") else {}),
    }
    for arm in SETTINGS
}
MOMENTA = {"0": 0.0, "0.8": 0.8, "0.95": 0.95, "0.99": 0.99}
SPELLED = {
    "weight_decay": "weight decay",
    "beta2": "β2",
    "batch_size": "batch size",
    "warmup_fraction": "warmup",
    "clip_norm": "clipping norm",
}
LR_CHANGES = {arm: (lr / 10, lr / 2, lr, 2 * lr, 10 * lr) for arm, lr in BEST.items()}
BASELINE = {arm: LossAt(arm=f"{arm}_lr", value=lr) for arm, lr in BEST.items()}
OF_LR = {
    arm: MeanDistance(
        parts=(*(LossAt(arm=f"{arm}_lr", value=value) for value in values if value != BEST[arm]),), origin=BASELINE[arm]
    )
    for arm, values in LR_CHANGES.items()
}
OF_OTHER = {
    **{
        (arm, SPELLED[factor]): MeanDistance(
            parts=(*(LossAt(arm=f"{arm}_{factor}", over=factor, value=value) for value in values),), origin=BASELINE[arm]
        )
        for arm, changes in CHANGES.items()
        for factor, values in changes.items()
    },
    **{
        (arm, "momentum"): MeanDistance(
            parts=(*(FinalLoss(arm=f"{arm}_momentum_{momentum}") for momentum in MOMENTA),), origin=BASELINE[arm]
        )
        for arm in SGDS
    },
}
# Means over a tenth of the run: at the end of warmup, a tenth later, and at equal distances from the first to the end.
AT = {
    (name, share): CurveMean(
        arm=name, curve="train_loss", value=BEST[name.removesuffix("_constant")], first=share, last=share + 0.1
    )
    for arm in SETTINGS
    for name in (arm, f"{arm}_constant")
    for share in (0.05, 0.15, 0.325, 0.6, 0.875)
}
# While the LR is near its peak.
EARLY = {"first": 0.1, "last": 0.6}
READ = (*((arm, lr) for arm in SETTINGS for lr in (BEST[arm] / 4, BEST[arm], 4 * BEST[arm], TOO_HIGH[arm])),)
# By 1% of the fall: what is left of a loss that has come down swings by less.
RISES = {(arm, lr): RisingShare(arm=arm, value=lr, by=0.025, **EARLY) for arm, lr in READ}
SWING = {(arm, lr): CurveMean(arm=arm, curve="train_loss_swing", value=lr, **EARLY) for arm, lr in READ}
NORM = {(arm, lr): CurveMean(arm=arm, curve="probe_gradient_norm", value=lr, **EARLY) for arm, lr in READ}
SPIKES = {
    (arm, times): CurveMean(arm=arm, curve="train_loss_spikes", value=times * BEST[arm], first=0.2)
    for arm in SETTINGS
    for times in (0.25, 1.0, 4.0)
}
MOST, LEAST = {"curve": "probe_matrix_update_ratio_most"}, {"curve": "probe_matrix_update_ratio_least"}
MIDDLE = {"first": 0.25, "last": 0.75}
APART = {
    name: Quotient(
        top=CurveMean(arm=name, value=BEST[arm], **MOST, **MIDDLE),
        bottom=CurveMean(arm=name, value=BEST[arm], **LEAST, **MIDDLE),
    )
    for arm in SETTINGS
    for name in (arm, f"{arm}_stuck", f"{arm}_wild")
}
VANISHING = {arm: ((f"{arm}_deep", BEST[arm]),) for arm in MLPS}
TOO_SMALL = {arm: ((f"{arm}_tiny", BEST[arm] / 1000),) for arm in MLPS}
TOO_LARGE = {arm: (*((arm, lr) for lr in GRIDS[arm] if lr >= TOO_HIGH[arm]),) for arm in MLPS}
GPU_GPT = {"dataset": "python-source", "width": 64, "depth": 2, "heads": 2, "context": 64}
CLUSTER_GPT = {"dataset": "web-text", "width": 256, "depth": 4, "heads": 4, "context": 128}

OTHERS = (
    *(f"{arm}_{factor}" for arm in SETTINGS for factor in CHANGES[arm]),
    *(f"{arm}_momentum_{name}" for arm in SGDS for name in MOMENTA),
)
SLOW_ARMS = (*(f"{arm}_slow" for arm in SETTINGS),)
ARMS = (
    *(f"{arm}{ending}" for arm in SETTINGS for ending in ("", "_constant", "_stuck", "_wild", "_lr")),
    *(f"{arm}{ending}" for arm in MLPS for ending in ("_tiny", "_deep")),
    *OTHERS,
)
GPT_ARMS = (*(arm for arm in (*ARMS, *SLOW_ARMS) if arm[0] == "g"),)

STUDY = Study(
    name="lr_regimes",
    # In version 1 lr.too_high had a fourth panel, the GPT with SGD, all of whose runs diverge at an LR that is too high: what
    # diverges counted as bouncing, there was no gradient norm to look at, and so it alone made the claim hold. And
    # lr.grad_not_loss counted runs, most of them at too large an LR, and not causes.
    version=2,
    title="Learning rates too low, right and too high",
    question="What does a run show of an LR that is too low, right or too high, and is it the LR that matters most?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(schedule="cosine", warmup_fraction=0.05, steps=400),
    measurement=Measurement(probes=40, evaluations=20, evaluation_examples=64, final_examples=256, curve_points=40),
    arms={
        **{
            arm: Arm(label="cosine", panel=NAMES[arm], settings=SETTINGS[arm], factors={"peak_lr": GRIDS[arm]}, reference=True)
            for arm in SETTINGS
        },
        **{
            f"{arm}_constant": Arm(
                label="constant LR",
                panel=NAMES[arm],
                settings={**SETTINGS[arm], "schedule": "constant", "evaluations": 100},
                factors={"peak_lr": (BEST[arm],)},
            )
            for arm in SETTINGS
        },
        **{
            f"{arm}_slow": Arm(
                label="constant LR, a tenth of it for ten times the steps",
                panel=NAMES[arm],
                # As many steps of warmup.
                settings={
                    **SETTINGS[arm],
                    "schedule": "constant",
                    "steps": 2560 if arm in MLPS else 4000,
                    "warmup_fraction": 0.005,
                    "evaluations": 1000,
                },
                factors={"peak_lr": (BEST[arm] / 10,)},
            )
            for arm in SETTINGS
        },
        **{
            f"{arm}_stuck": Arm(
                label="one matrix at a hundredth of the LR",
                panel=NAMES[arm],
                settings={**SETTINGS[arm], "scaled_parameter": STUCK[arm], "scaled_lr": 0.01},
                factors={"peak_lr": (BEST[arm],)},
            )
            for arm in SETTINGS
        },
        **{
            f"{arm}_wild": Arm(
                label="one matrix at thirty times the LR",
                panel=NAMES[arm],
                settings={**SETTINGS[arm], "scaled_parameter": STUCK[arm], "scaled_lr": 30.0},
                factors={"peak_lr": (BEST[arm],)},
            )
            for arm in SETTINGS
        },
        **{
            f"{arm}_tiny": Arm(
                label="a thousandth of the LR",
                panel=NAMES[arm],
                settings=SETTINGS[arm],
                factors={"peak_lr": (BEST[arm] / 1000,)},
            )
            for arm in MLPS
        },
        **{
            f"{arm}_deep": Arm(
                label="ten layers of sigmoids",
                panel=NAMES[arm],
                settings={**SETTINGS[arm], "depth": 10, "activation": "sigmoid"},
                factors={"peak_lr": (BEST[arm],)},
            )
            for arm in MLPS
        },
        **{
            f"{arm}_lr": Arm(
                label="LR changed",
                panel=NAMES[arm],
                settings=SETTINGS[arm],
                factors={"peak_lr": LR_CHANGES[arm]},
            )
            for arm in SETTINGS
        },
        **{
            f"{arm}_{factor}": Arm(
                label=f"{SPELLED[factor]} changed",
                panel=NAMES[arm],
                settings=SETTINGS[arm],
                factors={"peak_lr": (BEST[arm],), factor: CHANGES[arm][factor]},
            )
            for arm in SETTINGS
            for factor in CHANGES[arm]
        },
        **{
            f"{arm}_momentum_{name}": Arm(
                label=f"momentum {name}",
                panel=NAMES[arm],
                settings={**SETTINGS[arm], "momentum": momentum},
                factors={"peak_lr": (BEST[arm] * (1 - momentum) / 0.1,)},
            )
            for arm in SGDS
            for name, momentum in MOMENTA.items()
        },
    },
    factors={"peak_lr": (2.0**-6,)},
    seeds=16,
    first_seed=26_300,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            arm_settings={**{arm: {"steps": 40} for arm in ARMS}, **{arm: {"steps": 400} for arm in SLOW_ARMS}},
            measurement={"probes": 4, "evaluation_examples": 8, "final_examples": 16},
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about four minutes of training",
            departures=("MLPs of 9,000 parameters and GPTs of 7,000, 256 and 400 steps.",),
        ),
        "gpu": Scale(
            description="one GPU, at most five minutes: GPTs of 0.1M parameters on Python's standard library",
            device="cuda",
            training={"precision": "tf32"},
            arm_settings=dict.fromkeys(GPT_ARMS, GPU_GPT),
            seeds=8,
        ),
        "cluster": Scale(
            description="many GPUs, an hour: GPTs of 3.6M parameters on web text",
            device="cuda",
            training={"precision": "tf32"},
            arm_settings=dict.fromkeys(GPT_ARMS, CLUSTER_GPT),
            seeds=8,
        ),
    },
    departures=(
        "Curves are read at LRs that a pilot found best, or too high; at gpu and cluster scale these are the laptop's, and not"
        " tuned anew.",
        "A gradient norm is that of a training batch, as a monitor shows it, with the noise of the batch in it.",
        "That too low an LR may not leave saddles and shallow minima is not looked at.",
        "Hyper-parameters are changed one at a time, at an equal number of steps and, but for momentum, an LR that stays;"
        " initialization is not among them.",
        "What is measured was chosen after pilots on other seeds: that swings of batches show their noise, that clipping takes"
        " the harm out of the LR, and that lr.sharp has two readings was seen in them.",
    ),
    answer=("lr.sharp", "lr.most_important", "adam.lr_tolerance"),
    judgements=(
        Judgement(
            claim="lr.sharp",
            quantifier="most",
            criteria=(
                *(
                    criterion
                    for arm in SETTINGS
                    for criterion in (
                        Criterion(
                            name=f"LR that loses half of the fall over the last within 5% of it, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=Quotient(
                                top=MaxTrainable(arm=arm, within=0.5, of="fall"),
                                bottom=MaxTrainable(arm=arm, within=0.05, of="fall"),
                            ),
                            claimed=AtMost(value=3.0),
                            refuted=AtLeast(value=3.0),
                            says=f"The {NAMES[arm]} loses half of the fall at {{estimate}} its last good LR",
                            unit="x",
                        ),
                        Criterion(
                            name=f"share of the fall lost at three times the best LR, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=FallShare(
                                left=LossAt(arm=arm, tuned_for=arm, times=3.0, window_octaves=2.0), right=TunedLoss(arm=arm)
                            ),
                            null=0.0,
                            margin=0.05,
                            claimed=AtLeast(value=0.25),
                            refuted=AtMost(value=0.05),
                            says=f"At three times its best LR the {NAMES[arm]} loses {{value}} of the fall",
                            unit="share",
                        ),
                    )
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"share of runs that diverge at four times the best LR, {NAMES[arm]}",
                        observe=FailureRate(arm=arm, tuned_for=arm, times=4.0),
                        unit="share",
                    )
                    for arm in SETTINGS
                ),
            ),
            note=(
                "'Often' is read as: on most of the four. Among the best is within 5% of the fall; a run that has lost half of"
                " it, or diverged, is not. The claim can be read in two ways, and both are parts: somewhere above the best LR"
                " a step of 3x leads from the one to the other; and it does so from the best LR itself."
            ),
            advice={
                "supported": "Search the LR in steps of less than 2x, and stay a step below the edge.",
                "partly": "Find the LR at which your model falls off, and stay two or three times below it; the best is flat.",
                "refuted": "Search the LR in steps of 2x to 3x; finer ones are wasted.",
            },
        ),
        Judgement(
            claim="lr.too_low",
            criteria=(
                *(
                    criterion
                    for arm in SETTINGS
                    for criterion in (
                        Criterion(
                            name=f"steps to 80% of the fall at a tenth of the LR over those at it, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=Quotient(
                                top=StepsToTarget(arm=f"{arm}_slow", anchor=f"{arm}_constant", share=0.8),
                                bottom=StepsToTarget(arm=f"{arm}_constant", anchor=f"{arm}_constant", share=0.8),
                            ),
                            null=1.0,
                            margin=1.5,
                            claimed=AtLeast(value=3.0),
                            refuted=AtMost(value=1.5),
                            says=f"At a tenth of its best LR the {NAMES[arm]} needs {{estimate}} the steps",
                            unit="x",
                            alternatives=(
                                Alternative(
                                    name="to half of the fall",
                                    observe=Quotient(
                                        top=StepsToTarget(arm=f"{arm}_slow", anchor=f"{arm}_constant", share=0.5),
                                        bottom=StepsToTarget(arm=f"{arm}_constant", anchor=f"{arm}_constant", share=0.5),
                                    ),
                                ),
                            ),
                        ),
                        Criterion(
                            name=f"share of the fall lost at a tenth of the LR in as many steps, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=FallShare(
                                left=LossAt(arm=arm, value=BEST[arm] / 10), right=LossAt(arm=arm, value=BEST[arm])
                            ),
                            null=0.0,
                            margin=0.01,
                            claimed=AtLeast(value=0.05),
                            refuted=AtMost(value=0.01),
                            says=f"At a tenth of its best LR, in as many steps, the {NAMES[arm]} loses {{value}} of the fall",
                            unit="share",
                        ),
                    )
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"share of the fall lost at a hundredth of the LR in as many steps, {NAMES[arm]}",
                        observe=FallShare(left=LossAt(arm=arm, value=BEST[arm] / 100), right=LossAt(arm=arm, value=BEST[arm])),
                        unit="share",
                    )
                    for arm in SETTINGS
                ),
            ),
            note=(
                "A constant LR with as many steps of warmup, ten times the steps at a tenth of it. Within a flat basin the LR"
                " that is read as best may be a half or one octave below the best one, which makes a tenth of it look better."
            ),
            advice={
                "supported": "If a loss falls steadily and slowly, raise the LR before you add steps.",
                "partly": "Before you add steps, try a larger LR.",
                "refuted": "Too low an LR by ten is no reason for a slow run; look elsewhere.",
            },
        ),
        Judgement(
            claim="lr.too_high",
            criteria=(
                *(
                    Criterion(
                        name=f"share of evaluations at which the loss rises, too high an LR less the best, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=Gap(left=RISES[arm, TOO_HIGH[arm]], right=RISES[arm, BEST[arm]]),
                        null=0.0,
                        margin=0.05,
                        claimed=AtLeast(value=0.1),
                        refuted=AtMost(value=0.0),
                        says=(
                            f"Too high an LR adds {{value}} to the share of evaluations at which the loss of the {NAMES[arm]}"
                            " rises"
                        ),
                    )
                    for arm in THAT_TRAIN
                ),
                *(
                    Criterion(
                        name=f"gradient norm, too high an LR over the best, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=Quotient(top=NORM[arm, TOO_HIGH[arm]], bottom=NORM[arm, BEST[arm]]),
                        null=1.0,
                        margin=1.2,
                        claimed=AtLeast(value=2.0),
                        refuted=AtMost(value=1.0),
                        says=f"The gradient norm of the {NAMES[arm]} is {{value}} what it is at the best LR",
                        unit="x",
                        alternatives=(
                            Alternative(
                                name="over what it is at the first step",
                                observe=Quotient(
                                    top=NORM[arm, TOO_HIGH[arm]],
                                    bottom=CurveMean(arm=arm, curve="probe_gradient_norm", value=TOO_HIGH[arm], last=0.005),
                                ),
                            ),
                        ),
                    )
                    for arm in THAT_TRAIN
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"share of runs that diverge at sixteen times the best LR, {NAMES[arm]}",
                        observe=FailureRate(arm=arm, tuned_for=arm, times=16.0),
                        unit="share",
                    )
                    for arm in SETTINGS
                ),
                *(
                    Reported(
                        name=f"swings of the batches' loss, too high an LR over the best, {NAMES[arm]}",
                        observe=Quotient(top=SWING[arm, TOO_HIGH[arm]], bottom=SWING[arm, BEST[arm]]),
                        unit="x",
                    )
                    for arm in THAT_TRAIN
                ),
            ),
            note=(
                "Too high is the first LR of the grid, half octaves apart, at which a pilot lost a tenth of the fall. A loss"
                " bounces if it rises between evaluations on one sample, a twentieth of the run apart, and not that of"
                " batches, which differ. Both are looked at between 10% and 60% of the run, while the LR is near its peak;"
                " rises are those by 1% of the fall, and a run that diverges counts as bouncing. The GPT with SGD is not looked"
                " at: it diverges at every such LR, and a panel that has to come out as it does tells nothing. That a run"
                " possibly diverges is no criterion either."
            ),
            advice={
                "supported": "Lower the LR if the loss bounces and the gradient norm is large.",
                "partly": "Take a bouncing loss or a large gradient norm as a hint of too high an LR, and try half of it.",
                "refuted": "Do not wait for a bouncing loss to find an LR too high; compare runs.",
            },
        ),
        Judgement(
            claim="lr.norm_falls",
            criteria=(
                *(
                    Criterion(
                        name=f"exponent of the gradient norm on the step at the best LR, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=CurveSlope(arm=arm, curve="probe_gradient_norm", value=BEST[arm], first=0.1),
                        null=0.0,
                        margin=0.1,
                        claimed=AtMost(value=-0.1),
                        refuted=AtLeast(value=0.0),
                        says=f"The gradient norm of the {NAMES[arm]} goes as the power {{estimate}} of the step",
                        alternatives=(
                            Alternative(
                                name="at a constant LR",
                                observe=CurveSlope(
                                    arm=f"{arm}_constant", curve="probe_gradient_norm", value=BEST[arm], first=0.1
                                ),
                            ),
                        ),
                    )
                    for arm in SETTINGS
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"the same at a constant LR, {NAMES[arm]}",
                        observe=CurveSlope(arm=f"{arm}_constant", curve="probe_gradient_norm", value=BEST[arm], first=0.1),
                    )
                    for arm in SETTINGS
                ),
            ),
            note="After the first tenth of the run. Whether the loss falls smoothly is judged in lr.smooth.",
            advice={
                "supported": "Look again at the LR if the gradient norm does not fall.",
                "partly": "Expect a falling gradient norm where the loss goes to zero, and not in language models.",
                "refuted": "A gradient norm that does not fall is no sign of a wrong LR.",
            },
        ),
        Judgement(
            claim="lr.layers_differ",
            criteria=(
                *(
                    criterion
                    for arm in SETTINGS
                    for criterion in (
                        *(
                            Criterion(
                                name=f"share of the fall lost with {what}, {NAMES[arm]}",
                                panel=NAMES[arm],
                                test="no_worse",
                                observe=FallShare(
                                    left=FinalLoss(arm=f"{arm}_{ending}"),
                                    right=LossAt(arm=arm, value=BEST[arm]),
                                    best_of=(arm,),
                                ),
                                null=0.0,
                                margin=0.05,
                                says=f"With {what} the {NAMES[arm]} loses {{value}} of the fall",
                                unit="share",
                            )
                            for ending, what in (
                                ("stuck", "one matrix at a hundredth of the LR"),
                                ("wild", "one matrix at thirty times the LR"),
                            )
                        ),
                        Criterion(
                            name=f"spread of the matrices' update ratios with one stuck over that without, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=Quotient(top=APART[f"{arm}_stuck"], bottom=APART[arm]),
                            precondition=True,
                            claimed=AtLeast(value=10.0),
                            refuted=AtMost(value=3.0),
                            says="A stuck matrix makes the spread of update over weight {estimate} as wide",
                            unit="x",
                        ),
                    )
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"largest over smallest update ratio of a healthy run's matrices, {NAMES[arm]}",
                        observe=APART[arm],
                        unit="x",
                    )
                    for arm in SETTINGS
                ),
                *(
                    Reported(
                        name=f"the same with one matrix at thirty times the LR, {NAMES[arm]}",
                        observe=APART[f"{arm}_wild"],
                        unit="x",
                    )
                    for arm in SETTINGS
                ),
            ),
            note=(
                "One of the MLP's two hidden matrices, or the GPT's that makes queries, keys and values, hardly moves, or is"
                " thrown about. A good-looking loss is one that loses at most 5% of the fall. How far the matrices of a"
                " healthy run lie apart is reported: below 3x they are similar, as one document has it, above 10x they differ."
            ),
            advice={
                "supported": "Watch update over weight matrix by matrix: the loss does not tell.",
                "partly": "Watch update over weight matrix by matrix; the loss tells of a stuck one in some models only.",
                "refuted": "A good loss is enough: no matrix is stuck behind it.",
            },
        ),
        Judgement(
            claim="lr.phases",
            criteria=(
                *(
                    criterion
                    for arm in SETTINGS
                    for criterion in (
                        Criterion(
                            name=f"share of the fall that is left a tenth of the run after warmup, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=FallShare(left=AT[arm, 0.15], right=AT[arm, 0.875], best_of=(arm,)),
                            claimed=AtMost(value=0.5),
                            refuted=AtLeast(value=0.7),
                            says=f"A tenth of the run after warmup {{value}} of the {NAMES[arm]}'s fall is left",
                            unit="share",
                        ),
                        Criterion(
                            name=f"bend of the training loss from the first third after warmup to the second, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=FallShare(
                                left=Mean(parts=(AT[arm, 0.05], AT[arm, 0.6])), right=AT[arm, 0.325], best_of=(arm,)
                            ),
                            null=0.0,
                            margin=0.01,
                            claimed=AtLeast(value=0.01),
                            refuted=AtMost(value=0.0),
                            says=(
                                f"Half of what the {NAMES[arm]} falls more in the first third of the rest than in the second"
                                f" is {{value}}"
                            ),
                            unit="share",
                            alternatives=(
                                Alternative(
                                    name="at a constant LR",
                                    observe=FallShare(
                                        left=Mean(parts=(AT[f"{arm}_constant", 0.05], AT[f"{arm}_constant", 0.6])),
                                        right=AT[f"{arm}_constant", 0.325],
                                        best_of=(arm,),
                                    ),
                                ),
                            ),
                        ),
                        Criterion(
                            name=f"bend of the training loss from the second third after warmup to the last, {NAMES[arm]}",
                            panel=NAMES[arm],
                            observe=FallShare(
                                left=Mean(parts=(AT[arm, 0.325], AT[arm, 0.875])), right=AT[arm, 0.6], best_of=(arm,)
                            ),
                            null=0.0,
                            margin=0.005,
                            claimed=AtLeast(value=0.005),
                            refuted=AtMost(value=0.0),
                            says=(
                                f"Half of what the {NAMES[arm]} falls more in the second third of the rest than in the last"
                                f" is {{value}}"
                            ),
                            unit="share",
                            alternatives=(
                                Alternative(
                                    name="at a constant LR",
                                    observe=FallShare(
                                        left=Mean(parts=(AT[f"{arm}_constant", 0.325], AT[f"{arm}_constant", 0.875])),
                                        right=AT[f"{arm}_constant", 0.6],
                                        best_of=(arm,),
                                    ),
                                ),
                            ),
                        ),
                        Criterion(
                            name=f"validation loss above training loss half way, {NAMES[arm]}",
                            panel=NAMES[arm],
                            test="no_worse",
                            observe=FallShare(
                                left=LossAfter(arm=f"{arm}_constant", share=0.5),
                                right=CurveMean(
                                    arm=f"{arm}_constant", curve="train_loss", value=BEST[arm], first=0.45, last=0.55
                                ),
                                best_of=(arm,),
                            ),
                            null=0.0,
                            margin=0.1,
                            says=(
                                f"Half way the validation loss of the {NAMES[arm]} lies {{value}} of the fall above its"
                                " training loss"
                            ),
                            unit="share",
                        ),
                    )
                ),
            ),
            note=(
                "Cosine decay after 5% of warmup, at the best LR; validation against training loss at a constant one. The"
                " numbers are ours. A curve that falls late, as one does that sits on a plateau first, would refute."
            ),
            advice={
                "supported": "Look into a run whose loss falls in any other order.",
                "partly": "Expect the fast fall first; whether the rest flattens depends on the workload.",
                "refuted": "Draw no conclusions from the order of the phases of a loss.",
            },
        ),
        Judgement(
            claim="lr.grad_not_loss",
            criteria=(
                *(
                    Criterion(
                        name=f"balanced accuracy of what the gradient norm tells of flat losses, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=NormDiagnosis(
                            healthy=arm,
                            healthy_value=BEST[arm],
                            vanishing=VANISHING[arm],
                            too_small=TOO_SMALL[arm],
                            too_large=TOO_LARGE[arm],
                        ),
                        claimed=AtLeast(value=0.9),
                        refuted=AtMost(value=0.6),
                        says=f"Of the causes of a flat loss of the {NAMES[arm]} the gradient norm tells {{value}}",
                        unit="share",
                    )
                    for arm in MLPS
                ),
            ),
            right={"supported": "vanishing"},
            reported=(
                *(
                    Reported(
                        name=f"told of those {words}, {NAMES[arm]}",
                        observe=NormDiagnosis(healthy=arm, healthy_value=BEST[arm], **{cause: runs[arm]}),
                        unit="share",
                    )
                    for arm in MLPS
                    for words, cause, runs in (
                        ("whose gradients vanish", "vanishing", VANISHING),
                        ("whose LR is too small", "too_small", TOO_SMALL),
                        ("whose LR is too large", "too_large", TOO_LARGE),
                    )
                ),
            ),
            note=(
                "Three causes: ten layers of sigmoids, a thousandth of the best LR, and the LRs from the one on that loses a"
                " tenth of the fall. The norm of the second half, without the noise of its batches, is near zero below a"
                " hundredth of a healthy run's first, and huge above three times it. Without a rule a third would be told."
            ),
            advice={
                "supported": "If the loss is flat, look at the gradient norm first.",
                "partly": "If the loss is flat, try another LR, too: the gradient norm tells the cause in some runs.",
                "refuted": "If the loss is flat, try LRs far above and below: the gradient norm does not tell.",
            },
        ),
        Judgement(
            claim="lr.smooth",
            criteria=(
                *(
                    Criterion(
                        name=f"share of rises at the best LR less that at a quarter of it, {NAMES[arm]}",
                        panel=NAMES[arm],
                        test="no_worse",
                        observe=Gap(left=RISES[arm, BEST[arm]], right=RISES[arm, BEST[arm] / 4]),
                        null=0.0,
                        margin=0.1,
                        says=(
                            f"The best LR adds {{estimate}} to the share of evaluations at which the loss of the {NAMES[arm]}"
                            " rises"
                        ),
                    )
                    for arm in SETTINGS
                ),
            ),
            right={"supported": "smooth", "refuted": "spikes"},
            reported=(
                *(
                    Reported(name=f"share of rises at the best LR, {NAMES[arm]}", observe=RISES[arm, BEST[arm]], unit="share")
                    for arm in SETTINGS
                ),
                *(
                    Reported(
                        name=f"spikes a step at {words}the best LR, {NAMES[arm]}", observe=SPIKES[arm, times], unit="share"
                    )
                    for arm in SETTINGS
                    for words, times in (("a quarter of ", 0.25), ("", 1.0))
                ),
            ),
            note=(
                "A rise is one by 1% of the fall, on one sample, between evaluations a twentieth of the run apart, and between"
                " 10% and 60% of it; against a quarter of the LR. That the loss rises more often where the LR is too high is"
                " judged in lr.too_high. Spikes, losses of single batches six robust deviations above the median of the fifty"
                " before, are reported and not judged: next to a loss of zero a single hard example is one."
            ),
            advice={
                "supported": "Lower the LR if the loss spikes or swings.",
                "partly": "Take rises of the validation loss, and not spikes of single batches, as a sign of too high an LR.",
                "refuted": "Do not lower the LR only because the loss spikes now and then.",
            },
        ),
        Judgement(
            claim="lr.most_important",
            quantifier="most",
            criteria=(
                *(
                    Criterion(
                        name=f"what changes of the LR do over what those of {other} do, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=Quotient(top=OF_LR[arm], bottom=effect),
                        null=1.0,
                        margin=1.1,
                        claimed=AtLeast(value=1.1),
                        refuted=AtMost(value=1.0),
                        says=f"Changes of the LR move the loss of the {NAMES[arm]} {{estimate}} as far as those of {other}",
                        unit="x",
                    )
                    for (arm, other), effect in OF_OTHER.items()
                ),
            ),
            note=(
                "Each is divided and multiplied by two and by ten, the others stay, at an equal number of steps; the mean"
                " distance of the four losses from that without a change, up or down. Of β2 and momentum it is the distance"
                " from one that is changed, and the LR goes with that of momentum. The LR has to do more than each of the"
                " others."
            ),
            advice={
                "supported": "Tune the LR first, and with the budget that you have.",
                "partly": "Tune the LR first, and beside it what does as much harm here.",
                "refuted": "Do not spend a budget on the LR alone.",
            },
        ),
        Judgement(
            claim="adam.lr_tolerance",
            criteria=(
                *(
                    Criterion(
                        name=f"octaves within 5% of the fall, AdamW over SGD, {model.upper()}",
                        panel=model.upper(),
                        observe=Quotient(
                            top=BasinWidth(arm=f"{model}_adam", of="fall"), bottom=BasinWidth(arm=f"{model}_sgd", of="fall")
                        ),
                        null=1.0,
                        margin=1.1,
                        claimed=AtLeast(value=2.0),
                        refuted=AtMost(value=1.0),
                        says=f"On the {model.upper()} AdamW's basin of good LRs is {{value}} as wide, in octaves, as SGD's",
                        unit="x",
                    )
                    for model in ("mlp", "gpt")
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"octaves within 5% of the fall, {NAMES[arm]}",
                        observe=BasinWidth(arm=arm, of="fall"),
                        unit="octaves",
                    )
                    for arm in SETTINGS
                ),
                *(
                    Reported(
                        name=f"octaves within 5% of the fall to the lower loss of both, {NAMES[arm]}",
                        observe=BasinWidth(arm=arm, of="fall", best_of=(f"{arm[:3]}_sgd", f"{arm[:3]}_adam")),
                        unit="octaves",
                    )
                    for arm in SETTINGS
                ),
            ),
            note="To remove most of the sensitivity is to double the width, as the document says of more than half.",
            advice={
                "supported": "Use Adam where the LR cannot be searched.",
                "partly": "Search Adam's LR as you would SGD's, in somewhat wider steps.",
                "refuted": "Search Adam's LR as finely as SGD's.",
            },
        ),
    ),
    published=(
        Published(
            claim="lr.most_important",
            finding="The LR is perhaps the most important hyper-parameter; if there is time to tune one only, it is that one.",
            source="Bengio 2012, section 3.1",
            link="https://arxiv.org/abs/1206.5533",
            how="reported",
        ),
    ),
)
