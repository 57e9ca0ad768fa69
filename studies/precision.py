"""What do 16-bit and 8-bit numbers do to training, and what fixes it?"""

from collections.abc import Mapping
from typing import Any

from .kit import *
from .metrics.precision import curve_distance, memory_ratio, underflow_share

ON_GPU = ("gpu", "cluster")
NOT_ON_GPU = ("smoke", "laptop")

Settings = Mapping[str, Any]
# Of a number format: the label of its arms, and their settings.
Format = tuple[str, Settings]
FP16 = {"precision": "fp16"}
# From 2^16, as in torch, the first updates of a short run overflow and are skipped.
DYNAMIC = {**FP16, "loss_scaling": "dynamic"}
# From 2^10, as in the document, no update is skipped. On pilot seeds the GPT of 2000 steps then ended within 0.03% of the loss
# reduction of FP32; from 2^16, which skips its first updates, within 0.6%.
FROM_1024 = {**DYNAMIC, "loss_scale": 2.0**10}
IN_FP32: Format = ("FP32", {})
# A factor that is no power of two: the same FP32 run, rounded differently.
IN_FP32_AGAIN: Format = ("FP32, rounded differently", {"loss_scaling": "static", "loss_scale": 3.0})
IN_BF16: Format = ("BF16", {"precision": "bf16"})
IN_FP16: Format = ("FP16, no scaling", FP16)
IN_FP16_SCALED: Format = ("FP16, dynamic scaling", DYNAMIC)

# Up to where FP32 itself fails, at 2^5. Nothing is read between 2^-2 and 2^0.
WIDE_LR = {"peak_lr": (*log2_grid(-8, -2, 1), *log2_grid(0, 6, 1))}
NEAR_LR = lr_grid(-8, -4)
GPU_WIDE_LR = {"peak_lr": (*log2_grid(-9, -5, 1), *log2_grid(0, 3, 1), 32.0)}

# A pass sees few tokens; a large step sums the gradients of many passes, and its loss is a mean over all their tokens. So each
# pass's loss is divided by their number before the backward pass, and its gradient multiplied by it, as the sum over passes
# would. In FP32 nothing changes. At laptop scale a pass has 128 tokens: 2^14 of them are two million.
STEP_TOKENS = {"fp32_passes": 2**24, "fp16_05m": 2**19, "fp16_2m": 2**21, "fp16_2m_scaled": 2**21, "fp8_2m_unscaled": 2**21}


def loss_scale(arm: str, pass_tokens: int) -> float:
    """One over the passes of the arm's large step, times a loss scale of 2^16 if it has one."""
    return pass_tokens / STEP_TOKENS[arm] * (2**16 if arm == "fp16_2m_scaled" else 1)


def large_step(arm: str) -> dict[str, Any]:
    """Settings by which one pass stands for the arm's large step at laptop scale."""
    return {"loss_scaling": "static", "loss_scale": loss_scale(arm, pass_tokens=128)}


def gpt(label: str, settings: Settings, lrs: dict[str, Any], panel: str = "GPT", **options: Any) -> Arm:
    return Arm(label=label, panel=panel, settings=dict(settings), factors=lrs, **options)


GPT_ARMS = {
    "fp32": gpt("FP32", {"underflow": True}, WIDE_LR, reference=True),
    "bf16": gpt(*IN_BF16, WIDE_LR),
    "fp16": gpt(*IN_FP16, {"peak_lr": (*log2_grid(-8, -4, 1), *log2_grid(0, 3, 1))}),
    "fp16_dynamic": gpt("FP16, dynamic scaling, LRs at which FP16 overflows", DYNAMIC, lr_grid(1, 3), panel="GPT, high LRs"),
    "fp32_passes": gpt("FP32, 17M tokens a step", {**large_step("fp32_passes"), "underflow": True}, NEAR_LR),
    "fp16_05m": gpt("FP16, no scaling, 0.5M tokens a step", {**FP16, **large_step("fp16_05m")}, lr_grid(-10, -6)),
    "fp16_2m": gpt("FP16, no scaling, 2M tokens a step", {**FP16, **large_step("fp16_2m")}, lr_grid(-11, -5)),
    "fp16_2m_scaled": gpt("FP16, 2M tokens a step, scaled by 2^16", {**FP16, **large_step("fp16_2m_scaled")}, NEAR_LR),
    "fp8": gpt("FP8, scaled per tensor", {"precision": "fp8"}, NEAR_LR),
    "fp8_unscaled": gpt("FP8, unscaled", {"precision": "fp8_unscaled"}, lr_grid(-7, -5), scales=NOT_ON_GPU),
    "fp8_2m_unscaled": gpt(
        "FP8, unscaled, 2M tokens a step", {"precision": "fp8_unscaled", **large_step("fp8_2m_unscaled")}, NEAR_LR
    ),
}

