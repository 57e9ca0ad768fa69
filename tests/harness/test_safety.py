"""Nobody is let in who should not be, no secret is shown, nothing from a name runs or leaves the store."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folklore.harness.errors import UserError, masked, one_line
from folklore.harness.launch.tracking import server
from folklore.harness.launch.tracking.server import CLOSED, command_of, is_loopback
from folklore.harness.options import Options
from folklore.harness.plan.store.store import Store
from folklore.harness.use.cli import app
from folklore.harness.use.cli.output import out
from tests.command_line import folklore_here


@pytest.fixture
def used(tmp_path: Path) -> Options:
    (tmp_path / "mlflow.db").write_bytes(b"")
    return Options(str(tmp_path))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_needs_no_accounts(used: Options, host: str) -> None:
    assert is_loopback(host)
    command = command_of(used, host, 5000, auth=False)
    assert command[command.index("--host") + 1] == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "example.org", "127.0.0.1.example.org", ""])
def test_elsewhere_accounts_are_needed(used: Options, host: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="asks nobody who they are"):
        command_of(used, host, 5000, auth=False)
    accounts = tmp_path / "basic_auth.ini"
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'mlflow\[auth\]'"):
        command_of(used, host, 5000, auth=True)
    monkeypatch.setattr(server, "find_spec", lambda name: "there")
    monkeypatch.delenv(server.ACCOUNTS, raising=False)
    with pytest.raises(UserError, match="password of your own"):
        command_of(used, host, 5000, auth=True)
    monkeypatch.setenv(server.ACCOUNTS, str(accounts))
    accounts.write_text("[mlflow]\nadmin_username = admin\nadmin_password = password1234\n")
    with pytest.raises(UserError, match="of your own"):
        command_of(used, host, 5000, auth=True)
    accounts.write_text("[mlflow]\nadmin_username = admin\nadmin_password = correct-horse-battery\n")
    with pytest.raises(UserError, match="SECRET_KEY"):
        command_of(used, host, 5000, auth=True)
    monkeypatch.setenv("MLFLOW_FLASK_SERVER_SECRET_KEY", "x" * 40)
    assert command_of(used, host, 5000, auth=True)[-2:] == ["--app-name", server.APP]


def test_the_switches_are_mlflows() -> None:
    """A switch that MLflow does not know would close nothing."""
    from mlflow import environment_variables

    for name in CLOSED:
        assert hasattr(environment_variables, name), name


def test_no_runs_no_server(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["mlflow", "--store", str(tmp_path)])
    assert result.exit_code == 2
    assert "no runs in" in result.stderr


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgresql://me:hunter2@db/mlflow", "hunter2"),
        ("https://token-abc@mlflow.example", "token-abc"),
        ("s3://key:s3cr3t@bucket/path", "s3cr3t"),
        ("cannot reach https://x:hunter2@h/p?a=1 (refused)", "hunter2"),
        ("https://h/p?access_token=hunter2&b=1", "hunter2"),
        ("az://c/p?sig=1&X-Amz-Signature=hunter2", "hunter2"),
        ("abfs://c@a.dfs.core.windows.net/p?secret=hunter2)", "hunter2"),
    ],
)
def test_addresses_are_shown_without_their_secrets(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in masked(text)
    assert secret not in one_line(ValueError(text))
    assert masked("https://host:5000/path?b=1") == "https://host:5000/path?b=1"


@pytest.mark.parametrize("uri", ["http://me:hunter2@127.0.0.1:1", "nonsense://me:hunter2@host/x"])
@pytest.mark.parametrize("option", ["--tracking", "--store"])
def test_a_command_that_fails_shows_no_secret(
    option: str, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """For servers that are not there and schemes that nobody knows; libraries show none either."""
    monkeypatch.chdir(tmp_path)
    process, libraries = folklore_here("sync", "warmup", "--store", tmp_path / "store", option, uri, code=2), capfd.readouterr()
    assert "hunter2" not in process.stdout + process.stderr + libraries.out + libraries.err
    assert len((process.stderr + libraries.err).strip().splitlines()) == 1, process.stderr + libraries.err


@pytest.mark.parametrize("place", ["", "index.html", "figures"])
def test_nothing_is_written_through_a_link_in_a_store(place: str, tmp_path: Path) -> None:
    pages, elsewhere = tmp_path / "store/pages", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (pages / place).parent.mkdir(parents=True)
    (pages / place).symlink_to(elsewhere)
    called = CliRunner().invoke(app, ["report", "--store", str(tmp_path / "store")])
    assert called.exit_code == 2
    assert (
        "is a link, and nothing is written through it; remove it, or write pages elsewhere with `folklore report"
        in called.stderr
    )
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("text", ["abc", "nan", "-1", "inf", ""])
def test_variables_are_checked_as_options_are(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLKLORE_CHECKPOINT_SECONDS", text)
    called = CliRunner().invoke(app, ["run", "warmup", "--scale", "smoke", "--store", str(tmp_path / "store")])
    assert called.exit_code == 2
    assert f"FOLKLORE_CHECKPOINT_SECONDS={text}: give seconds from 0, or leave it out for 60" in called.stderr
    assert not (tmp_path / "store").exists()


def test_names_of_emoji_stay_names(capsys: pytest.CaptureFixture[str]) -> None:
    out.print("dataset quadratic:-1: and :smile:", highlight=False)
    assert capsys.readouterr().out == "dataset quadratic:-1: and :smile:\n"


@pytest.mark.parametrize("name", ["../../escaped", "..", "/etc/x", "a/../../x"])
def test_nothing_is_written_outside_a_store(tmp_path: Path, name: str) -> None:
    store = Store(str(tmp_path / "store"))
    for act in (lambda: store.write(name, b"x"), lambda: store.read(name), lambda: store.remove(name)):
        with pytest.raises(ValueError, match="outside"):
            act()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_secrets_of_the_environment_do_not_reach_workers_descriptions() -> None:
    from folklore.harness.train.machine.description import environment

    os.environ["FOLKLORE_TEST_SECRET"] = "hunter2"
    try:
        assert "hunter2" not in str(environment())
    finally:
        del os.environ["FOLKLORE_TEST_SECRET"]


@pytest.mark.parametrize(("name", "value"), [("RAY_AUTH_MODE", "disabled"), ("MLFLOW_SERVER_ALLOWED_HOSTS", "*")])
def test_the_doctor_sees_switches_that_let_others_in(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from folklore.harness.use.cli.doctor import _unsafe

    assert all(check.ok for check in _unsafe())
    monkeypatch.setenv(name, value)
    assert [check.name for check in _unsafe() if not check.ok] == [name]
