"""Hooks that listen to a model and to an optimizer that are not ours."""

import contextlib
from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer

from ...errors import UserError

# Where wrappers keep the optimizer that they wrap.
WITHIN = ("optimizer", "_optimizer", "optim", "base_optimizer")


class Hook:
    """A hook that no copy of its module has: pickled or copied, it is a function of the standard library that does nothing, so
    that a checkpoint of a watched model loads where this project is not installed."""

    def __init__(self, call: Callable[..., object]):
        self.call = call

    def __call__(self, *arguments: Any) -> None:
        self.call(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (contextlib.nullcontext(), "__exit__")


def heard_optimizer(optimizer: Any) -> Optimizer:
    """The optimizer whose steps can be heard: itself, or what it wraps. Being a subclass is not enough: accelerate's wrapper
    is one without torch's hooks."""
    inner = optimizer
    while not (hasattr(inner, "_optimizer_step_pre_hooks") and hasattr(inner, "param_groups")):
        within = (getattr(inner, name, None) for name in WITHIN)
        inner = next((part for part in within if part is not None and part is not inner), None)
        if inner is None:
            raise UserError(
                f"optimizer: a {type(optimizer).__name__} is no torch.optim.Optimizer and wraps none that can be watched; hand"
                " over the torch.optim.Optimizer whose step() changes the weights (of several, one Watch for each)"
            )
    return inner  # type: ignore[no-any-return]
