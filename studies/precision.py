"""A study of 16-bit and 8-bit numbers: what they do to training, and what fixes it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .kit import *
from .metrics.precision import curve_distance, memory_ratio, underflow_share

study = Draft(
    __file__,
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.95, schedule="cosine", warmup_fraction=0.05, final_fraction=0.0, batch_size=8, steps=400)
    | dict(probes=10, evaluations=2, evaluation_examples=64, final_examples=512),
    version=6,  # why each version: reports/log
    factors=lr_grid(-8, -4),
    seeds=10,
    first_seed=12_100,
    answer=("prec.bf16_weights", "prec.bf16_loss", "prec.fp16_underflow", "prec.fp16_nan"),
)

# Arms: GPTs, networks in each format, and GPTs that are timed.

# From 2^16, as in torch, the first updates of a short run overflow and are skipped.
DYNAMIC = {"precision": "fp16", "loss_scaling": "dynamic"}
# A format is the label of its arms, and their settings.
IN_FP32: tuple[str, Settings] = ("FP32", {})
IN_FP32_AGAIN = ("FP32, rounded differently", {"loss_scaling": "static", "loss_scale": 3.0})  # no power of two
IN_BF16 = ("BF16", {"precision": "bf16"})
IN_FP8 = ("FP8, scaled per tensor", {"precision": "fp8"})
NEAREST = ("BF16 weights, rounded to the nearest", {"precision": "bf16_weights"})
STOCHASTIC = ("BF16 weights, rounded at random", {"precision": "bf16_weights_stochastic"})
IN_FP16 = ("FP16, no scaling", {"precision": "fp16"})
IN_FP16_SCALED = ("FP16, dynamic scaling", DYNAMIC)
# From 2^10, as in the document, none is.
IN_FP16_FROM_1024 = ("FP16, dynamic scaling", DYNAMIC | {"loss_scale": 2.0**10})

# A pass sees few tokens; a large step sums the gradients of many passes, and its loss is a mean over all their tokens. So each
# pass's loss is divided by their number before the backward pass, and its gradient multiplied by it, as the sum over passes
# would. In FP32 nothing changes. At laptop scale a pass has 128 tokens: 2^14 of them are two million. Log2 of loss scales:
LARGE_STEPS = {"fp32_passes": -17, "fp16_2m": -14, "fp16_2m_scaled": 16 - 14, "fp8_2m_unscaled": -14}


def gpt(name: str, label: str, lrs: dict[str, Any], panel: str = "GPT", **options: Any) -> None:
    large_step = {"loss_scaling": "static", "loss_scale": 2.0 ** LARGE_STEPS[name]} if name in LARGE_STEPS else {}
    study.arm(name, label, panel, large_step, factors=lrs, **options)


# Up to where FP32 itself fails, at 2^5. Nothing is read between 2^-2 and 2^0.
WIDE_LR = peak_lrs(*range(-8, -1), *range(0, 7))
ON_GPU = ("gpu", "cluster")

gpt("fp32", "FP32", WIDE_LR, underflow=True, reference=True)
gpt("bf16", "BF16", WIDE_LR, precision="bf16")
gpt("fp16", "FP16, no scaling", peak_lrs(*range(-8, -3), *range(0, 4)), precision="fp16")
gpt("fp16_dynamic", "FP16, dynamic scaling, LRs at which FP16 overflows", lr_grid(1, 3), panel="GPT, high LRs", **DYNAMIC)
gpt("fp32_passes", "FP32, 17M tokens a step", lr_grid(-8, -4), underflow=True)
gpt("fp16_2m", "FP16, no scaling, 2M tokens a step", lr_grid(-11, -5), precision="fp16")
gpt("fp16_2m_scaled", "FP16, 2M tokens a step, scaled by 2^16", lr_grid(-8, -4), precision="fp16")
gpt("fp8", "FP8, scaled per tensor", lr_grid(-8, -4), precision="fp8")
gpt("fp8_2m_unscaled", "FP8, unscaled, 2M tokens a step", lr_grid(-8, -4), precision="fp8_unscaled")
GPT = tuple(study.arms)

# Panels whose formats share their LRs.
PANELS = {"small": "GPT, 2 sequences a step", "mlp": "MLP, SGD", "cnn": "CNN", "large": "CNN, large features"}


def in_formats(network: str, run: Settings, lrs: dict[str, Any], **formats: Any) -> tuple[str, ...]:
    """Arms `<network>_<format>`."""
    return tuple(
        study.arm(f"{network}_{name}", label, PANELS[network], {**run, **changed}, reference=name == "fp32", factors=lrs)
        for name, (label, changed) in formats.items()
    )


# Two sequences a step make the gradient noisy and the best LR low, so that updates are small beside weights, as late in a long
# run. No decay: its updates would be lost, too.
SMALL_BATCH = dict(batch_size=2, steps=2000, probes=20, weight_decay=0.0)
MLP = dict(DIGITS_MLP, optimizer="sgd", weight_decay=0.0, batch_size=32, steps=500, probes=40)
CNN = dict(model="cnn", dataset="digits", width=16, depth=2, batch_size=32, steps=300, probes=20)
# Features up to 30000: finite in FP16, but the first convolution's sums pass 65504. The group norm after it undoes the scale.
LARGE = CNN | dict(batch_size=16, feature_scale=2.0**14, steps=100, weight_decay=0.0, probes=10)
SMALL_FORMATS = dict(fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16_FROM_1024, fp8=IN_FP8, nearest=NEAREST, stochastic=STOCHASTIC)
SMALL_ARMS = in_formats("small", SMALL_BATCH, lr_grid(-9, -6, per_octave=2), **SMALL_FORMATS)
# At one LR, tuned beforehand in FP32 on other seeds; that of the CNN is calm, a third of its best.
in_formats("mlp", MLP, peak_lrs(-5.5), fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16_SCALED, nearest=NEAREST, stochastic=STOCHASTIC)
CNN_ARMS = in_formats("cnn", CNN, peak_lrs(-8.25), fp32=IN_FP32, again=IN_FP32_AGAIN, bf16=IN_BF16, fp16=IN_FP16_SCALED)
in_formats("large", LARGE, peak_lrs(-2), fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16, fp16_dynamic=IN_FP16_SCALED)
OF_PANELS = tuple(arm for arm in study.arms if arm not in GPT)

TIMED_RUN: dict[str, Any] = dict(width=2048, heads=32, depth=4, context=256, batch_size=32, steps=16)
TIMED_RUN |= dict(probes=2, evaluations=1, final_examples=64, solo=True, peak_lr=2.0**-10)
study.arm("solo_fp32", "FP32, timed", "speed", TIMED_RUN, factors={}, scales=ON_GPU)
study.arm("solo_bf16", "BF16, timed", "speed", TIMED_RUN, factors={}, scales=ON_GPU, precision="bf16")

study.smoke(
    dict(steps=10, probes=2, evaluations=1, evaluation_examples=8, final_examples=16),
    factors=lr_grid(-6, -6),
    arm_factors={GPT: lr_grid(-6, -6), "fp16_dynamic": lr_grid(1, 1), "fp16_2m": lr_grid(-8, -8)},
    arm_settings={OF_PANELS: {"steps": 5, "probes": 2}},
    seeds=1,
)
study.laptop("five minutes of training if they multiply BF16, else more; speed is not measured")

WIDE = {("fp32", "bf16", "fp16"): peak_lrs(*range(-9, -4), *range(0, 4), 5), "fp16_dynamic": lr_grid(0, 3)}
NEAR = ("fp32_passes", "fp16_2m_scaled", "fp8", "fp8_2m_unscaled")
LARGER_CNN = {"width": 64, "depth": 3, "steps": 400}
study.gpu(
    "one GPU, minutes: larger models, and times and memory of single runs",
    GPU_GPT | dict(batch_size=64, steps=500),
    seeds=6,
    # A pass has 4096 tokens: two million are 2^9 passes.
    arm_settings={arm: {"loss_scale": 2.0 ** (exponent + 14 - 9)} for arm, exponent in LARGE_STEPS.items()}
    | {SMALL_ARMS: {"batch_size": 8, "steps": 2000}, CNN_ARMS: LARGER_CNN},
    arm_factors=WIDE | {NEAR: lr_grid(-9, -6), "fp16_2m": lr_grid(-12, -7), SMALL_ARMS: lr_grid(-11.5, -7, per_octave=2)},
)
study.cluster(
    "many GPUs, hours: a larger GPT on web text, and times and memory of single runs",
    dict(dataset="web-text", width=256, depth=6, heads=8, context=256, batch_size=64, steps=2000),
    seeds=6,
    # A pass has 16384 tokens: two million are 2^7 passes.
    arm_settings={arm: {"loss_scale": 2.0 ** (exponent + 14 - 7)} for arm, exponent in LARGE_STEPS.items()}
    | {SMALL_ARMS: {"batch_size": 16, "steps": 8000}, CNN_ARMS: LARGER_CNN},
    arm_factors=WIDE | {NEAR: lr_grid(-11, -6), "fp16_2m": lr_grid(-13, -7), SMALL_ARMS: lr_grid(-12.5, -8, per_octave=2)},
)

# Claims.

final_gap = partial(loss_gap, metric=FinalLoss)
costs = partial(exceeds, clause="b", refuted=-0.005)


def gap_at_its_lr(arm: str, reference: str = "fp32", times: float = 1.0, best_of: tuple[str, ...] = ()) -> LossGap:
    """How much higher the arm ends than the reference at the LR tuned for the reference, the arm's multiplied by `times`."""
    return LossGap(left=LossAt(arm=arm, tuned_for=reference, times=times), right=TunedLoss(arm=reference), best_of=best_of)


