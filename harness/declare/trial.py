"""A trial: one training run."""

from dataclasses import dataclass, field

from .configuration import Configuration
from .design import Value


@dataclass(frozen=True)
class Start:
    """A checkpoint that a trial starts from: of the trial of a digest, after a step. generation: how many trials lie before
    the one that starts."""

    digest: str
    step: int
    generation: int = field(default=1, compare=False)


@dataclass(frozen=True)
class Trial:
    """One training run. `point` holds its values of the study's factors, searched ones among them. start: None if it starts
    from initialization."""

    digest: str
    arm: str
    point: dict[str, Value]
    seed: int
    configuration: Configuration
    data_hash: str
    start: Start | None = None

    @property
    def generation(self) -> int:
        return self.start.generation if self.start else 0
