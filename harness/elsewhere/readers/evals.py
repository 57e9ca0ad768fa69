"""Logs of evals, an answer a row: Inspect's, as .eval or .json, and the samples that lm-evaluation-harness logs.

Both say which model answered which item of which task. Inspect's epochs are its repeated answers.
"""

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from ...errors import quoted
from ...input_files import TooMuchError, open_regular, size_of
from ..table import FILE, Role, Table
from .columns import flat, frame_of
from .json_tables import lines_of
from .source import LARGEST_JSON, Source, json_of, parsed_json, problem, readable

# Inspect: the members of an archive, and what begins its log as JSON.
HEADER, SUMMARIES, ARCHIVE = "header.json", "summaries.json", ".eval"
BEGINNING = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":\s*"')
# Its words for scores: correct, partially correct, incorrect, no answer.
WORTH = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
FINISHED = "success"
ZSTANDARD, LOCAL_HEADER = 93, 30
# lm-evaluation-harness: samples_TASK_TIME.jsonl beside results_TIME.json.
SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d\-.:]+)\.jsonl")
RESULTS = "results_{time}.json"
# Keys of a sample beside its scores: its filter, the beginning of those about its item, and all that are no scores.
FILTER, OF_ITEM = "filter", "doc."
NO_SCORES = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "metrics", "doc_hash", "prompt_hash", "target_hash"),
    FILTER,
}
# The better direction of scores whose names do not tell it.
BETTER = "maximize"
ROLES: dict[Role, str] = {"arm": "model", "task": "task", "item": "id", "seed": "epoch"}
Record = dict[str, Any]


def recognizes_inspect(source: Source) -> bool:
    return bool(_logs(source))


def read_inspect(source: Source) -> Table:
    """file, model, task, id (of the item), epoch, metadata/NAME, and a score for each scorer. Raises UserError."""
    rows, unfinished = list[Record](), list[str]()
    for file in _logs(source):
        path = source.root / file
        with readable(path), _as_written("Inspect"):
            header, samples = _archive(path) if file.endswith(ARCHIVE) else _document(path)
            if header.get("status") != FINISHED:
                unfinished.append(file)
            rows += _answers(file, header["eval"], samples)
    if not rows:
        raise source.error("its logs hold no samples", "name logs of evals that were run")
    cut = problem("logs of evals that did not finish", len(unfinished), "the samples that they hold count", unfinished)
    with readable(source.place):
        frame = frame_of(rows)
    frame.attrs["direction"] = BETTER
    return Table(frame, source.shown, "Inspect logs", ROLES, cut)


@contextmanager
def _as_written(package: str) -> Iterator[None]:
    """Raises ValueError for a log that lacks a part, or has one of another kind: written by another version, or by hand."""
    try:
        yield
    except (KeyError, AttributeError, TypeError, RuntimeError, LZMAError) as error:
        missing = f"{error} is missing" if isinstance(error, KeyError) else quoted(error)
        raise ValueError(
            f"is not laid out as {package} writes its logs ({missing}); convert it to a table with a row for each answer"
        ) from None


def _logs(source: Source) -> list[str]:
    if archives := [file for file in source.files if file.endswith(ARCHIVE)]:
        return archives
    return [file for file in source.files if file.endswith(".json") and _begins_as_log(source.root / file)]


def _begins_as_log(path: Path) -> bool:
    with readable(path), open_regular(path) as file:
        return BEGINNING.match(file.read(100)) is not None


def _archive(path: Path) -> tuple[Record, list[Record]]:
    """The header and the summaries of the samples. Raises ValueError and TooMuchError."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            header, summaries = (parsed_json(_member(archive, name)) for name in (HEADER, SUMMARIES))
    except (zipfile.BadZipFile, KeyError, struct.error):
        raise ValueError(
            "is no whole log of Inspect; copy it again, or convert it with `inspect log convert --to json`"
        ) from None
    return header, summaries


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member's bytes, unpacked also from Zstandard, which Python's zipfile does not know."""
    entry = archive.getinfo(name)
    if entry.file_size > LARGEST_JSON:
        raise TooMuchError(f"holds {name} of {size_of(entry.file_size)}, more than is read")
    if entry.compress_type != ZSTANDARD:
        return archive.read(entry)
    file = archive.fp
    assert file is not None
    file.seek(entry.header_offset)
    name_length, extra_length = struct.unpack("<HH", file.read(LOCAL_HEADER)[26:])
    file.seek(name_length + extra_length, 1)
    packed = pa.BufferReader(file.read(entry.compress_size))
    return bytes(pa.CompressedInputStream(packed, "zstd").read(entry.file_size))


def _document(path: Path) -> tuple[Record, list[Record]]:
    document = json_of(path)
    return document, document.get("samples") or []


def _answers(file: str, header: Mapping[str, Any], samples: list[Record]) -> Iterator[Record]:
    """A row for each sample. If a scorer gives several scores, each is a column: SCORER/NAME."""
    for sample in samples:
        scores = {name: score.get("value") for name, score in (sample.get("scores") or {}).items()}
        yield {
            **flat({"metadata": sample.get("metadata") or {}}, "/"),
            **{name: _worth(value) for name, value in flat(scores, "/").items()},
            **{FILE: file, "model": header["model"], "task": header["task"], "id": sample["id"], "epoch": sample["epoch"]},
        }


def _worth(value: Any) -> Any:
    return WORTH.get(value, value) if isinstance(value, str) else value


def recognizes_lm_eval(source: Source) -> bool:
    return any(_sampled(file) for file in source.files)


def read_lm_eval(source: Source) -> Table:
    """model, task, id (of the item), doc.NAME, and what each metric says of the answer; of an answer that several filters read,
    METRIC,FILTER as the package writes it. Raises UserError."""
    rows = list[Record]()
    for file in source.files:
        if match := _sampled(file):
            path = source.root / file
            with readable(path), _as_written("lm-evaluation-harness"):
                around = {"model": _model(path, match["time"]), "task": match["task"]}
                rows += [{**answer, **around} for answer in _of_samples(lines_of(path)[0])]
    with readable(source.place):
        frame = frame_of(rows)
    frame.attrs["direction"] = BETTER
    roles: dict[Role, str] = {role: column for role, column in ROLES.items() if role != "seed"}
    return Table(frame, source.shown, "samples of lm-evaluation-harness", roles)


def _sampled(file: str) -> re.Match[str] | None:
    return SAMPLES.fullmatch(PurePath(file).name)


def _model(path: Path, time: str) -> str:
    """The model's name in the results beside the samples; else the folder's name."""
    results = path.parent / RESULTS.format(time=time)
    named = json_of(results).get("model_name") if results.exists() else None
    return str(named or path.parent.name)


def _of_samples(samples: list[Record]) -> Iterator[Record]:
    """A row for each item, of lines for each item and filter."""
    filters = {str(sample.get(FILTER)) for sample in samples}
    items: dict[Any, Record] = {}
    for sample in samples:
        row = items.setdefault(sample["doc_id"], {"id": sample["doc_id"]})
        row |= {name: value for name, value in sample.items() if name.startswith(OF_ITEM)}
        scores = {name: value for name, value in sample.items() if name.partition(".")[0] not in NO_SCORES}
        row |= {f"{name},{sample[FILTER]}" if len(filters) > 1 else name: value for name, value in scores.items()}
    yield from items.values()
