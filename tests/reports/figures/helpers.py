"""Trials that figures are drawn of."""

from functools import cache

from folklore.harness.judging.trial_sets import HERE, TrialSet, published_sets, trial_sets
from folklore.harness.planning.catalog import load_study
from folklore.harness.spec import AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.spec.observed import Observed
from folklore.reports.figures.drawing import Drawing
from tests.harness.helpers import bowl, frame, result


@cache
def published(study: str) -> TrialSet:
    return published_sets(load_study(study))[0]


def judgement_of(records: TrialSet, claim: str) -> Judgement:
    (found,) = [each for each in records.study.judgements if each.claim == claim]
    return found


def recorded(study: Study, optimum: float = -7, **curves: list[float]) -> TrialSet:
    trials = frame(study, lambda trial: result(bowl(trial, optimum, 2.0), **curves))  # type: ignore[arg-type]
    (found,) = trial_sets(study, trials, HERE)
    return found


def judging(study: Study, *observables: Observed) -> Study:
    criteria = tuple(
        Criterion(name=str(index), observe=each, claimed=AtLeast(value=0.5), refuted=AtMost(value=0.1))
        for index, each in enumerate(observables)
    )
    return study.model_copy(update={"judgements": (Judgement(claim=study.judgements[0].claim, criteria=criteria),)})


def drawn(drawing: Drawing | None) -> Drawing:
    assert drawing is not None
    return drawing
