"""Training losses of a study's arms, at their tuned LRs."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ...harness.declare.metrics.estimating.weighted import stacked, tuned_index
from ...harness.declare.trials import NotEstimableError
from ...harness.judge.trial_arrays import TrialArrays
from ...harness.judge.trial_sets import TrialSet
from .drawing import Columns, Drawing, Panel, StudyFigure, grid
from .frames import is_searched, seed_band
from .lr import MOST_CURVES, chunks
from .palette import looks
from .scales import Scale

# A training curve is drawn with this many points.
MOST_POINTS = 100
TUNED = "Training loss at each arm's tuned LR: means over seeds with 95% bands."
LOWEST = "Training loss of each arm at its setting that ends lowest: means over seeds."


def draw(records: TrialSet) -> Drawing | None:
    """A panel for each panel of the study. Where no arm is tuned, at the one LR that arms have; None where they have none."""
    study, table = records.study, records.table
    trained = study.arms_at(records.scale)
    arms = [arm for arm in trained if is_searched(table, arm, "peak_lr")]
    arms = arms or [arm for arm in trained if list(study.factors_at(records.scale, arm)) == ["peak_lr"]]
    return _drawing(records, {arm: _tuned_losses(arm, table) for arm in arms}, TUNED)


def draw_unjudged(records: TrialSet) -> Drawing | None:
    """Losses at a scale at which nothing is estimated: every arm at its setting with the lowest final loss."""
    return _drawing(
        records, {str(arm): _lowest_losses(rows) for arm, rows in records.trials.groupby("arm", sort=False)}, LOWEST
    )


def _drawing(records: TrialSet, curves_of: Mapping[str, Columns | None], caption: str) -> Drawing | None:
    study = records.study
    together: dict[str, dict[str, Columns]] = {}
    for arm, curve in curves_of.items():
        if curve is not None and arm in study.arms:
            together.setdefault(study.arms[arm].panel, {})[arm] = curve
    panels = []
    for title, curves in together.items():
        for part in chunks(list(curves), MOST_CURVES):
            label = study.loss_label("training", records.scale, part)
            panel = Panel(Scale("step", 10, ticks=5), Scale(label, least=0.0, ticks=5), title, height=2.6, caption=caption)
            for arm in part:
                panel.add("curve", study.arms[arm].label, looks(study)[arm], **curves[arm])
            panels.append(panel)
    return grid(panels)


def _lowest_losses(rows: pd.DataFrame) -> Columns | None:
    """Means over the seeds; None where a seed of every setting diverges."""
    points = rows.groupby("point")["train_loss"].agg(lambda losses: losses.mean(skipna=False)).dropna()
    if points.empty:
        return None
    lowest = rows[rows["point"] == points.idxmin()]
    return {"x": lowest["curve_step"].iloc[0], "y": np.stack(lowest["curve_train_loss"].to_list()).mean(axis=0)}


def _tuned_losses(arm: str, table: TrialArrays) -> Columns | None:
    try:
        best = tuned_index(arm, "peak_lr", table)
        values = stacked(table.values(arm, "peak_lr", "curve_train_loss")[best : best + 1])[0]
        steps = np.asarray(table.values(arm, "peak_lr", "curve_step")[best][0], dtype=np.float64)
    except (NotEstimableError, ValueError):  # an optimum on the grid's edge; curves of different lengths
        return None
    kept = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MOST_POINTS)).round().astype(np.int64))
    values, steps = values[:, kept], steps[kept]
    return {"x": steps, **seed_band(values, table)} if np.isfinite(values.mean(axis=0)).any() else None


UNJUDGED = StudyFigure("losses", draw_unjudged)
FIGURE = StudyFigure("losses", draw)
