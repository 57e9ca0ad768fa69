"""The parts of observables and all that they read, by the marks on their fields (observed.py): no kind is named here."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from .base import Spec
from .observed import ArmRole, Choice, FactorRole, Observed

Mark = TypeVar("Mark", ArmRole, FactorRole, Choice)
Kind = TypeVar("Kind")


@cache
def marks(spec: type[Spec], mark: type[Mark]) -> dict[str, Mark]:
    """Field -> its mark of that kind, of the fields that have one."""
    first_marks = {
        name: next((m for m in field.metadata if isinstance(m, mark)), None) for name, field in spec.model_fields.items()
    }
    return {name: first for name, first in first_marks.items() if first is not None}


def parts(observable: Observed) -> list[Observed]:
    """The observables that another is made of, in the order they are written."""
    return [part for _, value in observable for part in _inside(value, Observed)]


def all_parts(observable: Observed) -> Iterator[Observed]:
    """The observable and every other in it, however deep."""
    yield observable
    for part in parts(observable):
        yield from all_parts(part)


def leaves(observable: Observed) -> Iterator[Observed]:
    """The observables that read the trials themselves, in the order they are written."""
    return (part for part in all_parts(observable) if not parts(part))


def arms_of(observable: Observed, *roles: ArmRole) -> set[str]:
    """Every arm an observable reads; with roles, every arm that it reads in one of them."""
    return {
        arm
        for part in all_parts(observable)
        for field, role in marks(type(part), ArmRole).items()
        if not roles or role in roles
        for arm in _inside(getattr(part, field), str)
    }


def searched_factor(leaf: Observed) -> str | None:
    """The factor whose values it searches, or reads at the tuned one."""
    return next((str(getattr(leaf, field)) for field in marks(type(leaf), FactorRole)), None)


def with_other_arms(value: Any, names: Mapping[str, str]) -> Any:
    """An observable, or what holds some, with other names of its arms."""
    if isinstance(value, tuple):
        return tuple(with_other_arms(entry, names) for entry in value)
    if not isinstance(value, Observed):
        return value
    named = marks(type(value), ArmRole)
    changed = {
        name: _renamed(field_value, names) if name in named else with_other_arms(field_value, names)
        for name, field_value in value
    }
    return value.model_copy(update=changed)


def relative_to_losses(observable: Observed) -> Iterator[Observed]:
    """The leaves that mean nothing if a loss has no zero to be relative to: differences of losses do, ratios do not."""
    if observable.of_losses in ("shares", "shares of ramps"):
        yield observable
    for part in parts(observable):
        loss = part.loss_in_it()
        if observable.of_losses == "divides" and loss is not None:
            yield loss
        yield from relative_to_losses(part)


def _inside(value: Any, kind: type[Kind]) -> Iterator[Kind]:
    """The objects of a kind that a field's value is or holds."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple):
        for entry in value:
            yield from _inside(entry, kind)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_renamed(entry, names) for entry in value)
    return names.get(value, value) if isinstance(value, str) else value
