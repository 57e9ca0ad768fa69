"""What does curvature say about the learning rate, and the learning rate about curvature?"""

from typing import Any, NamedTuple

from .kit import *
from .metrics.edge_of_stability import edge_loss, edge_sharpness

# The largest curvature of the bowl is 1, so that these are LRs times it.
BELOW, ABOVE = 1.99, 2.01
# Scales with enough seeds to tell a share from a half.
ENOUGH_SEEDS = ("laptop", "cluster")
AS_DERIVED = inside(0.999, 1.001, refuted=(0.95, 1.05), unit="x")
# A tanh network without norms on a few digits in full batches, half the squared error: a small Cohen et al. 2021. Without
# random labels digits are so easy that the loss vanishes before sharpness is high; with them they are as hard as CIFAR-10.
TANH_MLP = {"model": "mlp", "width": 32, "depth": 3, "activation": "tanh", "init_gain": 0.5, "loss": "squared_error"}
DIGITS = {"dataset": "digits", "feature_scale": 0.375, "label_noise": 0.2, "evaluation_examples": 359, "final_examples": 359}
ALL_DIGITS = dict.fromkeys(("training_set_size", "batch_size", "sharpness_examples"), 250)
PROBED = {"sampling": "full", "sharpness": "probes", "probes": 80, "evaluations": 1}
DEEP = {**TANH_MLP, **DIGITS, **ALL_DIGITS, **PROBED}
# Steps that a point of the training curve averages over.
POINT = 20
# LR x steps of a window over which the loss is to fall: 100 steps at the high LR, 300 at the low one; others are reported.
WINDOW, OTHER_WINDOWS = 15.0, (7.5, 30.0)
# Batches of 25 examples, as in usual training.
BATCHES = {"sampling": "replacement", "batch_size": 25}
GD = {"optimizer": "sgd", "momentum": 0.0}
MOMENTUM = {"optimizer": "sgd", "momentum": 0.9}
PRECONDITIONED = {"optimizer": "adam", "preconditioned_sharpness": True}


class Run(NamedTuple):
    """A full-batch run (reports/log). limit: LR x sharpness above which its optimizer is unstable on a quadratic."""

    arm: str
    name: str
    settings: dict[str, Any]
    lr: float
    steps: int
    limit: float
    cifar_lr: float

    def edge(self, of: Any = "median", **options: Any) -> Any:
        """At the edge: of sharpness relative to the run's limit, or of the loss."""
        kind: Any = edge_loss if of in ("rising_steps", "falling_windows") else edge_sharpness
        preconditioned = "preconditioned_sharpness" in self.settings
        return kind(arm=self.arm, limit=self.limit, preconditioned=preconditioned, of=of, **options)

    def falls(self, window: float) -> Any:
        """The share of windows of this LR x steps whose loss falls."""
        return self.edge("falling_windows", window=max(1, round(window / self.lr / POINT)) * POINT)

    @property
    def over_limit(self) -> str:
        which = "preconditioned sharpness" if "preconditioned_sharpness" in self.settings else "sharpness"
        return f"LR x {which} at the edge over {self.limit:.4g}, {self.name}"


GD_LIMIT = 2.0
GD_LOW = Run("gd_low", "low LR", GD, 0.05, 8000, limit=GD_LIMIT, cifar_lr=0.01)
GD_MIDDLE = Run("gd_middle", "middle LR", GD, 0.09, 5000, limit=GD_LIMIT, cifar_lr=0.02)
GD_HIGH = Run("gd_high", "high LR", GD, 0.15, 4000, limit=GD_LIMIT, cifar_lr=0.05)
HEAVY_BALL = Run("heavy_ball", "Heavy ball", MOMENTUM, 0.1, 3000, limit=2 * (1 + 0.9), cifar_lr=0.02)
NESTEROV_LIMIT = 2 * (1 + 0.9) / (1 + 2 * 0.9)
NESTEROV = Run("nesterov", "Nesterov", {**MOMENTUM, "nesterov": True}, 0.08, 3000, limit=NESTEROV_LIMIT, cifar_lr=0.02)
ADAM = Run("adam", "Adam", PRECONDITIONED, 0.0005, 3000, limit=2 * (1 + 0.9) / (1 - 0.9), cifar_lr=1e-4)
DESCENTS, OTHERS = (GD_LOW, GD_MIDDLE, GD_HIGH), (HEAVY_BALL, NESTEROV, ADAM)
RUNS = (*DESCENTS, *OTHERS)
# Cohen et al. 2021: the first 5,000 images of CIFAR-10, width 200, their LRs; torch's initialization of hidden weights.
CIFAR_MLP = {"width": 200, "depth": 2, "init_gain": 0.577, "probes": 50, "precision": "tf32"}
ALL_IMAGES = dict.fromkeys((*ALL_DIGITS, "evaluation_examples", "final_examples"), 5000)
CIFAR = {**CIFAR_MLP, **ALL_IMAGES, "dataset": "cifar-10", "feature_scale": 1.0, "label_noise": 0.0}


