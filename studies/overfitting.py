"""When does a network overfit, does its validation loss show it, and what helps?"""

from typing import Any

from folklore.harness.metrics import Curve, FinalLoss, Gap, LossGap, Slope, StoppedLoss, TunedLoss, TurningStep, TurnRate
from folklore.harness.spec import Arm, Criterion, Measurement, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import above, below, exceeds, judgement, peak_lrs

SIZES = (67, 135, 270, 540, 1079)
TOKENS = (2_000, 4_000, 8_000)
NOISE = 0.2
LR = 2.0**-10
# Arms by labels: clean ones begin with the first word, noisy ones with the second.
LABELS = {"clean": "MLP, clean labels", "noisy": "MLP, a fifth of the labels random"}
GPT = "GPT"
# Where training losses are read beside validation losses: before an MLP has learnt its examples by heart.
EARLY, HALF_WAY = {"first": 0.1, "last": 0.2}, {"first": 0.4, "last": 0.6}
MIDDLE = 270
# Where a run overfits so that its test loss shows it: with clean labels only the least data.
OVERFIT = {"clean": SIZES[0], "noisy": MIDDLE}
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
LEVER = {"evaluations": 2, "training_examples": 0, "test_examples": 0}
# Lever -> its factor and values, as many of each; the LR goes down from that of all other arms.
LEVERS = {
    "lower_lr": ("peak_lr", tuple(LR / 2**octaves for octaves in range(6))),
    "decay": ("weight_decay", tuple(2.0**exponent for exponent in range(-1, 5))),
    "dropout": ("dropout", (0.4, 0.6, 0.7, 0.8, 0.9, 0.95)),
}
LEVER_LABELS = {"lower_lr": "lower LR", "decay": "weight decay", "dropout": "dropout"}


def noisy(labels: str) -> dict[str, float]:
    return {"label_noise": NOISE} if labels == "noisy" else {}


def sized(labels: str) -> dict[str, Arm]:
    """Arms by the size of the training set, one of them also with few validation examples, and the middle one's levers."""
    panel, settings = LABELS[labels], noisy(labels)
    lever_settings = {**settings, **LEVER, "training_set_size": OVERFIT[labels]}
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
        f"{labels}_{lever}": Arm(label=LEVER_LABELS[lever], panel=panel, settings=lever_settings, factors={factor: values})
        for lever, (factor, values) in LEVERS.items()
    }
    shift = Arm(label="shifted images", panel=panel, settings={**lever_settings, "augmentation": "shift"})
    return {**arms, **few, **levers, f"{labels}_shift": shift}


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


TEXTS = {f"text_{tokens}": text(tokens) for tokens in TOKENS}
TEXT_ARMS = (*TEXTS, "text_all", f"text_{TOKENS[1]}_few")
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
    return Criterion(
        name=f"exponent of the step of the lowest validation loss on the amount of data, {panel}",
        clause="a",
        panel=panel,
        observe=Slope(points=tuple((float(size), TurningStep(arm=arm)) for size, arm in GROWING[panel].items())),
        **above(0.25, refuted=0.0, null=0.0, margin=0.1),
        says=f"{panel}: the step of the lowest validation loss grows as data^{{estimate}}",
    )


def whole_text_turns(clause: str) -> Criterion:
    return Criterion(
        name="share of seeds whose validation loss turns up, GPT, the whole text",
        clause=clause,
        panel=GPT,
        observe=TurnRate(arm="text_all"),
        **below(0.5, unit="share"),
        says="GPT on a text of which it sees a part once: the validation loss turns up in {estimate} of the seeds",
        alternatives={"if it ends 1% of its fall above its lowest": TurnRate(arm="text_all", by=0.01)},
    )


SMALL_DATA = judgement(
    "fit.small_data",
    *(fast(panel) for panel in GROWING),
    whole_text_turns("b"),
    reported={
        f"step of the lowest validation loss, {panel}, {size:,}": (TurningStep(arm=arm), "steps")
        for panel, arms in GROWING.items()
        for size, arm in list(arms.items())[:: len(arms) - 1]
    },
    note=(
        "Batch size, LR and steps are the same for every amount of data. An exponent of 1 means that a network overfits after"
        " as many epochs whatever the amount, 0 that the data do not matter. Smaller sets are the first part of larger ones."
    ),
    if_supported="Plan for epochs, not steps: with a tenth of the data, look for the turn several times earlier.",
    if_partly="Expect small data to overfit earlier, and watch the validation loss on large ones, too.",
    if_refuted="Do not expect overfitting to come sooner with less data.",
)

