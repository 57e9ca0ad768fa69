"""How do you see that an LR is too low, right or too high, and is the LR the most important hyperparameter?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
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
    answer=("lr.most_important", "lr.sharp", "adam.lr_tolerance"),
)


def changed(value: float) -> tuple[float, ...]:
    """Divided and multiplied by two and by ten."""
    return (value / 10, value / 2, 2 * value, 10 * value)


@dataclass(frozen=True)
class Setup:
    """A network with an optimizer: a panel of arms, whose names begin with its own.

    best, too_high: a pilot's best LR, and the first that loses a tenth of the loss reduction. Curves are read at declared LRs:
    the best of a flat basin jumps between neighbours from resample to resample, and its multiples may cross a cliff.
    """

    name: str
    panel: str
    settings: dict[str, Any]
    grid: tuple[float, ...]
    best: float
    too_high: float

    def __str__(self) -> str:
        return self.panel

    def add(self, variant: str, label: str, *lrs: float, factors: Any = None, **options: Any) -> None:
        """An arm with something changed, at the best LR unless others are given."""
        varied = {"peak_lr": lrs or (self.best,), **(factors or {})}
        study.arm(self.arm(variant), label, self.panel, self.settings, factors=varied, **options)

    def arm(self, variant: str) -> str:
        return f"{self.name}_{variant}" if variant else self.name

    def arms(self, *variants: str) -> tuple[str, ...]:
        return tuple(map(self.arm, variants))

    def batches(self, variant: str = "batch") -> list[str]:
        return [f"{variant}_{round(size)}" for size in changed(self.settings["batch_size"])]

    def loss_at(self, value: float, variant: str = "", over: str = "peak_lr") -> Observed:
        return LossAt(arm=self.arm(variant), value=value, over=over)

    def final_losses(self, *variants: str) -> list[Observed]:
        return [FinalLoss(arm=arm) for arm in self.arms(*variants)]

    def curve(self, of: str, lr: float, variant: str = "", **options: Any) -> Curve:
        return Curve(arm=self.arm(variant), of=of, value=lr, **options)

    def rises(self, lr: float, variant: str = "") -> Curve:
        """Rises by 1% of the loss reduction: a loss that has come down fluctuates by less."""
        return self.curve("evaluation_loss", lr, variant, statistic="rises", by=0.025, **NEAR_PEAK)

    def train_loss(self, first: float, variant: str = "") -> Curve:
        """The mean over a tenth of the run."""
        return self.curve("train_loss", self.best, variant, first=first, last=first + 0.1)

    def share_of_fall(self, left: Any, right: Any) -> LossGap:
        return LossGap(left=left, right=right, best_of=(self.name,))


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
MLP_SGD = Setup("mlp_sgd", "MLP with SGD", MLP | SGD, MLP_SGD_GRID, best=2.0**-4.5, too_high=2.0**-2)
MLP_ADAM = Setup("mlp_adam", "MLP with AdamW", MLP | ADAM, MLP_ADAM_GRID, best=2.0**-6, too_high=2.0**-2)
GPT_SGD = Setup("gpt_sgd", "GPT with SGD", GPT | SGD, GPT_SGD_GRID, best=2.0**-2, too_high=2.0**0)
GPT_ADAM = Setup("gpt_adam", "GPT with AdamW", GPT | ADAM, GPT_ADAM_GRID, best=2.0**-6, too_high=2.0**-3)
SETUPS = (MLP_SGD, MLP_ADAM, GPT_SGD, GPT_ADAM)
MLPS, SGDS = (MLP_SGD, MLP_ADAM), (MLP_SGD, GPT_SGD)
THAT_TRAIN = (MLP_SGD, MLP_ADAM, GPT_ADAM)  # the GPT with SGD diverges at every LR that is too high

HIGH = log2_grid(-3, -1)  # from half of too_high of both MLPs to twice as much
# What is changed besides LR, batch size and momentum. Of beta2 it is 1 - beta2 that changes: 0.99 is ten times 0.999.
SGD_CHANGES = {"weight_decay": changed(5e-4), "warmup_fraction": changed(WARMUP), "clip_norm": changed(1.0)}
ADAM_CHANGES = SGD_CHANGES | {"weight_decay": changed(0.1), "beta2": (0.99, 0.998, 0.9995, 0.9999)}
SPELLED = {"weight_decay": "weight decay", "warmup_fraction": "warmup", "clip_norm": "clipping norm", "beta2": "β2"}
MOMENTA = (0.0, 0.8, 0.95, 0.99)  # it is 1 - momentum that changes

for setup in SETUPS:
    batch_size, steps = setup.settings["batch_size"], setup.settings["steps"]
    setup.add("", "cosine", *setup.grid, reference=True)
    setup.add("constant", "constant LR", schedule="constant", evaluations=100)
    # The same number of warmup steps.
    longer = dict(steps=3 * steps, warmup_fraction=WARMUP / 3, schedule="constant", evaluations=300)
    setup.add("slow", "a tenth of the constant LR, three times the steps", setup.best / 10, **longer)
    matrix = "hidden.1.weight" if setup in MLPS else "blocks.0.attention.qkv.weight"
    setup.add("stuck", "one matrix at a hundredth of the LR", scaled_parameter=matrix, scaled_lr=0.01)
    setup.add("wild", "one matrix at thirty times the LR", scaled_parameter=matrix, scaled_lr=30.0)
    # Two probes where no gradient norm is read: they only cost time.
    setup.add("best", "the best LR", probes=2)
    setup.add("quarter", "a quarter of it", setup.best / 4, probes=2)
    if setup in MLPS:  # flat losses, for known causes
        setup.add("deep", "ten sigmoid layers", depth=10, activation="sigmoid")
        setup.add("tiny", "a thousandth of the LR", setup.best / 1000)
        setup.add("tiny_tanh", "a thousandth of the LR, tanh", setup.best / 1000, activation="tanh")
        setup.add("high", "constant LR, too high", *HIGH, schedule="constant")
        setup.add("high_tanh", "constant LR, too high, tanh", *HIGH, schedule="constant", activation="tanh")
    setup.add("lr", "LR changed", *sorted((setup.best, *changed(setup.best))), probes=2)
    for factor, values in (SGD_CHANGES if setup in SGDS else ADAM_CHANGES).items():
        setup.add(factor, f"{SPELLED[factor]} changed", factors={factor: values}, probes=2)
    # At equal examples, and an LR that stays or follows the optimizer's scaling rule.
    for variant, words, exponent in (("batch", "", 0.0), ("batch_along", ", its LR along", 1.0 if setup in SGDS else 0.5)):
        for size in map(round, changed(batch_size)):
            resized = dict(batch_size=size, steps=round(batch_size * steps / size), probes=2)
            setup.add(f"{variant}_{size}", f"batch {size}{words}", setup.best * (size / batch_size) ** exponent, **resized)
    if setup in SGDS:  # LR / (1 - momentum) stays: momentum would else act as one more LR
        for value in MOMENTA:
            setup.add(f"momentum_{value:g}", f"momentum {value:g}", setup.best * (1 - value) / 0.1, momentum=value, probes=2)

study.smoke(
    dict(probes=4, evaluation_examples=8, final_examples=16),
    arm_settings={tuple(study.arms): {"steps": 40}, tuple(setup.arm("slow") for setup in SETUPS): {"steps": 400}},
)
study.laptop(
    "four minutes of training",
    seeds=8,
    # Where 8 are too few: for what redraws from version 4 decide as all of its seeds did.
    arm_seeds={
        **{setup.arms("", "constant", "slow"): 16 for setup in SETUPS},
        **{setup.arms("lr", *setup.batches()): seeds for setup, seeds in zip(SETUPS, (100, 50, 12, 28), strict=True)},
        **{setup.arms("best", "quarter"): seeds for setup, seeds in zip(MLPS, (56, 100), strict=True)},
        **{setup.arms("deep", "tiny", "tiny_tanh", "high", "high_tanh"): 20 for setup in MLPS},
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

NEAR_PEAK: Settings = {"first": 0.1, "last": 0.6}  # most of the run, while the LR is near its peak
THIRDS = (0.05, 0.325, 0.6, 0.875)  # the end of warmup, then equal distances to the end
NORM = "probe_gradient_norm"
RISING = "share of evaluations at which the loss rises"


def claim(claim_id: str, **options: Any) -> Callable[[Callable[[], Iterator[Part]]], Any]:
    """Adds a claim with what a function yields, on the panels of the arms that this reads."""

    def on_its_panel(part: Part) -> Part:
        panel = study.arms[min(arms_of(part.observe))].panel
        named = part.model_copy(update={"name": f"{part.name}, {panel}"})
        return named.model_copy(update={"panel": panel}) if isinstance(part, Criterion) else named

    return lambda parts: study.claim(claim_id, *map(on_its_panel, parts()), **options)


@claim("lr.sharp", quantifier="most")
def good_turns_bad() -> Iterator[Part]:
    for setup in SETUPS:
        half, good = (MaxTrainable(arm=setup.name, within=share, of="fall") for share in (0.5, 0.05))
        name = "LR that loses half of the loss reduction over the last within 5% of it"
        says = (
            f"On the {setup}, the LR that loses half of the loss reduction is {{estimate}} the largest LR that loses at most 5%"
        )
        yield at_most(3.0, half / good, name, says, clause="a")
        at_three_times = LossAt(arm=setup.name, tuned_for=setup.name, times=3.0, window_octaves=2.0)
        lost = LossGap(left=at_three_times, right=TunedLoss(arm=setup.name))
        name = "share of the loss reduction lost at three times the best LR"
        says = f"At three times its best LR, the {setup} loses {{estimate}} of the loss reduction"
        yield at_least(0.25, lost, name, says, refuted=0.05, null=0.0, margin=0.05, clause="b", unit="share")
        diverging = FailureRate(arm=setup.name, tuned_for=setup.name, times=4.0)
        yield reported(diverging, "share of runs that diverge at four times the best LR")


@claim("lr.too_low")
def learns_slowly() -> Iterator[Part]:
    for setup in SETUPS:
        constant, slow = setup.arms("constant", "slow")
        to_80, to_50 = (
            StepsToTarget(arm=slow, anchor=constant, share=share) / StepsToTarget(arm=constant, anchor=constant, share=share)
            for share in (0.8, 0.5)
        )
        name = "steps to 80% of the loss reduction at a tenth of the LR over those at it"
        says = f"At a tenth of its best LR, the {setup} needs {{estimate}} the steps for 80% of the loss reduction"
        readings = {"to half of the loss reduction": to_50}
        yield at_least(3.0, to_80, name, says, refuted=1.5, null=1.0, margin=1.5, clause="a", alternatives=readings)
        best = setup.loss_at(setup.best)
        tenth, hundredth = (LossGap(left=setup.loss_at(setup.best / times), right=best) for times in (10, 100))
        name = "share of the loss reduction lost at a tenth of the LR in as many steps"
        says = f"At a tenth of its best LR and equal steps, the {setup} loses {{estimate}} of the loss reduction"
        yield at_least(0.05, tenth, name, says, refuted=0.01, null=0.0, margin=0.01, clause="b", unit="share")
        yield reported(hundredth, "share of the loss reduction lost at a hundredth of the LR, equal steps", "share")


@claim("lr.too_high")
def bounces() -> Iterator[Part]:
    for setup in SETUPS:
        diverging = FailureRate(arm=setup.name, tuned_for=setup.name, times=16.0)
        yield reported(diverging, "share of runs that diverge at sixteen times the best LR")
    for setup in THAT_TRAIN:
        name = f"{RISING}, too high an LR less the best"
        says = f"On the {setup}, the {RISING} is {{higher}} at too high an LR than at the best"
        more = setup.rises(setup.too_high) - setup.rises(setup.best)
        yield exceeds(more, name, says, by=0.1, margin=0.05, clause="a", unit="")
    for setup in THAT_TRAIN:
        norm = setup.curve(NORM, setup.too_high, **NEAR_PEAK)
        over_best = norm / setup.curve(NORM, setup.best, **NEAR_PEAK)
        name = "gradient norm, too high an LR over the best"
        says = f"On the {setup}, too high an LR has {{estimate}} the gradient norm of the best one"
        readings = {"over what it is at the first step": norm / setup.curve(NORM, setup.too_high, last=0.005)}
        yield at_least(2.0, over_best, name, says, refuted=1.0, null=1.0, margin=1.2, clause="b", alternatives=readings)
        high, best = (setup.curve("train_loss_swing", lr, **NEAR_PEAK) for lr in (setup.too_high, setup.best))
        yield reported(high / best, "batch-to-batch swings of the loss, too high an LR over the best")


@claim("lr.norm_falls")
def norm_falls() -> Iterator[Part]:
    for setup in SETUPS:
        cosine, constant = (setup.curve(NORM, setup.best, arm, statistic="slope", first=0.1) for arm in ("", "constant"))
        name = "exponent of the gradient norm on the step at the best LR"
        says = f"The gradient norm of the {setup} scales as step^{{estimate}}"
        yield at_most(-0.1, cosine, name, says, refuted=0.0, null=0.0, margin=0.1, alternatives={"at a constant LR": constant})
        yield reported(constant, "the same at a constant LR")


def apart(setup: Setup, variant: str = "") -> Observed:
    """Largest over smallest update ratio of a run's matrices."""
    ends = ("probe_matrix_update_ratio_most", "probe_matrix_update_ratio_least")
    most, least = (setup.curve(curve, setup.best, variant, first=0.25, last=0.75) for curve in ends)
    return most / least


