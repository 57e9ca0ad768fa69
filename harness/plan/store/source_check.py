"""Checks trials and computed jobs before they are published: they ran from committed sources, at a commit that a reader can
look up, whose declaration is the stored one and is older than they are.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ...declare import Study
from ...errors import quoted
from ...train.machine.repository import AS_COMMITTED, CHANGED, OURS, SOURCES, UNKNOWN, Repository, Sources
from .computations import Computation
from .declaration import Declaration

# Run by the code of the commit itself, which is sure to have the published names of the package.
READ_HASH = "import sys; from folklore.harness import load_study; print(load_study(sys.argv[1]).hash)"
READ_SECONDS = 600
# `reports` is where the published evidence would lie.
NEEDED = (*SOURCES, "reports/__init__.py")
STORE_VARIABLE = "FOLKLORE_STORE"


class SourceDefect(NamedTuple):
    """A finding that does not hold, and its way out."""

    what: str
    way_out: str


@dataclass(frozen=True)
class SourceCheck:
    """found: what does not hold, a sentence each. as_is: why the trials are published all the same; None: all holds."""

    found: tuple[str, ...] = ()
    as_is: str | None = None

    @classmethod
    def from_json(cls, content: str) -> "SourceCheck":
        value = json.loads(content)
        return cls(**{**value, "found": tuple(value["found"])})

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def findings(
    study: Study,
    trials: pd.DataFrame,
    declared: Sequence[Declaration],
    computed: Sequence[Computation] = (),
    repository: Repository = OURS,
) -> list[SourceDefect]:
    """The defects of trials and computed jobs that a study, as it is declared now, would be judged by."""
    of_trials, of_jobs = sources_of(trials), sources_of_computed(computed)
    return [
        *_of_declaration(study.hash, trials, declared),
        *_of_states(of_trials, "trials", "trained", "train"),
        *_of_states(of_jobs, "computed jobs", "computed", "compute"),
        *filter(None, (_of_commit(study, commit, repository) for commit in commits_of({**of_trials, **of_jobs}))),
    ]


def sources_of(trials: pd.DataFrame) -> dict[Sources, int]:
    """Sources -> how many trials were trained from them. Older trials do not say in which state those were."""
    counts: Counter[Sources] = Counter()
    for environment, count in trials["environment"].value_counts().items():
        counts[_sources(json.loads(str(environment)))] += int(count)
    return _sorted(counts)


def counted_sources(trials: pd.DataFrame) -> str:
    """How many trials ran from which sources, in words."""
    counts, engines = sources_of(trials), _engines(trials)
    if len(counts) == 1 and len(engines) == 1:
        return f"all {_in_words(next(iter(counts)))}"
    words = "; ".join(f"{count} {_in_words(sources)}" for sources, count in counts.items())
    return words + f" ({len(engines)} states of the engine)" * (len(engines) > len(counts))


def mixed_sources(trials: pd.DataFrame) -> str:
    """A sentence where some of these trials ran from an engine with uncommitted changes and others from another one; else ''.
    Engines that are as committed are told apart by their version."""
    counts, engines = sources_of(trials), _engines(trials)
    changed = any(sources.state.startswith(CHANGED) for sources in counts)
    several = len(engines) > 1 or (None in engines and len(counts) > 1)
    return f"These trials ran from different sources: {counted_sources(trials)}" if changed and several else ""


def _engines(trials: pd.DataFrame) -> set[str | None]:
    """Hashes of the engines that trained; None for trials from before these were written down."""
    return {json.loads(str(environment)).get("engine_sources") for environment in trials["environment"].unique()}


def _in_words(sources: Sources) -> str:
    commit = sources.commit.removesuffix("+")
    if not commit:
        return "outside a git clone"
    if sources.state.startswith(CHANGED):
        return f"from commit {commit} with uncommitted changes in {sources.state.removeprefix(CHANGED)}"
    return f"from commit {commit}" + (", as committed" if sources.state == AS_COMMITTED else "")


def sources_of_computed(computed: Iterable[Computation]) -> dict[Sources, int]:
    """Sources -> how many computed jobs ran from them."""
    return _sorted(Counter(_sources(computation.environment) for computation in computed))


def commits_of(all_sources: Iterable[Sources]) -> list[str]:
    """The commits among sources."""
    return sorted({sources.commit.removesuffix("+") for sources in all_sources} - {""})


def _sources(environment: Mapping[str, str]) -> Sources:
    return Sources(environment.get("git_commit", ""), environment.get("sources", UNKNOWN))


def _sorted(counts: Counter[Sources]) -> dict[Sources, int]:
    return dict(sorted(counts.items(), key=lambda item: (item[0].commit, item[0].state)))


def _of_declaration(study_hash: str, trials: pd.DataFrame, declared: Sequence[Declaration]) -> Iterator[SourceDefect]:
    others = trials.loc[trials["study_hash"] != study_hash, "study_hash"].value_counts()
    for other, count in sorted(others.items()):
        what = f"{count} trials ran under declaration {other}, and {study_hash} would judge them"
        yield SourceDefect(what, "take back what changed in the declaration, or train a new version on fresh seeds")
    own = next((declaration for declaration in declared if declaration.hash == study_hash), None)
    if own is None:
        yield SourceDefect(f"the store holds no declaration {study_hash}", "`folklore run` writes it down before it trains")
        return
    first = str(trials["finished_at"].min())
    # The end of a trial is known to the second.
    if datetime.fromisoformat(own.declared_at).replace(microsecond=0) > datetime.fromisoformat(first):
        what = f"declaration {study_hash} was written on {own.declared_at}, after a trial was finished on {first}"
        yield SourceDefect(what, "train a new version on fresh seeds")


def _of_states(counts: Mapping[Sources, int], what: str, done: str, do: str) -> Iterator[SourceDefect]:
    """Defects of sources that were not as committed, as far as is known; what: the things that were done from them."""
    for sources, count in counts.items():
        commit, state = sources.commit.removesuffix("+"), sources.state
        if not commit:
            yield SourceDefect(f"{count} {what} name no commit", f"{do} them from a git clone")
        elif state.startswith(CHANGED):
            where = state.removeprefix(CHANGED)
            yield SourceDefect(
                f"{count} {what} were {done} at commit {commit} with changes that it does not hold, in {where}",
                f"commit, then {do}",
            )
        elif state != AS_COMMITTED:
            unsaid = f"do not say whether {', '.join(SOURCES)} were as committed"
            yield SourceDefect(f"{count} {what} of commit {commit} {unsaid}", f"{do} them again from a git clone")


def _of_commit(study: Study, commit: str, repository: Repository) -> SourceDefect | None:
    if not repository.holds(commit):
        return SourceDefect(
            f"this repository does not hold commit {commit}", "git fetch --unshallow may bring it; else train again"
        )
    if not repository.is_ancestor(commit):
        return SourceDefect(f"commit {commit} is no ancestor of HEAD", "merge its branch, or train again")
    try:
        there = _hash_at(repository, commit, study.name)
    except (ValueError, subprocess.SubprocessError) as error:
        what = f"study '{study.name}' cannot be read from commit {commit} ({quoted(error)})"
        return SourceDefect(what, "commit the study, then train")
    if there == study.hash:
        return None
    what = f"commit {commit} declares {there}, and {study.hash} would judge its trials"
    return SourceDefect(what, "commit the declaration, then train")


@cache
def _hash_at(repository: Repository, commit: str, study: str) -> str:
    """The hash of a study's declaration as a commit's own code works it out. Raises ValueError where that does not."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "folklore"
        package.mkdir()
        # With it nothing that the commit lacks is taken from the installed package of that name.
        (package / "__init__.py").touch()
        repository.extract(commit, NEEDED, package)
        variables = {name: value for name, value in os.environ.items() if name != STORE_VARIABLE}
        command = [sys.executable, "-B", "-c", READ_HASH, study]
        said = subprocess.run(
            command, cwd=folder, env={**variables, "PYTHONPATH": folder}, capture_output=True, text=True, timeout=READ_SECONDS
        )
    if said.returncode:
        raise ValueError(said.stderr.strip().rpartition("\n")[2] or f"exit status {said.returncode}")
    return said.stdout.strip()
