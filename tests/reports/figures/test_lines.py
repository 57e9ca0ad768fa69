"""Lines of arms in a figure: every arm where its mean is, every line where its mean is."""

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.metrics import BetweenLines
from folklore.harness.spec import Arm, AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.spec.trial import Trial
from folklore.harness.training.result import LaneResult
from folklore.reports.figures.lines import draw
from tests.harness.helpers import frame, result

LINES = (("a0", "a1"), ("b0", "b1"))
LOSSES = {"a0": 1.0, "a1": 1.2, "b0": 2.0, "b1": 2.4}


def outcome(trial: Trial) -> LaneResult:
    return result(LOSSES.get(trial.arm, 2.0) + 0.01 * trial.seed)


@pytest.fixture
def records(study: Study) -> Any:
    dump = {**study.model_dump(), "judgements": ()}
    for place, arm in enumerate(itertools.chain(*LINES)):
        settings = {"warmup_fraction": 0.01 * (1 + place)}
        dump["arms"][arm] = Arm(label=f"arm {arm}", settings=settings, factors={"peak_lr": (0.01,)})
    lined = Study.model_validate(dump)
    return SimpleNamespace(table=TrialArrays(lined, "laptop", frame(lined, outcome)), scale="laptop")


def judgement(spread: float) -> Judgement:
    observable = BetweenLines(lines=LINES, of="test_loss", spread_at_least=spread)
    criterion = Criterion(name="share", observe=observable, claimed=AtLeast(value=0.75), refuted=AtMost(value=0.25))
    return Judgement(claim="noise.temperature", criteria=(criterion,))


def test_arms_and_lines_stand_where_their_means_are(records: Any) -> None:
    drawing = draw(records, judgement(0.01))
    assert drawing is not None
    (panel,) = drawing.panels
    assert panel.y.names is not None
    assert list(panel.y.names.values()) == [f"arm {arm}" for arm in itertools.chain(*LINES)]
    more = 0.01 * np.mean(records.table.seed_numbers)
    arms = panel.frame.query("mark == 'estimate'")
    assert list(arms["x"]) == pytest.approx([loss + more for loss in LOSSES.values()])
    assert list(arms["y"]) == list(panel.y.names) == [0.0, -1.0, -3.0, -4.0]
    assert list(panel.frame.query("mark == 'rule'")["x"]) == pytest.approx([1.1 + more, 2.2 + more])


def test_nothing_is_drawn_of_what_has_no_number(records: Any) -> None:
    assert draw(records, judgement(50.0)) is None
