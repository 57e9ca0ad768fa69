"""Do small batches generalize better, do large ones find sharper minima, and do flat minima generalize better?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .kit import *
from .metrics.generalization import basin_sharpness, sharpness_at_loss, sharpness_correlation

# The LR of comparisons at one LR: a pilot's best for the small batch of MLPs.
ONE_LR = 2.0**-5

study = Draft(
    __file__,
    DIGITS_MLP
    | dict(label_noise=0.2, sampling="epochs")
    | dict(optimizer="sgd", momentum=0.9, weight_decay=0.0, schedule="cosine", final_fraction=0.0, warmup_fraction=0.0)
    | dict(probes=2, evaluations=2, evaluation_examples=359, final_examples=359, training_examples=1079, curve_points=20),
    version=5,
    factors={"peak_lr": (ONE_LR,)},
    seeds=18,
    first_seed=53_200,
    answer=("gen.small_batch", "gen.sharper", "gen.flat_minima"),
)


# Arms: batches of 16, and of 256 for as many epochs or updates.


# Test errors are read on MNIST, as many examples as the digits are: 15 epochs, or 240 with the steps of the small batch.
MNIST = dict(dataset="mnist-5k", training_set_size=1024, training_examples=1024, evaluation_examples=1000, final_examples=2000)
# Panel -> settings, and steps of the small batch.
PANELS: dict[str, tuple[dict[str, Any], int]] = {
    "MLP": (dict(probes=6, sharpness="probes", sharpness_examples=540, evaluations=32), 1024),
    "MNIST": (MNIST | dict(width=32), 960),
    "CNN": (MNIST | dict(model="cnn", width=8, depth=2), 1920),
}
# On two cores no CNN gets far enough with noisy labels.
LARGER = ("gpu", "cluster")


def batch_arm(name: str, panel: str, lrs: Any, equal: str = "") -> str:
    """equal: what batch 256 has as many of as batch 16; empty: it is batch 16."""
    settings, steps = PANELS[panel]
    return study.arm(
        name,
        f"batch 256, equal {equal}" if equal else "batch 16",
        panel,
        settings,
        batch_size=256 if equal else 16,
        steps=steps * 16 // 256 if equal == "epochs" else steps,
        factors=lrs,
        scales=LARGER if panel == "CNN" else None,
        reference=not equal,
    )


MLPS = (
    batch_arm("small", "MLP", peak_lrs(-8, -7.5, -7, -6.5, -6, -5.5, -5, -4.5, -4, -3.5, -3)),
    batch_arm("large_epochs", "MLP", peak_lrs(-4, -3, -2.5, -2, -1.5, -1, -0.5), equal="epochs"),
    batch_arm("large_updates", "MLP", peak_lrs(-8, -7.5, -7, -6.5, -6, -5, -4), equal="updates"),
)
MNISTS = (
    batch_arm("mnist_small", "MNIST", lr_grid(-9.5, -6.5, per_octave=2)),
    batch_arm("mnist_large_epochs", "MNIST", lr_grid(-4.5, -1.5, per_octave=2), equal="epochs"),
    batch_arm("mnist_large_updates", "MNIST", lr_grid(-10.5, -8, per_octave=2), equal="updates"),
)
CNNS = (
    batch_arm("cnn_small", "CNN", lr_grid(-7, -1)),
    batch_arm("cnn_large", "CNN", lr_grid(-4, 2), equal="epochs"),
)

SMOKE_MNIST = dict(probes=2, evaluation_examples=64, final_examples=64, training_examples=64)
study.smoke(
    dict(sharpness_examples=64, evaluations=4, probes=2),
    arm_settings={
        MLPS[:1]: dict(probes=2, sharpness_examples=32, steps=16, batch_size=8),
        MLPS[1:]: dict(probes=2, sharpness_examples=32, steps=8, batch_size=16),
        MNISTS[:1]: SMOKE_MNIST | dict(steps=16, batch_size=8),
        MNISTS[1:]: SMOKE_MNIST | dict(steps=8, batch_size=16),
    },
)
study.laptop("about five minutes of training", arm_seeds={MNISTS: 32})
study.gpu(
    "one GPU, at most four minutes: MLPs of 0.3M parameters, CNNs of 0.1M",
    arm_settings={(*MLPS, *MNISTS): dict(width=512), CNNS: dict(width=64)},
    seeds=8,
)
study.cluster(
    "a GPU of a cluster, half an hour: MLPs of 4M parameters, CNNs of 1M",
    arm_settings={(*MLPS, *MNISTS): dict(width=2048), CNNS: dict(width=192)},
    seeds=12,
)


# Claims.


EPOCHS, UPDATES = "tuned LRs, 15 epochs of both", "tuned LRs, equal updates (240 epochs against 15)"
# Panel -> arms with the large and the small batch.
COMPARED = {
    EPOCHS: ("mnist_large_epochs", "mnist_small"),
    UPDATES: ("mnist_large_updates", "mnist_small"),
    "CNN, tuned LRs, equal epochs": ("cnn_large", "cnn_small"),
}
# Panel -> what is expected; of a pilot of 8 seeds the spreads of the loss and of the error, and the LRs with the large and the
# small batch of the lowest validation error.
PILOT = {
    EPOCHS: ("Shallue et al. 2019, section 4.8: no difference out of sample", 0.0068, 0.0083, 2.0**-3, 2.0**-8.5),
    UPDATES: ("Hoffer et al. 2017, section 5: nothing is left of the gap", 0.0081, 0.0075, 2.0**-9.5, 2.0**-8.5),
}


def tuned_gap(large: str, small: str, of: Any) -> Observed:
    return TunedLoss(arm=large, of=of) - TunedLoss(arm=small, of=of)


@study.claim("gen.small_batch", right={"supported": "sometimes"})
def small_batches_generalize_better() -> Iterator[Part]:
    for panel, (large, small) in COMPARED.items():
        of_loss: dict[str, Any] = {"scales": LARGER}
        of_error: dict[str, Any] = {"scales": LARGER}
        if panel in PILOT:
            source, loss_spread, error_spread, large_lr, small_lr = PILOT[panel]
            by_error = LossAt(arm=large, value=large_lr, of="test_error") - LossAt(arm=small, value=small_lr, of="test_error")
            of_loss = {"expected": predicted(0.0, source, loss_spread, ("laptop",))}
            of_error = {
                "expected": predicted(0.0, source, error_spread, ("laptop",)),
                "alternatives": {"at the LRs of the lowest validation error of a pilot": by_error},
            }
        where = panel[0].upper() + panel[1:]
        yield exceeds(
            loss_gap(large, small),
            f"test loss of batch 256, less that of batch 16, of the loss reduction, {panel}",
            f"{where}: batch 256 {{costs}} of the loss reduction compared with batch 16",
            by=0.01,
            margin=0.005,
            clause="a",
            panel=panel,
            **of_loss,
        )
        yield exceeds(
            tuned_gap(large, small, "test_error"),
            f"test error of batch 256, less that of batch 16, {panel}",
            f"{where}: the test error of batch 256 is {{higher}} than that of batch 16",
            clause="b",
            panel=panel,
            **of_error,
        )
    for large, which in (("large_epochs", "15 epochs"), ("large_updates", "equal updates (243 epochs against 15)")):
        batches = "batch 256 minus that of batch 16"
        yield reported(loss_gap(large, "small"), f"digits: test loss of {batches}, of the loss reduction, tuned LRs, {which}")
        yield reported(tuned_gap(large, "small", "test_error"), f"digits: test error of {batches}, tuned LRs, {which}")
    yield reported(
        loss_gap("large_updates", "small", LossAt, value=ONE_LR),
        "digits: test loss of batch 256 minus that of batch 16, of the loss reduction, one LR, equal updates",
    )
    for panel in (EPOCHS, UPDATES):
        gap = tuned_gap(*COMPARED[panel], of="final_training_loss")
        yield reported(gap, f"training loss of batch 256 minus that of batch 16, {panel}", "nats")


# In nats: where an MLP has learnt the true labels and begins to fit the noisy ones.
LEVEL = 0.8


def sharper(large: Observed, small: Observed, name: str, says: str, **options: Any) -> Criterion:
    """A ratio of sharpness; "sharper" has no number in the documents, and half as much again is ours."""
    options |= {"refuted": 1.0, "null": 1.0, "margin": 1.1}
    return at_least(1.5, large / small, f"sharpness of batch 256 over batch 16, {name}", says, **options)


def at_one_lr(level: float | None) -> tuple[Observed, Observed]:
    large, small = (sharpness_at_loss(arm=arm, level=level, value=ONE_LR) for arm in ("large_updates", "small"))
    return large, small


def over_basins(**options: Any) -> tuple[Observed, Observed]:
    """The sharpness of LRs that cannot be told from the best: over the batches' 15 epochs."""
    large, small = (basin_sharpness(arm=arm, **options) for arm in ("large_epochs", "small"))
    return large, small


