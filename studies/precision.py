"""What do 16-bit and 8-bit numbers do to training, and what fixes it?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .kit import *
from .metrics.precision import curve_distance, memory_ratio, underflow_share

NEAR_LR = lr_grid(-8, -4)

study = Draft(
    __file__,
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.95, schedule="cosine", warmup_fraction=0.05, final_fraction=0.0, batch_size=8, steps=400)
    | dict(probes=10, evaluations=2, evaluation_examples=64, final_examples=512),
    version=5,  # why each version: reports/log
    factors=NEAR_LR,
    seeds=12,
    first_seed=2100,
    answer=("prec.bf16_loss", "prec.fp16_underflow", "prec.fp16_scaled", "prec.fp16_nan"),
)


# Arms: GPTs at several LRs, networks at one LR in each format, and GPTs that are timed.


FP16 = {"precision": "fp16"}
# From 2^16, as in torch, the first updates of a short run overflow and are skipped.
DYNAMIC = FP16 | {"loss_scaling": "dynamic"}
# A format: the label of its arms, and their settings.
Format = tuple[str, dict[str, Any]]
IN_FP32: Format = ("FP32", {})
# A factor that is no power of two: the same FP32 run, rounded differently.
IN_FP32_AGAIN: Format = ("FP32, rounded differently", {"loss_scaling": "static", "loss_scale": 3.0})
IN_BF16: Format = ("BF16", {"precision": "bf16"})
IN_FP16: Format = ("FP16, no scaling", FP16)
IN_FP16_SCALED: Format = ("FP16, dynamic scaling", DYNAMIC)
# From 2^10, as in the document, no update is skipped. On pilot seeds the GPT of 2000 steps then ended within 0.03% of the loss
# reduction of FP32; from 2^16, which skips its first updates, within 0.6%.
IN_FP16_FROM_1024: Format = ("FP16, dynamic scaling", DYNAMIC | {"loss_scale": 2.0**10})

# A pass sees few tokens; a large step sums the gradients of many passes, and its loss is a mean over all their tokens. So each
# pass's loss is divided by their number before the backward pass, and its gradient multiplied by it, as the sum over passes
# would. In FP32 nothing changes. At laptop scale a pass has 128 tokens: 2^14 of them are two million.
LOSS_SCALES = {
    "fp32_passes": 2.0**-17,
    "fp16_05m": 2.0**-12,
    "fp16_2m": 2.0**-14,
    "fp16_2m_scaled": 2.0 ** (16 - 14),
    "fp8_2m_unscaled": 2.0**-14,
}


def gpt(name: str, label: str, settings: dict[str, Any], lrs: dict[str, Any], panel: str = "GPT", **options: Any) -> None:
    large_step = {"loss_scaling": "static", "loss_scale": LOSS_SCALES[name]} if name in LOSS_SCALES else {}
    study.arm(name, label, panel, settings | large_step, factors=lrs, **options)


# Up to where FP32 itself fails, at 2^5. Nothing is read between 2^-2 and 2^0.
WIDE_LR = peak_lrs(*range(-8, -1), *range(0, 7))
FP8, FP8_UNSCALED = {"precision": "fp8"}, {"precision": "fp8_unscaled"}
NOT_ON_GPU, ON_GPU = ("smoke", "laptop"), ("gpu", "cluster")

gpt("fp32", "FP32", {"underflow": True}, WIDE_LR, reference=True)
gpt("bf16", *IN_BF16, WIDE_LR)
gpt("fp16", *IN_FP16, peak_lrs(*range(-8, -3), *range(0, 4)))
gpt("fp16_dynamic", "FP16, dynamic scaling, LRs at which FP16 overflows", DYNAMIC, lr_grid(1, 3), panel="GPT, high LRs")
gpt("fp32_passes", "FP32, 17M tokens a step", {"underflow": True}, NEAR_LR)
gpt("fp16_05m", "FP16, no scaling, 0.5M tokens a step", FP16, lr_grid(-10, -6))
gpt("fp16_2m", "FP16, no scaling, 2M tokens a step", FP16, lr_grid(-11, -5))
gpt("fp16_2m_scaled", "FP16, 2M tokens a step, scaled by 2^16", FP16, NEAR_LR)
gpt("fp8", "FP8, scaled per tensor", FP8, NEAR_LR)
gpt("fp8_unscaled", "FP8, unscaled", FP8_UNSCALED, lr_grid(-7, -5), scales=NOT_ON_GPU)
gpt("fp8_2m_unscaled", "FP8, unscaled, 2M tokens a step", FP8_UNSCALED, NEAR_LR)
GPT = tuple(study.arms)

# Panels that are trained at one LR, the same for all formats, tuned beforehand in FP32 on other seeds: only the format differs,
# which is the check the documents describe.
PANELS = {"long": "GPT, 2000 steps", "mlp": "MLP, SGD", "cnn": "CNN", "chaotic": "CNN, high LR", "large": "CNN, large features"}


def at_one_lr(network: str, settings: dict[str, Any], peak_lr: float, scales: Any = None, **formats: Format) -> tuple[str, ...]:
    """Arms `<network>_<format>`."""
    return tuple(
        study.arm(
            f"{network}_{precision}",
            label,
            PANELS[network],
            settings | changed,
            factors={"peak_lr": (peak_lr,)},
            scales=scales,
            reference=precision == "fp32",
        )
        for precision, (label, changed) in formats.items()
    )


MLP = dict(DIGITS_MLP, optimizer="sgd", weight_decay=0.0, batch_size=32, steps=500, probes=40)
# Half the batch and 3.4 times the LR is near the CNN's best LR. There two FP32 runs that round differently end 0.5% of the loss
# reduction and 3 to 10% in gradient norm apart (pilot seeds), so that no format can be told from another.
CNN = dict(model="cnn", dataset="digits", width=16, depth=2, batch_size=32, steps=300, probes=20)
CHAOTIC = CNN | dict(batch_size=16)
# Features up to 30000: finite in FP16, but the first convolution's sums pass 65504. The group norm after it undoes the scale.
LARGE = CHAOTIC | dict(feature_scale=2.0**14, steps=100, weight_decay=0.0, probes=10)

LONG_ARMS = at_one_lr("long", dict(steps=2000, probes=20), 2.0**-7.5, fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16_FROM_1024)
MLP_ARMS = at_one_lr("mlp", MLP, 2.0**-5.5, fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16_SCALED)
CNN_ARMS = at_one_lr("cnn", CNN, 2.0**-8.25, fp32=IN_FP32, again=IN_FP32_AGAIN, bf16=IN_BF16, fp16=IN_FP16_SCALED)
CHAOTIC_ARMS = at_one_lr("chaotic", CHAOTIC, 2.0**-6.5, NOT_ON_GPU, fp32=IN_FP32, again=IN_FP32_AGAIN, bf16=IN_BF16)
LARGE_ARMS = at_one_lr("large", LARGE, 2.0**-2, fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16, fp16_dynamic=IN_FP16_SCALED)

TIMED_RUN = dict(depth=4, context=256, batch_size=32, steps=16, probes=2, evaluations=1, final_examples=64, solo=True)
TIMED_FORMATS = {"fp32": {}, "tf32": {"precision": "tf32"}, "bf16": {"precision": "bf16"}, "fp16": DYNAMIC}

for width, formats in {256: ("fp32", "bf16"), 1024: ("fp32", "bf16"), 2048: tuple(TIMED_FORMATS)}.items():
    for precision in formats:
        study.arm(
            f"solo_{precision}_{width}",
            f"{precision.upper()}, width {width}",
            "speed",
            TIMED_RUN | TIMED_FORMATS[precision] | dict(width=width, heads=width // 64),
            factors=lr_grid(-10, -10),
            scales=ON_GPU,
        )

study.smoke(
    dict(steps=10, probes=2, evaluations=1, evaluation_examples=8, final_examples=16),
    factors=lr_grid(-6, -6),
    arm_factors={
        GPT: lr_grid(-6, -6),
        "fp16_dynamic": lr_grid(1, 1),
        ("fp16_05m", "fp16_2m"): lr_grid(-8, -8),
    },
    arm_settings={(*LONG_ARMS, *MLP_ARMS, *CNN_ARMS, *CHAOTIC_ARMS, *LARGE_ARMS): {"steps": 5, "probes": 2}},
    seeds=1,
)
study.laptop("three minutes of training if they multiply BF16, else six; speed is not measured")


def of_larger_gpt(
    passes: float, long_steps: int, near: int, fp16_05m: int, fp16_2m: int, long: int
) -> dict[str, dict[Any, dict[str, Any]]]:
    """passes: of laptop scale, as large as one of this GPT. near, fp16_05m, fp16_2m, long: exponents of the lowest LRs."""
    return {
        "arm_settings": {
            **{arm: {"loss_scale": passes * loss_scale} for arm, loss_scale in LOSS_SCALES.items()},
            LONG_ARMS: {"steps": long_steps},
            CNN_ARMS: {"width": 64, "depth": 3, "steps": 400},
        },
        "arm_factors": {
            ("fp32", "bf16", "fp16"): peak_lrs(*range(-9, -4), *range(0, 4), 5),
            "fp16_dynamic": lr_grid(0, 3),
            "fp16_05m": lr_grid(fp16_05m, -7),
            "fp16_2m": lr_grid(fp16_2m, -7),
            ("fp32_passes", "fp16_2m_scaled", "fp8", "fp8_2m_unscaled"): lr_grid(near, -6),
            LONG_ARMS: lr_grid(long, long),
        },
    }


study.gpu(
    "one GPU, minutes: larger models, and times and memory of single runs",
    GPU_GPT | dict(batch_size=64, steps=500),
    seeds=6,
    # Two million tokens are 2^9 passes of 4096.
    **of_larger_gpt(2**14 / 2**9, long_steps=700, near=-9, fp16_05m=-10, fp16_2m=-12, long=-8),
)
study.cluster(
    "many GPUs, hours: a larger GPT on web text, and times and memory of single runs",
    dict(dataset="web-text", width=256, depth=6, heads=8, context=256, batch_size=64, steps=2000),
    seeds=6,
    # Two million tokens are 2^7 passes of 16384.
    **of_larger_gpt(2**14 / 2**7, long_steps=6000, near=-11, fp16_05m=-11, fp16_2m=-13, long=-9),
)


# Claims.


# The formats that are to train as FP32 does.
TRAINED_IN = {"bf16": "BF16", "fp16": "FP16 with dynamic scaling"}


def final_gap(network: str, precision: str) -> LossGap:
    return loss_gap(f"{network}_{precision}", f"{network}_fp32", FinalLoss)


def gap_at_its_lr(arm: str, reference: str, times: float = 1.0, **options: Any) -> LossGap:
    """How much higher the arm ends than the reference at the LR tuned for the reference, the arm's multiplied by `times`."""
    return LossGap(left=LossAt(arm=arm, tuned_for=reference, times=times), right=TunedLoss(arm=reference), **options)


