"""A user's module called by itself, as a plain PyTorch loop calls it: what it keeps, hooks and recomputes is its own."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from folklore.models.layers import Parameter
from folklore.models.objective import Objective

# What can be compared and put back of what a module keeps in Python.
PLAIN = (bool, int, float, complex, str, bytes, type(None))
# What torch itself keeps in every module.
INTERNAL = vars(nn.Module()).keys()


class ModuleItself:
    """A module with its loss, and the names of what they train and of their other state (buffers, and parameters that are not
    trained)."""

    def __init__(self, objective: Objective, parameters: Sequence[Parameter], state: Sequence[str]):
        self.objective, self.names = objective, [*(each.name for each in parameters), *state]
        self.modes = modes(objective)
        held = objective.held()
        self.trained = [held[each.name] for each in parameters]
        self.rows: dict[str, Tensor] = {}

    def held(self) -> dict[str, Tensor]:
        """Name -> the tensor itself."""
        found = self.objective.held()
        return {name: found[name] for name in self.names}

    def lies_in(self, rows: Mapping[str, Tensor]) -> None:
        """From now on its values are these tensors' memory: what changes the one changes the other."""
        self.rows = dict(rows)
        for name, value in self.held().items():
            value.data = as_complex(self.rows[name]) if value.is_complex() else self.rows[name]

    def settle(self) -> None:
        """What the module put in the place of a tensor that it kept goes where the lane's values lie."""
        for name, value in self.held().items():
            row = as_complex(self.rows[name]) if value.is_complex() else self.rows[name]
            if value.data_ptr() != row.data_ptr():
                with torch.no_grad():
                    row.copy_(value.detach())
                value.data = row

    def gradient(self, loss_of: Callable[[Objective], Tensor], scale: Tensor | float = 1.0) -> tuple[Tensor, list[Tensor]]:
        """The loss, and of each trained parameter the gradient of scale times it, real, by backward(): hooks on parameters run,
        and recomputation of either kind works. A parameter that takes no part has zeros."""
        for each in self.trained:
            each.grad = None
        loss = loss_of(self.objective)
        if loss.requires_grad:
            (loss * scale).backward()  # type: ignore[no-untyped-call]
        found = [as_real(torch.zeros_like(each) if each.grad is None else each.grad.to_dense()) for each in self.trained]
        for each in self.trained:
            each.grad = None
        return loss.detach(), found

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """In eval mode; afterwards in the modes that its factory left."""
        self.objective.module.eval()
        try:
            yield
        finally:
            self.objective.module.train()
            set_modes(self.objective, self.modes)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What it keeps in Python is afterwards what it was."""
        before = attributes(self.objective)
        yield
        put_back(self.objective, before)


def as_real(values: Tensor) -> Tensor:
    """Complex numbers with a last side of two."""
    return torch.view_as_real(values.resolve_conj()) if values.is_complex() else values


def as_complex(values: Tensor) -> Tensor:
    return values if values.is_complex() else torch.view_as_complex(values)


def modes(module: nn.Module) -> dict[str, bool]:
    return {name: each.training for name, each in module.named_modules()}


def set_modes(module: nn.Module, values: Mapping[str, bool]) -> None:
    for name, each in module.named_modules():
        each.training = values[name]


def attributes(module: nn.Module) -> dict[str, object]:
    """SUBMODULE.ATTRIBUTE -> a copy of each plain value, container of such, or tensor that is no parameter and no buffer, that
    a module keeps in Python."""
    return {
        f"{name}.{attribute}": _copied(value)
        for name, each in module.named_modules()
        for attribute, value in vars(each).items()
        if attribute not in INTERNAL and (isinstance(value, Tensor) or _is_plain(value))
    }


def changed(before: Mapping[str, object], now: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(sorted(name for name in before.keys() | now.keys() if not _same(before.get(name), now.get(name))))


def put_back(module: nn.Module, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        owner, _, attribute = name.rpartition(".")
        setattr(module.get_submodule(owner), attribute, _copied(value))


def _copied(value: object) -> object:
    return value.detach().clone() if isinstance(value, Tensor) else copy.deepcopy(value)


def _same(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    return type(one) is type(other) and one == other


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(each) for pair in value.items() for each in pair)
    return isinstance(value, PLAIN)
