"""What makes pages of a small study as quick to write as they are small."""

from collections.abc import Iterator
from functools import partial

import pytest
from jinja2 import Environment, FileSystemBytecodeCache

from folklore.reports import calibration, site


@pytest.fixture(scope="session", autouse=True)
def compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every site makes its templates again: here they are compiled once."""
    compiled = FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "Environment", partial(Environment, bytecode_cache=compiled))
        yield


@pytest.fixture(scope="module")
def few_calibrated() -> Iterator[None]:
    """The published calibration of relative gaps alone: all kinds of worlds are the longest page by far, whatever is shown."""
    few = [row for row in calibration.rows() if row["observable"] == "relative_gap"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "rows", lambda: few)
        patch.setattr(calibration, "methods", list)
        yield
