"""Does a network forget old tasks when it is trained on new ones, and what keeps it from that?"""

from typing import Any

from folklore.harness.metrics import Share, TaskAccuracy
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
# Of EWC; its penalty is lambda / 2 times the Fisher information of a mean over examples.
STRENGTHS = tuple(10.0**power for power in range(8))
# The accuracy on the new task at which fine-tuned networks are compared, and how much more they have to keep of the old one.
NEW, MORE = 0.9, 0.05
# Ways to go on with the second task, beside the LR that the first one was trained with.
TUNED: dict[str, tuple[str, dict[str, Any]]] = {
    "full": ("fine-tuning", {}),
    "small": ("a tenth of the LR", {"later_lr": 0.1}),
    "adapters": ("adapters of rank 4", {"adapter_rank": 4}),
    "third": ("0.3 of the LR", {"later_lr": 0.3}),
    "third_adapters": ("adapters of rank 4, 0.3 of the LR", {"adapter_rank": 4, "later_lr": 0.3}),
    "layers": ("LR times 0.3 a layer down", {"layer_lr_decay": 0.3}),
}
HSU = "Hsu et al. 2018, Re-evaluating Continual Learning Scenarios, split MNIST"
# What they found: accuracy over all tasks with Adam alone, with EWC, with a replay of half of each batch, jointly.
FOUND = {
    "class": (0.1971, 0.1980, 0.9078, 0.9753),
    "domain": (0.5516, 0.5885, 0.9516, 0.9859),
    "task": (0.9346, 0.9770, 0.9940, 0.9952),
}


def sequence(scenario: str, label: str, strengths: tuple[float, ...] = (), **settings: Any) -> Arm:
    """Five tasks of two classes each."""
    panel = f"five tasks, {SCENARIOS[scenario]}"
    return Arm(
        label=label,
        panel=panel,
        settings={**FIVE, "scenario": scenario, **settings},
        factors={"consolidation": strengths} if strengths else {},
    )


def of_scenario(scenario: str) -> dict[str, Arm]:
    arms = {
        "none": sequence(scenario, "no remedy"),
        "joint": sequence(scenario, "all tasks at once", task_order="joint"),
        **{f"replay_{share}": sequence(scenario, f"{share}% replayed", replay=share / 100) for share in REPLAYED},
        "ewc": sequence(scenario, "EWC", STRENGTHS),
        **{
            f"tuned_{name}": Arm(
                label=label, panel=f"two tasks, {SCENARIOS[scenario]}", settings={**TWO, "scenario": scenario, **settings}
            )
            for name, (label, settings) in TUNED.items()
        },
    }
    return {f"{scenario}_{name}": arm for name, arm in arms.items()}


def accuracy(scenario: str, arm: str, tasks: str = "old", **options: Any) -> TaskAccuracy:
    over = "consolidation" if arm == "ewc" else "peak_lr"
    return TaskAccuracy.model_validate({"arm": f"{scenario}_{arm}", "tasks": tasks, "over": over, **options})


def recovered(scenario: str, arm: str) -> Share:
    """Share of the accuracy over all tasks that training jointly has and training one after the other has not."""
    arms = (accuracy(scenario, name, "all") for name in (arm, "joint", "none"))
    with_remedy, joint, none = arms
    return Share(part=with_remedy - none, whole=joint - none, whole_at_least=0.02)


def expected(scenario: str, place: int) -> Any:
    none, *_, joint = FOUND[scenario]
    return predicted((FOUND[scenario][place] - none) / (joint - none), HSU)


