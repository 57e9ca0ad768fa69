"""What do Lion, Sophia, LARS and LAMB buy over AdamW and SGD?"""

from folklore.harness.observables import (
    BasinWidth,
    Computed,
    FallShare,
    LengthRatio,
    LossAt,
    Optimum,
    Quotient,
    Scaled,
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
    Outside,
    Published,
    Reported,
    Scale,
    Study,
    Training,
    Within,
    Workload,
    log2_grid,
)

# Batch sizes, with as many steps as a laptop has time for.
STEPS = {8: 1000, 64: 300}
BATCHES = (8, 64)
ADAMW, LION = {"optimizer": "adamw", "beta2": 0.99}, {"optimizer": "lion", "beta2": 0.99}
SOPHIA = {"optimizer": "sophia", "beta1": 0.965, "beta2": 0.99, "epsilon": 1e-12}
# Each about the best one of a pilot: Lion's and Sophia's papers have more decay for them than for AdamW, too.
DECAY = {"adamw": {8: 0.125, 64: 0.5}, "lion": {8: 4.0, 64: 4.0}, "sophia": {8: 0.2, 64: 4.0}}
EXTRA_GRADIENTS = 1 + 1 / 10
ADAMW_LRS, LION_LRS = {"peak_lr": log2_grid(-11, -2, per_octave=1)}, {"peak_lr": log2_grid(-12, -3, per_octave=1)}
SOPHIA_LRS = {8: {"peak_lr": log2_grid(-12, -7, per_octave=1)}, 64: {"peak_lr": log2_grid(-9, -4, per_octave=1)}}
# Lengths of Sophia's runs over AdamW's, where a pilot had their losses meet, and their steps.
LENGTHS = {0.7: "sophia_{}_short", 1.2: "sophia_{}", 2.0: "sophia_{}_long"}
SOPHIA_STEPS = {8: {0.7: 700, 1.2: 1200, 2.0: 2000}, 64: {0.7: 210, 1.2: 360, 2.0: 600}}
CLUSTER_STEPS, CLUSTER_SOPHIA_STEPS = 3000, {0.7: 2100, 1.2: 3600, 2.0: 6000}
# Decay is varied at about the best LR of each, by a pilot, over equal ranges of LR x decay.
DECAY_LRS = {"adamw": {8: 2.0**-7, 64: 2.0**-5}, "lion": {8: 2.0**-8, 64: 2.0**-7}}
LR_TIMES_DECAY = log2_grid(-12, -3, per_octave=1)
# As many examples as the small batch sees.
SMALL, LARGE = 16, 256
LARGE_STEPS = 80
SMALL_STEPS = 1280
LAYERWISE = {"weight_decay": 5e-4, "warmup_fraction": 0.1}
CNN = {"model": "cnn", "dataset": "digits", "width": 8, "depth": 2, **LAYERWISE}
NESTEROV = {**CNN, "optimizer": "sgd", "nesterov": True}
LARS = {**CNN, "optimizer": "lars"}
ADAMW_LARGE = {**ADAMW, "weight_decay": 0.1, "warmup_fraction": 0.1}
LAMB = {**ADAMW_LARGE, "optimizer": "lamb"}
# The small batch's best LR, times the batch's growth for SGD, and times its root for Adam.
RULES = {"nesterov": LARGE / SMALL, "adamw": (LARGE / SMALL) ** 0.5}
PAIRS = {"CNN, LARS against Nesterov SGD": ("nesterov", "lars"), "GPT, LAMB against AdamW": ("adamw", "lamb")}

