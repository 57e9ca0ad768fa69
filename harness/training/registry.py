"""Finding one of several things that are a module each, by the name that a study gives."""

from importlib import import_module
from typing import Any

from folklore.harness.errors import unknown
from folklore.harness.spec.names import module_names


def registered(kind: str, package: str, constant: str, name: str) -> Any:
    """What the module of that name in a package under training/ calls by a constant. Raises UserError where there is none."""
    known = module_names(f"training/{package}")
    if name not in known:
        raise unknown(kind, name, known)
    return getattr(import_module(f"folklore.harness.training.{package}.{name}"), constant)
