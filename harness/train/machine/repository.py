"""The git repository that sources lie in: their commit, what differs from it, and what another commit has."""

import hashlib
import io
import json
import os
import re
import subprocess
import zipfile
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path

from ...folders import HARNESS, PROJECT

# Folders that decide numbers and how they are judged. Pages, tests and notes may change beside a run.
SOURCES = ("harness", "models", "studies")
AS_COMMITTED, CHANGED, UNKNOWN = "as committed", "changed: ", "unknown"
# At most this many changed files are named.
MOST_NAMED = 5
# The sources of code that was shipped to a node without its repository, as JSON of them where they were shipped from.
SHIPPED = "FOLKLORE_SOURCES"
COMMIT = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True)
class Sources:
    """commit: twelve digits, with '+' if any tracked file of the repository differs from it; '' outside git. state: of the
    folders SOURCES, files that git does not know included: AS_COMMITTED, CHANGED and the files, or UNKNOWN.
    """

    commit: str
    state: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Repository:
    """A folder that git may know. Nothing here changes it."""

    root: Path = PROJECT

    def sources(self) -> Sources:
        """The sources as they are now."""
        commit, tracked = self._ask("rev-parse", "--short=12", "HEAD"), self._ask("status", "--porcelain", "-uno")
        if commit is None or tracked is None:
            return Sources("", UNKNOWN)
        return Sources(commit + ("+" if tracked else ""), self._state())

    def _state(self) -> str:
        # An installed copy may lie in a repository that ignores it: nothing there would ever count as changed.
        if self._ask("rev-parse", "--verify", "--quiet", f"HEAD:./{SOURCES[0]}") is None:
            return UNKNOWN
        changes = self._ask("status", "--porcelain", "--untracked-files=all", "--", *SOURCES)
        if changes is None:
            return UNKNOWN
        files = [line[len("XY ") :] for line in changes.splitlines()]
        more = [f"{len(files) - MOST_NAMED} more"] if len(files) > MOST_NAMED else []
        return CHANGED + ", ".join([*files[:MOST_NAMED], *more]) if files else AS_COMMITTED

    def holds(self, commit: str) -> bool:
        """Whether a commit, by the beginning of its hash, is here; no where a shallow clone ends before it."""
        revision = self._ask("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}") if COMMIT.fullmatch(commit) else None
        return revision is not None

    def is_ancestor(self, commit: str) -> bool:
        """Whether HEAD is a commit that is here, or comes from it."""
        return self._ask("merge-base", "--is-ancestor", commit, "HEAD") is not None

    def extract(self, commit: str, paths: tuple[str, ...], folder: Path) -> None:
        """Write the paths as a commit has them into a folder. Raises ValueError where it lacks one."""
        archive = self._run("archive", "--format=zip", commit, "--", *paths)
        if archive is None or archive.returncode:
            raise ValueError(archive.stderr.decode(errors="replace").strip() if archive else "git cannot be run")
        with zipfile.ZipFile(io.BytesIO(archive.stdout)) as packed:
            packed.extractall(folder)

    def _ask(self, *arguments: str) -> str | None:
        """The output of a git command; None where it fails."""
        said = self._run(*arguments)
        return None if said is None or said.returncode else said.stdout.decode(errors="replace").rstrip()

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes] | None:
        """None where there is no git. It takes no lock that would be in the way of the user's own."""
        try:
            return subprocess.run(["git", "--no-optional-locks", *arguments], cwd=self.root, capture_output=True, check=False)
        except OSError:
            return None


# Of the code that runs here.
OURS = Repository()


@cache
def engine_sources() -> str:
    """A hash of all code that decides a trial's numbers: results under other sources are not known of these."""
    digest = hashlib.sha256()
    for folder in (HARNESS / "declare", HARNESS / "train", PROJECT / "models"):
        for file in sorted(folder.rglob("*.py")):
            digest.update(f"{file.relative_to(PROJECT).as_posix()}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def running_sources() -> Sources:
    """The sources of the code that runs here, as they were at the first call."""
    shipped = os.environ.get(SHIPPED)
    return Sources(**json.loads(shipped)) if shipped else OURS.sources()
