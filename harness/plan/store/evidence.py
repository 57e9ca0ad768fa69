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
    """The folder of the evidence, in the package that pyproject.toml names for it, so that nothing here names the reports."""
    for package in entry_points(group="folklore.evidence"):
        spec = find_spec(package.value)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent / "evidence"
    raise UserError("no published evidence is registered: install the project first (make setup, or pip install -e .)")


FOLDER = _folder()


@contextmanager
def written_by_one() -> Iterator[None]:
    """Lets one process at a time change the files here that are of all studies; another one waits, for milliseconds."""
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
    # The declarations go with the trials: they tell by which looks these are judged, and what has changed since.
    past = [*earlier(study), *declarations(study, scale)]
    _write_declarations(_declared_path(study, scale), declared)
    versions = {declaration.version for declaration in declared}
    _write_declarations(
        _earlier_path(study), _judgements_only(declaration for declaration in past if declaration.version not in versions)
    )
    _source_check_path(study, scale, device).write_text(check.to_json(), encoding="utf-8")
    return path


def _write_declarations(path: Path, declarations: Sequence[Declaration]) -> None:
    path.unlink(missing_ok=True)
    if declarations:
        path.write_text(
            "[" + ",\n".join(declaration.to_json().decode() for declaration in declarations) + "]\n", encoding="utf-8"
        )


def _judgements_only(declarations: Iterable[Declaration]) -> list[Declaration]:
    """The first declaration of each version and scale, without its arms: their trials are no longer published."""
    first: dict[tuple[int, str], Declaration] = {}
    for declaration in sorted(declarations, key=lambda declaration: (declaration.version, declaration.declared_at)):
        kept = {"judgements": declaration.declared["judgements"]}
        first.setdefault((declaration.version, declaration.scale), replace(declaration, declared=kept))
    return list(first.values())


def write_computations(study: str, results: Sequence[Computation]) -> Path:
    """Keep results of computed jobs beside those of other scales; a result of the same call replaces an older one, and a new
    version's results all of older versions."""
    versions = {computation.study_version for computation in results}
    older = [computation for computation in computations(study).values() if computation.study_version in versions]
    kept = {_call(computation): computation for computation in (*older, *results)}
    lines = [computation.to_json().decode().rstrip() for _, computation in sorted(kept.items())]
    path = _computed_path(study)
    if lines:
        path.write_text("[" + ",\n".join(lines) + "]\n", encoding="utf-8")
    return path


def _call(computation: Computation) -> tuple[str, str, str]:
    return computation.job.function, computation.job.arguments, str(computation.job.seeds)


def computations(study: str) -> dict[str, Computation]:
    """Digest -> published result of a computed job. What is damaged is left out, with a line."""
    path, results = _computed_path(study), {}
    try:
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    except ValueError as error:
        log.warning("%s cannot be read (%s): its claims have no computed numbers", path.name, one_line(error))
        return {}
    for content in stored:
        try:
            computation = Computation.from_json(json.dumps(content))
        except (ValueError, TypeError, KeyError) as error:
            log.warning("%s: a computed job is left out, as it is damaged (%s)", path.name, one_line(error))
        else:
            results[computation.digest] = computation
    return results


def _computed_path(study: str) -> Path:
    return FOLDER / f"{study}.computed.json"


def source_check(study: str, scale: str, device: str) -> SourceCheck | None:
    """The check of the sources of published trials; None for trials published before there was one."""
    path = _source_check_path(study, scale, device)
    return SourceCheck.from_json(path.read_text(encoding="utf-8")) if path.exists() else None


def _source_check_path(study: str, scale: str, device: str) -> Path:
    return FOLDER / f"{study}-{scale}-{device}.sources.json"


def _declared_path(study: str, scale: str) -> Path:
    return FOLDER / f"{study}-{scale}.declared.json"


def _earlier_path(study: str) -> Path:
    return FOLDER / f"{study}.earlier.json"


def declarations(study: str, scale: str) -> list[Declaration]:
    """The declarations of a scale's published trials; none for trials from before there were any."""
    return _read_declarations(_declared_path(study, scale))


def earlier(study: str) -> list[Declaration]:
    """The declarations of versions that were published before: their judgements alone, the oldest version first."""
    return _read_declarations(_earlier_path(study))


def _read_declarations(path: Path) -> list[Declaration]:
    contents = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [Declaration.from_json(json.dumps(content).encode()) for content in contents]


def state(study: str) -> list[str]:
    """Names the files of a study's evidence and what is in them."""
    beside = (f"{study}-*.declared.json", f"{study}.earlier.json", f"{study}.computed.json")
    files = [*_files(study), *(file for pattern in beside for file in sorted(FOLDER.glob(pattern)))]
    return [f"{file.name} {digest(file)}" for file in files]


def stamp(file: Path) -> tuple[int, int]:
    """A file's time of change and size, which change with its content."""
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
    frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    return frame[frame["study"] == study]


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
