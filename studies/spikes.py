"""A study of what makes a loss spike, what warns of it, and what repairs it."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from .kit import *
from .metrics.spikes import alarm_lead, alarm_limit, alarm_rate, detected_share, spike_recurrence, warned_share

STEPS = 300

study = Draft(
    __file__,
    DIGITS_MLP
    | dict(optimizer="adamw", weight_decay=0.0, schedule="cosine", warmup_fraction=0.05, batch_size=32, steps=STEPS)
    | dict(probes=2, evaluations=60, evaluation_examples=359, final_examples=359, curve_points=STEPS, gradient_norms=True),
    # Asks of the faults that documents name, of steps made up, and of the norm beside the loss; 5 asked of noise on weights.
    version=6,
    factors=peak_lrs(-9),
    seeds=20,
    first_seed=144_000,
    answer=("spike.playbook", "spike.warning", "spike.detector", "spike.clip"),
)


# Arms: three workloads with each fault, a GPT with each repair, runs whose LR rises, and MLPs that spike by themselves.


GPT, SGD, ADAMW = "GPT, AdamW", "MLP, SGD", "MLP, AdamW"
# Panel -> what its arms' names begin with.
WORKLOADS = {GPT: "gpt", SGD: "sgd", ADAMW: "adamw"}
GPT_RUN = dict(model="gpt", dataset="python-docs", width=16, depth=2, context=16, evaluation_examples=64, final_examples=256)
SETTINGS: dict[str, dict[str, Any]] = {GPT: GPT_RUN | dict(batch_size=16, beta2=0.95), SGD: dict(optimizer="sgd"), ADAMW: {}}
# Exponents about a pilot's best.
LRS = {GPT: -7, SGD: -5, ADAMW: -9}
REPAIRS = ("_skip", "_back", "_lower")
# Label, settings, and what is tried on every workload, and on the GPT alone.
FAULTS: dict[str, tuple[str, dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "clean": ("no fault", {}, ("", "_clip"), ()),
    "gradient": ("gradient too large", {"fault": "gradient", "fault_size": 300.0}, ("", "_clip"), REPAIRS),
    "labels": ("random labels", {"fault": "labels", "fault_steps": 5}, ("", "_clip", "_halve"), REPAIRS),
    "early": ("early random labels", {"fault": "labels", "fault_steps": 5, "fault_fraction": 0.2}, ("", "_halve"), ()),
    "weights": ("weights hit", {"fault": "weights", "fault_size": 0.5}, ("",), ("_skip", "_back")),
}
REMEDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("", {}),
    "_clip": (", clipped at 1.0", {"clip_norm": 1.0}),
    "_skip": (", skipped at alarms", {"remedy": "skip", "alarm": "deviations"}),
    "_back": (", gone back at alarms", {"remedy": "roll_back", "alarm": "deviations"}),
    "_lower": (", LR lowered for 20 steps at alarms", {"remedy": "lower_lr", "alarm": "deviations"}),
    "_halve": (", LR halved", {"remedy": "halve_lr"}),
}
# A fault comes half-way, after a checkpoint of ten steps before, and the last but one is gone back to.
FAULTY, CHECKPOINT = STEPS // 2, STEPS // 2 - 30
RAMP = {"schedule": "exponential", "warmup_fraction": 0.0, "ramp_start": 1e-4}
# A rising LR brings every run to where it explodes.
RAMP_TO = peak_lrs(2)


def made_up(faulty: dict[str, Any]) -> dict[str, Any]:
    """As many steps more as going back loses, so that all runs complete equally many."""
    steps = STEPS + FAULTY + faulty.get("fault_steps", 1) - CHECKPOINT
    return {"steps": steps, "fault_fraction": FAULTY / steps}


for panel, name in WORKLOADS.items():
    for fault, (label, faulty, remedies, of_gpts) in FAULTS.items():
        for remedy in (*remedies, *(of_gpts if panel == GPT else ())):
            words, remedied = REMEDIES[remedy]
            settings = SETTINGS[panel] | faulty | remedied | (made_up(faulty) if remedy == "_back" else {})
            study.arm(f"{name}_{fault}{remedy}", label + words, panel, settings, factors=peak_lrs(LRS[panel]))
    study.arm(f"{name}_ramp", "rising LR", panel, SETTINGS[panel] | RAMP, factors=RAMP_TO)
    rising = SETTINGS[panel] | RAMP | {"ramp_start": 1e-2}
    study.arm(f"{name}_rising", "LR rising to the best one", panel, rising, factors=peak_lrs(LRS[panel]))
# A gradient of once its size is sound, and the run goes back all the same.
SOUND_BACK = {"fault": "gradient", "fault_size": 1.0, "remedy": "roll_back"}
study.arm("gpt_clean_back", "no fault, gone back", GPT, SETTINGS[GPT] | SOUND_BACK | made_up({}), factors=peak_lrs(LRS[GPT]))
# With full batches no batch can be to blame; where labels are noisy the gradient does not vanish before the LR is high.
FULL = dict(optimizer="sgd", sampling="full", batch_size=1079, label_noise=0.2, ramp_start=1e-3)
study.arm("full_ramp", "rising LR, full batches, a fifth of the labels random", SGD, RAMP | FULL, factors=RAMP_TO)

# At 16 and 4 times a pilot's best LR: panel -> what its arms' names begin with, exponent of the LR, and depth.
NATURAL = {
    "MLP, AdamW, LR 16 times the best": ("natural", -5, 2),
    "MLP of six layers, AdamW, LR 4 times the best": ("deep", -7, 6),
}
WHOLE = dict(schedule="constant", beta2=0.999, steps=2 * STEPS, curve_points=2 * STEPS)
# Runs that go on half-way: from the same state with other batches, from the other with the same ones.
HALF = dict(schedule="constant", beta2=0.999, warmup_fraction=0.0, start_fraction=0.5, start_state="optimizer")

for panel, (name, exponent, depth) in NATURAL.items():
    natural = partial(study.arm, panel=panel, factors=peak_lrs(exponent), scales=("smoke", "laptop"), depth=depth)
    run = natural(f"{name}_run", "its own run", settings=WHOLE)
    tamer = natural(f"{name}_tamer", "half of the LR", settings=WHOLE, factors=peak_lrs(exponent - 1))
    natural(f"{name}_other_batches", "same state, other batches", settings=HALF, starts_from=run, data_order=1)
    natural(f"{name}_other_state", "same batches, other state", settings=HALF, starts_from=tamer)

study.smoke(
    dict(steps=160, curve_points=160, evaluations=4, evaluation_examples=8),
    arm_settings={("natural_run", "natural_tamer", "deep_run", "deep_tamer"): {"steps": 320, "curve_points": 320}},
)
study.laptop(
    "two to three minutes of training",
    arm_seeds={
        # A share near a half takes many runs to tell from it, and a limit for one alarm in 1,000 steps many steps.
        tuple(f"{name}_{run}" for name in ("sgd", "adamw") for run in ("clean", "rising", "ramp")): 80,
        ("gpt_clean", "gpt_rising", "gpt_ramp", *(f"{name}_weights" for name in WORKLOADS.values())): 40,
        # Pilots had six spikes in the half of a run that counts: of 40 runs 10% more than by chance are seen.
        tuple(arm for arm in study.arms if arm.startswith(("natural_", "deep_"))): 40,
    },
)
GPT_ARMS = tuple(arm for arm in study.arms if arm.startswith("gpt_"))
study.gpu(
    "one GPU, a few minutes: MLPs of 0.3M parameters, GPTs of 0.8M",
    dict(width=512),
    arm_settings={GPT_ARMS: {"width": 128, "depth": 4, "heads": 4, "context": 64}},
)
study.cluster(
    "a GPU of a cluster, half an hour: MLPs of 4M parameters, GPTs of 6M",
    dict(width=2048),
    arm_settings={GPT_ARMS: {"width": 256, "depth": 8, "heads": 8, "context": 128}},
)


# Claims.


def damage(workload: str, fault: str) -> LossGap:
    """The cost of a fault at the end; clipped runs are compared with clipped ones."""
    clean = "clean_clip" if fault.endswith("_clip") else "clean"
    return loss_gap(f"{workload}_{fault}", f"{workload}_{clean}", FinalLoss)


def undone(fault: str, remedy: str) -> Share:
    """The share that a remedy undoes of a fault's cost to the GPT."""
    whole = damage("gpt", fault)
    return Share(part=whole - damage("gpt", fault + remedy), whole=whole, whole_at_least=0.005)


