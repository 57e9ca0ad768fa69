"""When training diverges at the end of warmup, does a longer warmup help?"""

import math
from typing import Any

from .kit import *
from .metrics.warmup import cure_rate, divergence_time

study = Draft(
    __file__,
    SMALL_GPT
    # SGD, which diverges where AdamW does not at this size, and a batch size at which single batches rarely derail a run below
    # the edge. Its decay would be L2, multiplied by its much larger LR: none.
    | dict(optimizer="sgd", weight_decay=0.0, schedule="cosine", final_fraction=0.1, batch_size=16, steps=600)
    | dict(probes=2, evaluations=2, evaluation_examples=64, final_examples=256),
    # Until version 7 the claims were the study warmup's. Versions 3 and 4 judged how far the edge of divergence moves, versions
    # 5 to 7 the share of runs saved just past it: the first question is asked again (reports/log).
    version=8,
    seeds=17,
    first_seed=241_000,
    factors=peak_lrs(-0.25, 0, 0.25, 0.5),
    answer=("warmup.late_nan", "warmup.clip_first"),
)

# In version 7 of warmup runs with 20% warmup just diverged at the first; at the second all did, of either length.
JUST_PAST, PAST = 2.0**0.25, 2.0**0.5

# Lower LRs, of which few seeds are needed: the best, and half of the peaks at which runs diverge.
BELOW = study.arm("20%_below", "20% warmup, below the edge", factors=peak_lrs(-3, -2, -1, -0.75), warmup_fraction=0.2)
SHORT = study.arm("20%", "20% warmup", warmup_fraction=0.2)
LONG = study.arm("60%", "60% warmup", factors=peak_lrs(0, 0.25, 0.5, 0.75), warmup_fraction=0.6)
CLIPPED = study.arm("clipped", "20% warmup, clipped at 1.0", factors=peak_lrs(0, 0.25, 0.5), warmup_fraction=0.2, clip_norm=1.0)

study.smoke(dict(steps=20, evaluation_examples=8, final_examples=16))
study.laptop("under three minutes of training", seeds=24, arm_seeds={(SHORT, LONG, CLIPPED): 64})
study.gpu(
    "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
    GPU_GPT | dict(batch_size=32, precision="tf32", evaluation_examples=128, final_examples=512),
    factors=lr_grid(-4, 2, per_octave=2),
    arm_factors={BELOW: lr_grid(-6, -1)},
)
study.cluster(
    "many GPUs, hours: a 115M-parameter byte-level model on web text",
    CLUSTER_GPT | dict(batch_size=64, steps=2000, precision="bf16", evaluation_examples=512, final_examples=2048),
    factors=lr_grid(-5, 1, per_octave=2),
    arm_factors={BELOW: lr_grid(-6, -1)},
    # At least seventeen runs, all diverged, show a share of 80%.
    seeds=17,
)


# A diverged run counts with its initial loss: where the mean loses half of the loss reduction, about half of the runs diverge.
SHORT_EDGE, LONG_EDGE = (MaxTrainable(arm=arm, best_of=(BELOW,), within=0.5, of="fall") for arm in (SHORT, LONG))
# Between runs that follow the end of warmup, and runs that diverge at one step whatever its length.
HALF_WAY = math.sqrt(3.0)


def cured(by_arm: str, no_worse_than: str | None = None) -> Any:
    return cure_rate(arm=SHORT, by_arm=by_arm, no_worse_than=no_worse_than)


def over_half_the_peak(arm: str) -> LossGap:
    """How much higher a remedy ends where runs just diverge than half of that peak does, as a share of the loss reduction."""
    return LossGap(left=LossAt(arm=arm, value=JUST_PAST), right=LossAt(arm=BELOW, value=JUST_PAST / 2), best_of=(BELOW,))


study.claim(
    "warmup.late_nan",
    within(
        0.5,
        2.0,
        divergence_time(arm=SHORT),
        "step of divergence over end of warmup, 20% warmup",
        "With 20% warmup, runs that diverge do so at {estimate} the last step of warmup",
        clause="a",
    ),
    within(
        1.0 / HALF_WAY,
        HALF_WAY,
        divergence_time(arm=LONG, value=PAST) / divergence_time(arm=SHORT, value=PAST),
        "step of divergence over end of warmup, 60% over 20% warmup",
        "At one peak, that ratio is {estimate} as large with 60% warmup: 1x follows the end of warmup, 0.33x would be one step",
        clause="b",
    ),
    at_least(
        1.4,
        LONG_EDGE / SHORT_EDGE,
        "largest peak LR at which half of the loss reduction is left, 60% over 20% warmup",
        "A warmup three times as long moves the edge of divergence to a peak that is {larger}",
        clause="c",
        refuted=1.0,
        null=1.0,
        margin=1.1,
    ),
    reported(cured(LONG), "share of diverged runs cured by a warmup three times as long"),
    reported(over_half_the_peak(LONG), "loss where runs just diverge, 60% warmup over half of the peak"),
)

study.claim(
    "warmup.clip_first",
    at_least(
        0.5,
        cured(CLIPPED),
        "share of diverged runs cured by clipping at 1.0",
        "Clipping at 1.0 saves {estimate} of the SGD runs that diverge",
        clause="a",
    ),
    at_least(
        0.7,
        cured(CLIPPED, no_worse_than=LONG),
        "share of diverged runs in which clipping does no worse than 60% warmup",
        "In {estimate} of the diverged runs, clipping does no worse than a warmup three times as long",
        clause="b",
        refuted=0.5,
    ),
    at_most(
        0.3,
        cured(LONG),
        "share of diverged runs cured by 60% warmup alone",
        "A warmup three times as long saves {estimate} of them without clipping",
        clause="c",
        refuted=0.5,
    ),
    reported(over_half_the_peak(CLIPPED), "loss where runs just diverge, clipped over half of the peak"),
)

STUDY = study.declared()
