"""The ledger of what is done: one file for each finished pack, written once, whole or not at all.

ledger/STUDY/PACK.SHA256.parquet     the trials of a finished pack; the name carries the checksum
failures/STUDY/PACK.json             the last error of a pack that was given up; removed when it succeeds
checkpoints/STUDY/PACK.checkpoint    where a pack in flight stands: a line with the checksum and a hash of the sources that
                                     trained it, then safetensors
states/STUDY/DIGEST-STEP-SOURCES.checkpoint  where a trial stood that others start from; without it the trial is trained again
summaries/STUDY/KEY.parquet          what is read most of many packs (summaries.py)
projected/STUDY/MLFLOW/PACK          the pack's trials are in that MLflow
computed/STUDY/DIGEST.SHA256.json    the result of a computed job; failures/ and projected/ name it by its digest
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ...declare.trial import Start
from ...errors import UserError
from ...train.machine.repository import engine_sources
from . import trial_rows, trial_schema
from .computations import Computation
from .reading import DamagedError, read_or_set_aside
from .store import Store
from .summaries import FEWEST, FILE, Summaries

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from torch import Tensor


log = logging.getLogger(__name__)

# Names a stored result: a trial can stand in two packs when the packing changed between runs, and a pack in two files.
KEY = ("digest", FILE)


class Ledger:
    """The results of one study on a store."""

    def __init__(self, store: Store, study: str):
        self.store, self.study = store, study
        self._summaries = Summaries(store, study, self._read)
        # A file never changes, for its name carries its checksum: its short columns, all but curves, are read once.
        self._short: dict[str, pa.Table] = {}
        self._latest: dict[str, pa.Table] = {}

    def write(self, pack: str, rows: pa.Table) -> None:
        """Record a finished pack. The name carries the content's checksum, so the file is its own witness."""
        content = trial_rows.encode(rows)
        self.store.write(f"ledger/{self.study}/{pack}.{_checksum(content)}.parquet", content)
        for leftover in (self._failure(pack), self._checkpoint(pack)):
            if self.store.exists(leftover):
                self.store.remove(leftover)

    def write_computation(self, computation: Computation) -> None:
        content = computation.to_json()
        self.store.write(f"computed/{self.study}/{computation.digest}.{_checksum(content)}.json", content)
        if self.store.exists(self._failure(computation.digest)):
            self.store.remove(self._failure(computation.digest))

    def computations(self) -> dict[str, Computation]:
        """Digest -> result, of every computed job whose file is whole; a damaged one is set aside, so that it runs again."""
        computations = (self._computation(name) for name in self._computed_files())
        return {computation.digest: computation for computation in computations if computation is not None}

    def computation(self, digest: str) -> Computation | None:
        """One result; None where there is none, or it is damaged."""
        computations = (self._computation(name) for name in self._computed_files() if _stem(name) == digest)
        return next((computation for computation in computations if computation is not None), None)

    def _computation(self, name: str) -> Computation | None:
        return read_or_set_aside(
            self.store, name, lambda content: Computation.from_json(_witnessed(name, content)), "it is computed again"
        )

    def _computed_files(self) -> list[str]:
        return self.store.names(f"computed/{self.study}", ".json")

    def packs(self) -> list[str]:
        return sorted({_stem(name) for name in self._files()})

    def read(self, pack: str, columns: Sequence[str] | None = None) -> pa.Table | None:
        """A pack's rows; None where its file is damaged, which is then set aside so that the pack runs again."""
        tables = (self._read(name, columns) for name in self._files() if _stem(name) == pack)
        return next((rows for rows in tables if rows is not None), None)

    def tables(self, columns: Sequence[str] = trial_schema.SUMMARY) -> Iterator[pa.Table]:
        """The rows of every pack whose file is whole, some packs at a time; columns: of those in JUDGED."""
        return self._summaries.tables(self.store.stamps(*self._packs()), columns)

    def holding(self, prefix: str) -> Iterator[pa.Table]:
        """All columns of the packs that have a trial whose digest begins so."""
        for rows in self.tables(["digest", FILE]):
            for name in rows.filter(pc.starts_with(rows["digest"], prefix))[FILE].unique().to_pylist():
                if (whole := self._read_file(name, None)) is not None:
                    yield whole

    def trials(self, columns: Sequence[str] = trial_schema.SUMMARY) -> "pd.DataFrame":
        """All recorded trials as a frame with a column for each factor; empty where there are none. Its columns of curves are
        read when their values are asked for: UserError where the store has lost them by then."""
        curves = [name for name in columns if name.startswith(trial_schema.CURVE_PREFIX)]
        plain = [name for name in columns if name not in curves]
        if (table := self._table([*{*plain, *(KEY if curves else ())}])) is None:
            import pandas as pd  # takes memory and time that counting does without

            return pd.DataFrame(columns=list(columns))
        keys = table.select(KEY) if curves else table
        return trial_rows.frame(table.select(plain), {name: partial(self._curve, name, keys) for name in curves})

    def _curve(self, name: str, keys: pa.Table) -> "NDArray[np.object_]":
        """A curve of each of these trials, None where it was not measured."""
        tables = list(self.tables([*KEY, name]))
        place = {key: row for row, key in enumerate(key for rows in tables for key in _keys(rows))}
        try:
            wanted = [place[key] for key in _keys(keys)]
            return trial_rows.lists(pa.concat_tables(tables)[name])[wanted]
        except KeyError:
            raise UserError(
                f"the store '{self.store.uri}' has lost trials of '{self.study}' while they were read; give the command again"
            ) from None

    def _table(self, columns: Sequence[str]) -> pa.Table | None:
        """The rows of all trials, each once; None where there are none."""
        tables = list(self.tables(columns))
        if not tables:
            return None
        table = pa.concat_tables(tables)
        if pc.count_distinct(table["digest"]).as_py() == len(table):
            return table
        # The earliest result counts of a trial that stands in two packs.
        place = table.select(["digest", "finished_at"]).append_column("row", pa.array(range(len(table))))
        first = place.sort_by([("finished_at", "ascending"), ("row", "ascending")]).group_by("digest", use_threads=False)
        return table.take(first.aggregate([("row", "first")])["row_first"])

    def state(self) -> list[str]:
        """Names all that is recorded, contents included; empty where nothing is."""
        failures = [f"{digest} {error}" for digest, error in self.failures().items()]
        return [*self._files(), *self._computed_files(), *failures]

    def digests(self) -> set[str]:
        """Digests of all recorded trials."""
        return {digest for rows in self.tables(["digest"]) for digest in rows.column("digest").to_pylist()}

    def _packs(self) -> tuple[str, str]:
        return f"ledger/{self.study}", ".parquet"

    def _files(self) -> list[str]:
        return self.store.names(*self._packs())

    def _read(self, name: str, columns: Sequence[str] | None) -> pa.Table | None:
        """A file's rows; None if it is damaged. Its short columns are kept, for a run asks for them again and again; so are the
        latest files as a whole, for curves are asked for one by one."""
        if columns is None or not set(columns) <= set(trial_schema.JUDGED):
            return self._read_file(name, columns)
        is_short = set(columns) <= set(trial_schema.SUMMARY)
        if is_short and name in self._short:
            return self._short[name].select(columns)
        if name not in self._latest:
            if (rows := self._read_file(name, trial_schema.JUDGED)) is None:
                return None
            self._latest[name] = rows
            if len(self._latest) > FEWEST:
                del self._latest[next(iter(self._latest))]
        if is_short:
            self._short[name] = self._latest[name].select(trial_schema.SUMMARY)
        return self._latest[name].select(columns)

    def _read_file(self, name: str, columns: Sequence[str] | None) -> pa.Table | None:
        return read_or_set_aside(
            self.store, name, lambda content: trial_rows.decode(_witnessed(name, content), columns), "its trials run again"
        )

    def write_failure(self, pack: str, digests: Sequence[str], error: str) -> None:
        content = json.dumps({"pack": pack, "digests": list(digests), "error": error}, indent=1)
        self.store.write(self._failure(pack), content.encode())

    def failures(self) -> dict[str, str]:
        """Digest -> last error, for trials whose pack was given up."""
        errors = {}
        for name in self.store.names(f"failures/{self.study}", ".json"):
            failed = read_or_set_aside(self.store, name, _failed, "what failed there counts as not run")
            errors.update(failed or {})
        return errors

    def write_checkpoint(self, pack: str, state: "dict[str, Tensor]") -> None:
        self.store.write(self._checkpoint(pack), _as_checkpoint(state))

    def read_checkpoint(self, pack: str) -> "dict[str, Tensor] | None":
        """The state of a pack in flight. None: no checkpoint, or one that is damaged or of other sources; then the pack starts
        over."""
        name, consequence = self._checkpoint(pack), "the pack starts over"
        checkpoint = read_or_set_aside(self.store, name, _checkpointed, consequence)
        if checkpoint is None or checkpoint[0] == engine_sources():
            return checkpoint and checkpoint[1]
        log.warning("%s was written by other sources than these: %s", name, consequence)
        return None

    def write_state(self, start: Start, state: "dict[str, Tensor]") -> None:
        """Keeps the state of a trial after a step."""
        self.store.write(self._state(start), _as_checkpoint(state))

    def read_state(self, start: Start) -> "dict[str, Tensor] | None":
        """The state of a trial after a step; None if it is not kept, or damaged."""
        checkpoint = read_or_set_aside(
            self.store, self._state(start), _checkpointed, "the trial that it is of is trained again"
        )
        return checkpoint and checkpoint[1]

    def states(self) -> set[Start]:
        """All states that are kept of trials that were trained by these sources."""
        suffix = f"-{engine_sources()}.checkpoint"
        names = self.store.names(f"states/{self.study}", suffix)
        parts = (name.rpartition("/")[2].removesuffix(suffix).rpartition("-") for name in names)
        return {Start(digest, int(step)) for digest, _, step in parts if step.isdecimal()}

    def mark_projected(self, pack: str, mlflow: str) -> None:
        """Note that one MLflow, by its identity, has a pack."""
        self.store.write(f"projected/{self.study}/{mlflow}/{pack}", b"")

    def forget_projections(self, mlflow: str) -> None:
        for name in self.store.names(f"projected/{self.study}/{mlflow}", ""):
            self.store.remove(name)

    def not_projected(self, mlflow: str) -> list[str]:
        """Packs, and digests of computed jobs, that one MLflow does not have yet."""
        have = {_stem(name) for name in self.store.names(f"projected/{self.study}/{mlflow}", "")}
        return [key for key in [*self.packs(), *map(_stem, self._computed_files())] if key not in have]

    def _failure(self, pack: str) -> str:
        return f"failures/{self.study}/{pack}.json"

    def _checkpoint(self, pack: str) -> str:
        return f"checkpoints/{self.study}/{pack}.checkpoint"

    def _state(self, start: Start) -> str:
        return f"states/{self.study}/{start.digest}-{start.step}-{engine_sources()}.checkpoint"


