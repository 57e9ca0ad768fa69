"""What do 16-bit and 8-bit numbers do to training, and what fixes it?"""

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
    version=5,  # why each version: reports/log
    factors=lr_grid(-8, -4),
    seeds=12,
    first_seed=2100,
    answer=("prec.bf16_loss", "prec.fp16_underflow", "prec.fp16_scaled", "prec.fp16_nan"),
)

# Arms: GPTs at several LRs, networks at one LR in each format, and GPTs that are timed.

# From 2^16, as in torch, the first updates of a short run overflow and are skipped.
DYNAMIC = {"precision": "fp16", "loss_scaling": "dynamic"}
# A format is the label of its arms, and their settings.
IN_FP32: tuple[str, Settings] = ("FP32", {})
# A factor that is no power of two: the same FP32 run, rounded differently.
IN_FP32_AGAIN = ("FP32, rounded differently", {"loss_scaling": "static", "loss_scale": 3.0})
IN_BF16 = ("BF16", {"precision": "bf16"})
IN_FP16 = ("FP16, no scaling", {"precision": "fp16"})
IN_FP16_SCALED = ("FP16, dynamic scaling", DYNAMIC)
# From 2^10, as in the document, no update is skipped. On pilot seeds the GPT of 2000 steps then ended within 0.03% of the loss
# reduction of FP32; from 2^16, which skips its first updates, within 0.6%.
IN_FP16_FROM_1024 = ("FP16, dynamic scaling", DYNAMIC | {"loss_scale": 2.0**10})

# A pass sees few tokens; a large step sums the gradients of many passes, and its loss is a mean over all their tokens. So each
# pass's loss is divided by their number before the backward pass, and its gradient multiplied by it, as the sum over passes
# would. In FP32 nothing changes. At laptop scale a pass has 128 tokens: 2^14 of them are two million. Log2 of loss scales:
LARGE_STEPS = {"fp32_passes": -17, "fp16_05m": -12, "fp16_2m": -14, "fp16_2m_scaled": 16 - 14, "fp8_2m_unscaled": -14}


def gpt(name: str, label: str, lrs: dict[str, Any], panel: str = "GPT", **options: Any) -> None:
    large_step = {"loss_scaling": "static", "loss_scale": 2.0 ** LARGE_STEPS[name]} if name in LARGE_STEPS else {}
    study.arm(name, label, panel, large_step, factors=lrs, **options)


# Up to where FP32 itself fails, at 2^5. Nothing is read between 2^-2 and 2^0.
WIDE_LR = peak_lrs(*range(-8, -1), *range(0, 7))
NOT_ON_GPU, ON_GPU = ("smoke", "laptop"), ("gpu", "cluster")

gpt("fp32", "FP32", WIDE_LR, underflow=True, reference=True)
gpt("bf16", "BF16", WIDE_LR, precision="bf16")
gpt("fp16", "FP16, no scaling", peak_lrs(*range(-8, -3), *range(0, 4)), precision="fp16")
gpt("fp16_dynamic", "FP16, dynamic scaling, LRs at which FP16 overflows", lr_grid(1, 3), panel="GPT, high LRs", **DYNAMIC)
gpt("fp32_passes", "FP32, 17M tokens a step", lr_grid(-8, -4), underflow=True)
gpt("fp16_05m", "FP16, no scaling, 0.5M tokens a step", lr_grid(-10, -6), precision="fp16")
gpt("fp16_2m", "FP16, no scaling, 2M tokens a step", lr_grid(-11, -5), precision="fp16")
gpt("fp16_2m_scaled", "FP16, 2M tokens a step, scaled by 2^16", lr_grid(-8, -4), precision="fp16")
gpt("fp8", "FP8, scaled per tensor", lr_grid(-8, -4), precision="fp8")
gpt("fp8_unscaled", "FP8, unscaled", lr_grid(-7, -5), precision="fp8_unscaled", scales=NOT_ON_GPU)
gpt("fp8_2m_unscaled", "FP8, unscaled, 2M tokens a step", lr_grid(-8, -4), precision="fp8_unscaled")
GPT = tuple(study.arms)

# Panels that are trained at one LR, the same for all formats, tuned beforehand in FP32 on other seeds: only the format differs,
# which is the check the documents describe.
PANELS = {"long": "GPT, 2000 steps", "mlp": "MLP, SGD", "cnn": "CNN", "chaotic": "CNN, high LR", "large": "CNN, large features"}


