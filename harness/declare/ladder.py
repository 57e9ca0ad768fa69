"""A ladder: scales of a study that differ in the size of the model alone, over which it is judged how effects change."""

from collections.abc import Iterator
from typing import Any

from .configuration import Configuration, Measurement
from .design import Design

# The fields by which rungs may differ: the model's size, the length of a run that goes with it, how much is measured and
# evaluated, and the number format that a device is fast in. Grids of the LR and seeds are a scale's own.
OF_SIZE = {"width", "depth", "heads", "base_width", "base_heads", "steps", "precision", *Measurement.model_fields}
# Shares of the steps, which may be the same number of steps on every rung.
OF_STEPS = ("warmup_fraction", "decay_fraction", "start_fraction")


def require_ladder(design: Design, ladder: tuple[str, ...]) -> None:
    """Raises ValueError for rungs that differ in more than size, naming the fields."""
    for scale in ladder:
        design.scale(scale)
    first = ladder[0]
    for scale in ladder[1:]:
        if not (shared := [arm for arm in design.arms_at(first) if arm in design.arms_at(scale)]):
            raise ValueError(
                f"ladder: scales '{first}' and '{scale}' train no arm in common; train the same ones at every rung"
            )
        for arm in shared:
            if fields := sorted(_differing(_first_setting(design, first, arm), _first_setting(design, scale, arm))):
                raise ValueError(
                    f"ladder: arm '{arm}' differs between scales '{first}' and '{scale}' in {', '.join(fields)}; rungs differ"
                    " in width, depth, heads and steps alone: set the rest for the study"
                )


def _first_setting(design: Design, scale: str, arm: str) -> Configuration:
    return design.configuration(scale, arm, {name: values[0] for name, values in design.factors_at(scale, arm).items()})


def _differing(one: Configuration, other: Configuration) -> Iterator[str]:
    """The fields beside size and LR that differ."""
    there = _fields(other)
    for name, value in _fields(one).items():
        if name in OF_SIZE or name == "peak_lr" or value == there[name]:
            continue
        if name in OF_STEPS and round(value * one.training.steps) == round(there[name] * other.training.steps):
            continue
        yield name


def _fields(configuration: Configuration) -> dict[str, Any]:
    return {**configuration.workload.model_dump(), **configuration.training.model_dump()}
