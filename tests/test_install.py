"""install.py and the Makefile that calls it: what is installed for which target, from where, and what is refused."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from folklore.harness import install

ROOT = Path(__file__).parents[1]
FOR_STUDIES = ("setup", "study-warmup", "studies", "reports", "mlflow", "calibrate", "doctor")
FOR_TESTS = ("setup-dev", "test", "test-slow", "test-all", "test-gpu", "check", "lint", "audit", "chaos", "bench", "notebook")
# What the extra dev brings, as it is imported.
TEST_TOOLS = {"pytest", "hypothesis", "statsmodels", "moto", "nbclient", "nbformat", "ipykernel", "playwright", "mup", "tests"}


def make(folder: Path, *arguments: str) -> list[str]:
    """The commands that make would run in an environment that is not there yet."""
    outer = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEFILES")
    outside = {name: value for name, value in os.environ.items() if name not in outer}
    command = ["make", "-n", "-C", str(ROOT), f"VENV={folder / 'venv'}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=outside)
    return done.stdout.splitlines()


def installations(commands: list[str]) -> list[str]:
    """The extra that each call of install.py adds; '' for the project itself."""
    extras = [re.findall(r"--extra (\S+)", line) for line in commands if "install.py " in line]
    return ["".join(found) for found in extras]


def test_studies_are_run_without_test_tools(tmp_path: Path) -> None:
    for target in FOR_STUDIES:
        assert installations(make(tmp_path, target)) == [""], target


def test_what_needs_test_tools_brings_them_once(tmp_path: Path) -> None:
    for target in FOR_TESTS:
        assert installations(make(tmp_path, target)) == ["", "dev"], target


def test_nothing_that_studies_need_imports_test_tools() -> None:
    for package in ("harness", "models", "reports", "studies"):
        for path in (ROOT / package).rglob("*.py"):
            imported = re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert not set(imported) & TEST_TOOLS, path


def test_an_address_brings_its_driver(tmp_path: Path) -> None:
    assert installations(make(tmp_path, "studies", "STORE=s3://bucket/folklore")) == ["", "s3"]
    given = "ARGS=--store s3://bucket/folklore --tracking postgresql://host/mlflow"
    assert installations(make(tmp_path, "study-warmup", given)) == ["", "s3", "postgresql"]


def test_all_tests_are_run_once(tmp_path: Path) -> None:
    selections = [re.findall(r'-m "(.*)"', line) for line in make(tmp_path, "test-all") if " pytest " in line]
    assert selections == [["not slow and not gpu"], ["slow and not gpu"]]


def test_no_file_of_the_set_up_holds_an_address_of_an_index() -> None:
    for name in ("Makefile", "harness/install.py", "pyproject.toml", "constraints.txt", ".ci/run"):
        addresses = re.findall(r"(?:https?|file)://[^\s'\"`]+", (ROOT / name).read_text())
        assert [each for each in addresses if not each.startswith("http://127.0.0.1")] == [], name


def test_pips_settings_reach_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_")) or name == "SSL_CERT_FILE"]:
        monkeypatch.delenv(name)
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://near.example/simple\nfind-links =\n  /wheels\n  /more\ntimeout = 15.5\n"
        "[install]\nextra-index-url = https://one.example https://two.example\ncert = /bundle.pem\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_INDEX_URL", "https://nearer.example/simple")
    environment, options = install.uv_settings(install.pip_settings(Path(sys.executable)), {"UV_HTTP_TIMEOUT": "7"})
    assert options == []
    assert environment == {
        "UV_DEFAULT_INDEX": "https://nearer.example/simple",
        "UV_EXTRA_INDEX_URL": "https://one.example https://two.example",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_HTTP_TIMEOUT": "7",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "SSL_CERT_FILE": "/bundle.pem",
    }


def test_what_uv_was_told_itself_counts_more() -> None:
    pip = {"extra-index-url": "https://one.example", "find-links": "/wheels", "no-index": "1"}
    given = {"UV_INDEX": "https://own.example", "UV_INDEX_STRATEGY": "first-index", "REQUESTS_CA_BUNDLE": "/bundle.pem"}
    environment, options = install.uv_settings(pip, given)
    assert environment == {**given, "UV_FIND_LINKS": "/wheels", "SSL_CERT_FILE": "/bundle.pem"}
    assert options == ["--no-index"]


def wheel(folder: Path, name: str, version: str, *requirements: str) -> None:
    """A wheel with nothing in it but its metadata."""
    folder.mkdir(exist_ok=True)
    information = f"{name}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {each}" for each in requirements]
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{information}/METADATA", "\n".join(metadata) + "\n")
        file.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{information}/RECORD", "")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all there is; its one library stands for a torch, and brings GPU libraries."""
    folder = tmp_path / "wheels"
    wheel(folder, "exampletorch", "2.13.0", "nvidia-example")
    wheel(folder, "nvidia_example", "1.0")  # spelled as a wheel may spell it
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setattr(install, "has_torch", lambda python: False)
    monkeypatch.setattr(install, "constraints", lambda python: tmp_path / "constraints.txt")
    (tmp_path / "constraints.txt").write_text(install.without_torch(install.CONSTRAINTS.read_text()))
    monkeypatch.setattr(install, "has_gpu", lambda: False)
    # The tests' own environment is the one that is asked: what should be refused must not be installed if it is not.
    for name in ("install_by_pip", "uv_install"):
        monkeypatch.setattr(install, name, lambda *_: pytest.fail("a test was about to install something"))
    return folder


