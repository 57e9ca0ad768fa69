"""Executes the example notebook; `python -m tests.reports.example_notebook` (make notebook) keeps what it shows."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.command_line import HANG_SECONDS
from tests.places import ROOT

NOTEBOOK = ROOT / "reports" / "example.ipynb"


def committed() -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(folder: Path) -> nbformat.NotebookNode:
    """The notebook run from its first cell to its last in a folder. Raises CellExecutionError where a cell does."""
    book = committed()
    client = NotebookClient(
        book,
        timeout=int(HANG_SECONDS),
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    book.metadata["language_info"] = {"name": "python"}  # without the version it ran on
    return book


if __name__ == "__main__":
    nbformat.write(executed(NOTEBOOK.parent), NOTEBOOK)
    print(f"written: {NOTEBOOK}")
