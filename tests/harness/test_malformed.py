"""Five thousand malformed studies: each is refused in one line that names field or rule, and nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from harness import catalog
from harness.catalog import load_study
from harness.cli import app
from harness.errors import UserError, invalid
from harness.spec import Study
from tests.harness.malformed import cases

COUNT, SEED = 5000, 11
# Of the files, every so many go through the command itself.
COMMANDS = 10


def refusal(content: Any, suffix: str, folder: Path) -> str | None:
    """The message a case is refused with; None where it is taken."""
    try:
        if not suffix:
            Study.model_validate(content)
        else:
            path = folder / f"study{suffix}"
            path.write_bytes(content)
            load_study(str(path))
    except ValidationError as error:
        return str(invalid("study", error))
    except UserError as error:
        return str(error)
    return None


def test_malformed_studies_are_refused_in_one_line(study: Study, tmp_path: Path) -> None:
    plain = json.loads(study.canonical_json())
    Study.model_validate(plain)
    taken, refused = [], 0
    for case in cases(plain, COUNT, SEED):
        message = refusal(case.content, case.suffix, tmp_path)
        if message is None:
            taken.append(case.what)
            continue
        refused += 1
        assert len(message.splitlines()) == 1, (case.what, message)
        assert 10 < len(message) < 4000, (case.what, message)
        assert "Traceback" not in message
        assert all(character.isprintable() for character in message), (case.what, message)
    assert not taken, f"{len(taken)} were taken, among them {taken[:5]}"
    assert refused == COUNT
    assert [path.name for path in tmp_path.iterdir() if path.suffix not in (".json", ".yaml")] == []


def test_the_command_refuses_them_with_2(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, calls = json.loads(study.canonical_json()), CliRunner()
    monkeypatch.chdir(tmp_path)
    files = [case for case in cases(plain, COUNT, SEED + 1) if case.suffix]
    chosen = files[::COMMANDS]
    assert {case.suffix for case in chosen} == {".json", ".yaml"}
    for case in chosen:
        path = tmp_path / f"study{case.suffix}"
        path.write_bytes(case.content)
        for command in ("plan", "run"):
            found = calls.invoke(app, [command, str(path), "--store", str(tmp_path / "store")])
            assert found.exit_code == 2, (case.what, found.output)
            assert len(found.stderr.strip().splitlines()) == 1, (case.what, found.stderr)
            assert not (tmp_path / "store").exists(), case.what


def test_a_file_too_large_to_be_a_study(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(b" " * (catalog.LARGEST_STUDY_BYTES + 1))
    with pytest.raises(UserError, match="larger than"):
        load_study(str(path))
