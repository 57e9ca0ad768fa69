"""A user's repository has packages of the names that ours have on disk: `models` nearly always. Neither meets the other, with
an editable install and with a wheel, in the command's process and on Ray's workers."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from folklore.harness.plan import catalog
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.workloads.data import describe
from tests.command_line import HANG_SECONDS, folklore
from tests.places import ROOT

PACKAGES = ("harness", "models", "reports", "studies")
# What setuptools reads.
SOURCES = (*PACKAGES, "pyproject.toml", "README.md", "LICENSE")

pytestmark = pytest.mark.slow


# The user's module finds its own packages, whatever ours are called on disk.
CHECKED = """

import harness, models, reports, studies

for each in (harness, models, reports, studies):
    assert each.WHOSE == f"the user of {each.__name__}", each.__file__
"""
RUN = ("run", "warmup", "--workload", "my_module:workload", "--scale", "smoke", "--store", "results", "--workers", "1")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with the README's example, and with four packages each of which says that it is the user's."""
    folder = tmp_path / "project"
    for name in PACKAGES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"WHOSE = 'the user of {name}'\n")
    (folder / "my_module.py").write_text(example() + CHECKED)
    return folder


def example() -> str:
    """The code of the README's section."""
    section = (ROOT / "README.md").read_text().partition("## Your own model")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    assert "folklore run warmup --workload my_module:workload" in section
    return str(code)


def test_with_an_editable_install(project: Path) -> None:
    """Through Ray and MLflow to a page, in a folder of the user's; and again, which trains nothing."""
    assert len(example().splitlines()) <= 40
    done = folklore(*RUN, folder=project)
    study = catalog.load_study("warmup")
    planned = len(make_plan(study, "smoke", "cpu", describe(study.workload.dataset).hash).digests)
    assert f"{planned} of {planned} trials" in done.stderr
    assert "one trial a pack" not in done.stdout
    trials_page, page = sorted((project / "results/pages").glob("warmup_own_*.html"))
    assert trials_page.name == f"{page.stem}-trials.html"
    trials = Ledger(Store(str(project / "results")), page.stem).trials()
    assert len(trials) == planned
    assert (trials["lanes"] > 1).all()
    assert (trials["test_loss"] < trials["initial_loss"]).mean() > 0.5, "most of them learn in their twenty steps"
    assert json.loads(trials["configuration"][0])["workload"]["dataset"].startswith("own:my_module:workload@")
    assert "this is a variation of study" in page.read_text()
    assert "--workload my_module:workload" in page.read_text()
    assert page.stem not in (project / "results/pages/index.html").read_text()
    assert "nothing to train" in folklore(*RUN, folder=project).stdout
    assert Ledger(Store(str(project / "results")), "warmup").packs() == []


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
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--no-index", "--no-compile", wheel], check=True)
    installed = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    # A folder that a .pth file names is searched; .pth files in it, such as that of an editable install, are not read.
    (installed / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    script = "import folklore.harness as f, folklore.models as m; print(f.__file__, m.__file__)"
    files = subprocess.run([python, "-c", script], cwd=project, capture_output=True, text=True, check=True).stdout.split()
    assert all(Path(file).is_relative_to(installed) for file in files), files
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    few = ("--seeds", "1", "--only", "none")
    command = [environment / "bin" / "folklore", *RUN, *few]
    done = subprocess.run(command, cwd=project, env=inherited, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((project / "results").glob("ledger/*/*.parquet")), "Ray's workers trained nothing"
