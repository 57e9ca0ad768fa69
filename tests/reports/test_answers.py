"""The rule by which a study's page gets its first sentences."""

from folklore.harness.judge.sentences import Number, Sentence
from folklore.harness.judge.verdict import Panel, Verdict
from folklore.reports.answers import Answer, answer, shortened
from tests.verdicts import a_finding, a_verdict, saying

LARGER = Sentence(("It is ", Number(1.8, 1.6, 2.0, "x", word="larger"), "."))


def verdict(claim: str, name: str = "supported", *more: str, **fields: object) -> Verdict:
    """A verdict. more: its sentences beside how large it is."""
    finding = a_finding(name, estimate=1.8, low=1.6, high=2.0, seeds=5, unit="x")
    return a_verdict(name, **{"claim": claim, "findings": (finding,), "answer": (LARGER, *saying(*more)), **fields})


def firm(_: Verdict) -> str:
    return "firm"


def test_named_claims_speak_in_the_order_named_decided_ones_first() -> None:
    verdicts = [verdict("a"), verdict("b", "open"), verdict("c", "refuted"), verdict("d", "out of regime")]
    assert claims(answer(verdicts, ("d", "c", "b", "a"), firm)) == ("c", "a", "d", "b")
    assert claims(answer(verdicts, ("d", "b"), firm)) == ("d", "b")


def claims(answer: Answer) -> tuple[str, ...]:
    return tuple(statement.claim for statement in answer.said)


def test_decided_ones_speak_and_firm_ones_have_the_room_first() -> None:
    verdicts = [verdict(name) for name in "abcdef"]
    verdicts[1] = verdict("b", "open")
    stands = {"a": "fragile", "c": "firm", "d": "firm", "e": "fragile", "f": "exact"}
    summary = answer(verdicts, (), lambda verdict: stands[verdict.claim])
    assert claims(summary) == ("a", "c", "d", "f"), "three that stand, one of the fragile ones, as declared"


def test_no_more_than_four_sentences_and_none_is_cut() -> None:
    summary = answer([verdict("a", "supported", "Two.", "Three."), verdict("b", "supported", "Two."), verdict("c")], (), firm)
    assert claims(summary) == ("a", "c")
    alone = answer([verdict("a", answer=saying(*"abcdef"))], (), firm)
    assert [(statement.claim, statement.text) for statement in alone.said] == [("a", "a b c d e f")]


def test_that_nothing_is_decided_is_said_first() -> None:
    summary = answer([verdict("a", "open", p=0.4), verdict("b", "open", "Two.", "Three.", "Four.", p=0.1)], (), firm)
    assert summary.first == "None of the 2 claims is decided here."
    assert claims(summary) == ("b",), "the one that came nearest"
    assert "missing" in answer([verdict("a", "invalid")], (), firm).first


def test_long_named_answers_are_shortened_without_misleading() -> None:
    for name, reading in (("supported", ""), ("partly", "direction"), ("refuted", "smaller")):
        assert shortened(verdict("a", name, "That is much.", reading=reading)) == (LARGER,)
    for reading, why in (
        ("too noisy", "too noisy"),
        ("between", "between the regions that support and refute it"),
        ("multiplicity", "not significant over several tests"),
        ("precondition", "a precondition is not shown to hold"),
    ):
        sentences = shortened(verdict("a", "open", "That is much.", reading=reading))
        assert sentences == (LARGER, *saying(f"The claim is open: {why}."))
    assert len(shortened(verdict("a", "partly", "The other part fails.", reading="some parts"))) == 2
    panels = (Panel("MLP", "supported", ""), Panel("GPT", "refuted", ""))
    where = "It holds on MLP; fails on GPT."
    assert shortened(verdict("a", "partly", "And so on.", where, panels=panels)) == (LARGER, *saying(where))
    summary = answer([verdict(name, "supported", "That is much.") for name in "abc"], ("a", "b", "c"), firm)
    assert tuple(statement.text for statement in summary.said) == ("It is <b>1.8x larger (95% CI 1.6–2.0)</b>.",) * 3


def test_advice_is_given_once() -> None:
    verdicts = [verdict("a", advice="Warm up."), verdict("b", advice="Warm up."), verdict("c")]
    assert answer(verdicts, (), firm).advice == ("Warm up.",)
