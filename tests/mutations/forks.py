"""Plants one fault after another in the sources that it is started in, and runs the tests that must fail.

A process of its own, `python -m tests.mutations.forks` in a copy of the sources: it imports what takes long and is not the
project's own, once, and forks itself for each fault. So a fault costs the project's imports and one test, and meets no module
that was imported without it. Reads a line of JSON for each, [file, old, new, tests], and answers with one, [exit code of
pytest, what it printed, CPU-seconds].
"""

import gc
import json
import os
import resource
import signal
import sys
from importlib import import_module
from pathlib import Path

# Assertions are not rewritten: no more is read than whether a test fails.
PYTEST = ("-q", "-x", "--tb=short", "--no-header", "--assert=plain", "-p", "no:cacheprovider", "-o", "addopts=")
# A fault may let a test wait for ever.
HANG_SECONDS = 120
LONGEST_OUTPUT = 4000
# What the tests of several faults import, and takes long.
LIBRARIES = (
    *("pytest", "numpy", "pandas", "pyarrow.parquet", "pydantic", "scipy.stats", "sklearn.datasets", "seaborn"),
    *("PIL.Image", "fsspec.implementations.local", "statsmodels.stats.multitest", "typer", "rich", "yaml", "torch._dynamo"),
)


def main() -> None:
    _import_libraries()
    gc.collect()
    gc.freeze()  # a fork that collects garbage would copy all pages
    output = Path("output.txt").absolute()
    for line in sys.stdin:
        file, old, new, tests = json.loads(line)
        path, used = Path(file), _cpu_seconds()
        sound = path.read_text(encoding="utf-8")
        path.write_text(sound.replace(old, new) if old else sound, encoding="utf-8")
        code = _in_fork(tests, output)
        path.write_text(sound, encoding="utf-8")
        said = output.read_text(encoding="utf-8", errors="replace")[-LONGEST_OUTPUT:]
        print(json.dumps([code, said, _cpu_seconds() - used]), flush=True)


def _import_libraries() -> None:
    for name in LIBRARIES:
        import_module(name)


def _in_fork(tests: list[str], output: Path) -> int:
    """Exit code of pytest in a fork of this process, or minus the signal that ended it."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    signal.alarm(HANG_SECONDS)
    stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    code = 70
    try:
        import pytest

        code = int(pytest.main([*PYTEST, *tests]))
        sys.stdout.flush()
    finally:
        # What libraries do at the end of a process is the parent's to do.
        os._exit(code)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
