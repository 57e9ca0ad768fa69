"""Where validation losses turn up."""

import numpy as np

from folklore.harness.judging.trial_arrays import TrialArrays
from folklore.harness.judging.trial_sets import TrialSet
from folklore.harness.metrics import StoppedLoss, TurningStep, TurnRate
from folklore.harness.metrics.overfitting import TRAINING, VALIDATION, curves_of
from folklore.harness.spec import Judgement
from folklore.harness.spec.parts import all_parts
from folklore.harness.spec.trials import NotEstimableError
from folklore.reports.figures.drawing import ClaimFigure, Drawing, Panel, grid
from folklore.reports.figures.frames import number, run_curve, seed_band
from folklore.reports.figures.palette import looks
from folklore.reports.figures.scales import Scale

Read = StoppedLoss | TurningStep | TurnRate


def draw(records: TrialSet, judgement: Judgement) -> Drawing | None:
    """A panel for each panel of the study whose runs are read. None where none was evaluated on the way."""
    table = records.table
    criteria = judgement.criteria_at(records.scale)
    read = {part.arm: part.over for each in criteria for part in all_parts(each.observe) if isinstance(part, Read)}
    together: dict[str, list[tuple[str, str]]] = {}
    for arm, over in read.items():
        if number(TurningStep(arm=arm, over=over), table) is not None:
            together.setdefault(table.study.arms[arm].panel, []).append((arm, over))
    return grid([_panel(title, arms, table) for title, arms in together.items()])


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
        if (turn := number(TurningStep(arm=arm, over=over), table)) is not None:
            lowest = float(np.interp(np.log(turn.estimate), np.log(steps), validation.mean(axis=0)))
            panel.add("estimate", f"_{arm}", look, x=turn.estimate, left=turn.low, right=turn.high, y=lowest)
        try:
            panel.add("faint", f"_{arm}", look, x=steps, y=curves_of(arm, over, TRAINING, table).mean(axis=0))
        except NotEstimableError:
            continue
    return panel


FIGURE = ClaimFigure(
    "overfitting",
    "Validation loss with 95% bands, and pale the loss of fixed training examples in eval mode. Dots: where the validation loss"
    " is lowest, geometric mean over seeds.",
    draw,
)
