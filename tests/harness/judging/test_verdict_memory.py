"""Remembered verdicts: equal to what is judged now, and forgotten as soon as anything they rest on changes."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.judging import verdict_memory
from folklore.harness.judging.trial_sets import publish, published_sets, stored_sets
from folklore.harness.judging.verdict_memory import Judged, Memory, publish_verdicts, published_verdicts
from folklore.harness.planning import catalog
from folklore.harness.spec import Study
from folklore.harness.storing import evidence
from folklore.harness.storing.declaration import declare
from folklore.harness.storing.ledger import Ledger
from folklore.harness.storing.source_check import SourceCheck
from folklore.harness.storing.store import Store
from tests.harness.helpers import bowl, changed, planned, result, rows


def close(first: Any, second: Any) -> bool:
    """Equal up to the last digits of floats, which may differ between machines."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(close(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(close(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, float):
        return bool(first == pytest.approx(second, rel=1e-6, abs=1e-9, nan_ok=True))
    return bool(first == second)


@pytest.mark.parametrize("name", catalog.study_names())
def test_published_verdicts_are_what_is_judged_now(name: str) -> None:
    """Where this fails, `folklore publish` without a study writes them again: look at what changed first."""
    study = catalog.load_study(name)
    kept = published_verdicts(study)
    assert kept is not None, "the evidence or the declaration changed after its verdicts were published"
    sets = published_sets(study)
    assert [(each.scale, each.device) for each in kept] == [(each.scale, each.device) for each in sets] != []
    for published, records in zip(kept, sets, strict=True):
        assert close(asdict(published), asdict(replace(published, verdicts=records.verdicts())))


@pytest.mark.slow
@pytest.mark.parametrize("name", catalog.study_names())
def test_all_that_is_published_is_what_is_judged_now(name: str) -> None:
    """With what other choices would have come to."""
    study = catalog.load_study(name)
    now = [Judged.of(records) for records in published_sets(study)]
    assert close([asdict(each) for each in published_verdicts(study) or []], [asdict(each) for each in now])


@pytest.fixture
def stored(study: Study, tmp_path: Path) -> Store:
    """A store with one pack of all trials of the toy study."""
    store = Store(str(tmp_path / "store"))
    trained = rows(
        study, planned(study).trials, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.001))
    )
    Ledger(store, study.name).write("pack", trained)
    return store


def judge_stored(study: Study, store: Store) -> list[Judged]:
    return [Judged.of(records) for records in stored_sets(study, Ledger(store, study.name))]


def test_a_store_remembers_what_it_judged(study: Study, stored: Store) -> None:
    memory, found = Memory(stored), judge_stored(study, stored)
    assert found
    assert memory.recall(study) is None
    memory.remember(study, found)
    assert Memory(stored).recall(study) == found


def test_it_forgets_when_trials_thresholds_evidence_or_code_change(
    study: Study, stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memory(stored)
    memory.remember(study, judge_stored(study, stored))
    assert memory.recall(changed(study, {"judgements.0.criteria.0.claimed.value": 0.01})) is None
    with monkeypatch.context() as patched:
        patched.setattr(verdict_memory, "_code", lambda: "other code")
        assert memory.recall(study) is None
    with monkeypatch.context() as patched:
        (tmp_path / f"{study.name}-gpu-cuda.parquet").write_bytes(b"new evidence")
        patched.setattr(evidence, "FOLDER", tmp_path)
        assert memory.recall(study) is None
    Ledger(stored, study.name).write_failure("other", ["digest"], "it broke")
    assert memory.recall(study) is None


def test_a_damaged_memory_is_no_memory(study: Study, stored: Store) -> None:
    Memory(stored).remember(study, judge_stored(study, stored))
    content = stored.read(f"judged/{study.name}.json")
    for damaged in (content[: len(content) // 2], b"[]", b'{"of": 1}', b"\xff"):
        stored.write(f"judged/{study.name}.json", damaged)
        assert Memory(stored).recall(study) is None


def test_published_verdicts_are_not_taken_for_other_trials(
    study: Study, stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    (records,) = stored_sets(study, Ledger(stored, study.name))
    publish(records, SourceCheck())
    publish_verdicts([study])
    assert published_verdicts(study) == [Judged.of(records)]
    # A store with trials of its own is judged by these; an empty one is not asked.
    assert Memory(stored).recall(study) is None
    assert Memory(Store(str(tmp_path / "empty"))).recall(study) == [Judged.of(records)]
    (tmp_path / f"{study.name}-laptop-cpu.parquet").write_bytes(b"other trials")
    assert published_verdicts(study) is None


def test_pages_are_written_anew_only_if_something_on_them_changes(
    study: Study, stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, pages, experiments = Memory(stored), tmp_path / "pages", {study.name: "1"}
    (pages / "figures").mkdir(parents=True)
    (pages / "toy.html").write_text("as written")
    (pages / "figures" / "one.svg").write_text("as drawn")
    memory.remember(study, judge_stored(study, stored))

    def current(others: tuple[Study, ...] = (), only: tuple[str, ...] = (study.name,)) -> bool:
        return Memory(stored).written(pages, [study, *others], only, experiments) is not None

    assert not current(), "nothing was written"
    memory.remember_written(pages, [study], [study.name], experiments)
    found = memory.written(pages, [study], [study.name], experiments)
    assert found == {study.name: judge_stored(study, stored)}
    assert not current(only=(study.name, "other"))
    assert not current(others=(study.model_copy(update={"name": "other"}),)), "the index shows another study"
    experiments[study.name] = "2"
    assert not current(), "the page links to another experiment"
    experiments[study.name] = "1"
    for code in ("_code", "_page_code"):
        with monkeypatch.context() as patched:
            patched.setattr(verdict_memory, code, lambda: "other code")
            assert not current(), code
    for file in (pages / "toy.html", pages / "figures" / "one.svg"):
        before = file.read_text()
        file.write_text("changed by hand")
        assert not current(), file
        file.unlink()
        assert not current(), file
        file.write_text(before)
        assert current(), file
    declare(stored, study, "laptop", 0)
    assert not current(), "the page says when the study was declared"
    stored.remove(stored.names(f"declared/{study.name}", ".json")[0])
    Ledger(stored, study.name).write_failure("other", ["digest"], "it broke")
    assert not current(), "an error is on the page"


def test_a_declaration_that_is_altered_is_judged_anew(study: Study, tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    declare(store, study, "laptop", 0)
    Ledger(store, study.name).write_failure("pack", ["digest"], "why")
    Memory(store).remember(study, [])
    assert Memory(store).recall(study) == []
    (name,) = store.names("declared/toy", ".json")
    store.write(name, store.read(name).replace(b'"value": 0.0', b'"value": 0.01', 1))
    assert Memory(store).recall(study) is None
