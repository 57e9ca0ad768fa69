"""The names that a study may use: those of the modules of a package of the harness, found without importing them."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from ..errors import unknown
from ..folders import HARNESS

# The module of this name holds what the modules of a package share.
SHARED = "base"


@cache
def module_names(package: str) -> tuple[str, ...]:
    """The modules of a package, such as train/optimizers: each is what it is named after. The folder is read once."""
    names = tuple(module.name for module in pkgutil.iter_modules([str(HARNESS / package)]) if module.name != SHARED)
    assert names, f"{package}: no modules there"
    return names


@cache
def registered(kind: str, package: str, constant: str, name: str) -> Any:
    """The constant of a module, by its name, in a package. Raises UserError if there is no such module."""
    known = module_names(package)
    if name not in known:
        raise unknown(kind, name, known)
    return getattr(import_module(f"folklore.harness.{package.replace('/', '.')}.{name}"), constant)
