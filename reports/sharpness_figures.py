"""Whether flat runs generalize better: what is held out against sharpness, of runs that fit as well."""

from contextlib import suppress

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from folklore.harness.metrics import SharpnessCorrelation
from folklore.harness.spec import Judgement
from folklore.harness.spec.trials import UndecidableError
from folklore.harness.statistics.intervals import Observation
from folklore.harness.verdicts.observe import observe
from folklore.harness.verdicts.spelling import in_prose
from folklore.harness.verdicts.trial_sets import TrialSet
from folklore.reports.colours import HUES, INK
from folklore.reports.figures import STYLE, observed_by, panels

HEIGHT = 3.0


def sharpness_and_loss(records: TrialSet, judgement: Judgement | None = None) -> Figure | None:
    """A panel a criterion: every setting's mean over seeds, its runs pale behind it. None where no criterion has a number."""
    if judgement is None:
        return None
    drawn: list[tuple[SharpnessCorrelation, Observation]] = []
    for _, part in observed_by(judgement, records.scale):
        if isinstance(part, SharpnessCorrelation):
            with suppress(UndecidableError):
                drawn.append((part, observe(part, records.table)))
    if not drawn:
        return None
    with mpl.rc_context(STYLE):
        figure, all_axes = panels(len(drawn), height=HEIGHT, columns=1)
        for axes, (part, number) in zip(all_axes, drawn, strict=True):
            sharpness, held_out = part.points(records.table)
            usable = np.isfinite(sharpness) & np.isfinite(held_out)
            x = np.where(usable, np.exp(sharpness), np.nan)
            y = np.where(usable, held_out, np.nan)
            start = 0
            for index, arm in enumerate(part.arms):
                rows = slice(start, start + len(records.table.grid(arm, part.over)))
                start = rows.stop
                colour, label = HUES[index % len(HUES)], records.study.arms[arm].label
                axes.plot(x[rows].ravel(), y[rows].ravel(), ".", color=colour, alpha=0.25, markersize=3, label="_")
                present = usable[rows].any(axis=1)
                if present.any():
                    centre_x = np.exp(np.nanmean(np.log(x[rows][present]), axis=1))
                    axes.plot(centre_x, np.nanmean(y[rows][present], axis=1), "o", color=colour, markersize=5, label=label)
            axes.set_xscale("log")
            level = f"{part.level:g} {records.study.loss_unit_of(records.scale, part.arms)}".rstrip()
            axes.set_xlabel(f"largest eigenvalue of the Hessian at a training loss of {level}")
            loss = records.study.loss_label("validation", records.scale, part.arms)
            axes.set_ylabel("validation error there (share)" if part.of == "evaluation_accuracy" else f"{loss} there")
            axes.set_title("rank correlation " + in_prose(number.estimate, number.low, number.high, ""), color=INK)
            axes.legend(loc="best", frameon=False)
        return figure
