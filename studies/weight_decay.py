"""A study of weight decay: what it does to the weights, and how it differs from L2 regularization."""

from collections.abc import Iterator
from typing import Any

from .kit import *

study = Draft(
    __file__,
    SMALL_GPT
    # A constant LR: LR decay would itself end the growth of the weights.
    | dict(schedule="constant", warmup_fraction=0.05, steps=2000)
    | dict(probes=40, evaluations=4, evaluation_examples=64, final_examples=256, curve_points=20),
    version=2,  # why each version: reports/log
    factors=peak_lrs(-7),
    seeds=10,
    first_seed=25_200,
    answer=("wd.adamw_vs_l2", "wd.sgd_identity", "wd.growth"),
)

MLP = DIGITS_MLP | dict(batch_size=32)
GPT = dict(model="gpt", dataset="python-docs", width=16, depth=1, context=16, batch_size=16)
# Decay that is usual with the optimizer: AdamW's is multiplied by the LR, L2 by SGD's much larger LR.
SGD = dict(optimizer="sgd", weight_decay=5e-4)
ADAMW = dict(optimizer="adamw", weight_decay=0.1)
# Panel -> its arm with decay, settings, and log2 of about a pilot's best constant LR. The arm without decay is read at the same
# LR, so that only decay differs.
SETUPS: dict[str, tuple[str, Settings, int]] = {
    "MLP with SGD": ("mlp_sgd", MLP | SGD, -5),
    "MLP with AdamW": ("mlp_adam", MLP | ADAMW, -8),
    "GPT with SGD": ("gpt_sgd", GPT | SGD, -3),
    "GPT with AdamW": ("gpt_adam", GPT | ADAMW, -7),
}
for suffix, label, decay in (("", "decayed", {}), ("_free", "no decay", {"weight_decay": 0.0})):
    for panel, (name, settings, lr) in SETUPS.items():
        study.arm(f"{name}{suffix}", label, panel, settings, **decay, factors=lr_grid(lr - 1, lr + 1))
GPTS = tuple(arm for arm in study.arms if arm.startswith("gpt"))

study.smoke(dict(steps=20, probes=4, evaluation_examples=8, final_examples=16))
study.laptop("about three minutes of training")
study.gpu(
    "one GPU, at most four minutes: GPTs of 0.4M parameters on Python's standard library",
    dict(precision="tf32"),
    arm_settings={GPTS: GPU_GPT},
    seeds=5,
)
study.cluster(
    "many GPUs, an hour: GPTs of 25M parameters on web text",
    dict(precision="tf32", steps=5000),
    arm_settings={GPTS: dict(dataset="web-text", width=512, depth=8, heads=8, context=256, batch_size=64)},
    seeds=5,
)

# Claims.

study.claim(
    "wd.adamw_vs_l2",
    at_most(
        1e-3,
        computed("decay.shrinkage", "spread"),
        "spread of the shares that decoupled decay takes off, over their mean",
        "Decoupled decay shrinks all weights by the same fraction, with a relative spread of {estimate}",
        clause="a",
        refuted=0.1,
    ),
    at_most(
        -0.5,
        computed("decay.shrinkage", "rank_correlation"),
        "rank correlation of what L2 inside Adam takes off with the root of the second moment",
        "The shrinkage by L2 inside Adam has a rank correlation of {estimate} with the root of the second moment",
        clause="b",
        refuted=0.0,
    ),
    reported(
        computed("decay.shrinkage", "rank_correlation", decay=0.1),
        "the same rank correlation at a coefficient of 0.1 instead of 0.001",
    ),
    reported(
        computed("decay.shrinkage", "weaker"), "share of weights that L2 inside Adam shrinks less than decoupled decay", "share"
    ),
    right={"supported": "second moment"},
)

study.claim(
    "wd.sgd_identity",
    at_most(
        1e-6,
        computed("decay.sgd", "distance"),
        "distance of L2 from decoupled decay, SGD without momentum, of the way",
        "For SGD without momentum, L2 and decoupled decay differ by {estimate} of the distance travelled after 200 steps",
        clause="a",
        refuted=1e-3,
    ),
    at_most(
        1e-6,
        computed("decay.sgd", "momentum_distance"),
        "distance of L2 from decoupled decay, momentum 0.9, of the way",
        "For SGD with momentum 0.9, they differ by {estimate} of the distance, though there is no preconditioning",
        clause="b",
        refuted=1e-3,
    ),
)


def norm(arm: str, log2_lr: int, **options: Any) -> Curve:
    return Curve(arm=arm, value=2.0**log2_lr, of="probe_weight_norm", **options)


def growth(arm: str, log2_lr: int) -> Observed:
    """The norm of the weights at the last probes over that at the first."""
    return norm(arm, log2_lr, first=0.95) / norm(arm, log2_lr, first=0.0, last=0.005)


def late_slope(arm: str, log2_lr: int) -> Observed:
    """The exponent of that norm on the step in the second half of a run."""
    return norm(arm, log2_lr, statistic="slope", first=0.5)


@study.claim("wd.growth")
def grows() -> Iterator[Part]:
    for panel, (decayed, _, lr) in SETUPS.items():
        free = f"{decayed}_free"
        yield at_least(
            2.0,
            growth(decayed, lr),
            f"norm of the weights, end over start, {panel}",
            f"With decay, the {panel} ends training at {{estimate}} its initial weight norm",
            clause="a",
            panel=panel,
            refuted=1.0,
            null=1.0,
            margin=1.05,
            alternatives={"at half the LR": growth(decayed, lr - 1), "at twice the LR": growth(decayed, lr + 1)},
        )
        yield exceeds(
            late_slope(free, lr),
            f"late exponent of the norm on the step, no decay, {panel}",
            f"Without decay, the weight norm of the {panel} grows as step^{{estimate}} late in training",
            by=0.02,
            clause="b",
            panel=panel,
            alternatives={"at half the LR": late_slope(free, lr - 1), "at twice the LR": late_slope(free, lr + 1)},
        )
    for panel, (decayed, _, lr) in SETUPS.items():
        yield reported(late_slope(decayed, lr), f"late exponent with decay, {panel}")
    for panel, (decayed, _, lr) in SETUPS.items():
        yield reported(growth(f"{decayed}_free", lr), f"end over start without decay, {panel}")


STUDY = study.declared()
