"""What is read of a study's packs, all but their heavy curves, in few files: packs are many, and read again and again.

summaries/STUDY/KEY.parquet     rows of many packs, each with its pack's file and a stamp of that when it was read

Made of the ledger by whoever reads it, and made again where it is not there: a file of the ledger counts only as long as its
stamp is the same. So a damaged one is noticed as it is read, and what is set aside or removed is not remembered.
"""

import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...declare import fingerprint
from ...errors import UnwritableError, one_line
from .reading import or_set_aside
from .store import Store
from .trial_rows import readable
from .trial_schema import JUDGED, OBJECTS, SCHEMA

log = logging.getLogger(__name__)

FILE, STAMP = "file", "stamp"
KEPT = pa.schema([*(field for field in SCHEMA if field.name in JUDGED), (FILE, pa.string()), (STAMP, pa.string())])
# Of fewer files no summary is worth its own; of more it would take much memory to make.
FEWEST, MOST = 32, 512

Stamps = Mapping[str, str]


class Summaries:
    """Of one study on a store. read: a file's rows, or None where it is damaged."""

    def __init__(self, store: Store, study: str, read: Callable[[str, Sequence[str]], pa.Table | None]):
        self.store, self.folder, self.read = store, f"summaries/{study}", read
        # Part -> which files it has; a part never changes, but is made again.
        self._known: dict[str, dict[str, str]] = {}

    def tables(self, stamps: Stamps, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of files, with some of the columns in JUDGED, and FILE. stamps: file -> its stamp."""
        left = dict(stamps)
        for name in self.store.names(self.folder, ".parquet"):
            mine = {file for file, stamp in self._files(name).items() if left.get(file) == stamp}
            if mine and (rows := self._rows(name, mine, columns)) is not None:
                yield rows
                for file in mine:
                    del left[file]
        yield from self._read_anew(left, columns)

    def _read_anew(self, left: Stamps, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Of files that no summary has: from now on one has them, if they are many."""
        few, files = len(left) < FEWEST, sorted(left)
        wanted = [each for each in columns if each != FILE] if few else JUDGED
        if len(files) > MOST:  # a second for some thousand trials
            log.warning("reading %d packs for the first time; later commands read %s instead", len(files), self.folder)
        for start in range(0, len(files), MOST):
            found = {
                file: rows.append_column(FILE, pa.repeat(file, len(rows)))
                for file in files[start : start + MOST]
                if (rows := self.read(file, wanted)) is not None
            }
            if not few:
                self._write(found, left)
            yield from (_held_once(rows.select(columns)) for rows in found.values())

    def _files(self, name: str) -> dict[str, str]:
        if name not in self._known:
            found = self._open(name, _marks)
            if found is None:
                return {}
            self._known[name] = dict(zip(found[FILE].to_pylist(), found[STAMP].to_pylist(), strict=True))
        return self._known[name]

    def _rows(self, name: str, files: set[str], columns: Sequence[str]) -> pa.Table | None:
        found = self._open(name, lambda file: readable(file.read([*{*columns, FILE}], use_threads=False)))
        if found is not None and len(files) < len(self._known[name]):
            found = found.filter(pc.is_in(found[FILE], pa.array(sorted(files))))
        return None if found is None else found.select(columns)

    def _open(self, name: str, ask: Callable[[pq.ParquetFile], pa.Table]) -> Any:
        def question() -> pa.Table:
            with self.store.open(name) as content, self._parquet(content) as file:
                return ask(file)

        return or_set_aside(self.store, name, question, "it is made again")

    @staticmethod
    def _parquet(content: IO[bytes]) -> pq.ParquetFile:
        """Long texts that trials have in common are held once."""
        return pq.ParquetFile(content, page_checksum_verification=True, read_dictionary=list(OBJECTS))

    def _write(self, found: Mapping[str, pa.Table], stamps: Stamps) -> None:
        if not found:
            return
        marked = [rows.append_column(STAMP, pa.repeat(stamps[file], len(rows))) for file, rows in found.items()]
        content = io.BytesIO()
        pq.write_table(pa.concat_tables(marked).cast(KEPT), content, compression="zstd", write_page_checksum=True)
        name = f"{self.folder}/{fingerprint(sorted((file, stamps[file]) for file in found))}.parquet"
        try:
            self.store.write(name, content.getvalue())
        except UnwritableError as error:  # of who only reads
            log.info("the summary of %s is not kept: %s", self.folder, one_line(error))
        else:
            self._known[name] = {file: stamps[file] for file in found}  # also where one of that name had fewer columns


def _marks(file: pq.ParquetFile) -> pa.Table:
    """Which files a summary has; none if it was written before trials had some column, and so is made again."""
    found = file.read([FILE, STAMP], use_threads=False)
    return found if set(KEPT.names) <= set(file.schema_arrow.names) else found.slice(0, 0)


def _held_once(rows: pa.Table) -> pa.Table:
    """Rows of a pack's own file as a summary's file gives them: long texts that trials have in common by number."""
    for place, name in enumerate(rows.column_names):
        if name in OBJECTS and not pa.types.is_dictionary(rows.schema.field(place).type):
            rows = rows.set_column(place, name, rows[name].dictionary_encode())
    return rows
