"""Another process takes seconds to make a workload again: only the tests of that wait for it."""

import pytest

from folklore.harness.plan import proving


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("another_process") is None:
        monkeypatch.setattr(proving, "require_reproducible", lambda found: None)
