"""A contract of everything read from a store: a damaged or foreign file, or none at all, ends in a line."""

import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from folklore.harness.declare import Study
from folklore.harness.judge.verdict_memory import recalled_verdicts, remember_verdicts
from folklore.harness.launch.lease import Lease
from folklore.harness.plan.lanes import Packing, remember_timings
from folklore.harness.plan.store import summaries, trial_rows
from folklore.harness.plan.store.comparisons import Comparisons, comparisons, comparisons_file, refuse
from folklore.harness.plan.store.declaration import declarations, declare
from folklore.harness.plan.store.ledger import Ledger, _checksum
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.description import local_device
from folklore.harness.train.throughput import Timing
from tests.harness.helpers import planned, result, rows


@dataclass(frozen=True)
class Kind:
    """A kind of file: how it is written, in which folder, what is read of it, what that is without it, and if it is renamed."""

    write: Callable[[Store, Study], None]
    folder: str
    read: Callable[[Store, Study], Any]
    without: Any
    set_aside: bool = False


def _ledger(store: Store, study: Study) -> Ledger:
    return Ledger(store, study.name)


def _write_pack(store: Store, study: Study) -> None:
    pack = planned(study).packs[0]
    _ledger(store, study).write("pack", rows(study, pack.trials, lambda _: result(2.0)))


def _remember(store: Store, study: Study) -> None:
    _ledger(store, study).write_failure("another", ["digest"], "why")
    remember_verdicts(store, study, [])


def _measured(store: Store, study: Study) -> Packing:
    return Packing(store, local_device(), lambda workload: pytest.fail("no model is asked for"))


KINDS = {
    "declaration": Kind(
        lambda store, study: declare(store, study, "laptop", 0) and None,
        "declared/toy",
        lambda store, study: declarations(store, study, "laptop"),
        [],
    ),
    "pack": Kind(_write_pack, "ledger/toy", lambda store, study: _ledger(store, study).digests(), set(), set_aside=True),
    "failure": Kind(
        lambda store, study: _ledger(store, study).write_failure("pack", ["digest"], "why"),
        "failures/toy",
        lambda store, study: _ledger(store, study).failures(),
        {},
        set_aside=True,
    ),
    "checkpoint": Kind(
        lambda store, study: _ledger(store, study).write_checkpoint("pack", {"a": torch.ones(2)}),
        "checkpoints/toy",
        lambda store, study: _ledger(store, study).read_checkpoint("pack"),
        None,
        set_aside=True,
    ),
    "comparisons": Kind(
        lambda store, study: refuse(store, "{}", "compiled", "differs"),
        comparisons_file("{}").rpartition("/")[0],
        lambda store, study: comparisons(store, "{}"),
        Comparisons(),
    ),
    "timings": Kind(
        lambda store, study: remember_timings(store, local_device(), "{}", [Timing(1, "eager", 1.0)]),
        "widths/*",
        lambda store, study: _measured(store, study).remembered("{}"),
        [],
    ),
    "verdicts": Kind(_remember, "judged", lambda store, study: recalled_verdicts(store, study), None),
    "lease": Kind(
        lambda store, study: store.write(Lease(store, "toy").name, b'{"token": "t"}'),
        Lease(Store("."), "toy").name.rpartition("/")[0],
        lambda store, study: Lease(store, "toy")._read(),
        None,
    ),
}

# Files that are made again, and without a word if they are of another key.
REMEMBERED = ("comparisons", "timings", "verdicts")

CONTENTS = {
    "empty": lambda whole: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "null": lambda whole: b"null",
    "a list": lambda whole: b"[1, 2]",
    "a number": lambda whole: b"7",
    "other keys": lambda whole: b'{"declared": null, "digests": 3, "timings": [null], "key": 1}',
    "nested": lambda whole: b"[" * 100_000,
    "no text": lambda whole: bytes(range(128, 256)),
}
PLACES = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to(path.with_name("nothing")),
}


def _written(kind: Kind, store: Store, study: Study) -> Path:
    kind.write(store, study)
    (path,) = (file for file in Path(store.root).glob(f"{kind.folder}/*") if file.is_file())
    return path


