"""Makes the environment: `python3 harness/install.py` for what studies need, `… --extra dev` for an extra on top.

With uv if it is on PATH or can be installed, else with pip. The Makefile calls it. It runs before anything is installed and on
Pythons too old for the project: nothing but the standard library of Python 3.8.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# What the dependencies have wheels for. uv, asked to bring a Python, takes one of those that the project has been run on.
OLDEST, NEWEST = (3, 11), (3, 14)
BROUGHT = ">=3.11,<3.14"
RANGE = f"3.{OLDEST[1]} to 3.{NEWEST[1]}"
LEAST_TORCH = (2, 11)
PROJECT = Path(__file__).resolve().parents[1]
CONSTRAINTS = PROJECT / "constraints.txt"
# The folders are imported as folklore.harness and so on. Python is told so by what is installed; type checkers and editors,
# which read no import hooks, find the folders under that name by links.
LINKS = PROJECT / ".links" / "folklore"
PACKAGES = ("harness", "models", "reports", "studies")
# The tests use what of mup needs no torchvision, which would fetch another torch.
WITHOUT_DEPENDENCIES = {"dev": ["mup"]}
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
    """What the user can mend, in one line."""


def say(line: str) -> None:
    """To stderr: what follows may print events for machines on stdout."""
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--venv", default=".venv", help="the environment's folder")
    parser.add_argument("--venv-options", default="", help="options of `python -m venv`")
    parser.add_argument("--torch", default="torch", help="a requirement, a wheel or a URL; for environments without a torch")
    parser.add_argument("--extra", help="an extra of the project, on top of what is installed")
    parser.add_argument("--uv", default="uv", help="the uv to use; empty: none")
    parser.add_argument("--cuda", action="store_true", help="take a torch with GPU libraries on a machine without a GPU")
    chosen = parser.parse_args()
    try:
        python = make_environment(Path(chosen.venv), chosen.venv_options.split(), chosen.uv)
        write_constraints(python, chosen.torch)
        uv = None if "--system-site-packages" in chosen.venv_options else find_uv(python, chosen.uv)
        remove_old_name(python)
        link_packages()
        if chosen.extra:
            install_extra(python, uv, chosen.extra)
        else:
            install_project(python, uv, chosen.torch, chosen.cuda)
    except SetupError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        say("interrupted: the same command goes on")
        return 130
    return 0


# --- the environment


def make_environment(folder: Path, options: list[str], uv: str) -> Path:
    """The environment's Python; of an environment that is there already, too. Raises SetupError."""
    python = folder.absolute() / "bin" / "python"
    if os.path.lexists(python):
        require_fitting(python)
        return python
    here = sys.version_info[:2]
    if not OLDEST <= here <= NEWEST:
        bring_python(folder, uv)
        return python
    say(f"making {folder} with Python {here[0]}.{here[1]}")
    on_path = None if options or not uv else shutil.which(uv)
    # pip comes along (--seed): `folklore bundle` and people use it.
    if on_path and succeeds([on_path, "venv", "--quiet", "--seed", "--python", sys.executable, str(folder)]):
        return python
    made = run([sys.executable, "-m", "venv", *options, str(folder)])
    if made.returncode:
        why = last_line(made.stderr or made.stdout)
        raise SetupError(f"`{sys.executable} -m venv` failed ({why}): install your system's python3-venv, or put uv on PATH")
    return python


def bring_python(folder: Path, uv: str) -> None:
    """An environment of another Python than the one that runs this: uv looks for it here, and else downloads it."""
    needs = f"Folklore needs Python {RANGE}, and this is {sys.version_info[0]}.{sys.version_info[1]}"
    if uv:
        say(f"{needs}: looking for another with uv (about a minute if it has to be downloaded)")
    with tempfile.TemporaryDirectory() as temporary:
        found = (shutil.which(uv) or uv_in_new_environment(Path(temporary))) if uv else None
        why = "no uv to find or download one"
        if found:
            made = run([found, "venv", "--quiet", "--seed", "--python", BROUGHT, str(folder)])
            if made.returncode == 0:
                return
            why = f"uv has no other ({last_line(made.stderr)})"
    raise SetupError(f"{needs}; {why}: install one and name it, e.g. make PYTHON=python3.13 study-warmup")


def uv_in_new_environment(folder: Path) -> str | None:
    if not succeeds([sys.executable, "-m", "venv", str(folder)]):
        return None
    return find_uv(folder / "bin" / "python", "uv")


def require_fitting(python: Path) -> None:
    """Raises SetupError."""
    folder, version = python.parent.parent, None
    if python.exists():
        told = run([str(python), "-c", "import sys; print(*sys.version_info[:2])"])
        version = None if told.returncode else tuple(map(int, told.stdout.split()))
    if version is None:
        raise SetupError(f"{folder}: its Python does not run; remove the folder (make clean) and try again")
    if not OLDEST <= version <= NEWEST:
        raise SetupError(f"{folder}: has Python {version[0]}.{version[1]}, Folklore needs {RANGE}; remove it (make clean)")


