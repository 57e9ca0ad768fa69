"""TensorBoard's event files: scalars, by `tbparse`. A run is a folder."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pandas as pd

from ...errors import quoted
from ...input_files import TooMuchError, open_regular, size_of
from ..table import Table
from .columns import beside, frame_of
from .restarts import part_name, problems_of, restarts_of, rows_of
from .source import LARGEST, Source, problem, readable

EVENTS = re.compile(r"(?:.*/)?[^/]*tfevents[^/]*")
COLUMNS = ["wall_time", "step", "tag", "value"]
INSTALL = "`make setup EXTRAS=runs`, or pip install 'folklore-harness[runs]'"
# A record: length and its checksum, content, its checksum.
BEFORE, AFTER = 12, 4


def recognizes(source: Source) -> bool:
    return any(EVENTS.fullmatch(file) for file in source.files)


def read(source: Source) -> Table:
    """run, step and a column for each tag. If a restarted run logged something twice, the last one counts.
    Raises UserError."""
    scalars: dict[str, list[pd.DataFrame]] = {}
    damaged = []
    for file in filter(EVENTS.fullmatch, source.files):
        logged, is_whole = _scalars(source, file)
        scalars.setdefault(source.run_of(file), []).append(logged)
        damaged += [] if is_whole else [file]
    runs = {run: _in_order(parts) for run, parts in scalars.items() if any(len(part) for part in parts)}
    if not runs:
        raise source.error("no scalar is logged in its event files", "name files with scalars, or export them as CSV")
    empty = [run for run in scalars if run not in runs]
    restarts = {run: restarts_of(*(rows[name].tolist() for name in ("step", "value", "tag"))) for run, rows in runs.items()}
    logs = {run: rows_of(restarts[run], rows["value"].tolist(), rows["tag"].tolist()) for run, rows in runs.items()}
    problems = (
        *problem("event files that are damaged or cut off", len(damaged), "read up to there", damaged),
        *problem("runs without a scalar", len(empty), "left out", empty),
        *problems_of(restarts, [run for run, (_, is_twice) in logs.items() if is_twice]),
    )
    with readable(source.place):
        frame = frame_of([_row(run, *place, row) for run, (rows, _) in logs.items() for place, row in rows.items()])
    return Table(frame, source.shown, "TensorBoard event files", {"run": "run", "step": "step"}, problems)


def _in_order(files: list[pd.DataFrame]) -> pd.DataFrame:
    """The scalars of a run as they were logged; files that were written at the same time, one after the other."""
    logged = [frame for frame in files if len(frame)]
    logged.sort(key=lambda frame: float(frame["wall_time"].iloc[0]))
    return pd.concat(logged)


def _row(run: str, part: int, step: int, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"run": part_name(run, part), "step": step, **beside(values, ("run", "step"), "tag ")}


def _scalars(source: Source, file: str) -> tuple[pd.DataFrame, bool]:
    """COLUMNS of one file, in the order in which they were logged, and whether all of it could be read. Raises UserError."""
    path = source.root / file
    with readable(path), open_regular(path) as opened:
        if opened.seek(0, 2) > LARGEST:
            raise TooMuchError(f"holds more than {size_of(LARGEST)}, the most that is read")
        opened.seek(0)
        records = sum(1 for _ in _records(opened))
    try:
        scalars, loaded = _loaded(str(path))
    except ImportError:
        raise source.error("tbparse is not installed, which reads event files", INSTALL) from None
    except Exception as error:  # protocol buffers raise errors of their own over what is damaged
        raise source.error(f"{file} cannot be read ({quoted(error)})", "copy it again, or leave it out") from None
    return scalars[[isinstance(value, int | float) for value in scalars["value"]]], loaded == records


def _loaded(path: str) -> tuple[pd.DataFrame, int]:
    """All scalars of a file, and how many of its records are whole. Writers differ in what a scalar is to them."""
    from tbparse import SummaryReader
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader  # type: ignore[import-untyped]

    kinds = {"scalars", "tensors"}
    reader = SummaryReader(path, event_types=kinds, extra_columns={"wall_time"})
    parts = [part for kind in sorted(kinds) if len(part := reader.get_events(kind))]
    scalars = pd.concat(parts) if parts else pd.DataFrame(columns=COLUMNS)
    return scalars[COLUMNS].sort_values("wall_time", kind="stable"), sum(1 for _ in RawEventFileLoader(path).Load())


def _records(file: BinaryIO) -> Iterator[int]:
    """The lengths of a file's records, as they say themselves; one that is cut off counts."""
    while head := file.read(BEFORE):
        yield (length := int.from_bytes(head[:8], "little"))
        if length > LARGEST:
            return
        file.seek(length + AFTER, 1)
