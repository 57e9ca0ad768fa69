"""One range test: the loss against its LR, and what each rule picks (folklore lr-find)."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from folklore.harness.metrics.estimating.range_test_rules import Suggestion
from folklore.harness.spec.configuration import SQUARED_ERROR
from folklore.harness.spec.trials import in_words
from folklore.reports.figures.drawing import Drawing, Panel
from folklore.reports.figures.palette import HUES, INK, MARKERS, SOFT, Look
from folklore.reports.figures.render import save
from folklore.reports.figures.scales import Scale

if TYPE_CHECKING:
    from folklore.harness.reading.range_test import RangeTest


def draw_range_test(found: "RangeTest", path: Path) -> None:
    """Raw and smoothed losses, with what each rule picks. `path` ends in .svg or .png."""
    save(drawing(found), path)


def drawing(found: "RangeTest") -> Drawing:
    lowest, top = _range_of(found.smoothed)
    unit = SQUARED_ERROR if found.squares else "nats"
    row = 0.06 * (top - lowest)
    y = Scale(f"training loss ({unit})", low=lowest - row * (len(found.picks) + 1), high=top)
    panel = Panel(Scale("learning rate", 10, float(found.lr[0]), float(found.lr[-1])), y, height=3.6)
    for index, (raw, mean) in enumerate(zip(found.losses, found.smoothed, strict=True)):
        panel.add("faint", f"_raw {index}", Look(SOFT, "", "-"), x=found.lr, y=raw)
        panel.add("line", f"_smoothed {index}", Look(INK, "", "-"), x=found.lr, y=mean)
    for index, (rule, picks) in enumerate(found.picks.items()):
        lrs = [pick.lr for pick in picks if isinstance(pick, Suggestion)]
        look = Look(HUES[index % len(HUES)], MARKERS[index % len(MARKERS)], "")
        # Marks of one rule in a row of their own below the curve.
        panel.add("estimate", in_words(rule), look, x=lrs or [np.nan], y=lowest - row * (index + 1))
    return Drawing((((panel,),),))


def _range_of(means_SN: NDArray[np.float64]) -> tuple[float, float]:
    """The lowest smoothed loss and somewhat more than the highest of the first tenth; some range where no loss gives one."""
    known = means_SN[np.isfinite(means_SN)]
    if not len(known):
        return 0.0, 1.0
    early = means_SN[:, : max(2, means_SN.shape[1] // 10)]
    lowest, top = float(known.min()), 1.3 * float(early.max(where=np.isfinite(early), initial=known[0]))
    return lowest, top if top > lowest else lowest + 1.0
