"""What do Lion, Sophia, LARS and LAMB gain over AdamW and SGD?"""

from typing import Any

from folklore.harness.metrics import BasinWidth, LengthRatio, LossAt, LossGap, Optimum, TunedLoss
from folklore.harness.spec import Arm, Criterion, Measurement, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import (
    below,
    computed,
    exceeds,
    inside,
    judgement,
    loss_gap,
    lr_grid,
    no_worse,
    peak_lrs,
    reported_gap,
)

BATCHES = (8, 64)
STEPS = {8: 1000, 64: 300}
NAMES = {"adamw": "AdamW", "lion": "Lion"}
ADAMW = {"optimizer": "adamw", "beta2": 0.99}
OPTIMIZERS = {
    "adamw": ADAMW,
    "lion": {"optimizer": "lion", "beta2": 0.99},
    "sophia": {"optimizer": "sophia", "beta1": 0.965, "beta2": 0.99, "epsilon": 1e-12},
}
# About the best of a pilot; Lion's and Sophia's papers also use more decay than AdamW.
DECAY = {"adamw": {8: 0.125, 64: 0.5}, "lion": {8: 4.0, 64: 4.0}, "sophia": {8: 0.2, 64: 4.0}}
LRS = {"adamw": lr_grid(-11, -2), "lion": lr_grid(-12, -3)}
SOPHIA_LRS = {8: lr_grid(-12, -7), 64: lr_grid(-9, -4)}
# Lengths of Sophia's runs over AdamW's, around the length of equal loss in a pilot, and the suffixes of their arms.
LENGTHS = {0.7: "_short", 1.2: "", 2.0: "_long"}
EXTRA_GRADIENTS = 1 + 1 / 10
# Decay is varied at about the best LR of a pilot, over equal ranges of LR x decay.
DECAY_LRS = {"adamw": {8: 2.0**-7, 64: 2.0**-5}, "lion": {8: 2.0**-8, 64: 2.0**-7}}
LR_TIMES_DECAY = lr_grid(-12, -3)["peak_lr"]
# Equal examples with both batches.
SMALL, LARGE = {"batch_size": 16, "steps": 1280}, {"batch_size": 256, "steps": 80}
GROWTH = LARGE["batch_size"] / SMALL["batch_size"]
LAYERWISE = {"weight_decay": 5e-4, "warmup_fraction": 0.1}
CNN = {"model": "cnn", "dataset": "digits", "width": 8, "depth": 2, **LAYERWISE}
NESTEROV = {**CNN, "optimizer": "sgd", "nesterov": True}
LARS = {**CNN, "optimizer": "lars"}
ADAMW_LARGE = {**ADAMW, "weight_decay": 0.1, "warmup_fraction": 0.1}
LAMB = {**ADAMW_LARGE, "optimizer": "lamb"}
# The small batch's best LR, times the batch's growth for SGD, and times its root for Adam.
RULES = {"nesterov": GROWTH, "adamw": GROWTH**0.5}
PAIRS = {"CNN, LARS against Nesterov SGD": ("nesterov", "lars"), "GPT, LAMB against AdamW": ("adamw", "lamb")}
LARGE_BATCH_ARMS = {
    "nesterov_small": Arm(label="Nesterov SGD, small batch", panel="CNN", settings=NESTEROV | SMALL, factors=lr_grid(-6, 1)),
    "nesterov_large": Arm(label="Nesterov SGD", panel="CNN", settings=NESTEROV | LARGE, factors=lr_grid(-4, 5), reference=True),
    "lars_large": Arm(label="LARS", panel="CNN", settings=LARS | LARGE, factors=lr_grid(0, 6)),
    "adamw_small": Arm(label="AdamW, small batch", panel="GPT", settings=ADAMW_LARGE | SMALL, factors=lr_grid(-8, -4)),
    "adamw_large": Arm(label="AdamW", panel="GPT", settings=ADAMW_LARGE | LARGE, factors=lr_grid(-7, -2), reference=True),
    "lamb_large": Arm(label="LAMB", panel="GPT", settings=LAMB | LARGE, factors=lr_grid(-7, -2)),
}


def sophia(batch: int, length: float = 1.2) -> str:
    return f"sophia_{batch}{LENGTHS[length]}"


def gpt_arm(optimizer: str, batch: int, label: str, factors: dict[str, tuple[float, ...]], length: float = 1.0) -> Arm:
    """length: of its runs over AdamW's."""
    run = {"batch_size": batch, "steps": round(length * STEPS[batch]), "weight_decay": DECAY[optimizer][batch]}
    settings = {**OPTIMIZERS[optimizer], **run}
    return Arm(label=label, panel=f"batch {batch}", settings=settings, factors=factors, reference=optimizer == "adamw")


