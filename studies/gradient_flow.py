"""How do gradients vary across layers, and what does a gradient near zero mean?"""

from dataclasses import dataclass
from typing import Any

from .kit import *
from .metrics.gradient_flow import growth_factor

Settings = dict[str, Any]

# No weight decay: it would move weights that no gradient moves.
SGD: Settings = {"optimizer": "sgd"}
ADAM: Settings = {"optimizer": "adamw"}
OPTIMIZERS = {"sgd": SGD, "adam": ADAM}
SPELLED = {"sgd": "SGD", "adam": "AdamW"}
RESIDUAL: Settings = {"residual": True, "norm": "layer"}
SIGMOID: Settings = {"activation": "sigmoid"}
GPT: Settings = {"model": "gpt", "dataset": "python-docs", "width": 32, "depth": 2, "context": 32, "batch_size": 8}
GPU_GPT = {"dataset": "python-source", "width": 256, "depth": 4, "heads": 4, "context": 128, "batch_size": 16, "steps": 600}
CLUSTER_GPT = {"dataset": "web-text", "width": 512, "depth": 8, "heads": 8, "context": 256, "batch_size": 32, "steps": 2000}
CNN: Settings = {"model": "cnn", "width": 16, "depth": 2, "batch_size": 16}
HEALTHY: dict[str, Settings] = {
    "gpt": {**GPT, **ADAM, "flow_examples": 64},
    "cnn": {**CNN, **ADAM},
    "residual": {**RESIDUAL, **SGD, "depth": 8},
    "relu": {**SGD, "depth": 8},
}
NAMES = {"gpt": "GPT", "cnn": "CNN", "residual": "MLP with residuals and norms, depth 8", "relu": "MLP of ReLUs, depth 8"}
# The best LRs of a pilot on other seeds.
BEST = {"gpt": 2.0**-7, "cnn": 2.0**-4.5, "residual": 2.0**-5, "relu": 2.0**-6, "twin": 2.0**-6}
# Depths of the networks that are read at the start only.
DEPTHS = (2, 4, 8, 16, 32)
KINDS: dict[str, Settings] = {
    "sigmoid": SIGMOID,
    "tanh": {"activation": "tanh", "init_gain": 1.0},
    "relu": {},
    "residual": RESIDUAL,
}
KIND_WORDS = {"sigmoid": "sigmoids", "tanh": "tanh, gain 1", "relu": "ReLUs", "residual": "ReLUs, residuals and norms"}
# Depth -> the first half of the layers.
FIRST_HALF = {5: "hidden.[01].*", 10: "hidden.[0-4].*"}
# Where two fifths of a pilot's units were dead and the loss still fell.
DEAD_AT = {"sgd": 2.0**-3, "adam": 2.0**-4}
FLAT: dict[str, Settings] = {"sigmoids": SIGMOID, "small weights": {"init_gain": 0.5}}
FLAT_ARMS = {"sigmoids": "flat_sigmoid", "small weights": "flat_small"}


@dataclass(frozen=True)
class Deep:
    """A deep network of sigmoids, and its twin with residuals and norms, each with its best LR."""

    depth: int
    optimizer: str
    lr: float
    twin_lr: float

    @property
    def panel(self) -> str:
        return f"{self.depth} layers of sigmoids, {SPELLED[self.optimizer]}"

    @property
    def words(self) -> str:
        return self.panel.replace(",", " and")

    @property
    def arm(self) -> str:
        return f"sigmoid_{self.depth}_{self.optimizer}"

    @property
    def twin(self) -> str:
        return f"residual_{self.depth}_{self.optimizer}"


# The loss of sigmoids with SGD is the same, and flat, at all LRs from 2^-4 to 2^0.
DEEP_SGD = [Deep(depth, "sgd", lr=2.0**-4, twin_lr=2.0**-6) for depth in (5, 10)]
DEEP_ADAM = [Deep(5, "adam", lr=2.0**-7, twin_lr=2.0**-9), Deep(10, "adam", lr=2.0**-9, twin_lr=2.0**-9)]
DEEP = [*DEEP_SGD, *DEEP_ADAM]


