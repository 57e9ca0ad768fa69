"""What do Lion, Sophia, LARS and LAMB buy over AdamW and SGD?"""

from typing import Any

from folklore.harness.metrics import BasinWidth, LengthRatio, LossAt, LossGap, Optimum, TunedLoss
from folklore.harness.spec import Arm, Criterion, Measurement, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import below, computed, exceeds, inside, judgement, loss_gap, lr_grid, no_worse, peak_lrs

BATCHES = (8, 64)
# As many as a laptop has time for.
STEPS = {8: 1000, 64: 300}
CLUSTER_STEPS, SMOKE_STEPS = 3000, 20
NAMES = {"adamw": "AdamW", "lion": "Lion"}
ADAMW = {"optimizer": "adamw", "beta2": 0.99}
OPTIMIZERS = {
    "adamw": ADAMW,
    "lion": {"optimizer": "lion", "beta2": 0.99},
    "sophia": {"optimizer": "sophia", "beta1": 0.965, "beta2": 0.99, "epsilon": 1e-12},
}
# About the best of a pilot for each optimizer: Lion's and Sophia's papers have more decay for them than for AdamW, too.
DECAY = {"adamw": {8: 0.125, 64: 0.5}, "lion": {8: 4.0, 64: 4.0}, "sophia": {8: 0.2, 64: 4.0}}
LRS = {"adamw": lr_grid(-11, -2), "lion": lr_grid(-12, -3)}
SOPHIA_LRS = {8: lr_grid(-12, -7), 64: lr_grid(-9, -4)}
# Lengths of Sophia's runs over AdamW's, where a pilot had their losses meet, and what names call them.
LENGTHS = {0.7: "_short", 1.2: "", 2.0: "_long"}
EXTRA_GRADIENTS = 1 + 1 / 10
# Decay is varied at about the best LR of each, by a pilot, over equal ranges of LR x decay.
DECAY_LRS = {"adamw": {8: 2.0**-7, 64: 2.0**-5}, "lion": {8: 2.0**-8, 64: 2.0**-7}}
LR_TIMES_DECAY = lr_grid(-12, -3)["peak_lr"]
# As many examples with either batch.
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
    """An arm at the decay of its optimizer. length: of its runs over AdamW's."""
    run = {"batch_size": batch, "steps": round(length * STEPS[batch]), "weight_decay": DECAY[optimizer][batch]}
    settings = {**OPTIMIZERS[optimizer], **run}
    return Arm(label=label, panel=f"batch {batch}", settings=settings, factors=factors, reference=optimizer == "adamw")


def decay_arm(optimizer: str, batch: int) -> Arm:
    label, panel, lr = f"{NAMES[optimizer]}, decay varied", f"decay at batch {batch}", DECAY_LRS[optimizer][batch]
    settings = {**OPTIMIZERS[optimizer], "batch_size": batch, "steps": STEPS[batch]}
    factors = {"peak_lr": (lr,), "weight_decay": tuple(product / lr for product in LR_TIMES_DECAY)}
    return Arm(label=label, panel=panel, settings=settings, factors=factors, reference=optimizer == "adamw")


def gpt_steps(steps: int) -> dict[str, dict[str, int]]:
    """Overrides of a scale: AdamW's and Lion's runs take so many steps, Sophia's a multiple of them."""
    return {
        **{sophia(batch, length): {"steps": round(length * steps)} for batch in BATCHES for length in LENGTHS},
        **{f"{name}_{batch}{what}": {"steps": steps} for name in NAMES for batch in BATCHES for what in ("", "_decay")},
    }


def best_lr(arm: str) -> Optimum:
    return Optimum(arm=arm, window_octaves=2.0)


def basin(of: str, optimizer: str, batch: int) -> BasinWidth:
    """Octaves of the LR or of decay within 5% of the fall."""
    if of == "LR":
        return BasinWidth(arm=f"{optimizer}_{batch}", of="fall")
    return BasinWidth(arm=f"{optimizer}_{batch}_decay", over="weight_decay", of="fall", open_below=True)


