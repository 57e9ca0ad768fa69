"""What a user chooses about a run beside the study: where it reads and writes, and on what it trains."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
