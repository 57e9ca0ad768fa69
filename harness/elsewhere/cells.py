"""Numbers as people write them into tables: 81.3%, 1,234.5, 0,81, 1.2k, 3.4 ms.

A column is read in one way or not at all: what could be two numbers is a question.
"""

import re

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from ..errors import UserError

_CELL = re.compile(
    r"^(?P<number>[-+−]?[\d.,']*\d[\d.,']*(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?))\s*(?P<unit>[^\d\s].*)?$", re.I
)
# A mean with its spread: 0.81 ± 0.01, 0.81 +/- 0.01, 0.81 (0.01).
_SUMMARY = re.compile(r"^\s*\$?[-+]?[\d.,]+%?\s*(?:±|\+/?-|\\pm|\()\s*[\d.,]+")
_THOUSANDS = re.compile(r"^[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?(?:[eE].*)?$")
_DECIMAL_COMMA = re.compile(r"^[-+]?\d*,\d+(?:[eE].*)?$")
MULTIPLES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9}
BLANKS = ("", "nan", "none", "null", "na", "n/a", "-", "–", "—")
# Larger numbers have no sum and no square.
LARGEST = 1e150
# This number of cells tells whether a column holds numbers.
LOOKED_AT = 100


def numbers_of(column: pd.Series, name: str) -> pd.Series:
    """Numbers as _read finds them; those too large to be reckoned with are infinite."""
    numbers = _read(column, name)
    values = numbers.to_numpy(float, na_value=0.0)
    return numbers.mask(np.abs(values) > LARGEST, pd.Series(np.copysign(np.inf, values), index=numbers.index))


def _read(column: pd.Series, name: str) -> pd.Series:
    """Each cell's number, missing where it holds none. Raises UserError for means with their spread, and for cells that could
    be two numbers or are in several units."""
    if is_numeric_dtype(column):
        return column.astype("Float64")
    plain = pd.to_numeric(column, errors="coerce").astype("Float64")
    texts = column[plain.isna() & column.notna()].astype(str).str.strip("*_` \t")  # marks of Markdown
    texts = texts[~texts.str.lower().isin(BLANKS)]
    summaries = texts[texts.str.match(_SUMMARY)]
    if len(summaries) and 2 * len(summaries) >= len(texts):
        raise UserError(
            f"'{name}' holds means with their spread ('{summaries.iloc[0]:.40}') and no runs: give a row for each run, or"
            " a column for each"
        )
    parts = texts.str.extract(_CELL).dropna(subset="number")
    if parts.empty:
        return plain
    # A header that was concatenated in is no unit: a cell has one only after a number.
    units = parts["unit"].fillna("").str.strip()
    bare = plain[np.isfinite(plain.to_numpy(float, na_value=np.nan))]
    factors = _factors(units if bare.empty else pd.concat([units, pd.Series([""])]), texts, name)
    numbers = pd.to_numeric(_unpunctuated(parts["number"], name), errors="coerce") * units.map(factors)
    return plain.where(~plain.index.isin(numbers.index), numbers.reindex(plain.index).astype("Float64"))


def holds_numbers(column: pd.Series) -> bool:
    """Whether it can be judged: numbers, also with a unit, and no booleans."""
    if is_numeric_dtype(column):
        return bool(column.dtype != bool)
    cells = column.dropna().head(LOOKED_AT).astype(str).str.strip()
    return bool(len(cells)) and bool(cells.str.match(_CELL).all())


def _factors(units: pd.Series, texts: pd.Series, name: str) -> dict[str, float]:
    """Unit -> the factor of its cells. Raises UserError for units that are not one."""
    several = list(units.unique())
    if len(several) == 1 and several[0] not in MULTIPLES:
        return {several[0]: 1.0}
    if set(several) <= MULTIPLES.keys():
        return {unit: MULTIPLES[unit] for unit in several}
    shown = ", ".join(f"'{unit}'" if unit else "none" for unit in several[:4])
    raise UserError(f"'{name}' holds values in several units ({shown}; '{texts.iloc[0]:.40}'): write them in one")


def _unpunctuated(numbers: pd.Series, name: str) -> pd.Series:
    """Numbers without marks of thousands, and with points for decimal commas. Raises UserError for what could be either."""
    numbers = numbers.str.replace("−", "-").str.replace("'", "")
    commas = numbers[numbers.str.contains(",")]
    if commas.empty:
        return numbers
    thousands, decimals = commas.str.match(_THOUSANDS).all(), commas.str.match(_DECIMAL_COMMA).all()
    if thousands and decimals and not commas.str.contains(r"^[-+]?0,").any() and not numbers.str.contains(r"\.").any():
        raise UserError(f"'{name}': is {commas.iloc[0]} a number with a decimal comma, or thousands? Write it with a point")
    if decimals and not (thousands and numbers.str.contains(r"\.").any()):
        return numbers.str.replace(",", ".")
    return numbers.str.replace(",", "") if thousands else numbers