# Where not even a format of 3 bits of mantissa, in which BF16 has 7, is seen to cost the margin, nothing is shown of BF16.
MARGIN = 0.005
study.claim(
    "prec.bf16_loss",
    at_least(
        MARGIN,
        loss_gap("small_fp8", "small_fp32"),
        "tuned loss, FP8 against FP32, 2 sequences a step",
        panel=PANELS["small"],
        precondition=True,
    ),
    no_worse(
        loss_gap("small_bf16", "small_fp32"),
        "tuned loss, BF16 against FP32, 2 sequences a step",
        "GPT with 2 sequences a step: BF16 {costs} of the loss reduction compared with FP32",
        margin=MARGIN,
        panel=PANELS["small"],
    ),
    reported(loss_gap("fp8", "fp32"), "8 sequences a step, 400 steps: FP8 against FP32"),
    reported(final_gap("cnn_bf16", "cnn_fp32"), "CNN: BF16 against FP32"),
    reported(final_gap("cnn_again", "cnn_fp32"), "CNN: FP32 rounded differently, against FP32"),
)

lost_by_nearest = loss_gap("small_nearest", "small_bf16")
study.claim(
    "prec.bf16_weights",
    exceeds(
        lost_by_nearest,
        "tuned loss, BF16 weights rounded to the nearest against FP32 weights, products in BF16",
        "Rounding BF16 weights to the nearest {costs} of the loss reduction compared with FP32 weights",
        by=MARGIN,
        clause="a",
    ),
    at_least(
        0.5,
        Share(part=loss_gap("small_nearest", "small_stochastic"), whole=lost_by_nearest, whole_at_least=MARGIN),
        "share of that loss that stochastic rounding makes up for",
        "Stochastic rounding makes up for {estimate} of that",
        clause="b",
        refuted=0.0,
        null=0.0,
        expected=predicted(1.0, "Zamirai et al. 2021: as good as FP32 on seven tasks"),
        underpowered="laptop seeds show it; those of a GPU in two cases of three",
    ),
    reported(loss_gap("small_stochastic", "small_bf16"), "tuned loss, stochastic rounding against FP32 weights"),
    reported(final_gap("mlp_nearest", "mlp_bf16"), "MLP with SGD: rounded to the nearest against FP32 weights"),
    reported(final_gap("mlp_stochastic", "mlp_bf16"), "MLP with SGD: stochastic rounding against FP32 weights"),
)

