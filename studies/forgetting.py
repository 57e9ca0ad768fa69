"""Does a network forget old tasks when it is trained on new ones, and what keeps it from that?"""

from functools import partial
from typing import Any

from folklore.harness.metrics import LossGap, Share, TaskAccuracy, TaskLoss
from folklore.harness.spec import Arm, Criterion, Measurement, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import above, judgement, predicted

# How the classes of tasks compete -> its panel (van de Ven & Tolias 2019).
SCENARIOS = {
    "class": "all classes compete",
    "domain": "tasks share a readout",
    "task": "classes compete within their task",
}
SETS = {"digits": ("digits", "digits"), "mnist": ("MNIST", "mnist-5k")}
CASES = [(name, scenario) for name in SETS for scenario in SCENARIOS]
LR = 2.0**-8
FIVE = {"tasks": 5, "steps": 750, "evaluations": 10, "final_examples": 2000}
TWO = {"tasks": 2, "steps": 600, "evaluations": 75}
REPLAYED = (5, 15, 50)
# Of EWC; its penalty is lambda / 2 times the Fisher information of a mean over examples.
STRENGTHS = tuple(10.0**power for power in range(2, 6))
# A GPT that reads Python's documentation, and then its source.
TEXT, TEXT_LR = "documentation, then source", 2.0**-7
GPT = {"model": "gpt", "dataset": "python-docs+python-source", "width": 16, "context": 16, "batch_size": 20}
READ = {**GPT, "tasks": 2, "steps": 1000, "final_examples": 256}
# What is learnt of the new task where fine-tuned networks are compared: accuracy, or loss in nats. How much more they have to
# keep of the old one, and what does not matter: of the accuracy, or of the loss reduction.
NEW, NEW_LOSS, MORE, NOTHING = 0.9, 2.4, 0.05, 0.02
# Ways to go on with the second task, beside the LR that the first one was trained with.
TUNED: dict[str, tuple[str, dict[str, Any]]] = {
    "full": ("fine-tuning", {}),
    "small": ("a tenth of the LR", {"later_lr": 0.1}),
    "adapters": ("adapters of rank 4", {"adapter_rank": 4}),
    "layers": ("LR times 0.3 a layer down", {"layer_lr_decay": 0.3}),
}
HSU = "Hsu et al. 2018, Re-evaluating Continual Learning Scenarios, split MNIST"
# What they found: accuracy over all tasks with Adam alone, with EWC, with a replay of half of each batch, jointly.
FOUND = {
    "class": (0.1971, 0.1980, 0.9078, 0.9753),
    "domain": (0.5516, 0.5885, 0.9516, 0.9859),
    "task": (0.9346, 0.9770, 0.9940, 0.9952),
}


def panel_of(data: str, scenario: str) -> str:
    return f"{SETS[data][0]}, {SCENARIOS[scenario]}"


def where(data: str, scenario: str) -> str:
    return f"On {SETS[data][0]}, where {SCENARIOS[scenario]},"


def of_classes(data: str, scenario: str) -> dict[str, Arm]:
    """Five tasks of two classes each, and two of five."""

    def arm(label: str, base: dict[str, Any], strengths: tuple[float, ...] = (), **settings: Any) -> Arm:
        panel = f"{panel_of(data, scenario)}, {'five' if base is FIVE else 'two'} tasks"
        settings = {**base, "dataset": SETS[data][1], "scenario": scenario, **settings}
        return Arm(label=label, panel=panel, settings=settings, factors={"consolidation": strengths} if strengths else {})

    arms = {
        "none": arm("no remedy", FIVE),
        "joint": arm("all tasks at once", FIVE, task_order="joint"),
        **{f"replay_{share}": arm(f"{share}% replayed", FIVE, replay=share / 100) for share in REPLAYED},
        "ewc": arm("EWC", FIVE, STRENGTHS),
        **{f"tuned_{name}": arm(label, TWO, **settings) for name, (label, settings) in TUNED.items()},
    }
    return {f"{data}_{scenario}_{name}": arm for name, arm in arms.items()}


