"""How do you see that an LR is too low, right or too high, and is the LR the most important hyperparameter?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .kit import *
from .metrics.lr_regimes import mean_distance, norm_diagnosis

WARMUP = 0.05

study = Draft(
    __file__,
    SMALL_GPT
    | dict(schedule="cosine", warmup_fraction=WARMUP, steps=400)
    | dict(probes=40, evaluations=20, evaluation_examples=64, final_examples=256, curve_points=40),
    version=5,  # why each version: reports/log
    factors=peak_lrs(-6),
    seeds=16,
    first_seed=98_000,
    answer=("lr.sharp", "lr.most_important", "adam.lr_tolerance"),
)


@dataclass(frozen=True)
class Setup:
    """A network with an optimizer: a panel of arms, whose names begin with its own.

    best, too_high: from a pilot on other seeds, the best LR and the first that loses a tenth of the loss reduction. Curves are
    read at declared LRs: the best of a flat basin jumps between neighbours from one resample to the next, and next to a cliff a
    multiple of it behaves differently.
    """

    name: str
    panel: str
    settings: dict[str, Any]
    best: float
    too_high: float
    grid: tuple[float, ...]

    def __str__(self) -> str:
        return self.panel

    def add(self, variant: str, label: str, *lrs: float, factors: Any = None, **options: Any) -> None:
        """An arm with something changed, at the best LR unless others are given."""
        varied = {"peak_lr": lrs or (self.best,), **(factors or {})}
        study.arm(self.arm(variant), label, self.panel, self.settings, factors=varied, **options)

    def arm(self, variant: str) -> str:
        return f"{self.name}_{variant}" if variant else self.name

    @property
    def batch_sizes(self) -> list[int]:
        """Those that the usual one is changed to."""
        return [round(size) for size in changed(self.settings["batch_size"])]

    def loss_at(self, lr: float, variant: str = "") -> LossAt:
        return LossAt(arm=self.arm(variant), value=lr)

    def mean(self, curve: str, lr: float, variant: str = "", **window: float) -> Curve:
        return Curve(arm=self.arm(variant), of=curve, value=lr, **window)

    def share_of_fall(self, left: Any, right: Any) -> LossGap:
        return LossGap(left=left, right=right, best_of=(self.name,))


def changed(value: float) -> tuple[float, ...]:
    """Divided and multiplied by two and by ten."""
    return (value / 10, value / 2, 2 * value, 10 * value)


MLP = DIGITS_MLP | dict(batch_size=32, steps=256)
GPT = dict(model="gpt", dataset="python-docs", width=16, depth=1, context=16, batch_size=16, steps=400)
# The usual decay of each: AdamW's is multiplied by the LR, SGD's L2 by SGD's much larger LR.
SGD = dict(optimizer="sgd", weight_decay=5e-4)
ADAM = dict(optimizer="adamw", weight_decay=0.1)
# Half octaves where the basins end and the best LRs lie, finer around the cliff of the GPT with SGD.
MLP_SGD_GRID = (2.0**-12, 2.0**-11, *log2_grid(-9, 1))
MLP_ADAM_GRID = (2.0**-13, 2.0**-12, *log2_grid(-11, 0))
GPT_SGD_GRID = (2.0**-9, 2.0**-8, 2.0**-5.5, *log2_grid(-5, -1), 2.0**-0.5, 2.0**-0.25, *log2_grid(0, 1))
GPT_ADAM_GRID = (2.0**-13, 2.0**-12, 2.0**-9.5, *log2_grid(-9, -3), 2.0**-2, *log2_grid(2, 5, 1))
MLP_SGD = Setup("mlp_sgd", "MLP with SGD", {**MLP, **SGD}, 2.0**-4.5, 2.0**-2, MLP_SGD_GRID)
MLP_ADAM = Setup("mlp_adam", "MLP with AdamW", {**MLP, **ADAM}, 2.0**-6, 2.0**-2, MLP_ADAM_GRID)
GPT_SGD = Setup("gpt_sgd", "GPT with SGD", {**GPT, **SGD}, 2.0**-2, 2.0**0, GPT_SGD_GRID)
GPT_ADAM = Setup("gpt_adam", "GPT with AdamW", {**GPT, **ADAM}, 2.0**-6, 2.0**-3, GPT_ADAM_GRID)
SETUPS = (MLP_SGD, MLP_ADAM, GPT_SGD, GPT_ADAM)
MLPS, SGDS = (MLP_SGD, MLP_ADAM), (MLP_SGD, GPT_SGD)
# All but the GPT with SGD, which diverges at every LR that is too high.
THAT_TRAIN = (MLP_SGD, MLP_ADAM, GPT_ADAM)


# Arms.


# From half of too_high of both MLPs to twice as much.
HIGH = log2_grid(-3, -1)
# One minus the momentum is divided and multiplied, as of beta2.
MOMENTA = (0.0, 0.8, 0.95, 0.99)
SPELLED = {"weight_decay": "weight decay", "beta2": "β2", "warmup_fraction": "warmup", "clip_norm": "clipping norm"}


def changes(setup: Setup) -> dict[str, tuple[float, ...]]:
    """Hyperparameter -> its changed values; without LR, momentum and batch size."""
    values = dict(weight_decay=setup.settings["weight_decay"], warmup_fraction=WARMUP, clip_norm=1.0)
    beta2 = {} if setup in SGDS else {"beta2": (0.99, 0.998, 0.9995, 0.9999)}
    return {name: changed(value) for name, value in values.items()} | beta2


for setup in SETUPS:
    batch_size, steps = setup.settings["batch_size"], setup.settings["steps"]
    setup.add("", "cosine", *setup.grid, reference=True)
    setup.add("constant", "constant LR", schedule="constant", evaluations=100)
    setup.add(
        "slow",
        "a tenth of the constant LR, three times the steps",
        setup.best / 10,
        schedule="constant",
        steps=3 * steps,
        warmup_fraction=WARMUP / 3,  # the same number of steps
        evaluations=300,
    )
    matrix = "hidden.1.weight" if setup in MLPS else "blocks.0.attention.qkv.weight"
    setup.add("stuck", "one matrix at a hundredth of the LR", scaled_parameter=matrix, scaled_lr=0.01)
    setup.add("wild", "one matrix at thirty times the LR", scaled_parameter=matrix, scaled_lr=30.0)
    # Where no gradient norm is read, two probes: they only cost time.
    setup.add("best", "the best LR", probes=2)
    setup.add("quarter", "a quarter of it", setup.best / 4, probes=2)
    if setup in MLPS:
        # Their losses are flat, for known causes.
        setup.add("deep", "ten sigmoid layers", depth=10, activation="sigmoid")
        setup.add("tiny", "a thousandth of the LR", setup.best / 1000)
        setup.add("tiny_tanh", "a thousandth of the LR, tanh", setup.best / 1000, activation="tanh")
        setup.add("high", "constant LR, too high", *HIGH, schedule="constant")
        setup.add("high_tanh", "constant LR, too high, tanh", *HIGH, schedule="constant", activation="tanh")
    setup.add("lr", "LR changed", *sorted((setup.best, *changed(setup.best))), probes=2)
    for factor, values in changes(setup).items():
        setup.add(factor, f"{SPELLED[factor]} changed", factors={factor: values}, probes=2)
    # At equal examples, at the same LR and at that of the optimizer's scaling rule.
    for variant, words, exponent in (("batch", "", 0.0), ("batch_along", ", its LR along", 1.0 if setup in SGDS else 0.5)):
        for size in setup.batch_sizes:
            resized = dict(batch_size=size, steps=round(batch_size * steps / size), probes=2)
            setup.add(f"{variant}_{size}", f"batch {size}{words}", setup.best * (size / batch_size) ** exponent, **resized)
    if setup in SGDS:
        # LR / (1 - momentum) stays: momentum would else act as one more LR.
        for value in MOMENTA:
            setup.add(f"momentum_{value:g}", f"momentum {value:g}", setup.best * (1 - value) / 0.1, momentum=value, probes=2)


def arms(setup: Setup, *variants: str) -> tuple[str, ...]:
    return tuple(setup.arm(variant) for variant in variants)


study.smoke(
    dict(probes=4, evaluation_examples=8, final_examples=16),
    arm_settings={
        tuple(study.arms): {"steps": 40},
        tuple(setup.arm("slow") for setup in SETUPS): {"steps": 400},
    },
)
study.laptop(
    "four minutes of training",
    seeds=8,
    # Where 8 are too few: for what redraws from version 4 decide as all of its seeds did.
    arm_seeds={
        **{arms(setup, "", "constant", "slow"): 16 for setup in SETUPS},
        **{
            arms(setup, "lr", *(f"batch_{size}" for size in setup.batch_sizes)): seeds
            for setup, seeds in zip(SETUPS, (100, 50, 12, 28), strict=True)
        },
        **{arms(setup, "best", "quarter"): seeds for setup, seeds in zip(MLPS, (56, 100), strict=True)},
        **{arms(setup, "deep", "tiny", "tiny_tanh", "high", "high_tanh"): 20 for setup in MLPS},
        "mlp_adam_weight_decay": 12,
    },
)
GPT_ARMS = tuple(name for name in study.arms if name.startswith("gpt"))
study.gpu(
    "one GPU, at most five minutes: GPTs of 0.1M parameters on Python's standard library",
    dict(precision="tf32"),
    arm_settings={GPT_ARMS: GPU_GPT | dict(width=64, depth=2, heads=2)},
    seeds=8,
)
study.cluster(
    "many GPUs, an hour: GPTs of 3.6M parameters on web text",
    dict(precision="tf32"),
    arm_settings={GPT_ARMS: CLUSTER_GPT | dict(width=256, depth=4, heads=4, context=128)},
    seeds=8,
)


# Claims.


# While the LR is near its peak.
EARLY = dict(first=0.1, last=0.6)


@study.claim("lr.sharp", quantifier="most")
def good_turns_bad() -> Iterator[Part]:
    for setup in SETUPS:
        half, good = (MaxTrainable(arm=setup.name, within=share, of="fall") for share in (0.5, 0.05))
        yield at_most(
            3.0,
            half / good,
            f"LR that loses half of the loss reduction over the last within 5% of it, {setup}",
            f"The {setup} loses half of the loss reduction at {{estimate}} the last LR within 5% of its best",
            panel=setup.panel,
            clause="a",
        )
        at_three_times = LossAt(arm=setup.name, tuned_for=setup.name, times=3.0, window_octaves=2.0)
        yield at_least(
            0.25,
            LossGap(left=at_three_times, right=TunedLoss(arm=setup.name)),
            f"share of the loss reduction lost at three times the best LR, {setup}",
            f"At three times its best LR, the {setup} loses {{estimate}} of the loss reduction",
            panel=setup.panel,
            clause="b",
            refuted=0.05,
            null=0.0,
            margin=0.05,
            unit="share",
        )
        yield reported(
            FailureRate(arm=setup.name, tuned_for=setup.name, times=4.0),
            f"share of runs that diverge at four times the best LR, {setup}",
        )


def lost_below(setup: Setup, times: float) -> LossGap:
    """What the best LR divided by `times` loses at equal steps."""
    return LossGap(left=setup.loss_at(setup.best / times), right=setup.loss_at(setup.best))


def slower(setup: Setup, share: float) -> Observed:
    """Steps to a share of the loss reduction at a tenth of the LR over those at the LR."""
    constant = setup.arm("constant")
    many, few = (StepsToTarget(arm=arm, anchor=constant, share=share) for arm in (setup.arm("slow"), constant))
    return many / few


@study.claim("lr.too_low")
def slow() -> Iterator[Part]:
    for setup in SETUPS:
        yield at_least(
            3.0,
            slower(setup, 0.8),
            f"steps to 80% of the loss reduction at a tenth of the LR over those at it, {setup}",
            f"At a tenth of its best LR, the {setup} needs {{estimate}} the steps for 80% of the loss reduction",
            panel=setup.panel,
            clause="a",
            refuted=1.5,
            null=1.0,
            margin=1.5,
            alternatives={"to half of the loss reduction": slower(setup, 0.5)},
        )
        yield at_least(
            0.05,
            lost_below(setup, 10),
            f"share of the loss reduction lost at a tenth of the LR in as many steps, {setup}",
            f"At a tenth of its best LR and equal steps, the {setup} loses {{estimate}} of the loss reduction",
            panel=setup.panel,
            clause="b",
            refuted=0.01,
            null=0.0,
            margin=0.01,
            unit="share",
        )
        lost = f"share of the loss reduction lost at a hundredth of the LR, equal steps, {setup}"
        yield reported(lost_below(setup, 100), lost, "share")


def rises(setup: Setup, lr: float, variant: str = "") -> Curve:
    """Rises by 1% of the loss reduction: a loss that has come down fluctuates by less."""
    return Curve(arm=setup.arm(variant), of="evaluation_loss", statistic="rises", value=lr, by=0.025, **EARLY)


@study.claim("lr.too_high")
def bounces() -> Iterator[Part]:
    for setup in THAT_TRAIN:
        yield at_least(
            0.1,
            rises(setup, setup.too_high) - rises(setup, setup.best),
            f"share of evaluations at which the loss rises, too high an LR less the best, {setup}",
            f"On the {setup}, the share of evaluations at which the loss rises is {{higher}} at too high an LR than at the best",
            panel=setup.panel,
            clause="a",
            refuted=0.0,
            null=0.0,
            margin=0.05,
        )
    for setup in THAT_TRAIN:
        norm = setup.mean("probe_gradient_norm", setup.too_high, **EARLY)
        yield at_least(
            2.0,
            norm / setup.mean("probe_gradient_norm", setup.best, **EARLY),
            f"gradient norm, too high an LR over the best, {setup}",
            f"On the {setup}, too high an LR has {{estimate}} the gradient norm of the best one",
            panel=setup.panel,
            clause="b",
            refuted=1.0,
            null=1.0,
            margin=1.2,
            alternatives={
                "over what it is at the first step": norm / setup.mean("probe_gradient_norm", setup.too_high, last=0.005)
            },
        )
    for setup in SETUPS:
        diverging = FailureRate(arm=setup.name, tuned_for=setup.name, times=16.0)
        yield reported(diverging, f"share of runs that diverge at sixteen times the best LR, {setup}")
    for setup in THAT_TRAIN:
        high, best = (setup.mean("train_loss_swing", lr, **EARLY) for lr in (setup.too_high, setup.best))
        yield reported(high / best, f"batch-to-batch swings of the loss, too high an LR over the best, {setup}")


@study.claim("lr.norm_falls")
def norm_falls() -> Iterator[Part]:
    for setup in SETUPS:
        cosine, constant = (
            Curve(arm=arm, of="probe_gradient_norm", statistic="slope", value=setup.best, first=0.1)
            for arm in arms(setup, "", "constant")
        )
        yield at_most(
            -0.1,
            cosine,
            f"exponent of the gradient norm on the step at the best LR, {setup}",
            f"The gradient norm of the {setup} scales as step^{{estimate}}",
            panel=setup.panel,
            refuted=0.0,
            null=0.0,
            margin=0.1,
            alternatives={"at a constant LR": constant},
        )
        yield reported(constant, f"the same at a constant LR, {setup}")


def apart(setup: Setup, variant: str = "") -> Observed:
    """Largest over smallest update ratio of a run's matrices."""
    ends = ("probe_matrix_update_ratio_most", "probe_matrix_update_ratio_least")
    most, least = (setup.mean(curve, setup.best, variant, first=0.25, last=0.75) for curve in ends)
    return most / least