def as_good_as_fp32(observe: LossGap, name: str, trained_in: str, panel: str, source: str, spread: float = 0.003) -> Criterion:
    """spread: between the seeds of a pilot."""
    says = f"{panel}: {trained_in} {{costs}} of the loss reduction compared with FP32"
    expected = predicted(0.0, source, spread=spread, scales=("laptop",))
    return no_worse(observe, name, says, panel=panel, expected=expected)


def final_losses_as_good(precision: str, source: str, long_spread: float) -> Iterator[Criterion]:
    trained_in = TRAINED_IN[precision]
    for network, name, spread in (
        ("long", f"loss of long runs, {trained_in} against FP32", long_spread),
        ("mlp", f"loss, {trained_in} against FP32, MLP with SGD", 0.0006),
        ("cnn", f"loss, {trained_in} against FP32, CNN", 0.003),
    ):
        yield as_good_as_fp32(final_gap(network, precision), name, trained_in, PANELS[network], source, spread)


@study.claim("prec.bf16_loss")
def bf16_as_good() -> Iterator[Part]:
    source = "theory: BF16 has FP32's exponents, so that nothing underflows, and roundings average out over steps"
    yield as_good_as_fp32(loss_gap("bf16", "fp32"), "tuned loss, BF16 against FP32", "BF16", "GPT, 400 steps", source)
    yield from final_losses_as_good("bf16", source, long_spread=0.0016)
    yield reported(final_gap("cnn", "again"), "CNN: FP32 rounded differently, against FP32")
    yield reported(final_gap("chaotic", "bf16"), "CNN near its best LR: BF16 against FP32")
    yield reported(final_gap("chaotic", "again"), "CNN near its best LR: FP32 rounded differently, against FP32")


