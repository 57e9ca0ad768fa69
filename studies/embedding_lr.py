"""Does Adam move the embedding rows of rare tokens too far, and those of common tokens not far enough?"""

from typing import Any

from .kit import *

EMBEDDING = "embedding.token.weight"
# What is said to help if rare rows move too far, one at a time.
REMEDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "epsilon": ("epsilon 1e-4", {"epsilon": 1e-4}),
    "slow": ("embedding LR x0.3", {"scaled_parameter": EMBEDDING, "scaled_lr": 0.3}),
    "beta2": ("β2 0.95", {"beta2": 0.95}),
}
LABELS = {arm: label for arm, (label, _) in REMEDIES.items()}
FAST = "embedding LR x3"
BY_ROOT = predicted(-0.5, "arithmetic: Adam divides by the root of a token's frequency, SGD does not", spread=0.03)


def probed(arm: str, curve: Any, **options: Any) -> Curve:
    """The last probe, which covers the last four fifths of the run."""
    return Curve(arm=arm, of=f"probe_token_{curve}", first=0.96, **options)


def slope(arm: str, **options: Any) -> Curve:
    """The exponent, on a token's frequency, of its row's movement per occurrence, relative to the row's norm."""
    return probed(arm, "slope", **options)


def length_slope(arm: str, **options: Any) -> Curve:
    """The same for the absolute movement, which shows the effect of Adam's division."""
    return probed(arm, "length_slope", **options)


def token_loss_gap(arm: str, tokens: str, **options: Any) -> RelativeGap:
    """How much higher the final loss on some tokens is than plain Adam's."""
    loss: dict[str, Any] = {"of": f"token_loss_{tokens}", "first": 0.9}
    return RelativeGap(left=Curve(arm=arm, **loss, **options), right=Curve(arm="plain", **loss))


def lone_gradients(number: str) -> Computed:
    return computed("sparse.lone_gradients", number)


def lowers_loss(clause: str, arm: str, tokens: str, name: str, remedy: str, says: str) -> Criterion:
    """An arm with its own tuned LR ends lower on some tokens than plain Adam."""
    return Criterion(
        name=name,
        clause=clause,
        panel=remedy,
        observe=token_loss_gap(arm, tokens),
        **below(-0.01, refuted=0.0, null=0.0, margin=0.005, unit="relative"),
        says=says,
        alternatives={
            "at plain Adam's LR": token_loss_gap(arm, tokens, tuned_for="plain"),
            f"of what comes after {tokens} tokens": token_loss_gap(arm, f"after_{tokens}"),
        },
    )


def cured(arm: str, remedy: str) -> tuple[Criterion, ...]:
    """Adam moves rare rows further than SGD does, and this remedy helps."""
    return (
        Criterion(
            name=f"exponent of a row's movement per occurrence on its token's frequency, Adam's less SGD's ({remedy})",
            clause="a",
            panel=remedy,
            observe=length_slope("plain") - length_slope("sgd"),
            **below(-0.25, refuted=-0.05, null=0.0, margin=0.05),
            expected=BY_ROOT,
            says="Adam moves rows of rare tokens further: per occurrence a row moves by (token frequency)^k, and k is"
            " {higher} than with SGD",
            alternatives={
                "over the row's norm": slope("plain") - slope("sgd"),
                **{
                    f"at {times} the LR": length_slope("plain", tuned_for="plain", times=factor) - length_slope("sgd")
                    for times, factor in (("half", 0.5), ("twice", 2.0))
                },
            },
        ),
        lowers_loss(
            "b",
            arm,
            "rare",
            f"loss on rare tokens, {remedy}, over plain Adam's",
            remedy,
            f"With {remedy} and a tuned LR, the loss on rare tokens is {{higher}}",
        ),
        lowers_loss(
            "c",
            "fast",
            "common",
            f"loss on common tokens, {FAST}, over plain Adam's ({remedy})",
            remedy,
            "With three times the embedding LR and a tuned LR, the loss on common tokens is {higher}",
        ),
    )


