"""Plans, trains, records and judges studies. See README.md for the way of the data and the direction of imports."""

from typing import Any


def __getattr__(name: str) -> Any:
    """`from harness import OwnWorkload`: imported when asked for, because torch takes seconds."""
    if name == "OwnWorkload":
        from harness.own.workload import OwnWorkload

        return OwnWorkload
    raise AttributeError(f"module 'harness' has no attribute '{name}'")
