"""The values that Optuna's search tried, arm by arm, and how much each choice mattered."""

import numpy as np

from ...harness.declare.design import in_words
from ...harness.judge.trial_sets import TrialSet
from .drawing import Drawing, Panel, StudyFigure, grid
from .lr import FACTORS
from .palette import looks
from .scales import Scale, rows

# Inches of an arm's row.
ROW = 0.27


def draw(records: TrialSet) -> Drawing | None:
    """A row for each arm: the values that were proposed, the third with the lowest validation loss larger, the best one ringed.
    None without a search."""
    arms = records.study.arms
    tunings = {arm: tuning for arm, tuning in records.table.tunings.items() if len(tuning.values)}
    panels = []
    for title, factor in dict.fromkeys((arms[arm].panel, tuning.search.factor) for arm, tuning in tunings.items()):
        own = [arm for arm, tuning in tunings.items() if (arms[arm].panel, tuning.search.factor) == (title, factor)]
        names = [arms[arm].label for arm in own]
        base = 0 if any(tunings[arm].search.linear for arm in own) else 2
        panel = Panel(
            Scale(f"{FACTORS.get(factor, in_words(factor))} proposed", base),
            rows(names),
            title,
            ROW * len(own),
            caption=CAPTION,
        )
        for row, arm in enumerate(own):
            tuning, look = tunings[arm], looks(records.study)[arm]
            x, good = np.asarray(tuning.values), np.argsort(np.argsort(tuning.losses)) < len(tuning.losses) / 3
            for mark, chosen in (("run", ~good), ("beside", good)):
                panel.add(mark, f"_{arm}", look, x=x[chosen], y=-row)
            panel.add("ring", x=tuning.best, y=-row)
        panels.append(panel)
    return grid(panels, columns=1)


def importances(records: TrialSet) -> dict[str, float]:
    """Share of what tells good proposals from others, by what was chosen: arm and searched factor. Empty without a search."""
    search = records.study.search_at(records.scale)
    if search is None:
        return {}
    from ...harness.plan.proposals import importances as importances_of  # imports Optuna, which few pages need

    return importances_of(search, records.table.tunings)


CAPTION = "Values that the search tried, large if their loss is in the lowest third. Ring: the best, which judged seeds use."
FIGURE = StudyFigure("search", draw)
