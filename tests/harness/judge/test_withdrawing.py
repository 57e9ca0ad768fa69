"""Withdrawn verdicts: of one version of a study, counted as nothing, and stored as they were judged."""

import json
from pathlib import Path

import pytest

from folklore.harness.declare import Claim, Erratum, Source, Study
from folklore.harness.judge import withdrawing
from folklore.harness.judge.error_rates import error_rates, standing
from folklore.harness.judge.grading import grade, right_side
from folklore.harness.judge.sequential import undecided
from folklore.harness.judge.trial_sets import HERE, TrialSet, stored_sets
from folklore.harness.judge.verdict import Verdict
from folklore.harness.judge.verdict_memory import JudgedTrials, recalled_verdicts, remember_verdicts
from folklore.harness.judge.withdrawing import WithdrawnVerdict, as_judged, as_they_stand
from folklore.harness.plan.catalog import Register
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from tests.harness.helpers import bowl, frame, result, stored
from tests.verdicts import a_finding, a_verdict

CLAIM = "warmup.improves_best"
ERRATUM = Erratum(
    claim=CLAIM, study="toy", version=1, date="2026-11-25", reason="It asks too little. It asks <it> twice.", scale="laptop",
    verdict="supported",
)  # fmt: skip
FINDING = a_finding("open")


@pytest.fixture(autouse=True)
def errata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(withdrawing, "register", lambda: Register((), (), (ERRATUM,)))


def verdict(word: str = "supported", **fields: object) -> Verdict:
    return a_verdict(word, **{"claim": CLAIM, "findings": (FINDING,), "p": 0.01, **fields})


def test_of_one_version_of_one_study_alone(study: Study) -> None:
    def shown(**changes: object) -> str:
        return as_they_stand(study.model_copy(update=changes), [verdict()])[0].verdict

    assert study.version == 1
    assert shown() == "withdrawn"
    assert shown(version=2) == "supported", "a later version asks again"
    assert shown(name="other") == "supported"
    assert shown(name="toy_varied_01234567", variation_of="toy") == "withdrawn", "a variation asks the same question"
    other = verdict(claim="warmup.widens")
    assert as_they_stand(study, [other]) == [other]


def test_whatever_was_concluded_but_not_where_nothing_was(study: Study) -> None:
    for word in ("supported", "partly", "refuted", "open"):
        (withdrawn,) = as_they_stand(study, [verdict(word, reading="r")])
        assert withdrawn.verdict == "withdrawn"
        assert as_judged(withdrawn) == verdict(word, reading="r")
        assert withdrawn.row().withdrawn == {"verdict": word, "reading": "r", "date": ERRATUM.date, "reason": ERRATUM.reason}
    for word in ("invalid", "out of regime"):
        (nothing,) = as_they_stand(study, [verdict(word)])
        assert nothing.verdict == word
        assert nothing.row().withdrawn is None


def test_it_counts_as_nothing_and_grades_nobody(study: Study) -> None:
    judged = verdict(direction="claimed", right={"supported": "a"}, advice="Do it.", surprise=2.0)
    (withdrawn,) = as_they_stand(study, [judged])
    rates = error_rates([withdrawn, verdict(claim="b.b"), verdict("open", claim="c.c")])
    assert (rates.tested, rates.decided) == (2, 1)
    assert standing(withdrawn, None, rates) == ""
    claim = Claim(id=CLAIM, kinds=("empirical",), paraphrase="x", measure="m", sources=(Source(document="TB", section="1"),))
    assert grade(claim, judged, "TB") == "supported"
    assert grade(claim, withdrawn, "TB") is None
    assert right_side(claim, withdrawn) == ""
    assert (withdrawn.advice, withdrawn.surprise, withdrawn.plain_answer) == ("", None, ERRATUM.reason)
    assert undecided([verdict("open")]) == [CLAIM]
    assert undecided(as_they_stand(study, [verdict("open")])) == [], "no seeds are added for a wrong question"


def test_a_set_of_trials_is_withdrawn_and_its_robustness_is_that_of_what_was_judged(study: Study) -> None:
    trials = frame(study, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0, noise=0.001)))
    judged = JudgedTrials.of(TrialSet(study, "laptop", "cpu", HERE, trials))
    (withdrawn,), (robust,) = judged.verdicts, judged.robustness
    assert isinstance(withdrawn, WithdrawnVerdict)
    assert withdrawn.judged.verdict == robust.verdict == "supported"


def test_a_store_keeps_what_was_judged(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "store"))
    stored(study, store, lambda trial: result(bowl(trial, -7, 2.1 if trial.arm == "none" else 2.0)))
    sets = [JudgedTrials.of(records) for records in stored_sets(study, Ledger(store, study.name))]
    remember_verdicts(store, study, sets)
    kept = json.loads(store.read(f"judged/{study.name}.json"))
    assert [verdict["verdict"] for verdict in kept["value"][0]["verdicts"]] == ["supported"]
    assert "erratum" not in kept["value"][0]["verdicts"][0]
    assert recalled_verdicts(store, study) == sets
    monkeypatch.setattr(withdrawing, "register", lambda: Register((), ()))
    (again,) = recalled_verdicts(store, study) or []
    assert again.verdicts[0].verdict == "supported", "nothing was judged again"