def trained(label: str, panel: str, *lrs: float, **settings: Any) -> Arm:
    return Arm(label=label, panel=panel, settings=settings, factors={"peak_lr": lrs})


def started(kind: str, depth: int) -> Arm:
    return trained(f"depth {depth}", KIND_WORDS[kind], 2.0**-6, **KINDS[kind], depth=depth, steps=2, probes=2)


def deep_arms(deep: Deep) -> dict[str, Arm]:
    """Both networks, and both with the first half of their layers frozen."""
    frozen = {"scaled_parameter": FIRST_HALF[deep.depth], "scaled_lr": 1e-6}
    kinds = (deep.arm, deep.lr, "sigmoids", SIGMOID), (deep.twin, deep.twin_lr, "residuals and norms", RESIDUAL)
    arms = {}
    for arm, lr, label, kind in kinds:
        settings = {**OPTIMIZERS[deep.optimizer], **kind, "depth": deep.depth}
        arms[arm] = trained(label, deep.panel, lr, **settings)
        arms[f"{arm}_frozen"] = trained(f"{label}, first half frozen", deep.panel, lr, **settings, **frozen)
    return arms


def dead(optimizer: str) -> Arm:
    looks = {"probes": 10, "gradient_flow": False, "dead_units": True}
    panel = f"MLP of ReLUs, depth 4, {SPELLED[optimizer]}"
    return trained(SPELLED[optimizer], panel, DEAD_AT[optimizer], **OPTIMIZERS[optimizer], depth=4, steps=500, **looks)


def flat(label: str, panel: str, settings: Settings) -> Arm:
    """The LR falls to zero; else the gradient left would be that of the last jump of the readout's bias."""
    return trained(label, panel, BEST["twin"], **settings, depth=16, final_fraction=0.0)


START_ARMS = {f"{kind}_start_{depth}": started(kind, depth) for kind in KINDS for depth in DEPTHS}
ARMS = {
    **{arm: trained("best LR", NAMES[arm], BEST[arm], **HEALTHY[arm], steps=300) for arm in HEALTHY},
    **START_ARMS,
    **{name: arm for deep in DEEP for name, arm in deep_arms(deep).items()},
    **{
        f"{deep.arm}_large": trained("sigmoids, LR 1", deep.panel, 1.0, **SGD, **SIGMOID, depth=deep.depth) for deep in DEEP_SGD
    },
    **{f"dead_{optimizer}": dead(optimizer) for optimizer in OPTIMIZERS},
    **{FLAT_ARMS[words]: flat(words, f"16 layers, {words}", settings) for words, settings in FLAT.items()},
    "twin": flat("residuals and norms", "16 layers", RESIDUAL),
}

# Where curves are read: at the first step (initial weights), after a quarter of the run, at the end.
START, QUARTER, END = {"first": 0.0, "last": 0.004}, {"first": 0.2, "last": 0.3}, {"first": 0.9, "last": 1.0}
TIMES = {"at the start": START, "after a quarter of the run": QUARTER, "at the end": END}
NORMS = {"of": "probe_flow_most", "divided_by": "probe_flow_least"}
HIDDEN = {"of": "probe_flow_hidden_most", "divided_by": "probe_flow_hidden_least"}
ENTRIES = {"of": "probe_flow_rms_most", "divided_by": "probe_flow_rms_least"}


def criterion(panel: str, name: str, observe: Any, says: str, **options: Any) -> Criterion:
    return Criterion(name=f"{name}, {panel}", panel=panel, observe=observe, says=says, **options)


def first_over_last(arm: str, **window: Any) -> Curve:
    """Gradient of the first layer over that of the last."""
    return Curve(arm=arm, of="probe_flow_first", divided_by="probe_flow_last", **window)


