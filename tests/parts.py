"""Which parameters of a test belong to the fast part of the suite, which to the slow one, and which are left to the night."""

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark import ParameterSet

# The long form of what `make test-all` has a short form of.
NIGHTLY = (pytest.mark.slow, pytest.mark.nightly)


def fast_for(fast: Collection[str], names: Iterable[str]) -> list[ParameterSet]:
    """Parameters for all names, those of the fast part unmarked."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name not in fast)) for name in names]


def short_form(short: Collection[str], names: Iterable[str]) -> list[ParameterSet]:
    """Parameters for all names, those of the short form among the slow tests and the others at night."""
    return [pytest.param(name, marks=pytest.mark.slow if name in short else NIGHTLY) for name in names]
