"""Plants faults in a copy of the sources and runs the tests that must catch them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutations.faults import Fault
from tests.places import ROOT

PACKAGES = ("harness", "models", "reports", "studies")
COPIED = (*PACKAGES, "tests", "pyproject.toml")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "results")


@dataclass(frozen=True)
class Outcome:
    """A test's result with a fault in the sources. code: pytest's; output: the end of what it printed; seconds: CPU time of
    its process and of those that it started."""

    code: int
    output: str
    seconds: float

    @property
    def passed(self) -> bool:
        return self.code == 0

    @property
    def caught(self) -> bool:
        """Whether a test failed; what cannot even be imported was not caught."""
        return self.code == 1 and "= FAILURES =" in self.output


def misplaced(faults: Sequence[Fault]) -> list[str]:
    """Why faults cannot be planted or looked for as they are written, a line each."""
    return [line for fault in faults for line in _findings(fault)]


def _findings(fault: Fault) -> Iterator[str]:
    said = (ROOT / fault.file).read_text(encoding="utf-8").count(fault.old) if (ROOT / fault.file).is_file() else 0
    if said != 1:
        yield f"'{fault.name}': {fault.file} says {fault.old!r} {said} times, and once is meant: plant it again"
    file, function = fault.test.partition("::")[0], f"def {fault.test.rpartition('::')[2].partition('[')[0]}("
    if not (ROOT / file).is_file() or function not in (ROOT / file).read_text(encoding="utf-8"):
        yield f"'{fault.name}': there is no test {fault.test}: name the one that catches it now"


def outcomes(faults: Sequence[Fault]) -> Generator[tuple[Fault | None, Outcome], None, None]:
    """First, beside None, the outcome of all tests without any fault: it must be the fault that fails a test. Then that of each
    fault, planted in a copy of the sources, in the order in which they are tried."""
    with TemporaryDirectory(prefix="folklore-mutations-") as folder:
        _copy(Path(folder))
        # Nothing is kept of what a fault compiles to.
        environment = {
            **os.environ,
            "PYTHONPATH": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        command = [sys.executable, "-m", "tests.mutations.forks"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, cwd=folder, env=environment, **pipes, text=True, start_new_session=True) as process:
            assert process.stdin is not None and process.stdout is not None  # noqa: PT018
            with process.stdin:
                json.dump([[fault.file, fault.old, fault.new, fault.arguments] for fault in faults], process.stdin)
            try:
                for line in process.stdout:
                    index, *fields = json.loads(line)
                    yield None if index is None else faults[index], Outcome(*fields)
                if process.wait():
                    raise RuntimeError("the process that plants faults has failed; what it printed stands above")
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and the test that is running


def _copy(folder: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, folder / name)
    # Under the name by which it is imported, and before what is installed.
    (folder / "folklore").mkdir()
    for name in PACKAGES:
        (folder / "folklore" / name).symlink_to(folder / name, target_is_directory=True)
