"""When does a network overfit, does its validation loss show it, and what helps?"""

from typing import Any

from folklore.harness.metrics import Curve, FinalLoss, Gap, LossGap, Slope, StoppedLoss, TunedLoss, TurningStep, TurnRate
from folklore.harness.spec import Arm, Criterion, Measurement, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import above, below, exceeds, judgement, peak_lrs, predicted

SIZES = (67, 135, 270, 540, 1079)
TOKENS = (2_000, 4_000, 8_000)
NOISE = 0.2
LR = 2.0**-10
# Arms by labels: clean ones begin with the first word, noisy ones with the second.
LABELS = {"clean": "MLP, clean labels", "noisy": "MLP, a fifth of the labels random"}
GPT = "GPT"
MIDDLE = 270
# Examples, and sequences, of a validation set that is too small.
FEW, FEW_SEQUENCES = 16, 4
GPT_SETTINGS: dict[str, Any] = {
    "model": "gpt",
    "dataset": "python-docs",
    "width": 32,
    "depth": 2,
    "context": 32,
    "batch_size": 8,
    "steps": 800,
    "evaluations": 50,
    "evaluation_examples": 128,
    "final_examples": 128,
    "training_examples": 64,
    "test_examples": 128,
}
GPT_LR = 2.0**-7
LEVER = {"evaluations": 2, "training_examples": 0, "test_examples": 0, "training_set_size": MIDDLE}
# Lever -> its factor and values, eight of each; the LR goes down from that of all other arms.
LEVERS = {
    "lower_lr": ("peak_lr", tuple(LR / 2**octaves for octaves in range(8))),
    "decay": ("weight_decay", tuple(2.0**exponent for exponent in range(-2, 6))),
    "dropout": ("dropout", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
}
LEVER_LABELS = {"lower_lr": "lower LR", "decay": "weight decay", "dropout": "dropout"}


def noisy(labels: str) -> dict[str, float]:
    return {"label_noise": NOISE} if labels == "noisy" else {}


def sized(labels: str) -> dict[str, Arm]:
    """Arms by the size of the training set, one of them also with few validation examples, and the middle one's levers."""
    panel, settings = LABELS[labels], noisy(labels)
    arms = {
        f"{labels}_{size}": Arm(
            label=f"{size:,} examples", panel=panel, settings={**settings, "training_set_size": size}, reference=size == MIDDLE
        )
        for size in SIZES
    }
    few = {
        f"{labels}_{size}_few": Arm(
            label=f"{size:,} examples, {FEW} to validate",
            panel=panel,
            settings={**settings, "training_set_size": size, "evaluation_examples": FEW},
        )
        for size in (MIDDLE, SIZES[-1])
    }
    levers = {
        f"{labels}_{lever}": Arm(
            label=LEVER_LABELS[lever], panel=panel, settings={**settings, **LEVER}, factors={factor: values}
        )
        for lever, (factor, values) in LEVERS.items()
    }
    shift = Arm(label="shifted images", panel=panel, settings={**settings, **LEVER, "augmentation": "shift"})
    return {**arms, **few, **levers, f"{labels}_shift": shift}


def text(tokens: int | None, sequences: int | None = None) -> Arm:
    """A GPT on the first so many tokens, or on all of them, of which it then sees a part once."""
    size = "the whole text" if tokens is None else f"{tokens:,} tokens"
    few = {} if sequences is None else {"evaluation_examples": sequences}
    return Arm(
        label=size if sequences is None else f"{size}, {sequences} sequences to validate",
        panel=GPT,
        settings={**GPT_SETTINGS, "training_set_size": tokens, **few},
        factors={"peak_lr": (GPT_LR,)},
    )


TEXTS = {f"text_{tokens}": text(tokens) for tokens in TOKENS}
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
    for size in (MIDDLE, SIZES[-1])
} | {f"{GPT}, {TOKENS[1]:,} tokens": (f"text_{TOKENS[1]}", f"text_{TOKENS[1]}_few")}


def fast(panel: str) -> Criterion:
    arms = GROWING[panel]
    return Criterion(
        name=f"exponent of the step of the lowest validation loss on the amount of data, {panel}",
        clause="a",
        panel=panel,
        observe=Slope(points=tuple((float(size), TurningStep(arm=arm)) for size, arm in arms.items())),
        **above(0.25, refuted=0.0, null=0.0, margin=0.1),
        says=f"{panel}: the step of the lowest validation loss grows as data^{{estimate}}",
    )


SMALL_DATA = judgement(
    "fit.small_data",
    *(fast(panel) for panel in GROWING),
    Criterion(
        name="share of seeds whose validation loss turns up, GPT, the whole text",
        clause="b",
        panel=GPT,
        observe=TurnRate(arm="text_all"),
        **below(0.25, refuted=0.5, unit="share"),
        says="On a text that it does not see twice, the validation loss of the GPT turns up in {estimate} of the seeds",
    ),
    note="TODO",
    if_supported="TODO",
    if_refuted="TODO",
)

VAL_TURNS = judgement(
    "fit.val_turns",
    *(
        Criterion(
            name=f"share of seeds whose validation loss turns up, {panel}, small data",
            clause="a",
            panel=panel,
            observe=TurnRate(arm=min(GROWING[panel].items())[1]),
            **above(0.5, refuted=0.5, unit="share"),
            says=f"{panel}: with small data the validation loss turns up in {{estimate}} of the seeds",
        )
        for panel in GROWING
    ),
    Criterion(
        name="share of seeds whose validation loss turns up, GPT, the whole text",
        clause="b",
        panel=GPT,
        observe=TurnRate(arm="text_all"),
        **below(0.5, refuted=0.5, unit="share"),
        says="GPT: with the whole text it does in {estimate}",
    ),
    reported={
        f"test error at the end minus that at the turn, {panel}": (
            Gap(left=StoppedLoss(arm=arm, at="end", of="test_error"), right=StoppedLoss(arm=arm, of="test_error")),
            "share",
        )
        for panel, (arm, _) in STOPPED.items()
    },
    if_supported="TODO",
    if_refuted="TODO",
)


