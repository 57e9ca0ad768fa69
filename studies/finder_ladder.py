"""Does a range test find a good learning rate as models grow?"""

from .kit import *
from .metrics.lr_finder import finder_pick, finder_regret

study = ladder_draft(
    __file__,
    seeds=6,
    first_seed=338_000,
    answer=("finder.tenth_with_size", "finder.steepest_with_size"),
)

RUN = study.arm("run", "whole runs")
# From 1e-6 to 100 by equal factors; every step's loss is kept.
RANGE_TEST = study.arm(
    "range_test",
    "100 steps",
    "range tests",
    dict(schedule="exponential", ramp_start=1e-8, warmup_fraction=0.0, steps=100)
    | dict(probes=2, evaluations=1, evaluation_examples=64, final_examples=64, curve_points=1000),
    factors={"peak_lr": (100.0,)},
)

study.smoke(
    dict(steps=10, evaluation_examples=8, final_examples=16),
    arm_factors={RUN: peak_lrs(-8, -6, -4)},
    arm_settings={RANGE_TEST: {"steps": 40}},
    seeds=1,
)


# Octaves from the best LR: halves about it, whole ones further out, and ends that only show how bad a pick is.
OCTAVES = (-10, -7, -5, -4, -3, -2, *(half / 2 for half in range(-3, 5)), 3, 4, 6, 11)
for rung in RUNGS:
    study.scale(
        rung.scale,
        rung.description,
        rung.shape,
        device=rung.device,
        arm_settings={RUN: {"steps": rung.steps()}},
        arm_factors={RUN: peak_lrs(*(rung.best_log2_lr + octaves for octaves in OCTAVES))},
    )

# As in lr_finder: divergence is where the smoothed loss has risen halfway back from its lowest value to its first.
TENTH: Settings = {"rule": "tenth_of_halfway", "smoothing": 0.9, "delag": True}
STEEPEST: Settings = {"rule": "steepest_centred"}
GOOD = 0.02
for claim, reading, words in (
    ("finder.tenth_with_size", TENTH, "a tenth of the LR of divergence"),
    ("finder.steepest_with_size", STEEPEST, "the steepest point of the range test"),
):
    study.claim(
        claim,
        at_most(
            GOOD,
            finder_regret(arm=RUN, range_test=RANGE_TEST, of="fall", **reading),
            f"loss at {words}",
            f"As LR, {words} {{costs}} of the loss reduction compared with the best one",
        ),
        reported(finder_pick(arm=RANGE_TEST, **reading) / Optimum(arm=RUN, window_octaves=1.0), f"{words} over the best LR"),
    )

STUDY = study.declared()
