"""Which shape of decay, and how far down?"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from .kit import *

study = Draft(
    __file__,
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.95, schedule="cosine", final_fraction=0.1, warmup_fraction=0.05, batch_size=4)
    | dict(steps=2185, probes=2, evaluations=20, evaluation_examples=128, final_examples=1024),
    # Up to version 6 a longer run had more steps and more tokens a parameter: here they are told apart. In version 8 the best
    # LRs of 15 arms of the workstation were the lowest of their grids, and that of zero_80_few at the laptop was the highest.
    version=9,
    factors={},
    seeds=12,
    first_seed=342_000,
    answer=("decay.floor_and_length", "decay.steps_or_tokens", "decay.final_positive", "decay.beats_constant"),
)


# Arms: shapes in runs.
TRAPEZOID: dict[str, Any] = {"schedule": "warmup_stable_decay"}
LATE_STEP: dict[str, Any] = dict(schedule="step", step_drops=(0.8, 0.9), step_factor=0.316)
# Label, words in a sentence, and what sets a shape apart from cosine decay to 10%.
SHAPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cosine": ("cosine to 10%", "cosine decay", {}),
    "linear": ("linear to 10%", "linear decay", dict(schedule="linear")),
    "zero": ("cosine to 0%", "cosine decay to zero", dict(final_fraction=0.0)),
    "linear_zero": ("linear to 0%", "linear decay to zero", dict(schedule="linear", final_fraction=0.0)),
    "step": ("step, x0.1 at 50% and 75%", "step decay at 50% and 75%", dict(schedule="step")),
    "late_step": ("step, x0.32 at 80% and 90%", "step decay at 80% and 90%", LATE_STEP),
    "trapezoid": ("warmup, stable, decay", "warmup-stable-decay", TRAPEZOID),
    "constant": ("constant", "a constant LR", dict(schedule="constant")),
}
# Times the usual steps -> how arms and panels call them.
STEPS = {0.25: ("few", "a quarter of the steps"), 1: ("", ""), 2: ("many", "twice the steps")}


class Run(NamedTuple):
    """Tokens per parameter, steps as a multiple of the usual ones, and the size of the model where it is another one."""

    tokens: int
    steps: float = 1
    size: str = ""

    @property
    def panel(self) -> str:
        words = (self.size and f"{self.size} parameters", f"{self.tokens} tokens a parameter", STEPS[self.steps][1])
        return ", ".join(filter(None, words))

    @property
    def words(self) -> str:
        return self.panel.replace("tokens a", "tokens per")

    def settings(self, steps: int, batch: int) -> dict[str, Any]:
        """From the steps and the sequences a batch that USUAL has at a scale."""
        return {"steps": round(steps * self.steps), "batch_size": round(batch * self.tokens / 20 / self.steps)}

    def arm(self, shape: str) -> str:
        """The arm of a shape. At 20 tokens, the usual length, most are named after their shape alone."""
        if self == USUAL and shape not in ("zero", "linear_zero"):
            return shape
        name = ("tenth" if shape == "cosine" else shape, str(self.tokens), STEPS[self.steps][0], self.size)
        return "_".join(filter(None, name))

    def gap(self, shape: str, reference: str = "cosine") -> LossGap:
        return loss_gap(self.arm(shape), self.arm(reference))


# The batch grows with the length, so that all take as many steps.
TENTH, USUAL, TWICE, LONG = Run(10), Run(20), Run(40), Run(80)
# A quarter of the steps, and twice the steps, by the batch.
FEW_STEPS, LONG_IN_FEW, MANY_STEPS = Run(20, 0.25), Run(80, 0.25), Run(20, 2)
LARGE = Run(20, size="75k")
# Arm -> its run.
RUNS: dict[str, Run] = {}
AT_LAPTOP, AT_WORKSTATION = ("laptop",), ("workstation",)
# Where all shapes are trained for 80 tokens per parameter: on a GPU they would take ten minutes. Smoke trains every arm.
WITH_LONG = ("laptop", "workstation", "cluster")


def decay_arms(run: Run, low: float, high: float, *shapes: str, scales: tuple[str, ...] = (), **settings: Any) -> None:
    """Runs with some shapes at peak LRs from 2^low to 2^high. scales: where they are trained; none: everywhere."""
    for shape in shapes:
        label, _, shaped = SHAPES[shape]
        RUNS[run.arm(shape)] = run
        study.arm(
            run.arm(shape),
            label,
            run.panel,
            {**run.settings(2185, 4), **settings, **shaped},
            factors=lr_grid(low, high, per_octave=2),
            reference=shape == "cosine",
            scales=("smoke", *scales) if scales else None,
        )


# Half octaves of one lattice. Optima of version 6 and of a pilot have an LR more on either side; where there was none, the LR
# goes as the root of the batch.
decay_arms(USUAL, -8.0, -6.0, "cosine", "zero")
decay_arms(USUAL, -7.5, -5.5, "linear", "linear_zero")
decay_arms(USUAL, -8.5, -6.5, "step", "late_step", "trapezoid")
decay_arms(USUAL, -9.5, -7.5, "constant")
decay_arms(LONG, -7.0, -5.5, "cosine")
decay_arms(LONG, -6.5, -5.0, "zero")
decay_arms(LONG, -7.0, -5.0, "linear", scales=WITH_LONG)
decay_arms(LONG, -7.5, -6.0, "trapezoid", scales=WITH_LONG)
decay_arms(LONG, -8.5, -6.0, "constant", scales=WITH_LONG)
decay_arms(FEW_STEPS, -7.0, -5.0, "cosine", "zero")
decay_arms(LONG_IN_FEW, -6.0, -3.5, "cosine", "zero")
decay_arms(MANY_STEPS, -9.0, -7.0, "cosine", "zero", scales=AT_LAPTOP)
decay_arms(TENTH, -8.5, -6.0, "cosine", "zero", scales=AT_LAPTOP)
decay_arms(TWICE, -7.5, -5.5, "cosine", "zero", scales=AT_LAPTOP)
decay_arms(LONG, -7.5, -5.5, "linear_zero", scales=AT_WORKSTATION)
# Of 74,496 parameters, in batches of 256 tokens.
WIDE = dict(width=48, depth=2, heads=3, context=32, batch_size=8, steps=5820)
decay_arms(LARGE, -8.5, -6.5, "cosine", "zero", "linear_zero", scales=AT_WORKSTATION, **WIDE)
# As FEW_STEPS has them: the half-life of the second moment in tokens, and the decay of weights over the run, at an LR that goes
# as the root of the batch.
for shape in ("cosine", "zero"):
    RUNS[f"{shape}_rescaled"] = USUAL
    study.arm(
        f"{shape}_rescaled",
        SHAPES[shape][0],
        "20 tokens a parameter, beta2 and weight decay for the batch",
        {**USUAL.settings(2185, 4), "beta2": 0.95**0.25, "weight_decay": 0.05, **SHAPES[shape][2]},
        factors=lr_grid(-8, -6, per_octave=2),
    )
# 116M parameters without embeddings, and 20 tokens for each: the claim about step decay is about large scale.
for shape in ("cosine", "step", "late_step"):
    large = dict(width=896, depth=12, heads=14, context=512, batch_size=512, micro_batches=8, steps=8900)
    label, _, settings = SHAPES[shape]
    study.arm(f"{shape}_large", label, "116M parameters", {**large, **settings}, factors=lr_grid(-12, -8), scales=("cluster",))
OF_LARGE = {("cosine_large", "step_large", "late_step_large"): lr_grid(-12, -8)}


# Scales.


def settings_at(scale: str, steps: int, batch: int) -> dict[str | tuple[str, ...], dict[str, Any]]:
    """arm_settings: steps and sequences a batch of every run, from those of the usual one."""
    known = [arm for arm, run in RUNS.items() if not run.size and scale in (study.arms[arm].scales or (scale,))]
    return {arm: RUNS[arm].settings(steps, batch) for arm in known}


study.smoke(dict(evaluation_examples=8, final_examples=16, steps=40), arm_settings={tuple(study.arms): {"steps": 40}}, seeds=1)
study.laptop(
    "eight minutes of training, half of them for runs of 80 tokens per parameter",
    seeds=6,
    # Of arms that a close verdict or a declared power rests on: zero against 10% differs by 0.2 to 0.3% between seeds.
    arm_seeds={
        ("linear", "trapezoid", "constant", "tenth_40", "zero_40"): 12,
        "linear_zero_20": 8,
        # 20 and 80 tokens per parameter, each in two numbers of steps.
        ("cosine", "zero_20", "tenth_80", "zero_80", "tenth_20_few", "zero_20_few", "tenth_80_few", "zero_80_few"): 16,
    },
)
study.workstation(
    "an hour and a quarter of training: GPTs of 30 and 75 thousand parameters on the source text of Python's standard library",
    dict(dataset="python-source", width=28, depth=2, context=32, final_examples=512),
    arm_settings=settings_at("workstation", 9380, 2),
    # Half octaves around the best LRs of version 8, most of which were the lowest that were tried.
    arm_factors={
        ("cosine", "zero_20", "linear", "linear_zero_20", "step", "late_step"): lr_grid(-9.5, -7.5, per_octave=2),
        ("cosine_rescaled", "zero_rescaled", "trapezoid_80"): lr_grid(-9.5, -7.5, per_octave=2),
        "trapezoid": lr_grid(-10, -8, per_octave=2),
        "constant": lr_grid(-11, -9, per_octave=2),
        "constant_80": lr_grid(-10.5, -8.5, per_octave=2),
        ("tenth_80", "linear_80", "tenth_20_few", "zero_20_few"): lr_grid(-9, -7, per_octave=2),
        ("zero_80", "linear_zero_80"): lr_grid(-8.5, -6.5, per_octave=2),
        ("tenth_80_few", "zero_80_few"): lr_grid(-7.5, -5, per_octave=2),
        ("tenth_20_75k", "zero_20_75k", "linear_zero_20_75k"): lr_grid(-9, -7, per_octave=2),
    },
    seeds=5,
)
# Octaves: of the usual batch, of four times it and of sixteen times, an octave higher each.
OCTAVES = {
    ("cosine", "linear", "zero_20", "linear_zero_20", "step", "late_step", "trapezoid"): lr_grid(-11, -7),
    ("tenth_80", "zero_80", "tenth_20_few", "zero_20_few"): lr_grid(-10, -6),
    ("tenth_80_few", "zero_80_few"): lr_grid(-9, -5),
    # An octave lower for arms whose LR does not decay.
    "constant": lr_grid(-12, -8),
}
study.gpu(
    "one GPU, eight minutes: a 0.49M-parameter GPT on the source text of Python's standard library",
    GPU_GPT | dict(context=128, precision="bf16", evaluation_examples=128, final_examples=512),
    arm_settings=settings_at("gpu", 4800, 16),
    arm_factors=OCTAVES,
    seeds=5,
)
study.cluster(
    "many GPUs, hours: a 25M-parameter GPT on web text at 20 and 80 tokens per parameter, step decay at 116M",
    dict(dataset="web-text", width=512, depth=8, heads=8, context=512, precision="bf16")
    | dict(evaluation_examples=512, final_examples=4096),
    arm_settings=settings_at("cluster", 15_440, 64),
    micro_batches=4,
    arm_factors=OCTAVES | {("linear_80", "trapezoid_80"): lr_grid(-10, -6), "constant_80": lr_grid(-11, -7)} | OF_LARGE,
    seeds=5,
)


# Claims. A difference of 0.5% of the loss reduction does not matter between shapes; being better never refutes.


def scales_of(arm: str) -> tuple[str, ...] | None:
    """Where an arm is judged; none: everywhere."""
    scales = study.arms[arm].scales
    return scales and tuple(scale for scale in scales if scale != "smoke")


def against_cosine(
    region: Callable[..., Criterion],
    shape: str,
    run: Run,
    name: str,
    says: str,
    spread: float,
    source: str = "the claim itself: the same loss as cosine decay's",
    readings: Mapping[str, Observed] = {},
    **options: Any,
) -> Criterion:
    """A shape ends like cosine decay to 10%, as the source says. says: the shape in a sentence; readings: alternatives."""
    return region(
        run.gap(shape),
        f"{name}, {run.panel}",
        f"At {run.words}, {says} {{costs}} of the loss reduction compared with cosine decay to 10%",
        panel=run.panel,
        expected=predicted(0.0, source, spread=spread, scales=AT_LAPTOP),
        alternatives={**readings, "as a share of the loss": relative_loss_gap(run.arm(shape), run.arm("cosine"))},
        scales=scales_of(run.arm(shape)),
        **options,
    )


@study.claim("decay.cosine_vs_linear")
def linear() -> Iterator[Part]:
    name, words = "linear against cosine, both to 10%", "linear decay to 10%"
    both_to_zero = {"both to zero": USUAL.gap("linear_zero", "zero")}
    yield against_cosine(no_worse, "linear", USUAL, name, words, spread=0.005, readings=both_to_zero)
    yield against_cosine(no_worse, "linear", LONG, name, words, spread=0.002)


@study.claim("decay.cosine_vs_step")
def step() -> Iterator[Part]:
    elsewhere = ("", "", ("laptop", "workstation", "gpu"))
    for size, where, scales in (elsewhere, ("_large", " at 116M parameters", ("cluster",))):
        for shape in ("step", "late_step"):
            label, words, _ = SHAPES[shape]
            yield exceeds(
                loss_gap(f"{shape}{size}", f"cosine{size}"),
                f"{words} against cosine{where}",
                f"{label.replace('step', 'Step decay')}, {{costs}} of the loss reduction compared with cosine decay{where}",
                scales=scales,
            )


@study.claim("decay.beats_constant")
def constant() -> Iterator[Part]:
    at_both = ("cosine", "linear", "trapezoid")
    for run, shapes in {USUAL: (*at_both, "late_step", "step"), LONG: at_both}.items():
        for decay in shapes:
            words = SHAPES[decay][1]
            yield exceeds(
                run.gap("constant", decay),
                f"constant against {words}, {run.panel}",
                f"At {run.words}, a constant LR {{costs}} of the loss reduction compared with {words}",
                panel=f"{words.replace(' decay', '')}, {run.panel}",
                scales=scales_of(run.arm("constant")),
            )


@study.claim("decay.final_positive", right={"supported": "10%", "refuted": "zero"})
def zero() -> Iterator[Part]:
    # A floor costs nothing, so small differences matter, too: publications report 0.1 to 0.8% of the loss between floors, and
    # 0.2% between two runs of one setting (GPT-2 124M, standard error 0.004 of 2.853 each).
    name, words = "cosine to zero against to 10%", "cosine decay to zero"
    source = "Bergsma et al. 2025 (reported): from about 4 tokens a parameter on, zero is no worse"
    # Written after version 9 was trained: by its spread they have 73, 3 and 32% power at 20, 40 and 80 tokens.
    unsure = "seeds of versions 8 and 9 differ by more than their number was chosen for: 50 would be needed at 40 tokens"
    for run in (USUAL, TWICE, LONG, LARGE):
        yield against_cosine(exceeds, "zero", run, name, words, 0.0018, source, by=0.002, underpowered=unsure)
    for run in (FEW_STEPS, MANY_STEPS, LONG_IN_FEW, TENTH):
        yield reported(run.gap("zero"), f"{name}, {run.panel}")
    yield reported(loss_gap("zero_rescaled", "cosine_rescaled"), f"{name}, beta2 and weight decay for the batch")
    for run in (USUAL, LARGE):
        to_zero = relative_loss_gap(run.arm("linear_zero"), run.arm("cosine"))
        yield reported(to_zero, f"linear to zero against cosine to 10%, of the loss, {run.panel}")


TREND = "Bergsma et al. 2025, the sign: zero gains with length; versions 2 to 6 had −0.3 to −0.4% a doubling"
study.claim(
    "decay.floor_and_length",
    at_most(
        -0.001,
        (LONG.gap("zero") - FEW_STEPS.gap("zero")) * 0.5,
        "what zero costs against 10%, its change per doubling of the tokens, 20 to 80 in one batch",
        "For each doubling from 20 to 80 tokens per parameter, in one batch, decay to zero costs {more} of the loss reduction,"
        " compared with decay to 10%",
        refuted=0.0,
        null=0.0,
        margin=0.001,
        unit="relative",
        expected=predicted(-0.003, TREND, spread=0.0022, scales=AT_LAPTOP),
    ),
)


@study.claim("decay.steps_or_tokens")
def steps_or_tokens() -> Iterator[Part]:
    # Of four times the steps and of four times the tokens; each of the two orders in which a run can come to have both.
    whole = FEW_STEPS.gap("zero") - LONG.gap("zero")
    steps_first, tokens_first = FEW_STEPS.gap("zero") - USUAL.gap("zero"), LONG_IN_FEW.gap("zero") - LONG.gap("zero")
    rescaled = FEW_STEPS.gap("zero") - loss_gap("zero_rescaled", "cosine_rescaled")
    share = partial(Share, whole=whole, whole_at_least=0.002)
    yield at_least(
        0.5,
        share(part=Mean(parts=(steps_first, tokens_first))),
        "share of the fall of what zero costs that comes with steps",
        "Of what decay to zero costs less, compared with decay to 10%, at four times the steps and the tokens, the steps make"
        " {estimate}",
        null=0.5,
        unit="share",
        alternatives={
            "at 20 tokens a parameter": share(part=steps_first),
            "at 80 tokens a parameter": share(part=tokens_first),
            "with beta2 and weight decay for the batch": share(part=rescaled),
        },
    )


study.claim(
    "decay.half_way",
    within(
        0.4999,
        0.5001,
        computed("constants.cosine", "half_way"),
        "LR of the cosine schedule half-way, over the peak",
        "Halfway through a cosine decay to zero, the learning rate is {estimate} of its peak",
        unit="share",
    ),
)


@study.claim("decay.trapezoid")
def trapezoid() -> Iterator[Part]:
    underpowered = (
        "equality would be shown in only two cases of three: in the pilot, optima an octave apart differ by 0.75% between"
        " seeds; a trapezoid better by 0.2% or more is shown to be no worse in nine cases of ten"
    )
    name, words = "warmup-stable-decay against cosine", "warmup-stable-decay"
    for run, spread, power in ((USUAL, 0.0075, underpowered), (LONG, 0.002, "")):
        readings = {"against linear decay": run.gap("trapezoid", "linear")}
        yield against_cosine(no_worse, "trapezoid", run, name, words, spread, readings=readings, underpowered=power)


def first_half(arm: str, start: float = 0.05, start_of: str = "") -> Share:
    """The share of the loss reduction that comes in the first half, from `start` on; start_of: counted from that arm's loss."""
    at_start = LossAfter(arm=start_of or arm, share=start)
    half_way, at_end = (LossAfter(arm=arm, share=share) for share in (0.5, 1.0))
    return Share(part=at_start - half_way, whole=at_start - at_end, whole_at_least=0.1)


