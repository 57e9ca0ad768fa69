"""Makes the environment with uv: `python3 harness/install.py` for what studies need, `… --extra dev` for an extra on top.

uv is the one on PATH, else pip fetches one into .uv. The Makefile calls this file. It runs before anything is installed and on
Pythons too old for the project: nothing but the standard library of Python 3.8.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# What the dependencies have wheels for. uv, asked to bring a Python, takes one of those that the project has been run on.
OLDEST, NEWEST = (3, 11), (3, 14)
BROUGHT = ">=3.11,<3.14"
RANGE = f"3.{OLDEST[1]} to 3.{NEWEST[1]}"
LEAST_TORCH = (2, 11)
LEAST_UV = (0, 7)  # the first that has --torch-backend for sure
PROJECT = Path(__file__).resolve().parents[1]
CONSTRAINTS = PROJECT / "constraints.txt"
OWN_UV = PROJECT / ".uv"
# The folders are imported as folklore.harness and so on. Python is told so by what is installed; type checkers and editors,
# which read no import hooks, find the folders under that name by links.
LINKS = PROJECT / ".links" / "folklore"
PACKAGES = ("harness", "models", "reports", "studies")
# Extra -> what comes beside it: pip, which `folklore bundle` and people use, and mup, of which the tests use what needs no
# torchvision.
BESIDE = {"": ["pip"], "dev": ["mup"]}
# Overrides for uv, which sees no torch outside the environment: a torch that is there stays, and torchvision brings no other.
NO_OTHER_TORCH = "torch ; sys_platform == 'never'\ntorchvision ; sys_platform == 'never'\n"
GPU_SIGNS = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/usr/lib/wsl/lib/nvidia-smi")
GPU_LIBRARIES = re.compile(r"(nvidia|cuda)[-_.]", re.IGNORECASE)
# pip's option -> uv's variable, and the variables with which a user has said it to uv already.
PASSED_ON = {
    "index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "extra-index-url": ("UV_EXTRA_INDEX_URL", "UV_INDEX"),
    "find-links": ("UV_FIND_LINKS",),
    "trusted-host": ("UV_INSECURE_HOST",),
    "timeout": ("UV_HTTP_TIMEOUT",),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
    "proxy": ("ALL_PROXY", "HTTPS_PROXY", "https_proxy", "all_proxy"),
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
}


class SetupError(Exception):
    """What the user can fix, in one line."""


def say(line: str) -> None:
    """To stderr: what follows may print events for machines on stdout."""
    print(line, file=sys.stderr, flush=True)


def run(command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def last_line(told: subprocess.CompletedProcess[str]) -> str:
    """The last thing that was said; a line that uv has wrapped goes on indented."""
    lines = (told.stderr or told.stdout).rstrip().splitlines()
    first = next((at for at in range(len(lines) - 1, -1, -1) if not lines[at].startswith((" ", "\t"))), 0)
    return " ".join(" ".join(lines[first:]).split())[-300:]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--venv", default=".venv", help="the environment's folder")
    parser.add_argument("--venv-options", default="", help="options of `uv venv`")
    parser.add_argument("--torch", default="torch", help="a requirement, a wheel or a URL; for environments without a torch")
    parser.add_argument("--extra", default="", help="an extra of the project, on top of what is installed")
    parser.add_argument("--cuda", action="store_true", help="take a torch with GPU libraries on a machine without a GPU")
    chosen = parser.parse_args()
    try:
        uv = Uv(find_uv(), pip_settings(), dict(os.environ))
        python = make_environment(uv, Path(chosen.venv), chosen.venv_options.split())
        link_packages()
        install(uv, python, chosen.extra, chosen.torch, chosen.cuda)
    except SetupError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        say("interrupted: the same command goes on")
        return 130
    return 0


# --- uv


def find_uv() -> str:
    """The uv on PATH if it is not too old, else one that pip fetches. Raises SetupError."""
    on_path, own = shutil.which("uv"), OWN_UV / "bin" / "uv"
    if on_path and numbers(run([on_path, "--version"]).stdout) >= LEAST_UV:
        return on_path
    if own.exists():
        return str(own)
    say("installing uv (about 5 s)")
    pip = [str(OWN_UV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    ways_out = {
        "install your system's python3-venv": [sys.executable, "-m", "venv", str(OWN_UV)],
        "tell pip where packages are (PIP_INDEX_URL=…)": [*pip, "-c", str(CONSTRAINTS), "uv"],
    }
    for way_out, command in ways_out.items():
        done = run(command)
        if done.returncode:
            least = ".".join(map(str, LEAST_UV))
            raise SetupError(f"uv cannot be had ({last_line(done)}): put uv, from {least} on, on PATH, or {way_out}")
    return str(own)


def pip_settings() -> dict[str, str]:
    """pip's options by its files and by PIP_ variables, which count more; those of `pip install` before global ones."""
    pythons = [sys.executable, *map(str, OWN_UV.glob("bin/python"))]
    told = next((told for each in pythons if not (told := run([each, "-m", "pip", "config", "list"])).returncode), None)
    lines = re.findall(r"^(global|install|:env:)\.([a-z-]+)=(.*)$", told.stdout if told else "", re.MULTILINE)
    settings: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        settings.update({name: str(ast.literal_eval(value)) for place, name, value in lines if place == section})
    return settings


