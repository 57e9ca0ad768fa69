"""How do gradients vary across layers, and what does a gradient near zero mean?"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from .kit import *
from .metrics.gradient_flow import growth_factor

study = Draft(
    __file__,
    # No weight decay: it would move weights that no gradient moves.
    DIGITS_MLP
    | dict(depth=8, optimizer="sgd", weight_decay=0.0, schedule="cosine", warmup_fraction=0.05, batch_size=32, steps=600)
    | dict(probes=4, evaluations=2, evaluation_examples=359, final_examples=359, curve_points=20)
    | dict(gradient_flow=True, flow_examples=1079),
    version=3,  # why each version: reports/log
    factors=peak_lrs(-6),
    seeds=16,
    first_seed=50_100,
    answer=("flow.vanishing", "flow.zero_is_not_converged", "flow.dead_relu", "flow.healthy"),
)


# Arms: healthy networks, deep sigmoids beside healthy twins, ReLUs that die, and networks whose gradient falls to nothing.


RESIDUAL = {"residual": True, "norm": "layer"}
SIGMOID = {"activation": "sigmoid"}

# By arm: the network, the exponent of its best LR in a pilot on other seeds, and its settings.
HEALTHY: dict[str, tuple[str, float, Settings]] = {
    "gpt": (
        "GPT",
        -7,
        dict(model="gpt", dataset="python-docs", width=32, depth=2, context=32)
        | dict(optimizer="adamw", batch_size=8, flow_examples=64),
    ),
    "cnn": ("CNN", -4.5, dict(model="cnn", width=16, depth=2, optimizer="adamw", batch_size=16)),
    "residual": ("MLP with residuals and norms, depth 8", -5, RESIDUAL | dict(depth=8, optimizer="sgd")),
    "relu": ("MLP of ReLUs, depth 8", -6, dict(depth=8, optimizer="sgd")),
}
for arm, (network, log2_lr, settings) in HEALTHY.items():
    study.arm(arm, "best LR", network, settings, steps=300, factors=peak_lrs(log2_lr))

# Layers of these kinds are read at the start only, at several depths.
KINDS: dict[str, tuple[str, Settings]] = {
    "sigmoid": ("sigmoids", SIGMOID),
    "tanh": ("tanh, gain 1", dict(activation="tanh", init_gain=1.0)),
    "relu": ("ReLUs", {}),
    "residual": ("ReLUs, residuals and norms", RESIDUAL),
}
DEPTHS = (2, 4, 8, 16, 32)
for kind, (words, settings) in KINDS.items():
    for depth in DEPTHS:
        start = {**settings, "depth": depth, "steps": 2, "probes": 2}
        study.arm(f"{kind}_start_{depth}", f"depth {depth}", words, start, factors=peak_lrs(-6))

# The optimizer's part of an arm's name.
SUFFIX = {"SGD": "sgd", "AdamW": "adam"}


class Deep(NamedTuple):
    """A deep network of sigmoids, and its twin with residuals and norms, each with the exponent of its best LR."""

    depth: int
    optimizer: str
    log2_lr: float
    twin_log2_lr: float

    @property
    def panel(self) -> str:
        return f"{self.depth} layers of sigmoids, {self.optimizer}"

    @property
    def arm(self) -> str:
        return f"sigmoid_{self.depth}_{SUFFIX[self.optimizer]}"

    @property
    def twin(self) -> str:
        return f"residual_{self.depth}_{SUFFIX[self.optimizer]}"


# The loss of sigmoids with SGD is the same, and flat, at all LRs from 2^-4 to 2^0.
DEEP_SGD = (Deep(5, "SGD", -4, -6), Deep(10, "SGD", -4, -6))
DEEP_ADAMW = (Deep(5, "AdamW", -7, -9), Deep(10, "AdamW", -9, -9))
DEEP = (*DEEP_SGD, *DEEP_ADAMW)
for deep in DEEP:
    first_half = {5: "hidden.[01].*", 10: "hidden.[0-4].*"}[deep.depth]
    for arm, label, layers, log2_lr in (
        (deep.arm, "sigmoids", SIGMOID, deep.log2_lr),
        (deep.twin, "residuals and norms", RESIDUAL, deep.twin_log2_lr),
    ):
        run = {**layers, "depth": deep.depth, "optimizer": deep.optimizer.lower(), "factors": peak_lrs(log2_lr)}
        study.arm(arm, label, deep.panel, run)
        frozen = {"scaled_parameter": first_half, "scaled_lr": 1e-6}
        study.arm(f"{arm}_frozen", f"{label}, first half frozen", deep.panel, run, **frozen)
for deep in DEEP_SGD:
    run = {**SIGMOID, "depth": deep.depth, "optimizer": "sgd", "factors": peak_lrs(0)}
    study.arm(f"{deep.arm}_large", "sigmoids, LR 1", deep.panel, run)

# LRs at which two fifths of a pilot's units were dead and the loss still fell.
DEAD = {
    optimizer: study.arm(
        f"dead_{SUFFIX[optimizer]}",
        optimizer,
        f"MLP of ReLUs, depth 4, {optimizer}",
        dict(optimizer=optimizer.lower(), depth=4, steps=500, probes=10, gradient_flow=False, dead_units=True),
        factors=peak_lrs(log2_lr),
    )
    for optimizer, log2_lr in {"SGD": -3, "AdamW": -4}.items()
}

# The healthy network's best LR falls to zero; else the gradient left would be that of the last jump of the readout's bias.
FLAT_LR = 2.0**-6
FLAT_RUN = dict(depth=16, final_fraction=0.0, factors={"peak_lr": (FLAT_LR,)})
FLAT = {
    "sigmoids": study.arm("flat_sigmoid", "sigmoids", "16 layers, sigmoids", SIGMOID | FLAT_RUN),
    "small weights": study.arm("flat_small", "small weights", "16 layers, small weights", FLAT_RUN, init_gain=0.5),
}
TWIN = study.arm("twin", "residuals and norms", "16 layers", RESIDUAL | FLAT_RUN)

study.smoke(
    dict(steps=20, flow_examples=32, final_examples=32, evaluation_examples=32),
    arm_settings={
        tuple(arm for arm in study.arms if "_start_" not in arm): dict(steps=20, probes=2),
        "gpt": dict(steps=20, flow_examples=8),
    },
)
study.laptop(
    "about four minutes of training",
    # With 24 seeds the GPT's ratio of all matrices lay on the bound: 11.0 (9.87 to 12.2).
    arm_seeds={"gpt": 96},
)
study.gpu(
    "one GPU, at most four minutes: MLPs of 256 units, a CNN of 64 channels, a GPT of 3M parameters",
    width=256,
    arm_settings={
        "gpt": dict(dataset="python-source", width=256, depth=4, heads=4, context=128, batch_size=16, steps=600),
        "cnn": dict(width=64, depth=4),
    },
    seeds=8,
)
study.cluster(
    "many GPUs, an hour: MLPs of 1,024 units, a GPT of 25M parameters on web text",
    width=1024,
    arm_settings={
        "gpt": dict(dataset="web-text", width=512, depth=8, heads=8, context=256, batch_size=32, steps=2000),
        "cnn": dict(width=128, depth=8),
    },
    seeds=8,
)


# Claims.


# Where curves are read: at the first step (initial weights), after a quarter of the run, at the end.
START, QUARTER, END = {"first": 0.0, "last": 0.004}, {"first": 0.2, "last": 0.3}, {"first": 0.9, "last": 1.0}
TIMES = {"at the start": START, "after a quarter of the run": QUARTER, "at the end": END}
# Ratios of curves: of the first layer over the last one, and of the largest over the smallest gradient of a matrix.
FIRST_OVER_LAST: Settings = {"of": "probe_flow_first", "divided_by": "probe_flow_last"}
HIDDEN: Settings = {"of": "probe_flow_hidden_most", "divided_by": "probe_flow_hidden_least"}
NORMS: Settings = {"of": "probe_flow_most", "divided_by": "probe_flow_least"}
ENTRIES: Settings = {"of": "probe_flow_rms_most", "divided_by": "probe_flow_rms_least"}
GAINS = "training the first half of the layers gains"


def moved(arm: str) -> Curve:
    """How far the first layer moves over how far the last one does."""
    return Curve(arm=arm, of="probe_flow_first_moved", divided_by="probe_flow_last_moved", **END)


def growth(kind: str) -> Any:
    """The growth, by layer, of the first layer's gradient over the last one's."""
    return growth_factor(
        points=tuple((depth, Curve(arm=f"{kind}_start_{depth}", **FIRST_OVER_LAST, last=0.5)) for depth in DEPTHS)
    )


def lost(arm: str, healthy: str) -> LossGap:
    """The loss of an arm against a healthy network, as a share of that one's loss reduction."""
    return loss_gap(arm, healthy, FinalLoss, best_of=(healthy,))


