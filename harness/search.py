"""Proposals of an arm's learning rate by Optuna, asked for and told in rounds. The only import of optuna.

Nothing of Optuna's is stored: a round is asked for again from the same seed and told what the ledger holds, which gives
the same proposals. So a killed run goes on, and an overfull database cannot get in the way.
"""

from collections.abc import Mapping

import optuna
import pandas as pd
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from harness.plan import Plan
from harness.randomness import key
from harness.spec import Search
from harness.tuning import Tuning, chosen_values, tunings

optuna.logging.set_verbosity(optuna.logging.ERROR)


def next_plan(plan: Plan, trials: pd.DataFrame) -> Plan:
    """The plan with all proposals that can be made from the stored trials: every round whose predecessors are trained,
    and, where an arm's rounds are all trained, the value chosen for it."""
    search = plan.study.search_at(plan.scale)
    if search is None:
        return plan
    arms = [arm for arm in plan.study.arms_at(plan.scale) if plan.study.arms[arm].searched]
    # The first round does not depend on results: with its trials planned, the stored ones can be told from others.
    proposals = {arm: propose(search, _seed(plan, arm), {}) for arm in arms}
    chosen: dict[str, float] = {}
    for _ in range(search.rounds):
        planned = plan.with_search(proposals, {})
        found = tunings(plan.study, plan.scale, planned.select(trials)) if not trials.empty else {}
        losses = {arm: _losses(found.get(arm)) for arm in arms}
        proposals = {arm: propose(search, _seed(plan, arm), losses[arm]) for arm in arms}
        chosen = chosen_values(found)
    return plan.with_search(proposals, chosen)


def propose(search: Search, seed: int, losses: Mapping[float, float]) -> list[float]:
    """The proposals of all rounds up to the first that is not wholly trained, in the order they were made.

    losses: proposal -> mean validation loss in nats, of what is trained.
    """
    study = optuna.create_study(direction="minimize", sampler=_sampler(search, seed))
    distribution: dict[str, BaseDistribution] = {search.factor: FloatDistribution(search.low, search.high, log=True)}
    proposed: list[float] = []
    for _ in range(search.rounds):
        asked = [study.ask(distribution) for _ in range(search.proposals)]
        values = [float(trial.params[search.factor]) for trial in asked]
        proposed += values
        if not all(value in losses for value in values):
            break
        for trial, value in zip(asked, values, strict=True):
            study.tell(trial, losses[value])
    return proposed


def _sampler(search: Search, seed: int) -> BaseSampler:
    """The first round is random; a constant liar keeps the proposals of one round apart."""
    if search.sampler == "random":
        return RandomSampler(seed=seed)
    return TPESampler(seed=seed, n_startup_trials=search.proposals, multivariate=True, constant_liar=True)


def _seed(plan: Plan, arm: str) -> int:
    """Every arm of a study has a sampler of its own."""
    return key(plan.study.version, f"search:{plan.study.name}:{plan.scale}:{arm}") % 2**31


def _losses(tuning: Tuning | None) -> dict[float, float]:
    return {} if tuning is None else dict(zip(tuning.values, tuning.losses, strict=True))