def alarms(arm: str, rule: Any, where: Any) -> Any:
    return alarm_rate(arm=arm, rule=rule, where=where)


NAMED = {"gradient": "one gradient far too large", "labels": "batches of random labels"}


@study.claim("spike.clip")
def clipping_helps() -> Iterator[Part]:
    for panel, workload in WORKLOADS.items():
        for clause, fault, words in (("a", "gradient", "one gradient far too large"), ("b", "labels", "random labels")):
            yield at_most(
                0.25,
                Share(part=damage(workload, f"{fault}_clip"), whole=damage(workload, fault), whole_at_least=0.002),
                f"share of the damage of {words} that is left with clipping, {panel}",
                f"{panel}: clipping at norm 1.0 leaves {{estimate}} of the harm of {words}",
                refuted=1.0,
                null=1.0,
                margin=0.1,
                clause=clause,
                panel=panel,
            )
    for panel, workload in WORKLOADS.items():
        for fault in NAMED:
            yield reported(damage(workload, fault), f"what {FAULTS[fault][0]} costs without clipping, {panel}")
        cost = loss_gap(f"{workload}_clean_clip", f"{workload}_clean", FinalLoss)
        yield reported(cost, f"what clipping costs without a fault, {panel}")


@study.claim("spike.playbook")
def repairs() -> Iterator[Part]:
    for repair, remedy in {
        "skipping the step": "_skip",
        "going back to a checkpoint": "_back",
        "a lower LR for a time": "_lower",
        "clipping": "_clip",
    }.items():
        for clause, (fault, words) in zip("ab", NAMED.items(), strict=True):
            name = f"share of the damage of {words} that {repair} undoes"
            says = f"In a GPT, {repair} undoes {{estimate}} of what {words} {'costs' if clause == 'a' else 'cost'}"
            yield at_least(0.5, undone(fault, remedy), name, says, refuted=0.1, null=0.0, clause=clause, panel=repair)
    for fault, remedy in (("labels", "_halve"), ("weights", "_skip"), ("weights", "_back")):
        yield reported(undone(fault, remedy), f"{FAULTS[fault][0]}{REMEDIES[remedy][0]}: what is undone, {GPT}")
    yield reported(loss_gap("gpt_clean_back", "gpt_clean", FinalLoss), f"what going back costs without a fault, {GPT}")


