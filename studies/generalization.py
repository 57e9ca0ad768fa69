"""Do small batches generalize better, do large ones find sharper minima, and do flat minima generalize better?"""

from typing import Any

from .kit import *
from .metrics.generalization import sharpness_at_loss, sharpness_correlation

SMALL, LARGE = 16, 256
# The examples of 15 epochs; the large batch also with the steps of the small one.
SMALL_STEPS = 1024
LARGE_STEPS = SMALL_STEPS * SMALL // LARGE
# Test errors are read on MNIST, as many examples as the digits are: 15 epochs, or 240 with the steps of the small batch.
MNIST: dict[str, Any] = {
    "dataset": "mnist-5k",
    "training_set_size": 1024,
    "evaluation_examples": 1000,
    "final_examples": 2000,
    "training_examples": 1024,
}
MNIST_STEPS = 960
MNIST_LARGE_STEPS = MNIST_STEPS * SMALL // LARGE
CNN_STEPS, CNN_LARGE_STEPS = 2 * MNIST_STEPS, 2 * MNIST_LARGE_STEPS
# In nats: where an MLP has learnt the true labels and begins to fit the noisy ones; what version 1 compared runs at.
LEVEL = 0.8
# Where training losses that count as equal end: what a reader of version 1 tried, on other seeds.
ENDS = (0.55, 0.75)
FIT = (0.0, LEVEL)
# The LR of comparisons at one LR: a pilot's best for the small batch.
ONE_LR = 2.0**-5
# The best for the large batch at equal epochs in version 2; the small batch's was that one LR. Tuned for each resample they
# jumped between neighbours, between which sharpness doubles.
BEST_LARGE = 2.0**-1.5
# On two cores no CNN gets far enough with noisy labels.
LARGER = ("gpu", "cluster")
SETTINGS: dict[str, dict[str, Any]] = {
    "MLP": {"probes": 6, "sharpness": "probes", "sharpness_examples": 540, "evaluations": 32},
    "MNIST": {**MNIST, "width": 32},
    "CNN": {**MNIST, "model": "cnn", "width": 8, "depth": 2},
}
MLP_ARMS, MNIST_ARMS = ("small", "large_epochs", "large_updates"), ("mnist_small", "mnist_large_epochs", "mnist_large_updates")
CNN_ARMS = ("cnn_small", "cnn_large")
SMOKE = {"probes": 2, "sharpness_examples": 32}
SMOKE_MNIST = {"probes": 2, "evaluation_examples": 64, "final_examples": 64, "training_examples": 64}
EPOCHS, UPDATES = "tuned LRs, 15 epochs of both", "tuned LRs, equal updates (240 epochs against 15)"
CNN_EPOCHS = "CNN, tuned LRs, equal epochs"
# Panel -> arms with the large and the small batch.
COMPARED = {
    EPOCHS: ("mnist_large_epochs", "mnist_small"),
    UPDATES: ("mnist_large_updates", "mnist_small"),
    CNN_EPOCHS: ("cnn_large", "cnn_small"),
}
# Panel -> of a pilot of 8 seeds, the LRs of the lowest validation error and the spreads of the loss and of the error.
BY_ERROR = {EPOCHS: (2.0**-3, 2.0**-8.5), UPDATES: (2.0**-9.5, 2.0**-8.5)}
SPREADS = {EPOCHS: (0.0068, 0.0083), UPDATES: (0.0081, 0.0075)}
SHALLUE = "Shallue et al. 2019, section 4.8: no difference out of sample"
HOFFER = "Hoffer et al. 2017, section 5: nothing is left of the gap"
SOURCES = {EPOCHS: SHALLUE, UPDATES: HOFFER}


def image_arm(model: str, label: str, batch: int, steps: int, lrs: dict[str, tuple[float, ...]]) -> Arm:
    return Arm(
        label=label,
        panel=model,
        settings={**SETTINGS[model], "batch_size": batch, "steps": steps},
        factors=lrs,
        scales=LARGER if model == "CNN" else None,
        reference=batch == SMALL,
    )


def widths(mlp: int, cnn: int) -> dict[str, dict[str, int]]:
    """Overrides of a scale."""
    return {**{arm: {"width": mlp} for arm in MLP_ARMS + MNIST_ARMS}, **{arm: {"width": cnn} for arm in CNN_ARMS}}


def gap(large: str, small: str, lrs: Any = (None, None), of: Any = None, kind: Any = LossGap) -> Any:
    """How much higher the loss with the large batch is, at an LR of each or at its best; kind: LossGap or Gap."""
    tried = zip((large, small), lrs, strict=True)
    left, right = (TunedLoss(arm=arm, of=of) if lr is None else LossAt(arm=arm, value=lr, of=of) for arm, lr in tried)
    return kind(left=left, right=right)


