"""What does the curvature of a loss say about the learning rate, and the learning rate about the curvature?"""

from typing import Any, NamedTuple

from folklore.harness.metrics import EdgeLoss, EdgeSharpness, FailureRate, TunedLoss
from folklore.harness.spec import Arm, AtLeast, AtMost, Criterion, Measurement, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import above, below, computed, inside, judgement, predicted

# The largest curvature of the bowl is 1, so that these are LRs times it.
BELOW, ABOVE = 1.99, 2.01
# At which a share of seeds can be told from a half.
ENOUGH_SEEDS = ("laptop", "cluster")
AS_DERIVED = inside(0.999, 1.001, refuted=(0.95, 1.05), unit="x")
# A tanh network without norms on all of a few digits at once, half the squared error: Cohen et al. 2021 in small. Digits are so
# easy that their loss is gone before sharpness is high; with some labels drawn at random they are as hard as CIFAR-10.
TANH_MLP = {"model": "mlp", "width": 32, "depth": 3, "activation": "tanh", "init_gain": 0.5, "loss": "squared_error"}
DIGITS = {"dataset": "digits", "feature_scale": 0.375, "label_noise": 0.2, "evaluation_examples": 359, "final_examples": 359}
ALL_DIGITS = dict.fromkeys(("training_set_size", "batch_size", "sharpness_examples"), 250)
PROBED = {"sampling": "full", "sharpness": "probes", "probes": 80, "evaluations": 1}
DEEP = {**TANH_MLP, **DIGITS, **ALL_DIGITS, **PROBED}
# A point of the training curve is the mean of so many steps, five of them a window.
POINT = 20
# Batches of 25 examples, as most training has them.
BATCHES = {"sampling": "replacement", "batch_size": 25}
GD = {"optimizer": "sgd", "momentum": 0.0}
MOMENTUM = {"optimizer": "sgd", "momentum": 0.9}
PRECONDITIONED = {"optimizer": "adam", "preconditioned_sharpness": True}


class Run(NamedTuple):
    """A run with all examples at every step, at an LR that starts far below its edge (reports/log).

    limit: LR x sharpness above which its optimizer is unstable on a quadratic.
    """

    arm: str
    name: str
    settings: dict[str, Any]
    lr: float
    steps: int
    limit: float
    cifar_lr: float

    def edge(self, kind: Any, **options: Any) -> Any:
        """kind: EdgeSharpness or EdgeLoss, held against the run's limit."""
        return kind(arm=self.arm, limit=self.limit, preconditioned="preconditioned_sharpness" in self.settings, **options)


GD_LIMIT = 2.0
GD_LOW = Run("gd_low", "low LR", GD, 0.05, 8000, limit=GD_LIMIT, cifar_lr=0.01)
GD_MIDDLE = Run("gd_middle", "middle LR", GD, 0.09, 5000, limit=GD_LIMIT, cifar_lr=0.02)
GD_HIGH = Run("gd_high", "high LR", GD, 0.15, 4000, limit=GD_LIMIT, cifar_lr=0.05)
HEAVY_BALL = Run("heavy_ball", "Heavy ball", MOMENTUM, 0.1, 3000, limit=2 * (1 + 0.9), cifar_lr=0.02)
NESTEROV = Run(
    "nesterov", "Nesterov", {**MOMENTUM, "nesterov": True}, 0.08, 3000, limit=2 * (1 + 0.9) / (1 + 2 * 0.9), cifar_lr=0.02
)
ADAM = Run("adam", "Adam", PRECONDITIONED, 0.0005, 3000, limit=2 * (1 + 0.9) / (1 - 0.9), cifar_lr=1e-4)
DESCENTS, OTHERS = (GD_LOW, GD_MIDDLE, GD_HIGH), (HEAVY_BALL, NESTEROV, ADAM)
RUNS = (*DESCENTS, *OTHERS)
# Cohen et al. 2021's own: the first 5,000 images of CIFAR-10, width 200, and its LRs; torch's own start of hidden weights.
CIFAR_MLP = {"width": 200, "depth": 2, "init_gain": 0.577, "probes": 50, "precision": "tf32"}
ALL_IMAGES = dict.fromkeys((*ALL_DIGITS, "evaluation_examples", "final_examples"), 5000)
CIFAR = {**CIFAR_MLP, **ALL_IMAGES, "dataset": "cifar-10", "feature_scale": 1.0, "label_noise": 0.0}


