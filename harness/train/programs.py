"""How a pack's plain step is run: as it is, compiled, or captured as a CUDA graph.

A plain step reads and writes tensors that stay where they are, and nothing of the host's; so it can be compiled once, or
captured once, and run for every step that is neither probed nor evaluated.
"""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec

import torch

from ..errors import UserError, quoted
from . import compile_cache
from .agreement import Agreement, Step

log = logging.getLogger(__name__)

# Takes one step of the training, by the eager step and by the program it is given, and says whether they agree.
Check = Callable[[Step, Step], Agreement]

# Steps run on a side stream before a capture, so that libraries have made their workspaces: torch's own advice is three.
STEPS_BEFORE_CAPTURE = 3
# Kinds of packs that one process compiles steps for.
MOST_KINDS = 256


@dataclass(frozen=True)
class Program:
    """compiled: by torch.compile; captured: as a CUDA graph."""

    compiled: bool = False
    captured: bool = False

    @property
    def name(self) -> str:
        return " and ".join(word for word in ("compiled", "captured") if getattr(self, word)) or "eager"


PROGRAMS = {program.name: program for program in (Program(c, g) for c in (False, True) for g in (False, True))}
EAGER = Program()


def program_named(name: str, device: torch.device) -> Program:
    """A program by its name. Raises UserError for an unknown name, and for a program that this device cannot run."""
    if name not in PROGRAMS:
        raise UserError(f"program '{name}' is not known; choose one of: {', '.join(PROGRAMS)}")
    if PROGRAMS[name].captured and device.type != "cuda":
        raise UserError(f"program '{name}' needs a CUDA GPU and this is a {device.type}; choose eager or compiled")
    return PROGRAMS[name]


def default_program(device: torch.device) -> Program:
    """The program to run where nothing was measured: a capture costs milliseconds, a compilation half a minute."""
    return Program(captured=device.type == "cuda")


