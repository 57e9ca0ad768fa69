"""One range test: the loss against its LR, and what each rule picks (folklore lr-find)."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...harness.declare.configuration import SQUARED_ERROR
from ...harness.declare.design import in_words
from ...harness.declare.metrics.estimating.range_test_rules import Suggestion
from .drawing import Drawing, Panel
from .palette import INK, SOFT, Look, numbered
from .render import save
from .scales import Scale, rows

if TYPE_CHECKING:
    from ...harness.judge.lr_range import RangeTest

# Inches of a rule's row.
ROW = 0.24


def draw_range_test(range_test: "RangeTest", path: Path) -> None:
    """Raw and smoothed losses, with what each rule picks. `path` ends in .svg or .png."""
    save(drawing(range_test), path)


def drawing(range_test: "RangeTest") -> Drawing:
    """The losses with a mark on them for each rule, and under them the picks of every seed, a row for each rule."""
    lowest, top = _range_of(range_test.smoothed)
    unit = SQUARED_ERROR if range_test.squares else "nats"
    x = Scale("learning rate", 10, float(range_test.lr[0]), float(range_test.lr[-1]))
    y = Scale(f"training loss ({unit})", low=max(0.0, lowest - 0.2 * (top - lowest)), high=top)
    curves = Panel(x, y)
    for index, (raw, mean) in enumerate(zip(range_test.losses, range_test.smoothed, strict=True)):
        curves.add("faint", f"_raw {index}", Look(SOFT, "", "-"), x=range_test.lr, y=raw)
        curves.add("line", f"_smoothed {index}", Look(INK, "", "-"), x=range_test.lr, y=mean)
    if range_test.start is not None:
        curves.add("region", "_claimed", left=range_test.grid[0], right=range_test.grid[-1])
        curves.add("rule", "_null", x=range_test.start)
        curves.note(f"start at {range_test.start:.2g}", range_test.start, top, place="below")
    for row, lr in enumerate(pick.lr for pick in range_test.summary()):
        if lr is not None:
            curves.add(
                "estimate",
                f"_{row}",
                numbered(row),
                x=lr,
                y=np.fmin(np.interp(np.log(lr), np.log(range_test.lr), np.mean(range_test.smoothed, axis=0)), top),
            )
    names = [in_words(rule) for rule in range_test.picks]
    under = Panel(x, rows(names), height=ROW * len(names))
    for row, picks in enumerate(range_test.picks.values()):
        lrs = [pick.lr for pick in picks if isinstance(pick, Suggestion)]
        under.add("estimate", f"_{row}", numbered(row), x=lrs, y=-row)
    return Drawing(((curves, under) if names else (curves,),))


def _range_of(means_SN: NDArray[np.float64]) -> tuple[float, float]:
    """The lowest smoothed loss and somewhat more than the highest of the first tenth; some range where no loss gives one."""
    known = means_SN[np.isfinite(means_SN)]
    if not len(known):
        return 0.0, 1.0
    early = means_SN[:, : max(2, means_SN.shape[1] // 10)]
    lowest, top = float(known.min()), 1.3 * float(early.max(where=np.isfinite(early), initial=known[0]))
    return lowest, top if top > lowest else lowest + 1.0
