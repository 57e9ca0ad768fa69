"""`make audit`: are the pinned dependencies those that are installed, do they fit, and are known vulnerabilities among them?

The last question is pip-audit's, and takes a network: without one a warning says so, and the others decide.
"""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions, requires, version
from typing import Any

from packaging.requirements import Requirement

from tests.places import ROOT

CONSTRAINTS = ROOT / "constraints.txt"
# Which torch is installed is the user's choice (a GPU's or a CPU's), and with it come others; these came with Python.
UNPINNED = re.compile(r"torch|triton|nvidia-.*|cuda-.*|pip|setuptools|folklore-harness")
# The tests use what of mup needs no torchvision.
KNOWN_MISFITS = ("mup 1.0.0 requires torchvision",)
AUDIT_SECONDS = 120.0


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    """Name -> version. Raises ValueError for a line that is not NAME==VERSION, and for a name that stands there twice."""
    versions: dict[str, str] = {}
    for line in CONSTRAINTS.read_text().splitlines():
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)", line)
        if match is None:
            raise ValueError(f"constraints.txt: '{line}': must be NAME==VERSION, without addresses or options")
        if canonical(match[1]) in versions:
            raise ValueError(f"constraints.txt: {match[1]} is pinned twice: keep one")
        versions[canonical(match[1])] = match[2]
    return versions


def needed() -> set[str]:
    """The installed packages that this project needs, directly or not, but for torch and what torch brings."""
    installed = {canonical(distribution.metadata["Name"]) for distribution in distributions()}
    waiting, requirements = [("folklore-harness", "dev")], set[tuple[str, str]]()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in requirements or name not in installed:
            continue
        requirements.add((name, extra))
        for line in requires(name) or []:
            needs = Requirement(line)
            if needs.marker is None or needs.marker.evaluate({"extra": extra}):
                waiting += [(canonical(needs.name), wanted_extra) for wanted_extra in ("", *needs.extras)]
    brought = {canonical(Requirement(line).name) for line in requires("torch") or []}
    return {name for name, _ in requirements if name not in brought and not UNPINNED.fullmatch(name)}


def unpinned() -> list[str]:
    """Packages installed otherwise than pinned, or without a pin: a release that was never looked at could be anybody's."""
    pinned = pins()
    installed = {name: version(name) for name in sorted(needed())}
    return [
        f"{name} {there} is installed, constraints.txt has {pinned.get(name, 'no pin of it')}"
        for name, there in installed.items()
        if pinned.get(name) != there
    ]


def misfits() -> list[str]:
    """Pip's lines on dependencies that are missing or of a version that another does not take."""
    check = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    lines = check.stdout.strip().splitlines() if check.returncode else []
    ours = needed()
    return [line for line in lines if canonical(line.split()[0]) in ours and not line.startswith(KNOWN_MISFITS)]


def pip_audit() -> list[dict[str, Any]]:
    """One record per package. Raises LookupError with the reason if there is none."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(CONSTRAINTS), "--no-deps", "--disable-pip", "--format", "json"]
    try:
        done = subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True, timeout=AUDIT_SECONDS)
    except subprocess.TimeoutExpired:
        raise LookupError(f"pip-audit did not finish within {AUDIT_SECONDS:.0f} s") from None
    try:
        return list(json.loads(done.stdout)["dependencies"])
    except (ValueError, KeyError):
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise LookupError(f"pip-audit failed ({last_line[:300]})") from None


def vulnerabilities() -> tuple[list[str], dict[str, str]]:
    """Known ones, and the pins that could not be looked up: name -> reason."""
    try:
        packages = pip_audit()
    except LookupError as error:
        return [], dict.fromkeys(pins(), str(error))
    flaws = {canonical(package["name"]): package["vulns"] for package in packages if "vulns" in package}
    reasons = {canonical(package["name"]): package.get("skip_reason") for package in packages}
    known = [f"{name} {pins()[name]}: {flaw['id']}" for name in flaws for flaw in flaws[name]]
    return known, {name: reasons.get(name) or "pip-audit does not report it" for name in pins() if name not in flaws}


def warning(skipped: dict[str, str]) -> str:
    """Says that the audit is incomplete, why, and where it would be complete."""
    every = len(skipped) == len(pins())
    what = "no vulnerability was" if every else f"vulnerabilities of {len(skipped)} of {len(pins())} packages were not"
    return (
        f"WARNING: {what} looked up: {next(iter(skipped.values()))}; run `make audit` with access to the internet"
        " (PIP_AUDIT_VULNERABILITY_SERVICE=osv asks OSV instead of PyPI)"
    )


def main() -> int:
    problems = [*unpinned(), *misfits()]
    known, skipped = vulnerabilities()
    for line in [*problems, *known]:
        print(line)
    count = len(pins()) - len(skipped)
    result = (
        f"{len(known)} known vulnerabilities in {count} of {len(pins())} pinned packages"
        if count
        else "vulnerabilities unknown"
    )
    print(f"audit: {len(problems)} misfits, {result}", flush=True)
    if skipped:
        print(warning(skipped), file=sys.stderr)
    return 1 if problems or known else 0


if __name__ == "__main__":
    sys.exit(main())