def ratio(pair: tuple[Observed, Observed]) -> Observed:
    return pair[0] / pair[1]


KESKAR = "Keskar et al. 2017, sections 2 and 3: several times sharper at the LR of the small batch"
BASINS = "15 epochs of both, over LRs as good as the best"
study.claim(
    "gen.sharper",
    sharper(
        *at_one_lr(LEVEL),
        "one LR, where the training loss comes to 0.8 nats",
        "At one LR and equal training loss, batch 256 is {estimate} as sharp as batch 16",
        clause="a",
        panel="one LR",
        expected=predicted(3.0, KESKAR, spread=0.53),
        alternatives={"at the end of training": ratio(at_one_lr(None))},
    ),
    sharper(
        *over_basins(),
        BASINS,
        "At 15 epochs of both, over the LRs that are as good as the best, batch 256 is {estimate} as sharp as batch 16",
        clause="b",
        panel="tuned LRs",
        alternatives={
            "at the sharpest of these LRs": ratio(over_basins(at="sharpest")),
            "at the flattest of these LRs": ratio(over_basins(at="flattest")),
            "of LRs within half the noise of the best": ratio(over_basins(noise=0.5)),
            "of LRs within twice the noise of the best": ratio(over_basins(noise=2.0)),
        },
    ),
    *(
        reported(
            ratio(over_basins(at=at)), f"sharpness of batch 256 over batch 16, 15 epochs, at the {at} LR as good as the best"
        )
        for at in ("sharpest", "flattest")
    ),
    *(
        reported(
            sharpness_at_loss(arm="large_epochs", value=16 * lr) / sharpness_at_loss(arm="small", value=lr),
            f"sharpness of batch 256 over batch 16, 15 epochs, at 16 times the LR, 2^{exponent:g} over 2^{exponent - 4:g}",
        )
        for exponent in (-2.5, -2.0, -1.5)
        for lr in (2.0 ** (exponent - 4),)
    ),
)

