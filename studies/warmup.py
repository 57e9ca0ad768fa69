"""A study of linear warmup: what a ramp to the peak learning rate gains."""

from .kit import *
from .metrics.warmup import cure_rate, lr_sensitivity

study = Draft(
    __file__,
    # The second moment averages over 1 / (1 - beta2) steps: 20 of 400, an early part of the run, as 1000 are of a long one.
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.95, weight_decay=0.1, schedule="cosine", final_fraction=0.1, batch_size=8, steps=400)
    | dict(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    # Version 8 is a first study of five minutes: what needs long runs or many seeds is judged by warmup_duration and
    # warmup_divergence, and v0 = g0² is a claim of its own (reports/log).
    version=8,
    # Half octaves where arms reach the bar, octaves around their best.
    factors=peak_lrs(-8, -7, -6, -5, -4.5, -4, -3.5, -3),
    seeds=17,
    first_seed=231_000,
    answer=("warmup.widens", "warmup.first_gradient", "warmup.mechanism"),
)


# Arms: AdamW, and SGD, which has no second moment and diverges.


def held(steps: int, first: int = 20) -> dict[str, float]:
    """`steps` after the first ones, which have an LR of 0."""
    return {"steps": steps + first, "warmup_fraction": first / (steps + first)}


ADAM = (
    study.arm("none", "AdamW, no warmup", "Adam", warmup_fraction=0.0),
    study.arm("warmup_20%", "AdamW, 20% warmup", "Adam", warmup_fraction=0.2),
    # 2 / (1 - beta2) steps: about as long as v0 = g0² takes to let steps grow.
    study.arm("warmup_10%", "AdamW, 10% warmup", "Adam", warmup_fraction=0.1),
    study.arm(
        "first_gradient", "AdamW, v0 = g0², no warmup", "Adam", warmup_fraction=0.0, second_moment_start="first_gradient"
    ),
    # The second moment forms over 20 steps at LR 0, then follow 400 steps as in the other arms. The first moment starts after
    # them: it would move the run along the initial gradient, another possible fault.
    study.arm("held", "AdamW, v formed at LR 0, no ramp", "Adam", held(400), ramp="held"),
)


def sgd_arm(name: str, label: str, warmup_fraction: float, *exponents: float) -> str:
    """A ramp that ends after step 100, and a batch size at which single batches rarely derail a run below the edge."""
    # SGD's decay is L2, multiplied by its much larger LR: none here, so that the arms differ only in the ramp.
    run = {"optimizer": "sgd", "weight_decay": 0.0, "steps": 600, "batch_size": 16}
    return study.arm(name, label, "SGD", run, warmup_fraction=warmup_fraction, factors=peak_lrs(*exponents))


# Quarter octaves around the LRs at which SGD begins to diverge.
SGD_NONE = sgd_arm("sgd", "SGD, no warmup", 0.0, -2, -1, -0.75, -0.5, -0.25, 0)
SGD_20 = sgd_arm("sgd_warmup_20%", "SGD, 20% warmup", 0.2, -3, -2, -1, -0.5, -0.25, 0, 0.25)
SGD = (SGD_NONE, SGD_20)

study.smoke(
    dict(steps=20, evaluations=2, evaluation_examples=8, final_examples=16),
    factors=peak_lrs(-9, -6, -3),
    arm_settings={"held": held(20, first=4), SGD: {"steps": 20}},
    arm_factors={SGD_NONE: peak_lrs(-4, -2, 0), SGD_20: peak_lrs(-2, 0, 1)},
)
study.laptop(
    "three minutes of training",
    # In version 7 the share of v0 = g0² scattered by 40% between seeds: 20 show 1 with 81% power.
    seeds=16,
    arm_seeds={ADAM: 20},
)
study.gpu(
    "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
    GPU_GPT | dict(batch_size=32, steps=500, precision="tf32", evaluation_examples=128, final_examples=512),
    # In standard parametrization the best LR falls with width (study mup_transfer).
    factors=peak_lrs(-9, -8, -7.5, -7, -6.5, -6, -5.5, -5, -4.5, -4, -3),
    arm_settings={"held": held(500), SGD: {"batch_size": 32}},
    arm_factors={SGD_NONE: lr_grid(-6, 1), SGD_20: lr_grid(-5, 2)},
    seeds=15,
)
study.cluster(
    "many GPUs, hours: a 115M-parameter byte-level model on web text",
    CLUSTER_GPT
    | dict(batch_size=64, steps=2000, precision="bf16")
    | dict(evaluation_examples=512, final_examples=2048, evaluations=20),
    factors=lr_grid(-12, -6),
    arm_settings={"held": held(2000), SGD: {"steps": 2000, "batch_size": 64}},
    arm_factors={SGD_NONE: lr_grid(-6, 0), SGD_20: lr_grid(-5, 1)},
)


