"""What grows by a factor, in a figure: every point where its number is, what is expected and what is reported beside it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from folklore.harness.metrics import FinalLoss, GrowthFactor
from folklore.harness.spec import Arm, AtLeast, AtMost, Criterion, Expected, Judgement, Reported, Study
from folklore.harness.spec.trial import Trial
from folklore.harness.training.result import LaneResult
from folklore.harness.verdicts.trial_arrays import TrialArrays
from folklore.reports.fit_figures import growths
from tests.harness.helpers import frame, result

DEPTHS = (2, 4, 8)
FACTORS = {"steep": 0.5, "flat": 0.99}


def outcome(trial: Trial) -> LaneResult:
    kind, _, depth = trial.arm.partition("_")
    return result(2.0 * FACTORS[kind] ** int(depth) if kind in FACTORS else 2.0)


@pytest.fixture
def records(study: Study) -> Any:
    dump = {**study.model_dump(), "judgements": ()}
    for place, kind in enumerate(FACTORS):
        for depth in DEPTHS:
            settings = {"depth": depth, "warmup_fraction": 0.01 * (1 + place)}
            dump["arms"][f"{kind}_{depth}"] = Arm(label="arm", panel=kind, settings=settings, factors={"peak_lr": (0.01,)})
    deep = Study.model_validate(dump)
    return SimpleNamespace(table=TrialArrays(deep, "laptop", frame(deep, outcome)), scale="laptop")


def growth(kind: str) -> GrowthFactor:
    return GrowthFactor(points=tuple((depth, FinalLoss(arm=f"{kind}_{depth}")) for depth in DEPTHS))


def test_points_stand_where_their_numbers_are(records: Any) -> None:
    criterion = Criterion(
        name="factor",
        observe=growth("steep"),
        claimed=AtMost(value=0.6),
        refuted=AtLeast(value=0.9),
        expected=Expected(value=0.25, source="planted"),
    )
    judgement = Judgement(
        claim="flow.vanishing", criteria=(criterion,), reported=(Reported(name="beside", observe=growth("flat")),)
    )
    figure = growths(records, judgement)
    assert figure is not None
    (axes,) = figure.axes
    lines = {str(line.get_label()).split(":")[0]: line for line in axes.lines if line.get_label() != "_"}
    for kind, factor in FACTORS.items():
        assert np.allclose(lines[kind].get_xdata(), DEPTHS)
        assert np.allclose(lines[kind].get_ydata(), [2.0 * factor**depth for depth in DEPTHS])
    assert "0.500" in str(lines["steep"].get_label())
    assert str(lines["flat"].get_label()).endswith("a layer")
    (expected,) = (line for line in axes.lines if line.get_linestyle() == ":" and list(line.get_xdata()) == [2, 8])
    assert np.allclose(expected.get_ydata(), [0.5, 0.5 * 0.25**6])
    assert axes.get_yscale() == "log"
    assert axes.get_xlabel() == "depth"


def test_without_a_factor_there_is_no_figure(records: Any) -> None:
    criterion = Criterion(name="loss", observe=FinalLoss(arm="flat_2"), claimed=AtMost(value=0.6), refuted=AtLeast(value=0.9))
    assert growths(records, Judgement(claim="flow.vanishing", criteria=(criterion,))) is None
