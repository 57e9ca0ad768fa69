"""A plain step as a program: compiled it does what it does eagerly, and what a capture could not replay it does not do."""

import gc
import shutil
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.data import load
from harness.data.text import Text
from harness.errors import UserError
from harness.spec import Configuration, Measurement, Training, Workload
from harness.training import programs
from harness.training.pack import Lane, Pack
from harness.training.programs import EAGER, Program, StepRunner, default_program, program_named

CPU = torch.device("cpu")
MEASUREMENT = Measurement(probes=2, evaluations=2, evaluation_examples=8, final_examples=8)
GPT = Workload(width=8, depth=1, heads=2, context=8)
TOLERANCE_NATS = 2e-4
# Each waits for the device, or copies from the host: a capture would fail on it, or replay what it once read.
FORBIDDEN = {
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.lift_fresh.default,
    torch.ops.aten.nonzero.default,
    torch.ops.aten.masked_select.default,
    torch.ops.aten.equal.default,
}


def lanes(workload: Workload = GPT, **training: Any) -> list[Lane]:
    settings = {"steps": 20, "batch_size": 4, **training}
    return [
        Lane(Configuration(workload=workload, training=Training(**settings, peak_lr=lr), measurement=MEASUREMENT), seed)
        for seed, lr in enumerate((2.0**-8, 2.0**-6))
    ]


VARIANTS: dict[str, dict[str, Any]] = {
    "adamw": {"clip_norm": 0.5},
    "adam": {"optimizer": "adam", "second_moment_start": "first_gradient"},
    "radam": {"optimizer": "radam"},
    "sgd": {"optimizer": "sgd", "nesterov": True},
    "bf16": {"precision": "bf16"},
    "fp8": {"precision": "fp8"},
    "dynamic scaling": {"precision": "fp16", "loss_scaling": "dynamic", "scale_growth_interval": 3},
}


