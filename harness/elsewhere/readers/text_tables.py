"""CSV and its relatives: commas, semicolons, tabs or blanks between cells."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from ..table import FILE, MOST_COLUMNS, UNNAMED, Problem
from .columns import require_bounded, typed
from .source import EmptyError, each_of, problem, readable, text_of

SEPARATORS = (b",", b";", b"\t")
# Columns of most tables: to name the types of MOST_COLUMNS takes 2 ms a file.
FEW = 128
NUMBER = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?|nan|inf", re.IGNORECASE)


def read_text_tables(files: Mapping[str, Path]) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The rows of all files, each with its FILE if there are several. Raises UserError."""
    found, problems = each_of(files, texts_of)
    tables = [table if len(files) == 1 else _with_file(table, name) for name, (table, _) in found.items()]
    ragged = {name: count for name, (_, count) in found.items() if count}
    with readable(next(iter(files.values()))):
        whole = pa.concat_tables(tables, promote_options="default")
        require_bounded(len(whole), whole.num_columns)
    frame = pd.DataFrame({name: typed(whole[name]) for name in whole.column_names})
    what = "rows with more or fewer cells than their header"
    return frame, (*problems, *problem(what, sum(ragged.values()), "left out", ragged if len(files) > 1 else ()))


def texts_of(path: Path) -> tuple[pa.Table, int]:
    """A file's cells as texts, and how many of its rows have another number of cells than the header. Raises UserError."""
    content = text_of(path).lstrip(b"\r\n")
    if not content.strip():
        raise EmptyError(path)
    with readable(path):
        content, separator = _separated(content)
        count = content.partition(b"\n")[0].count(separator) + 1
        require_bounded(0, count)
        table, left_out = _parsed(content, separator.decode(), FEW if count < FEW // 2 else MOST_COLUMNS)
        names = [(column[0].as_py() or "").strip() for column in table.columns]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise ValueError(f"has {times} columns named '{name:.80}'")
        if all(NUMBER.fullmatch(name) for name in names):
            raise ValueError("begins with numbers and not with the names of its columns")
        if left_out and len(table) == 1:
            raise ValueError(f"no row has as many cells as the header ({len(names)})")
    if len(table) == 1:
        raise EmptyError(path)
    rows = table.slice(1).rename_columns(names)
    if "" in names and rows[""].to_pylist() == [str(number) for number in range(len(rows))]:
        return rows.drop_columns([""]), left_out  # pandas' row numbers: they have no name and count from 0
    return rows.rename_columns([name or UNNAMED for name in names]), left_out


def _with_file(table: pa.Table, name: str) -> pa.Table:
    names = ["file in the table" if each == FILE else each for each in table.column_names]
    return table.rename_columns(names).append_column(FILE, pa.array([name] * len(table), pa.string()))


def _separated(content: bytes) -> tuple[bytes, bytes]:
    """The content from its header on, without a mark of comments, and what separates its cells; blanks are made tabs."""
    content = _from_header(content)
    header = content.partition(b"\n")[0]
    separator = max(SEPARATORS, key=header.count)
    if header.count(separator) or not re.search(rb"\S +\S", header):
        return content, separator
    return b"\n".join(b"\t".join(line.split()) for line in content.splitlines()), b"\t"


def _from_header(content: bytes) -> bytes:
    """Without lines of comments, of which the last is the header if it has as many cells as the row below."""
    while content.startswith(b"#"):
        line, _, rest = content.partition(b"\n")
        below = rest.partition(b"\n")[0]
        separator = max(SEPARATORS, key=below.count)
        if below.startswith(b"#") or line.count(separator) != below.count(separator):
            content = rest
        else:
            return content.lstrip(b"# \t")
    return content


def _parsed(content: bytes, separator: str, most: int) -> tuple[pa.Table, int]:
    """The header is the first row. All in one block, for rows that are cut by blocks are parsed otherwise."""
    left_out = 0

    def skip(_: object) -> str:
        nonlocal left_out
        left_out += 1
        return "skip"

    table = pyarrow.csv.read_csv(
        pa.BufferReader(content),
        read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True, block_size=len(content) + 1024),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=skip),
        convert_options=_as_texts(most),
    )
    return table, left_out


@cache
def _as_texts(most: int) -> pyarrow.csv.ConvertOptions:
    return pyarrow.csv.ConvertOptions(column_types={f"f{number}": pa.string() for number in range(most)})
