"""Fixtures that several tests of training need."""

import pytest

from folklore.harness.train.optimizers import sophia
from folklore.harness.train.precisions import base as precisions
from folklore.harness.train.procedures import batch_ramp, consolidation, outlier, plain, remedies
from folklore.harness.train.workloads.data import base, text


@pytest.fixture
def short_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw serves 16 steps, so that a training of a few more passes its end."""
    for module in (base, batch_ramp, plain, text):
        monkeypatch.setattr(module, "STEPS_PER_DRAW", 16)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens intervals and averages, so that they end within the few steps of a test."""
    monkeypatch.setattr(sophia, "EVERY", 5)
    monkeypatch.setattr(precisions, "GROWTH_INTERVAL", 3)
    monkeypatch.setattr(consolidation, "EXAMPLES", 4)
    monkeypatch.setattr(outlier, "FRACTION", 0.25)
    monkeypatch.setattr(outlier, "SIZE", 50.0)
    monkeypatch.setattr(remedies, "EVERY", 4)
