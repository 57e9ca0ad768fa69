"""The number that a run came to, read from its output, from a file that it wrote, or from MLflow.

All numbers found, in their order, are the run's curve; the last is its value.
"""

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import UserError, masked, nearest
from ..input_files import read_regular
from .roles import NAMES, column_named, last_part, texts

# Placeholder for the seed in a command and in the name of a file.
SEED = "{seed}"
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[nN][aA][nN]|[iI]nf(?:inity)?)"
STEP = r"(?:\b(?:step|iter|iteration|epoch)s?['\"]?\s*[=:#]?\s*(?P<step>\d+).*?)?"
# Bytes of a file and of what a run prints; characters of a line; numbers of a curve.
MOST_BYTES, MOST_LINE, MOST_POINTS = 256_000_000, 20_000, 2_000

# (step, value), in the order of training.
Curve = tuple[tuple[float, float], ...]


class RunMetric(Protocol):
    """words: which metric it is and where it stands. A file of results holds them, so that no other metric gets into it."""

    @property
    def name(self) -> str: ...

    @property
    def words(self) -> str: ...

    def mark(self, seed: int) -> object:
        """The state before a run starts."""

    def curve(self, seed: int, printed: Path, mark: object) -> Curve:
        """The numbers of a run. printed: a file with what it printed. Raises ValueError, with the reason, if there are none."""


@dataclass(frozen=True)
class Printed:
    """Numbers in a run's output, found by a regular expression with one group, and perhaps one more named step."""

    name: str
    pattern: re.Pattern[str]
    user_pattern: str | None = None

    @property
    def words(self) -> str:
        return f"{self.name} in the output" + (f", by {self.user_pattern}" if self.user_pattern else "")

    def mark(self, seed: int) -> object:
        return None

    def curve(self, seed: int, printed: Path, mark: object) -> Curve:
        group = next(index for index in range(1, 3) if index != self.pattern.groupindex.get("step"))
        points = [
            (float(match["step"]) if "step" in self.pattern.groupindex and match["step"] else math.nan, _number(match[group]))
            for line in _lines(printed)
            for match in self.pattern.finditer(line)
        ]
        if not points:
            raise ValueError(f"printed no {self.name}{_hint(self.name, printed)}")
        return numbered(points)


def printed_metric(name: str, pattern: str | None) -> Printed:
    """The metric as a pattern finds it: the user's, in which NUMBER stands for a number, or NAME and a number after = or : or a
    blank. Raises UserError."""
    spelled = "[_ ./-]?".join(map(re.escape, re.split(r"[_ ]", name)))
    usual = rf"{STEP}(?<!\w){spelled}['\"]?(?:\s*[=:]\s*|\s+)(NUMBER)"
    try:
        compiled = re.compile((pattern or usual).replace("NUMBER", NUMBER))
    except re.error as error:
        raise UserError(f"--pattern {pattern}: is no regular expression: {error}") from None
    if compiled.groups - ("step" in compiled.groupindex) != 1:
        raise UserError(f"--pattern {pattern}: needs one group, around the number, such as 'val_loss[=: ]+(NUMBER)'")
    return Printed(name, compiled, pattern)


@dataclass(frozen=True)
class Written:
    """Numbers in a file that each run writes: JSON, JSON lines or CSV, under the metric's name. path: with {seed} in it."""

    name: str
    path: str

    @property
    def words(self) -> str:
        return f"{self.name} in {self.path}"

    def file(self, seed: int) -> Path:
        return Path(self.path.replace(SEED, str(seed)))

    def mark(self, seed: int) -> object:
        """The time at which the file was last written, and its size."""
        try:
            status = self.file(seed).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    def curve(self, seed: int, printed: Path, mark: object) -> Curve:
        file = self.file(seed)
        if (now := self.mark(seed)) is None or now == mark:
            raise ValueError(f"did not write {file}")
        rows = _rows(file, self.name)
        points = [(_step(row), _number(row[self.name])) for row in rows if row.get(self.name) not in (None, "")]
        if not points:
            names = [name for row in rows[:100] for name in row]
            near = nearest(self.name, list(dict.fromkeys(names)))
            raise ValueError(f"wrote no {self.name} into {file}" + (f"; did you mean '{near}'?" if near else ""))
        return numbered(points)


def written_metric(name: str, path: str) -> Written:
    """Raises UserError for a path that all runs would share."""
    if SEED not in path:
        raise UserError(f"--file {path}: holds no {SEED}, and all runs would write the same file")
    return Written(name, path)


