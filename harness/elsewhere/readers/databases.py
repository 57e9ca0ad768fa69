"""Tables of an SQLite file, read without the libraries that made it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ...errors import UserError, one_line
from ...input_files import open_regular
from .source import readable

MAGIC = b"SQLite format 3\0"
OF_MLFLOW, OF_OPTUNA = {"experiments", "runs", "metrics"}, {"studies", "trials", "trial_values"}


def tables_of(path: Path | None) -> set[str]:
    """Names of the tables of an SQLite file; none if it is another file or a folder. Raises UserError for a damaged one."""
    if path is None or not path.exists() or path.is_dir():
        return set()
    with readable(path), open_regular(path) as file:
        if file.read(len(MAGIC)) != MAGIC:
            return set()
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        raise UserError(f"runs '{path}': the database cannot be read ({one_line(error)}); copy it again") from None