# Panels that are trained at one LR, the same for all formats, tuned beforehand in FP32 on other seeds: only the format differs,
# which is the check the documents describe.
LONG = {"steps": 2000, "probes": 20}
MLP_RUN = {"optimizer": "sgd", "weight_decay": 0.0, "batch_size": 32, "steps": 500, "probes": 40}
MLP = {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2, **MLP_RUN}
# Half the batch and 3.4 times the LR is near the CNN's best LR. There two FP32 runs that round differently end 0.5% of the loss
# reduction and 3 to 10% in gradient norm apart (pilot seeds), so that no format can be told from another.
CNN = {"model": "cnn", "dataset": "digits", "width": 16, "depth": 2, "batch_size": 32, "steps": 300, "probes": 20}
CHAOTIC = {**CNN, "batch_size": 16}
# Features up to 30000: finite in FP16, but the first convolution's sums pass 65504. The group norm after it undoes the scale.
LARGE = {**CHAOTIC, "feature_scale": 2.0**14, "steps": 100, "weight_decay": 0.0, "probes": 10}
# Networks whose formats are compared at one LR: panel, and name in a sentence.
PANELS = {"long": "GPT, 2000 steps", "mlp": "MLP, SGD", "cnn": "CNN", "chaotic": "CNN, high LR", "large": "CNN, large features"}
MODELS = {"long": "GPT of 2000 steps", "mlp": "MLP with SGD", "cnn": "CNN"}


def at_one_lr(network: str, settings: Settings, peak_lr: float, scales: Any = None, **formats: Format) -> dict[str, Arm]:
    """A network's arms, `<network>_<format>`: of each format its label and settings."""
    return {
        f"{network}_{precision}": Arm(
            label=label,
            panel=PANELS[network],
            settings={**settings, **changed},
            factors={"peak_lr": (peak_lr,)},
            scales=scales,
            reference=precision == "fp32",
        )
        for precision, (label, changed) in formats.items()
    }


LONG_ARMS = at_one_lr("long", LONG, 2.0**-7.5, fp32=IN_FP32, bf16=IN_BF16, fp16=("FP16, dynamic scaling", FROM_1024))
CNN_ARMS = at_one_lr("cnn", CNN, 2.0**-8.25, fp32=IN_FP32, again=IN_FP32_AGAIN, bf16=IN_BF16, fp16=IN_FP16_SCALED)
ONE_LR_ARMS = {
    **LONG_ARMS,
    **at_one_lr("mlp", MLP, 2.0**-5.5, fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16_SCALED),
    **CNN_ARMS,
    **at_one_lr("chaotic", CHAOTIC, 2.0**-6.5, NOT_ON_GPU, fp32=IN_FP32, again=IN_FP32_AGAIN, bf16=IN_BF16),
    **at_one_lr("large", LARGE, 2.0**-2, fp32=IN_FP32, bf16=IN_BF16, fp16=IN_FP16, fp16_dynamic=IN_FP16_SCALED),
}

TIMED_RUN = {"context": 256, "batch_size": 32, "steps": 16, "probes": 2, "evaluations": 1, "final_examples": 64, "solo": True}
TIMED_FORMATS = {"fp32": {}, "tf32": {"precision": "tf32"}, "bf16": {"precision": "bf16"}, "fp16": DYNAMIC}


def timed(precision: str, width: int) -> str:
    return f"solo_{precision}_{width}"


def over(precision: str, reference: str, width: int) -> dict[str, str]:
    return {"arm": timed(precision, width), "reference": timed(reference, width)}


