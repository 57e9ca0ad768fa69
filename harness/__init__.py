"""Plans, trains, records and judges studies. See CONTRIBUTING.md for the way of the data and the direction of imports.

In Python: `from folklore.harness import load_study, run, trials, curves, verdicts, columns`; harness/api.py says what they do.
`OwnWorkload` is what a user's own model, loss and data are handed over in. All are imported when they are asked for, so that
importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from folklore.harness.api import columns, curves, load_study, run, trials, verdicts
    from folklore.harness.workloads.own.workload import OwnWorkload

__all__ = ["OwnWorkload", "columns", "curves", "load_study", "run", "trials", "verdicts"]


def __getattr__(name: str) -> Any:
    if name == "OwnWorkload":
        from folklore.harness.workloads.own.workload import OwnWorkload

        return OwnWorkload
    if name in __all__:
        from folklore.harness import api

        return getattr(api, name)
    raise AttributeError(f"module 'folklore.harness' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
