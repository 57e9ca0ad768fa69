"""The offline part of `make audit`, and that it can find something."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import audit


def test_what_is_installed_is_pinned() -> None:
    assert audit.unpinned() == []


def test_what_is_installed_fits() -> None:
    assert audit.misfits() == []


@pytest.mark.parametrize("line", ["numpy>=2", "numpy @ https://example.org/numpy.whl", "--extra-index-url https://example.org"])
def test_constraints_are_pins_alone(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "CONSTRAINTS", tmp_path / "constraints.txt")
    audit.CONSTRAINTS.write_text(f"pandas==3.0\n{line}\n")
    with pytest.raises(ValueError, match="must be NAME==VERSION"):
        audit.pins()


def test_another_version_than_the_pinned_one_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "CONSTRAINTS", tmp_path / "constraints.txt")
    audit.CONSTRAINTS.write_text("numpy==1.0\n")
    wrong = audit.unpinned()
    assert any(line.startswith("numpy ") and "constraints.txt has 1.0" in line for line in wrong)
    assert any("no pin of it" in line for line in wrong)


@pytest.fixture
def lookup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[object], int]:
    """Audits two packages that are installed as pinned and fit, with what pip-audit prints, or the error that ends it."""
    monkeypatch.setattr(audit, "CONSTRAINTS", tmp_path / "constraints.txt")
    audit.CONSTRAINTS.write_text("numpy==1.0\nPyYAML==6.0\n")
    monkeypatch.setattr(audit, "unpinned", list)
    monkeypatch.setattr(audit, "misfits", list)

    def run(answer: object) -> int:
        def printed(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
            if isinstance(answer, Exception):
                raise answer
            return subprocess.CompletedProcess(command, 0, stdout=json.dumps(answer), stderr="warned\nno connection\n")

        monkeypatch.setattr(audit.subprocess, "run", printed)
        return audit.main()

    return run


def dependencies(*packages: dict[str, object]) -> dict[str, object]:
    return {"dependencies": list(packages)}


CLEAN = {"version": "6.0", "vulns": []}


def test_a_known_vulnerability_fails_it(lookup: Callable[[object], int], capsys: pytest.CaptureFixture[str]) -> None:
    flawed = {"name": "numpy", "version": "1.0", "vulns": [{"id": "X-1"}]}
    assert lookup(dependencies(flawed, {"name": "pyyaml", **CLEAN})) == 1
    printed = capsys.readouterr()
    assert "numpy 1.0: X-1" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (subprocess.TimeoutExpired("pip_audit", 120.0), "did not finish within 120 s"),
        ({}, "pip-audit failed (no connection)"),
        (dependencies(), "pip-audit does not report it"),
        (dependencies(*({"name": name, "skip_reason": "not on PyPI"} for name in ("numpy", "pyyaml"))), "not on PyPI"),
    ],
    ids=["no end", "no answer", "an empty answer", "an index without the database"],
)
def test_an_audit_that_looked_nothing_up_warns_and_passes(
    answer: object, reason: str, lookup: Callable[[object], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A mirror that has no record of vulnerabilities once read as '0 known vulnerabilities'."""
    assert lookup(answer) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("WARNING: no vulnerability was looked up: ")
    assert reason in printed.err
    assert "with access to the internet" in printed.err
    assert "0 known" not in printed.out


def test_an_audit_that_looked_up_a_part_warns_of_the_rest(
    lookup: Callable[[object], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of a package that the answer leaves out."""
    assert lookup(dependencies({"name": "pyyaml", **CLEAN})) == 0
    printed = capsys.readouterr()
    assert "0 known vulnerabilities in 1 of 2 pinned packages" in printed.out
    assert printed.err.startswith("WARNING: vulnerabilities of 1 of 2 packages were not looked up")


def test_a_complete_audit_does_not_warn(lookup: Callable[[object], int], capsys: pytest.CaptureFixture[str]) -> None:
    assert lookup(dependencies({"name": "numpy", **CLEAN}, {"name": "pyyaml", **CLEAN})) == 0
    assert capsys.readouterr().err == ""
