"""Does the batch that pays grow with the tokens of a run, or with the size of the model?"""

from typing import Any

from .kit import *

study = ladder_draft(
    __file__,
    first_seed=335_000,
    answer=("crit.batch_with_tokens", "crit.batch_with_size"),
)

USUAL, LARGE = LADDER_GPT["batch_size"], 4 * LADDER_GPT["batch_size"]
SHORT, LONG = 5, 80
# Tokens of runs that are as long for every model: 30 a parameter of the smallest.
FIXED_STEPS = 360


def batches(name: str, words: str, steps: int) -> tuple[str, str]:
    """Arms of the usual batch and of four times that, at equal tokens; steps: of the usual one at the first rung."""
    small, large = (
        study.arm(
            f"{name}_{batch}",
            f"{batch * LADDER_GPT['context']:,} tokens a step",
            words,
            batch_size=batch,
            steps=steps * USUAL // batch,
            reference=batch == USUAL,
        )
        for batch in (USUAL, LARGE)
    )
    return small, large


LENGTHS = {
    tokens: batches(f"tokens_{tokens}", f"{tokens} tokens a parameter", RUNGS[0].steps(tokens)) for tokens in (SHORT, LONG)
}
FIXED = batches("fixed", "369 thousand tokens", FIXED_STEPS)


def own(rung: Rung) -> dict[str, Any]:
    lengths = ((arms, tokens) for tokens, arms in LENGTHS.items())
    return dict(
        arm_settings={
            arm: {"steps": rung.steps(tokens, batch)}
            for arms, tokens in lengths
            for arm, batch in zip(arms, (USUAL, LARGE), strict=True)
        }
    )


study.smoke(dict(evaluation_examples=8, final_examples=16), arm_settings={tuple(study.arms): {"steps": 8}}, seeds=1)
climb(study, {LENGTHS[SHORT]: (-1.0, 2.0), LENGTHS[LONG]: (-2.0, 1.5)}, usual=(-1.0, 2.0), own=own)


def cost(arms: tuple[str, str]) -> LossGap:
    small, large = arms
    return loss_gap(large, small)


study.claim(
    "crit.batch_with_tokens",
    exceeds(
        cost(LENGTHS[SHORT]) - cost(LENGTHS[LONG]),
        "what four times the batch costs, 5 tokens a parameter over 80",
        "At 5 tokens a parameter, four times the batch costs {more} of the loss reduction than at 80, at equal tokens",
        unit="relative",
    ),
    *(
        reported(cost(arms), f"tuned loss, 4,096 tokens a step over 1,024, {tokens} a parameter")
        for tokens, arms in LENGTHS.items()
    ),
)

study.claim(
    "crit.batch_with_size",
    exceeds(
        cost(FIXED),
        "tuned loss after 369 thousand tokens, 4,096 tokens a step over 1,024",
        "After 369 thousand tokens, with tuned LRs, four times the batch {costs} of the loss reduction",
    ),
)

STUDY = study.declared()
