"""How a pack's plain step is run: as it is, compiled, or captured as a CUDA graph.

A plain step reads and writes tensors that stay where they are, and nothing of the host's; so it can be compiled once, or
captured once, and run for every step that is neither probed nor evaluated.
"""

import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec

import torch

from harness.errors import UserError, one_line

log = logging.getLogger(__name__)

Step = Callable[[], None]

# Steps run on a side stream before a capture, so that libraries have made their workspaces: torch's own advice is three.
STEPS_BEFORE_CAPTURE = 3


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
    """Raises UserError for a name that is none, and for one that this device cannot run."""
    if name not in PROGRAMS:
        raise UserError(f"program '{name}' is not known; choose one of: {', '.join(PROGRAMS)}")
    if PROGRAMS[name].captured and device.type != "cuda":
        raise UserError(f"program '{name}' needs a CUDA GPU and this is a {device.type}; choose eager or compiled")
    return PROGRAMS[name]


def default_program(device: torch.device) -> Program:
    """What is run where nothing was measured: a capture costs milliseconds, a compilation half a minute."""
    return Program(captured=device.type == "cuda")


class StepRunner:
    """Runs a plain step as a program; what cannot be compiled or captured runs eagerly, after one line that says so.

    `program` is what is run in fact. Every call is a step of the training, also those that prepare a capture.
    """

    def __init__(self, step: Step, program: Program, device: torch.device):
        self.step, self.device = step, device
        if program.compiled and (missing := missing_compiler(device)):
            log.warning("packs run eagerly: %s", missing)
            program = Program(captured=program.captured)
        self.program = program
        self.run: Step = compiled(step) if program.compiled else step
        self.graph: torch.cuda.CUDAGraph | None = None
        self.calls = 0

    @property
    def settled(self) -> bool:
        """Whether the next call does what all later ones do, and prepares nothing."""
        if self.program.captured:
            return self.graph is not None
        return self.calls > 0 or not self.program.compiled

    def close(self) -> None:
        """Give back the graph and its memory; a runner and whoever owns its step hold each other until then."""
        self.graph, self.step, self.run = None, _over, _over

    def __call__(self) -> None:
        if self.graph is not None:
            self.graph.replay()
        elif self.program.captured:
            self._approach_capture()
        elif self.program.compiled:
            self._attempt(self.run)
        else:
            self.run()

    def _approach_capture(self) -> None:
        self.calls += 1
        if self.calls <= STEPS_BEFORE_CAPTURE:
            self._attempt(self._beside)
            return
        graph, current = torch.cuda.CUDAGraph(), torch.cuda.current_stream(self.device)
        try:
            with torch.cuda.graph(graph):
                self.run()
        except RuntimeError as error:
            # A capture that became invalid is left by an error, on its own stream.
            torch.cuda.set_stream(current)
            self._give_up(error)
            self.step()
            return
        self.graph = graph
        graph.replay()

    def _beside(self) -> None:
        stream = _side_stream(self.device)
        current = torch.cuda.current_stream(self.device)
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            self.run()
        current.wait_stream(stream)

    def _attempt(self, run: Step) -> None:
        """Compilation happens at the first call: where it fails, nothing of the step has run yet."""
        if self.calls > 1 or not self.program.compiled:
            run()
            return
        self.calls += 1
        try:
            run()
        except Exception as error:  # whatever the compilers raise
            self._give_up(error)
            self.step()

    def _give_up(self, error: Exception) -> None:
        log.warning("packs run eagerly: %s failed (%s)", self.program.name, one_line(error)[:200])
        self.program, self.run = EAGER, self.step


def _over() -> None:
    raise AssertionError("this runner is closed")


@lru_cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    """One a process: libraries keep a workspace for each stream they have seen."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def compiled(step: Step) -> Step:
    """Compiled as one graph. Narrow formats are rounded where the eager step rounds them: left to itself the compiler keeps
    what it fuses in FP32, and a study of precision would measure something else."""
    found: Step = torch.compile(step, fullgraph=True, dynamic=False, options={"emulate_precision_casts": True})
    return found


@lru_cache(maxsize=4)
def missing_compiler(device: torch.device) -> str:
    """Why nothing can be compiled for a device; '' where it can."""
    if device.type == "cuda" and find_spec("triton") is None:
        return "there is no triton to compile for a GPU with"
    if not any(shutil.which(name) for name in (os.environ.get("CXX", ""), "g++", "clang++", "c++") if name):
        return "there is no C++ compiler (g++ or clang++) on this machine"
    return ""