def train_minus_val(arm: str, of: str = "train_loss") -> Gap:
    window = {"first": 0.4, "last": 0.6}
    return Gap(left=Curve(arm=arm, of=of, **window), right=Curve(arm=arm, of="evaluation_loss", **window))


CAUSES = {"dropout of 0.5": "dropped_all", "shifted images": "shifted_all", "noise in the training labels": "noisy_1079"}

TRAIN_ABOVE_VAL = judgement(
    "fit.train_above_val",
    *(
        exceeds(
            f"training loss minus validation loss half-way, {cause}",
            train_minus_val(arm),
            f"With {cause}, the training loss is {{higher}} than the validation loss",
            by=0.02,
            panel=cause,
            unit="nats",
        )
        for cause, arm in CAUSES.items()
    ),
    reported={
        "the same without any of these": (train_minus_val("clean_1079"), "nats"),
        **{
            f"{cause}, the same training examples in eval mode": (train_minus_val(arm, "evaluation_training_loss"), "nats")
            for cause, arm in CAUSES.items()
        },
    },
    if_supported="TODO",
    if_refuted="TODO",
)


def keeps_the_best(panel: str) -> tuple[Criterion, Criterion]:
    arm, few = STOPPED[panel]
    end, stop = StoppedLoss(arm=arm, at="end"), StoppedLoss(arm=arm)
    return (
        exceeds(
            f"test loss at the end minus that at the lowest validation loss, {panel}",
            LossGap(left=end, right=stop),
            f"{panel}: going on to the end {{costs}} of the loss reduction",
            clause="a",
            panel=panel,
        ),
        exceeds(
            f"what a small validation set costs, {panel}",
            LossGap(left=StoppedLoss(arm=few), right=stop),
            f"{panel}: chosen by few examples, it {{costs}} of the loss reduction more than chosen by many",
            clause="b",
            panel=panel,
        ),
    )


EARLY_STOPPING = judgement(
    "fit.early_stopping",
    *(criterion for panel in STOPPED for criterion in keeps_the_best(panel)),
    reported={
        f"test loss at the lowest validation loss minus the lowest of the run, {panel}": (
            LossGap(left=StoppedLoss(arm=arm), right=StoppedLoss(arm=arm, at="lowest_test")),
            "relative",
        )
        for panel, (arm, _) in STOPPED.items()
    },
    if_supported="TODO",
    if_refuted="TODO",
)


def better_than_lr(labels: str) -> tuple[Criterion, ...]:
    panel, lower = LABELS[labels], TunedLoss(arm=f"{labels}_lower_lr")
    stopped = StoppedLoss(arm=f"{labels}_{MIDDLE}")
    levers = {
        "a": ("dropout", TunedLoss(arm=f"{labels}_dropout", over="dropout")),
        "b": ("weight decay", TunedLoss(arm=f"{labels}_decay", over="weight_decay")),
        "c": ("early stopping", stopped),
        "d": ("shifted images", FinalLoss(arm=f"{labels}_shift")),
    }
    return tuple(
        exceeds(
            f"test loss of a lower LR minus that of {lever}, {panel}",
            LossGap(left=lower, right=loss),
            f"{panel}: {lever} ends {{lower}} than a lower LR",
            by=0.01,
            margin=0.005,
            clause=clause,
            panel=panel,
        )
        for clause, (lever, loss) in levers.items()
    )


NOT_THE_LEVER = judgement(
    "fit.lr_is_not_the_lever",
    *(criterion for labels in LABELS for criterion in better_than_lr(labels)),
    if_supported="TODO",
    if_refuted="TODO",
)

STUDY = Study(
    name="overfitting",
    version=1,
    title="Overfitting",
    question="When does a network overfit, does its validation loss show it, and what helps?",
    workload=Workload(model="mlp", dataset="digits", width=128, depth=2),
    training=Training(
        optimizer="adamw",
        peak_lr=LR,
        weight_decay=0.0,
        schedule="constant",
        warmup_fraction=0.0,
        batch_size=32,
        steps=2000,
        sampling="epochs",
    ),
    measurement=Measurement(
        probes=2,
        evaluations=100,
        evaluation_examples=359,
        final_examples=359,
        training_examples=270,
        test_examples=359,
        curve_points=50,
    ),
    arms={
        **sized("clean"),
        **sized("noisy"),
        "dropped_all": Arm(label="dropout of 0.5", panel=LABELS["clean"], settings={"dropout": 0.5}),
        "shifted_all": Arm(label="shifted images, all examples", panel=LABELS["clean"], settings={"augmentation": "shift"}),
        **TEXTS,
        "text_all": text(None),
        f"text_{TOKENS[1]}_few": text(TOKENS[1], FEW_SEQUENCES),
    },
    factors=peak_lrs(-10),
    seeds=16,
    first_seed=990_000,
    scales={
        "smoke": scales.smoke(training={"steps": 12}, measurement={"evaluations": 6, "evaluation_examples": 8}),
        "laptop": scales.laptop("about five minutes of training", "MLPs of 26,000 parameters on up to 1,079 digits."),
    },
    departures=("TODO",),
    answer=("fit.small_data",),
    judgements=(SMALL_DATA, VAL_TURNS, TRAIN_ABOVE_VAL, EARLY_STOPPING, NOT_THE_LEVER),
)