@study.claim("spike.detector")
def rule_finds() -> Iterator[Part]:
    other_rule = "six deviations of loss or norm"
    yield at_least(
        0.7,
        alarms("gpt_labels", "loss_ratio", "at_fault"),
        "share of runs in which the rule finds batches of random labels",
        "In a GPT, the rule of 2x finds batches of random labels in {estimate} of the runs",
        refuted=0.5,
        clause="a",
        panel=GPT,
        alternatives={other_rule: alarms("gpt_labels", "deviations", "at_fault")},
    )
    yield at_most(
        0.3,
        alarms("gpt_clean", "loss_ratio", "elsewhere"),
        "share of runs without a fault in which the rule gives an alarm",
        "It gives an alarm in {estimate} of the runs without a fault",
        refuted=0.5,
        clause="b",
        panel=GPT,
        alternatives={other_rule: alarms("gpt_clean", "deviations", "elsewhere")},
    )
    share = "share of runs with a loss above twice the mean of nine"
    yield reported(alarms("gpt_gradient", "loss_ratio", "at_fault"), f"{share} at a gradient far too large, {GPT}")
    yield reported(alarms("gpt_weights", "loss_ratio", "at_fault"), f"{share} at noise on the weights, {GPT}")
    yield reported(alarms("gpt_ramp", "loss_ratio", "before_explosion"), f"{share} in the 50 steps before an explosion, {GPT}")
    for panel, workload in WORKLOADS.items():
        if panel != GPT:
            false_alarms = alarms(f"{workload}_clean", "loss_ratio", "elsewhere")
            yield reported(false_alarms, f"{share} without a fault, {panel}, whose loss is near zero")
        limit = alarm_limit(sound=f"{workload}_clean", rule="loss_ratio")
        yield reported(limit, f"limit that gives one alarm in 1,000 sound steps, {panel}")


