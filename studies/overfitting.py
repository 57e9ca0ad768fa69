"""When does a network overfit, does its validation loss show it, and what helps?"""

from collections.abc import Iterator
from typing import Any

from .kit import *
from .metrics.overfitting import stopped_loss, turn_rate, turning_step

LR, GPT_LR = 2.0**-10, 2.0**-7

study = Draft(
    __file__,
    DIGITS_MLP
    | dict(width=128, optimizer="adamw", peak_lr=LR, schedule="constant", warmup_fraction=0.0, weight_decay=0.0)
    | dict(batch_size=32, steps=1600, sampling="epochs")
    | dict(evaluations=80, evaluation_examples=359, final_examples=359, training_examples=128, test_examples=359)
    | dict(probes=2, curve_points=50),
    version=5,
    factors={"peak_lr": (LR,)},
    search=Search(low=LR / 64, high=LR, rounds=3, proposals=3, seeds=2, first_seed=96_500),
    seeds=12,
    first_seed=96_000,
    answer=("fit.val_turns", "fit.early_stopping", "fit.lr_is_not_the_lever"),
)


# Arms, with tables of them for the claims.

# Panel -> amount of data, the least first -> arm.
GROWING: dict[str, dict[int, str]] = {}
# Panel -> the arm, and the same with few validation examples.
STOPPED: dict[str, tuple[str, str]] = {}
# Where a run overfits so that its test loss shows it: panel -> what names of its arms begin with, and the arm without a lever.
OVERFIT: dict[str, tuple[str, str]] = {}


def levers(run: str, arm: str, panel: str, lr: float, settings: dict[str, Any], **slower: Any) -> None:
    """A run that overfits at a quarter of the LR, at which its validation loss turns four times later, and with what Optuna
    tunes, each lever in a range of its own."""
    OVERFIT[panel] = (run, arm)
    study.arm(
        f"{run}_lower_lr", "a quarter of the LR", panel, settings | slower, reference=True, factors={"peak_lr": (lr / 4,)}
    )
    for lever, label, search in (
        ("dropout", "dropout", Range(factor="dropout", low=0.0, high=0.9, linear=True)),
        ("decay", "weight decay", Range(factor="weight_decay", low=2.0**-2, high=2.0**5)),
    ):
        study.arm(f"{run}_{lever}", label, panel, settings, searched=True, search=search, factors={"peak_lr": (lr,)})


CLEAN, NOISY, GPT = "MLP, clean labels", "MLP, a fifth of the labels random", "GPT"
# Trained on clean labels, the test loss shows overfitting on the least data alone.
for run, panel, overfit, noise in (("clean", CLEAN, 67, {}), ("noisy", NOISY, 270, {"label_noise": 0.2})):
    mlps = {size: noise | {"training_set_size": size} for size in (67, 270, 1079)}
    GROWING[panel] = {
        size: study.arm(f"{run}_{size}", f"{size:,} examples", panel, mlp, reference=size == 270) for size, mlp in mlps.items()
    }
    for size in (270, 1079):
        label = f"{size:,} examples, 16 to validate"
        few = study.arm(f"{run}_{size}_few", label, panel, mlps[size], evaluation_examples=16)
        STOPPED[f"{panel}, {size:,} examples"] = (GROWING[panel][size], few)
    levered = f"{panel}, {overfit} examples"
    stopped = mlps[overfit] | {"training_examples": 0}
    levers(run, GROWING[panel][overfit], levered, LR, stopped)
    study.arm(f"{run}_shift", "shifted images", levered, stopped, augmentation="shift")

study.arm("dropped_all", "dropout of 0.5", CLEAN, dropout=0.5)
study.arm("shifted_all", "shifted images, all examples", CLEAN, augmentation="shift")

TEXT = (
    dict(model="gpt", dataset="python-docs", width=32, depth=2, context=32)
    | dict(batch_size=8, steps=320)
    | dict(evaluations=20, evaluation_examples=128, final_examples=128, training_examples=32, test_examples=128)
)