def expected(panel: str, which: int) -> dict[str, Any]:
    """Of a panel's loss (0) or error (1)."""
    if panel not in SPREADS:
        return {"scales": LARGER}
    return {"expected": predicted(0.0, SOURCES[panel], spread=SPREADS[panel][which], scales=("laptop",))}


def generalizes_worse(panel: str) -> tuple[Criterion, Criterion]:
    """Loss and error of unseen examples."""
    where = f"{panel[0].upper()}{panel[1:]}"
    loss = exceeds(
        f"test loss of batch 256, less that of batch 16, of the loss reduction, {panel}",
        gap(*COMPARED[panel]),
        f"{where}: batch 256 {{costs}} of the loss reduction compared with batch 16",
        by=0.01,
        margin=0.005,
        clause="a",
        panel=panel,
        **expected(panel, 0),
    )
    error = exceeds(
        f"test error of batch 256, less that of batch 16, {panel}",
        gap(*COMPARED[panel], of="test_error", kind=Gap),
        f"{where}: the test error of batch 256 is {{higher}} than that of batch 16",
        by=0.005,
        clause="b",
        panel=panel,
        unit="share",
        alternatives={
            "at the LRs of the lowest validation error of a pilot": gap(
                *COMPARED[panel], BY_ERROR[panel], of="test_error", kind=Gap
            )
        }
        if panel in BY_ERROR
        else None,
        **expected(panel, 1),
    )
    return loss, error


def sharper(large: str, lr: float | None, small_lr: float | None = ONE_LR, level: float | None = None) -> Any:
    """Sharpness over that of the small batch, each at an LR or tuned; without a level, at the end of training."""
    return sharpness_at_loss(arm=large, level=level, value=lr) / sharpness_at_loss(arm="small", level=level, value=small_lr)


def much_sharper(
    clause: str, panel: str, large: str, lr: float | None, small_lr: float | None = ONE_LR, **options: Any
) -> Criterion:
    return Criterion(
        name=f"sharpness of batch 256 over batch 16 at the end of training, {panel}",
        clause=clause,
        panel=panel,
        observe=sharper(large, lr, small_lr),
        says=f"{panel[0].upper()}{panel[1:]}: at the end of training, batch 256 is {{estimate}} as sharp as batch 16",
        alternatives={
            "at a training loss of 0.8 nats": sharper(large, lr, small_lr, LEVEL),
            "each tuned anew under each resample": sharper(large, None, None),
        },
        **above(1.5, refuted=1.0, null=1.0, margin=1.1, unit="x"),
        **options,
    )


def correlation(level: float | None = None, ends: tuple[float, float] | None = FIT, **options: Any) -> Any:
    return sharpness_correlation(**{"arms": MLP_ARMS, "level": level, "ends": ends, "least_share": 0.2, **options})


def flatter_is_better(clause: str, ends: tuple[float, float], which: str, **alternatives: Any) -> Criterion:
    return Criterion(
        name=f"rank correlation of sharpness with validation loss at the end of training, {which}",
        clause=clause,
        observe=correlation(ends=ends),
        **above(0.3, refuted=0.1, null=0.0),
        says=f"At the end of training, the rank correlation of sharpness with validation loss is {{estimate}} {which}",
        alternatives={"with validation error": correlation(ends=ends, of="evaluation_accuracy"), **alternatives},
    )


SMALL_BATCH = judgement(
    "gen.small_batch",
    *(criterion for panel in COMPARED for criterion in generalizes_worse(panel)),
    right={"supported": "sometimes"},
    reported={
        **{
            f"digits: test {what} of batch 256 minus that of batch 16{share}, tuned LRs, {which}": (
                gap(large, "small", of=of, kind=kind),
                unit,
            )
            for large, which in (("large_epochs", "15 epochs"), ("large_updates", "equal updates (243 epochs against 15)"))
            for what, share, of, kind, unit in (
                ("loss", ", of the loss reduction", None, LossGap, "relative"),
                ("error", "", "test_error", Gap, "share"),
            )
        },
        "digits: test loss of batch 256 minus that of batch 16, of the loss reduction, one LR, equal updates": (
            gap("large_updates", "small", (ONE_LR, ONE_LR)),
            "relative",
        ),
        **{
            f"training loss of batch 256 minus that of batch 16, {panel}": (
                gap(*COMPARED[panel], of="final_training_loss", kind=Gap),
                "nats",
            )
            for panel in (EPOCHS, UPDATES)
        },
    },
)

