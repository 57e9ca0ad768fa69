"""The results of a search so far, read from stored trials. No proposals are made here; proposals.py makes them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..declare import Search, Study
from .plan import Plan
from .store.trial_rows import judged_losses

# A best value nearer to an end of the searched range than this share of it is at its edge.
EDGE_SHARE = 0.05


@dataclass(frozen=True)
class Tuning:
    """One arm's proposals that are trained on all search seeds, rising, and their mean validation losses in nats."""

    search: Search
    values: Sequence[float]
    losses: Sequence[float]

    @property
    def complete(self) -> bool:
        return len(self.values) >= self.search.budget

    @property
    def best(self) -> float:
        return self.values[int(np.argmin(self.losses))]

    @property
    def at_edge(self) -> bool:
        """Whether the best value lies at an edge of the range. 0 is no edge: nothing lies below it."""
        lowest = EDGE_SHARE if self.search.low else 0.0
        return not lowest <= self.search.share(self.best) <= 1 - EDGE_SHARE


def tunings(study: Study, scale: str, trials: pd.DataFrame) -> dict[str, Tuning]:
    """Arm -> its proposals and their losses so far, for every searched arm of the scale. A diverged run counts with its initial
    loss."""
    searches = study.searches_at(scale)
    if not searches:
        return {}
    wanted = set(next(iter(searches.values())).seed_numbers)
    rows = trials[trials["seed"].isin(wanted)]
    capped = judged_losses(*(rows[name].to_numpy() for name in ("validation_loss", "initial_loss", "outcome")))
    losses: dict[str, dict[float, dict[int, float]]] = {}
    for arm, point, seed, loss in zip(rows["arm"], rows["point"], rows["seed"], capped, strict=True):
        if arm in searches:
            value = json.loads(point).get(searches[arm].factor)
            losses.setdefault(arm, {}).setdefault(value, {})[seed] = float(loss)
    tuning_of = {}
    for arm, search in searches.items():
        whole = {value: by_seed for value, by_seed in losses.get(arm, {}).items() if by_seed.keys() == wanted}
        values = sorted(whole)
        tuning_of[arm] = Tuning(search, values, [float(np.mean(list(whole[value].values()))) for value in values])
    return tuning_of


def chosen_values(tuning_of: Mapping[str, Tuning]) -> dict[str, float]:
    """Arm -> best value, for the arms whose search is complete."""
    return {arm: tuning.best for arm, tuning in tuning_of.items() if tuning.complete}


def searched_plan(plan: Plan, trials: pd.DataFrame) -> Plan:
    """A plan with the proposals that stored trials show, whoever made them, and the values chosen from them.

    So stored trials can be judged without the sampler that proposed them.
    """
    search = plan.study.search_at(plan.scale)
    if search is None or trials.empty:
        return plan
    # A scale searches for itself: another's proposals may resolve to equal trials, and would enlarge its budget.
    rows = trials[trials["seed"].isin(set(search.seed_numbers)) & (trials["scale"] == plan.scale)]
    searches = plan.study.searches_at(plan.scale)
    proposals: dict[str, list[float]] = {arm: [] for arm in searches}
    for arm, point in rows[["arm", "point"]].drop_duplicates().itertuples(index=False):
        own = searches.get(str(arm))
        if own and isinstance(value := json.loads(str(point)).get(own.factor), float):
            proposals[str(arm)].append(value)
    proposed = plan.with_search(proposals, {})
    tuning_of = tunings(plan.study, plan.scale, proposed.select(trials))
    return plan.with_search({arm: tuning.values for arm, tuning in tuning_of.items()}, chosen_values(tuning_of))
