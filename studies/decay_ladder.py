"""Which shape of decay, and how far down, as models grow?"""

from typing import Any

from .kit import *

study = ladder_draft(
    __file__,
    first_seed=332_000,
    answer=("decay.zero_with_size", "decay.linear_zero_with_size", "decay.trapezoid_with_size"),
)

TENTH = study.arm("tenth", "cosine to 10%", reference=True)
ZERO = study.arm("zero", "cosine to 0%", final_fraction=0.0)
LINEAR = study.arm("linear_zero", "linear to 0%", schedule="linear", final_fraction=0.0)
TRAPEZOID = study.arm("trapezoid", "warmup, stable, decay to 10%", schedule="warmup_stable_decay")
SHAPES = tuple(study.arms)


def own(rung: Rung) -> dict[str, Any]:
    """Between seeds gaps of shapes scatter by half a percent of the loss reduction in `decay`."""
    return dict(seeds={"laptop": 16, "rung_25k": 10}.get(rung.scale, 8))


study.smoke(dict(steps=40, evaluation_examples=8, final_examples=16))
# In `decay` the best LR of a trapezoid lies half an octave below cosine's, that of decay to zero up to half an octave above.
climb(study, {TENTH: (-1.0, 1.0), TRAPEZOID: (-1.5, 0.5)}, usual=(-0.5, 1.5), own=own)

study.claim(
    "decay.zero_with_size",
    exceeds(
        loss_gap(TENTH, ZERO, best_of=SHAPES),
        "tuned loss, cosine to 10% over cosine to zero",
        "With tuned LRs, cosine decay to zero {gains} of the loss reduction compared with cosine decay to 10%",
    ),
)

study.claim(
    "decay.linear_zero_with_size",
    exceeds(
        loss_gap(TENTH, LINEAR, best_of=SHAPES),
        "tuned loss, cosine to 10% over linear to zero",
        "With tuned LRs, linear decay to zero {gains} of the loss reduction compared with cosine decay to 10%",
    ),
    reported(loss_gap(ZERO, LINEAR, best_of=SHAPES), "tuned loss, cosine over linear, both to zero"),
    reported(relative_loss_gap(TENTH, LINEAR), "the same as the criterion, as a share of the loss"),
)

study.claim(
    "decay.trapezoid_with_size",
    no_worse(
        loss_gap(TRAPEZOID, TENTH, best_of=SHAPES),
        "tuned loss, warmup-stable-decay over cosine, both to 10%",
        "With tuned LRs, warmup-stable-decay {costs} of the loss reduction compared with cosine decay, both to 10%",
    ),
)

STUDY = study.declared()
