"""Plants one fault after another in the sources that it is started in, and runs the tests that must fail.

A process of its own, `python -m tests.mutations.forks` in a copy of the sources: it imports what takes long and is not the
project's own, once, and forks itself for each fault. Faults are planted in the order in which the sound sources were imported,
and before each the process imports what comes before its file. So a fault costs the imports of what depends on it and one test,
and meets no module that was imported without it.

Reads JSON, a list of [file, old, new, arguments of pytest], and answers with a line of it for all tests without a fault and one
for each fault: [its place in the list or null, exit code of pytest, what it printed, CPU-seconds].
"""

import gc
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

# Assertions are not rewritten: no more is read than whether a test fails.
PYTEST = ("-q", "-x", "--tb=short", "--no-header", "--assert=plain", "-p", "no:cacheprovider", "-o", "addopts=")
# A fault may let a test wait for ever: it is given three times as long as all tests take without one, and at least this long.
HANG_SECONDS = 120
LONGEST_SECONDS = 3600
LONGEST_OUTPUT = 4000
# What the tests of several faults import, and takes long.
LIBRARIES = (
    *("pytest", "numpy", "pandas", "pyarrow.parquet", "pydantic", "scipy.stats", "sklearn.datasets", "seaborn"),
    *("PIL.Image", "fsspec.implementations.local", "statsmodels.stats.multitest", "typer", "rich", "yaml", "torch._dynamo"),
)
OUTPUT, IMPORTED = Path("output.txt").absolute(), Path("imported.txt").absolute()


def main() -> None:
    faults: list[tuple[str, str, str, list[str]]] = json.load(sys.stdin)
    for name in LIBRARIES:
        import_module(name)
    gc.collect()
    gc.freeze()  # a fork that collects garbage would copy all pages
    started = time.monotonic()
    _answer(None, list(dict.fromkeys(argument for *_, arguments in faults for argument in arguments)), LONGEST_SECONDS)
    hang_seconds = max(HANG_SECONDS, int(3 * (time.monotonic() - started)))
    order = IMPORTED.read_text(encoding="utf-8").split()
    places = {name: place for place, name in enumerate(order)}
    in_turn = [(places.get(_module(file), len(order)), index) for index, (file, *_) in enumerate(faults)]
    for place, index in sorted(in_turn):
        file, old, new, arguments = faults[index]
        _import(order[:place])
        assert _module(file) not in sys.modules, f"{file} was imported without its fault"
        sound = Path(file).read_text(encoding="utf-8")
        Path(file).write_text(sound.replace(old, new), encoding="utf-8")
        _answer(index, arguments, hang_seconds)
        Path(file).write_text(sound, encoding="utf-8")


def _module(file: str) -> str:
    return f"folklore.{file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"


def _import(names: Collection[str]) -> None:
    """Imports modules, but not those of packages that are not among them, which import more, nor those that a test made up."""
    known = {"folklore", *names}
    for name in names:
        parts = name.split(".")
        if all(".".join(parts[:depth]) in known for depth in range(1, len(parts))):
            with suppress(ModuleNotFoundError):
                import_module(name)


class _Imported(MetaPathFinder):
    """The project's modules, in the order in which their imports end: none imports a later one."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        spec = PathFinder.find_spec(name, path) if name.startswith("folklore.") else None
        if spec is not None and spec.loader is not None and spec.origin is not None:
            execute = spec.loader.exec_module

            def exec_and_note(module: ModuleType) -> None:
                execute(module)
                self.names.append(name)

            spec.loader.exec_module = exec_and_note  # type: ignore[method-assign]
        return spec


def _answer(index: int | None, arguments: list[str], hang_seconds: int) -> None:
    used = _cpu_seconds()
    code = _in_fork(arguments, hang_seconds)
    said = OUTPUT.read_text(encoding="utf-8", errors="replace")[-LONGEST_OUTPUT:]
    print(json.dumps([index, code, said, _cpu_seconds() - used]), flush=True)


def _in_fork(arguments: list[str], hang_seconds: int) -> int:
    """Exit code of pytest in a fork of this process, or minus the signal that ended it."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    signal.alarm(hang_seconds)
    stream = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    code = 70
    try:
        import pytest

        sys.meta_path.insert(0, imported := _Imported())
        code = int(pytest.main([*PYTEST, *arguments]))
        IMPORTED.write_text("\n".join(imported.names), encoding="utf-8")
        sys.stdout.flush()
    finally:
        # What libraries do at the end of a process is the parent's to do.
        os._exit(code)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
