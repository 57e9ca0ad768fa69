"""Rows of one run and of several: where steps begin again, which column tells rows apart."""

from collections.abc import Iterable, Sequence

import pandas as pd
from pandas.api.types import is_float_dtype

# A column of more values tells runs apart, not kinds of runs.
MOST_LEVELS = 50


def restarts(frame: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """Which of several runs that were written one after the other a row belongs to [n]: each begins where the first began."""
    by = [frame[each] for each in keys]
    groups = frame["step"].groupby(by, sort=False, dropna=False)
    first = groups.transform("first")
    again = (groups.diff() < 0) & (frame["step"] <= first) & (first == groups.transform("min"))
    return again.astype(int).groupby(by, sort=False, dropna=False).cumsum()


def telling(frame: pd.DataFrame, keys: Sequence[str], columns: Iterable[object]) -> str:
    """Of columns with few values the one that tells most of the rows apart that agree in the keys; empty if there is none."""
    again = int(frame.duplicated(list(keys)).sum())
    left = {
        str(each): int(frame.duplicated([*keys, each]).sum())
        for each in columns
        if not is_float_dtype(frame[each]) and 1 < frame[each].nunique() <= MOST_LEVELS
    }
    best = min(left, key=lambda each: left[each], default="")
    return best if best and 2 * left[best] <= again else ""
