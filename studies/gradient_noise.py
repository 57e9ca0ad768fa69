"""How do a step's noise, cost and memory depend on the batch size, and how does the noise affect the final weights?"""

from typing import Any

from .kit import *
from .metrics.gradient_noise import between_lines, overhead_batch

# Batch size -> log2 of the LRs. All runs have LR x steps = 2^8, so that without noise they would end at the same weights. At
# equal epochs runs of equal LR over batch would do so anyway.
CELLS = {4: (-9, -8, -7, -6, -5), 16: (-7, -6, -5), 64: (-7, -6, -5, -4, -3)}
TIME = 8
ROOT = "LR over the root of the batch"
# What a line keeps constant -> batch size -> log2 of the LR on the middle of three lines, an octave of the LR apart.
LINES = {
    "LR over batch": {4: -8, 16: -6, 64: -4},
    ROOT: {4: -7, 16: -6, 64: -5},
    "LR": {4: -6, 16: -6, 64: -6},
}
MIDDLE = LINES["LR over batch"]
# Prefix of arms -> panel, and suffix of labels.
KINDS = {"": ("MLP", ""), "epochs_": ("MLP, equal epochs", ", 243 epochs"), "half_": ("MLP, half the training", ", half")}
# Kind, batch size, log2 of the LR and of the steps.
RUNS = (
    *(("", batch, power, TIME - power) for batch, powers in CELLS.items() for power in powers),
    # All lines of LR over batch at the epochs of the middle one.
    *(("epochs_", batch, power + octave, TIME - power) for batch, power in MIDDLE.items() for octave in (-1, 1)),
    # The same lines after half of the training; the lowest is already above.
    *(("half_", batch, power + octave, TIME - 1 - power - octave) for batch, power in MIDDLE.items() for octave in (0, 1)),
)


def cell(kind: str, batch: int, power: int) -> str:
    return f"{kind}b{batch}_lr{-power}"


def trained(kind: str, batch: int, power: int, log2_steps: int) -> Arm:
    panel, more = KINDS[kind]
    settings = {"batch_size": batch, "steps": 2**log2_steps}
    return Arm(panel=panel, label=f"batch {batch}, LR 2^{power}{more}", settings=settings, factors=peak_lrs(power))


TRAINED = {cell(kind, batch, power): trained(kind, batch, power, steps) for kind, batch, power, steps in RUNS}


def line(octave: int, kind: str = "", kept: str = "LR over batch") -> tuple[str, ...]:
    """The arms of the line `octave` octaves of the LR above the middle one."""
    return tuple(cell(kind, batch, power + octave) for batch, power in LINES[kept].items())


LINE_ARMS = {
    **{kept: tuple(line(octave, kept=kept) for octave in (-1, 0, 1)) for kept in LINES},
    "epochs": (line(-1, "epochs_"), line(0), line(1, "epochs_")),
    "half": (line(-1, "epochs_"), line(0, "half_"), line(1, "half_")),
}
# 5% of an eigenvalue, a hundredth of a nat.
SPREADS = {"sharpness": 0.05, "test_loss": 0.01}
WORDS: dict[Any, str] = {"sharpness": "log of the largest eigenvalue of the Hessian", "test_loss": "test loss"}


def explained(lines: str, of: Any) -> Any:
    """The share of the variance that lies between lines."""
    return between_lines(lines=LINE_ARMS[lines], of=of, spread_at_least=SPREADS[of])


