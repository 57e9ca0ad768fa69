"""Do small batches generalize better, do large ones find sharper minima, and do flat minima generalize better?"""

from typing import Any

from folklore.harness.metrics import Gap, LossAt, LossGap, SharpnessAtLoss, SharpnessCorrelation, TunedLoss
from folklore.harness.spec import Arm, Criterion, Measurement, Published, Study, Training, Workload
from folklore.studies import scales
from folklore.studies.shorthand import above, exceeds, judgement, lr_grid, peak_lrs, predicted

SMALL, LARGE = 16, 256
# The examples of 15 epochs; the large batch also with the steps of the small one.
SMALL_STEPS = 1024
LARGE_STEPS = SMALL_STEPS * SMALL // LARGE
CNN_STEPS = 512
CNN_LARGE_STEPS = CNN_STEPS * SMALL // LARGE
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
    "CNN": {"model": "cnn", "width": 8, "depth": 2},
}
MLP_ARMS, CNN_ARMS = ("small", "large_epochs", "large_updates"), ("cnn_small", "cnn_large")
SMOKE = {"probes": 2, "sharpness_examples": 32}
EPOCHS, UPDATES = "tuned LRs, 15 epochs of both", "tuned LRs, equal updates (243 epochs against 15)"
CNN_EPOCHS = "CNN, tuned LRs, equal epochs"
# Panel -> arms with the large and the small batch.
COMPARED = {
    EPOCHS: ("large_epochs", "small"),
    UPDATES: ("large_updates", "small"),
    CNN_EPOCHS: ("cnn_large", "cnn_small"),
}
# Spreads of a pilot.
EXPECTED = {
    EPOCHS: predicted(0.0, "Shallue et al. 2019, section 4.8: no difference out of sample", spread=0.0117),
    UPDATES: predicted(0.0, "Hoffer et al. 2017, section 5: nothing is left of the gap", spread=0.0106),
}
UNDERPOWERED = "60 seeds would show that there is no gap; 16 show a gap of 1.5% of the loss reduction"


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
    return {**{arm: {"width": mlp} for arm in MLP_ARMS}, **{arm: {"width": cnn} for arm in CNN_ARMS}}


def gap(large: str, small: str, lr: float | None = None, of: Any = None, kind: Any = LossGap) -> Any:
    """How much higher the loss with the large batch is, at an LR or each at its best; kind: LossGap or Gap."""
    left, right = (TunedLoss(arm=arm, of=of) if lr is None else LossAt(arm=arm, value=lr, of=of) for arm in (large, small))
    return kind(left=left, right=right)


def generalizes_worse(panel: str) -> tuple[Criterion, Criterion]:
    """Loss and error of unseen examples."""
    where, scales = f"{panel[0].upper()}{panel[1:]}", LARGER if panel == CNN_EPOCHS else None
    loss = exceeds(
        f"test loss of batch 256, less that of batch 16, of the loss reduction, {panel}",
        gap(*COMPARED[panel]),
        f"{where}: batch 256 {{costs}} of the loss reduction compared with batch 16",
        by=0.01,
        margin=0.005,
        clause="a",
        panel=panel,
        expected=EXPECTED.get(panel),
        underpowered=UNDERPOWERED if panel in EXPECTED else "",
        scales=scales,
    )
    error = Criterion(
        name=f"test error of batch 256, less that of batch 16, {panel}",
        clause="b",
        panel=panel,
        observe=gap(*COMPARED[panel], of="test_error", kind=Gap),
        says=f"{where}: the test error of batch 256 is {{higher}}",
        **above(0.005, refuted=0.0, null=0.0, unit="share"),
        scales=scales,
    )
    return loss, error


def sharper(large: str, lr: float | None, small_lr: float | None = ONE_LR, level: float | None = None) -> Any:
    """Sharpness over that of the small batch, each at an LR or tuned; without a level, at the end of training."""
    return SharpnessAtLoss(arm=large, level=level, value=lr) / SharpnessAtLoss(arm="small", level=level, value=small_lr)


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


