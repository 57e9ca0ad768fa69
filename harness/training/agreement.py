"""Whether a program does what the eager step does: one step of each from equal states, entry by entry.

Stated rounding, a bound for any correct order of operations in a number format:
- Loss of a lane: the format's `loss` of itself, or of 1 nat if it is smaller.
- Gradient: in each entry the format's `gradient` of the largest entry of its layer in its lane (and a 64th of that of the
  largest of the lane: what cancels in a layer was rounded before), `of_vectors` times that for gains and biases. The gradient
  that a program used is read off the first moment it left, which adds `MOMENT` of that.
- All the rest of a step is FP32: from the program's own gradient the eager optimizer must arrive at the program's
  parameters, up to 4 units in the last place and `UPDATE` of the layer's largest update, and at its moments, up to `MOMENT`
  of the layer's largest. So Adam, which turns the rounding of a gradient near zero into a whole step, needs no wider bound.
  Where an update jumps, as one that is a sign does at zero, it may lie on either side.
- Everything else, such as clock, loss scales and records of other steps: equal.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from folklore.harness.training.number_formats import format_named
from folklore.harness.training.optimizers.base import PackedOptimizer

Step = Callable[[], None]

OF_THE_LANE = 1 / 64
UPDATE, MOMENT, UNITS = 2**-10, 2**-16, 4 * 2**-23
FINITE = {True: "finite", False: "not finite"}
# Dynamic loss scaling looks for the edge of FP16: of two correct steps one may overflow there, but not time after time.
MOST_DOUBTS = 2
# Loss scales are halved until a lane's gradient is finite; from 2^40 down that takes fewer steps.
MOST_CALLS = 64


@dataclass(frozen=True)
class Verdict:
    """difference: what differs and by how much, '' if nothing does. settled: whether every lane has been compared."""

    settled: bool = True
    difference: str = ""


class StepCheck:
    """Takes steps of a training both ways, eagerly and by a program; what the eager one leaves is what remains.

    tensors: all that a training holds, by the names of `Pack.state` and `clock`. update: applies the eager optimizer to a
    clipped gradient [K, P], at the clock's step. matrices_P: 1 for entries of matrices, 0 for those of gains and biases.
    While a step is checked, copies lie in the host's memory: what a device holds at most is recorded of a training and must
    not be that of its check.
    """

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        optimizer: PackedOptimizer,
        update: Callable[[Tensor], None],
        layer_sizes: Sequence[int],
        matrices_P: Tensor,
        precision: str,
    ):
        self.tensors, self.optimizer, self.update = tensors, optimizer, update
        self.layer_sizes, self.format = list(layer_sizes), format_named(precision)
        of_vectors = self.format.of_vectors
        self.gradient_tolerance_P = self.format.gradient * torch.where(matrices_P.cpu() > 0, 1.0, of_vectors)
        self.first = f"optimizer.{optimizer.moments[0]}"
        lanes = len(tensors["weights"])
        self.compared_K = torch.zeros(lanes, dtype=torch.bool)
        self.doubts_K = torch.zeros(lanes)
        self.calls = 0

    @torch.no_grad()
    def __call__(self, eager: Step, program: Step) -> Verdict:
        self.calls += 1
        before = self._copies()
        try:
            with torch.enable_grad():
                eager()
            expected = self._copies()
            self._restore(before)
            with torch.enable_grad():
                program()
            found = self._copies()
            difference = self._difference(before, expected, found)
        except BaseException:
            self._restore(before)  # of a step that failed nothing remains
            raise
        self._restore(expected)
        return Verdict(bool(self.compared_K.all()) or self.calls >= MOST_CALLS, difference)

    def _copies(self) -> dict[str, Tensor]:
        return {name: tensor.detach().to("cpu", copy=True) for name, tensor in self.tensors.items()}

    def _restore(self, copies: Mapping[str, Tensor]) -> None:
        for name, tensor in self.tensors.items():
            tensor.copy_(copies[name])

    def _difference(self, before: dict[str, Tensor], expected: dict[str, Tensor], found: dict[str, Tensor]) -> str:
        """What differs most by its tolerance; also notes which lanes could be compared."""
        now = int(before["clock"])
        theirs_K, ours_K = (self._whole(before, after, now) for after in (expected, found))
        if not torch.equal(theirs_K, ours_K):
            lane = int((theirs_K != ours_K).int().argmax())
            return f"lane {lane} is {FINITE[bool(ours_K[lane])]}, and eagerly {FINITE[bool(theirs_K[lane])]}"
        skipped_K, skips_K = (_skips(before, after) for after in (expected, found))
        at_odds_K = skipped_K != skips_K
        self.doubts_K += at_odds_K
        if (self.doubts_K > MOST_DOUBTS).any():
            return f"the gradient of lane {int(self.doubts_K.argmax())} overflows at other steps than the eager one"
        difference = (
            self._of_losses(expected, found, now)
            or self._of_all_else(before, expected, found, ~at_odds_K)
            or self._of_learning(before, expected, found, theirs_K & ~skipped_K & ~skips_K)
        )
        # A lane that has diverged has nothing more to show; one that skips an update is waited for.
        self.compared_K |= ~theirs_K | ~(skipped_K | skips_K)
        return difference

    def _whole(self, before: dict[str, Tensor], after: dict[str, Tensor], now: int) -> Tensor:
        """Whether all of a lane is finite, but for the loss of a step whose update was skipped, [K]."""
        whole_K = after["record.train_loss"][now].isfinite() | _skips(before, after)
        for name in filter(self._learns, after):
            whole_K &= after[name].isfinite().all(dim=1)
        return whole_K

    def _of_losses(self, expected: dict[str, Tensor], found: dict[str, Tensor], now: int) -> str:
        ours_K, theirs_K = (each["record.train_loss"][now].double() for each in (found, expected))
        tolerance_K = self.format.loss * theirs_K.abs().clamp(min=1.0)
        return _worst("loss", (ours_K - theirs_K)[:, None], tolerance_K[:, None], ours_K.isfinite() & theirs_K.isfinite())

    def _of_all_else(
        self, before: dict[str, Tensor], expected: dict[str, Tensor], found: dict[str, Tensor], lanes_K: Tensor
    ) -> str:
        """What must be equal: all that does not learn in this step."""
        skipped_K = lanes_K & _skips(before, expected)
        for name, theirs in expected.items():
            ours = found[name]
            if name == "record.train_loss":
                now = int(before["clock"])
                ours, theirs = (torch.cat([each[:now], each[now + 1 :]]) for each in (ours, theirs))
            elif name.startswith("scaler."):
                ours, theirs = ours[lanes_K], theirs[lanes_K]
            elif self._learns(name):
                ours, theirs = ours[skipped_K], theirs[skipped_K]
            if not ((ours == theirs) | (ours.isnan() & theirs.isnan())).all():
                return f"the {_spelled(name)} is not equal"
        return ""

    def _learns(self, name: str) -> bool:
        return name == "weights" or name.startswith("optimizer.")

    def _of_learning(
        self, before: dict[str, Tensor], expected: dict[str, Tensor], found: dict[str, Tensor], lanes_K: Tensor
    ) -> str:
        """Gradients, then what the optimizer made of the program's own gradient."""
        old_KP = before["weights"]
        theirs_KP, ours_KP = (
            self.optimizer.gradient_between(old_KP, before[self.first], each[self.first]) for each in (expected, found)
        )
        sizes_KP = self._layer_sizes(theirs_KP) + OF_THE_LANE * theirs_KP.abs().amax(dim=1, keepdim=True)
        tolerance_KP = self.gradient_tolerance_P * sizes_KP + MOMENT * self._layer_sizes(expected[self.first])
        if difference := _worst("gradient", ours_KP - theirs_KP, tolerance_KP, lanes_K):
            return difference
        self._restore(before)
        self.update(self.optimizer.gradient_KP.copy_(ours_KP))
        for name in filter(self._learns, found):
            theirs_KP = self.tensors[name].detach().cpu()
            if name == "weights":
                sizes_KP = self._layer_sizes(theirs_KP - old_KP)
                tolerance_KP = UPDATE * sizes_KP + UNITS * torch.maximum(theirs_KP.abs(), old_KP.abs())
                tolerance_KP += 2 * sizes_KP * self.optimizer.jumps_between(before[self.first], found[self.first])
            else:
                tolerance_KP = MOMENT * self._layer_sizes(theirs_KP)
            if difference := _worst(_spelled(name), found[name] - theirs_KP, tolerance_KP, lanes_K):
                return difference
        return ""

    def _layer_sizes(self, values_KP: Tensor) -> Tensor:
        """The largest absolute value of each entry's layer in its lane, [K, P]."""
        largest = [
            part.abs().amax(dim=1, keepdim=True).expand_as(part) for part in torch.split(values_KP, self.layer_sizes, dim=1)
        ]
        return torch.cat(largest, dim=1)


def _skips(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> Tensor:
    """Whether dynamic loss scaling skipped a lane's update, [K]."""
    return after["scaler.scale"] < before["scaler.scale"]


def _spelled(name: str) -> str:
    """A tensor's name in words, such as "optimizer's second"."""
    owner, _, tensor = name.partition(".")
    return f"{owner}'s {tensor.replace('_', ' ')}" if tensor else owner


def _worst(name: str, difference_KN: Tensor, tolerance_KN: Tensor, lanes_K: Tensor) -> str:
    """The entry that is furthest beyond its tolerance in lanes that count, in words; '' if none is beyond it."""
    excess_KN = difference_KN.abs() - tolerance_KN
    excess_KN[~lanes_K] = -math.inf
    # Not `> 0`: a difference that is not a number is beyond any tolerance.
    if bool((excess_KN <= 0).all()):
        return ""
    lane, entry = divmod(int(excess_KN.nan_to_num(nan=math.inf).argmax()), excess_KN.shape[1])
    off, allowed = float(difference_KN[lane, entry].abs()), float(tolerance_KN[lane, entry])
    return f"the {name} of lane {lane} is off by {off:.2g} where rounding allows {allowed:.2g}"
