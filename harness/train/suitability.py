"""Whether a workload can be trained as a configuration says, and how its parameters' LRs differ."""

from fnmatch import fnmatchcase

from ...models import Model
from ..declare import Training, Workload
from ..declare.configuration import OPTIMIZERS
from ..errors import UserError
from .optimizers import optimizer_kind
from .workloads import workload_of
from .workloads.architectures import those_that
from .workloads.built_in import parametrization_of


def lr_multipliers(workload: Workload, training: Training, model: Model) -> list[float]:
    """What each parameter's LR is multiplied by; all ones in standard parametrization if none is scaled. Raises UserError where
    muP has no rule for the optimizer, and where no parameter has the name that is to be scaled."""
    rule = optimizer_kind(training.optimizer).mup_rule
    if workload.parametrization == "mup" and rule is None:
        ruled = [name for name in OPTIMIZERS if optimizer_kind(name).mup_rule is not None]
        raise UserError(
            f"optimizer '{training.optimizer}' has no published rule in muP: choose parametrization = standard, or one of"
            f" {', '.join(ruled)}"
        )
    scheme = parametrization_of(workload)
    multipliers = [scheme.lr_multiplier(p.growing_sides, rule) for p in model.parameters]
    if training.scaled_parameter is None:
        return multipliers
    scaled = [fnmatchcase(p.name, training.scaled_parameter) for p in model.parameters]
    if not any(scaled):
        names = ", ".join(p.name for p in model.parameters)
        raise UserError(
            f"scaled_parameter = {training.scaled_parameter}: model '{workload.model}' has no such parameter; choose one of"
            f" {names}, or a pattern with *"
        )
    return [each * (training.scaled_lr if chosen else 1.0) for each, chosen in zip(multipliers, scaled, strict=True)]


def require_suited(training: Training, workload: Workload, model: Model) -> None:
    """Raises UserError where a model has not what a training asks of it: blocks to recompute, activations to drop, hidden
    matrices for an optimizer that is of them alone, a softmax for one that samples from it."""
    found, kind = workload_of(workload), optimizer_kind(training.optimizer)
    segments, blocks = training.recompute_segments, len(model.blocks)
    if segments > blocks:
        way_out = f"choose at most {blocks}" if blocks else "leave it at 0"
        raise UserError(
            f"recompute_segments = {segments}: model '{workload.model}' has {blocks} blocks whose activations could be computed"
            f" again; {way_out}"
        )
    if training.dropout and not found.drops:
        raise UserError(
            f"dropout = {training.dropout:g}: model '{workload.model}' has no place for it, {those_that('drops')} have;"
            f" {found.without_dropout}"
        )
    kind.require(training, found)
    if kind.of_hidden_matrices and not any(p.growing_sides == 2 for p in model.parameters):
        raise UserError(
            f"optimizer '{training.optimizer}': {found.without_hidden_matrix}, and without one it is adamw; choose that"
        )
