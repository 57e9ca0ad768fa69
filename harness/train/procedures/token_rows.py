"""How far the rows of an embedding move, and the loss on tokens that are rare or common.

Adam moves a row on after its token has gone, and by momentum so does SGD. So movement is not taken at the steps that see a
token, but at all steps, and set against all its occurrences: the sum of the lengths of a row's updates over a stretch of the
run, divided by how often its token stood in the inputs of that stretch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...declare.curves.token_groups import GROUPS, QUARTER
from ..part import Cost
from ..workloads import workload_of
from ..workloads.data import Index
from .base import Evaluation, Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor

# Share of the run that is over when counting begins: the embedding has left where it started.
BEGIN = 0.2


class TokenRows(Procedure):
    """Counts. paths: lengths of a row's updates, summed; norms: its lengths before these, summed; counts: occurrences of its
    token in the inputs, all [K, V]; steps: those that are counted, [K]."""

    # Copies of the embedding's rows, which are at most all parameters.
    place, setting, adds = 130, "measurement.token_rows", Cost(copies=1)

    def prepare(self, making: Making) -> None:
        import torch

        configuration = making.lanes[0]
        self.table_KVW = making.learner.network.views[workload_of(configuration.workload).embedding].detach()
        self.begin = round(BEGIN * configuration.training.steps)
        self.measurement = configuration.measurement
        device, (lanes, rows, _) = self.table_KVW.device, self.table_KVW.shape
        (tokens,) = making.dataset.arrays("train")
        self.occurrences_V = torch.bincount(tokens, minlength=rows).to(device)
        self.before_KVW = self.table_KVW.clone()
        self.paths_KV, self.norms_KV, self.counts_KV = (torch.zeros(lanes, rows, device=device) for _ in range(3))
        self.steps_K = torch.zeros(lanes, device=device)
        self.groups = {name: members.to(device) for name, members in quarters(self.occurrences_V.cpu().numpy()).items()}
        self._drawn: tuple[int, Index] | None = None

    def draw(self, block: int) -> Index:
        """The inner draw, cached because every step is asked for twice."""
        if self._drawn is None or self._drawn[0] != block:
            self._drawn = block, self.inner.draw(block)
        return self._drawn[1]

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        import torch

        super().after(step, losses)
        if step > self.begin:
            inputs, _ = self.batch(self.examples_of(step - 1).to(self.table_KVW.device))
            tokens_KN = inputs.flatten(1)
            self.counts_KV.scatter_add_(1, tokens_KN, torch.ones_like(tokens_KN, dtype=torch.float32))
            self.paths_KV += (self.table_KVW - self.before_KVW).norm(dim=2)
            self.norms_KV += self.before_KVW.norm(dim=2)
            self.steps_K += 1
        self.before_KVW.copy_(self.table_KVW)

    def evaluations(self) -> tuple[Evaluation, ...]:
        evaluations = self.inner.evaluations()
        (on_the_way,) = (evaluation.after for evaluation in evaluations if evaluation.record == "evaluation_loss")
        return (
            *evaluations,
            *(
                Evaluation(
                    group.name, "test", self.measurement.final_examples, on_the_way, True, partial(self._among, group.of)
                )
                for group in GROUPS
            ),
        )

    def _among(self, of: tuple[str, str], inputs: Tensor, targets: Tensor) -> Tensor:
        from ..workloads.network import NOT_COUNTED

        which, role = of
        counted = self.groups[which][inputs if role == "inputs" else targets]
        return targets.masked_fill(~counted, NOT_COUNTED)

    def tallies(self) -> dict[str, Tensor]:
        occurrences_KV = self.occurrences_V.expand_as(self.counts_KV)
        return {
            **super().tallies(),
            "row_paths": self.paths_KV,
            "row_norms": self.norms_KV,
            "row_counts": self.counts_KV,
            "row_steps": self.steps_K,
            "token_occurrences": occurrences_KV,
        }

    def state(self) -> dict[str, Tensor]:
        return self.inner.state() | {
            "rows.before": self.before_KVW,
            "rows.paths": self.paths_KV,
            "rows.norms": self.norms_KV,
            "rows.counts": self.counts_KV,
            "rows.steps": self.steps_K,
        }


def quarters(occurrences_V: NDArray[np.int64]) -> dict[str, Tensor]:
    """Masks of the rarest tokens that together make up at most a quarter of a text, and of the commonest that make up at least
    one, [V] each. Tokens that do not occur are rare."""
    import torch

    order = np.argsort(occurrences_V, kind="stable")
    share = occurrences_V[order].cumsum() / occurrences_V.sum()
    rare, common = (torch.zeros(len(order), dtype=torch.bool) for _ in range(2))
    rare[torch.from_numpy(order[share <= QUARTER].copy())] = True
    # Those from which on, to the commonest, there is a quarter.
    first = np.flatnonzero(1 - share + occurrences_V[order] / occurrences_V.sum() >= QUARTER)[-1]
    common[torch.from_numpy(order[first:].copy())] = True
    return {"rare": rare, "common": common}


PROCEDURE = TokenRows