@study.claim("lr.layers_differ")
def layers_differ() -> Iterator[Part]:
    for setup in SETUPS:
        for clause, variant, times in (("a", "stuck", "a hundredth of"), ("b", "wild", "thirty times")):
            yield no_worse(
                setup.share_of_fall(FinalLoss(arm=setup.arm(variant)), setup.loss_at(setup.best)),
                f"share of the loss reduction lost with one matrix at {times} the LR, {setup}",
                f"On the {setup}, one matrix at {times} the LR {{costs}} of the loss reduction",
                panel=setup.panel,
                clause=clause,
                margin=0.05,
                unit="share",
            )
        yield at_least(
            10.0,
            apart(setup, "stuck") / apart(setup),
            f"spread of the matrices' update ratios with one stuck over that without, {setup}",
            f"On the {setup}, a stuck matrix makes the spread of update ratios {{estimate}} as wide",
            panel=setup.panel,
            refuted=3.0,
            precondition=True,
        )
    for variant, name in (
        ("", "largest over smallest update ratio of a healthy run's matrices"),
        ("wild", "the same with one matrix at thirty times the LR"),
    ):
        for setup in SETUPS:
            yield reported(apart(setup, variant), f"{name}, {setup}")


def train_loss(setup: Setup, first: float, variant: str = "") -> Curve:
    """The mean over a tenth of the run."""
    return setup.mean("train_loss", setup.best, variant, first=first, last=first + 0.1)


