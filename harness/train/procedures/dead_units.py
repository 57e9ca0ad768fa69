"""Records of dead ReLUs beside training: which were dead half-way, and which are awake on held-out examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .base import Making, Procedure

if TYPE_CHECKING:
    from torch import Tensor


class DeadUnits(Procedure):
    """halfway: units that were zero on all of the fixed training examples when half of the steps were done, [K, layers, units];
    none before that."""

    place, setting = 140, "measurement.dead_units"

    def prepare(self, making: Making) -> None:
        import torch

        configuration, self.network = making.lanes[0], making.learner.network
        self.measurement, self.half = configuration.measurement, configuration.training.steps // 2
        workload = configuration.workload
        shape = (len(making.lanes), workload.depth, workload.width)
        self.halfway_KLU = torch.zeros(shape, dtype=torch.bool, device=self.network.flat_KP.device)

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        super().after(step, losses)
        if step == self.half:
            self.halfway_KLU.copy_(~self._firing(*self.training_sample(self.measurement.flow_examples)))

    def tallies(self) -> dict[str, Tensor]:
        """units_awake: those that some example of the validation and test samples wakes now."""
        examples = self.measurement.final_examples
        awake = self._firing(*self.sample("validation", examples)) | self._firing(*self.sample("test", examples))
        return {**super().tallies(), "units_dead_halfway": self.halfway_KLU, "units_awake": awake}

    def _firing(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Units above zero on some of the examples [N, ...], [K, layers, units]."""
        import torch

        from ..fixed_examples import Firing

        firing, lanes = Firing(), len(self.network.flat_KP)
        with self.network.in_fp32(), torch.no_grad():
            self.network.losses(inputs.expand(lanes, *inputs.shape), targets.expand(lanes, *targets.shape), firing)
        return firing.units()

    def state(self) -> dict[str, Tensor]:
        return self.inner.state() | {"units.halfway": self.halfway_KLU}


PROCEDURE = DeadUnits