RARE_TOKENS = judgement(
    "emb.rare_tokens",
    Criterion(
        name="how far a lone gradient moves its row in all, LRs, at a β2 of 0.999",
        observe=lone_gradients("at_0999"),
        precondition=True,
        **inside(25.4, 38.1, refuted=(15.9, 63.5), unit="LRs"),
        says="A single gradient moves its row by {estimate} in total, whatever its size",
    ),
    *(criterion for arm, label in LABELS.items() for criterion in cured(arm, label)),
    reported={
        "movement per occurrence, rarest quarter of tokens over most common": (
            probed("plain", "update_rare") / probed("plain", "update_common"),
            "x",
        ),
        "exponent of the movement per step": probed("plain", "step_slope"),
        "exponent of the movement per occurrence, plain Adam": length_slope("plain"),
        "exponent of the movement per occurrence, SGD": length_slope("sgd"),
        "exponent over the row's norm, SGD": slope("sgd"),
        **{f"exponent over the row's norm, {label}": slope(arm) for arm, label in {"plain": "plain Adam", **LABELS}.items()},
        **{
            f"loss on all tokens, {label}, over plain Adam's": (relative_loss_gap(arm, "plain"), "relative")
            for arm, label in {**LABELS, "fast": FAST}.items()
        },
        **{
            f"loss on common tokens, {label}, over plain Adam's": (token_loss_gap(arm, "common"), "relative")
            for arm, label in LABELS.items()
        },
        f"loss on rare tokens, {FAST}, over plain Adam's": (token_loss_gap("fast", "rare"), "relative"),
        "movement by a single gradient at a β2 of 0.99, LRs": lone_gradients("at_099"),
        "at a β2 of 0.95, LRs": lone_gradients("at_095"),
        "largest over smallest movement, gradients of 1e-4 to 1e4": lone_gradients("spread"),
        "movement per gradient with one at every step, LRs": lone_gradients("steady"),
    },
)

STUDY = study(
    __file__,
    version=2,
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    # No decay, so that only Adam moves a row. One time constant of its second moment long.
    training=Training(optimizer="adamw", weight_decay=0.0, schedule="cosine", batch_size=16, steps=1000),
    measurement=Measurement(
        probes=20, evaluations=2, evaluation_examples=64, final_examples=512, curve_points=20, token_rows=True
    ),
    arms={
        "plain": Arm(label="plain Adam"),
        **{arm: Arm(label=label, settings=settings) for arm, (label, settings) in REMEDIES.items()},
        "fast": Arm(label=FAST, settings={"scaled_parameter": EMBEDDING, "scaled_lr": 3.0}),
        "sgd": Arm(label="SGD", settings={"optimizer": "sgd"}, factors=lr_grid(-4, -1)),
    },
    factors=lr_grid(-8, -5),
    seeds=32,
    first_seed=51_000,
    scales={
        "smoke": scales.smoke(
            training={"steps": 60}, measurement={"probes": 4, "evaluation_examples": 8, "final_examples": 64}
        ),
        "laptop": scales.laptop(
            "about five minutes of training",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
            workload={"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64},
            training={"batch_size": 32, "precision": "tf32", "steps": 2000},
            measurement={"evaluation_examples": 128, "final_examples": 1024},
            factors=lr_grid(-11, -6),
            arm_factors={"sgd": lr_grid(-5, 0)},
            seeds=8,
        ),
        "cluster": scales.gpu(
            "many GPUs, hours: a 115M-parameter byte-level model on web text",
            workload={"dataset": "web-text", "width": 768, "depth": 16, "heads": 12, "context": 1024},
            training={"batch_size": 64, "precision": "bf16", "steps": 10_000},
            measurement={"evaluation_examples": 512, "final_examples": 2048},
            factors=lr_grid(-13, -8),
            arm_factors={"sgd": lr_grid(-5, 0)},
            seeds=5,
        ),
    },
    answer=("emb.rare_tokens",),
    judgements=(RARE_TOKENS,),
)
