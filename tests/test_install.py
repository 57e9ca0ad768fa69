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
from tests.places import ROOT

FOR_STUDIES = ("setup", "study-warmup", "studies", "reports", "mlflow", "calibrate", "doctor")
TESTS = ("test", "test-slow", "test-nightly", "test-all")
FOR_TESTS = ("setup-dev", *TESTS, "test-lowest", "test-gpu", "check", "lint", "audit", "chaos", "bench", "notebook")
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
    selections = [re.findall(r'-m "(.*)"', "\n".join(make(tmp_path, name))) for name in TESTS]
    kinds = ("not slow", "slow and not nightly", "nightly", "not nightly")
    assert selections == [[f"{kind} and not gpu"] for kind in kinds]


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
    uv = install.Uv("uv", install.pip_settings(), {"UV_HTTP_TIMEOUT": "7"})
    assert uv.options == []
    assert uv.environment == {
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
    uv = install.Uv("uv", pip, given)
    assert uv.environment == {**given, "UV_FIND_LINKS": "/wheels", "SSL_CERT_FILE": "/bundle.pem"}
    assert uv.options == ["--no-index"]


def program(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    path.chmod(0o755)


@pytest.mark.parametrize(("version", "taken"), [("uv 0.7.0", True), ("uv 1.0.0 (of today)", True), ("uv 0.6.17", False)])
def test_the_uv_on_path_is_taken_unless_it_is_too_old(
    version: str, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "uv", f"echo '{version}'")
    program(tmp_path / "own" / "bin" / "uv")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(install, "OWN_UV", tmp_path / "own")
    assert install.find_uv() == str(tmp_path / ("bin" if taken else "own/bin") / "uv")


def test_a_uv_that_cannot_be_had_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(install, "OWN_UV", tmp_path / "own")
    program(tmp_path / "python", "echo no ensurepip >&2", "exit 1")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(install.SetupError, match=r"uv cannot be had \(no ensurepip\): put uv, from 0\.7 on, .*python3-venv"):
        install.find_uv()
    program(tmp_path / "own" / "bin" / "python", "echo no index >&2", "exit 1")
    program(tmp_path / "python")
    with pytest.raises(install.SetupError, match=r"uv cannot be had \(no index\): put uv, .*PIP_INDEX_URL"):
        install.find_uv()


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
    monkeypatch.setattr(install, "has_gpu", lambda: False)
    monkeypatch.setattr(install, "written", lambda python, name, text: written(tmp_path / name, text))
    return folder


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


TORCH = "exampletorch==2.13.0"


class RecordingUv(install.Uv):
    """The uv of this machine, which says what it would install into the tests' environment, and installs nothing."""

    def __init__(self, folder: Path):
        path = shutil.which("uv") or str(install.OWN_UV / "bin" / "uv")
        if not os.path.exists(path):
            pytest.skip("no uv here")
        super().__init__(path, install.pip_settings(), {**os.environ, "UV_CACHE_DIR": str(folder / "cache")})
        self.installed: list[str] = []

    def install(self, python: Path, *arguments: str) -> None:
        self.installed += arguments


def test_no_gpu_libraries_without_a_gpu(wheels: Path, tmp_path: Path) -> None:
    uv = RecordingUv(tmp_path)
    with pytest.raises(install.SetupError, match=r"would bring 1 GPU libraries.*TORCH=.*PIP_FIND_LINKS=.*CUDA=1"):
        install.install(uv, Path(sys.executable), "", TORCH, cuda=False)
    assert uv.installed == []


@pytest.mark.parametrize("way_out", ["a CPU build", "CUDA=1", "UV_TORCH_BACKEND"])
def test_a_torch_that_may_come_is_taken_as_it_is(way_out: str, wheels: Path, tmp_path: Path) -> None:
    uv = RecordingUv(tmp_path)
    if way_out == "a CPU build":
        wheel(wheels, "exampletorch", "2.13.0+cpu")
    if way_out == "UV_TORCH_BACKEND":
        uv.environment["UV_TORCH_BACKEND"] = "cu130"
    install.install(uv, Path(sys.executable), "", TORCH, cuda=way_out == "CUDA=1")
    assert uv.installed == ["-c", str(tmp_path / "constraints.txt"), TORCH, "-e", str(ROOT), "pip"]


def test_a_torch_that_is_there_stays(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that uv does not see, outside the environment; and what mup asks for brings no other."""
    uv, python = RecordingUv(tmp_path), Path(sys.executable)
    monkeypatch.setattr(install, "has_torch", lambda python: True)
    install.install(uv, python, "dev", "torch==2.13.0", cuda=False)
    options, wanted = uv.installed[:4], uv.installed[4:]
    assert wanted == ["-e", f"{ROOT}[dev]", "mup"]
    wheel(wheels, "needs_torch", "1.0", "torch>2.14", "torchvision", "nvidia-example")
    assert uv.gpu_libraries(python, "needs-torch") is None, "there is no such torch"
    assert uv.gpu_libraries(python, *options, "needs-torch") == ["nvidia-example==1.0"]


def test_a_python_that_does_not_fit_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "OLDEST", (3, 98))
    monkeypatch.setattr(install, "NEWEST", (3, 99))
    folder = tmp_path / "venv"
    uv = RecordingUv(tmp_path)
    monkeypatch.setattr(install, "BROUGHT", "==3.99.0")
    uv.environment["UV_PYTHON_DOWNLOADS"] = "never"
    with pytest.raises(install.SetupError, match=r"and this is 3\.\d+; uv has no other .*3\.99.* make PYTHON="):
        install.make_environment(uv, folder, [])
    with pytest.raises(install.SetupError, match=r"has Python 3\.\d+, .*make clean"):
        install.require_fitting(folder, Path(sys.executable))
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("/no/such/python")
    with pytest.raises(install.SetupError, match="does not run"):
        install.make_environment(uv, folder, [])


def test_the_environment_has_the_options_that_are_asked_for(tmp_path: Path) -> None:
    python = install.make_environment(RecordingUv(tmp_path), tmp_path / "venv", ["--system-site-packages"])
    assert "include-system-site-packages = true" in (python.parents[1] / "pyvenv.cfg").read_text()
    assert install.make_environment(RecordingUv(tmp_path), tmp_path / "venv", []) == python, "as it is there"


@pytest.mark.parametrize(
    ("asked", "pinned"), [("torch==2.13.0", True), ("torch==2.12.0", False), ("/wheels/torch.whl", False), (None, False)]
)
def test_the_pin_of_torch_gives_way_to_another(asked: str | None, pinned: bool, tmp_path: Path) -> None:
    _, file = install.pins(tmp_path / "bin" / "python", asked)
    kept = Path(file).read_text().splitlines()
    assert ("torch==2.13.0" in kept) == pinned
    assert len(kept) == len(install.CONSTRAINTS.read_text().splitlines()) - (not pinned)


def test_the_makefile_asks_for_the_torch_that_is_pinned() -> None:
    asked = re.search(r"^TORCH \?= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert asked is not None
    assert asked[1] in install.CONSTRAINTS.read_text().splitlines()