DETECTORS: dict[Any, str] = {
    "loss_ratio": "a loss over the mean of nine",
    "spike": "robust deviations of the loss",
    "robust_norm": "robust deviations of the gradient norm",
    "deviations": "OLMo's deviations of loss or norm",
    "zclip": "ZClip's deviations of the gradient norm",
}
# Causes that are looked for: words, and where an alarm is right.
SOUGHT = {"weights": ("noise on the weights", "at_fault"), "ramp": ("an explosion", "before_explosion")}


def sought(workload: str, run: str, rule: str, **fields: Any) -> dict[str, Any]:
    """Fields of a metric that looks for a cause by a detector whose limit gives one alarm in 1,000 steps of sound runs."""
    return {"arm": f"{workload}_{run}", "sound": f"{workload}_clean", "rule": rule, "where": SOUGHT[run][1], **fields}


@study.claim("spike.deviations")
def deviations_find_more() -> Iterator[Part]:
    for (panel, workload), run, rule in product(WORKLOADS.items(), SOUGHT, ("deviations", "zclip")):
        words, detector = SOUGHT[run][0], DETECTORS[rule]
        yield at_least(
            0.5,
            detected_share(**sought(workload, run, rule, but_not="loss_ratio")),
            f"{words}: share found by {detector}, of the runs that only it or the loss ratio finds, {panel}",
            f"{panel}, {words}: {detector} find {{estimate}} of the runs that only they or only a loss ratio find",
            clause="a" if run == "weights" else "b",
            panel=panel,
        )
    for (panel, workload), run, (rule, detector) in product(WORKLOADS.items(), SOUGHT, DETECTORS.items()):
        share = detected_share(**sought(workload, run, rule))
        yield reported(share, f"share of runs in which {detector} find {SOUGHT[run][0]}, {panel}")


@study.claim("spike.once", right={"supported": "leave it", "refuted": "lower it"})
def leaving_it_is_no_worse() -> Iterator[Part]:
    for panel, workload in WORKLOADS.items():
        yield no_worse(
            loss_gap(f"{workload}_labels", f"{workload}_labels_halve", FinalLoss),
            f"final loss after a spike, LR left as it is minus LR halved, {panel}",
            f"{panel}: after a spike that passes, leaving the LR {{costs}} of the loss reduction compared with halving it",
            panel=panel,
        )


