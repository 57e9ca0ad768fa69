"""Groups of arms that should be alike."""

from contextlib import suppress

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from folklore.harness.metrics import BetweenLines
from folklore.harness.spec import Criterion, Judgement
from folklore.harness.spec.trials import UndecidableError
from folklore.harness.statistics.intervals import Observation
from folklore.harness.verdicts.observe import observe
from folklore.harness.verdicts.spelling import in_prose
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import HUES, INK
from folklore.reports.figures import STYLE, band, few_ticks, interval, observed_by, panels

# Inches for the names of arms, and of a row.
NAMES, ROW = 1.75, 0.21
SHARPNESS = "largest eigenvalue of the Hessian, natural logarithm"


def line_groups(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """What is shared out between lines, arm by arm, a panel a criterion. None where no criterion has a number."""
    if judgement is None:
        return None
    table = records.table
    drawn: list[tuple[Criterion, BetweenLines, Observation]] = []
    for criterion, part in observed_by(judgement, records.scale):
        if isinstance(part, BetweenLines):
            with suppress(UndecidableError):
                drawn.append((criterion, part, observe(part, table)))
    if not drawn:
        return None
    rows = max(sum(len(line) + 1 for line in part.lines) for _, part, _ in drawn)
    with mpl.rc_context(STYLE):
        figure, all_axes = panels(len(drawn), height=ROW * rows, columns=1, left=NAMES)
        for axes, (_, part, number) in zip(all_axes, drawn, strict=True):
            arms = [arm for line in part.lines for arm in line]
            values = np.stack([part.of_arm(arm, table, table.resamples) for arm in arms], axis=1)
            seen = dict(zip(arms, zip(*band(values, table.seeds), strict=True), strict=True))
            row, places = 0.0, []
            for index, line in enumerate(part.lines):
                colour = HUES[index % len(HUES)]
                for place, arm in enumerate(line):
                    estimate, low, high = seen[arm]
                    interval(axes, low, high, row + place, colour, estimate)
                    places.append(row + place)
                centre = float(np.mean([seen[arm][0] for arm in line]))
                axes.plot([centre, centre], [row - 0.4, row + len(line) - 0.6], color=colour, linewidth=1, label="_")
                row += len(line) + 1
            axes.set_ylim(row - 1.4, -0.6)
            axes.set_yticks(places, [table.study.arms[arm].label for arm in arms])
            axes.set_xlabel(SHARPNESS if part.of == "sharpness" else table.study.loss_label("test", table.scale, arms))
            axes.set_title(in_prose(number.estimate, number.low, number.high, "share") + " between lines", color=INK)
            few_ticks(axes.xaxis)
        return figure
