"""How many steps does a larger batch save, and does the gradient noise scale predict it?"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import log2
from typing import Any

from .kit import *
from .metrics.critical_batch import branched_batch_size, critical_batch_size

study = Draft(
    __file__,
    # A constant LR, so that steps to a target do not depend on a horizon.
    dict(heads=2, optimizer="adamw", schedule="constant", warmup_fraction=0.0, weight_decay=0.0, beta2=0.95)
    | dict(probes=2, evaluations=60, evaluation_examples=180, final_examples=180),
    version=10,  # why each version: reports/log
    factors={},
    seeds=16,
    first_seed=151_000,
    answer=("crit.small_batch_slow", "crit.noise_scale", "crit.ceiling", "crit.advice"),
)


# Arms: workloads that are trained at several batch sizes.


SMALL_SCALES, LARGE_SCALES = ("smoke", "laptop"), ("gpu", "cluster")
Scales = dict[int, tuple[str, ...]]


@dataclass
class Sweep:
    """A workload that is trained at several batch sizes to a target validation loss.

    prefix: of its arms' names. panel: its name in criteria. plot, label: where its arms are drawn, and as what. examples: what
    its batches hold.
    anchor, share: the target is the validation loss at which the run with this batch size reaches this share of its loss
    reduction. doubling: the batch size past the critical one that is doubled, fixed beforehand. seeds: at laptop scale.
    """

    prefix: str
    panel: str
    plot: str
    settings: Settings
    anchor: int
    share: float
    seeds: int = 40
    doubling: int = 64
    examples: str = "images"
    label: str = "B"
    best_log2_lr: dict[int, float] = field(default_factory=dict)

    def train(
        self, steps: dict[int, int], best_log2_lr: dict[int, float], anchor_lowest: float, scales: Scales | None = None
    ) -> None:
        """Adds an arm for each batch size, at LRs half an octave apart.

        best_log2_lr: where version 6 found the fewest steps; LRs reach from an octave below it to an octave above.
        anchor_lowest: the anchor's lowest, for its lowest final loss needs less LR than its fewest steps. scales: if not all.
        """
        self.best_log2_lr = best_log2_lr
        for batch_size, best in best_log2_lr.items():
            is_anchor = batch_size == self.anchor
            study.arm(
                self.arm(batch_size),
                f"{self.label} {batch_size}",
                self.plot,
                {**self.settings, "batch_size": batch_size, "steps": steps[batch_size]},
                factors=lr_grid(anchor_lowest if is_anchor else best - 1, best + 1, per_octave=2),
                scales=(scales or {}).get(batch_size),
                # The first anchor in a plot.
                reference=is_anchor and not any(arm.reference for arm in study.arms.values() if arm.panel == self.plot),
            )

    def probe(self, batch_size: int, steps: int, log2_lr: int) -> None:
        """Adds a run at one LR for its probes, about twice as long as the target takes."""
        run = {**self.settings, "probes": 60, "evaluations": 20, "batch_size": batch_size, "steps": steps}
        study.arm(self.arm("noise"), f"{self.label} {batch_size}, gradient noise", self.plot, run, factors=peak_lrs(log2_lr))

    def arm(self, batch_size: int | str) -> str:
        """The name of the arm of a batch size, or of the probed arm: noise."""
        return f"{self.prefix}_{batch_size}"

    @property
    def laptop_arms(self) -> tuple[str, ...]:
        names = (*map(self.arm, self.best_log2_lr), self.arm("noise"))
        return tuple(name for name in names if study.arms[name].scales in (None, SMALL_SCALES))

    @property
    def curve(self) -> dict[str, Any]:
        """The curve that metrics fit: the steps to the target over the batch size."""
        points = tuple((batch_size, self.arm(batch_size)) for batch_size in self.best_log2_lr)
        return {"points": points, "anchor": self.arm(self.anchor), "share": self.share}

    @property
    def critical_batch(self) -> Any:
        return critical_batch_size(**self.curve)

    def speedup(self, small: int, large: int) -> Observed:
        """Steps to the target with the small batch over those with the large one."""
        target = {"anchor": self.arm(self.anchor), "share": self.share}
        return StepsToTarget(arm=self.arm(small), **target) / StepsToTarget(arm=self.arm(large), **target)

    def noise_scale(self, first: float = 0.0, last: float = 0.5, pieces: int | None = None) -> NoiseScale:
        """The noise scale in a part of the probed run, by default up to the target; of pieces, a mean over steps."""
        return NoiseScale(arm=self.arm("noise"), first=first, last=last, pieces=pieces)

    def words(self, name: str, says: str) -> dict[str, Any]:
        """Name, sentence and panel of a criterion."""
        workload = self.panel.replace(",", " and")
        return {"name": f"{name}, {self.panel}", "says": f"On the {workload}, {says}", "panel": self.panel}


PERCEPTRON = {"model": "mlp", "dataset": "digits", "width": 32, "depth": 1, "optimizer": "sgd", "momentum": 0.0}
MLP = Sweep("mlp", "MLP with SGD", "MLP, SGD", PERCEPTRON, anchor=8, share=0.95)
MLP.train(
    steps={4: 800, 8: 600, 16: 160, 32: 100, 64: 80, 128: 60, 256: 60, 512: 60},
    best_log2_lr={4: -3, 8: -2, 16: -1.5, 32: -1, 64: -0.5, 128: -0.5, 256: -0.5, 512: -0.5},
    anchor_lowest=-5,
)
MLP.probe(batch_size=512, steps=60, log2_lr=-1)

# Random labels raise the gradient noise and leave model and images as they are. With them the last part of the loss reduction
# is noise: seeds differ in ln S by 0.3 at 95% and by 0.2 at 90%. Comparisons of noisy with clean labels take 95% of both.
NOISY_MLP = PERCEPTRON | {"label_noise": 0.6}
NOISY = Sweep("noisy", "MLP with SGD, noisy labels", "MLP, 60% label noise, SGD", NOISY_MLP, anchor=64, share=0.9, doubling=256)
NOISY.train(
    steps={8: 900, 16: 600, 32: 200, 64: 300, 128: 100, 256: 80, 512: 60, 1024: 60, 2048: 60},
    best_log2_lr={8: -2.5, 16: -2, 32: -1.5, 64: -1, 128: -0.5, 256: 0, 512: 0, 1024: 0, 2048: 0},
    anchor_lowest=-3.5,
)
NOISY.probe(batch_size=512, steps=80, log2_lr=-1)
NOISY_LATE = replace(NOISY, share=0.95)

SMALL_CNN = {"model": "cnn", "dataset": "digits", "width": 16, "depth": 2, "evaluation_examples": 100}
CNN = Sweep("cnn", "CNN with AdamW", "CNN, AdamW", SMALL_CNN, anchor=8, share=0.9, seeds=20)
CNN.train(
    steps={4: 1000, 8: 500, 16: 300, 32: 200, 64: 130, 128: 130, 256: 90},
    best_log2_lr={4: -6.5, 8: -6, 16: -6, 32: -6, 64: -5.5, 128: -5.5, 256: -5},
    anchor_lowest=-8.5,
    scales={4: SMALL_SCALES, 256: LARGE_SCALES},
)
CNN.probe(batch_size=64, steps=160, log2_lr=-6)

TINY_GPT = {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "context": 16, "evaluation_examples": 96}
GPT = Sweep("gpt", "GPT with AdamW", "GPT, AdamW", TINY_GPT, anchor=32, share=0.9, seeds=16, examples="sequences")
GPT.train(
    steps={4: 500, 8: 300, 16: 190, 32: 250, 64: 110, 128: 95, 256: 90, 512: 90, 1024: 90},
    best_log2_lr={4: -7.5, 8: -7, 16: -6.5, 32: -6.5, 64: -6.5, 128: -6.5, 256: -6, 512: -6, 1024: -6},
    anchor_lowest=-8,
    scales={4: SMALL_SCALES, 256: LARGE_SCALES, 512: ("cluster",), 1024: ("cluster",)},
)
GPT.probe(batch_size=64, steps=130, log2_lr=-7)
NOISE_SEQUENCES = 64 * 130

ADAM_MLP = PERCEPTRON | {"optimizer": "adamw"}
ADAM_PLOT = "MLP, AdamW: two batch sizes"
ADAM = Sweep("adam_clean", "MLP with AdamW", ADAM_PLOT, ADAM_MLP, anchor=16, share=0.95, label="clean labels, B")
ADAM.train(steps={16: 300, 128: 80}, best_log2_lr={16: -6, 128: -5}, anchor_lowest=-9)
ADAM.probe(batch_size=512, steps=40, log2_lr=-5)
ADAM_NOISY = replace(ADAM, prefix="adam_noisy", settings=ADAM_MLP | {"label_noise": 0.6}, label="noisy labels, B")
ADAM_NOISY.train(steps={16: 700, 128: 200}, best_log2_lr={16: -7, 128: -5.5}, anchor_lowest=-9.5)
ADAM_NOISY.probe(batch_size=512, steps=40, log2_lr=-5)

# Branches from one run (Merrill et al. 2025): each sees as many sequences, at an LR that goes with the root of its batch size.
BRANCH_BASE, BRANCH_LOG2_LR, BRANCH_SEQUENCES = 8, -7, 1024
BRANCH_STARTS = {"early": 40, "late": 600}
BRANCHES: dict[str, tuple[tuple[int, str], ...]] = {}
for when, done in BRANCH_STARTS.items():
    first = {**TINY_GPT, "batch_size": BRANCH_BASE, "steps": done, "evaluations": 4, "final_examples": 1024}
    study.arm(f"branch_{when}", f"{done} steps of {BRANCH_BASE}", "GPT, branches", first, factors=peak_lrs(BRANCH_LOG2_LR))
    BRANCHES[when] = tuple(
        (
            size,
            study.arm(
                f"branch_{when}_{size}",
                f"after {done} steps, B {size}",
                "GPT, branches",
                {**first, "batch_size": size, "steps": BRANCH_SEQUENCES // size},
                factors=peak_lrs(BRANCH_LOG2_LR + log2(size / BRANCH_BASE) / 2),
                reference=size == BRANCH_BASE,
                **dict(starts_from=f"branch_{when}", start_state="optimizer", data_order=1),
            ),
        )
        for size in (2, 4, 8, 16, 32, 64, 128)
    )

SWEEPS, LATE_SWEEPS = (MLP, NOISY, CNN, GPT), (MLP, NOISY_LATE, CNN, GPT)
MLPS = (MLP, NOISY, ADAM, ADAM_NOISY)


def large_scale(gpt: Settings, steps: dict[int, int], log2_lr: tuple[int, int], probe: tuple[int, int, int]) -> Settings:
    """Wider MLPs and CNNs and this GPT, with the same LRs at all of its batch sizes, an octave apart.

    probe: batch size, steps, and exponent of the LR.
    """
    settings: dict[str, Settings] = {arm: {"width": 256, "depth": 2} for sweep in MLPS for arm in sweep.laptop_arms}
    factors = {sweep.arm(size): lr_grid(best - 4, best + 3) for sweep in MLPS for size, best in sweep.best_log2_lr.items()}
    cnn_steps = {8: 800, 16: 400, 32: 260, 64: 200, 128: 160, 256: 140}
    for sweep, model, steps_by_size, lrs, (batch_size, probed_steps, probed_log2_lr) in (
        (CNN, {"width": 64, "depth": 3}, cnn_steps, lr_grid(-10, -5), (256, 140, -8)),
        (GPT, gpt, steps, lr_grid(*log2_lr), probe),
    ):
        for size, count in steps_by_size.items():
            settings[sweep.arm(size)] = {**model, "steps": count}
            factors[sweep.arm(size)] = lrs
        settings[sweep.arm("noise")] = {**model, "batch_size": batch_size, "steps": probed_steps}
        factors[sweep.arm("noise")] = peak_lrs(probed_log2_lr)
    return {"arm_settings": settings, "arm_factors": factors, "seeds": 5}


study.smoke(
    dict(probes=2, evaluations=2, evaluation_examples=16, final_examples=16),
    arm_settings={sweep.laptop_arms: {"steps": 10} for sweep in (CNN, GPT, *MLPS)},
    seeds=1,
)
study.laptop(
    "five minutes of training: four workloads at six to nine batch sizes, LR tuned at each",
    arm_seeds={sweep.laptop_arms: sweep.seeds for sweep in (CNN, *MLPS) if sweep.seeds > 16},
)
study.gpu(
    "one GPU, minutes: a GPT of 0.65 million parameters, wider MLPs and CNNs",
    large_scale(
        dict(dataset="python-source", width=128, depth=3, heads=4, context=64),
        steps={8: 2400, 16: 1500, 32: 2000, 64: 900, 128: 600, 256: 450},
        log2_lr=(-10, -6),
        probe=(128, 800, -9),
    ),
)
study.cluster(
    "many GPUs, hours: a GPT of 5 million parameters on web text",
    large_scale(
        dict(dataset="web-text", width=256, depth=6, heads=8, context=256),
        steps={8: 20000, 16: 12000, 32: 10000, 64: 5000, 128: 3500, 256: 2600, 512: 2200, 1024: 2000},
        log2_lr=(-12, -8),
        probe=(512, 2400, -11),
    ),
)


# Claims.


# Predictions hold at laptop scale; their spread is between a pilot's seeds.
expected = partial(predicted, scales=("laptop",))
HYPERBOLA = "S = S_min (1 + B_crit / B), McCandlish et al. 2018"
CRITICAL_SIZE = "the critical batch size is {estimate}"


def past_critical(most: float, **options: Any) -> Iterator[Part]:
    """The saving of one doubling, fixed beforehand, past the critical size B_crit; two claims expect it in different regions.

    With b = B / B_crit theory predicts a gain of (1 + b) / (1/2 + b): 4/3 at B_crit, 6/5 at twice that, 10/9 at four times.
    """
    for sweep in SWEEPS:
        words = sweep.words(f"critical batch size below {sweep.doubling}", CRITICAL_SIZE)
        yield at_most(sweep.doubling, sweep.critical_batch, **words, unit="examples", precondition=True)
    for sweep in SWEEPS:
        once, doubled = sweep.doubling, 2 * sweep.doubling
        words = sweep.words(
            f"steps at B {once} over steps at B {doubled}",
            f"a batch of {once}, past the critical size, takes {{estimate}} the steps of a batch of {doubled}",
        )
        theory = expected(1.2, HYPERBOLA, spread=0.15)
        yield at_most(most, sweep.speedup(once, doubled), **words, expected=theory, **options)


# One number, and where each claim expects it.
study.claim("crit.hyperbola", *past_critical(1.7, refuted=1.9, null=2.0))
study.claim("crit.ceiling", *past_critical(1.02, refuted=1.05), right={"supported": "nothing", "refuted": "less"})


def branched(when: str) -> Any:
    """The largest batch whose branch falls by at least nine tenths of what that of the base does."""
    first = f"branch_{when}"
    return branched_batch_size(start=first, base=f"{first}_{BRANCH_BASE}", points=BRANCHES[when], share=0.9)


@study.claim("crit.noise_scale")
def predicts() -> Iterator[Part]:
    # If a step at noise scale N costs 1 + N/B, all steps cost S_min (1 + B_crit/B), with B_crit the mean of N over steps. The
    # ratio of the means of both parts is as usual.
    for sweep in LATE_SWEEPS:
        for clause, how, pieces in (("a", "mean over steps", 5), ("b", "ratio of means", None)):
            words = sweep.words(
                f"critical batch size over noise scale, {how}",
                f"the critical batch size is {{estimate}} the noise scale as a {how}",
            )
            theory = expected(1.0, "McCandlish et al. 2018", spread=0.6)
            ratio = sweep.critical_batch / sweep.noise_scale(pieces=pieces)
            yield within(1 / 3, 3.0, ratio, **words, clause=clause, expected=theory)
    for sweep in LATE_SWEEPS:
        yield reported(sweep.critical_batch, f"critical batch size in {sweep.examples}, {sweep.panel}")
    for when, done in BRANCH_STARTS.items():
        share = done * BRANCH_BASE / NOISE_SEQUENCES
        scale = GPT.noise_scale(max(0.0, share - 0.05), share + 0.05)
        yield reported(branched(when), f"GPT, branches after {done} steps of {BRANCH_BASE}: largest batch, in sequences")
        yield reported(scale, f"GPT, noise scale after as many sequences as {done} steps of {BRANCH_BASE}")


@study.claim("crit.grows")
def grows() -> Iterator[Part]:
    for sweep in SWEEPS:
        early, late = sweep.noise_scale(last=0.05), sweep.noise_scale(0.5, 1.0)
        words = sweep.words(
            "noise scale past the target over that of the first 5%",
            "the noise scale in the second half of training is {estimate} that in the first 5%",
        )
        alternatives = {
            "against the first tenth": late / sweep.noise_scale(last=0.1),
            "the quarter about the target for late": sweep.noise_scale(0.375, 0.625) / early,
        }
        theory = expected(10.0, "McCandlish et al. 2018, as reported: 10 to 100 times over training", spread=1.0)
        # The documents give no factor; less than a quarter more does not matter.
        yield at_least(
            1.25, late / early, **words, refuted=1.0, null=1.0, margin=1.25, expected=theory, alternatives=alternatives
        )
    for sweep in SWEEPS:
        plateau = sweep.noise_scale(0.75, 1.0) / sweep.noise_scale(0.5, 0.75)
        yield reported(plateau, f"plateau: last quarter over the quarter before, {sweep.panel}")


@study.claim("crit.range")
def in_range() -> Iterator[Part]:
    ratio = NOISY_LATE.critical_batch / MLP.critical_batch
    name = "critical batch size with noisy labels over that with clean ones, MLP with SGD"
    says = "With 60% random labels, the critical batch size of the same model on the same images is {estimate} as large"
    # Twice: a step of a common grid of batch sizes. The documents' range, a thousandfold, is out of reach at this size.
    yield at_least(2.0, ratio, name, says, clause="a", refuted=1.25, null=1.0)
    for scale, context, workload, model in (
        ("laptop", 16, "GPT with AdamW, 16 tokens of context", "a GPT of 7,000 parameters"),
        ("gpu", 64, "GPT with AdamW", "the GPT"),
        ("cluster", 256, "GPT with AdamW, web text", "the GPT"),
    ):
        name, says = f"critical batch size in tokens, {workload}", f"The critical batch size of {model} is {{estimate}}"
        yield within(1000.0, 4e6, GPT.critical_batch * context, name, says, clause="b", unit="tokens", scales=(scale,))
    for sweep in LATE_SWEEPS:
        yield reported(sweep.critical_batch, f"critical batch size, {sweep.panel}, {sweep.examples}")


@study.claim("crit.small_batch_slow")
def far_below_critical() -> Iterator[Part]:
    """The saving of doubling the smallest batch size of a scale, which lies at a quarter of the critical size or below."""
    for sweep, size, at_scales in (
        (MLP, 4, None),
        (NOISY, 8, None),
        (CNN, 4, SMALL_SCALES),
        (GPT, 4, SMALL_SCALES),
        (CNN, 8, LARGE_SCALES),
        (GPT, 8, LARGE_SCALES),
    ):
        critical = sweep.words(f"critical batch size above four times {size}", CRITICAL_SIZE)
        yield at_least(4 * size, sweep.critical_batch, **critical, unit="examples", scales=at_scales, precondition=True)
        words = sweep.words(
            f"steps at B {size} over steps at B {2 * size}",
            f"a batch of {size} takes {{estimate}} the steps of a batch of {2 * size}",
        )
        theory = expected(1.75, HYPERBOLA, spread=0.33 if sweep in (MLP, NOISY) else 0.16)
        # A doubled batch needs at most two thirds of the steps. Theory: 1.67x at a quarter of the critical size, 2x far below.
        yield at_least(1.5, sweep.speedup(size, 2 * size), **words, refuted=1.25, null=1.0, scales=at_scales, expected=theory)


@study.claim("crit.advice", right={"supported": "small batch", "refuted": "large batch"})
def advice() -> Iterator[Part]:
    clean_and_noisy = (MLP, NOISY_LATE), (ADAM, ADAM_NOISY)
    for clean, noisy in clean_and_noisy:
        ratio = noisy.noise_scale(pieces=5) / clean.noise_scale(pieces=5)
        words = clean.words(
            "noise scale with noisy labels over that with clean ones", "noisy labels make the noise scale {larger}"
        )
        yield at_least(2.0, ratio, **words, refuted=1.5, precondition=True)
    for clean, noisy in clean_and_noisy:
        words = clean.words(
            "steps at B 16 over steps at B 128: noisy labels over clean ones",
            "the speed-up from eight times the batch is {larger} if the noise scale is large",
        )
        theory = expected(1.6, "S = S_min (1 + B_crit / B), with critical sizes of 35 and 110", spread=0.45)
        gain = noisy.speedup(16, 128) / clean.speedup(16, 128)
        yield at_most(0.95, gain, **words, refuted=1.05, null=1.0, expected=theory)


study.claim(
    "crit.definition",
    within(
        3.9,
        4.1,
        computed("constants.noise_scale", "doubled"),
        "noise scale when the noise of the gradients has twice the deviation",
        "Doubling the gradient noise makes the noise scale {larger}",
        refuted=AtMost(value=1.0),
        null=1.0,
        unit="x",
        expected=predicted(4.0, "McCandlish et al. 2018, equation 2.9: the variance is on top"),
    ),
    right={"supported": "variance above", "refuted": "mean above"},
)

STUDY = study.declared()
