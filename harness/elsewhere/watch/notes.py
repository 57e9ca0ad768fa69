"""What a reader has to know beside the numbers of a report."""

from collections.abc import Iterator, Sequence

from ...words import counted
from . import readings
from .rules import RULES
from .seen import WatchedRun

# Names that a note lists.
LISTED = 8
# Gradients are clipped if this number of their norms, and this share of them, are the largest norm.
CLIPPED_NORMS, CLIPPED_SHARE = 3, 0.1


def notes(seen: WatchedRun) -> list[str]:
    """One line each, without rules that fired."""
    return [*_of_updates(seen), *_of_layers(seen), *_of_units(seen), *_of_norms(seen)]


def _of_updates(seen: WatchedRun) -> Iterator[str]:
    since, name = seen.steps, type(seen.layers.optimizer).__name__
    if since.has_stalled:
        after = f" after its update {since.updates:,}" if since.updates else ""
        yield (
            f"the watched {name} made no update{after}, and {since.since_update:,} losses came: the loop or its loss scaler"
            " skips its steps, or another optimizer trains, which needs a Watch of its own"
        )
    elif seen.skipped:
        steps = counted(seen.skipped, "step")
        yield f"{steps} had no update of the watched {name}, skipped by the loop or by a loss scaler, of which a few are normal"


def _of_layers(seen: WatchedRun) -> Iterator[str]:
    layers = seen.layers
    if not layers.updated:
        yield f"the watched {type(layers.optimizer).__name__} holds no parameter of the model: no update is measured"
    elif layers.left_out:
        yield f"{layers.left_out} parameters take gradients and are not in the optimizer"
    if layers.frozen:
        yield f"{layers.frozen} parameters are frozen"
    without = [name for name in layers.names if name not in seen.with_gradient]
    if without and seen.gradients:
        yield f"layers that had no gradient at any of {seen.gradients:,} measurements: {_listed(without)}"


def _of_units(seen: WatchedRun) -> Iterator[str]:
    model, units = type(seen.layers.model).__name__, seen.units
    if units is None:
        yield "units were not measured: the model is compiled, or units=False"
    elif not units.names and (seen.steps.losses or seen.steps.updates):
        if units.passes[True]:
            reason = "the model's forward pass calls no ReLU, GELU, SiLU, sigmoid or tanh"
        elif units.passes[False]:
            reason = f"the forward pass of the watched {model} was called in evaluation mode only"
        else:
            reason = f"the forward pass of the watched {model} was not called: watch the module that the loop calls, uncompiled"
        yield f"units were not measured: {reason}"


def _of_norms(seen: WatchedRun) -> Iterator[str]:
    norms = seen.spans.get(readings.NORM)
    least = max(CLIPPED_NORMS, CLIPPED_SHARE * norms.count) if norms else 0
    if norms and norms.at_most >= least and seen.layers.are_written and not seen.norm_is_given:
        yield "the gradient norms are of clipped gradients: call watch.gradients() before you clip"
    for rule, count in seen.minor.items():
        yield (
            f"minor, and no alarm (steps: {count:,}): {RULES[rule].says}, but little of the loss reduction was lost, the norm"
            " was below the first ones, or the loss was near its floor"
        )
    if seen.gradients < seen.steps.updates:
        yield "rules on the gradient norm count measurements, not updates"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
