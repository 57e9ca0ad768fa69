"""A user's choices about a run beside the study: where it reads and writes, and on what it trains."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from .errors import UserError

CHECKPOINT_VARIABLE = "FOLKLORE_CHECKPOINT_SECONDS"
# Long enough that writing costs nothing, short enough that a killed worker loses little.
CHECKPOINT_SECONDS = 60.0


@dataclass(frozen=True)
class Options:
    """`datasets` maps a dataset a study names to the one to use for it. None: the default is looked for."""

    store: str = "results"
    tracking: str | None = None
    address: str | None = None
    workers: int | None = None
    lanes: int | None = None
    program: str | None = None
    datasets: Mapping[str, str] = field(default_factory=dict)


def checkpoint_seconds() -> float:
    """Seconds between the checkpoints of a pack in flight. Raises UserError."""
    text = os.environ.get(CHECKPOINT_VARIABLE)
    try:
        seconds = CHECKPOINT_SECONDS if text is None else float(text)
    except ValueError:
        seconds = math.nan
    if not (seconds >= 0 and math.isfinite(seconds)):
        raise UserError(f"{CHECKPOINT_VARIABLE}={text}: give seconds from 0, or leave it out for {CHECKPOINT_SECONDS:g}")
    return seconds
