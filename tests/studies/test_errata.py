"""Errata: each names what exists, says why in two sentences, and says of what was published what was published."""

import json
import re

import pytest

from folklore.harness.declare import Erratum
from folklore.harness.judge.verdict_history import history
from folklore.harness.judge.verdict_memory import published_verdicts
from folklore.harness.judge.withdrawing import as_judged
from folklore.harness.plan.catalog import load_study, register, study_names
from folklore.harness.plan.store import evidence
from folklore.reports import phrases

ERRATA = register().errata


def named(erratum: Erratum) -> str:
    return f"{erratum.claim}, version {erratum.version}"


@pytest.mark.parametrize("erratum", ERRATA, ids=named)
def test_an_erratum_names_what_exists(erratum: Erratum) -> None:
    assert register().claim(erratum.claim).id == erratum.claim
    assert erratum.study in study_names()
    study = load_study(erratum.study)
    assert erratum.claim in {judgement.claim for judgement in study.judgements}
    assert erratum.version <= study.version, "it would withdraw a verdict that nobody has judged yet"
    assert erratum.scale in study.scales


@pytest.mark.parametrize("erratum", ERRATA, ids=named)
def test_its_reason_has_two_sentences(erratum: Erratum) -> None:
    sentences = re.split(r"(?<=[.!?])\s+(?=[“A-Z])", erratum.reason)
    assert len(sentences) == 2, sentences
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize("erratum", ERRATA, ids=named)
def test_it_says_what_was_published(erratum: Erratum) -> None:
    """As long as that version's verdicts stand beside the evidence; those are kept as they were judged."""
    kept = json.loads((evidence.FOLDER / "verdicts.json").read_text(encoding="utf-8"))[erratum.study]
    if kept["version"] != erratum.version:
        pytest.skip("a later version is published")
    judged = next(
        at_scale for at_scale in published_verdicts(load_study(erratum.study)) or () if at_scale.scale == erratum.scale
    )
    verdict = next(verdict for verdict in judged.verdicts if verdict.claim == erratum.claim)
    if verdict.verdict == "out of regime":  # of its regime it was told later: there is nothing left to withdraw
        old = next(
            change.old
            for change in history().verdicts
            if change.claim == erratum.claim and change.new.verdict == verdict.verdict
        )
        assert (old.version, old.verdict, old.reading) == (erratum.version, erratum.verdict, erratum.reading)
        return
    assert verdict.verdict == "withdrawn"
    before = as_judged(verdict)
    assert (before.verdict, before.reading, phrases.number(before)) == (erratum.verdict, erratum.reading, erratum.number)
    stored = next(row for row in kept["judged"][0]["verdicts"] if row["claim"] == erratum.claim)
    assert stored["verdict"] == erratum.verdict, "the stored verdict stays as it was judged"


def test_a_verdict_is_withdrawn_once() -> None:
    places = [(erratum.claim, erratum.study, erratum.version) for erratum in ERRATA]
    assert len(set(places)) == len(places)
    assert [erratum.date for erratum in ERRATA] == sorted(erratum.date for erratum in ERRATA), "newest last"


def test_rule_changes_are_of_versions_that_were() -> None:
    for change in history().rules:
        study = load_study(change.study)
        assert change.version <= study.version, change
        assert change.claim in {judgement.claim for judgement in study.judgements}, change
        assert change.change.endswith("."), change