def moved(arm: str) -> Curve:
    """How far the first layer moves over how far the last one does."""
    return Curve(arm=arm, of="probe_flow_first_moved", divided_by="probe_flow_last_moved", **END)


def lost(arm: str, healthy: str) -> LossGap:
    """As a share of a healthy network's loss reduction."""
    return loss_gap(arm, healthy, FinalLoss, best_of=(healthy,))


def gained(arm: str, *best_of: str) -> LossGap:
    """What training the first half of the layers gains."""
    return loss_gap(f"{arm}_frozen", arm, FinalLoss, best_of=best_of)


def similar(clause: str, arm: str, when: str, which: str = "between hidden layers") -> Criterion:
    def spread(curves: dict[str, Any]) -> Curve:
        return Curve(arm=arm, value=BEST[arm], **curves, **TIMES[when])

    matrices = {"between hidden layers": HIDDEN, "of any kind": NORMS}
    return criterion(
        NAMES[arm],
        f"largest gradient norm of a weight matrix {which} over the smallest {when}",
        spread(matrices[which]),
        f"In the {NAMES[arm]}, the largest gradient norm of a matrix {which} is {{estimate}} the smallest {when}",
        clause=clause,
        **below(10.0, refuted=10.0, unit="x"),
        alternatives={"by root mean squares of the entries, of any kind": spread(ENTRIES)},
    )


SIMILAR = judgement(
    "flow.healthy",
    *(
        part
        for arm in HEALTHY
        for part in (
            *(similar(clause, arm, when) for clause, when in zip("abc", TIMES, strict=True)),
            similar("d", arm, "at the start", "of any kind"),
        )
    ),
    right={"supported": "similar", "refuted": "differ"},
    reported={
        **{
            f"{name} {when}, {NAMES[arm]}": (Curve(arm=arm, **curves, **window), "x")
            for arm in HEALTHY
            for name, curves in (("matrices of any kind", NORMS), ("of any kind, by root mean squares", ENTRIES))
            for when, window in TIMES.items()
        },
        **{f"test loss, {NAMES[arm]}": (FinalLoss(arm=arm), "nats") for arm in HEALTHY},
        f"of a network that is not healthy, {KIND_WORDS['sigmoid']}, depth 8, at the start": (
            Curve(arm="sigmoid_start_8", **NORMS, last=0.5),
            "x",
        ),
    },
)


def growth(kind: str) -> Any:
    """Of the first layer's gradient over the last one's, by layer."""
    at_start = {depth: first_over_last(f"{kind}_start_{depth}", last=0.5) for depth in DEPTHS}
    return growth_factor(points=tuple(at_start.items()))


def vanishes(deep: Deep) -> tuple[Criterion, ...]:
    far, twin_far = (Curve(arm=arm, of="probe_flow_first_moved", **END) for arm in (deep.arm, deep.twin))
    return (
        criterion(
            deep.panel,
            "gradient of the first layer over that of the last at the start",
            first_over_last(deep.arm, **START),
            f"With {deep.words}, the first layer's gradient is {{estimate}} the last one's",
            **below(0.01, refuted=0.1, unit="x", precondition=True),
        ),
        criterion(
            deep.panel,
            "how far the first layer moves, over how far the last one does",
            moved(deep.arm),
            f"With {deep.words}, the first layer moves {{estimate}} as far as the last one",
            clause="a",
            **below(0.1, refuted=0.5, unit="x"),
            alternatives={"over how far that of a network with residuals and norms moves": (far / twin_far)},
        ),
    )


GAINS = "training the first half of the layers gains"


def gains_little(deep: Deep) -> Criterion:
    return criterion(
        deep.panel,
        f"share of the loss reduction that {GAINS}",
        gained(deep.arm, deep.arm, deep.twin),
        f"With {deep.words}, training the first half of the layers gains {{estimate}} of a healthy network's loss reduction",
        clause="b",
        **below(0.05, refuted=0.2, unit="share"),
    )


