"""Faults planted in a copy of the sources (tests/mutations): each must be caught by a test that is there already."""

import pytest

from tests.mutations.faults import FAULTS, Fault
from tests.mutations.planting import Outcome, misplaced, outcomes


@pytest.fixture(scope="module")
def tried(request: pytest.FixtureRequest) -> dict[Fault | None, Outcome]:
    """The outcome of every fault that a test below asks for, and beside None that of no fault."""
    asked = [item.callspec.params.get("fault") for item in request.session.items if hasattr(item, "callspec")]
    return dict(outcomes([fault for fault in FAULTS if fault in asked] or FAULTS))


def test_every_fault_can_be_planted() -> None:
    """Seen without running any: sources and tests that were rewritten lose no fault unnoticed."""
    assert not misplaced(FAULTS)
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault: Fault, tried: dict[Fault | None, Outcome]) -> None:
    assert tried[fault].caught, f"{fault.test} does not catch it:\n{tried[fault].output}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_sound_copy_passes(tried: dict[Fault | None, Outcome]) -> None:
    """The same tests the same way without a fault: it is the faults that fail above."""
    assert tried[None].passed, tried[None].output
