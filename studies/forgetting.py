"""Does a network forget old tasks when it is trained on new ones, and what keeps it from that?"""

from typing import Any

from .kit import *
from .metrics.forgetting import task_accuracy, task_loss

# How the classes of tasks compete -> its words (van de Ven & Tolias 2019).
SCENARIOS = {
    "class": "all classes compete",
    "domain": "tasks share a readout",
    "task": "classes compete within their task",
}
# What is learnt -> its name, and settings. In five tasks as in Hsu et al. 2018.
SETS: dict[str, tuple[str, dict[str, Any]]] = {
    "mnist": ("MNIST", {"dataset": "mnist-5k"}),
    "digits": ("digits", {"dataset": "digits"}),
    "five": ("MNIST in five tasks", {"dataset": "mnist-5k", "tasks": 5, "steps": 750, "final_examples": 2000}),
}
# A GPT that reads Python's documentation, and then its source.
GPT = {"model": "gpt", "dataset": "python-docs+python-source", "width": 16, "context": 16, "batch_size": 20}
READ = {**GPT, "steps": 1000, "final_examples": 256}
LR, TEXT_LR = 2.0**-8, 2.0**-7
# Panel -> its title, and where that is.
PANELS = {
    f"{data}_{scenario}": (f"{name}, {words}", f"On {name}, where {words},")
    for data, (name, _) in SETS.items()
    for scenario, words in SCENARIOS.items()
} | {"text": ("documentation, then source", "In a GPT that reads source after documentation")}
FIVE = [f"five_{scenario}" for scenario in SCENARIOS]
TWO = [panel for panel in PANELS if panel not in FIVE]
# Remedy -> its name, the setting that is varied, and its strengths, the weakest first. EWC's penalty is lambda / 2 times the
# Fisher information of a mean over examples.
REMEDIES: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "replay": ("share replayed", "replay", (0.01, 0.05, 0.15, 0.5)),
    "ewc": ("EWC, lambda", "consolidation", (1e2, 1e3, 1e4)),
    "small": ("later LR times", "later_lr", (0.3, 0.1, 0.03)),
    "adapters": ("adapters of rank", "adapter_rank", (4, 1)),
    "layers": ("LR a layer down times", "layer_lr_decay", (0.3, 0.1)),
}
# What is judged of remedies that learn more slowly: they are compared where they have learnt as much of the new task.
SLOW: dict[str, tuple[str, float]] = {
    "small": ("a tenth of the LR", 0.1),
    "adapters": ("adapters of rank 4", 4),
    "layers": ("LR times 0.3 a layer down", 0.3),
}
# Accuracy, or loss in nats, on the new task at which they are.
NEW, NEW_LOSS = 0.9, 2.4
HSU = "Hsu et al. 2018, Re-evaluating Continual Learning Scenarios, split MNIST"
# What they found: accuracy over all tasks with Adam alone, with EWC, with a replay of half of each batch, jointly.
FOUND = {
    "five_class": (0.1971, 0.1980, 0.9078, 0.9753),
    "five_domain": (0.5516, 0.5885, 0.9516, 0.9859),
    "five_task": (0.9346, 0.9770, 0.9940, 0.9952),
}


def arms_on(panel: str) -> dict[str, Arm]:
    """No remedy, all tasks at once, and each remedy at its strengths; evaluated often where the way there is compared."""
    data, _, scenario = panel.partition("_")
    shared = {**SETS[data][1], "scenario": scenario} if scenario else READ
    factors: dict[str, Any] = {} if scenario else {"peak_lr": (TEXT_LR,)}

    def arm(label: str, often: bool = False, **settings: Any) -> Arm:
        settings = {**shared, **({"evaluations": 60} if often else {}), **settings}
        return Arm(label=label, panel=PANELS[panel][0], settings=settings, factors=factors)

    found = {"none": arm("no remedy", panel in TWO), "joint": arm("all at once", task_order="joint")}
    for name, (label, factor, strengths) in REMEDIES.items():
        left_out = tuple(SLOW) if panel in FIVE else () if scenario else ("ewc", "layers")
        if name not in left_out:
            found[name] = arm(label, name in SLOW).model_copy(update={"factors": {**factors, factor: strengths}})
    return {f"{panel}_{name}": arm for name, arm in found.items()}


