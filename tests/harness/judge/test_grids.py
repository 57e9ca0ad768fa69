"""Values read off a grid: ends and coarse steps are found only where a value was chosen there."""

import numpy as np
import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Judgement, Observed, Study, log2_grid
from folklore.harness.declare.metrics import LossAt, LossGap, Optimum, TunedLoss
from folklore.harness.declare.metrics.estimating.evaluation import evaluate
from folklore.harness.judge.grids import weak_grids
from folklore.harness.judge.trial_arrays import TrialArrays
from tests.harness.helpers import bowl, changed, frame, result

LOSSES = TunedLoss(arm="none"), TunedLoss(arm="half")
COARSE = ["the best peak LR is read off a grid coarser than half octaves"]


def table(study: Study, per_octave: int = 1, optimum: float = -7) -> TrialArrays:
    study = changed(study, {"scales.laptop.factors": {"peak_lr": log2_grid(-10, -4, per_octave)}}, judgements=())
    return TrialArrays(study, "laptop", frame(study, lambda trial: result(bowl(trial, optimum, 2.0))))


def weak(observe: Observed, trials: TrialArrays) -> list[str]:
    criterion = Criterion(name="x", observe=observe, claimed=AtLeast(value=1.0), refuted=AtMost(value=0.5))
    return weak_grids(Judgement(claim="a.b", criteria=(criterion,)), trials)


@pytest.mark.parametrize(
    ("observe", "per_octave", "expected"),
    [
        (LossGap(left=LOSSES[0], right=LOSSES[1]), 1, COARSE),
        (LossGap(left=LOSSES[0], right=LOSSES[1]), 2, []),
        # Read at a vertex, or at a value that was declared: nothing is read off points.
        (Optimum(arm="none") / Optimum(arm="half"), 1, []),
        (LossAt(arm="none", value=2.0**-7), 1, []),
    ],
)
def test_a_grid_of_whole_octaves_is_coarse_where_its_points_are_read(
    study: Study, observe: Observed, per_octave: int, expected: list[str]
) -> None:
    assert weak(observe, table(study, per_octave)) == expected


@pytest.mark.parametrize("optimum", [-7.0, -7.3, -6.6])
def test_the_vertex_of_a_parabola_is_its_least(study: Study, optimum: float) -> None:
    """Planted parabolas whose minimum lies between the points of the grid."""
    trials = table(study, 1, optimum)
    ones = np.ones((1, trials.seeds))
    by_points = evaluate(LOSSES[0], trials, ones)[0]
    trials = table(study, 1, optimum)
    trials.vertex = True
    assert evaluate(LOSSES[0], trials, ones)[0] == pytest.approx(2.0, abs=1e-9)
    assert by_points == pytest.approx(2.0 + 0.05 * (round(optimum) - optimum) ** 2, abs=1e-9)