class Uv:
    """uv that looks where pip would: it reads neither pip's files nor its variables. What it is told itself counts more."""

    def __init__(self, path: str, pip: dict[str, str], given: dict[str, str]):
        self.path, self.environment = path, dict(given)
        for name, variables in PASSED_ON.items():
            if name in pip and not any(given.get(each) for each in variables):
                self.environment[variables[0]] = as_uv_reads(name, pip[name])
        for bundle in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # pip's library knows them, uv does not
            if given.get(bundle):
                self.environment.setdefault("SSL_CERT_FILE", given[bundle])
        # Of several indexes pip takes the best version that any of them has, uv the first index that knows the name.
        self.environment.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
        self.options = ["--no-index"] if pip.get("no-index", "").lower() in ("1", "true", "yes", "on", "t", "y") else []

    def install(self, python: Path, *arguments: str) -> None:
        """Its progress shows on a terminal, its errors everywhere. Raises SetupError."""
        quiet = [] if sys.stderr.isatty() else ["--quiet"]
        command = [self.path, "pip", "install", *quiet, "--python", str(python), *self.options, *arguments]
        if subprocess.run(command, env=self.environment).returncode:
            raise SetupError("uv could not install it (its own words are above)")

    def gpu_libraries(self, python: Path, *arguments: str) -> list[str] | None:
        """Those that an installation would bring; None if uv cannot tell."""
        command = [self.path, "pip", "install", "--dry-run", "--python", str(python), *self.options, *arguments]
        told = run(command, self.environment)
        if told.returncode:
            return None
        return [line for line in re.findall(r"^ \+ (\S+)", told.stderr, re.MULTILINE) if GPU_LIBRARIES.match(line)]


def as_uv_reads(name: str, value: str) -> str:
    if name in ("timeout", "default-timeout"):
        return f"{float(value):.0f}"
    if name == "find-links":
        return ",".join(os.path.expanduser(word) for word in value.split())
    return " ".join(value.split())


# --- the environment


def make_environment(uv: Uv, folder: Path, options: list[str]) -> Path:
    """The environment's Python; of an environment that is there already, too. Raises SetupError."""
    python, here = folder.absolute() / "bin" / "python", sys.version_info[:2]
    if os.path.lexists(python):
        require_fitting(folder, python)
        return python
    fits = OLDEST <= here <= NEWEST
    needs = f"Folklore needs Python {RANGE}, and this is {here[0]}.{here[1]}"
    if fits:
        say(f"making {folder} with Python {here[0]}.{here[1]}")
    else:
        say(f"{needs}: looking for another with uv (about a minute if it has to be downloaded)")
    wanted = ["--python", sys.executable if fits else BROUGHT, str(folder)]
    made = run([uv.path, "venv", "--quiet", *options, *wanted], uv.environment)
    if made.returncode and fits:
        raise SetupError(f"uv could not make {folder} ({last_line(made)}): remove it (make clean) or name another by VENV=")
    if made.returncode:
        way_out = "install one and name it, e.g. make PYTHON=python3.13 study-warmup"
        raise SetupError(f"{needs}; uv has no other ({last_line(made)}): {way_out}")
    return python


