"""Another process takes seconds to make a workload again: only the tests of that wait for it."""

import pytest

from folklore.harness.plan import own_study


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("another_process") is None:
        monkeypatch.setattr(own_study, "require_reproducible", lambda own: None)
