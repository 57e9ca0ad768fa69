"""Does the best learning rate change with width or depth, and does muP keep it constant?"""

from typing import Any

from .kit import *
from .metrics.mup_transfer import mean_activation_slope, transfer_regret

Scales = tuple[str, ...] | None
LAPTOP = ("smoke", "laptop")
# 16x in width.
ON_GPU = ("gpu", "cluster")
EVERYWHERE = None
# Widths or depths with their arms.
Arms = tuple[tuple[int, str], ...]


def half_octaves(low: float, high: float) -> dict[str, tuple[float, ...]]:
    return lr_grid(low, high, per_octave=2)


# Around 2^-8; and around 2^-9.5, up to where the LR tuned at width 32 may lie.
AROUND_MUPS = half_octaves(-9.5, -6.5)
AROUND_SP_128S = half_octaves(-11, -7.5)
# A coordinate check reads the first five steps at an LR far above the best. The readout starts at zero, so that its logits are
# learnt: muP's random ones fall as width^-0.5 before anything is learnt.
CHECK: dict[str, Any] = {"steps": 5, "zero_readout": True, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16}
CHECK_LR = {"peak_lr": (2.0**-6,)}
SPELLED = {"standard": "standard", "mup": "muP"}


def arm(label: str, panel: str, scales: Scales, factors: Any = None, **settings: Any) -> Arm:
    return Arm(label=label, panel=panel, settings=settings, factors=factors or {}, scales=scales)


