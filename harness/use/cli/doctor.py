"""Checks of this machine and installation, each with the way to fix it.

Torch and Ray are imported by processes of their own, beside MLflow's round trip in this one: each takes seconds.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from ...errors import INSTALL, quoted
from ...launch.tracking.sync import open_tracker
from ...options import Options
from ...plan.catalog import all_studies, register
from ...plan.store.store import Store
from ...train.machine.description import versions

# Packages that the numbers and the results rest on.
PACKAGES = ("torch", "ray", "optuna", "mlflow", "pandas", "pyarrow")
# Variable, the values that are not safe, and what to do.
UNSAFE = (
    ("RAY_AUTH_MODE", ("disabled", "none"), "unset it: whoever reaches Ray's ports could run code here"),
    ("MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE", ("true", "1"), "unset it: any web page could talk to your MLflow"),
    ("MLFLOW_SERVER_ALLOWED_HOSTS", ("*",), "name the hosts: '*' takes requests for any"),
)
LEAST_MEMORY_GIB, LEAST_DISK_GIB = 2.0, 1.0
# An import that takes longer hangs.
IMPORT_SECONDS = 300.0
# Code of the processes beside this one; each prints one JSON object.
WITH_TORCH = "import json; from folklore.harness.train.torch_facts import torch_facts; print(json.dumps(torch_facts()))"
WITH_RAY = "import json, ray; print(json.dumps({'version': ray.__version__}))"


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    found: str
    fix: str


def least_versions() -> dict[str, str]:
    """Lowest versions of Python and the packages above that pyproject.toml allows."""
    ours = distribution("folklore-harness")
    specifiers = {requirement.name: requirement.specifier for requirement in map(Requirement, ours.requires or ())}
    lowest = {name: next(iter(specifiers[name])).version for name in PACKAGES}
    return {"python": ours.metadata["Requires-Python"].removeprefix(">="), **lowest}


def examine(options: Options) -> Iterator[Check]:
    """Every check in order; a check that breaks is a failed check, never a traceback."""
    with _beside(WITH_TORCH) as torch, _beside(WITH_RAY) as ray:
        yield from _examine(options, torch, ray)


def _examine(options: Options, torch: "subprocess.Popen[str]", ray: "subprocess.Popen[str]") -> Iterator[Check]:
    yield from _versions()
    yield Check("bytecode", True, _bytecode(), "")
    yield _attempt("studies", _studies, "fix the study named here")
    yield _attempt("store", lambda: _store(options), "give a writable folder or bucket with --store")
    yield _attempt("mlflow round trip", lambda: _mlflow(options), "give another database or server with --tracking")
    yield _attempt("import of ray", lambda: str(_said(ray)["version"]), INSTALL)
    yield from _device(torch)
    yield from _unsafe()


def _versions() -> Iterator[Check]:
    have = versions()
    for package, least in least_versions().items():
        ok = have[package] != "not installed" and Version(have[package]) >= Version(least)
        yield Check(package, ok, have[package], f"needs {package} {least} or newer: {INSTALL}")


def _device(torch: "subprocess.Popen[str]") -> Iterator[Check]:
    facts: dict[str, Any] = {}

    def version() -> str:
        facts.update(_said(torch))
        return str(facts["version"])

    yield _attempt("import of torch", version, INSTALL)
    if not facts:
        yield Check("device", False, "not known without torch", INSTALL)
        return
    yield Check("device", True, facts["device"], "")
    missing = facts["compiler"]
    yield Check("compiler", True, missing + ": packs are not compiled" if missing else "can compile packs", "")
    memory = facts["memory_gib"]
    yield Check("memory", memory >= LEAST_MEMORY_GIB, f"{memory:.1f} GiB free", f"free {LEAST_MEMORY_GIB:g} GiB")


@contextmanager
def _beside(code: str) -> "Iterator[subprocess.Popen[str]]":
    """A process of this Python that runs some code beside this one; ended with the block."""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _said(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """The JSON object a process printed. Raises ValueError with the last line of its error."""
    out, errors = process.communicate(timeout=IMPORT_SECONDS)
    if process.returncode:
        raise ValueError((errors.strip().splitlines() or [f"ended with exit code {process.returncode}"])[-1])
    return dict(json.loads(out.splitlines()[-1]))


def _bytecode() -> str:
    """Whether libraries lie compiled; if not, and Python may not write bytecode, every start compiles them again."""
    spec = importlib.util.find_spec("pandas")
    assert spec is not None and spec.origin is not None, "pandas is installed with folklore"  # noqa: PT018
    if Path(importlib.util.cache_from_source(spec.origin)).exists():
        return "libraries are compiled"
    again = " at every start, as PYTHONDONTWRITEBYTECODE is set" if sys.dont_write_bytecode else " at the first start"
    return f"libraries are compiled{again}: `make setup`, or `python -m compileall` on their folder, saves seconds"


def _unsafe() -> Iterator[Check]:
    """Switches in the environment that would let others in, or run what they stored."""
    for name, unsafe, fix in UNSAFE:
        value = os.environ.get(name, "")
        ok = value.lower() not in unsafe
        yield Check(name, ok, value or "not set", fix)


def _attempt(name: str, check: Callable[[], str], fix: str) -> Check:
    try:
        return Check(name, True, check(), "")
    except Exception as error:  # the point of a doctor: whatever is wrong becomes a line
        return Check(name, False, quoted(error), fix)


def _studies() -> str:
    studies = all_studies()
    judged = {judgement.claim for study in studies for judgement in study.judgements}
    known = {claim.id for claim in register().claims}
    if judged - known:
        raise ValueError(f"claims judged but not registered: {', '.join(sorted(judged - known))}")
    return f"{len(studies)} studies judge {len(judged)} of {len(known)} claims"


def _store(options: Options) -> str:
    store = Store(options.store)
    there = _is_there(store)
    store.check_writable()
    if not store.is_local:
        return store.uri
    if not there:
        os.rmdir(store.root)
        return f"{store.root}, which is not there yet: a run makes it"
    free = shutil.disk_usage(store.root).free / 2**30
    if free < LEAST_DISK_GIB:
        raise ValueError(f"{store.root} has {free:.1f} GiB free, below {LEAST_DISK_GIB:g}")
    return f"{store.root}, {free:.0f} GiB free"


def _mlflow(options: Options) -> str:
    store, study = Store(options.store), all_studies()[0]
    if options.tracking is not None or _is_there(store):
        tracker = open_tracker(study, options, store)
        tracker.check()
        return tracker.uri
    with tempfile.TemporaryDirectory() as folder:
        open_tracker(study, options, Store(folder)).check()
    return f"{store.root}, which is not there yet: a run makes it"


def _is_there(store: Store) -> bool:
    """Whether a store is there; looking does not make it: its name may be mistyped."""
    return not store.is_local or os.path.isdir(store.root)
