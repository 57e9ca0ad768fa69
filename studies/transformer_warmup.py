"""Does a post-norm transformer need warmup where a pre-norm one does not?"""

from typing import Any

from .kit import *

# A pilot's best LR with pre-norm and warmup, where post-norm with warmup ends as low; where it fails without follows from it.
LR = 2.0**-8
# What all gaps are shares of: the loss reduction of pre-norm with warmup, whose grid surrounds its best LR.
BEST = ("pre_10%",)
# A tenth of the loss reduction: ten times what matters in the study of warmup.
FAILS = 0.1
LABELS = {
    "none": "no warmup",
    "half": "no warmup, half the LR",
    "10%": "10% warmup",
    "clipped": "no warmup, clipped at 1.0",
}
SETTINGS: dict[str, dict[str, Any]] = {"10%": {"warmup_fraction": 0.1}, "clipped": {"clip_norm": 1.0}}


def arm(placement: str, start: str, *exponents: float) -> Arm:
    return Arm(
        panel=f"{placement}-norm",
        label=f"{placement}-norm, {LABELS[start]}",
        settings={"norm_placement": placement, **SETTINGS.get(start, {})},
        factors=peak_lrs(*exponents),
    )


def loss(name: str) -> FinalLoss | LossAt:
    """Where an arm ends at the LR: post-norm is trained at no other."""
    return FinalLoss(arm=name) if name.startswith("post") else LossAt(arm=name, value=LR)


def gap(name: str, reference: str) -> LossGap:
    """How much higher one arm ends than another at the LR, as a share of the loss reduction."""
    return LossGap(left=loss(name), right=loss(reference), best_of=BEST)


def recovered(part: LossGap) -> Share:
    """A share of what post-norm loses without warmup."""
    return Share(part=part, whole=gap("post_none", "post_10%"), whole_at_least=FAILS / 2)


HALF_THE_LR = (recovered(gap("post_none", "post_half")), "share")
TRAINS = Criterion(
    name="loss with 10% warmup, post-norm over pre-norm",
    observe=gap("post_10%", "pre_10%"),
    **below(FAILS, unit="relative", precondition=True),
    says="With 10% warmup, post-norm {costs} of the loss reduction compared with pre-norm",
)

POST_NORM = judgement(
    "warmup.post_norm",
    TRAINS,
    exceeds(
        "loss without warmup over that with 10%, post-norm",
        gap("post_none", "post_10%"),
        "At one LR, post-norm without warmup {costs} of the loss reduction compared with 10% warmup",
        by=FAILS,
        margin=0.01,
        clause="a",
    ),
    exceeds(
        "what post-norm loses without warmup, minus what pre-norm loses",
        Gap(left=gap("post_none", "post_10%"), right=gap("pre_none", "pre_10%")),
        "Pre-norm loses less at the same LR, by {estimate} of the loss reduction",
        by=FAILS,
        margin=0.01,
        clause="b",
    ),
    reported={
        "loss without warmup over that with 10%, pre-norm at the same LR": (gap("pre_none", "pre_10%"), "relative"),
        "share of what post-norm loses without warmup that half of the LR saves": HALF_THE_LR,
    },
)

PRE_NORM = judgement(
    "warmup.pre_norm",
    no_worse(
        "tuned loss, no warmup over 10%, pre-norm",
        loss_gap("pre_none", "pre_10%", best_of=BEST),
        "Tuned, pre-norm without warmup {costs} of the loss reduction compared with 10% warmup",
        margin=0.01,
        expected=predicted(0.0, "Xiong et al. 2020: comparable results without warmup", spread=0.007),
        underpowered="twelve seeds show it at laptop scale; of five at larger ones the spread is not known",
    ),
    reported={"the same at one LR, the best with warmup": (gap("pre_none", "pre_10%"), "relative")},
)

CLIP = judgement(
    "warmup.clip_post_norm",
    TRAINS,
    Criterion(
        name="share of what post-norm loses without warmup that clipping saves",
        observe=recovered(gap("post_none", "post_clipped")),
        **above(0.5, null=0.0, margin=0.1, unit="share"),
        says="Clipping at 1.0 saves {estimate} of what post-norm loses without warmup",
    ),
    reported={"share of what post-norm loses without warmup that half of the LR saves": HALF_THE_LR},
)

STUDY = study(
    __file__,
    # Version 1 tuned post-norm, too, which decided nothing; version 3 tunes pre-norm on half octaves with 12 seeds, because
    # five and six seeds on octaves put its loss at 2.7% and 1.7%, once surely above the margin and once not.
    version=3,
    workload=Workload(model="gpt", dataset="python-docs", width=64, depth=4, heads=4, context=32),
    # Of 1,000 steps, 10% are twice as many as the second moment averages over.
    training=Training(
        optimizer="adamw",
        beta2=0.98,
        warmup_fraction=0.0,
        schedule="cosine",
        final_fraction=0.1,
        batch_size=8,
        steps=1000,
        weight_decay=0.0,
        clip_norm=None,
    ),
    measurement=Measurement(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    arms={
        "post_none": arm("post", "none", -8),
        "post_half": arm("post", "half", -9),
        "post_10%": arm("post", "10%", -8),
        "post_clipped": arm("post", "clipped", -8),
        "pre_none": arm("pre", "none", -10, -9, -8, -7),
        "pre_10%": arm("pre", "10%", -10, -9, -8, -7),
    },
    factors=peak_lrs(-10, -9, -8),
    # Failures lose 38% and 40% of the loss reduction (a pilot, version 1). Tuned gaps of pre-norm scatter by 1.3% of it.
    seeds=5,
    first_seed=123_000,
    scales={
        "smoke": scales.smoke(
            workload={"width": 16}, training={"steps": 20}, measurement={"evaluation_examples": 8, "final_examples": 16}
        ),
        "laptop": scales.laptop(
            "about eight minutes of training",
            # Half octaves around the best LRs of versions 1 and 2.
            arm_factors={"pre_none": peak_lrs(-9.5, -9, -8.5, -8), "pre_10%": peak_lrs(-9, -8.5, -8, -7.5)},
            arm_seeds={"pre_none": 12, "pre_10%": 12},
        ),
        "gpu": scales.gpu(
            "one GPU, a few minutes: 1.6M parameters on Python's standard library",
            workload={"dataset": "python-source", "width": 128, "depth": 8, "heads": 8, "context": 64},
            training={"batch_size": 32, "steps": 2000, "precision": "tf32"},
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, an hour: 19M parameters on web text",
            workload={"dataset": "web-text", "width": 384, "depth": 12, "heads": 12, "context": 256},
            training={"batch_size": 64, "steps": 5000, "precision": "bf16"},
        ),
    },
    answer=("warmup.post_norm", "warmup.pre_norm", "warmup.clip_post_norm"),
    judgements=(POST_NORM, PRE_NORM, CLIP),
)
