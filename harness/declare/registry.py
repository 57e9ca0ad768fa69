"""What a study may name is what there is: the modules of a package of the harness, found without importing them."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from ..errors import unknown
from ..folders import HARNESS

# What the modules of a package share stands in a module of this name.
SHARED = "base"


@cache
def module_names(package: str) -> tuple[str, ...]:
    """The modules of a package, such as train/optimizers: each is what it is named after. The folder is read once."""
    names = tuple(each.name for each in pkgutil.iter_modules([str(HARNESS / package)]) if each.name != SHARED)
    assert names, f"{package}: no modules there"
    return names


@cache
def registered(kind: str, package: str, constant: str, name: str) -> Any:
    """What the module of that name in a package calls by a constant. Raises UserError where there is no such module."""
    known = module_names(package)
    if name not in known:
        raise unknown(kind, name, known)
    return getattr(import_module(f"folklore.harness.{package.replace('/', '.')}.{name}"), constant)
