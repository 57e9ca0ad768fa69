"""An effect as compute: the share of its steps after which an arm reaches the other's end."""

import numpy as np
import pandas as pd

from ..judge.statistics.two_samples import NoSpreadError, against
from .claims import RunClaim
from .runs import Runs
from .samples import crossing

# A smaller share of the steps saved is not worth a sentence.
LEAST_SHARE = 0.01


def compute_saved(runs: Runs, claim: RunClaim) -> str:
    """A sentence on arms with curves on one task; empty if there are none, or if no arm reaches the other's end."""
    if claim.law or claim.factor or claim.step or claim.target or not isinstance(claim.other, str) or len(runs.tasks) > 1:
        return ""
    curves = runs.frame[np.isfinite(runs.frame["step"])]
    sides = {arm: curves[curves["arm"] == arm] for arm in claim.arms}
    if any(part.groupby("run").size().min() < 3 if len(part) else True for part in sides.values()):
        return ""
    # The claim says what is better; one of equivalence does not.
    sign = {"<": 1.0, ">": -1.0}.get(claim.comparison[0], -1.0 if runs.better == "higher" else 1.0)
    ends = {arm: part.groupby("run").tail(1) for arm, part in sides.items()}
    faster, slower = sorted(claim.arms, key=lambda arm: sign * float(ends[arm]["value"].mean()))
    return _share(sides[faster], ends[slower], faster, slower, sign)


def _share(part: pd.DataFrame, end: pd.DataFrame, faster: str, slower: str, sign: float) -> str:
    target, whole = float(end["value"].mean()), float(end["step"].mean())
    if not np.isfinite(target):
        return ""
    steps = [crossing(curve["step"], curve["value"], target, sign) for _, curve in part.groupby("run", sort=False)]
    reached = np.array([step for step in steps if np.isfinite(step)]) / whole
    if len(reached) < len(steps) or not len(reached):
        return f"{len(reached)} of {len(steps)} runs of '{faster}' reach the end of '{slower}' ({target:.4g})" * bool(
            len(reached)
        )
    if abs(reached.mean() - 1) < LEAST_SHARE:
        return ""
    sentence = f"'{faster}' reaches the end of '{slower}' ({target:.4g}) in {100 * reached.mean():.3g}% of its steps"
    try:
        share = against(reached, 0.0)
    except NoSpreadError:
        return sentence
    return f"{sentence} (95% CI {100 * max(0.0, share.low):.3g}–{100 * share.high:.3g}%)"
