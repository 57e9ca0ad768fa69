"""Does the best learning rate change with width or depth, and does muP keep it constant, early in training and later?"""

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

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
    version=4,  # "early in training" where that is what is trained, and long runs for workstations
    factors=half_octaves(-10, -6),
    seeds=5,
    first_seed=62_000,
    answer=("mup.invariant", "mup.sp_shifts", "mup.regret", "mup.depth"),
)


# Arms.

# On a GPU the base has width 128 instead of 32, and widths go up to 16 times it.
LAPTOP, ON_GPU, EVERYWHERE = ("smoke", "laptop"), ("gpu", "cluster"), ("smoke", "laptop", "gpu", "cluster")
# Long runs, of widths from 24 with heads of 12.
WORKSTATION = ("smoke", "workstation")
SPELLED = {"sp": "standard", "mup": "muP"}


def widened(kind: str, width: int, scales: tuple[str, ...]) -> dict[str, Any]:
    """More heads of equal size: 64 on a GPU, else 16."""
    heads = width // (64 if scales == ON_GPU else 12 if scales == WORKSTATION else 16)
    return dict(parametrization="mup" if kind == "mup" else "standard", width=width, heads=heads, scales=scales)


def wide(kind: str, width: int, scales: tuple[str, ...], **options: Any) -> None:
    study.arm(f"{kind}_{width}", f"width {width}", SPELLED[kind], widened(kind, width, scales), **options)


# At the base width both parametrizations are the same network.
base = partial(study.arm, panel="standard, and muP's base")
# Around 2^-8.
AROUND_MUPS = half_octaves(-9, -7)

base("base_32", "width 32", width=32, scales=LAPTOP, factors=half_octaves(-9.5, -6.5))
wide("sp", 64, LAPTOP, factors=half_octaves(-10, -7.5))
# Around 2^-9.5, up to where the LR tuned at width 32 may lie.
wide("sp", 128, LAPTOP, factors=half_octaves(-10.5, -7.5))
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
AT_TWO = ("smoke", "laptop", "workstation")
DEPTH_SCALES = {2: ON_GPU, 1: AT_TWO, 4: (*EVERYWHERE, "workstation"), 8: (*EVERYWHERE, "workstation"), 16: ON_GPU, 32: ON_GPU}
for depth, scales in DEPTH_SCALES.items():
    factors = half_octaves(-10, -7) if depth == 8 else half_octaves(-9.5, -6.5)
    study.arm(
        f"depth_{depth}", f"depth {depth}", "depth", parametrization="standard", depth=depth, scales=scales, factors=factors
    )

# Long runs: decay of weights of none, of a 1024th a step at the peak, so that the last half of the run weighs most, and as
# AdamW's default has it: times the LR, which muP lowers with the width.
LONG = dict(steps=2000, schedule="cosine", final_fraction=0.1, warmup_fraction=0.02, batch_size=6, base_width=24)
DECAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "off": ("without weight decay", {}),
    "independent": ("with weight decay apart from the LR", {"weight_decay": 2.0**-10, "independent_decay": True}),
    "coupled": ("with weight decay times the LR", {"weight_decay": 0.1}),
}
WIDER = (48, 96, 192)
for decay, (words, settings) in DECAYS.items():
    long_arm = partial(study.arm, panel=f"2,000 steps, {words}", settings=LONG | settings)
    long_arm(f"{decay}_24", "width 24", width=24, scales=WORKSTATION, factors=half_octaves(-9, -5.5))
    for width in WIDER:
        shape = widened("mup", width, WORKSTATION)
        long_arm(f"{decay}_mup_{width}", f"muP, width {width}", factors=half_octaves(-8.5, -6), **shape)
    for width, low in {48: -9.0, 96: -9.5}.items() if decay != "coupled" else ():
        shape = widened("sp", width, WORKSTATION)
        long_arm(f"{decay}_sp_{width}", f"standard, width {width}", factors=half_octaves(low, low + 3), **shape)

