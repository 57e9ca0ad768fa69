"""Does what warmup gains hold as models grow?"""

from typing import Any

from .kit import *

study = Draft(
    __file__,
    LADDER_GPT,
    # Version 1 had six seeds at the smallest size, where gaps scatter by 3.5% of the loss reduction, and a grid that ended
    # below the largest LR at which 10% warmup trains.
    version=2,
    factors=lr_grid(-7, -5, per_octave=2),
    seeds=6,
    first_seed=311_000,
    ladder=LADDER,
    answer=("warmup.gain_with_size", "warmup.steps_with_size", "warmup.range_with_size"),
)

LONG_AT = ("smoke", "laptop")
# 25% of the steps of the smallest model, 4% of those of the largest that two cores train.
FIXED_STEPS = 60
NONE, TENTH = "none", "10%"
study.arm(NONE, "no warmup", warmup_fraction=0.0, reference=True)
study.arm("2%", "2% warmup", warmup_fraction=0.02)
study.arm(TENTH, "10% warmup", warmup_fraction=0.1)
study.arm("40%", "40% warmup", warmup_fraction=0.4)
FIXED = study.arm(f"{FIXED_STEPS}_steps", f"{FIXED_STEPS} steps of warmup", warmup_fraction=FIXED_STEPS / 240)
ARMS = tuple(study.arms)
# Steps grow with the model on the ladder: these tell the one from the other, at the smallest size for four times the steps.
LONG_NONE, LONG_TENTH = (
    study.arm(
        f"long_{name}", f"{study.arms[name].label}, 960 steps", "Four times the steps", settings, steps=960, scales=LONG_AT
    )
    for name, settings in ((NONE, {"warmup_fraction": 0.0}), (TENTH, {"warmup_fraction": 0.1}))
)

# Octaves about the best LR with 40% warmup. In version 1 10% warmup was best half an octave below it, none an octave.
GRIDS: dict[str | tuple[str, ...], tuple[float, float]] = {
    NONE: (-2, 0.5),
    TENTH: (-1.5, 2),
    "40%": (-1, 1),
    (LONG_NONE, LONG_TENTH): (-2, 0),
}
SEEDS = {"laptop": 16, "rung_25k": 8}


def own(rung: Rung) -> dict[str, Any]:
    seeds = SEEDS.get(rung.scale, 5)
    fixed = {FIXED: {"warmup_fraction": FIXED_STEPS / rung.steps()}}
    return dict(arm_settings=fixed, seeds=min(seeds, 6), arm_seeds={ARMS: seeds})


study.smoke(
    dict(steps=40, evaluation_examples=8, final_examples=16),
    arm_settings={FIXED: {"warmup_fraction": 0.25}, (LONG_NONE, LONG_TENTH): {"steps": 80}},
)
climb(study, GRIDS, usual=(-1.5, 0.5), own=own)

study.claim(
    "warmup.gain_with_size",
    exceeds(
        loss_gap(NONE, TENTH, best_of=ARMS),
        "tuned loss, none over 10% warmup",
        "With tuned LRs, 10% warmup {gains} of the loss reduction compared with none",
    ),
    reported(loss_gap(NONE, "2%", best_of=ARMS), "tuned loss, none over 2% warmup"),
    reported(loss_gap("40%", TENTH, best_of=ARMS), "tuned loss, 40% over 10% warmup"),
    reported(loss_gap(LONG_NONE, LONG_TENTH), "tuned loss after four times the steps, none over 10% warmup"),
    reported(Gap(left=TunedLoss(arm=NONE), right=TunedLoss(arm=TENTH)), "the same as the criterion, in nats"),
)

study.claim(
    "warmup.steps_with_size",
    no_worse(
        loss_gap(FIXED, TENTH, best_of=ARMS),
        f"tuned loss, {FIXED_STEPS} steps over 10% warmup",
        f"With tuned LRs, {FIXED_STEPS} steps of warmup {{costs}} of the loss reduction compared with 10%",
    ),
)


def largest(arm: str) -> MaxTrainable:
    return MaxTrainable(arm=arm, within=0.05, of="fall", best_of=(NONE, TENTH))


study.claim(
    "warmup.range_with_size",
    at_least(
        1.2,
        largest(TENTH) / largest(NONE),
        "largest trainable LR, 10% warmup over none",
        "The largest LR that still trains is {larger} with 10% warmup than with none",
        refuted=1.0,
        null=1.0,
        margin=1.2,
    ),
)

STUDY = study.declared()
