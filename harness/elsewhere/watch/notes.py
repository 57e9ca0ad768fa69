"""Notes that a reader needs beside the numbers of a report."""

from collections.abc import Iterator, Sequence

from ...words import counted
from . import readings
from .rules import RULES
from .seen import WatchedRun

# Names that a note lists.
LISTED = 8
# Gradients are clipped if this number of their norms, and this share of them, are the largest norm.
CLIPPED_NORMS, CLIPPED_SHARE = 3, 0.1


def notes(run: WatchedRun) -> list[str]:
    """One line each, without rules that fired."""
    return [*_of_updates(run), *_of_layers(run), *_of_units(run), *_of_norms(run)]


def _of_updates(run: WatchedRun) -> Iterator[str]:
    since, name = run.steps, type(run.layers.optimizer).__name__
    if since.has_stalled:
        after = f" after its update {since.updates:,}" if since.updates else ""
        yield (
            f"the watched {name} made no update{after}, and {since.since_update:,} losses came: the loop or its loss scaler"
            " skips its steps, or another optimizer trains, which needs a Watch of its own"
        )
    elif run.skipped:
        steps = counted(run.skipped, "step")
        yield f"{steps} had no update of the watched {name}, skipped by the loop or by a loss scaler, of which a few are normal"


def _of_layers(run: WatchedRun) -> Iterator[str]:
    layers = run.layers
    if not layers.updated:
        yield f"the watched {type(layers.optimizer).__name__} holds no parameter of the model: no update is measured"
    elif layers.left_out:
        yield f"{layers.left_out} parameters take gradients and are not in the optimizer"
    if layers.frozen:
        yield f"{layers.frozen} parameters are frozen"
    without = [name for name in layers.names if name not in run.with_gradient]
    if without and run.gradients:
        yield f"layers that had no gradient at any of {run.gradients:,} measurements: {_listed(without)}"


def _of_units(run: WatchedRun) -> Iterator[str]:
    model, units = type(run.layers.model).__name__, run.units
    if units is None:
        yield "units were not measured: the model is compiled, or units=False"
    elif not units.names and (run.steps.losses or run.steps.updates):
        if units.passes[True]:
            reason = "the model's forward pass calls no ReLU, GELU, SiLU, sigmoid or tanh"
        elif units.passes[False]:
            reason = f"the forward pass of the watched {model} was called in evaluation mode only"
        else:
            reason = f"the forward pass of the watched {model} was not called: watch the module that the loop calls, uncompiled"
        yield f"units were not measured: {reason}"


def _of_norms(run: WatchedRun) -> Iterator[str]:
    norms = run.spans.get(readings.NORM)
    least = max(CLIPPED_NORMS, CLIPPED_SHARE * norms.count) if norms else 0
    if norms and norms.at_most >= least and run.layers.are_written and not run.norm_is_given:
        yield "the gradient norms are of clipped gradients: call watch.gradients() before you clip"
    for rule, count in run.minor.items():
        yield (
            f"minor, and no alarm (steps: {count:,}): {RULES[rule].says}, but little of the loss reduction was lost, the norm"
            " was below the first ones, or the loss was near its floor"
        )
    if run.gradients < run.steps.updates:
        yield "rules on the gradient norm count measurements, not updates"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