def gained(arm: str, *best_of: str) -> LossGap:
    """The gain of training the first half of the layers."""
    return loss_gap(f"{arm}_frozen", arm, FinalLoss, best_of=best_of)


def gradient_vanishes(arm: str, when: str, panel: str, network: str) -> Criterion:
    ratio = Curve(arm=arm, **FIRST_OVER_LAST, **TIMES[when])
    name = f"gradient of the first layer over that of the last {when}, {panel}"
    says = f"With {network}, the first layer's gradient is {{estimate}} the last one's"
    return at_most(0.01, ratio, name, says, refuted=0.1, panel=panel, precondition=True)


@study.claim("flow.healthy", right={"supported": "similar", "refuted": "differ"})
def similar() -> Iterator[Part]:
    for arm, (network, log2_lr, _) in HEALTHY.items():
        for clause, matrices, norms, when in (
            ("a", "between hidden layers", HIDDEN, "at the start"),
            ("b", "between hidden layers", HIDDEN, "after a quarter of the run"),
            ("c", "between hidden layers", HIDDEN, "at the end"),
            ("d", "of any kind", NORMS, "at the start"),
        ):
            at = {"value": 2.0**log2_lr, **TIMES[when]}
            ratio = Curve(arm=arm, **norms, **at)
            name = f"largest gradient norm of a weight matrix {matrices} over the smallest {when}, {network}"
            says = f"In the {network}, the largest gradient norm of a matrix {matrices} is {{estimate}} the smallest {when}"
            alternatives = {"by root mean squares of the entries, of any kind": Curve(arm=arm, **ENTRIES, **at)}
            yield at_most(10.0, ratio, name, says, clause=clause, panel=network, alternatives=alternatives)
        for name, norms in {"matrices of any kind": NORMS, "of any kind, by root mean squares": ENTRIES}.items():
            for when, window in TIMES.items():
                yield reported(Curve(arm=arm, **norms, **window), f"{name} {when}, {network}")
    for arm, (network, _, _) in HEALTHY.items():
        yield reported(FinalLoss(arm=arm), f"test loss, {network}", "nats")
    sigmoids = Curve(arm="sigmoid_start_8", **NORMS, last=0.5)
    yield reported(sigmoids, "of a network that is not healthy, sigmoids, depth 8, at the start")


