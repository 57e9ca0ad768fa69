"""The declaration of a part of the engine: an optimizer, a schedule, a procedure, a probe, each in one file.

A file is imported without torch: studies are read, costs estimated and recipes written where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..declare import Configuration, Training

if TYPE_CHECKING:
    from ...models import Model
    from .workloads.base import BaseWorkload
    from .workloads.data import Dataset


class Cost(NamedTuple):
    """The cost that a part adds. copies: FP32 numbers for each parameter of a lane. activation_bytes: for each activation of an
    example, beside those of the step itself. passes: forward passes of an example in a whole trial. passes_a_gradient: that
    each gradient takes beside the usual three. gradients: that a step takes of its batch beside its own, each after a forward
    pass.
    """

    copies: int = 0
    activation_bytes: int = 0
    passes: float = 0.0
    passes_a_gradient: float = 0.0
    gradients: float = 0.0


class EnginePart:
    """Everything but `applies` is asked only of parts that apply."""

    # The field that asks for it, as in "training.outlier": by this value, or by any but its default; '': it is always there.
    setting: ClassVar[str] = ""
    value: ClassVar[str] = ""
    # Fields that mean nothing without it. Those of an optimizer or a schedule may be set beside another, as a study that tries
    # several sets them.
    settings: ClassVar[tuple[str, ...]] = ()
    # Fields that mean nothing, or something else, with it, and why.
    excludes: ClassVar[Mapping[str, str]] = {}
    # The message for a workload `w` that cannot show it what it looks at; '': any can.
    unseen: ClassVar[str] = ""
    # Why it needs Adam's moments; '': it does not.
    of_adam: ClassVar[str] = ""
    adds: ClassVar[Cost] = Cost()
    # A recipe's words about it, of the training `t`, and the line that they stand in.
    said: ClassVar[str] = ""
    line: ClassVar[str] = "training"

    @classmethod
    def applies(cls, configuration: Configuration) -> bool:
        if cls.value:
            return bool(attrgetter(cls.setting)(configuration) == cls.value)
        return not cls.setting or configuration.sets(cls.setting)

    @classmethod
    def check(cls, configuration: Configuration) -> None:
        """Raises ValueError for settings that do not go together; asked when a study is read."""

    @classmethod
    def require_data(cls, configuration: Configuration, dataset: Dataset) -> None:
        """Raises UserError for data that it cannot be used on."""

    @classmethod
    def require_model(cls, training: Training, workload: BaseWorkload, model: Model) -> None:
        """Raises UserError for a model that has not what it needs."""

    @classmethod
    def cost(cls, configuration: Configuration) -> Cost:
        return cls.adds

    @classmethod
    def words(cls, training: Training) -> str:
        return cls.said.format(t=training)


def refuse(configuration: Configuration, *settings: str, why: str) -> None:
    """Raises ValueError for the first of these settings, as in "training.outlier", that is not at its default."""
    for setting in filter(configuration.sets, settings):
        raise ValueError(f"{setting.partition('.')[2]} = {attrgetter(setting)(configuration)}: {why}")
