"""All parts of the engine that a configuration can have, and the checks that all of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declare import Configuration
from ..errors import UserError
from .dropout import Dropout
from .optimizer_switch import OptimizerSwitch
from .optimizers import optimizer_kind
from .part import Cost, EnginePart, refuse
from .probes import PROBES
from .procedures import PROCEDURES, SAMPLINGS
from .recomputation import Recomputation
from .scaled_parameter import ScaledParameter
from .schedules import schedule_named
from .workloads import workload_of

if TYPE_CHECKING:
    from ...models import Model
    from .workloads.data import Dataset

AnyPart = type[EnginePart] | EnginePart
# Optimizers with Adam's two moments and no other.
ADAMS = ("adam", "adamw")
# In the order of a recipe.
PARTS: tuple[AnyPart, ...] = (
    *SAMPLINGS.values(),
    Recomputation,
    Dropout,
    *PROCEDURES,
    ScaledParameter,
    OptimizerSwitch,
    *PROBES,
)


def parts_of(configuration: Configuration) -> list[AnyPart]:
    """The parts that a configuration names, and those that its settings ask for."""
    named = optimizer_kind(configuration.training.optimizer), schedule_named(configuration.training.schedule)
    return [*named, *(part for part in PARTS if part.applies(configuration))]


def check(configuration: Configuration) -> None:
    """Raises ValueError for settings that do not go together."""
    parts, optimizer = parts_of(configuration), configuration.training.optimizer
    for part in PARTS:
        if part.settings and part not in parts:
            refuse(configuration, *part.settings, why=f"is of {part.setting}; set that, too, or leave it out")
    for part in parts:
        for setting, why in part.excludes.items():
            refuse(configuration, setting, why=why)
        if part.of_adam and optimizer not in ADAMS:
            refuse(configuration, part.setting, why=f"{part.of_adam}, and optimizer = {optimizer}; choose {' or '.join(ADAMS)}")
        part.check(configuration)


def require_data(configuration: Configuration, dataset: Dataset) -> None:
    """Raises UserError for data that a configuration cannot be trained on."""
    for part in parts_of(configuration):
        part.require_data(configuration, dataset)


def require_model(configuration: Configuration, model: Model) -> None:
    """Raises UserError where a model has not what a configuration asks of it."""
    workload = workload_of(configuration.workload)
    for part in parts_of(configuration):
        if part.unseen and not workload.can_show(measurement := part.setting.partition(".")[2]):
            raise UserError(f"{measurement}: {part.unseen.format(w=workload.declared)}")
        part.require_model(configuration.training, workload, model)


def added_cost(configuration: Configuration) -> Cost:
    """The cost that all parts add to a plain trial."""
    return Cost(*map(sum, zip(*(part.cost(configuration) for part in parts_of(configuration)), strict=True)))
