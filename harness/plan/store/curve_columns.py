"""Columns of a trials frame that hold curves: read from the store when somebody asks for their values."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.extensions import ExtensionArray, ExtensionDtype, register_extension_dtype


@register_extension_dtype
class CurveDtype(ExtensionDtype):
    """A curve, or None where it was not measured."""

    name, kind, na_value = "curve", "O", None

    @classmethod
    def construct_array_type(cls) -> "builtins.type[CurveColumn]":
        return CurveColumn

    type = object  # last, for it hides Python's own


class CurveSource:
    """One column of all trials. read: returns its values, an array of objects, and is called once."""

    def __init__(self, read: Callable[[], NDArray[np.object_]]):
        self._read = read
        self._values: NDArray[np.object_] | None = None

    def values(self) -> NDArray[np.object_]:
        if self._values is None:
            self._values = self._read()
        return self._values


class CurveColumn(ExtensionArray):
    """Some rows of a source. Sorting and selecting trials moves the rows' numbers, never the curves: those are most of what a
    store holds, and few of them are read for any one answer."""

    def __init__(self, source: CurveSource, rows: NDArray[np.integer[Any]]):
        self._source, self._rows = source, rows.astype(np.int32, copy=False)  # of each column, so small

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Self:
        if isinstance(scalars, cls):
            return scalars
        values = np.empty(len(scalars), dtype=object)
        values[:] = list(scalars)
        return cls(CurveSource(lambda: values), np.arange(len(values)))

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence["CurveColumn"]) -> Self:
        return cls._from_sequence(np.concatenate([column.to_numpy() for column in to_concat]))

    @property
    def dtype(self) -> CurveDtype:
        return CurveDtype()

    @property
    def nbytes(self) -> int:
        return int(self._rows.nbytes)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, int | np.integer):
            return self._source.values()[self._rows[item]]
        return type(self)(self._source, self._rows[pd.api.indexers.check_array_indexer(self, item)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._source.values()[self._rows].astype(dtype or object)

    def __arrow_array__(self, type: Any = None) -> Any:
        import pyarrow as pa

        return pa.array(np.asarray(self), type=type, from_pandas=True)

    def isna(self) -> NDArray[np.bool_]:
        return np.array([value is None for value in np.asarray(self)], dtype=bool)

    def copy(self) -> Self:
        return type(self)(self._source, self._rows)  # nobody writes to them

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Self:
        assert not allow_fill or min(indices, default=0) >= 0, "a row without a trial has no curve"
        return type(self)(self._source, self._rows[np.asarray(indices, dtype=np.int64)])