VAL_TURNS = judgement(
    "fit.val_turns",
    *(
        Criterion(
            name=f"share of seeds whose validation loss turns up, {panel}, the least data",
            clause="a",
            panel=panel,
            observe=TurnRate(arm=next(iter(arms.values()))),
            **above(0.5, unit="share"),
            says=f"{panel}, the least data: the validation loss turns up in {{estimate}} of the seeds",
        )
        for panel, arms in GROWING.items()
    ),
    whole_text_turns("b"),
    reported={
        **{
            f"the same with all 1,079 examples, {panel}": (TurnRate(arm=f"{labels}_{SIZES[-1]}"), "share")
            for labels, panel in LABELS.items()
        },
        **{
            f"test error at the end minus that where the validation loss is lowest, {panel}": (
                Gap(left=StoppedLoss(arm=arm, at="end", of="test_error"), right=StoppedLoss(arm=arm, of="test_error")),
                "share",
            )
            for panel, (arm, _) in STOPPED.items()
        },
    },
    note=(
        "A loss turns up that ends at least 2% of its fall above its lowest while the training loss goes on falling. Whether"
        " the error turns with the loss is reported: where labels are clean it need not."
    ),
    if_supported="Take a validation loss that rises as training falls for overfitting; look at the error before you stop.",
    if_refuted="Do not wait for the validation loss to rise.",
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
    note=(
        "Read from a tenth to a fifth of the run, on all 1,079 examples. In eval mode, where nothing is dropped or shifted, the"
        " same training examples show whether the cause is what it is said to be. The validation set is easier where a fifth of"
        " the training labels are random and its own are not. No model here has batch norm, the fourth cause."
    ),
    if_supported="Before you worry about a training loss above validation, evaluate some training examples in eval mode.",
    if_refuted="Look for a fault where the training loss lies above validation.",
)


def keeps_the_best(panel: str) -> tuple[Criterion, Criterion]:
    arm, few = STOPPED[panel]
    stopped = StoppedLoss(arm=arm)
    return (
        exceeds(
            f"test loss at the end minus that at the lowest validation loss, {panel}",
            LossGap(left=StoppedLoss(arm=arm, at="end"), right=stopped),
            f"{panel}: the last model {{costs}} of the loss reduction compared with the one of the lowest validation loss",
            clause="a",
            panel=panel,
        ),
        exceeds(
            f"test loss at the lowest validation loss of few examples minus that of many, {panel}",
            LossGap(left=StoppedLoss(arm=few), right=stopped),
            f"{panel}: chosen by few validation examples, the best model {{costs}} of the loss reduction",
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
    note=(
        "Few are 16 of 359 validation digits, or 4 of 128 sequences; the runs are the same. Seeds differ in their start and"
        " order, not in their data: with 359 test digits, what is due to this split cannot be told from what stopping does."
    ),
    if_supported="Keep the checkpoint of the lowest validation loss, choose it by hundreds of examples, and keep the last one.",
    if_partly="Keep both: the checkpoint of the lowest validation loss is better where labels are noisy or data few.",
    if_refuted="Keep the last checkpoint.",
)


def better_than_lower_lr(labels: str) -> tuple[Criterion, ...]:
    """That the run overfits, and then each lever against a lower LR."""
    arm, panel = f"{labels}_{OVERFIT[labels]}", f"{LABELS[labels]}, {OVERFIT[labels]} examples"
    stopped = StoppedLoss(arm=arm)
    levers = {
        "dropout": TunedLoss(arm=f"{labels}_dropout", over="dropout"),
        "weight decay": TunedLoss(arm=f"{labels}_decay", over="weight_decay"),
        "early stopping": stopped,
        "shifting images": FinalLoss(arm=f"{labels}_shift"),
    }
    overfits = exceeds(
        f"test loss at the end minus that at the lowest validation loss, {panel}",
        LossGap(left=StoppedLoss(arm=arm, at="end"), right=stopped),
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
                LossGap(left=TunedLoss(arm=f"{labels}_lower_lr"), right=loss),
                f"{panel}: a lower LR {{costs}} of the loss reduction compared with {lever}",
                by=0.01,
                margin=0.005,
                clause=clause,
                panel=panel,
            )
            for clause, (lever, loss) in zip("abcd", levers.items(), strict=True)
        ),
    )


