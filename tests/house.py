"""Draws the wings and what passes between them, from the imports and docstrings of the sources.

`python -m tests.house` writes the picture into CONTRIBUTING.md; a test holds the one that stands there to it.
"""

import ast
import re
from functools import cache
from pathlib import Path

from tests.places import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
WINGS = ("declare", "train", "plan", "judge", "launch", "elsewhere", "use")
# Beside the harness, with what goes out of them.
FOLDERS = {
    "studies": "studies, claims, metrics, computed numbers",
    "models": "networks with a lane axis",
    "reports": "pages, figures",
}
# Entry points of pyproject.toml: what the harness takes without importing it.
GROUPS = {"studies": "folklore.studies", "reports": "folklore.site"}
BEGIN, END = "<!-- python -m tests.house -->\n", "<!-- end -->\n"


@cache
def places() -> dict[Path, str]:
    """File -> the wing or the folder at the top that it is in; the harness's own top belongs to none."""
    files = {path: path.relative_to(ROOT).parts for folder in ("harness", *FOLDERS) for path in (ROOT / folder).rglob("*.py")}
    return {path: parts[parts[0] == "harness"] for path, parts in files.items() if parts[0] != "harness" or parts[1] in WINGS}


def imports() -> dict[str, set[str]]:
    """Wing or folder -> those that its files import."""
    imports_by_place: dict[str, set[str]] = {name: set() for name in (*WINGS, *FOLDERS)}
    for path, place in places().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                package = path.relative_to(ROOT).parent.parts
                target = [*package[: len(package) - node.level + 1], *(node.module or "").split("."), node.names[0].name]
                names = [part for part in target if part]
                imports_by_place[place].add(names[names[0] == "harness"])
    return {place: (names & imports_by_place.keys()) - {place} for place, names in imports_by_place.items()}


def picture() -> str:
    """A Mermaid flowchart of the way of the data: against the imports, those left out that a longer way implies."""
    known = imports()

    def below(place: str) -> set[str]:
        return known[place].union(*(below(name) for name in known[place]))

    out = {wing: _out(wing) for wing in WINGS} | FOLDERS
    nodes = [f'    {name}["<b>{name}</b><br/>{words}"]' for name, words in out.items()]
    arrows = [
        f"    {name} --> {place}"
        for place in out
        for name in out
        if name in known[place] and not any(name in below(between) for between in known[place] - {name})
    ]
    by_name = [
        f"    {folder} -. by name .-> {place}"
        for folder, group in GROUPS.items()
        for place in WINGS
        if any(f'"{group}"' in path.read_text() for path, own in places().items() if own == place)
    ]
    return "\n".join(["```mermaid", "flowchart TB", *nodes, *arrows, *by_name, "```", ""])


def _out(wing: str) -> str:
    words = re.search(r"^Out: (.*)\.$", (ROOT / "harness" / wing / "__init__.py").read_text(), re.MULTILINE)
    assert words is not None, wing
    return words[1].replace(": ", ", ").replace("; ", "<br/>")


def page() -> str:
    """CONTRIBUTING.md with the picture as it should be."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return before + BEGIN + picture() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page())
