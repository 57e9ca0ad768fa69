"""How do a step's noise, cost and memory depend on the batch size, and how does the noise affect the final weights?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .kit import *
from .metrics.gradient_noise import between_lines, overhead_batch

study = Draft(
    __file__,
    DIGITS_MLP
    | dict(label_noise=0.2, optimizer="sgd", momentum=0.0, weight_decay=0.0, schedule="constant", warmup_fraction=0.0)
    # All digits that are not trained on.
    | dict(evaluation_examples=359, final_examples=359)
    | dict(probes=2, evaluations=1, curve_points=20, sharpness="end", sharpness_examples=1079),
    version=2,
    factors=peak_lrs(-6),
    seeds=16,
    first_seed=48_000,
    answer=("noise.temperature", "noise.memory", "noise.variance", "noise.step_cost"),
)

# Arms of a batch size and an LR. Of a ratio of the two that is kept constant there are three lines, an octave of the LR apart.

# The constant of a line -> batch size -> log2 of the LR on the middle line.
ROOT = "LR over the root of the batch"
LINES = {
    "LR over batch": {4: -8, 16: -6, 64: -4},
    ROOT: {4: -7, 16: -6, 64: -5},
    "LR": {4: -6, 16: -6, 64: -6},
}
MIDDLE = LINES["LR over batch"]


def cell(batch: int, log2_lr: int, training: str = "") -> str:
    return f"{training}b{batch}_lr{-log2_lr}"


def trained(batch: int, log2_lr: int, log2_steps: int, training: str = "", panel: str = "MLP", suffix: str = "") -> str:
    label = f"batch {batch}, LR 2^{log2_lr}{suffix}"
    settings = {"batch_size": batch, "steps": 2**log2_steps}
    return study.arm(cell(batch, log2_lr, training), label, panel, settings, factors=peak_lrs(log2_lr))


# Batch size -> log2 of the LRs. All runs have LR x steps = 2^8, so that without noise they would end at the same weights. At
# equal epochs runs of equal LR over batch would do so anyway.
for batch, log2_lrs in {4: (-9, -8, -7, -6, -5), 16: (-7, -6, -5), 64: (-7, -6, -5, -4, -3)}.items():
    for log2_lr in log2_lrs:
        trained(batch, log2_lr, 8 - log2_lr)
# All lines of LR over batch at the epochs of the middle one.
for batch, middle in MIDDLE.items():
    for octave in (-1, 1):
        trained(batch, middle + octave, 8 - middle, "epochs_", "MLP, equal epochs", ", 243 epochs")
# The same lines after half of the training; the lowest is already above.
for batch, middle in MIDDLE.items():
    for octave in (0, 1):
        trained(batch, middle + octave, 7 - middle - octave, "half_", "MLP, half the training", ", half")
TRAINED = tuple(study.arms)
# Which training the lowest, the middle and the highest line had.
EPOCHS, HALF = ("epochs_", "", "epochs_"), ("epochs_", "half_", "half_")

# Trained only for their step time.
SOLO = {"steps": 24, "evaluation_examples": 8, "final_examples": 8, "sharpness": "off", "label_noise": 0.0, "solo": True}


def timed(model: str, batches: tuple[int, ...], settings: Settings) -> dict[int, str]:
    """Arms by batch size."""
    arm = partial(study.arm, panel=f"step time, {model}", settings={**SOLO, **settings}, factors=peak_lrs(-7))
    return {batch: arm(f"{model.lower()}_{batch}", f"batch {batch}", batch_size=batch) for batch in batches}


TIMED = {
    "MLP": timed("MLP", (2, 32, 512), dict(width=512)),
    "GPT": timed("GPT", (2, 16, 128), SMALL_GPT | dict(width=32, depth=2, context=32)),
}

study.smoke(dict(sharpness_examples=64), arm_settings={TRAINED: {"steps": 16}})
study.laptop("about five minutes of training")
TIMED_ON_GPU = {
    tuple(TIMED["MLP"].values()): {"width": 4096, "steps": 40},
    tuple(TIMED["GPT"].values()): {"width": 1024, "depth": 4, "heads": 16, "context": 256, "precision": "bf16", "steps": 40},
}
study.gpu(
    "one GPU, at most four minutes: an MLP of 0.3M parameters, step times at widths 1024 and 4096",
    dict(width=512),
    arm_settings=TIMED_ON_GPU,
    seeds=10,
)
study.cluster(
    "a GPU of a cluster, half an hour: an MLP of 4M parameters", dict(width=2048), arm_settings=TIMED_ON_GPU, seeds=10
)

# Claims.

# One meaning for what a step costs and what it takes; a tenth was "linear" before, too.
straight = partial(at_most, 0.1, unit="share")


@study.claim("noise.variance")
def variance() -> Iterator[Part]:
    for model in TIMED:
        yield within(
            -1.1,
            -0.9,
            computed(f"noise.{model.lower()}_gradient_variance", "exponent"),
            f"exponent of the gradient's variance on the batch size, {model}",
            f"The gradient variance of the {model} scales as B^{{estimate}} in the batch size B",
            refuted=(-1.25, -0.75),
            panel=model,
        )
    of_mlp = partial(computed, "noise.mlp_gradient_variance")
    yield reported(of_mlp("epochs_exponent"), "exponent without replacement, as in epochs, MLP")
    deviation = "mean deviation of the variance from"
    yield reported(of_mlp("replacement_error"), f"{deviation} one over the batch size, with replacement", "share")
    yield reported(of_mlp("epochs_error"), f"{deviation} (N - B)/(N - 1) over the batch size, without replacement", "share")


@study.claim("noise.step_cost")
def cost() -> Iterator[Part]:
    for number, model, operations in (
        ("large_deviation", "GPT of 6.7 billion parameters", "the number of operations of a step of a 7B GPT"),
        ("small_deviation", "small MLP", "the number of operations of a step of a small MLP, with its update,"),
    ):
        yield straight(
            computed("noise.operations", number),
            f"distance of a step's operations from a straight line in the batch size, {model}",
            f"As a function of the batch size, {operations} is within {{estimate}} of a straight line",
        )
    yield reported(
        computed("noise.operations", "small_constant"),
        "operations of a step of the small MLP at any batch size, its update's, in those of an example",
        "examples",
    )
    for model, arms in TIMED.items():
        smallest = min(arms)
        exponent = Slope(points=tuple((batch, SpeedUp(arm=arms[smallest], reference=arm)) for batch, arm in arms.items()))
        sizes = f"batches of {smallest} to {max(arms)}"
        yield reported(exponent, f"exponent of step time on the batch size, {model}, {sizes}")
    for model, arms in TIMED.items():
        overhead = overhead_batch(points=tuple(arms.items()))
        yield reported(overhead, f"batch size at which half of a step's time is overhead, {model}", "examples")


study.claim(
    "noise.memory",
    straight(
        computed("noise.memory", "deviation"),
        "distance of all memory from a straight line in the batch size, 4 to 256",
        "From batch 4 to 256, the memory of a 7B GPT is within {estimate} of a straight line in the batch size",
        clause="a",
    ),
    straight(
        computed("noise.memory", "smallest_over_line"),
        "how far all memory at batch 1 is above that line",
        "At batch 1, it is {estimate} above that line",
        clause="b",
    ),
    within(
        3.6,
        4.4,
        computed("memory.levers", "batch"),
        "memory at batch 32 over 8",
        "At batch 32, a 7B GPT takes {estimate} the memory of batch 8",
        clause="c",
        unit="x",
    ),
    reported(computed("noise.memory", "constant_gb"), "memory at any batch size", "GB"),
    reported(computed("noise.memory", "sequence_gb"), "memory of a sequence more", "GB"),
    reported(computed("noise.memory", "saved_gb"), "memory that batch 8 saves over batch 32", "GB"),
    reported(computed("noise.memory", "smallest_over_gpu"), "all memory at a batch of 1 over the document's GPU of 24 GB", "x"),
    right={"supported": "linear", "refuted": "not always"},
)

# Quantity that is shared out over arms -> its words and its least spread: 5% of an eigenvalue, a hundredth of a nat.
WORDS: dict[Any, str] = {"sharpness": "log of the largest eigenvalue of the Hessian", "test_loss": "test loss"}
SPREADS = {"sharpness": 0.05, "test_loss": 0.01}


def explained(of: Any, kept: str = "LR over batch", trainings: tuple[str, ...] = ("", "", "")) -> Any:
    """The share of the variance that lies between the three lines that keep something constant."""
    lines = tuple(
        tuple(cell(batch, middle + octave, training) for batch, middle in LINES[kept].items())
        for octave, training in zip((-1, 0, 1), trainings, strict=True)
    )
    return between_lines(lines=lines, of=of, spread_at_least=SPREADS[of])


@study.claim("noise.temperature", right={"supported": "in proportion"})
def temperature() -> Iterator[Part]:
    for clause, (of, words) in zip("ab", WORDS.items(), strict=True):
        yield at_least(
            0.75,
            explained(of),
            f"share of the variance of the {words} that lies between lines of equal LR over batch",
            f"Among runs of a small MLP, LR over batch size explains {{estimate}} of the variance in {words}",
            clause=clause,
            refuted=0.25,
            # Three meaningless lines of three arms have two of eight degrees of freedom.
            null=0.25,
            alternatives={"after half of the training": explained(of, trainings=HALF)},
        )
    for clause, (of, words) in zip("cd", WORDS.items(), strict=True):
        yield at_least(
            0.0,
            explained(of) - explained(of, ROOT),
            f"how much more of the variance of the {words} lies between them than between lines of equal {ROOT}",
            f"It explains {{estimate}} more of the variance in {words} than LR over the root of the batch size",
            clause=clause,
            null=0.0,
            alternatives={"than lines of equal LR": explained(of) - explained(of, "LR")},
        )
    for kept in (ROOT, "LR"):
        for of, words in WORDS.items():
            yield reported(explained(of, kept), f"the same of lines of equal {kept}, {words}")
    for of, words in WORDS.items():
        yield reported(explained(of, trainings=EPOCHS), f"at equal epochs, {words}")


STUDY = study.declared()