NOT_THE_LEVER = judgement(
    "fit.lr_is_not_the_lever",
    *(criterion for labels in LABELS for criterion in better_than_lower_lr(labels)),
    reported={
        f"test error of a lower LR minus that of dropout, {LABELS[labels]}": (
            Gap(
                left=TunedLoss(arm=f"{labels}_lower_lr", of="test_error"),
                right=TunedLoss(arm=f"{labels}_dropout", over="dropout", of="test_error"),
            ),
            "share",
        )
        for labels in LABELS
    },
    note=(
        "The LR, dropout and weight decay are each tuned on six values by validation loss, all else as it was; early stopping"
        " takes one run, and images are shifted by up to a pixel of eight, which is not tuned: both could only gain. Version 1"
        " had 270 clean examples, with which the test loss does not rise and no lever is needed."
    ),
    if_supported="Against overfitting, regularize, augment or stop early before you touch the LR.",
    if_partly="Try several levers, the LR among them: which one helps depends on why the run overfits.",
    if_refuted="Stop early or lower the LR: it costs one run. Other levers help on some runs and hurt on others, so try them.",
)

STUDY = Study(
    name="overfitting",
    version=3,
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
    seeds=14,
    first_seed=71_200,
    scales={
        "smoke": scales.smoke(
            training={"steps": 12},
            measurement={"evaluations": 6, "evaluation_examples": 8, "training_examples": 8, "test_examples": 8},
            arm_settings={arm: {"steps": 6, "evaluations": 6, "width": 8, "depth": 1} for arm in TEXT_ARMS},
        ),
        "laptop": scales.laptop(
            "about five minutes of training",
            "MLPs of 26,000 parameters on up to 1,079 digits, GPTs of 33,000 on up to 200,000 tokens.",
        ),
        "gpu": scales.gpu(
            "one GPU, a few minutes: MLPs of 0.3M parameters, GPTs of 0.8M",
            workload={"width": 512},
            arm_settings={arm: {"width": 128, "depth": 4, "heads": 4} for arm in TEXT_ARMS},
        ),
        "cluster": scales.gpu(
            "a GPU of a cluster, half an hour: MLPs of 4M parameters, GPTs of 6M",
            workload={"width": 2048},
            arm_settings={arm: {"width": 256, "depth": 8, "heads": 8} for arm in TEXT_ARMS},
        ),
    },
    departures=(
        "All runs have a constant LR and no warmup; AdamW decays nothing where decay is not the lever.",
        "A fifth of the training labels are random in one half of the MLPs: validation and test labels are all true.",
        "The documents' overfitting is of large models over epochs; here small ones see an example up to a thousand times.",
    ),
    answer=("fit.val_turns", "fit.early_stopping", "fit.lr_is_not_the_lever"),
    judgements=(SMALL_DATA, VAL_TURNS, TRAIN_ABOVE_VAL, EARLY_STOPPING, NOT_THE_LEVER),
    published=(
        Published(
            claim="fit.val_turns",
            finding="Networks overfit their loss, but not their error: the first rises while the second still falls.",
            source="Guo et al. 2017, On Calibration of Modern Neural Networks, section 3",
            link="https://arxiv.org/abs/1706.04599",
        ),
        Published(
            claim="fit.early_stopping",
            finding=(
                "Validation curves have several local minima; slower stopping criteria gain 4% in error and take four times as"
                " long."
            ),
            source="Prechelt 1998, Early Stopping - But When?",
            link="https://doi.org/10.1007/3-540-49430-8_3",
        ),
        Published(
            claim="fit.lr_is_not_the_lever",
            finding="Dropout gains nothing with 100 or 500 training digits, most with some thousands, and then less again.",
            source="Srivastava et al. 2014, Dropout, section 7.4",
            link="https://jmlr.org/papers/v15/srivastava14a.html",
        ),
    ),
)
