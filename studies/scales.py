"""The scales that nearly all studies have. Each function returns a Scale; departures keep its verdicts from overclaiming."""

from typing import Any

from ..harness.declare import Scale


def smoke(seeds: int = 2, **changes: Any) -> Scale:
    """A few steps of every arm, to see that it can be trained."""
    return Scale(description="plumbing in seconds, never judged", seeds=seeds, judged=False, **changes)


def laptop(takes: str, *departures: str, **changes: Any) -> Scale:
    """Two CPU cores. takes: how long it trains there."""
    return Scale(description=f"two CPU cores, {takes}", departures=departures, **changes)


def gpu(description: str, *departures: str, **changes: Any) -> Scale:
    """One GPU, or many."""
    return Scale(description=description, device="cuda", departures=departures, **changes)
