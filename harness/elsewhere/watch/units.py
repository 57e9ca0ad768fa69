"""Units that are silent: zero, or saturated, on every one of the last examples that were seen.

Activations are seen where they are called, be it as modules or as functions, with a mode that listens to torch's functions
during a forward pass. It changes no number, and is off between measurements.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.eval_frame import OptimizedModule
from torch.overrides import TorchFunctionMode

from .hooks import Hook
from .rules import SILENT_EXAMPLES, SILENT_OUTPUT

Test = Callable[[Tensor], Tensor]


# Functions -> which of their outputs are silent.
_TESTS: dict[tuple[Any, ...], Test] = {
    (F.relu, F.relu_, torch.relu, torch.relu_, Tensor.relu, Tensor.relu_, F.relu6): lambda y: y == 0,
    (F.gelu, F.silu): lambda y: y.abs() < SILENT_OUTPUT,
    (F.sigmoid, torch.sigmoid, Tensor.sigmoid): lambda y: (y < SILENT_OUTPUT) | (y > 1 - SILENT_OUTPUT),
    (F.tanh, torch.tanh, Tensor.tanh): lambda y: y.abs() > 1 - SILENT_OUTPUT,
}
ACTIVATIONS = {function: test for functions, test in _TESTS.items() for function in functions}


class Units(TorchFunctionMode):
    """names: of the activations, in the order in which they were first called: 'relu after net.0'. shares: for each of them,
    the share of its units that were silent on at least SILENT_EXAMPLES examples in a row (a token counts as one); -1 before
    that number was seen. listens: whether it is time to. passes: forward passes of the model that were heard, by whether it was
    in training."""

    def __init__(self, model: nn.Module, names_by_id: dict[int, str]):
        super().__init__()
        self.model, self.layers, self.listens = model, names_by_id, False
        self.names: list[str] = []
        self.passes = {True: 0, False: 0}
        self._seconds = 0.0
        self._silent_for: dict[str, Tensor] = {}
        self._seen: dict[str, int] = {}
        self._layer, self._channels, self._within, self._calls = "", False, False, dict[str, int]()
        # They stay on: torch.compile would compile again whenever they come and go.
        self._hooks = [
            model.register_forward_pre_hook(Hook(lambda module, _: self.begin(module))),
            model.register_forward_hook(Hook(lambda module, *_: self.end(module)), always_call=True),
        ]

    def close(self) -> None:
        """Removes the hooks: from now on only what lies between begin and end is listened to."""
        for hook in self._hooks:
            hook.remove()

    def take_seconds(self) -> float:
        """Seconds that listening took since the last time."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds

    @torch.no_grad()
    def shares(self) -> Tensor:
        """[activations]"""
        shares = [
            (silent >= SILENT_EXAMPLES).float().mean() if self._seen[name] >= SILENT_EXAMPLES else silent.new_tensor(-1.0)
            for name, silent in self._silent_for.items()
        ]
        return torch.stack(shares) if shares else torch.zeros(0)

    def begin(self, module: nn.Module) -> None:
        """Listens until the end of a forward pass, if it is time to."""
        if torch.compiler.is_compiling() or not self.listens or module is not self.model:
            return
        self.passes[module.training] += 1
        if not module.training:
            return
        self._layer, self._calls, self._within = "the input", {}, True
        self.__enter__()  # type: ignore[no-untyped-call]

    def end(self, module: nn.Module) -> None:
        if torch.compiler.is_compiling() or not self._within or module is not self.model:
            return
        self._within = False
        self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        test = ACTIVATIONS.get(func)
        if test is not None:
            started = time.perf_counter()
            self._see(func.__name__.strip("_"), test, out)
            self._seconds += time.perf_counter() - started
        elif len(args) > 1 and isinstance(args[1], nn.Parameter) and args[1].dim() > 1:
            self._layer, self._channels = self.layers.get(id(args[1]), self._layer), args[1].dim() > 2
        return out

    @torch.no_grad()
    def _see(self, function: str, test: Test, out: Tensor) -> None:
        """A layer that is used twice has two activations."""
        name = f"{function} after {self._layer}"
        self._calls[name] = self._calls.get(name, 0) + 1
        name += f" ({self._calls[name]})" if self._calls[name] > 1 else ""
        if out.dim() < 2:
            return
        silent = test(out.detach().movedim(1, -1) if self._channels and out.dim() > 2 else out.detach()).flatten(0, -2)
        rows, units = silent.shape
        if name not in self._silent_for or self._silent_for[name].shape != (units,):
            self.names += [] if name in self.names else [name]
            self._silent_for[name], self._seen[name] = torch.zeros(units, device=out.device), 0
        self._silent_for[name] = torch.where(silent.all(dim=0), self._silent_for[name] + rows, 0)
        self._seen[name] += rows


def is_compiled(model: nn.Module) -> bool:
    """Whether functions within it cannot be heard."""
    return any(isinstance(module, OptimizedModule) or module._compiled_call_impl is not None for module in model.modules())