def at_one_lr(network: str, run: Settings, lr: float, scales: Any = None, **formats: Any) -> tuple[str, ...]:
    """Arms `<network>_<format>`."""
    options = {"factors": {"peak_lr": (lr,)}, "scales": scales}
    return tuple(
        study.arm(f"{network}_{name}", label, PANELS[network], {**run, **changed}, reference=name == "fp32", **options)
        for name, (label, changed) in formats.items()
    )


MLP = dict(DIGITS_MLP, optimizer="sgd", weight_decay=0.0, batch_size=32, steps=500, probes=40)
CNN = dict(model="cnn", dataset="digits", width=16, depth=2, batch_size=32, steps=300, probes=20)
# Half the batch and 3.4 times the LR is near the CNN's best LR. There two FP32 runs that round differently end 0.5% of the loss
# reduction and 3 to 10% in gradient norm apart (pilot seeds), so that no format can be told from another.
CHAOTIC = CNN | dict(batch_size=16)
# Features up to 30000: finite in FP16, but the first convolution's sums pass 65504. The group norm after it undoes the scale.
LARGE = CHAOTIC | dict(feature_scale=2.0**14, steps=100, weight_decay=0.0, probes=10)
LONG_ARMS = at_one_lr("long", dict(steps=2000, probes=20), 2.0**-7.5, fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16_FROM_1024)
at_one_lr("mlp", MLP, 2.0**-5.5, fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16_SCALED)
CNN_ARMS = at_one_lr("cnn", CNN, 2.0**-8.25, fp32=IN_FP32, again=IN_FP32_AGAIN, bf16=IN_BF16, fp16=IN_FP16_SCALED)
at_one_lr("chaotic", CHAOTIC, 2.0**-6.5, NOT_ON_GPU, fp32=IN_FP32, again=IN_FP32_AGAIN, bf16=IN_BF16)
at_one_lr("large", LARGE, 2.0**-2, fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16, fp16_dynamic=IN_FP16_SCALED)
AT_ONE_LR = tuple(arm for arm in study.arms if arm not in GPT)

