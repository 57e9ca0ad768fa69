"""Runs a command for many seeds: processes side by side, each in a group of its own, so that it ends with its children.

No shell is used: {seed} is replaced in each argument, and nothing else is changed.
"""

import math
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from ..errors import UserError, printable
from .outcome_file import RunOutcome
from .run_metric import SEED, Curve, RunMetric

# Seconds between checks whether runs have ended, and from asking one to end to killing it.
POLL_SECONDS, GRACE_SECONDS = 0.05, 5.0
# Bytes kept of a failed run's output.
TAIL_BYTES = 2_000
# Runs side by side share the cores: one thread each, unless the user says otherwise.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Job:
    """A run that is wanted. again: the second with its seed, whose difference from the first no seed explains."""

    seed: int
    again: bool = False


@dataclass(frozen=True)
class Limits:
    """timeout: seconds of a run. budget: seconds of all; runs that would not be finished by then are not started."""

    timeout: float | None = None
    budget: float | None = None


def jobs(seeds: Sequence[int], repeat: bool) -> list[Job]:
    """A run for each seed, and at last the first one again."""
    return [*(Job(seed) for seed in seeds), *([Job(seeds[0], again=True)] if repeat else [])]


def require_runnable(command: Sequence[str]) -> None:
    """Raises UserError for a command without {seed}, or whose program is not there."""
    if not any(SEED in part for part in command):
        raise UserError(
            f"'{' '.join(command):.200}' holds no {SEED}: write it where the command takes its seed, for example --seed {SEED}"
        )
    if which(command[0]) is None:
        raise UserError(f"no program named '{command[0]}'; check the spelling, or give its path")


def environments(workers: int, gpus: int) -> list[dict[str, str]]:
    """The environment of each place for a run: one thread, and a GPU of its own if there are any."""
    plain = {**dict.fromkeys(THREADS, "1"), **os.environ}
    if not gpus:
        return [plain] * workers
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(gpus)))
    numbers = visible.split(",")
    return [{**plain, "CUDA_VISIBLE_DEVICES": numbers[place % len(numbers)]} for place in range(workers)]


class _Run:
    """A process with its output in files that are deleted once it is over."""

    def __init__(self, command: Sequence[str], job: Job, metric: RunMetric, environment: Mapping[str, str]):
        self.job, self._metric, self.environment = job, metric, environment
        self._folder = tempfile.TemporaryDirectory(prefix="folklore-noise-", ignore_cleanup_errors=True)
        self._printed, self._complaints = (Path(self._folder.name) / name for name in ("stdout", "stderr"))
        self._mark = metric.mark(job.seed)
        self._started, self._stopped = time.monotonic(), False
        with self._printed.open("wb") as out, self._complaints.open("wb") as err:
            self._process = subprocess.Popen(
                [part.replace(SEED, str(job.seed)) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                start_new_session=True,
            )

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def is_over(self, timeout: float | None) -> bool:
        """Whether it has ended, by itself or because its time is up."""
        if self._process.poll() is None and timeout is not None and self.seconds > timeout:
            self._stopped = True
            stop([self])
        return self._process.poll() is not None

    def send(self, number: signal.Signals) -> None:
        """To it and its children."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def wait(self, seconds: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def outcome(self) -> RunOutcome:
        """The run's outcome. A run that fails is an outcome, and so is one that has no number."""
        seconds, code = self.seconds, None if self._stopped else self._process.returncode
        curve: Curve = ()
        if code == 0:
            try:
                curve, problem = self._curve(), ""
            except (ValueError, OSError) as error:
                problem = str(error)
        else:
            problem = f"stopped after {seconds:.0f} s" if code is None else f"exit code {code}"
            complaints = [line.strip() for line in _tail(self._complaints).splitlines() if line.strip()]
            problem += f": {complaints[-1][:300]}" if complaints else ""
        tail = _tail(self._printed) if problem else ""
        value = curve[-1][1] if curve else None
        return RunOutcome(self.job.seed, self.job.again, code, value, seconds, curve, printable(problem), tail)

    def _curve(self) -> Curve:
        """The curve from standard output, or if that has none, from standard error, to which loggers write."""
        try:
            return self._metric.curve(self.job.seed, self._printed, self._mark)
        except ValueError:
            with suppress(ValueError):
                return self._metric.curve(self.job.seed, self._complaints, self._mark)
            raise

    def close(self) -> None:
        self._folder.cleanup()


def _tail(file: Path) -> str:
    with file.open("rb") as content:
        content.seek(max(0, file.stat().st_size - TAIL_BYTES))
        return content.read().decode("utf-8", errors="replace")


def stop(runs: Sequence[_Run]) -> None:
    """Ask all of them to end, and end those that do not."""
    for run in runs:
        run.send(signal.SIGTERM)
    until = time.monotonic() + GRACE_SECONDS
    for run in runs:
        run.wait(max(0.0, until - time.monotonic()))
    for run in runs:
        run.send(signal.SIGKILL)  # what is left of its group, too
        run.wait(GRACE_SECONDS)


def repeat(
    command: Sequence[str],
    wanted: Sequence[Job],
    metric: RunMetric,
    places: Sequence[Mapping[str, str]],
    limits: Limits = Limits(),
    known_seconds: Sequence[float] = (),
) -> Generator[RunOutcome, None, None]:
    """Each run's outcome as soon as it has ended. Whoever stops listening stops the runs in flight.

    places: an environment for each run that may be in flight. known_seconds: of runs before, to tell which would not be done
    within the budget.
    """
    begun, waiting, took, free = time.monotonic(), list(wanted), list(known_seconds), list(places)
    runs: list[_Run] = []
    try:
        while waiting or runs:
            remaining = math.inf if limits.budget is None else limits.budget - (time.monotonic() - begun)
            if remaining <= 0:
                return
            if took and statistics.fmean(took) > remaining:
                waiting = []
            for job in list(waiting):  # two runs with one seed may write the same files: they wait for each other
                if free and job.seed not in {run.job.seed for run in runs}:
                    waiting.remove(job)
                    runs.append(_Run(command, job, metric, free.pop(0)))
            time.sleep(POLL_SECONDS)
            for run in [run for run in runs if run.is_over(limits.timeout)]:
                outcome = run.outcome()
                runs.remove(run)
                run.close()
                free.append(run.environment)
                took.append(outcome.seconds)
                yield outcome
    finally:
        stop(runs)
        for run in runs:
            run.close()
