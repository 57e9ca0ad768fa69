"""How are gradients spread over a network's layers, and what do those say that are near zero?"""

from folklore.harness.observables import (
    CurveMean,
    CurveQuotient,
    FallShare,
    FinalLoss,
    GrowthFactor,
    LossAt,
    Quotient,
    RankCorrelation,
)
from folklore.harness.spec import (
    Alternative,
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Expected,
    Judgement,
    Measurement,
    Published,
    Reported,
    Scale,
    Study,
    Training,
    Workload,
)
from folklore.harness.spec.study import Setting

# No weight decay: it moves weights that no gradient moves.
SGD: dict[str, Setting] = {"optimizer": "sgd"}
ADAM: dict[str, Setting] = {"optimizer": "adamw"}
OPTIMIZERS = {"sgd": SGD, "adam": ADAM}
SPELLED = {"sgd": "SGD", "adam": "AdamW"}
RESIDUAL: dict[str, Setting] = {"residual": True, "norm": "layer"}
SIGMOID: dict[str, Setting] = {"activation": "sigmoid"}
GPT: dict[str, Setting] = {
    "model": "gpt",
    "dataset": "python-docs",
    "width": 32,
    "depth": 2,
    "context": 32,
    "batch_size": 8,
    "flow_examples": 64,
}
CNN: dict[str, Setting] = {"model": "cnn", "width": 16, "depth": 2, "batch_size": 16, "steps": 300}
HEALTHY: dict[str, dict[str, Setting]] = {
    "gpt": {**GPT, **ADAM, "steps": 300},
    "cnn": {**CNN, **ADAM},
    "residual": {**RESIDUAL, **SGD, "depth": 8, "steps": 300},
    "relu": {**SGD, "depth": 8, "steps": 300},
}
NAMES = {
    "gpt": "GPT",
    "cnn": "CNN",
    "residual": "MLP with residuals and norms, depth 8",
    "relu": "MLP of ReLUs, depth 8",
}
# LRs by a pilot on other seeds: those with the lowest loss.
BEST = {
    "gpt": 2.0**-7,
    "cnn": 2.0**-4.5,
    "residual": 2.0**-5,
    "relu": 2.0**-6,
    # Their loss is the same, and flat, at all LRs from 2^-4 to 2^0.
    "sigmoid_5_sgd": 2.0**-4,
    "sigmoid_10_sgd": 2.0**-4,
    "sigmoid_5_adam": 2.0**-7,
    "sigmoid_10_adam": 2.0**-9,
    "residual_5_sgd": 2.0**-6,
    "residual_10_sgd": 2.0**-6,
    "residual_5_adam": 2.0**-9,
    "residual_10_adam": 2.0**-9,
    "twin": 2.0**-6,
}
LARGE_LR = 2.0**0
# Where the curves of a run are read: at its first step, whose weights are those of the start, after a quarter, at the end.
START, QUARTER, END = {"first": 0.0, "last": 0.004}, {"first": 0.2, "last": 0.3}, {"first": 0.9, "last": 1.0}
TIMES = {"at the start": START, "after a quarter of the run": QUARTER, "at the end": END}
NORMS = {"top": "probe_flow_most", "bottom": "probe_flow_least"}
HIDDEN = {"top": "probe_flow_hidden_most", "bottom": "probe_flow_hidden_least"}
ENTRIES = {"top": "probe_flow_rms_most", "bottom": "probe_flow_rms_least"}
MOVED = {"top": "probe_flow_first_moved", "bottom": "probe_flow_last_moved"}
FIRST_OVER_LAST = {"top": "probe_flow_first", "bottom": "probe_flow_last"}