# 17M tokens a step and a loss scale of 2^3 flush what 2M tokens do.
flushed_17m = partial(underflow_share, arm="fp32_passes")
flushed_2m = partial(flushed_17m, scale_exponent=3)

study.claim(
    "prec.fp16_underflow",
    at_least(
        0.01,
        flushed_2m(of="activation"),
        "share of hidden activations' non-zero gradients that FP16 flushes, 2M tokens a step",
        "With the loss divided as in a mean over 2M tokens, unscaled FP16 flushes {estimate} of the gradients to zero",
        clause="a",
    ),
    exceeds(
        loss_gap("fp16_2m", "fp32"),
        "tuned loss, unscaled FP16 of 2M tokens a step against FP32",
        "Unscaled FP16 at its own best LR {costs} of the loss reduction compared with FP32",
        clause="b",
        refuted=-0.005,
    ),
    at_least(
        0.9,
        gap_at_its_lr("fp16_2m", "fp32"),
        "learning stops: what unscaled FP16 of 2M tokens a step loses of the fall at FP32's LR",
        "Unscaled FP16 at FP32's best LR loses {estimate} of the loss reduction",
        clause="c",
        unit="share",
        alternatives={"at half FP32's LR": gap_at_its_lr("fp16_2m", "fp32", 0.5)},
    ),
    reported(loss_gap("fp16", "fp32"), "tuned loss, unscaled FP16 of one pass a step against FP32"),
    reported(loss_gap("fp16_05m", "fp32"), "tuned loss, unscaled FP16 of 0.5M tokens a step against FP32"),
    reported(gap_at_its_lr("fp16_05m", "fp32"), "at FP32's LR, the same"),
    reported(flushed_17m(of="activation"), "gradients flushed: hidden activations, 17M tokens a step"),
    reported(flushed_17m(of="activation", scale_exponent=8), "gradients flushed: hidden activations, loss scaled by 2^8 more"),
    reported(
        flushed_17m(of="activation", scale_exponent=16), "gradients flushed: hidden activations, loss scaled by 2^16 more"
    ),
    reported(underflow_share(arm="fp32", of="activation"), "gradients flushed: hidden activations, one pass a step"),
    reported(underflow_share(arm="fp32", of="logits"), "gradients flushed: logits, one pass a step"),
    reported(flushed_2m(of="logits"), "gradients flushed: logits, 2M tokens a step"),
    reported(flushed_2m(of="weight"), "gradients flushed: weights, 2M tokens a step"),
    right={"supported": "zeros"},
)