def find_uv(python: Path, wanted: str) -> str | None:
    """uv: the one on PATH, else the environment's, installed there if need be. None if it cannot be had or is not wanted."""
    if not wanted:
        return None
    own = python.parent / "uv"
    found = shutil.which(wanted) or (str(own) if own.exists() else None)
    if found:
        return found
    say("installing uv (about 3 s)")
    if succeeds([*pip_install(python), "-c", str(constraints(python)), "uv"]) and own.exists():
        return str(own)
    say("uv cannot be had here: pip does its work, more slowly")
    return None


# --- what goes into it


def constraints(python: Path) -> Path:
    """Which releases to take, in the environment's folder."""
    return python.parents[1] / CONSTRAINTS.name


def write_constraints(python: Path, torch: str) -> None:
    """As they are tested; without torch's where another one is there, or asked for."""
    text = CONSTRAINTS.read_text(encoding="utf-8")
    if has_torch(python) or torch not in text.splitlines():
        text = without_torch(text)
    constraints(python).write_text(text, encoding="utf-8")


def without_torch(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("torch=="))


def install_project(python: Path, uv: str | None, torch: str, cuda: bool) -> None:
    """The project with what studies need, and torch if none is there that will do. Raises SetupError."""
    wanted = [] if has_torch(python) else [os.path.abspath(torch) if os.path.exists(torch) else torch]
    may_bring_gpu_libraries = cuda or not wanted or not sys.platform.startswith("linux") or has_gpu()
    if uv:
        environment, options = uv_settings(pip_settings(python), os.environ)
        if not may_bring_gpu_libraries and "UV_TORCH_BACKEND" not in environment:
            options += cpu_torch_options(uv, python, wanted, environment, options)
        say(f"installing {', '.join([*wanted, 'Ray, MLflow'])} and what else studies need, with uv (about half a minute)")
        if uv_install(uv, python, [*options, *wanted, "-e", str(PROJECT)], environment):
            return
        say("uv could not install it: once more with pip")
    if not may_bring_gpu_libraries:
        say(f"there is no GPU here: asking pip whether {torch} would bring GPU libraries (about 10 s)")
        libraries = gpu_libraries_by_pip(python, wanted)
        if libraries:
            raise no_cpu_torch(wanted, libraries)
    for what, told in ((wanted, torch), (["-e", str(PROJECT)], "Ray, MLflow and what else studies need")):
        if what:
            say(f"installing {told}, with pip (one to two minutes)")
            install_by_pip(python, ["-c", str(constraints(python)), *what])


def remove_old_name(python: Path) -> None:
    """The project was installed as `folklore` before its packages had one name: both together offer every study twice."""
    script = "from importlib.metadata import distribution as d; print(d('folklore').read_text('direct_url.json'))"
    if PROJECT.as_uri() in run([str(python), "-c", script]).stdout:
        say("removing what an earlier version installed under the name folklore")
        run([str(python), "-m", "pip", "uninstall", "--yes", "--quiet", "folklore"])
    shutil.rmtree(PROJECT / "folklore.egg-info", ignore_errors=True)


def link_packages() -> None:
    LINKS.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        link = LINKS / name
        if not link.is_symlink():
            link.symlink_to(os.path.relpath(PROJECT / name, LINKS), target_is_directory=True)


def install_extra(python: Path, uv: str | None, extra: str) -> None:
    """An extra of the project. Raises SetupError."""
    say(f"installing the extra '{extra}', with {'uv (about 10 s)' if uv else 'pip (about a minute)'}")
    alone = WITHOUT_DEPENDENCIES.get(extra, [])
    project = ["-e", f"{PROJECT}[{extra}]"]
    if uv:
        environment, options = uv_settings(pip_settings(python), os.environ)
        done = uv_install(uv, python, [*options, *project], environment)
        if done and (not alone or uv_install(uv, python, [*options, "--no-deps", *alone], environment)):
            return
        say("uv could not install it: once more with pip")
    install_by_pip(python, ["-c", str(constraints(python)), *project])
    if alone:
        install_by_pip(python, ["-c", str(constraints(python)), "--no-deps", *alone])


def has_torch(python: Path) -> bool:
    """Whether the environment sees a torch that will do: its own, or with --system-site-packages the machine's."""
    script = "from importlib.metadata import version; print(version('torch'))"
    told = run([str(python), "-c", script])
    found = re.match(r"(\d+)\.(\d+)", told.stdout)
    return found is not None and (int(found[1]), int(found[2])) >= LEAST_TORCH


def has_gpu() -> bool:
    return any(os.path.exists(sign) for sign in GPU_SIGNS) or shutil.which("nvidia-smi") is not None


