"""The protocol of a workload: data, a network and its loss, and the facts about them that are known beforehand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from ...declare import Configuration, Training, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from ....models import Model
    from .data import DataFacts, Dataset
    from .network import PackedNetwork

# What the environment of a trial calls what was proved of its workload, and what was read of a user's data.
PROOF, READ = "proof", "data_read"


class BaseWorkload(ABC):
    """A workload as a configuration declares it. Its descriptions need neither torch nor a user's code; what it makes needs
    torch, and a user's workload also the module that holds it."""

    # Whether examples are sequences of tokens.
    reads_text = False
    # Whether its network has places for dropout, and else what to do about it.
    drops = False
    without_dropout = "leave it at 0"
    # The table one of whose rows each input chooses; '' where none is known.
    embedding = ""
    # Whether the network's outputs are known to be logits, from which classes can be sampled.
    has_logits = True
    # Whether a step costs the operations that its model counts, or has to be timed.
    cost_is_counted = True
    # Whether divergence is judged by the loss of the same training examples; else, by that of held-out ones.
    diverges_in_training = False
    # The unit of its loss, as far as the declaration says.
    loss_unit = ""

    def __init__(self, declared: Workload):
        self.declared = declared

    @property
    @abstractmethod
    def model_name(self) -> str:
        """The model's name on a page."""

    @property
    @abstractmethod
    def model_words(self) -> str:
        """Its model and how large it is, as a recipe tells it."""

    @property
    @abstractmethod
    def data_name(self) -> str:
        """The data's name on a page."""

    @property
    @abstractmethod
    def data_words(self) -> str:
        """Its data and what is changed about them, as a recipe tells it."""

    @property
    @abstractmethod
    def hidden_parameters(self) -> int | None:
        """Parameters beside those of the input and the output, which depend on the data (Kaplan et al. 2020, section 2.1); None
        where they are not known."""

    def batch(self, examples: int) -> tuple[int, str]:
        """The size of a step of this many examples, and its unit: tokens of text, else examples."""
        return examples, "examples"

    @property
    def option(self) -> str:
        """The option of `folklore run STUDY` that trains it; '' where the study itself names it."""
        return ""

    @abstractmethod
    def may_be(self, models: Sequence[str]) -> bool:
        """Whether it is one of the models that a study may name, as far as is known."""

    @abstractmethod
    def can_show(self, probe: str) -> bool:
        """Whether what a probe looks at is there; it is called as a measurement calls it."""

    @property
    @abstractmethod
    def without_hidden_matrix(self) -> str:
        """Why it has no matrix both of whose sides grow with its width, where it has none."""

    def data(self, used: str | None = None) -> Dataset:
        """Its splits. used: a dataset in place of the declared one, as --data gives it. Raises UserError where they cannot be
        had."""
        from .data import load

        return load(used or self.declared.dataset, self.declared.tokenizer)

    @abstractmethod
    def model(self, facts: DataFacts, device: str = "cpu", precision: str = "fp32") -> Model:
        """The model for its data. Raises UserError where the two do not fit. device, precision: those that it is to be trained
        on and in, where a user's module is tried."""

    @abstractmethod
    def network(self, facts: DataFacts, seeds: Sequence[int], device: torch.device, precision: str) -> PackedNetwork:
        """Copies of the model with their loss, one for each seed."""

    def proof(self, device: str = "cpu", precision: str = "fp32") -> str:
        """The comparison of its network with plain PyTorch before training, in words; '' of the built-in ones, which tests
        compare."""
        return ""

    @property
    def has_optimizer(self) -> bool:
        """Whether it brings an optimizer of its own."""
        return False

    def apart(self, training: Training) -> str:
        """Why lanes cannot share a program, each a trial by itself; '' where they can."""
        return ""

    def require_trainable(self, configuration: Configuration) -> None:  # noqa: B027
        """Raises UserError where a configuration asks something of it that it does not have, beside what its data and the
        optimizer are asked by others."""

    def raising(self) -> AbstractContextManager[None]:
        """Inside, errors of the workload's own code are told from all others."""
        return nullcontext()

    def pickled(self) -> bytes | None:
        """The workload in bytes, for a worker that cannot find it by its address; None where every worker can."""
        return None

    def receive(self, content: bytes | None) -> None:  # noqa: B027
        """On a worker: allows the import of what a job trains, and registers what was pickled."""
