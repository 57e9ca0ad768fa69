"""Plans, trains, records and judges studies. See README.md for the way of the data and the direction of imports.

In Python: `from harness import load_study, run, trials, curves, verdicts, columns`; harness/api.py says what they do. They are
imported when they are asked for, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import columns, curves, load_study, run, trials, verdicts

__all__ = ["columns", "curves", "load_study", "run", "trials", "verdicts"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from harness import api

        return getattr(api, name)
    raise AttributeError(f"module 'harness' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