# All digits that are not trained on.
HELD_OUT: dict[str, Any] = {"evaluation_examples": 359, "final_examples": 359}
# Trained only for their step time.
SOLO = {"steps": 24, "evaluation_examples": 8, "final_examples": 8, "sharpness": "off", "label_noise": 0.0, "solo": True}
SOLO_MODELS = {
    "mlp": {**SOLO, "width": 512},
    "gpt": {**SOLO, "model": "gpt", "dataset": "python-docs", "width": 32, "depth": 2, "heads": 2, "context": 32},
}
TIMED = {"mlp": (2, 32, 512), "gpt": (2, 16, 128)}
MODELS = {"mlp": "MLP", "gpt": "GPT"}
GPU_MODELS: dict[str, dict[str, Any]] = {
    "mlp": {"width": 4096, "steps": 40},
    "gpt": {"width": 1024, "depth": 4, "heads": 16, "context": 256, "precision": "bf16", "steps": 40},
}
GPU_TIMED = {f"{model}_{batch}": settings for model, settings in GPU_MODELS.items() for batch in TIMED[model]}


def timed(model: str, batch: int) -> Arm:
    settings = {**SOLO_MODELS[model], "batch_size": batch}
    return Arm(panel=f"step time, {MODELS[model]}", label=f"batch {batch}", settings=settings, factors=peak_lrs(-7))


def time_exponent(model: str) -> Slope:
    """Of step time on the batch size."""
    smallest = f"{model}_{TIMED[model][0]}"
    return Slope(points=tuple((batch, SpeedUp(arm=smallest, reference=f"{model}_{batch}")) for batch in TIMED[model]))


# One meaning for what a step costs and what it takes; a tenth was "linear" before, too.
STRAIGHT = below(0.1, unit="share")
LINEAR = "'Linear' is a straight line with a constant, to within a tenth; the constant is reported."


VARIANCE = judgement(
    "noise.variance",
    *(
        Criterion(
            name=f"exponent of the gradient's variance on the batch size, {words}",
            panel=words,
            observe=computed(f"noise.{model}_gradient_variance", "exponent"),
            **inside(-1.1, -0.9, refuted=(-1.25, -0.75)),
            says=f"The gradient variance of the {words} scales as B^{{estimate}} in the batch size B",
        )
        for model, words in MODELS.items()
    ),
    reported={
        "exponent without replacement, as in epochs, MLP": computed("noise.mlp_gradient_variance", "epochs_exponent"),
        "mean deviation of the variance from one over the batch size, with replacement": (
            computed("noise.mlp_gradient_variance", "replacement_error"),
            "share",
        ),
        "mean deviation of the variance from (N - B)/(N - 1) over the batch size, without replacement": (
            computed("noise.mlp_gradient_variance", "epochs_error"),
            "share",
        ),
    },
)

STEP_COST = judgement(
    "noise.step_cost",
    *(
        Criterion(
            name=f"distance of a step's operations from a straight line in the batch size, {what}",
            observe=computed("noise.operations", number),
            **STRAIGHT,
            says=f"As a function of the batch size, {says} is within {{estimate}} of a straight line",
        )
        for number, what, says in (
            ("large_deviation", "GPT of 6.7 billion parameters", "the number of operations of a step of a 7B GPT"),
            ("small_deviation", "small MLP", "the number of operations of a step of a small MLP, with its update,"),
        )
    ),
    reported={
        "operations of a step of the small MLP at any batch size, its update's, in those of an example": (
            computed("noise.operations", "small_constant"),
            "examples",
        ),
        **{
            f"exponent of step time on the batch size, {MODELS[model]}, batches of {sizes[0]} to {sizes[-1]}": time_exponent(
                model
            )
            for model, sizes in TIMED.items()
        },
        **{
            f"batch size at which half of a step's time is overhead, {words}": (
                overhead_batch(points=tuple((batch, f"{model}_{batch}") for batch in TIMED[model])),
                "examples",
            )
            for model, words in MODELS.items()
        },
    },
)