def text(name: str, label: str, tokens: int | None, **settings: Any) -> str:
    """A GPT on this many tokens, the first ones, or on all of them, of which it then sees a part once."""
    return study.arm(name, label, GPT, TEXT | settings, training_set_size=tokens, factors={"peak_lr": (GPT_LR,)})


GROWING[GPT] = {tokens: text(f"text_{tokens}", f"{tokens:,} tokens", tokens) for tokens in (1_000, 2_000, 4_000)}
WHOLE_TEXT = text("text_all", "the whole text", None)
FEW = text("text_2000_few", "2,000 tokens, 4 sequences to validate", 2_000, evaluation_examples=4)
STOPPED["GPT, 2,000 tokens"] = ("text_2000", FEW)
FEW_TOKENS = TEXT | {"training_set_size": 2_000, "training_examples": 0}
levers("text", "text_2000", "GPT, 2,000 tokens", GPT_LR, FEW_TOKENS, steps=640, evaluations=40)
TEXTS = tuple(name for name in study.arms if name.startswith("text"))

study.smoke(
    dict(steps=12, evaluations=6, evaluation_examples=8, training_examples=8, test_examples=8),
    arm_settings={TEXTS: dict(steps=6, evaluations=6, width=8, depth=1)},
    search={"rounds": 1, "proposals": 2, "seeds": 1},
)
study.laptop("about three minutes of training")
study.gpu(
    "one GPU, a few minutes: MLPs of 0.3M parameters, GPTs of 0.8M",
    width=512,
    arm_settings={TEXTS: dict(width=128, depth=4, heads=4)},
)
study.cluster(
    "a GPU of a cluster, half an hour: MLPs of 4M parameters, GPTs of 6M",
    width=2048,
    arm_settings={TEXTS: dict(width=256, depth=8, heads=8)},
)


# Claims.

WHOLE_TEXT_TURNS = at_most(
    0.5,
    turn_rate(arm=WHOLE_TEXT),
    "share of seeds whose validation loss turns up, GPT, the whole text",
    "GPT on a text of which it sees a part once: the validation loss turns up in {estimate} of the seeds",
    clause="b",
    panel=GPT,
    alternatives={"if it ends 1% of its fall above its lowest": turn_rate(arm=WHOLE_TEXT, by=0.01)},
)


@study.claim("fit.small_data")
def turns_sooner_on_less_data() -> Iterator[Part]:
    for panel, arms in GROWING.items():
        yield at_least(
            0.25,
            Slope(points=tuple((size, turning_step(arm=arm)) for size, arm in arms.items())),
            f"exponent of the step of the lowest validation loss on the amount of data, {panel}",
            f"{panel}: the step of the lowest validation loss grows as (number of examples)^{{estimate}}",
            refuted=0.0,
            null=0.0,
            margin=0.1,
            clause="a",
            panel=panel,
        )
    yield WHOLE_TEXT_TURNS
    for panel, arms in GROWING.items():
        for size in (min(arms), max(arms)):
            name = f"step of the lowest validation loss, {panel}, {size:,}"
            yield reported(turning_step(arm=arms[size]), name, unit="steps")


@study.claim("fit.val_turns")
def validation_loss_turns() -> Iterator[Part]:
    for panel, arms in GROWING.items():
        yield at_least(
            0.5,
            turn_rate(arm=arms[min(arms)]),
            f"share of seeds whose validation loss turns up, {panel}, the least data",
            f"{panel}, the least data: the validation loss turns up in {{estimate}} of the seeds",
            clause="a",
            panel=panel,
        )
    yield WHOLE_TEXT_TURNS
    for panel in (CLEAN, NOISY):
        yield reported(turn_rate(arm=GROWING[panel][1079]), f"the same with all 1,079 examples, {panel}")
    for panel, (arm, _) in STOPPED.items():
        gap = stopped_loss(arm=arm, at="end", of="test_error") - stopped_loss(arm=arm, of="test_error")
        yield reported(gap, f"test error at the end minus that where the validation loss is lowest, {panel}")


