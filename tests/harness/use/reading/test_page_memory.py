"""Pages are remembered: left as they are as long as nothing that they are made of changes."""

from pathlib import Path

import pytest

from folklore.harness.declare import Study
from folklore.harness.judge.verdict_memory import JudgedTrials
from folklore.harness.plan.store.declaration import declare
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.use.reading import page_memory, pages
from tests.harness.helpers import judge_stored


def test_pages_are_written_anew_only_if_something_on_them_changes(
    study: Study, stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, experiments = tmp_path / "pages", {study.name: "1"}
    (folder / "figures").mkdir(parents=True)
    (folder / "toy.html").write_text("as written")
    (folder / "figures" / "one.svg").write_text("as drawn")

    def current(others: tuple[Study, ...] = (), only: tuple[str, ...] = (study.name,), site_url: str = "") -> bool:
        return page_memory.state(stored, folder, [study, *others], only, experiments, site_url) == written

    written = page_memory.state(stored, folder, [study], [study.name], experiments)
    assert current()
    assert not current(only=(study.name, "other"))
    assert not current(others=(study.model_copy(update={"name": "other"}),)), "the index shows another study"
    assert not current(site_url="https://example.org/"), "pages name their address"
    assert page_memory.state(stored, folder, [study], [study.name], None) != written, "pages lead to no MLflow"
    experiments[study.name] = "2"
    assert not current(), "the page links to another experiment"
    experiments[study.name] = "1"
    with monkeypatch.context() as changed:
        changed.setattr(page_memory, "_code", lambda: "other code")
        assert not current()
    for file in (folder / "toy.html", folder / "figures" / "one.svg"):
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


def test_pages_are_written_once(study: Study, stored: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again if the verdicts on them are forgotten: whoever asks for pages is given these, too."""
    written = []

    class Draft:
        def write(self, output: Path, *_: object, **__: object) -> dict[str, list[JudgedTrials]]:
            written.append(output)
            return {study.name: judge_stored(study, stored)}

    monkeypatch.setattr(pages, "site", Draft)
    first = pages.write_pages(stored, [study], tmp_path / "pages")
    assert pages.write_pages(stored, [study], tmp_path / "pages") == first
    assert len(written) == 1
    stored.remove(f"judged/{study.name}.json")
    assert pages.write_pages(stored, [study], tmp_path / "pages") == first
    assert len(written) == 2