def correlation(level: float | None = None, ends: tuple[float, float] | None = FIT, **options: Any) -> SharpnessCorrelation:
    return SharpnessCorrelation(**{"arms": MLP_ARMS, "level": level, "ends": ends, "least_share": 0.2, **options})


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
        "test loss of batch 256 minus that of batch 16, of the loss reduction, one LR, equal updates (243 epochs against 15)": (
            gap("large_updates", "small", ONE_LR),
            "relative",
        ),
        "training loss of batch 256 minus that of batch 16, tuned LRs, equal updates": (
            gap("large_updates", "small", of="final_training_loss", kind=Gap),
            "nats",
        ),
        "training loss of batch 256 minus that of batch 16, tuned LRs, 15 epochs": (
            gap("large_epochs", "small", of="final_training_loss", kind=Gap),
            "nats",
        ),
    },
    note=(
        "'Some cases' means at least one of these comparisons, in loss and in error. With 359 test digits and 16 seeds, a"
        " difference in error under about a point cannot be seen. At equal updates batch 256 sees each example 243 times,"
        " and a fifth of the labels are wrong: what it costs there is as much an effect of epochs as of the batch. At one LR"
        " this is only reported, and at one LR and equal epochs batch 256 is undertrained."
    ),
    if_supported="Expect a generalization gap if you enlarge the batch: tune the LR again, and stop earlier.",
    if_partly="Tune the LR for every batch size; then expect a small gap at most.",
    if_refuted="Choose the batch size by time and memory, and tune the LR for it.",
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
    note=(
        "Sharpness is the largest eigenvalue of the Hessian of the training loss. 'Small ones with suitable noise' means a"
        " small batch at its own best LR. Version 1 read runs where their training loss first reached 0.8 nats, which is an"
        " alternative. Version 2 tuned LRs anew under each resample, and could not tell 0.8x from 1.6x."
    ),
    if_supported="Expect sharper minima from larger batches at any LR.",
    if_partly="Raise the LR with the batch: large batches find sharp minima if their LR is too low.",
    if_refuted="Do not attribute sharp minima to the batch size.",
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
    note=(
        "Over batch sizes and LRs, both read at the end of training, where the LR has decayed to zero. Runs that end above 0.8"
        " nats have not learnt the true labels and are at no minimum. The second part compares runs that fit equally well. The"
        " thresholds 0.3 and 0.1 are ours. One architecture only: between architectures sharpness depends on the scale of the"
        " weights (Dinh et al. 2017)."
    ),
    if_supported="Of runs that fit equally well, prefer the flatter one.",
    if_partly="Flatter runs tend to be better, but loosely so among runs that fit equally well: compare validation losses.",
    if_refuted="Do not choose runs by their sharpness.",
)

STUDY = Study(
    name="generalization",
    version=3,
    title="Batch size and generalization",
    question="Do small batches generalize better, do large ones find sharper minima, and do flat minima generalize better?",
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
        "cnn_small": image_arm("CNN", "batch 16", SMALL, CNN_STEPS, lr_grid(-7, -1)),
        "cnn_large": image_arm("CNN", "batch 256, equal epochs", LARGE, CNN_LARGE_STEPS, lr_grid(-4, 2)),
    },
    factors={"peak_lr": (ONE_LR,)},
    seeds=16,
    first_seed=43_100,
    scales={
        "smoke": scales.smoke(
            measurement={"sharpness_examples": 64, "evaluations": 4, "probes": 2},
            arm_settings={
                **{arm: {**SMOKE, "steps": 16, "batch_size": 8} for arm in ("small", "cnn_small")},
                **{arm: {**SMOKE, "steps": 8, "batch_size": 16} for arm in ("large_epochs", "large_updates")},
            },
        ),
        "laptop": scales.laptop("about five minutes of training", "MLPs of 9,000 parameters on 1,079 digits."),
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
    departures=(
        "A fifth of the training labels are random: on clean digits all these settings generalize equally well.",
        "SGD with momentum 0.9 and cosine decay to zero, no weight decay; batches are drawn without replacement.",
        "LRs are tuned by validation loss on a grid of half octaves around the best, and judged by test loss.",
        "Sharpness is measured on the same 540 training examples for all runs, at up to 16 steps of each.",
    ),
    answer=("gen.small_batch", "gen.sharper", "gen.flat_minima"),
    judgements=(SMALL_BATCH, SHARPER, FLAT_MINIMA),
    published=(
        Published(
            claim="gen.small_batch",
            finding=(
                "Large batches lose up to 5 points of test accuracy at the LR of small ones; with equal updates and a larger LR"
                " the gap vanishes."
            ),
            source="Hoffer et al. 2017, Train longer, generalize better",
            link="https://arxiv.org/abs/1705.08741",
        ),
        Published(
            claim="gen.small_batch",
            finding="With hyperparameters tuned at every batch size, larger batches are no worse out of sample.",
            source="Shallue et al. 2019, Measuring the Effects of Data Parallelism",
            link="https://arxiv.org/abs/1811.03600",
        ),
        Published(
            claim="gen.flat_minima",
            finding=(
                "Over many trained networks, measures of sharpness are among those that predict generalization best, and norms"
                " of weights among the worst."
            ),
            source="Jiang et al. 2020, Fantastic Generalization Measures",
            link="https://arxiv.org/abs/1912.02178",
        ),
        Published(
            claim="gen.flat_minima",
            finding="In modern settings sharpness correlates poorly or negatively with generalization, but with the LR.",
            source="Andriushchenko et al. 2023, A Modern Look at the Relationship between Sharpness and Generalization",
            link="https://arxiv.org/abs/2302.07011",
        ),
    ),
)