def lion_replaces_adamw(batch: int) -> tuple[Criterion, ...]:
    adamw, lion, panel = f"adamw_{batch}", f"lion_{batch}", f"batch {batch}"
    return (
        Criterion(
            name=f"Lion's state over AdamW's, batch {batch}",
            panel=panel,
            observe=computed("optimizers.state", "lion_over_adam"),
            **inside(0.49, 0.51, refuted=(0.4, 0.6), null=1.0, unit="share"),
            says="Lion keeps {estimate} of AdamW's state",
        ),
        Criterion(
            name=f"AdamW's best LR over Lion's, batch {batch}",
            panel=panel,
            observe=best_lr(adamw) / best_lr(lion),
            **inside(3.0, 10.0, refuted=(1.5, 20.0), null=1.0, unit="x"),
            says=f"At batch {batch} AdamW's best LR is {{larger}} than Lion's",
            alternatives={"by a parabola through three points": Optimum(arm=adamw) / Optimum(arm=lion)},
        ),
        no_worse(
            f"tuned loss of Lion, less AdamW's, of the fall, batch {batch}",
            loss_gap(lion, adamw),
            f"At batch {batch} Lion's tuned loss is {{higher}} than AdamW's, of the fall",
            panel=panel,
        ),
    )


def below_one(batch: int, name: str, observe: Any, says: str, at_most: float = 1.0) -> Criterion:
    """A ratio of Lion or Sophia over AdamW."""
    return Criterion(
        name=f"{name}, batch {batch}",
        panel=f"batch {batch}",
        observe=observe,
        **below(at_most, refuted=1.0, null=1.0, unit="x"),
        says=f"At batch {batch} {says}",
    )


def sophia_steps(batch: int) -> LengthRatio:
    return LengthRatio(anchor=f"adamw_{batch}", points=tuple((length, sophia(batch, length)) for length in LENGTHS))


def sophia_saves(batch: int, what: str, observe: Any, at_most: float) -> Criterion:
    """Sophia comes to AdamW's loss with less: steps or gradients."""
    name = f"{what} of Sophia over AdamW's for the same tuned loss"
    return below_one(batch, name, observe, f"Sophia takes {{estimate}} AdamW's {what} to the same loss", at_most)


def rule_loses(panel: str, base: str, layerwise: str) -> Criterion:
    """At the LR that the rule carries over from the small batch, the baseline ends above the layer-wise optimizer."""
    large, tuned = f"{base}_large", f"{layerwise}_large"
    by_rule = LossAt(arm=large, tuned_for=f"{base}_small", times=RULES[base], window_octaves=2.0)
    return exceeds(
        f"loss of the rule's LR, less that of the layer-wise optimizer, of the fall, {panel}",
        LossGap(left=by_rule, right=TunedLoss(arm=tuned), best_of=(large, tuned)),
        f"{panel}: at the LR of the rule the baseline ends {{higher}}, of the fall",
        by=0.02,
        panel=panel,
    )


def same_share(name: str, number: str, says: str) -> Criterion:
    """The update-to-weight ratio is the same for all matrices at all steps."""
    return Criterion(
        name=name, observe=computed("optimizers.layerwise", number), says=says, **below(1.00001, refuted=1.5, unit="x")
    )


LION = judgement(
    "opt.lion",
    *(criterion for batch in BATCHES for criterion in lion_replaces_adamw(batch)),
    note="It holds if it does at one of the two batch sizes, in all three parts: the document says 'sometimes'.",
    if_supported="Try Lion where the optimizer's state is what does not fit; begin at a fifth of AdamW's LR.",
    if_partly="Tune Lion's LR on its own, from a fifth of AdamW's, and compare before you switch.",
    if_refuted="Keep AdamW unless its state does not fit.",
)