def widened(parametrization: str, width: int, scales: Scales) -> dict[str, Any]:
    """More heads of equal size: 64 on a GPU, else 16."""
    return {"parametrization": parametrization, "width": width, "heads": width // (64 if scales == ON_GPU else 16)}


def wide(parametrization: str, width: int, scales: Scales, factors: Any = None) -> Arm:
    settings = widened(parametrization, width, scales)
    return arm(f"width {width}", SPELLED[parametrization], scales, factors, **settings)


def base(width: int, scales: Scales, factors: Any = None) -> Arm:
    """At the base width both parametrizations are the same network."""
    return arm(f"width {width}", "standard, and muP's base", scales, factors, width=width)


def deep(depth: int, scales: Scales, factors: Any = None) -> Arm:
    return arm(f"depth {depth}", "depth", scales, factors, parametrization="standard", depth=depth)


def check(parametrization: str, width: int, scales: Scales) -> Arm:
    name, settings = SPELLED[parametrization], widened(parametrization, width, scales)
    return arm(f"{name}, width {width}", f"check, {name}", scales, CHECK_LR, **settings, **CHECK)


CHECKED = {64: LAPTOP, 128: LAPTOP, 256: EVERYWHERE, 512: ON_GPU, 1024: ON_GPU}
ARMS = {
    "base_32": base(32, LAPTOP, half_octaves(-10, -6)),
    "sp_64": wide("standard", 64, LAPTOP, half_octaves(-11, -7)),
    "sp_128": wide("standard", 128, LAPTOP, AROUND_SP_128S),
    "mup_64": wide("mup", 64, LAPTOP, AROUND_MUPS),
    "mup_128": wide("mup", 128, LAPTOP, AROUND_MUPS),
    "mup_256": wide("mup", 256, EVERYWHERE),
    "base_128": base(128, ON_GPU),
    "sp_256": wide("standard", 256, ON_GPU, half_octaves(-14, -8)),
    "sp_512": wide("standard", 512, ON_GPU, half_octaves(-15, -7)),
    "sp_1024": wide("standard", 1024, ON_GPU, lr_grid(-16, -10)),
    "sp_2048": wide("standard", 2048, ON_GPU, lr_grid(-18, -11)),
    **{f"mup_{width}": wide("mup", width, ON_GPU) for width in (512, 1024, 2048)},
    # On a GPU the depths have the width of the base there, 128.
    "depth_2": deep(2, ON_GPU),
    "depth_1": deep(1, LAPTOP),
    "depth_4": deep(4, EVERYWHERE),
    "depth_8": deep(8, EVERYWHERE, half_octaves(-11, -7)),
    # At width 32 and depth 16, LRs two octaves apart differ by less than seeds: too narrow for an optimum.
    "depth_16": deep(16, ON_GPU),
    "depth_32": deep(32, ON_GPU),
    # The base, of both parametrizations.
    "check_32": arm("width 32", "check, muP", LAPTOP, CHECK_LR, **CHECK, width=32),
    **{f"check_{width}": check("mup", width, scales) for width, scales in CHECKED.items()},
    **{f"check_sp_{width}": check("standard", width, scales) for width, scales in CHECKED.items()},
}

SMOKE_LRS = {"peak_lr": (2.0**-9, 2.0**-7, 2.0**-5)}
# Arms that laptop scale trains with heads of 16.
HEADS_OF_64 = {name: {"heads": 4} for name in ("mup_256", "check_256", "check_sp_256")}
SCALES = {
    "smoke": scales.smoke(
        training={"steps": 10},
        measurement={"probes": 2, "evaluations": 1, "evaluation_examples": 8, "final_examples": 16},
        factors=SMOKE_LRS,
        arm_factors=dict.fromkeys(("base_32", "sp_64", "sp_128", "mup_64", "mup_128", "depth_8"), SMOKE_LRS),
        seeds=1,
    ),
    # More than the five minutes of other studies: 8x in width from 32 ends at 256, where a run takes 7 seconds of a core and
    # muP's arm is nearly half of the work.
    "laptop": scales.laptop("at most ten minutes of training", arm_factors={"mup_256": AROUND_MUPS}),
    "gpu": scales.gpu(
        "one GPU, minutes: widths 128 to 2048 with heads of 64, as Yang et al. 2022 (122 constant-LR steps)",
        workload={"dataset": "python-source", "width": 128, "context": 64, "base_width": 128},
        training={"batch_size": 16, "steps": 122, "precision": "tf32"},
        measurement={"evaluation_examples": 128, "final_examples": 512},
        factors=half_octaves(-12, -7),
        arm_factors={
            **dict.fromkeys(("mup_1024", "mup_2048"), lr_grid(-12, -7)),
            **dict.fromkeys(("depth_4", "depth_8", "depth_16"), half_octaves(-13, -8)),
            "depth_32": lr_grid(-14, -8),
        },
        arm_settings=HEADS_OF_64,
        seeds=5,
    ),
    "cluster": scales.gpu(
        "many GPUs, hours: the same arms on web text, from 120 tokens per parameter at the base to 0.6",
        workload={"dataset": "web-text", "width": 128, "context": 512, "base_width": 128},
        training={"batch_size": 64, "steps": 2000, "precision": "bf16"},
        measurement={"evaluation_examples": 512, "final_examples": 2048},
        factors=half_octaves(-12, -6),
        arm_factors=dict.fromkeys(("depth_4", "depth_8", "depth_16"), half_octaves(-13, -7)),
        arm_settings=HEADS_OF_64,
        seeds=5,
    ),
}


def named(kind: str, *sizes: int) -> Arms:
    return tuple((size, f"{kind}_{size}") for size in sizes)


def across_widths(kind: str) -> Arms:
    """From both bases on."""
    return (*named("base", 32), *named(kind, 64, 128), *named("base", 128), *named(kind, 256, 512, 1024, 2048))


SP, MUP = across_widths("sp"), across_widths("mup")
MUP_WITHOUT_BASES = named("mup", 64, 128, 256, 512, 1024, 2048)
CHECKED_MUP = named("check", 32, *CHECKED)
CHECKED_SP = (*named("check", 32), *named("check_sp", *CHECKED))
# The base has depth 2.
DEPTHS = (*named("depth", 1), (2, "base_32"), *named("depth", 4, 8))


def lr_exponent(arms: Arms, window_octaves: float = 1.5) -> Slope:
    """The exponent of the best LR in width or depth, with optima from seven points of a half-octave grid, against noise."""
    return Slope(points=tuple((size, Optimum(arm=name, window_octaves=window_octaves)) for size, name in arms))


def from_narrower_window(arms: Arms) -> dict[str, Slope]:
    return {"optima from a narrower window": lr_exponent(arms, window_octaves=1.0)}


FIGURE = "Yang et al. 2022, figure"
# A workload on which the standard parametrization does not shift cannot show muP's invariance.
SHIFTS = {
    "observe": lr_exponent(SP),
    **below(-0.3, refuted=0.0, null=0.0),
    "says": "In standard parametrization, the best learning rate scales as width^{estimate}",
}

SP_SHIFTS = judgement(
    "mup.sp_shifts",
    Criterion(
        name="exponent of the best LR in width, standard parametrization",
        expected=predicted(-1.0, f"{FIGURE}: 2^-10 at width 128, 2^-16 at width 8192", spread=0.12),
        alternatives=from_narrower_window(SP),
        **SHIFTS,
    ),
)

INVARIANT = judgement(
    "mup.invariant",
    Criterion(
        name="exponent of the best LR in width, muP",
        observe=lr_exponent(MUP),
        test="equivalence",
        null=0.0,
        # Half an octave over 8x in width: what a half-octave grid, as fine as the published ones, resolves.
        margin=1 / 6,
        expected=predicted(0.0, f"{FIGURE}: about 2^-10 from width 128 to 8192", spread=0.1),
        says="Under muP, the best learning rate scales as width^{estimate}",
        alternatives=from_narrower_window(MUP),
    ),
    Criterion(name="the workload shifts in standard parametrization", precondition=True, **SHIFTS),
    # If muP's optimum shifts because the base is narrow, the slope without the base is nearer 0.
    reported={
        "the same exponent over the three widths of the standard parametrization": lr_exponent(MUP[:3]),
        "the same exponent without the base width": lr_exponent(MUP_WITHOUT_BASES),
    },
)


def regret(kind: str, width: int, base_width: int) -> Any:
    return transfer_regret(arm=f"{kind}_{width}", tuned_for=f"base_{base_width}", of="fall")


def keeps_lr(width: int, base_width: int, **options: Any) -> Criterion:
    return no_worse(
        f"share of the fall lost at width {width} with the LR tuned at width {base_width}, muP",
        regret("mup", width, base_width),
        f"Under muP, width {width} loses {{estimate}} of its loss reduction at the best learning rate of width {base_width}",
        margin=0.01,
        clause="a",
        unit="share",
        **options,
    )


def standard_loses_more(width: int, base_width: int, scales: tuple[str, ...]) -> Criterion:
    return Criterion(
        name=f"share of the fall lost from width {base_width} to {width}, standard minus muP",
        clause="b",
        observe=regret("sp", width, base_width) - regret("mup", width, base_width),
        **above(0.01, refuted=0.0, null=0.0, unit="share"),
        says=f"From width {base_width} to {width}, keeping the learning rate loses {{estimate}} more of the loss reduction in"
        " standard parametrization than under muP",
        scales=scales,
    )


NO_REGRET = predicted(0.0, "Yang et al. 2022: the same LR is best at every width", spread=0.006)
REGRET = judgement(
    "mup.regret",
    keeps_lr(256, 32, scales=LAPTOP, expected=NO_REGRET),
    keeps_lr(2048, 128, scales=ON_GPU),
    standard_loses_more(128, 32, LAPTOP),
    standard_loses_more(512, 128, ON_GPU),
    reported={
        "tuned loss at the base width 32": TunedLoss(arm="base_32"),
        **{f"tuned loss at width {width}, muP": TunedLoss(arm=f"mup_{width}") for width in (64, 128, 256)},
        "muP's tuned loss minus the standard one's at width 128, of the loss reduction": (
            loss_gap("mup_128", "sp_128"),
            "share",
        ),
    },
)

LOGITS, LAST_BLOCK = -1, -2


def over_five_steps(arms: Arms, tap: int = LOGITS) -> Any:
    return mean_activation_slope(points=arms, tap=tap)


def trained(arms: Arms, tap: int = LOGITS) -> Any:
    """At the end of training."""
    return mean_activation_slope(points=arms, tap=tap, steps=2, end=True, at=2.0**-8)


def flat(clause: str, name: str, tap: int, spread: float, says: str) -> Criterion:
    return Criterion(
        name=f"slope of the {name} over five steps, muP",
        clause=clause,
        observe=over_five_steps(CHECKED_MUP, tap),
        test="equivalence",
        null=0.0,
        # At most 1.07x the activations at twice the width, 1.23x over 8x.
        margin=0.1,
        expected=predicted(0.0, "Yang et al. 2022: sizes that do not depend on the width", spread=spread),
        says=f"Over the first five steps under muP, {says} as width^{{estimate}}",
    )


COORD_CHECK = judgement(
    "mup.coord_check",
    flat("a", "logits", LOGITS, 0.03, "the logits scale"),
    flat("b", "last block", LAST_BLOCK, 0.05, "the output of the last block scales"),
    # The check must show the growth without muP.
    Criterion(
        name="slope of the logits over five steps, standard parametrization",
        observe=over_five_steps(CHECKED_SP),
        precondition=True,
        **above(0.2, refuted=0.0, null=0.0),
        says="In standard parametrization, the logits scale as width^{estimate}",
    ),
    reported={
        "slope of the last block over five steps, standard parametrization": over_five_steps(CHECKED_SP, LAST_BLOCK),
        "slope of the logits at the end of training, muP": trained(MUP_WITHOUT_BASES),
        "slope of the last block at the end of training, muP": trained(MUP_WITHOUT_BASES, LAST_BLOCK),
        "slope of the last block at the end of training from width 32, standard parametrization": trained(SP[:3], LAST_BLOCK),
        "slope of the embedding over five steps, muP": over_five_steps(CHECKED_MUP, tap=0),
    },
)


def depth_moves_lr(depths: str, arms: Arms, **options: Any) -> Criterion:
    return Criterion(
        name=f"exponent of the best LR in depth, {depths}",
        observe=lr_exponent(arms),
        **outside(-0.1, 0.1),
        says="At fixed width, the best learning rate scales as depth^{estimate}",
        **options,
    )


DEPTH = judgement(
    "mup.depth",
    depth_moves_lr(
        "1 to 8",
        DEPTHS,
        expected=predicted(
            -0.5,
            "theory: under Adam every block moves by about the LR, whatever the depth, and moves of blocks that differ add up"
            " in the stream as the square root of their number",
            spread=0.12,
        ),
        alternatives={**from_narrower_window(DEPTHS), "without depth 1": lr_exponent(DEPTHS[1:])},
        scales=LAPTOP,
    ),
    depth_moves_lr("2 to 32", named("depth", 2, 4, 8, 16, 32), scales=ON_GPU),
)


STUDY = study(
    __file__,
    # Version 2 had widths from 16, 120 steps, heads of growing size, regrets relative to the loss, and a largest slope; version
    # 3 has heads of one size, optima from a window, regrets of the loss reduction, mean slopes, and depth.
    version=3,
    # Constant LR and few steps, as in the publication, because the standard parametrization shifts then; with decay and longer
    # runs it hardly does. The readout starts as usual: from zero, runs of width 32 end 0.2 nats higher.
    workload=Workload(model="gpt", dataset="python-docs", depth=2, heads=2, context=32, base_width=32, base_heads=2),
    training=Training(optimizer="adamw", schedule="constant", warmup_fraction=0.0, weight_decay=0.0, batch_size=8, steps=150),
    measurement=Measurement(probes=5, evaluations=2, evaluation_examples=64, final_examples=128),
    arms=ARMS,
    factors=half_octaves(-10, -6),
    seeds=6,
    first_seed=2000,
    scales=SCALES,
    answer=("mup.invariant", "mup.sp_shifts", "mup.regret", "mup.depth"),
    judgements=(SP_SHIFTS, INVARIANT, REGRET, COORD_CHECK, DEPTH),
)