def of_texts() -> dict[str, Arm]:
    """Fine-tuned ways are compared where they have learnt as much, and so are evaluated more often."""

    def arm(label: str, evaluations: int, **settings: Any) -> Arm:
        settings = {**READ, "evaluations": evaluations, **settings}
        return Arm(label=label, panel=TEXT, settings=settings, factors={"peak_lr": (TEXT_LR,)})

    arms = {name: arm(label, 100, **settings) for name, (label, settings) in TUNED.items() if name != "layers"}
    arms["joint"] = arm("both texts at once", 10, task_order="joint")
    arms |= {f"replay_{share}": arm(f"{share}% replayed", 10, replay=share / 100) for share in REPLAYED[:2]}
    return {f"text_{name}": arm for name, arm in arms.items()}


def accuracy(data: str, scenario: str, arm: str, tasks: str = "old", **options: Any) -> TaskAccuracy:
    over = "consolidation" if arm == "ewc" else "peak_lr"
    return TaskAccuracy.model_validate({"arm": f"{data}_{scenario}_{arm}", "tasks": tasks, "over": over, **options})


def text_gap(arm: str, other: str, **options: Any) -> LossGap:
    """How much higher the loss on a text ends than with another way, as a share of the loss reduction."""
    left, right = (TaskLoss.model_validate({"arm": f"text_{each}", **options}) for each in (arm, other))
    return LossGap(left=left, right=right)


def recovered(data: str, scenario: str, arm: str) -> Share:
    """Share of the accuracy over all tasks that training jointly has and training one after the other has not."""
    with_remedy, joint, none = (accuracy(data, scenario, name, "all") for name in (arm, "joint", "none"))
    return Share(part=with_remedy - none, whole=joint - none, whole_at_least=0.02)


def recovered_of_text(arm: str) -> Share:
    """The same of the loss on the old text."""
    with_remedy, joint, none = (TaskLoss(arm=f"text_{name}") for name in (arm, "joint", "full"))
    return Share(part=none - with_remedy, whole=none - joint, whole_at_least=0.02)


def expected(scenario: str, place: int) -> Any:
    none, *_, joint = FOUND[scenario]
    return predicted((FOUND[scenario][place] - none) / (joint - none), HSU)


LOST = above(0.2, refuted=0.05, null=0.0, margin=0.02)
HAPPENS = judgement(
    "forget.happens",
    *(
        Criterion(
            name=f"accuracy on old tasks, trained jointly minus one after the other, {panel_of(*case)}",
            panel=panel_of(*case),
            observe=accuracy(*case, "joint") - accuracy(*case, "none"),
            **LOST,
            unit="share",
            says=f"{where(*case)} the accuracy on old tasks is {{lower}} than in joint training",
        )
        for case in CASES
    ),
    Criterion(
        name="loss on the documentation, source read after it minus both at once",
        panel=TEXT,
        observe=text_gap("full", "joint"),
        **LOST,
        unit="relative",
        says="Once a GPT has read source, its loss on the documentation is {higher} than if it had read both at once",
    ),
    right={"supported": "wipes out"},
    reported={
        f"accuracy on old tasks, one after the other, {panel_of(*case)}": (accuracy(*case, "none"), "share") for case in CASES
    },
    note=(
        "Which classes compete decides the outcome, so all three scenarios are shown (van de Ven & Tolias 2019). In Hsu et al."
        " the accuracy over all tasks falls to 20%, 55% and 93%, of 98% to 100% in joint training. A point of accuracy is 1% of"
        " the loss reduction on text."
    ),
    if_supported="Before you train on something new, keep some of the old data and a test of the old abilities.",
    if_partly="Expect to lose old abilities wherever old and new share outputs, and test them.",
    if_refuted="Train on new tasks without fear for old ones.",
)