# What is drawn against the depth, at the start alone.
DEPTHS = (2, 4, 8, 16, 32)
KINDS: dict[str, dict[str, Setting]] = {
    "sigmoid": SIGMOID,
    "tanh": {"activation": "tanh", "init_gain": 1.0},
    "relu": {},
    "residual": RESIDUAL,
}
KIND_WORDS = {"sigmoid": "sigmoids", "tanh": "tanh, gain 1", "relu": "ReLUs", "residual": "ReLUs, residuals and norms"}
BY_DEPTH = {
    kind: GrowthFactor(
        points=(*((depth, CurveQuotient(arm=f"{kind}_start_{depth}", **FIRST_OVER_LAST, last=0.5)) for depth in DEPTHS),)
    )
    for kind in KINDS
}
# Depth -> the first half of the layers.
HALVES = {5: "hidden.[01].*", 10: "hidden.[0-4].*"}
DEEP = (*((depth, optimizer) for optimizer in OPTIMIZERS for depth in HALVES),)
DEEP_NAMES = {(depth, optimizer): f"{depth} layers of sigmoids, {SPELLED[optimizer]}" for depth, optimizer in DEEP}
FROZEN_LR = 1e-6
GAINS = {
    depth: Criterion(
        name=f"share of the fall that training the first half of the layers gains, {DEEP_NAMES[depth, 'adam']}",
        panel=DEEP_NAMES[depth, "adam"],
        observe=FallShare(
            left=FinalLoss(arm=f"sigmoid_{depth}_adam_frozen"),
            right=FinalLoss(arm=f"sigmoid_{depth}_adam"),
            best_of=(f"sigmoid_{depth}_adam", f"residual_{depth}_adam"),
        ),
        claimed=AtMost(value=0.05),
        refuted=AtLeast(value=0.2),
        says=f"In {DEEP_NAMES[depth, 'adam']}, training the first half of them gains {{value}} of a healthy network's fall",
        unit="share",
    )
    for depth in HALVES
}
# Of ReLU networks: the LR that pilots found best, and up to where nothing is learnt any more.
DEAD_GRIDS = {
    "sgd": (2.0**-7, 2.0**-6, 2.0**-5, 2.0**-4, 2.0**-3, 2.0**-2),
    "adam": (2.0**-8, 2.0**-7, 2.0**-6, 2.0**-5, 2.0**-4, 2.0**-3),
}
# Where a pilot had two fifths of the units dead, and a loss that still fell.
DEAD_AT = {"sgd": 2.0**-3, "adam": 2.0**-4}
DEAD = {
    (optimizer, curve): CurveMean(arm=f"dead_{optimizer}", curve=f"probe_{curve}", value=DEAD_AT[optimizer], **END)
    for optimizer in OPTIMIZERS
    for curve in (
        "dead_units",
        "dead_units_first",
        "revived_units",
        "revived_units_first",
        "revived_units_deeper",
        "awake_units",
    )
}
FLAT: dict[str, dict[str, Setting]] = {"sigmoids": SIGMOID, "small weights": {"init_gain": 0.5}}
FLAT_ARMS = {"sigmoids": "flat_sigmoid", "small weights": "flat_small"}
TWIN_START = CurveMean(arm="twin", curve="probe_flow_norm", value=BEST["twin"], **START)

MLP_ARMS = (
    *("residual", "relu", "twin", *FLAT_ARMS.values()),
    *(f"{kind}_{depth}_{optimizer}{ending}" for depth, optimizer in DEEP for kind in ("sigmoid", "residual")
      for ending in ("", "_frozen")),
    *(f"sigmoid_{depth}_sgd_large" for depth in HALVES),
    *(f"dead_{optimizer}" for optimizer in OPTIMIZERS),
)  # fmt: skip
START_ARMS = (*(f"{kind}_start_{depth}" for kind in KINDS for depth in DEPTHS),)

