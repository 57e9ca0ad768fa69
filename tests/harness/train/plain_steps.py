"""Small packs in every variant of a plain step, and comparisons of a program with the eager step along their training."""

import json
import sys
from typing import Any

import numpy as np
import pytest
import torch

from folklore.harness.declare import Configuration, Measurement, Training, Workload
from folklore.harness.declare.configuration import OPTIMIZERS
from folklore.harness.train import programs
from folklore.harness.train.agreement import Agreement, Step, StepCheck
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.programs import Program
from folklore.harness.train.workloads.data import Dataset, tokenize

MEASUREMENT = Measurement(probes=2, evaluations=2, evaluation_examples=8, final_examples=8)
GPT = Workload(width=8, depth=1, heads=2, context=8)
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {"optimizer": name} for name in OPTIMIZERS},
    "adamw": {"clip_norm": 0.5},
    "adam": {"optimizer": "adam", "second_moment_start": "first_gradient"},
    "sgd": {"optimizer": "sgd", "nesterov": True},
    "dropout": {"dropout": 0.2},
    "sgd takes over": {"optimizer": "adam", "sgd_from": 0.5},
    "bf16": {"precision": "bf16"},
    "fp8": {"precision": "fp8"},
    "dynamic scaling": {"precision": "fp16", "loss_scaling": "dynamic"},
}


def lanes(workload: Workload = GPT, **training: Any) -> list[Lane]:
    settings = {"steps": 20, "batch_size": 4, **training}
    return [
        Lane(Configuration(workload=workload, training=Training(**settings, peak_lr=lr), measurement=MEASUREMENT), seed)
        for seed, lr in enumerate((2.0**-8, 2.0**-6))
    ]


class AtEveryStep:
    """A check that goes on for as long as a training does. Each step starts where an eager one ended: nothing adds up."""

    def __init__(self, check: StepCheck):
        self.check, self.calls, self.settled, self.differences = check, 0, 0, list[str]()

    def __call__(self, eager: Step, program: Step) -> Agreement:
        verdict = self.check(eager, program)
        self.calls += 1
        self.settled += verdict.settled
        self.differences += [verdict.difference] if verdict.difference else []
        return Agreement(settled=False)


def compared_at_every_step(
    chosen: list[Lane], dataset: Dataset, program: Program, device: str = "cpu"
) -> tuple[Pack, AtEveryStep]:
    """A trained pack whose plain steps were all compared with eager ones, except those that prepare a capture."""
    pack = Pack(chosen, dataset, device, program)
    check = AtEveryStep(pack._step_check())
    pack.runner.check = pack.runner.check_of_capture = check
    pack.advance()
    return pack, check


def reordered(pack: Pack) -> None:
    """A correct step that rounds otherwise: the examples of each batch in another order."""
    with torch.no_grad():
        pack._draws.copy_(pack._draws.flip(2))
    pack._plain_step()
    pack._draws.copy_(pack._draws.flip(2))


def larger_update(pack: Pack) -> None:
    before_KP = pack.network.flat_KP.clone()
    pack._plain_step()
    pack.network.flat_KP.copy_(before_KP + 1.01 * (pack.network.flat_KP - before_KP))


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes compiled steps multiply every update by 1.01."""

    def faulty(step: Any) -> Step:
        pack = step.__self__
        return lambda: larger_update(pack)

    monkeypatch.setattr(programs, "compiled", faulty)
    monkeypatch.setattr(programs, "missing_compiler", lambda device: "")


def main(variant: str) -> None:
    """Prints as JSON how a compiled program differs, for a process of its own."""
    torch.set_num_threads(1)
    symbols = np.random.default_rng(7).integers(97, 97 + 17, 60_000)
    text = tokenize("random", bytes(symbols.tolist()))
    pack, check = compared_at_every_step(lanes(**VARIANTS[variant]), text, Program(compiled=True))
    print(json.dumps({"program": pack.runner.program.name, "differences": check.differences}))


if __name__ == "__main__":
    main(sys.argv[1])