def decay_arm(optimizer: str, batch: int) -> Arm:
    label, panel, lr = f"{NAMES[optimizer]}, decay varied", f"decay at batch {batch}", DECAY_LRS[optimizer][batch]
    settings = {**OPTIMIZERS[optimizer], "batch_size": batch, "steps": STEPS[batch]}
    factors = {"peak_lr": (lr,), "weight_decay": tuple(product / lr for product in LR_TIMES_DECAY)}
    return Arm(label=label, panel=panel, settings=settings, factors=factors, reference=optimizer == "adamw")


def gpt_steps(steps: int) -> dict[str, dict[str, int]]:
    """Overrides of a scale: the steps of AdamW and Lion; Sophia's are multiples."""
    return {
        **{sophia(batch, length): {"steps": round(length * steps)} for batch in BATCHES for length in LENGTHS},
        **{f"{name}_{batch}{what}": {"steps": steps} for name in NAMES for batch in BATCHES for what in ("", "_decay")},
    }


def lr_over(arm: str, other: str) -> Any:
    """The best LR of an arm over another's."""
    return Optimum(arm=arm, window_octaves=2.0) / Optimum(arm=other, window_octaves=2.0)


def basin(of: str, optimizer: str, batch: int) -> BasinWidth:
    """Octaves of the LR or of decay within 5% of the loss reduction."""
    if of == "LR":
        return BasinWidth(arm=f"{optimizer}_{batch}", of="fall")
    return BasinWidth(arm=f"{optimizer}_{batch}_decay", over="weight_decay", of="fall", open_below=True)


def lion_replaces_adamw(batch: int) -> tuple[Criterion, ...]:
    adamw, lion, panel = f"adamw_{batch}", f"lion_{batch}", f"batch {batch}"
    return (
        Criterion(
            name=f"Lion's state over AdamW's, {panel}",
            clause="a",
            panel=panel,
            observe=computed("optimizers.state", "lion_over_adam"),
            **inside(0.49, 0.51, refuted=(0.4, 0.6), null=1.0, unit="share"),
        ),
        Criterion(
            name=f"AdamW's best LR over Lion's, {panel}",
            clause="b",
            panel=panel,
            observe=lr_over(adamw, lion),
            **inside(3.0, 10.0, refuted=(1.5, 20.0), null=1.0, unit="x"),
            says=f"At {panel}, AdamW's best LR is {{larger}} than Lion's",
            alternatives={"by a parabola through three points": Optimum(arm=adamw) / Optimum(arm=lion)},
        ),
        no_worse(
            f"tuned loss of Lion, less AdamW's, of the fall, {panel}",
            loss_gap(lion, adamw),
            f"At {panel}, Lion {{costs}} of the loss reduction compared with AdamW",
            clause="c",
            panel=panel,
        ),
    )


def below_one(clause: str, batch: int, name: str, observe: Any, says: str, at_most: float = 1.0) -> Criterion:
    """A ratio of Lion or Sophia over AdamW."""
    panel, regions = f"batch {batch}", below(at_most, refuted=1.0, null=1.0, unit="x")
    return Criterion(
        name=f"{name}, {panel}", clause=clause, panel=panel, observe=observe, says=f"At {panel}, {says}", **regions
    )


def sophia_saves(batch: int) -> tuple[Criterion, Criterion]:
    """Sophia reaches AdamW's loss with fewer steps and gradients."""
    steps = LengthRatio(anchor=f"adamw_{batch}", points=tuple((length, sophia(batch, length)) for length in LENGTHS))

    def saves(clause: str, what: str, observe: Any, at_most: float) -> Criterion:
        says = f"Sophia needs {{estimate}} AdamW's {what} for the same loss"
        return below_one(clause, batch, f"{what} of Sophia over AdamW's for the same tuned loss", observe, says, at_most)

    return saves("a", "steps", steps, at_most=0.8), saves("b", "gradients", steps * EXTRA_GRADIENTS, at_most=0.9)


def rule_loses(panel: str, base: str, layerwise: str) -> Criterion:
    """With the small batch's LR scaled by the rule, the baseline ends above the layer-wise optimizer."""
    large, tuned = f"{base}_large", f"{layerwise}_large"
    by_rule = LossAt(arm=large, tuned_for=f"{base}_small", times=RULES[base], window_octaves=2.0)
    return exceeds(
        f"loss of the rule's LR, less that of the layer-wise optimizer, of the fall, {panel}",
        LossGap(left=by_rule, right=TunedLoss(arm=tuned), best_of=(large, tuned)),
        f"{panel}: with the LR of the scaling rule, the latter {{costs}} of the loss reduction",
        by=0.02,
        panel=panel,
    )


