"""Runs the tests, and a few that failed once more: `python -m tests.once_more ARGUMENTS OF PYTEST`.

One test of thousands that fails on a busy machine must not cost a day. At most MOST failed tests run again, each alone in a
fresh process; a test that fails twice fails the run, and one that passes is named in the last lines as a flake, with what it
said the first time. It is to be mended at its cause. What holds results together never gets a second chance.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

MOST = 3
# Words in a test's file or name: a fault of these that comes seldom is a fault all the same.
NEVER = re.compile(r"chaos|store|ledger|contract")
# Where the first run writes the tests that failed: name -> message.
FAILURES = "FOLKLORE_TEST_FAILURES"
TESTS_FAILED = int(pytest.ExitCode.TESTS_FAILED)
LONGEST_MESSAGE = 300


class Failures:
    """A plugin: writes which tests failed, and the last line that each of them said."""

    def __init__(self, file: Path):
        self.file, self.messages = file, dict[str, str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            said = [line[1:].strip() for line in report.longreprtext.splitlines() if line.startswith("E ")]
            message = (said or report.longreprtext.splitlines() or [report.when or ""])[0]
            self.messages.setdefault(report.nodeid, message[:LONGEST_MESSAGE])

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps(self.messages))


def pytest_configure(config: pytest.Config) -> None:
    file = os.environ.get(FAILURES)
    if file and not hasattr(config, "workerinput"):  # pytest-xdist's first process hears of all tests
        config.pluginmanager.register(Failures(Path(file)))


@dataclass(frozen=True)
class Run:
    """code: pytest's. messages: test that failed -> what it said."""

    code: int
    messages: dict[str, str]


def run(arguments: Sequence[str]) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "failures.json"
        command = [sys.executable, "-m", "pytest", "-p", "tests.once_more", *arguments]
        code = subprocess.run(command, env={**os.environ, FAILURES: str(file)}).returncode
        return Run(code, json.loads(file.read_text()) if file.exists() else {})


def main(arguments: Sequence[str]) -> int:
    first = run(arguments)
    failed = list(first.messages)
    if first.code != TESTS_FAILED or not failed or len(failed) > MOST or any(map(NEVER.search, failed)):
        return first.code
    again = {name: run(["-n", "0", name]) for name in failed}
    for name, second in again.items():
        passed = second.code == 0
        outcome = "it passed" if passed else f"it failed: {second.messages.get(name, f'exit code {second.code}')}"
        print(f"{'flake' if passed else 'failed twice'}: {name}\n  first:  {first.messages[name]}\n  alone:  {outcome}")
    return max(second.code for second in again.values())


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
