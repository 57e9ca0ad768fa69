"""Proposals of an arm's searched factor by Optuna, asked for and told in rounds. The only import of optuna.

Nothing of Optuna's is stored: a round is asked for again from the same seed and told what the ledger holds, which gives
the same proposals. So a killed run goes on, and an overfull database cannot get in the way.
"""

from collections.abc import Mapping

import optuna
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import create_trial

from ..declare import Search
from ..randomness import key
from .plan import Plan
from .search_results import Tuning, chosen_values, tunings

optuna.logging.set_verbosity(optuna.logging.ERROR)

# The share of proposals that counts as the best, and the fewest proposals that can tell it.
BEST_SHARE, LEAST_PROPOSALS = 0.1, 20


def next_plan(plan: Plan, trials: pd.DataFrame) -> Plan:
    """The plan with all proposals that can be made from the stored trials: every round whose predecessors are trained,
    and, where an arm's rounds are all trained, the value chosen for it."""
    search = plan.study.search_at(plan.scale)
    if search is None:
        return plan
    searches = plan.study.searches_at(plan.scale)
    # The first round does not depend on results: with its trials planned, the stored ones can be told from others.
    proposals = {arm: propose(own, _seed(plan, arm), {}) for arm, own in searches.items()}
    chosen: dict[str, float] = {}
    for _ in range(search.rounds):
        planned = plan.with_search(proposals, {})
        tuning_of = tunings(plan.study, plan.scale, planned.select(trials)) if not trials.empty else {}
        proposals = {arm: propose(own, _seed(plan, arm), _losses(tuning_of.get(arm))) for arm, own in searches.items()}
        chosen = chosen_values(tuning_of)
    return plan.with_search(proposals, chosen)


def propose(search: Search, seed: int, losses: Mapping[float, float]) -> list[float]:
    """The proposals of all rounds up to the first that is not wholly trained, in the order they were made.

    losses: proposal -> mean validation loss in nats, of what is trained.
    """
    study = optuna.create_study(direction="minimize", sampler=_sampler(search, seed))
    distribution: dict[str, BaseDistribution] = {search.factor: _distribution(search)}
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


def importances(search: Search, tuning_of: Mapping[str, Tuning]) -> dict[str, float]:
    """How much the choice of the arm and of the searched factor tells the best tenth of all proposals from the others (shares
    of one), by PED-ANOVA (Watanabe et al. 2023), of the arms that are searched over it. Empty where there are too few
    proposals to tell.
    """
    tuning_of = {arm: tuning for arm, tuning in tuning_of.items() if tuning.search == search}
    if len(tuning_of) < 2:
        return {}
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances  # imports scikit-learn: seconds

    arms = CategoricalDistribution(sorted(tuning_of))
    values = _distribution(search)
    study = optuna.create_study(direction="minimize")
    for arm, tuning in tuning_of.items():
        for value, loss in zip(tuning.values, tuning.losses, strict=True):
            distributions: dict[str, BaseDistribution] = {"arm": arms, search.factor: values}
            study.add_trial(create_trial(params={"arm": arm, search.factor: value}, distributions=distributions, value=loss))
    if len(study.trials) < LEAST_PROPOSALS:
        return {}
    evaluator = PedAnovaImportanceEvaluator(target_quantile=BEST_SHARE, region_quantile=1.0, evaluate_on_local=True)
    return {str(name): float(share) for name, share in get_param_importances(study, evaluator=evaluator).items()}


def _distribution(search: Search) -> FloatDistribution:
    return FloatDistribution(search.low, search.high, log=not search.linear)


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
