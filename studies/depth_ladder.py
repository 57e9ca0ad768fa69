"""Does a rule for depth keep the best learning rate as a model deepens, and does that change as models grow?"""

from itertools import groupby
from typing import Any

from .kit import *
from .metrics.mup_transfer import transfer_regret

# Arms set the depth: of rungs of one width the first.
OF_WIDTH = tuple(next(rungs) for _, rungs in groupby(RUNGS, key=lambda rung: rung.width))

study = ladder_draft(
    __file__,
    ladder=tuple(rung.scale for rung in OF_WIDTH),
    # Without decay of weights, so that depth alone changes what an LR does.
    weight_decay=0.0,
    seeds=8,
    first_seed=340_000,
    answer=("mup.depth_rule_with_size",),
)

BASE_DEPTH = 2
BASE = study.arm("base", f"depth {BASE_DEPTH}", "both", depth=BASE_DEPTH, reference=True)


def deep(kind: str, label: str, *depths: int, **rule: Any) -> dict[int, str]:
    """The arms by their depth, the base first."""
    arms = {depth: study.arm(f"{kind}_{depth}", f"{label}, depth {depth}", label, depth=depth, **rule) for depth in depths}
    return {BASE_DEPTH: BASE, **arms}


# At depth 16 the standard parametrization has hardly an optimum at these widths.
STANDARD = deep("standard", "GPT-2's start", 4, 8)
RULE = deep("rule", "depth rule", 4, 8, 16, base_depth=BASE_DEPTH)

study.smoke(dict(steps=10, evaluation_examples=8, final_examples=16), factors=peak_lrs(-7, -6, -5), seeds=1)


def own(rung: Rung) -> dict[str, Any]:
    """Equal steps at all depths: 10 tokens for each parameter of the base."""
    return dict(steps=rung._replace(depth=BASE_DEPTH).steps(tokens_a_parameter=10), seeds=8 if rung.device == "cpu" else 5)


# In a pilot on two other seeds of the first rung, standard losses at depth 8 hardly differed from 2^-7 to 2^-4.5.
climb(study, {(STANDARD[4], STANDARD[8]): (-3.0, 1.0)}, own=own, rungs=OF_WIDTH)


def exponent(arms: dict[int, str], window_octaves: float = 1.5) -> Slope:
    return Slope(points=tuple((depth, Optimum(arm=arm, window_octaves=window_octaves)) for depth, arm in arms.items()))


def regret(arms: dict[int, str]) -> Any:
    return transfer_regret(arm=arms[8], tuned_for=BASE, of="fall")


study.claim(
    "mup.depth_rule_with_size",
    equivalent(
        exponent(RULE),
        "exponent of the best LR in depth 2 to 16, depth rule",
        "With the depth rule, the best learning rate scales as depth^{estimate}",
        # Half an octave over 8x in depth, as over 8x in width.
        margin=1 / 6,
        alternatives={"optima from a narrower window": exponent(RULE, 1.0)},
        clause="a",
    ),
    at_most(
        -1 / 6,
        exponent(STANDARD) - exponent(RULE),
        "exponent of the best LR in depth, GPT-2's start minus depth rule",
        "Without the depth rule, the exponent of the best learning rate in depth differs by {estimate}",
        refuted=0.0,
        null=0.0,
        alternatives={"optima from a narrower window": exponent(STANDARD, 1.0) - exponent(RULE, 1.0)},
        clause="b",
    ),
    reported(exponent(STANDARD), "exponent of the best LR in depth 2 to 8, GPT-2's start"),
    reported(regret(RULE), "share of the fall lost at depth 8 with the LR tuned at depth 2, depth rule", "share"),
    reported(regret(STANDARD), "share of the fall lost at depth 8 with the LR tuned at depth 2, GPT-2's start", "share"),
    reported(loss_gap(RULE[8], BASE), "tuned loss, depth 8 with the depth rule over depth 2"),
    reported(loss_gap(STANDARD[8], BASE), "tuned loss, depth 8 with GPT-2's start over depth 2"),
)

STUDY = study.declared()
