"""Losses without a zero: the negative logarithm of a density falls below it. What is relative to them is no number; differences
are what they are for any other loss."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from folklore.harness.declare import Arm, AtLeast, AtMost, Criterion, Judgement, Observable, Study
from folklore.harness.declare.metrics import (
    FinalLoss,
    Gap,
    Log2,
    MaxTrainable,
    Quotient,
    RelativeGap,
    Scaled,
    Share,
    Slope,
    TunedLoss,
)
from folklore.harness.declare.metrics.estimating.range_test_rules import RULES, NoSuggestion, divergence, suggest
from folklore.harness.declare.parts import relative_to_losses
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.judge import judge
from folklore.harness.judge.observe import observe
from folklore.harness.judge.outcomes import OUT_OF_REGIME
from folklore.harness.judge.robustness import robustness
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.lr_finder import WITHOUT_ZERO, finder_pick, finder_regret, suggestion_rate
from folklore.studies.metrics.mup_transfer import transfer_regret
from tests.harness.declare.metrics.planted import table_of
from tests.harness.helpers import INITIAL_LOSS, bowl, changed, frame, result

NONE, HALF = TunedLoss(arm="none"), TunedLoss(arm="half")
REGRET = transfer_regret(arm="half", tuned_for="none")
RELATIVE: tuple[Observable, ...] = (
    RelativeGap(left=NONE, right=HALF),
    Quotient(top=NONE, bottom=HALF),
    Log2(of=HALF),
    Share(part=Gap(left=NONE, right=HALF), whole=HALF, whole_at_least=0.1),
    Slope(points=((1, NONE), (2, HALF), (4, Scaled(of=NONE, by=2.0)))),
    REGRET,
    Gap(left=REGRET, right=REGRET),
    MaxTrainable(arm="none", best_of=("none", "half")),
    Quotient(top=MaxTrainable(arm="none"), bottom=MaxTrainable(arm="half")),
)


def shifted(by: float, floor: float = 2.0):
    """The bowls of two arms whose optima and floors differ, with a constant taken from every loss."""

    def outcome(trial: Trial) -> LaneResult:
        optimum, above = {"none": (-7, 0.2), "half": (-5, 0.0)}[trial.arm]
        loss = min(4.9, bowl(trial, optimum, floor + above) + 0.01 * trial.seed)
        shifted_result = result(loss - by, evaluation_loss=[loss - by])
        return replace(shifted_result, initial_loss=INITIAL_LOSS - by)

    return outcome


@pytest.fixture(scope="module")
def table_less(wide: Study) -> Callable[[float], TrialArrays]:
    """The trials with a constant taken from every loss, made once for all that is observed of them."""
    return cache(lambda by: table_of(wide, shifted(by)))


@pytest.mark.parametrize("observable", RELATIVE, ids=lambda observable: observable.kind)
@pytest.mark.parametrize(("by", "word"), [(4.2, "negative"), (2.0, "near zero"), (5.0, "negative"), (6.0, "negative")])
def test_what_is_relative_is_no_number(
    table_less: Callable[[float], TrialArrays], observable: Observable, by: float, word: str
) -> None:
    with pytest.raises(
        NotEstimableError, match=rf"relative losses are undefined here: .* nats, which is {word}; judge"
    ) as caught:
        observe(observable, table_less(by))
    assert caught.value.verdict == OUT_OF_REGIME


def test_a_small_loss_is_compared(wide: Study) -> None:
    """1% of where it started, as classifiers reach."""
    observation = observe(RelativeGap(left=NONE, right=HALF), table_of(wide, shifted(0.0, floor=0.05)))
    assert observation.estimate == pytest.approx(0.2 / 0.07, rel=1e-3)


def test_final_losses_are_looked_at_too(study: Study) -> None:
    one = changed(study, factors={"peak_lr": (0.01,)}, judgements=())
    gap = RelativeGap(left=FinalLoss(arm="none"), right=FinalLoss(arm="half"))
    with pytest.raises(NotEstimableError, match="undefined here"):
        observe(gap, table_of(one, lambda trial: replace(result(-2.0 - 0.1 * trial.seed), initial_loss=1.0)))


def test_choices_by_a_multiple_of_the_first_loss_are_left_out(wide: Study) -> None:
    """Twice an initial loss of -1 would reward divergence."""
    gap = Criterion(name="gap", observe=Gap(left=NONE, right=HALF), claimed=AtLeast(value=0.0), refuted=AtMost(value=-1.0))
    study = wide.model_copy(update={"judgements": (Judgement(claim="warmup.widens", criteria=(gap,)),)})

    def outcome(trial: Trial) -> LaneResult:
        trained = shifted(6.0)(trial)
        diverges = trial.configuration.training.peak_lr == 1.0
        return replace(trained, outcome="diverged", divergence_step=3) if diverges else trained

    trials = frame(study, outcome)
    (sensitivity,) = robustness(study, "laptop", "cpu", trials, judge(study, "laptop", "cpu", trials))
    choices = {alternative.choice for alternative in sensitivity.alternatives}
    assert "a diverged run counts with the worst finished one of its arm" in choices
    assert not {choice for choice in choices if "initial loss" in choice}


RAMP = np.geomspace(1e-5, 10.0, 200)
FALLING = -np.tanh(np.log(RAMP / 1e-3))


@pytest.fixture(scope="module")
def ramped(wide: Study) -> Callable[..., TrialArrays]:
    """Trials with a range test of these losses beside them, and a constant taken from the loss of whole runs."""
    ramp = Arm(label="ramp", settings={"schedule": "exponential"}, factors={"peak_lr": (10.0,)})
    study = wide.model_copy(update={"arms": {**wide.arms, "ramp": ramp}})

    def made(losses: np.ndarray, by: float = 0.0) -> TrialArrays:
        diverged = result(float("nan"), divergence_step=3, lr=list(RAMP), train_loss=list(losses))
        return table_of(study, lambda trial: diverged if trial.arm == "ramp" else shifted(by)(trial))

    return made


@pytest.mark.parametrize("rule", [*(rule for rule in RULES if rule not in WITHOUT_ZERO), "divergence"])
def test_range_tests_of_negative_losses_suggest_nothing(rule: str) -> None:
    """The loss falls from 1 to -1 and stays there: nothing diverges."""
    pick = divergence(RAMP, FALLING) if rule == "divergence" else suggest(rule, RAMP, FALLING)
    assert isinstance(pick, NoSuggestion)
    assert "not positive" in pick.reason


@pytest.mark.parametrize(
    "observable",
    [
        finder_pick(arm="ramp", rule="divergence"),
        suggestion_rate(arm="ramp", rule="divergence"),
        finder_regret(arm="none", range_test="ramp", rule="steepest_log"),
        finder_regret(arm="none", range_test="ramp", rule="steepest_log", of="fall"),
    ],
    ids=lambda observable: observable.kind,
)
def test_what_is_read_off_them_is_no_number(ramped: Callable[..., TrialArrays], observable: Observable) -> None:
    with pytest.raises(NotEstimableError, match="arm 'ramp' falls to -") as caught:
        observe(observable, ramped(FALLING))
    assert caught.value.verdict == OUT_OF_REGIME


RISING = np.where(RAMP < 0.5, FALLING, 3.0)


@pytest.mark.parametrize(
    "observable",
    [
        finder_pick(arm="ramp", rule="passes_initial"),
        suggestion_rate(arm="ramp", rule="passes_initial"),
        finder_regret(arm="none", range_test="ramp", rule="passes_initial", of="fall"),
    ],
    ids=lambda observable: observable.kind,
)
def test_passing_the_first_value_is_read_off_negative_losses(
    ramped: Callable[..., TrialArrays], observable: Observable
) -> None:
    assert list(relative_to_losses(observable)) == []
    smoothed = observable.model_copy(update={"smoothing": 0.5})
    plain, moved = (observe(smoothed, ramped(RISING - by, by)) for by in (-9.0, 4.2))
    assert moved.estimate == pytest.approx(plain.estimate)


def test_a_regret_of_the_fall_needs_a_zero_of_the_ramp_alone(ramped: Callable[..., TrialArrays]) -> None:
    """Whole runs end below zero, range tests do not."""
    table = ramped(FALLING + 3, 4.2)
    regret = finder_regret(arm="none", range_test="ramp", rule="steepest_log", of="fall")
    assert observe(regret, table).estimate > 0
    with pytest.raises(NotEstimableError, match="relative losses are undefined here"):
        observe(regret.model_copy(update={"of": None}), table)
