"""A module and its loss as one module: a batch in, one number out."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

# A tensor, or a tuple or dict of trees. Targets of a batch that is one dict: ABSENT.
Tree = Any
Loss = Callable[..., Tensor]
ABSENT: Tree = ()
# Prefix of the names of a loss's own parameters and buffers.
OF_THE_LOSS = "(loss)."


class Objective(nn.Module):
    """Calls its module with a batch's inputs: a tensor as they are, a tuple as arguments, a dict as arguments by name; and its
    loss with what comes out and the targets, or with the batch where that is one dict. Without a loss the module gives it.

    The loss: one number, or one for each example [B], of which it is the mean. A loss that is an object is copied, so that what
    it keeps and trains belongs to one lane. Raises ValueError for anything else.
    """

    def __init__(self, module: nn.Module, loss: Loss | None):
        super().__init__()
        self.module = module
        self.loss = _own(loss)

    def forward(self, inputs: Tree, targets: Tree) -> Tensor:
        outputs = called(self.module, inputs)
        answers = inputs if targets is ABSENT else targets
        loss = _given_loss(outputs) if self.loss is None else self.loss(outputs, answers)
        examples = length(inputs)
        if not isinstance(loss, Tensor) or loss.shape not in ((), (examples,)):
            kind = f"tensor {list(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
            raise ValueError(f"the loss is a {kind}: must be one number, or one for each of the {examples} examples")
        return loss.float().mean()

    def measured(self, metric: Loss, inputs: Tree, targets: Tree) -> Tensor:
        """A metric of what the module gives: one number, or the mean of one for each example."""
        outputs = called(self.module, inputs)
        score = metric(outputs, inputs if targets is ABSENT else targets)
        return torch.as_tensor(score, dtype=torch.float32).mean()

    def held(self) -> dict[str, Tensor]:
        """Name -> parameter or buffer, those of the loss as '(loss).NAME'."""
        tensors = _named(self.module)
        if isinstance(self.loss, nn.Module):
            tensors |= {OF_THE_LOSS + name: value for name, value in _named(self.loss).items()}
        return tensors


def _own(loss: Loss | None) -> Loss | None:
    """A lane's own copy of a loss that is an object; a function, or an object that cannot be copied, is shared."""
    try:
        return copy.deepcopy(loss)
    except Exception:  # whatever a user's object raises
        return loss


def full_name(name: str) -> str:
    """The name in Objective, as an nn.Module, of a name of `held`."""
    return f"loss.{name.removeprefix(OF_THE_LOSS)}" if name.startswith(OF_THE_LOSS) else f"module.{name}"


def called(module: nn.Module, inputs: Tree) -> Any:
    if isinstance(inputs, dict):
        return module(**inputs)
    return module(*inputs) if isinstance(inputs, tuple) else module(inputs)


def length(batch: Tree) -> int:
    """The number of examples."""
    return len(tree_leaves(batch)[0])


def _named(module: nn.Module) -> dict[str, Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _given_loss(outputs: Any) -> Any:
    """The loss among what a module gives: alone, first of a tuple, or called 'loss'."""
    if isinstance(outputs, Mapping) and "loss" in outputs:
        return outputs["loss"]
    if isinstance(outputs, Tensor):
        return outputs
    if isinstance(getattr(outputs, "loss", None), Tensor):
        return outputs.loss
    if isinstance(outputs, tuple) and outputs:
        return outputs[0]
    raise ValueError(
        f"the module gives a {type(outputs).__name__} without a loss: give one, or a loss function beside the module"
    )
