"""What several tests of training need."""

import pytest

from folklore.harness.train.procedures import batch_ramp, plain
from folklore.harness.train.workloads.data import base, text


@pytest.fixture
def short_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw serves 16 steps, so that a training of a few more passes its end."""
    for module in (base, batch_ramp, plain, text):
        monkeypatch.setattr(module, "STEPS_PER_DRAW", 16)
