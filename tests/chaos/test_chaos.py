"""A short version of `make chaos`: whatever is struck, every trial ends with one result, the undisturbed one. Parts of Ray are
killed in tests/harness/launch/test_ray_process.py."""

from pathlib import Path

import pytest

from tests.chaos import campaign

pytestmark = pytest.mark.slow

# How long Ray's processes may be left is measured by `make chaos`, which has the machine to itself.
BESIDE_OTHER_TESTS = 4.0


def test_nothing_is_lost_and_nothing_is_doubled(tmp_path: Path) -> None:
    said: list[str] = []
    kinds = ["worker_killed", "memory_used_up", "driver_terminated", "ledger_damaged"]
    totals = campaign.run(4, 20, said.append, tmp_path, kinds, BESIDE_OTHER_TESTS)
    assert totals.fine, "\n".join([*said, *totals.problems])
    assert totals.injections == 4
    assert totals.line.startswith("chaos: 4 injections, 0 lost, 0 doubled, ")