def lasting(steps: int) -> dict[str, int]:
    return {"steps": steps, "curve_points": steps // POINT}


def deep_arm(panel: str, label: str, settings: dict[str, Any], lr: float, steps: int) -> Arm:
    return Arm(panel=panel, label=label, settings={**DEEP, **lasting(steps), **settings}, factors={"peak_lr": (lr,)})


CIFAR_ARMS = {
    **{run.arm: {**CIFAR, **lasting(4000)} for run in RUNS},
    **{arm: {**CIFAR, **lasting(8000)} for arm in ("gd_low", "flow")},
    **{arm: {**CIFAR, **lasting(2000), "batch_size": 100} for arm in ("sgd_batches", "adam_batches")},
}
CIFAR_LRS = {
    **{run.arm: run.cifar_lr for run in RUNS},
    "flow": 0.005,
    "sgd_batches": GD_HIGH.cifar_lr,
    "adam_batches": ADAM.cifar_lr,
}
CIFAR_FACTORS = {arm: {"peak_lr": (lr,)} for arm, lr in CIFAR_LRS.items()}


def of_each(name: str, kind: Any, of: str, says: str, **options: Any) -> tuple[Criterion, ...]:
    """A criterion of every run of gradient descent; kind, of: as Run.edge."""
    return tuple(
        Criterion(name=f"{name}, {run.name}", observe=run.edge(kind, of=of), says=f"At the {run.name}{says}", **options)
        for run in DESCENTS
    )


def diverging(arm: str) -> FailureRate:
    return FailureRate(arm=arm, tuned_for=arm)


def highest(arm: str, limit: float, **options: Any) -> EdgeSharpness:
    return EdgeSharpness(arm=arm, limit=limit, of="highest", **options)


def cohen(claim: str, section: str, finding: str, year: int = 2021, number: str = "2103.00065") -> Published:
    """number: of its preprint."""
    source, link = f"Cohen et al. {year}, {section}", f"https://arxiv.org/abs/{number}"
    return Published(claim=claim, finding=finding, source=source, link=link)


QUADRATIC = judgement(
    "eos.quadratic",
    Criterion(
        name="share of LRs around 2/λmax at which descent converges if and only if it is below",
        observe=computed("descent.quadratic", "threshold"),
        **above(0.999, refuted=0.9, unit="share"),
        says="Of six learning rates around 2/λmax, {estimate} converge if below it and do not if above",
    ),
    Criterion(
        name="the fastest LR over 2 / (λmax + λmin)",
        observe=computed("descent.quadratic", "best_lr"),
        says="The fastest is {estimate} 2/(λmax + λmin)",
        **AS_DERIVED,
    ),
    Criterion(
        name="error left a step at the fastest LR, over (κ - 1) / (κ + 1)",
        observe=computed("descent.quadratic", "best_rate"),
        says="It leaves {estimate} (κ - 1)/(κ + 1) of the error a step",
        **AS_DERIVED,
    ),
    Criterion(
        name="share of runs that diverge at 2.01/λmax",
        observe=diverging("above"),
        **above(0.5, unit="share"),
        says="Trained with noisy batches, {estimate} of the runs at 2.01/λmax diverge",
        scales=ENOUGH_SEEDS,
    ),
    Criterion(
        name="share of runs that diverge at 1.99/λmax",
        observe=diverging("below"),
        **below(0.5, unit="share"),
        says="At 1.99/λmax {estimate} do",
        scales=ENOUGH_SEEDS,
    ),
    note="The engine's own SGD on 16 curvatures from λmax/κ to λmax, at condition numbers κ of 2, 10 and 100.",
    if_supported="Where the curvature is known, set the learning rate below 2/λmax.",
    if_refuted="Do not take quadratic theory for a bound on the learning rate.",
)

NEWTON = judgement(
    "eos.newton",
    Criterion(
        name="order of Newton's method",
        observe=computed("descent.near_a_minimum", "newton_order"),
        **inside(1.85, 2.15, refuted=AtMost(value=1.5)),
        says="Near a minimum Newton's error goes with the power {estimate} of the one before",
    ),
    Criterion(
        name="order of gradient descent",
        observe=computed("descent.near_a_minimum", "descent_order"),
        **inside(0.95, 1.05, refuted=AtLeast(value=1.5)),
        says="Gradient descent's goes with the power {estimate}",
    ),
    reported={
        "error that descent leaves a step, over (κ - 1) / (κ + 1)": (computed("descent.near_a_minimum", "descent_rate"), "x")
    },
    note="Logistic regression on zeros and ones of the digits, FP64: Newton from zero weights, descent from close by.",
    if_supported="Expect Newton's method to double the digits a step, close to a minimum and not before.",
    if_refuted="Do not count on quadratic convergence.",
)

SHARPNESS = judgement(
    "eos.sharpness",
    Criterion(
        name="sharpness without a limit, over the limit of the lowest LR",
        # Beyond what counts as standing at the limit: it would have gone on.
        observe=highest("flow", GD_LIMIT, lr_of="gd_low"),
        **above(1.3, refuted=1.2, unit="x"),
        precondition=True,
        says="Next to gradient flow sharpness comes to {estimate} the limit of the lowest LR",
    ),
    *of_each(
        "sharpness at the start over the limit",
        EdgeSharpness,
        "start",
        " it starts at {estimate} the limit",
        precondition=True,
        **below(0.7, refuted=0.9, unit="x"),
    ),
    *of_each(
        "LR x sharpness at the edge over 2",
        EdgeSharpness,
        "median",
        ", LR x sharpness stands at {estimate} the limit of 2",
        expected=predicted(1.02, "Cohen et al. 2021, section 3: at 2/LR or just above", spread=0.03),
        **inside(0.9, 1.2, refuted=(0.7, 1.5), unit="x"),
    ),
    reported={
        **{
            f"LR x sharpness{' preconditioned' * (run is ADAM)} at the edge over {run.limit:.4g}, {run.name}": (
                run.edge(EdgeSharpness),
                "x",
            )
            for run in OTHERS
        },
        **{f"sharpness at the start over the limit, {run.name}": (run.edge(EdgeSharpness, of="start"), "x") for run in OTHERS},
        "LR x sharpness over 2, SGD with batches, the highest": (highest("sgd_batches", GD_LIMIT, until=0.0), "x"),
        "LR x sharpness over 2, Adam, the highest": (highest("adam", GD_LIMIT), "x"),
        "LR x preconditioned sharpness over 38, Adam with batches, the highest": (
            highest("adam_batches", ADAM.limit, preconditioned=True, until=0.0),
            "x",
        ),
    },
    note=(
        "Sharpness is the largest eigenvalue of the Hessian of the whole training loss. A limit is the LR x sharpness above"
        " which an optimizer is unstable on a quadratic: 2 for gradient descent, 3.8 with heavy-ball momentum of 0.9, 1.357"
        " with Nesterov's, and 38 for Adam, of its Hessian between the inverse roots of what it divides by. Counted are the"
        " medians from where a run first comes to 0.9 of its limit until its loss is 1% of what it began with; a run that never"
        " comes there counts with the highest it reaches. What is judged is gradient descent, of which the documents' 2/LR is"
        " the limit. The other optimizers have limits of their own, which are reported: Adam comes to its limit also where"
        " curvature does not change, for what it divides by falls."
    ),
    if_supported="Expect the LR to choose the curvature of where full-batch training goes: sharpness at 2/LR is no alarm.",
    if_partly="Take 2/LR for the sharpness of full-batch gradient descent; look up your optimizer's own limit.",
    if_refuted="Do not infer the sharpness of your network from its LR.",
)

NONMONOTONE = judgement(
    "eos.nonmonotone",
    *of_each(
        "share of steps at the edge whose loss rises",
        EdgeLoss,
        "rising_steps",
        " the loss rises at {estimate} of the steps",
        expected=predicted(
            0.5,
            "Cohen et al. 2021, section 3: along the sharpest direction iterates jump from side to side, every other step up",
            spread=0.1,
        ),
        **above(0.1, refuted=0.02, unit="share"),
    ),
    *of_each(
        "share of windows of 100 steps at the edge whose loss falls",
        EdgeLoss,
        "falling_windows",
        " it falls from one window of 100 steps to the next in {estimate} of them",
        **above(0.8, refuted=0.5, unit="share"),
    ),
    reported={
        **{
            f"{words}, {run.name}": (run.edge(EdgeLoss, of=of), "share")
            for run in OTHERS
            for words, of in (
                ("share of steps at the edge whose loss rises", "rising_steps"),
                ("share of windows of 100 steps at the edge whose loss falls", "falling_windows"),
            )
        },
        **{f"share of runs that diverge, {run.name}": (diverging(run.arm), "share") for run in RUNS},
        "test loss at the end, high LR minus next to gradient flow": TunedLoss(arm="gd_high") - TunedLoss(arm="flow"),
    },
    note=(
        "From where sharpness first comes to its limit until the loss is 1% of what it began with. All examples are in every"
        " step: no rise is a batch's. Windows of a run whose loss is not finite any more do not fall. Momentum makes a loss"
        " rise at lower sharpness, too, and is reported. Whether bounces of ordinary training with batches are a concern is not"
        " tested, so that no document is graded by its side on that."
    ),
    if_supported="Do not lower the LR for a loss that bounces and falls: judge it by means over many steps.",
    if_refuted="Do not expect the loss to bounce and fall at the edge of stability.",
)

STUDY = Study(
    name="edge_of_stability",
    version=2,
    title="Curvature and the learning rate",
    question="What does the curvature of a loss say about the learning rate, and the learning rate about the curvature?",
    # Batches, and not all examples, so that runs differ: their noise is the same wherever the weights are, and moves no limit.
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
        "flow": deep_arm("Gradient descent", "next to gradient flow", {**GD, "probes": 50}, 0.02, 18_000),
        "sgd_batches": deep_arm("Batches", "SGD, batches", {**GD, **BATCHES}, GD_HIGH.lr, 3000),
        "adam_batches": deep_arm("Batches", "Adam, batches", {**PRECONDITIONED, **BATCHES}, ADAM.lr, 3000),
    },
    factors={"peak_lr": (BELOW,)},
    seeds=8,
    first_seed=27_000,
    scales={
        "smoke": scales.smoke(
            training={"steps": 60}, arm_settings={arm: {"steps": 100, "curve_points": 5, "probes": 4} for arm in CIFAR_ARMS}
        ),
        "laptop": scales.laptop(
            "about five minutes of training",
            "A network of 4,500 parameters on 250 digits, 20% of their labels drawn at random; its weights start small.",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: Cohen et al.'s network on 5,000 images of CIFAR-10; 256 dimensions",
            "Images that were compressed as JPEG give other numbers than CIFAR-10's own. Training is in TF32, sharpness in"
            " FP32.",
            workload={"dataset": "quadratic:256"},
            arm_settings=CIFAR_ARMS,
            arm_factors=CIFAR_FACTORS,
            seeds=5,
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, a quarter of an hour: the same with more seeds; 1,024 dimensions",
            workload={"dataset": "quadratic:1024"},
            training={"steps": 4000},
            arm_settings=CIFAR_ARMS,
            arm_factors=CIFAR_FACTORS,
            seeds=10,
        ),
    },
    departures=(
        "The exact claims are of quadratics and one convex loss: what holds near a minimum, not on the way there.",
        "One small tanh network without norms and half the squared error, all examples at every step and a constant LR. The"
        " documents say any training; with batches sharpness stays below the limit, which is reported and decides nothing.",
        "The task was chosen by trials of one to five other seeds, for being hard enough that sharpness keeps rising. On the"
        " same digits without random labels heavy-ball momentum came to its limit and fell to 0.6 to 0.85 of it, as the loss"
        " was gone: 'all' is of this task, not of those.",
        "Regions are of a design. That a ratio above 1.5 refutes, and that a run's first hundredth does not count, were added"
        " when trials of one seed had been seen.",
        "Computed numbers have no seeds: their regions were written when they were known, most of them from designs of before.",
    ),
    answer=("eos.sharpness", "eos.nonmonotone", "eos.quadratic", "eos.newton"),
    judgements=(QUADRATIC, NEWTON, SHARPNESS, NONMONOTONE),
    published=(
        cohen("eos.quadratic", "section 2", "Gradient descent on a quadratic converges if and only if the LR is below 2/λmax."),
        cohen(
            "eos.sharpness",
            "section 3",
            "Sharpness under full-batch gradient descent rises to 2/LR and then stands just above it.",
        ),
        cohen(
            "eos.sharpness",
            "section 3 and appendix B",
            "With momentum it rises to (2 + 2 beta)/LR (Polyak) or (2 + 2 beta)/(1 + 2 beta)/LR (Nesterov).",
        ),
        cohen(
            "eos.sharpness",
            "section 3",
            "Under full-batch Adam the preconditioned sharpness comes to stand at 38/LR, at a beta1 of 0.9.",
            year=2022,
            number="2207.14484",
        ),
        cohen(
            "eos.nonmonotone",
            "section 3",
            "At the edge the training loss is not monotone over short times and falls over long ones.",
        ),
    ),
)