def lion_is_narrower(clause: str, batch: int, of: str) -> Criterion:
    name, says = (
        f"octaves of {of} within 5% of the fall, Lion over AdamW",
        f"Lion's range of good {of}s in octaves is {{larger}} than AdamW's",
    )
    return below_one(clause, batch, name, basin(of, "lion", batch) / basin(of, "adamw", batch), says)


def same_share(clause: str, name: str, number: str) -> Criterion:
    """The update-to-weight ratio is the same for all matrices at all steps."""
    observe = computed("optimizers.layerwise", number)
    return Criterion(name=name, clause=clause, observe=observe, **below(1.00001, refuted=1.5, unit="x"))


LION = judgement(
    "opt.lion",
    *(criterion for batch in BATCHES for criterion in lion_replaces_adamw(batch)),
    note="The document says 'sometimes': it suffices that all three parts hold at one of the two batch sizes.",
    if_supported="Try Lion if the optimizer state does not fit; start at a fifth of AdamW's LR.",
    if_partly="Tune Lion's LR separately, starting at a fifth of AdamW's, and compare before you switch.",
    if_refuted="Keep AdamW unless its state does not fit.",
)

LION_SENSITIVE = judgement(
    "opt.lion_sensitive",
    *(lion_is_narrower(clause, batch, of) for batch in BATCHES for clause, of in (("a", "LR"), ("b", "decay"))),
    reported={
        f"octaves of {words} within 5% of the loss reduction, {name}, batch {batch}": basin(of, optimizer, batch)
        for of, words in (("LR", "LR"), ("decay", "LR x decay from 2^-12"))
        for batch in BATCHES
        for optimizer, name in NAMES.items()
    },
    note=(
        "If almost no decay is as good as the best, the range counts from the low end of its grid, at the same LR x decay for"
        " both. If only one range is open there, read the octaves themselves."
    ),
    if_supported="Tune Lion's LR and decay on finer grids than AdamW's.",
    if_partly="Tune finely only that of Lion's two hyperparameters whose range is narrower.",
    if_refuted="Tune Lion's LR and decay on grids as coarse as AdamW's.",
)

SOPHIA = judgement(
    "opt.sophia",
    *(criterion for batch in BATCHES for criterion in sophia_saves(batch)),
    reported={
        f"tuned loss, Sophia in 1.2 times the steps minus AdamW, batch {batch}": reported_gap(sophia(batch), f"adamw_{batch}")
        for batch in BATCHES
    },
    note=(
        "Sophia's runs of 0.7, 1.2 and 2 times the steps have their own schedules and LRs, as in its paper. Thresholds are"
        " ours. The extra gradient every ten steps counts, the forward pass that samples its labels does not."
    ),
    if_supported="Try Sophia for language models, with its own LR, at your model size.",
    if_partly="Expect less of Sophia than its paper reports: compare at your own size, counting extra gradients.",
    if_refuted="Keep AdamW: tuned, it needs no more steps.",
)

LAYERWISE_CLAIM = judgement(
    "opt.layerwise",
    *(rule_loses(panel, *pair) for panel, pair in PAIRS.items()),
    reported={
        **{
            f"tuned loss, baseline minus layer-wise optimizer, {panel}": reported_gap(f"{base}_large", f"{layerwise}_large")
            for panel, (base, layerwise) in PAIRS.items()
        },
        **{
            f"best LR of the baseline, large over small batch, {panel}": (lr_over(f"{base}_large", f"{base}_small"), "x")
            for panel, (base, _) in PAIRS.items()
        },
    },
    note=(
        "The baseline's LR at a 16 times larger batch is the small batch's best times 16 (SGD) or 4 (AdamW); the layer-wise"
        " optimizer is tuned. Both see equal examples. Tuned baselines, which no document compares with, are reported."
    ),
    if_supported="At very large batches use LARS or LAMB, or tune the LR again: the rule does not hold that far.",
    if_partly="At very large batches tune the LR again first, then compare with a layer-wise optimizer.",
    if_refuted="Scale the LR by the rule; no layer-wise optimizer is needed.",
)

