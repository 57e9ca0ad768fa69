"""A study of what curvature says about the learning rate, and the learning rate about curvature."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from .kit import *
from .metrics.edge_of_stability import edge_loss, edge_sharpness

study = Draft(
    __file__,
    # Batches, so that runs differ: their noise does not depend on the weights and moves no limit.
    dict(model="quadratic", dataset="quadratic:16", batch_size=256, steps=2000)
    | dict(optimizer="sgd", momentum=0.0, weight_decay=0.0, schedule="constant", warmup_fraction=0.0)
    | dict(probes=10, evaluations=20, evaluation_examples=2048, final_examples=2048),
    version=4,
    factors={"peak_lr": (1.99,)},
    seeds=8,
    first_seed=171_000,
    answer=("eos.sharpness", "eos.batch_sharpness", "eos.nonmonotone", "eos.quadratic"),
)


# Arms: gradient descent in a bowl, and networks at one LR each.


# The largest curvature of the bowl is 1, so that these are LRs times it.
BELOW = study.arm("below", "LR x λmax 1.99", "Bowl", factors={"peak_lr": (1.99,)})
ABOVE = study.arm("above", "LR x λmax 2.01", "Bowl", factors={"peak_lr": (2.01,)})

# A tanh network without norms on a few digits in full batches, half the squared error: a small Cohen et al. 2021. Without
# random labels digits are so easy that the loss vanishes before sharpness is high; with them they are as hard as CIFAR-10.
TANH_MLP: dict[str, Any] = (
    dict(model="mlp", width=32, depth=3, activation="tanh", init_gain=0.5, loss="squared_error")
    | dict(dataset="digits", feature_scale=0.375, label_noise=0.2, evaluation_examples=359, final_examples=359)
    | dict(training_set_size=250, batch_size=250, sampling="full")
    | dict(sharpness="probes", sharpness_examples=250, probes=80, evaluations=1)
)
# Cohen et al. 2021: the first 5,000 images of CIFAR-10, width 200, their LRs; torch's initialization of hidden weights.
CIFAR_MLP: dict[str, Any] = (
    dict(width=200, depth=2, init_gain=0.577, probes=50, precision="tf32")
    | dict(dataset="cifar-10", feature_scale=1.0, label_noise=0.0, evaluation_examples=5000, final_examples=5000)
    | dict(training_set_size=5000, sharpness_examples=5000)
)
# Steps that a point of the training curve averages over.
POINT = 20


class Run(NamedTuple):
    """lrs, steps: on digits, and on CIFAR-10. limit: LR x sharpness above which the optimizer is unstable on a quadratic."""

    arm: str
    label: str
    panel: str
    settings: dict[str, Any]
    lrs: tuple[float, float]
    steps: tuple[int, int]
    limit: float = 2.0

    def edge(self, metric: Any, of: str, **options: Any) -> Any:
        """A metric of it at the edge. metric: of its sharpness relative to the limit, or of its loss."""
        preconditioned = "preconditioned_sharpness" in self.settings
        return metric(arm=self.arm, limit=self.limit, preconditioned=preconditioned, of=of, **options)

    def falls(self, lr_times_steps: float) -> Any:
        """The share of windows of this length whose loss falls."""
        points = max(1, round(lr_times_steps / self.lrs[0] / POINT))
        return self.edge(edge_loss, "falling_windows", window=points * POINT)


GD = dict(optimizer="sgd", momentum=0.0)
DESCENTS = (
    Run("gd_low", "low LR", "Gradient descent", GD, (0.05, 0.01), (8000, 8000)),
    Run("gd_middle", "middle LR", "Gradient descent", GD, (0.09, 0.02), (5000, 4000)),
    Run("gd_high", "high LR", "Gradient descent", GD, (0.15, 0.05), (4000, 4000)),
)
MOMENTUM = dict(optimizer="sgd", momentum=0.9)
NESTEROV = MOMENTUM | dict(nesterov=True)
ADAM, ADAM_LIMIT = dict(optimizer="adam", preconditioned_sharpness=True), 2 * (1 + 0.9) / (1 - 0.9)
OTHERS = (
    Run("heavy_ball", "Heavy ball", "Heavy ball", MOMENTUM, (0.1, 0.02), (3000, 4000), 2 * (1 + 0.9)),
    Run("nesterov", "Nesterov", "Nesterov", NESTEROV, (0.08, 0.02), (3000, 4000), 2 * (1 + 0.9) / (1 + 2 * 0.9)),
    Run("adam", "Adam", "Adam", ADAM, (0.0005, 1e-4), (3000, 4000), ADAM_LIMIT),
)
FLOW = Run("flow", "near gradient flow", "Gradient descent", GD | dict(probes=50), (0.02, 0.005), (30_000, 16_000))
# Batches of 25 examples, as in usual training.
BATCHES = dict(sampling="replacement", batch_size=25)
SGD_BATCHES = Run("sgd_batches", "SGD, batches", "Batches", GD | BATCHES, (0.15, 0.05), (4000, 4000))
# As Andreyev and Beneventano advise: small initial weights, and high LRs, for at low ones training ends too early. Half of the
# lowest LR at which a pilot diverged, and a quarter of it, at equal LR x steps.
LONG = GD | dict(sampling="replacement", init_gain=0.3, batch_sharpness=32, probes=24)
SETTLING = {
    (size, lr): Run(f"sgd_{size}_{lr}", f"batch {size}", f"SGD, {lr} LR", LONG | dict(batch_size=size), lrs, steps)
    for lr, lrs, steps in (("high", (0.5, 0.1), (16_000, 16_000)), ("half", (0.25, 0.05), (32_000, 32_000)))
    for size in (10, 25, 50)
}
RUNS = (*DESCENTS, *OTHERS, FLOW, SGD_BATCHES, *SETTLING.values())

for run in RUNS:
    lasting = dict(steps=run.steps[0], curve_points=run.steps[0] // POINT)
    study.arm(run.arm, run.label, run.panel, TANH_MLP | lasting | run.settings, factors={"peak_lr": run.lrs[:1]})

study.smoke(dict(steps=60), arm_settings={tuple(run.arm for run in RUNS): dict(steps=100, curve_points=5, probes=4)})
# In a pilot the quarters of a run differed by a twentieth.
study.laptop("about five minutes of training", arm_seeds={run.arm: 12 for run in SETTLING.values()})
IMAGES: dict[str, Any] = {
    "arm_settings": {
        run.arm: CIFAR_MLP
        | dict(steps=run.steps[1], curve_points=run.steps[1] // POINT)
        # As large a share of the examples as on digits.
        | dict(batch_size=20 * run.settings.get("batch_size", 250))
        for run in RUNS
    },
    "arm_factors": {run.arm: {"peak_lr": run.lrs[1:]} for run in RUNS},
}
study.gpu(
    "one GPU, at most four minutes: Cohen et al.'s network on 5,000 images of CIFAR-10; 256 dimensions",
    dict(dataset="quadratic:256"),
    **IMAGES,
    seeds=5,
)
study.cluster(
    "a GPU of a cluster, a quarter of an hour: the same with more seeds; 1,024 dimensions",
    dict(dataset="quadratic:1024", steps=4000),
    **IMAGES,
    seeds=10,
)


# Claims.


# Scales with enough seeds to tell a share from a half.
ENOUGH_SEEDS = ("laptop", "cluster")
as_derived = partial(within, 0.999, 1.001, refuted=(0.95, 1.05), unit="x")

study.claim(
    "eos.quadratic",
    at_least(
        0.999,
        computed("descent.quadratic", "threshold"),
        "share of LRs around 2/λmax at which descent converges if and only if it is below",
        "Of six learning rates around 2/λmax, {estimate} converge if below it and diverge if above",
        refuted=0.9,
        clause="a",
        unit="share",
    ),
    as_derived(
        computed("descent.quadratic", "best_lr"),
        "the fastest LR over 2 / (λmax + λmin)",
        "The fastest LR is {estimate} the predicted 2 / (λmax + λmin)",
        clause="b",
    ),
    as_derived(
        computed("descent.quadratic", "best_rate"),
        "error left a step at the fastest LR, over (κ - 1) / (κ + 1)",
        "At the fastest LR, a step multiplies the error by {estimate} the predicted (κ - 1) / (κ + 1)",
        clause="c",
    ),
    at_least(
        0.5, FailureRate(arm=ABOVE, tuned_for=ABOVE), "share of runs that diverge at 2.01/λmax", clause="d", scales=ENOUGH_SEEDS
    ),
    at_most(
        0.5, FailureRate(arm=BELOW, tuned_for=BELOW), "share of runs that diverge at 1.99/λmax", clause="e", scales=ENOUGH_SEEDS
    ),
)


@study.claim("eos.newton")
def orders_of_convergence() -> Iterator[Part]:
    for clause, method, number, low, high, refuted in (
        ("a", "Newton's method", "newton_order", 1.85, 2.15, AtMost(value=1.5)),
        ("b", "gradient descent", "descent_order", 0.95, 1.05, AtLeast(value=1.5)),
    ):
        yield within(
            low,
            high,
            computed("descent.near_a_minimum", number),
            f"order of {method}",
            f"Near a minimum, the error of {method} scales as (previous error)^{{estimate}}",
            refuted,
            clause=clause,
        )
    rate = computed("descent.near_a_minimum", "descent_rate")
    yield reported(rate, "error factor of descent per step, over (κ - 1) / (κ + 1)", "x")


at_the_limit = partial(within, 0.9, 1.2, unit="x")


@study.claim("eos.sharpness")
def sharpness_rises_to_the_limit() -> Iterator[Part]:
    # Beyond what counts as being at the limit: sharpness would have risen further.
    yield at_least(
        1.3,
        FLOW.edge(edge_sharpness, "highest", lr_of="gd_low"),
        "sharpness without a limit, over the limit of the lowest LR",
        "Near gradient flow, sharpness reaches {estimate} the limit of the lowest LR",
        refuted=1.2,
        precondition=True,
        unit="x",
    )
    for run in DESCENTS:
        yield at_most(
            0.7,
            run.edge(edge_sharpness, "start"),
            f"sharpness at the start over the limit, {run.label}",
            f"At the {run.label}, sharpness starts at {{estimate}} the limit",
            refuted=0.9,
            precondition=True,
            unit="x",
        )
    for run in DESCENTS:
        yield at_the_limit(
            run.edge(edge_sharpness, "median"),
            f"LR x sharpness at the edge over 2, {run.label}",
            f"At the {run.label}, LR x sharpness is {{estimate}} the limit of 2",
            expected=predicted(1.02, "Cohen et al. 2021, section 3: at 2/LR or just above", spread=0.03),
            panel="full batch",
        )
    below = "Cohen et al. 2021, section 6: SGD stays below 2/LR; version 2 had .82 at its highest"
    yield at_the_limit(
        SGD_BATCHES.edge(edge_sharpness, "late", until=0.0),
        "LR x sharpness over 2, SGD in mini-batches, second half of the run",
        "In mini-batches of a tenth of the examples, LR x sharpness settles at {estimate} the limit of 2",
        expected=predicted(0.8, below, spread=0.05),
        panel="mini-batches",
    )
    sharpness = partial(reported, unit="x")
    for run in OTHERS:
        which = "preconditioned sharpness" if run.arm == "adam" else "sharpness"
        yield sharpness(run.edge(edge_sharpness, "median"), f"LR x {which} at the edge over {run.limit:.4g}, {run.label}")
    for run in OTHERS:
        yield sharpness(run.edge(edge_sharpness, "start"), f"sharpness at the start over the limit, {run.label}")
    yield sharpness(edge_sharpness(arm="adam", limit=2.0, of="highest"), "highest LR x sharpness over 2, Adam")


@study.claim("eos.batch_sharpness")
def batch_sharpness_settles_at_the_limit() -> Iterator[Part]:
    late = partial(Run.edge, metric=edge_sharpness, of="late", until=0.0)
    for (size, lr), run in SETTLING.items():
        title = f"batches of {size}, {lr} LR"
        of_run: dict[str, Any] = {"panel": title, "unit": "x"}
        start, third, last = (run.edge(edge_sharpness, of, until=0.0, batches="mean") for of in ("start", "third", "last"))
        yield at_most(
            0.8,
            start,
            f"batch sharpness at the start over the limit, {title}",
            f"With {title}, batch sharpness starts at {{estimate}} the limit",
            refuted=1 / 1.1,
            precondition=True,
            **of_run,
        )
        if lr == "high":
            # It is this LR's limit that stops it.
            half = late(SETTLING[size, "half"], batches="mean", lr_of=run.arm)
            yield at_least(
                1.3,
                half,
                f"batch sharpness at half the LR over the limit, {title}",
                f"With {title}, batch sharpness goes to {{estimate}} the limit if the LR is halved",
                refuted=1.1,
                precondition=True,
                **of_run,
            )
        yield as_published(
            1.0,
            1.1,
            late(run, batches="mean"),
            "Andreyev and Beneventano 2024: batch sharpness hovers around 2/LR",
            f"LR x batch sharpness over 2, {title}",
            f"With {title}, LR x batch sharpness is {{estimate}} the limit of 2",
            clause="a",
            underpowered="twelve seeds are told from the margin at laptop scale; a GPU trains five in four minutes",
            **of_run,
        )
        yield within(
            1 / 1.1,
            1.1,
            Quotient(top=last, bottom=third),
            f"batch sharpness in the last quarter over that in the third, {title}",
            f"With {title}, batch sharpness of the last quarter is {{estimate}} that of the third",
            clause="b",
            **of_run,
        )
        yield at_most(
            1.0,
            late(run),
            f"LR x sharpness over 2, {title}",
            f"With {title}, LR x sharpness is {{estimate}} the limit of 2",
            null=1.0,
            clause="c",
            **of_run,
        )
    for (size, lr), run in SETTLING.items():
        pooled = late(run, batches="pooled")
        yield reported(pooled, f"LR x batch sharpness over 2 by the ratio of means, batches of {size}, {lr} LR", "x")


SIDE_TO_SIDE = "Cohen et al. 2021, section 3: along the sharpest direction iterates jump from side to side, every other step up"
RISES, FALLS = "share of steps at the edge whose loss rises", "share of windows at the edge whose loss falls"


@study.claim("eos.nonmonotone")
def loss_rises_and_falls() -> Iterator[Part]:
    for run in DESCENTS:
        yield at_least(
            0.1,
            run.edge(edge_loss, "rising_steps"),
            f"{RISES}, {run.label}",
            f"At the {run.label}, the loss rises in {{estimate}} of the steps",
            refuted=0.02,
            clause="a",
            expected=predicted(0.4, SIDE_TO_SIDE, spread=0.1),
        )
    for run in DESCENTS:
        # Windows of this LR x steps: 100 steps at the high LR, 300 at the low one.
        falls = run.falls(15.0)
        yield at_least(
            0.8,
            falls,
            f"{FALLS}, {run.label}",
            f"At the {run.label}, the loss falls over {{estimate}} of {falls.window}-step windows",
            refuted=0.5,
            clause="b",
        )
    for run in OTHERS:
        yield reported(run.edge(edge_loss, "rising_steps"), f"{RISES}, {run.label}")
        yield reported(run.edge(edge_loss, "falling_windows"), f"{FALLS}, of 100 steps, {run.label}")
    for run in DESCENTS:
        for lr_times_steps in (7.5, 30.0):
            yield reported(run.falls(lr_times_steps), f"{FALLS}, LR x steps of {lr_times_steps:g}, {run.label}")
    for run in (*DESCENTS, *OTHERS):
        yield reported(FailureRate(arm=run.arm, tuned_for=run.arm), f"share of runs that diverge, {run.label}")
    test_loss_gap = TunedLoss(arm="gd_high") - TunedLoss(arm="flow")
    yield reported(test_loss_gap, "test loss at the end, high LR minus near gradient flow")


STUDY = study.declared()
