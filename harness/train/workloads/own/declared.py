"""A user's own workload, as its address tells it; the module that holds it is imported only to make something of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ....declare import Configuration, Training, Workload
from ....declare.configuration import PRECISIONS
from ....declare.own_address import OWN, OwnAddress
from ....errors import TooLargeError, UserError
from ...precisions import precision_named
from ..base import BaseWorkload

if TYPE_CHECKING:
    import torch

    from ..data import DataFacts
    from ..network import PackedNetwork
    from .model import OwnModule


class UserWorkload(BaseWorkload):
    """A user's workload: its network is only known to be an nn.Module with a loss."""

    without_dropout = "let the module drop by itself, and leave it at 0"
    has_logits = False
    cost_is_counted = False
    # Trials of the built-in ones were stored by their held-out losses, and few of these overfit.
    diverges_in_training = True
    without_hidden_matrix = "which matrices of an own workload are hidden is not known"
    hidden_parameters = None
    # A study put to it names the unit, and so does its page.
    loss_unit = ""

    def __init__(self, declared: Workload, address: OwnAddress):
        super().__init__(declared)
        self.address = address

    @property
    def model_name(self) -> str:
        return f"own module {self.address.place}"

    @property
    def model_words(self) -> str:
        return self.model_name

    @property
    def data_name(self) -> str:
        return f"data of {self.address.place}"

    @property
    def data_words(self) -> str:
        size = self.declared.training_set_size
        return f"of {self.address.place}" + (f", its first {size:,} training examples" if size is not None else "")

    @property
    def option(self) -> str:
        return f"--workload {self.address.place}"

    def may_be(self, models: Sequence[str]) -> bool:
        """True: only its owner knows which model it is."""
        return True

    def can_show(self, probe: str) -> bool:
        """No activations, and no table of an embedding."""
        return probe not in ("underflow", "token_rows", "dead_units")

    def model(self, facts: DataFacts | None = None, device: str = "cpu", precision: str = "fp32") -> OwnModule:
        from .module import own_module

        return own_module(self.address, device, precision)

    def network(self, facts: DataFacts, seeds: Sequence[int], device: torch.device, precision: str) -> PackedNetwork:
        from .network import ByItself, PackedLanes

        model = self.model(facts, device.type, precision)
        if len(seeds) > 1 and model.proof.apart:
            raise TooLargeError(f"lanes of workload '{self.address.place}' are apart on this device: {model.proof.apart}")
        kind = PackedLanes if len(seeds) > 1 else ByItself
        return kind(model, self.declared, facts, seeds, device, precision)

    def proof(self, device: str = "cpu", precision: str = "fp32") -> str:
        return str(self.model(None, device, precision).proof)

    @property
    def has_optimizer(self) -> bool:
        from .finding import find_again

        return find_again(self.address).workload.optimizer is not None

    def apart(self, training: Training) -> str:
        if training.optimizer == OWN:
            return "its optimizer is its own"
        return self.model(precision=training.precision).proof.apart

    def require_trainable(self, configuration: Configuration) -> None:
        training = configuration.training
        if not precision_named(training.precision).of_any_module:
            suited = [name for name in PRECISIONS if precision_named(name).of_any_module]
            raise UserError(
                f"precision {training.precision}: an own workload trains in {', '.join(suited)}, for its products are not"
                " known; choose a scale or a study of that precision"
            )
        if training.augmentation != "none":
            raise UserError(
                f"augmentation = {training.augmentation}: an own workload moves its images in the __getitem__ of its own"
                " Dataset, whose draws are of seed and step; choose a study without"
            )
        model = self.model(precision=training.precision)
        if training.starts_from is not None and model.remembered:
            raise UserError(
                f"starts_from = {training.starts_from}: the own workload's module keeps {model.remembered[0]} beside its"
                " tensors, which no checkpoint holds; keep it in a buffer, or choose a study without"
            )
        if training.micro_batches > 1 and model.reduction.kind == "neither":
            raise UserError(
                f"micro_batches = {training.micro_batches}: the loss of the own workload is {model.reduction.words}, which"
                " parts do not add up to; say by counts= what it is a mean of, or choose a study without micro-batches"
            )

    def raising(self) -> AbstractContextManager[None]:
        from .place import raised_by_user

        return raised_by_user(self.address)

    def pickled(self) -> bytes | None:
        """The workload by value if it was handed over as an object: no worker could import code of a notebook."""
        import cloudpickle

        from .finding import HANDED

        workload = HANDED.get(self.address.place)
        return None if workload is None else bytes(cloudpickle.dumps(workload))

    def receive(self, content: bytes | None) -> None:
        import cloudpickle

        from .finding import ASKED, hand_over

        if content is not None:
            hand_over(cloudpickle.loads(content))
        ASKED.add(self.address.place)
