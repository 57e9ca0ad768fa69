"""Does Adam move the embedding rows of rare tokens too far, and those of common tokens not far enough?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .kit import *

study = Draft(
    __file__,
    SMALL_GPT
    # No decay, so that only Adam moves a row. One time constant of its second moment long.
    | dict(optimizer="adamw", weight_decay=0.0, schedule="cosine", batch_size=16, steps=1000)
    | dict(probes=20, evaluations=2, evaluation_examples=64, final_examples=512, curve_points=20, token_rows=True),
    version=2,
    factors=lr_grid(-8, -5),
    seeds=32,
    first_seed=51_000,
    answer=("emb.rare_tokens",),
)

EMBEDDING = "embedding.token.weight"
PLAIN = study.arm("plain", "plain Adam")
# Remedies that are said to help if rare rows move too far, one at a time.
REMEDIES = (
    study.arm("epsilon", "epsilon 1e-4", epsilon=1e-4),
    study.arm("slow", "embedding LR x0.3", scaled_parameter=EMBEDDING, scaled_lr=0.3),
    study.arm("beta2", "β2 0.95", beta2=0.95),
)
FAST = study.arm("fast", "embedding LR x3", scaled_parameter=EMBEDDING, scaled_lr=3.0)
SGD = study.arm("sgd", "SGD", optimizer="sgd", factors=lr_grid(-4, -1))
LABELS = {name: arm.label for name, arm in study.arms.items()}

study.smoke(dict(steps=60, probes=4, evaluation_examples=8, final_examples=64))
study.laptop("about five minutes of training")
study.gpu(
    "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
    GPU_GPT | dict(batch_size=32, steps=2000, precision="tf32", evaluation_examples=128, final_examples=1024),
    factors=lr_grid(-11, -6),
    arm_factors={SGD: lr_grid(-5, 0)},
    seeds=8,
)
study.cluster(
    "many GPUs, hours: a 115M-parameter byte-level model on web text",
    CLUSTER_GPT | dict(batch_size=64, steps=10_000, precision="bf16", evaluation_examples=512, final_examples=2048),
    factors=lr_grid(-13, -8),
    arm_factors={SGD: lr_grid(-5, 0)},
    seeds=5,
)


# The claim.


def probed(arm: str, curve: Any, **options: Any) -> Curve:
    """The last probe, which covers the last four fifths of the run.

    slope: the exponent, on a token's frequency, of its row's movement per occurrence, relative to the row's norm. length_slope:
    that of the absolute movement, which shows the effect of Adam's division.
    """
    return Curve(arm=arm, of=f"probe_token_{curve}", first=0.96, **options)


def less_sgd(curve: str, **options: Any) -> Observed:
    return probed(PLAIN, curve, **options) - probed(SGD, curve)


def token_loss_gap(arm: str, tokens: str, **options: Any) -> RelativeGap:
    """How much higher the final loss on some tokens is than plain Adam's."""
    loss: dict[str, Any] = {"of": f"token_loss_{tokens}", "first": 0.9}
    return RelativeGap(left=Curve(arm=arm, **loss, **options), right=Curve(arm=PLAIN, **loss))


lone_gradients = partial(computed, "sparse.lone_gradients")


@study.claim("emb.rare_tokens")
def rare_tokens() -> Iterator[Part]:
    yield within(
        25.4,
        38.1,
        lone_gradients("at_0999"),
        "how far a lone gradient moves its row in all, LRs, at a β2 of 0.999",
        "A single gradient moves its row by {estimate} in total, whatever its size",
        refuted=(15.9, 63.5),
        unit="LRs",
        precondition=True,
    )
    # Adam moves rare rows further than SGD does, and the remedy helps.
    for remedy in REMEDIES:
        label = LABELS[remedy]
        yield at_most(
            -0.25,
            less_sgd("length_slope"),
            f"exponent of a row's movement per occurrence on its token's frequency, Adam's less SGD's ({label})",
            "Per occurrence, a row moves by (token frequency)^k; k is {higher} with Adam than with SGD, and a lower k moves"
            " rows of rare tokens further",
            clause="a",
            panel=label,
            refuted=-0.05,
            null=0.0,
            margin=0.05,
            expected=predicted(-0.5, "arithmetic: Adam divides by the root of a token's frequency, SGD does not", spread=0.03),
            alternatives={
                "over the row's norm": less_sgd("slope"),
                "at half the LR": less_sgd("length_slope", tuned_for=PLAIN, times=0.5),
                "at twice the LR": less_sgd("length_slope", tuned_for=PLAIN, times=2.0),
            },
        )
        for clause, arm, tokens, compared, change in (
            ("b", remedy, "rare", f"{label}, over plain Adam's", label),
            ("c", FAST, "common", f"{LABELS[FAST]}, over plain Adam's ({label})", "three times the embedding LR"),
        ):
            yield at_most(
                -0.01,
                token_loss_gap(arm, tokens),
                f"loss on {tokens} tokens, {compared}",
                f"With {change} and a tuned LR, the loss on {tokens} tokens is {{higher}}",
                clause=clause,
                panel=label,
                refuted=0.0,
                null=0.0,
                margin=0.005,
                alternatives={
                    "at plain Adam's LR": token_loss_gap(arm, tokens, tuned_for=PLAIN),
                    f"of what comes after {tokens} tokens": token_loss_gap(arm, f"after_{tokens}"),
                },
            )
    quarters = probed(PLAIN, "update_rare") / probed(PLAIN, "update_common")
    yield reported(quarters, "movement per occurrence, rarest quarter of tokens over most common")
    yield reported(probed(PLAIN, "step_slope"), "exponent of the movement per step")
    for arm in (PLAIN, SGD):
        yield reported(probed(arm, "length_slope"), f"exponent of the movement per occurrence, {LABELS[arm]}")
    for arm in (SGD, PLAIN, *REMEDIES):
        yield reported(probed(arm, "slope"), f"exponent over the row's norm, {LABELS[arm]}")
    for arm in (*REMEDIES, FAST):
        yield reported(relative_loss_gap(arm, PLAIN), f"loss on all tokens, {LABELS[arm]}, over plain Adam's")
    for remedy in REMEDIES:
        yield reported(token_loss_gap(remedy, "common"), f"loss on common tokens, {LABELS[remedy]}, over plain Adam's")
    yield reported(token_loss_gap(FAST, "rare"), f"loss on rare tokens, {LABELS[FAST]}, over plain Adam's")
    yield reported(lone_gradients("at_099"), "movement by a single gradient at a β2 of 0.99, LRs")
    yield reported(lone_gradients("at_095"), "at a β2 of 0.95, LRs")
    yield reported(lone_gradients("spread"), "largest over smallest movement, gradients of 1e-4 to 1e4")
    yield reported(lone_gradients("steady"), "movement per gradient with one at every step, LRs")


STUDY = study.declared()