ARMS = {name: arm for panel in PANELS for name, arm in arms_on(panel).items()}


def score(panel: str, remedy: str, tasks: str = "old", level: float | None = None, at: float | None = None) -> Any:
    """Accuracy, or loss on text: at the end, or where the new task is learnt to a level. at: the remedy's strength."""
    over = REMEDIES[remedy][1] if remedy in REMEDIES else "peak_lr"
    fields: Any = {"arm": f"{panel}_{remedy}", "tasks": tasks, "over": over, "at": at}
    if panel == "text":
        return task_loss(**fields, new_loss=level)
    return task_accuracy(**fields, new_accuracy=level)


def better(panel: str, score: Any, other: Any) -> Any:
    """By how much: in accuracy, or less of a loss, as a share of the loss reduction without a remedy."""
    return LossGap(left=other, right=score, best_of=("text_none",)) if panel == "text" else score - other


def recovered(panel: str, remedy: str, at: float | None = None) -> Share:
    """Share of what training one after the other loses against joint training, in accuracy over all tasks or in loss on the old
    text."""
    tasks = "old" if panel == "text" else "all"
    found, joint, none = score(panel, remedy, tasks, at=at), score(panel, "joint", tasks), score(panel, "none", tasks)
    part, whole = (none - found, none - joint) if panel == "text" else (found - none, joint - none)
    return Share(part=part, whole=whole, whole_at_least=0.02)


def unit(panel: str) -> str:
    return "relative" if panel == "text" else "share"


def spoken(panel: str, better: bool) -> str:
    accuracy, loss = ("higher", "lower") if better else ("lower", "higher")
    return f"the loss on documentation is {{{loss}}}" if panel == "text" else f"the accuracy on old tasks is {{{accuracy}}}"


def expected(panel: str, place: int) -> Any:
    if panel not in FOUND:
        return None
    none, *_, joint = FOUND[panel]
    return predicted((FOUND[panel][place] - none) / (joint - none), HSU)


HAPPENS = judgement(
    "forget.happens",
    *(
        Criterion(
            name=f"old tasks, trained jointly minus one after the other, {title}",
            panel=title,
            observe=better(panel, score(panel, "joint"), score(panel, "none")),
            **above(0.2, refuted=0.05, null=0.0, margin=0.02),
            unit=unit(panel),
            says=f"{where} {spoken(panel, False)} than in joint training",
        )
        for panel, (title, where) in PANELS.items()
    ),
    right={"supported": "wipes out"},
    reported={
        f"accuracy on old tasks, one after the other, {PANELS[panel][0]}": (score(panel, "none"), "share")
        for panel in PANELS
        if panel != "text"
    },
)

REPLAY = judgement(
    "forget.replay",
    *(
        Criterion(
            name=f"share of what is forgotten that replay of {share:.0%} recovers, {PANELS[panel][0]}",
            clause=clause,
            panel=PANELS[panel][0],
            observe=recovered(panel, "replay", at=share),
            **above(0.25, refuted=0.05, null=0.0, unit="share"),
            says=f"{PANELS[panel][1]} replay of {share:.0%} recovers {{estimate}} of what is forgotten",
        )
        for panel in PANELS
        for clause, share in (("a", 0.05), ("b", 0.15))
    ),
    reported={
        **{
            f"the same with {share:.0%}, {PANELS[panel][0]}": (recovered(panel, "replay", at=share), "share")
            for panel in PANELS
            for share in (0.01, 0.5)
        },
        **{
            f"{tasks} tasks at the end, replay of 5% minus {words}, {PANELS[panel][0]}": (
                better(panel, score(panel, "replay", tasks, at=0.05), score(panel, other, tasks, at=at)),
                unit(panel),
            )
            for panel in TWO
            for tasks, other, words, at in (
                ("new", "none", "none", None),
                ("new", "small", *SLOW["small"]),
                ("old", "small", *SLOW["small"]),
            )
        },
    },
)

EWC = judgement(
    "forget.ewc",
    *(
        Criterion(
            name=f"share of what is forgotten that EWC recovers, {title}",
            panel=title,
            observe=recovered(panel, "ewc"),
            **above(0.2, refuted=0.05, null=0.0, unit="share"),
            says=f"{where} EWC recovers {{estimate}} of what is forgotten",
            expected=expected(panel, 1),
            underpowered="" if panel not in FIVE[:2] else "the claim is of some scenarios, and little is expected of this one",
        )
        for panel, (title, where) in PANELS.items()
        if panel != "text"
    ),
)


