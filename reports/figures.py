"""What all figures are drawn with: their style, their panels, intervals, regions of criteria, and SVG text of them.

A figure is WIDTH wide and has text of at least TEXT points, so that it can be read on a phone, where it is shown at 360 pixels.
Its text is byte-stable for equal data. Bands and intervals are 95% ones, of the resamples that the judge uses.
"""

import io
import math
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray

from folklore.harness.metrics.estimating.range_test_rules import Suggestion
from folklore.harness.spec import Criterion, Judgement, Rule
from folklore.harness.spec.configuration import SQUARED_ERROR
from folklore.harness.spec.observed import Observed
from folklore.harness.spec.parts import all_parts
from folklore.harness.spec.trials import Numbers
from folklore.harness.statistics import LEVEL
from folklore.harness.statistics.intervals import LEAST_SEEDS, t_quantile
from folklore.harness.verdicts.trial_arrays import TrialArrays
from folklore.reports.colours import CLAIMED, INK, MARKERS, REFUTED, SOFT, Look
from folklore.reports.svg import compact
from folklore.reports.words import power

if TYPE_CHECKING:
    from folklore.harness.reading.range_test import RangeTest

# Inches, and points: 6 inches are 576 pixels, and 11 points of them 9 pixels where they are shown as 360.
WIDTH, TEXT = 6.0, 11
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "folklore",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": TEXT,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
    "legend.fontsize": TEXT,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.2,
    "legend.handletextpad": 0.5,
    "legend.borderaxespad": 0.0,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "xtick.labelsize": TEXT,
    "ytick.labelsize": TEXT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}
# Inches around a panel: for its labels and its title. Fixed, because matplotlib's own layouts draw every figure twice.
LEFT, RIGHT, BOTTOM, TOP = 0.85, 0.12, 0.58, 0.36
LEGEND_ROW, TITLE_ROW = 0.22, 0.19
PANEL_HEIGHT = 3.0
# Of curves in a panel; more stand in a panel of their own.
MOST_CURVES = 8
BAND = 0.18
TINT = 0.13
# Of a letter, at most, in inches.
LETTER = 0.087
BOLD = 1.17  # times as wide as other letters
# Of what stands before a name in a legend, with the gap after it.
LEGEND_MARK = 0.6
# Of labels on an axis.
MOST_TICKS = 6