class Watch(TorchDispatchMode):
    """Notes every operation that a capture could not hold."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in FORBIDDEN:
            self.found.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_plain_step_could_be_captured(variant: str, text: Text) -> None:
    pack = Pack(lanes(**VARIANTS[variant]), text)
    pack.advance(0.0)
    pack._draw()
    with Watch() as watch:
        pack._plain_step()
    assert watch.found == []


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_a_plain_step_on_images_could_be_captured(model: str) -> None:
    workload = Workload.model_validate({"model": model, "dataset": "digits", "width": 8, "depth": 1})
    pack = Pack(lanes(workload), load("digits"))
    pack._draw()
    with Watch() as watch:
        pack._plain_step()
    assert watch.found == []


def test_the_watch_sees_what_it_watches_for() -> None:
    with Watch() as watch:
        float(torch.ones(1))
        torch.tensor([1.0])
    assert len(watch.found) == 2


@pytest.mark.skipif(programs.missing_compiler(CPU) != "", reason="no compiler here")
@pytest.mark.parametrize("variant", ["adamw", "dynamic scaling"])
def test_compiled_lanes_are_the_eager_ones(variant: str, text: Text) -> None:
    chosen = lanes(**VARIANTS[variant])
    curves = {}
    for program in (EAGER, Program(compiled=True)):
        pack = Pack(chosen, text, program=program)
        pack.advance()
        assert pack.runner.program == program
        assert {result.program for result in pack.results()} == {program.name}
        curves[program.name] = pack.records["train_loss"].numpy()
    assert np.abs(curves["compiled"] - curves["eager"]).max() < (TOLERANCE_NATS if variant == "adamw" else 5e-3)


@pytest.fixture
def nothing_to_compile_with(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    programs.missing_compiler.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    yield
    programs.missing_compiler.cache_clear()


@pytest.mark.usefixtures("nothing_to_compile_with")
def test_without_a_compiler_packs_run_eagerly_and_say_so(text: Text, caplog: pytest.LogCaptureFixture) -> None:
    pack = Pack(lanes(), text, program=Program(compiled=True))
    pack.advance()
    assert pack.results()[0].program == "eager"
    assert [record.message for record in caplog.records] == [
        "packs run eagerly: there is no C++ compiler (g++ or clang++) on this machine"
    ]


def test_a_compilation_that_fails_costs_no_step(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(step: Any, **options: Any) -> Any:
        def fail() -> None:
            raise RuntimeError("lowering failed\nwith a long story")

        return fail

    monkeypatch.setattr(torch, "compile", broken)
    monkeypatch.setattr(programs, "missing_compiler", lambda device: "")
    steps: list[int] = []
    runner = StepRunner(lambda: steps.append(1), Program(compiled=True), CPU)
    for _ in range(3):
        runner()
    assert len(steps) == 3
    assert runner.program == EAGER
    assert len(caplog.records) == 1


def test_names() -> None:
    assert program_named("eager", CPU) == EAGER
    assert program_named("compiled", CPU) == Program(compiled=True)
    assert program_named("compiled and captured", torch.device("cuda")) == Program(True, True)
    assert default_program(CPU) == EAGER
    assert default_program(torch.device("cuda")) == Program(captured=True)
    with pytest.raises(UserError, match="program 'fast' is not known; choose one of: eager, captured, compiled"):
        program_named("fast", CPU)
    with pytest.raises(UserError, match="program 'captured' needs a CUDA GPU"):
        program_named("captured", CPU)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("variant", [*VARIANTS, "tf32"])
def test_captured_lanes_are_the_eager_ones(variant: str, text: Text) -> None:
    chosen = lanes(**VARIANTS.get(variant, {"precision": "tf32"}))
    curves = {}
    for program in (EAGER, Program(captured=True)):
        pack = Pack(chosen, text, "cuda", program)
        pack.advance()
        assert pack.runner.program == program
        curves[program.name] = pack.records["train_loss"].cpu().numpy()
    assert np.abs(curves["captured"] - curves["eager"]).max() < TOLERANCE_NATS


class Graphs:
    """Stands in for what torch needs a GPU for: a capture runs nothing, a replay runs what was captured."""

    def __init__(self, step: Any, fails: bool = False):
        self.step, self.fails = step, fails

    def install(self, monkeypatch: pytest.MonkeyPatch) -> "Graphs":
        monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: self)
        monkeypatch.setattr(torch.cuda, "graph", lambda graph: graph)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device: "current")
        monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: None)
        monkeypatch.setattr(StepRunner, "_beside", lambda runner: runner.run())
        return self

    def __enter__(self) -> None:
        self.step.counts = False

    def __exit__(self, *exception: object) -> None:
        self.step.counts = True
        if self.fails:
            raise RuntimeError("operation not permitted when stream is capturing")

    def replay(self) -> None:
        self.step()


class Counted:
    """A step; while it is captured it does nothing."""

    def __init__(self) -> None:
        self.steps, self.counts = 0, True

    def __call__(self) -> None:
        self.steps += self.counts


@pytest.mark.parametrize("fails", [False, True])
def test_every_call_is_one_step_and_the_preparing_ones_are_told_apart(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Counted()
    Graphs(step, fails).install(monkeypatch)
    runner, settled = StepRunner(step, Program(captured=True), CPU), []
    for call in range(1, 8):
        settled.append(runner.settled)
        runner()
        assert step.steps == call
    assert settled == [False] * 4 + [True] * 3
    assert runner.program.name == ("eager" if fails else "captured")


def test_a_compiled_program_is_settled_after_its_first_call() -> None:
    runner = StepRunner(Counted(), EAGER, CPU)
    assert runner.settled
    runner.program = Program(compiled=True)
    assert not runner.settled
    runner.calls = 1
    assert runner.settled


def test_a_pack_is_gone_once_it_is_closed(text: Text) -> None:
    """Without the collector: on a GPU the next pack needs its memory."""
    pack = Pack(lanes(), text)
    pack.advance()
    pack.results()
    gone = weakref.ref(pack)
    gc.disable()
    try:
        pack.close()
        del pack
        assert gone() is None
    finally:
        gc.enable()