VANISHING = judgement(
    "flow.vanishing",
    Criterion(
        name="factor of each further layer of sigmoids on the first layer's gradient over the last one's",
        observe=growth("sigmoid"),
        says="Each additional sigmoid layer multiplies the first layer's gradient by {estimate}",
        expected=predicted(0.233, "mean field, Schoenholz et al. 2017, equations 3 and 5"),
        **below(0.5, refuted=0.9, unit="x", precondition=True),
    ),
    # With SGD they learn nothing at all, whichever layers are trained.
    *(part for deep in DEEP_SGD for part in vanishes(deep)),
    *(part for deep in DEEP_ADAM for part in (*vanishes(deep), gains_little(deep))),
    reported={
        **{
            f"factor of each additional layer, {words}": (growth(kind), "x")
            for kind, words in KIND_WORDS.items()
            if kind != "sigmoid"
        },
        **{f"share of the loss reduction that is lost, {deep.panel}": (lost(deep.arm, deep.twin), "share") for deep in DEEP},
        **{
            f"how far the first layer moves over how far the last one does, {words}": (moved(arm), "x")
            for sgd, adam in zip(DEEP_SGD, DEEP_ADAM, strict=True)
            for arm, words in (
                (f"{sgd.arm}_large", f"{sgd.panel}, an LR of 1"),
                (sgd.twin, f"{sgd.depth} layers with residuals and norms, SGD"),
                (adam.twin, f"{adam.depth} layers with residuals and norms, AdamW"),
            )
        },
        **{
            f"share of the loss reduction that {GAINS}, {deep.panel}": (gained(deep.arm, deep.arm, deep.twin), "share")
            for deep in DEEP_SGD
        },
        **{
            f"share of the loss reduction that is lost at an LR of 1, depth {deep.depth}, SGD": (
                lost(f"{deep.arm}_large", deep.twin),
                "share",
            )
            for deep in DEEP_SGD
        },
        **{
            f"the same gain with residuals and norms, depth {deep.depth}, {SPELLED[deep.optimizer]}": (
                gained(deep.twin, deep.twin),
                "share",
            )
            for deep in DEEP
        },
        **{
            f"first layer's gradient over the last one's at the end, {deep.panel}": (first_over_last(deep.arm, **END), "x")
            for deep in DEEP
        },
    },
)


def of_dead(optimizer: str, curve: str) -> Curve:
    """A curve of the ReLUs of a network in which many die, at the end."""
    return Curve(arm=f"dead_{optimizer}", of=f"probe_{curve}", **END)


DEAD_RELU = judgement(
    "flow.dead_relu",
    *(
        criterion(
            name,
            "largest gradient of a dead ReLU's weights and bias",
            Curve(arm=f"dead_{optimizer}", of="probe_dead_gradient"),
            f"With {name}, the largest gradient of a dead ReLU is {{estimate}}",
            # Zero is the end of the axis, and no region ends there.
            **below(1e-30, refuted=1e-12),
        )
        for optimizer, name in SPELLED.items()
    ),
    reported={
        f"{words}, {name}": (observed, "share")
        for optimizer, name in SPELLED.items()
        for words, observed in (
            ("share of dead ReLUs", of_dead(optimizer, "dead_units")),
            ("share of dead ReLUs in the first layer", of_dead(optimizer, "dead_units_first")),
            ("share of dead ReLUs that a held-out example activates", of_dead(optimizer, "awake_units")),
            ("share of the first layer's ReLUs, dead half-way, that recover", of_dead(optimizer, "revived_units_first")),
            ("share of deeper ReLUs, dead half-way, that recover", of_dead(optimizer, "revived_units_deeper")),
            ("share of the loss reduction that is lost", lost(f"dead_{optimizer}", "residual")),
        )
    },
)