# 17M tokens a step and a loss scale of 2^3 flush what 2M tokens do.
IN_2M = 3
flushed = partial(underflow_share, arm="fp32_passes")
study.claim(
    "prec.fp16_underflow",
    at_least(
        0.01,
        flushed(of="activation", scale_exponent=IN_2M),
        "share of hidden activations' non-zero gradients that FP16 flushes, 2M tokens a step",
        "With the loss divided as in a mean over 2M tokens, unscaled FP16 flushes {estimate} of the gradients to zero",
        clause="a",
    ),
    costs(loss_gap("fp16_2m", "fp32"), "tuned loss, unscaled FP16 of 2M tokens a step against FP32"),
    at_least(
        0.9,
        gap_at_its_lr("fp16_2m"),
        "learning stops: what unscaled FP16 of 2M tokens a step loses of the fall at FP32's LR",
        "Unscaled FP16 at FP32's best LR loses {estimate} of the loss reduction",
        clause="c",
        unit="share",
        alternatives={"at half FP32's LR": gap_at_its_lr("fp16_2m", times=0.5)},
    ),
    reported(underflow_share(arm="fp32", of="activation"), "gradients flushed: hidden activations, one pass a step"),
    right={"supported": "zeros"},
)

study.claim(
    "prec.fp16_scaled",
    at_least(
        MARGIN, loss_gap("fp16_2m", "fp32"), "tuned loss, unscaled FP16 of 2M tokens a step against FP32", precondition=True
    ),
    no_worse(
        loss_gap("fp16_2m_scaled", "fp32"),
        "tuned loss, FP16 of 2M tokens a step scaled by 2^16 against FP32",
        "GPT, 2M tokens a step: FP16 with a scaled loss {costs} of the loss reduction compared with FP32",
        margin=MARGIN,
    ),
    reported(loss_gap("small_fp16", "small_fp32"), "2 sequences a step: FP16 with dynamic scaling against FP32"),
)