TIMED_RUN = dict(depth=4, context=256, batch_size=32, steps=16, probes=2, evaluations=1, final_examples=64, solo=True)
TIMED_FORMATS = {"fp32": {}, "tf32": {"precision": "tf32"}, "bf16": {"precision": "bf16"}, "fp16": DYNAMIC}
for width, formats in {256: ("fp32", "bf16"), 1024: ("fp32", "bf16"), 2048: tuple(TIMED_FORMATS)}.items():
    for precision in formats:
        run = TIMED_RUN | TIMED_FORMATS[precision] | dict(width=width, heads=width // 64)
        label = f"{precision.upper()}, width {width}"
        study.arm(f"solo_{precision}_{width}", label, "speed", run, factors=lr_grid(-10, -10), scales=ON_GPU)

study.smoke(
    dict(steps=10, probes=2, evaluations=1, evaluation_examples=8, final_examples=16),
    factors=lr_grid(-6, -6),
    arm_factors={GPT: lr_grid(-6, -6), "fp16_dynamic": lr_grid(1, 1), ("fp16_05m", "fp16_2m"): lr_grid(-8, -8)},
    arm_settings={AT_ONE_LR: {"steps": 5, "probes": 2}},
    seeds=1,
)
study.laptop("three minutes of training if they multiply BF16, else six; speed is not measured")

# LRs of both larger GPTs, and arms that share LRs.
WIDE = {("fp32", "bf16", "fp16"): peak_lrs(*range(-9, -4), *range(0, 4), 5), "fp16_dynamic": lr_grid(0, 3)}
NEAR = ("fp32_passes", "fp16_2m_scaled", "fp8", "fp8_2m_unscaled")
LARGER_CNN = {"width": 64, "depth": 3, "steps": 400}
study.gpu(
    "one GPU, minutes: larger models, and times and memory of single runs",
    GPU_GPT | dict(batch_size=64, steps=500),
    seeds=6,
    # A pass has 4096 tokens: two million are 2^9 passes.
    arm_settings={arm: {"loss_scale": 2.0 ** (exponent + 14 - 9)} for arm, exponent in LARGE_STEPS.items()}
    | {LONG_ARMS: {"steps": 700}, CNN_ARMS: LARGER_CNN},
    arm_factors=WIDE
    | {NEAR: lr_grid(-9, -6), "fp16_05m": lr_grid(-10, -7), "fp16_2m": lr_grid(-12, -7), LONG_ARMS: lr_grid(-8, -8)},
)
study.cluster(
    "many GPUs, hours: a larger GPT on web text, and times and memory of single runs",
    dict(dataset="web-text", width=256, depth=6, heads=8, context=256, batch_size=64, steps=2000),
    seeds=6,
    # A pass has 16384 tokens: two million are 2^7 passes.
    arm_settings={arm: {"loss_scale": 2.0 ** (exponent + 14 - 7)} for arm, exponent in LARGE_STEPS.items()}
    | {LONG_ARMS: {"steps": 6000}, CNN_ARMS: LARGER_CNN},
    arm_factors=WIDE
    | {NEAR: lr_grid(-11, -6), "fp16_05m": lr_grid(-11, -7), "fp16_2m": lr_grid(-13, -7), LONG_ARMS: lr_grid(-9, -9)},
)

# Claims.

final_gap = partial(loss_gap, metric=FinalLoss)
costs = partial(exceeds, clause="b", refuted=-0.005)


def gap_at_its_lr(arm: str, reference: str = "fp32", times: float = 1.0, best_of: tuple[str, ...] = ()) -> LossGap:
    """How much higher the arm ends than the reference at the LR tuned for the reference, the arm's multiplied by `times`."""
    return LossGap(left=LossAt(arm=arm, tuned_for=reference, times=times), right=TunedLoss(arm=reference), best_of=best_of)


def equal(runs: str, source: str, panel: str, gap: LossGap, name: str, spread: float) -> Criterion:
    """spread: between the seeds of a pilot."""
    says = f"{panel}: {runs} {{costs}} of the loss reduction compared with FP32"
    return no_worse(gap, name, says, panel=panel, expected=predicted(0.0, source, spread, ("laptop",)))


BY_THEORY = "theory: BF16 has FP32's exponents, so that nothing underflows, and roundings average out over steps"
PUBLISHED = "Micikevicius et al. 2018: losses equal to FP32's with FP32 weights and a scaled loss"
bf16_equal, fp16_equal = partial(equal, "BF16", BY_THEORY), partial(equal, "FP16 with a scaled loss", PUBLISHED)
DYNAMIC_FP16, SCALED_FP16 = "FP16 with dynamic scaling", "FP16 of 2M tokens a step scaled by 2^16"
study.claim(
    "prec.bf16_loss",
    bf16_equal("GPT, 400 steps", loss_gap("bf16", "fp32"), "tuned loss, BF16 against FP32", 0.003),
    bf16_equal(PANELS["long"], final_gap("long_bf16", "long_fp32"), "loss of long runs, BF16 against FP32", 0.0016),
    bf16_equal(PANELS["mlp"], final_gap("mlp_bf16", "mlp_fp32"), "loss, BF16 against FP32, MLP with SGD", 0.0006),
    bf16_equal(PANELS["cnn"], final_gap("cnn_bf16", "cnn_fp32"), "loss, BF16 against FP32, CNN", 0.003),
    reported(final_gap("cnn_again", "cnn_fp32"), "CNN: FP32 rounded differently, against FP32"),
    reported(final_gap("chaotic_bf16", "chaotic_fp32"), "CNN near its best LR: BF16 against FP32"),
    reported(final_gap("chaotic_again", "chaotic_fp32"), "CNN near its best LR: FP32 rounded differently, against FP32"),
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
    reported(loss_gap("fp16", "fp32"), "tuned loss, unscaled FP16 of one pass a step against FP32"),
    reported(loss_gap("fp16_05m", "fp32"), "tuned loss, unscaled FP16 of 0.5M tokens a step against FP32"),
    reported(gap_at_its_lr("fp16_05m"), "at FP32's LR, the same"),
    reported(flushed(of="activation"), "gradients flushed: hidden activations, 17M tokens a step"),
    reported(flushed(of="activation", scale_exponent=8), "gradients flushed: hidden activations, loss scaled by 2^8 more"),
    reported(flushed(of="activation", scale_exponent=16), "gradients flushed: hidden activations, loss scaled by 2^16 more"),
    reported(underflow_share(arm="fp32", of="activation"), "gradients flushed: hidden activations, one pass a step"),
    reported(underflow_share(arm="fp32", of="logits"), "gradients flushed: logits, one pass a step"),
    reported(flushed(of="logits", scale_exponent=IN_2M), "gradients flushed: logits, 2M tokens a step"),
    reported(flushed(of="weight", scale_exponent=IN_2M), "gradients flushed: weights, 2M tokens a step"),
    right={"supported": "zeros"},
)

study.claim(
    "prec.fp16_scaled",
    fp16_equal("GPT, 2M tokens a step", loss_gap("fp16_2m_scaled", "fp32"), f"tuned loss, {SCALED_FP16} against FP32", 0.003),
    fp16_equal(PANELS["long"], final_gap("long_fp16", "long_fp32"), f"loss of long runs, {DYNAMIC_FP16} against FP32", 0.002),
    fp16_equal(PANELS["mlp"], final_gap("mlp_fp16", "mlp_fp32"), f"loss, {DYNAMIC_FP16} against FP32, MLP with SGD", 0.0006),
    fp16_equal(PANELS["cnn"], final_gap("cnn_fp16", "cnn_fp32"), f"loss, {DYNAMIC_FP16} against FP32, CNN", 0.003),
)

in_fp16 = partial(at_least, 0.5, precondition=True)
in_bf16 = partial(at_most, 0.5, says="Of the runs that overflow in FP16, {estimate} fail in BF16")
failures = partial(FailureRate, tuned_for="large_bf16")
at_high_lr = partial(FailureRate, tuned_for="fp32", times=512.0)
study.claim(
    "prec.fp16_overflow",
    in_fp16(
        failures(arm="large_fp16_dynamic"),
        "runs that fail in FP16, activations past 65504 in the first forward pass",
        panel=PANELS["large"],
    ),
    in_bf16(failures(arm="large_bf16"), "runs that fail in BF16, the same", panel=PANELS["large"]),
    in_fp16(at_high_lr(arm="fp16_dynamic"), "runs that fail in FP16 at 512 times the best LR", panel="GPT, high LR"),
    in_bf16(at_high_lr(arm="bf16"), "runs that fail in BF16 at 512 times the best LR", panel="GPT, high LR"),
    reported(final_gap("large_bf16", "large_fp32"), "loss of the CNN with large features, BF16 against FP32"),
    reported(at_high_lr(arm="fp32"), "runs that fail in FP32 at 512 times the best LR"),
)


@study.claim("prec.grad_norms")
def norms_agree() -> Iterator[Part]:
    same_norms = partial(at_most, 0.05)
    for network, model in {"long": "GPT", "mlp": "MLP with SGD"}.items():
        for precision, runs in {"bf16": "BF16", "fp16": DYNAMIC_FP16}.items():
            distance = curve_distance(arm=f"{network}_{precision}", reference=f"{network}_fp32")
            name = f"median distance of gradient norms, {runs} from FP32, {model}"
            says = f"{model}: gradient norms in {runs} differ from FP32's by {{estimate}} at the median step"
            yield same_norms(distance, name, says, panel=PANELS[network])
    from_itself = curve_distance(arm="cnn_again", reference="cnn_fp32")
    for arm, runs, name in (
        ("cnn_bf16", "BF16", "median distance of gradient norms, BF16 from FP32, beyond FP32's from itself, CNN"),
        ("cnn_fp16", DYNAMIC_FP16, "the same, FP16 with dynamic scaling, CNN"),
    ):
        distance = curve_distance(arm=arm, reference="cnn_fp32")
        says = f"CNN: gradient norms in {runs} differ from FP32's by {{estimate}} more than a second FP32 run's"
        alone = {"distance from FP32 alone": distance}
        yield same_norms(distance - from_itself, name, says, panel=PANELS["cnn"], alternatives=alone)
    chaotic = partial(curve_distance, reference="chaotic_fp32")
    yield reported(from_itself, "median distance on the CNN of FP32 from FP32 rounded differently")
    yield reported(chaotic(arm="chaotic_bf16"), "median distance on the CNN near its best LR, BF16 from FP32")
    yield reported(chaotic(arm="chaotic_again"), "median distance on the CNN near its best LR, FP32 from itself")
    yield reported(curve_distance(arm="bf16", reference="fp32"), "median distance in BF16 of the GPT of 400 steps")
    norms = {arm: Curve(arm=arm, of="probe_gradient_norm", statistic="median") for arm in CNN_ARMS}
    yield reported(norms["cnn_bf16"] / norms["cnn_fp32"], "median norm on the CNN in BF16 over that in FP32")
    yield reported(norms["cnn_fp16"] / norms["cnn_fp32"], "median norm on the CNN in FP16 over that in FP32")


number = partial(computed, "constants.number_formats")
study.claim(
    "prec.range",
    within(
        65503.0,
        65505.0,
        number("fp16_largest"),
        "largest FP16 number, by doubling until it overflows",
        "The largest FP16 number is {estimate}",
        clause="a",
    ),
    within(
        4.5e-8,
        6.5e-8,
        number("fp16_smallest"),
        "smallest FP16 number, by halving until it is flushed",
        "The smallest FP16 number is {estimate}",
        clause="b",
    ),
    within(
        0.99,
        1.01,
        number("bf16_exponent_bits"),
        "octaves of BF16's normal range over FP32's",
        "BF16's normal range has {estimate} of the octaves of FP32's",
        clause="c",
        unit="share",
    ),
)

# Inputs far from zero for their spread: the mean that layer norm subtracts is a hundred times the spread, and is rounded. Means
# of 512 inputs lie 512^-1/2 from 100. BF16, whose numbers lie 0.5 apart there, rounds them to 100: 11 unit roundoffs of a
# spread of one. FP16, 2^-4 apart, rounds them by up to 2^-5, about uniformly: 37.
FAR = {"offset": 100.0, "spread": 1.0}


def error_of(operation: str, precision: str, **arguments: Any) -> Computed:
    """In unit roundoffs; on inputs of mean 2 and spread 4 if no others are given."""
    return computed("operations.error", "over_unit_roundoff", operation=operation, format=precision, **arguments)


@study.claim("prec.sensitive_ops")
def cancels() -> Iterator[Part]:
    # More than six rounded steps explain: three bits are lost.
    cancellation = 8.0
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
    for precision, label in {"bf16": "BF16", "fp16": "FP16"}.items():
        name = f"layer norm in {label}, error in unit roundoffs, inputs of mean 2 and spread 4"
        says = f"On inputs of mean 2 and spread 4, layer norm in {label} has an error of {{estimate}} unit roundoffs"
        yield at_least(
            cancellation, error_of("layer_norm", precision), name, says, clause="a", panel=f"{label}, inputs around zero"
        )
    yield reported(error_of("softmax", "bf16"), "softmax in BF16, mean 2 and spread 4")
    yield reported(error_of("softmax", "bf16", **FAR), "softmax in BF16, mean 100 and spread 1")
    yield reported(error_of("log_sum_exp", "bf16", **FAR), "log-sum-exp in BF16, mean 100 and spread 1")
    yield reported(error_of("variance", "bf16", **FAR), "variance in BF16, mean 100 and spread 1")
    yield reported(error_of("variance", "fp16", **FAR), "variance in FP16, mean 100 and spread 1")
    yield reported(error_of("layer_norm", "bf16", sums="same"), "layer norm in BF16, mean 2 and spread 4, sums in BF16 too")
    yield reported(error_of("matmul", "bf16", sums="same"), "matrix product in BF16, mean 2 and spread 4, sums in BF16 too")


bf16_2048 = {"arm": "solo_bf16_2048", "reference": "solo_fp32_2048"}
study.claim(
    "prec.speed",
    at_least(1.5, SpeedUp(**bf16_2048), "steps a second, BF16 over FP32, width 2048", null=1.0),
    reported(SpeedUp(arm="solo_bf16_256", reference="solo_fp32_256"), "BF16 over FP32, width 256"),
    reported(SpeedUp(arm="solo_bf16_1024", reference="solo_fp32_1024"), "BF16 over FP32, width 1024"),
    reported(SpeedUp(arm="solo_fp16_2048", reference="solo_fp32_2048"), "FP16 over FP32, width 2048"),
    reported(SpeedUp(arm="solo_tf32_2048", reference="solo_fp32_2048"), "TF32 over FP32, width 2048"),
    reported(SpeedUp(arm="solo_bf16_2048", reference="solo_tf32_2048"), "BF16 over TF32, width 2048"),
)

study.claim(
    "prec.memory",
    at_most(0.6, memory_ratio(**bf16_2048), "peak memory, BF16 over FP32, width 2048", refuted=0.75, null=1.0),
    reported(memory_ratio(arm="solo_bf16_256", reference="solo_fp32_256"), "width 256"),
    reported(memory_ratio(arm="solo_bf16_1024", reference="solo_fp32_1024"), "width 1024"),
)

# Runs without scales have no best LR: the loss reduction is that of the runs with them.
unscaled_fp8 = partial(gap_at_its_lr, "fp8_2m_unscaled", "fp8", best_of=("fp8",))
EMULATED = (
    "FP8 is emulated here and its numbers lie in FP32: what it saves shows on a Hopper or Blackwell GPU that computes in it"
)
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
    reported(gap_at_its_lr("fp8_unscaled", "fp8", best_of=("fp8",)), "loss, FP8 unscaled of one pass a step against scaled"),
)