def bend(setup: Setup, shares: tuple[float, ...], variant: str = "") -> LossGap:
    """How far the loss lies below the mean of its neighbours: half the difference between its falls before and after."""
    before, there, after = (train_loss(setup, share, variant) for share in shares)
    return setup.share_of_fall(Mean(parts=(before, after)), there)


# The end of warmup, then equal distances to the end.
THIRDS = (0.05, 0.325, 0.6, 0.875)


@study.claim("lr.phases")
def phases() -> Iterator[Part]:
    for setup in SETUPS:
        yield at_most(
            0.5,
            setup.share_of_fall(train_loss(setup, 0.15), train_loss(setup, THIRDS[-1])),
            f"share of the loss reduction that is left a tenth of the run after warmup, {setup}",
            f"A tenth of the run after warmup, {{estimate}} of the loss reduction of the {setup} is left",
            panel=setup.panel,
            clause="a",
            refuted=0.7,
            unit="share",
        )
        for clause, thirds, shares, by in (
            ("b", "first third after warmup to the second", THIRDS[:3], 0.01),
            ("c", "second third after warmup to the last", THIRDS[1:], 0.005),
        ):
            yield exceeds(
                bend(setup, shares),
                f"bend of the training loss from the {thirds}, {setup}",
                f"The curve of the {setup} flattens from the {thirds} by {{estimate}} of the loss reduction",
                by=by,
                panel=setup.panel,
                clause=clause,
                unit="share",
                alternatives={"at a constant LR": bend(setup, shares, "constant")},
            )
        validation = LossAfter(arm=setup.arm("constant"), share=0.5)
        yield no_worse(
            setup.share_of_fall(validation, train_loss(setup, 0.45, "constant")),
            f"validation loss above training loss half way, {setup}",
            f"Halfway, the validation loss of the {setup} is {{higher}} than its training loss, as a share of the loss reduction",
            panel=setup.panel,
            clause="d",
            margin=0.1,
            unit="share",
        )


