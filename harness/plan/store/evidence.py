"""The published evidence: trials in the repository, what was declared before they were trained, and what sources did that."""

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ...errors import UserError, one_line
from . import trial_rows
from .computations import Computation
from .declaration import Declaration
from .source_check import SourceCheck
from .trial_schema import CURVE_PREFIX, JUDGED, SCHEMA

log = logging.getLogger(__name__)


def _folder() -> Path:
    """In the package that pyproject.toml names for it, so that nothing here names the reports."""
    for package in entry_points(group="folklore.evidence"):
        found = find_spec(package.value)
        if found is not None and found.origin is not None:
            return Path(found.origin).parent / "evidence"
    raise UserError("no published evidence is registered: install the project first (make setup, or pip install -e .)")


FOLDER = _folder()


@contextmanager
def written_by_one() -> Iterator[None]:
    """One process at a time changes the files here that are of all studies; another one waits, milliseconds."""
    folder = os.open(FOLDER, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def write(
    study: str, scale: str, device: str, trials: pd.DataFrame, declared: Sequence[Declaration], check: SourceCheck
) -> Path:
    """Keep trials, sorted, without the factor columns that `point` repeats. Equal trials give equal bytes."""
    rows = trials[list(JUDGED)].drop_duplicates("digest").sort_values("digest")
    schema = pa.schema([field for field in SCHEMA if field.name in JUDGED])
    path = FOLDER / f"{study}-{scale}-{device}.parquet"
    table = pa.Table.from_pandas(rows, schema=schema, preserve_index=False).replace_schema_metadata()
    path.write_bytes(trial_rows.encode(table))
    # What was fixed beforehand goes with the trials: by which looks they are judged, and what has changed since.
    past = [*earlier(study), *declarations(study, scale)]
    _write_declarations(_declared_path(study, scale), declared)
    versions = {each.version for each in declared}
    _write_declarations(_earlier_path(study), _judgements_only(each for each in past if each.version not in versions))
    _source_check_path(study, scale, device).write_text(check.to_json(), encoding="utf-8")
    return path


def _write_declarations(path: Path, found: Sequence[Declaration]) -> None:
    path.unlink(missing_ok=True)
    if found:
        path.write_text("[" + ",\n".join(each.to_json().decode() for each in found) + "]\n", encoding="utf-8")


def _judgements_only(found: Iterable[Declaration]) -> list[Declaration]:
    """The first declaration of each version and scale, without its arms: their trials are no longer published."""
    first: dict[tuple[int, str], Declaration] = {}
    for each in sorted(found, key=lambda each: (each.version, each.declared_at)):
        kept = {"judgements": each.declared["judgements"]}
        first.setdefault((each.version, each.scale), replace(each, declared=kept))
    return list(first.values())


def write_computations(study: str, found: Sequence[Computation]) -> Path:
    """Keep results of computed jobs beside those of other scales; a result of the same call replaces an older one, and a new
    version's results all of older versions."""
    versions = {each.study_version for each in found}
    older = [each for each in computations(study).values() if each.study_version in versions]
    kept = {_call(each): each for each in (*older, *found)}
    lines = [each.to_json().decode().rstrip() for _, each in sorted(kept.items())]
    path = _computed_path(study)
    if lines:
        path.write_text("[" + ",\n".join(lines) + "]\n", encoding="utf-8")
    return path


def _call(found: Computation) -> tuple[str, str, str]:
    return found.job.function, found.job.arguments, str(found.job.seeds)


def computations(study: str) -> dict[str, Computation]:
    """Digest -> published result of a computed job. What is damaged is left out, with a line."""
    path, found = _computed_path(study), {}
    try:
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    except ValueError as error:
        log.warning("%s cannot be read (%s): its claims have no computed numbers", path.name, one_line(error))
        return {}
    for each in stored:
        try:
            one = Computation.from_json(json.dumps(each))
        except (ValueError, TypeError, KeyError) as error:
            log.warning("%s: a computed job is left out, as it is damaged (%s)", path.name, one_line(error))
        else:
            found[one.digest] = one
    return found


def _computed_path(study: str) -> Path:
    return FOLDER / f"{study}.computed.json"


def source_check(study: str, scale: str, device: str) -> SourceCheck | None:
    """What was found of where published trials come from; None of those published before that was asked."""
    path = _source_check_path(study, scale, device)
    return SourceCheck.from_json(path.read_text(encoding="utf-8")) if path.exists() else None


def _source_check_path(study: str, scale: str, device: str) -> Path:
    return FOLDER / f"{study}-{scale}-{device}.sources.json"


def _declared_path(study: str, scale: str) -> Path:
    return FOLDER / f"{study}-{scale}.declared.json"


def _earlier_path(study: str) -> Path:
    return FOLDER / f"{study}.earlier.json"


def declarations(study: str, scale: str) -> list[Declaration]:
    """What was written down before a scale's published trials; nothing of trials from before that was done."""
    return _read_declarations(_declared_path(study, scale))


def earlier(study: str) -> list[Declaration]:
    """Of versions that were published before, by what they judged: judgements alone, the oldest version first."""
    return _read_declarations(_earlier_path(study))


def _read_declarations(path: Path) -> list[Declaration]:
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [Declaration.from_json(json.dumps(each).encode()) for each in found]


def state(study: str) -> list[str]:
    """Names the files of a study's evidence and what is in them."""
    beside = (f"{study}-*.declared.json", f"{study}.earlier.json", f"{study}.computed.json")
    files = [*_files(study), *(file for pattern in beside for file in sorted(FOLDER.glob(pattern)))]
    return [f"{file.name} {digest(file)}" for file in files]


def stamp(file: Path) -> tuple[int, int]:
    """What changes with a file's content."""
    status = file.stat()
    return status.st_mtime_ns, status.st_size


def digest(file: Path) -> str:
    """The SHA-256 of a file of the evidence, read once as long as its stamp is the same."""
    return _digest(file, *stamp(file))


@lru_cache(maxsize=1024)
def _digest(file: Path, changed: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def trials(study: str) -> pd.DataFrame | None:
    """All published trials of a study; None where there are none. Columns of curves are read when their values are asked for:
    few of them are."""
    frames = [_frame(file.read_bytes()) for file in _files(study)]
    if not frames:
        return None
    found = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    return found[found["study"] == study]


def _frame(content: bytes) -> pd.DataFrame:
    curves = [name for name in SCHEMA.names if name.startswith(CURVE_PREFIX)]
    plain = trial_rows.decode(content, [name for name in SCHEMA.names if name not in curves])
    return trial_rows.frame(plain, {name: partial(_curve, content, name) for name in curves})


def _curve(content: bytes, name: str) -> NDArray[np.object_]:
    return trial_rows.lists(trial_rows.decode(content, [name])[name])


def tables() -> list[Path]:
    """The files of all published trials."""
    return sorted(FOLDER.glob("*.parquet"))


def _files(study: str) -> list[Path]:
    return sorted(FOLDER.glob(f"{study}-*.parquet"))
