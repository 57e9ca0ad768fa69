"""What a study may name is what there is: the modules of a package of the harness, without importing them."""

import pkgutil
from functools import cache
from pathlib import Path

HARNESS = Path(__file__).parents[1]
# What the modules of a package share stands in a module of this name.
SHARED = "base"


@cache
def module_names(package: str) -> tuple[str, ...]:
    """The modules of a package, such as training/optimizers: each is what it is named after. The folder is read once."""
    return tuple(each.name for each in pkgutil.iter_modules([str(HARNESS / package)]) if each.name != SHARED)
