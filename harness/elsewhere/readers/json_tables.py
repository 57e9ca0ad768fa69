"""JSON and JSON lines: records, columns of lists, what pandas writes, runs with their history."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from ..roles import METRIC_WORDS, NAMES, last_part, words_of
from ..table import FILE, Problem, Role
from .columns import flat, frame_of, require_bounded
from .source import LARGEST_JSON, DoubledKeyError, EmptyError, each_of, json_of, parsed_json, problem, readable, text_of
from .wandb import is_run, settled

Records = list[dict[str, Any]]
# Words in the names of lists that are curves.
OF_METRICS = {*METRIC_WORDS, "ys", "losses", "accs", "accuracies", "rewards", "returns", "scores", "values"}
OF_CURVES = {*OF_METRICS, *NAMES["step"], "xs"}
# Columns for the rows of one run: the record that they stand in, and their place there.
RECORD, ENTRY = "record in the file", "place in the record"
# Lists of this number of entries, of which one rises, are a curve whatever they are called.
LEAST_CURVE = 10
# Words of lists that count runs, of which each entry is one.
OF_RUNS = {*NAMES["seed"], *NAMES["run"], "seeds", "runs", "folds", "trials"}
# Parts of one run's results, which are no runs.
SPLITS = {"train", "training", "val", "valid", "validation", "eval", "dev", "test"}


def read_json(files: Mapping[str, Path]) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The records of all files, each with its FILE if there are several. Raises UserError."""
    records, problems = each_of(files, records_of)
    return _framed(files, records), problems


def read_json_lines(files: Mapping[str, Path]) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The records, as in read_json; lines that are no object are a problem, unless most of them are none."""
    lines, problems = each_of(files, lines_of)
    others = {name: count for name, (_, count) in lines.items() if count}
    records = {name: rows for name, (rows, _) in lines.items()}
    return _framed(files, records), (
        *problems,
        *problem("lines that are no JSON object", sum(others.values()), "left out", others if len(files) > 1 else ()),
    )


def records_of(path: Path) -> Records:
    """The rows of a JSON document. Raises UserError."""
    document = json_of(path)
    with readable(path):
        rows = [row for place, record in enumerate(_rows(document)) for row in _expanded(record, str(place))]
    if not any(rows):  # objects without a name in them
        raise EmptyError(path)
    return rows


def lines_of(path: Path) -> tuple[Records, int]:
    """The rows of JSON lines, and how many lines are no objects. Raises UserError."""
    content = text_of(path, LARGEST_JSON).strip()
    if not content:
        raise EmptyError(path)
    with readable(path):
        rows = []
        for line in filter(None, map(bytes.strip, content.split(b"\n"))):
            try:
                rows.append(parsed_json(line))
            except DoubledKeyError:
                raise
            except ValueError:
                rows.append(None)
        objects = [row for row in rows if isinstance(row, dict)]
        if not objects or (len(rows) > 1 and 2 * len(objects) <= len(rows)):
            raise ValueError("is named as JSON lines, and most lines are no JSON object")
        return [row for place, record in enumerate(objects) for row in _expanded(record, str(place))], len(rows) - len(objects)


def _framed(files: Mapping[str, Path], records: Mapping[str, Records]) -> pd.DataFrame:
    """frame.attrs["roles"]: the columns of runs and steps, if the records are curves."""
    with readable(next(iter(files.values()))):
        if len(files) == 1:
            return _of_curves(frame_of(next(iter(records.values()))))
        return _of_curves(frame_of([{**row, FILE: name} for name, rows in records.items() for row in rows]))


def _of_curves(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with roles, and without the places of curves if they say no more than their files."""
    if RECORD not in frame:
        return frame
    is_plain = bool(frame[RECORD].isna().any())  # other records are no curves
    step = None if is_plain else _step_of(frame)
    roles: dict[Role, str] = {} if step is None else {"step": step}
    roles |= {"run": RECORD} if frame[RECORD].nunique() > 1 and not is_plain else {}
    frame = frame.drop(columns={RECORD, ENTRY} - {*roles.values()})
    frame.attrs["roles"] = roles
    return frame


