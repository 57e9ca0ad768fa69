"""Muon (Jordan et al. 2024) for hidden matrices, AdamW for everything else, at one LR.

The momentum of a hidden matrix (both of whose sides grow with the width) is made orthogonal by five Newton-Schulz steps of
degree five, and scaled by 0.2 sqrt(max(rows, columns)), so that its entries are of the size of AdamW's updates (Liu et al.
2025, arXiv:2502.16982, section 2.2), as torch.optim.Muon does with `match_rms_adamw`. That one multiplies in bfloat16; this
in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...declare import Training
from .adamw import AdamW

if TYPE_CHECKING:
    from torch import Tensor

# Jordan's: they bring singular values near 1 soonest, and no nearer than 0.7 to 1.2.
A, B, C = 3.4445, -4.7750, 2.0315
NEWTON_SCHULZ_STEPS, SMALLEST_NORM = 5, 1e-7
# The root mean square of AdamW's updates is about this much.
ADAMW_RMS = 0.2


class Muon(AdamW):
    mup_rule = None
    of_hidden_matrices = True

    def prepare(self) -> None:
        import torch

        super().prepare()
        self.hidden = [part for part in self.parts if part.hidden]
        self.momentum, self.nesterov = self.per_lane("momentum"), self.lanes[0].nesterov
        hidden_P = torch.zeros(self.gradient_KP.shape[1], dtype=torch.bool, device=self.device)
        for part in self.hidden:
            hidden_P[part.slice] = True
        # The average that a hidden matrix moves by, and Adam's first moment of the rest, are one tensor.
        self.beta1 = torch.where(hidden_P, self.momentum, self.beta1)

    @staticmethod
    def words(training: Training) -> str:
        hidden = f"hidden matrices with momentum {training.momentum:g}" + ", Nesterov" * training.nesterov
        return f"{hidden}; the rest by AdamW with {AdamW.words(training)}"

    def update(self, parameters_KP: Tensor, gradient_KP: Tensor, lr_K1: Tensor, step: Tensor) -> None:
        self.regularize(parameters_KP, gradient_KP, lr_K1)
        moved_KP = self.direction(*self.accumulate(gradient_KP, step))
        for part in self.hidden:
            average, gradient = (values_KP[:, part.slice] for values_KP in (self.state["first"], gradient_KP))
            taken = gradient.lerp(average, self.momentum) if self.nesterov else average
            matrices = taken.reshape(len(taken), *part.shape).flatten(2)
            scale = ADAMW_RMS * max(matrices.shape[1:]) ** 0.5
            moved_KP[:, part.slice] = scale * orthogonal(matrices).flatten(1)
        parameters_KP.addcmul_(moved_KP, lr_K1, value=-1.0)


def orthogonal(matrices_KMN: Tensor) -> Tensor:
    """Approximates the orthogonal factor of each matrix: singular values all become about 1, singular vectors stay."""
    wide = matrices_KMN.shape[1] <= matrices_KMN.shape[2]
    upright = matrices_KMN if wide else matrices_KMN.transpose(1, 2)
    factor: Tensor = upright / upright.flatten(1).norm(dim=1).clamp(min=SMALLEST_NORM).view(-1, 1, 1)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = factor @ factor.transpose(1, 2)
        factor = A * factor + (B * gram + C * gram @ gram) @ factor
    return factor if wide else factor.transpose(1, 2)


OPTIMIZER = Muon
