"""Where the links of a folder of pages lead."""

from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """The places a page leads to, and the names of its own."""

    def __init__(self, file: Path):
        super().__init__()
        self.targets: list[str] = []
        self.names: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        content = dict(attrs)
        self.targets += [value for name in ("href", "src") if (value := content.get(name))]
        self.names |= {value for name in ("id", "name") if (value := content.get(name))}


def pages_of(folder: Path) -> dict[str, Page]:
    """File name -> page."""
    return {file.name: Page(file) for file in sorted(folder.glob("*.html"))}


def dead_links(folder: Path) -> list[str]:
    """Every link, image, script and style sheet that leads to no file of the folder, or to no name on its page. Addresses of
    servers are left out."""
    pages = pages_of(folder)
    dead = []
    for name, page in pages.items():
        for target in page.targets:
            file, _, place = target.partition("#")
            file = file or name
            if "://" not in target and (not (folder / file).is_file() or (place and place not in pages[file].names)):
                dead.append(f"{name} leads to {target}")
    return dead