@study.claim("flow.vanishing")
def vanishing() -> Iterator[Part]:
    name = "factor of each further layer of sigmoids on the first layer's gradient over the last one's"
    says = "Each additional sigmoid layer multiplies the first layer's gradient by {estimate}"
    theory = predicted(0.233, "mean field, Schoenholz et al. 2017, equations 3 and 5")
    yield at_most(0.5, growth("sigmoid"), name, says, refuted=0.9, unit="x", precondition=True, expected=theory)
    for deep in DEEP:
        words = f"{deep.depth} layers of sigmoids and {deep.optimizer}"
        yield gradient_vanishes(deep.arm, "at the start", deep.panel, words)
        far, twin_far = (Curve(arm=arm, of="probe_flow_first_moved", **END) for arm in (deep.arm, deep.twin))
        name = f"how far the first layer moves, over how far the last one does, {deep.panel}"
        says = f"With {words}, the movement of the first layer is {{larger}} than that of the last one"
        alternatives = {"over how far that of a network with residuals and norms moves": far / twin_far}
        yield at_most(0.1, moved(deep.arm), name, says, clause="a", refuted=0.5, panel=deep.panel, alternatives=alternatives)
        # With SGD they learn nothing at all, whichever layers are trained.
        if deep in DEEP_ADAMW:
            gain = gained(deep.arm, deep.arm, deep.twin)
            name = f"share of the loss reduction that {GAINS}, {deep.panel}"
            says = f"With {words}, {GAINS} {{estimate}} of a healthy network's loss reduction"
            yield at_most(0.05, gain, name, says, clause="b", refuted=0.2, unit="share", panel=deep.panel)
    for kind in ("tanh", "relu", "residual"):
        yield reported(growth(kind), f"factor of each additional layer, {KINDS[kind][0]}", "x")
    for deep in DEEP:
        yield reported(lost(deep.arm, deep.twin), f"share of the loss reduction that is lost, {deep.panel}", "share")
    for sgd, adamw in zip(DEEP_SGD, DEEP_ADAMW, strict=True):
        for arm, network in (
            (f"{sgd.arm}_large", f"{sgd.panel}, an LR of 1"),
            (sgd.twin, f"{sgd.depth} layers with residuals and norms, SGD"),
            (adamw.twin, f"{adamw.depth} layers with residuals and norms, AdamW"),
        ):
            yield reported(moved(arm), f"how far the first layer moves over how far the last one does, {network}")
    for deep in DEEP_SGD:
        gain = gained(deep.arm, deep.arm, deep.twin)
        yield reported(gain, f"share of the loss reduction that {GAINS}, {deep.panel}", "share")
    for deep in DEEP_SGD:
        loss = lost(f"{deep.arm}_large", deep.twin)
        yield reported(loss, f"share of the loss reduction that is lost at an LR of 1, depth {deep.depth}, SGD", "share")
    for deep in DEEP:
        gain = gained(deep.twin, deep.twin)
        yield reported(gain, f"the same gain with residuals and norms, depth {deep.depth}, {deep.optimizer}", "share")
    for deep in DEEP:
        ratio = Curve(arm=deep.arm, **FIRST_OVER_LAST, **END)
        yield reported(ratio, f"first layer's gradient over the last one's at the end, {deep.panel}")