@study.claim("prec.fp16_scaled")
def scaled_fp16_as_good() -> Iterator[Part]:
    source = "Micikevicius et al. 2018: losses equal to FP32's with FP32 weights and a scaled loss"
    yield as_good_as_fp32(
        loss_gap("fp16_2m_scaled", "fp32"),
        "tuned loss, FP16 of 2M tokens a step scaled by 2^16 against FP32",
        "FP16 scaled by 2^16",
        "GPT, 2M tokens a step",
        source,
    )
    yield from final_losses_as_good("fp16", source, long_spread=0.002)


AT_HIGH_LR: dict[str, Any] = {"tuned_for": "fp32", "times": 512.0}


@study.claim("prec.fp16_overflow")
def overflows() -> Iterator[Part]:
    for panel, cause, at, fp16, fp16_name, bf16, bf16_name in (
        (
            PANELS["large"],
            "If activations exceed 65,504",
            {"tuned_for": "large_bf16"},
            "large_fp16_dynamic",
            "runs that fail in FP16, activations past 65504 in the first forward pass",
            "large_bf16",
            "runs that fail in BF16, the same",
        ),
        (
            "GPT, high LR",
            "At 512 times the best LR",
            AT_HIGH_LR,
            "fp16_dynamic",
            "runs that fail in FP16 at 512 times the best LR",
            "bf16",
            "runs that fail in BF16 at 512 times the best LR",
        ),
    ):
        says = f"{cause}, {{estimate}} of the FP16 runs fail"
        yield at_least(0.5, FailureRate(arm=fp16, **at), fp16_name, says, panel=panel, precondition=True)
        says = "Of the runs that overflow in FP16, {estimate} fail in BF16"
        yield at_most(0.5, FailureRate(arm=bf16, **at), bf16_name, says, panel=panel)
    yield reported(final_gap("large", "bf16"), "loss of the CNN with large features, BF16 against FP32")
    yield reported(FailureRate(arm="fp32", **AT_HIGH_LR), "runs that fail in FP32 at 512 times the best LR")


def norm_distance(network: str, precision: str) -> Observed:
    return curve_distance(arm=f"{network}_{precision}", reference=f"{network}_fp32")


