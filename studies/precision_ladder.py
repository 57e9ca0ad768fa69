"""A study of the costs of BF16 weights and FP8 as models grow."""

from .kit import *

study = ladder_draft(
    __file__,
    first_seed=337_000,
    answer=("prec.nearest_with_size", "prec.stochastic_with_size", "prec.fp8_with_size"),
)

FP32 = study.arm("fp32", "FP32", reference=True, precision="fp32")
BF16 = study.arm("bf16", "BF16", precision="bf16")
FP8 = study.arm("fp8", "FP8, scaled per tensor", precision="fp8")
NEAREST = study.arm("nearest", "BF16 weights, rounded to the nearest", precision="bf16_weights")
STOCHASTIC = study.arm("stochastic", "BF16 weights, rounded at random", precision="bf16_weights_stochastic")
FORMATS = tuple(study.arms)

study.smoke(dict(steps=40, evaluation_examples=8, final_examples=16), seeds=1)
climb(study, {}, usual=(-1.0, 1.0))

study.claim(
    "prec.nearest_with_size",
    exceeds(
        loss_gap(NEAREST, BF16, best_of=FORMATS),
        "tuned loss, BF16 weights rounded to the nearest over FP32 weights",
        "With tuned LRs, rounding BF16 weights to the nearest {costs} of the loss reduction compared with FP32 weights",
    ),
)

study.claim(
    "prec.stochastic_with_size",
    no_worse(
        loss_gap(STOCHASTIC, BF16, best_of=FORMATS),
        "tuned loss, BF16 weights rounded at random over FP32 weights",
        "With tuned LRs, rounding BF16 weights at random {costs} of the loss reduction compared with FP32 weights",
    ),
)

study.claim(
    "prec.fp8_with_size",
    no_worse(
        loss_gap(FP8, BF16, best_of=FORMATS),
        "tuned loss, FP8 scaled per tensor over BF16",
        "With tuned LRs, FP8 scaled per tensor {costs} of the loss reduction compared with BF16",
    ),
    reported(loss_gap(BF16, FP32, best_of=FORMATS), "tuned loss, BF16 over FP32"),
)

STUDY = study.declared()