def require_fitting(folder: Path, python: Path) -> None:
    """Raises SetupError."""
    told = run([str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]) if python.exists() else None
    if told is None or told.returncode:
        raise SetupError(f"{folder}: its Python does not run; remove the folder (make clean) and try again")
    if not OLDEST <= numbers(told.stdout) <= NEWEST:
        raise SetupError(f"{folder}: has Python {told.stdout.strip()}, Folklore needs {RANGE}; remove it (make clean)")


def numbers(version: str) -> tuple[int, ...]:
    """The first two of a version; none if there is no version."""
    found = re.search(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else ()


def link_packages() -> None:
    LINKS.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        link = LINKS / name
        if not link.is_symlink():
            link.symlink_to(os.path.relpath(PROJECT / name, LINKS), target_is_directory=True)


# --- what goes into it


def install(uv: Uv, python: Path, extra: str, torch: str, cuda: bool) -> None:
    """The project with what studies need, or an extra on top; and torch if none is there that will do. Raises SetupError."""
    if has_torch(python):
        what = f"the extra '{extra}'" if extra else "Ray, MLflow and what else studies need"
        say(f"installing {what}, with uv (about half a minute)")
        wanted = ["--override", written(python, "overrides.txt", NO_OTHER_TORCH), *pins(python, torch=None)]
    else:
        wanted = [*pins(python, torch), os.path.abspath(torch) if os.path.exists(torch) else torch]
        if sys.platform.startswith("linux") and not (cuda or has_gpu() or "UV_TORCH_BACKEND" in uv.environment):
            wanted += cpu_torch_options(uv, python, wanted)
        say(f"installing {torch}, Ray, MLflow and what else studies need, with uv (about half a minute)")
    project = f"{PROJECT}[{extra}]" if extra else str(PROJECT)
    uv.install(python, *wanted, "-e", project, *BESIDE.get(extra, []))


def has_torch(python: Path) -> bool:
    """Whether the environment sees a torch that will do: its own, or with --system-site-packages the machine's."""
    told = run([str(python), "-c", "from importlib.metadata import version; print(version('torch'))"])
    return numbers(told.stdout) >= LEAST_TORCH


def has_gpu() -> bool:
    return any(os.path.exists(sign) for sign in GPU_SIGNS) or shutil.which("nvidia-smi") is not None


def pins(python: Path, torch: str | None) -> list[str]:
    """Which releases to take: as they are tested, but of torch the one that is asked for, or is there (None)."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("torch==") or line.strip() == torch]
    return ["-c", written(python, CONSTRAINTS.name, "".join(kept))]


def written(python: Path, name: str, text: str) -> str:
    """A file in the environment's folder."""
    path = python.parents[1] / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def cpu_torch_options(uv: Uv, python: Path, wanted: list[str]) -> list[str]:
    """What to tell uv so that no GPU libraries come: nothing if a CPU torch is at hand (a wheel, a folder, an index of the
    user's), else to take torch from where its makers keep the CPU builds. Raises SetupError if neither can be had."""
    libraries = uv.gpu_libraries(python, *wanted)
    if not libraries:  # or uv cannot tell: then it cannot install it either
        return []
    say("there is no GPU here: looking for a torch without GPU libraries")
    cpu = ["--torch-backend", "cpu"]
    if uv.gpu_libraries(python, *wanted, *cpu) == []:
        return cpu
    raise SetupError(
        f"{wanted[-1]} would bring {len(libraries)} GPU libraries (gigabytes), there is no GPU here, and no CPU build of it was"
        " found: give one by TORCH=/path/to/torch.whl, PIP_FIND_LINKS=/folder/of/wheels or PIP_EXTRA_INDEX_URL, or take it"
        " with them by CUDA=1"
    )


if __name__ == "__main__":
    sys.exit(main())