@claim("lr.layers_differ")
def layers_differ() -> Iterator[Part]:
    for setup in SETUPS:
        for clause, variant, times in (("a", "stuck", "a hundredth of"), ("b", "wild", "thirty times")):
            lost = setup.share_of_fall(FinalLoss(arm=setup.arm(variant)), setup.loss_at(setup.best))
            name = f"share of the loss reduction lost with one matrix at {times} the LR"
            says = f"On the {setup}, one matrix at {times} the LR {{costs}} of the loss reduction"
            yield no_worse(lost, name, says, margin=0.05, clause=clause, unit="share")
        name = "spread of the matrices' update ratios with one stuck over that without"
        says = f"On the {setup}, a stuck matrix makes the spread of update ratios {{estimate}} as wide"
        yield at_least(10.0, apart(setup, "stuck") / apart(setup), name, says, refuted=3.0, precondition=True)
        yield reported(apart(setup), "largest over smallest update ratio of a healthy run's matrices")
    for setup in SETUPS:
        yield reported(apart(setup, "wild"), "the same with one matrix at thirty times the LR")


def bend(setup: Setup, third: int, variant: str = "") -> LossGap:
    """How far the loss lies below the mean of its neighbours: half the difference between its falls before and after."""
    before, there, after = (setup.train_loss(share, variant) for share in THIRDS[third : third + 3])
    return setup.share_of_fall(Mean(parts=(before, after)), there)