LION_SENSITIVE = judgement(
    "opt.lion_sensitive",
    *(
        below_one(
            batch,
            f"octaves of {what} within 5% of the fall, Lion over AdamW",
            basin(what, "lion", batch) / basin(what, "adamw", batch),
            f"Lion's basin of {what}s, in octaves, is {{larger}} than AdamW's",
        )
        for batch in BATCHES
        for what in ("LR", "decay")
    ),
    reported={
        f"octaves of {words} within 5% of the fall, {name}, batch {batch}": basin(what, optimizer, batch)
        for what, words in (("LR", "LR"), ("decay", "LR x decay from 2^-12"))
        for batch in BATCHES
        for optimizer, name in NAMES.items()
    },
    note=(
        "If next to no decay is as good as the best, a basin counts from the low end of its grid, which is at the same LR x"
        " decay for both. If one basin is open there and the other is not, how much wider it is depends on that end: read the"
        " octaves themselves."
    ),
    if_supported="Tune Lion's LR and decay on finer grids than AdamW's.",
    if_partly="Tune that of Lion's two hyper-parameters finely whose basin is the narrower one.",
    if_refuted="Tune Lion's LR and decay on grids as coarse as AdamW's.",
)

SOPHIA = judgement(
    "opt.sophia",
    *(
        criterion
        for batch in BATCHES
        for criterion in (
            sophia_saves(batch, "steps", sophia_steps(batch), at_most=0.8),
            sophia_saves(batch, "gradients", sophia_steps(batch) * EXTRA_GRADIENTS, at_most=0.9),
        )
    ),
    reported={
        f"tuned loss of Sophia in 1.2 times the steps, less AdamW's, of the fall, batch {batch}": (
            loss_gap(sophia(batch), f"adamw_{batch}"),
            "relative",
        )
        for batch in BATCHES
    },
    note=(
        "Sophia's runs of 0.7, 1.2 and 2 times as many steps have schedules and LRs of their own, as its paper compares them."
        " Thresholds are ours: a fifth of the steps, a tenth of the gradients. A gradient more every ten steps is counted, the"
        " forward pass that samples its labels is not."
    ),
    if_supported="Try Sophia for language models, with its own LR, at the size that you train.",
    if_partly="Expect less of Sophia than its paper has: compare at your own size, extra gradients counted.",
    if_refuted="Keep AdamW: a tuned one is as soon there.",
)

LAYERWISE_CLAIM = judgement(
    "opt.layerwise",
    *(rule_loses(panel, *pair) for panel, pair in PAIRS.items()),
    reported={
        **{
            f"tuned loss of the baseline, less that of the layer-wise optimizer, of the fall, {panel}": (
                loss_gap(f"{base}_large", f"{layerwise}_large"),
                "relative",
            )
            for panel, (base, layerwise) in PAIRS.items()
        },
        **{
            f"the baseline's best LR at the large batch over that at the small one, {panel}": (
                best_lr(f"{base}_large") / best_lr(f"{base}_small"),
                "x",
            )
            for panel, (base, _) in PAIRS.items()
        },
    },
    note=(
        "The baseline's LR is the small batch's best one times 16 (SGD) or 4 (AdamW) at a batch 16 times as large; the"
        " layer-wise optimizer is tuned. Both see as many examples. That they beat tuned baselines no document says: that is"
        " reported."
    ),
    if_supported="At very large batches use LARS or LAMB, or tune the LR anew: the rule does not carry so far.",
    if_partly="At very large batches tune the LR anew first; what is left may be worth a layer-wise optimizer.",
    if_refuted="Carry the LR over by the rule; nothing layer-wise is needed.",
)