class StepRunner:
    """Runs a plain step as a program, or eagerly, after one line that says so, if the program cannot be made or differs.

    `program` is the one that runs, `note` why that is not the one asked for, '' if it is; `differs` says whether a program
    did something else than the eager step. Every call is a step of the training, also those that prepare a capture or
    compare.
    """

    def __init__(self, step: Step, program: Program, device: torch.device, check: Check | None = None):
        self.step, self.device, self.note = step, device, ""
        if program.compiled and (missing := missing_compiler(device)):
            self._note(missing)
            program = Program(captured=program.captured)
        self.program = program
        self.differs = False
        self.compare_by(check)
        self.run: Step = compiled(step) if program.compiled else step
        self.graph: torch.cuda.CUDAGraph | None = None
        self.calls = 0

    def compare_by(self, check: Check | None, later: Check | None = None, proven: Callable[[], None] = lambda: None) -> None:
        """check: compares a program with the eager step, on its first calls; without one a program is trusted. later: compares
        a capture once more, after `interrupted`. proven: called when whole steps were seen to agree.

        A capture is compared, and what was compiled for it before it is used to prepare the capture.
        """
        self.check, self.check_of_capture, self.later, self.proven = check, check, later, proven

    def interrupted(self) -> None:
        """Other work has used the device's memory: the next replay of a capture is compared, the first time."""
        if self.graph is not None and self.check_of_capture is None:
            self.check_of_capture, self.later = self.later, None

    @property
    def settled(self) -> bool:
        """Whether the next call does what all later ones do, and prepares or compares nothing."""
        if self.program.captured:
            return self.graph is not None and self.check_of_capture is None
        return not self.program.compiled or (self.calls > 0 and self.check is None)

    def close(self) -> None:
        """Give back the graph and its memory; a runner and whoever owns its step hold each other until then."""
        self.graph, self.step, self.run = None, _over, _over
        self.compare_by(None)

    def __call__(self) -> None:
        if self.graph is not None and self.check_of_capture is None:
            self.graph.replay()
        elif self.program.captured:
            self._approach_capture()
        elif self.program.compiled:
            self._attempt(self.run)
        else:
            self.run()

    def _approach_capture(self) -> None:
        if self.calls < STEPS_BEFORE_CAPTURE:
            self._attempt(self._beside)
        elif self.check_of_capture is None:
            self._guarded(self._captured)
        elif self._agrees(self.check_of_capture, self._captured):
            self.check_of_capture = None

    def _captured(self) -> None:
        """Replay the step, which is captured the first time."""
        if self.graph is None:
            graph, current = torch.cuda.CUDAGraph(), torch.cuda.current_stream(self.device)
            try:
                with torch.cuda.graph(graph):
                    self.run()
            except RuntimeError:
                # A capture that became invalid is left by an error, on its own stream.
                torch.cuda.set_stream(current)
                raise
            self.graph = graph
        self.graph.replay()

    def _beside(self) -> None:
        stream = _side_stream(self.device)
        current = torch.cuda.current_stream(self.device)
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            self.run()
        current.wait_stream(stream)

    def _attempt(self, run: Step) -> None:
        """Run a step that may be compiled at its first call: if that fails, nothing of the step has run or remains."""
        self.calls += 1
        if not self.program.compiled or (self.calls > 2 and self.check is None):
            run()
            return
        if self.check is None:
            self._guarded(run)
        elif self._agrees(self.check, run):
            self.check = None

    def _agrees(self, check: Check, run: Step) -> bool:
        """Take a step both ways; returns whether the program has shown that it does what the eager step does."""
        verdict = Agreement(settled=False)

        def compare() -> None:
            nonlocal verdict
            verdict = check(self.step, run)

        self._guarded(compare)
        if verdict.difference:
            self.differs, way_out = True, "; --program eager spares the attempt"
            if self.program.compiled:
                cache = os.environ.get(compile_cache.VARIABLE, "the compile cache")
                way_out = f"; to have it compiled again, remove {cache}"
            self._give_up(f"{self.program.name} differs from the eager step ({verdict.difference})", way_out)
        elif verdict.proven and (self.graph is not None or not self.program.captured):
            self.proven()
        return verdict.settled

    def _guarded(self, run: Step) -> None:
        """A step by `run`, or an eager one if that fails."""
        try:
            run()
        except Exception as error:  # whatever the compilers raise
            self._give_up(f"{self.program.name} failed ({quoted(error)})")
        else:
            return
        self.step()  # not above, where the error still holds what it interrupted, and its memory

    def _give_up(self, reason: str, way_out: str = "") -> None:
        self._note(reason, way_out)
        self.program, self.run, self.graph = EAGER, self.step, None
        self.check = self.check_of_capture = None

    def _note(self, reason: str, way_out: str = "") -> None:
        self.note = reason
        log.warning("packs run eagerly: %s%s", reason, way_out)


def _over() -> None:
    raise AssertionError("this runner is closed")


@lru_cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    """One a process: libraries keep a workspace for each stream they have seen."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def compiled(step: Step) -> Step:
    """The step compiled as one graph. Narrow formats are rounded where the eager step rounds them: by default the compiler
    keeps fused operations in FP32, and a study of precision would measure something else."""
    compile_cache.separate()
    # All kinds of packs share one step's code, and torch stops compiling a code after eight: a worker sees more in a campaign.
    torch._dynamo.config.recompile_limit = MOST_KINDS
    compiled_step: Step = torch.compile(step, fullgraph=True, dynamic=False, options={"emulate_precision_casts": True})
    return compiled_step


@lru_cache(maxsize=4)
def missing_compiler(device: torch.device) -> str:
    """Why nothing can be compiled for a device; '' where it can."""
    if device.type == "cuda" and find_spec("triton") is None:
        return "there is no triton to compile for a GPU with"
    if not compile_cache.cpp_compiler():
        return "there is no C++ compiler (g++ or clang++) on this machine"
    return ""