@claim("lr.phases")
def phases() -> Iterator[Part]:
    for setup in SETUPS:
        remainder = setup.share_of_fall(setup.train_loss(0.15), setup.train_loss(THIRDS[-1]))
        name = "share of the loss reduction that is left a tenth of the run after warmup"
        says = f"A tenth of the run after warmup, {{estimate}} of the loss reduction of the {setup} is left"
        yield at_most(0.5, remainder, name, says, refuted=0.7, clause="a", unit="share")
        for third, clause, one, other, by in ((0, "b", "first", "second", 0.01), (1, "c", "second", "last", 0.005)):
            thirds = f"from the {one} third to the {other}"
            name = f"bend of the training loss from the {one} third after warmup to the {other}"
            says = f"After warmup, the curve of the {setup} flattens {thirds} by {{estimate}} of the loss reduction"
            readings = {"at a constant LR": bend(setup, third, "constant")}
            yield exceeds(bend(setup, third), name, says, by, clause=clause, unit="share", alternatives=readings)
        above = setup.share_of_fall(LossAfter(arm=setup.arm("constant"), share=0.5), setup.train_loss(0.45, "constant"))
        name = "validation loss above training loss half way"
        says = (
            f"Halfway, the validation loss of the {setup} is {{higher}} than its training loss,"
            " as a share of the loss reduction"
        )
        yield no_worse(above, name, says, margin=0.1, clause="d", unit="share")