@study.claim("flow.dead_relu")
def without_gradient() -> Iterator[Part]:
    for optimizer, arm in DEAD.items():
        gradient = Curve(arm=arm, of="probe_dead_gradient")
        name = f"largest gradient of a dead ReLU's weights and bias, {optimizer}"
        says = f"With {optimizer}, the largest gradient of a dead ReLU is {{estimate}}"
        # Zero is the end of the axis, and no region ends there.
        yield at_most(1e-30, gradient, name, says, refuted=1e-12, panel=optimizer)
        for name, curve in {
            "share of dead ReLUs": "dead_units",
            "share of dead ReLUs in the first layer": "dead_units_first",
            "share of dead ReLUs that a held-out example activates": "awake_units",
            "share of the first layer's ReLUs, dead half-way, that recover": "revived_units_first",
            "share of deeper ReLUs, dead half-way, that recover": "revived_units_deeper",
        }.items():
            yield reported(Curve(arm=arm, of=f"probe_{curve}", **END), f"{name}, {optimizer}", "share")
        yield reported(lost(arm, "residual"), f"share of the loss reduction that is lost, {optimizer}", "share")


def over_twin_start(arm: str, curve: str, **twin_at: float) -> Observed:
    """A norm at the end over that of a healthy network at its start."""
    return Curve(arm=arm, of=curve, **END) / Curve(arm=TWIN, of=curve, **twin_at, **START)


@study.claim("flow.zero_is_not_converged", right={"supported": "possibly"})
def not_converged() -> Iterator[Part]:
    yield gradient_vanishes(FLAT["sigmoids"], "at the end", "sigmoids", "16 layers of sigmoids")
    for network, arm in FLAT.items():
        norm_left = over_twin_start(arm, "probe_flow_norm", value=FLAT_LR)
        name = f"gradient norm at the end over that of a healthy network at its start, {network}"
        says = f"With {network}, the gradient norm ends at {{estimate}} the initial norm of a healthy network"
        yield at_most(0.01, norm_left, name, says, clause="a", refuted=0.1, null=1.0, panel=network)
        name = f"share of a healthy network's loss reduction that is lost, {network}"
        says = f"With {network}, {{estimate}} of the loss reduction is lost"
        yield at_least(0.9, lost(arm, TWIN), name, says, clause="b", refuted=0.5, null=0.0, unit="share", panel=network)
    norm_left = over_twin_start(TWIN, "probe_flow_norm", value=FLAT_LR)
    yield reported(norm_left, "the same norm for the healthy network, which converges")
    with_twin = {**FLAT, "the healthy network": TWIN}
    for network, arm in with_twin.items():
        batch_norm = over_twin_start(arm, "probe_gradient_norm")
        yield reported(batch_norm, f"the same for the norm of a batch, as a monitor shows it, {network}")
    for network, arm in with_twin.items():
        ratio = Curve(arm=arm, **FIRST_OVER_LAST, **END)
        yield reported(ratio, f"gradient of the first layer over that of the last at the end, {network}")


STUDY = study.declared()
