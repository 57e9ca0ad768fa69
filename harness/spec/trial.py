"""A trial: one training run."""

from dataclasses import dataclass

from folklore.harness.spec.configuration import Configuration
from folklore.harness.spec.study import Value


@dataclass(frozen=True)
class Trial:
    """One training run. `point` holds its values of the study's factors, searched ones among them."""

    digest: str
    arm: str
    point: dict[str, Value]
    seed: int
    configuration: Configuration
    data_hash: str