@study.claim("spike.batch_or_state")
def batch_and_state() -> Iterator[Part]:
    yield at_least(
        0.5,
        alarms("sgd_labels", "spike", "after_fault"),
        "share of runs with a spike after batches of random labels, MLP, SGD",
        "MLP, SGD: after batches of random labels, the loss on sound batches spikes in {estimate} of the runs",
        clause="a",
        panel=SGD,
    )
    yield at_least(
        0.5,
        alarms("full_ramp", "spike", "elsewhere"),
        "share of runs with a spike without any bad batch, full batches, rising LR",
        "With full batches and a rising LR, the loss spikes in {estimate} of the runs",
        clause="b",
        panel=SGD,
    )
    for panel, (name, _, _) in NATURAL.items():
        for clause, arm, words in (
            ("c", "other_state", "with the same batches from another state"),
            ("d", "other_batches", "with other batches from the same state"),
        ):
            again = partial(spike_recurrence, arm=f"{name}_{arm}", of=f"{name}_run")
            yield at_least(
                0.1,
                # By more than chance: at these steps runs of other seeds spike, too.
                again() - again(other_seeds=True),
                f"share of spikes that come again {words}, less what chance gives, {panel}",
                f"{panel}: of the spikes that come by themselves, {{more}} than by chance come again {words}",
                clause=clause,
                panel=panel,
                alternatives={
                    f"within {steps} steps": again(within_steps=steps) - again(within_steps=steps, other_seeds=True)
                    for steps in (2, 10)
                },
                scales=("laptop",),
            )
    for panel in (GPT, ADAMW):
        share = alarms(f"{WORKLOADS[panel]}_labels", "spike", "after_fault")
        yield reported(share, f"share of runs with a spike after batches of random labels, {panel}")


@study.claim("spike.warning")
def norm_warns() -> Iterator[Part]:
    # Both kinds of sound runs set the limits: at a falling LR the loss is flat, at a rising one the norm drifts.
    exploding: dict[str, dict[str, Any]] = {
        panel: {"arm": f"{name}_ramp", "sound": f"{name}_clean", "and_sound": f"{name}_rising"}
        for panel, name in WORKLOADS.items()
    }
    for panel, runs in exploding.items():
        warned = partial(warned_share, **runs)
        yield at_least(
            0.5,
            warned(),
            f"share of runs in which the norm gives an alarm before the loss, {panel}",
            f"{panel}: in {{estimate}} of runs that explode under a rising LR, the norm gives an alarm before the loss does",
            panel=panel,
            alternatives={
                "robust deviations": warned(rule="robust_norm"),
                "ratios to the median": warned(rule="norm_ratio"),
                "limits from runs whose LR falls": warned(and_sound=None),
                "limits from runs whose LR rises": warned(sound=runs["and_sound"], and_sound=None),
                "of runs with one alarm before the other": warned(untied=True),
                "from 50 steps before the minimum": warned(early=50),
            },
        )
    for panel, runs in exploding.items():
        yield reported(warned_share(**runs, counted="loss_first"), f"share of runs in which the loss gives one first, {panel}")
        yield reported(warned_share(**runs, counted="norm"), f"share in which the norm gives one before the explosion, {panel}")
        yield reported(alarm_lead(**runs), f"steps by which the norm's alarm comes before the loss's, {panel}")
    for panel, (name, _, _) in NATURAL.items():
        spikes = warned_share(arm=f"{name}_run", sound="adamw_clean", trouble="spike")
        yield reported(spikes, f"share of runs in which the norm gives an alarm in the ten steps before a spike, {panel}")


@study.claim("spike.cut_wastes", right={"supported": "waste", "refuted": "lower it"})
def cutting_wastes() -> Iterator[Part]:
    for panel, workload in WORKLOADS.items():
        # To a loss that is reached with the LR halved.
        steps = partial(StepsToTarget, anchor=f"{workload}_early_halve", share=0.95)
        yield at_least(
            1.05,
            steps(arm=f"{workload}_early_halve") / steps(arm=f"{workload}_early"),
            f"steps to a loss after a spike, LR halved over LR unchanged, {panel}",
            f"{panel}: with the LR halved after a spike, reaching the same loss takes {{estimate}} as many steps",
            refuted=1.0,
            null=1.0,
            panel=panel,
        )


STUDY = study.declared()
