"""What does weight decay do to the weights, and how does it differ from L2 regularization?"""

from collections.abc import Callable
from typing import Any, NamedTuple

from .kit import *

MLP = {"model": "mlp", "dataset": "digits", "width": 64, "depth": 2, "batch_size": 32}
GPT = {"model": "gpt", "dataset": "python-docs", "width": 16, "depth": 1, "context": 16, "batch_size": 16}
GPU_GPT = {"dataset": "python-source", "width": 96, "depth": 4, "heads": 4, "context": 64}
CLUSTER_GPT = {"dataset": "web-text", "width": 512, "depth": 8, "heads": 8, "context": 256, "batch_size": 64}
SGD, ADAM = {"optimizer": "sgd"}, {"optimizer": "adamw"}


class Setup(NamedTuple):
    """A model with an optimizer, trained with decay and without: the panel of its two arms.

    lr: about a pilot's best constant LR. Both arms are read at it, so that only decay differs. decay: usual with the optimizer;
    AdamW's is multiplied by the LR, L2 by SGD's much larger LR.
    """

    decayed: str
    panel: str
    settings: dict[str, Any]
    lr: float
    decay: float

    @property
    def free(self) -> str:
        return f"{self.decayed}_free"

    def arm(self, label: str, decay: float) -> Arm:
        grid = (self.lr / 2, self.lr, 2 * self.lr)
        return Arm(label=label, panel=self.panel, settings={**self.settings, "weight_decay": decay}, factors={"peak_lr": grid})

    def growth(self, arm: str, times: float = 1.0) -> Any:
        """The norm of the weights at the last probes over that at the first, at a multiple of the LR."""
        norm: dict[str, Any] = {"arm": arm, "value": times * self.lr, "of": "probe_weight_norm"}
        return Curve(**norm, first=0.95) / Curve(**norm, first=0.0, last=0.005)

    def late_slope(self, arm: str, times: float = 1.0) -> Curve:
        """The exponent of that norm on the step in the second half of a run."""
        return Curve(arm=arm, value=times * self.lr, of="probe_weight_norm", statistic="slope", first=0.5)


SETUPS = (
    Setup("mlp_sgd", "MLP with SGD", {**MLP, **SGD}, lr=2.0**-5, decay=5e-4),
    Setup("mlp_adam", "MLP with AdamW", {**MLP, **ADAM}, lr=2.0**-8, decay=0.1),
    Setup("gpt_sgd", "GPT with SGD", {**GPT, **SGD}, lr=2.0**-3, decay=5e-4),
    Setup("gpt_adam", "GPT with AdamW", {**GPT, **ADAM}, lr=2.0**-7, decay=0.1),
)
GPT_ARMS = tuple(arm for setup in SETUPS if setup.settings["model"] == "gpt" for arm in (setup.decayed, setup.free))


def at_other_lrs(read: Callable[..., Any], arm: str) -> dict[str, Any]:
    return {"at half the LR": read(arm, 0.5), "at twice the LR": read(arm, 2.0)}


def grows(setup: Setup) -> tuple[Criterion, ...]:
    return (
        Criterion(
            name=f"norm of the weights, end over start, {setup.panel}",
            clause="a",
            panel=setup.panel,
            observe=setup.growth(setup.decayed),
            **above(2.0, refuted=1.0, null=1.0, margin=1.05, unit="x"),
            says=f"With decay, the weight norm of the {setup.panel} ends at {{estimate}} its initial value",
            alternatives=at_other_lrs(setup.growth, setup.decayed),
        ),
        exceeds(
            f"late exponent of the norm on the step, no decay, {setup.panel}",
            setup.late_slope(setup.free),
            f"Without decay, the weight norm of the {setup.panel} grows as step^{{estimate}} late in training",
            by=0.02,
            clause="b",
            unit="",
            panel=setup.panel,
            alternatives=at_other_lrs(setup.late_slope, setup.free),
        ),
    )