STUDY = Study(
    name="optimizers",
    version=1,
    title="Optimizers",
    question="What do Lion, Sophia, LARS and LAMB buy over AdamW and SGD?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(schedule="cosine", warmup_fraction=0.05),
    measurement=Measurement(probes=2, evaluations=2, evaluation_examples=64, final_examples=512, curve_points=20),
    arms={
        **{
            f"adamw_{batch}": Arm(
                label="AdamW",
                panel=f"batch {batch}",
                settings={**ADAMW, "batch_size": batch, "steps": STEPS[batch], "weight_decay": DECAY["adamw"][batch]},
                factors=ADAMW_LRS,
                reference=True,
            )
            for batch in BATCHES
        },
        **{
            f"lion_{batch}": Arm(
                label="Lion",
                panel=f"batch {batch}",
                settings={**LION, "batch_size": batch, "steps": STEPS[batch], "weight_decay": DECAY["lion"][batch]},
                factors=LION_LRS,
            )
            for batch in BATCHES
        },
        **{
            name.format(batch): Arm(
                label=f"Sophia, {length:g} of the steps",
                panel=f"batch {batch}",
                settings={
                    **SOPHIA,
                    "batch_size": batch,
                    "steps": SOPHIA_STEPS[batch][length],
                    "weight_decay": DECAY["sophia"][batch],
                },
                factors=SOPHIA_LRS[batch],
            )
            for batch in BATCHES
            for length, name in LENGTHS.items()
        },
        **{
            f"{name}_{batch}_decay": Arm(
                label=f"{label}, decay varied",
                panel=f"decay at batch {batch}",
                settings={**settings, "batch_size": batch, "steps": STEPS[batch]},
                factors={
                    "peak_lr": (DECAY_LRS[name][batch],),
                    "weight_decay": (*(each / DECAY_LRS[name][batch] for each in LR_TIMES_DECAY),),
                },
                reference=name == "adamw",
            )
            for batch in BATCHES
            for name, label, settings in (("adamw", "AdamW", ADAMW), ("lion", "Lion", LION))
        },
        "nesterov_small": Arm(
            label="Nesterov SGD, small batch",
            panel="CNN",
            settings={**NESTEROV, "batch_size": SMALL, "steps": SMALL_STEPS},
            factors={"peak_lr": log2_grid(-6, 1, per_octave=1)},
        ),
        "nesterov_large": Arm(
            label="Nesterov SGD",
            panel="CNN",
            settings={**NESTEROV, "batch_size": LARGE, "steps": LARGE_STEPS},
            factors={"peak_lr": log2_grid(-4, 5, per_octave=1)},
            reference=True,
        ),
        "lars_large": Arm(
            label="LARS",
            panel="CNN",
            settings={**LARS, "batch_size": LARGE, "steps": LARGE_STEPS},
            factors={"peak_lr": log2_grid(0, 6, per_octave=1)},
        ),
        "adamw_small": Arm(
            label="AdamW, small batch",
            panel="GPT",
            settings={**ADAMW_LARGE, "batch_size": SMALL, "steps": SMALL_STEPS},
            factors={"peak_lr": log2_grid(-8, -4, per_octave=1)},
        ),
        "adamw_large": Arm(
            label="AdamW",
            panel="GPT",
            settings={**ADAMW_LARGE, "batch_size": LARGE, "steps": LARGE_STEPS},
            factors={"peak_lr": log2_grid(-7, -2, per_octave=1)},
            reference=True,
        ),
        "lamb_large": Arm(
            label="LAMB",
            panel="GPT",
            settings={**LAMB, "batch_size": LARGE, "steps": LARGE_STEPS},
            factors={"peak_lr": log2_grid(-7, -2, per_octave=1)},
        ),
    },
    factors={"peak_lr": (2.0**-7,)},
    seeds=8,
    first_seed=31_000,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 12},
            arm_settings={
                **{
                    name.format(batch): {"steps": SOPHIA_STEPS[64][length] // 15}
                    for batch in BATCHES
                    for length, name in LENGTHS.items()
                },
                **{
                    f"{name}_{batch}{varied}": {"steps": 20}
                    for name in ("adamw", "lion")
                    for batch in BATCHES
                    for varied in ("", "_decay")
                },
                **{
                    f"{name}_{size}": {"steps": 12, "batch_size": 8}
                    for name in ("nesterov", "adamw")
                    for size in ("small", "large")
                },
                **{f"{name}_large": {"steps": 12, "batch_size": 8} for name in ("lars", "lamb")},
            },
            measurement={"evaluation_examples": 8, "final_examples": 16},
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about five minutes of training",
            departures=(
                "GPTs of 7,000 parameters and a CNN of 2,000; 1,000 steps at batch 8, 300 at 64, of large batches 80.",
            ),
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes: GPTs of 0.4M parameters on Python's standard library",
            device="cuda",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"precision": "tf32"},
            measurement={"evaluation_examples": 128, "final_examples": 512},
            departures=("CNNs are those of the laptop, on digits.",),
            seeds=6,
        ),
        "cluster": Scale(
            description="many GPUs, hours: GPTs of 25M parameters on web text",
            device="cuda",
            workload={"dataset": "web-text", "width": 512, "depth": 8, "heads": 8, "context": 256},
            training={"precision": "bf16"},
            measurement={"evaluation_examples": 256, "final_examples": 1024},
            arm_settings={
                **{
                    name.format(batch): {"steps": CLUSTER_SOPHIA_STEPS[length]}
                    for batch in BATCHES
                    for length, name in LENGTHS.items()
                },
                **{
                    f"{name}_{batch}{varied}": {"steps": CLUSTER_STEPS}
                    for name in ("adamw", "lion")
                    for batch in BATCHES
                    for varied in ("", "_decay")
                },
            },
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
    judgements=(
        Judgement(
            claim="opt.lion",
            criteria=(
                *(
                    criterion
                    for batch in BATCHES
                    for criterion in (
                        Criterion(
                            name=f"Lion's state over AdamW's, batch {batch}",
                            panel=f"batch {batch}",
                            observe=Computed(function="optimizers.state", number="lion_over_adam"),
                            null=1.0,
                            claimed=Within(low=0.49, high=0.51),
                            refuted=Outside(low=0.4, high=0.6),
                            says="Lion keeps {estimate} of AdamW's state",
                            unit="share",
                        ),
                        Criterion(
                            name=f"AdamW's best LR over Lion's, batch {batch}",
                            panel=f"batch {batch}",
                            observe=Quotient(
                                top=Optimum(arm=f"adamw_{batch}", window_octaves=2.0),
                                bottom=Optimum(arm=f"lion_{batch}", window_octaves=2.0),
                            ),
                            null=1.0,
                            claimed=Within(low=3.0, high=10.0),
                            refuted=Outside(low=1.5, high=20.0),
                            says=f"At batch {batch} AdamW's best LR is {{larger}} than Lion's",
                            unit="x",
                            alternatives=(
                                Alternative(
                                    name="by a parabola through three points",
                                    observe=Quotient(top=Optimum(arm=f"adamw_{batch}"), bottom=Optimum(arm=f"lion_{batch}")),
                                ),
                            ),
                        ),
                        Criterion(
                            name=f"tuned loss of Lion, less AdamW's, of the fall, batch {batch}",
                            panel=f"batch {batch}",
                            observe=FallShare(left=TunedLoss(arm=f"lion_{batch}"), right=TunedLoss(arm=f"adamw_{batch}")),
                            test="no_worse",
                            null=0.0,
                            margin=0.005,
                            says=f"At batch {batch} Lion's tuned loss is {{higher}} than AdamW's, of the fall",
                            unit="relative",
                        ),
                    )
                ),
            ),
            note="It holds if it does at one of the two batch sizes, in all three parts: the document says 'sometimes'.",
            advice={
                "supported": "Try Lion where the optimizer's state is what does not fit; begin at a fifth of AdamW's LR.",
                "partly": "Tune Lion's LR on its own, from a fifth of AdamW's, and compare before you switch.",
                "refuted": "Keep AdamW unless its state does not fit.",
            },
        ),
        Judgement(
            claim="opt.lion_sensitive",
            criteria=(
                *(
                    criterion
                    for batch in BATCHES
                    for criterion in (
                        Criterion(
                            name=f"octaves of LR within 5% of the fall, Lion over AdamW, batch {batch}",
                            panel=f"batch {batch}",
                            observe=Quotient(
                                top=BasinWidth(arm=f"lion_{batch}", of="fall"),
                                bottom=BasinWidth(arm=f"adamw_{batch}", of="fall"),
                            ),
                            null=1.0,
                            claimed=AtMost(value=1.0),
                            refuted=AtLeast(value=1.0),
                            says=f"At batch {batch} Lion's basin of LRs, in octaves, is {{larger}} than AdamW's",
                            unit="x",
                        ),
                        Criterion(
                            name=f"octaves of decay within 5% of the fall, Lion over AdamW, batch {batch}",
                            panel=f"batch {batch}",
                            observe=Quotient(
                                top=BasinWidth(arm=f"lion_{batch}_decay", over="weight_decay", of="fall", open_below=True),
                                bottom=BasinWidth(arm=f"adamw_{batch}_decay", over="weight_decay", of="fall", open_below=True),
                            ),
                            null=1.0,
                            claimed=AtMost(value=1.0),
                            refuted=AtLeast(value=1.0),
                            says=f"At batch {batch} Lion's basin of decays, in octaves, is {{larger}} than AdamW's",
                            unit="x",
                        ),
                    )
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"octaves of LR within 5% of the fall, {label}, batch {batch}",
                        observe=BasinWidth(arm=f"{name}_{batch}", of="fall"),
                    )
                    for batch in BATCHES
                    for name, label in (("adamw", "AdamW"), ("lion", "Lion"))
                ),
                *(
                    Reported(
                        name=f"octaves of LR x decay from 2^-12 within 5% of the fall, {label}, batch {batch}",
                        observe=BasinWidth(arm=f"{name}_{batch}_decay", over="weight_decay", of="fall", open_below=True),
                    )
                    for batch in BATCHES
                    for name, label in (("adamw", "AdamW"), ("lion", "Lion"))
                ),
            ),
            note=(
                "If next to no decay is as good as the best, a basin counts from the low end of its grid, which is at the same"
                " LR x decay for both. If one basin is open there and the other is not, how much wider it is depends on that"
                " end: read the octaves themselves."
            ),
            advice={
                "supported": "Tune Lion's LR and decay on finer grids than AdamW's.",
                "partly": "Tune that of Lion's two hyper-parameters finely whose basin is the narrower one.",
                "refuted": "Tune Lion's LR and decay on grids as coarse as AdamW's.",
            },
        ),
        Judgement(
            claim="opt.sophia",
            criteria=(
                *(
                    criterion
                    for batch in BATCHES
                    for criterion in (
                        Criterion(
                            name=f"steps of Sophia over AdamW's for the same tuned loss, batch {batch}",
                            panel=f"batch {batch}",
                            observe=LengthRatio(
                                anchor=f"adamw_{batch}",
                                points=(*((length, name.format(batch)) for length, name in LENGTHS.items()),),
                            ),
                            null=1.0,
                            claimed=AtMost(value=0.8),
                            refuted=AtLeast(value=1.0),
                            says=f"At batch {batch} Sophia takes {{estimate}} AdamW's steps to the same loss",
                            unit="x",
                        ),
                        Criterion(
                            name=f"gradients of Sophia over AdamW's for the same tuned loss, batch {batch}",
                            panel=f"batch {batch}",
                            observe=Scaled(
                                of=LengthRatio(
                                    anchor=f"adamw_{batch}",
                                    points=(*((length, name.format(batch)) for length, name in LENGTHS.items()),),
                                ),
                                by=EXTRA_GRADIENTS,
                            ),
                            null=1.0,
                            claimed=AtMost(value=0.9),
                            refuted=AtLeast(value=1.0),
                            says=f"At batch {batch} Sophia takes {{estimate}} AdamW's gradients to the same loss",
                            unit="x",
                        ),
                    )
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"tuned loss of Sophia in 1.2 times the steps, less AdamW's, of the fall, batch {batch}",
                        observe=FallShare(left=TunedLoss(arm=f"sophia_{batch}"), right=TunedLoss(arm=f"adamw_{batch}")),
                        unit="relative",
                    )
                    for batch in BATCHES
                ),
            ),
            note=(
                "Sophia's runs of 0.7, 1.2 and 2 times as many steps have schedules and LRs of their own, as its paper compares"
                " them. Thresholds are ours: a fifth of the steps, a tenth of the gradients. A gradient more every ten steps is"
                " counted, the forward pass that samples its labels is not."
            ),
            advice={
                "supported": "Try Sophia for language models, with its own LR, at the size that you train.",
                "partly": "Expect less of Sophia than its paper has: compare at your own size, extra gradients counted.",
                "refuted": "Keep AdamW: a tuned one is as soon there.",
            },
        ),
        Judgement(
            claim="opt.layerwise",
            criteria=(
                *(
                    Criterion(
                        name=f"loss of the rule's LR, less that of the layer-wise optimizer, of the fall, {panel}",
                        panel=panel,
                        observe=FallShare(
                            left=LossAt(arm=f"{base}_large", tuned_for=f"{base}_small", times=RULES[base], window_octaves=2.0),
                            right=TunedLoss(arm=f"{layerwise}_large"),
                            best_of=(f"{base}_large", f"{layerwise}_large"),
                        ),
                        null=0.0,
                        margin=0.02,
                        claimed=AtLeast(value=0.02),
                        refuted=AtMost(value=0.0),
                        says=f"{panel}: at the LR of the rule the baseline ends {{higher}}, of the fall",
                        unit="relative",
                    )
                    for panel, (base, layerwise) in PAIRS.items()
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"tuned loss of the baseline, less that of the layer-wise optimizer, of the fall, {panel}",
                        observe=FallShare(left=TunedLoss(arm=f"{base}_large"), right=TunedLoss(arm=f"{layerwise}_large")),
                        unit="relative",
                    )
                    for panel, (base, layerwise) in PAIRS.items()
                ),
                *(
                    Reported(
                        name=f"the baseline's best LR at the large batch over that at the small one, {panel}",
                        observe=Quotient(
                            top=Optimum(arm=f"{base}_large", window_octaves=2.0),
                            bottom=Optimum(arm=f"{base}_small", window_octaves=2.0),
                        ),
                        unit="x",
                    )
                    for panel, (base, _) in PAIRS.items()
                ),
            ),
            note=(
                "The baseline's LR is the small batch's best one times 16 (SGD) or 4 (AdamW) at a batch 16 times as large; the"
                " layer-wise optimizer is tuned. Both see as many examples. That they beat tuned baselines no document says:"
                " that is reported."
            ),
            advice={
                "supported": "At very large batches use LARS or LAMB, or tune the LR anew: the rule does not carry so far.",
                "partly": "At very large batches tune the LR anew first; what is left may be worth a layer-wise optimizer.",
                "refuted": "Carry the LR over by the rule; nothing layer-wise is needed.",
            },
        ),
        Judgement(
            claim="opt.layerwise_ratio",
            criteria=(
                Criterion(
                    name="largest over smallest update-to-weight ratio over matrices and steps, LAMB with decay",
                    observe=Computed(function="optimizers.layerwise", number="lamb"),
                    claimed=AtMost(value=1.00001),
                    refuted=AtLeast(value=1.5),
                    says="LAMB's largest share of a matrix is {estimate} its smallest, over 60 steps",
                    unit="x",
                ),
                Criterion(
                    name="the same of LARS without momentum and decay",
                    observe=Computed(function="optimizers.layerwise", number="lars"),
                    claimed=AtMost(value=1.00001),
                    refuted=AtLeast(value=1.5),
                    says="LARS's is {estimate} without momentum and decay",
                    unit="x",
                ),
                Criterion(
                    name="the same of LARS with momentum 0.9 and decay 0.0005, as published",
                    observe=Computed(function="optimizers.layerwise", number="lars_with_momentum"),
                    claimed=AtMost(value=1.00001),
                    refuted=AtLeast(value=1.5),
                    says="With a momentum of 0.9 LARS's largest share is {estimate} its smallest",
                    unit="x",
                ),
            ),
            reported=(
                Reported(
                    name="the same of LARS without momentum, decay 0.1",
                    observe=Computed(function="optimizers.layerwise", number="lars_with_decay"),
                    unit="x",
                ),
                Reported(
                    name="distance of LAMB's steps from LR |w| u / |u|, u being Adam's update with decay",
                    observe=Computed(function="optimizers.layerwise", number="lamb_distance"),
                ),
                Reported(
                    name="largest over smallest share if LAMB divided by the gradient's norm",
                    observe=Computed(function="optimizers.layerwise", number="lamb_by_gradient"),
                    unit="x",
                ),
                Reported(
                    name="smallest share, in LRs, if norms of weights count as 10 at most, GPT-2 medium's size at its start",
                    observe=Computed(function="optimizers.clamped", number="smallest_share"),
                ),
            ),
            note=(
                "LARS divides by |g| + decay |w| before momentum adds up what it divided; LAMB divides by the norm of Adam's"
                " update, decay included, so that its share is the LR exactly. Gains and biases are left alone by both."
            ),
            advice={
                "supported": "Read the LR of LARS and LAMB as the share by which a matrix moves in a step.",
                "partly": "Read LAMB's LR as the share by which a matrix moves in a step; LARS's only before momentum.",
                "refuted": "Measure how far your layers move.",
            },
        ),
    ),
    published=(
        Published(
            claim="opt.sophia",
            finding="GPT-2 models of 125M to 770M parameters reach AdamW's loss in half of the steps.",
            source="Liu et al. 2023",
            link="https://arxiv.org/abs/2305.14342",
            value=0.5,
            criterion="steps of Sophia over AdamW's for the same tuned loss, batch 64",
            how="reported",
            if_different="the paper's models are ten thousand times larger, its batches of half a million tokens",
        ),
        Published(
            claim="opt.lion",
            finding="A suitable LR for Lion is 3 to 10 times smaller than AdamW's, its decay as much larger.",
            source="Chen et al. 2023, section 5",
            link="https://arxiv.org/abs/2302.06675",
            how="reported",
        ),
        Published(
            claim="opt.layerwise",
            finding="With its LR and schedule tuned, Nesterov momentum and Adam match LARS and LAMB at their batch sizes.",
            source="Nado et al. 2021",
            link="https://arxiv.org/abs/2102.06356",
            how="reported",
        ),
    ),
)