# Among runs whose training loss ends in a range: by default runs that learn the true labels.
correlation = partial(sharpness_correlation, arms=MLPS, ends=(0.0, LEVEL), least_share=0.2)
flatter_is_better = partial(at_least, 0.3, refuted=0.1, null=0.0)
RANKS = "rank correlation of sharpness with validation loss"
# Where training losses that count as equal end: what a reader of version 1 tried, on other seeds.
EQUAL = (0.55, 0.75)

study.claim(
    "gen.flat_minima",
    flatter_is_better(
        correlation(),
        f"{RANKS} at the end of training, among runs that learn the true labels",
        f"At the end of training, the {RANKS} is {{estimate}} among runs that learn the true labels",
        clause="a",
        alternatives={
            "with validation error": correlation(of="evaluation_accuracy"),
            "where training first reaches 0.8 nats": correlation(level=LEVEL, ends=None),
            "among all runs": correlation(ends=None),
        },
    ),
    flatter_is_better(
        correlation(ends=EQUAL),
        f"{RANKS} at the end of training, among runs whose training loss ends at 0.55 to 0.75 nats",
        f"At the end of training, the {RANKS} is {{estimate}} among runs whose training loss ends at 0.55 to 0.75 nats",
        clause="b",
        alternatives={"with validation error": correlation(ends=EQUAL, of="evaluation_accuracy")},
    ),
    reported(correlation(arms=("small",)), "the same among runs of batch 16"),
    reported(correlation(arms=("large_epochs",)), "the same among runs of batch 256, 15 epochs"),
)

STUDY = study.declared()