at_high_lr = partial(FailureRate, tuned_for="fp32", times=512.0)
with_large_features = partial(FailureRate, tuned_for="large_bf16")


@study.claim("prec.fp16_overflow")
def survive_in_bf16() -> Iterator[Part]:
    for panel, in_fp16, in_bf16 in (
        (PANELS["large"], with_large_features(arm="large_fp16_dynamic"), with_large_features(arm="large_bf16")),
        ("GPT, 512 times the best LR", at_high_lr(arm="fp16_dynamic"), at_high_lr(arm="bf16")),
    ):
        yield at_least(0.5, in_fp16, f"runs that fail in FP16, {panel}", panel=panel, precondition=True)
        says = "Of the runs that overflow in FP16, {estimate} fail in BF16"
        yield at_most(0.5, in_bf16, f"runs that fail in BF16, {panel}", says, panel=panel)
    yield reported(at_high_lr(arm="fp32"), "runs that fail in FP32 at 512 times the best LR")


@study.claim("prec.grad_norms")
def norms_agree() -> Iterator[Part]:
    same_norms = partial(at_most, 0.05)
    for network, model in {"small": "GPT", "mlp": "MLP with SGD"}.items():
        for precision, runs in {"bf16": "BF16", "fp16": "FP16 with dynamic scaling"}.items():
            distance = curve_distance(arm=f"{network}_{precision}", reference=f"{network}_fp32")
            name = f"median distance of gradient norms, {runs} from FP32, {model}"
            says = f"{model}: gradient norms in {runs} differ from FP32's by {{estimate}} at the median step"
            yield same_norms(distance, name, says, panel=PANELS[network])
    from_itself = curve_distance(arm="cnn_again", reference="cnn_fp32")
    for arm, runs, name in (
        ("cnn_bf16", "BF16", "median distance of gradient norms, BF16 from FP32, beyond FP32's from itself, CNN"),
        ("cnn_fp16", "FP16 with dynamic scaling", "the same, FP16 with dynamic scaling, CNN"),
    ):
        distance = curve_distance(arm=arm, reference="cnn_fp32")
        says = f"CNN: gradient norms in {runs} differ from FP32's by {{estimate}} more than a second FP32 run's"
        alone = {"distance from FP32 alone": distance}
        yield same_norms(distance - from_itself, name, says, panel=PANELS["cnn"], alternatives=alone)
    yield reported(from_itself, "median distance on the CNN of FP32 from FP32 rounded differently")