def over_twin_start(arm: str, curve: Any, **twin_at: float) -> Observed:
    """A norm at the end over that of a healthy network at its start."""
    twin = Curve(arm="twin", of=curve, **twin_at, **START)
    return Curve(arm=arm, of=curve, **END) / twin


def norm_left(arm: str) -> Observed:
    return over_twin_start(arm, "probe_flow_norm", value=BEST["twin"])


def zero_and_not_converged(words: str, arm: str) -> tuple[Criterion, ...]:
    return (
        criterion(
            words,
            "gradient norm at the end over that of a healthy network at its start",
            norm_left(arm),
            f"With {words}, the gradient norm ends at {{estimate}} the initial norm of a healthy network",
            clause="a",
            **below(0.01, refuted=0.1, null=1.0, unit="x"),
        ),
        criterion(
            words,
            "share of a healthy network's loss reduction that is lost",
            lost(arm, "twin"),
            f"With {words}, {{estimate}} of the loss reduction is lost",
            clause="b",
            null=0.0,
            claimed=AtLeast(value=0.9),
            refuted=AtMost(value=0.5),
            unit="share",
        ),
    )


WITH_TWIN = {**FLAT_ARMS, "the healthy network": "twin"}
ZERO_IS_NOT_CONVERGED = judgement(
    "flow.zero_is_not_converged",
    criterion(
        "sigmoids",
        "gradient of the first layer over that of the last at the end",
        first_over_last(FLAT_ARMS["sigmoids"], **END),
        "With 16 layers of sigmoids, the first layer's gradient is {estimate} the last one's",
        **below(0.01, refuted=0.1, unit="x", precondition=True),
    ),
    *(part for words, arm in FLAT_ARMS.items() for part in zero_and_not_converged(words, arm)),
    right={"supported": "possibly"},
    reported={
        "the same norm for the healthy network, which converges": (norm_left("twin"), "x"),
        **{
            f"the same for the norm of a batch, as a monitor shows it, {words}": (
                over_twin_start(arm, "probe_gradient_norm"),
                ("x"),
            )
            for words, arm in WITH_TWIN.items()
        },
        **{
            f"gradient of the first layer over that of the last at the end, {words}": (first_over_last(arm, **END), "x")
            for words, arm in WITH_TWIN.items()
        },
    },
)


STUDY = study(
    __file__,
    # Version 2 asked the same with 24 seeds, and the GPT's ratio of all matrices lay on the bound: 11.0 (9.87 to 12.2).
    version=3,
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
    arms=ARMS,
    factors={"peak_lr": (2.0**-6,)},
    seeds=16,
    first_seed=50_100,
    scales={
        "smoke": scales.smoke(
            training={"steps": 20},
            measurement={"flow_examples": 32, "final_examples": 32, "evaluation_examples": 32},
            arm_settings={
                **{arm: {"steps": 20, "probes": 2} for arm in ARMS if arm not in START_ARMS},
                "gpt": {"steps": 20, "flow_examples": 8},
            },
        ),
        "laptop": scales.laptop(
            "about four minutes of training",
            arm_seeds={"gpt": 96},
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: MLPs of 256 units, a CNN of 64 channels, a GPT of 3M parameters",
            workload={"width": 256},
            arm_settings={"gpt": GPU_GPT, "cnn": {"width": 64, "depth": 4}},
            seeds=8,
        ),
        "cluster": scales.gpu(
            "many GPUs, an hour: MLPs of 1,024 units, a GPT of 25M parameters on web text",
            workload={"width": 1024},
            arm_settings={"gpt": CLUSTER_GPT, "cnn": {"width": 128, "depth": 8}},
            seeds=8,
        ),
    },
    answer=("flow.vanishing", "flow.zero_is_not_converged", "flow.dead_relu", "flow.healthy"),
    judgements=(SIMILAR, VANISHING, DEAD_RELU, ZERO_IS_NOT_CONVERGED),
)
