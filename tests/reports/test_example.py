"""The example notebook runs from the first cell to the last, and shows what is committed with it."""

import math
from pathlib import Path

import nbformat
import pytest

from tests.reports.example_notebook import committed, executed


def shown(book: nbformat.NotebookNode) -> list[list[str]]:
    """The words and numbers of every result that has a text form."""
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    return [output.data["text/plain"].split() for output in outputs if output.output_type == "execute_result"]


def same(left: str, right: str) -> bool:
    """Equal words, and numbers that differ by no more than their last shown digit."""
    if left == right:
        return True
    try:
        return math.isclose(float(left), float(right), rel_tol=2e-3, abs_tol=2e-3)
    except ValueError:
        return False


@pytest.mark.slow
def test_it_shows_what_is_committed(tmp_path: Path) -> None:
    before, after = shown(committed()), shown(executed(tmp_path))
    assert len(before) == len(after) >= 8
    for old, new in zip(before, after, strict=True):
        assert len(old) == len(new)
        assert all(map(same, old, new)), (old, new)


def test_nothing_of_a_machine_is_in_it() -> None:
    text = nbformat.writes(committed())
    for trace in ("/home/", "/root/", "/tmp/", "Traceback", "stderr"):
        assert trace not in text
    assert [cell.execution_count for cell in committed().cells if cell.cell_type == "code"] == pytest.approx(
        range(1, 1 + sum(cell.cell_type == "code" for cell in committed().cells))
    ), "executed once, in order"
