"""A user's own module as a model of the engine: found by its dataset's name, made and tried once a process."""

from functools import lru_cache

from folklore.harness.errors import UserError
from folklore.harness.own.finding import find_again
from folklore.harness.own.place import place
from folklore.harness.spec import Configuration
from folklore.harness.spec.configuration import PRECISIONS
from folklore.harness.training.number_formats import format_named
from folklore.models import OwnModule

# Examples a module is tried on: half a batch of them still has a variance.
EXAMPLES = 4


@lru_cache(maxsize=4)
def own_module(dataset: str, device: str = "cpu") -> OwnModule:
    """The module of the own workload that a configuration's dataset names. Raises UserError where it cannot be trained."""
    found = find_again(dataset)
    workload = found.workload
    inputs, targets = (each.detach()[:EXAMPLES] for each in workload.training)
    try:
        return OwnModule(workload.made, workload.loss, inputs, targets, device)
    except UserError:
        raise
    except ValueError as error:
        where = place(error.__cause__ or error)
        raise UserError(f"workload '{found.address}': {error}{where and f' in {where}'}") from None


def require_trainable(configuration: Configuration) -> None:
    """Raises UserError where a configuration asks something of an own module that it does not have."""
    if configuration.workload.model != "own":
        return
    precision = configuration.training.precision
    if not format_named(precision).own_modules:
        suited = [name for name in PRECISIONS if format_named(name).own_modules]
        raise UserError(
            f"precision {precision}: an own workload trains in {' or '.join(suited)}, for its products are not known;"
            " choose a scale or a study of that precision"
        )
    if configuration.measurement.underflow:
        raise UserError("measurement underflow: needs activations, which an own workload does not show; choose another study")
