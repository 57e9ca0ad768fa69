"""Which trial another one starts from: an arm says which arm, and seed and factor values say which of its trials."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import unknown
from .configuration import Configuration
from .design import Design, in_words

# Trials that differ in one of these have no order of examples in common that one could go on in.
OF_WORKLOAD = ("dataset", "tokenizer", "context", "training_set_size", "training_set", "tasks")
OF_TRAINING = ("batch_size", "sampling")


def parents(design: Design, scale: str, arm: str) -> list[str]:
    """The arms that trials of an arm start from."""
    chosen = design.scale(scale)
    settings = (chosen.training, design.arms[arm].settings, (chosen.arm_settings or {}).get(arm, {}))
    declared = [
        design.training.starts_from,
        *(overrides["starts_from"] for overrides in settings if "starts_from" in overrides),
    ]
    values = design.factors_at(scale, arm).get("starts_from", (declared[-1],))
    return [str(name) for name in values if name is not None]


def parent_point(design: Design, scale: str, arm: str, point: Mapping[str, Any], parent: str) -> dict[str, Any]:
    """The point of the trial that a trial of an arm starts from: of each factor the same value, or the only one. Raises
    ValueError."""
    parent_values = {}
    for factor, values in design.factors_at(scale, parent).items():
        if len(values) > 1 and point.get(factor) not in values:
            has = f"{factor} = {point[factor]}" if factor in point else f"no {factor}"
            raise ValueError(
                f"arm '{arm}' has {has}, and arm '{parent}', which it starts from at scale '{scale}', has {len(values)} other"
                " values of it; give it the same values, or that arm one"
            )
        parent_values[factor] = point[factor] if len(values) > 1 else values[0]
    return parent_values


def require_starts(design: Design) -> None:
    """Raises ValueError, or what `unknown` makes, for an arm that cannot start from the arm it names."""
    for scale in design.scales:
        for arm in design.arms_at(scale):
            for parent in parents(design, scale, arm):
                _require_there(design, scale, arm, parent)
                _require_no_circle(design, scale, (arm,))
    # Points come once it is known that no arm leads back to itself.
    for scale in design.scales:
        for arm in design.arms_at(scale):
            if parents(design, scale, arm):
                for point in _corners(design, scale, arm):
                    _require_fit(design, scale, arm, point)


def _require_there(design: Design, scale: str, arm: str, parent: str) -> None:
    if parent not in design.arms_at(scale):
        raise unknown(f"arm for '{arm}' to start from at scale '{scale}'", parent, design.arms_at(scale))
    for name in (arm, parent):
        if search := design.search_of(scale, name):
            raise ValueError(
                f"arm '{arm}' starts from arm '{parent}', and the {in_words(search.factor)} of '{name}' is searched; give it"
                " values of its own"
            )
    own, theirs = (design.shared_seeds_at(scale, (name,)) for name in (arm, parent))
    if own > theirs:
        raise ValueError(
            f"arm '{arm}' has {own} seeds at scale '{scale}', and arm '{parent}', which it starts from, {theirs}; give that arm"
            " as many"
        )


def _require_no_circle(design: Design, scale: str, way: tuple[str, ...]) -> None:
    """way: arms each of which starts from the next."""
    for parent in parents(design, scale, way[-1]):
        if parent in way:
            names = "' from '".join((*way, parent))
            raise ValueError(f"starts_from leads in a circle at scale '{scale}': '{names}'; let one arm start from none")
        if parent in design.arms_at(scale):
            _require_no_circle(design, scale, (*way, parent))


def _corners(design: Design, scale: str, arm: str) -> Iterator[dict[str, Any]]:
    """Points that have every value of every factor."""
    factors = design.factors_at(scale, arm)
    first = {name: values[0] for name, values in factors.items()}
    yield first
    yield from ({**first, name: value} for name, values in factors.items() for value in values[1:])


def _require_fit(design: Design, scale: str, arm: str, point: Mapping[str, Any]) -> None:
    own = design.configuration(scale, arm, point)
    if (parent := own.training.starts_from) is not None:
        theirs = design.configuration(scale, parent, parent_point(design, scale, arm, point, parent))
        if why := _misfit(own, theirs):
            raise ValueError(f"arm '{arm}' starts from arm '{parent}' at scale '{scale}', and {why}")


def _misfit(own: Configuration, theirs: Configuration) -> str:
    """Why a trial cannot start from another one, and what to do; '' if it can."""
    if own.training.start_state == "optimizer":
        for name in ("optimizer", "loss_scaling"):
            values = getattr(own.training, name), getattr(theirs.training, name)
            if values[0] != values[1]:
                return f"{name} is {values[0]} after {values[1]}: choose the same, or start_state = weights"
    if own.training.data_order == theirs.training.data_order:
        differ = [name for name in OF_WORKLOAD if getattr(own.workload, name) != getattr(theirs.workload, name)]
        differ += [name for name in OF_TRAINING if getattr(own.training, name) != getattr(theirs.training, name)]
        differ += ["a sequence of tasks"] * (theirs.workload.tasks > 1)
        differ += ["a ramp of the batch"] * bool(own.training.batch_ramp or theirs.training.batch_ramp)
        if differ:
            return f"cannot go on in its order of examples, for {differ[0]} does not allow it: choose another data_order"
    return ""
