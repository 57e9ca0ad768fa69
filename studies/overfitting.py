"""When does a network overfit, does its validation loss show it, and what helps?"""

from typing import Any

from .kit import *
from .metrics.overfitting import stopped_loss, turn_rate, turning_step

SIZES = (67, 270, 1079)
MIDDLE = SIZES[1]
TOKENS = (1_000, 2_000, 4_000)
LR, GPT_LR = 2.0**-10, 2.0**-7
# Arms by labels: clean ones begin with the first word, noisy ones with the second.
LABELS = {"clean": "MLP, clean labels", "noisy": "MLP, a fifth of the labels random"}
NOISY: dict[str, dict[str, Any]] = {"clean": {}, "noisy": {"label_noise": 0.2}}
GPT = "GPT"
# Where training losses are read beside validation losses: before an MLP has learnt its examples by heart.
EARLY, HALF_WAY = {"first": 0.1, "last": 0.2}, {"first": 0.4, "last": 0.6}
# Examples, and sequences, of a validation set that is too small.
FEW, FEW_SEQUENCES = 16, 4
GPT_SETTINGS: dict[str, Any] = {
    "model": "gpt",
    "dataset": "python-docs",
    "width": 32,
    "depth": 2,
    "context": 32,
    "batch_size": 8,
    "steps": 320,
    "evaluations": 20,
    "evaluation_examples": 128,
    "final_examples": 128,
    "training_examples": 32,
    "test_examples": 128,
}
# Of what is read at its end alone.
LEVER = {"evaluations": 2, "training_examples": 0, "test_examples": 0}
# Where a run overfits so that its test loss shows it, with clean labels only on the least data: arm, and what it is called.
OVERFIT = {
    "clean": (f"clean_{SIZES[0]}", f"{LABELS['clean']}, {SIZES[0]} examples"),
    "noisy": (f"noisy_{MIDDLE}", f"{LABELS['noisy']}, {MIDDLE} examples"),
    "text": (f"text_{TOKENS[1]}", f"{GPT}, {TOKENS[1]:,} tokens"),
}
LEVERS = {"lower_lr": "lower LR", "dropout": "dropout", "decay": "weight decay"}


def levers(run: str, lr: float, settings: dict[str, Any]) -> dict[str, Arm]:
    """A run that overfits with what Optuna tunes, each lever in a range of its own; the LR goes down from that of the run."""
    ranges = {
        "lower_lr": Range(low=lr / 64, high=lr),
        "dropout": Range(factor="dropout", low=0.0, high=0.9, linear=True),
        "decay": Range(factor="weight_decay", low=2.0**-2, high=2.0**5),
    }
    shared: dict[str, Any] = {"panel": OVERFIT[run][1], "settings": {**settings, **LEVER}, "factors": {"peak_lr": (lr,)}}
    return {
        f"{run}_{lever}": Arm(label=label, searched=True, search=ranges[lever], reference=lever == "lower_lr", **shared)
        for lever, label in LEVERS.items()
    }


def images(labels: str) -> dict[str, Arm]:
    """Arms by the size of the training set, the larger ones also with few validation examples, and one of them with levers."""
    sizes = {size: {**NOISY[labels], "training_set_size": size} for size in SIZES}
    (overfits,) = [settings for size, settings in sizes.items() if OVERFIT[labels][0] == f"{labels}_{size}"]
    plain = {
        f"{labels}_{size}": Arm(label=f"{size:,} examples", panel=LABELS[labels], settings=settings, reference=size == MIDDLE)
        for size, settings in sizes.items()
    }
    few = {
        f"{labels}_{size}_few": Arm(
            label=f"{size:,} examples, {FEW} to validate",
            panel=LABELS[labels],
            settings={**sizes[size], "evaluation_examples": FEW},
        )
        for size in SIZES[1:]
    }
    shift = Arm(label="shifted images", panel=OVERFIT[labels][1], settings={**overfits, **LEVER, "augmentation": "shift"})
    return {**plain, **few, **levers(labels, LR, overfits), f"{labels}_shift": shift}


def text(tokens: int | None, sequences: int | None = None) -> Arm:
    """A GPT on this many tokens, the first ones, or on all of them, of which it then sees a part once."""
    size = "the whole text" if tokens is None else f"{tokens:,} tokens"
    few = {} if sequences is None else {"evaluation_examples": sequences}
    return Arm(
        label=size if sequences is None else f"{size}, {sequences} sequences to validate",
        panel=GPT,
        settings={**GPT_SETTINGS, "training_set_size": tokens, **few},
        factors={"peak_lr": (GPT_LR,)},
    )