HAPPENS = judgement(
    "forget.happens",
    *(
        Criterion(
            name=f"accuracy on old tasks, trained jointly minus one after the other, {words}",
            panel=words,
            observe=accuracy(scenario, "joint") - accuracy(scenario, "none"),
            **above(0.2, refuted=0.05, null=0.0, margin=0.02, unit="share"),
            says=f"Where {words}, the accuracy on old tasks is {{lower}} than in joint training",
        )
        for scenario, words in SCENARIOS.items()
    ),
    right={"supported": "wipes out"},
    reported={
        f"accuracy on old tasks, one after the other, {words}": (accuracy(scenario, "none"), "share")
        for scenario, words in SCENARIOS.items()
    },
    note=(
        "Which classes compete decides the outcome, so all three scenarios are shown (van de Ven & Tolias 2019). In Hsu et al."
        " the accuracy over all tasks falls to 20%, 55% and 93%, of 98% to 100% in joint training."
    ),
    if_supported="Before you train on something new, keep some of the old data and a test of the old abilities.",
    if_partly="Expect to lose old abilities wherever old and new share outputs, and test them.",
    if_refuted="Train on new tasks without fear for old ones.",
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
            says=f"Where {words}, replay of {share}% recovers {{estimate}} of what is forgotten",
        )
        for scenario, words in SCENARIOS.items()
        for clause, share in zip("ab", REPLAYED, strict=False)
    ),
    reported={
        f"the same with 50%, {words}": (recovered(scenario, "replay_50"), "share") for scenario, words in SCENARIOS.items()
    },
    note=(
        "Of a batch of 40, 2 or 6 examples are of earlier tasks, drawn from all of their training examples. In Hsu et al. half"
        " of each batch recovers 92%, 92% and 98%."
    ),
    if_supported="Mix 5% of the old data into every batch, and more where it costs little.",
    if_partly="Replay old data, and measure which share your task needs.",
    if_refuted="Do not rely on a few percent of old data.",
)

EWC = judgement(
    "forget.ewc",
    *(
        Criterion(
            name=f"share of what is forgotten that EWC recovers, {words}",
            panel=words,
            observe=recovered(scenario, "ewc"),
            **above(0.2, refuted=0.05, null=0.0, unit="share"),
            says=f"Where {words}, EWC recovers {{estimate}} of what is forgotten",
            expected=expected(scenario, 1),
        )
        for scenario, words in SCENARIOS.items()
    ),
    note=(
        "Its strength is chosen of eight by validation accuracy over all tasks, which a user who has no old data cannot do. The"
        " Fisher information is that of 64 examples of each task, over all labels."
    ),
    if_supported="Where you know an example's task, EWC helps; where classes of all tasks compete, replay.",
    if_refuted="Do not expect EWC to keep old abilities.",
)


def beyond_fine_tuning(scenario: str, arm: str, new_accuracy: float) -> Any:
    """How much more of the old task is kept where both have learnt as much of the new one."""
    return accuracy(scenario, f"tuned_{arm}", new_accuracy=new_accuracy) - accuracy(
        scenario, "tuned_full", new_accuracy=new_accuracy
    )


def keeps_more(claim: str, arm: str, **options: Any) -> Any:
    """That a way keeps more than fine-tuning does where both have learnt as much of the new task."""
    label = TUNED[arm][0]
    criteria = (
        Criterion(
            name=f"accuracy on the old task at 90% on the new one, {label} minus fine-tuning, {words}",
            panel=words,
            observe=beyond_fine_tuning(scenario, arm, NEW),
            **above(MORE, refuted=0.0, null=0.0, margin=0.02, unit="share"),
            says=f"Where {words}, the accuracy on the old task is {{higher}} with {label}",
            alternatives={"at 70% on the new one": beyond_fine_tuning(scenario, arm, 0.7)},
        )
        for scenario, words in SCENARIOS.items()
    )
    reported = {
        f"accuracy on the {task} task at the end, {label} minus fine-tuning, {words}": (
            accuracy(scenario, f"tuned_{arm}", task) - accuracy(scenario, "tuned_full", task),
            "share",
        )
        for task in ("old", "new")
        for scenario, words in SCENARIOS.items()
    }
    return judgement(claim, *criteria, reported={**reported, **options.pop("reported", {})}, **options)


SMALL_LR = keeps_more(
    "forget.small_lr",
    "small",
    note="At equal accuracy on the new task: that a smaller LR forgets less because it learns less is no merit.",
    if_supported="Fine-tune at a tenth of the LR: for the same new ability it costs less of the old ones.",
    if_refuted="Do not expect a smaller LR to spare old abilities, once the new one is learnt as well.",
)