@study.claim("prec.grad_norms")
def norms_agree() -> Iterator[Part]:
    same_norms = partial(at_most, 0.05, unit="share")
    for network, model in {"long": "GPT", "mlp": "MLP with SGD"}.items():
        for precision, trained_in in TRAINED_IN.items():
            yield same_norms(
                norm_distance(network, precision),
                f"median distance of gradient norms, {trained_in} from FP32, {model}",
                f"{model}: gradient norms in {trained_in} differ from FP32's by {{estimate}} at the median step",
                panel=PANELS[network],
            )
    from_itself = norm_distance("cnn", "again")
    for precision, name in {
        "bf16": "median distance of gradient norms, BF16 from FP32, beyond FP32's from itself, CNN",
        "fp16": "the same, FP16 with dynamic scaling, CNN",
    }.items():
        distance = norm_distance("cnn", precision)
        yield same_norms(
            distance - from_itself,
            name,
            f"CNN: gradient norms in {TRAINED_IN[precision]} differ from FP32's by {{estimate}} more than a second FP32 run's",
            panel=PANELS["cnn"],
            alternatives={"distance from FP32 alone": distance},
        )
    for name, distance in {
        "on the CNN of FP32 from FP32 rounded differently": from_itself,
        "on the CNN near its best LR, BF16 from FP32": norm_distance("chaotic", "bf16"),
        "on the CNN near its best LR, FP32 from itself": norm_distance("chaotic", "again"),
        "in BF16 of the GPT of 400 steps": curve_distance(arm="bf16", reference="fp32"),
    }.items():
        yield reported(distance, f"median distance {name}", "share")
    median_norm = partial(Curve, of="probe_gradient_norm", statistic="median")
    for precision in ("bf16", "fp16"):
        over_fp32 = median_norm(arm=f"cnn_{precision}") / median_norm(arm="cnn_fp32")
        yield reported(over_fp32, f"median norm on the CNN in {precision.upper()} over that in FP32")


number_formats = partial(computed, "constants.number_formats")

study.claim(
    "prec.range",
    within(
        65503.0,
        65505.0,
        number_formats("fp16_largest"),
        "largest FP16 number, by doubling until it overflows",
        "The largest FP16 number is {estimate}",
        clause="a",
    ),
    within(
        4.5e-8,
        6.5e-8,
        number_formats("fp16_smallest"),
        "smallest FP16 number, by halving until it is flushed",
        "The smallest FP16 number above zero is {estimate}",
        clause="b",
    ),
    within(
        0.99,
        1.01,
        number_formats("bf16_exponent_bits"),
        "octaves of BF16's normal range over FP32's",
        "BF16's normal range covers {estimate} of FP32's octaves",
        clause="c",
        unit="share",
    ),
)

# Inputs far from zero for their spread: the mean that layer norm subtracts is a hundred times the spread, and is rounded. Means
# of 512 inputs lie 512^-1/2 from 100. BF16, whose numbers lie 0.5 apart there, rounds them to 100: 11 unit roundoffs of a
# spread of one. FP16, 2^-4 apart, rounds them by up to 2^-5, about uniformly: 37.
FAR = {"offset": 100.0, "spread": 1.0}
FAR_EXPECTED = {
    "bf16": predicted(11.3, "theory: means that lie 512^-1/2 from 100 are rounded to 100", spread=0.1),
    "fp16": predicted(36.95, "theory: the mean's rounding, uniform over 2^-4", spread=0.1),
}
# More than six rounded steps explain: three bits are lost.
CANCELLATION = 8.0


def error_of(operation: str, precision: str, **arguments: Any) -> Computed:
    """In unit roundoffs; on inputs of mean 2 and spread 4 if no others are given."""
    return computed("operations.error", "over_unit_roundoff", operation=operation, format=precision, **arguments)


def layer_norm_cancels(observe: Computed, precision: str, inputs: str, where: str, **options: Any) -> Criterion:
    return at_least(
        CANCELLATION,
        observe,
        f"layer norm in {precision}, error in unit roundoffs, inputs of {inputs}",
        f"On inputs of {inputs}, layer norm in {precision} has an error of {{estimate}} unit roundoffs",
        clause="a",
        panel=f"{precision}, inputs {where}",
        **options,
    )


