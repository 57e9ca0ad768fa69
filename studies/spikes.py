"""What makes a loss spike, what warns of it, and what repairs it?"""

from typing import Any

from ..harness.declare.metrics.detectors import Detector
from .kit import *
from .metrics.spikes import alarm_lead, alarm_limit, alarm_precision, alarm_rate, detected_share, spike_recurrence

STEPS = 300
# Panel -> what its arms have in common; LRs about a pilot's best.
GPT, SGD, ADAMW = "GPT, AdamW", "MLP, SGD", "MLP, AdamW"
WORKLOADS: dict[str, tuple[str, float, dict[str, Any]]] = {
    GPT: (
        "gpt",
        2.0**-7,
        {
            "model": "gpt",
            "dataset": "python-docs",
            "width": 16,
            "depth": 2,
            "context": 16,
            "batch_size": 16,
            "beta2": 0.95,
            "evaluation_examples": 64,
            "final_examples": 256,
        },
    ),
    SGD: ("sgd", 2.0**-5, {"optimizer": "sgd"}),
    ADAMW: ("adamw", 2.0**-9, {}),
}
TOO_LARGE, NOISE, BAD_BATCHES = 300.0, 0.5, 5
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "clean": ("no fault", {}),
    "gradient": ("gradient too large", {"fault": "gradient", "fault_size": TOO_LARGE}),
    "labels": ("random labels", {"fault": "labels", "fault_steps": BAD_BATCHES}),
    "weights": ("weights hit", {"fault": "weights", "fault_size": NOISE}),
    "early": ("early random labels", {"fault": "labels", "fault_steps": BAD_BATCHES, "fault_fraction": 0.2}),
}
REMEDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("", {}),
    "_clip": (", clipped at 1.0", {"clip_norm": 1.0}),
    "_skip": (", step skipped", {"remedy": "skip"}),
    "_back": (", gone back", {"remedy": "roll_back"}),
    "_lower": (", LR lowered for 20 steps", {"remedy": "lower_lr"}),
    "_halve": (", LR halved", {"remedy": "halve_lr"}),
    "_alarm": (", skipped at alarms", {"remedy": "skip", "alarm": "deviations"}),
}
TRAINED = {
    "clean": ("", "_clip", "_alarm"),
    "gradient": ("", "_clip", "_skip", "_back", "_lower", "_alarm"),
    "labels": ("", "_clip", "_halve", "_alarm"),
    "early": ("", "_halve"),
    "weights": ("", "_clip", "_skip", "_back", "_lower", "_alarm"),
}
# A rising LR brings every run to where it explodes.
RAMP = {"schedule": "exponential", "warmup_fraction": 0.0, "ramp_start": 1e-4}
RAMP_TO = 4.0


def of_workload(panel: str) -> dict[str, Arm]:
    name, lr, shared = WORKLOADS[panel]
    arms = {
        f"{name}_{fault}{remedy}": Arm(
            label=FAULTS[fault][0] + REMEDIES[remedy][0],
            panel=panel,
            settings={**shared, **FAULTS[fault][1], **REMEDIES[remedy][1]},
            factors={"peak_lr": (lr,)},
        )
        for fault, remedies in TRAINED.items()
        for remedy in remedies
    }
    ramp = Arm(label="rising LR", panel=panel, settings={**shared, **RAMP}, factors={"peak_lr": (RAMP_TO,)})
    return {**arms, f"{name}_ramp": ramp}


# With full batches no batch can be to blame; where labels are noisy the gradient does not vanish before the LR is high.
FULL_RAMP = Arm(
    label="rising LR, full batches, a fifth of the labels random",
    panel=SGD,
    settings={
        "optimizer": "sgd",
        "sampling": "full",
        "batch_size": 1079,
        "label_noise": 0.2,
        **RAMP,
        "ramp_start": 1e-3,
    },
    factors={"peak_lr": (RAMP_TO,)},
)


# MLPs that spike by themselves: panel -> arms, LR and depth. The LRs are 16 and 4 times a pilot's best.
NATURAL = {
    "MLP, AdamW, LR 16 times the best": ("natural", 2.0**-5, 2),
    "MLP of six layers, AdamW, LR 4 times the best": ("deep", 2.0**-7, 6),
}