LORA = keeps_more(
    "forget.lora",
    "adapters",
    reported={
        f"accuracy on the old task at 90% on the new one, both at 0.3 of the LR, adapters minus fine-tuning, {words}": (
            accuracy(scenario, "tuned_third_adapters", new_accuracy=NEW) - accuracy(scenario, "tuned_third", new_accuracy=NEW),
            "share",
        )
        for scenario, words in SCENARIOS.items()
    },
    note=(
        "With the adapters on, at equal accuracy on the new task. With them off the base is there bit by bit, as a test of the"
        " engine shows: what is asked is whether one network keeps both. Where all classes compete, neither keeps anything by"
        " then. Version 1 had 24 seeds, version 2 had 40."
    ),
    if_supported="Fine-tune by adapters where old abilities have to stay.",
    if_refuted="Adapters keep the base only while they are switched off: for both abilities at once, replay.",
)

LAYERS = keeps_more(
    "forget.layerwise_lr",
    "layers",
    note="Three layers: the readout learns at the full LR, the second layer at 0.3 times it, the first at 0.09 times it.",
    if_supported="Lower the LR towards the first layers when you fine-tune.",
    if_refuted="Do not expect layer-wise LRs to spare old abilities.",
)

ARMS = {name: arm for scenario in SCENARIOS for name, arm in of_scenario(scenario).items()}

STUDY = Study(
    name="forgetting",
    version=3,
    title="Catastrophic forgetting",
    question="Does a network forget old tasks when it is trained on new ones, and what keeps it from that?",
    workload=Workload(model="mlp", dataset="digits", width=64, depth=2, tasks=5),
    training=Training(
        optimizer="adam", peak_lr=LR, weight_decay=0.0, schedule="constant", warmup_fraction=0.0, batch_size=40, steps=750
    ),
    measurement=Measurement(probes=2, evaluations=15, evaluation_examples=359, final_examples=359, curve_points=15),
    arms=ARMS,
    factors={"peak_lr": (LR,)},
    seeds=80,
    first_seed=72_200,
    scales={
        "smoke": scales.smoke(arm_settings={arm: {"steps": 10, "evaluations": 10} for arm in ARMS}),
        "laptop": scales.laptop("about four minutes of training", "MLPs of 9,000 parameters on 1,079 digits."),
        "gpu": scales.gpu("one GPU, a minute: MLPs of 0.3M parameters", workload={"width": 512}),
        "cluster": scales.gpu("a GPU of a cluster, ten minutes: MLPs of 4M parameters", workload={"width": 2048}),
    },
    departures=(
        "The documents speak of pretrained models that are fine-tuned: here a network of 9,000 parameters learns some digits,"
        " and then others.",
        "Adam at one constant LR throughout; its moments go on from task to task.",
        "Tasks are always the same digits; old and new data of language models may have more in common, or less.",
    ),
    answer=("forget.happens", "forget.replay", "forget.lora"),
    judgements=(HAPPENS, REPLAY, EWC, SMALL_LR, LORA, LAYERS),
    published=(
        Published(
            claim="forget.happens",
            finding=(
                "On split MNIST, accuracy over all tasks falls to 20% where all classes compete, to 55% where tasks share a"
                " readout, and to 93% where classes compete within their task."
            ),
            source=HSU,
            link="https://arxiv.org/abs/1810.12488",
        ),
        Published(
            claim="forget.ewc",
            finding="EWC gains 4 points of accuracy where the task is known or the readout shared, and none where all compete.",
            source=HSU,
            link="https://arxiv.org/abs/1810.12488",
        ),
        Published(
            claim="forget.lora",
            finding="LoRA forgets less than full fine-tuning, and learns less.",
            source="Biderman et al. 2024, LoRA Learns Less and Forgets Less",
            link="https://arxiv.org/abs/2405.09673",
        ),
    ),
)