unscaled = partial(at_least, 0.5, clause="a")
scaled = partial(at_most, 0.5, says="With loss scaling, {estimate} of the same FP16 runs reach NaN", clause="b")
nan_rate = partial(FailureRate, of="not_finite", tuned_for="fp32")
of_cnn = partial(nan_rate, tuned_for="large_fp32")
study.claim(
    "prec.fp16_nan",
    unscaled(
        nan_rate(arm="fp16_2m"),
        "unscaled FP16 runs of 2M tokens a step that reach NaN",
        "Without loss scaling, {estimate} of the FP16 runs of 2M tokens a step reach NaN",
        panel="gradients underflow",
        alternatives={"at a quarter of that LR": nan_rate(arm="fp16_2m", times=0.25)},
    ),
    scaled(nan_rate(arm="fp16_2m_scaled"), "the same runs scaled by 2^16 that reach NaN", panel="gradients underflow"),
    unscaled(
        nan_rate(arm="fp16", times=512.0),
        "unscaled FP16 runs at 512 times the best LR that reach NaN",
        "Without loss scaling, {estimate} of the FP16 runs at 512 times the best LR reach NaN",
        panel="high LR",
    ),
    scaled(nan_rate(arm="fp16_dynamic", times=512.0), "the same runs with dynamic scaling that reach NaN", panel="high LR"),
    unscaled(
        of_cnn(arm="large_fp16"),
        "unscaled FP16 runs with activations past 65504 that reach NaN",
        "Without loss scaling, {estimate} of the FP16 runs with activations above 65,504 reach NaN",
        panel="large features",
    ),
    scaled(
        of_cnn(arm="large_fp16_dynamic"), "the same runs with dynamic scaling, activations past 65504", panel="large features"
    ),
    reported(nan_rate(arm="fp16"), "unscaled FP16 runs at FP32's best LR, one pass a step, that reach NaN"),
    reported(nan_rate(arm="fp32", times=512.0), "FP32 runs at 512 times the best LR that reach NaN"),
    right={"supported": "NaN", "refuted": "zeros"},
)

autocast = partial(computed, "constants.autocast")
in_16_bits = "matrix products that FP16 autocast computes in 16 bits"
study.claim(
    "prec.mixed_formats",
    at_most(
        0.01,
        autocast("backward"),
        f"share of the backward pass's {in_16_bits}",
        "In the backward pass, FP16 autocast computes {estimate} of the matrix products in 16 bits",
        refuted=0.5,
        unit="share",
    ),
    reported(autocast("forward"), f"share of the forward pass's {in_16_bits}", "share"),
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
        # Within 15% of FP32's loss reduction an LR learns more than character frequencies.
        ("bf16", "BF16", "BF16", (0.15,)),
    ):
        name = f"largest trainable LR, {runs} over FP32"
        says = f"The largest LR at which {runs} trains is {{estimate}} that of FP32"
        others = {f"{bar:.0%} of the fall": largest_lr(arm, bar) for bar in other_bars}
        yield beyond(0.8, 1.25, largest_lr(arm), name, says, null=1.0, panel=panel, alternatives=others)
    name = "largest LR within 15% of the loss reduction, unscaled FP16 of 0.5M tokens a step over FP32"
    yield reported(largest_lr("fp16_05m", 0.15), name)


STUDY = study.declared()
