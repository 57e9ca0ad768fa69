"""The judge from a built wheel in an environment of its own: there in seconds, without what trains."""

import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import HANG_SECONDS
from tests.lowest import CLAIM, TABLE
from tests.places import ROOT

# What the extra `train` brings.
HEAVY = ("torch", "ray", "mlflow", "optuna")
UNNEEDED = {"matplotlib", "seaborn", "jinja2", "statsmodels", "plotly", "opda"}
# CPU-seconds of the command over those of the two libraries that it computes with.
MOST_OVER_LIBRARIES = 1.3
REPETITIONS = 3

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel and what it asks for."""
    uv = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    if not Path(uv).exists():
        pytest.skip("uv is not here, with which the wheel is built and installed")
    folder = tmp_path_factory.mktemp("wheel")
    environment, python = folder / "environment", folder / "environment" / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt"]
    reached = subprocess.run([*install, "shellingham"], capture_output=True, text=True)
    if reached.returncode:
        pytest.skip(f"no package index answers: {reached.stderr[-200:]}")
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", folder / "dist", ROOT], check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([*install, wheel], check=True)
    return environment / "bin"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)
    return path


def run(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=folder, env=inherited, timeout=HANG_SECONDS
    )


def test_it_judges_without_what_trains(programs: Path, table: Path) -> None:
    heavy = f"import importlib.util as u; print([n for n in {HEAVY!r} if u.find_spec(n)])"
    assert run(programs / "python", "-c", heavy, folder=table.parent).stdout == "[]\n"
    judged = run(programs / "folklore", "judge", table, "--claim", CLAIM, "--page", "page.html", folder=table.parent)
    assert judged.returncode == 0, judged.stderr
    assert CLAIM in judged.stdout
    assert CLAIM.replace("<", "&lt;") in (table.parent / "page.html").read_text()


@pytest.mark.parametrize(
    "command",
    [
        ("noise", "runs.csv"),
        ("judge", "runs.csv", "--baseline", "runs.csv"),
        ("verdicts", "warmup", "--published"),
        ("why", "warmup.improves_best", "--published"),
        ("list",),
    ],
    ids=lambda command: command[0],
)
def test_what_reads_goes_without_what_trains(programs: Path, table: Path, command: tuple[str, ...]) -> None:
    done = run(programs / "folklore", *command, folder=table.parent)
    assert (done.returncode, done.stderr.count("error")) == (0, 0), done.stdout + done.stderr


@pytest.mark.parametrize("command", [("run", "warmup", "--scale", "smoke"), ("plan", "warmup", "--scale", "smoke")])
def test_what_trains_says_in_one_line_what_it_needs(programs: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run(programs / "folklore", *command, folder=tmp_path)
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error"))
    assert (done.returncode, "pip install 'folklore-harness[train]'" in line) == (2, True)


def test_it_imports_nothing_that_judging_does_not_need(programs: Path, table: Path) -> None:
    code = f"""
import sys
from folklore.harness.use.cli import app
app(["judge", {str(table)!r}, "--claim", {CLAIM!r}], standalone_mode=False)
print({UNNEEDED!r} & {{name.partition(".")[0] for name in sys.modules}})
"""
    done = run(programs / "python", "-c", code, folder=table.parent)
    assert done.stdout.splitlines()[-1] == "set()", done.stdout + done.stderr


# With others' work beside it a machine's CPU-seconds are a fifth off, which `make nightly` does not have.
@pytest.mark.nightly
def test_it_starts_as_fast_as_its_libraries(programs: Path, table: Path) -> None:
    """By CPU-seconds in turn, which other work on the machine changes little."""
    libraries = (programs / "python", "-c", "import pandas, scipy.stats")
    judge = (programs / "folklore", "judge", table, "--claim", CLAIM)
    seconds: dict[tuple[object, ...], list[float]] = {libraries: [], judge: []}
    for command in (libraries, judge) * REPETITIONS:
        before = os.times()
        run(*command, folder=table.parent)
        after = os.times()
        seconds[command].append(sum(after[2:4]) - sum(before[2:4]))
    of_libraries, of_judge = (statistics.median(taken[1:]) for taken in seconds.values())
    assert of_judge <= MOST_OVER_LIBRARIES * of_libraries, seconds
