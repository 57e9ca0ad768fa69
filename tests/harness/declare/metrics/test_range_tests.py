"""Picks and regrets from planted range tests and planted loss bowls."""

from typing import get_args

import numpy as np
import pytest

from folklore.harness.declare import Arm, Study
from folklore.harness.declare.metrics.estimating.range_test_rules import RULES
from folklore.harness.declare.trial import Trial
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from folklore.studies.metrics.lr_finder import FinderRule, finder_pick, finder_regret, suggestion_rate
from tests.harness.declare.metrics.planted import table_of
from tests.harness.helpers import changed, frame, result

RAMP = np.geomspace(1e-5, 10.0, 200)
OPTIMUM = -6.0


@pytest.fixture(scope="module")
def finder(study: Study) -> Study:
    return changed(
        study,
        judgements=(),
        factors={"peak_lr": tuple(2.0**e for e in range(-12, 1))},
        arms={
            "full": Arm(label="full", settings={"warmup_fraction": 0.1}),
            "ramp": Arm(label="ramp", settings={"schedule": "exponential"}, factors={"peak_lr": (10.0,)}),
            "flat": Arm(label="flat", settings={"schedule": "exponential", "ramp_start": 0.1}, factors={"peak_lr": (10.0,)}),
        },
    )


def outcome(trial: Trial) -> LaneResult:
    if trial.arm == "full":
        return result(min(2.0 + 0.05 * (np.log2(trial.configuration.training.peak_lr) - OPTIMUM) ** 2, 4.9))
    if trial.arm == "flat":
        return result(2.0, lr=list(RAMP), train_loss=[4.0] * 200)
    return result(2.0, lr=list(RAMP), train_loss=[4.0] * 100 + [2.0] * 50 + [1000.0] * 50)


def test_no_suggestion_is_no_number(finder: Study) -> None:
    with pytest.raises(NotEstimableError, match=r"makes no suggestion in 5 of 5 range tests") as error:
        observe(finder_pick(arm="flat", rule="steepest_log"), table_of(finder, outcome))
    assert error.value.verdict == "open"


def test_a_pick_outside_the_grid_has_no_regret(finder: Study) -> None:
    narrow = changed(finder, factors={"peak_lr": (2.0**-7, 2.0**-6, 2.0**-5)})
    with pytest.raises(NotEstimableError, match=r"above the highest that .full. was trained at"):
        observe(
            finder_regret(arm="full", range_test="ramp", rule="tenth_of_divergence"),
            table_of(narrow, outcome),
        )


def test_a_study_may_name_every_rule() -> None:
    assert set(get_args(FinderRule)) == {"divergence", *RULES}


def slow_rise(steps: int) -> tuple[list[float], list[float]]:
    """A ramp of any length whose loss falls around 1e-3 and passes its first value at an LR of 0.1."""
    lr = np.geomspace(1e-5, 10.0, steps)
    loss = 4.0 - 2.0 / (1 + (lr / 1e-3) ** -2) + 2.0 * (lr / 0.1) ** 2
    return list(lr), [4.0, *loss[1:]]


def test_declared_smoothing_goes_before_the_tables(finder: Study) -> None:
    lr, loss = slow_rise(300)
    trials = frame(finder, lambda trial: result(2.0, lr=lr, train_loss=loss))
    estimates = []
    for smoothing in (0.95, 0.99):
        table = TrialArrays(finder, "laptop", trials)
        table.smoothing = smoothing
        picks = (finder_pick(arm="ramp", rule="passes_initial", smoothing=said) for said in (None, 0.98))
        estimates.append([observe(pick, table).estimate for pick in picks])
    (less, own), (more, same) = estimates
    assert less < own == same < more


def test_the_regret_of_a_pick_without_the_lag(finder: Study) -> None:
    """As a share of the fall from 5 to 2: the bowl at an LR of 0.1, between two grid points."""
    lr, loss = slow_rise(1000)
    ramp = result(2.0, lr=lr, train_loss=loss)
    table = table_of(finder, lambda trial: ramp if trial.arm == "ramp" else outcome(trial))
    regret = finder_regret(arm="full", range_test="ramp", rule="passes_initial", delag=True, of="fall")
    expected = np.interp(np.log2(0.1), np.arange(-12, 1.0), 0.05 * (np.arange(-12, 1.0) - OPTIMUM) ** 2) / 3.0
    assert observe(regret, table).estimate == pytest.approx(expected, rel=0.03)
    with_lag = regret.model_copy(update={"delag": None})
    assert observe(with_lag, table).estimate > 1.2 * expected
    assert observe(suggestion_rate(arm="ramp", rule="passes_initial", delag=True), table).estimate == 1.0
