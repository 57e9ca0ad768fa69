"""Adding seeds until claims are decided, at an error rate that stays what it is.

Looks are fixed before the first trial: after how many seeds the study is judged, each at its own level
(judge/statistics/looks.py). A claim keeps the first verdict it gets; one that is partly true, because only its direction is
sure, may still have its size shown.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from ..declare import Study
from ..declare.trials import ADD_SEEDS
from ..errors import UserError
from ..plan.store.computations import Computations
from .cautions import published_calibration
from .judge import judge
from .outcomes import DECIDED, OPEN, PARTLY, REFUTED, SUPPORTED
from .statistics.looks import levels
from .trial_arrays import TrialArrays
from .verdict import CriterionFinding, Verdict

# Seeds grow by at least this factor from look to look, and there are about this many looks at most.
GROWTH, MOST_LOOKS = 1.5, 6
# By default, the most seeds, as a multiple of the study's own.
DEFAULT_TIMES = 4


def planned_looks(first: int, most: int) -> tuple[int, ...]:
    """Numbers of seeds after which to judge: from the study's own to the most, by a half more each time or in six looks."""
    if most <= first:
        raise UserError(f"--most-seeds {most}: must be more than the study's own {first}")
    growth = max(GROWTH, (most / first) ** (1 / (MOST_LOOKS - 1)))
    looks = [first]
    while looks[-1] < most:
        looks.append(min(most, math.ceil(round(looks[-1] * growth, 6))))
    return tuple(looks)


def seeds_reached(looks: Sequence[int], seeds: range, trials: pd.DataFrame) -> int:
    """The last look whose seeds all have as many trials as the first seed; at least the first look."""
    count = trials["seed"].value_counts().to_dict() if len(trials) else {}
    wanted = count.get(seeds[0], 0)
    whole = len(list(itertools.takewhile(lambda seed: wanted and count.get(seed, 0) >= wanted, itertools.count(seeds[0]))))
    return max([looks[0], *(look for look in looks if look <= whole)])


def judge_in_looks(
    study: Study,
    scale: str,
    device: str,
    trials: pd.DataFrame,
    looks: tuple[int, ...],
    failures: Mapping[str, str] | None = None,
    computations: Computations | None = None,
) -> list[Verdict]:
    """As `judge`, by the looks up to the study's seeds: a claim keeps the first verdict it gets, at that look's level.

    looks: all that were planned, those not reached among them; the study's seeds are the last that was reached.
    """
    numbers = study.seed_numbers_at(scale)
    kept: dict[str, Verdict] = {}
    for index, (look, level) in enumerate(zip(looks, levels(looks), strict=True)):
        if look > len(numbers):
            break
        table = TrialArrays(study, scale, trials, dict(failures or {}), numbers[:look], computations)
        for verdict in judge(study, scale, device, trials, failures, table, level, published_calibration()):
            before = kept.get(verdict.claim)
            if before is not None and (settled(before) or (before.verdict == PARTLY and verdict.verdict not in DECIDED)):
                continue
            said = f"look {index + 1} of {len(looks)}, {look} seeds, where alpha spending allows p of {level:.2g}"
            # In the register, the p value counts for all looks together (Bonferroni).
            p = min(1.0, verdict.p * len(looks))
            kept[verdict.claim] = replace(verdict, p=p, reason=f"{verdict.reason} ({said})")
    return list(kept.values())


def settled(verdict: Verdict) -> bool:
    """Whether more seeds cannot say more. They may show the size of a claim that is partly true because its direction is
    sure."""
    return verdict.verdict in (SUPPORTED, REFUTED) or (verdict.verdict == PARTLY and verdict.reading != "direction")


def undecided(verdicts: Sequence[Verdict]) -> list[str]:
    """Claims that more seeds could decide: their number decides nothing yet, or is missing for want of seeds."""
    return [verdict.claim for verdict in verdicts if verdict.verdict == OPEN and any(map(_wants_seeds, verdict.findings))]


def _wants_seeds(finding: CriterionFinding) -> bool:
    return finding.verdict in (OPEN, SUPPORTED) and (finding.low is not None or finding.settling == ADD_SEEDS)
