"""A plain step as a program: compiled it does what it does eagerly, and nothing that a capture could not replay."""

import gc
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from folklore.harness.errors import UserError
from folklore.harness.train import agreement, compile_cache, programs
from folklore.harness.train.agreement import Agreement
from folklore.harness.train.pack import Lane, Pack
from folklore.harness.train.programs import EAGER, Program, StepRunner, default_program, program_named
from folklore.harness.train.usage import Usage
from folklore.harness.train.workloads.data import Dataset
from folklore.harness.train.workloads.data.text import Text
from tests.harness.train.plain_steps import VARIANTS, compared_at_every_step, lanes
from tests.parts import short_form

CPU = torch.device("cpu")
# Each waits for the device, or copies from the host: a capture would fail on it, or replay what it once read.
FORBIDDEN = {
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.lift_fresh.default,
    torch.ops.aten.nonzero.default,
    torch.ops.aten.masked_select.default,
    torch.ops.aten.equal.default,
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


def test_the_watch_sees_what_it_watches_for() -> None:
    with Watch() as watch:
        float(torch.ones(1))
        torch.tensor([1.0])
    assert len(watch.found) == 2


@pytest.mark.parametrize("variant", ["adamw", "lion", "bf16", "dynamic scaling"])
def test_a_comparison_waits_for_its_device_once(variant: str, text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until all its numbers are brought to the host together."""
    pack = Pack(lanes(**VARIANTS[variant]), text)
    pack.advance(0.0)
    pack._draw()
    check, brought, waits = pack._step_check(), agreement._on_host, list[list[str]]()
    with Watch() as watch:
        monkeypatch.setattr(agreement, "_on_host", lambda *tensors: waits.append(list(watch.found)) or brought(*tensors))
        assert check(pack._plain_step, pack._plain_step).difference == ""
    assert waits == [[]]


@pytest.fixture
def device_peak(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A stand-in for the device allocator's peak since its reset; a test sets it."""
    peak = [0]
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: peak[0])
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda device: peak.__setitem__(0, 1))
    return peak


def test_what_a_comparison_holds_is_not_the_training_s_peak(device_peak: list[int]) -> None:
    usage = Usage(torch.device("cuda"))
    device_peak[0] = 70
    with usage.beside():
        device_peak[0] = 200
    assert usage.peak_memory_bytes() == 70
    device_peak[0] = 90
    with suppress(MemoryError), usage.beside():
        device_peak[0] = 200
        raise MemoryError
    device_peak[0] = 80
    assert usage.peak_memory_bytes() == 90


NEEDS_COMPILER = pytest.mark.skipif(programs.missing_compiler(CPU) != "", reason="no compiler here")


def assert_compiled_is_eager(chosen: list[Lane], dataset: Dataset) -> None:
    """One step of each from equal states, at every step of a training; by the rounding that is stated in agreement.py."""
    pack, check = compared_at_every_step(chosen, dataset, Program(compiled=True))
    assert check.differences == []
    assert check.calls >= 15, "steps that were taken both ways"
    assert check.settled >= 0.75 * check.calls, "steps in which all lanes could be compared"
    assert pack.runner.program == Program(compiled=True)
    assert {(result.program, result.program_note) for result in pack.results()} == {("compiled", None)}


# An update by elements and one by layers, one that changes in the middle, random numbers, and both kinds of rounding.
COMPILED_DAILY = ("adamw", "lamb", "sgd takes over", "dropout", "bf16", "dynamic scaling")


@NEEDS_COMPILER
@pytest.mark.parametrize("variant", short_form(COMPILED_DAILY, VARIANTS))
def test_a_compiled_step_is_the_eager_one(variant: str, text: Text) -> None:
    assert_compiled_is_eager(lanes(**VARIANTS[variant]), text)