# --- a torch without GPU libraries


def cpu_torch_options(uv: str, python: Path, torch: list[str], environment: dict[str, str], options: list[str]) -> list[str]:
    """What to tell uv so that no GPU libraries come: nothing if a CPU torch is at hand (a wheel, a folder, an index of the
    user's), else to take torch from where its makers keep the CPU builds. Raises SetupError if neither can be had."""
    libraries = gpu_libraries_by_uv(uv, python, [*options, *torch], environment)
    if not libraries:  # or uv cannot tell: then it cannot install it either
        return []
    say("there is no GPU here: looking for a torch without GPU libraries")
    cpu = ["--torch-backend", "cpu"]
    if gpu_libraries_by_uv(uv, python, [*options, *cpu, *torch], environment) != []:
        raise no_cpu_torch(torch, libraries)
    return cpu


def gpu_libraries_by_uv(uv: str, python: Path, arguments: list[str], environment: dict[str, str]) -> list[str] | None:
    """The GPU libraries that uv would install; None if it cannot tell."""
    command = [uv, "pip", "install", "--dry-run", "--python", str(python), "-c", str(constraints(python)), *arguments]
    told = run(command, environment)
    if told.returncode:
        return None
    return [line for line in re.findall(r"^ \+ (\S+)", told.stderr, re.MULTILINE) if GPU_LIBRARIES.match(line)]


def gpu_libraries_by_pip(python: Path, torch: list[str]) -> list[str]:
    """The same, by pip; none if pip cannot tell, for then it cannot install it either."""
    command = [*pip_install(python), "--dry-run", "--report", "-", "-c", str(constraints(python)), *torch]
    told = run(command)
    if told.returncode:
        return []
    return [name for each in json.loads(told.stdout)["install"] if GPU_LIBRARIES.match(name := each["metadata"]["name"])]


def no_cpu_torch(torch: list[str], libraries: list[str]) -> SetupError:
    return SetupError(
        f"{torch[0]} would bring {len(libraries)} GPU libraries (gigabytes), there is no GPU here, and no CPU build of it was"
        " found: give one by TORCH=/path/to/torch.whl, PIP_FIND_LINKS=/folder/of/wheels or PIP_EXTRA_INDEX_URL, or take it"
        " with them by CUDA=1"
    )


# --- uv and pip


def uv_install(uv: str, python: Path, arguments: list[str], environment: dict[str, str]) -> bool:
    """Whether uv did it; its progress shows on a terminal, its errors everywhere."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    command = [uv, "pip", "install", *quiet, "--python", str(python), "-c", str(constraints(python)), *arguments]
    return subprocess.run(command, env=environment).returncode == 0


def install_by_pip(python: Path, arguments: list[str]) -> None:
    if subprocess.run([*pip_install(python), "--no-compile", *arguments]).returncode:
        raise SetupError("pip could not install it (its own words are above)")


def pip_install(python: Path) -> list[str]:
    return [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def pip_settings(python: Path) -> dict[str, str]:
    """pip's options by its files and by PIP_ variables, which count more; those of `pip install` before global ones."""
    told = run([str(python), "-m", "pip", "config", "list"])
    settings: dict[str, str] = {}
    lines = re.findall(r"^(global|install|:env:)\.([a-z-]+)=(.*)$", told.stdout, re.MULTILINE)
    for section in ("global", "install", ":env:"):
        settings.update({name: str(ast.literal_eval(value)) for place, name, value in lines if place == section})
    return settings


def uv_settings(pip: dict[str, str], given: os._Environ[str] | dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """The environment and the options with which uv looks where pip would: uv reads neither pip's files nor its variables.
    What the user has told uv itself counts more."""
    environment = dict(given)
    for name, variables in PASSED_ON.items():
        if name in pip and not any(given.get(each) for each in variables):
            words = pip[name].split()
            if variables == ("UV_HTTP_TIMEOUT",):
                words = [f"{float(word):.0f}" for word in words]
            if name == "find-links":
                words = [os.path.expanduser(word) for word in words]
            environment[variables[0]] = (",".join if name == "find-links" else " ".join)(words)
    for bundle in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # pip's library knows them, uv does not
        if given.get(bundle):
            environment.setdefault("SSL_CERT_FILE", given[bundle])
    # Of several indexes pip takes the best version that any of them has, uv the first index that knows the name.
    environment.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    no_index = pip.get("no-index", "").lower() in ("1", "true", "yes", "on", "t", "y")
    return environment, ["--no-index"] if no_index else []


def run(command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def succeeds(command: list[str]) -> bool:
    return run(command).returncode == 0


def last_line(text: str) -> str:
    return "".join(text.strip().splitlines()[-1:]).strip()[-300:]


if __name__ == "__main__":
    sys.exit(main())