def of_natural(panel: str) -> dict[str, Arm]:
    """Runs, runs at half of the LR, and what goes on half-way: from the same state with other batches, from the other with the
    same ones."""
    name, lr, depth = NATURAL[panel]
    run = {"schedule": "constant", "beta2": 0.999, "depth": depth}
    whole = {**run, "steps": 2 * STEPS, "curve_points": 2 * STEPS}
    half = {**run, "warmup_fraction": 0.0, "start_fraction": 0.5, "start_state": "optimizer"}
    arms = {
        f"{name}_run": ("its own run", whole, lr),
        f"{name}_tamer": ("half of the LR", whole, lr / 2),
        f"{name}_other_batches": ("same state, other batches", {**half, "starts_from": f"{name}_run", "data_order": 1}, lr),
        f"{name}_other_state": ("same batches, other state", {**half, "starts_from": f"{name}_tamer"}, lr),
    }
    return {
        arm: Arm(label=label, panel=panel, settings=settings, factors={"peak_lr": (rate,)}, scales=("smoke", "laptop"))
        for arm, (label, settings, rate) in arms.items()
    }


def arm_of(panel: str, run: str) -> str:
    return f"{WORKLOADS[panel][0]}_{run}"


def final_gap(panel: str, run: str, reference: str) -> LossGap:
    return loss_gap(arm_of(panel, run), arm_of(panel, reference), FinalLoss)


def damage(panel: str, fault: str, remedy: str = "") -> LossGap:
    """What a fault costs at the end, as a share of the loss reduction; clipped runs are compared with clipped ones."""
    return final_gap(panel, fault + remedy, "clean_clip" if remedy == "_clip" else "clean")


def left(panel: str, fault: str, remedy: str) -> Share:
    return Share(part=damage(panel, fault, remedy), whole=damage(panel, fault), whole_at_least=0.002)


def undone(panel: str, fault: str, remedy: str) -> Share:
    whole = damage(panel, fault)
    return Share(part=Gap(left=whole, right=damage(panel, fault, remedy)), whole=whole, whole_at_least=0.002)


def alarms(panel: str, arm: str, rule: Any, where: Any) -> Any:
    return alarm_rate(arm=arm_of(panel, arm), rule=rule, where=where)


CLIP = judgement(
    "spike.clip",
    *(
        Criterion(
            name=f"share of the damage of {words} that is left with clipping, {panel}",
            clause=clause,
            panel=panel,
            observe=left(panel, fault, "_clip"),
            **below(0.25, refuted=1.0, null=1.0, margin=0.1, unit="share"),
            says=f"{panel}: clipping at norm 1.0 leaves {{estimate}} of the harm of {words}",
        )
        for panel in WORKLOADS
        for clause, fault, words in (("a", "gradient", "one gradient far too large"), ("b", "labels", "random labels"))
    ),
    reported={
        f"what {FAULTS[fault][0]} costs without clipping, {panel}": (damage(panel, fault), "relative")
        for panel in WORKLOADS
        for fault in ("gradient", "labels")
    }
    | {
        f"what clipping costs without a fault, {panel}": (final_gap(panel, "clean_clip", "clean"), "relative")
        for panel in WORKLOADS
    },
)

REPAIRS = {
    "skipping the step": "_skip",
    "going back to a checkpoint": "_back",
    "a lower LR for a time": "_lower",
    "clipping": "_clip",
}

PLAYBOOK = judgement(
    "spike.playbook",
    *(
        Criterion(
            name=f"share of the damage of {words} that {repair} undoes",
            clause=clause,
            panel=repair,
            observe=undone(GPT, fault, remedy),
            **above(0.5, refuted=0.1, null=0.0, unit="share"),
            says=f"In a GPT, {repair} undoes {{estimate}} of what {words} costs",
        )
        for repair, remedy in REPAIRS.items()
        for clause, fault, words in (("a", "gradient", "one gradient far too large"), ("b", "weights", "noise on the weights"))
    ),
    reported={
        f"{FAULTS[fault][0]}{REMEDIES[remedy][0]}: what is undone, {panel}": (undone(panel, fault, remedy), "share")
        for panel in WORKLOADS
        for fault in ("gradient", "weights")
        for remedy in ("_skip", "_back", "_lower", "_clip", "_alarm")
        if (panel, remedy) != (GPT, "_skip")
    },
)

