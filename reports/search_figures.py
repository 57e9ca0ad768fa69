"""What a search of Optuna's tried: its proposals side by side, and how much each choice mattered."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from folklore.harness.judging.trial_sets import TrialSet
from folklore.reports.figures import MARKERS, STYLE, panel_grid
from folklore.reports.words import power


def proposals(records: TrialSet) -> Figure | None:
    """Parallel coordinates: every proposal's arm, peak LR and mean validation loss, joined by a line. None without a search."""
    found = {arm: tuning for arm, tuning in records.table.tunings.items() if len(tuning.values)}
    if not found:
        return None
    lrs = np.log2([value for tuning in found.values() for value in tuning.values])
    losses = np.array([loss for tuning in found.values() for loss in tuning.losses])
    with mpl.rc_context(STYLE):
        figure, axes = panel_grid(1, 1, below=-(-len(found) // 3), width=9.5)
        axis = axes[0, 0]
        for index, (arm, tuning) in enumerate(found.items()):
            for value, loss in zip(tuning.values, tuning.losses, strict=True):
                height = [index / max(1, len(found) - 1), _share(np.log2(value), lrs), _share(loss, losses)]
                best = value == tuning.best
                axis.plot(
                    range(3), height, marker=MARKERS[index % len(MARKERS)], markersize=4, linewidth=2.0 if best else 0.6,
                    alpha=1.0 if best else 0.5, color=f"C{index % 10}", label=records.study.arms[arm].label if best else "_",
                )  # fmt: skip
        # Arms by their place, the LR and the loss: the axes a proposal's line goes through.
        axis.set_xticks(range(3), ("arm", "peak learning rate", records.study.loss_label("validation")))
        axis.set_yticks([])
        for x, values in ((1, lrs), (2, losses)):
            for end, value in ((0.0, values.min()), (1.0, values.max())):
                text = power(2.0 ** round(float(value), 1), 2) if x == 1 else f"{value:.3f}"
                axis.annotate(text, (x, end), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)
        figure.legend(loc="lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _share(value: float, values: Any) -> float:
    low, high = float(np.min(values)), float(np.max(values))
    return (float(value) - low) / (high - low) if high > low else 0.5


def importances(records: TrialSet) -> dict[str, float]:
    """Share of what tells good proposals from others, by what was chosen: arm and peak LR. Empty without a search."""
    search = records.study.search_at(records.scale)
    if search is None:
        return {}
    from folklore.harness.planning.proposals import importances as importances_of  # imports Optuna, which few pages need

    return importances_of(search, records.table.tunings)
