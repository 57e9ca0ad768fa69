"""A test that fails once is a flake that is named; one that fails twice, or that guards results, fails the run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import HANG_SECONDS
from tests.once_more import MOST
from tests.places import ROOT

pytestmark = pytest.mark.slow

# Fails until it has been run as often as `times` says.
FLAKY = """
from pathlib import Path

def test_{name}():
    runs = Path(r"{folder}") / "{name}.runs"
    runs.write_text((runs.read_text() if runs.exists() else "") + "x")
    assert len(runs.read_text()) > {times}, "run " + runs.read_text()
"""


def outcome(folder: Path, *tests: tuple[str, int], processes: int = 0) -> tuple[int, str]:
    """Exit code and output, of tests by name and by how often they fail."""
    for name, times in tests:
        (folder / f"test_{name}.py").write_text(FLAKY.format(name=name, folder=folder, times=times))
    command = [sys.executable, "-m", "tests.once_more", "-n", str(processes)]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=HANG_SECONDS
    )
    return done.returncode, done.stdout


def test_what_passes_alone_is_named_as_a_flake(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, ("fine", 0), ("busy", 1), processes=2)
    assert code == 0, said
    name, first, alone = said.splitlines()[-3:]
    assert name.startswith("flake: ")
    assert name.endswith("test_busy.py::test_busy")
    assert "run x" in first
    assert alone == "  alone:  it passed"


def test_what_fails_twice_fails_with_both_messages(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, ("busy", 1), ("broken", 5))
    assert code == 1
    assert "failed twice: " in said
    assert "run xx" in said.splitlines()[-1] or "run xx" in said.splitlines()[-4]


@pytest.mark.parametrize(
    "tests", [[("ledger_of_trials", 1)], [(f"busy_{number}", 1) for number in range(MOST + 1)]], ids=["ledger", "many"]
)
def test_what_guards_results_and_what_fails_in_numbers_has_one_chance(tests: list[tuple[str, int]], tmp_path: Path) -> None:
    code, said = outcome(tmp_path, *tests)
    assert code == 1
    assert "flake" not in said
