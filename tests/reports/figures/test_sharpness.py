"""Sharpness against the validation loss in a figure: every setting where its mean is."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.metrics import SharpnessCorrelation
from folklore.harness.spec import Arm, AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.spec.trial import Trial
from folklore.harness.training.result import LaneResult
from folklore.reports.figures.sharpness import draw
from tests.harness.helpers import frame, result

ARMS = {"small": 4.0, "large": 20.0}
LRS = (0.01, 0.02, 0.04)


def log_sharpness(arm: str, lr: float, seed: int) -> float:
    return math.log(ARMS[arm]) - math.log2(lr) + 0.1 * seed


def outcome(trial: Trial) -> LaneResult:
    if trial.arm not in ARMS:
        return result(2.0)
    lr = trial.configuration.training.peak_lr
    log = log_sharpness(trial.arm, lr, trial.seed)
    never = trial.arm == "large" and lr == LRS[0]
    return result(
        1.0,
        evaluation_step=[1.0, 10.0],
        evaluation_training_loss=[2.0, 1.5 if never else 0.0],
        evaluation_loss=[0.1 * log, 0.1 * log],
        probe_step=[1.0, 10.0],
        probe_sharpness=[math.exp(log)] * 2,
    )


@pytest.fixture
def records(study: Study) -> Any:
    dump = {**study.model_dump(), "judgements": ()}
    for place, arm in enumerate(ARMS):
        settings = {"warmup_fraction": 0.01 * (1 + place)}
        dump["arms"][arm] = Arm(label=f"{arm} batch", settings=settings, factors={"peak_lr": LRS})
    drawn = Study.model_validate(dump)
    return SimpleNamespace(study=drawn, table=TrialArrays(drawn, "laptop", frame(drawn, outcome)), scale="laptop")


def judgement(least_share: float) -> Judgement:
    observable = SharpnessCorrelation(arms=tuple(ARMS), level=1.0, least_share=least_share)
    criterion = Criterion(name="correlation", observe=observable, claimed=AtLeast(value=0.3), refuted=AtMost(value=0.1))
    return Judgement(claim="gen.flat_minima", criteria=(criterion,))


def test_settings_stand_where_their_means_are(records: Any) -> None:
    drawing = draw(records, judgement(0.5))
    assert drawing is not None
    (panel,) = drawing.panels
    seeds = records.table.seed_numbers
    for arm, lrs in (("small", LRS), ("large", LRS[1:])):
        expected = [np.mean([log_sharpness(arm, lr, seed) for seed in seeds]) for lr in lrs]
        drawn = panel.frame.query(f"mark == 'estimate' and series == '{arm} batch'")
        assert np.log(drawn["x"]).tolist() == pytest.approx(expected, rel=1e-5)
        assert drawn["y"].tolist() == pytest.approx([0.1 * each for each in expected], rel=1e-5)
        assert len(panel.frame.query(f"mark == 'run' and series == '_{arm}'")) == len(lrs) * len(seeds)
    # All runs of a seed lie on one rising line.
    assert panel.title.startswith("rank correlation 1")


def test_nothing_is_drawn_of_what_has_no_number(records: Any) -> None:
    assert draw(records, judgement(0.95)) is None
