"""Studies in a few lines of Python: what they declare, judged on planted results, and files that are no studies."""

import sys
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.declare import AtLeast, AtMost, Expected, Outside, Study, Within
from folklore.harness.declare.metrics import FailureRate, Gap, Log2, LossGap, Quotient, Scaled, TunedLoss
from folklore.harness.declare.trial import Trial
from folklore.harness.errors import UserError
from folklore.harness.judge.sentences import filled
from folklore.harness.judge.trial_sets import stored_sets
from folklore.harness.judge.verdict import Verdict
from folklore.harness.plan.catalog import load_study
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.result import LaneResult
from folklore.studies.kit import as_published, at_least, at_most, beyond, compare, exceeds, lr_grid, no_worse, unit_of, within
from tests.harness.helpers import result, rows

# Losses start at 2.3 (helpers): a loss of 1.0 falls by 1.3.
BETTER, WORSE = 1.0, 1.1


def verdict_of(study: Study, losses: dict[str, float], tmp_path: Path) -> Verdict:
    """The verdict on results that are best at the middle of the grid, where each arm has its loss."""

    def planted(trial: Trial) -> LaneResult:
        lr = trial.configuration.training.peak_lr
        return result(losses[trial.arm] + 0.05 * abs(MIDDLE - lr) / MIDDLE + 0.0001 * (trial.seed % 3))

    ledger = Ledger(Store(str(tmp_path)), study.name)
    trials = make_plan(study, "laptop", "cpu", "data").trials
    ledger.write("pack", rows(study, trials, planted, "pack"))
    ((verdict,),) = [trial_set.verdicts() for trial_set in stored_sets(study, ledger)]
    return verdict


MIDDLE = 2.0**-7


@pytest.mark.parametrize(
    ("better", "losses", "expected"),
    [
        ("lower", {"baseline": WORSE, "candidate": BETTER}, ("supported", "")),
        ("lower", {"baseline": BETTER, "candidate": WORSE}, ("refuted", "opposite")),
        ("lower", {"baseline": BETTER, "candidate": BETTER}, ("refuted", "no effect")),
        ("higher", {"baseline": BETTER, "candidate": WORSE}, ("supported", "")),
        ("higher", {"baseline": WORSE, "candidate": BETTER}, ("refuted", "opposite")),
    ],
)
def test_two_settings_are_compared_in_one_call(
    better: Any, losses: dict[str, float], expected: tuple[str, str], tmp_path: Path
) -> None:
    study = compare({"momentum": 0.0}, {"momentum": 0.9}, better=better, by=0.01, training={"optimizer": "sgd"})
    verdict = verdict_of(study, losses, tmp_path)
    assert (verdict.verdict, verdict.reading) == expected


def test_a_sentence_says_what_its_number_is(tmp_path: Path) -> None:
    """33 times the loss was "2.0% higher in test loss"; and sentences began in lower case, as labels do."""
    study = compare({"momentum": 0.0}, {"momentum": 0.9}, labels=("no momentum", "momentum"), training={"optimizer": "sgd"})
    verdict = verdict_of(study, {"baseline": WORSE, "candidate": BETTER}, tmp_path)
    assert study.title == "Comparison of momentum with no momentum"
    assert "by 0.5% of the loss reduction" in study.question
    (said,) = map(str, verdict.answer)
    assert said.startswith("In test loss, no momentum costs 2.5001% ")
    assert said.endswith(" of the loss reduction compared with momentum.")


def test_nothing_is_trained_with_that_nobody_asked_for() -> None:
    training = compare({"momentum": 0.0}, {"momentum": 0.9}, training={"optimizer": "sgd"}).training
    assert (training.weight_decay, training.warmup_fraction, training.schedule) == (0.0, 0.0, "constant")


