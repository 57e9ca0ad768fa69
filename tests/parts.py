"""Which parameters of a test belong to the fast part of the suite, and which to the slow one."""

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark import ParameterSet


def fast_for(fast: Collection[str], names: Iterable[str]) -> list[ParameterSet]:
    """Parameters for all names, those of the fast part unmarked."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name not in fast)) for name in names]