# A coordinate check reads the first five steps at an LR far above the best. The readout starts at zero, so that its logits are
# learnt: muP's random ones fall as width^-0.5 before anything is learnt.
CHECK: dict[str, Any] = dict(
    steps=5, zero_readout=True, evaluations=1, evaluation_examples=8, final_examples=16, factors=peak_lrs(-6)
)
CHECKED = {64: LAPTOP, 128: LAPTOP, 256: EVERYWHERE, 512: ON_GPU, 1024: ON_GPU, **dict.fromkeys(WIDER, WORKSTATION)}
# The base, of both parametrizations.
study.arm("check_32", "width 32", "check, muP", CHECK, width=32, scales=LAPTOP)
study.arm("check_24", "width 24", "check, muP", CHECK | {"base_width": 24}, width=24, scales=WORKSTATION)
for kind, prefix in {"mup": "check", "sp": "check_sp"}.items():
    for width, scales in CHECKED.items():
        label, own = SPELLED[kind], {"base_width": 24} if scales == WORKSTATION else {}
        study.arm(f"{prefix}_{width}", f"{label}, width {width}", f"check, {label}", CHECK | own | widened(kind, width, scales))

study.smoke(
    dict(steps=10, probes=2, evaluations=1, evaluation_examples=8, final_examples=16),
    factors=peak_lrs(-9, -7, -5),
    arm_factors={tuple(arm for arm in study.arms if not arm.startswith("check")): peak_lrs(-9, -7, -5)},
    arm_settings={tuple(arm for arm in study.arms if arm.startswith(tuple(DECAYS))): {"steps": 10}},
    seeds=1,
)
# 8x in width from 32 ends at 256, where a run takes 7 seconds of a core and muP's arm is a third of the work.
study.laptop("six minutes of training", arm_factors={"mup_256": AROUND_MUPS})
study.workstation(
    "an hour and a half of training: widths 24 to 192 in 2,000 steps",
    dict(width=24, heads=2),
    # Depths as the long runs, without weight decay. Their best LRs were not looked for beforehand.
    arm_settings={("depth_1", "depth_4", "depth_8"): LONG},
    arm_factors={("depth_1", "depth_4"): half_octaves(-9, -5.5), "depth_8": half_octaves(-9.5, -6)},
)
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
CHECKED_MUP = named("check", 24, 32, *CHECKED)
CHECKED_SP = named("check", 24, 32) + named("check_sp", *CHECKED)
# The base has depth 2.
DEPTHS = (*named("depth", 1), (2, "base_32"), (2, "off_24"), *named("depth", 4, 8))


class When(NamedTuple):
    """When in training, and what of its arms a criterion is judged on.

    words: at the beginning of a sentence. name: at the end of a criterion's; '': the usual.
    """

    words: str
    name: str
    scales: tuple[str, ...]
    sp: Arms
    mup: Arms
    panel: str = ""


EARLY = When("Early in training", "", ("laptop", "gpu"), SP, MUP)
AT_CLUSTER = When("After 2,000 steps at a constant LR", ", 2,000 steps", ("cluster",), SP, MUP)
LATE = {
    decay: When(
        f"After 2,000 steps {words}",
        f", 2,000 steps {words}",
        ("workstation",),
        named(f"{decay}", 24) + named(f"{decay}_sp", 48, 96),
        named(f"{decay}", 24) + named(f"{decay}_mup", *WIDER),
        f"2,000 steps {words}",
    )
    for decay, (words, _) in DECAYS.items()
}
JUDGED = (EARLY, AT_CLUSTER, LATE["off"], LATE["independent"])


def lr_exponent(arms: Arms, window_octaves: float = 1.5, of: Literal["test_loss"] | None = None) -> Slope:
    """The exponent of the best LR in width or depth, with optima from all points near the lowest, against noise."""
    return Slope(points=tuple((size, Optimum(arm=name, window_octaves=window_octaves, of=of)) for size, name in arms))


def other_optima(arms: Arms) -> dict[str, Slope]:
    return {
        "optima from a narrower window": lr_exponent(arms, window_octaves=1.0),
        "optima of the test loss": lr_exponent(arms, of="test_loss"),
    }


def shifts(when: When, name: str, **options: Any) -> Criterion:
    return at_most(
        -0.3,
        lr_exponent(when.sp),
        name + when.name,
        f"{when.words}, in standard parametrization, the best learning rate scales as width^{{estimate}}",
        refuted=0.0,
        null=0.0,
        scales=when.scales,
        panel=when.panel,
        **options,
    )


@study.claim("mup.sp_shifts")
def standard_shifts() -> Iterator[Part]:
    for when in JUDGED:
        yield shifts(
            when,
            "exponent of the best LR in width, standard parametrization",
            expected=predicted(-1.0, "Yang et al. 2022, figure: 2^-10 at width 128, 2^-16 at width 8192", spread=0.12)
            if when == EARLY
            else None,
            alternatives=other_optima(when.sp),
        )


