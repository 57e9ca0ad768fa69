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
MLPS = ("mlp_sgd", "mlp_adam")
NAMES = {"mlp_sgd": "MLP with SGD", "mlp_adam": "MLP with AdamW", "gpt_sgd": "GPT with SGD", "gpt_adam": "GPT with AdamW"}
# By a pilot, whose seeds are none of the study's: the best LR, and the first at which a tenth of the fall is lost. Curves are
# read at declared LRs: the best of a flat basin jumps between neighbours from one resample to the next, and beside a cliff a
# multiple of it is another world.
BEST = {"mlp_sgd": 2.0**-4.5, "mlp_adam": 2.0**-6, "gpt_sgd": 2.0**-2, "gpt_adam": 2.0**-6}
TOO_HIGH = {"mlp_sgd": 2.0**-2, "mlp_adam": 2.0**-2, "gpt_sgd": 2.0**0, "gpt_adam": 2.0**-3}
GRIDS = {
    "mlp_sgd": log2_grid(-10, 1),
    "mlp_adam": log2_grid(-12, 0),
    # Its cliff falls between two of them.
    "gpt_sgd": (*log2_grid(-8, -1), 2.0**-0.5, 2.0**-0.25, *log2_grid(0, 2)),
    "gpt_adam": (*log2_grid(-11, -2), *log2_grid(-1, 5, 1)),
}
STUCK = {
    "mlp_sgd": "hidden.1.weight",
    "mlp_adam": "hidden.1.weight",
    "gpt_sgd": "blocks.0.attention.qkv.weight",
    "gpt_adam": "blocks.0.attention.qkv.weight",
}
# What is changed by factors of ten and two, down and up, from what a baseline has. Of momenta and second moments it is the
# share that is new: beta2 = 0.999 is 0.001, and 0.99 ten times that. A momentum of 0.01 is next to the 0 that ten
# times the share comes to, and has a logarithm.
DECAYED = {"sgd": (5e-5, 2.5e-4, 1e-3, 5e-3), "adam": (0.01, 0.05, 0.2, 1.0)}
MOMENTS = {"sgd": ("momentum", (0.01, 0.8, 0.95, 0.99)), "adam": ("beta2", (0.99, 0.998, 0.9995, 0.9999))}
BATCHES = {"mlp": (3, 16, 64, 320), "gpt": (2, 8, 32, 160)}
CHANGES = {
    arm: {
        "weight_decay": DECAYED[arm.removeprefix("mlp_").removeprefix("gpt_")],
        MOMENTS[arm.removeprefix("mlp_").removeprefix("gpt_")][0]: MOMENTS[arm.removeprefix("mlp_").removeprefix("gpt_")][1],
        "batch_size": BATCHES[arm.removesuffix("_sgd").removesuffix("_adam")],
        "warmup_fraction": (0.005, 0.025, 0.1, 0.5),
        "clip_norm": (0.1, 0.5, 2.0, 10.0),
    }
    for arm in SETTINGS
}
SPELLED = {
    "weight_decay": "weight decay",
    "momentum": "momentum",
    "beta2": "β2",
    "batch_size": "batch size",
    "warmup_fraction": "warmup",
    "clip_norm": "clipping norm",
}
LR_CHANGES = {arm: (lr / 10, lr / 2, lr, 2 * lr, 10 * lr) for arm, lr in BEST.items()}
OF_LR = {
    arm: Mean(parts=tuple(LossAt(arm=f"{arm}_lr", value=value) for value in LR_CHANGES[arm] if value != lr))
    for arm, lr in BEST.items()
}
OF_OTHER = {
    (arm, factor): Mean(parts=tuple(LossAt(arm=f"{arm}_{factor}", over=factor, value=value) for value in values))
    for arm, changes in CHANGES.items()
    for factor, values in changes.items()
}
# Means over a tenth of the run: at the end of warmup, a tenth later, and at equal distances from the first to the end.
AT = {
    (arm, share): CurveMean(arm=arm, curve="train_loss", value=BEST[arm], first=share, last=share + 0.1)
    for arm in SETTINGS
    for share in (0.05, 0.15, 0.325, 0.6, 0.875)
}
# While the LR is near its peak.
EARLY = {"first": 0.1, "last": 0.6}
READ = tuple((arm, lr) for arm in SETTINGS for lr in (BEST[arm] / 4, BEST[arm], 4 * BEST[arm], TOO_HIGH[arm]))
RISES = {(arm, lr): RisingShare(arm=arm, value=lr, **EARLY) for arm, lr in READ}
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
        top=CurveMean(arm=name, value=BEST[name.removesuffix("_stuck")], **MOST, **MIDDLE),
        bottom=CurveMean(arm=name, value=BEST[name.removesuffix("_stuck")], **LEAST, **MIDDLE),
    )
    for arm in SETTINGS
    for name in (arm, f"{arm}_stuck")
}
HALF_LOST = {
    arm: Quotient(top=MaxTrainable(arm=arm, within=0.5, of="fall"), bottom=MaxTrainable(arm=arm, within=0.05, of="fall"))
    for arm in SETTINGS
}
GPU_GPT = {"dataset": "python-source", "width": 64, "depth": 2, "heads": 2, "context": 64}
CLUSTER_GPT = {"dataset": "web-text", "width": 256, "depth": 4, "heads": 4, "context": 128}

