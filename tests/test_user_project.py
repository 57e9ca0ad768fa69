"""A user's repository has packages of the names that ours have on disk: `models` nearly always. Neither meets the other, with
an editable install and with a wheel, in the command's process and on Ray's workers."""

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import venv
from pathlib import Path

import pytest

from tests.command_line import FOLKLORE, HANG_SECONDS

ROOT = Path(__file__).parents[1]
PACKAGES = ("harness", "models", "reports", "studies")
# What setuptools reads.
SOURCES = (*PACKAGES, "pyproject.toml", "README.md", "LICENSE")

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose workload is made of four packages of its own, each of which says that it is the user's."""
    folder = tmp_path / "project"
    for name in PACKAGES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"WHOSE = 'the user of {name}'\n")
    (folder / "models" / "net.py").write_text("from torch import nn\n\n\ndef net():\n    return nn.Linear(4, 2)\n")
    workload = """
        import harness, models, reports, studies, torch
        from folklore.harness import OwnWorkload
        from models.net import net

        for each in (harness, models, reports, studies):
            assert each.WHOSE == f"the user of {each.__name__}", each.__file__

        def data(examples):
            x = torch.randn(examples, 4, generator=torch.Generator().manual_seed(examples))
            return x, (x[:, 0] > 0).long()

        workload = OwnWorkload("theirs", net, torch.nn.functional.cross_entropy, data(50), data(20), data(21))
    """
    (folder / "mine.py").write_text(textwrap.dedent(workload))
    return folder


def train(command: list[str], project: Path, environment: dict[str, str]) -> str:
    """Run a study on the user's workload from their repository; returns what was said."""
    options = ("--workload", "mine:workload", "--scale", "smoke", "--store", str(project.parent / "store"))
    done = subprocess.run(
        [*command, "run", "warmup", *options],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((project.parent / "store").glob("ledger/*/*.parquet")), "Ray's workers trained nothing"
    return done.stdout


def test_with_an_editable_install(project: Path) -> None:
    train([*FOLKLORE], project, {**os.environ})


def test_with_a_wheel(project: Path, tmp_path: Path) -> None:
    """Installed into an environment that sees the libraries of this one and not its editable copy of us."""
    copy = tmp_path / "source"
    copy.mkdir()
    for name in SOURCES:
        source = ROOT / name
        copied = shutil.copytree if source.is_dir() else shutil.copy
        copied(source, copy / name)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    wheels = tmp_path / "wheels"
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, copy], check=True)
    (wheel,) = wheels.iterdir()
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], check=True)
    installed = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    # A folder that a .pth file names is searched; .pth files in it, such as that of an editable install, are not read.
    (installed / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    found = "import folklore.harness as f, folklore.models as m; print(f.__file__, m.__file__)"
    files = subprocess.run([python, "-c", found], cwd=project, capture_output=True, text=True, check=True).stdout.split()
    assert all(Path(file).is_relative_to(installed) for file in files), files
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    train([str(environment / "bin" / "folklore")], project, inherited)
