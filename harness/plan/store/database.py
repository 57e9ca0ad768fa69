"""SQLite databases that may be a stranger's: only tables are read, and no query takes work without end."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ...errors import UserError, one_line

# MLflow's data of 100,000 runs are read in 0.8 s and changed in 0.3 s.
MOST_SECONDS = 100.0
# How long another process may hold a database.
LOCKED_SECONDS = 5.0
# SQLite's operations between two looks at the clock: milliseconds.
OPERATIONS = 10_000
# Bytes of a value. An operation is not interrupted, and a function could fill a gigabyte in one.
LONGEST_VALUE = 16_000_000
# SQLite rolls these files back into the database, or reads through them.
BESIDE = ("-journal", "-wal", "-shm")
# Everything but tables and indexes of their columns. SQLite goes by the text, as this does: the type beside it may be false.
# MLflow has one trigger, on a table that is not used here, and one computed column.
FOREIGN = """
    SELECT name FROM sqlite_master WHERE NOT (
        sql GLOB 'CREATE TABLE *' OR sql GLOB 'CREATE INDEX *' OR sql GLOB 'CREATE UNIQUE INDEX *'
        OR sql GLOB 'CREATE TRIGGER prevent_secrets_aad_mutation?BEFORE UPDATE ON secrets?*')
    UNION ALL SELECT tables.name FROM sqlite_master AS tables, pragma_table_xinfo(tables.name) AS columns
        WHERE tables.type = 'table' AND columns.hidden > 1 AND tables.name != 'spans'
    UNION ALL SELECT indexes.name FROM sqlite_master AS indexes, pragma_index_xinfo(indexes.name) AS columns
        WHERE indexes.type = 'index' AND columns.cid = -2
"""


# The ledger has all that a store's own database has.
AGAIN = "move it away, and `folklore sync` makes it again"


@contextmanager
def opened(path: Path, mode: str = "ro") -> Iterator[sqlite3.Connection]:
    """A database to read ('ro') or to change ('rw'); changes count once the block ends. Raises UserError for what is no regular
    file or no database, has more than tables, is locked, or takes longer than MOST_SECONDS."""
    _require_files(path)
    end = time.monotonic() + MOST_SECONDS
    try:
        address = f"{path.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(address, LOCKED_SECONDS, uri=True)) as connection, connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
            connection.set_progress_handler(lambda: time.monotonic() > end, OPERATIONS)
            connection.execute("PRAGMA trusted_schema = OFF")
            _require_tables(path, connection)
            yield connection
    except sqlite3.Error as error:
        raise _refusal(path, error, time.monotonic() > end) from None


def _require_files(path: Path) -> None:
    """Raises UserError for what is no regular file, without opening it: closing a file drops the locks that MLflow may hold on
    it in this process."""
    beside = [Path(f"{os.path.realpath(path)}{suffix}") for suffix in BESIDE]
    for file in (path, *(file for file in beside if os.path.lexists(file))):
        if not file.is_file() or (file is not path and file.is_symlink()):
            raise UserError(f"{file}: is no regular file, and no database is read through it; {AGAIN}")


def _require_tables(path: Path, connection: sqlite3.Connection) -> None:
    if foreign := connection.execute(f"{FOREIGN} LIMIT 1").fetchone():
        raise UserError(
            f"{path}: has '{foreign[0]!s:.100}', and only plain tables are read: a view, a trigger or an expression could take"
            f" work without end; drop that, or {AGAIN}"
        )


def _refusal(path: Path, error: sqlite3.Error, is_late: bool) -> UserError:
    """Raises KeyboardInterrupt for a signal that arrived while the clock was asked: SQLite swallows it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # extended codes name the same kinds
    if code == sqlite3.SQLITE_INTERRUPT and not is_late:
        raise KeyboardInterrupt
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return UserError(f"{path}: is used by another process ({one_line(error)}); end that or try again")
    why = f"takes longer than {MOST_SECONDS:g} s" if code == sqlite3.SQLITE_INTERRUPT else one_line(error)
    return UserError(f"{path}: cannot be read ({why}); {AGAIN}")
