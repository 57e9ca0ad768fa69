"""Trials are published if they were trained from a commit that a reader can look up, with the declaration that judges them."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion, Judgement, Study
from folklore.harness.declare.metrics import Computed
from folklore.harness.errors import UserError
from folklore.harness.folders import PROJECT as ROOT
from folklore.harness.judge.trial_sets import HERE, TrialSet, checked, publish, published_sets, trial_sets
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.declaration import declarations, declare
from folklore.harness.plan.store.source_check import SourceCheck, _hash_at, findings
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine.repository import AS_COMMITTED, CHANGED, SOURCES, UNKNOWN, Repository
from tests.git_repository import committed, git, written
from tests.harness.helpers import bowl, computations, frame, result

# A package as small as one can be from which a study is loaded by the published name.
PACKAGE = {
    "harness/__init__.py": (
        "import importlib\ndef load_study(name): return importlib.import_module('folklore.studies.' + name).STUDY\n"
    ),
    **dict.fromkeys(("models/__init__.py", "reports/__init__.py", "studies/__init__.py"), ""),
}


def declaring(study_hash: str) -> dict[str, str]:
    """A commit's files in which a study has this hash."""
    return {**PACKAGE, "studies/toy.py": f"class STUDY:\n    hash = '{study_hash}'\n"}


def trained(trials: pd.DataFrame, commit: str, state: str | None = AS_COMMITTED) -> pd.DataFrame:
    """The trials as if of these sources; state None: from before that was recorded."""
    environment = {"device": "a machine", "git_commit": commit} | ({} if state is None else {"sources": state})
    return trials.assign(environment=json.dumps(environment))


@pytest.fixture
def stored(study: Study, tmp_path: Path) -> TrialSet:
    """Declared, then trained; of no commit yet."""
    store = Store(str(tmp_path / "store"))
    declare(store, study, "laptop", trials_before=0)
    (records,) = trial_sets(study, frame(study, lambda trial: result(bowl(trial, -7, 2.0, noise=0.001))), HERE)
    return replace(records, declarations=tuple(declarations(store, study, "laptop")))


@pytest.fixture
def clone(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "clone")


def complaints(records: TrialSet, clone: Repository) -> list[str]:
    return [what for what, _ in findings(records.study, records.trials, records.declarations, records.computed, clone)]


def test_trials_of_commits_that_declare_what_judges_them_are_published(
    stored: TrialSet, clone: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several commits, as of seeds that were added later; files beside the sources may differ."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    first = committed(clone.root, declaring(stored.study.hash))
    second = committed(clone.root, {"README.md": "more", "studies/other.py": ""})
    later = stored.trials["seed"] > 2
    trials = pd.concat([trained(stored.trials[~later], f"{first}+"), trained(stored.trials[later], second)])
    records = replace(stored, trials=trials)
    check = checked(records, repository=clone)
    assert check == SourceCheck()
    assert checked(records, "a reason that nothing needs", clone) == check
    publish(records, check)
    (back,) = published_sets(stored.study)
    assert back.source_check == check


def test_added_seeds_are_of_the_same_declaration(stored: TrialSet, clone: Repository) -> None:
    commit = committed(clone.root, declaring(stored.study.hash))
    more = replace(
        stored, study=stored.study.with_seeds("laptop", 8, "no claim is decided"), trials=trained(stored.trials, commit)
    )
    assert complaints(more, clone) == []


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (f"{CHANGED}a.py", "50 trials were trained at commit COMMIT with changes that it does not hold, in a.py"),
        (UNKNOWN, "50 trials of commit COMMIT do not say whether harness, models, studies were as committed"),
        (None, "50 trials of commit COMMIT do not say whether harness, models, studies were as committed"),
    ],
)  # fmt: skip
def test_sources_that_were_not_as_committed(stored: TrialSet, clone: Repository, state: str | None, says: str) -> None:
    commit = committed(clone.root, declaring(stored.study.hash))
    assert complaints(replace(stored, trials=trained(stored.trials, commit, state)), clone) == [says.replace("COMMIT", commit)]