def diagnosis(setup: Setup, swing: float | None, **runs: Any) -> Any:
    """Against a healthy run that is trained on as many seeds as the flat ones. runs: arms and LRs, by cause."""
    # The cuts that told the causes best in a pilot on seeds 992,200 to 992,239, both MLPs together.
    rule: Settings = {"vanishing_below": 0.3, "large_above": 0.96, "swing": swing}
    return norm_diagnosis(healthy=setup.arm("lr"), healthy_value=setup.best, **rule, **runs)


@claim("lr.grad_not_loss", right={"supported": "vanishing"})
def norm_identifies() -> Iterator[Part]:
    for setup in MLPS:
        high = tuple((arm, lr) for arm in setup.arms("high", "high_tanh") for lr in HIGH)  # dead or swinging: the loss tells
        tiny = tuple((arm, setup.best / 1000) for arm in setup.arms("tiny", "tiny_tanh"))
        runs = {"vanishing": ((setup.arm("deep"), setup.best),), "dead": high, "too_small": tiny, "too_large": high}
        name = "balanced accuracy of what the gradient norm tells of flat losses"
        says = (
            f"On the {setup}, the gradient norm identifies why a loss is flat with a balanced accuracy of {{estimate}};"
            " guessing has 33%"
        )
        readings = {"a loss that swings by 5%": diagnosis(setup, 0.05, **runs)}
        yield at_least(
            0.9, diagnosis(setup, 0.1, **runs), name, says, refuted=0.6, null=1 / 3, margin=0.1, alternatives=readings
        )
        for cause, words in {
            "vanishing": "whose gradients vanish",
            "dead": "that too large an LR has killed",
            "too_small": "whose LR is too small",
            "too_large": "that swing at too large an LR",
        }.items():
            yield reported(diagnosis(setup, 0.1, **{cause: runs[cause]}), f"identified, of runs {words}")
    for setup in MLPS:
        exploded = diagnosis(setup, None, too_large=((setup.arm("high_tanh"), HIGH[-1]),))
        yield reported(exploded, "with a norm above the upper cut, of tanh runs whose loss has exploded")


