"""What an exact check is: a number, and how a page shows where it comes from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One line of a plot. dots: shown as dots on a thin line, for what was counted at few places."""

    name: str
    x: Numbers
    y: Numbers
    dots: bool = False


@dataclass(frozen=True)
class Plot:
    """Curves over one axis. levels: (y, words) of horizontal lines; places: (x, words) of vertical ones."""

    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = True
    log_y: bool = True
    levels: tuple[tuple[float, str], ...] = ()
    places: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Table:
    """A few numbers in words."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Check:
    """number: what is worked out. plot, table: how it comes about; several checks that share one are shown once."""

    number: Callable[[], float]
    plot: Callable[[], Plot] | None = None
    table: Callable[[], Table] | None = None
