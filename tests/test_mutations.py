"""Faults planted in a copy of the sources (tests/mutations): each must be caught by a test that is there already."""

from collections.abc import Iterator

import pytest

from tests.mutations.faults import FAULTS, Fault
from tests.mutations.planting import ROOT, Bed, misplaced, planting

# So many at least, and one in every room of the project.
LEAST = 60
ROOMS = {"models", "reports", "studies", *(f"harness/{each.parent.name}" for each in (ROOT / "harness").glob("*/__init__.py"))}


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with planting() as planted:
        yield planted


def test_every_fault_can_be_planted() -> None:
    """Seen without running any: sources and tests that were rewritten lose no fault unnoticed."""
    assert not misplaced(FAULTS)
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= LEAST
    assert {fault.room for fault in FAULTS} >= ROOMS


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault: Fault, bed: Bed) -> None:
    outcome = bed.outcome(fault)
    assert outcome.caught, f"{fault.test} does not catch it:\n{outcome.output}"


@pytest.mark.slow
def test_the_sound_copy_passes(bed: Bed) -> None:
    """The same tests the same way without a fault: it is the faults that fail above."""
    outcome = bed.sound(FAULTS)
    assert outcome.passed, outcome.output
