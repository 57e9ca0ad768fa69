"""The sentences that readers take away."""

import json
from typing import Any

import pytest

from folklore.harness.declare import AtLeast, AtMost, Criterion
from folklore.harness.declare.metrics import FinalLoss, Gap, MaxTrainable, Quotient, RelativeGap, TunedLoss
from folklore.harness.judge.sentences import Number, Sentence, filled, plain
from folklore.harness.judge.verdict_memory import published_verdicts
from folklore.harness.judge.withdrawing import as_judged
from folklore.harness.plan import catalog
from folklore.harness.plan.store import evidence

RELATIVE = RelativeGap(left=FinalLoss(arm="a"), right=FinalLoss(arm="b"))


def criterion(says: str, unit: str = "relative", ratio: bool = False, **fields: Any) -> Criterion:
    observe = Quotient(top=MaxTrainable(arm="a"), bottom=MaxTrainable(arm="b")) if ratio else RELATIVE
    regions = {} if "test" in fields else {"claimed": AtLeast(value=2), "refuted": AtMost(value=1)}
    return Criterion(name="tuned loss", observe=observe, unit=unit, says=says, **regions, **fields)


def told(asked: Criterion, *numbers: float) -> str:
    return str(filled(asked, *numbers))


def test_a_sentence_knows_its_numbers() -> None:
    sentence = filled(
        criterion("5% warmup ends {lower} than none", test="no_worse", null=0, margin=0.01), -0.011, -0.016, -0.006
    )
    number = Number(0.011, 0.006, 0.016, "relative", "90%", "higher")
    assert sentence == Sentence(("5% warmup ends ", number, " than none", "."))
    assert (number.value, number.rest) == ("1.1%", " higher (90% CI 0.6–1.6%)")
    assert plain((sentence, Sentence(("It holds.",)))) == "5% warmup ends 1.1% higher (90% CI 0.6–1.6%) than none. It holds."
    assert str(Number(4.0, 4.0, 4.0, "x")) == "4x", "what is exact stands alone"
    ends = filled(criterion("from {low} to {high}, in the middle {value}!", "nats"), 2.0, 1.0, 3.0)
    assert str(ends) == "From 1 nats to 3 nats, in the middle 2 nats!"


def test_a_blank_turns_with_the_sign() -> None:
    lower = criterion("5% warmup ends {lower} than none")
    assert told(lower, 0.011, 0.006, 0.016) == "5% warmup ends 1.1% lower (95% CI 0.6–1.6%) than none."
    assert told(lower, -0.011, -0.016, -0.006) == "5% warmup ends 1.1% higher (95% CI 0.6–1.6%) than none."
    larger = criterion("The largest LR is {larger}", unit="x", ratio=True)
    assert told(larger, 2.0, 1.5, 2.5) == "The largest LR is 2.0x larger (95% CI 1.5–2.5)."
    assert told(larger, 0.5, 0.4, 0.8) == "The largest LR is 2.0x smaller (95% CI 1.2–2.5)."


def test_a_verb_stands_before_its_number_and_turns_with_the_sign() -> None:
    costs = criterion("5% warmup {costs} of the loss reduction")
    assert told(costs, 0.011, 0.006, 0.016) == "5% warmup costs 1.1% (95% CI 0.6–1.6%) of the loss reduction."
    assert told(costs, -0.011, -0.016, -0.006) == "5% warmup gains 1.1% (95% CI 0.6–1.6%) of the loss reduction."


def test_a_difference_of_shares_is_told_in_points() -> None:
    errors = TunedLoss(arm="a", of="test_error") - TunedLoss(arm="b", of="test_error")
    regions = {"claimed": AtLeast(value=0.05), "refuted": AtMost(value=0.0)}
    asked = Criterion(name="error", observe=errors, unit="share", says="The error is {higher} than b's", **regions)
    assert told(asked, 0.33, 0.21, 0.44) == "The error is 33 points higher (95% CI 21–44) than b's."
    assert told(asked, -0.012, -0.017, -0.007) == "The error is 1.2 points lower (95% CI 0.7–1.7) than b's."


def test_an_interval_that_rounds_to_its_estimate_is_left_out() -> None:
    assert told(criterion("It loses {estimate}", unit="share"), 1.000006, 0.999998, 1.000014) == "It loses 100.00%."


def test_what_cannot_be_turned_is_left() -> None:
    """A ratio that reaches down to nothing has no upper end the other way round; a difference is not turned as a ratio is."""
    larger = criterion("The largest LR is {larger}", unit="x", ratio=True)
    assert told(larger, 0.5, 0.0, 0.8) == "The largest LR is 2.0x smaller (95% CI 1.2 to no bound)."
    assert told(larger, 0.0, 0.0, 0.0) == "The largest LR is 0x larger."
    assert told(criterion("It is {larger}", unit="x"), 0.5, -0.2, 1.2) == "It is 0.50x larger (95% CI −0.20 to 1.20)."


def test_without_a_sentence_the_name_and_its_number_stand() -> None:
    assert told(criterion(""), 0.011, 0.006, 0.016) == "Tuned loss: 1.1% (95% CI 0.6–1.6%)."


@pytest.mark.parametrize("says", ["ends {much} lower", "ends {lower than", "ends {}"])
def test_a_sentence_that_cannot_be_filled_is_refused(says: str) -> None:
    with pytest.raises(ValueError, match=r"says (holds|has)"):
        criterion(says)


def test_differences_of_parts() -> None:
    gap = Criterion(
        name="x",
        observe=Gap(left=FinalLoss(arm="a"), right=FinalLoss(arm="b")),
        claimed=AtLeast(value=0),
        refuted=AtMost(value=0),
        unit="nats",
        says="It costs {less}",
    )
    assert told(gap, 0.0402, 0.0244, 0.0559) == "It costs 0.040 nats less (95% CI 0.024–0.056)."


@pytest.mark.parametrize("name", catalog.study_names())
def test_what_is_published_reads_back_to_the_letter_and_knows_its_numbers(name: str) -> None:
    """Stored sentences are plain text, and are told again when they are read."""
    kept = json.loads((evidence.FOLDER / "verdicts.json").read_text(encoding="utf-8"))[name]["judged"]
    read = published_verdicts(catalog.load_study(name)) or []
    assert len(read) == len(kept)
    for judged, stored in zip(read, kept, strict=True):
        verdicts = [as_judged(verdict) for verdict in judged.verdicts]
        assert [json.loads(json.dumps(verdict.to_dict())) for verdict in verdicts] == stored["verdicts"]
        for verdict in verdicts:
            numbers = [part for sentence in verdict.answer for part in sentence.parts if isinstance(part, Number)]
            assert bool(numbers) == (verdict.estimate is not None), verdict.claim