def test_an_error_is_compared_in_points() -> None:
    study = compare({"momentum": 0.0}, {"momentum": 0.9}, metric="test_error", by=0.01, training={"optimizer": "sgd"})
    (criterion,) = study.judgements[0].criteria
    assert (criterion.unit, criterion.margin) == ("share", 0.01)
    assert study.question.endswith("by 1 point?")
    assert str(filled(criterion, 0.02, 0.01, 0.03)).startswith("Baseline ends 2.0 points higher (")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "accuracy"}, "metric = 'accuracy': must be one of test_loss, test_error"),
        ({"better": "best"}, "better = 'best': must be lower or higher"),
        ({"by": 0.0}, "by = 0.0: must be positive"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare({}, {"momentum": 0.9}, **options)


def test_a_grid_has_both_ends() -> None:
    assert lr_grid(-3, -1, 2) == {"peak_lr": (2.0**-3, 2.0**-2.5, 2.0**-2, 2.0**-1.5, 2.0**-1)}


GOOD = "from folklore.studies.kit import compare\nSTUDY = compare({}, {'beta2': 0.9}, name='a_file')\n"


def test_a_python_file_is_a_study(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GOOD)
    assert load_study(str(file)).name == "a_file"


def test_a_python_file_imports_what_lies_beside_it(tmp_path: Path) -> None:
    before = list(sys.path)
    (tmp_path / "settings_beside_mine.py").write_text("NAME = 'named_beside'\n")
    file = tmp_path / "mine.py"
    file.write_text("from settings_beside_mine import NAME\n" + GOOD.replace("'a_file'", "NAME"))
    assert load_study(str(file)).name == "named_beside"
    assert sys.path == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file; give another file"),
        ("x = 1", "STUDY is missing; it must be a Study"),
        ("STUDY = 3", "STUDY is int; it must be a Study"),
        ("STUDY = 1 / 0", r"raises ZeroDivisionError \(division by zero\) in mine.py, line 1: fix it"),
        ("from folklore.studies.shorthand import above", r"shorthand is gone: write the study with folklore.studies.kit"),
        ("STUDY = (", r"raises SyntaxError \('\(' was never closed\) in mine.py, line 1: fix it"),
        (GOOD.replace("beta2", "bta2"), "bta2"),
        (GOOD.replace("name=", "by=0, name="), r"raises ValueError \(by = 0: must be positive.* in mine.py, line 2: fix it"),
        (GOOD.replace("a_file", "warmup"), "is a built-in study's"),
    ],
)
def test_a_python_file_that_is_none_is_one_line(content: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UserError, match=message) as refused:
        load_study(str(file))
    assert "\n" not in str(refused.value)
    assert str(file) in str(refused.value)


def test_criteria_by_the_region_that_they_claim() -> None:
    """A region that is not given follows: what is claimed up from a value is refuted from there down."""
    loss = TunedLoss(arm="a")
    made = (at_least(0.7, loss), at_least(0.7, loss, refuted=0.5), at_most(0.3, loss, refuted=0.5), beyond(0.9, 1.1, loss))
    assert [(criterion.claimed, criterion.refuted) for criterion in made] == [
        (AtLeast(value=0.7), AtMost(value=0.7)),
        (AtLeast(value=0.7), AtMost(value=0.5)),
        (AtMost(value=0.3), AtLeast(value=0.5)),
        (Outside(low=0.9, high=1.1), Within(low=0.9, high=1.1)),
    ]
    assert within(0.9, 1.1, loss).refuted == Outside(low=0.9, high=1.1)
    assert within(0.9, 1.1, loss, refuted=(0.8, 1.2)).refuted == Outside(low=0.8, high=1.2)
    assert within(0.9, 1.1, loss, refuted=AtMost(value=0.5)).refuted == AtMost(value=0.5)


def test_a_published_number_is_the_criterion() -> None:
    """Within a difference of it, or within a factor where the axis is a logarithm; what was expected is drawn beside it."""
    a, b = TunedLoss(arm="a"), TunedLoss(arm="b")
    exponent, ratio = as_published(-0.5, 0.25, a - b, "someone 2024"), as_published(4.0, 2.0, a / b, "someone 2024")
    assert exponent.claimed == Within(low=-0.75, high=-0.25)
    assert (ratio.claimed, ratio.refuted) == (Within(low=2.0, high=8.0), Outside(low=2.0, high=8.0))
    assert ratio.expected == Expected(value=4.0, source="someone 2024")


def test_what_matters_is_a_margin() -> None:
    gap = TunedLoss(arm="a") - TunedLoss(arm="b")
    beats, keeps_up = exceeds(gap, by=0.01), no_worse(gap, margin=0.02)
    assert (beats.null, beats.margin, beats.claimed, beats.refuted) == (0.0, 0.01, AtLeast(value=0.01), AtMost(value=0.0))
    assert (keeps_up.test, keeps_up.claimed, keeps_up.refuted) == ("no_worse", AtMost(value=0.02), AtLeast(value=0.02))


def test_the_unit_is_the_metrics() -> None:
    a, b = TunedLoss(arm="a"), TunedLoss(arm="b")
    failing = FailureRate(arm="a", tuned_for="b")
    units = [unit_of(metric) for metric in (LossGap(left=a, right=b), failing, a / b, (a / b).log2(), a - b, a)]
    assert units == ["relative", "share", "x", "octaves", "", ""]


def test_metrics_are_reckoned_with_as_numbers_are() -> None:
    a, b = TunedLoss(arm="a"), TunedLoss(arm="b")
    assert a - b == Gap(left=a, right=b)
    assert (a / b).log2() == Log2(of=Quotient(top=a, bottom=b))
    assert a * 2.0 == Scaled(of=a, by=2.0)