@pytest.mark.parametrize("damage", [*CONTENTS, *PLACES])
@pytest.mark.parametrize("name", KINDS)
def test_what_is_damaged_is_left_out(
    name: str, damage: str, study: Study, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kind, store = KINDS[name], Store(str(tmp_path))
    path = _written(kind, store, study)
    if damage in CONTENTS:
        path.write_bytes(CONTENTS[damage](path.read_bytes()))
    else:
        path.unlink()
        PLACES[damage](path)
    with caplog.at_level(logging.WARNING):
        assert kind.read(store, study) == kind.without
    missing = damage == "a link to nothing"
    quiet = missing or name == "lease" or (damage == "other keys" and name in REMEMBERED)
    assert quiet or path.name in caplog.text
    if damage in ("a pipe", "a device", "a folder") and not quiet:
        assert f"is {damage} and no regular file" in caplog.text
    if kind.set_aside and not missing:
        assert not os.path.lexists(path)
        assert os.path.lexists(f"{path}.damaged")
        caplog.clear()
        assert kind.read(store, study) == kind.without
        assert not caplog.text, "it is said once"


@pytest.mark.parametrize("name", KINDS)
def test_what_is_whole_is_read(name: str, study: Study, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kind, store = KINDS[name], Store(str(tmp_path))
    kind.write(store, study)
    assert kind.read(store, study) != kind.without
    assert not caplog.text


FOREIGN = {
    "no table": lambda table: b"not Parquet",
    "seeds of text": lambda table: _replaced(table, "seed", pa.array(["one"] * len(table))),
    "no configuration": lambda table: _replaced(table, "configuration", pa.nulls(len(table), pa.string())),
    "a point that is no object": lambda table: _replaced(table, "point", pa.array(["[1]"] * len(table))),
    "a point that is no JSON": lambda table: _replaced(table, "point", pa.array(["{"] * len(table))),
    **{
        f"a {column} of {text:.60}": lambda table, column=column, text=text: _replaced(
            table, column, _first(table[column], text)
        )
        for column, texts in {
            "point": (
                '{"seed": 1, "arm": "none"}',
                '{"test_loss": 1.0}',
                '{"peak.lr": 1}',
                '{"peak_lr": [1]}',
                '{"peak_lr": {"a": 1}}',
                '{"peak_lr": NaN}',
                '{"peak_lr": 1e999}',
                '{"peak_lr": 10000000000000000000000000000000000000000}',
                "null",
                "",
            ),
            "configuration": (
                '{"workload": {}, "training": {}, "measurement": {}}',
                '{"workload": {"dataset": ["digits"]}, "training": {}, "measurement": {}}',
                '{"workload": {"dataset": "digits"}}',
                '{"workload": {"dataset": "digits"}, "training": {"clip_norm": "x"}, "measurement": {}}',
                '{"workload": {"dataset": "digits"}, "training": [1], "measurement": {}}',
                "[]",
            ),
            "environment": ("{}", '{"device": 7}', '{"device": "a", "git_commit": [1]}', '["device"]', "no JSON"),
        }.items()
        for text in texts
    },
    "a time that is none": lambda table: _replaced(table, "finished_at", _first(table["finished_at"], "yesterday")),
    "an outcome of its own": lambda table: _replaced(table, "outcome", pa.array(["<script>"] * len(table))),
    "no digests": lambda table: table.drop_columns(["digest"]),
}


def _replaced(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def _first(values: pa.ChunkedArray, text: str) -> pa.Array:
    """With another text in the first row: one is enough."""
    return pa.array([text, *values.to_pylist()[1:]])


@pytest.mark.parametrize("what", FOREIGN)
def test_a_pack_that_somebody_else_wrote_is_set_aside(
    what: str, study: Study, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its checksum is right: anybody can work one out."""
    ledger = Ledger(Store(str(tmp_path)), study.name)
    changed = FOREIGN[what](rows(study, planned(study).packs[0].trials, lambda _: result(2.0)))
    content = changed if isinstance(changed, bytes) else trial_rows.encode(changed)
    ledger.store.write(f"ledger/toy/pack.{_checksum(content)}.parquet", content)
    assert ledger.trials().empty
    assert "set aside" in caplog.text
    assert json.dumps(caplog.text).count("\\n") == 1, "one line"


@pytest.mark.parametrize(
    ("column", "text"), [("point", '{"seed": 1}'), ("configuration", '{"workload": {}}'), ("environment", "{}")]
)
def test_a_summary_that_somebody_else_wrote_is_made_again(
    column: str, text: str, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A summary has no checksum, and is read in place of the packs."""
    monkeypatch.setattr(summaries, "FEWEST", 0)
    ledger = Ledger(Store(str(tmp_path)), study.name)
    ledger.write("pack", rows(study, planned(study).packs[0].trials, lambda _: result(2.0)))
    expected = ledger.trials()
    (name,) = ledger.store.names("summaries/toy", ".parquet")
    table = pq.read_table(ledger.store.path(name))
    pq.write_table(_replaced(table, column, _first(table[column], text)), ledger.store.path(name))
    assert Ledger(ledger.store, study.name).trials().equals(expected)
    assert f"{name} cannot be read (column '{column}' holds" in caplog.text


def test_texts_and_numbers_of_a_factor_have_an_order(study: Study, tmp_path: Path) -> None:
    """No study has both in one factor; a stranger's rows may."""
    ledger = Ledger(Store(str(tmp_path)), study.name)
    for pack, point in enumerate(('{"peak_lr": "high"}', '{"peak_lr": 0.5}')):
        table = rows(study, planned(study).packs[pack].trials, lambda _: result(2.0), f"pack{pack}")
        ledger.write(f"pack{pack}", _replaced(table, "point", _first(table["point"], point)))
    assert {"high", 0.5} <= set(ledger.trials()["peak_lr"])
