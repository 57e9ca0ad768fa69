"""The rule by which a study's page gets its first sentences."""

import pytest

from folklore.harness.judging.verdicts import Panel, Verdict
from folklore.reports.answers import answer, sentences, shortened, with_bold_numbers
from tests.verdicts import a_finding, a_verdict


def verdict(claim: str, name: str = "supported", text: str = "", **fields: object) -> Verdict:
    numbers = {"estimate": 1.8, "low": 1.6, "high": 2.0, "seeds": 5, "unit": "x"}
    told = text or f"Of {claim} it is 1.8x (1.6–2.0) larger."
    found = a_finding(name, **numbers)
    return a_verdict(name, **{"claim": claim, "findings": (found,), "answer": told, **fields})


def firm(_: Verdict) -> str:
    return "firm"


def test_named_claims_speak_in_the_order_named_whatever_they_came_to() -> None:
    found = answer([verdict("a"), verdict("b", "open"), verdict("c")], ("c", "b"), firm)
    assert found.claims == ("c", "b")


def test_decided_ones_speak_and_firm_ones_have_the_room_first() -> None:
    verdicts = [verdict(name) for name in "abcdef"]
    verdicts[1] = verdict("b", "open")
    stands = {"a": "fragile", "c": "firm", "d": "firm", "e": "fragile", "f": "exact"}
    found = answer(verdicts, (), lambda each: stands[each.claim])
    assert found.claims == ("a", "c", "d", "f"), "three that stand, one of the fragile ones, as declared"


def test_no_more_than_four_sentences_and_none_is_cut() -> None:
    long = "One is 1x (1–2). Two is so. Three is so."
    found = answer([verdict("a", text=long), verdict("b", text="One. Two."), verdict("c")], (), firm)
    assert found.claims == ("a", "c")
    alone = answer([verdict("a", text=" ".join(f"Sentence {i}." for i in "abcdef"))], (), firm)
    assert alone.claims == ("a",)
    assert len(sentences(alone.sentences[0])) == 6


def test_that_nothing_is_decided_is_said_first() -> None:
    found = answer([verdict("a", "open", p=0.4), verdict("b", "open", "One. Two. Three. Four.", p=0.1)], (), firm)
    assert found.sentences[0] == "None of the 2 claims is decided here."
    assert found.claims == ("b",), "the one that came nearest"
    assert "missing" in answer([verdict("a", "invalid")], (), firm).sentences[0]


def test_long_named_answers_are_shortened_without_misleading() -> None:
    two = "It is 1.8x (1.6–2.0) larger. That is much."
    assert shortened(verdict("a", text=two)) == "It is 1.8x (1.6–2.0) larger."
    for reading, why in (
        ("too noisy", "too noisy"),
        ("between", "between what supports it and what refutes it"),
        ("multiplicity", "not sure over several tests"),
        ("precondition", "a precondition is not surely met"),
    ):
        assert (
            shortened(verdict("a", "open", two, reading=reading)) == f"It is 1.8x (1.6–2.0) larger. The claim is open: {why}."
        )
    assert shortened(verdict("a", "partly", two, reading="some parts")) == two
    told = "It is larger. And so on. It holds on MLP; fails on GPT."
    panels = (Panel("MLP", "supported", ""), Panel("GPT", "refuted", ""))
    assert shortened(verdict("a", "partly", told, panels=panels)) == "It is larger. It holds on MLP; fails on GPT."
    found = answer([verdict(name, text=two) for name in "abc"], ("a", "b", "c"), firm)
    assert len(found.sentences) == 3
    assert not any("much" in each for each in found.sentences)


def test_advice_is_given_once() -> None:
    verdicts = [verdict("a", advice="Warm up."), verdict("b", advice="Warm up."), verdict("c")]
    assert answer(verdicts, (), firm).advice == ("Warm up.",)


@pytest.mark.parametrize(
    ("text", "bold"),
    [
        ("20% warmup is 1.8x (1.6–2.0) larger.", ["1.8x (1.6–2.0) larger"]),
        ("It ends 1.1% (0.6–1.6) lower than 5%.", ["1.1% (0.6–1.6) lower"]),
        ("A loss of −0.04 nats (−0.1 to 0.2) at B = 8.", ["−0.04 nats (−0.1 to 0.2)"]),
        ("It is 1,502x (1,032–inf) and 7e−05 (1e−05–2e−04).", ["1,502x (1,032–inf)", "7e−05 (1e−05–2e−04)"]),
        ("Nothing was measured (see 5).", []),
    ],
)
def test_what_was_measured_is_bold(text: str, bold: list[str]) -> None:
    told = str(with_bold_numbers(verdict("a", text=text)))
    assert told.replace("<b>", "").replace("</b>", "") == text
    assert [each.partition("</b>")[0] for each in told.split("<b>")[1:]] == bold


def test_exact_numbers_are_bold_and_everything_is_escaped() -> None:
    exact = a_finding(unit="x", estimate=4.0, low=4.0, high=4.0, grade="exact")
    told = with_bold_numbers(verdict("a", text="<i>It</i> is 4x, not 0.4x or 4x4.", findings=(exact,)))
    assert told == "&lt;i&gt;It&lt;/i&gt; is <b>4x</b>, not 0.4x or 4x4."
