"""Summaries of a study's packs, all but their heavy curves, in few files: packs are many, and read again and again.

summaries/STUDY/KEY.parquet     rows of many packs, each with its pack's file and a stamp of that when it was read

Whoever reads the ledger makes them, and makes them again if they are missing. A file of the ledger counts only as long as its
stamp is the same. So a damaged one is noticed as it is read, and one that is set aside or removed is not remembered.
"""

import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...declare import fingerprint
from .reading import or_set_aside
from .remembered import keep
from .store import Store
from .trial_rows import readable
from .trial_schema import JUDGED, OBJECTS, SCHEMA

log = logging.getLogger(__name__)

FILE, STAMP = "file", "stamp"
KEPT = pa.schema([*(field for field in SCHEMA if field.name in JUDGED), (FILE, pa.string()), (STAMP, pa.string())])
# A summary of fewer files is not worth a file; one of more would take much memory to make.
FEWEST, MOST = 32, 512

Stamps = Mapping[str, str]


class Summaries:
    """The summaries of one study on a store. read: a file's rows, or None if it is damaged."""

    def __init__(self, store: Store, study: str, read: Callable[[str, Sequence[str]], pa.Table | None]):
        self.store, self.folder, self.read = store, f"summaries/{study}", read

    def tables(self, stamps: Stamps, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of files, with some of the columns in JUDGED, and FILE. stamps: file -> its stamp."""
        remaining = dict(stamps)
        for name in self.store.names(self.folder, ".parquet"):
            if (rows := or_set_aside(self.store, name, partial(self._open, name, columns), "it is made again")) is None:
                continue
            kept = dict(zip(rows[FILE].to_pylist(), rows[STAMP].to_pylist(), strict=True))
            valid = [file for file, stamp in kept.items() if remaining.get(file) == stamp]
            for file in valid:
                del remaining[file]
            if valid:
                yield (rows if len(valid) == len(kept) else rows.filter(pc.is_in(rows[FILE], pa.array(valid)))).select(columns)
        yield from self._read_anew(remaining, columns)

    def _read_anew(self, remaining: Stamps, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of files that no summary has; if they are many, one has them from now on."""
        few, files = len(remaining) < FEWEST, sorted(remaining)
        wanted = [column for column in columns if column != FILE] if few else JUDGED
        if len(files) > MOST:  # a second for some thousand trials
            log.warning("reading %d packs for the first time; later commands read %s instead", len(files), self.folder)
        for start in range(0, len(files), MOST):
            tables = {
                file: rows.append_column(FILE, pa.repeat(file, len(rows)))
                for file in files[start : start + MOST]
                if (rows := self.read(file, wanted)) is not None
            }
            if not few:
                self._write(tables, remaining)
            yield from (_held_once(rows.select(columns)) for rows in tables.values())

    def _open(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Some columns of a summary, FILE and STAMP; None for one from before trials had some column, which is made again. Long
        texts that trials have in common are held once."""
        with (
            self.store.open(name) as content,
            pq.ParquetFile(content, page_checksum_verification=True, read_dictionary=list(OBJECTS)) as file,
        ):
            current = set(KEPT.names) <= set(file.schema_arrow.names)
            return readable(file.read([*{*columns, FILE, STAMP}], use_threads=False)) if current else None

    def _write(self, tables: Mapping[str, pa.Table], stamps: Stamps) -> None:
        if not tables:
            return
        marked = [rows.append_column(STAMP, pa.repeat(stamps[file], len(rows))) for file, rows in tables.items()]
        content = io.BytesIO()
        pq.write_table(pa.concat_tables(marked).cast(KEPT), content, compression="zstd", write_page_checksum=True)
        name = fingerprint(sorted((file, stamps[file]) for file in tables))
        keep(self.store, f"{self.folder}/{name}.parquet", content.getvalue())


def _held_once(rows: pa.Table) -> pa.Table:
    """Rows of a pack's own file as a summary's file gives them: long texts that trials have in common by number."""
    for place, name in enumerate(rows.column_names):
        if name in OBJECTS and not pa.types.is_dictionary(rows.schema.field(place).type):
            rows = rows.set_column(place, name, rows[name].dictionary_encode())
    return rows
