"""The key of a plain step's operations: a program that agreed with the eager step under a key is known to agree under it,
in other packs of the same shape on the same kind of machine.

Hyper-parameters are tensors, and no operation depends on their values. But a step's code asks whether any lane clips, decays
or holds its ramp; and settings that a shape key leaves out, because a step costs the same whatever they are, can change what
is computed. Flags are read off the objects that make the step, so that those of a new optimizer or procedure join by
themselves.

A capture replays the kernels that the eager step launches. What it could freeze by mistake is in the code and not in the
number of lanes: packs of several lanes share a key. A compiler writes other code for other sizes: each is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..declare import Configuration, Spec, canonical_json
from ..declare.base import Mark, marked
from .learner import Learner
from .optimizers.base import PackedOptimizer
from .procedures import Procedure
from .programs import Program


def step_key(
    lanes: Sequence[Configuration],
    program: Program,
    learner: Learner,
    procedure: Procedure,
    drawn: Sequence[int],
    data_hash: str,
) -> str:
    """The key of a step, as canonical JSON. drawn: sizes of a draw, [steps, K, B]."""
    first, multiplier = lanes[0], learner.lr_multiplier
    compiled = {"lanes": len(lanes), "steps": first.training.steps}
    return canonical_json(
        {
            "program": program.name,
            "device": learner.clock.device.type,
            "sizes": compiled if program.compiled else {"lanes": "one" if len(lanes) == 1 else "several"},
            "data": data_hash,
            "draw": [drawn[0], drawn[2]],
            "workload": _left_out(first.workload),
            "training": _left_out(first.training),
            "clips": learner.clip_limit_K is not None,
            "drops": learner.network.drop is not None,
            "learning rates": 0 if multiplier is None else multiplier.ndim,
            "optimizer": _flags(learner.optimizer),
            "procedure": _flags(procedure),
        }
    )


def _left_out(part: Spec) -> dict[str, Any]:
    """Settings that lanes share and a shape key leaves out, but for the number of steps."""
    return part.model_dump(mode="json", include=set(marked(type(part), Mark.COSTS_NOTHING)) - {"steps"})


def _flags(thing: object) -> dict[str, Any]:
    """Its class, its flags and whole numbers, and those of its parts."""
    flags: dict[str, Any] = {"class": type(thing).__name__}
    for name, value in vars(thing).items():
        if isinstance(value, bool | int):
            flags[name] = value
        elif isinstance(value, PackedOptimizer) or name == "inner":
            flags[name] = _flags(value)
    return flags | ({"decays": thing.decays_any} if isinstance(thing, PackedOptimizer) else {})
