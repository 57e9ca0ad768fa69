"""Does a network forget old tasks when it is trained on new ones, and what keeps it from that?"""

from typing import Any

from folklore.harness.metrics import Gap, Share, TaskAccuracy
from folklore.harness.spec import Arm, Criterion, Measurement, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import above, judgement, predicted

# How the classes of tasks compete -> its panel (van de Ven & Tolias 2019).
SCENARIOS = {
    "class": "all classes compete",
    "domain": "tasks share a readout",
    "task": "classes compete within their task",
}
LR = 2.0**-8
FIVE, TWO = {"tasks": 5, "steps": 750, "evaluations": 15}, {"tasks": 2, "steps": 600, "evaluations": 150}
REPLAYED = (5, 15, 50)
STRENGTHS = tuple(10.0**power for power in range(8))
# The accuracy on the new task at which fine-tuned networks are compared, and how much more they have to keep of the old one.
NEW, MORE = 0.9, 0.05
# Fine-tuning: all at the LR that the first task was trained with, or otherwise.
TUNED: dict[str, tuple[str, dict[str, Any]]] = {
    "full": ("fine-tuning", {}),
    "small": ("a tenth of the LR", {"later_lr": 0.1}),
    "adapters": ("adapters of rank 4", {"adapter_rank": 4}),
    "layers": ("LR times 0.3 a layer down", {"layer_lr_decay": 0.3}),
}
FOUND = {  # Hsu et al. 2018, tables 1 and 2: accuracy over all tasks of split MNIST without a remedy, jointly, with EWC
    "class": (0.1990, 0.9753, 0.1980),
    "domain": (0.5342, 0.9845, 0.5885),
    "task": (0.9346, 0.9970, 0.9770),
}


def sequence(scenario: str, label: str, factors: Any = {}, **settings: Any) -> Arm:
    """Five tasks of two classes each."""
    panel = f"five tasks, {SCENARIOS[scenario]}"
    return Arm(label=label, panel=panel, settings={**FIVE, "scenario": scenario, **settings}, factors=factors)


def of_scenario(scenario: str) -> dict[str, Arm]:
    arms = {
        "none": sequence(scenario, "no remedy"),
        "joint": sequence(scenario, "all tasks at once", task_order="joint"),
        **{f"replay_{share}": sequence(scenario, f"{share}% replayed", replay=share / 100) for share in REPLAYED},
        "ewc": sequence(scenario, "EWC", {"consolidation": STRENGTHS}),
        **{
            f"tuned_{name}": Arm(
                label=label, panel=f"two tasks, {SCENARIOS[scenario]}", settings={**TWO, "scenario": scenario, **settings}
            )
            for name, (label, settings) in TUNED.items()
        },
    }
    return {f"{scenario}_{name}": arm for name, arm in arms.items()}


def kept(scenario: str, arm: str, **options: Any) -> TaskAccuracy:
    return TaskAccuracy(arm=f"{scenario}_{arm}", over="consolidation" if arm == "ewc" else "peak_lr", **options)


def recovered(scenario: str, arm: str) -> Share:
    """Share of what is forgotten without a remedy, and not by joint training."""
    none = kept(scenario, "none")
    return Share(part=kept(scenario, arm) - none, whole=kept(scenario, "joint") - none, whole_at_least=0.02)


HAPPENS = judgement(
    "forget.happens",
    *(
        Criterion(
            name=f"accuracy on old tasks, joint training minus one task after another, {words}",
            panel=words,
            observe=Gap(left=kept(scenario, "joint"), right=kept(scenario, "none")),
            **above(0.2, refuted=0.05, null=0.0, margin=0.02, unit="share"),
            says=f"Where {words}, training one task after another costs {{estimate}} of accuracy on the old ones",
            expected=predicted(
                FOUND[scenario][1] - FOUND[scenario][0],
                "Hsu et al. 2018, tables 1 and 2, split MNIST, over all tasks",
            ),
        )
        for scenario, words in SCENARIOS.items()
    ),
    right={"supported": "wipes out"},
    note="",
    if_supported="",
    if_refuted="",
)