@study.claim("decay.first_half")
def most_in_first_half() -> Iterator[Part]:
    for run, cosine in ((USUAL, "cosine"), (LONG, "tenth_80")):
        yield at_least(
            0.5,
            first_half(cosine),
            f"share of the fall after warmup that the first half makes, {run.panel}",
            f"With cosine decay at {run.words}, {{estimate}} of the loss reduction after warmup comes in the first half of the"
            " steps",
            clause="a",
            null=0.5,
            panel=run.panel,
            alternatives={f"counted from {start:.0%} of the run": first_half(cosine, start) for start in (0.1, 0.2)},
            scales=scales_of(cosine),
        )
    for shape in ("linear", "trapezoid", "constant"):
        yield reported(first_half(shape), f"{SHAPES[shape][1]}, {USUAL.panel}")
    # More than at a constant LR, whose curve flattens, too. It leaves warmup at a higher loss: both count from one.
    for run in (USUAL, LONG):
        cosine, constant = run.arm("cosine"), run.arm("constant")
        from_one_loss = first_half(cosine) - first_half(constant, start_of=cosine)
        yield at_least(
            0.0,
            from_one_loss,
            f"share that the first half makes, cosine minus constant, {run.panel}",
            f"At {run.words}, the first half makes {{more}} of the loss reduction with cosine decay than at a constant LR, both"
            " counted from cosine's loss after warmup",
            clause="b",
            null=0.0,
            unit="relative",
            panel=run.panel,
            scales=scales_of(constant),
        )
        from_own = f"cosine minus constant, each from its own loss after warmup, {run.panel}"
        yield reported(first_half(cosine) - first_half(constant), from_own, "relative")


STUDY = study.declared()
