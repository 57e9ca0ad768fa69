"""What a search of Optuna's tried, arm by arm, and how much each choice mattered."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator

from folklore.harness.spec import Judgement
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import INK, SOFT, looks
from folklore.reports.figures import LETTER, STYLE, WIDTH, log_ticks

# Inches of an arm's row, under the last, and over the first.
ROW, FOOT, HEAD = 0.27, 0.62, 0.1
# Points across of the best and the worst proposal of an arm.
LARGEST, SMALLEST = 9.0, 3.0


def proposals(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """A row for each arm: the LRs that were proposed, the larger the lower their validation loss; the best one filled. None
    without a search."""
    study = records.study
    found = {arm: tuning for arm, tuning in records.table.tunings.items() if len(tuning.values)}
    if not found:
        return None
    panels = list(dict.fromkeys(study.arms[arm].panel for arm in found))
    rows: list[tuple[str, str]] = []
    for panel in panels:
        rows += [("", panel)] if len(panels) > 1 else []
        rows += [(arm, study.arms[arm].label) for arm in found if study.arms[arm].panel == panel]
    left = max(len(label) for _, label in rows) * LETTER + 0.1
    high = HEAD + ROW * len(rows) + FOOT
    look = looks(study)
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(figsize=(WIDTH, high))
        axes = figure.add_axes((left / WIDTH, FOOT / high, (WIDTH - left - 0.15) / WIDTH, ROW * len(rows) / high))
        values = [value for tuning in found.values() for value in tuning.values]
        axes.set_xlim(min(values) / 1.2, max(values) * 1.2)
        axes.set_ylim(-len(rows) + 0.4, 0.6)
        log_ticks(axes.xaxis, 2)
        for row, (arm, _) in enumerate(rows):
            if not arm:
                continue
            tuning = found[arm]
            order = np.argsort(np.argsort(tuning.losses))
            for value, rank in zip(tuning.values, order, strict=True):
                size = LARGEST - (LARGEST - SMALLEST) * rank / max(1, len(order) - 1)
                best = value == tuning.best
                axes.plot([value], [-float(row)], color=look[arm].colour, marker=look[arm].marker if best else "o",
                          markersize=LARGEST + 1 if best else size, markerfacecolor=look[arm].colour if best else "none",
                          linestyle="none", label="_", alpha=1.0 if best else 0.7)  # fmt: skip
        axes.yaxis.set_major_locator(FixedLocator([-float(row) for row in range(len(rows))]))
        axes.yaxis.set_major_formatter(FixedFormatter([label for _, label in rows]))
        axes.tick_params(axis="y", length=0)
        for (arm, _), text in zip(rows, axes.get_yticklabels(), strict=True):
            text.set(fontweight="normal" if arm else "bold", color=INK if arm else SOFT)
        axes.grid(axis="y", linewidth=0.4, color=SOFT, alpha=0.4)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("peak learning rate proposed")
    return figure


def importances(records: TrialSet) -> dict[str, float]:
    """Share of what tells good proposals from others, by what was chosen: arm and peak LR. Empty without a search."""
    search = records.study.search_at(records.scale)
    if search is None:
        return {}
    from folklore.harness.planning.proposals import importances as importances_of  # imports Optuna, which few pages need

    return importances_of(search, records.table.tunings)
