"""Summaries of many packs say what the files of the packs say, as long as those are the same."""

import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from folklore.harness.declare import Study
from folklore.harness.errors import UnwritableError
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.store import summaries
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.plan.store.trial_schema import JUDGED, SUMMARY
from tests.harness.helpers import result, rows

PACKS = 10


@pytest.fixture(autouse=True)
def these_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer packs than these are read one by one."""
    monkeypatch.setattr(summaries, "FEWEST", PACKS - 2)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, study: Study) -> Path:
    """A pack a trial."""
    folder = tmp_path_factory.mktemp("written")
    ledger = Ledger(Store(str(folder)), study.name)
    for pack in make_plan(study, "laptop", "cpu", "data", lanes=1).packs[:PACKS]:
        ledger.write(pack.key, rows(study, pack.trials, lambda trial: result(2.0 + trial.seed), pack.key))
    return folder


@pytest.fixture
def ledger(tmp_path: Path, written: Path, study: Study) -> Ledger:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return Ledger(Store(str(tmp_path)), study.name)


def reopened(ledger: Ledger) -> Ledger:
    return Ledger(ledger.store, ledger.study)


def kept(ledger: Ledger) -> list[str]:
    return ledger.store.names("summaries/toy", ".parquet")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the ledger's files that are read."""
    names: list[str] = []
    read = Store.read
    monkeypatch.setattr(Store, "read", lambda store, name: names.append(name) or read(store, name))
    return names


@pytest.mark.parametrize("columns", [SUMMARY, JUDGED])
def test_it_is_what_the_files_say(columns: tuple[str, ...], ledger: Ledger, opened: list[str]) -> None:
    first = ledger.trials(columns)
    assert len(kept(ledger)) == 1
    opened.clear()
    again = reopened(ledger).trials(columns)
    assert opened == []
    assert again.astype(object).equals(first.astype(object))
    assert sorted(again["test_loss"]) == sorted(2.0 + again["seed"])


@pytest.mark.parametrize("columns", [SUMMARY, JUDGED])
def test_rows_of_a_summary_and_of_a_later_pack_are_one_table(columns: tuple[str, ...], ledger: Ledger, study: Study) -> None:
    """A run with too many packs to be read one by one, and a few later ones, ended in a traceback: texts had two types."""
    before = len(ledger.trials(columns))
    trials = make_plan(study, "smoke", "cpu", "data").trials
    ledger.write("later", rows(study, trials, lambda _: result(1.0), "later"))
    table = reopened(ledger).trials(columns)
    assert len(table) == before + len(trials)
    assert set(table["arm"]) == set(study.arms)


def test_what_came_later_is_read_beside_it(ledger: Ledger, study: Study, opened: list[str]) -> None:
    ledger.digests()
    trials = make_plan(study, "smoke", "cpu", "data").trials
    ledger.write("later", rows(study, trials, lambda _: result(1.0), "later"))
    opened.clear()
    digests = reopened(ledger).digests()
    assert {trial.digest for trial in trials} <= digests
    assert len(opened) == 1
    assert len(kept(ledger)) == 1, "of one file no summary is made"


def test_what_is_gone_or_changed_is_not_remembered(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    before = ledger.digests()
    removed, damaged = ledger.store.names("ledger/toy", ".parquet")[:2]
    ledger.store.remove(removed)
    path = Path(ledger.store.path(damaged))
    status = path.stat()
    path.write_bytes(bytes(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert len(reopened(ledger).digests()) == len(before) - 2
    assert "does not match its checksum: set aside" in caplog.text


def test_a_damaged_one_is_made_anew(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    before = ledger.trials()
    (name,) = kept(ledger)
    path = Path(ledger.store.path(name))
    content, digests = bytearray(path.read_bytes()), pq.read_metadata(path).row_group(0).column(0)
    content[digests.data_page_offset + digests.total_compressed_size // 2] ^= 0x10
    for damage in (bytes(content), b"", content[:100]):
        path.write_bytes(damage)
        caplog.clear()
        assert reopened(ledger).trials().equals(before)
        assert "it is made again" in caplog.text
        assert kept(ledger) == [name]


def test_one_from_before_a_column_is_made_again(ledger: Ledger) -> None:
    first = ledger.trials(JUDGED)
    (name,) = kept(ledger)
    path = Path(ledger.store.path(name))
    pq.write_table(pq.read_table(path).drop_columns(["curve_lr"]), path)
    assert reopened(ledger).trials(JUDGED).astype(object).equals(first.astype(object))
    assert "curve_lr" in pq.read_schema(path).names


def test_who_only_reads_does_without(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object) -> None:
        raise UnwritableError("read-only")

    monkeypatch.setattr(Store, "write", read_only)
    assert len(ledger.digests()) == PACKS
    assert kept(ledger) == []


def test_many_files_are_kept_in_pieces(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And the command that reads them first says why it takes so long."""
    monkeypatch.setattr(summaries, "MOST", 4)
    assert len(ledger.digests()) == PACKS
    assert len(kept(ledger)) == 3
    first = f"reading {PACKS} packs for the first time; later commands read summaries/toy instead"
    assert len(reopened(ledger).digests()) == PACKS
    assert caplog.messages == [first]


def test_a_trial_is_found_by_its_digest_with_all_of_its_columns(ledger: Ledger) -> None:
    digest = sorted(ledger.digests())[7]
    (table,) = reopened(ledger).holding(digest[:12])
    assert table["digest"].to_pylist() == [digest]
    assert "curve_probe_layer_gradient_norm" in table.column_names
