"""Checks of this machine and installation, each with the way to mend it."""

import importlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from packaging.version import Version

from harness.catalog import load_study, register, study_names
from harness.errors import one_line
from harness.machine import available_memory_bytes, local_device, versions
from harness.options import Options
from harness.prepare import open_tracker
from harness.store import Store
from harness.training.programs import missing_compiler

LEAST_VERSIONS = {
    "python": "3.11",
    "torch": "2.11",
    "ray": "2.50",
    "optuna": "4.5",
    "mlflow": "3.5",
    "pandas": "2.2",
    "pyarrow": "18",
}
# Variable, the values that are not safe, and what to do.
UNSAFE = (
    ("RAY_AUTH_MODE", ("disabled", "none"), "unset it: whoever reaches Ray's ports could run code here"),
    ("MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE", ("true", "1"), "unset it: any web page could talk to your MLflow"),
    ("MLFLOW_SERVER_ALLOWED_HOSTS", ("*",), "name the hosts: '*' takes requests for any"),
)
LEAST_MEMORY_GIB, LEAST_DISK_GIB = 2.0, 1.0


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    found: str
    mend: str


def examine(options: Options) -> Iterator[Check]:
    """Every check in order; a check that breaks is a failed check, never a traceback."""
    have = versions()
    for package, least in LEAST_VERSIONS.items():
        ok = have[package] != "not installed" and Version(have[package]) >= Version(least)
        yield Check(package, ok, have[package], f"needs {package} {least} or newer: make setup")
    device = local_device()
    yield Check("device", True, f"{device.count} x {device.name} ({device.kind})", "")
    missing = missing_compiler(torch.device(device.kind))
    yield Check("compiler", True, missing + ": packs are not compiled" if missing else "can compile packs", "")
    memory = available_memory_bytes(device) / 2**30
    yield Check("memory", memory >= LEAST_MEMORY_GIB, f"{memory:.1f} GiB free", f"free {LEAST_MEMORY_GIB:g} GiB")
    yield _attempt("studies", _studies, "mend the study named here")
    yield _attempt("store", lambda: _store(options), "give a writable folder or bucket with --store")
    yield _attempt("mlflow round trip", lambda: _mlflow(options), "give another database or server with --tracking")
    yield _attempt("ray", _ray, "make setup")
    yield from _unsafe()


def _unsafe() -> Iterator[Check]:
    """Switches in the environment that would let others in, or run what they stored."""
    for name, unsafe, mend in UNSAFE:
        value = os.environ.get(name, "")
        ok = value.lower() not in unsafe
        yield Check(name, ok, value or "not set", mend)


def _attempt(name: str, check: Callable[[], str], mend: str) -> Check:
    try:
        return Check(name, True, check(), "")
    except Exception as error:  # the point of a doctor: whatever is wrong becomes a line
        return Check(name, False, one_line(error)[:200], mend)


def _studies() -> str:
    names = study_names()
    judged = {judgement.claim for name in names for judgement in load_study(name).judgements}
    known = {claim.id for claim in register().claims}
    if judged - known:
        raise ValueError(f"claims judged but not registered: {', '.join(sorted(judged - known))}")
    return f"{len(names)} studies judge {len(judged)} of {len(known)} claims"


def _store(options: Options) -> str:
    store = Store(options.store)
    store.check_writable()
    if not store.is_local:
        return store.uri
    free = shutil.disk_usage(store.root).free / 2**30
    if free < LEAST_DISK_GIB:
        raise ValueError(f"{store.root} has {free:.1f} GiB free, below {LEAST_DISK_GIB:g}")
    return f"{store.root}, {free:.0f} GiB free"


def _mlflow(options: Options) -> str:
    store = Store(options.store)
    tracker = open_tracker(load_study(study_names()[0]), options, store)
    tracker.check()
    return tracker.uri


def _ray() -> str:
    return f"imports ({importlib.import_module('ray').__version__})"