OTHERS = tuple(f"{arm}_{factor}" for arm in SETTINGS for factor in CHANGES[arm])
SLOW_ARMS = tuple(f"{arm}_slow" for arm in SETTINGS)
ARMS = (
    *(f"{arm}{ending}" for arm in SETTINGS for ending in ("", "_constant", "_stuck", "_lr")),
    *(f"{arm}{ending}" for arm in MLPS for ending in ("_tiny", "_deep")),
    *OTHERS,
)
GPT_ARMS = tuple(arm for arm in (*ARMS, *SLOW_ARMS) if arm[0] == "g")

STUDY = Study(
    name="lr_regimes",
    version=1,
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
                    "steps": 10 * SETTINGS[arm]["steps"],
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
                settings={**SETTINGS[arm], "clip_norm": 1.0},
                factors={"peak_lr": LR_CHANGES[arm]},
            )
            for arm in SETTINGS
        },
        **{
            f"{arm}_{factor}": Arm(
                label=f"{SPELLED[factor]} changed",
                panel=NAMES[arm],
                settings={**SETTINGS[arm], "clip_norm": 1.0},
                factors={"peak_lr": (BEST[arm],), factor: CHANGES[arm][factor]},
            )
            for arm in SETTINGS
            for factor in CHANGES[arm]
        },
    },
    factors={"peak_lr": (2.0**-6,)},
    seeds=16,
    first_seed=26_100,
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
        "Hyper-parameters are changed one at a time, at an equal number of steps and an LR that stays; initialization is not"
        " among them.",
    ),
    answer=("lr.sharp", "lr.most_important", "adam.lr_tolerance"),
    judgements=(
        Judgement(
            claim="lr.sharp",
            quantifier="most",
            criteria=tuple(
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
                    says=f"At three times its best LR the {NAMES[arm]} loses {{value}} of the fall of its loss",
                    unit="share",
                    alternatives=(
                        Alternative(
                            name="at twice the best LR",
                            observe=FallShare(
                                left=LossAt(arm=arm, tuned_for=arm, times=2.0, window_octaves=2.0), right=TunedLoss(arm=arm)
                            ),
                        ),
                    ),
                )
                for arm in SETTINGS
            ),
            reported=tuple(
                Reported(
                    name=f"LR that loses half of the fall over the last within 5% of it, {NAMES[arm]}",
                    observe=HALF_LOST[arm],
                    unit="x",
                )
                for arm in SETTINGS
            ),
            note=(
                "'Often' is read as: on most of the four. Among the best is within 5% of the fall; a run that diverges has lost"
                " all of it, and a quarter counts."
            ),
            advice={
                "supported": "Search the LR in steps of less than 2x, and stay a step below the edge.",
                "partly": "Find out on which side of its best LR your model falls off, and keep a distance from it.",
                "refuted": "Search the LR in steps of 2x to 3x; finer ones are wasted.",
            },
        ),
        Judgement(
            claim="lr.too_low",
            criteria=tuple(
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
                        observe=FallShare(left=LossAt(arm=arm, value=BEST[arm] / 10), right=LossAt(arm=arm, value=BEST[arm])),
                        null=0.0,
                        margin=0.01,
                        claimed=AtLeast(value=0.05),
                        refuted=AtMost(value=0.01),
                        says="In as many steps it loses {value} of the fall",
                        unit="share",
                    ),
                )
            ),
            advice={
                "supported": "If a loss falls steadily and slowly, raise the LR before you add steps.",
                "partly": "Before you add steps, try a larger LR.",
                "refuted": "Too low an LR by ten is no reason for a slow run; look elsewhere.",
            },
        ),
        Judgement(
            claim="lr.too_high",
            criteria=tuple(
                criterion
                for arm in SETTINGS
                for criterion in (
                    Criterion(
                        name=f"share of evaluations at which the loss rises, too high an LR less the best, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=Gap(left=RISES[arm, TOO_HIGH[arm]], right=RISES[arm, BEST[arm]]),
                        null=0.0,
                        margin=0.05,
                        claimed=AtLeast(value=0.1),
                        refuted=AtMost(value=0.0),
                        says=f"At too high an LR the loss of the {NAMES[arm]} rises {{value}} more often",
                    ),
                    Criterion(
                        name=f"gradient norm, too high an LR over the best, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=Quotient(top=NORM[arm, TOO_HIGH[arm]], bottom=NORM[arm, BEST[arm]]),
                        null=1.0,
                        margin=1.2,
                        claimed=AtLeast(value=2.0),
                        refuted=AtMost(value=1.0),
                        says="Its gradient norm is {value} what it is at the best LR",
                        unit="x",
                    ),
                )
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
                        name=f"squared swings of the batches' loss, too high an LR over the best, {NAMES[arm]}",
                        observe=Quotient(top=SWING[arm, TOO_HIGH[arm]], bottom=SWING[arm, BEST[arm]]),
                        unit="x",
                    )
                    for arm in SETTINGS
                ),
            ),
            note=(
                "Too high is the first LR of the grid, half octaves apart, at which a pilot lost a tenth of the fall. A loss"
                " bounces if it rises between evaluations on one sample, a twentieth of the run apart, and not that of batches,"
                " which differ. Both are looked at between 10% and 60% of the run, while the LR is near its peak; a run that"
                " diverges counts as bouncing. That a run possibly diverges is no criterion: no outcome would speak against it."
            ),
            advice={
                "supported": "Lower the LR if the loss bounces and the gradient norm is large.",
                "partly": "Take a bouncing loss or a large gradient norm as a hint of too high an LR, and try half of it.",
                "refuted": "Do not wait for a bouncing loss to find an LR too high; compare runs.",
            },
        ),
        Judgement(
            claim="lr.norm_falls",
            criteria=tuple(
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
                            observe=CurveSlope(arm=f"{arm}_constant", curve="probe_gradient_norm", value=BEST[arm], first=0.1),
                        ),
                    ),
                )
                for arm in SETTINGS
            ),
            reported=tuple(
                Reported(
                    name=f"the same at a constant LR, {NAMES[arm]}",
                    observe=CurveSlope(arm=f"{arm}_constant", curve="probe_gradient_norm", value=BEST[arm], first=0.1),
                )
                for arm in SETTINGS
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
            criteria=tuple(
                criterion
                for arm in SETTINGS
                for criterion in (
                    Criterion(
                        name=f"share of the fall lost with one matrix at a hundredth of the LR, {NAMES[arm]}",
                        panel=NAMES[arm],
                        test="no_worse",
                        observe=FallShare(
                            left=FinalLoss(arm=f"{arm}_stuck"), right=LossAt(arm=arm, value=BEST[arm]), best_of=(arm,)
                        ),
                        null=0.0,
                        margin=0.05,
                        says=f"With one matrix all but stuck the {NAMES[arm]} loses {{value}} of the fall",
                        unit="share",
                    ),
                    Criterion(
                        name=f"spread of the matrices' update ratios with one stuck over that without, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=Quotient(top=APART[f"{arm}_stuck"], bottom=APART[arm]),
                        null=1.0,
                        margin=1.2,
                        claimed=AtLeast(value=10.0),
                        refuted=AtMost(value=3.0),
                        says="It makes the spread of update over weight {value} as wide",
                        unit="x",
                    ),
                )
            ),
            reported=tuple(
                Reported(
                    name=f"largest over smallest update ratio of a healthy run's matrices, {NAMES[arm]}",
                    observe=APART[arm],
                    unit="x",
                )
                for arm in SETTINGS
            ),
            note=(
                "One of the MLP's two hidden matrices, or the GPT's that makes queries, keys and values, learns at a hundredth"
                " of the LR. A good-looking loss is one that loses at most 5% of the fall. How far the matrices of a healthy"
                " run lie apart is reported: below 3x they are similar, as one document has it, above 10x they differ."
            ),
            advice={
                "supported": "Watch update over weight matrix by matrix: the loss does not tell.",
                "partly": "Watch update over weight matrix by matrix; the loss tells of a stuck one in some models only.",
                "refuted": "A good loss is enough: no matrix is stuck behind it.",
            },
        ),
        Judgement(
            claim="lr.phases",
            criteria=tuple(
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
                        observe=FallShare(left=Mean(parts=(AT[arm, 0.05], AT[arm, 0.6])), right=AT[arm, 0.325], best_of=(arm,)),
                        null=0.0,
                        margin=0.01,
                        claimed=AtLeast(value=0.01),
                        refuted=AtMost(value=0.0),
                        says="Half the difference between what the first third of the rest and the second fall is {value}",
                        unit="share",
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
                        says="From the second third to the last it is {value}",
                        unit="share",
                    ),
                    Criterion(
                        name=f"validation loss above training loss half way, {NAMES[arm]}",
                        panel=NAMES[arm],
                        test="no_worse",
                        observe=FallShare(
                            left=LossAfter(arm=f"{arm}_constant", share=0.5),
                            right=CurveMean(arm=f"{arm}_constant", curve="train_loss", value=BEST[arm], first=0.45, last=0.55),
                            best_of=(arm,),
                        ),
                        null=0.0,
                        margin=0.1,
                        says="Half way the validation loss lies {value} of the fall above the training loss",
                        unit="share",
                    ),
                )
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
            criteria=tuple(
                Criterion(
                    name=f"flat losses whose cause the gradient norm tells, {NAMES[arm]}",
                    panel=NAMES[arm],
                    observe=NormDiagnosis(
                        healthy=arm,
                        healthy_value=BEST[arm],
                        vanishing=((f"{arm}_deep", BEST[arm]),),
                        too_small=((f"{arm}_tiny", BEST[arm] / 1000),),
                        too_large=((arm, 32 * BEST[arm]),),
                    ),
                    claimed=AtLeast(value=0.9),
                    refuted=AtMost(value=0.6),
                    says=f"Of flat losses of the {NAMES[arm]} the gradient norm tells the cause in {{value}}",
                    unit="share",
                )
                for arm in MLPS
            ),
            right={"supported": "vanishing"},
            note=(
                "Three causes: a thousandth of the best LR, 32 times it, and ten layers of sigmoids. The norm of the second"
                " half is near zero below a hundredth of the first norm of a healthy run, and huge above three times it. A"
                " guess would tell a third."
            ),
            advice={
                "supported": "If the loss is flat, look at the gradient norm first.",
                "partly": "If the loss is flat, try another LR, too: the gradient norm tells the cause in some runs.",
                "refuted": "If the loss is flat, try LRs far above and below: the gradient norm does not tell.",
            },
        ),
        Judgement(
            claim="lr.smooth",
            criteria=tuple(
                criterion
                for arm in SETTINGS
                for criterion in (
                    Criterion(
                        name=f"spikes a step at the best LR less those at a quarter of it, {NAMES[arm]}",
                        panel=NAMES[arm],
                        test="no_worse",
                        observe=Gap(left=SPIKES[arm, 1.0], right=SPIKES[arm, 0.25]),
                        null=0.0,
                        margin=0.005,
                        says=f"At its best LR the {NAMES[arm]} has {{estimate}} spikes a step more than at a quarter of it",
                    ),
                    Criterion(
                        name=f"share of rises at the best LR less that at a quarter of it, {NAMES[arm]}",
                        panel=NAMES[arm],
                        test="no_worse",
                        observe=Gap(left=RISES[arm, BEST[arm]], right=RISES[arm, BEST[arm] / 4]),
                        null=0.0,
                        margin=0.1,
                        says="Between evaluations its loss rises {estimate} more often",
                    ),
                )
            ),
            right={"supported": "smooth", "refuted": "spikes"},
            reported=(
                *(
                    Reported(
                        name=f"share of rises at four times the best LR less that at it, {NAMES[arm]}",
                        observe=Gap(left=RISES[arm, 4 * BEST[arm]], right=RISES[arm, BEST[arm]]),
                    )
                    for arm in SETTINGS
                ),
                *(
                    Reported(name=f"spikes a step at four times the best LR, {NAMES[arm]}", observe=SPIKES[arm, 4.0])
                    for arm in SETTINGS
                ),
            ),
            note=(
                "Spikes are those after the first fifth of the run, rises those between 10% and 60% of it. A spike"
                " is a loss six robust deviations above the median of the fifty steps before it. Differences and not ratios: at a quarter of the LR there may be none."
            ),
            advice={
                "supported": "Lower the LR if the loss spikes or swings.",
                "partly": "Take rises of a smoothed loss, and not spikes of single steps, as a sign of too high an LR.",
                "refuted": "Do not lower the LR only because the loss spikes now and then.",
            },
        ),
        Judgement(
            claim="lr.most_important",
            quantifier="most",
            criteria=tuple(
                Criterion(
                    name=f"harm by changes of the LR less that by changes of {SPELLED[factor]}, {NAMES[arm]}",
                    panel=NAMES[arm],
                    observe=FallShare(left=OF_LR[arm], right=OF_OTHER[arm, factor], best_of=(f"{arm}_lr",)),
                    null=0.0,
                    margin=0.01,
                    claimed=AtLeast(value=0.01),
                    refuted=AtMost(value=0.0),
                    says=f"Changes of the LR cost the {NAMES[arm]} {{value}} of the fall more than those of {SPELLED[factor]}",
                    unit="share",
                )
                for arm in SETTINGS
                for factor in CHANGES[arm]
            ),
            note=(
                "Each is divided and multiplied by two and by ten, the others stay, and the loss is the mean of the four. Of β2"
                " and momentum it is the distance from one that is changed. All of the others have to do less harm."
            ),
            advice={
                "supported": "Tune the LR first, and with the budget that you have.",
                "partly": "Tune the LR first, and beside it what does as much harm here.",
                "refuted": "Do not spend a budget on the LR alone.",
            },
        ),
        Judgement(
            claim="adam.lr_tolerance",
            criteria=tuple(
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
            reported=tuple(
                Reported(
                    name=f"octaves within 5% of the fall, {NAMES[arm]}", observe=BasinWidth(arm=arm, of="fall"), unit="octaves"
                )
                for arm in SETTINGS
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