LAYERWISE_RATIO = judgement(
    "opt.layerwise_ratio",
    same_share("a", "largest over smallest update-to-weight ratio over matrices and steps, LAMB with decay", "lamb"),
    same_share("b", "the same of LARS without momentum and decay", "lars"),
    same_share("c", "the same of LARS with momentum 0.9 and decay 0.0005, as published", "lars_with_momentum"),
    reported={
        "the same of LARS without momentum, decay 0.1": (computed("optimizers.layerwise", "lars_with_decay"), "x"),
        "distance of LAMB's steps from LR |w| u / |u|, u Adam's update": computed("optimizers.layerwise", "lamb_distance"),
        "the same of LAMB divided by the gradient norm": (computed("optimizers.layerwise", "lamb_by_gradient"), "x"),
        "smallest ratio in LRs, weight norms clamped at 10, GPT-2 medium": computed("optimizers.clamped", "smallest_share"),
    },
    note=(
        "LARS divides by |g| + decay |w| before momentum accumulates; LAMB divides by the norm of Adam's update, decay"
        " included, so its update-to-weight ratio is exactly the LR. Both leave gains and biases alone."
    ),
    if_supported="The LR of LARS and LAMB is the relative change of a matrix per step.",
    if_partly="LAMB's LR is the relative change of a matrix per step; LARS's only without momentum.",
    if_refuted="Measure the update-to-weight ratios of your layers.",
)

STUDY = Study(
    name="optimizers",
    version=1,
    title="Optimizers",
    question="What do Lion, Sophia, LARS and LAMB gain over AdamW and SGD?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(schedule="cosine", warmup_fraction=0.05),
    measurement=Measurement(probes=2, evaluations=2, evaluation_examples=64, final_examples=512, curve_points=20),
    arms={
        **{f"adamw_{batch}": gpt_arm("adamw", batch, "AdamW", LRS["adamw"]) for batch in BATCHES},
        **{f"lion_{batch}": gpt_arm("lion", batch, "Lion", LRS["lion"]) for batch in BATCHES},
        **{
            sophia(batch, length): gpt_arm("sophia", batch, f"Sophia, {length:g} of the steps", SOPHIA_LRS[batch], length)
            for batch in BATCHES
            for length in LENGTHS
        },
        **{f"{optimizer}_{batch}_decay": decay_arm(optimizer, batch) for batch in BATCHES for optimizer in NAMES},
        **LARGE_BATCH_ARMS,
    },
    factors=peak_lrs(-7),
    seeds=8,
    first_seed=31_000,
    scales={
        "smoke": scales.smoke(
            training={"steps": 12},
            arm_settings={**gpt_steps(20), **{arm: {"steps": 12, "batch_size": 8} for arm in LARGE_BATCH_ARMS}},
            measurement={"evaluation_examples": 8, "final_examples": 16},
        ),
        "laptop": scales.laptop(
            "about five minutes of training",
            "GPTs of 7,000 parameters and a CNN of 2,000; 1,000 steps at batch 8, 300 at 64, 80 at large batches.",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: GPTs of 0.4M parameters on Python's standard library",
            "The CNNs are the laptop's, on digits.",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            seeds=6,
        ),
        "cluster": scales.gpu(
            "many GPUs, hours: GPTs of 25M parameters on web text",
            workload={"dataset": "web-text", "width": 512, "depth": 8, "heads": 8, "context": 256},
            training={"precision": "bf16"},
            measurement={"evaluation_examples": 256, "final_examples": 1024},
            arm_settings=gpt_steps(3000),
            seeds=5,
        ),
    },
    departures=(
        "LRs are tuned on grids of octaves. Betas are the papers'; each optimizer's decay is about the best of a pilot.",
        "Refuting regions of computed numbers were written when the numbers were known.",
        "Sophia is Sophia-G, which estimates curvature from all of every tenth batch; its paper takes half of the batch.",
        "LARS and LAMB are tuned; their baselines scale the LR of a batch 16 times smaller by the rule.",
    ),
    answer=("opt.lion", "opt.sophia", "opt.layerwise", "opt.lion_sensitive"),
    judgements=(LION, LION_SENSITIVE, SOPHIA, LAYERWISE_CLAIM, LAYERWISE_RATIO),
    published=(
        Published(
            claim="opt.sophia",
            finding="GPT-2 models of 125M to 770M parameters reach AdamW's loss in half the steps.",
            source="Liu et al. 2023",
            link="https://arxiv.org/abs/2305.14342",
            value=0.5,
            criterion="steps of Sophia over AdamW's for the same tuned loss, batch 64",
            if_different="the paper's models are ten thousand times larger, its batches of half a million tokens",
        ),
        Published(
            claim="opt.lion",
            finding="A suitable LR for Lion is 3 to 10 times smaller than AdamW's, its decay 3 to 10 times larger.",
            source="Chen et al. 2023, section 5",
            link="https://arxiv.org/abs/2302.06675",
        ),
        Published(
            claim="opt.layerwise",
            finding="With tuned LR and schedule, Nesterov momentum and Adam match LARS and LAMB at their batch sizes.",
            source="Nado et al. 2021",
            link="https://arxiv.org/abs/2102.06356",
        ),
    ),
)