def diagnosis(setup: Setup, **options: Any) -> Any:
    """Against a healthy run that is trained on as many seeds as the flat ones.

    The two cuts are those that told the causes best in a pilot on seeds 992,200 to 992,239, both MLPs together.
    """
    healthy = dict(healthy=setup.arm("lr"), healthy_value=setup.best)
    return norm_diagnosis(**healthy, vanishing_below=0.3, large_above=0.96, **options)


@study.claim("lr.grad_not_loss", right={"supported": "vanishing"})
def norm_tells_why() -> Iterator[Part]:
    for setup in MLPS:
        high = tuple((arm, lr) for arm in arms(setup, "high", "high_tanh") for lr in HIGH)
        tiny = tuple((arm, setup.best / 1000) for arm in arms(setup, "tiny", "tiny_tanh"))
        # Which of the runs at a high LR are dead and which swing is told by the loss.
        causes = {
            "whose gradients vanish": {"vanishing": ((setup.arm("deep"), setup.best),)},
            "that too large an LR has killed": {"dead": high},
            "whose LR is too small": {"too_small": tiny},
            "that swing at too large an LR": {"too_large": high},
        }
        runs = {cause: runs for of_cause in causes.values() for cause, runs in of_cause.items()}
        yield at_least(
            0.9,
            diagnosis(setup, swing=0.1, **runs),
            f"balanced accuracy of what the gradient norm tells of flat losses, {setup}",
            f"On the {setup}, the gradient norm identifies why a loss is flat with a balanced accuracy of {{estimate}};"
            " guessing has 33%",
            panel=setup.panel,
            refuted=0.6,
            null=1 / 3,
            margin=0.1,
            alternatives={"a loss that swings by 5%": diagnosis(setup, swing=0.05, **runs)},
        )
        for words, of_cause in causes.items():
            yield reported(diagnosis(setup, swing=0.1, **of_cause), f"identified, of runs {words}, {setup}")
    for setup in MLPS:
        exploded = diagnosis(setup, too_large=((setup.arm("high_tanh"), HIGH[-1]),))
        yield reported(exploded, f"with a norm above the upper cut, of tanh runs whose loss has exploded, {setup}")


