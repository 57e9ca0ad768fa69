"""Tables that hold means, standard deviations and numbers of runs, where that is all there is.

Student's and Welch's tests know no more of runs than these three numbers. So a row becomes as many runs as it stands for, with
that mean and standard deviation; methods for single runs (pairs, leaving one out) are not used on them.
"""

import numpy as np
import pandas as pd
import scipy  # its parts load when they are first used

from ..errors import UserError
from ..judge.statistics.intervals import Numbers
from .cells import numbers_of
from .roles import ReadingOptions, column_named
from .table import Problem

# Runs that a row may stand for.
FEWEST, MOST = 2, 10_000
CONSEQUENCE = "as many runs with that mean and standard deviation stand for each; none can be left out, so no verdict is firm"


def spread_out(frame: pd.DataFrame, options: ReadingOptions) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """A row for each run, in place of one for each mean. Raises UserError for columns that are not there, and for numbers that
    are no means, standard deviations or numbers of runs."""
    spread, count = options.spread, options.count
    if spread is None and count is None:
        return frame, ()
    metric = options.columns.get("metric")
    if spread is None or count is None or metric is None:
        raise UserError(
            "--spread and --count belong together, and to a metric: name the columns of means, of standard deviations and of"
            " numbers of runs"
        )
    means, spreads, counts = (
        numbers_of(frame[column_named(frame, name, option)], name)
        for name, option in ((metric, "--metric"), (spread, "--spread"), (count, "--count"))
    )
    _require(
        counts,
        (counts >= FEWEST) & (counts <= MOST) & (counts % 1 == 0),
        count,
        f"whole numbers of runs from {FEWEST} to {MOST:,}",
    )
    _require(spreads, spreads >= 0, spread, "standard deviations, which are not below 0")
    runs = frame.loc[frame.index.repeat(counts.astype(int))].drop(columns=[spread, count])
    values = [mean + deviation * standard(int(runs)) for mean, deviation, runs in zip(means, spreads, counts, strict=True)]
    rows = runs.assign(**{metric: np.concatenate(values)}).reset_index(drop=True)
    return rows, (Problem("rows that are means of several runs", len(frame), CONSEQUENCE, doubtful=True),)


def standard(count: int) -> Numbers:
    """`count` numbers of mean 0 and standard deviation 1, no two alike: normal quantiles."""
    values = scipy.special.ndtri((np.arange(count) + 0.5) / count)
    return np.asarray((values - values.mean()) / values.std(ddof=1))


def _require(values: pd.Series, fine: pd.Series, name: str, rule: str) -> None:
    if not fine.fillna(False).all():
        value = values[~fine.fillna(False)].iloc[0]
        raise UserError(f"'{name}' holds {value}: must hold {rule}; leave other rows out with --where")