TIMED_ARMS = {
    timed(precision, width): Arm(
        label=f"{precision.upper()}, width {width}",
        panel="speed",
        settings={"width": width, "depth": 4, "heads": width // 64, **TIMED_RUN, **TIMED_FORMATS[precision]},
        factors={"peak_lr": (2.0**-10,)},
        scales=ON_GPU,
    )
    for width, formats in {256: ("fp32", "bf16"), 1024: ("fp32", "bf16"), 2048: ("fp32", "tf32", "bf16", "fp16")}.items()
    for precision in formats
}


def gpu_factors(near: int, fp16_05m: int, fp16_2m: int, long: int) -> dict[str, dict[str, Any]]:
    """LRs of the larger GPTs' arms, from the lowest exponents of 2 of those that differ between scales."""
    return {
        **dict.fromkeys(("fp32", "bf16", "fp16"), GPU_WIDE_LR),
        "fp16_dynamic": lr_grid(0, 3),
        "fp16_05m": lr_grid(fp16_05m, -7),
        "fp16_2m": lr_grid(fp16_2m, -7),
        **dict.fromkeys(("fp32_passes", "fp16_2m_scaled", "fp8", "fp8_2m_unscaled"), lr_grid(near, -6)),
        **dict.fromkeys(LONG_ARMS, lr_grid(long, long)),
    }


def gpu_settings(pass_tokens: int, long_steps: int) -> dict[str, dict[str, Any]]:
    """Settings of arms that depend on the tokens of a pass of the larger GPT."""
    return {
        **{arm: {"loss_scale": loss_scale(arm, pass_tokens)} for arm in STEP_TOKENS},
        **{arm: {"steps": long_steps} for arm in LONG_ARMS},
        **{arm: {"width": 64, "depth": 3, "steps": 400} for arm in CNN_ARMS},
    }


def at_least(name: str, observe: Any, says: str, threshold: float = 0.5, **options: Any) -> Criterion:
    """A share or other number claimed to reach a threshold, half if not given; refuted below it."""
    return Criterion(name=name, observe=observe, says=says, **{"unit": "share", **above(threshold), **options})


def at_most(name: str, observe: Any, says: str, threshold: float = 0.5, **options: Any) -> Criterion:
    """A number claimed to stay within a threshold; refuted above it."""
    return Criterion(name=name, observe=observe, says=says, **{"unit": "share", **below(threshold), **options})


def final_gap(network: str, precision: str) -> LossGap:
    return loss_gap(f"{network}_{precision}", f"{network}_fp32", FinalLoss)


def gap_at_its_lr(arm: str, reference: str, times: float = 1.0, **options: Any) -> LossGap:
    """How much higher the arm ends than the reference at the LR tuned for the reference, the arm's multiplied by `times`."""
    return LossGap(left=LossAt(arm=arm, tuned_for=reference, times=times), right=TunedLoss(arm=reference), **options)


WHY_EQUAL = {
    "bf16": "theory: BF16 has FP32's exponents, so that nothing underflows, and roundings average out over steps",
    "fp16": "Micikevicius et al. 2018: losses equal to FP32's with FP32 weights and a scaled loss",
}
TRAINED_IN = {"bf16": "BF16", "fp16": "FP16 with dynamic scaling"}


def as_good_as_fp32(precision: str, name: str, observe: LossGap, says: str, panel: str, spread: float = 0.003) -> Criterion:
    """0.5% of the loss reduction does not matter; being better never refutes."""
    expected = predicted(0.0, WHY_EQUAL[precision], spread=spread, scales=("laptop",))
    return no_worse(name, observe, f"{says} {{costs}} of the loss reduction compared with FP32", panel=panel, expected=expected)


def final_losses_as_good(precision: str, **spreads: float) -> tuple[Criterion, ...]:
    """Runs at one LR, by network, with the spread between its pilot's seeds."""
    runs = TRAINED_IN[precision]
    return tuple(
        as_good_as_fp32(
            precision,
            f"loss of long runs, {runs} against FP32" if network == "long" else f"loss, {runs} against FP32, {MODELS[network]}",
            final_gap(network, precision),
            f"{MODELS[network]}: {runs}",
            PANELS[network],
            spread,
        )
        for network, spread in spreads.items()
    )


def flushed(arm: str, of: Any, scale_exponent: int = 0) -> Any:
    """Gradients that become zero in FP16, with the loss scaled by a power of 2."""
    return underflow_share(arm=arm, of=of, scale_exponent=scale_exponent)


# 17M tokens a step and a loss scale of 2^3 flush what 2M tokens do.
IN_2M = 3


def norm_distance(network: str, precision: str) -> Any:
    return curve_distance(arm=f"{network}_{precision}", reference=f"{network}_fp32")


def median_norm(arm: str) -> Curve:
    return Curve(arm=arm, of="probe_gradient_norm", statistic="median")


SAME_NORMS = 0.05
FROM_ITSELF = norm_distance("cnn", "again")


def norms_agree(network: str, model: str) -> tuple[Criterion, ...]:
    return tuple(
        at_most(
            f"median distance of gradient norms, {runs} from FP32, {model}",
            norm_distance(network, precision),
            f"{model}: gradient norms in {runs} differ from FP32's by {{estimate}} at the median step",
            SAME_NORMS,
            panel=PANELS[network],
        )
        for precision, runs in TRAINED_IN.items()
    )


# Inputs far from zero for their spread: the mean that layer norm subtracts is a hundred times the spread, and is rounded. Means
# of 512 inputs lie 512^-1/2 from 100. BF16, whose numbers lie 0.5 apart there, rounds them to 100: 11 unit roundoffs of a
# spread of one. FP16, 2^-4 apart, rounds them by up to 2^-5, about uniformly: 37.
FAR = {"offset": 100.0, "spread": 1.0}
INPUTS: dict[str, tuple[str, Settings]] = {
    "far from zero": ("inputs of mean 100 and spread 1", FAR),
    "around zero": ("inputs of mean 2 and spread 4", {}),
}
FAR_EXPECTED = {
    "bf16": predicted(11.3, "theory: means that lie 512^-1/2 from 100 are rounded to 100", spread=0.1),
    "fp16": predicted(36.95, "theory: the mean's rounding, uniform over 2^-4", spread=0.1),
}
# More than six rounded steps explain: three bits are lost.
CANCELLATION = 8.0


def error_of(operation: str, precision: str, **arguments: Any) -> Computed:
    """In unit roundoffs; on inputs of mean 2 and spread 4 if no others are given."""
    return Computed(
        function="operations.error",
        arguments={"operation": operation, "format": precision, **arguments},
        number="over_unit_roundoff",
    )


def layer_norm_cancels(precision: str, where: str, **options: Any) -> Criterion:
    label, (inputs, arguments) = precision.upper(), INPUTS[where]
    return at_least(
        f"layer norm in {label}, error in unit roundoffs, {inputs}",
        error_of("layer_norm", precision, **arguments),
        f"On {inputs}, layer norm in {label} has an error of {{estimate}} unit roundoffs",
        CANCELLATION,
        clause="a",
        panel=f"{label}, inputs {where}",
        unit="",
        **options,
    )


def errors_far_from_zero(precision: str) -> tuple[Criterion, Criterion]:
    narrow = {"spread 0.1": error_of("layer_norm", precision, offset=100.0, spread=0.1)}
    return (
        layer_norm_cancels(precision, "far from zero", expected=FAR_EXPECTED[precision], alternatives=narrow),
        at_most(
            f"matrix product in {precision.upper()}, the same inputs",
            error_of("matmul", precision, **FAR),
            f"On the same inputs, a matrix product in {precision.upper()} has an error of {{estimate}} unit roundoffs",
            CANCELLATION,
            clause="b",
            panel=f"{precision.upper()}, inputs far from zero",
            unit="",
        ),
    )


def unscaled_fp8(times: float = 1.0, arm: str = "fp8_2m_unscaled") -> LossGap:
    # Runs without scales have no best LR: the loss reduction is that of the runs with them.
    return gap_at_its_lr(arm, "fp8", times, best_of=("fp8",))


HIGH_LR: dict[str, Any] = {"tuned_for": "fp32", "times": 512.0}


def nan_rate(arm: str, tuned_for: str = "fp32", times: float | None = None) -> FailureRate:
    return FailureRate(arm=arm, tuned_for=tuned_for, times=times, of="not_finite")


# Half of FP32's loss reduction, for every format.
HALF_WAY = 0.5
# Within this share an LR learns more than character frequencies.
NEAR = 0.15


def largest_lr(arm: str, within: float) -> Observed:
    """The largest LR at which the arm ends within this share of FP32's loss reduction, over FP32's."""
    bar = {"within": within, "of": "fall", "best_of": ("fp32",)}
    return MaxTrainable(arm=arm, **bar) / MaxTrainable(arm="fp32", **bar)


def largest_lr_differs(arm: str, panel: str, which: str, says: str, other_bars: tuple[float, ...] = (0.4, 0.6)) -> Criterion:
    return Criterion(
        name=f"largest trainable LR, {which} over FP32",
        panel=panel,
        observe=largest_lr(arm, HALF_WAY),
        **outside(0.8, 1.25, null=1.0, unit="x"),
        says=f"{says} trains up to {{estimate}} the largest LR of FP32",
        alternatives={f"{bar:.0%} of the fall": largest_lr(arm, bar) for bar in other_bars},
    )


def fails_in_bf16(name: str, panel: str, **runs: Any) -> Criterion:
    return at_most(name, FailureRate(**runs), "Of the runs that overflow in FP16, {estimate} fail in BF16", panel=panel)


def cnn_norms_agree(precision: str, name: str) -> Criterion:
    distance = norm_distance("cnn", precision)
    return at_most(
        name,
        distance - FROM_ITSELF,
        f"CNN: gradient norms in {TRAINED_IN[precision]} differ from FP32's by {{estimate}} more than a second FP32 run's",
        SAME_NORMS,
        panel=PANELS["cnn"],
        alternatives={"distance from FP32 alone": distance},
    )


def reaches_nan(
    panel: str, names: tuple[str, str], rates: tuple[FailureRate, FailureRate], where: str, **options: Any
) -> tuple[Criterion, Criterion]:
    """Unscaled FP16 runs reach NaN, and the same runs with a scaled loss do not. Of both: names and rates."""
    (unscaled, scaled), (unscaled_rate, scaled_rate) = names, rates
    return (
        at_least(
            unscaled,
            unscaled_rate,
            f"{where}, {{estimate}} of the unscaled FP16 runs reach NaN",
            clause="a",
            panel=panel,
            **options,
        ),
        at_most(
            scaled,
            scaled_rate,
            f"{where}, {{estimate}} of the FP16 runs with loss scaling reach NaN",
            clause="b",
            panel=panel,
        ),
    )


BF16_LOSS = judgement(
    "prec.bf16_loss",
    as_good_as_fp32(
        "bf16", "tuned loss, BF16 against FP32", loss_gap("bf16", "fp32"), "GPT of 400 steps: BF16", "GPT, 400 steps"
    ),
    *final_losses_as_good("bf16", long=0.0016, mlp=0.0006, cnn=0.003),
    reported={
        "CNN: FP32 rounded differently, against FP32": (final_gap("cnn", "again"), "relative"),
        "CNN near its best LR: BF16 against FP32": (final_gap("chaotic", "bf16"), "relative"),
        "CNN near its best LR: FP32 rounded differently, against FP32": (final_gap("chaotic", "again"), "relative"),
    },
)

FP16_UNDERFLOW = judgement(
    "prec.fp16_underflow",
    at_least(
        "share of hidden activations' non-zero gradients that FP16 flushes, 2M tokens a step",
        flushed("fp32_passes", "activation", IN_2M),
        "With the loss divided as in a mean over 2M tokens, unscaled FP16 flushes {estimate} of the gradients to zero",
        0.01,
        clause="a",
    ),
    exceeds(
        "tuned loss, unscaled FP16 of 2M tokens a step against FP32",
        loss_gap("fp16_2m", "fp32"),
        "Unscaled FP16 at its own best LR {costs} of the loss reduction compared with FP32",
        clause="b",
        refuted=AtMost(value=-0.005),
    ),
    at_least(
        "learning stops: what unscaled FP16 of 2M tokens a step loses of the fall at FP32's LR",
        gap_at_its_lr("fp16_2m", "fp32"),
        "Unscaled FP16 at FP32's best LR loses {estimate} of the loss reduction",
        0.9,
        clause="c",
        alternatives={"at half FP32's LR": gap_at_its_lr("fp16_2m", "fp32", 0.5)},
    ),
    right={"supported": "zeros"},
    reported={
        "tuned loss, unscaled FP16 of one pass a step against FP32": (loss_gap("fp16", "fp32"), "relative"),
        "tuned loss, unscaled FP16 of 0.5M tokens a step against FP32": (loss_gap("fp16_05m", "fp32"), "relative"),
        "at FP32's LR, the same": (gap_at_its_lr("fp16_05m", "fp32"), "relative"),
        **{
            f"gradients flushed: {which}": (share, "share")
            for which, share in {
                "hidden activations, 17M tokens a step": flushed("fp32_passes", "activation"),
                "hidden activations, loss scaled by 2^8 more": flushed("fp32_passes", "activation", 8),
                "hidden activations, loss scaled by 2^16 more": flushed("fp32_passes", "activation", 16),
                "hidden activations, one pass a step": flushed("fp32", "activation"),
                "logits, one pass a step": flushed("fp32", "logits"),
                "logits, 2M tokens a step": flushed("fp32_passes", "logits", IN_2M),
                "weights, 2M tokens a step": flushed("fp32_passes", "weight", IN_2M),
            }.items()
        },
    },
)

FP16_SCALED = judgement(
    "prec.fp16_scaled",
    as_good_as_fp32(
        "fp16",
        "tuned loss, FP16 of 2M tokens a step scaled by 2^16 against FP32",
        loss_gap("fp16_2m_scaled", "fp32"),
        "GPT with the loss divided as in a mean over 2M tokens: FP16 scaled by 2^16",
        "GPT, 2M tokens a step",
    ),
    *final_losses_as_good("fp16", long=0.002, mlp=0.0006, cnn=0.003),
)

FP16_OVERFLOW = judgement(
    "prec.fp16_overflow",
    at_least(
        "runs that fail in FP16, activations past 65504 in the first forward pass",
        FailureRate(arm="large_fp16_dynamic", tuned_for="large_bf16"),
        "If activations exceed 65,504, {estimate} of the FP16 runs fail",
        panel=PANELS["large"],
        precondition=True,
    ),
    fails_in_bf16("runs that fail in BF16, the same", PANELS["large"], arm="large_bf16", tuned_for="large_bf16"),
    at_least(
        "runs that fail in FP16 at 512 times the best LR",
        FailureRate(arm="fp16_dynamic", **HIGH_LR),
        "At 512 times the best LR, {estimate} of the FP16 runs fail",
        panel="GPT, high LR",
        precondition=True,
    ),
    fails_in_bf16("runs that fail in BF16 at 512 times the best LR", "GPT, high LR", arm="bf16", **HIGH_LR),
    reported={
        "loss of the CNN with large features, BF16 against FP32": (final_gap("large", "bf16"), "relative"),
        "runs that fail in FP32 at 512 times the best LR": (FailureRate(arm="fp32", **HIGH_LR), "share"),
    },
)

GRAD_NORMS = judgement(
    "prec.grad_norms",
    *norms_agree("long", "GPT"),
    *norms_agree("mlp", "MLP with SGD"),
    cnn_norms_agree("bf16", "median distance of gradient norms, BF16 from FP32, beyond FP32's from itself, CNN"),
    cnn_norms_agree("fp16", "the same, FP16 with dynamic scaling, CNN"),
    reported={
        "median distance on the CNN of FP32 from FP32 rounded differently": (FROM_ITSELF, "share"),
        "median distance on the CNN near its best LR, BF16 from FP32": (norm_distance("chaotic", "bf16"), "share"),
        "median distance on the CNN near its best LR, FP32 from itself": (norm_distance("chaotic", "again"), "share"),
        "median distance in BF16 of the GPT of 400 steps": (curve_distance(arm="bf16", reference="fp32"), "share"),
        **{
            f"median norm on the CNN in {precision.upper()} over that in FP32": (
                median_norm(f"cnn_{precision}") / median_norm("cnn_fp32"),
                "x",
            )
            for precision in ("bf16", "fp16")
        },
    },
)

RANGE = judgement(
    "prec.range",
    Criterion(
        name="largest FP16 number, by doubling until it overflows",
        clause="a",
        observe=computed("constants.number_formats", "fp16_largest"),
        **inside(65503.0, 65505.0),
        says="The largest FP16 number is {estimate}",
    ),
    Criterion(
        name="smallest FP16 number, by halving until it is flushed",
        clause="b",
        observe=computed("constants.number_formats", "fp16_smallest"),
        **inside(4.5e-8, 6.5e-8),
        says="The smallest FP16 number above zero is {estimate}",
    ),
    Criterion(
        name="octaves of BF16's normal range over FP32's",
        clause="c",
        observe=computed("constants.number_formats", "bf16_exponent_bits"),
        **inside(0.99, 1.01, unit="share"),
        says="BF16's normal range covers {estimate} of FP32's octaves",
    ),
)

SENSITIVE_OPS = judgement(
    "prec.sensitive_ops",
    *errors_far_from_zero("bf16"),
    *errors_far_from_zero("fp16"),
    layer_norm_cancels("bf16", "around zero"),
    layer_norm_cancels("fp16", "around zero"),
    reported={
        "softmax in BF16, mean 2 and spread 4": error_of("softmax", "bf16"),
        "softmax in BF16, mean 100 and spread 1": error_of("softmax", "bf16", **FAR),
        "log-sum-exp in BF16, mean 100 and spread 1": error_of("log_sum_exp", "bf16", **FAR),
        "variance in BF16, mean 100 and spread 1": error_of("variance", "bf16", **FAR),
        "variance in FP16, mean 100 and spread 1": error_of("variance", "fp16", **FAR),
        "layer norm in BF16, mean 2 and spread 4, sums in BF16 too": error_of("layer_norm", "bf16", sums="same"),
        "matrix product in BF16, mean 2 and spread 4, sums in BF16 too": error_of("matmul", "bf16", sums="same"),
    },
)

SPEED = judgement(
    "prec.speed",
    at_least(
        "steps a second, BF16 over FP32, width 2048",
        SpeedUp(**over("bf16", "fp32", 2048)),
        "At width 2048, BF16 trains {estimate} as fast as FP32",
        1.5,
        unit="x",
        null=1.0,
    ),
    reported={
        f"{one.upper()} over {other.upper()}, width {width}": (SpeedUp(**over(one, other, width)), "x")
        for one, other, width in (
            ("bf16", "fp32", 256),
            ("bf16", "fp32", 1024),
            ("fp16", "fp32", 2048),
            ("tf32", "fp32", 2048),
            ("bf16", "tf32", 2048),
        )
    },
)

MEMORY = judgement(
    "prec.memory",
    at_most(
        "peak memory, BF16 over FP32, width 2048",
        memory_ratio(**over("bf16", "fp32", 2048)),
        "At width 2048, BF16 takes {estimate} the peak memory of FP32",
        0.6,
        refuted=AtLeast(value=0.75),
        unit="x",
        null=1.0,
    ),
    reported={f"width {width}": (memory_ratio(**over("bf16", "fp32", width)), "x") for width in (256, 1024)},
)

FP8_CLAIM = judgement(
    "prec.fp8",
    no_worse(
        "tuned loss, FP8 scaled per tensor against FP32",
        loss_gap("fp8", "fp32"),
        "Emulated FP8 with a scale per tensor {costs} of the loss reduction compared with FP32",
        margin=0.01,
        clause="a",
    ),
    exceeds(
        "loss, FP8 unscaled of 2M tokens a step against scaled",
        unscaled_fp8(),
        "With the loss divided as in a mean over 2M tokens, leaving out the scales {costs} of the loss reduction",
        clause="b",
        refuted=AtMost(value=-0.005),
        alternatives={"at half that LR": unscaled_fp8(0.5), "at four times that LR": unscaled_fp8(4.0)},
    ),
    at_least(
        "what FP8 saves",
        Unmeasured(
            reason=(
                "FP8 is emulated here and its numbers lie in FP32: what it saves shows on a Hopper or Blackwell GPU that"
                " computes in it"
            )
        ),
        "FP8 saves {estimate}",
        1.0,
        clause="c",
        unit="x",
    ),
    reported={"loss, FP8 unscaled of one pass a step against scaled": (unscaled_fp8(arm="fp8_unscaled"), "relative")},
)

FP16_NAN = judgement(
    "prec.fp16_nan",
    *reaches_nan(
        "gradients underflow",
        ("unscaled FP16 runs of 2M tokens a step that reach NaN", "the same runs scaled by 2^16 that reach NaN"),
        (nan_rate("fp16_2m"), nan_rate("fp16_2m_scaled")),
        "If gradients underflow",
        alternatives={"at a quarter of that LR": nan_rate("fp16_2m", times=0.25)},
    ),
    *reaches_nan(
        "high LR",
        ("unscaled FP16 runs at 512 times the best LR that reach NaN", "the same runs with dynamic scaling that reach NaN"),
        (nan_rate("fp16", **HIGH_LR), nan_rate("fp16_dynamic", **HIGH_LR)),
        "At 512 times the best LR",
    ),
    *reaches_nan(
        "large features",
        (
            "unscaled FP16 runs with activations past 65504 that reach NaN",
            "the same runs with dynamic scaling, activations past 65504",
        ),
        (nan_rate("large_fp16", tuned_for="large_fp32"), nan_rate("large_fp16_dynamic", tuned_for="large_fp32")),
        "If activations exceed 65,504",
    ),
    right={"supported": "NaN", "refuted": "zeros"},
    reported={
        "unscaled FP16 runs at FP32's best LR, one pass a step, that reach NaN": (nan_rate("fp16"), "share"),
        "FP32 runs at 512 times the best LR that reach NaN": (nan_rate("fp32", **HIGH_LR), "share"),
    },
)

MIXED_FORMATS = judgement(
    "prec.mixed_formats",
    at_most(
        "share of the backward pass's matrix products that FP16 autocast computes in 16 bits",
        computed("constants.autocast", "backward"),
        "Under FP16 autocast, {estimate} of the matrix products of the backward pass are in 16 bits",
        0.01,
        refuted=AtLeast(value=0.5),
    ),
    right={"supported": "FP32 backward", "refuted": "16 bits"},
    reported={
        "share of the forward pass's matrix products that FP16 autocast computes in 16 bits": (
            computed("constants.autocast", "forward"),
            "share",
        )
    },
)

LR_RANGE = judgement(
    "prec.lr_range",
    largest_lr_differs(
        "fp16_2m",
        "FP16, 2M tokens a step",
        "unscaled FP16 of 2M tokens a step",
        "With the loss divided as in a mean over 2M tokens, unscaled FP16",
    ),
    largest_lr_differs("fp16", "FP16, one pass a step", "FP16 of one pass", "With one small pass per step, FP16"),
    largest_lr_differs("bf16", "BF16", "BF16", "BF16", other_bars=(NEAR,)),
    reported={
        "largest LR within 15% of the loss reduction, unscaled FP16 of 0.5M tokens a step over FP32": (
            largest_lr("fp16_05m", NEAR),
            "x",
        )
    },
)

STUDY = study(
    __file__,
    # Version 1 (seeds 300 to 309) scaled features beyond FP16 and summed in different formats; version 2 (500 to 509) probed
    # every step of the timed runs; version 3 (600 to 609) judged runs of 150 steps on one workload and set layer norm's
    # threshold after seeing it; version 4 (2000 to 2011) measured FP8's loss reduction by an arm that trains at no LR
    # (reports/log).
    version=5,
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(
        optimizer="adamw", schedule="cosine", warmup_fraction=0.05, final_fraction=0.0, batch_size=8, steps=400, beta2=0.95
    ),
    measurement=Measurement(probes=10, evaluations=2, evaluation_examples=64, final_examples=512),
    arms={**GPT_ARMS, **ONE_LR_ARMS, **TIMED_ARMS},
    factors=NEAR_LR,
    seeds=12,
    first_seed=2100,
    scales={
        "smoke": scales.smoke(
            training={"steps": 10},
            measurement={"probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16},
            factors=lr_grid(-6, -6),
            arm_factors={
                **dict.fromkeys(GPT_ARMS, lr_grid(-6, -6)),
                "fp16_dynamic": lr_grid(1, 1),
                **dict.fromkeys(("fp16_05m", "fp16_2m"), lr_grid(-8, -8)),
            },
            arm_settings={arm: {"steps": 5, "probes": 2} for arm in ONE_LR_ARMS},
            seeds=1,
        ),
        "laptop": scales.laptop("three minutes of training if they multiply BF16, else six; speed is not measured"),
        "gpu": scales.gpu(
            "one GPU, minutes: larger models, and times and memory of single runs",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 64, "steps": 500},
            seeds=6,
            arm_factors=gpu_factors(near=-9, fp16_05m=-10, fp16_2m=-12, long=-8),
            # Two million tokens are 2^9 passes.
            arm_settings=gpu_settings(pass_tokens=4096, long_steps=700),
        ),
        "cluster": scales.gpu(
            "many GPUs, hours: a larger GPT on web text, and times and memory of single runs",
            workload={"dataset": "web-text", "width": 256, "depth": 6, "heads": 8, "context": 256},
            training={"batch_size": 64, "steps": 2000},
            seeds=6,
            arm_factors=gpu_factors(near=-11, fp16_05m=-11, fp16_2m=-13, long=-9),
            # Two million tokens are 2^7 passes.
            arm_settings=gpu_settings(pass_tokens=16384, long_steps=6000),
        ),
    },
    answer=("prec.bf16_loss", "prec.fp16_underflow", "prec.fp16_scaled", "prec.fp16_nan"),
    judgements=(
        BF16_LOSS,
        FP16_UNDERFLOW,
        FP16_SCALED,
        FP16_OVERFLOW,
        GRAD_NORMS,
        RANGE,
        SENSITIVE_OPS,
        SPEED,
        MEMORY,
        FP8_CLAIM,
        FP16_NAN,
        MIXED_FORMATS,
        LR_RANGE,
    ),
)
