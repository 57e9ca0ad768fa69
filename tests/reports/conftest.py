"""Fixtures that make pages of a small study quick to write."""

import pickle
from collections.abc import Iterator
from functools import partial

import pytest
from jinja2 import Environment, FileSystemBytecodeCache

from folklore.reports import site, study_page
from folklore.reports.figures.drawing import Drawing
from folklore.reports.figures.render import as_svg


@pytest.fixture(scope="session", autouse=True)
def compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every site makes its templates again: here they are compiled once."""
    compiled = FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "Environment", partial(Environment, bytecode_cache=compiled))
        yield


@pytest.fixture(scope="session", autouse=True)
def pictures() -> Iterator[dict[bytes, str]]:
    """Figures drawn already, by what they show: nearly all tests of pages write those of the same trials."""
    drawn: dict[bytes, str] = {}

    def drawn_once(drawing: Drawing) -> str:
        shown = pickle.dumps(drawing)
        if shown not in drawn:
            drawn[shown] = as_svg(drawing)
        return drawn[shown]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_page, "as_svg", drawn_once)
        yield drawn
