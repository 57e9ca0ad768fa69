"""Do Muon and Lion gain over AdamW as models grow?"""

from typing import Any

from .kit import *

study = ladder_draft(
    __file__,
    # In version 1 (its smallest size was trained) the best LR of Lion with a decay of 4 was the highest of its grid, so that no
    # claim had a number.
    version=2,
    first_seed=341_000,
    answer=("opt.muon_with_size", "opt.muon_speed_with_size", "opt.lion_with_size"),
)

ADAMW, LONGER, MUON, LION = "adamw", "adamw_longer", "muon", "lion"
# Wen et al. 2025: at 0.1B parameters tuned AdamW needs 1.4 times the steps of Muon and its kin, at 1.2B 1.1 times.
TIMES_THE_STEPS = 1.4
study.arm(ADAMW, "AdamW", reference=True)
study.arm(LONGER, "AdamW, 1.4 times the steps", steps=round(TIMES_THE_STEPS * LADDER_GPT["steps"]))
# Updates are scaled to the size of AdamW's, so that LRs and decay are AdamW's.
study.arm(MUON, "Muon", optimizer="muon", momentum=0.95, nesterov=True)
# In a pilot on two other seeds 0.6 was better than 0.3, and that than 0.1; in version 1 4 was no better than 0.6.
study.arm(LION, "Lion", optimizer="lion", beta2=0.99, weight_decay=0.6)


def own(rung: Rung) -> dict[str, Any]:
    longer = {LONGER: {"steps": round(TIMES_THE_STEPS * rung.steps())}}
    return dict(arm_settings=longer, seeds={"laptop": 8, "rung_25k": 6}.get(rung.scale, 5))


study.smoke(dict(steps=40, evaluation_examples=8, final_examples=16), arm_settings={LONGER: {"steps": 56}})
# In a pilot on two other seeds Muon was best an octave above AdamW, Lion an octave below it.
climb(study, {MUON: (-0.5, 2.0), LION: (-2.5, 0.5)}, usual=(-1.0, 1.0), own=own)

study.claim(
    "opt.muon_with_size",
    exceeds(
        loss_gap(ADAMW, MUON),
        "tuned loss, AdamW over Muon",
        "With tuned LRs, Muon {gains} of the loss reduction compared with AdamW",
    ),
    reported(Gap(left=TunedLoss(arm=ADAMW), right=TunedLoss(arm=MUON)), "the same as the criterion, in nats"),
    reported(Optimum(arm=MUON, window_octaves=1.0) / Optimum(arm=ADAMW, window_octaves=1.0), "best LR, Muon over AdamW"),
)

study.claim(
    "opt.muon_speed_with_size",
    at_least(
        0.0,
        loss_gap(LONGER, MUON, best_of=(ADAMW, MUON)),
        "tuned loss, AdamW with 1.4 times the steps over Muon",
        "With tuned LRs, Muon {gains} of the loss reduction compared with AdamW trained 1.4 times as long",
        null=0.0,
    ),
    reported(loss_gap(ADAMW, LONGER, best_of=(ADAMW, MUON)), "what 1.4 times the steps gain AdamW"),
)

study.claim(
    "opt.lion_with_size",
    exceeds(
        loss_gap(ADAMW, LION),
        "tuned loss, AdamW over Lion",
        "With tuned LRs, Lion {gains} of the loss reduction compared with AdamW",
    ),
    reported(Optimum(arm=LION, window_octaves=1.0) / Optimum(arm=ADAMW, window_octaves=1.0), "best LR, Lion over AdamW"),
)

STUDY = study.declared()
