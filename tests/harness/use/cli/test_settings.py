"""Defaults of options from a project's own file."""

from pathlib import Path

import pytest

from folklore.harness.errors import UserError, nearest
from folklore.harness.use.cli.settings import settings
from tests.harness.use.cli.test_cli import assert_refused, call


def test_the_nearest_file_that_has_settings_counts(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "folklore.toml").write_text('store = "outer"')
    (tmp_path / "project" / "pyproject.toml").write_text("[tool.other]\nstore = 3")
    assert settings(inner) == {"store": str(tmp_path / "outer")}
    (tmp_path / "project" / "pyproject.toml").write_text('[tool.folklore]\nstore = "s3://bucket/here"\nworkers = 2')
    assert settings(inner) == {"store": "s3://bucket/here", "workers": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sore = 1", "no setting named 'sore': did you mean 'store'"),
        ("store = 1", "store = 1: must be text in quotes"),
        ('workers = "2"', "workers = '2': must be a whole number"),
        ("workers = true", "workers = True: must be a whole number"),
        ("store = ", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_its_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "folklore.toml").write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        settings(tmp_path)
    assert str(tmp_path / "folklore.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_option_counts_before_a_variable_and_that_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place names a store that cannot be, whose name the refusal shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FOLKLORE_STORE", raising=False)
    (tmp_path / "folklore.toml").write_text('store = "file-of://settings"')
    assert_refused(call("verdicts"), "file-of://settings")
    monkeypatch.setenv("FOLKLORE_STORE", "variable-of://settings")
    assert_refused(call("verdicts"), "variable-of://settings")
    assert_refused(call("verdicts", "--store", "option-of://settings"), "option-of://settings")


def test_a_field_is_meant_by_one_of_its_words() -> None:
    """The first of several: what a study varies stands before what it could vary."""
    assert nearest("lr", ["steps", "peak_lr", "muon_lr"]) == "peak_lr"
    assert nearest("peek_lr", ["muon_lr", "peak_lr"]) == "peak_lr"
    assert nearest("xyz", ["muon_lr"]) == ""
