"""The pages of the published evidence as a reader gets them: small, and without a link that leads nowhere."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness import catalog
from harness.pages import belonging, write_pages
from harness.store import Store

# What every page of the site shares, and what is loaded when a reader asks for a trial's curves.
SHARED = ("style.css", "site.js", "plotly.min.js")
CURVES = "curves"
MOST_BYTES = 1_000_000


class Page(HTMLParser):
    """The places a page leads to, and the names of its own."""

    def __init__(self, file: Path):
        super().__init__()
        self.targets: list[str] = []
        self.names: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.targets += [value for name in ("href", "src") if (value := found.get(name))]
        self.names += [found[name] or "" for name in ("id", "name") if name in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("published")
    pages, _ = write_pages(Store(str(place)), [catalog.load_study(name) for name in catalog.study_names()])
    return pages


def test_every_page_is_small_with_its_figures(folder: Path) -> None:
    sizes = {}
    for page in folder.glob("*.html"):
        figures = [file for file in (folder / "figures").iterdir() if file.name.startswith(f"{page.stem}-")]
        beside = {*belonging(page), *figures}
        own = [file for file in beside if file.name not in SHARED and file.parent.name != CURVES]
        sizes[page.name] = sum(file.stat().st_size for file in own)
    assert len(sizes) >= len(catalog.study_names()) + len(catalog.register().documents) + 1
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}


def test_every_link_leads_somewhere(folder: Path) -> None:
    pages = {file.name: Page(file) for file in folder.glob("*.html")}
    for name, page in pages.items():
        assert page.targets, name
        for target in page.targets:
            if "://" in target:
                continue
            file, _, place = target.partition("#")
            assert (folder / (file or name)).is_file(), f"{name} leads to {target}"
            if place:
                assert place in pages[file or name].names, f"{name} leads to {target}"