number = partial(computed, "constants.number_formats")


@study.claim("prec.range")
def spans() -> Iterator[Part]:
    for clause, low, high, of, name, says in (
        (
            "a",
            65503.0,
            65505.0,
            "fp16_largest",
            "largest FP16 number, by doubling until it overflows",
            "The largest FP16 number",
        ),
        (
            "b",
            4.5e-8,
            6.5e-8,
            "fp16_smallest",
            "smallest FP16 number, by halving until it is flushed",
            "The smallest FP16 number",
        ),
    ):
        yield within(low, high, number(of), name, f"{says} is {{estimate}}", clause=clause)
    name = "octaves of BF16's normal range over FP32's"
    says = "BF16's normal range has {estimate} of the octaves of FP32's"
    yield within(0.99, 1.01, number("bf16_exponent_bits"), name, says, clause="c", unit="share")


# Inputs far from zero for their spread: the mean that layer norm subtracts is a hundred times the spread, and is rounded. Means
# of 512 inputs lie 512^-1/2 from 100. BF16, whose numbers lie 0.5 apart there, rounds them to 100: 11 unit roundoffs of a
# spread of one. FP16, 2^-4 apart, rounds them by up to 2^-5, about uniformly: 37.
FAR = {"offset": 100.0, "spread": 1.0}


def error_of(operation: str, precision: str, **arguments: Any) -> Computed:
    """In unit roundoffs; on inputs of mean 2 and spread 4 if no others are given."""
    return computed("operations.error", "over_unit_roundoff", operation=operation, format=precision, **arguments)


@study.claim("prec.sensitive_ops")
def cancels() -> Iterator[Part]:
    cancellation = 8.0  # more than six rounded steps explain: three bits are lost
    for precision, expected in {
        "bf16": predicted(11.3, "theory: means that lie 512^-1/2 from 100 are rounded to 100", spread=0.1),
        "fp16": predicted(36.95, "theory: the mean's rounding, uniform over 2^-4", spread=0.1),
    }.items():
        label = precision.upper()
        panel = f"{label}, inputs far from zero"
        name = f"layer norm in {label}, error in unit roundoffs, inputs of mean 100 and spread 1"
        says = f"On inputs of mean 100 and spread 1, layer norm in {label} has an error of {{estimate}} unit roundoffs"
        layer_norm = error_of("layer_norm", precision, **FAR)
        narrow = {"spread 0.1": error_of("layer_norm", precision, offset=100.0, spread=0.1)}
        yield at_least(cancellation, layer_norm, name, says, clause="a", panel=panel, expected=expected, alternatives=narrow)
        name = f"matrix product in {label}, the same inputs"
        says = f"On the same inputs, a matrix product in {label} has an error of {{estimate}} unit roundoffs"
        yield at_most(cancellation, error_of("matmul", precision, **FAR), name, says, clause="b", panel=panel)
    for precision in ("bf16", "fp16"):
        label, layer_norm = precision.upper(), error_of("layer_norm", precision)
        name = f"layer norm in {label}, error in unit roundoffs, inputs of mean 2 and spread 4"
        says = f"On inputs of mean 2 and spread 4, layer norm in {label} has an error of {{estimate}} unit roundoffs"
        yield at_least(cancellation, layer_norm, name, says, clause="a", panel=f"{label}, inputs around zero")


timed = {"arm": "solo_bf16", "reference": "solo_fp32"}
study.claim("prec.speed", at_least(1.5, SpeedUp(**timed), "steps a second, BF16 over FP32, width 2048", null=1.0))
study.claim(
    "prec.memory", at_most(0.6, memory_ratio(**timed), "peak memory, BF16 over FP32, width 2048", refuted=0.75, null=1.0)
)