def test_computed_jobs_are_held_to_the_same(study: Study, tmp_path: Path, clone: Repository) -> None:
    """Trials of a commit that declares what judges them, and a number that was computed from other sources."""
    first_step = Computed(function="adam.uncorrected", number="first_step")
    criterion = Criterion(name="first step", observe=first_step, claimed=AtLeast(value=1.5), refuted=AtMost(value=0.1))
    asking = study.model_copy(update={"judgements": (Judgement(claim="warmup.improves_best", criteria=(criterion,)),)})
    declare(store := Store(str(tmp_path / "store")), asking, "laptop", trials_before=0)
    trials = frame(asking, lambda trial: result(bowl(trial, -7, 2.0)))
    (trial_set,) = trial_sets(asking, trials, HERE, computations=computations(asking))
    commit = committed(clone.root, declaring(asking.hash))
    records = replace(
        trial_set, trials=trained(trial_set.trials, commit), declarations=tuple(declarations(store, asking, "laptop"))
    )

    def computed(state: str, commit: str = commit) -> TrialSet:
        environment = {"git_commit": commit, "sources": state}
        there = {key: replace(computation, environment=environment) for key, computation in records.computations.items()}
        return replace(records, computations=there)

    assert complaints(computed(AS_COMMITTED), clone) == []
    differ = f"1 computed jobs were computed at commit {commit} with changes that it does not hold, in a.py"
    assert complaints(computed(f"{CHANGED}a.py"), clone) == [differ]
    unsaid = f"1 computed jobs of commit {commit} do not say whether harness, models, studies were as committed"
    assert complaints(computed(UNKNOWN), clone) == [unsaid]
    assert complaints(computed(AS_COMMITTED, ""), clone) == ["1 computed jobs name no commit"]
    assert complaints(computed(AS_COMMITTED, "0" * 12), clone) == [f"this repository does not hold commit {'0' * 12}"]


def test_one_trial_of_changed_sources_is_enough(stored: TrialSet, clone: Repository) -> None:
    commit = committed(clone.root, declaring(stored.study.hash))
    trials = trained(stored.trials, commit)
    trials.loc[trials.index[0], "environment"] = trained(stored.trials, commit, f"{CHANGED}harness/a.py")["environment"].iloc[0]
    (only,) = complaints(replace(stored, trials=trials), clone)
    assert only.startswith("1 trials were trained")


COMMIT = "0123456789ab"


def ran_from(state: str, engine: str | None) -> str:
    environment = {"git_commit": COMMIT, "sources": state, **({} if engine is None else {"engine_sources": engine})}
    return json.dumps(environment)


@pytest.mark.parametrize(
    ("first", "others", "says"),
    [
        (
            (f"{CHANGED}harness/a.py", "e1"),
            (AS_COMMITTED, "e2"),
            ", as committed; 1 from commit {} with uncommitted changes in harness/a.py",
        ),
        (
            (f"{CHANGED}harness/a.py", "e1"),
            (f"{CHANGED}harness/a.py", "e2"),
            "with uncommitted changes in harness/a.py (2 states of",
        ),
        ((f"{CHANGED}harness/a.py", None), (AS_COMMITTED, None), "1 from commit"),
        ((f"{CHANGED}studies/a.py", "e1"), (AS_COMMITTED, "e1"), ""),
        ((f"{CHANGED}harness/a.py", "e1"), (f"{CHANGED}harness/a.py", "e1"), ""),
        ((AS_COMMITTED, "e1"), (AS_COMMITTED, "e2"), ""),
    ],
)
def test_verdicts_say_that_sources_are_mixed(
    stored: TrialSet, first: tuple[str, str | None], others: tuple[str, str | None], says: str
) -> None:
    """An optimizer that was changed for a part of the trials is judged with them."""
    trials = stored.trials.copy()
    trials["environment"] = ran_from(*others)
    trials.loc[trials.index[0], "environment"] = ran_from(*first)
    cautions = [verdict.cautions for verdict in replace(stored, trials=trials).verdicts()]
    said = [line for line in cautions[0] if line.startswith("These trials ran from different sources: ")]
    assert [says.format(COMMIT) in line for line in said] == [True] * bool(says)
    assert all(set(said) <= set(lines) for lines in cautions)


def test_commits_that_readers_do_not_have(stored: TrialSet, clone: Repository, tmp_path: Path) -> None:
    first = committed(clone.root, declaring(stored.study.hash))
    git(clone.root, "checkout", "--quiet", "-b", "aside")
    aside = committed(clone.root, {"README.md": "aside"})
    git(clone.root, "checkout", "--quiet", "main")
    committed(clone.root, {"README.md": "main"})
    git(tmp_path, "clone", "--quiet", "--depth=1", clone.root.as_uri(), "shallow")

    def of(commit: str, repository: Repository = clone) -> list[str]:
        return complaints(replace(stored, trials=trained(stored.trials, commit)), repository)

    assert of(first) == []
    assert of(aside) == [f"commit {aside} is no ancestor of HEAD"]
    assert of("0123456789ab") == ["this repository does not hold commit 0123456789ab"]
    assert of(first, Repository(tmp_path / "shallow")) == [f"this repository does not hold commit {first}"]
    assert of("") == ["50 trials name no commit"]