def kept_more(panel: str, remedy: str, tasks: str = "old", level: float | None = None, than: str = "none") -> tuple[Any, str]:
    """What a remedy at its judged strength keeps more than another, or than none, and its unit: at the end, or where both have
    learnt the new task to a level."""
    found, other = (score(panel, each, tasks, level, SLOW[each][1] if each in SLOW else None) for each in (remedy, than))
    return better(panel, found, other), unit(panel)


def as_well(panel: str, remedy: str, than: str = "none") -> tuple[Any, str]:
    return kept_more(panel, remedy, level=NEW_LOSS if panel == "text" else NEW, than=than)


def keeps_more(claim: str, remedy: str, panels: list[str], than: str = "") -> Judgement:
    """than: another remedy that it is set against, too."""
    label = SLOW[remedy][0]
    return judgement(
        claim,
        *(
            Criterion(
                name=f"old task where the new one is learnt as well, {label} minus none, {PANELS[panel][0]}",
                panel=PANELS[panel][0],
                observe=as_well(panel, remedy)[0],
                **above(0.05, refuted=0.02, null=0.0, margin=0.02, unit=unit(panel)),
                says=f"{PANELS[panel][1]} {spoken(panel, True)} with {label} than in plain fine-tuning, at equal"
                f" {'loss on the new text' if panel == 'text' else 'accuracy on the new task'}",
                alternatives={"at 70% on the new one": kept_more(panel, remedy, level=0.7)[0]} if panel != "text" else None,
                scales=("laptop",) if panel == "text" else None,  # a larger GPT comes to that loss at once
            )
            for panel in panels
        ),
        reported={
            **{
                f"{tasks} task at the end, {label} minus none, {PANELS[panel][0]}": kept_more(panel, remedy, tasks)
                for tasks in ("old", "new")
                for panel in panels
            },
            **{
                f"old task where the new one is learnt as well, {label} minus {SLOW[than][0]}, {PANELS[panel][0]}": as_well(
                    panel, remedy, than
                )
                for panel in panels
                if than
            },
        },
    )


SMALL_LR = keeps_more("forget.small_lr", "small", TWO)
LORA = keeps_more("forget.lora", "adapters", TWO, than="small")
LAYERS = keeps_more("forget.layerwise_lr", "layers", [panel for panel in TWO if panel != "text"])

# What is kept where the new task is learnt as well varies by 14 points between seeds.
MORE_SEEDS = {
    f"{panel}_{arm}": 16
    for panel in ("mnist_task", "mnist_domain", "digits_domain", "digits_task")
    for arm in ("none", "adapters", "layers")
}


def larger_texts(**settings: Any) -> dict[str, dict[str, Any]]:
    """Arm -> settings of a larger GPT."""
    return {arm: {"heads": 4, "depth": 4, "context": 64, **settings} for arm in arms_on("text")}


STUDY = study(
    __file__,
    # Version 5 asked of EWC, lower LRs and adapters whether they help anywhere: one panel of seven was enough. Version 6 asks
    # whether they help on most, as of replay.
    version=6,
    workload=Workload(model="mlp", dataset="mnist-5k", width=64, depth=2, tasks=2),
    training=Training(
        optimizer="adam", peak_lr=LR, weight_decay=0.0, schedule="constant", warmup_fraction=0.0, batch_size=40, steps=600
    ),
    measurement=Measurement(probes=2, evaluations=5, evaluation_examples=128, final_examples=1000, curve_points=15),
    arms=ARMS,
    factors={"peak_lr": (LR,)},
    seeds=8,
    first_seed=144_000,
    scales={
        "smoke": scales.smoke(arm_settings={arm: {"steps": 10, "evaluations": 10} for arm in ARMS}),
        "laptop": scales.laptop(
            "about five minutes of training",
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
    answer=("forget.happens", "forget.replay", "forget.lora"),
    judgements=(HAPPENS, REPLAY, EWC, SMALL_LR, LORA, LAYERS),
)
