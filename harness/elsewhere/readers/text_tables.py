"""CSV and its relatives: commas, semicolons, tabs or blanks between cells."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ..table import FILE, MOST_COLUMNS, UNNAMED, Problem
from .columns import require_bounded, typed
from .source import EmptyError, each_of, problem, readable, text_of

SEPARATORS = (b",", b";", b"\t")
# Columns of most tables: to name the types of MOST_COLUMNS takes 2 ms a file.
FEW = 128
NUMBER = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?|nan|inf", re.IGNORECASE)


RAGGED, HEADERS = "rows with more or fewer cells than their header", "header lines that stand again"
# Characters that may stand before and after a name: blanks, and a mark of comments.
MARKS = "# \t\r"


class Texts(NamedTuple):
    """The cells of a file. ragged: how many rows have another number of cells than the header; headers: how many lines repeat
    it."""

    table: pa.Table
    ragged: int
    headers: int


def read_text_tables(files: Mapping[str, Path]) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The rows of all files, each with its FILE if there are several. Raises UserError."""
    contents, problems = each_of(files, texts_of)
    tables = [texts.table if len(files) == 1 else _with_file(texts.table, name) for name, texts in contents.items()]
    with readable(next(iter(files.values()))):
        whole = pa.concat_tables(tables, promote_options="default")
        require_bounded(len(whole), whole.num_columns)
    frame = pd.DataFrame({name: typed(whole[name]) for name in whole.column_names})
    return frame, (*problems, *problems_of(contents))


def problems_of(contents: Mapping[str, Texts]) -> tuple[Problem, ...]:
    """The problems of lines that are no rows, by the names of their files."""
    ragged = {name: texts.ragged for name, texts in contents.items() if texts.ragged}
    headers = {name: texts.headers for name, texts in contents.items() if texts.headers}
    return (
        *problem(RAGGED, sum(ragged.values()), "left out", ragged if len(contents) > 1 else ()),
        *problem(
            HEADERS, sum(headers.values()), "no rows: those below each are read by it", headers if len(contents) > 1 else ()
        ),
    )


def texts_of(path: Path) -> Texts:
    """A file's cells as texts. Raises UserError."""
    content = text_of(path).lstrip(b"\r\n")
    if not content.strip():
        raise EmptyError(path)
    with readable(path):
        content, separator = _separated(content)
        count = content.partition(b"\n")[0].count(separator) + 1
        require_bounded(0, count)
        table, ragged = _parsed(content, separator.decode(), FEW if count < FEW // 2 else MOST_COLUMNS)
        names = [(column[0].as_py() or "").strip() for column in table.columns]
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise ValueError(f"has {times} columns named '{name:.80}'")
        if all(NUMBER.fullmatch(name) for name in names):
            raise ValueError("begins with numbers and not with the names of its columns")
        if ragged and len(table) == 1:
            raise ValueError(f"no row has as many cells as the header ({len(names)})")
        headers = {0: names, **_headers_again(table, names)}
    ends = [*headers, len(table)][1:]
    parts = [
        _below(table.slice(start, end - start), header) for (start, header), end in zip(headers.items(), ends, strict=True)
    ]
    rows = pa.concat_tables(parts, promote_options="default")
    if not len(rows):
        raise EmptyError(path)
    return Texts(rows.rename_columns([name or UNNAMED for name in rows.column_names]), ragged, len(headers) - 1)


def _headers_again(table: pa.Table, names: Sequence[str]) -> dict[int, list[str]]:
    """Rows below the header that hold all of its names, in any order: files were joined, or a restart wrote it again."""
    known = {name.strip(MARKS): name for name in names}
    rows = pa.array(range(1, len(table)))
    for column in table.columns:
        if not len(rows):  # most often after the first column
            break
        rows = rows.filter(pc.is_in(pc.utf8_trim(column.take(rows), MARKS), pa.array(known)).combine_chunks())
    headers = {row: [known[column[row].as_py().strip(MARKS)] for column in table.columns] for row in rows.to_pylist()}
    return {row: header for row, header in headers.items() if len({*header}) == len(names)}


def _below(part: pa.Table, header: Sequence[str]) -> pa.Table:
    """The rows below a header, which is the first row, without pandas' row numbers: they have no name and count from 0."""
    rows = part.slice(1).rename_columns(header)
    is_numbered = "" in header and rows[""].to_pylist() == [str(number) for number in range(len(rows))]
    return rows.drop_columns([""]) if is_numbered else rows


def _with_file(table: pa.Table, name: str) -> pa.Table:
    names = ["file in the table" if column == FILE else column for column in table.column_names]
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
    """The content without lines of comments, of which the last is the header if it has as many cells as the row below."""
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