@study.claim("lr.smooth", right={"supported": "smooth", "refuted": "spikes"})
def smooth() -> Iterator[Part]:
    for setup in SETUPS:
        at_best = rises(setup, setup.best, "best")
        yield no_worse(
            at_best - rises(setup, setup.best / 4, "quarter"),
            f"share of rises at the best LR less that at a quarter of it, {setup}",
            f"On the {setup}, the share of evaluations at which the loss rises is {{higher}} at the best LR than at a quarter of"
            " it",
            panel=setup.panel,
            margin=0.1,
        )
        yield reported(at_best, f"share of rises at the best LR, {setup}", "share")
    for setup in SETUPS:
        for words, lr in {"a quarter of the": setup.best / 4, "the": setup.best}.items():
            spikes = setup.mean("train_loss_spikes", lr, first=0.2)
            yield reported(spikes, f"spikes per step at {words} best LR, {setup}", "share")


def of_lr_over(setup: Setup, losses: Iterable[Observed]) -> Observed:
    """How far changes of the LR move the loss, over how far those of another hyperparameter do. losses: after the latter."""
    unchanged = setup.loss_at(setup.best, "lr")
    of_lr = mean_distance(parts=tuple(setup.loss_at(lr, "lr") for lr in changed(setup.best)), origin=unchanged)
    return of_lr / mean_distance(parts=tuple(losses), origin=unchanged)