TEXTS = {
    **{f"text_{tokens}": text(tokens) for tokens in TOKENS},
    "text_all": text(None),
    f"text_{TOKENS[1]}_few": text(TOKENS[1], FEW_SEQUENCES),
    **levers("text", GPT_LR, {**GPT_SETTINGS, "training_set_size": TOKENS[1]}),
}
# Panel -> arms of sizes, smallest first.
GROWING = {
    LABELS["clean"]: {size: f"clean_{size}" for size in SIZES},
    LABELS["noisy"]: {size: f"noisy_{size}" for size in SIZES},
    GPT: {tokens: f"text_{tokens}" for tokens in TOKENS},
}
# Panel -> the arm, and the same with few validation examples.
STOPPED = {
    f"{panel}, {size:,} examples": (f"{labels}_{size}", f"{labels}_{size}_few")
    for labels, panel in LABELS.items()
    for size in SIZES[1:]
} | {OVERFIT["text"][1]: (f"text_{TOKENS[1]}", f"text_{TOKENS[1]}_few")}


def fast(panel: str) -> Criterion:
    return Criterion(
        name=f"exponent of the step of the lowest validation loss on the amount of data, {panel}",
        clause="a",
        panel=panel,
        observe=Slope(points=tuple((float(size), turning_step(arm=arm)) for size, arm in GROWING[panel].items())),
        **above(0.25, refuted=0.0, null=0.0, margin=0.1),
        says=f"{panel}: the step of the lowest validation loss grows as (number of examples)^{{estimate}}",
    )


def whole_text_turns(clause: str) -> Criterion:
    return Criterion(
        name="share of seeds whose validation loss turns up, GPT, the whole text",
        clause=clause,
        panel=GPT,
        observe=turn_rate(arm="text_all"),
        **below(0.5, unit="share"),
        says="GPT on a text of which it sees a part once: the validation loss turns up in {estimate} of the seeds",
        alternatives={"if it ends 1% of its fall above its lowest": turn_rate(arm="text_all", by=0.01)},
    )


SMALL_DATA = judgement(
    "fit.small_data",
    *(fast(panel) for panel in GROWING),
    whole_text_turns("b"),
    reported={
        f"step of the lowest validation loss, {panel}, {size:,}": (turning_step(arm=arm), "steps")
        for panel, arms in GROWING.items()
        for size, arm in list(arms.items())[:: len(arms) - 1]
    },
)

VAL_TURNS = judgement(
    "fit.val_turns",
    *(
        Criterion(
            name=f"share of seeds whose validation loss turns up, {panel}, the least data",
            clause="a",
            panel=panel,
            observe=turn_rate(arm=next(iter(arms.values()))),
            **above(0.5, unit="share"),
            says=f"{panel}, the least data: the validation loss turns up in {{estimate}} of the seeds",
        )
        for panel, arms in GROWING.items()
    ),
    whole_text_turns("b"),
    reported={
        **{
            f"the same with all 1,079 examples, {panel}": (turn_rate(arm=f"{labels}_{SIZES[-1]}"), "share")
            for labels, panel in LABELS.items()
        },
        **{
            f"test error at the end minus that where the validation loss is lowest, {panel}": (
                Gap(left=stopped_loss(arm=arm, at="end", of="test_error"), right=stopped_loss(arm=arm, of="test_error")),
                "share",
            )
            for panel, (arm, _) in STOPPED.items()
        },
    },
)


def train_above_validation(arm: str, of: str = "train_loss", window: dict[str, float] = EARLY) -> Any:
    """Training loss less validation loss, in nats; of fixed training examples in eval mode, or of the batches trained on."""
    return Curve(arm=arm, of=of, **window) - Curve(arm=arm, of="evaluation_loss", **window)


CAUSES = {"dropout of 0.5": "dropped_all", "shifted images": "shifted_all", "an easier validation set": "noisy_1079"}

TRAIN_ABOVE_VAL = judgement(
    "fit.train_above_val",
    *(
        exceeds(
            f"training loss minus validation loss, {cause}",
            train_above_validation(arm),
            f"With {cause}, the training loss is {{higher}} than the validation loss",
            by=0.02,
            panel=cause,
            unit="nats",
            alternatives={"half-way through the run": train_above_validation(arm, window=HALF_WAY)},
        )
        for cause, arm in CAUSES.items()
    ),
    reported={
        "the same without any of these": (train_above_validation("clean_1079"), "nats"),
        **{
            f"loss of fixed training examples in eval mode minus validation loss, {cause}": (
                train_above_validation(arm, "evaluation_training_loss"),
                "nats",
            )
            for cause, arm in CAUSES.items()
        },
        **{
            f"training loss minus validation loss half-way, {cause}": (train_above_validation(arm, window=HALF_WAY), "nats")
            for cause, arm in CAUSES.items()
        },
    },
)


def keeps_the_best(panel: str) -> tuple[Criterion, Criterion]:
    arm, few = STOPPED[panel]
    stopped = stopped_loss(arm=arm)
    return (
        exceeds(
            f"test loss at the end minus that at the lowest validation loss, {panel}",
            LossGap(left=stopped_loss(arm=arm, at="end"), right=stopped),
            f"{panel}: the last model {{costs}} of the loss reduction compared with the one of the lowest validation loss",
            clause="a",
            panel=panel,
        ),
        exceeds(
            f"test loss at the lowest validation loss of few examples minus that of many, {panel}",
            LossGap(left=stopped_loss(arm=few), right=stopped),
            f"{panel}: chosen by few validation examples, the best model {{costs}} of the loss reduction,"
            " compared with choosing by all of them",
            clause="b",
            panel=panel,
        ),
    )


