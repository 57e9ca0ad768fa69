"""How long a warmup, and does it grow with the run?"""

from collections.abc import Iterator
from typing import Any

from .kit import *
from .metrics.warmup import curve_ratio

study = Draft(
    __file__,
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.95, weight_decay=0.1, schedule="cosine", final_fraction=0.1, batch_size=8, steps=2000)
    | dict(probes=4, evaluations=4, evaluation_examples=64, final_examples=256),
    # Version 6 compared shares of one run on octaves of the LR, and what it saw lay at its bar on a finer grid. Until version 7
    # all claims but warmup.duration were the study warmup's (reports/log).
    version=8,
    factors=lr_grid(-8, -5, per_octave=2),
    seeds=15,
    first_seed=212_000,
    answer=("warmup.duration", "warmup.improves_best"),
)


def arm(run: int, warmup: int) -> str:
    share = f"{warmup / run:.0%}" if warmup else ""
    prefix, length, steps = ("", "long", {}) if run == study.options["steps"] else ("short_", "short", {"steps": run})
    label = f"{length} run, {share or 'no'} warmup"
    return study.arm(f"{prefix}{share or 'none'}", label, f"{run:,} steps", steps, warmup_fraction=warmup / run)


# 40 steps are 2 / (1 - beta2), the length that Ma and Yarats 2021 suggest.
NONE, FORTY, SAME_NUMBER, SAME_SHARE = LONG = tuple(arm(2000, warmup) for warmup in (0, 40, 100, 400))
SHORT_NONE, SHORT_5, SHORT_FORTY, SHORT_20 = SHORT = tuple(arm(500, warmup) for warmup in (0, 25, 40, 100))
# Gradients are probed twenty times, which doubles the time of a run, and few seeds are needed.
PROBED = study.arm("none_probed", "long run, no warmup, probed", "2,000 steps", warmup_fraction=0.0, probes=20)

study.smoke(
    dict(steps=40, evaluation_examples=8, final_examples=16),
    factors=lr_grid(-8, -6),
    arm_settings={SHORT: {"steps": 20}},
)
study.laptop(
    "about seven minutes of training",
    factors=lr_grid(-7, -5.5, per_octave=2),
    arm_factors={SHORT: lr_grid(-7, -5, per_octave=2)},
    # Paired gaps scattered by 0.8% to 1.0% of the loss reduction in version 6: 64 seeds show 0.35% in four tries of five.
    seeds=12,
    arm_seeds={(NONE, FORTY, SHORT_NONE, SHORT_FORTY): 44, (SAME_NUMBER, SAME_SHARE, SHORT_5, SHORT_20): 64},
)
study.gpu(
    "one GPU, at most four minutes: 0.4M parameters on Python's standard library",
    GPU_GPT | dict(batch_size=32, precision="tf32", evaluation_examples=128, final_examples=512),
    # In standard parametrization the best LR falls with width (study mup_transfer).
    factors=lr_grid(-11, -6),
)
study.cluster(
    "many GPUs, hours: a 115M-parameter byte-level model on web text",
    CLUSTER_GPT
    | dict(batch_size=64, steps=10_000, precision="bf16")
    | dict(evaluation_examples=512, final_examples=2048, evaluations=20),
    factors=lr_grid(-12, -8),
    arm_settings={SHORT: {"steps": 2500}},
    seeds=10,
)

study.claim(
    "warmup.duration",
    at_least(
        0.0,
        loss_gap(SHORT_5, SHORT_20),
        "tuned loss after 500 steps, 5% over 20% warmup",
        "In 500 steps, 5% warmup {costs} of the loss reduction compared with 20%",
        null=0.0,
        precondition=True,
    ),
    at_least(
        0.0,
        loss_gap(SAME_NUMBER, SAME_SHARE),
        "tuned loss after 2,000 steps, the same number of steps (5%) over the same share (20%)",
        "In a run four times as long, the same number of steps of warmup {costs} compared with the same share",
        null=0.0,
    ),
    reported(loss_gap(FORTY, SAME_SHARE), "tuned loss after 2,000 steps, 40 steps of warmup over 20%"),
    reported(loss_gap(NONE, SAME_SHARE), "tuned loss after 2,000 steps, none over 20% warmup"),
    reported(loss_gap(SHORT_FORTY, SHORT_20), "tuned loss after 500 steps, 40 steps of warmup over 20%"),
    reported(loss_gap(SHORT_NONE, SHORT_20), "tuned loss after 500 steps, none over 20% warmup"),
    right={"supported": "share", "refuted": "absolute"},
)


@study.claim("warmup.improves_best")
def improves() -> Iterator[Part]:
    for name in (SAME_NUMBER, SAME_SHARE):
        yield exceeds(
            loss_gap(NONE, name, best_of=LONG),
            f"tuned loss, none over {name} warmup",
            f"With tuned LRs, {name} warmup {{gains}} of the loss reduction compared with none",
            by=0.01,
        )


study.claim(
    "warmup.transformer_diverges",
    at_least(
        0.8,
        FailureRate(arm=NONE, tuned_for=SAME_NUMBER),
        "share of runs without warmup that diverge at the LR tuned for 5% warmup",
        "{estimate} of the runs without warmup diverge at the LR tuned for 5% warmup",
    ),
)


@study.claim("warmup.early_gradients", right={"supported": "large, noisy", "refuted": "small"})
def early_over_late() -> Iterator[Part]:
    curves: dict[Any, str] = {"gradient_norm": "gradient norm", "gradient_variance": "variance of the gradient"}
    for clause, (curve, name) in zip("ab", curves.items(), strict=True):
        yield at_least(
            1.0,
            curve_ratio(arm=PROBED, curve=curve),
            f"{name}, first 1% of the steps over last 10%",
            f"In the first 1% of the steps, the {name} is {{larger}} than in the last 10%",
            clause=clause,
            null=1.0,
            alternatives={"the first 10% of the steps": curve_ratio(arm=PROBED, curve=curve, first=0.1)},
        )
    yield reported(NoiseScale(arm=PROBED, last=0.1), "noise scale, first 10% of the steps", "examples")
    yield reported(NoiseScale(arm=PROBED, first=0.5), "noise scale, last half of the steps", "examples")


STUDY = study.declared()