def lr_moves_more(setup: Setup, other: str, losses: Iterable[Observed]) -> Criterion:
    return at_least(
        1.1,
        of_lr_over(setup, losses),
        f"what changes of the LR do over what those of {other} do, {setup}",
        f"Changes of the LR move the loss of the {setup} {{estimate}} as far as those of {other}",
        panel=setup.panel,
        refuted=1.0,
        null=1.0,
        margin=1.1,
    )


@study.claim("lr.most_important", quantifier="most")
def most_important() -> Iterator[Part]:
    def final(setup: Setup, variant: str, values: Iterable[float]) -> list[Observed]:
        return [FinalLoss(arm=setup.arm(f"{variant}_{value:g}")) for value in values]

    for setup in SETUPS:
        for factor, values in changes(setup).items():
            losses = [LossAt(arm=setup.arm(factor), over=factor, value=value) for value in values]
            yield lr_moves_more(setup, SPELLED[factor], losses)
    for setup in SETUPS:
        yield lr_moves_more(setup, "batch size", final(setup, "batch", setup.batch_sizes))
        along = of_lr_over(setup, final(setup, "batch_along", setup.batch_sizes))
        yield reported(along, f"what changes of the LR do over what those of batch size do with the LR along, {setup}")
    for setup in SGDS:
        yield lr_moves_more(setup, "momentum", final(setup, "momentum", MOMENTA))


def basin(setup: Setup, *best_of: Setup, within: float = 0.05) -> BasinWidth:
    return BasinWidth(arm=setup.name, of="fall", within=within, best_of=tuple(other.name for other in best_of))


@study.claim("adam.lr_tolerance")
def adam_tolerates() -> Iterator[Part]:
    pairs = {"MLP": (MLP_SGD, MLP_ADAM), "GPT": (GPT_SGD, GPT_ADAM)}
    for model, (sgd, adam) in pairs.items():
        # Below one bar: above the lower of their lowest losses.
        wider, at_10 = (basin(adam, sgd, adam, within=within) / basin(sgd, sgd, adam, within=within) for within in (0.05, 0.1))
        yield at_least(
            2.0,
            wider,
            f"octaves within 5% of the loss reduction to the lower loss of both, AdamW over SGD, {model}",
            f"On the {model}, AdamW's basin of good LRs is {{estimate}} as wide as SGD's, in octaves",
            panel=model,
            refuted=1.0,
            null=1.0,
            margin=1.1,
            alternatives={"each within 5% of its own best": basin(adam) / basin(sgd), "within 10%": at_10},
        )
    for setup in SETUPS:
        yield reported(basin(setup), f"octaves within 5% of the loss reduction to its own best, {setup}")
    for pair in pairs.values():
        for setup in pair:
            yield reported(basin(setup, *pair), f"octaves within 5% of the loss reduction to the lower loss of both, {setup}")


STUDY = study.declared()