ADAMW_VS_L2 = judgement(
    "wd.adamw_vs_l2",
    Criterion(
        name="spread of the shares that decoupled decay takes off, over their mean",
        clause="a",
        observe=computed("decay.shrinkage", "spread"),
        **below(1e-3, refuted=0.1),
        says="Decoupled decay shrinks all weights by the same fraction, with a relative spread of {estimate}",
    ),
    Criterion(
        name="rank correlation of what L2 inside Adam takes off with the root of the second moment",
        clause="b",
        observe=computed("decay.shrinkage", "rank_correlation"),
        **below(-0.5, refuted=0.0),
        says="The shrinkage by L2 inside Adam has a rank correlation of {estimate} with the root of the second moment",
    ),
    right={"supported": "second moment"},
    reported={
        "the same rank correlation at a coefficient of 0.1 instead of 0.001": computed(
            "decay.shrinkage", "rank_correlation", decay=0.1
        ),
        "share of weights that L2 inside Adam shrinks less than decoupled decay": (
            computed("decay.shrinkage", "weaker"),
            "share",
        ),
    },
)

SGD_IDENTITY = judgement(
    "wd.sgd_identity",
    Criterion(
        name="distance of L2 from decoupled decay, SGD without momentum, of the way",
        clause="a",
        observe=computed("decay.sgd", "distance"),
        **below(1e-6, refuted=1e-3),
        says="For SGD without momentum, L2 and decoupled decay differ by {estimate} of the distance travelled after 200 steps",
    ),
    Criterion(
        name="distance of L2 from decoupled decay, momentum 0.9, of the way",
        clause="b",
        observe=computed("decay.sgd", "momentum_distance"),
        **below(1e-6, refuted=1e-3),
        says="For SGD with momentum 0.9, they differ by {estimate} of the distance, though there is no preconditioning",
    ),
)

GROWTH = judgement(
    "wd.growth",
    *(criterion for setup in SETUPS for criterion in grows(setup)),
    reported={
        **{f"late exponent with decay, {setup.panel}": setup.late_slope(setup.decayed) for setup in SETUPS},
        **{f"end over start without decay, {setup.panel}": (setup.growth(setup.free), "x") for setup in SETUPS},
    },
)

STUDY = study(
    __file__,
    # Version 1 had a margin that was lowered to 0.005 after its first run (reports/log).
    version=2,
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    # A constant LR: LR decay would itself end the growth of the weights.
    training=Training(schedule="constant", warmup_fraction=0.05, steps=2000),
    measurement=Measurement(probes=40, evaluations=4, evaluation_examples=64, final_examples=256, curve_points=20),
    arms={
        **{setup.decayed: setup.arm("decayed", setup.decay) for setup in SETUPS},
        **{setup.free: setup.arm("no decay", 0.0) for setup in SETUPS},
    },
    factors={"peak_lr": (2.0**-7,)},
    seeds=10,
    first_seed=25_200,
    scales={
        "smoke": scales.smoke(
            training={"steps": 20}, measurement={"probes": 4, "evaluation_examples": 8, "final_examples": 16}
        ),
        "laptop": scales.laptop(
            "about three minutes of training",
        ),
        "gpu": scales.gpu(
            "one GPU, at most four minutes: GPTs of 0.4M parameters on Python's standard library",
            training={"precision": "tf32"},
            arm_settings=dict.fromkeys(GPT_ARMS, GPU_GPT),
            seeds=5,
        ),
        "cluster": scales.gpu(
            "many GPUs, an hour: GPTs of 25M parameters on web text",
            training={"precision": "tf32", "steps": 5000},
            arm_settings=dict.fromkeys(GPT_ARMS, CLUSTER_GPT),
            seeds=5,
        ),
    },
    answer=("wd.growth", "wd.adamw_vs_l2", "wd.sgd_identity"),
    judgements=(ADAMW_VS_L2, SGD_IDENTITY, GROWTH),
)