@study.claim("prec.sensitive_ops")
def cancels() -> Iterator[Part]:
    for precision, label in {"bf16": "BF16", "fp16": "FP16"}.items():
        yield layer_norm_cancels(
            error_of("layer_norm", precision, **FAR),
            label,
            "mean 100 and spread 1",
            "far from zero",
            expected=FAR_EXPECTED[precision],
            alternatives={"spread 0.1": error_of("layer_norm", precision, offset=100.0, spread=0.1)},
        )
        yield at_most(
            CANCELLATION,
            error_of("matmul", precision, **FAR),
            f"matrix product in {label}, the same inputs",
            f"On the same inputs, a matrix product in {label} has an error of {{estimate}} unit roundoffs",
            clause="b",
            panel=f"{label}, inputs far from zero",
        )
    yield layer_norm_cancels(error_of("layer_norm", "bf16"), "BF16", "mean 2 and spread 4", "around zero")
    yield layer_norm_cancels(error_of("layer_norm", "fp16"), "FP16", "mean 2 and spread 4", "around zero")
    yield reported(error_of("softmax", "bf16"), "softmax in BF16, mean 2 and spread 4")
    yield reported(error_of("softmax", "bf16", **FAR), "softmax in BF16, mean 100 and spread 1")
    yield reported(error_of("log_sum_exp", "bf16", **FAR), "log-sum-exp in BF16, mean 100 and spread 1")
    yield reported(error_of("variance", "bf16", **FAR), "variance in BF16, mean 100 and spread 1")
    yield reported(error_of("variance", "fp16", **FAR), "variance in FP16, mean 100 and spread 1")
    in_same_sums = "in BF16, mean 2 and spread 4, sums in BF16 too"
    yield reported(error_of("layer_norm", "bf16", sums="same"), f"layer norm {in_same_sums}")
    yield reported(error_of("matmul", "bf16", sums="same"), f"matrix product {in_same_sums}")


def over(precision: str, reference: str, width: int) -> dict[str, str]:
    return {"arm": f"solo_{precision}_{width}", "reference": f"solo_{reference}_{width}"}


@study.claim("prec.speed")
def faster() -> Iterator[Part]:
    yield at_least(
        1.5,
        SpeedUp(**over("bf16", "fp32", 2048)),
        "steps a second, BF16 over FP32, width 2048",
        "At width 2048, BF16 trains {estimate} as fast as FP32",
        null=1.0,
    )
    for precision, reference, width in (
        ("bf16", "fp32", 256),
        ("bf16", "fp32", 1024),
        ("fp16", "fp32", 2048),
        ("tf32", "fp32", 2048),
        ("bf16", "tf32", 2048),
    ):
        yield reported(
            SpeedUp(**over(precision, reference, width)), f"{precision.upper()} over {reference.upper()}, width {width}"
        )


study.claim(
    "prec.memory",
    at_most(
        0.6,
        memory_ratio(**over("bf16", "fp32", 2048)),
        "peak memory, BF16 over FP32, width 2048",
        "At width 2048, BF16 takes {estimate} the peak memory of FP32",
        refuted=0.75,
        null=1.0,
    ),
    reported(memory_ratio(**over("bf16", "fp32", 256)), "width 256"),
    reported(memory_ratio(**over("bf16", "fp32", 1024)), "width 1024"),
)

# Runs without scales have no best LR: the loss reduction is that of the runs with them.
unscaled_fp8 = partial(gap_at_its_lr, reference="fp8", best_of=("fp8",))

study.claim(
    "prec.fp8",
    no_worse(
        loss_gap("fp8", "fp32"),
        "tuned loss, FP8 scaled per tensor against FP32",
        "Emulated FP8 with a scale per tensor {costs} of the loss reduction compared with FP32",
        margin=0.01,
        clause="a",
    ),
    exceeds(
        unscaled_fp8("fp8_2m_unscaled"),
        "loss, FP8 unscaled of 2M tokens a step against scaled",
        "With the loss divided as in a mean over 2M tokens, leaving out the scales {costs} of the loss reduction",
        clause="b",
        refuted=-0.005,
        alternatives={
            "at half that LR": unscaled_fp8("fp8_2m_unscaled", times=0.5),
            "at four times that LR": unscaled_fp8("fp8_2m_unscaled", times=4.0),
        },
    ),
    at_least(
        1.0,
        Unmeasured(
            reason=(
                "FP8 is emulated here and its numbers lie in FP32: what it saves shows on a Hopper or Blackwell GPU that"
                " computes in it"
            )
        ),
        "what FP8 saves",
        "FP8 saves {estimate}",
        clause="c",
        unit="x",
    ),
    reported(unscaled_fp8("fp8_unscaled"), "loss, FP8 unscaled of one pass a step against scaled"),
)