REPLAY = judgement(
    "forget.replay",
    *(
        Criterion(
            name=f"share of what is forgotten that replay of {share}% recovers, {words}",
            clause=clause,
            panel=words,
            observe=recovered(scenario, f"replay_{share}"),
            **above(0.25, refuted=0.05, null=0.0, unit="share"),
            says=f"Where {words}, replay of {share}% keeps {{estimate}} of what is forgotten without",
        )
        for scenario, words in SCENARIOS.items()
        for clause, share in zip("ab", REPLAYED, strict=False)
    ),
    reported={
        f"the same with 50%, {words}": (recovered(scenario, "replay_50"), "share") for scenario, words in SCENARIOS.items()
    },
    if_supported="",
    if_refuted="",
)

EWC = judgement(
    "forget.ewc",
    *(
        Criterion(
            name=f"share of what is forgotten that EWC recovers, {words}",
            panel=words,
            observe=recovered(scenario, "ewc"),
            **above(0.2, refuted=0.05, null=0.0, unit="share"),
            says=f"Where {words}, EWC keeps {{estimate}} of what is forgotten without",
            expected=predicted(
                (FOUND[scenario][2] - FOUND[scenario][0]) / (FOUND[scenario][1] - FOUND[scenario][0]),
                "Hsu et al. 2018, tables 1 and 2, split MNIST, over all tasks",
            ),
        )
        for scenario, words in SCENARIOS.items()
    ),
    if_supported="",
    if_refuted="",
)


def keeps_more(claim: str, arm: str, **options: Any) -> Any:
    """That an arm keeps more than fine-tuning does where both have learnt as much of the new task."""
    label = TUNED[arm][0]
    return judgement(
        claim,
        *(
            Criterion(
                name=f"accuracy on the old task at 90% on the new one, {label} minus fine-tuning, {words}",
                panel=words,
                observe=kept(scenario, f"tuned_{arm}", new_accuracy=NEW) - kept(scenario, "tuned_full", new_accuracy=NEW),
                **above(MORE, refuted=0.0, null=0.0, margin=0.02, unit="share"),
                says=f"Where {words}, {label} keeps {{estimate}} {{more}} accuracy",
            )
            for scenario, words in SCENARIOS.items()
        ),
        reported={
            **{
                f"the same at the end of both, {words}": (
                    kept(scenario, f"tuned_{arm}") - kept(scenario, "tuned_full"),
                    "share",
                )
                for scenario, words in SCENARIOS.items()
            },
            **{
                f"accuracy on the new task at the end, less, {words}": (
                    kept(scenario, "tuned_full", tasks="new") - kept(scenario, f"tuned_{arm}", tasks="new"),
                    "share",
                )
                for scenario, words in SCENARIOS.items()
            },
        },
        **options,
    )


STUDY = Study(
    name="forgetting",
    version=1,
    title="Catastrophic forgetting",
    question="Does a network forget old tasks when it is trained on new ones, and what keeps it from that?",
    workload=Workload(model="mlp", dataset="digits", width=64, depth=2, tasks=5),
    training=Training(
        optimizer="adam", peak_lr=LR, weight_decay=0.0, schedule="constant", warmup_fraction=0.0, batch_size=40, steps=750
    ),
    measurement=Measurement(probes=2, evaluations=15, evaluation_examples=359, final_examples=359, curve_points=15),
    arms={name: arm for scenario in SCENARIOS for name, arm in of_scenario(scenario).items()},
    factors={"peak_lr": (LR,)},
    seeds=16,
    first_seed=991_000,
    scales={
        "smoke": scales.smoke(training={"steps": 10}, measurement={"evaluations": 10}),
        "laptop": scales.laptop("about five minutes of training", "MLPs of 9,000 parameters on 1,079 digits."),
    },
    departures=("TODO",),
    answer=("forget.happens",),
    judgements=(
        HAPPENS,
        REPLAY,
        EWC,
        keeps_more("forget.small_lr", "small", if_supported="", if_refuted=""),
        keeps_more("forget.lora", "adapters", if_supported="", if_refuted=""),
        keeps_more("forget.layerwise_lr", "layers", if_supported="", if_refuted=""),
    ),
)
