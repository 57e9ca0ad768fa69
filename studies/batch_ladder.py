"""How does the best learning rate grow with the batch, and does that change as models grow?"""

from typing import Any

from .kit import *

study = ladder_draft(
    __file__,
    first_seed=333_000,
    answer=("scaling.exponent_with_size", "scaling.half_life_with_size"),
)

# Sequences of 64 tokens in a batch, at equal tokens: 256 to 4,096 tokens a step. On two cores a model would take no more than
# 100 steps of 16,384: a GPU's rungs have these, too.
USUAL, LARGEST = LADDER_GPT["batch_size"], 256
ON_GPU = tuple(rung.scale for rung in RUNGS if rung.device == "cuda")
BATCHES = (4, USUAL, 64, LARGEST)
FIXED = {
    batch: study.arm(
        f"batch_{batch}",
        f"{batch * LADDER_GPT['context']:,} tokens a step",
        "betas fixed",
        batch_size=batch,
        reference=batch == USUAL,
        scales=("smoke", *ON_GPU) if batch == LARGEST else None,
    )
    for batch in BATCHES
}
# Beta2 forgets half in as many tokens as 0.95 does at the usual batch.
HALF_LIFE = {
    batch: study.arm(
        f"half_life_{batch}",
        f"{batch * LADDER_GPT['context']:,} tokens a step",
        "beta2 by tokens",
        batch_size=batch,
        beta2=LADDER_GPT["beta2"] ** (batch / USUAL),
    )
    for batch in (4, 64)
}
BATCH_OF = {arm: batch for arms in (FIXED, HALF_LIFE) for batch, arm in arms.items()}

study.smoke(dict(steps=40, evaluation_examples=8, final_examples=16), arm_settings={FIXED[LARGEST]: {"steps": 4}})


def own(rung: Rung) -> dict[str, Any]:
    """Steps for equal tokens."""
    trained = {arm: batch for arm, batch in BATCH_OF.items() if batch != LARGEST or rung.scale in ON_GPU}
    return dict(arm_settings={arm: {"steps": rung.steps(batch_size=batch)} for arm, batch in trained.items()})


# The square root of the batch is an octave for each factor of four; so it was in a pilot on two other seeds of the first rung.
climb(
    study,
    {(FIXED[4], HALF_LIFE[4]): (-2.5, 0.5), (FIXED[64], HALF_LIFE[64]): (-0.5, 2.5), FIXED[LARGEST]: (-0.5, 2.5)},
    own=own,
)


def optimum(arm: str) -> Optimum:
    return Optimum(arm=arm, window_octaves=1.0)


def exponent(arms: dict[int, str]) -> Slope:
    return Slope(points=tuple((batch, optimum(arm)) for batch, arm in sorted(arms.items())))


UP_TO_4K = {batch: arm for batch, arm in FIXED.items() if batch != LARGEST}
study.claim(
    "scaling.exponent_with_size",
    within(
        0.25,
        0.75,
        exponent(UP_TO_4K),
        "exponent of the best LR in the batch, 256 to 4,096 tokens, fixed betas",
        "From 256 to 4,096 tokens a step, the best learning rate scales as B^{estimate} with fixed betas; the rule says 0.5",
    ),
    reported(exponent(HALF_LIFE | {USUAL: FIXED[USUAL]}), "the same exponent with beta2 by tokens"),
    reported(optimum(FIXED[LARGEST]) / optimum(FIXED[64]), "best LR, 16,384 tokens a step over 4,096"),
    reported(loss_gap(FIXED[64], FIXED[USUAL]), "tuned loss at equal tokens, 4,096 tokens a step over 1,024"),
    reported(loss_gap(FIXED[4], FIXED[USUAL]), "tuned loss at equal tokens, 256 tokens a step over 1,024"),
)

study.claim(
    "scaling.half_life_with_size",
    exceeds(
        loss_gap(FIXED[4], HALF_LIFE[4]),
        "tuned loss at 256 tokens a step, beta2 fixed over by tokens",
        "At 256 tokens a step, with tuned LRs, a beta2 that forgets by tokens {gains} of the loss reduction compared with 0.95",
    ),
    reported(loss_gap(FIXED[64], HALF_LIFE[64]), "the same at 4,096 tokens a step"),
)

STUDY = study.declared()
