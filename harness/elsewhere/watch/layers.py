"""A model's parameters by layer, and the norms of their gradients, weights and changes."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from .readings import GRADIENTS, LOSS, NORM, RATIOS, SKIPPED, UPDATES, Numbers, Reading

# Of a parameter with more entries, rows at equal distances are copied before an update: memory and time are bounded, and its
# update-to-weight ratio is that of these rows. 1 MB in FP32.
MOST_COPIED = 2**18
# In healthy models, too, their weights and gradients are of another size than those of other layers (claim flow.healthy).
TABLES = (nn.Embedding, nn.EmbeddingBag)
# The prefix that torch.compile puts before the names of what it wraps.
WRAPPED = "_orig_mod."


class Layers:
    """names: of the modules that hold parameters, in the model's order, those that joined later last, and none ever leaves;
    tied parameters belong to the first. is_matrix: whether a layer has a parameter with two sides or more and is no embedding:
    rules compare such layers. updated: indices of the parameters that the optimizer holds, without the biases of matrices:
    updates are compared with weights. are_written: whether a gradient was changed in place after it was computed, as by
    clipping."""

    def __init__(self, model: nn.Module, optimizer: Optimizer):
        self.model, self.optimizer, self.names, self.are_written = model, optimizer, tuple[str, ...](), False
        self.names_by_id = dict[int, str]()
        self.look_up()

    def has_changed(self) -> bool:
        """Whether the model, the optimizer's groups or the frozen parameters have changed since they were looked up."""
        return self._state() != self._looked_up

    def look_up(self) -> None:
        """Looks up again which layers are trained."""
        self._looked_up = self._state()
        model, optimizer = self.model, self.optimizer
        named = [(name.replace(WRAPPED, ""), parameter) for name, parameter in model.named_parameters()]
        self.parameters = [parameter for _, parameter in named]
        owners = [name.rpartition(".")[0] or name for name, _ in named]
        self.names = tuple(dict.fromkeys([*self.names, *owners]))
        self._layer_of = np.array([self.names.index(owner) for owner in owners], dtype=np.intp)
        tables = {name.replace(WRAPPED, "") for name, module in model.named_modules() if isinstance(module, TABLES)}
        matrices = {owner for owner, parameter in zip(owners, self.parameters, strict=True) if parameter.dim() > 1} - tables
        self.is_matrix = np.array([name in matrices for name in self.names])
        self.names_by_id.update((id(parameter), owner) for owner, parameter in zip(owners, self.parameters, strict=True))
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        self.updated = [
            i
            for i, (owner, parameter) in enumerate(zip(owners, self.parameters, strict=True))
            if id(parameter) in held and parameter.numel() and (parameter.dim() > 1 or owner not in matrices)
        ]
        self.left_out = sum(parameter.requires_grad and id(parameter) not in held for parameter in self.parameters)
        self.frozen = sum(not parameter.requires_grad for parameter in self.parameters)

    def lrs(self) -> list[float]:
        """LRs of the optimizer's groups; some optimizers choose their own and have none."""
        return [float(group["lr"]) for group in self.optimizer.param_groups if group.get("lr") is not None]

    def gradients(self, passes: int = 1) -> Tensor:
        """Norm of each parameter's gradient, [parameters]; 0 where there is none. passes: backward passes that it is of; each
        but the first writes into it."""
        there = {i: parameter.grad for i, parameter in enumerate(self.parameters) if parameter.grad is not None}
        self.are_written |= any(gradient._version >= passes for gradient in there.values())
        norms = norms_of(
            gradient.coalesce().values() if gradient.is_sparse else gradient.detach() for gradient in there.values()
        )
        return norms if len(there) == len(self.parameters) else self._spread(norms, list(there))

    @torch.no_grad()
    def copies(self) -> list[Tensor]:
        return [self._part(i).clone() for i in self.updated]

    @torch.no_grad()
    def changes(self, before: list[Tensor]) -> Tensor:
        """Norms of each parameter's change by an update, then of its weights before it, [2 x parameters]; 0 where it has none.
        Overwrites the copies."""
        weights = norms_of(before)
        for copy, i in zip(before, self.updated, strict=True):
            copy.sub_(self._part(i))
        return torch.cat([self._spread(norms, self.updated) for norms in (norms_of(before), weights)])

    def by_layer(self, norms: Numbers) -> Numbers:
        """Norms of parameters -> norms of layers."""
        with np.errstate(over="ignore"):
            return np.sqrt(np.bincount(self._layer_of, norms**2, minlength=len(self.names)))

    def _state(self) -> tuple[Any, ...]:
        held = [id(parameter) for group in self.optimizer.param_groups for parameter in group["params"]]
        return [(id(parameter), parameter.requires_grad) for parameter in self.model.parameters()], held

    def _part(self, i: int) -> Tensor:
        weights = self.parameters[i].detach()
        rows = -(-weights.numel() // MOST_COPIED)
        return weights[::rows] if rows > 1 and weights.dim() else weights

    def _spread(self, norms: Tensor, indices: Sequence[int]) -> Tensor:
        all_norms = torch.zeros(len(self.parameters), device=norms.device, dtype=norms.dtype)
        all_norms[list(indices)] = norms
        return all_norms


@torch.no_grad()
def norms_of(tensors: Iterable[Tensor]) -> Tensor:
    """[tensors], on the device of the first; 16-bit ones are summed up in FP32."""
    arrays = list(tensors)
    if not arrays:
        return torch.zeros(0)
    half = any(tensor.dtype in (torch.float16, torch.bfloat16) for tensor in arrays)
    norms = torch._foreach_norm(arrays, 2, dtype=torch.float32) if half else torch._foreach_norm(arrays)
    return torch.stack([norm.to(norms[0].device, norms[0].dtype) for norm in norms])


def means(steps: NDArray[np.int64], values: Numbers) -> tuple[NDArray[np.int64], Numbers]:
    """Steps, and the mean of the values of each."""
    of_steps, place, counts = np.unique(steps, return_inverse=True, return_counts=True)
    return of_steps, np.bincount(place, values) / counts


def derived(new: Sequence[Reading], layers: Layers, norm_is_given: bool) -> list[Reading]:
    """Readings by layer instead of by parameter, one loss a step, and the gradient's norm if it is not given; none of gradients
    of updates that were skipped."""
    skipped = {step for name, steps, flags in new if name == SKIPPED for step in steps[flags > 0]}
    readings, norms = list[Reading](), dict[int, float]()
    for name, steps, values in new:
        if name == UPDATES:
            changes, weights = (layers.by_layer(part) for part in np.split(values, 2))
            with np.errstate(invalid="ignore", divide="ignore"):
                readings.append(Reading(RATIOS, steps, np.where(weights > 0, changes / weights, np.nan)))
        elif name == LOSS:
            readings.append(Reading(LOSS, *means(steps, values)))
        elif name != GRADIENTS:
            readings.append(Reading(name, steps, values))
        elif steps[0] not in skipped:
            readings.append(Reading(GRADIENTS, steps, layers.by_layer(values)))
            norms[int(steps[0])] = float(np.linalg.norm(values))
    if norms and not norm_is_given:
        readings.append(Reading(NORM, np.array([*norms]), np.array([*norms.values()])))
    return readings
