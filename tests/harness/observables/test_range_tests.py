"""Picks and regrets from planted range tests and planted loss bowls."""

from typing import get_args

import numpy as np
import pytest

from folklore.harness.judging.observe import observe
from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.observables import FinderPick, FinderRegret, Gap, Spread, SuggestionRate
from folklore.harness.observables.estimating.range_test_rules import RULES
from folklore.harness.observables.range_tests import FinderRule
from folklore.harness.spec import Arm, Study
from folklore.harness.spec.trial import Trial
from folklore.harness.spec.trials import UndecidableError
from folklore.harness.training.result import LaneResult
from tests.harness.helpers import frame, result

RAMP = np.geomspace(1e-5, 10.0, 200)
OPTIMUM = -6.0


@pytest.fixture
def finder(study: Study) -> Study:
    dump = {**study.model_dump(), "judgements": ()}
    dump["factors"] = {"peak_lr": tuple(2.0**e for e in range(-12, 1))}
    dump["arms"] = {
        "full": Arm(label="full", settings={"warmup_fraction": 0.1}),
        "ramp": Arm(label="ramp", settings={"schedule": "exponential"}, factors={"peak_lr": (10.0,)}),
        "flat": Arm(label="flat", settings={"schedule": "exponential", "ramp_start": 0.1}, factors={"peak_lr": (10.0,)}),
    }
    return Study.model_validate(dump)


def diverging_at(lr: float) -> list[float]:
    """Falls from 4 to 2 around 1e-3, and jumps to 1000 at an LR: one step takes the smoothed loss past four times its best."""
    loss = 3.0 - np.tanh(np.log(RAMP / 1e-3))
    return list(np.where(lr <= RAMP, 1000.0, loss))


def outcome(trial: Trial) -> LaneResult:
    if trial.arm == "full":
        return result(min(2.0 + 0.05 * (np.log2(trial.configuration.training.peak_lr) - OPTIMUM) ** 2, 4.9))
    if trial.arm == "flat":
        return result(2.0, lr=list(RAMP), train_loss=[4.0] * 200)
    # Seed s diverges s - 2 steps of the ramp later.
    return result(2.0, lr=list(RAMP), train_loss=diverging_at(RAMP[150 + trial.seed - 2]))


@pytest.fixture
def table(finder: Study) -> TrialArrays:
    return TrialArrays(finder, "laptop", frame(finder, outcome))


def test_the_divergence_lr_is_the_planted_one(table: TrialArrays) -> None:
    seen = observe(FinderPick(arm="ramp", rule="divergence"), table)
    assert seen.estimate == pytest.approx(RAMP[150], rel=0.01)
    assert seen.low < RAMP[150] < seen.high
    tenth = observe(FinderPick(arm="ramp", rule="tenth_of_divergence"), table)
    assert tenth.estimate == pytest.approx(seen.estimate / 10)


def test_regret_is_the_bowls(table: TrialArrays) -> None:
    """The mean over seeds of the bowl at each seed's own pick, interpolated between octaves, over the floor."""
    seen = observe(FinderRegret(arm="full", range_test="ramp", rule="tenth_of_divergence"), table)
    grid = np.arange(-12, 1.0)
    bowl = 2.0 + 0.05 * (grid - OPTIMUM) ** 2
    picks = np.log2(RAMP[148:153] / 10)
    expected = np.interp(picks, grid, bowl).mean() / 2.0 - 1
    assert seen.estimate == pytest.approx(expected, rel=1e-5)
    same = Gap(
        left=FinderRegret(arm="full", range_test="ramp", rule="tenth_of_divergence"),
        right=FinderRegret(arm="full", range_test="ramp", rule="tenth_of_divergence"),
    )
    assert observe(same, table).estimate == 0.0


def test_no_suggestion_is_no_number(table: TrialArrays) -> None:
    with pytest.raises(UndecidableError, match=r"makes no suggestion in 5 of 5 range tests") as error:
        observe(FinderPick(arm="flat", rule="steepest_log"), table)
    assert error.value.verdict == "open"
    assert observe(SuggestionRate(arm="flat", rule="divergence"), table).estimate == 0.0
    assert observe(SuggestionRate(arm="ramp", rule="divergence"), table).estimate == 1.0


def test_a_pick_outside_the_grid_has_no_regret(finder: Study) -> None:
    narrow = Study.model_validate({**finder.model_dump(), "factors": {"peak_lr": (2.0**-7, 2.0**-6, 2.0**-5)}})
    with pytest.raises(UndecidableError, match=r"above the highest that .full. was trained at"):
        observe(
            FinderRegret(arm="full", range_test="ramp", rule="tenth_of_divergence"),
            TrialArrays(narrow, "laptop", frame(narrow, outcome)),
        )


def test_spread_is_the_largest_over_the_smallest(table: TrialArrays) -> None:
    parts = (FinderPick(arm="ramp", rule="divergence"), FinderPick(arm="ramp", rule="tenth_of_divergence"))
    assert observe(Spread(parts=parts), table).estimate == pytest.approx(10.0)


def test_a_study_may_name_every_rule() -> None:
    assert set(get_args(FinderRule)) == {"divergence", *RULES}