@claim("lr.smooth", right={"supported": "smooth", "refuted": "spikes"})
def rarely_rises() -> Iterator[Part]:
    for setup in SETUPS:
        best, quarter = setup.rises(setup.best, "best"), setup.rises(setup.best / 4, "quarter")
        name = "share of rises at the best LR less that at a quarter of it"
        says = f"On the {setup}, the {RISING} is {{higher}} at the best LR than at a quarter of it"
        yield no_worse(best - quarter, name, says, margin=0.1, unit="")
        yield reported(best, "share of rises at the best LR")
    for setup in SETUPS:
        for words, lr in {"a quarter of the": setup.best / 4, "the": setup.best}.items():
            yield reported(setup.curve("train_loss_spikes", lr, first=0.2), f"spikes per step at {words} best LR", "share")


def lr_over(setup: Setup, losses: list[Observed]) -> Any:
    """How far changes of the LR move the loss, up or down, over how far others do. losses: after the others."""
    unchanged = setup.loss_at(setup.best, "lr")
    after_lrs = tuple(setup.loss_at(lr, "lr") for lr in changed(setup.best))
    return mean_distance(parts=after_lrs, origin=unchanged) / mean_distance(parts=tuple(losses), origin=unchanged)


def lr_moves_more(setup: Setup, other: str, losses: list[Observed]) -> Criterion:
    name = f"what changes of the LR do over what those of {other} do"
    says = f"Changes of the LR move the loss of the {setup} {{estimate}} as far as those of {other}"
    return at_least(1.1, lr_over(setup, losses), name, says, refuted=1.0, null=1.0, margin=1.1)


@claim("lr.most_important", quantifier="most")
def most_important() -> Iterator[Part]:
    for setup in SETUPS:
        for factor, values in (SGD_CHANGES if setup in SGDS else ADAM_CHANGES).items():
            yield lr_moves_more(setup, SPELLED[factor], [setup.loss_at(value, factor, over=factor) for value in values])
    for setup in SETUPS:
        yield lr_moves_more(setup, "batch size", setup.final_losses(*setup.batches()))
        along = lr_over(setup, setup.final_losses(*setup.batches("batch_along")))
        yield reported(along, "what changes of the LR do over what those of batch size do with the LR along")
    for setup in SGDS:
        yield lr_moves_more(setup, "momentum", setup.final_losses(*(f"momentum_{value:g}" for value in MOMENTA)))


@study.claim("adam.lr_tolerance")
def adam_tolerates() -> Iterator[Part]:
    basin = partial(BasinWidth, of="fall")
    for setup in SETUPS:
        yield reported(basin(arm=setup.name), f"octaves within 5% of the loss reduction to its own best, {setup}")
    for model, both in {"MLP": ("mlp_sgd", "mlp_adam"), "GPT": ("gpt_sgd", "gpt_adam")}.items():
        # Below one bar: above the lower of their lowest losses.
        (sgd, adam), (sgd_10, adam_10) = ([basin(arm=arm, best_of=both, within=bar) for arm in both] for bar in (0.05, 0.1))
        own_sgd, own_adam = (basin(arm=arm) for arm in both)
        name = "octaves within 5% of the loss reduction to the lower loss of both"
        says = f"On the {model}, AdamW's basin of good LRs is {{estimate}} as wide as SGD's, in octaves"
        readings = {"each within 5% of its own best": own_adam / own_sgd, "within 10%": adam_10 / sgd_10}
        regions = {"refuted": 1.0, "null": 1.0, "margin": 1.1}
        yield at_least(2.0, adam / sgd, f"{name}, AdamW over SGD, {model}", says, **regions, panel=model, alternatives=readings)
        yield reported(sgd, f"{name}, {model} with SGD")
        yield reported(adam, f"{name}, {model} with AdamW")


STUDY = study.declared()