DETECTOR = judgement(
    "spike.detector",
    *(
        criterion
        for panel in WORKLOADS
        for criterion in (
            *(
                Criterion(
                    name=f"share of runs in which the rule finds {words}, {panel}",
                    clause="a",
                    panel=panel,
                    observe=alarms(panel, fault, "loss_ratio", "at_fault"),
                    **above(0.7, refuted=0.5, unit="share"),
                    says=f"{panel}: the rule of 2x finds {words} in {{estimate}} of the runs",
                    alternatives={"six deviations of loss or norm": alarms(panel, fault, "deviations", "at_fault")},
                )
                for fault, words in (("labels", "batches of random labels"), ("weights", "noise on the weights"))
            ),
            Criterion(
                name=f"share of runs without a fault in which the rule gives an alarm, {panel}",
                clause="b",
                panel=panel,
                observe=alarms(panel, "clean", "loss_ratio", "elsewhere"),
                **below(0.3, refuted=0.5, unit="share"),
                says=f"{panel}: it gives an alarm in {{estimate}} of the runs without a fault",
                alternatives={"six deviations of loss or norm": alarms(panel, "clean", "deviations", "elsewhere")},
            ),
        )
    ),
    reported={
        f"{words}, share of runs with an alarm {at}, {panel}": (alarms(panel, arm, rule, where), "share")
        for panel in WORKLOADS
        for rule, words in (
            ("deviations", "six deviations of loss or gradient norm"),
            ("zclip", "ZClip at its 2.5 deviations of the gradient norm"),
        )
        for arm, where, at in (
            ("labels", "at_fault", "at random labels"),
            ("weights", "at_fault", "at noise on the weights"),
            ("clean", "elsewhere", "without a fault"),
        )
    },
)

DETECTORS: dict[Detector, str] = {
    "loss_ratio": "a loss over the mean of nine",
    "spike": "robust deviations of the loss",
    "robust_norm": "robust deviations of the gradient norm",
    "deviations": "OLMo's deviations of loss or norm",
    "zclip": "ZClip's deviations of the gradient norm",
}
# What is looked for: words, and where an alarm is right.
SOUGHT = {
    "labels": ("random labels", "at_fault"),
    "weights": ("noise on the weights", "at_fault"),
    "ramp": ("an explosion", "before_explosion"),
}


def sought(panel: str, arm: str, rule: str, **fields: Any) -> dict[str, Any]:
    """What is looked for in an arm by a detector whose limit gives one alarm in 1,000 steps of sound runs."""
    return {"arm": arm_of(panel, arm), "sound": arm_of(panel, "clean"), "rule": rule, "where": SOUGHT[arm][1], **fields}


DEVIATIONS = judgement(
    "spike.deviations",
    *(
        Criterion(
            name=f"{words}: share found by {DETECTORS[rule]}, of the runs that only it or the loss ratio finds, {panel}",
            clause=clause,
            panel=panel,
            observe=detected_share(**sought(panel, arm, rule, but_not="loss_ratio")),
            **above(0.5, unit="share"),
            says=f"{panel}, {words}: of the runs that only a loss ratio or only {DETECTORS[rule]} find, the latter find"
            " {estimate}",
        )
        for panel in WORKLOADS
        for clause, arm, words in (("a", "weights", "noise on the weights"), ("b", "ramp", "an explosion"))
        for rule in ("deviations", "zclip")
    ),
    reported={
        **{
            f"share of runs in which {words} find {SOUGHT[arm][0]}, {panel}": (
                detected_share(**sought(panel, arm, rule)),
                "share",
            )
            for panel in WORKLOADS
            for arm in SOUGHT
            for rule, words in DETECTORS.items()
        },
        **{
            f"share of the alarms that are right, {words}, noise on the weights, {panel}": (
                alarm_precision(**sought(panel, "weights", rule)),
                "share",
            )
            for panel in WORKLOADS
            for rule, words in DETECTORS.items()
        },
        **{
            f"steps from the first alarm to an explosion, {words}, {panel}": (alarm_lead(**sought(panel, "ramp", rule)), "")
            for panel in WORKLOADS
            for rule, words in DETECTORS.items()
        },
        **{
            f"limit that gives one alarm in 1,000 sound steps, {words}, {panel}": (
                alarm_limit(sound=arm_of(panel, "clean"), rule=rule),
                "",
            )
            for panel in WORKLOADS
            for rule, words in DETECTORS.items()
            if rule in ("loss_ratio", "deviations", "zclip")
        },
    },
)


