"""Pages are remembered: left as they are as long as nothing that they are made of changes."""

from pathlib import Path

import pytest

from folklore.harness.declare import Study
from folklore.harness.judge import verdict_memory
from folklore.harness.judge.verdict_memory import Memory
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.use.reading import page_memory
from folklore.harness.use.reading.page_memory import PageMemory
from tests.harness.helpers import judge_stored


def test_pages_are_written_anew_only_if_something_on_them_changes(
    study: Study, stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, experiments = tmp_path / "pages", {study.name: "1"}
    (pages / "figures").mkdir(parents=True)
    (pages / "toy.html").write_text("as written")
    (pages / "figures" / "one.svg").write_text("as drawn")
    Memory(stored).remember(study, judge_stored(study, stored))

    def current(others: tuple[Study, ...] = (), only: tuple[str, ...] = (study.name,)) -> bool:
        return PageMemory(stored, pages, [study, *others], only, experiments).recall() is not None

    assert not current(), "nothing was written"
    memory = PageMemory(stored, pages, [study], [study.name], experiments)
    memory.remember()
    assert memory.recall() == {study.name: judge_stored(study, stored)}
    assert not current(only=(study.name, "other"))
    assert not current(others=(study.model_copy(update={"name": "other"}),)), "the index shows another study"
    experiments[study.name] = "2"
    assert not current(), "the page links to another experiment"
    experiments[study.name] = "1"
    with monkeypatch.context() as changed:
        changed.setattr(page_memory, "_code", lambda: "other code")
        assert not current()
    with monkeypatch.context() as changed:
        changed.setattr(verdict_memory, "STATISTICS_VERSION", verdict_memory.STATISTICS_VERSION + 1)
        assert not current(), "verdicts are judged again"
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


def test_sources_and_templates_of_pages_count() -> None:
    names = {name for name, _ in page_memory._sources()}
    assert {"harness/judge/judge.py", "reports/site.py", "reports/templates/study.html"} <= names