def lasting(steps: int) -> dict[str, int]:
    return {"steps": steps, "curve_points": steps // POINT}


def deep_arm(panel: str, label: str, settings: dict[str, Any], lr: float, steps: int) -> Arm:
    return Arm(panel=panel, label=label, settings={**DEEP, **lasting(steps), **settings}, factors={"peak_lr": (lr,)})


CIFAR_ARMS = {
    **{run.arm: {**CIFAR, **lasting(4000)} for run in RUNS},
    "gd_low": {**CIFAR, **lasting(8000)},
    "flow": {**CIFAR, **lasting(16_000)},
    **{arm: {**CIFAR, **lasting(4000), "batch_size": 500} for arm in ("sgd_batches", "adam_batches")},
}
CIFAR_LRS = {**{run.arm: run.cifar_lr for run in RUNS}, "flow": 0.005, "sgd_batches": 0.05, "adam_batches": 1e-4}
IMAGES: dict[str, Any] = {"arm_settings": CIFAR_ARMS, "arm_factors": {arm: {"peak_lr": (lr,)} for arm, lr in CIFAR_LRS.items()}}


def quadratic(name: str, number: str, says: str, **options: Any) -> Criterion:
    return Criterion(name=name, observe=computed("descent.quadratic", number), says=says, **options)


def order(method: str, number: str, **options: Any) -> Criterion:
    """The order of convergence near a minimum."""
    says = f"Near a minimum, the error of {method} scales as (previous error)^{{estimate}}"
    return Criterion(name=f"order of {method}", observe=computed("descent.near_a_minimum", number), says=says, **options)


def of_each(name: str, of: str, says: str, **options: Any) -> tuple[Criterion, ...]:
    """A criterion of every run of gradient descent."""
    return tuple(
        Criterion(name=f"{name}, {run.name}", observe=run.edge(of), says=f"At the {run.name}, {says}", **options)
        for run in DESCENTS
    )


def diverges(arm: str, lr: float, **options: Any) -> Criterion:
    """Runs in the bowl, at an LR in units of 1/λmax."""
    name = f"share of runs that diverge at {lr}/λmax"
    return Criterion(name=name, observe=FailureRate(arm=arm, tuned_for=arm), scales=ENOUGH_SEEDS, **options)


def highest(arm: str, limit: float, **options: Any) -> Any:
    return edge_sharpness(arm=arm, limit=limit, of="highest", **options)


def cohen(claim: str, finding: str, place: str = "2021, section 3", preprint: str = "2103.00065") -> Published:
    return Published(claim=claim, finding=finding, source=f"Cohen et al. {place}", link=f"https://arxiv.org/abs/{preprint}")


QUADRATIC = judgement(
    "eos.quadratic",
    quadratic(
        "share of LRs around 2/λmax at which descent converges if and only if it is below",
        "threshold",
        "Of six learning rates around 2/λmax, {estimate} converge if below it and diverge if above",
        **above(0.999, refuted=0.9, unit="share", clause="a"),
    ),
    quadratic(
        "the fastest LR over 2 / (λmax + λmin)",
        "best_lr",
        "The fastest LR is {estimate} the predicted 2 / (λmax + λmin)",
        clause="b",
        **AS_DERIVED,
    ),
    quadratic(
        "error left a step at the fastest LR, over (κ - 1) / (κ + 1)",
        "best_rate",
        "At the fastest LR, what a step leaves of the error is {estimate} the predicted (κ - 1) / (κ + 1)",
        clause="c",
        **AS_DERIVED,
    ),
    diverges("above", ABOVE, clause="d", **above(0.5, unit="share")),
    diverges("below", BELOW, clause="e", **below(0.5, unit="share")),
)

NEWTON = judgement(
    "eos.newton",
    order("Newton's method", "newton_order", clause="a", **inside(1.85, 2.15, refuted=AtMost(value=1.5))),
    order("gradient descent", "descent_order", clause="b", **inside(0.95, 1.05, refuted=AtLeast(value=1.5))),
    reported={
        "error factor of descent per step, over (κ - 1) / (κ + 1)": (computed("descent.near_a_minimum", "descent_rate"), "x")
    },
)

SHARPNESS = judgement(
    "eos.sharpness",
    Criterion(
        name="sharpness without a limit, over the limit of the lowest LR",
        # Beyond what counts as being at the limit: sharpness would have risen further.
        observe=highest("flow", GD_LIMIT, lr_of="gd_low"),
        **above(1.3, refuted=1.2, unit="x"),
        precondition=True,
        says="Near gradient flow, sharpness reaches {estimate} the limit of the lowest LR",
    ),
    *of_each(
        "sharpness at the start over the limit",
        "start",
        "sharpness starts at {estimate} the limit",
        precondition=True,
        **below(0.7, refuted=0.9, unit="x"),
    ),
    *of_each(
        "LR x sharpness at the edge over 2",
        "median",
        "LR x sharpness is {estimate} the limit of 2",
        expected=predicted(1.02, "Cohen et al. 2021, section 3: at 2/LR or just above", spread=0.03),
        panel="full batch",
        **inside(0.9, 1.2, unit="x"),
    ),
    Criterion(
        name="LR x sharpness over 2, SGD in mini-batches, second half of the run",
        observe=edge_sharpness(arm="sgd_batches", limit=GD_LIMIT, of="late", until=0.0),
        says="In mini-batches of a tenth of the examples, LR x sharpness settles at {estimate} the limit of 2",
        panel="mini-batches",
        expected=predicted(
            0.8, "Cohen et al. 2021, section 6: SGD stays below 2/LR; version 2 had .82 at its highest", spread=0.05
        ),
        **inside(0.9, 1.2, unit="x"),
    ),
    reported={
        **{run.over_limit: (run.edge(), "x") for run in OTHERS},
        **{f"sharpness at the start over the limit, {run.name}": (run.edge("start"), "x") for run in OTHERS},
        "highest LR x sharpness over 2, SGD in mini-batches": (highest("sgd_batches", GD_LIMIT, until=0.0), "x"),
        "highest LR x sharpness over 2, Adam": (highest("adam", GD_LIMIT), "x"),
        "highest LR x preconditioned sharpness over 38, Adam with batches": (
            highest("adam_batches", ADAM.limit, preconditioned=True, until=0.0),
            "x",
        ),
    },
)

EVERY_OTHER = "Cohen et al. 2021, section 3: along the sharpest direction iterates jump from side to side, every other step up"
RISES, FALLS = "share of steps at the edge whose loss rises", "share of windows at the edge whose loss falls"
MOST = above(0.8, refuted=0.5, unit="share")
NONMONOTONE = judgement(
    "eos.nonmonotone",
    *of_each(
        RISES,
        "rising_steps",
        "the loss rises in {estimate} of the steps",
        expected=predicted(0.4, EVERY_OTHER, spread=0.1),
        **above(0.1, refuted=0.02, unit="share", clause="a"),
    ),
    *(
        Criterion(
            name=f"{FALLS}, {run.name}",
            observe=run.falls(WINDOW),
            says=f"At the {run.name}, the loss falls over {{estimate}} of {run.falls(WINDOW).window}-step windows",
            clause="b",
            **MOST,
        )
        for run in DESCENTS
    ),
    reported={
        **{
            f"{words}, {run.name}": (run.edge(of), "share")
            for run in OTHERS
            for words, of in ((RISES, "rising_steps"), (f"{FALLS}, of 100 steps", "falling_windows"))
        },
        **{
            f"{FALLS}, LR x steps of {window:g}, {run.name}": (run.falls(window), "share")
            for run in DESCENTS
            for window in OTHER_WINDOWS
        },
        **{f"share of runs that diverge, {run.name}": (FailureRate(arm=run.arm, tuned_for=run.arm), "share") for run in RUNS},
        "test loss at the end, high LR minus near gradient flow": TunedLoss(arm="gd_high") - TunedLoss(arm="flow"),
    },
)

STUDY = study(
    __file__,
    version=3,
    # Batches, so that runs differ: their noise does not depend on the weights and moves no limit.
    workload=Workload(model="quadratic", dataset="quadratic:16"),
    training=Training(
        optimizer="sgd", momentum=0.0, weight_decay=0.0, schedule="constant", warmup_fraction=0.0, batch_size=256, steps=2000
    ),
    measurement=Measurement(probes=10, evaluations=20, evaluation_examples=2048, final_examples=2048),
    arms={
        "below": Arm(panel="Bowl", label="LR x λmax 1.99", factors={"peak_lr": (BELOW,)}),
        "above": Arm(panel="Bowl", label="LR x λmax 2.01", factors={"peak_lr": (ABOVE,)}),
        **{run.arm: deep_arm("Gradient descent", run.name, run.settings, run.lr, run.steps) for run in DESCENTS},
        **{run.arm: deep_arm(run.name, run.name, run.settings, run.lr, run.steps) for run in OTHERS},
        "flow": deep_arm("Gradient descent", "near gradient flow", {**GD, "probes": 50}, 0.02, 30_000),
        "sgd_batches": deep_arm("Batches", "SGD, batches", {**GD, **BATCHES}, GD_HIGH.lr, GD_HIGH.steps),
        "adam_batches": deep_arm("Batches", "Adam, batches", {**PRECONDITIONED, **BATCHES}, ADAM.lr, 3000),
    },
    factors={"peak_lr": (BELOW,)},
    seeds=8,
    first_seed=41_000,
    scales={
        "smoke": scales.smoke(
            training={"steps": 60}, arm_settings={arm: {"steps": 100, "curve_points": 5, "probes": 4} for arm in CIFAR_ARMS}
        ),
        "laptop": scales.laptop(
            "about five minutes of training",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: Cohen et al.'s network on 5,000 images of CIFAR-10; 256 dimensions",
            workload={"dataset": "quadratic:256"},
            **IMAGES,
            seeds=5,
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, a quarter of an hour: the same with more seeds; 1,024 dimensions",
            workload={"dataset": "quadratic:1024"},
            training={"steps": 4000},
            **IMAGES,
            seeds=10,
        ),
    },
    answer=("eos.sharpness", "eos.nonmonotone", "eos.quadratic", "eos.newton"),
    judgements=(QUADRATIC, NEWTON, SHARPNESS, NONMONOTONE),
)
