"""On a plateau of the loss, does a lower learning rate help, and a higher one?"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from .kit import *

study = Draft(
    __file__,
    # Equal seeds take equal steps up to the switch after two thirds of the run, so that arms are continuations of one run. One
    # evaluation falls on 60% of the run and one on the last steps before the switch.
    SMALL_GPT
    | dict(optimizer="adamw", beta2=0.95, schedule="step", step_drops=(2 / 3,), warmup_fraction=0.02, batch_size=16)
    | dict(steps=1500, probes=2, evaluations=30, evaluation_examples=512, final_examples=1024),
    version=7,  # up to version 6 its claims were those of the study decay
    factors={},
    seeds=6,
    first_seed=241_000,
    answer=("decay.plateau_rule", "decay.raise_lr"),
)
MLP = DIGITS_MLP | dict(optimizer="sgd", batch_size=32, weight_decay=0.0, steps=900)
# The factor by which the switch multiplies the LR.
SWITCHES = {"stay": 1.0, "tenth": 0.1, "twice": 2.0, "ten_times": 10.0}


# Arms.


class Plateau(NamedTuple):
    """Continuations of one run; arms are named after the run and the switch.

    words: its name in sentences. lr: its exponent. best: the arm whose tuned loss ends the loss reduction.
    """

    run: str
    panel: str
    words: str
    lr: float
    best: str = "right_tenth"
    settings: dict[str, Any] = {}
    judged_at: tuple[str, ...] | None = None
    switches: tuple[str, ...] = ("stay", "tenth", "ten_times")

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(f"{self.run}_{switch}" for switch in self.switches)

    def gap(self, switch: str, other: str = "stay") -> LossGap:
        """How much higher the run ends than after another switch."""
        return loss_gap(f"{self.run}_{switch}", f"{self.run}_{other}", FinalLoss, best_of=(self.best,))

    def last_fall(self) -> LossGap:
        """The fall of the loss over the last tenth of the steps before the switch."""
        # Single evaluations are noisy: means of three of the 30, a tenth of these steps apart.
        before, after = (
            Mean(parts=tuple(LossAfter(arm=f"{self.run}_stay", share=at / 30) for at in places))
            for places in ((16, 17, 18), (18, 19, 20))
        )
        return LossGap(left=before, right=after, best_of=(self.best,))


# A 32nd of the best constant LR of such a run, the best, and 16 times the best.
LOW = Plateau("low", "GPT, AdamW, LR a 32nd of the best", "with an LR a 32nd of the best", -12, switches=tuple(SWITCHES))
RIGHT = Plateau("right", "GPT, AdamW, best LR", "at the best LR", -7)
HIGH = Plateau("high", "GPT, AdamW, LR 16 times the best", "with an LR 16 times the best", -3)
BY_LR = (LOW, RIGHT, HIGH)
# Plateaus that do not come from the LR, which is the best for batches of 256 tokens, and the best constant one.
NOISY_RUN: dict[str, Any] = {"batch_size": 2, "steps": 6000}
NOISY = Plateau(
    "noisy", "GPT, AdamW, batches of 32 tokens", "with batches of 32 tokens", -7, "noisy_tenth", NOISY_RUN, ("laptop",)
)
NARROW_RUN = MLP | dict(optimizer="adamw", width=3, depth=1, activation="tanh", steps=12_000)
NARROW = Plateau(
    "narrow", "MLP, AdamW, three hidden units", "with three hidden units", -10, "narrow_stay", NARROW_RUN, ("laptop",)
)
# An LR so low that the loss of the MLP with SGD stays at its start.
STUCK = "an LR too low to leave the start"
MLP_LOW = Plateau(
    "mlp", f"MLP, SGD, {STUCK}", f"MLP with {STUCK}", -19, "mlp_tuned", MLP, switches=("stay", "twice", "ten_times")
)
PLATEAUS = (*BY_LR, NOISY, NARROW)
for plateau in (*PLATEAUS, MLP_LOW):
    for switch in plateau.switches:
        study.arm(
            f"{plateau.run}_{switch}",
            f"x{SWITCHES[switch]:g}",
            plateau.panel,
            plateau.settings | {"step_factor": SWITCHES[switch]},
            factors=peak_lrs(plateau.lr),
            reference=switch == "stay",
            scales=plateau.judged_at and ("smoke", *plateau.judged_at),
        )
study.arm("mlp_tuned", "its best LR", MLP_LOW.panel, MLP | {"step_factor": 1.0}, factors=peak_lrs(-7))

ARMS_BY_LR = (*LOW.arms, *RIGHT.arms, *HIGH.arms)
study.smoke(dict(evaluation_examples=8, final_examples=16), arm_settings={tuple(study.arms): {"steps": 60}}, seeds=1)
study.laptop(
    "two minutes of training",
    arm_seeds={
        "high_ten_times": 12,
        # In version 6 of study decay the fall before the switch was 0.65% of 36 seeds and -0.16% of 48, of 0.5%. It is a share
        # of a reduction that ends at right_tenth.
        ("right_stay", "right_tenth", "high_stay"): 36,
        # There seeds differed by 1.4% and 1.3% in what a tenth of the LR gains.
        NOISY.arms: 9,
        NARROW.arms: 42,
    },
)
study.gpu(
    "one GPU, under a minute: a 0.49M-parameter GPT on the source text of Python's standard library",
    GPU_GPT | dict(context=128, batch_size=64, precision="bf16", evaluation_examples=128, final_examples=512),
    arm_settings={ARMS_BY_LR: {"steps": 600}},
    arm_factors={plateau.arms: peak_lrs(plateau.lr - 2) for plateau in BY_LR},
    seeds=5,
)
study.cluster(
    "a GPU of a cluster, hours: a 25M-parameter GPT on web text",
    dict(dataset="web-text", width=512, depth=8, heads=8, context=512, batch_size=256, precision="bf16")
    | dict(evaluation_examples=512, final_examples=4096),
    arm_settings={ARMS_BY_LR: {"steps": 6000}},
    arm_factors={plateau.arms: peak_lrs(plateau.lr - 3) for plateau in BY_LR},
    seeds=5,
)


# Claims.


def flat(plateau: Plateau, **options: Any) -> Criterion:
    """In the last tenth of the steps before the switch the loss falls by no more than what matters: the least that x0.1 has to
    gain, and raising may."""
    return at_most(
        0.005,
        plateau.last_fall(),
        f"the fall in the last tenth before the switch, {plateau.words}",
        f"Over the last tenth of the steps before the switch, {plateau.words}, the loss falls by {{estimate}} of the loss"
        " reduction; on a plateau it falls by at most 0.5%",
        scales=plateau.judged_at,
        precondition=True,
        **options,
    )


def no_gain(raising: str, plateau: Plateau, **options: Any) -> Criterion:
    """Raising gains nothing that matters; a gain of 2% of the loss reduction refutes."""
    return at_least(
        -0.005,
        plateau.gap("ten_times"),
        f"{raising} against staying, {plateau.words}",
        f"On a plateau {plateau.words}, raising the LR tenfold {{costs}} of the loss reduction compared with keeping it",
        refuted=-0.02,
        scales=plateau.judged_at,
        **options,
    )


@study.claim("decay.plateau_rule", right={"supported": "lower", "refuted": "too low"})
def lower_and_never_raise() -> Iterator[Part]:
    for plateau in PLATEAUS:
        yield flat(plateau, panel=plateau.panel)
        yield exceeds(
            plateau.gap("stay", "tenth"),
            f"staying against x0.1, {plateau.words}",
            f"On a plateau {plateau.words}, keeping the LR {{costs}} of the loss reduction compared with a tenth of it",
            clause="a",
            panel=plateau.panel,
            scales=plateau.judged_at,
        )
        yield no_gain("x10", plateau, clause="b", panel=plateau.panel)


@study.claim("decay.raise_lr", right={"supported": "never", "refuted": "too low"})
def never_raise() -> Iterator[Part]:
    yield flat(LOW)
    yield no_gain("ten times the LR", LOW)
    yield reported(MLP_LOW.last_fall(), flat(MLP_LOW).name)
    raised = ((MLP_LOW, "ten_times"), (LOW, "twice"), (MLP_LOW, "twice"), (RIGHT, "ten_times"), (HIGH, "ten_times"))
    for plateau, switch in raised:
        yield reported(plateau.gap(switch), f"{switch.replace('_', ' ')} the LR against staying, {plateau.words}")


STUDY = study.declared()