LAYERWISE_RATIO = judgement(
    "opt.layerwise_ratio",
    same_share(
        "largest over smallest update-to-weight ratio over matrices and steps, LAMB with decay",
        "lamb",
        "LAMB's largest share of a matrix is {estimate} its smallest, over 60 steps",
    ),
    same_share("the same of LARS without momentum and decay", "lars", "LARS's is {estimate} without momentum and decay"),
    same_share(
        "the same of LARS with momentum 0.9 and decay 0.0005, as published",
        "lars_with_momentum",
        "With a momentum of 0.9 LARS's largest share is {estimate} its smallest",
    ),
    reported={
        "the same of LARS without momentum, decay 0.1": (computed("optimizers.layerwise", "lars_with_decay"), "x"),
        "distance of LAMB's steps from LR |w| u / |u|, u being Adam's update with decay": computed(
            "optimizers.layerwise", "lamb_distance"
        ),
        "largest over smallest share if LAMB divided by the gradient's norm": (
            computed("optimizers.layerwise", "lamb_by_gradient"),
            "x",
        ),
        "smallest share, in LRs, if norms of weights count as 10 at most, GPT-2 medium's size at its start": computed(
            "optimizers.clamped", "smallest_share"
        ),
    },
    note=(
        "LARS divides by |g| + decay |w| before momentum adds up what it divided; LAMB divides by the norm of Adam's update,"
        " decay included, so that its share is the LR exactly. Gains and biases are left alone by both."
    ),
    if_supported="Read the LR of LARS and LAMB as the share by which a matrix moves in a step.",
    if_partly="Read LAMB's LR as the share by which a matrix moves in a step; LARS's only before momentum.",
    if_refuted="Measure how far your layers move.",
)

STUDY = Study(
    name="optimizers",
    version=1,
    title="Optimizers",
    question="What do Lion, Sophia, LARS and LAMB buy over AdamW and SGD?",
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
            arm_settings={**gpt_steps(SMOKE_STEPS), **{arm: {"steps": 12, "batch_size": 8} for arm in LARGE_BATCH_ARMS}},
            measurement={"evaluation_examples": 8, "final_examples": 16},
        ),
        "laptop": scales.laptop(
            "about five minutes of training",
            "GPTs of 7,000 parameters and a CNN of 2,000; 1,000 steps at batch 8, 300 at 64, of large batches 80.",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: GPTs of 0.4M parameters on Python's standard library",
            "CNNs are those of the laptop, on digits.",
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
            arm_settings=gpt_steps(CLUSTER_STEPS),
            seeds=5,
        ),
    },
    departures=(
        "LRs are tuned on grids of octaves, not by proposals: where they are best is what the claims speak of.",
        "Of computed numbers, what is claimed is the design's, what refutes was written when they were known.",
        "Betas are those of the papers; each optimizer's decay is about the best of a pilot, and is not tuned again.",
        "Sophia is Sophia-G, with all of every tenth batch for an estimate of the curvature, where its paper takes half of it.",
        "LARS and LAMB are tuned, and the baselines that judge them take over the LR of a batch of a sixteenth, by the rule.",
    ),
    answer=("opt.lion", "opt.sophia", "opt.layerwise", "opt.lion_sensitive"),
    judgements=(LION, LION_SENSITIVE, SOPHIA, LAYERWISE_CLAIM, LAYERWISE_RATIO),
    published=(
        Published(
            claim="opt.sophia",
            finding="GPT-2 models of 125M to 770M parameters reach AdamW's loss in half of the steps.",
            source="Liu et al. 2023",
            link="https://arxiv.org/abs/2305.14342",
            value=0.5,
            criterion="steps of Sophia over AdamW's for the same tuned loss, batch 64",
            if_different="the paper's models are ten thousand times larger, its batches of half a million tokens",
        ),
        Published(
            claim="opt.lion",
            finding="A suitable LR for Lion is 3 to 10 times smaller than AdamW's, its decay as much larger.",
            source="Chen et al. 2023, section 5",
            link="https://arxiv.org/abs/2302.06675",
        ),
        Published(
            claim="opt.layerwise",
            finding="With its LR and schedule tuned, Nesterov momentum and Adam match LARS and LAMB at their batch sizes.",
            source="Nado et al. 2021",
            link="https://arxiv.org/abs/2102.06356",
        ),
    ),
)
