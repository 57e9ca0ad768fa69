"""A run's folder is the user's alone, goes when the run is surely over, and never before."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from folklore.harness.errors import UserError
from folklore.harness.launch.run_folder import RunFolder, private_folder
from tests.command_line import HANG_SECONDS

HOLDS = (
    "import sys; from folklore.harness.launch.run_folder import RunFolder; folder = RunFolder();"
    " print(folder.path, flush=True); sys.stdin.read()"
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    return tmp_path / f"folklore-{os.getuid()}"


def holder() -> tuple[subprocess.Popen[str], Path]:
    """Another process with a folder that holds a file."""
    process = subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    (path / "session").mkdir()
    return process, path


def test_nobody_else_can_enter(place: Path) -> None:
    folder = RunFolder()
    assert [path.stat().st_mode & 0o777 for path in (place, folder.path)] == [0o700, 0o700]
    folder.close()
    assert list(place.iterdir()) == []


def test_a_run_that_lives_keeps_its_folder_though_its_process_is_not_seen(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with /proc mounted hidepid=2, and in a container that shares the folder."""
    monkeypatch.setattr("psutil.pid_exists", lambda number: False)
    process, path = holder()
    RunFolder().close()
    assert (path / "session").is_dir()
    process.send_signal(signal.SIGKILL)
    process.wait(HANG_SECONDS)
    RunFolder().close()
    assert list(place.iterdir()) == []


def test_a_process_that_was_given_the_lock_keeps_the_folder(place: Path) -> None:
    """The process that holds Ray lives on for a moment after the run is killed."""
    folder = RunFolder()
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, pass_fds=[folder.lock], close_fds=True
    )
    os.close(folder.lock)
    RunFolder().close()
    assert folder.path.is_dir()
    child.communicate()
    RunFolder().close()
    assert list(place.iterdir()) == []


def test_a_folder_that_was_not_locked_yet_is_removed(place: Path) -> None:
    private_folder()
    (place / "half").mkdir()
    RunFolder().close()
    assert list(place.iterdir()) == []


def test_what_lies_behind_a_link_stays(place: Path, tmp_path: Path) -> None:
    private_folder()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    folder = place / "abandoned"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "mine")
    (place / "other").symlink_to(tmp_path / "mine")
    RunFolder().close()
    assert (tmp_path / "mine" / "file").exists()
    assert not folder.exists()


@pytest.mark.parametrize("planted", ["link", "file", "open"])
def test_a_planted_place_is_refused(planted: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir()
    if planted == "link":
        place.symlink_to(tmp_path / "theirs")
    elif planted == "file":
        place.touch()
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(UserError, match=r"folklore-\d+: .*; (remove it, or )?set RAY_TMPDIR to a folder of your own"):
        RunFolder()
    assert list((tmp_path / "theirs").iterdir()) == []
    (tmp_path / "own").mkdir()
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / "own"))
    RunFolder().close()


def test_another_users_place_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.mkdir(mode=0o700)
    owner = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: owner + 1)
    place.rename(place.with_name(f"folklore-{owner + 1}"))
    with pytest.raises(UserError, match="must be a folder of yours"):
        RunFolder()
