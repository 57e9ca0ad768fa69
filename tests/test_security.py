"""SECURITY.md promises nothing that no test holds."""

import re

from tests.places import ROOT

TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROWS = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if re.match(r"\| (?!promise)[\w`]", line)]


def test_every_promise_names_a_test() -> None:
    assert len(ROWS) > 10
    assert [row for row in ROWS if not TEST.search(row)] == []


def test_every_test_that_it_names_is_there() -> None:
    named = TEST.findall("\n".join(ROWS))
    missing = [f"{path}::{name}" for path, name in named if f"def {name}(" not in (ROOT / path).read_text()]
    assert missing == []