TORCH = "exampletorch==2.13.0"


def by_uv(wheels: Path) -> list[str]:
    """Options for a CPU torch, by the uv of this machine."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        pytest.skip("no uv here")
    environment, options = install.uv_settings(install.pip_settings(Path(sys.executable)), os.environ)
    environment["UV_CACHE_DIR"] = str(wheels.parent / "cache")
    return install.cpu_torch_options(uv, Path(sys.executable), [TORCH], environment, options)


def test_no_gpu_libraries_without_a_gpu(wheels: Path) -> None:
    with pytest.raises(install.SetupError, match=r"would bring 1 GPU libraries.*TORCH=.*PIP_FIND_LINKS=.*CUDA=1"):
        install.install_project(Path(sys.executable), None, TORCH, cuda=False)


def test_no_gpu_libraries_by_uv_either(wheels: Path) -> None:
    with pytest.raises(install.SetupError, match="would bring 1 GPU libraries"):
        by_uv(wheels)


def test_a_cpu_build_at_hand_is_taken(wheels: Path) -> None:
    wheel(wheels, "exampletorch", "2.13.0+cpu")
    assert install.gpu_libraries_by_pip(Path(sys.executable), [TORCH]) == []
    assert by_uv(wheels) == []


def test_a_python_that_does_not_fit_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "OLDEST", (3, 98))
    monkeypatch.setattr(install, "NEWEST", (3, 99))
    with pytest.raises(install.SetupError, match=r"and this is 3\.\d+; no uv .* make PYTHON="):
        install.make_environment(tmp_path / "venv", [], uv="")
    with pytest.raises(install.SetupError, match=r"has Python 3\.\d+, .*make clean"):
        install.require_fitting(Path(sys.executable))
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to("/no/such/python")
    with pytest.raises(install.SetupError, match="does not run"):
        install.make_environment(tmp_path / "venv", [], uv="")


@pytest.mark.parametrize(
    ("there", "asked", "pinned"),
    [
        (False, "torch==2.13.0", True),
        (False, "torch==2.12.0", False),
        (False, "/wheels/torch.whl", False),
        (True, "torch==2.13.0", False),
    ],
)
def test_the_pin_of_torch_gives_way_to_another(
    there: bool, asked: str, pinned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "has_torch", lambda python: there)
    python = tmp_path / "bin" / "python"
    install.write_constraints(python, asked)
    written = install.constraints(python).read_text().splitlines()
    assert ("torch==2.13.0" in written) == pinned
    assert len(written) == len(install.CONSTRAINTS.read_text().splitlines()) - (not pinned)


def test_the_makefile_asks_for_the_torch_that_is_pinned() -> None:
    asked = re.search(r"^TORCH \?= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert asked is not None
    assert asked[1] in install.CONSTRAINTS.read_text().splitlines()
