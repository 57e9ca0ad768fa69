"""A pack of a user's own module: lanes through torch.func where they can share a program, one after another where not."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from folklore.harness.data import DataFacts
from folklore.harness.randomness import key
from folklore.harness.spec import Workload
from folklore.harness.training.network import PackedNetwork, Scores
from folklore.models import Drop, OwnModule, Tap, View

log = logging.getLogger(__name__)


class OwnNetwork(PackedNetwork):
    """Buffers, such as running statistics, belong to a lane as its parameters do. In training the module is in train mode, and
    what it draws is keyed on seed, step and part of the batch; evaluations are in eval mode. It shows no activations.
    """

    shows = False
    model: OwnModule

    def __init__(self, workload: Workload, facts: DataFacts, seeds: Sequence[int], device: torch.device, precision: str):
        self.seeds = tuple(seeds)
        super().__init__(workload, facts, seeds, device, precision)
        # What lanes that share a program draw cannot be told apart: they draw nothing.
        self.packed = len(seeds) > 1 and not self.model.alone
        if len(seeds) > 1 and not self.packed:
            log.warning("lanes of an own workload are trained one after another on this device: %s", self.model.alone)
        self.buffers = {name: torch.stack([each[name] for each in self.states]).to(device) for name in self.model.state}
        del self.states

    def starts(self, seeds: Sequence[int]) -> Tensor:
        found = [self.model.start(seed) for seed in seeds]
        self.states = [state for _, state in found]
        return torch.stack([flat for flat, _ in found])

    def losses(
        self,
        inputs: Tensor,
        targets: Tensor,
        tap: Tap | None = None,
        views: dict[str, Tensor] | None = None,
        drop: Drop | None = None,
    ) -> Tensor:
        """Mean loss of each lane by the workload's own loss, [K]. A module drops by itself or not at all."""
        view = View({**(self.views if views is None else views), **self.buffers})
        use = f"forward:{self.step}" + f":{self.part}" * (self.part > 0)
        keys = None if self.packed else [key(seed, use) for seed in self.seeds]
        return self.model.losses(self.model(view, inputs, keys=keys), targets)

    @contextmanager
    def in_fp32(self) -> Iterator[None]:
        """And in eval mode: what is drawn anew at every pass has no Hessian."""
        with super().in_fp32(), self.buffers_kept(), self.model.evaluating():
            yield

    def scores(self, inputs: Tensor, targets: Tensor) -> Scores:
        with self.buffers_kept(), self.model.evaluating():
            return super().scores(inputs, targets)

    def _scored(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        losses_K = self.losses(inputs, targets)
        return losses_K, torch.zeros_like(losses_K)


def make_network(
    workload: Workload, facts: DataFacts, seeds: Sequence[int], device: torch.device, precision: str
) -> PackedNetwork:
    """The network of a pack, one lane for each seed."""
    kind = OwnNetwork if workload.model == "own" else PackedNetwork
    return kind(workload, facts, seeds, device, precision)
