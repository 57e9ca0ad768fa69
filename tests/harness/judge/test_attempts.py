"""Results of earlier versions: a verdict repeats only the same rule, and disagreement is said; estimates pool."""

from pathlib import Path

import numpy as np
import pytest

from folklore.harness.declare import AtLeast, Study
from folklore.harness.judge import attempts
from folklore.harness.judge.attempts import Attempt, pooled_lines, repeated, rule_of
from folklore.harness.judge.statistics.pooling import pooled
from folklore.harness.judge.verdict import Verdict
from folklore.harness.judge.verdict_history import RuleChange
from folklore.harness.plan.store import evidence
from tests.harness.helpers import changed
from tests.verdicts import a_finding, a_verdict


@pytest.fixture
def third(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """The toy's third version, with an empty folder of evidence."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    return changed(study, {}, version=3)


def verdict(study: Study, word: str = "supported") -> Verdict:
    (judgement,) = study.judgements
    finding = a_finding(name=judgement.criteria[0].name, estimate=2.0, low=1.0, high=3.0, unit="nats")
    return a_verdict(word, claim=judgement.claim, study=study.name, findings=(finding,), estimate=2.0, low=1.0, high=3.0)


def attempt(study: Study, version: int, word: str = "supported", rule: str | None = None, estimate: float = 4.0) -> Attempt:
    (judgement,) = study.judgements
    numbers = {judgement.criteria[0].name: (estimate, estimate - 1, estimate + 1, "nats")}
    own = rule_of(judgement, "laptop") if rule is None else rule
    return Attempt(judgement.claim, study.name, "laptop", "cpu", version, "2026-11-20", word, "", numbers, own)


@pytest.mark.parametrize(
    ("words", "rule", "new", "unrepeated"),
    [
        ([], None, "it was asked once, and is to be repeated on fresh seeds", ""),
        (["supported"], None, "", ""),
        (["refuted", "supported"], None, "", ""),
        (["supported", "open"], None, "", "by the same rule version 2 came to open"),
        (["supported", "partly"], "another", "version 2 asked by another rule or of other arms, and came to partly", ""),
        (["supported"], "", "by which rule version 1 was judged is not kept; it came to supported", ""),
        # A verdict that could not be judged was no attempt.
        (["supported", "out of regime"], None, "", ""),
        (["out of regime"], None, "it was asked once, and is to be repeated on fresh seeds", ""),
    ],
)
def test_the_version_before_decides_what_is_new(
    third: Study, words: list[str], rule: str | None, new: str, unrepeated: str
) -> None:
    attempts.append([attempt(third, version, word, rule) for version, word in enumerate(words, start=1)])
    repetition = repeated(verdict(third), third, [])
    assert (repetition.new, repetition.unrepeated) == (new, unrepeated)


def test_a_rule_is_what_decides_and_no_name(third: Study) -> None:
    (judgement,) = third.judgements
    (criterion,) = judgement.criteria
    renamed = judgement.model_copy(update={"criteria": (criterion.model_copy(update={"name": "x", "says": "y"}),)})
    moved = judgement.model_copy(update={"criteria": (criterion.model_copy(update={"claimed": AtLeast(value=0.5)}),)})
    assert rule_of(renamed, "laptop") == rule_of(judgement, "laptop") != rule_of(moved, "laptop")


def test_a_rule_that_moved_towards_a_known_number_says_so(third: Study) -> None:
    claim = third.judgements[0].claim
    rules = [
        RuleChange(claim, third.name, 2, "open (too noisy)", "the bar is 1% and was 2%."),
        RuleChange(claim, third.name, 4, "partly", "a later version's"),
        RuleChange(claim, "another", 3, "partly", "another study's"),
    ]
    repetition = repeated(verdict(third), third, rules)
    assert repetition.rule_change == (
        "version 2 changed the rule when it was known that the one before gave open (too noisy): the bar is 1% and was 2%."
    )


def test_versions_that_measured_the_same_are_pooled(third: Study) -> None:
    attempts.append([attempt(third, 1), attempt(third, 2, estimate=3.0), attempt(third, 3), attempt(third, 4)])
    (line,) = pooled_lines(verdict(third), third)
    name = third.judgements[0].criteria[0].name
    assert line == f"{name}, pooled over versions 1, 2 and 3: 3 nats [2.42 nats, 3.58 nats]"


def test_other_measurements_are_not_pooled(third: Study) -> None:
    other = attempt(third, 2)
    renamed = {"another": next(iter(other.numbers.values()))}
    in_percent = {name: (*number[:3], "relative") for name, number in other.numbers.items()}
    for numbers in (renamed, in_percent):
        attempts.append([Attempt(**{**vars(other), "numbers": numbers})])
    assert list(pooled_lines(verdict(third), third)) == []


def test_pooling_is_as_good_as_all_seeds_at_once() -> None:
    """Three samples of one normal world, pooled, against the mean of all their numbers."""
    samples = np.random.default_rng(0).normal(5.0, 2.0, size=(3, 4000))
    errors = samples.std(axis=1, ddof=1) / np.sqrt(4000)
    intervals = [
        (mean, mean - 1.96 * error, mean + 1.96 * error) for mean, error in zip(samples.mean(axis=1), errors, strict=True)
    ]
    estimate, low, high = pooled(intervals)
    assert estimate == pytest.approx(samples.mean(), abs=0.003)
    assert high - low == pytest.approx(2 * 1.96 * samples.std() / np.sqrt(12000), rel=0.02)
    assert pooled([tuple(np.exp(interval)) for interval in intervals], ratio=True) == pytest.approx(
        np.exp([estimate, low, high])
    )
