"""Does the best weight decay grow with the batch, and does that change as models grow?"""

from .kit import *

study = ladder_draft(
    __file__,
    factors={"peak_lr": (2.0**-5.5,), "weight_decay": (0.05, 0.1, 0.2)},
    first_seed=336_000,
    answer=("wd.batch_with_size",),
)

# Sequences a batch -> the middle of its decays, of which there are seven by factors of two.
USUAL = LADDER_GPT["batch_size"]
MIDDLE = {batch: 0.1 * batch / USUAL for batch in (USUAL // 4, USUAL, USUAL * 4)}
ARMS = {
    batch: study.arm(
        f"batch_{batch}", f"{batch * LADDER_GPT['context']:,} tokens a step", batch_size=batch, reference=batch == USUAL
    )
    for batch in MIDDLE
}


def decays(log2_lr: float) -> dict[str, dict[str, tuple[float, ...]]]:
    """At one LR for all batches, as in the publication: decay does what the LR does where both are tuned."""
    return {
        arm: {"peak_lr": (2.0**log2_lr,), "weight_decay": tuple(MIDDLE[batch] * 2.0**power for power in range(-3, 4))}
        for batch, arm in ARMS.items()
    }


study.smoke(dict(steps=40, evaluation_examples=8, final_examples=16), arm_factors=decays(-6), seeds=1)
for rung in RUNGS:
    study.scale(
        rung.scale,
        rung.description,
        rung.shape,
        device=rung.device,
        arm_factors=decays(rung.best_log2_lr),
        arm_settings={arm: {"steps": rung.steps(batch_size=batch)} for batch, arm in ARMS.items()},
    )

BEST = {batch: Optimum(arm=arm, over="weight_decay", window_octaves=2.0) for batch, arm in ARMS.items()}
study.claim(
    "wd.batch_with_size",
    as_published(
        1.0,
        0.5,
        Slope(points=tuple(BEST.items())),
        "Bergsma et al. 2025 (arXiv:2505.13738): the best decay is proportional to the batch at one LR and length",
        "exponent of the best weight decay in the batch, 256 to 4,096 tokens",
        "At one learning rate, the best weight decay scales as B^{estimate} from 256 to 4,096 tokens a step; published is 1",
        underpowered="a rung resolves the exponent to about 0.3, and the question is its trend over the rungs",
    ),
    reported(BEST[USUAL], "best weight decay at 1,024 tokens a step"),
)

STUDY = study.declared()
