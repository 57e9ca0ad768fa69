"""Remembered verdicts: equal to what is judged now, and forgotten as soon as anything they rest on changes."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from folklore.harness.declare import Study
from folklore.harness.judge import verdict_memory
from folklore.harness.judge.trial_sets import TrialSet, publish, published_sets, stored_sets
from folklore.harness.judge.verdict_memory import (
    JudgedTrials,
    publish_verdicts,
    published_verdicts,
    recalled_verdicts,
    remember_verdicts,
)
from folklore.harness.plan import catalog
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.source_check import SourceCheck
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import changed, close, judge_stored, published_names


@pytest.mark.parametrize("name", published_names())
def test_published_verdicts_are_what_is_judged_now(name: str) -> None:
    """If this fails, `folklore publish` without a study writes them again: look at what changed first, and if it is not the
    evidence raise STATISTICS_VERSION (test_statistics_version.py)."""
    study = catalog.load_study(name)
    kept = published_verdicts(study)
    assert kept is not None, "the evidence or the declaration changed after its verdicts were published"
    sets = published_sets(study)
    assert [(judged.scale, judged.device) for judged in kept] == [(judged.scale, judged.device) for judged in sets] != []
    for published, records in zip(kept, sets, strict=True):
        assert close(asdict(published), asdict(replace(published, verdicts=records.verdicts())))


@pytest.mark.slow
@pytest.mark.parametrize("name", published_names())
def test_all_that_is_published_is_what_is_judged_now(name: str) -> None:
    """With what other choices would have come to."""
    study = catalog.load_study(name)
    now = [JudgedTrials.of(records) for records in published_sets(study)]
    assert close([asdict(judged) for judged in published_verdicts(study) or []], [asdict(judged) for judged in now])


def test_a_store_remembers_what_it_judged(study: Study, stored: Store) -> None:
    judged = judge_stored(study, stored)
    assert judged
    assert recalled_verdicts(stored, study) is None
    remember_verdicts(stored, study, judged)
    assert recalled_verdicts(stored, study) == judged


def test_it_forgets_when_trials_thresholds_evidence_or_statistics_change(
    study: Study, stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_verdicts(stored, study, judge_stored(study, stored))
    assert recalled_verdicts(stored, changed(study, {"judgements.0.criteria.0.claimed.value": 0.01})) is None
    with monkeypatch.context() as patched:
        patched.setattr(verdict_memory, "STATISTICS_VERSION", verdict_memory.STATISTICS_VERSION + 1)
        assert recalled_verdicts(stored, study) is None
    with monkeypatch.context() as patched:
        patched.setattr(verdict_memory, "version", lambda name: "99")
        assert recalled_verdicts(stored, study) is None
    with monkeypatch.context() as patched:
        (tmp_path / f"{study.name}-gpu-cuda.parquet").write_bytes(b"new evidence")
        patched.setattr(evidence, "FOLDER", tmp_path)
        assert recalled_verdicts(stored, study) is None
    Ledger(stored, study.name).write_failure("other", ["digest"], "it broke")
    assert recalled_verdicts(stored, study) is None


@pytest.fixture
def records(study: Study, stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrialSet:
    """The store's trials, published into a folder of its own; verdicts are not."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    (records,) = stored_sets(study, Ledger(stored, study.name))
    publish(records, SourceCheck())
    return records


def test_published_verdicts_are_not_taken_for_other_trials(
    study: Study, stored: Store, records: TrialSet, tmp_path: Path
) -> None:
    publish_verdicts([study])
    assert published_verdicts(study) == [JudgedTrials.of(records)]
    # A store with trials of its own is judged by these; an empty one is not asked.
    assert recalled_verdicts(stored, study) is None
    assert recalled_verdicts(Store(str(tmp_path / "empty")), study) == [JudgedTrials.of(records)]
    (tmp_path / f"{study.name}-laptop-cpu.parquet").write_bytes(b"other trials")
    assert published_verdicts(study) is None


@pytest.mark.usefixtures("records")
def test_what_another_process_publishes_meanwhile_is_kept(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, other = JudgedTrials.of, {"other": {"of": "another study's", "version": 1, "judged": []}}

    def meanwhile(records: TrialSet) -> JudgedTrials:
        (tmp_path / "verdicts.json").write_text(json.dumps(other))
        return judge(records)

    monkeypatch.setattr(JudgedTrials, "of", meanwhile)
    path, _ = publish_verdicts([study])
    kept = json.loads(path.read_text())
    assert kept.keys() == {"other", study.name}
    assert kept["other"] == other["other"]


def test_a_declaration_that_is_altered_is_judged_anew(study: Study, tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    declare(store, study, "laptop", 0)
    Ledger(store, study.name).write_failure("pack", ["digest"], "why")
    remember_verdicts(store, study, [])
    assert recalled_verdicts(store, study) == []
    (name,) = store.names("declared/toy", ".json")
    store.write(name, store.read(name).replace(b'"value": 0.0', b'"value": 0.01', 1))
    assert recalled_verdicts(store, study) is None
