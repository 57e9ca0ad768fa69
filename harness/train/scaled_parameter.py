"""Parameters, chosen by name, that learn at a multiple of the LR."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ..declare import Training
from ..errors import UserError
from .part import Cost, EnginePart

if TYPE_CHECKING:
    from ...models import Model
    from .workloads.base import BaseWorkload


class ScaledParameter(EnginePart):
    """An LR of each entry's own takes two more tensors."""

    setting, settings = "training.scaled_parameter", ("training.scaled_lr",)
    adds, line = Cost(copies=2), "optimizer"
    said = ", the LR of {t.scaled_parameter} times {t.scaled_lr:.3g}"

    @classmethod
    def factor(cls, training: Training, name: str) -> float:
        """The factor of the LR of a parameter of this name."""
        return training.scaled_lr if fnmatchcase(name, training.scaled_parameter or "") else 1.0

    @classmethod
    def require_model(cls, training: Training, workload: BaseWorkload, model: Model) -> None:
        names = [parameter.name for parameter in model.parameters]
        if not any(fnmatchcase(name, training.scaled_parameter or "") for name in names):
            raise UserError(
                f"scaled_parameter = {training.scaled_parameter}: model '{workload.declared.model}' has no such parameter;"
                f" choose one of {', '.join(names)}, or a pattern with *"
            )