def panels(
    count: int, below: int = 0, height: float = PANEL_HEIGHT, columns: int = 2, left: float = LEFT, titles: Sequence[str] = ()
) -> tuple[Figure, list[Axes]]:
    """Panels side by side, at most `columns`. below: rows of a legend under each; height: of what is inside a panel; titles:
    one each, or none; lines that are wider than their panel are broken."""
    columns = min(count, columns)
    rows, wide = -(-count // columns), WIDTH / columns
    lines = ["\n".join(wrapped(line, (wide - left) / BOLD) for line in title.split("\n")) for title in titles]
    top = TOP + max((title.count("\n") for title in lines), default=0) * TITLE_ROW
    high = top + height + BOTTOM + LEGEND_ROW * below
    figure = mpl.figure.Figure(figsize=(WIDTH, high * rows))
    axes = []
    for index in range(count):
        row, column = divmod(index, columns)
        x, y = wide * column + left, high * (rows - 1 - row) + BOTTOM + LEGEND_ROW * below
        axes.append(figure.add_axes((x / WIDTH, y / (high * rows), (wide - left - RIGHT) / WIDTH, height / (high * rows))))
    for axis, title in zip(axes, lines, strict=bool(lines)):
        axis.set_title(title)
    return figure, axes


def chunks(names: Sequence[str], most: int) -> list[list[str]]:
    """Names in as few lists as hold at most so many each, about equally long."""
    return [[str(name) for name in part] for part in np.array_split(np.array(names, dtype=object), -(-len(names) // most))]


def legend_columns(names: Sequence[str], width: float) -> int:
    """How many of some names stand side by side in so many inches."""
    longest = max((len(name) for name in names), default=1)
    return max(1, min(len(names), int(width / (longest * LETTER + LEGEND_MARK))))


def legend_rows(names: Sequence[str], width: float) -> int:
    """Lines that a legend takes: names that are too long for one have several."""
    if not names:
        return 0
    columns = legend_columns(names, width)
    lines = [wrapped(name, width - LEGEND_MARK).count("\n") + 1 for name in names]
    return max(
        sum(lines[start : start + -(-len(names) // columns)]) for start in range(0, len(names), -(-len(names) // columns))
    )


def legend_below(axes: Axes, width: float, left: float = LEFT, handles: Sequence[Any] = ()) -> None:
    """A legend under a panel's labels, as wide as the panel."""
    shown = list(handles) or axes.get_legend_handles_labels()[0]
    names = [str(each.get_label()) for each in shown]
    if not names:
        return
    box = axes.get_position()
    high = axes.get_figure(root=True).get_figheight()  # type: ignore[union-attr]
    place = (-(left - 0.1) / (box.width * WIDTH), -(BOTTOM - 0.02) / (box.height * high))
    lines = [wrapped(name, width - LEGEND_MARK) for name in names]
    axes.legend(shown, lines, loc="upper left", bbox_to_anchor=place, ncols=legend_columns(names, width))


def wrapped(text: str, inches: float) -> str:
    return textwrap.fill(text, max(12, int(inches / LETTER)))


def band(values_RX: Numbers, seeds: int, log: bool = False) -> tuple[Numbers, Numbers, Numbers]:
    """Estimate and the ends of its 95% interval at every x, from what resamples of the seeds give: the interval that
    observations have. nan where there is none, as under LEAST_SEEDS seeds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        on_axis = np.log(values_RX) if log else np.asarray(values_RX, dtype=np.float64)
    centre = on_axis[0]
    if seeds < LEAST_SEEDS:
        half = np.full(centre.shape, np.nan)
    else:
        found = np.where(np.isfinite(on_axis[1:]), on_axis[1:], np.nan)
        many = np.isfinite(found).mean(axis=0) >= 0.9
        counts = np.maximum(1, np.isfinite(found).sum(axis=0))
        mean = np.nansum(found, axis=0) / counts
        deviation = np.sqrt(np.nansum((found - mean) ** 2, axis=0) / counts)
        half = np.where(many, t_quantile(seeds - 1, LEVEL) * deviation * math.sqrt(seeds / (seeds - 1)), np.nan)
    low, high = centre - half, centre + half
    return (np.exp(centre), np.exp(low), np.exp(high)) if log else (centre, low, high)


def seed_band(values_SX: Numbers, table: TrialArrays, log: bool = False) -> tuple[Numbers, Numbers, Numbers]:
    """Mean over the seeds and its 95% interval at every x; log: the geometric mean."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(values_SX) if log else np.asarray(values_SX, dtype=np.float64)
        means = table.resamples @ values / table.resamples.sum(axis=1, keepdims=True)
    centre, low, high = band(means, table.seeds)
    return (np.exp(centre), np.exp(low), np.exp(high)) if log else (centre, low, high)


def draw_band(axes: Axes, x: Any, seen: tuple[Numbers, Numbers, Numbers], look: Look, label: str, every: float | None = 0.12,
              **style: Any) -> None:  # fmt: skip
    """A line with its band. every: one marker in so much of the axis; None: one at each point."""
    centre, low, high = seen
    if np.isfinite(low).any():
        axes.fill_between(x, low, high, color=look.colour, alpha=BAND, linewidth=0)
    axes.plot(x, centre, color=look.colour, marker=look.marker, linestyle=look.line, label=label, markevery=every, **style)


def interval(axes: Axes, low: float, high: float, at: float, colour: str, estimate: float | None = None, marker: str = "o",
             size: float = 6, width: float = 2, upright: bool = False) -> None:  # fmt: skip
    """An interval along an axis with its estimate, drawn as lines, so that whoever reads the figure's data finds them."""
    ends, beside = [low, high], [at, at]
    axes.plot(*((beside, ends) if upright else (ends, beside)), color=colour, linewidth=width, label="_", solid_capstyle="butt")
    if estimate is not None:
        axes.plot(*(([at], [estimate]) if upright else ([estimate], [at])), color=colour, marker=marker, markersize=size,
                  linestyle="none", label="_")  # fmt: skip


def ring(axes: Axes, x: float, y: float) -> None:
    """Around a point that a claim is about."""
    axes.plot([x], [y], color=INK, marker="o", markersize=12, markerfacecolor="none", markeredgewidth=1.6, linestyle="none",
              label="_", zorder=5)  # fmt: skip


def regions(
    axes: Axes, criterion: Criterion, across: tuple[float, float] | None = None, upright: bool = False, to_axis: Any = float
) -> None:
    """What a criterion claims and what refutes it, tinted along an axis whose limits are set: the null dotted, the expected
    value dash-dotted. across: from where to where on the other axis; none: all of it. to_axis: the criterion's values as the
    axis has them."""
    least, most = axes.get_ylim() if upright else axes.get_xlim()
    for rule, colour in ((criterion.claimed, CLAIMED), (criterion.refuted, REFUTED)):
        for low, high in pieces(rule, least, most, to_axis):
            tint(axes, low, high, colour, across, upright)
    lines = [(criterion.null, ":")] + ([(criterion.expected.value, "-.")] if criterion.expected else [])
    for value, style in lines:
        if value is not None and least <= to_axis(value) <= most:
            mark(axes, to_axis(value), style, across, upright)


def pieces(rule: Rule, least: float, most: float, to_axis: Any = float) -> Iterator[tuple[float, float]]:
    """The parts of a rule's region that an axis shows."""
    for low, high in rule.pieces:
        left = least if low == -math.inf else max(least, to_axis(low))
        right = most if high == math.inf else min(most, to_axis(high))
        if left < right:
            yield left, right


def tint(axes: Axes, low: float, high: float, colour: str, across: tuple[float, float] | None, upright: bool = False,
         alpha: float = TINT) -> None:  # fmt: skip
    start, end = across or (axes.get_xlim() if upright else axes.get_ylim())
    (x, y), (wide, tall) = ((start, low), (end - start, high - low)) if upright else ((low, start), (high - low, end - start))
    axes.add_patch(mpl.patches.Rectangle((x, y), wide, tall, color=colour, alpha=alpha, linewidth=0, zorder=0))


def mark(axes: Axes, at: float, style: str, across: tuple[float, float] | None = None, upright: bool = False,
         colour: str = INK, label: str = "_") -> None:  # fmt: skip
    """A straight line across an axis at a value."""
    ends = across or (axes.get_xlim() if upright else axes.get_ylim())
    xy = (ends, (at, at)) if upright else ((at, at), ends)
    axes.plot(*xy, color=colour, linestyle=style, linewidth=1, label=label, zorder=1, scalex=False, scaley=False)


def log_axis(axis: Axis, base: int = 10) -> None:
    """A logarithmic axis whose labels are plain text: matplotlib's go through its TeX parser, which took a fifth of a site."""
    (axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale)("log", base=base)
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value, base) if base == 2 else number(value)))
    # Marks between labels are objects each, and took a third of a figure's time.
    axis.set_minor_locator(NullLocator())


def log_ticks(axis: Axis, base: int = 10, most: int = MOST_TICKS) -> None:
    """A logarithmic axis with labels at the whole powers within its limits, or between them, too, if there are few."""
    log_axis(axis, base)
    low, high = sorted(axis.get_view_interval())
    if low <= 0 or not np.isfinite([low, high]).all():
        return
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    step = max(1, -(-(last - first + 1) // most))
    ticks = [float(base) ** exponent for exponent in range(first, last + 1, step)]
    for parts in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        if base == 10 and len(ticks) < 3:
            finer = [part * 10.0**exponent for exponent in range(first - 1, last + 1) for part in parts]
            finer = [tick for tick in finer if low <= tick <= high]
            ticks = finer if len(finer) <= most else ticks or finer[:: -(-len(finer) // most)]
    if base == 2 and len(ticks) < 2:
        halves = range(math.ceil(2 * math.log2(low)), math.floor(2 * math.log2(high)) + 1)
        ticks = [2.0 ** (half / 2) for half in halves]
    if len(ticks) < 2:
        ticks = [float(f"{tick:.2g}") for tick in np.geomspace(low, high, 4)[1:3]]
    axis.set_ticks(ticks)


def number(value: float) -> str:
    """As an axis says it: 0.003, 200, 5000, 30k, 2·10⁻⁴."""
    if value >= 1e6:
        return f"{value / 1e6:g}M" if value < 1e9 else power(value)
    if value >= 1e4:
        return f"{value / 1e3:g}k"
    if value >= 9.9e-4 or value <= 0:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = f"{value / 10.0**exponent:.3g}"
    return power(10.0**exponent) if factor == "1" else f"{factor}·{power(10.0**exponent)}"


def rounded(value: float) -> str:
    """Two digits of a number, as an axis says it."""
    return number(float(f"{value:.2g}"))


def few_ticks(axis: Axis, most: int = MOST_TICKS - 1, percent: bool = False) -> None:
    axis.set_major_locator(MaxNLocator(most))
    if percent:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%".replace("-", "−")))


def observed_by(judgement: Judgement, scale: str) -> list[tuple[Criterion, Observed]]:
    """A claim's criteria with every observable in them, however deep it lies."""
    return [(criterion, part) for criterion in judgement.criteria_at(scale) for part in all_parts(criterion.observe)]


def is_searched(table: TrialArrays, arm: str, over: str) -> bool:
    """Whether an arm has more than one value of a factor, on a grid or proposed."""
    return bool(table.study.arms[arm].searched) or len(table.study.factors_at(table.scale, arm).get(over, ())) > 1


def draw_range_test(found: "RangeTest", path: Path) -> None:
    """Loss against the LR of a range test, raw and smoothed, with what each rule picks. `path` ends in .svg or .png."""
    with mpl.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(8.3, 5.2), layout="constrained")
        means = found.smoothed
        axis.plot(found.lr, found.losses.T, color="lightgray", linewidth=0.6, zorder=1)
        axis.plot(found.lr, means.T, color="black", linewidth=1.2, zorder=2)
        lowest, top = _range_of(means)
        for index, (rule, picks) in enumerate(found.picks.items()):
            lrs = [pick.lr for pick in picks if isinstance(pick, Suggestion)]
            # Marks of one rule on a line of their own below the curve.
            height = lowest - (index + 1) * 0.05 * (top - lowest)
            axis.plot(lrs, [height] * len(lrs), MARKERS[index % len(MARKERS)], label=rule.replace("_", " "), markersize=6)
        axis.update_datalim([(found.lr[0], lowest), (found.lr[-1], top)])  # the whole ramp, whatever is finite
        axis.set(
            xlabel="learning rate",
            ylabel=f"training loss ({SQUARED_ERROR if found.squares else 'nats'})",
            ylim=(lowest - 0.45 * (top - lowest), top),
        )
        log_axis(axis.xaxis)
        if found.picks:
            figure.legend(loc="outside lower center", ncols=3)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)


def _range_of(means_SN: NDArray[np.float64]) -> tuple[float, float]:
    """The lowest smoothed loss and somewhat more than the highest of the first tenth; some range where no loss gives one."""
    known = means_SN[np.isfinite(means_SN)]
    if not len(known):
        return 0.0, 1.0
    early = means_SN[:, : max(2, means_SN.shape[1] // 10)]
    lowest, top = float(known.min()), 1.3 * float(early.max(where=np.isfinite(early), initial=known[0]))
    return lowest, top if top > lowest else lowest + 1.0


def as_svg(figure: Figure) -> str:
    """The figure's text, and its end."""
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    plt.close(figure)
    return compact(buffer.getvalue())
