"""A user's module called by itself, as a plain PyTorch loop calls it: what it keeps, hooks and recomputes is its own."""

import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FunctionType

import cloudpickle
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from .....models import Parameter
from .objective import Objective

# Types of class attributes that count as values that a module keeps.
PLAIN = (bool, int, float, complex, str, bytes, list, dict, type(None))
# The errors of pickling something that cannot be pickled.
UNPICKLABLE = (pickle.PicklingError, TypeError, AttributeError, RuntimeError, NotImplementedError)
# The attributes that torch itself keeps in every module.
INTERNAL = vars(nn.Module()).keys()


class ModuleItself:
    """A module with its loss, and the names of what they train and of their other state (buffers, and parameters that are not
    trained)."""

    def __init__(self, objective: Objective, parameters: Sequence[Parameter], state: Sequence[str]):
        self.objective, self.names = objective, [*(parameter.name for parameter in parameters), *state]
        self.modes = modes(objective)
        held = objective.held()
        self.trained = [held[parameter.name] for parameter in parameters]
        self.frozen = {name: held[name] for name in state if isinstance(held.get(name), nn.Parameter)}
        self.rows: dict[str, Tensor] = {}
        # Of the latest gradient, which trained parameters had one: others take no step at all.
        self.took_part: list[bool] = []

    def held(self) -> dict[str, Tensor]:
        """Name -> the tensor itself. Raises ValueError for a module that put something else in the place of one."""
        tensors = self.objective.held()
        for name in self.names:
            if name not in tensors:
                raise ValueError(f"{name} is not there any more after a pass: a module must keep its parameters and buffers")
        return {name: tensors[name] for name in self.names}

    def lies_in(self, rows: Mapping[str, Tensor]) -> None:
        """From now on its values share these tensors' memory."""
        self.rows = dict(rows)
        for name, value in self.held().items():
            value.data = as_complex(self.rows[name]) if value.is_complex() else self.rows[name]

    def settle(self) -> None:
        """Copy tensors that the module replaced back to where the lane's values lie."""
        for name, value in self.held().items():
            row = as_complex(self.rows[name]) if value.is_complex() else self.rows[name]
            if value.data_ptr() != row.data_ptr():
                if value.shape != row.shape:
                    raise ValueError(f"{name} changes its shape from {list(row.shape)} to {list(value.shape)}: it must keep it")
                with torch.no_grad():
                    row.copy_(value.detach())
                value.data = row

    def gradient(self, loss_of: Callable[[Objective], Tensor], scale: Tensor | float = 1.0) -> tuple[Tensor, list[Tensor]]:
        """The loss, and the gradient of scale times it for each trained parameter, real, by backward(): hooks on parameters
        run, and recomputation of either kind works. A parameter that takes no part has zeros."""
        for parameter in self.trained:
            parameter.grad = None
        loss = loss_of(self.objective)
        if loss.requires_grad:
            (loss * scale).backward()  # type: ignore[no-untyped-call]
        self.took_part = [parameter.grad is not None for parameter in self.trained]
        gradients = [
            as_real(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.to_dense())
            for parameter in self.trained
        ]
        for parameter in self.trained:
            parameter.grad = None
        return loss.detach(), gradients

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Eval mode inside; afterwards the modes that its factory left."""
        self.objective.module.eval()
        try:
            yield
        finally:
            self.objective.module.train()
            set_modes(self.objective, self.modes)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restores afterwards what it keeps beside its tensors: inside, a copy of the module stands in its place."""
        before = self.objective, self.trained
        self.objective = copied(self.objective, self.names)
        held = self.objective.held()
        self.trained = [held[name] for name in self.names[: len(self.trained)]]
        try:
            yield
        finally:
            self.objective, self.trained = before


def as_real(values: Tensor) -> Tensor:
    """Complex numbers with a last side of two."""
    return torch.view_as_real(values.resolve_conj()) if values.is_complex() else values


def as_complex(values: Tensor) -> Tensor:
    return values if values.is_complex() else torch.view_as_complex(values)


def modes(module: nn.Module) -> dict[str, bool]:
    return {name: submodule.training for name, submodule in module.named_modules()}


