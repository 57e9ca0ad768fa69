"""Verdicts warn of estimators that fail in worlds like the one at hand."""

from typing import Any

import numpy as np
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.metrics import RelativeGap, TunedLoss
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.cautions import cautions, published_calibration, troubles
from folklore.harness.judge.judge import judge
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.harness.train.result import LaneResult
from tests.harness.helpers import bowl, frame, result

GAP = RelativeGap(left=TunedLoss(arm="none"), right=TunedLoss(arm="half"))


@pytest.fixture
def many(study: Study) -> Study:
    """The toy study on twenty seeds."""
    return study.model_copy(update={"seeds": 20})


def row(condition: str, coverage: float, observable: str = "relative_gap", seeds: int = 20) -> dict[str, Any]:
    return {"observable": observable, "condition": condition, "seeds": seeds, "coverage": coverage}


def plain(trial: Trial) -> LaneResult:
    return result(bowl(trial, -7, 2.0, noise=0.01))


def one_diverges(trial: Trial) -> LaneResult:
    best = trial.point["peak_lr"] == 2.0**-7
    return result(float("nan"), divergence_step=3) if best and trial.seed == 4 and trial.arm == "none" else plain(trial)


def skewed(trial: Trial) -> LaneResult:
    late = 0.05 * np.random.default_rng(trial.seed).exponential() ** 2 if trial.arm == "none" else 0.0
    return result(bowl(trial, -7, 2.0 + late))


def beside_the_edge(trial: Trial) -> LaneResult:
    return result(bowl(trial, -8, 2.0, noise=0.01))


@pytest.mark.parametrize(
    ("outcome", "trouble"),
    [(one_diverges, "diverging runs"), (skewed, "skewed"), (beside_the_edge, "optimum near the edge")],
)
def test_a_trouble_is_seen_and_warned_of(many: Study, outcome: Any, trouble: str) -> None:
    table = TrialArrays(many, "laptop", frame(many, outcome))
    assert trouble in set(troubles(GAP, table))
    (caution,) = cautions(GAP, table, [row(trouble, 0.81)])
    assert "81% of the time, not 95%" in caution
    assert cautions(GAP, table, [row(trouble, 0.94)]) == ()
    (verdict,) = judge(many, "laptop", "cpu", frame(many, outcome), calibration=[row(trouble, 0.81)])
    assert verdict.cautions == (caution,)


def test_an_ordinary_world_has_no_trouble(many: Study) -> None:
    """Few of forty worlds of normal noise are taken for troubled ones."""
    troubled, quiet = 0, frame(many, lambda trial: result(bowl(trial, -7, 2.0)))
    for world in range(40):
        noise = 0.01 * np.random.default_rng(world).standard_normal(len(quiet))
        noisy = quiet.assign(**{loss: quiet[loss] + noise for loss in ("train_loss", "validation_loss", "test_loss")})
        troubled += bool(set(troubles(GAP, TrialArrays(many, "laptop", noisy))) & {"skewed", "heavy tails"})
    assert troubled <= 5


def test_what_is_not_calibrated_itself_goes_by_its_parts(many: Study) -> None:
    table = TrialArrays(many, "laptop", frame(many, skewed))
    rows = [row("skewed", 0.95, "other"), row("skewed", 0.7, "tuned_loss", seeds=5), row("skewed", 0.8, "tuned_loss")]
    (caution,) = cautions(GAP, table, rows)
    assert "80%" in caution


def test_the_published_calibration_can_be_asked() -> None:
    assert {"observable", "condition", "seeds", "coverage"} <= set(published_calibration()[0])
