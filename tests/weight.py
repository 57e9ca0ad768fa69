"""`make lint`: no room holds more definitions and syntax nodes than its budget in tests/weight.yaml.

Lines can be squeezed; definitions (functions and classes) and nodes of the syntax tree, without docstrings, cannot. A budget is
raised in a commit of its own that says why.
"""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from tests.places import ROOT

BUDGETS = ROOT / "tests" / "weight.yaml"
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Room -> definitions or nodes -> count.
Weights = Mapping[str, Mapping[str, int]]


def weights(files: Mapping[Path, str]) -> Weights:
    """The weights of files by room: a wing of harness/, or a folder at the top. files: path from the root -> source."""
    rooms: dict[str, Counter[str]] = {}
    for path, source in files.items():
        inner = len(path.parts) > 2 and path.parts[0] == "harness"
        room = "/".join(path.parts[:2]) if inner else path.parts[0] if len(path.parts) > 1 else "."
        nodes = list(_nodes(ast.parse(source)))
        count = {"definitions": sum(isinstance(node, DEFINITIONS) for node in nodes), "nodes": len(nodes)}
        rooms.setdefault(room, Counter()).update(count)
    return rooms


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, without docstrings."""
    yield node
    docstring = node.body[0] if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node) is not None else None
    for child in ast.iter_child_nodes(node):
        if child is not docstring:
            yield from _nodes(child)


def excesses(room_weights: Weights, budgets: Weights) -> Iterator[str]:
    """A line for every count that is above its budget, and for every room without one."""
    for room, counts in sorted(room_weights.items()):
        for what, count in counts.items():
            most = budgets.get(room, {}).get(what, 0)
            if count > most:
                yield f"{room}: {count:,} {what}, {count - most:,} more than tests/weight.yaml allows: take something out"


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = {Path(name): (ROOT / name).read_text("utf-8") for name in listed.splitlines() if (ROOT / name).exists()}
    lines = list(excesses(weights(files), yaml.safe_load(BUDGETS.read_text("utf-8"))))
    print("\n".join(lines), file=sys.stderr, end="\n" if lines else "")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