EARLY_STOPPING = judgement(
    "fit.early_stopping",
    *(criterion for panel in STOPPED for criterion in keeps_the_best(panel)),
    reported={
        f"test loss at the lowest validation loss minus the lowest of the run, {panel}": (
            LossGap(left=stopped_loss(arm=arm), right=stopped_loss(arm=arm, at="lowest_test")),
            "relative",
        )
        for panel, (arm, _) in STOPPED.items()
    },
)


def better_than_lower_lr(run: str) -> tuple[Criterion, ...]:
    """That the run overfits, and then each lever against a lower LR."""
    plain, panel = OVERFIT[run]
    stopped = stopped_loss(arm=plain)
    levers = {
        "dropout": ("a", FinalLoss(arm=f"{run}_dropout")),
        "weight decay": ("b", FinalLoss(arm=f"{run}_decay")),
        "early stopping": ("c", stopped),
        **({"shifting images": ("d", FinalLoss(arm=f"{run}_shift"))} if run in LABELS else {}),
    }
    overfits = exceeds(
        f"test loss at the end minus that at the lowest validation loss, {panel}",
        LossGap(left=stopped_loss(arm=plain, at="end"), right=stopped),
        f"{panel}: without any lever, overfitting {{costs}} of the loss reduction",
        by=0.02,
        panel=panel,
        precondition=True,
    )
    return (
        overfits,
        *(
            exceeds(
                f"test loss of a lower LR minus that of {lever}, {panel}",
                LossGap(left=FinalLoss(arm=f"{run}_lower_lr"), right=loss),
                f"{panel}: a lower LR {{costs}} of the loss reduction compared with {lever}",
                by=0.01,
                margin=0.005,
                clause=clause,
                panel=panel,
            )
            for lever, (clause, loss) in levers.items()
        ),
    )


def error(arm: str) -> FinalLoss:
    return FinalLoss(arm=arm, of="test_error")


NOT_THE_LEVER = judgement(
    "fit.lr_is_not_the_lever",
    *(criterion for run in OVERFIT for criterion in better_than_lower_lr(run)),
    reported={
        **{
            f"test loss at the end minus that of a lower LR, {panel}": (
                LossGap(left=stopped_loss(arm=plain, at="end"), right=FinalLoss(arm=f"{run}_lower_lr")),
                "relative",
            )
            for run, (plain, panel) in OVERFIT.items()
        },
        **{
            f"test error of a lower LR minus that of {LEVERS[lever]}, {panel}": (
                Gap(left=error(f"{run}_lower_lr"), right=error(f"{run}_{lever}")),
                "share",
            )
            for run, (_, panel) in OVERFIT.items()
            for lever in ("dropout", "decay")
        },
    },
)

STUDY = study(
    __file__,
    version=4,
    workload=Workload(model="mlp", dataset="digits", width=128, depth=2),
    training=Training(
        optimizer="adamw",
        peak_lr=LR,
        weight_decay=0.0,
        schedule="constant",
        warmup_fraction=0.0,
        batch_size=32,
        steps=1600,
        sampling="epochs",
    ),
    measurement=Measurement(
        probes=2,
        evaluations=80,
        evaluation_examples=359,
        final_examples=359,
        training_examples=128,
        test_examples=359,
        curve_points=50,
    ),
    arms={
        **images("clean"),
        **images("noisy"),
        "dropped_all": Arm(label="dropout of 0.5", panel=LABELS["clean"], settings={"dropout": 0.5}),
        "shifted_all": Arm(label="shifted images, all examples", panel=LABELS["clean"], settings={"augmentation": "shift"}),
        **TEXTS,
    },
    factors={"peak_lr": (LR,)},
    search=Search(low=LR / 64, high=LR, rounds=3, proposals=4, seeds=2, first_seed=86_500),
    seeds=12,
    first_seed=86_000,
    scales={
        "smoke": scales.smoke(
            training={"steps": 12},
            measurement={"evaluations": 6, "evaluation_examples": 8, "training_examples": 8, "test_examples": 8},
            arm_settings={arm: {"steps": 6, "evaluations": 6, "width": 8, "depth": 1} for arm in TEXTS},
            search={"rounds": 1, "proposals": 2, "seeds": 1},
        ),
        "laptop": scales.laptop(
            "about three minutes of training",
        ),
        "gpu": scales.gpu(
            "one GPU, a few minutes: MLPs of 0.3M parameters, GPTs of 0.8M",
            workload={"width": 512},
            arm_settings={arm: {"width": 128, "depth": 4, "heads": 4} for arm in TEXTS},
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, half an hour: MLPs of 4M parameters, GPTs of 6M",
            workload={"width": 2048},
            arm_settings={arm: {"width": 256, "depth": 8, "heads": 8} for arm in TEXTS},
        ),
    },
    answer=("fit.val_turns", "fit.early_stopping", "fit.lr_is_not_the_lever"),
    judgements=(SMALL_DATA, VAL_TURNS, TRAIN_ABOVE_VAL, EARLY_STOPPING, NOT_THE_LEVER),
)
