"""Does SGD beat Adam on images, does AdamW beat SGD on text, and what do large batches cost a language model?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .kit import *

study = Draft(
    __file__,
    dict(model="cnn", dataset="digits", label_noise=0.2)
    | dict(schedule="cosine", final_fraction=0.0, warmup_fraction=0.05, sampling="epochs")
    | dict(probes=2, evaluations=1, evaluation_examples=359, final_examples=359, training_examples=1079, curve_points=20),
    version=6,
    factors=peak_lrs(-7),
    search=Search(low=2.0**-11, high=2.0**1, rounds=4, proposals=4, seeds=2, first_seed=155_950),
    seeds=20,
    first_seed=155_000,
    answer=("gen.sgd_vs_adam", "gen.adam_transformer", "gen.adam_train_loss", "gen.lm_large_batch"),
)


# Arms: optimizers on images, on few of them, and on text; batch sizes on text.


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": dict(optimizer="sgd", momentum=0.9, weight_decay=5e-4),
    "Adam": dict(optimizer="adam", weight_decay=5e-4),
    "AdamW": dict(optimizer="adamw", weight_decay=0.1),
}
CNN = dict(model="cnn", width=8, depth=2, batch_size=16, steps=512, augmentation="shift")
MLP = dict(model="mlp", width=64, depth=2, batch_size=16, steps=1024)


def optimizer_arm(name: str, optimizer: str, panel: str, settings: Settings, label: str = "", **options: Any) -> str:
    """Plain SGD is the reference of its panel."""
    label = label or optimizer
    return study.arm(name, label, panel, {**OPTIMIZERS[optimizer], **settings}, reference=label == "SGD", **options)


def image_arms(model: str, settings: Settings, scales: tuple[str, ...] | None = None) -> tuple[str, ...]:
    return tuple(
        optimizer_arm(f"{model.lower()}_{optimizer.lower()}", optimizer, model, settings, searched=True, scales=scales)
        for optimizer in OPTIMIZERS
    )


# On two cores no CNN gets far enough.
CNNS = image_arms("CNN", CNN, scales=("gpu", "cluster"))
MLPS = image_arms("MLP", MLP)

# Error by held-out images where a run has learnt its own: of 10 random ones a step, from 50 or 200 that each seed draws.
FIT: dict[str, Any] = dict(
    training_set="drawn", label_noise=0.0, weight_decay=0.0, schedule="constant", warmup_fraction=0.0, batch_size=10
)
FIT |= dict(evaluations=60, training_examples=0, evaluation_examples=64)
MNIST = dict(dataset="mnist-5k", test_examples=2000, final_examples=2000)
DIGITS = dict(dataset="digits", test_examples=359, final_examples=359)
LINEAR = dict(model="linear")
# Task -> how it is called, model and data, images, steps, and the power of two of SGD's LR: of a pilot's lowest validation loss
# at a training loss of 0.1. Adam's was half of it on all.
TASKS: dict[str, tuple[str, dict[str, Any], int, int, int]] = {
    "mnist_50": ("a linear classifier of 50 images of MNIST", LINEAR | MNIST, 50, 300, -9),
    "mnist_200": ("a linear classifier of 200 images of MNIST", LINEAR | MNIST, 200, 700, -9),
    "digits_50": ("a linear classifier of 50 digits", LINEAR | DIGITS, 50, 300, -5),
    "digits_200": ("a linear classifier of 200 digits", LINEAR | DIGITS, 200, 800, -6),
    "mlp_50": ("an MLP on 50 digits", MLP | DIGITS, 50, 300, -7),
    "mlp_200": ("an MLP on 200 digits", MLP | DIGITS, 200, 600, -8),
}


def fit_lr(task: str, optimizer: str) -> float:
    return 2.0 ** (TASKS[task][-1] - (optimizer == "Adam"))


def fit_arm(task: str, name: str, optimizer: str, label: str = "", times: tuple[float, ...] = (1,), **changes: Any) -> str:
    words, settings, images, steps, _ = TASKS[task]
    lrs = {"peak_lr": tuple(factor * fit_lr(task, optimizer) for factor in times)}
    # A point of the training loss is the mean over an epoch.
    own = (
        settings | FIT | dict(training_set_size=images, steps=steps, curve_points=steps * FIT["batch_size"] // images) | changes
    )
    return optimizer_arm(f"{task}_{name}", optimizer, words, own, label, factors=lrs)


FITTED = tuple(fit_arm(task, name.lower(), name, times=(0.5, 1, 2)) for task in TASKS for name in ("SGD", "Adam"))
# The document's remedies; SGD goes on at its own LR.
REMEDIES = (
    fit_arm("mnist_50", "adam_sgd", "Adam", "Adam, the last quarter SGD", sgd_from=0.75, sgd_lr=2.0),
    fit_arm("mnist_50", "adam_long", "Adam", "Adam, twice the steps", steps=600),
    fit_arm("mnist_50", "adam_l2", "Adam", "Adam, L2 of 0.005", weight_decay=5e-3),
)

TEXT = SMALL_GPT | dict(label_noise=0.0, final_examples=512)
GPTS = tuple(
    optimizer_arm(
        f"gpt_{optimizer.lower()}_{batch}",
        optimizer,
        f"GPT, batch {batch}",
        TEXT | dict(sampling="replacement", warmup_fraction=0.2, clip_norm=1.0, batch_size=batch, steps=steps) | changes,
        searched=True,
    )
    for batch, steps in {2: 1000, 8: 500, 64: 200}.items()
    for optimizer, changes in {"SGD": {"weight_decay": 0.0}, "AdamW": {"beta2": 0.95}}.items()
)
# Every window of the text at most once.
ONE_PASS = tuple(
    study.arm(
        f"lm_{batch}",
        f"batch {batch}",
        "GPT, one pass",
        TEXT | OPTIMIZERS["AdamW"] | dict(beta2=0.95, sampling="epochs", batch_size=batch, steps=8192 // batch),
        factors=lrs,
        reference=batch == 8,
    )
    for batch, lrs in {8: lr_grid(-9, -4), 64: lr_grid(-7, -1), 256: lr_grid(-7, 0)}.items()
)

study.smoke(
    dict(evaluation_examples=8, final_examples=16, training_examples=16),
    arm_settings={
        (*MLPS, *GPTS, *ONE_PASS): {"steps": 20, "batch_size": 8, "final_examples": 16},
        (*FITTED, *REMEDIES): {"steps": 20, "evaluations": 4, "training_examples": 0, "test_examples": 16},
    },
    search={"rounds": 1, "proposals": 2, "seeds": 1},
)
study.laptop(
    "about five minutes of training",
    # In a pilot the difference of two errors deviated between sets of 50 images by 1.2 to 2 points, and of 200 by 0.5 to 1.3.
    arm_seeds={arm: 80 if "_50_" in arm else 40 for arm in (*FITTED, *REMEDIES)},
)
PHOTOGRAPHS = dict(dataset="cifar-10", label_noise=0.0, final_examples=6000, evaluation_examples=1000)
AUGMENTED = dict(batch_size=128, augmentation="flip_and_shift", shift_pixels=4)
study.gpu(
    "one GPU, about four minutes: CNNs of 75,000 parameters on photographs, GPTs of 0.4M on Python code",
    arm_settings={
        CNNS: PHOTOGRAPHS | AUGMENTED | dict(width=32, depth=4, steps=1000),
        MLPS: {"width": 256},
        (*GPTS, *ONE_PASS): GPU_GPT,
    },
    search={"rounds": 3, "proposals": 4, "seeds": 1},
    seeds=6,
)
study.cluster(
    "many GPUs, hours: CNNs of 1.5M parameters on photographs, GPTs of 126M on web text",
    arm_settings={
        CNNS: PHOTOGRAPHS | AUGMENTED | dict(width=96, depth=8, steps=14_000),
        (*GPTS, *ONE_PASS): dict(dataset="web-text", width=1024, depth=10, heads=16, context=256, precision="bf16"),
    },
    seeds=6,
)


# Claims.


# Claimed from a value up, refuted at zero and below.
higher = partial(at_least, refuted=0.0, null=0.0)


def error(arm: str) -> TunedLoss:
    return TunedLoss(arm=arm, of="test_error")


@study.claim("gen.sgd_vs_adam")
def adam_generalizes_worse() -> Iterator[Part]:
    for model, (sgd, adam, adamw) in {"MLP": MLPS, "CNN": CNNS}.items():
        options: dict[str, Any] = {"panel": model, "unit": "share", "scales": study.arms[sgd].scales}
        yield higher(
            0.005,
            error(adam) - error(sgd),
            f"test error of Adam less that of SGD, {model}",
            f"On the {model}, Adam's test error is {{higher}} than SGD's",
            clause="a",
            expected=predicted(
                0.01, "Wilson et al. 2017, section 4: one to a few points of test error", spread=0.0126, scales=("laptop",)
            ),
            underpowered="52 seeds would show a difference of at least half a point; 20 show that SGD is better",
            **options,
        )
        yield higher(
            0.0,
            error(adam) - error(adamw),
            f"test error of Adam less that of AdamW, {model}",
            f"On the {model}, Adam's test error is {{higher}} than AdamW's",
            clause="b",
            **options,
        )
        for arm, label in ((adam, "Adam"), (adamw, "AdamW")):
            yield reported(loss_gap(arm, sgd), f"test loss of {label} minus that of SGD, of the loss reduction, {model}")


# In nats: the right class has a probability of 90%.
LEARNT = 0.1


def errors_apart(task: str, level: float = LEARNT, times: float = 1.0) -> Observed:
    """Adam's test error less SGD's, each where its training loss first comes to a level, at multiples of their LRs."""
    read: dict[str, Any] = {"of": "evaluation_test_accuracy", "where": "train_loss", "level": level}
    sgd, adam = (Matched(arm=f"{task}_{name.lower()}", value=times * fit_lr(task, name), **read) for name in ("SGD", "Adam"))
    return sgd - adam


@study.claim("gen.adam_train_loss")
def adam_fits_as_well_and_generalizes_worse() -> Iterator[Part]:
    for task, (words, *_) in TASKS.items():
        yield higher(
            0.0,
            errors_apart(task),
            f"test error of Adam less that of SGD at equal training loss, {words}",
            f"At equal training loss the test error of {words} is {{higher}} with Adam than with SGD",
            panel=words,
            unit="share",
            alternatives={
                "at half of both LRs": errors_apart(task, times=0.5),
                "at twice both LRs": errors_apart(task, times=2.0),
                "at a training loss of 0.05 nats": errors_apart(task, level=LEARNT / 2),
                "at a training loss of 0.2 nats": errors_apart(task, level=LEARNT * 2),
            },
        )
    for arm in ("mnist_50_adam", *REMEDIES):
        adam, sgd = (
            LossAt(arm=own_arm, value=fit_lr("mnist_50", name), of="test_error")
            for own_arm, name in ((arm, "Adam"), ("mnist_50_sgd", "SGD"))
        )
        yield reported(adam - sgd, f"test error at the end minus that of SGD, 50 images of MNIST: {study.arms[arm].label}")


@study.claim("gen.adam_transformer")
def sgd_costs_transformers() -> Iterator[Part]:
    for batch in (2, 8, 64):
        yield higher(
            0.01,
            loss_gap(f"gpt_sgd_{batch}", f"gpt_adamw_{batch}"),
            f"test loss of SGD less that of AdamW, of the loss reduction, batch {batch}",
            f"At batch {batch}, SGD {{costs}} of the loss reduction compared with AdamW",
            panel=f"batch {batch}",
        )


def scaled_loss(batch: int, exponent: float = 1.0, of: Any = None) -> LossAt:
    """At the LR tuned for batch 8 times a power of the ratio of batch sizes: 1 is the linear rule."""
    return LossAt(arm=f"lm_{batch}", tuned_for="lm_8", times=(batch / 8) ** exponent, of=of)


def generalization_gap(batch: int) -> Observed:
    return scaled_loss(batch) - scaled_loss(batch, of="final_training_loss")


def over_batch_8(loss: Any) -> LossGap:
    return LossGap(left=loss, right=TunedLoss(arm="lm_8"), best_of=("lm_8",))


@study.claim("gen.lm_large_batch", right={"supported": "linear"})
def large_batches_work() -> Iterator[Part]:
    batches = (64, 256)
    for batch in batches:
        yield no_worse(
            generalization_gap(batch) - generalization_gap(8),
            f"test less training loss, batch {batch} with linear LR less batch 8",
            f"The gap between test and training loss is {{higher}} at batch {batch} than at batch 8",
            clause="a",
            margin=0.02,
            unit="nats",
            panel=f"batch {batch}",
        )
        yield at_most(
            0.02,
            over_batch_8(scaled_loss(batch)),
            f"test loss at batch {batch} with linear LR less that at batch 8, of the loss reduction",
            f"At equal tokens, batch {batch} with the linear rule {{costs}} of the loss reduction compared with batch 8",
            clause="b",
            refuted=0.05,
            panel=f"batch {batch}",
        )
    for batch in batches:
        yield reported(over_batch_8(scaled_loss(batch, exponent=0.5)), f"the same with square-root LR, batch {batch}")
    for batch in batches:
        yield reported(over_batch_8(TunedLoss(arm=f"lm_{batch}")), f"the same with tuned LR, batch {batch}")


STUDY = study.declared()
