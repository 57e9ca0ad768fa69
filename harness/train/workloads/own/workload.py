"""A user's own workload: a module, its loss, and examples to train, to choose and to judge on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ....errors import UserCodeError, UserError
from ....randomness import key
from .examples import SplitExamples, examples_of
from .keyed import keyed
from .objective import Objective, called
from .place import with_place

SPLITS = ("training", "validation", "test")
LONGEST_NAME = 64


@dataclass(frozen=True, eq=False)
class OwnWorkload:
    """A model and its data, to be put through a study.

    A study that trains several models by one recipe trains this one once. Claims that compare models, and numbers that are
    computed without a model, are left out; the page says which and why. `--workload MODULE:ATTRIBUTE` imports the module from
    the current folder (on a cluster: from where every node finds it); `my_module.py:workload` is the same. Two of them
    are compared by `folklore.studies.kit.compare`.

    module: makes the model, a plain nn.Module; called once for each trial under a seed of the trial's, so that its
    initialization depends on the seed alone. It is called with a batch's inputs: a tensor as they are, a tuple as arguments, a
    dict as arguments by name. loss: of what the module gives and the targets, one number or one for each example [B]; None: the
    module gives it, alone, first of a tuple, or called `loss`. What it is of a batch (a mean over examples or tokens, a sum) is
    found out; what is below its start counts as learned. A sum is descended as a sum and shown as its mean. A loss may draw,
    and may have parameters, which are trained.

    training, validation, test: (inputs, targets), or a dict of both; each a tensor or NumPy array [N, ...], or a tuple or dict
    of such. Or a torch Dataset with __len__ and __getitem__, or a DataLoader, of which the dataset and collate_fn are used.
    Batches are drawn with replacement, by seed. version: identifies the data of a Dataset in place of their content, to find
    which it is read once. Chosen on validation, judged on test. Raises UserError for whatever cannot be trained on.

    counts: of inputs and targets, how much each example counts [B] in the mean that the loss is, where that is not found out.
    metric: of what the module gives and the targets, one number or one for each example [B], of which more is better, such as
    the share that is right; evaluated beside the loss, and kept where the models here keep their accuracy.
    optimizer: of a list of parameters, a torch.optim.Optimizer: one more arm beside a study's first, at the study's LRs.
    packed: False has each trial's module called by itself, whatever a comparison says: for what happens seldom.
    one_start: all seeds starting from the same weights is meant; without it that is refused.
    loss_name, loss_unit: what pages call the loss and spell its values in; they decide nothing. loss_may_be_negative: as the
    negative logarithm of a density may be; then no claim is judged by shares of it. (What comes out negative unannounced is
    judged by no shares, either.) loss_may_rise: as one does that descends a reversed gradient; then only what is not finite has
    diverged, and no claim is judged by shares of it.

    Before it is planned, some steps and an evaluation of two lanes are compared with plain PyTorch, and another process must
    find the same start, loss and data. Lanes share one program (torch.func) if that gives the same numbers. A module that keeps
    a state or counts (batch norm), draws (dropout), branches on its data, recomputes activations, has hooks, no vmap rule
    (nn.LSTM) or parameters that take no part in its loss is called by itself, one trial a pack; so is one that is trained by
    its own optimizer. Whatever differs even then is refused by name. A change of the sources, of
    a settings file, of the initial weights or of the data makes new trials. Weight decay acts on parameters of two and more
    dimensions. FP32 and TF32, or BF16 and FP16 by torch's autocast, all of it eagerly. Claims about activations are out of
    regime. A run has diverged if its loss is not finite, or ends above its start on a sample of the training examples. If the
    module keeps something by which its loss changes, such as a queue or a counter, the start is measured by that, too.
    """

    name: str
    module: Callable[[], nn.Module]
    loss: Callable[..., Tensor] | None
    training: Any
    validation: Any
    test: Any
    loss_name: str = "loss"
    loss_unit: str = "nats"
    loss_may_be_negative: bool = False
    loss_may_rise: bool = False
    counts: Callable[[Any, Any], Tensor] | None = None
    version: str = ""
    one_start: bool = False
    packed: bool = True
    optimizer: Callable[[list[Any]], torch.optim.Optimizer] | None = None
    metric: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise UserError(problem)

    def __getstate__(self) -> dict[str, Any]:
        """Examples are read again where it arrives."""
        return {name: value for name, value in vars(self).items() if name != "examples"}

    @cached_property
    def examples(self) -> dict[str, SplitExamples]:
        """Split -> its examples."""
        return {split: examples_of(f"workload '{self.name}': {split}", getattr(self, split), self.version) for split in SPLITS}

    def made(self, seed: int) -> nn.Module:
        """The module as a trial of this seed starts. Raises UserError where there is none."""
        with keyed(key(seed, "initialization")):
            try:
                module = self.module()
                if isinstance(module, nn.Module) and not module.training:
                    module.train()  # as a loop does before it begins; parts that are kept in eval mode are its own affair
                if isinstance(module, nn.Module) and any(map(is_lazy, [*module.parameters(), *module.buffers()])):
                    self._materialize(module)
            except Exception as error:  # whatever a user's code raises
                raise UserCodeError(f"workload '{self.name}': module() raises {with_place(error)}; fix it") from None
        if not isinstance(module, nn.Module):
            raise UserError(f"workload '{self.name}': module() gives a {type(module).__name__}: must give an nn.Module")
        return module

    def _materialize(self, module: nn.Module) -> None:
        """Lazy layers take their shapes, and draw their starts, from a first example."""
        modes = {submodule: submodule.training for submodule in module.modules()}
        inputs, _ = self.examples["training"].batch(torch.zeros(1, dtype=torch.int64))
        with torch.no_grad():
            called(module.eval(), inputs)
        for submodule, training in modes.items():
            submodule.training = training

    def objective(self, seed: int) -> Objective:
        """The module of a seed and its loss."""
        return Objective(self.made(seed), self.loss)


def _problems(workload: OwnWorkload) -> Iterator[str]:
    """The workload's problems, a line each, in the order in which one would fix them."""
    name = workload.name
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        yield f"own workload: name = {name!r:.80}: must be a printable text of 1 to {LONGEST_NAME} characters"
    if isinstance(workload.module, nn.Module) or not callable(workload.module):
        kind = type(workload.module).__name__
        yield f"workload '{name}': module is a {kind}: give a function that makes the module, so that each seed starts again"
    functions = {
        "loss": "outputs and targets, or None",
        "counts": "inputs and targets",
        "metric": "outputs and targets",
        "optimizer": "a list of parameters that makes one",
    }
    for field, of in functions.items():
        function = getattr(workload, field)
        if function is not None and not callable(function):
            yield f"workload '{name}': {field} is a {type(function).__name__}: give a function of {of}"
    if (held := _held_modules(workload.loss)) is not None:
        yield (
            f"workload '{name}': loss holds a {type(held).__name__} with parameters, which no optimizer would see: give the"
            " module itself as the loss, and they are trained; or requires_grad_(False) on it"
        )
    for field, shortest in (("loss_name", 1), ("loss_unit", 0)):
        text = getattr(workload, field)
        if not isinstance(text, str) or not shortest <= len(text) <= LONGEST_NAME or not text.isprintable():
            yield (
                f"workload '{name}': {field} = {text!r:.80}: must be a printable text of {shortest} to {LONGEST_NAME}"
                " characters"
            )
    for field in ("loss_may_be_negative", "loss_may_rise", "one_start", "packed"):
        if not isinstance(getattr(workload, field), bool):
            yield f"workload '{name}': {field} = {getattr(workload, field)!r:.80}: must be True or False"
    if not isinstance(workload.version, str):
        yield f"workload '{name}': version = {workload.version!r:.80}: must be a text"
    first, *others = workload.examples.items()
    for split, examples in others:
        if type(examples) is not type(first[1]) or examples.structure() != first[1].structure():
            yield (
                f"workload '{name}': an example of {split} is {examples.structure()} and of {first[0]}"
                f" {first[1].structure()}: they must agree in shape and type"
            )


def _held_modules(loss: object) -> nn.Module | nn.Parameter | None:
    """A module with parameters to train, or such a parameter, that a function, a partial or an object of a loss holds; None
    where the loss is a module itself, or holds none."""
    if loss is None or isinstance(loss, nn.Module):
        return None
    cells = (getattr(cell, "cell_contents", None) for cell in getattr(loss, "__closure__", None) or ())
    bound = (getattr(loss, "__self__", None), getattr(loss, "func", None), *getattr(loss, "args", ()))
    used = getattr(getattr(loss, "__code__", None), "co_names", ())
    globals_ = (getattr(loss, "__globals__", {}).get(name) for name in used)
    attributes = vars(loss).values() if hasattr(loss, "__dict__") else ()
    for candidate in (*cells, *bound, *globals_, *attributes):
        if isinstance(candidate, nn.Module) and any(parameter.requires_grad for parameter in candidate.parameters()):
            return candidate
        if isinstance(candidate, nn.Parameter) and candidate.requires_grad:
            return candidate
    return None
