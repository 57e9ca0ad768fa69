"""What is kept of dead ReLUs beside training: which were dead half-way, and which are awake on held-out examples."""

from collections.abc import Mapping

import torch
from torch import Tensor

from ...declare import Configuration
from ...errors import UserError
from ..fixed_examples import Firing
from ..workloads import workload_of
from ..workloads.network import PackedNetwork
from .base import Procedure


def require_units(configuration: Configuration) -> None:
    """Raises UserError where dead units are asked for and no unit can be one."""
    workload = configuration.workload
    if configuration.measurement.dead_units and not workload_of(workload).can_show("dead_units"):
        kind = f"model '{workload.model}', activation {workload.activation}, norm {workload.norm}"
        raise UserError(
            f"dead_units: {kind}{', residual' * workload.residual}: are of an mlp of ReLUs without norm or residual stream;"
            " choose that, or leave it out"
        )


class DeadUnits(Procedure):
    """halfway: units that were zero on all of the fixed training examples when half of the steps were done, [K, layers, units];
    none before that."""

    def __init__(self, inner: Procedure, configuration: Configuration, network: PackedNetwork):
        super().__init__(inner)
        self.network, self.measurement = network, configuration.measurement
        self.half = configuration.training.steps // 2
        workload = configuration.workload
        shape = (len(network.flat_KP), workload.depth, workload.width)
        self.halfway_KLU = torch.zeros(shape, dtype=torch.bool, device=network.flat_KP.device)

    def after(self, step: int, losses: Mapping[str, Tensor]) -> None:
        super().after(step, losses)
        if step == self.half:
            self.halfway_KLU.copy_(~self._firing(*self.training_sample(self.measurement.flow_examples)))

    def tallies(self) -> dict[str, Tensor]:
        """units_awake: those that some example of the validation and test samples wakes now."""
        examples = self.measurement.final_examples
        awake = self._firing(*self.sample("validation", examples)) | self._firing(*self.sample("test", examples))
        return {**super().tallies(), "units_dead_halfway": self.halfway_KLU, "units_awake": awake}

    @torch.no_grad()
    def _firing(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Units above zero on some of the examples [N, ...], [K, layers, units]."""
        firing, lanes = Firing(), len(self.network.flat_KP)
        with self.network.in_fp32():
            self.network.losses(inputs.expand(lanes, *inputs.shape), targets.expand(lanes, *targets.shape), firing)
        return firing.units()

    def state(self) -> dict[str, Tensor]:
        return self.inner.state() | {"units.halfway": self.halfway_KLU}
