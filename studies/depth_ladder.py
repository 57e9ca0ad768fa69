"""Does a rule for depth keep the best learning rate as a model deepens, and does that change as models grow?"""

from typing import Any

from .kit import *
from .metrics.mup_transfer import transfer_regret

study = ladder_draft(
    __file__,
    # Without decay of weights, so that depth alone changes what an LR does.
    weight_decay=0.0,
    first_seed=340_000,
    answer=("mup.depth_rule_with_size",),
)

BASE_DEPTH, DEPTHS = 2, (4, 8)
BASE = study.arm("base", f"depth {BASE_DEPTH}", "both", depth=BASE_DEPTH, reference=True)


def deep(kind: str, label: str, **rule: Any) -> dict[int, str]:
    """The arms by their depth, the base first."""
    arms = {depth: study.arm(f"{kind}_{depth}", f"{label}, depth {depth}", label, depth=depth, **rule) for depth in DEPTHS}
    return {BASE_DEPTH: BASE, **arms}


STANDARD = deep("standard", "standard")
RULE = deep("rule", "depth rule", base_depth=BASE_DEPTH)

study.smoke(dict(steps=10, evaluation_examples=8, final_examples=16), factors=peak_lrs(-7, -6, -5), seeds=1)


def own(rung: Rung) -> dict[str, Any]:
    """Of one seed and LR at depth 8 losses scatter by a percent of the loss reduction in the pilot."""
    return dict(seeds=8 if rung.scale == "laptop" else 5)


# In a pilot on two other seeds of the first rung, standard losses at depth 8 hardly differed from 2^-7 to 2^-4.5.
climb(study, {tuple(STANDARD[depth] for depth in DEPTHS): (-3.0, 1.0)}, usual=(-1.5, 1.0), own=own)

DEEPEST = DEPTHS[-1]


def regret(arms: dict[int, str]) -> Any:
    return transfer_regret(arm=arms[DEEPEST], tuned_for=BASE, of="fall")


study.claim(
    "mup.depth_rule_with_size",
    no_worse(
        regret(RULE),
        f"share of the fall lost at depth {DEEPEST} with the LR tuned at depth {BASE_DEPTH}, depth rule",
        f"With the depth rule, depth {DEEPEST} loses {{estimate}} of its loss reduction at the best learning rate of depth"
        f" {BASE_DEPTH}",
        margin=0.01,
        clause="a",
    ),
    at_least(
        0.01,
        regret(STANDARD) - regret(RULE),
        f"share of the fall lost from depth {BASE_DEPTH} to {DEEPEST}, standard minus depth rule",
        f"From depth {BASE_DEPTH} to {DEEPEST}, keeping the learning rate loses {{estimate}} more of the loss reduction in"
        " standard parametrization than with the depth rule",
        refuted=0.0,
        null=0.0,
        clause="b",
    ),
    *(
        reported(
            Slope(points=tuple((depth, Optimum(arm=arm, window_octaves=1.0)) for depth, arm in arms.items())),
            f"exponent of the best LR in depth, {words}",
        )
        for words, arms in (("standard", STANDARD), ("depth rule", RULE))
    ),
    reported(loss_gap(RULE[DEEPEST], STANDARD[DEEPEST]), f"tuned loss at depth {DEEPEST}, depth rule over standard"),
)

STUDY = study.declared()
