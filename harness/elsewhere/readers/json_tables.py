"""JSON and JSON lines: records, columns of lists, what pandas writes, runs with their history."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..roles import METRIC_WORDS, NAMES
from ..table import FILE, Problem
from .columns import flat, frame_of, require_bounded
from .source import LARGEST_JSON, EmptyError, each_of, json_of, problem, readable, text_of
from .wandb import is_run, settled

Records = list[dict[str, Any]]
# Words in the names of lists that are curves.
OF_CURVES = {*METRIC_WORDS, *NAMES["step"]}
OF_CURVES |= {"xs", "ys", "losses", "accs", "accuracies", "rewards", "returns", "scores", "values"}
# Parts of one run's results, which are no runs.
SPLITS = {"train", "training", "val", "valid", "validation", "eval", "dev", "test"}


def read_json(files: Mapping[str, Path]) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """The records of all files, each with its FILE if there are several. Raises UserError."""
    found, problems = each_of(files, records_of)
    return _framed(files, found), problems


def read_json_lines(files: Mapping[str, Path]) -> tuple[pd.DataFrame, tuple[Problem, ...]]:
    """As read_json; lines that are no object are a problem, unless most of them are none."""
    found, problems = each_of(files, lines_of)
    others = {name: count for name, (_, count) in found.items() if count}
    records = {name: each for name, (each, _) in found.items()}
    return _framed(files, records), (
        *problems,
        *problem("lines that are no JSON object", sum(others.values()), "left out", others if len(files) > 1 else ()),
    )


def records_of(path: Path) -> Records:
    """The rows of a JSON document. Raises UserError."""
    document = json_of(path)
    with readable(path):
        found = [row for record in _rows(document) for row in _expanded(record)]
    if not any(found):  # objects without a name in them
        raise EmptyError(path)
    return found


def lines_of(path: Path) -> tuple[Records, int]:
    """The rows of JSON lines, and how many lines are no objects. Raises UserError."""
    content = text_of(path, LARGEST_JSON).strip()
    if not content:
        raise EmptyError(path)
    with readable(path):
        found = []
        for line in filter(None, map(bytes.strip, content.split(b"\n"))):
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append(None)
        objects = [each for each in found if isinstance(each, dict)]
        if not objects or (len(found) > 1 and 2 * len(objects) <= len(found)):
            raise ValueError("is named as JSON lines, and most lines are no JSON object")
        return [row for each in objects for row in _expanded(each)], len(found) - len(objects)


def _framed(files: Mapping[str, Path], found: Mapping[str, Records]) -> pd.DataFrame:
    with readable(next(iter(files.values()))):
        if len(files) == 1:
            return frame_of(next(iter(found.values())))
        return frame_of([{**row, FILE: name} for name, rows in found.items() for row in rows])


def _rows(document: Any) -> Records:
    """A list of records; one record; columns, each a list or, as pandas writes them, an object by row number; records by name.
    Raises ValueError for anything else."""
    if isinstance(document, list) and all(isinstance(each, dict) for each in document):
        return document
    if not isinstance(document, dict):
        raise ValueError("holds no records: give a list of objects, or an object of columns")
    inner = list(document.values())
    alike = all(isinstance(each, dict) and each.keys() == inner[0].keys() for each in inner)
    names = list(inner[0]) if inner and alike else []  # in each of its values
    if names and all(name.isdigit() for name in names):
        return [{column: values[row] for column, values in document.items()} for row in names]
    if len(document) > 1 and names and not is_run(document) and not document.keys() & SPLITS:
        return [{"run": name, **each} for name, each in document.items()]
    return [document] if is_run(document) else _transposed(document)


def _transposed(document: dict[str, Any]) -> Records:
    """Lists of equal lengths as rows, with all else beside them but lists of other lengths; a single record if there are none,
    or no length that most lists have."""
    values = flat(document)
    lists = {name: each for name, each in values.items() if isinstance(each, list) and each and not _records(each)}
    lengths = Counter(len(each) for each in lists.values()).most_common(2)
    if not lengths or (len(lengths) > 1 and lengths[0][1] == lengths[1][1]) or any(_records(each) for each in values.values()):
        return [document]
    values = {name: each for name, each in values.items() if name not in lists or len(each) == lengths[0][0]}
    lists = {name: each for name, each in lists.items() if name in values}
    others = {name: each for name, each in values.items() if name not in lists}
    require_bounded(lengths[0][0], len(values))
    return [{**others, **dict(zip(lists, row, strict=True))} for row in zip(*lists.values(), strict=True)]


def _curve(record: dict[str, Any]) -> Records:
    """A record whose lists are a curve as rows; lists of hyperparameters stay what they are."""
    lists = {name for name, each in record.items() if isinstance(each, list) and len(each) > 1}
    words = {word for name in lists for word in re.split(r"[^a-z0-9]+", name.lower())}
    if not words & OF_CURVES:
        return [flat(record)]
    return [flat(each) for each in _transposed(record)]


def _records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _expanded(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A record without objects in it; if it holds one list of records (a history, the runs), a row for each of those."""
    inner = [name for name, value in record.items() if _records(value)]
    if len(inner) != 1:
        yield from [settled(record)] if is_run(record) else _curve(record)
        return
    outer = {name: value for name, value in record.items() if name != inner[0]}
    around = settled(outer) if is_run(record) else flat(outer)
    for each in record[inner[0]]:
        for row in _expanded(each):
            yield {**around, **row}