# Runs without scales have no best LR: the loss reduction is that of the runs with them.
unscaled_fp8 = partial(gap_at_its_lr, "fp8_2m_unscaled", "fp8", best_of=("fp8",))
EMULATED = "FP8 is emulated here: what it saves shows on a Hopper or Blackwell GPU that computes in it"
study.claim(
    "prec.fp8",
    no_worse(loss_gap("fp8", "fp32"), "tuned loss, FP8 scaled per tensor against FP32", margin=0.01, clause="a"),
    costs(
        unscaled_fp8(),
        "loss, FP8 unscaled of 2M tokens a step against scaled",
        "With the loss divided as in a mean over 2M tokens, leaving out the scales {costs} of the loss reduction",
        alternatives={"at half that LR": unscaled_fp8(times=0.5), "at four times that LR": unscaled_fp8(times=4.0)},
    ),
    at_least(1.0, Unmeasured(reason=EMULATED), "what FP8 saves", "FP8 saves {estimate}", clause="c", unit="x"),
)

nan_rate = partial(FailureRate, of="not_finite", tuned_for="fp32")
of_cnn, high_lr = partial(nan_rate, tuned_for="large_fp32"), partial(nan_rate, times=512.0)


@study.claim("prec.fp16_nan", right={"supported": "NaN", "refuted": "zeros"})
def reach_nan() -> Iterator[Part]:
    for panel, unscaled, scaled, runs in (
        ("gradients underflow", nan_rate(arm="fp16_2m"), nan_rate(arm="fp16_2m_scaled"), "of 2M tokens a step"),
        ("high LR", high_lr(arm="fp16"), high_lr(arm="fp16_dynamic"), "at 512 times the best LR"),
        ("large features", of_cnn(arm="large_fp16"), of_cnn(arm="large_fp16_dynamic"), "with activations above 65,504"),
    ):
        says = f"Without loss scaling, {{estimate}} of the FP16 runs {runs} reach NaN"
        yield at_least(0.5, unscaled, f"unscaled FP16 runs {runs} that reach NaN", says, clause="a", panel=panel)
        says = "With loss scaling, {estimate} of the same FP16 runs reach NaN"
        yield at_most(0.5, scaled, f"scaled FP16 runs {runs} that reach NaN", says, clause="b", panel=panel)


autocast = partial(computed, "constants.autocast")
study.claim(
    "prec.mixed_formats",
    at_most(
        0.01,
        autocast("backward"),
        "share of the backward pass's matrix products that FP16 autocast computes in 16 bits",
        "In the backward pass, FP16 autocast computes {estimate} of the matrix products in 16 bits",
        refuted=0.5,
        unit="share",
    ),
    right={"supported": "FP32 backward", "refuted": "16 bits"},
)


def largest_lr(arm: str, within: float = 0.5) -> Observed:
    """The largest LR at which the arm ends within this share of FP32's loss reduction, over FP32's."""
    bar = {"within": within, "of": "fall", "best_of": ("fp32",)}
    return MaxTrainable(arm=arm, **bar) / MaxTrainable(arm="fp32", **bar)


@study.claim("prec.lr_range")
def largest_lr_differs() -> Iterator[Part]:
    for arm, panel, runs, other_bars in (
        ("fp16_2m", "FP16, 2M tokens a step", "unscaled FP16 of 2M tokens a step", (0.4, 0.6)),
        ("fp16", "FP16, one pass a step", "FP16 of one pass", (0.4, 0.6)),
        ("bf16", "BF16", "BF16", (0.15,)),
    ):
        name = f"largest trainable LR, {runs} over FP32"
        says = f"The largest LR at which {runs} trains is {{estimate}} that of FP32"
        others = {f"{bar:.0%} of the fall": largest_lr(arm, bar) for bar in other_bars}
        yield beyond(0.8, 1.25, largest_lr(arm), name, says, null=1.0, panel=panel, alternatives=others)


STUDY = study.declared()