def _step_of(frame: pd.DataFrame) -> str | None:
    """The one column that rises strictly in each record and is no metric; if none does, the order of the entries. None:
    several do, and their names tell."""
    is_next = frame.duplicated(keys := [name for name in (FILE, RECORD) if name in frame])
    free = [name for name in map(str, frame) if name not in (RECORD, ENTRY) and is_numeric_dtype(frame[name])]
    free = [name for name in free if not words_of(name) & OF_METRICS]
    rises = frame[free].groupby([frame[name] for name in keys], sort=False).diff()[is_next] > 0
    rising = [name for name in free if rises[name].all()]
    return rising[0] if len(rising) == 1 else None if rising else ENTRY


def _rows(document: Any) -> Records:
    """A list of records; one record; columns, each a list or, as pandas writes them, an object by row number; records by name.
    Raises ValueError for anything else."""
    if isinstance(document, list) and all(isinstance(record, dict) for record in document):
        return document
    if not isinstance(document, dict):
        raise ValueError("holds no records: give a list of objects, or an object of columns")
    inner = list(document.values())
    alike = all(isinstance(record, dict) and record.keys() == inner[0].keys() for record in inner)
    names = list(inner[0]) if inner and alike else []  # in each of its values
    if names and all(name.isdigit() for name in names):
        return [{column: values[row] for column, values in document.items()} for row in names]
    if len(document) > 1 and names and not is_run(document) and not document.keys() & SPLITS:
        return [{"run": name, **record} for name, record in document.items()]
    return [document] if is_run(document) or _is_curve(flat(document)) else _transposed(document)


def _transposed(document: dict[str, Any]) -> Records:
    """Lists of equal lengths as rows, with all else beside them but lists of other lengths; a single record if there are none,
    or no length that most lists have."""
    values = flat(document)
    lists = {name: value for name, value in values.items() if isinstance(value, list) and value and not _records(value)}
    lengths = Counter(len(entries) for entries in lists.values()).most_common(2)
    if (
        not lengths
        or (len(lengths) > 1 and lengths[0][1] == lengths[1][1])
        or any(_records(value) for value in values.values())
    ):
        return [document]
    values = {name: value for name, value in values.items() if name not in lists or len(value) == lengths[0][0]}
    lists = {name: entries for name, entries in lists.items() if name in values}
    others = {name: value for name, value in values.items() if name not in lists}
    require_bounded(lengths[0][0], len(values))
    return [{**others, **dict(zip(lists, row, strict=True))} for row in zip(*lists.values(), strict=True)]


def _curve(record: dict[str, Any], place: str) -> Records:
    """A record whose lists are a curve as rows; lists of hyperparameters stay what they are."""
    values = flat(record)
    lists = {name: value for name, value in values.items() if isinstance(value, list) and len(value) > 1}
    is_one = _is_curve(values)
    if not is_one and not _words(lists) & OF_CURVES:
        return [values]
    rows = _transposed(values)
    return [{RECORD: place, ENTRY: entry, **row} for entry, row in enumerate(rows)] if is_one and len(rows) > 1 else rows


def _is_curve(values: Mapping[str, Any]) -> bool:
    """Whether a record holds several lists of numbers of equal length beside single values, and none that counts runs."""
    lists = {name: value for name, value in values.items() if isinstance(value, list) and len(value) > 1}
    numbers = [entries for entries in lists.values() if all(isinstance(entry, int | float | None) for entry in entries)]
    length, several = Counter(map(len, numbers)).most_common(1)[0] if numbers else (0, 0)
    if several < 2 or len(lists) == len(values) or {last_part(name) for name in lists} & OF_RUNS:
        return False
    return bool(_words(lists) & OF_CURVES) or (length >= LEAST_CURVE and any(_rises(entries) for entries in numbers))


def _rises(numbers: Sequence[float | None]) -> bool:
    return all(a is not None and b is not None and a < b for a, b in pairwise(numbers))


def _words(names: Iterable[str]) -> set[str]:
    return {word for name in names for word in words_of(name)}


def _records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(record, dict) for record in value)


def _expanded(record: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
    """A record without objects in it; if it holds one list of records (a history, the runs), a row for each of those. place:
    where it stands in its file."""
    inner = [name for name, value in record.items() if _records(value)]
    if len(inner) != 1:
        yield from [settled(record)] if is_run(record) else _curve(record, place)
        return
    outer = {name: value for name, value in record.items() if name != inner[0]}
    around = settled(outer) if is_run(record) else flat(outer)
    for number, entry in enumerate(record[inner[0]]):
        for row in _expanded(entry, f"{place}/{number}"):
            yield {**around, **row}
