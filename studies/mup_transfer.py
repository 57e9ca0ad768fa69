"""Does the best learning rate change with width or depth, and does muP keep it constant?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .kit import *
from .metrics.mup_transfer import mean_activation_slope, transfer_regret

half_octaves = partial(lr_grid, per_octave=2)

study = Draft(
    __file__,
    # Constant LR and few steps, as in the publication, because the standard parametrization shifts then; with decay and longer
    # runs it hardly does. The readout starts as usual: from zero, runs of width 32 end 0.2 nats higher.
    dict(model="gpt", dataset="python-docs", depth=2, heads=2, context=32, base_width=32, base_heads=2)
    | dict(optimizer="adamw", weight_decay=0.0, schedule="constant", warmup_fraction=0.0, batch_size=8, steps=150)
    | dict(probes=5, evaluations=2, evaluation_examples=64, final_examples=128),
    version=3,  # why each version: reports/log
    factors=half_octaves(-10, -6),
    seeds=6,
    first_seed=2000,
    answer=("mup.invariant", "mup.sp_shifts", "mup.regret", "mup.depth"),
)


# Arms.

# On a GPU the base has width 128 instead of 32, and widths go up to 16 times it.
LAPTOP, ON_GPU, EVERYWHERE = ("smoke", "laptop"), ("gpu", "cluster"), None
SPELLED = {"sp": "standard", "mup": "muP"}


def widened(kind: str, width: int, scales: tuple[str, ...] | None) -> dict[str, Any]:
    """More heads of equal size: 64 on a GPU, else 16."""
    heads = width // (64 if scales == ON_GPU else 16)
    return dict(parametrization="mup" if kind == "mup" else "standard", width=width, heads=heads, scales=scales)


def wide(kind: str, width: int, scales: tuple[str, ...] | None, **options: Any) -> None:
    study.arm(f"{kind}_{width}", f"width {width}", SPELLED[kind], widened(kind, width, scales), **options)


# At the base width both parametrizations are the same network.
base = partial(study.arm, panel="standard, and muP's base")
# Around 2^-8.
AROUND_MUPS = half_octaves(-9.5, -6.5)

base("base_32", "width 32", width=32, scales=LAPTOP, factors=half_octaves(-10, -6))
wide("sp", 64, LAPTOP, factors=half_octaves(-11, -7))
# Around 2^-9.5, up to where the LR tuned at width 32 may lie.
wide("sp", 128, LAPTOP, factors=half_octaves(-11, -7.5))
wide("mup", 64, LAPTOP, factors=AROUND_MUPS)
wide("mup", 128, LAPTOP, factors=AROUND_MUPS)
wide("mup", 256, EVERYWHERE)
base("base_128", "width 128", width=128, scales=ON_GPU)
wide("sp", 256, ON_GPU, factors=half_octaves(-14, -8))
wide("sp", 512, ON_GPU, factors=half_octaves(-15, -7))
wide("sp", 1024, ON_GPU, factors=lr_grid(-16, -10))
wide("sp", 2048, ON_GPU, factors=lr_grid(-18, -11))
for width in (512, 1024, 2048):
    wide("mup", width, ON_GPU)

# At width 32 and depth 16, LRs two octaves apart differ by less than seeds: too narrow for an optimum.
for depth, scales in {2: ON_GPU, 1: LAPTOP, 4: EVERYWHERE, 8: EVERYWHERE, 16: ON_GPU, 32: ON_GPU}.items():
    factors = half_octaves(-11, -7) if depth == 8 else {}
    study.arm(
        f"depth_{depth}", f"depth {depth}", "depth", parametrization="standard", depth=depth, scales=scales, factors=factors
    )

# A coordinate check reads the first five steps at an LR far above the best. The readout starts at zero, so that its logits are
# learnt: muP's random ones fall as width^-0.5 before anything is learnt.
CHECK: dict[str, Any] = dict(
    steps=5, zero_readout=True, evaluations=1, evaluation_examples=8, final_examples=16, factors=peak_lrs(-6)
)
CHECKED = {64: LAPTOP, 128: LAPTOP, 256: EVERYWHERE, 512: ON_GPU, 1024: ON_GPU}
# The base, of both parametrizations.
study.arm("check_32", "width 32", "check, muP", CHECK, width=32, scales=LAPTOP)
for kind, prefix in {"mup": "check", "sp": "check_sp"}.items():
    for width, scales in CHECKED.items():
        label = SPELLED[kind]
        study.arm(f"{prefix}_{width}", f"{label}, width {width}", f"check, {label}", CHECK | widened(kind, width, scales))

study.smoke(
    dict(steps=10, probes=2, evaluations=1, evaluation_examples=8, final_examples=16),
    factors=peak_lrs(-9, -7, -5),
    arm_factors={("base_32", "sp_64", "sp_128", "mup_64", "mup_128", "depth_8"): peak_lrs(-9, -7, -5)},
    seeds=1,
)
# More than the five minutes of other studies: 8x in width from 32 ends at 256, where a run takes 7 seconds of a core and muP's
# arm is nearly half of the work.
study.laptop("at most ten minutes of training", arm_factors={"mup_256": AROUND_MUPS})
# Arms that laptop scale trains with heads of 16.
HEADS_OF_64 = {("mup_256", "check_256", "check_sp_256"): {"heads": 4}}
study.gpu(
    "one GPU, minutes: widths 128 to 2048 with heads of 64, as Yang et al. 2022 (122 constant-LR steps)",
    dict(dataset="python-source", width=128, context=64, base_width=128)
    | dict(batch_size=16, steps=122, precision="tf32", evaluation_examples=128, final_examples=512),
    factors=half_octaves(-12, -7),
    arm_factors={
        ("mup_1024", "mup_2048"): lr_grid(-12, -7),
        ("depth_4", "depth_8", "depth_16"): half_octaves(-13, -8),
        "depth_32": lr_grid(-14, -8),
    },
    arm_settings=HEADS_OF_64,
    seeds=5,
)
study.cluster(
    "many GPUs, hours: the same arms on web text, from 120 tokens per parameter at the base to 0.6",
    dict(dataset="web-text", width=128, context=512, base_width=128)
    | dict(batch_size=64, steps=2000, precision="bf16", evaluation_examples=512, final_examples=2048),
    factors=half_octaves(-12, -6),
    arm_factors={("depth_4", "depth_8", "depth_16"): half_octaves(-13, -7)},
    arm_settings=HEADS_OF_64,
    seeds=5,
)


# Claims.

# Widths or depths with their arms.
Arms = tuple[tuple[int, str], ...]


def named(kind: str, *sizes: int) -> Arms:
    return tuple((size, f"{kind}_{size}") for size in sizes)


# From both bases on.
SP, MUP = (
    named("base", 32) + named(kind, 64, 128) + named("base", 128) + named(kind, 256, 512, 1024, 2048) for kind in SPELLED
)
MUP_WITHOUT_BASES = named("mup", 64, 128, 256, 512, 1024, 2048)
CHECKED_MUP = named("check", 32, *CHECKED)
CHECKED_SP = named("check", 32) + named("check_sp", *CHECKED)
# The base has depth 2.
DEPTHS = (*named("depth", 1), (2, "base_32"), *named("depth", 4, 8))


def lr_exponent(arms: Arms, window_octaves: float = 1.5) -> Slope:
    """The exponent of the best LR in width or depth, with optima from seven points of a half-octave grid, against noise."""
    return Slope(points=tuple((size, Optimum(arm=name, window_octaves=window_octaves)) for size, name in arms))


def from_narrower_window(arms: Arms) -> dict[str, Slope]:
    return {"optima from a narrower window": lr_exponent(arms, window_octaves=1.0)}


shifts = partial(
    at_most,
    -0.3,
    lr_exponent(SP),
    says="In standard parametrization, the best learning rate scales as width^{estimate}",
    refuted=0.0,
    null=0.0,
)

study.claim(
    "mup.sp_shifts",
    shifts(
        name="exponent of the best LR in width, standard parametrization",
        expected=predicted(-1.0, "Yang et al. 2022, figure: 2^-10 at width 128, 2^-16 at width 8192", spread=0.12),
        alternatives=from_narrower_window(SP),
    ),
)

study.claim(
    "mup.invariant",
    equivalent(
        lr_exponent(MUP),
        "exponent of the best LR in width, muP",
        "Under muP, the best learning rate scales as width^{estimate}",
        # Half an octave over 8x in width: what a half-octave grid, as fine as the published ones, resolves.
        margin=1 / 6,
        expected=predicted(0.0, "Yang et al. 2022, figure: about 2^-10 from width 128 to 8192", spread=0.1),
        alternatives=from_narrower_window(MUP),
    ),
    # A workload on which the standard parametrization does not shift cannot show muP's invariance.
    shifts(name="the workload shifts in standard parametrization", precondition=True),
    # If muP's optimum shifts because the base is narrow, the slope without the base is nearer 0.
    reported(lr_exponent(MUP[:3]), "the same exponent over the three widths of the standard parametrization"),
    reported(lr_exponent(MUP_WITHOUT_BASES), "the same exponent without the base width"),
)


def regret(kind: str, width: int, base_width: int) -> Any:
    return transfer_regret(arm=f"{kind}_{width}", tuned_for=f"base_{base_width}", of="fall")


@study.claim("mup.regret")
def keeps_lr() -> Iterator[Part]:
    no_regret = predicted(0.0, "Yang et al. 2022: the same LR is best at every width", spread=0.006)
    for width, base_width, scales, expected in ((256, 32, LAPTOP, no_regret), (2048, 128, ON_GPU, None)):
        yield no_worse(
            regret("mup", width, base_width),
            f"share of the fall lost at width {width} with the LR tuned at width {base_width}, muP",
            f"Under muP, width {width} loses {{estimate}} of its loss reduction at the best learning rate of width"
            f" {base_width}",
            margin=0.01,
            clause="a",
            scales=scales,
            expected=expected,
        )
    for width, base_width, scales in ((128, 32, LAPTOP), (512, 128, ON_GPU)):
        yield at_least(
            0.01,
            regret("sp", width, base_width) - regret("mup", width, base_width),
            f"share of the fall lost from width {base_width} to {width}, standard minus muP",
            f"From width {base_width} to {width}, keeping the learning rate loses {{estimate}} more of the loss reduction in"
            " standard parametrization than under muP",
            refuted=0.0,
            null=0.0,
            clause="b",
            scales=scales,
        )
    yield reported(TunedLoss(arm="base_32"), "tuned loss at the base width 32")
    for width in (64, 128, 256):
        yield reported(TunedLoss(arm=f"mup_{width}"), f"tuned loss at width {width}, muP")
    name = "muP's tuned loss minus the standard one's at width 128, of the loss reduction"
    yield reported(loss_gap("mup_128", "sp_128"), name, unit="share")


@study.claim("mup.coord_check")
def activations_keep_their_size() -> Iterator[Part]:
    logits, last_block = -1, -2
    for clause, tap, what, scale, spread in (
        ("a", logits, "logits", "the logits scale", 0.03),
        ("b", last_block, "last block", "the output of the last block scales", 0.05),
    ):
        yield equivalent(
            mean_activation_slope(points=CHECKED_MUP, tap=tap),
            f"slope of the {what} over five steps, muP",
            f"Over the first five steps under muP, {scale} as width^{{estimate}}",
            # At most 1.07x the activations at twice the width, 1.23x over 8x.
            margin=0.1,
            expected=predicted(0.0, "Yang et al. 2022: sizes that do not depend on the width", spread=spread),
            clause=clause,
        )
    # The check must show the growth without muP.
    yield at_least(
        0.2,
        mean_activation_slope(points=CHECKED_SP),
        "slope of the logits over five steps, standard parametrization",
        "In standard parametrization, the logits scale as width^{estimate}",
        refuted=0.0,
        null=0.0,
        precondition=True,
    )
    trained = partial(mean_activation_slope, steps=2, end=True, at=2.0**-8)
    for slope, name in (
        (mean_activation_slope(points=CHECKED_SP, tap=last_block), "last block over five steps, standard parametrization"),
        (trained(points=MUP_WITHOUT_BASES), "logits at the end of training, muP"),
        (trained(points=MUP_WITHOUT_BASES, tap=last_block), "last block at the end of training, muP"),
        (trained(points=SP[:3], tap=last_block), "last block at the end of training from width 32, standard parametrization"),
        (mean_activation_slope(points=CHECKED_MUP, tap=0), "embedding over five steps, muP"),
    ):
        yield reported(slope, f"slope of the {name}")


moves_lr = partial(beyond, -0.1, 0.1, says="At fixed width, the best learning rate scales as depth^{estimate}")
THEORY = (
    "theory: under Adam every block moves by about the LR, whatever the depth, and moves of blocks that differ add up in the"
    " stream as the square root of their number"
)

study.claim(
    "mup.depth",
    moves_lr(
        lr_exponent(DEPTHS),
        "exponent of the best LR in depth, 1 to 8",
        expected=predicted(-0.5, THEORY, spread=0.12),
        alternatives={**from_narrower_window(DEPTHS), "without depth 1": lr_exponent(DEPTHS[1:])},
        scales=LAPTOP,
    ),
    moves_lr(lr_exponent(named("depth", 2, 4, 8, 16, 32)), "exponent of the best LR in depth, 2 to 32", scales=ON_GPU),
)

STUDY = study.declared()