REGAINED = above(0.25, refuted=0.05, null=0.0, unit="share")
REPLAY = judgement(
    "forget.replay",
    *(
        Criterion(
            name=f"share of what is forgotten that replay of {share}% recovers, {panel_of(*case)}",
            clause=clause,
            panel=panel_of(*case),
            observe=recovered(*case, f"replay_{share}"),
            **REGAINED,
            says=f"{where(*case)} replay of {share}% recovers {{estimate}} of what is forgotten",
        )
        for case in CASES
        for clause, share in zip("ab", REPLAYED, strict=False)
    ),
    *(
        Criterion(
            name=f"share of what is forgotten that replay of {share}% recovers, {TEXT}",
            clause=clause,
            panel=TEXT,
            observe=recovered_of_text(f"replay_{share}"),
            **REGAINED,
            says=f"In a GPT that reads source after documentation, replay of {share}% recovers {{estimate}} of what it forgets",
        )
        for clause, share in zip("ab", REPLAYED, strict=False)
    ),
    reported={
        **{f"the same with 50%, {panel_of(*case)}": (recovered(*case, "replay_50"), "share") for case in CASES},
        **{
            f"loss on the source, {share}% of documentation minus none": (
                text_gap(f"replay_{share}", "full", tasks="new"),
                "relative",
            )
            for share in REPLAYED[:2]
        },
    },
    note=(
        "Of a batch of 40, 2 or 6 examples are of earlier tasks, drawn from all of their training examples; of 20 windows of"
        " text, 1 or 3. In Hsu et al. half of each batch recovers 92%, 92% and 98%."
    ),
    if_supported="Mix 5% of the old data into every batch, and more where it costs little.",
    if_partly="Replay old data, and measure which share your task needs.",
    if_refuted="Do not rely on a few percent of old data.",
)

EWC = judgement(
    "forget.ewc",
    *(
        Criterion(
            name=f"share of what is forgotten that EWC recovers, {panel_of(*case)}",
            panel=panel_of(*case),
            observe=recovered(*case, "ewc"),
            **above(0.2, refuted=0.05, null=0.0, unit="share"),
            says=f"{where(*case)} EWC recovers {{estimate}} of what is forgotten",
            expected=expected(case[1], 1),
            underpowered="" if case[1] == "task" else "the claim is of some scenarios, and little is expected of this one",
        )
        for case in CASES
    ),
    note=(
        "Its strength is chosen of four by validation accuracy over all tasks, which a user who has no old data cannot do. The"
        " Fisher information is that of 64 examples of each task, over all labels."
    ),
    if_supported="Where you know an example's task, EWC helps; where classes of all tasks compete, replay.",
    if_refuted="Do not expect EWC to keep old abilities.",
)


def kept_more(arm: str, case: tuple[str, str], tasks: str = "old", than: str = "full", **at: Any) -> Any:
    return accuracy(*case, f"tuned_{arm}", tasks, **at) - accuracy(*case, f"tuned_{than}", tasks, **at)


def keeps_more(claim: str, arm: str, on_text: bool = True, **options: Any) -> Any:
    """That a way keeps more than fine-tuning does where both have learnt as much of the new task."""
    label, more = TUNED[arm][0], partial(kept_more, arm)
    regions = above(MORE, refuted=NOTHING, null=0.0, margin=NOTHING)
    criteria = [
        Criterion(
            name=f"accuracy on the old task at 90% on the new one, {label} minus fine-tuning, {panel_of(*case)}",
            panel=panel_of(*case),
            observe=more(case, new_accuracy=NEW),
            **regions,
            unit="share",
            says=f"{where(*case)} the accuracy on the old task is {{higher}} with {label}",
            alternatives={"at 70% on the new one": more(case, new_accuracy=0.7)},
        )
        for case in CASES
    ]
    reported = {
        f"accuracy on the {task} task at the end, {label} minus fine-tuning, {panel_of(*case)}": (more(case, task), "share")
        for task in ("old", "new")
        for case in CASES
    }
    if on_text:
        criteria.append(
            Criterion(
                name=f"loss on the documentation at {NEW_LOSS:g} nats on the source, fine-tuning minus {label}",
                panel=TEXT,
                observe=text_gap("full", arm, new_loss=NEW_LOSS),
                **regions,
                unit="relative",
                says=f"In a GPT that reads source after documentation, its loss on documentation is {{lower}} with {label}",
                scales=("laptop",),  # a larger GPT comes to that loss at once
            )
        )
        for task, name in (("old", "documentation"), ("new", "source")):
            gap = text_gap("full", arm, tasks=task)
            reported[f"loss on the {name} at the end, fine-tuning minus {label}"] = (gap, "relative")
    return judgement(claim, *criteria, reported={**reported, **options.pop("reported", {})}, **options)