STUDY = Study(
    name="gradient_flow",
    version=1,
    title="Gradients from layer to layer",
    question="How are gradients spread over a network's layers, and what do those say that are near zero?",
    workload=Workload(model="mlp", dataset="digits", width=64, depth=8),
    training=Training(optimizer="sgd", weight_decay=0.0, schedule="cosine", warmup_fraction=0.05, batch_size=32, steps=600),
    measurement=Measurement(
        probes=4,
        evaluations=2,
        evaluation_examples=359,
        final_examples=359,
        curve_points=20,
        gradient_flow=True,
        flow_examples=1079,
    ),
    arms={
        **{
            arm: Arm(label="best LR", panel=NAMES[arm], settings=HEALTHY[arm], factors={"peak_lr": (BEST[arm],)})
            for arm in HEALTHY
        },
        **{
            f"{kind}_start_{depth}": Arm(
                label=f"depth {depth}",
                panel=KIND_WORDS[kind],
                settings={**KINDS[kind], "depth": depth, "steps": 2, "probes": 2},
                factors={"peak_lr": (2.0**-6,)},
            )
            for kind in KINDS
            for depth in DEPTHS
        },
        **{
            f"{kind}_{depth}_{optimizer}{ending}": Arm(
                label=words + (", first half frozen" if ending else ""),
                panel=DEEP_NAMES[depth, optimizer],
                settings={
                    **OPTIMIZERS[optimizer],
                    **KINDS[kind],
                    "depth": depth,
                    **({"scaled_parameter": HALVES[depth], "scaled_lr": FROZEN_LR} if ending else {}),
                },
                factors={"peak_lr": (BEST[f"{kind}_{depth}_{optimizer}"],)},
            )
            for depth, optimizer in DEEP
            for kind, words in (("sigmoid", "sigmoids"), ("residual", "residuals and norms"))
            for ending in ("", "_frozen")
        },
        **{
            f"sigmoid_{depth}_sgd_large": Arm(
                label="sigmoids, LR 1",
                panel=DEEP_NAMES[depth, "sgd"],
                settings={**SGD, **SIGMOID, "depth": depth},
                factors={"peak_lr": (LARGE_LR,)},
            )
            for depth in HALVES
        },
        **{
            f"dead_{optimizer}": Arm(
                label=SPELLED[optimizer],
                panel=f"MLP of ReLUs, depth 4, {SPELLED[optimizer]}",
                settings={
                    **OPTIMIZERS[optimizer],
                    "depth": 4,
                    "steps": 500,
                    "probes": 10,
                    "gradient_flow": False,
                    "dead_units": True,
                },
                factors={"peak_lr": DEAD_GRIDS[optimizer]},
            )
            for optimizer in OPTIMIZERS
        },
        # The LR falls to zero: what else is left of the gradient is how far the readout's bias was thrown last.
        **{
            FLAT_ARMS[words]: Arm(
                label=words,
                panel=f"16 layers, {words}",
                settings={**settings, "depth": 16, "final_fraction": 0.0},
                factors={"peak_lr": (BEST["twin"],)},
            )
            for words, settings in FLAT.items()
        },
        "twin": Arm(
            label="residuals and norms",
            panel="16 layers",
            settings={**RESIDUAL, "depth": 16, "final_fraction": 0.0},
            factors={"peak_lr": (BEST["twin"],)},
        ),
    },
    factors={"peak_lr": (2.0**-6,)},
    seeds=16,
    first_seed=28_000,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            training={"steps": 20},
            measurement={"flow_examples": 32, "final_examples": 32, "evaluation_examples": 32},
            arm_settings={
                **{arm: {"steps": 20, "probes": 2} for arm in (*HEALTHY, *MLP_ARMS)},
                "gpt": {"steps": 20, "flow_examples": 8},
            },
            seeds=2,
            judged=False,
        ),
        "laptop": Scale(
            description="two CPU cores, about four minutes of training",
            departures=("MLPs of 64 units on 1,079 digits, a CNN of 16 channels, a GPT of 33,000 parameters.",),
        ),
        "gpu": Scale(
            description="one GPU, at most four minutes: MLPs of 256 units, a CNN of 64 channels, a GPT of 3M parameters",
            device="cuda",
            workload={"width": 256},
            arm_settings={
                "gpt": {
                    "dataset": "python-source",
                    "width": 256,
                    "depth": 4,
                    "heads": 4,
                    "context": 128,
                    "batch_size": 16,
                    "steps": 600,
                },
                "cnn": {"width": 64, "depth": 4},
            },
            seeds=8,
        ),
        "cluster": Scale(
            description="many GPUs, an hour: MLPs of 1,024 units, a GPT of 25M parameters on web text",
            device="cuda",
            workload={"width": 1024},
            arm_settings={
                "gpt": {
                    "dataset": "web-text",
                    "width": 512,
                    "depth": 8,
                    "heads": 8,
                    "context": 256,
                    "batch_size": 32,
                    "steps": 2000,
                },
                "cnn": {"width": 128, "depth": 8},
            },
            seeds=8,
        ),
    },
    departures=(
        "Gradients are those of the loss of all training digits, or of 64 fixed sequences of the text: without a batch's noise,"
        " that a monitor has in it.",
        "Norms are of weight matrices; gains and biases are left out. How far apart norms may lie to be similar, 10x, is ours.",
        "LRs are those that a pilot found best; at gpu and cluster scale they are the laptop's, and not tuned anew.",
        "Networks whose gradients vanish are deep MLPs of sigmoids on digits.",
    ),
    answer=("flow.vanishing", "flow.zero_is_not_converged", "flow.dead_relu", "flow.healthy"),
    judgements=(
        Judgement(
            claim="flow.healthy",
            criteria=(
                *(
                    Criterion(
                        name=f"largest gradient norm of a weight matrix over the smallest {when}, {NAMES[arm]}",
                        panel=NAMES[arm],
                        observe=CurveQuotient(arm=arm, value=BEST[arm], **NORMS, **window),
                        claimed=AtMost(value=10.0),
                        refuted=AtLeast(value=10.0),
                        says=f"In the {NAMES[arm]} a matrix's largest gradient norm is {{estimate}} the smallest {when}",
                        unit="x",
                        alternatives=(
                            Alternative(
                                name="of matrices from hidden to hidden units alone",
                                observe=CurveQuotient(arm=arm, value=BEST[arm], **HIDDEN, **window),
                            ),
                            Alternative(
                                name="by root mean squares of the entries",
                                observe=CurveQuotient(arm=arm, value=BEST[arm], **ENTRIES, **window),
                            ),
                        ),
                    )
                    for arm in HEALTHY
                    for when, window in TIMES.items()
                ),
            ),
            right={"refuted": "differ"},
            reported=(
                *(
                    Reported(name=f"{name} {when}, {NAMES[arm]}", observe=CurveQuotient(arm=arm, **curves, **window), unit="x")
                    for arm in HEALTHY
                    for name, curves in (("from hidden to hidden", HIDDEN), ("by root mean squares", ENTRIES))
                    for when, window in TIMES.items()
                ),
                *(Reported(name=f"test loss, {NAMES[arm]}", observe=FinalLoss(arm=arm), unit="nats") for arm in HEALTHY),
                *(
                    Reported(
                        name=f"of a network that is not healthy, {KIND_WORDS[kind]}, depth 8, at the start",
                        observe=CurveQuotient(arm=f"{kind}_start_8", **NORMS, last=0.5),
                        unit="x",
                    )
                    for kind in ("sigmoid",)
                ),
            ),
            note=(
                "Of similar size is within 10x, of all weight matrices, at three times of the run, in all four networks. Ratios"
                " below that do not speak against documents by which layers may differ."
            ),
            advice={
                "supported": "Log gradient norms by layer; look into a network in which they lie more than 10x apart.",
                "partly": (
                    "Compare a layer's gradient norm with its own earlier one: in some healthy models layers lie more than 10x"
                    " apart."
                ),
                "refuted": "Layers whose gradient norms differ by 10x are no sign of trouble.",
            },
        ),
        Judgement(
            claim="flow.vanishing",
            criteria=(
                Criterion(
                    name="factor of each further layer of sigmoids on the first layer's gradient over the last one's",
                    precondition=True,
                    observe=BY_DEPTH["sigmoid"],
                    claimed=AtMost(value=0.5),
                    refuted=AtLeast(value=0.9),
                    expected=Expected(value=0.233, source="mean field, Schoenholz et al. 2017, equations 3 and 5"),
                    says="Each further layer of sigmoids multiplies the first layer's gradient by {estimate}",
                    unit="x",
                ),
                *(
                    criterion
                    for depth, optimizer in DEEP
                    for name in (DEEP_NAMES[depth, optimizer],)
                    for arm, twin in ((f"sigmoid_{depth}_{optimizer}", f"residual_{depth}_{optimizer}"),)
                    for criterion in (
                        Criterion(
                            name=f"gradient of the first layer over that of the last at the start, {name}",
                            panel=name,
                            precondition=True,
                            observe=CurveQuotient(arm=arm, **FIRST_OVER_LAST, **START),
                            claimed=AtMost(value=0.01),
                            refuted=AtLeast(value=0.1),
                            says=f"In {name}, the first layer's gradient is {{estimate}} the last one's",
                            unit="x",
                        ),
                        Criterion(
                            name=f"how far the first layer moves, over how far the last one does, {name}",
                            panel=name,
                            observe=CurveQuotient(arm=arm, **MOVED, **END),
                            claimed=AtMost(value=0.1),
                            refuted=AtLeast(value=0.5),
                            says=f"In {name}, the first layer moves {{estimate}} as far as the last one",
                            unit="x",
                            alternatives=(
                                Alternative(
                                    name="over how far that of a network with residuals and norms moves",
                                    observe=Quotient(
                                        top=CurveMean(arm=arm, curve="probe_flow_first_moved", **END),
                                        bottom=CurveMean(arm=twin, curve="probe_flow_first_moved", **END),
                                    ),
                                ),
                            ),
                        ),
                        # With SGD they learn nothing at all, whichever layers are trained.
                        *((GAINS[depth],) if optimizer == "adam" else ()),
                    )
                ),
            ),
            reported=(
                *(
                    Reported(
                        name=f"what each further layer multiplies it by, {KIND_WORDS[kind]}", observe=BY_DEPTH[kind], unit="x"
                    )
                    for kind in KINDS
                    if kind != "sigmoid"
                ),
                *(
                    Reported(
                        name=f"share of the fall that is lost, {DEEP_NAMES[depth, optimizer]}",
                        observe=FallShare(
                            left=FinalLoss(arm=f"sigmoid_{depth}_{optimizer}"),
                            right=FinalLoss(arm=f"residual_{depth}_{optimizer}"),
                            best_of=(f"residual_{depth}_{optimizer}",),
                        ),
                        unit="share",
                    )
                    for depth, optimizer in DEEP
                ),
                *(
                    Reported(
                        name=f"how far the first layer moves, over how far the last one does, {words}",
                        observe=CurveQuotient(arm=arm, **MOVED, **END),
                        unit="x",
                    )
                    for depth in HALVES
                    for arm, words in (
                        (f"sigmoid_{depth}_sgd_large", f"{depth} layers of sigmoids, SGD, an LR of 1"),
                        (f"residual_{depth}_sgd", f"{depth} layers with residuals and norms, SGD"),
                        (f"residual_{depth}_adam", f"{depth} layers with residuals and norms, AdamW"),
                    )
                ),
                *(
                    Reported(
                        name=f"share of the fall that training the first half of the layers gains, {DEEP_NAMES[depth, 'sgd']}",
                        observe=FallShare(
                            left=FinalLoss(arm=f"sigmoid_{depth}_sgd_frozen"),
                            right=FinalLoss(arm=f"sigmoid_{depth}_sgd"),
                            best_of=(f"sigmoid_{depth}_sgd", f"residual_{depth}_sgd"),
                        ),
                        unit="share",
                    )
                    for depth in HALVES
                ),
                *(
                    Reported(
                        name=f"share of the fall that is lost at an LR of 1, depth {depth}, SGD",
                        observe=FallShare(
                            left=FinalLoss(arm=f"sigmoid_{depth}_sgd_large"),
                            right=FinalLoss(arm=f"residual_{depth}_sgd"),
                            best_of=(f"residual_{depth}_sgd",),
                        ),
                        unit="share",
                    )
                    for depth in HALVES
                ),
                *(
                    Reported(
                        name=f"the same gain with residuals and norms, depth {depth}, {SPELLED[optimizer]}",
                        observe=FallShare(
                            left=FinalLoss(arm=f"residual_{depth}_{optimizer}_frozen"),
                            right=FinalLoss(arm=f"residual_{depth}_{optimizer}"),
                            best_of=(f"residual_{depth}_{optimizer}",),
                        ),
                        unit="share",
                    )
                    for depth, optimizer in DEEP
                ),
                *(
                    Reported(
                        name=f"first layer's gradient over the last one's at the end, {DEEP_NAMES[depth, optimizer]}",
                        observe=CurveQuotient(arm=f"sigmoid_{depth}_{optimizer}", **FIRST_OVER_LAST, **END),
                        unit="x",
                    )
                    for depth, optimizer in DEEP
                ),
            ),
            note=(
                "Orders of magnitude are two. The first layer has stopped learning if it moves a tenth as far as the last one"
                " of the same network, relative to the size of their weights, and if the loss is as good without training the"
                " first half of the layers. That is asked with AdamW alone: with SGD these networks learn nothing, whichever"
                " layers are trained. A pilot on other seeds had held the movement against that of a healthy network, which"
                " depends on two LRs: it is an alternative reading now."
            ),
            advice={
                "supported": "Compare the gradient norms of first and last layers; use norms and residuals.",
                "partly": (
                    "Compare the gradient norms of first and last layers, and how far their weights move: Adam moves layers"
                    " whose gradients vanish."
                ),
                "refuted": "Do not conclude from small gradients that early layers do not learn: see how far they move.",
            },
        ),
        Judgement(
            claim="flow.dead_relu",
            criteria=(
                *(
                    criterion
                    for optimizer, name in SPELLED.items()
                    for criterion in (
                        Criterion(
                            name=f"largest gradient of a dead ReLU's weights and bias, {name}",
                            panel=name,
                            precondition=True,
                            observe=CurveMean(arm=f"dead_{optimizer}", curve="probe_dead_gradient", value=DEAD_AT[optimizer]),
                            # Zero is at the end of what can be observed, and no region ends there.
                            claimed=AtMost(value=1e-30),
                            refuted=AtLeast(value=1e-12),
                            says=f"With {name} the largest gradient of a dead ReLU is {{estimate}}",
                        ),
                        Criterion(
                            name=f"share of the fall that is lost at that LR, {name}",
                            panel=name,
                            precondition=True,
                            observe=FallShare(
                                left=LossAt(arm=f"dead_{optimizer}", value=DEAD_AT[optimizer]),
                                right=FinalLoss(arm="residual"),
                                best_of=("residual",),
                            ),
                            claimed=AtMost(value=0.5),
                            refuted=AtLeast(value=0.9),
                            says=f"With {name} so many dead ReLUs lose {{value}} of the fall",
                            unit="share",
                        ),
                        Criterion(
                            name=f"share of dead ReLUs that some held-out example wakes, {name}",
                            panel=name,
                            observe=DEAD[optimizer, "awake_units"],
                            claimed=AtMost(value=0.05),
                            refuted=AtLeast(value=0.2),
                            says=f"With {name}, held-out examples wake {{value}} of the ReLUs that training ones do not",
                            unit="share",
                        ),
                        Criterion(
                            name=f"share of ReLUs above the first layer, dead half-way, that are alive at the end, {name}",
                            panel=name,
                            observe=DEAD[optimizer, "revived_units_deeper"],
                            claimed=AtMost(value=0.05),
                            refuted=AtLeast(value=0.2),
                            says=f"With {name}, {{value}} of the deeper ReLUs that are dead half-way are alive at the end",
                            unit="share",
                        ),
                    )
                ),
            ),
            reported=(
                *(
                    Reported(name=f"{words}, {name}", observe=DEAD[optimizer, curve], unit="share")
                    for optimizer, name in SPELLED.items()
                    for words, curve in (
                        ("share of dead ReLUs", "dead_units"),
                        ("share of dead ReLUs in the first layer", "dead_units_first"),
                        ("share of all that revive", "revived_units"),
                        ("share of the first layer's that revive", "revived_units_first"),
                    )
                ),
                *(
                    Reported(
                        name=f"share of dead ReLUs at an LR of {lr:.3g}, {name}",
                        observe=CurveMean(arm=f"dead_{optimizer}", curve="probe_dead_units", value=lr, **END),
                        unit="share",
                    )
                    for optimizer, name in SPELLED.items()
                    for lr in DEAD_GRIDS[optimizer]
                ),
                *(
                    Reported(
                        name=f"rank correlation of the share of dead ReLUs with the LR, {name}",
                        observe=RankCorrelation(
                            points=(
                                *(
                                    (lr, CurveMean(arm=f"dead_{optimizer}", curve="probe_dead_units", value=lr, **END))
                                    for lr in DEAD_GRIDS[optimizer]
                                ),
                            )
                        ),
                    )
                    for optimizer, name in SPELLED.items()
                ),
            ),
            note=(
                "A ReLU is dead if it is zero on all 1,079 training examples, and then its gradient is none: that is checked,"
                " and decides nothing. At an LR that a pilot found to kill many, in a network that still learns. The first"
                " layer's cannot come back, for their inputs stay; those above it can. That a high LR kills more is in no"
                " document: it is reported, and not judged."
            ),
            advice={
                "supported": "Log the share of units that are zero on all of a large sample: they do not come back.",
                "partly": (
                    "Log the share of units that are zero on all of a large sample. Some come back: layers below them move"
                    " their inputs."
                ),
                "refuted": "Do not take a unit that is zero on a sample for lost: some come back, or answer to other examples.",
            },
        ),
        Judgement(
            claim="flow.zero_is_not_converged",
            criteria=(
                Criterion(
                    name="gradient of the first layer over that of the last at the end, sigmoids",
                    panel="sigmoids",
                    precondition=True,
                    observe=CurveQuotient(arm=FLAT_ARMS["sigmoids"], **FIRST_OVER_LAST, **END),
                    claimed=AtMost(value=0.01),
                    refuted=AtLeast(value=0.1),
                    says="Through 16 layers of sigmoids the first layer's gradient is {estimate} the last one's",
                    unit="x",
                ),
                *(
                    criterion
                    for words, arm in FLAT_ARMS.items()
                    for criterion in (
                        Criterion(
                            name=f"gradient norm at the end over that of a healthy network at its start, {words}",
                            panel=words,
                            observe=Quotient(top=CurveMean(arm=arm, curve="probe_flow_norm", **END), bottom=TWIN_START),
                            null=1.0,
                            claimed=AtMost(value=0.01),
                            refuted=AtLeast(value=0.1),
                            says=f"With {words} the gradient norm ends at {{estimate}} that of a healthy network's start",
                            unit="x",
                        ),
                        Criterion(
                            name=f"share of a healthy network's fall that is lost, {words}",
                            panel=words,
                            observe=FallShare(left=FinalLoss(arm=arm), right=FinalLoss(arm="twin"), best_of=("twin",)),
                            null=0.0,
                            claimed=AtLeast(value=0.9),
                            refuted=AtMost(value=0.5),
                            says=f"With {words}, {{value}} of the fall is lost",
                            unit="share",
                        ),
                    )
                ),
            ),
            right={"supported": "possibly"},
            reported=(
                Reported(
                    name="the same norm of the healthy network, which has converged",
                    observe=Quotient(top=CurveMean(arm="twin", curve="probe_flow_norm", **END), bottom=TWIN_START),
                    unit="x",
                ),
                *(
                    Reported(
                        name=f"the same as a monitor has it, of batches, {words}",
                        observe=Quotient(
                            top=CurveMean(arm=arm, curve="probe_gradient_norm", **END),
                            bottom=CurveMean(arm="twin", curve="probe_gradient_norm", **START),
                        ),
                        unit="x",
                    )
                    for words, arm in {**FLAT_ARMS, "the healthy network": "twin"}.items()
                ),
                *(
                    Reported(
                        name=f"gradient of the first layer over that of the last at the end, {words}",
                        observe=CurveQuotient(arm=arm, **FIRST_OVER_LAST, **END),
                        unit="x",
                    )
                    for words, arm in {**FLAT_ARMS, "the healthy network": "twin"}.items()
                ),
            ),
            note=(
                "Near zero is a hundredth of what a healthy network of the same depth begins with, without batch noise; not"
                " converged is 90% of its fall lost. One of the two ways to vanish has to show both: sigmoids, which pass less"
                " to each earlier layer, and ReLUs of half the usual gain, through which little passes either way. Both are"
                " trained at the healthy network's LR, which falls to zero."
            ),
            advice={
                "supported": "Before you take a small gradient norm for convergence, look at the loss, and layer by layer.",
                "partly": "Look at the loss before you take a small gradient norm for convergence.",
                "refuted": "These two networks give no reason to doubt that a norm near zero means convergence.",
            },
        ),
    ),
    published=(
        Published(
            claim="flow.vanishing",
            finding="Deep networks of sigmoids saturate from a random start, and their lower layers learn slowly.",
            source="Glorot and Bengio 2010, section 3.1",
            link="https://proceedings.mlr.press/v9/glorot10a.html",
            how="reported",
        ),
        Published(
            claim="flow.dead_relu",
            finding="Up to 40% of a network's ReLUs can be dead if the LR is too high.",
            source="Stanford CS231n, notes on neural networks 1",
            link="https://cs231n.github.io/neural-networks-1/",
            how="reported",
        ),
    ),
)
