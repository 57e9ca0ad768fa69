"""Dead ReLUs: hidden units of an MLP that are zero on all of fixed training examples, all of them where there are no more.

Their gradient is that of the loss of these examples, with respect to their incoming weights and their bias. Which of them were
dead half-way, and which of them held-out examples wake, the procedure keeps (procedures/dead_units.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare.curves.of_probes import (
    AWAKE_UNITS,
    DEAD_GRADIENT,
    DEAD_UNITS,
    DEAD_UNITS_FIRST,
    LIVING_GRADIENT,
    OF_PROBES,
    REVIVED_UNITS,
    REVIVED_UNITS_DEEPER,
    REVIVED_UNITS_FIRST,
)
from .base import Probe, ProbedStep

if TYPE_CHECKING:
    from torch import Tensor

    from ..workloads.network import PackedNetwork


class DeadUnitShares(Probe):
    curves = OF_PROBES["dead_units"]
    setting, examples = "measurement.dead_units", "flow_examples"
    unseen = (
        "model '{w.model}', activation {w.activation}, norm {w.norm}, residual {w.residual}: are of an mlp of ReLUs without"
        " norm or residual stream; choose that, or leave it out"
    )

    def before_update(self, step: ProbedStep) -> dict[str, Tensor]:
        from ..fixed_examples import Firing, gradient_of

        firing = Firing()
        sample = step.training_sample(step.measurement.flow_examples)
        gradient_KP = gradient_of(step.network, *sample, firing)
        dead_KLU = ~firing.units()
        entries_KLU = incoming(step.network, gradient_KP)
        halfway_KLU, awake_KLU = step.tallies["units_dead_halfway"], step.tallies["units_awake"]
        values = {
            DEAD_UNITS.name: dead_KLU.flatten(1).double().mean(dim=1),
            DEAD_UNITS_FIRST.name: dead_KLU[:, 0].double().mean(dim=1),
            DEAD_GRADIENT.name: _largest(entries_KLU, dead_KLU),
            LIVING_GRADIENT.name: _largest(entries_KLU, ~dead_KLU),
            REVIVED_UNITS.name: share(~dead_KLU, halfway_KLU),
            REVIVED_UNITS_FIRST.name: share(~dead_KLU[:, :1], halfway_KLU[:, :1]),
            REVIVED_UNITS_DEEPER.name: share(~dead_KLU[:, 1:], halfway_KLU[:, 1:]),
            AWAKE_UNITS.name: share(awake_KLU, dead_KLU),
        }
        # A unit that is no number is not dead.
        return {name: value_K.where(firing.finite, float("nan")) for name, value_K in values.items()}


def incoming(network: PackedNetwork, gradient_KP: Tensor) -> Tensor:
    """The largest absolute entry of a gradient among each hidden unit's incoming weights and its bias, [K, layers, units]."""
    import torch

    views, layers = network.views_of(gradient_KP), range(len(network.model.blocks))
    of_layers = [
        torch.maximum(views[f"hidden.{layer}.weight"].abs().amax(dim=1), views[f"hidden.{layer}.bias"].abs())
        for layer in layers
    ]
    return torch.stack(of_layers, dim=1)


def share(these_KLU: Tensor, of_KLU: Tensor) -> Tensor:
    """The share of some units that is also among others, [K]; nan if there are none."""
    both_K, of_K = ((mask_KLU.flatten(1).sum(dim=1).double()) for mask_KLU in (these_KLU & of_KLU, of_KLU))
    return both_K / of_K


def _largest(entries_KLU: Tensor, of_KLU: Tensor) -> Tensor:
    """[K]; nan if there are none."""
    found_K = entries_KLU.where(of_KLU, -1.0).flatten(1).amax(dim=1)
    return found_K.where(found_K >= 0, float("nan"))


PROBE = DeadUnitShares()