def test_a_commit_that_declares_something_else(stored: TrialSet, clone: Repository) -> None:
    """The commit counts, not what the working tree has by now."""
    none = committed(clone.root, PACKAGE)
    other = committed(clone.root, declaring("fedcba9876543210"))
    written(clone.root, declaring(stored.study.hash))
    assert complaints(replace(stored, trials=trained(stored.trials, other)), clone) == [
        f"commit {other} declares fedcba9876543210, and {stored.study.hash} would judge its trials"
    ]
    (unread,) = complaints(replace(stored, trials=trained(stored.trials, none)), clone)
    assert unread.startswith(f"study 'toy' cannot be read from commit {none} (ModuleNotFoundError: No module named")


def test_what_was_declared_late_or_not_at_all(stored: TrialSet, clone: Repository) -> None:
    commit, study = committed(clone.root, declaring(stored.study.hash)), stored.study
    records = replace(stored, trials=trained(stored.trials, commit))
    assert complaints(replace(records, declarations=()), clone) == [f"the store holds no declaration {study.hash}"]
    early = records.trials.copy()
    early.loc[early.index[3], "finished_at"] = "2001-01-01T00:00:00+00:00"
    (late,) = complaints(replace(records, trials=early), clone)
    assert late.endswith("after a trial was finished on 2001-01-01T00:00:00+00:00")
    others = records.trials.assign(study_hash="0123456789abcdef")
    assert complaints(replace(records, trials=others), clone) == [
        f"50 trials ran under declaration 0123456789abcdef, and {study.hash} would judge them"
    ]


def test_a_trial_of_the_second_in_which_it_was_declared_is_not_earlier(stored: TrialSet, clone: Repository) -> None:
    commit = committed(clone.root, declaring(stored.study.hash))
    (declaration,) = stored.declarations
    known = replace(declaration, declared_at="2026-01-02T03:04:05.999999+00:00")
    trials = trained(stored.trials, commit).assign(finished_at="2026-01-02T03:04:05+00:00")
    assert complaints(replace(stored, trials=trials, declarations=(known,)), clone) == []


def test_a_refusal_is_one_line_and_a_reason_overrides_it(
    stored: TrialSet, clone: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    records = replace(stored, trials=trained(stored.trials, "0123456789ab", None))
    with pytest.raises(UserError) as refused:
        checked(records, repository=clone)
    assert re.fullmatch(
        r"study 'toy' at scale 'laptop' on cpu is not published: 50 trials of commit 0123456789ab do not say .* \(train them"
        r" again from a git clone\); this repository does not hold commit 0123456789ab \(.*\); or give --as-is REASON, .*",
        str(refused.value),
    )
    check = checked(records, "from an <archive>", clone)
    publish(records, check)
    (back,) = published_sets(stored.study)
    assert back.source_check == check
    assert (check.as_is, len(check.found)) == ("from an <archive>", 2)


def test_a_run_that_is_not_finished_is_not_published(stored: TrialSet, clone: Repository) -> None:
    trials = trained(stored.trials, committed(clone.root, declaring(stored.study.hash)))
    assert checked(replace(stored, trials=trials), repository=clone) == SourceCheck()
    records = replace(stored, trials=trials.iloc[:-1])
    with pytest.raises(UserError, match=r"improves_best cannot be judged, .* \(`folklore run toy --scale laptop` goes on\)"):
        checked(records, repository=clone)


@pytest.mark.slow
def test_the_code_of_the_commit_reads_the_declaration(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the project's own sources, not from what is installed or lies in the working tree or in the user's store."""
    store = Store(str(tmp_path / "store"))
    declare(store, study, "laptop", trials_before=0)
    monkeypatch.setenv("FOLKLORE_STORE", store.uri)
    for name in SOURCES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    here = load_study("memory")
    declared = (tmp_path / "studies" / "memory.py").read_text(encoding="utf-8")
    other = declared.replace(f"version={here.version}", "version=97")
    assert other != declared
    commit = committed(tmp_path, {"reports/__init__.py": "", "studies/memory.py": other})
    written(tmp_path, {"studies/memory.py": "raise SystemExit('the working tree was read')"})
    assert _hash_at(Repository(tmp_path), commit, "memory") == here.model_copy(update={"version": 97}).hash
    with pytest.raises(ValueError, match="no study named 'toy'"):
        _hash_at(Repository(tmp_path), commit, "toy")
