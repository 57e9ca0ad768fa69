"""What grows by a factor, in a figure: every point where its number is, what is expected and what is reported beside it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.metrics import FinalLoss, GrowthFactor
from folklore.harness.spec import Arm, AtLeast, AtMost, Criterion, Expected, Judgement, Reported, Study
from folklore.harness.spec.trial import Trial
from folklore.harness.training.result import LaneResult
from folklore.reports.figures.growth import draw
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
    drawing = draw(records, judgement)
    assert drawing is not None
    (panel,) = drawing.panels
    points = panel.frame.query("mark == 'estimate'")
    assert [name.split(":")[0] for name in panel.listed] == list(FACTORS)
    for kind, factor in FACTORS.items():
        own = points[points["series"].str.startswith(kind)]
        assert np.allclose(own["x"], DEPTHS)
        assert np.allclose(own["y"], [2.0 * factor**depth for depth in DEPTHS])
    assert "0.500" in panel.listed[0]
    assert panel.listed[1].endswith("a layer")
    expected = panel.frame.query("series == '_expected'")
    assert list(expected["x"]) == [2, 8]
    assert np.allclose(expected["y"], [0.5, 0.5 * 0.25**6])
    assert (panel.y.log, panel.x.label) == (10, "depth")


def test_without_a_factor_there_is_no_figure(records: Any) -> None:
    criterion = Criterion(name="loss", observe=FinalLoss(arm="flat_2"), claimed=AtMost(value=0.6), refuted=AtLeast(value=0.9))
    assert draw(records, Judgement(claim="flow.vanishing", criteria=(criterion,))) is None