def _keys(rows: pa.Table) -> Iterator[tuple[str, str]]:
    return zip(*(rows[name].to_pylist() for name in KEY), strict=True)


def _witnessed(name: str, content: bytes) -> bytes:
    """The content. Raises DamagedError if it does not have the checksum in the name."""
    if name.split(".")[-2] != _checksum(content):
        raise DamagedError("does not match its checksum")
    return content


def _failed(content: bytes) -> dict[str, str]:
    failure = json.loads(content)
    return dict.fromkeys(map(str, failure["digests"]), str(failure["error"]))


def _as_checkpoint(state: "dict[str, Tensor]") -> bytes:
    import safetensors.torch

    content: bytes = safetensors.torch.save({name: value.detach().contiguous() for name, value in state.items()})
    return f"{_checksum(content)} {engine_sources()}\n".encode() + content


def _checkpointed(whole: bytes) -> "tuple[str, dict[str, Tensor]]":
    """The hash of the sources, '' in checkpoints of earlier versions, and the state."""
    head, _, content = whole.partition(b"\n")
    checksum, _, sources = head.decode("latin-1").partition(" ")
    if checksum != _checksum(content):
        raise DamagedError("does not match its checksum")
    import safetensors.torch  # imports torch: seconds, and most that read a ledger train nothing

    return sources, safetensors.torch.load(content)


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _stem(name: str) -> str:
    return name.rsplit("/", 1)[-1].split(".")[0]
