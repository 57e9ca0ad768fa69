"""The doctor turns whatever breaks into a line, processes beside it included."""

import json
import runpy
import sys
from importlib.metadata import metadata, requires, version
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from folklore.harness.errors import INSTALL
from folklore.harness.train.machine.description import local_device
from folklore.harness.use.cli import doctor
from folklore.harness.use.cli.doctor import Check, _attempt, _beside, _bytecode, _device, _said

FACTS = {"version": "2.13.0", "device": "2 x a CPU (cpu)", "compiler": "", "memory_gib": 20.0}


def checks(code: str) -> dict[str, Check]:
    with _beside(code) as process:
        return {check.name: check for check in _device(process)}


def test_a_torch_that_cannot_be_imported_is_a_failed_check() -> None:
    by_name = checks("raise ImportError('libtorch.so: cannot open shared object file')")
    assert (by_name["import of torch"].ok, by_name["device"].ok) == (False, False)
    assert by_name["import of torch"].found == "ImportError: libtorch.so: cannot open shared object file"
    assert "exit code 3" in checks("raise SystemExit(3)")["import of torch"].found


def test_what_torch_says_becomes_checks() -> None:
    by_name = checks(f"print('a warning'); print({json.dumps(FACTS)!r})")
    assert all(check.ok for check in by_name.values())
    assert by_name["device"].found == "2 x a CPU (cpu)"
    assert by_name["memory"].found == "20.0 GiB free"
    poor = {**FACTS, "memory_gib": 0.5, "compiler": "there is no C++ compiler"}
    by_name = checks(f"print({json.dumps(poor)!r})")
    assert not by_name["memory"].ok
    assert (by_name["compiler"].ok, by_name["compiler"].found) == (True, "there is no C++ compiler: packs are not compiled")


def test_the_facts_are_those_of_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the processes beside it print them, here in this one, where torch and Ray are imported already."""
    for code in (doctor.WITH_TORCH, doctor.WITH_RAY):
        (tmp_path / "beside.py").write_text(code)
        runpy.run_path(str(tmp_path / "beside.py"))
    facts, ray = map(json.loads, capsys.readouterr().out.splitlines())
    assert facts.keys() == FACTS.keys()
    assert local_device().name in facts["device"]
    assert ray == {"version": version("ray")}


def test_what_it_asks_for_is_what_the_installation_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of its own once took Ray 2.50, which the project did not."""
    declared = {line.split(";")[0].strip() for line in requires("folklore-harness") or ()}
    least = doctor.least_versions()
    assert f"ray[tune]>={least['ray']}" in declared
    assert f"mlflow>={least['mlflow']}" in declared
    assert metadata("folklore-harness")["Requires-Python"] == f">={least['python']}"
    monkeypatch.setattr(doctor, "versions", lambda: {**dict.fromkeys(least, "99"), "ray": "2.50"})
    refused = [check for check in doctor._versions() if not check.ok]
    assert [(check.name, check.fix) for check in refused] == [("ray", f"needs ray {least['ray']} or newer: {INSTALL}")]


def test_an_import_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "IMPORT_SECONDS", 0.05)
    with _beside("import time; time.sleep(600)") as process:
        assert "timed out" in _attempt("ray", lambda: str(_said(process)), INSTALL).found
    assert process.poll() is not None, "and its process ended"


@pytest.mark.parametrize(
    ("compiled", "forbidden", "words"), [(True, True, ""), (False, True, "every"), (False, False, "first")]
)
def test_libraries_that_are_compiled_at_every_start_are_told(
    compiled: bool, forbidden: bool, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", forbidden)
    import pandas

    if compiled:
        bytecode = Path(cache_from_source(pandas.__file__))
        bytecode.parent.mkdir(parents=True)
        bytecode.touch()
    assert ("saves seconds" in _bytecode()) is not compiled
    assert words in _bytecode()