def steps_to_loss(panel: str, arm: str) -> StepsToTarget:
    """To a loss that is reached with the LR halved."""
    return StepsToTarget(arm=arm_of(panel, arm), anchor=arm_of(panel, "early_halve"), share=0.95)


ONCE = judgement(
    "spike.once",
    *(
        no_worse(
            f"final loss after a spike, LR left as it is minus LR halved, {panel}",
            final_gap(panel, "labels", "labels_halve"),
            f"{panel}: after a spike that passes, leaving the LR {{costs}} of the loss reduction compared with halving it",
            panel=panel,
        )
        for panel in WORKLOADS
    ),
    right={"supported": "leave it", "refuted": "lower it"},
)

CUT_WASTES = judgement(
    "spike.cut_wastes",
    *(
        Criterion(
            name=f"steps to a loss after a spike, LR halved over LR unchanged, {panel}",
            panel=panel,
            observe=steps_to_loss(panel, "early_halve") / steps_to_loss(panel, "early"),
            **above(1.05, refuted=1.0, null=1.0, unit="x"),
            says=f"{panel}: with the LR halved after a spike, reaching the same loss takes {{estimate}} as many steps",
        )
        for panel in WORKLOADS
    ),
    right={"supported": "waste", "refuted": "lower it"},
)


def comes_again(panel: str, clause: str, arm: str, words: str) -> Criterion:
    """By more than chance: at these steps runs of other seeds spike, too."""
    name = NATURAL[panel][0]
    beside: dict[str, Any] = {"arm": f"{name}_{arm}", "of": f"{name}_run"}
    return Criterion(
        name=f"share of spikes that come again {words}, less what chance gives, {panel}",
        clause=clause,
        panel=panel,
        observe=spike_recurrence(**beside) - spike_recurrence(**beside, other_seeds=True),
        **above(0.1, unit="share"),
        says=f"{panel}: of the spikes that come by themselves, {{more}} than by chance come again {words}",
        alternatives={
            f"within {steps} steps": spike_recurrence(**beside, within_steps=steps)
            - spike_recurrence(**beside, within_steps=steps, other_seeds=True)
            for steps in (2, 10)
        },
        scales=("laptop",),
    )


BATCH_OR_STATE = judgement(
    "spike.batch_or_state",
    Criterion(
        name="share of runs with a spike after batches of random labels, MLP, SGD",
        clause="a",
        panel=SGD,
        observe=alarms(SGD, "labels", "spike", "after_fault"),
        **above(0.5, unit="share"),
        says="MLP, SGD: after batches of random labels, the loss on sound batches spikes in {estimate} of the runs",
    ),
    Criterion(
        name="share of runs with a spike without any bad batch, full batches, rising LR",
        clause="b",
        panel=SGD,
        observe=alarm_rate(arm="full_ramp", rule="spike", where="elsewhere"),
        **above(0.5, unit="share"),
        says="With full batches and a rising LR, the loss spikes in {estimate} of the runs",
    ),
    *(
        comes_again(panel, clause, arm, words)
        for panel in NATURAL
        for clause, arm, words in (
            ("c", "other_state", "with the same batches from another state"),
            ("d", "other_batches", "with other batches from the same state"),
        )
    ),
    reported={
        f"share of runs with a spike after {FAULTS[fault][0]}, {panel}": (
            alarms(panel, fault, "spike", "after_fault"),
            "share",
        )
        for panel in WORKLOADS
        for fault in ("clean", "labels", "gradient", "weights")
        if (panel, fault) not in ((SGD, "labels"), (GPT, "clean"), (SGD, "clean"), (ADAMW, "clean"))
    },
)

