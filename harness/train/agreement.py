"""Checks that a program does what the eager step does: one step of each from equal states, entry by entry.

Stated rounding, a bound for any correct order of operations in a number format:
- Loss of a lane: the format's `loss` of itself, or of 1 nat if it is smaller.
- Gradient: in each entry the format's `gradient` of the largest entry of its layer in its lane (and a 64th of that of the
  largest of the lane: what cancels in a layer was rounded before), `of_vectors` times that for gains and biases. Every step
  leaves its gradient, after clipping, in the optimizer's `gradient_KP`: moments may stand still and show none.
- All the rest of a step is FP32: from the program's own gradient the eager optimizer must arrive at the program's
  parameters, up to 4 units in the last place and `UPDATE` of the layer's largest update, and at its moments, up to `MOMENT`
  of the layer's largest. So Adam, which turns the rounding of a gradient near zero into a whole step, needs no wider bound.
  Where an update jumps, as one that is a sign does at zero, it may lie on either side.
- Everything else, such as clock, loss scales and records of other steps: equal.

All of it is computed where the tensors lie, and the host waits once, for a few numbers of each lane and layer.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from .learner import Learner
from .precisions import precision_named

Step = Callable[[], None]

OF_THE_LANE = 1 / 64
UPDATE, MOMENT, UNITS = 2**-10, 2**-16, 4 * 2**-23
FINITE = {True: "finite", False: "not finite"}
# Dynamic loss scaling looks for the edge of FP16: of two correct steps one may overflow there, but not time after time.
MOST_DOUBTS = 2
# Loss scales are halved until a lane's gradient is finite; from 2^40 down that takes fewer steps.
MOST_CALLS = 64
# Entries of all lanes that are compared together: on a CPU temporaries stay in its cache, on a GPU one kernel does much.
PIECE_ENTRIES = {"cpu": 2**17, "cuda": 2**24}
LEAST_COLUMNS = 2**8
LOSSES = "record.train_loss"
# Of gradients that are compared themselves.
NORMS = "record.train_gradient_norm"


@dataclass(frozen=True)
class Agreement:
    """difference: what differs and by how much, '' if nothing does. settled: whether there is nothing left to wait for.
    proven: whether whole steps of all lanes that can move were seen to agree, so that it can be remembered."""

    settled: bool = True
    difference: str = ""
    proven: bool = False


class StepCheck:
    """Takes steps of a training both ways, by a program and eagerly; the state that the eager one leaves is kept.

    tensors: all that a training holds, by the names of `Pack.state` and `clock`. While a step is checked, copies of these lie
    beside them, and of the weights, moments and gradient that the program made.
    """

    def __init__(self, tensors: Mapping[str, Tensor], learner: Learner, precision: str):
        self.tensors, self.learner, self.optimizer = tensors, learner, learner.optimizer
        self.format = precision_named(precision)
        self.learned = [name for name in tensors if name == "weights" or name.startswith("optimizer.")]
        self.scaler = [name for name in tensors if name.startswith("scaler.")]
        self.still = [name for name in tensors if name not in {*self.learned, *self.scaler, LOSSES, NORMS, "clock"}]
        self.pieces, self.layer_of_piece = _pieces(learner.network.layer_sizes, tensors["weights"])
        vectors = 1 / self.format.of_vectors
        self.counts_P = None if vectors == 1 else torch.where(learner.network.decays_P > 0, 1.0, vectors)
        lanes = len(tensors["weights"])
        self.moved_K, self.diverged_K = (torch.zeros(lanes, dtype=torch.bool) for _ in range(2))
        self.doubts_K = torch.zeros(lanes)
        self.calls = 0

    @torch.no_grad()
    def __call__(self, eager: Step, program: Step) -> Agreement:
        self.calls += 1
        with _put_back_on_failure(self.tensors) as before:
            statistics = self._by_program(program, before)
            _put_back(self.tensors, before)
            with torch.enable_grad():
                eager()
            statistics |= self._of_eager(before, statistics.pop("gradient"))
            numbers = _on_host(statistics, len(before["weights"]))
        difference = self._difference(numbers)
        waits_K = ~(self.moved_K | self.diverged_K)
        # A lane whose LR is zero shows no update; the same operations in a lane that moves stand for it.
        shown = bool(self.moved_K.any())
        done = not waits_K.any() or (shown and not (waits_K & (numbers["rate"][:, 0] > 0)).any())
        return Agreement(done or self.calls >= MOST_CALLS, difference, done and shown)

    def _by_program(self, program: Step, before: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Takes the program's step, and compares it with the eager optimizer's update by the same gradient."""
        gradient_KP = self.optimizer.gradient_KP.fill_(math.nan)  # an earlier step's gradient is not the program's
        with torch.enable_grad():
            program()
        statistics = self._of_step("", before) | self._of_all_that_stays(before)
        statistics["gradient"] = gradient_KP.clone()
        made = {name: self.tensors[name].clone() for name in self.learned}
        _put_back(self.tensors, before)
        jumps_KP = self.optimizer.jumps(gradient_KP)
        self.learner.update(gradient_KP)
        statistics |= self._of_weights(made.pop("weights"), before["weights"], jumps_KP)
        for name, ours_KP in made.items():
            statistics[f"{name} size"] = self._largest(self.tensors[name])
            statistics[f"{name} off"] = self._largest(_minus(ours_KP, self.tensors[name]))
        return statistics

    def _of_step(self, whose: str, before: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The results of a step beside weights and moments, at most one number a lane each."""
        values = {"loss": self.tensors[LOSSES].index_select(0, before["clock"]).t(), "clock": self.tensors["clock"]}
        values |= {name: self.tensors[name].unsqueeze(1) for name in self.scaler}
        return {whose + name: value.clone() for name, value in values.items()}

    def _of_all_that_stays(self, before: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Whether anything has changed that a step leaves alone."""
        changes = {f"{name} changed": _differ(self.tensors[name], before[name]).any() for name in self.still}
        rows = torch.arange(len(before[LOSSES]), device=before[LOSSES].device)
        others = _differ(self.tensors[LOSSES], before[LOSSES]).any(dim=1) & (rows != before["clock"])
        changes[f"{LOSSES} changed"] = others.any()
        if self.learner.scaler.skips:
            moved = {name: _differ(self.tensors[name], before[name]).any(dim=1, keepdim=True) for name in self.learned}
            changes |= {f"{name} moved": moved_K1 for name, moved_K1 in moved.items()}
        return changes

    def _of_weights(self, ours_KP: Tensor, old_KP: Tensor, jumps_KP: Tensor | None) -> dict[str, Tensor]:
        """How far they are off, beyond some units in the last place; also where the update jumps, if it does."""
        theirs_KP = self.tensors["weights"]

        def off(at: slice) -> Tensor:
            theirs, old = theirs_KP[:, at], old_KP[:, at]
            units = torch.maximum(theirs.abs(), old.abs()).mul_(UNITS)
            return (ours_KP[:, at] - theirs).abs_().sub_(units).clamp_(min=0)

        offsets = {"weights size": self._largest(lambda at: theirs_KP[:, at] - old_KP[:, at])}
        if jumps_KP is None:
            return offsets | {"weights off": self._largest(off)}
        smooth = self._largest(lambda at: off(at).mul_(~jumps_KP[:, at]))
        return offsets | {"weights off": smooth, "jumps off": self._largest(off)}

    def _of_eager(self, before: Mapping[str, Tensor], ours_KP: Tensor) -> dict[str, Tensor]:
        """The results of the eager step, and the program's gradient compared with its own."""
        theirs_KP = self.optimizer.gradient_KP
        return {
            **self._of_step("eager ", before),
            "old scale": before["scaler.scale"].unsqueeze(1),
            "rate": before["lr"].index_select(0, before["clock"]).t(),
            "eager state": torch.cat([self._largest(self.tensors[name]) for name in self.learned], dim=1),
            "gradient size": self._largest(theirs_KP),
            "gradient off": self._largest(_minus(ours_KP, theirs_KP, self.counts_P)),
        }

    def _largest(self, values: Tensor | Callable[[slice], Tensor]) -> Tensor:
        """The largest absolute value of each lane and piece, [K, pieces]; nan if one is nan."""
        at = values if callable(values) else lambda piece: values[:, piece]
        return torch.stack([at(piece).abs().amax(dim=1) for piece in self.pieces], dim=1)

    def _difference(self, numbers: Mapping[str, Tensor]) -> str:
        """The first difference beyond its tolerance, in words, or ''; also notes which lanes could be compared."""
        skipped_K, skips_K = (numbers[f"{whose}scaler.scale"][:, 0] < numbers["old scale"][:, 0] for whose in ("eager ", ""))
        theirs_K = numbers["eager state"].isfinite().all(dim=1) & (numbers["eager loss"][:, 0].isfinite() | skipped_K)
        compared = [numbers[f"{name} {what}"] for name in self.learned for what in ("size", "off")]
        ours_K = torch.cat(compared, dim=1).isfinite().all(dim=1) & (numbers["loss"][:, 0].isfinite() | skips_K)
        if not torch.equal(theirs_K, ours_K):
            lane = int((theirs_K != ours_K).int().argmax())
            return f"lane {lane} is {FINITE[bool(ours_K[lane])]}, and eagerly {FINITE[bool(theirs_K[lane])]}"
        at_odds_K = skipped_K != skips_K
        self.doubts_K += at_odds_K
        if (self.doubts_K > MOST_DOUBTS).any():
            return f"the gradient of lane {int(self.doubts_K.argmax())} overflows at other steps than the eager one"
        updated_K = theirs_K & ~skipped_K & ~skips_K
        # A lane that has diverged has nothing more to show; one that skips an update is waited for.
        self.diverged_K |= ~theirs_K
        self.moved_K |= updated_K & (numbers["rate"][:, 0] > 0)
        return (
            _loss_difference(numbers["loss"][:, 0], numbers["eager loss"][:, 0], self.format.loss, ~at_odds_K)
            or self._of_all_else(numbers, at_odds_K, skipped_K & skips_K)
            or self._of_learning(numbers, updated_K)
        )

    def _of_all_else(self, numbers: Mapping[str, Tensor], at_odds_K: Tensor, skipped_K: Tensor) -> str:
        """The first of the tensors that do not learn in this step and must be equal, but are not; in words, or ''."""
        changed = [name for name in (*self.still, LOSSES) if numbers[f"{name} changed"].any()]
        unequal_K = {name: (numbers[name] != numbers[f"eager {name}"])[:, 0] for name in ("clock", *self.scaler)}
        unequal = [name for name, each_K in unequal_K.items() if (each_K & ~at_odds_K).any()]
        moved = [name for name in self.learned if skipped_K.any() and numbers[f"{name} moved"][skipped_K].any()]
        return next((f"the {_spelled(name)} is not equal" for name in (*changed, *unequal, *moved)), "")

    def _of_learning(self, numbers: Mapping[str, Tensor], lanes_K: Tensor) -> str:
        """Gradients, then what the optimizer made of the program's own gradient."""
        sizes_KN = self._of_layers(numbers["gradient size"])
        tolerance_KN = self.format.gradient * (sizes_KN + OF_THE_LANE * sizes_KN.amax(dim=1, keepdim=True))
        if difference := _worst("gradient", numbers["gradient off"], tolerance_KN, lanes_K):
            return difference
        for name in self.learned:
            share, sizes_KN = UPDATE if name == "weights" else MOMENT, self._of_layers(numbers[f"{name} size"])
            if difference := _worst(_spelled(name), numbers[f"{name} off"], share * sizes_KN, lanes_K):
                return difference
            if name == "weights" and "jumps off" in numbers:
                difference = _worst(name, numbers["jumps off"], (UPDATE + 2) * sizes_KN, lanes_K)
            if difference:
                return difference
        return ""

    def _of_layers(self, values_KN: Tensor) -> Tensor:
        """The largest value of each piece's layer, [K, pieces]."""
        layer_KN = torch.tensor(self.layer_of_piece).expand_as(values_KN)
        largest = torch.zeros_like(values_KN).scatter_reduce(1, layer_KN, values_KN, "amax")
        return largest.gather(1, layer_KN)


class LossCheck:
    """Compares the losses of a program that is known to agree with those of the eager network.

    A program of the same operations can still read memory that is not this pack's, or not any more. The check costs a
    forward and a backward pass. losses: of the step to come, [K]; tensors: as of StepCheck.
    """

    def __init__(self, tensors: Mapping[str, Tensor], losses: Callable[[], Tensor], precision: str):
        self.tensors, self.losses, self.tolerance = tensors, losses, precision_named(precision).loss

    @torch.no_grad()
    def __call__(self, eager: Step, program: Step) -> Agreement:
        with _put_back_on_failure(self.tensors) as before:
            with torch.enable_grad():
                theirs_K = self.losses()
                program()
            ours_K = self.tensors[LOSSES].index_select(0, before["clock"])[0]
            ours_K, theirs_K = torch.stack([ours_K, theirs_K]).double().cpu()
            difference = _loss_difference(ours_K, theirs_K, self.tolerance, torch.ones_like(ours_K, dtype=torch.bool))
            if difference:
                _put_back(self.tensors, before)
                with torch.enable_grad():
                    eager()
        return Agreement(difference=difference)


@contextmanager
def _put_back_on_failure(tensors: Mapping[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    """Copies of the tensors; nothing remains of a step that fails inside."""
    before = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    try:
        yield before
    except BaseException:
        _put_back(tensors, before)
        raise


def _put_back(tensors: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        tensor.copy_(before[name])


def _pieces(layer_sizes: Sequence[int], flat_KP: Tensor) -> tuple[list[slice], list[int]]:
    """Slices of the flat buffer, none of which reaches beyond a layer, and the layer of each."""
    most = max(LEAST_COLUMNS, PIECE_ENTRIES.get(flat_KP.device.type, PIECE_ENTRIES["cpu"]) // len(flat_KP))
    pieces, layers, start = list[slice](), list[int](), 0
    for layer, size in enumerate(layer_sizes):
        layer_pieces = [slice(first, min(first + most, start + size)) for first in range(start, start + size, most)]
        pieces, layers, start = pieces + layer_pieces, layers + [layer] * len(layer_pieces), start + size
    return pieces, layers


def _minus(ours_KP: Tensor, theirs_KP: Tensor, counts_P: Tensor | None = None) -> Callable[[slice], Tensor]:
    """The difference in a piece, times counts_P if given."""

    def difference(at: slice) -> Tensor:
        offset_KP = ours_KP[:, at] - theirs_KP[:, at]
        return offset_KP if counts_P is None else offset_KP.mul_(counts_P[at])

    return difference


def _differ(ours: Tensor, theirs: Tensor) -> Tensor:
    """Where two tensors differ in their bits, so that what is not a number can be equal."""
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    return torch.ne(
        *(tensor.view(bits[tensor.itemsize]) if tensor.is_floating_point() else tensor for tensor in (ours, theirs))
    )


def _on_host(statistics: Mapping[str, Tensor], lanes: int) -> dict[str, Tensor]:
    """All numbers in one transfer, [K, ...] each and float64; those that lanes share are repeated."""
    columns = {
        name: statistic.expand(lanes, -1) if statistic.ndim == 2 else statistic.expand(lanes, 1)
        for name, statistic in statistics.items()
    }
    together = torch.cat([column.double() for column in columns.values()], dim=1).cpu()
    return dict(zip(columns, torch.split(together, [column.shape[1] for column in columns.values()], dim=1), strict=True))


def _spelled(name: str) -> str:
    """A tensor's name in words, such as "optimizer's second"."""
    owner, _, tensor = name.partition(".")
    return f"{owner}'s {tensor.replace('_', ' ')}" if tensor else owner


def _loss_difference(ours_K: Tensor, theirs_K: Tensor, tolerance: float, lanes_K: Tensor) -> str:
    """The largest difference of losses in lanes that count, as of `_worst`; two losses that are both not finite are equal."""
    lanes_K = lanes_K & (ours_K.isfinite() | theirs_K.isfinite())
    return _worst("loss", (ours_K - theirs_K)[:, None], tolerance * theirs_K.abs().clamp(min=1.0)[:, None], lanes_K)


def _worst(name: str, off_KN: Tensor, tolerance_KN: Tensor, lanes_K: Tensor) -> str:
    """The entry furthest beyond its tolerance in lanes that count, in words; '' if none is beyond it."""
    excess_KN = off_KN.abs() - tolerance_KN
    excess_KN[~lanes_K] = -math.inf
    # Not `> 0`: a difference that is not a number is beyond any tolerance.
    if bool((excess_KN <= 0).all()):
        return ""
    lane, place = divmod(int(excess_KN.nan_to_num(nan=math.inf).argmax()), excess_KN.shape[1])
    off, allowed = float(off_KN[lane, place].abs()), float(tolerance_KN[lane, place])
    return f"the {name} of lane {lane} is off by {off:.2g} where rounding allows {allowed:.2g}"
