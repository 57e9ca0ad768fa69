"""`make audit`: are the pinned dependencies those that are installed, do they fit, and are known vulnerabilities among them?

The last question is pip-audit's, and takes a network: without one it says so, and the others decide.
"""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
# Which torch is installed is the user's choice (a GPU's or a CPU's), and with it come others; these came with Python.
UNPINNED = re.compile(r"torch|triton|nvidia-.*|cuda-.*|pip|setuptools|folklore")
# The tests use mup's tables of widths and nothing that needs torchvision.
KNOWN_MISFITS = ("mup 1.0.0 requires torchvision",)
AUDIT_SECONDS = 120.0


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    """Name -> version. Raises ValueError for a line that is not NAME==VERSION, and for a name that stands there twice."""
    found: dict[str, str] = {}
    for line in CONSTRAINTS.read_text().splitlines():
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)", line)
        if match is None:
            raise ValueError(f"constraints.txt: '{line}': must be NAME==VERSION, without addresses or options")
        if canonical(match[1]) in found:
            raise ValueError(f"constraints.txt: {match[1]} is pinned twice: keep one")
        found[canonical(match[1])] = match[2]
    return found


def unpinned() -> list[str]:
    """What is installed in this environment otherwise than pinned, or without a pin; what the machine lends it is its own."""
    pinned = pins()
    own = [each for each in distributions() if Path(str(each.locate_file(""))).is_relative_to(sys.prefix)]
    installed = {canonical(each.metadata["Name"]): each.version for each in own}
    wrong = []
    for name, version in sorted(installed.items()):
        if not UNPINNED.fullmatch(name) and pinned.get(name) != version:
            wrong.append(f"{name} {version} is installed, constraints.txt has {pinned.get(name, 'no pin of it')}")
    return wrong


def misfits() -> list[str]:
    """What pip says of dependencies that are missing or of a version that another does not take."""
    told = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    lines = told.stdout.strip().splitlines() if told.returncode else []
    return [line for line in lines if not line.startswith(KNOWN_MISFITS)]


def vulnerabilities() -> tuple[list[str], int]:
    """Known ones, and of how many pins nothing could be learnt."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(CONSTRAINTS), "--no-deps", "--disable-pip", "--format", "json"]
    try:
        told = subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True, timeout=AUDIT_SECONDS)
        content = json.loads(told.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):  # no network, or an answer that is none
        return [], len(pins())
    found = [f"{each['name']} {each['version']}: {flaw['id']}" for each in content for flaw in each.get("vulns", ())]
    return found, sum("vulns" not in each for each in content)


def main() -> int:
    problems = [*unpinned(), *misfits()]
    known, unknown = vulnerabilities()
    for line in [*problems, *known]:
        print(line)
    asked = len(pins()) - unknown
    print(f"audit: {len(problems)} misfits, {len(known)} known vulnerabilities in {asked} of {len(pins())} pinned packages")
    if unknown:
        print(f"the other {unknown} could not be looked up from here")
    return 1 if problems or known else 0


if __name__ == "__main__":
    sys.exit(main())