# Claims.


def lr_ratio(arm: str, over: str, within: float = 0.05, best_of: tuple[str, ...] = ADAM) -> Observed:
    """The ratio of two arms' largest LRs that end within a share of the loss reduction of the best."""
    top, bottom = (MaxTrainable(arm=name, best_of=best_of, within=within, of="fall") for name in (arm, over))
    return top / bottom


def recovered(arm: str, *bars: float) -> Share:
    """The share of the octaves gained by 20% warmup that an arm gains, in the mean over the bars."""
    gain, whole = (_mean([lr_ratio(name, "none", bar).log2() for bar in bars]) for name in (arm, "warmup_20%"))
    return Share(part=gain, whole=whole, whole_at_least=0.25)


def _mean(parts: list[Observed]) -> Observed:
    return Mean(parts=tuple(parts)) if len(parts) > 1 else parts[0]


study.claim(
    "warmup.widens",
    at_least(
        1.5,
        lr_ratio("warmup_20%", "none"),
        "largest trainable LR, 20% warmup over none",
        "With AdamW, the largest LR that still trains is {larger} with 20% warmup than with none",
        clause="a",
        refuted=1.0,
        null=1.0,
        margin=1.1,
        expected=predicted(4.0, "Kalra and Barkeshli 2024, WRN-16-4 with 1024 steps of warmup", spread=0.25),
        alternatives={f"a bar of {bar:.0%} of the loss reduction": lr_ratio("warmup_20%", "none", bar) for bar in (0.02, 0.1)},
    ),
    at_least(
        0.5,
        cure_rate(arm=SGD_NONE, by_arm=SGD_20),
        "share of diverged SGD runs cured by 20% warmup",
        "20% warmup saves {estimate} of the SGD runs that just diverge without it, at the same LR",
        clause="b",
    ),
    reported(lr_sensitivity(arm="none") - lr_sensitivity(arm="warmup_20%"), "LR sensitivity, none minus 20% warmup", "nats"),
)

study.claim(
    "warmup.first_gradient",
    as_published(
        1.0,
        0.3,
        # Both bars of the claim above: neither alone decides.
        recovered("first_gradient", 0.05, 0.1),
        "Kalra and Barkeshli 2024, released tables: 4x of 4x",
        "share of the widening recovered by v0 = g0²",
        "Starting AdamW's second moment at the first squared gradient achieves {estimate} of what warmup does for the largest"
        " usable LR, in octaves",
    ),
    reported(recovered("first_gradient", 0.05), "the same within 5% of the loss reduction"),
    reported(recovered("first_gradient", 0.1), "the same within 10%"),
    reported(recovered("warmup_10%", 0.05, 0.1), "share of the widening recovered by 10% warmup"),
)

study.claim(
    "warmup.mechanism",
    at_least(
        0.5,
        recovered("held", 0.05),
        "share of the widening recovered by a second moment formed at LR 0",
        "Forming AdamW's second moment at an LR of zero achieves {estimate} of what warmup does for the largest usable LR,"
        " in octaves",
        clause="a",
        null=0.0,
        alternatives={"a bar of 10% of the loss reduction": recovered("held", 0.1)},
    ),
    at_least(
        0.25,
        # In a pilot SGD without a ramp does not come within 5% of SGD with one at any LR.
        lr_ratio(SGD_20, SGD_NONE, 0.1, SGD).log2(),
        "octaves that SGD gains by 20% warmup",
        "For SGD, which has no second moment, 20% warmup raises the largest usable LR by {estimate}",
        clause="b",
        refuted=0.0,
        null=0.0,
        margin=0.1,
        alternatives={"a bar of 20% of the loss reduction": lr_ratio(SGD_20, SGD_NONE, 0.2, SGD).log2()},
    ),
)

STUDY = study.declared()
