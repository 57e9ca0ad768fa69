"""Outcomes of a command's runs, kept in a JSON lines file: a line a finished run, so that none is run twice."""

import fcntl
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ..errors import UserError
from ..input_files import TooMuchError, read_regular
from .run_metric import MOST_BYTES, Curve

# The beginning of every line.
BEGINNING = b'{"command": '


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run. again: the second run with its seed. exit_code: None if it was stopped at its time limit.

    value: the last of its curve, None if it has none; problem: why. tail: the last lines of what a failed run printed.
    """

    seed: int
    again: bool
    exit_code: int | None
    value: float | None
    seconds: float
    curve: Curve = field(default=())
    problem: str = ""
    tail: str = ""

    def to_dict(self) -> dict[str, Any]:
        value = None if self.value is None else _kept(self.value)
        curve = [[step, _kept(number)] for step, number in self.curve]
        return {**vars(self), "value": value, "seconds": round(self.seconds, 3), "curve": curve}

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        value = None if row["value"] is None else float(row["value"])
        curve = tuple((float(step), float(number)) for step, number in row["curve"])
        code = None if row["exit_code"] is None else int(row["exit_code"])
        seed, again, seconds = int(row["seed"]), bool(row["again"]), float(row["seconds"])
        return cls(seed, again, code, value, seconds, curve, str(row["problem"]), str(row["tail"]))


def _kept(value: float) -> float | str:
    """JSON has neither NaN nor infinity: they are written as text."""
    return value if abs(value) < float("inf") else str(value)


class OutcomeFile:
    """The file of one command and metric, open for one process at a time. Raises UserError for another's file."""

    def __init__(self, path: Path, command: Sequence[str], metric: str):
        self.path, self.command, self.metric = path, list(command), metric

    def __enter__(self) -> Self:
        if self.path.exists() and not self.path.is_file():
            raise UserError(f"{self.path}: is no file; name another --output")
        self._file = self.path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise UserError(f"{self.path}: another process writes it; wait for it, or name another --output") from None
        try:
            self.outcomes = self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self) -> list[RunOutcome]:
        """The outcomes in the file. A last line without an end was being written when the machine went away: it is cut off."""
        try:
            content = read_regular(self.path, 4 * MOST_BYTES)
        except (TooMuchError, ValueError) as error:
            raise UserError(f"{self.path}: {error}") from None
        whole = content[: content.rfind(b"\n") + 1]
        outcomes = [self._outcome(number, line) for number, line in enumerate(whole.splitlines(), 1)]
        if torn := content[len(whole) :]:
            if not torn.startswith(BEGINNING[: len(torn)]):
                raise UserError(f"{self.path}: holds other things than results of runs; name another --output")
            self._file.truncate(len(whole))
        return outcomes

    def _outcome(self, number: int, line: bytes) -> RunOutcome:
        try:
            row = json.loads(line)
            command, metric, outcome = row["command"], row["metric"], RunOutcome.of(row)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UserError(f"{self.path}, line {number}: is no result of a run; name another --output") from None
        if command != self.command:
            raise UserError(
                f"{self.path}: holds results of another command ({' '.join(map(str, command)):.200}); name another --output"
            )
        if metric != self.metric:
            raise UserError(f"{self.path}: holds another metric ({metric!s:.200}); name another --output")
        return outcome

    def keep(self, outcome: RunOutcome) -> None:
        """One line, on the disk before it counts."""
        row = {"command": self.command, "metric": self.metric, **outcome.to_dict()}
        self._file.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.outcomes.append(outcome)


def default_path(command: Sequence[str], metric: str) -> Path:
    """noise-….jsonl in this folder: the same for the same command and metric."""
    return Path(f"noise-{hashlib.sha256(json.dumps([*command, metric]).encode()).hexdigest()[:10]}.jsonl")