def set_modes(module: nn.Module, values: Mapping[str, bool]) -> None:
    for name, submodule in module.named_modules():
        submodule.training = values.get(name, submodule.training)


def _blank(kind: type[nn.Module]) -> nn.Module:
    return kind.__new__(kind)


def _fill(module: nn.Module, state: tuple[dict[str, object], None]) -> None:
    module.__dict__.update(state[0])


class _Apart(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles an objective and all that it holds, but for tensors of these names, and for classes and functions without a
    closure, which keep nothing of one module's."""

    def __init__(self, file: io.BytesIO, objective: Objective, names: Sequence[str]):
        super().__init__(file)
        held = objective.held()
        self.tensors = {id(held[name]): name for name in names if name in held}
        self.code: dict[str, object] = {}

    def reducer_override(self, value: object) -> object:
        """Pickles a parametrized module by its attributes, because it refuses to be pickled itself."""
        if isinstance(value, nn.Module) and is_parametrized(value):
            return _blank, (type(value),), (value.__dict__, None), None, None, _fill
        return super().reducer_override(value)

    def persistent_id(self, value: object) -> str | None:
        if isinstance(value, type) or (isinstance(value, FunctionType) and not value.__closure__):
            name = f"{value.__module__}.{value.__qualname__} {id(value)}"
            self.code[name] = value
            return name
        return self.tensors.get(id(value))


class _Together(pickle.Unpickler):
    """The other way: tensors of these names are new ones over the same memory, with the hooks of the old."""

    def __init__(self, file: io.BytesIO, held: Mapping[str, Tensor], code: Mapping[str, object]):
        super().__init__(file)
        self.held, self.code, self.made = held, code, dict[str, Tensor]()

    def persistent_load(self, name: str) -> object:
        if name in self.code:
            return self.code[name]
        if name not in self.made:
            self.made[name] = _over(self.held[name])
        return self.made[name]


def _over(value: Tensor) -> Tensor:
    if not isinstance(value, nn.Parameter):
        return value.detach()
    made = nn.Parameter(value.detach(), requires_grad=value.requires_grad)
    for hook in (value._backward_hooks or {}).values():
        made.register_hook(hook)  # type: ignore[no-untyped-call]
    for hook in (getattr(value, "_post_accumulate_grad_hooks", None) or {}).values():
        made.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
    return made


def python_state(objective: Objective, names: Sequence[str]) -> bytes:
    """All that a module and its loss keep beside the tensors of these names: attributes, objects that they hold, closures of
    hooks, and plain attributes of their classes. Raises what pickling raises for what cannot be."""
    file = io.BytesIO()
    _Apart(file, objective, names).dump(objective)
    return file.getvalue() + repr(sorted(of_classes(objective).items())).encode()


def copied(objective: Objective, names: Sequence[str]) -> Objective:
    """A copy of the objective over the same tensors of these names."""
    file = io.BytesIO()
    apart = _Apart(file, objective, names)
    apart.dump(objective)
    file.seek(0)
    copy: Objective = _Together(file, objective.held(), apart.code).load()
    return copy


def of_classes(objective: Objective) -> dict[str, object]:
    """Plain attributes of the modules' classes, which all modules of a class share."""
    kinds = {
        kind for submodule in objective.modules() for kind in type(submodule).__mro__ if not kind.__module__.startswith("torch")
    }
    return {
        f"{kind.__module__}.{kind.__qualname__}.{name}": value
        for kind in kinds
        for name, value in vars(kind).items()
        if isinstance(value, PLAIN) and not name.startswith("__")
    }


def attributes(objective: Objective) -> dict[str, bytes]:
    """SUBMODULE.ATTRIBUTE -> its pickled value, for naming what changed."""
    pickles = {}
    for name, submodule in objective.named_modules():
        for attribute, value in vars(submodule).items():
            if attribute not in INTERNAL:
                with suppress(Exception):
                    pickles[f"{name}.{attribute}"] = cloudpickle.dumps(value)
    return pickles | {name: repr(value).encode() for name, value in of_classes(objective).items()}


def changed(before: Mapping[str, bytes], now: Mapping[str, bytes]) -> tuple[str, ...]:
    return tuple(sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name)))
