"""The gradient norm as a sign of why a loss is flat: runs whose cause and norm are known."""

import math
from dataclasses import replace
from typing import Any

import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.lr_regimes import norm_diagnosis
from tests.harness.declare.metrics.planted import table_of
from tests.harness.helpers import INITIAL_LOSS, result

HEALTHY, SMALL, LARGE, VANISHING = (2.0**exponent for exponent in (-7, -9, -5, -8))
# Norms in the first and second half of the probes, from a healthy norm of 2 at the start.
NORMS = {HEALTHY: (2.0, 1.0), SMALL: (2.0, 1.9), LARGE: (2.0, 7.0), VANISHING: (2.0, 0.01)}
RULE: dict[str, Any] = {
    "healthy": "none",
    "healthy_value": HEALTHY,
    "vanishing": (("none", VANISHING),),
    "too_small": (("none", SMALL),),
    "too_large": (("none", LARGE),),
}


def outcome(trial: Trial, **norms: tuple[float, float]) -> LaneResult:
    lr = trial.configuration.training.peak_lr
    first, late = norms.get(f"seed_{trial.seed}", NORMS.get(lr, (1.0, 1.0)))
    loss = 2.0 if lr == HEALTHY else INITIAL_LOSS - 0.1
    return result(
        loss, probe_step=[1.0, 2.0, 3.0, 4.0], probe_gradient_norm=[first, first, late, late], probe_gradient_variance=[0.0] * 4
    )


def table(study: Study, changed: Any = None) -> TrialArrays:
    def made(trial: Trial) -> LaneResult:
        trained = outcome(trial)
        return changed(trial, trained) if changed else trained

    return table_of(study, made)


def accuracy(study: Study, changed: Any = None, rule: Any = None) -> float:
    return observe(norm_diagnosis(**(rule or RULE)), table(study, changed)).estimate


def test_norms_that_follow_the_rule_are_told_all(study: Study) -> None:
    assert accuracy(study) == 1.0


def test_causes_that_are_swapped_are_told_by_none(study: Study) -> None:
    swapped = RULE | {"too_small": RULE["too_large"], "too_large": RULE["vanishing"], "vanishing": RULE["too_small"]}
    assert accuracy(study, rule=swapped) == 0.0


@pytest.mark.parametrize(
    ("late", "right"),
    [(0.0199, 5), (0.0201, 0)],
)
def test_the_bar_is_a_share_of_each_seeds_own_first_norm(study: Study, late: float, right: int) -> None:
    def changed(trial: Trial, trained: LaneResult) -> LaneResult:
        if trial.configuration.training.peak_lr != VANISHING:
            return trained
        return replace(trained, curves=trained.curves | {"probe_gradient_norm": [2.0, 2.0, late, late]})

    assert accuracy(study, changed) == pytest.approx((2 + right / 5) / 3)


def test_what_falls_or_is_not_finite_does_not_count(study: Study) -> None:
    """Three runs at too large an LR have a norm that tells something else: one falls, two are not finite."""
    small = {"probe_gradient_norm": [2.0, 2.0, 1.0, 1.0]}

    def changed(trial: Trial, trained: LaneResult) -> LaneResult:
        if trial.configuration.training.peak_lr != LARGE or trial.seed > 2:
            return trained
        trained = replace(trained, curves=trained.curves | small)
        if trial.seed == 0:
            return replace(trained, test_loss=2.5)
        if trial.seed == 1:
            return replace(trained, test_loss=math.nan, outcome="diverged", divergence_step=3)
        return replace(trained, curves=trained.curves | {"probe_gradient_norm": [2.0, 2.0, math.inf, math.nan]})

    assert accuracy(study, changed) == 1.0


def test_a_cause_counts_for_as_much_however_many_runs_it_has(study: Study) -> None:
    """One of two LRs that are too large is identified: half of that cause, and not six of twenty runs."""
    assert accuracy(study, rule=RULE | {"too_large": (("none", LARGE), ("none", SMALL))}) == pytest.approx((1 + 1 + 0.5) / 3)


def test_a_cause_without_flat_runs_leaves_nothing_to_tell(study: Study) -> None:
    def changed(trial: Trial, trained: LaneResult) -> LaneResult:
        return replace(trained, test_loss=2.0) if trial.configuration.training.peak_lr == LARGE else trained

    with pytest.raises(NotEstimableError, match="no run of 'no <warmup>' has a loss that is flat and finite"):
        observe(norm_diagnosis(**RULE), table(study, changed))


def test_the_noise_of_batches_is_taken_off(study: Study) -> None:
    """A batch's norm of 2.1 whose variance is 4.4 is noise; one of 7 with that variance is a gradient."""

    def changed(trial: Trial, trained: LaneResult) -> LaneResult:
        noisy = {"probe_gradient_variance": [0.0, 0.0, 4.4, 4.42]}
        if trial.configuration.training.peak_lr == VANISHING:
            noisy |= {"probe_gradient_norm": [2.0, 2.0, 2.1, 2.1]}
        return replace(trained, curves=trained.curves | noisy) if trial.configuration.training.peak_lr != SMALL else trained

    assert accuracy(study, changed) == 1.0


def test_causes_can_be_told_apart(study: Study) -> None:
    one = {"healthy": "none", "healthy_value": HEALTHY}
    assert accuracy(study, rule=one | {"too_large": (("none", LARGE), ("none", SMALL))}) == 0.5
    with pytest.raises(ValueError, match="no run to tell the cause of: give one of vanishing, dead, too_small, too_large"):
        norm_diagnosis(**one)
    with pytest.raises(ValueError, match="dead: give swing"):
        norm_diagnosis(**one, dead=(("none", LARGE),))


def test_flat_runs_at_too_large_an_lr_swing_or_are_dead(study: Study) -> None:
    """On three of five seeds the loss swings by 0.4 with a huge norm; on two it is still, with a norm of zero."""

    def changed(trial: Trial, trained: LaneResult) -> LaneResult:
        swings = trial.configuration.training.peak_lr == LARGE and trial.seed < 3
        late = [INITIAL_LOSS - 0.2, INITIAL_LOSS + 0.2] if swings else [INITIAL_LOSS, INITIAL_LOSS]
        norms = [2.0, 2.0, 7.0, 7.0] if swings else [2.0, 2.0, 0.0, 0.0]
        losses = {"evaluation_step": [1.0, 2.0, 3.0, 4.0], "evaluation_loss": [INITIAL_LOSS] * 2 + late}
        if trial.configuration.training.peak_lr == LARGE:
            losses["probe_gradient_norm"] = norms
        return replace(trained, curves=trained.curves | losses)

    high = {"dead": RULE["too_large"], "swing": 0.1}
    assert accuracy(study, changed, RULE | high) == 1.0
    # No run swings by this bar: all five are dead, and three of them have a huge norm.
    only_dead = {"healthy": "none", "healthy_value": HEALTHY} | high | {"swing": 10.0}
    assert accuracy(study, changed, only_dead) == pytest.approx(2 / 5)


def test_a_loss_that_explodes_is_not_flat(study: Study) -> None:
    def changed(trial: Trial, trained: LaneResult) -> LaneResult:
        end = 3 * INITIAL_LOSS if trial.configuration.training.peak_lr == LARGE else INITIAL_LOSS
        return replace(trained, curves=trained.curves | {"evaluation_loss": [INITIAL_LOSS, INITIAL_LOSS, end, end]})

    with pytest.raises(NotEstimableError, match="no run of 'no <warmup>' has a loss that is flat and finite"):
        accuracy(study, changed, RULE | {"swing": 0.1})