nan_rate = partial(FailureRate, of="not_finite", tuned_for="fp32")


@study.claim("prec.fp16_nan", right={"supported": "NaN", "refuted": "zeros"})
def reaches_nan() -> Iterator[Part]:
    for panel, cause, unscaled, unscaled_name, scaled, scaled_name, alternatives in (
        (
            "gradients underflow",
            "If gradients underflow",
            nan_rate(arm="fp16_2m"),
            "unscaled FP16 runs of 2M tokens a step that reach NaN",
            nan_rate(arm="fp16_2m_scaled"),
            "the same runs scaled by 2^16 that reach NaN",
            {"at a quarter of that LR": nan_rate(arm="fp16_2m", times=0.25)},
        ),
        (
            "high LR",
            "At 512 times the best LR",
            nan_rate(arm="fp16", **AT_HIGH_LR),
            "unscaled FP16 runs at 512 times the best LR that reach NaN",
            nan_rate(arm="fp16_dynamic", **AT_HIGH_LR),
            "the same runs with dynamic scaling that reach NaN",
            None,
        ),
        (
            "large features",
            "If activations exceed 65,504",
            nan_rate(arm="large_fp16", tuned_for="large_fp32"),
            "unscaled FP16 runs with activations past 65504 that reach NaN",
            nan_rate(arm="large_fp16_dynamic", tuned_for="large_fp32"),
            "the same runs with dynamic scaling, activations past 65504",
            None,
        ),
    ):
        says = f"{cause}, {{estimate}} of the unscaled FP16 runs reach NaN"
        yield at_least(0.5, unscaled, unscaled_name, says, clause="a", panel=panel, alternatives=alternatives)
        says = f"{cause}, {{estimate}} of the FP16 runs with loss scaling reach NaN"
        yield at_most(0.5, scaled, scaled_name, says, clause="b", panel=panel)
    yield reported(nan_rate(arm="fp16"), "unscaled FP16 runs at FP32's best LR, one pass a step, that reach NaN")
    yield reported(nan_rate(arm="fp32", **AT_HIGH_LR), "FP32 runs at 512 times the best LR that reach NaN")


study.claim(
    "prec.mixed_formats",
    at_most(
        0.01,
        computed("constants.autocast", "backward"),
        "share of the backward pass's matrix products that FP16 autocast computes in 16 bits",
        "Under FP16 autocast, {estimate} of the matrix products of the backward pass are in 16 bits",
        refuted=0.5,
        unit="share",
    ),
    reported(
        computed("constants.autocast", "forward"),
        "share of the forward pass's matrix products that FP16 autocast computes in 16 bits",
        "share",
    ),
    right={"supported": "FP32 backward", "refuted": "16 bits"},
)

# Half of FP32's loss reduction, for every format. Within 15% of it an LR learns more than character frequencies.
HALF_WAY, NEAR = 0.5, 0.15


def largest_lr(arm: str, within: float) -> Observed:
    """The largest LR at which the arm ends within this share of FP32's loss reduction, over FP32's."""
    bar = {"within": within, "of": "fall", "best_of": ("fp32",)}
    return MaxTrainable(arm=arm, **bar) / MaxTrainable(arm="fp32", **bar)


@study.claim("prec.lr_range")
def largest_lr_differs() -> Iterator[Part]:
    for arm, panel, runs, other_bars in (
        ("fp16_2m", "FP16, 2M tokens a step", "unscaled FP16 of 2M tokens a step", (0.4, 0.6)),
        ("fp16", "FP16, one pass a step", "FP16 of one pass", (0.4, 0.6)),
        ("bf16", "BF16", "BF16", (NEAR,)),
    ):
        yield beyond(
            0.8,
            1.25,
            largest_lr(arm, HALF_WAY),
            f"largest trainable LR, {runs} over FP32",
            f"The largest LR at which {runs} trains is {{estimate}} that of FP32",
            null=1.0,
            panel=panel,
            alternatives={f"{bar:.0%} of the fall": largest_lr(arm, bar) for bar in other_bars},
        )
    yield reported(
        largest_lr("fp16_05m", NEAR),
        "largest LR within 15% of the loss reduction, unscaled FP16 of 0.5M tokens a step over FP32",
    )


STUDY = study.declared()