def train_above_validation(arm: str, of: str = "train_loss", first: float = 0.1, last: float = 0.2) -> Observed:
    """Training loss less validation loss, in nats, before an MLP has learnt its examples by heart; of fixed training examples
    in eval mode, or of the batches trained on."""
    return Curve(arm=arm, of=of, first=first, last=last) - Curve(arm=arm, of="evaluation_loss", first=first, last=last)


@study.claim("fit.train_above_val")
def training_loss_is_higher() -> Iterator[Part]:
    causes = {"dropout of 0.5": "dropped_all", "shifted images": "shifted_all", "an easier validation set": "noisy_1079"}
    half_way = {cause: train_above_validation(arm, first=0.4, last=0.6) for cause, arm in causes.items()}
    for cause, arm in causes.items():
        yield exceeds(
            train_above_validation(arm),
            f"training loss minus validation loss, {cause}",
            f"With {cause}, the training loss is {{higher}} than the validation loss",
            by=0.02,
            panel=cause,
            unit="nats",
            alternatives={"half-way through the run": half_way[cause]},
        )
    yield reported(train_above_validation("clean_1079"), "the same without any of these", unit="nats")
    for cause, arm in causes.items():
        in_eval_mode = train_above_validation(arm, "evaluation_training_loss")
        name = f"loss of fixed training examples in eval mode minus validation loss, {cause}"
        yield reported(in_eval_mode, name, unit="nats")
    for cause, gap in half_way.items():
        yield reported(gap, f"training loss minus validation loss half-way, {cause}", unit="nats")


def lost_by_the_end(arm: str, panel: str, says: str, **options: Any) -> Criterion:
    """That the test loss is higher at the end than where the validation loss is lowest."""
    gap = LossGap(left=stopped_loss(arm=arm, at="end"), right=stopped_loss(arm=arm))
    name = f"test loss at the end minus that at the lowest validation loss, {panel}"
    return exceeds(gap, name, f"{panel}: {says}", panel=panel, **options)


@study.claim("fit.early_stopping")
def keeps_the_best() -> Iterator[Part]:
    for panel, (arm, few) in STOPPED.items():
        costs = "the last model {costs} of the loss reduction compared with the one of the lowest validation loss"
        yield lost_by_the_end(arm, panel, costs, clause="a")
        yield exceeds(
            LossGap(left=stopped_loss(arm=few), right=stopped_loss(arm=arm)),
            f"test loss at the lowest validation loss of few examples minus that of many, {panel}",
            f"{panel}: chosen by few validation examples, the best model {{costs}} of the loss reduction,"
            " compared with choosing by all of them",
            clause="b",
            panel=panel,
        )
    for panel, (arm, _) in STOPPED.items():
        gap = LossGap(left=stopped_loss(arm=arm), right=stopped_loss(arm=arm, at="lowest_test"))
        yield reported(gap, f"test loss at the lowest validation loss minus the lowest of the run, {panel}")


@study.claim("fit.lr_is_not_the_lever")
def others_beat_a_lower_lr() -> Iterator[Part]:
    """Each where its validation loss is lowest: what a lever does beyond stopping there."""
    for panel, (run, arm) in OVERFIT.items():
        says = "without any lever, overfitting {costs} of the loss reduction"
        yield lost_by_the_end(arm, panel, says, by=0.02, precondition=True)
        levered = {"dropout": f"{run}_dropout", "weight decay": f"{run}_decay", "early stopping alone": arm}
        if run != "text":
            levered["shifting images"] = f"{run}_shift"
        for clause, (lever, other) in zip("abcd", levered.items(), strict=False):
            yield at_least(
                0.0,
                stopped_loss(arm=f"{run}_lower_lr") - stopped_loss(arm=other),
                f"test loss of a quarter of the LR minus that of {lever}, both at the lowest validation loss, {panel}",
                f"{panel}: stopped at its lowest validation loss, a quarter of the LR ends {{higher}} than {lever}",
                null=0.0,
                clause=clause,
                panel=panel,
                unit="nats",
            )
    for panel, (run, arm) in OVERFIT.items():
        times = turning_step(arm=f"{run}_lower_lr") / turning_step(arm=arm)
        yield reported(times, f"step of the lowest validation loss at a quarter of the LR, over that at the usual one, {panel}")


STUDY = study.declared()