def numbered(points: Sequence[tuple[float, float]]) -> Curve:
    """A curve with its steps, or if one has none, with the number of each value; thinned out evenly where it is long."""
    if any(math.isnan(step) for step, _ in points):
        points = [(float(index), value) for index, (_, value) in enumerate(points, 1)]
    stride = math.ceil(len(points) / MOST_POINTS)
    return tuple(points[(len(points) - 1) % stride :: stride])


def _lines(file: Path) -> Iterator[str]:
    """Pieces of lines of bounded length; a carriage return, with which progress bars begin again, ends a line."""
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"printed more than {MOST_BYTES // 1_000_000} MB; print less, or give --file")
    with file.open(encoding="utf-8", errors="replace", newline=None) as lines:
        while line := lines.readline(MOST_LINE):
            yield line


def _hint(name: str, printed: Path) -> str:
    """The name of a number in the output that looks most like the one that was asked for."""
    named = re.compile(rf"([A-Za-z][\w./-]*)['\"]?(?:\s*[=:]\s*|\s+){NUMBER}")
    names = list(dict.fromkeys(match[1] for line in _lines(printed) for match in named.finditer(line)))
    near = nearest(name, names)
    if near:
        return f"; did you mean --metric {near}?"
    return f"; it printed {', '.join(names[:5])}: name one with --metric" if names else "; show how with --pattern"


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        raise ValueError(f"'{text!s:.40}' is no number") from None


def _step(row: Mapping[str, Any]) -> float:
    names = {last_part(name): name for name in reversed([*row])}
    value = next((row[names[name]] for name in NAMES["step"] if name in names), None)
    return _number(value) if value not in (None, "") else math.nan


def _rows(file: Path, name: str) -> list[dict[str, Any]]:
    """Rows of a file, each name -> value. Raises ValueError for a file that is none of JSON, JSON lines, CSV."""
    text = read_regular(file, MOST_BYTES).decode("utf-8", errors="replace")
    if not text.lstrip().startswith(("{", "[")):
        return [dict(row) for row in csv.DictReader(io.StringIO(text))]
    try:
        try:
            whole = json.loads(text)
        except json.JSONDecodeError:
            whole = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"wrote {file}, which is no JSON: {error}") from None
    if isinstance(whole, dict) and name not in whole:  # a history inside of it, as trainers of Hugging Face write
        lists = (entry for entry in whole.values() if isinstance(entry, list))
        whole = next((rows for rows in lists if any(isinstance(row, dict) and name in row for row in rows)), whole)
    return [row for row in (whole if isinstance(whole, list) else [whole]) if isinstance(row, dict)]


@dataclass(frozen=True)
class Logged:
    """Numbers that a run logs to MLflow. A run is known by being new and by its parameter or tag seed. source: the
    experiment, as a reader of stored runs takes it."""

    name: str
    source: str

    @property
    def words(self) -> str:
        return f"{self.name} in {masked(self.source)}"

    def mark(self, seed: int) -> object:
        """The runs with this seed that are there already."""
        try:
            return frozenset(run for run, _, _ in self._rows(seed))
        except UserError:  # an experiment that the first run makes
            return frozenset()

    def curve(self, seed: int, printed: Path, mark: object) -> Curve:
        assert isinstance(mark, frozenset)
        try:
            rows = [(step, value) for run, step, value in self._rows(seed) if run not in mark]
        except UserError as error:
            raise ValueError(f"logged nothing that can be read: {error}") from None
        if not rows:
            raise ValueError(f"logged no {self.name} with a parameter or tag seed = {seed} to {masked(self.source)}")
        return numbered(rows)

    def _rows(self, seed: int) -> list[tuple[str, float, float]]:
        """Run, step and value, in the order of steps."""
        from .readers import read

        frame = read(self.source).frame
        metric = column_named(frame, self.name, "--metric")
        columns = [column for column in frame if last_part(str(column)) in NAMES["seed"]]
        mine = sum((texts(frame[column]) == str(seed) for column in columns), start=frame[metric].isna() & False).astype(bool)
        rows = frame[mine & frame[metric].notna()]
        steps = rows["step"] if "step" in rows else [math.nan] * len(rows)
        return [
            (str(run), float(step), float(value)) for run, step, value in zip(rows["run_id"], steps, rows[metric], strict=True)
        ]


def logged_metric(name: str, experiment: str) -> Logged:
    """experiment: its name, at MLFLOW_TRACKING_URI, or ADDRESS#NAME. Raises UserError."""
    if "#" in experiment:
        return Logged(name, experiment)
    if not os.environ.get("MLFLOW_TRACKING_URI"):
        raise UserError(f"--mlflow {experiment}: set MLFLOW_TRACKING_URI to where it is, or write ADDRESS#{experiment}")
    return Logged(name, f"mlflow:{experiment}")
