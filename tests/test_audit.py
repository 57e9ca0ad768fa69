"""The offline part of `make audit`, and that it can find something."""

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


def test_a_known_vulnerability_fails_it_and_silence_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "unpinned", list)
    monkeypatch.setattr(audit, "misfits", list)
    monkeypatch.setattr(audit, "vulnerabilities", lambda: (["numpy 1.0: X-1"], 3))
    assert audit.main() == 1
    monkeypatch.setattr(audit, "vulnerabilities", lambda: ([], len(audit.pins())))
    assert audit.main() == 0
