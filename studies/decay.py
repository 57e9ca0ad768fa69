"""Which shape of decay, and how far down?"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .kit import *

study = Draft(
    __file__,
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.95, schedule="cosine", final_fraction=0.1, warmup_fraction=0.05, batch_size=16)
    | dict(probes=2, evaluations=20, evaluation_examples=128, final_examples=1024),
    version=6,  # why each version: reports/log
    factors={},
    search=Search(low=2.0**-9, high=2.0**-3, rounds=3, proposals=4, seeds=3, first_seed=20_000),
    seeds=12,
    first_seed=133_000,
    answer=("decay.beats_constant", "decay.cosine_vs_linear", "decay.final_positive", "decay.trapezoid"),
)
# Runs of 80 tokens per parameter take more than four minutes on a GPU; smoke trains every arm.
LONGEST, NOT_GPU = ("laptop", "cluster"), ("smoke", "laptop", "cluster")


# Arms: shapes at lengths.


LATE_STEP: dict[str, Any] = {"schedule": "step", "step_drops": (0.8, 0.9), "step_factor": 0.316}
# Label, words in a sentence, and what sets a shape apart from cosine decay to 10%.
SHAPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cosine": ("cosine to 10%", "cosine decay", {}),
    "linear": ("linear to 10%", "linear decay", dict(schedule="linear")),
    "zero": ("cosine to 0%", "cosine decay to zero", dict(final_fraction=0.0)),
    "linear_zero": ("linear to 0%", "linear decay to zero", dict(schedule="linear", final_fraction=0.0)),
    "step": ("step, x0.1 at 50% and 75%", "step decay at 50% and 75%", dict(schedule="step")),
    "late_step": ("step, x0.32 at 80% and 90%", "step decay at 80% and 90%", LATE_STEP),
    "trapezoid": ("warmup, stable, decay", "warmup-stable-decay", dict(schedule="warmup_stable_decay")),
    "constant": ("constant", "a constant LR", dict(schedule="constant")),
    "on_plateau": ("reduce on plateau", "", dict(schedule="reduce_on_plateau", patience=1, evaluations=40)),
}
# Steps of 256 tokens for one token per parameter, of 6992 parameters.
STEPS = 6992 / 256
# Arm -> tokens per parameter.
LENGTHS: dict[str, int] = {}


def length(tokens: int) -> str:
    return f"{tokens} tokens a parameter"


def arm_of(shape: str, tokens: int) -> str:
    """The arm of a shape at a length. At 20 tokens, the usual length, most are named after their shape alone."""
    if tokens == 20 and shape not in ("zero", "linear_zero"):
        return shape
    return f"{'tenth' if shape == 'cosine' else shape}_{tokens}"


def decay_arms(tokens: int, low: float, high: float, *shapes: str) -> None:
    """Runs with some shapes at `tokens` per parameter and peak LRs from 2^low to 2^high."""
    for shape in shapes:
        label, _, settings = SHAPES[shape]
        name = study.arm(
            arm_of(shape, tokens),
            label,
            length(tokens),
            {"steps": round(tokens * STEPS), **settings},
            factors=lr_grid(low, high, per_octave=2),
            reference=shape == "cosine",
            scales=NOT_GPU if tokens == 80 or shape == "on_plateau" else None,
        )
        LENGTHS[name] = tokens


# Half octaves of one lattice. Each optimum of version 3 that is judged has an LR more on either side: with fewer, fresh seeds
# of version 4 found one at an edge.
decay_arms(20, -7.0, -5.0, "cosine", "linear", "zero", "linear_zero")
decay_arms(20, -7.5, -5.0, "step")
decay_arms(20, -7.5, -5.5, "late_step", "trapezoid")
decay_arms(20, -8.0, -6.0, "constant")
decay_arms(20, -7.0, -5.0, "on_plateau")
study.arm("cosine_searched", "cosine to 10%, LR by search", length(20), steps=round(20 * STEPS), searched=True, scales=NOT_GPU)
decay_arms(2, -7.0, -4.5, "cosine", "zero", "linear_zero")
decay_arms(5, -6.5, -4.5, "cosine", "zero", "linear_zero")
decay_arms(40, -6.5, -5.0, "cosine", "zero")
decay_arms(80, -7.0, -5.5, "cosine")
decay_arms(80, -7.0, -5.0, "linear")
decay_arms(80, -6.5, -5.0, "zero")
decay_arms(80, -7.5, -6.0, "trapezoid")
decay_arms(80, -8.5, -6.5, "constant")
# A quarter of the batch at equal tokens, so that gradient noise weighs more.
study.arm(
    "small_batch",
    "cosine to 10%",
    "20 tokens a parameter, batches of 64 tokens",
    {"steps": 4 * round(20 * STEPS), "batch_size": 4},
    factors=lr_grid(-8, -6, per_octave=2),
    scales=NOT_GPU,
)
# 116M parameters without embeddings, and 20 tokens for each: the claim about step decay is about large scale.
for shape in ("cosine", "step", "late_step"):
    large = dict(width=896, depth=12, heads=14, context=512, batch_size=512, micro_batches=8, steps=8900)
    label, _, settings = SHAPES[shape]
    study.arm(f"{shape}_large", label, "116M parameters", {**large, **settings}, factors=lr_grid(-12, -8), scales=("cluster",))


# Arms on plateaus. The switch comes after two thirds of the run; equal seeds take equal steps up to it, so that the arms are
# continuations of one run. One evaluation falls on 60% of the run and one on the last steps before the switch.


PLATEAU = dict(schedule="step", step_drops=(2 / 3,), warmup_fraction=0.02, steps=1500, evaluations=30, evaluation_examples=512)
MLP = DIGITS_MLP | dict(optimizer="sgd", batch_size=32, weight_decay=0.0, steps=900)
# What the switch multiplies the LR by.
SWITCHES = {"stay": 1.0, "tenth": 0.1, "twice": 2.0, "ten_times": 10.0}


class Plateau(NamedTuple):
    """Continuations of one run; arms are named after the run and the switch.

    words: its name in sentences. lr: its exponent. best: the arm whose tuned loss ends the loss reduction.
    """

    run: str
    panel: str
    words: str
    lr: float
    best: str = "right_tenth"
    settings: dict[str, Any] = {}
    judged_at: tuple[str, ...] | None = None
    switches: tuple[str, ...] = ("stay", "tenth", "ten_times")

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(f"{self.run}_{switch}" for switch in self.switches)

    def gap(self, switch: str, other: str = "stay") -> LossGap:
        """How much higher the run ends than after another switch."""
        return loss_gap(f"{self.run}_{switch}", f"{self.run}_{other}", FinalLoss, best_of=(self.best,))

    def last_fall(self) -> LossGap:
        """The fall of the loss over the last tenth of the steps before the switch."""
        # Single evaluations are noisy: means of three of the 30, a tenth of these steps apart.
        before, after = (
            Mean(parts=tuple(LossAfter(arm=f"{self.run}_stay", share=at / 30) for at in places))
            for places in ((16, 17, 18), (18, 19, 20))
        )
        return LossGap(left=before, right=after, best_of=(self.best,))


# A 32nd of the best constant LR of such a run, the best, and 16 times the best.
LOW = Plateau("low", "GPT, AdamW, LR a 32nd of the best", "with an LR a 32nd of the best", -12, switches=tuple(SWITCHES))
RIGHT = Plateau("right", "GPT, AdamW, best LR", "at the best LR", -7)
HIGH = Plateau("high", "GPT, AdamW, LR 16 times the best", "with an LR 16 times the best", -3)
PLATEAUS = (LOW, RIGHT, HIGH)
# Plateaus that do not come from the LR, which is the best for batches of 256 tokens, and the best constant one.
NOISY_RUN: dict[str, Any] = {"batch_size": 2, "steps": 6000}
NOISY = Plateau(
    "noisy", "GPT, AdamW, batches of 32 tokens", "with batches of 32 tokens", -7, "noisy_tenth", NOISY_RUN, ("laptop",)
)
NARROW_RUN = MLP | dict(optimizer="adamw", width=3, depth=1, activation="tanh", steps=12_000)
NARROW = Plateau(
    "narrow", "MLP, AdamW, three hidden units", "with three hidden units", -10, "narrow_stay", NARROW_RUN, ("laptop",)
)
# An LR so low that the loss of the MLP with SGD stays at its start.
STUCK = "an LR too low to leave the start"
MLP_LOW = Plateau(
    "mlp", f"MLP, SGD, {STUCK}", f"MLP with {STUCK}", -19, "mlp_tuned", MLP, switches=("stay", "twice", "ten_times")
)
for plateau in (*PLATEAUS, NOISY, NARROW, MLP_LOW):
    for switch in plateau.switches:
        study.arm(
            f"{plateau.run}_{switch}",
            f"x{SWITCHES[switch]:g}",
            plateau.panel,
            PLATEAU | plateau.settings | {"step_factor": SWITCHES[switch]},
            factors=peak_lrs(plateau.lr),
            reference=switch == "stay",
            scales=plateau.judged_at and ("smoke", *plateau.judged_at),
        )
study.arm("mlp_tuned", "its best LR", MLP_LOW.panel, PLATEAU | MLP | {"step_factor": 1.0}, factors=peak_lrs(-7))

PLATEAU_ARMS = (*LOW.arms, *RIGHT.arms, *HIGH.arms)
study.smoke(
    dict(steps=40, evaluations=20, evaluation_examples=8, final_examples=16),
    arm_settings={
        (*LENGTHS, "cosine_searched", "small_batch"): {"steps": 40},
        tuple(arm for arm, tokens in LENGTHS.items() if tokens < 20): {"steps": 20},
        (*PLATEAU_ARMS, *NOISY.arms, *NARROW.arms, *MLP_LOW.arms, "mlp_tuned"): {"steps": 60},
    },
    search={"rounds": 2, "proposals": 2, "seeds": 1},
    seeds=1,
)
study.laptop(
    "five to six minutes of training, a third of them for runs of 80 tokens per parameter",
    seeds=6,
    # Of arms that a close verdict or a declared power rests on.
    arm_seeds={
        ("linear", "linear_zero_20", "step", "late_step", "trapezoid", "constant"): 12,
        # In version 5 zero cost 0.48% at 20 tokens: of 24 seeds that is surely above 0.2%, over three lengths.
        ("cosine", "zero_20"): 24,
        ("tenth_80", "zero_80", "constant_80"): 12,
        "high_ten_times": 12,
        # The fall before the switch was 0.63% [0.44, 0.83] and -0.06% [-0.75, 0.63] of 12 seeds: these tell both from 0.5%. It
        # is a share of a reduction that ends at right_tenth.
        "right_stay": 36,
        ("right_tenth", "high_stay"): 48,
        # In pilots seeds differ by 1.8% and 1.3% in what a tenth of the LR gains.
        NOISY.arms: 24,
        NARROW.arms: 48,
        ("tenth_40", "zero_40"): 16,
    },
)
GPU_LENGTHS = {arm: tokens for arm, tokens in LENGTHS.items() if study.arms[arm].scales is None}
study.gpu(
    "one GPU, about four minutes: a 0.49M-parameter GPT on the source text of Python's standard library",
    GPU_GPT
    | dict(context=128, batch_size=64, precision="bf16", evaluation_examples=128, final_examples=512)
    | dict(search={"low": 2.0**-12, "high": 2.0**-5, "proposals": 4, "seeds": 2}),
    arm_settings={PLATEAU_ARMS: {"steps": 600}, **{arm: {"steps": 60 * tokens} for arm, tokens in GPU_LENGTHS.items()}},
    arm_factors={
        tuple(GPU_LENGTHS): lr_grid(-10, -6),
        # An octave lower for arms whose LR does not decay.
        "constant": lr_grid(-11, -7),
        ("tenth_40", "zero_40"): lr_grid(-10, -7),
        **{plateau.arms: peak_lrs(plateau.lr - 2) for plateau in PLATEAUS},
    },
    seeds=5,
)
study.cluster(
    "many GPUs, hours: a 25M-parameter GPT on web text at 2 to 80 tokens per parameter, step decay at 116M",
    dict(dataset="web-text", width=512, depth=8, heads=8, context=512, batch_size=256, precision="bf16")
    | dict(evaluation_examples=512, final_examples=4096)
    | dict(search={"low": 2.0**-13, "high": 2.0**-6, "proposals": 4, "seeds": 2}),
    arm_settings={
        **{arm: {"steps": 193 * tokens} for arm, tokens in (LENGTHS | {"cosine_searched": 20}).items()},
        "small_batch": {"steps": 4 * 193 * 20, "batch_size": 64},
        PLATEAU_ARMS: {"steps": 6000},
    },
    arm_factors={
        tuple(LENGTHS): lr_grid(-11, -7),
        ("constant", "constant_80", "on_plateau", "small_batch"): lr_grid(-12, -8),
        **{plateau.arms: peak_lrs(plateau.lr - 3) for plateau in PLATEAUS},
    },
    seeds=5,
)


# Claims. A difference of 0.5% of the loss reduction does not matter between shapes; being better never refutes.


def shape_gap(tokens: int, shape: str, reference: str = "cosine") -> LossGap:
    return loss_gap(arm_of(shape, tokens), arm_of(reference, tokens))


def against_cosine(
    region: Callable[..., Criterion],
    shape: str,
    tokens: int,
    name: str,
    says: str,
    spread: float,
    source: str = "the claim itself: the same loss as cosine decay's",
    readings: Mapping[str, Observed] = {},
    **options: Any,
) -> Criterion:
    """A shape ends like cosine decay to 10%, as the source says. says: the shape in a sentence; readings: alternatives."""
    arm, cosine = arm_of(shape, tokens), arm_of("cosine", tokens)
    return region(
        loss_gap(arm, cosine),
        f"{name}, {length(tokens)}",
        f"At {tokens} tokens per parameter, {says} {{costs}} of the loss reduction compared with cosine decay to 10%",
        panel=length(tokens),
        expected=predicted(0.0, source, spread=spread, scales=("laptop",)),
        alternatives={**readings, "as a share of the loss": relative_loss_gap(arm, cosine)},
        scales=LONGEST if tokens == 80 else None,
        **options,
    )


@study.claim("decay.cosine_vs_linear")
def linear() -> Iterator[Part]:
    name, words = "linear against cosine, both to 10%", "linear decay to 10%"
    both_to_zero = {"both to zero": shape_gap(20, "linear_zero", "zero")}
    yield against_cosine(no_worse, "linear", 20, name, words, spread=0.005, readings=both_to_zero)
    yield against_cosine(no_worse, "linear", 80, name, words, spread=0.002)
    yield reported(loss_gap("cosine_searched", "cosine"), "cosine, LR by search against LR by grid")


@study.claim("decay.cosine_vs_step")
def step() -> Iterator[Part]:
    for size, where, scales in (("", "", ("laptop", "gpu")), ("_large", " at 116M parameters", ("cluster",))):
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
    for tokens, shapes in {20: (*at_both, "late_step", "step"), 80: at_both}.items():
        for decay in shapes:
            words = SHAPES[decay][1]
            yield exceeds(
                shape_gap(tokens, "constant", decay),
                f"constant against {words}, {length(tokens)}",
                f"At {tokens} tokens per parameter, a constant LR {{costs}} of the loss reduction compared with {words}",
                panel=f"{words.replace(' decay', '')}, {length(tokens)}",
                scales=LONGEST if tokens == 80 else None,
            )


@study.claim("decay.final_positive", right={"supported": "10%", "refuted": "zero"})
def zero() -> Iterator[Part]:
    # A floor costs nothing, so small differences matter, too. Shapes and floors differ by 0.1 to 0.8% of the loss in
    # publications (reported), and two runs of one setting by 0.2% (GPT-2 124M, standard error 0.004 of 2.853 each, reported).
    name, words = "cosine to zero against to 10%", "cosine decay to zero"
    source = "Bergsma et al. 2025 (reported): from about 4 tokens a parameter on, zero is no worse"
    for tokens, spread in {20: 0.0017, 40: 0.002, 80: 0.0015}.items():
        yield against_cosine(exceeds, "zero", tokens, name, words, spread, source, by=0.002)
    for tokens in (2, 5):
        yield reported(shape_gap(tokens, "zero"), f"{name}, {length(tokens)}")
    for tokens in (2, 5, 20):
        yield reported(shape_gap(tokens, "linear_zero"), f"linear to zero against cosine to 10%, {length(tokens)}")


def floor_change(shortest: int, longest: int) -> Observed:
    """What zero costs against 10%, its change per doubling of the tokens: of lengths an octave apart, the slope."""
    change = shape_gap(longest, "zero") - shape_gap(shortest, "zero")
    doublings = math.log2(longest / shortest)
    return change if doublings == 1 else change * (1 / doublings)


def floor_trend(longest: int, **options: Any) -> Criterion:
    return at_most(
        -0.001,
        floor_change(20, longest),
        f"what zero costs against 10%, its change per doubling of the tokens, 20 to {longest}",
        f"For each doubling from 20 to {longest} tokens per parameter, decay to zero costs {{more}} of the loss reduction,"
        " compared with decay to 10%",
        refuted=0.0,
        null=0.0,
        margin=0.001,
        unit="relative",
        **options,
    )


TREND = "Bergsma et al. 2025, the sign: zero gains with length; version 2 had −0.4% a doubling"
study.claim(
    "decay.floor_and_length",
    floor_trend(
        80,
        expected=predicted(-0.002, TREND, spread=0.0011, scales=("laptop",)),
        alternatives={"from 20 to 40": floor_change(20, 40)},
        scales=LONGEST,
    ),
    floor_trend(40, scales=("gpu",)),
    reported(floor_change(5, 20), "the same from 5 to 20 tokens per parameter, per doubling", "relative"),
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
    for tokens, spread, power in ((20, 0.0075, underpowered), (80, 0.002, "")):
        readings = {"against linear decay": shape_gap(tokens, "trapezoid", "linear")}
        yield against_cosine(no_worse, "trapezoid", tokens, name, words, spread, readings=readings, underpowered=power)


def flat(plateau: Plateau, **options: Any) -> Criterion:
    """In the last tenth of the steps before the switch the loss falls by no more than what matters: the least that x0.1 has to
    gain, and raising may."""
    return at_most(
        0.005,
        plateau.last_fall(),
        f"the fall in the last tenth before the switch, {plateau.words}",
        f"Over the last tenth of the steps before the switch, {plateau.words}, the loss falls by {{estimate}} of the loss"
        " reduction; on a plateau it falls by at most 0.5%",
        scales=plateau.judged_at,
        precondition=True,
        **options,
    )


def no_gain(raising: str, plateau: Plateau, **options: Any) -> Criterion:
    """Raising gains nothing that matters; a gain of 2% of the loss reduction refutes."""
    return at_least(
        -0.005,
        plateau.gap("ten_times"),
        f"{raising} against staying, {plateau.words}",
        f"On a plateau {plateau.words}, raising the LR tenfold {{costs}} of the loss reduction compared with keeping it",
        refuted=-0.02,
        scales=plateau.judged_at,
        **options,
    )


@study.claim("decay.plateau_rule", right={"supported": "lower", "refuted": "too low"})
def lower_and_never_raise() -> Iterator[Part]:
    for plateau in (*PLATEAUS, NOISY, NARROW):
        yield flat(plateau, panel=plateau.panel)
        yield exceeds(
            plateau.gap("stay", "tenth"),
            f"staying against x0.1, {plateau.words}",
            f"On a plateau {plateau.words}, keeping the LR {{costs}} of the loss reduction compared with a tenth of it",
            clause="a",
            panel=plateau.panel,
            scales=plateau.judged_at,
        )
        yield no_gain("x10", plateau, clause="b", panel=plateau.panel)
    for rival, arm in {"constant": "constant", "cosine": "cosine", "warmup-stable-decay": "trapezoid"}.items():
        yield reported(loss_gap("on_plateau", arm), f"reduce on plateau against {rival}, {length(20)}")


@study.claim("decay.raise_lr", right={"supported": "never", "refuted": "too low"})
def never_raise() -> Iterator[Part]:
    yield flat(LOW)
    yield no_gain("ten times the LR", LOW)
    yield reported(MLP_LOW.last_fall(), flat(MLP_LOW).name)
    raised = ((MLP_LOW, "ten_times"), (LOW, "twice"), (MLP_LOW, "twice"), (RIGHT, "ten_times"), (HIGH, "ten_times"))
    for plateau, switch in raised:
        yield reported(plateau.gap(switch), f"{switch.replace('_', ' ')} the LR against staying, {plateau.words}")


def first_half(arm: str, start: float = 0.05, start_of: str = "") -> Share:
    """The share of the loss reduction from `start` to the end that comes in the first half. Warmup ends at 5%. start_of: the
    arm from whose loss there it counts."""
    at_start = LossAfter(arm=start_of or arm, share=start)
    half_way, at_end = (LossAfter(arm=arm, share=share) for share in (0.5, 1.0))
    return Share(part=at_start - half_way, whole=at_start - at_end, whole_at_least=0.1)


@study.claim("decay.first_half")
def most_in_first_half() -> Iterator[Part]:
    places = {"cosine": f"at {length(20)}", "tenth_80": f"at {length(80)}", "small_batch": "in batches of 64 tokens"}
    for arm, where in places.items():
        yield at_least(
            0.5,
            first_half(arm),
            f"share of the fall after warmup that the first half makes, {where}",
            f"With cosine decay {where.replace('a param', 'per param')}, {{estimate}} of the loss reduction after warmup comes"
            " in the first half of the steps",
            clause="a",
            null=0.5,
            panel=study.arms[arm].panel,
            alternatives={f"counted from {start:.0%} of the run": first_half(arm, start) for start in (0.1, 0.2)},
            scales=None if arm == "cosine" else LONGEST,
        )
    for shape in ("linear", "trapezoid", "constant"):
        yield reported(first_half(shape), f"{SHAPES[shape][1]}, {length(20)}")
    # More than at a constant LR, whose curve flattens, too.
    for tokens in (20, 80):
        cosine, constant = arm_of("cosine", tokens), arm_of("constant", tokens)
        yield at_least(
            0.0,
            first_half(cosine) - first_half(constant),
            f"share that the first half makes, cosine minus constant, {length(tokens)}",
            f"At {tokens} tokens per parameter, the first half makes {{more}} of the loss reduction with cosine decay than at a"
            " constant LR",
            clause="b",
            null=0.0,
            unit="relative",
            panel=length(tokens),
            scales=LONGEST if tokens == 80 else None,
        )
        from_one_loss = first_half(cosine) - first_half(constant, start_of=cosine)
        name = f"cosine minus constant, both from cosine's loss after warmup, {length(tokens)}"
        yield reported(from_one_loss, name, "relative")


STUDY = study.declared()