MEMORY = judgement(
    "noise.memory",
    Criterion(
        name="distance of all memory from a straight line in the batch size, 4 to 256",
        clause="a",
        observe=computed("noise.memory", "deviation"),
        **STRAIGHT,
        says="From batch 4 to 256, the memory of a 7B GPT is within {estimate} of a straight line in the batch size",
    ),
    Criterion(
        name="how far all memory at batch 1 is above that line",
        clause="b",
        observe=computed("noise.memory", "smallest_over_line"),
        **STRAIGHT,
        says="At batch 1, it is {estimate} above that line",
    ),
    Criterion(
        name="memory at batch 32 over 8",
        clause="c",
        observe=computed("memory.levers", "batch"),
        **inside(3.6, 4.4, unit="x"),
        says="At batch 32, a 7B GPT takes {estimate} the memory of batch 8",
    ),
    right={"supported": "linear", "refuted": "not always"},
    reported={
        "memory at any batch size": (computed("noise.memory", "constant_gb"), "GB"),
        "memory of a sequence more": (computed("noise.memory", "sequence_gb"), "GB"),
        "memory that batch 8 saves over batch 32": (computed("noise.memory", "saved_gb"), "GB"),
        "all memory at a batch of 1 over the document's GPU of 24 GB": (computed("noise.memory", "smallest_over_gpu"), "x"),
    },
)

TEMPERATURE = judgement(
    "noise.temperature",
    *(
        Criterion(
            name=f"share of the variance of the {words} that lies between lines of equal LR over batch",
            clause=clause,
            observe=explained("LR over batch", of),
            # Null: three meaningless lines of three arms have two of eight degrees of freedom.
            **above(0.75, refuted=0.25, null=0.25, unit="share"),
            says=f"Among runs of a small MLP, LR over batch size explains {{estimate}} of the variance in {words}",
            alternatives={"after half of the training": explained("half", of)},
        )
        for clause, (of, words) in zip("ab", WORDS.items(), strict=True)
    ),
    *(
        Criterion(
            name=f"how much more of the variance of the {words} lies between them than between lines of equal {ROOT}",
            clause=clause,
            observe=explained("LR over batch", of) - explained(ROOT, of),
            **above(0.0, null=0.0, unit="share"),
            says=f"It explains {{estimate}} more of the variance in {words} than LR over the root of the batch size",
            alternatives={"than lines of equal LR": explained("LR over batch", of) - explained("LR", of)},
        )
        for clause, of in zip("cd", WORDS, strict=True)
        for words in (WORDS[of],)
    ),
    right={"supported": "in proportion"},
    reported={
        **{
            f"the same of lines of equal {kept}, {words}": (explained(kept, of), "share")
            for kept in (ROOT, "LR")
            for of, words in WORDS.items()
        },
        **{f"at equal epochs, {words}": (explained("epochs", of), "share") for of, words in WORDS.items()},
    },
)

STUDY = study(
    __file__,
    version=2,
    workload=Workload(model="mlp", dataset="digits", width=64, depth=2, label_noise=0.2),
    training=Training(optimizer="sgd", momentum=0.0, weight_decay=0.0, schedule="constant", warmup_fraction=0.0),
    measurement=Measurement(probes=2, evaluations=1, curve_points=20, sharpness="end", sharpness_examples=1079, **HELD_OUT),
    arms={**TRAINED, **{f"{model}_{batch}": timed(model, batch) for model in MODELS for batch in TIMED[model]}},
    factors=peak_lrs(-6),
    seeds=16,
    first_seed=48_000,
    scales={
        "smoke": scales.smoke(measurement={"sharpness_examples": 64}, arm_settings={arm: {"steps": 16} for arm in TRAINED}),
        "laptop": scales.laptop(
            "about five minutes of training",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: an MLP of 0.3M parameters, step times at widths 1024 and 4096",
            workload={"width": 512},
            arm_settings=GPU_TIMED,
            seeds=10,
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, half an hour: an MLP of 4M parameters",
            workload={"width": 2048},
            arm_settings=GPU_TIMED,
            seeds=10,
        ),
    },
    answer=("noise.temperature", "noise.memory", "noise.variance", "noise.step_cost"),
    judgements=(VARIANCE, STEP_COST, MEMORY, TEMPERATURE),
)
