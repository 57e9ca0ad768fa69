"""Sharpness in a figure: every arm where its mean is, every limit where it is, and what decides nothing behind them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.metrics import EdgeSharpness
from folklore.harness.spec import Arm, Criterion, Judgement, Outside, Reported, Study, Within
from folklore.harness.spec.trial import Trial
from folklore.harness.training.result import LaneResult
from folklore.reports.figures.edge import draw
from tests.harness.helpers import frame, result

LRS = {"slow": 0.01, "fast": 0.04, "other": 0.02, "flow": 0.001}
LIMITS = {"slow": 2.0, "fast": 2.0, "other": 3.8}
STEPS = [100.0, 200.0, 300.0]


def outcome(trial: Trial) -> LaneResult:
    heights = [20.0, 40.0 + trial.seed, 50.0]
    return result(1.0, probe_step=STEPS, probe_sharpness=heights, step=STEPS, train_loss=[2.0, 1.0, 0.01])


@pytest.fixture
def records(study: Study) -> Any:
    dump = {**study.model_dump(), "judgements": ()}
    for place, (arm, lr) in enumerate(LRS.items()):
        settings = {"warmup_fraction": 0.01 * (1 + place), "steps": 300}
        panel = "another" if arm == "other" else "two LRs"
        dump["arms"][arm] = Arm(label=f"arm {arm}", panel=panel, settings=settings, factors={"peak_lr": (lr,)})
    found = Study.model_validate(dump)
    return SimpleNamespace(table=TrialArrays(found, "laptop", frame(found, outcome)), scale="laptop")


def judgement(reported: bool = True) -> Judgement:
    return Judgement(
        claim="eos.sharpness",
        criteria=tuple(
            Criterion(
                name=arm,
                observe=EdgeSharpness(arm=arm, limit=limit),
                claimed=Within(low=0.9, high=1.2),
                refuted=Outside(low=0.7, high=1.5),
            )
            for arm, limit in LIMITS.items()
            if arm != "other"
        ),
        reported=(
            *(Reported(name="flow", observe=EdgeSharpness(arm="flow", limit=2.0, of="highest")),) * reported,
            Reported(name="other", observe=EdgeSharpness(arm="other", limit=3.8)),
        ),
    )


def test_arms_and_limits_stand_where_they_are(records: Any) -> None:
    drawing = draw(records, judgement())
    assert drawing is not None
    first, second = drawing.panels
    assert (first.title, second.title) == ("two LRs", "another")
    middle = float(np.exp(np.mean(np.log([40.0 + seed for seed in records.table.seed_numbers]))))
    for arm in ("slow", "fast"):
        whole = first.frame.query(f"mark == 'line' and series == '_{arm}'")
        # Two LRs: along the axis is LR x steps. Once the loss is gone the line goes on, faint.
        assert list(whole["x"]) == pytest.approx([LRS[arm] * step for step in STEPS])
        assert list(whole["y"]) == pytest.approx([20.0, middle, 50.0])
    assert list(first.frame.query("mark == 'rule'")["y"]) == pytest.approx([200.0, 50.0])
    assert list(second.frame.query("mark == 'rule'")["y"]) == pytest.approx([190.0])
    assert list(second.frame.query("series == '_other' and mark == 'line'")["x"]) == STEPS
    assert list(first.frame.query("mark == 'note'")["text"]) == ["arm flow", "2/LR\nLR 0.01", "2/LR\nLR 0.04"]
    without = draw(records, judgement(reported=False))
    assert without is not None
    assert len(without.panels[0].frame.query("mark == 'note'")) == 2


def test_nothing_is_drawn_of_what_was_not_measured(records: Any) -> None:
    bare = frame(records.table.study, outcome)
    bare["curve_probe_sharpness"] = None
    without = SimpleNamespace(table=TrialArrays(records.table.study, "laptop", bare), scale="laptop")
    assert draw(without, judgement()) is None  # type: ignore[arg-type]