WARNING = judgement(
    "spike.warning",
    *(
        criterion
        for panel in WORKLOADS
        for criterion in (
            Criterion(
                name=f"share of runs with an alarm of the gradient norm before the loss explodes, {panel}",
                clause="a",
                panel=panel,
                observe=alarms(panel, "ramp", "norm_ratio", "before_explosion"),
                **above(0.5, unit="share"),
                says=f"{panel}: in {{estimate}} of the runs that explode under a rising LR, the gradient norm warns in the 50"
                " steps before",
            ),
            Criterion(
                name=f"share of runs with an alarm more than 50 steps before, {panel}",
                clause="b",
                panel=panel,
                observe=alarms(panel, "ramp", "norm_ratio", "earlier"),
                **below(0.5, unit="share"),
                says=f"{panel}: in {{estimate}} of them it gives an alarm earlier than that",
            ),
        )
    ),
    reported={
        f"share of runs with a loss above twice the mean of nine in the 50 steps before, {panel}": (
            alarms(panel, "ramp", "loss_ratio", "before_explosion"),
            "share",
        )
        for panel in WORKLOADS
    },
)
JUDGEMENTS: tuple[Judgement, ...] = (CLIP, PLAYBOOK, DETECTOR, DEVIATIONS, ONCE, BATCH_OR_STATE, WARNING, CUT_WASTES)

STUDY = study(
    __file__,
    version=5,
    workload=Workload(model="mlp", dataset="digits", width=64, depth=2),
    training=Training(optimizer="adamw", weight_decay=0.0, schedule="cosine", warmup_fraction=0.05, batch_size=32, steps=STEPS),
    measurement=Measurement(
        probes=2,
        evaluations=60,
        evaluation_examples=359,
        final_examples=359,
        curve_points=STEPS,
        gradient_norms=True,
    ),
    arms={
        **{name: arm for panel in WORKLOADS for name, arm in of_workload(panel).items()},
        "full_ramp": FULL_RAMP,
        **{name: arm for panel in NATURAL for name, arm in of_natural(panel).items()},
    },
    factors={"peak_lr": (2.0**-9,)},
    seeds=20,
    first_seed=134_000,
    scales={
        "smoke": scales.smoke(
            training={"steps": 160},
            measurement={"curve_points": 160, "evaluations": 4, "evaluation_examples": 8},
            arm_settings={
                f"{name}_{arm}": {"steps": 320, "curve_points": 320}
                for name, _, _ in NATURAL.values()
                for arm in ("run", "tamer")
            },
        ),
        "laptop": scales.laptop(
            "four to five minutes of training",
            # A share near a half takes many runs to tell from it, and a limit for one alarm in 1,000 steps many steps.
            arm_seeds={
                **{f"{name}_{arm}": 40 for name, _, _ in WORKLOADS.values() for arm in ("clean", *SOUGHT)},
                "gpt_ramp": 90,
                # Pilots had six spikes in the half of a run that counts: of 40 runs 10% more than by chance are seen.
                **dict.fromkeys((arm for panel in NATURAL for arm in of_natural(panel)), 40),
            },
        ),
        "gpu": scales.gpu(
            "one GPU, a few minutes: MLPs of 0.3M parameters, GPTs of 0.8M",
            workload={"width": 512},
            arm_settings={arm: {"width": 128, "depth": 4, "heads": 4, "context": 64} for arm in of_workload(GPT)},
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, half an hour: MLPs of 4M parameters, GPTs of 6M",
            workload={"width": 2048},
            arm_settings={arm: {"width": 256, "depth": 8, "heads": 8, "context": 128} for arm in of_workload(GPT)},
        ),
    },
    answer=("spike.playbook", "spike.clip", "spike.warning", "spike.batch_or_state"),
    judgements=JUDGEMENTS,
)
