"""What a user brings along: a module, its loss, and tensors to train, to choose and to judge on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from folklore.harness.errors import UserCodeError, UserError
from folklore.harness.own.place import with_place
from folklore.harness.randomness import key

SPLITS = ("training", "validation", "test")
INPUT_TYPES = (torch.float32, torch.int64, torch.int32, torch.int16, torch.uint8, torch.bool)
LONGEST_NAME = 64


@dataclass(frozen=True, eq=False)
class OwnWorkload:
    """A model and its data, to be put through a study.

    module: makes the model, a plain nn.Module that maps inputs [B, ...] to one tensor; called once for each trial under a seed
    of the trial's, so that its initialization depends on the seed alone. loss: of outputs and targets [B, ...], a loss for each
    example [B] or their mean; what is below its start counts as learned. training, validation, test: inputs and targets
    [N, ...]; chosen on validation, judged on test. Batches are drawn with replacement. Raises UserError for whatever cannot be
    trained on.

    loss_name, loss_unit: what pages call the loss and spell its values in; they decide nothing. loss_may_be_negative: as the
    negative logarithm of a density may be; then no claim is judged by shares of it. (What comes out negative unannounced is
    judged by no shares, either.)
    """

    name: str
    module: Callable[[], nn.Module]
    loss: Callable[[Tensor, Tensor], Tensor]
    training: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    loss_name: str = "loss"
    loss_unit: str = "nats"
    loss_may_be_negative: bool = False

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise UserError(problem)

    def made(self, seed: int) -> nn.Module:
        """The module as a trial of this seed starts. Raises UserError where there is none."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(key(seed, "initialization"))
            try:
                module = self.module()
            except Exception as error:  # whatever a user's code raises
                raise UserCodeError(f"workload '{self.name}': module() raises {with_place(error)}; mend it") from None
        if not isinstance(module, nn.Module):
            raise UserError(f"workload '{self.name}': module() gives a {type(module).__name__}: must give an nn.Module")
        return module


def _problems(workload: OwnWorkload) -> Iterator[str]:
    """What is wrong, a line each, in the order in which one would mend it."""
    name = workload.name
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        yield f"own workload: name = {name!r:.80}: must be a printable text of 1 to {LONGEST_NAME} characters"
    if isinstance(workload.module, nn.Module) or not callable(workload.module):
        given = type(workload.module).__name__
        yield f"workload '{name}': module is a {given}: give a function that makes the module, so that each seed starts anew"
    if not callable(workload.loss):
        yield f"workload '{name}': loss is a {type(workload.loss).__name__}: give a function of outputs and targets"
    if isinstance(workload.loss, nn.Module) and any(each.requires_grad for each in workload.loss.parameters()):
        yield (
            f"workload '{name}': loss is a {type(workload.loss).__name__} with parameters of its own, which no optimizer would"
            " see: make them parameters of the module, and let it give what the loss needs; or loss.requires_grad_(False)"
        )
    for split in SPLITS:
        yield from _split_problems(f"workload '{name}': {split}", getattr(workload, split))
    for field, shortest in (("loss_name", 1), ("loss_unit", 0)):
        text = getattr(workload, field)
        if not isinstance(text, str) or not shortest <= len(text) <= LONGEST_NAME or not text.isprintable():
            yield (
                f"workload '{name}': {field} = {text!r:.80}: must be a printable text of {shortest} to {LONGEST_NAME}"
                " characters"
            )
    if not isinstance(workload.loss_may_be_negative, bool):
        yield f"workload '{name}': loss_may_be_negative = {workload.loss_may_be_negative!r:.80}: must be True or False"
    first = workload.training
    for split in SPLITS[1:]:
        for what, tensor, like in zip(("inputs", "targets"), getattr(workload, split), first, strict=True):
            if (tensor.shape[1:], tensor.dtype) != (like.shape[1:], like.dtype):
                yield (
                    f"workload '{name}': {split} {what} are {_described(tensor)} an example and training {what}"
                    f" {_described(like)}: they must agree in shape and type"
                )


def _split_problems(subject: str, pair: object) -> Iterator[str]:
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(each, Tensor) for each in pair):
        yield f"{subject} must be two tensors, (inputs, targets)"
        return
    inputs, targets = pair
    for what, tensor in (("inputs", inputs), ("targets", targets)):
        if tensor.dtype not in INPUT_TYPES:
            yield f"{subject} {what} are {tensor.dtype}: must be float32 or integers; call .float() or .long()"
        if tensor.dim() == 0 or not len(tensor):
            yield f"{subject} {what} hold no example: give tensors [N, ...] with N of at least 1"
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            yield f"{subject} {what} hold values that are not finite: remove or replace them"
    if len(inputs) != len(targets):
        yield f"{subject} has {len(inputs)} inputs and {len(targets)} targets: must be as many"


def _described(tensor: Tensor) -> str:
    return f"{tensor.dtype} {list(tensor.shape[1:])}"
