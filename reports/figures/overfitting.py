"""Where validation losses turn up."""

import numpy as np

from ...harness.declare import Judgement
from ...harness.declare.metrics import StoppedLoss, TurningStep, TurnRate
from ...harness.declare.metrics.overfitting import TRAINING, VALIDATION, curves_of
from ...harness.declare.trials import NotEstimableError
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import ClaimFigure, Drawing, Panel, grid
from .frames import arms_by_panel, number, run_curve, seed_band
from .palette import looks
from .scales import Scale


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each panel of the study whose runs are read. None where none was evaluated on the way."""
    together = arms_by_panel(records, judgement, StoppedLoss | TurningStep | TurnRate, _turn)
    return grid([_panel(title, arms, records.table) for title, arms in together.items()])


def _turn(arm: str, over: str) -> TurningStep:
    return TurningStep(arm=arm, over=over)


def _panel(title: str, arms: list[tuple[str, str]], table: TrialArrays) -> Panel:
    """Of each arm its validation loss, the loss of fixed training examples pale, and a dot where the former is lowest."""
    study = table.study
    names = [arm for arm, _ in arms]
    panel = Panel(Scale("step", 10), Scale(study.loss_label("validation", table.scale, names), least=0.0), title)
    for arm, over in arms:
        look = looks(study)[arm]
        steps, _ = run_curve(arm, VALIDATION, over, 0, table)
        validation = curves_of(arm, over, VALIDATION, table)
        panel.add("curve", study.arms[arm].label, look, x=steps, **seed_band(validation, table))
        if (turn := number(_turn(arm, over), table)) is not None:
            lowest = float(np.interp(np.log(turn.estimate), np.log(steps), validation.mean(axis=0)))
            panel.add("estimate", f"_{arm}", look, x=turn.estimate, left=turn.low, right=turn.high, y=lowest)
        try:
            panel.add("faint", f"_{arm}", look, x=steps, y=curves_of(arm, over, TRAINING, table).mean(axis=0))
        except NotEstimableError:
            continue
    return panel


FIGURE = ClaimFigure(
    "turns",
    "Validation loss with 95% bands, and pale the loss of fixed training examples in eval mode. Dots: where the validation loss"
    " is lowest, geometric mean over seeds.",
    draw,
)