@pytest.fixture
def nothing_to_compile_with(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    programs.missing_compiler.cache_clear()
    monkeypatch.setattr(compile_cache, "cpp_compiler", lambda: "")
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


def called(runner: StepRunner, step: Counted, times: int) -> list[bool]:
    """Whether the runner was settled before each of so many calls of one step each."""
    settled = []
    for call in range(1, times + 1):
        settled.append(runner.settled)
        runner()
        assert step.steps == call
    return settled


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes compilation return the step itself."""
    monkeypatch.setattr(programs, "compiled", lambda step: step)
    monkeypatch.setattr(programs, "missing_compiler", lambda device: "")


@pytest.mark.parametrize("fails", [False, True])
def test_every_call_is_one_step_and_the_preparing_ones_are_told_apart(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Counted()
    Graphs(step, fails).install(monkeypatch)
    runner = StepRunner(step, Program(captured=True), CPU)
    assert called(runner, step, 7) == [False] * 4 + [True] * 3
    assert runner.program.name == ("eager" if fails else "captured")


class Checked:
    """Says what it is told to of the first comparisons; the steps are counted as one, the eager one."""

    def __init__(self, step: Counted, *verdicts: Agreement):
        self.step, self.verdicts = step, list(verdicts)

    def __call__(self, eager: Any, program: Any) -> Agreement:
        before = self.step.steps
        program()
        self.step.steps = before
        eager()
        return self.verdicts.pop(0)


def test_a_capture_is_compared_until_that_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Counted()
    Graphs(step).install(monkeypatch)
    check = Checked(step, Agreement(settled=False), Agreement())
    runner = StepRunner(step, Program(captured=True), CPU, check)
    assert called(runner, step, 7) == [False] * 5 + [True] * 2
    assert (check.verdicts, runner.program.name, runner.note) == ([], "captured", "")


def test_a_capture_is_looked_at_once_more_after_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay is compared when something else has used the memory beside it: the first time, and not before the capture."""
    step, proven = Counted(), []
    Graphs(step).install(monkeypatch)
    check, later = Checked(step, Agreement(proven=True)), Checked(step, Agreement(), Agreement(difference="the loss is off"))
    runner = StepRunner(step, Program(captured=True), CPU)
    runner.compare_by(check, later, lambda: proven.append(step.steps))
    for call in range(1, 11):
        if call in (2, 7, 9):
            runner.interrupted()
        assert runner.settled == (call > 4 and call != 7)
        runner()
        assert step.steps == call
    assert (check.verdicts, len(later.verdicts), runner.program.name, len(proven)) == ([], 1, "captured", 1)
    runner.compare_by(None, later)
    runner.interrupted()
    runner()
    assert (step.steps, runner.program, runner.differs) == (11, EAGER, True)


@pytest.mark.parametrize("verdict", [Agreement(), Agreement(proven=True), Agreement(difference="the loss is off", proven=True)])
@pytest.mark.usefixtures("compiles")
def test_what_was_seen_to_agree_is_told(verdict: Agreement) -> None:
    step, proven = Counted(), []
    runner = StepRunner(step, Program(compiled=True), CPU)
    runner.compare_by(Checked(step, verdict), None, lambda: proven.append(1))
    assert called(runner, step, 3) == [False, True, True], "compiled and compared by the first call"
    assert len(proven) == (verdict == Agreement(proven=True))


@pytest.mark.usefixtures("compiles")
def test_what_is_compiled_is_compared_before_it_prepares_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Counted()
    Graphs(step).install(monkeypatch)
    check = Checked(step, Agreement(), Agreement(difference="the loss is off"))
    runner = StepRunner(step, Program(True, True), CPU, check)
    for call in range(1, 6):
        assert (runner.program == EAGER) == (call > 4)
        assert len(check.verdicts) == (2 if call == 1 else 1 if call < 5 else 0), "at the first call, and at the capture's"
        runner()
        assert step.steps == call
    assert runner.differs
    assert runner.note == "compiled and captured differs from the eager step (the loss is off)"


@pytest.mark.usefixtures("compiles")
def test_a_check_that_fails_costs_no_step(caplog: pytest.LogCaptureFixture) -> None:
    def fails(eager: Any, program: Any) -> Agreement:
        raise MemoryError("no room for copies")

    step = Counted()
    runner = StepRunner(step, Program(compiled=True), CPU, fails)
    called(runner, step, 3)
    assert (runner.program, runner.settled, runner.differs) == (EAGER, True, False)
    assert StepRunner(step, EAGER, CPU).settled, "nothing is prepared"
    assert [record.message for record in caplog.records] == ["packs run eagerly: compiled failed (no room for copies)"]


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