SHARPER = judgement(
    "gen.sharper",
    much_sharper(
        "a",
        "one LR, equal updates",
        "large_updates",
        ONE_LR,
        expected=predicted(
            3.0, "Keskar et al. 2017, sections 2 and 3: several times sharper at the LR of the small batch", spread=0.53
        ),
    ),
    much_sharper("b", "best LR of each, 15 epochs of both", "large_epochs", BEST_LARGE, scales=("smoke", "laptop")),
    much_sharper("b", "LRs tuned at this scale, 15 epochs of both", "large_epochs", None, None, scales=LARGER),
)

FLAT_MINIMA = judgement(
    "gen.flat_minima",
    flatter_is_better(
        "a",
        FIT,
        "among runs that learn the true labels",
        **{"where training first reaches 0.8 nats": correlation(LEVEL, None), "among all runs": correlation(ends=None)},
    ),
    flatter_is_better("b", ENDS, "among runs whose training loss ends at 0.55 to 0.75 nats"),
    reported={
        "the same among runs of batch 16": correlation(arms=("small",)),
        "the same among runs of batch 256, 15 epochs": correlation(arms=("large_epochs",)),
    },
)

STUDY = study(
    __file__,
    version=4,
    workload=Workload(model="mlp", dataset="digits", width=64, depth=2, label_noise=0.2),
    training=Training(
        optimizer="sgd",
        momentum=0.9,
        weight_decay=0.0,
        schedule="cosine",
        final_fraction=0.0,
        warmup_fraction=0.0,
        sampling="epochs",
    ),
    measurement=Measurement(
        probes=2, evaluations=2, evaluation_examples=359, final_examples=359, training_examples=1079, curve_points=20
    ),
    arms={
        "small": image_arm("MLP", "batch 16", SMALL, SMALL_STEPS, peak_lrs(-8, -7.5, -7, -6.5, -6, -5.5, -5, -4.5, -4, -3)),
        "large_epochs": image_arm(
            "MLP", "batch 256, equal epochs", LARGE, LARGE_STEPS, peak_lrs(-5, -4, -3, -2.5, -2, -1.5, -1, -0.5, 0)
        ),
        "large_updates": image_arm(
            "MLP", "batch 256, equal updates", LARGE, SMALL_STEPS, peak_lrs(-9, -8, -7.5, -7, -6.5, -6, -5, -4)
        ),
        "mnist_small": image_arm("MNIST", "batch 16", SMALL, MNIST_STEPS, lr_grid(-9.5, -6.5, per_octave=2)),
        "mnist_large_epochs": image_arm(
            "MNIST", "batch 256, equal epochs", LARGE, MNIST_LARGE_STEPS, lr_grid(-4.5, -1.5, per_octave=2)
        ),
        "mnist_large_updates": image_arm(
            "MNIST", "batch 256, equal updates", LARGE, MNIST_STEPS, lr_grid(-10.5, -8, per_octave=2)
        ),
        "cnn_small": image_arm("CNN", "batch 16", SMALL, CNN_STEPS, lr_grid(-7, -1)),
        "cnn_large": image_arm("CNN", "batch 256, equal epochs", LARGE, CNN_LARGE_STEPS, lr_grid(-4, 2)),
    },
    factors={"peak_lr": (ONE_LR,)},
    seeds=16,
    first_seed=43_200,
    scales={
        "smoke": scales.smoke(
            measurement={"sharpness_examples": 64, "evaluations": 4, "probes": 2},
            arm_settings={
                "small": {**SMOKE, "steps": 16, "batch_size": 8},
                "mnist_small": {**SMOKE_MNIST, "steps": 16, "batch_size": 8},
                "mnist_large_epochs": {**SMOKE_MNIST, "steps": 8, "batch_size": 16},
                "mnist_large_updates": {**SMOKE_MNIST, "steps": 8, "batch_size": 16},
                **{arm: {**SMOKE, "steps": 8, "batch_size": 16} for arm in ("large_epochs", "large_updates")},
            },
        ),
        "laptop": scales.laptop(
            "about five minutes of training",
            arm_seeds=dict.fromkeys(MNIST_ARMS, 32),
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: MLPs of 0.3M parameters, CNNs of 0.1M",
            arm_settings=widths(mlp=512, cnn=64),
            seeds=8,
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, half an hour: MLPs of 4M parameters, CNNs of 1M",
            arm_settings=widths(mlp=2048, cnn=192),
            seeds=12,
        ),
    },
    answer=("gen.small_batch", "gen.sharper", "gen.flat_minima"),
    judgements=(SMALL_BATCH, SHARPER, FLAT_MINIMA),
)
