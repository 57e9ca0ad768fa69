"""Plain English: words of our own that stopped readers do not come back where a person reads, code and comments included."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

# What stands for it in plain English. Whole words, in any case.
BANNED = {
    r"foretells?": "predict",
    r"mends?|mended": "fix",
    r"dear|dearer": "expensive",
    r"anew": "again",
    r"none's": "unknown",
    r"nobody's": "no one's",
    r"so many(?! that| are| lanes|,| of each)": "this many, or the number",
    r"so-manieth": "number n",
    r"(?:is|are|was|were|be) looked at": "inspect, measure, compare",
    r"where it is had": "if available",
    r"goes as the power": "scales as",
    r"of the fall": "of the loss reduction",
    r"undecidable\w*": "not estimable",
    r"takeover": "switch",
}
# Names of criteria and of other readings are declared, and stay as they are until a study's next version.
IN_DECLARED_NAMES = {"of the fall", "anew"}
READ = ("README.md", "CONTRIBUTING.md", "Makefile", "harness/**/*.py", "models/**/*.py", "studies/**/*.py", "reports/*.py",
        "reports/figures/*.py", "reports/templates/*")  # fmt: skip


@pytest.mark.parametrize("pattern", READ)
def test_banned_words_do_not_come_back(pattern: str) -> None:
    words = set(BANNED) - (IN_DECLARED_NAMES if pattern.startswith("studies") else set())
    banned = re.compile(rf"\b(?:{'|'.join(sorted(words))})\b", re.IGNORECASE)
    files = sorted(ROOT.glob(pattern))
    assert files
    offences = [
        f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for file in files
        for text in [file.read_text("utf-8")]
        for match in banned.finditer(text)
    ]
    assert not offences, "\n".join(offences)


# Names that avoid saying what they hold, and in how many bindings they may stay: beside `right`, and as hypothesis' decorator.
AVOIDED = {"each", "found", "told", "seen", "left", "given"}
MOST_AVOIDED = 60
PYTHON = sorted(path for room in ("harness", "models", "reports", "studies", "tests") for path in (ROOT / room).rglob("*.py"))


def bindings(tree: ast.AST) -> Iterator[ast.Name | ast.arg]:
    """Variables where they get a value, and parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
            yield node


def test_variables_are_named_after_what_they_hold() -> None:
    avoided = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path in PYTHON
        for node in bindings(ast.parse(path.read_text("utf-8")))
        if (name := node.arg if isinstance(node, ast.arg) else node.id) in AVOIDED
    ]
    assert len(avoided) <= MOST_AVOIDED, "\n".join(avoided)


def documented(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield getattr(node, "lineno", 1), text


def test_docstrings_begin_with_what_a_thing_is_and_not_with_the_word_what() -> None:
    begun = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in PYTHON
        for line, text in documented(path)
        if re.match(r"(What|That which)\b", text)
    ]
    assert not begun, "\n".join(begun)
