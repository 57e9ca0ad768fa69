"""The workloads that a study names: one of the architectures on one of the datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...declare import Workload
from ...errors import UserError
from .architectures import architecture_named, those_that
from .base import BaseWorkload

if TYPE_CHECKING:
    import torch

    from ....models import Model, Parametrization
    from .data import DataFacts
    from .network import PackedNetwork


SCENARIOS = {
    "class": "classes of all tasks compete",
    "domain": "tasks share a readout",
    "task": "classes compete within a task",
}


class BuiltInWorkload(BaseWorkload):
    """Raises UserError for a model that is unknown."""

    def __init__(self, declared: Workload):
        super().__init__(declared)
        self.architecture = architecture_named(declared.model)
        self.reads_text, self.drops = self.architecture.reads_text, self.architecture.drops
        self.embedding = self.architecture.embedding
        self.loss_unit = "" if declared.squares else "nats"

    @property
    def model_name(self) -> str:
        return self.declared.model

    @property
    def model_words(self) -> str:
        loss = ", half the squared distance from one-hot targets" * (self.declared.loss == "squared_error")
        return self.architecture.words(self.declared) + loss

    @property
    def data_name(self) -> str:
        return self.declared.dataset

    @property
    def data_words(self) -> str:
        declared, words = self.declared, self.declared.data
        if declared.training_set_size is not None:
            what = "tokens" if self.architecture.reads_text else "training examples"
            drawn = declared.training_set == "drawn"
            words += f", {declared.training_set_size:,} {what} that each seed draws" * drawn
            words += f", its first {declared.training_set_size:,} {what}" * (not drawn)
        if declared.tasks > 1:
            what = "texts one" if self.reads_text else f"classes in {declared.tasks} tasks one"
            words += f", its {what} after another" + f" ({SCENARIOS[declared.scenario]})" * (not self.reads_text)
        if declared.feature_scale != 1:
            words += f", features times {declared.feature_scale:g}"
        return words + (f", {declared.label_noise:.3g} of the labels drawn at random" if declared.label_noise else "")

    @property
    def hidden_parameters(self) -> int:
        return self.architecture.hidden_parameters(self.declared)

    def batch(self, examples: int) -> tuple[int, str]:
        return (examples * self.declared.context, "tokens") if self.architecture.reads_text else (examples, "examples")

    @property
    def without_hidden_matrix(self) -> str:
        return f"model '{self.declared.model}' of depth {self.declared.depth} has no hidden matrix"

    def may_be(self, models: Sequence[str]) -> bool:
        return self.declared.model in models

    def can_show(self, probe: str) -> bool:
        known = {"token_rows": bool(self.embedding), "dead_units": self.architecture.units_may_die(self.declared)}
        return known.get(probe, True)

    def model(self, facts: DataFacts, device: str = "cpu", precision: str = "fp32") -> Model:
        self._check_fit(facts)
        return self.architecture.build(self.declared, facts, parametrization_of(self.declared))

    def network(self, facts: DataFacts, seeds: Sequence[int], device: torch.device, precision: str) -> PackedNetwork:
        from .network import PackedNetwork

        return PackedNetwork(self.model(facts), self.declared, facts, seeds, device, precision)

    def _check_fit(self, facts: DataFacts) -> None:
        """Raises UserError where the model cannot take the data."""
        chosen = self.architecture
        cannot = f"model '{self.declared.model}' cannot train on dataset '{self.declared.dataset}'"
        if chosen.reads_text != (not facts.features):
            kind = "text" if not facts.features else f"examples of shape {facts.features}"
            raise UserError(f"{cannot} ({kind}): {those_that('reads_text')} takes text, the others examples")
        if not facts.classes and not chosen.takes_numbers:
            takers = those_that("takes_numbers")
            raise UserError(f"{cannot} (its targets are numbers): {takers} take such targets, the others classes")
        if objection := chosen.objection(facts):
            raise UserError(cannot + objection)


def parametrization_of(workload: Workload) -> Parametrization:
    """The workload's parametrization: how it scales with its width and depth."""
    from ....models import Parametrization

    if workload.parametrization != "mup":
        return Parametrization(None, workload.zero_readout, base_depth=workload.base_depth)
    multiplier = workload.width / workload.base_width
    more_heads = workload.heads / (workload.base_heads or workload.heads)
    return Parametrization(multiplier, workload.zero_readout, multiplier / more_heads, workload.base_depth)
