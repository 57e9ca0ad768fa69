"""The history of published verdicts: true of what is published, and kept true by publishing."""

import json
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from folklore.harness.declare import Scale, Study
from folklore.harness.judge.attempts import attempts, rule_of
from folklore.harness.judge.trial_sets import publish, stored_sets
from folklore.harness.judge.verdict_history import Change, RuleChange, Stand, append, changes, history, stands
from folklore.harness.judge.verdict_memory import publish_verdicts, published_verdicts
from folklore.harness.plan.catalog import register, study_names
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.source_check import SourceCheck
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import bowl, changed, result, stored


def test_it_ends_with_what_is_published() -> None:
    """Each entry goes on from the one before, and the last has the word that stands beside the evidence now."""
    kept = json.loads((evidence.FOLDER / "verdicts.json").read_text(encoding="utf-8"))
    published = {
        (verdict["claim"], study, verdict["scale"], verdict["device"]): (verdict["verdict"], record["version"])
        for study, record in kept.items()
        for judged in record["judged"]
        for verdict in judged["verdicts"]
    }
    entries = history().verdicts
    assert len(entries) > 50
    for place, group in groupby(sorted(entries, key=lambda change: change.place), key=lambda change: change.place):
        own = list(group)
        assert all(before.new.verdict == after.old.verdict for before, after in pairwise(own)), place
        assert [change.date for change in own] == sorted(change.date for change in own), place
        assert own[-1].new.verdict == published[place][0], place
        assert (own[-1].new.version or 0) <= published[place][1], place


def test_its_entries_are_changes_of_registered_claims() -> None:
    for change in history().verdicts:
        assert register().claim(change.claim)
        assert change.study in study_names()
        assert change.old.verdict != change.new.verdict
        assert change.old.published or change.why, "what stands in the log alone has its reason there"
        assert None not in (change.old.version, change.new.version)


def verdict(word: str, **fields: object) -> dict[str, object]:
    numbers = {"estimate": 1.0, "low": 0.5, "high": 1.5, "unit": "x"}
    return {"claim": "a.b", "study": "a", "scale": "laptop", "device": "cpu", "verdict": word, **numbers, **fields}


def test_only_another_word_at_the_same_place_is_a_change() -> None:
    before = [verdict("open"), verdict("supported", scale="gpu"), verdict("refuted", claim="a.c")]
    after = [verdict("open", estimate=2.0), verdict("partly", scale="gpu", reading="smaller"), verdict("open", claim="a.d")]
    (change,) = changes(stands(before, 1), stands(after, 2), "2026-11-25")
    assert change.place == ("a.b", "a", "gpu", "cpu")
    assert change.old == Stand(1, "supported", "", 1.0, 0.5, 1.5, "x")
    assert (change.new.version, change.new.verdict, change.new.reading) == (2, "partly", "smaller")


def test_a_renamed_verdict_and_trials_that_came_later_are_changes_of_words_alone() -> None:
    def change(old: str, new: str, versions: tuple[int, int] = (1, 1)) -> Change:
        before, after = (stands([verdict(word)], version) for word, version in zip((old, new), versions, strict=True))
        (changed,) = changes(before, after, "2026-11-25")
        return changed

    assert change("inconclusive", "open").of_words_alone
    assert change("invalid", "refuted").of_words_alone
    assert not change("inconclusive", "open", (1, 2)).of_words_alone
    assert not change("inconclusive", "supported").of_words_alone
    assert not change("refuted", "invalid").of_words_alone


def test_a_version_that_is_published_knows_what_it_replaces(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is judged as a repetition at once, and publishing again adds no second attempt."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    for version in (1, 2, 2):
        asked = changed(study, {}, version=version)
        store = Store(str(tmp_path / f"store{version}"))
        declare(store, asked, "laptop", 0)
        planted = stored(asked, store, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.001)))
        (records,) = stored_sets(asked, planted)
        publish(records, SourceCheck())
        publish_verdicts([asked])
        ((kept,),) = [trial_set.verdicts for trial_set in published_verdicts(asked) or []]
        assert kept.new == ("it was asked once, and is to be repeated on fresh seeds" if version == 1 else "")
    (attempt,) = attempts()
    assert (attempt.version, attempt.verdict) == (1, "supported")
    assert attempt.rule == rule_of(study.judgements[0], "laptop")


def test_publishing_adds_what_changed(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    rule = {"claim": "x.y", "study": "x", "version": 2, "was": "open", "change": "More is asked."}
    (tmp_path / "history.json").write_text(json.dumps({"verdicts": [], "rules": [rule]}), encoding="utf-8")
    append([Change("x.y", "x", "laptop", "cpu", "2026-01-01", *(Stand(1, word, "", None, None, None, "") for word in "ab"))])

    def published(floor: float) -> list[Change]:
        store = Store(str(tmp_path / f"store{floor}"))
        ledger = stored(study, store, lambda trial: result(bowl(trial, -7, floor if trial.arm == "none" else 2.0, noise=0.001)))
        (records,) = stored_sets(study, ledger)
        publish(records, SourceCheck())
        return publish_verdicts([study])[1]

    assert published(2.1) == [], "nothing stood there before"
    assert published(2.1) == []
    (change,) = published(1.9)
    assert (change.old.verdict, change.new.verdict) == ("supported", "refuted")
    assert (change.old.version, change.new.version) == (study.version, study.version)
    assert change.why == ""
    assert [change.claim for change in history().verdicts] == ["x.y", "warmup.improves_best"]
    assert history().verdicts[-1] == change
    assert history().rules == [RuleChange(**rule)]


def test_each_scale_of_a_new_version_replaces_what_stood_there(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version is published scale by scale: what the earlier one had at the second is known until then."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    scales = {"laptop": study.scales["laptop"], "workstation": Scale(description="longer", training={"steps": 20})}

    def published(version: int, floor: float, scale: str) -> list[Change]:
        asked = study.model_copy(update={"version": version, "scales": scales})
        store = Store(str(tmp_path / f"store{version}{scale}"))
        declare(store, asked, scale, 0)
        ledger = stored(
            asked, store, lambda trial: result(bowl(trial, -7, floor if trial.arm == "none" else 2.0, noise=0.001)), scale
        )
        (records,) = stored_sets(asked, ledger)
        publish(records, SourceCheck())
        return publish_verdicts([asked])[1]

    assert [published(1, 2.1, scale) for scale in scales] == [[], []]
    for scale in scales:
        (change,) = published(2, 1.9, scale)
        assert (change.scale, change.old.version, change.new.version) == (scale, 1, 2)
        assert (change.old.verdict, change.new.verdict) == ("supported", "refuted")
    (kept,) = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8")).values()
    assert "earlier" not in kept