@study.claim("mup.invariant")
def does_not_shift() -> Iterator[Part]:
    for when in JUDGED:
        yield equivalent(
            lr_exponent(when.mup),
            f"exponent of the best LR in width, muP{when.name}",
            f"{when.words}, under muP, the best learning rate scales as width^{{estimate}}",
            # Half an octave over 8x in width: what a half-octave grid, as fine as the published ones, resolves.
            margin=1 / 6,
            expected=predicted(0.0, "Yang et al. 2022, figure: about 2^-10 from width 128 to 8192", spread=0.1)
            if when == EARLY
            else None,
            alternatives=other_optima(when.mup),
            scales=when.scales,
            panel=when.panel,
        )
        # Where the standard parametrization does not shift, muP's invariance cannot be shown.
        yield shifts(when, "the workload shifts in standard parametrization", precondition=True)
    # If muP's optimum shifts because the base is narrow, the slope without the base is nearer 0.
    yield reported(lr_exponent(MUP[:3]), "the same exponent over the three widths of the standard parametrization")
    yield reported(lr_exponent(MUP_WITHOUT_BASES), "the same exponent without the base width")
    yield reported(lr_exponent(LATE["coupled"].mup), f"the same exponent{LATE['coupled'].name}")


def regret(arm: str, base: str) -> Any:
    return transfer_regret(arm=arm, tuned_for=base, of="fall")


@study.claim("mup.regret")
def keeps_lr() -> Iterator[Part]:
    no_regret = predicted(0.0, "Yang et al. 2022: the same LR is best at every width", spread=0.006)
    late = [(LATE[decay], "workstation", f"{decay}", f"{decay}_", 24, 96, 192) for decay in ("off", "independent")]
    for when, scale, base, prefix, narrow, middle, widest in (
        (EARLY, "laptop", "base", "", 32, 128, 256),
        (EARLY, "gpu", "base", "", 128, 512, 2048),
        (AT_CLUSTER, "cluster", "base", "", 128, 512, 2048),
        *late,
    ):
        lost = {
            (kind, width): regret(f"{prefix}{kind}_{width}", f"{base}_{narrow}")
            for kind, width in (("mup", widest), ("sp", middle), ("mup", middle))
        }
        yield no_worse(
            lost["mup", widest],
            f"share of the fall lost at width {widest} with the LR tuned at width {narrow}, muP{when.name}",
            f"{when.words}, under muP, width {widest} loses {{estimate}} of its loss reduction at the best learning rate of"
            f" width {narrow}",
            margin=0.01,
            clause="a",
            scales=(scale,),
            panel=when.panel,
            expected=no_regret if scale == "laptop" else None,
        )
        yield at_least(
            0.01,
            lost["sp", middle] - lost["mup", middle],
            f"share of the fall lost from width {narrow} to {middle}, standard minus muP{when.name}",
            f"{when.words}, from width {narrow} to {middle}, keeping the learning rate loses {{estimate}} more of the loss"
            " reduction in standard parametrization than under muP",
            refuted=0.0,
            null=0.0,
            clause="b",
            scales=(scale,),
            panel=when.panel,
        )
    for decay in DECAYS:
        arms = LATE[decay].mup
        for (narrow, tuned), (width, arm) in itertools.pairwise(arms):
            yield reported(regret(arm, tuned), f"share lost from width {narrow} to {width}, muP{LATE[decay].name}", "share")
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


THEORY = (
    "theory: under Adam every block moves by about the LR, whatever the depth, and moves of blocks that differ add up in the"
    " stream as the square root of their number"
)


@study.claim("mup.depth")
def moves_with_depth() -> Iterator[Part]:
    for words, name, depths, scales in (
        ("Early in training", "1 to 8", DEPTHS, ("laptop",)),
        ("After 2,000 steps", "1 to 8, 2,000 steps", DEPTHS, ("workstation",)),
        ("Early in training", "2 to 32", named("depth", 2, 4, 8, 16, 32), ("gpu",)),
        ("After 2,000 steps at a constant LR", "2 to 32, 2,000 steps", named("depth", 2, 4, 8, 16, 32), ("cluster",)),
    ):
        yield beyond(
            -0.1,
            0.1,
            lr_exponent(depths),
            f"exponent of the best LR in depth, {name}",
            f"{words}, at fixed width, the best learning rate scales as depth^{{estimate}}",
            expected=predicted(-0.5, THEORY, spread=0.12) if scales == ("laptop",) else None,
            alternatives={**other_optima(depths), "without the least depth": lr_exponent(depths[1:])},
            scales=scales,
        )


STUDY = study.declared()