SMALL_LR = keeps_more(
    "forget.small_lr",
    "small",
    note=(
        "At equal accuracy, or loss, on the new task: that a smaller LR forgets less because it learns less is no merit. Two"
        " points do not matter."
    ),
    if_supported="Fine-tune at a tenth of the LR: for the same new ability it costs less of the old ones.",
    if_refuted="Do not expect a smaller LR to spare old abilities, once the new one is learnt as well.",
)

LORA = keeps_more(
    "forget.lora",
    "adapters",
    reported={
        **{
            f"accuracy on the old task at 90% on the new one, adapters minus a tenth of the LR, {panel_of(*case)}": (
                kept_more("adapters", case, than="small", new_accuracy=NEW),
                "share",
            )
            for case in CASES
        },
        f"loss on the documentation at {NEW_LOSS:g} nats on the source, a tenth of the LR minus adapters": (
            text_gap("small", "adapters", new_loss=NEW_LOSS),
            "relative",
        ),
    },
    note=(
        "With the adapters on, at equal accuracy, or loss, on the new task. With them off the base is there bit by bit, as a"
        " test of the engine shows: what is asked is whether one network keeps both. Adapters stand beside all matrices of an"
        " MLP, and beside those of a GPT's blocks. They learn more slowly, and so are also set against a tenth of the LR."
    ),
    if_supported="Fine-tune by adapters or at a lower LR where old abilities have to stay, and compare the two.",
    if_partly="Expect adapters to keep a little more of the old at the same new ability; for both at once, replay.",
    if_refuted="Adapters keep the base only while they are switched off: for both abilities at once, replay.",
)

LAYERS = keeps_more(
    "forget.layerwise_lr",
    "layers",
    on_text=False,
    note="Three layers: the readout learns at the full LR, the second layer at 0.3 times it, the first at 0.09 times it.",
    if_supported="Lower the LR towards the first layers when you fine-tune.",
    if_refuted="Do not expect layer-wise LRs to spare old abilities.",
)

TEXTS = of_texts()
ARMS = {name: arm for case in CASES for name, arm in of_classes(*case).items()} | TEXTS
# Adapters on MNIST vary by 8 to 12 points between seeds.
MORE_SEEDS = {f"mnist_{scenario}_tuned_{arm}": 32 for scenario in ("domain", "task") for arm in ("full", "adapters")}


def larger_texts(**settings: Any) -> dict[str, dict[str, Any]]:
    """Arm -> settings of a larger GPT."""
    return {arm: {"heads": 4, "depth": 4, "context": 64, **settings} for arm in TEXTS}


STUDY = Study(
    name="forgetting",
    version=4,
    title="Catastrophic forgetting",
    question="Does a network forget old tasks when it is trained on new ones, and what keeps it from that?",
    workload=Workload(model="mlp", dataset="mnist-5k", width=64, depth=2, tasks=5),
    training=Training(
        optimizer="adam", peak_lr=LR, weight_decay=0.0, schedule="constant", warmup_fraction=0.0, batch_size=40, steps=750
    ),
    measurement=Measurement(probes=2, evaluations=10, evaluation_examples=128, final_examples=1000, curve_points=15),
    arms=ARMS,
    factors={"peak_lr": (LR,)},
    seeds=10,
    first_seed=79_300,
    scales={
        "smoke": scales.smoke(arm_settings={arm: {"steps": 10, "evaluations": 10} for arm in ARMS}),
        "laptop": scales.laptop(
            "about five minutes of training",
            "MLPs of 9,000 and 55,000 parameters on 1,079 digits and 2,000 images of MNIST, GPTs of 10,000 on 750 kB of text.",
            arm_seeds=MORE_SEEDS,
        ),
        "gpu": scales.gpu(
            "one GPU, minutes: MLPs of 0.7M parameters, GPTs of 0.8M",
            workload={"width": 512},
            arm_settings=larger_texts(width=128, steps=4000),
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, half an hour: MLPs of 6M parameters, GPTs of 3M",
            workload={"width": 2048},
            arm_settings=larger_texts(width=256, steps=10_000),
        ),
    },
    departures=(
        "The documents speak of pretrained models that are fine-tuned: here networks of at most 55,000 parameters learn some"
        " digits, and then others, or read a text, and then another.",
        "Adam at one constant LR throughout; its moments go on from task to task.",
        "Tasks are always the same digits and the same two texts, which have much in common; others may have less.",
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
