"""The result of one lane when its pack is done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..declare.curves import CURVES
from ..declare.curves.curve import EVALUATION_STEP, PROBE_STEP, STEP
from ..declare.curves.roughness import rises, spikes, squared_changes

if TYPE_CHECKING:
    from .probes.base import Probe

Numbers = NDArray[np.float64]

# The final training loss is a mean over this share of the steps.
FINAL_SHARE = 0.05
# Where these are recorded, a run's start and end are losses of one sample of training examples.
ENDS = ("initial_training_sample", "last_training_sample")
# Losses of the starting weights by what the loss measures at the end, where that changes: of the sample of training examples,
# and of that of `initial_loss`. nan where the two are the same by construction; infinite where the loss may rise.
AGAIN = ("initial_training_sample_again", "initial_loss_again")
# Records of every step: the loss of its batch and, where it was asked for, the norm of its gradient before clipping.
LOSSES, NORMS = "train_loss", "train_gradient_norm"


@dataclass(frozen=True)
class LaneResult:
    """Losses in nats. Numbers of a run that stopped being finite are nan; `outcome` says so, nothing is left out.

    accuracies: shares of the targets, None where targets are no classes. final_training_loss, final_training_accuracy: of
    fixed training examples in eval mode, None where they were not asked for; train_loss is that of the last batches.
    program: what plain steps were run as. program_note: why that is not what was asked for. step_seconds: median time of a
    step that is neither probed nor the first; of lanes that are trained alone.
    curves: name -> values, and layer_curves: name -> [probes, layers] or what else they go across; curves.py says what each
    is, and which of them are the steps that it belongs to.
    """

    outcome: Literal["finished", "diverged"]
    divergence_step: int | None
    initial_loss: float
    train_loss: float
    validation_loss: float
    test_loss: float
    lanes: int
    program: str
    program_note: str | None
    examples_per_second: float
    seconds: float
    peak_memory_bytes: int
    step_seconds: float | None
    layers: tuple[str, ...]
    taps: tuple[str, ...]
    curves: dict[str, list[float]] = field(repr=False)
    layer_curves: dict[str, list[list[float]]] = field(repr=False)
    initial_accuracy: float | None = None
    validation_accuracy: float | None = None
    test_accuracy: float | None = None
    final_training_loss: float | None = None
    final_training_accuracy: float | None = None


def lane_result(
    records: dict[str, Numbers],
    lr: Numbers,
    probes: Sequence["Probe"],
    curve_points: int,
    probe_steps: Sequence[int],
    evaluation_steps: Sequence[int],
    **of_pack: Any,
) -> LaneResult:
    """Reduce one lane's records (leading axis: steps, probes or evaluations) to what is kept. of_pack: what lanes of a
    pack have in common, as LaneResult has it."""
    train_loss = records["train_loss"]
    final = float(records["test_loss"])
    start, end = (float(records[name]) for name in ends(records))
    tail = train_loss[-max(1, round(FINAL_SHARE * len(train_loss))) :]
    diverged = not np.isfinite(train_loss).all() or bool(has_left(np.float64(start), np.float64(end), records))
    norms = [records[NORMS]] if NORMS in records else []
    recorded = [curve for probe in probes for curve in probe.curves if not curve.derived]
    evaluated = [curve for curve in CURVES if curve.steps == EVALUATION_STEP and curve.name in records]
    step, kept_loss, kept_lr, kept_spikes, squares, kept_rises, *kept_norms = binned(
        curve_points, train_loss, lr, spikes(train_loss), squared_changes(train_loss), rises(train_loss), *norms
    )
    return LaneResult(
        outcome="diverged" if diverged else "finished",
        divergence_step=divergence_step(train_loss, start) if diverged else None,
        initial_loss=_initial_loss(records),
        train_loss=float(tail.mean()),
        validation_loss=float(records["validation_loss"]),
        test_loss=final,
        **of_pack,
        curves={
            STEP: step,
            "train_loss": kept_loss,
            "lr": kept_lr,
            "train_loss_spikes": kept_spikes,
            "train_loss_swing": np.sqrt(squares).tolist(),
            "train_loss_rises": kept_rises,
            **dict(zip([NORMS], kept_norms, strict=False)),
            EVALUATION_STEP: [index + 1.0 for index in evaluation_steps],
            **{curve.name: records[curve.name].tolist() for curve in evaluated},
            PROBE_STEP: [index + 1.0 for index in probe_steps],
            **{curve.name: records[curve.name].tolist() for curve in recorded if not curve.across},
            **{name: values for probe in probes for name, values in probe.derived(records).items()},
        },
        layer_curves={curve.name: records[curve.name].tolist() for curve in recorded if curve.across},
        initial_accuracy=_last(records, "initial_accuracy"),
        validation_accuracy=_last(records, "validation_accuracy"),
        test_accuracy=_last(records, "test_accuracy"),
        final_training_loss=_last(records, "evaluation_training_loss"),
        final_training_accuracy=_last(records, "evaluation_training_accuracy"),
    )


def ends(records: Mapping[str, object]) -> tuple[str, str]:
    """The records of a run's start and end that its divergence is judged by."""
    return ENDS if ENDS[0] in records else ("initial_loss", "test_loss")


def has_left(start: Any, end: Any, records: Mapping[str, object]) -> Any:
    """Whether the end is above the start; of two different samples, where it is not below. Where it may measure something
    else at the end, such as the distance to a queue that has filled, the start is measured by that, too."""
    if ENDS[0] not in records:
        return ~(end < start)
    risen = ~(end <= start)
    return risen & ~(end <= records[AGAIN[0]]) if AGAIN[0] in records else risen


def _initial_loss(records: Mapping[str, Numbers]) -> float:
    """The loss that a diverged run counts with: its loss at initialization, measured as at the end if it ends above that; the
    highest that was evaluated if the loss may rise."""
    initial, again = float(records["initial_loss"]), float(records.get(AGAIN[1], np.float64(np.nan)))
    if np.isposinf(again):
        names = ("initial_loss", "evaluation_loss", "validation_loss", "test_loss")
        losses = np.concatenate([np.atleast_1d(records[name]) for name in names])
        return float(losses[np.isfinite(losses)].max(initial=initial))
    start, end = (records[name] for name in ends(records))
    return initial if bool(end <= start) else float(np.fmax(initial, again))


def _last(records: dict[str, Numbers], name: str) -> float | None:
    """A record's only value or its last one; None where there is no such record."""
    return float(np.atleast_1d(records[name])[-1]) if name in records else None


def divergence_step(train_loss: Numbers, initial_loss: float) -> int:
    """The first step (from 1) from which the loss never again falls below the loss at initialization.

    A loss that is not finite does not count as below. The last step at the latest: a run may end above its start on
    held-out text while single training batches are still below it.
    """
    below = np.flatnonzero(np.isfinite(train_loss) & (train_loss < initial_loss))
    return int(min(len(train_loss), (below[-1] + 2) if len(below) else 1))


def binned(points: int, *curves: Numbers) -> tuple[list[float], ...]:
    """The last step of each of at most this many bins, then each curve's means over the bins."""
    steps = len(curves[0])
    edges = np.unique(np.linspace(0, steps, min(steps, points) + 1).round().astype(int))
    means = [[float(part.mean()) for part in np.split(curve, edges[1:-1])] for curve in curves]
    return ([float(edge) for edge in edges[1:]], *means)
