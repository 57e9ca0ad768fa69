"""The first screen of the index is picked by a rule."""

from dataclasses import replace

from folklore.harness.declare import Claim, Source
from folklore.harness.declare.claims import Side
from folklore.harness.judge.error_rates import error_rates
from folklore.harness.plan.catalog import register
from folklore.reports.highlights import CHOSEN, MOST, Highlights, highlights
from folklore.reports.outcome_table import OutcomeTable, TableOutcome
from folklore.reports.places import card_figure_file
from tests.verdicts import a_finding, a_verdict, saying

NUMBERS = {"estimate": 1.8, "low": 1.6, "high": 2.0, "unit": "x"}
BASE = a_verdict(study="warmup", claim="", findings=(), answer=saying("It is 1.8x (1.6–2.0)."), **NUMBERS)


def claim(name: str, **fields: object) -> Claim:
    return Claim.model_validate({"id": name, "kinds": ["empirical"], "paraphrase": f"claim {name}", "measure": "m", **fields})


def outcome(name: str, standing: str = "firm", **fields: object) -> TableOutcome:
    return TableOutcome(replace(BASE, claim=name, **{"study": name.partition(".")[0], **fields}), standing)  # type: ignore[arg-type]


def table(*outcomes: TableOutcome) -> OutcomeTable:
    columns = tuple(dict.fromkeys((outcome.verdict.scale, outcome.verdict.device) for outcome in outcomes))
    places = {(outcome.verdict.claim, outcome.verdict.scale, outcome.verdict.device): outcome for outcome in outcomes}
    return OutcomeTable(columns, places, {column: error_rates([]) for column in columns})


def picked(*outcomes: TableOutcome, **claims: Claim) -> dict[str, Highlights]:
    names = dict.fromkeys(outcome.verdict.claim for outcome in outcomes)
    known = [claims.get(name.replace(".", "_"), claim(name)) for name in names]
    return {column.heading: column for column in highlights(known, table(*outcomes), ())[1]}


def ids(column: Highlights) -> list[str]:
    return [item.claim.id for item in column.items]


def test_firm_comes_before_fragile_and_the_surest_first() -> None:
    columns = picked(
        outcome("a.fragile", "fragile", p=0.0),
        outcome("b.less", p=0.04),
        outcome("c.surest", p=0.001),
        outcome("d.open", "", verdict="open"),
        outcome("e.refuted", verdict="refuted"),
    )
    assert ids(columns["What holds"]) == ["c.surest", "b.less", "a.fragile"]
    assert [item.qualified for item in columns["What holds"].items] == [False, False, True]
    assert ids(columns["What fails"]) == ["e.refuted"]


def test_what_arithmetic_settles_does_not_stand_there() -> None:
    """Neither among what holds nor among surprises: it is counted apart."""
    counted = outcome("a.counted", "exact", p=0.0, surprise=2.0, findings=(a_finding(grade="exact"),))
    columns = picked(counted, outcome("b.measured", p=0.04, findings=(a_finding(),)))
    assert {heading: ids(column) for heading, column in columns.items()} == {"What holds": ["b.measured"]}


def test_cards_are_chosen_claims_that_are_decided_and_drawn_and_stand_in_no_column() -> None:
    first, second, third, fourth = CHOSEN[:4]
    outcomes = [outcome(second), outcome(first), outcome(third, "", verdict="open"), outcome(fourth), outcome("a.other")]
    drawn = [card_figure_file(outcome.verdict.study, "laptop", "cpu", outcome.verdict.claim) for outcome in outcomes[:3]]
    cards, columns = highlights([claim(outcome.verdict.claim) for outcome in outcomes], table(*outcomes), drawn)
    assert [card.claim.id for card in cards] == [first, second]
    assert [sorted(ids(column)) for column in columns] == [sorted(["a.other", fourth])]


def test_chosen_claims_are_registered() -> None:
    assert set(CHOSEN) <= {claim.id for claim in register().claims}


def test_of_equally_sure_ones_the_shortest_comes_first_and_studies_take_turns() -> None:
    long = {"answer": saying("It is a good deal larger than it was before: 1.8x (1.6–2.0).")}
    columns = picked(outcome("a.long", **long), outcome("a.short"), outcome("a.third"), *(outcome(f"b.{i}") for i in range(4)))
    assert ids(columns["What holds"]) == ["b.0", "a.short", "b.1", "a.third"]
    assert len(columns["What holds"].items) == MOST


def test_surprises_are_those_furthest_from_what_was_expected() -> None:
    columns = picked(
        outcome("a.near", surprise=0.1), outcome("b.far", surprise=2.0, verdict="open"), outcome("c.off", surprise=0.8)
    )
    assert ids(columns["What surprised"]) == ["b.far", "c.off"]
    assert ids(columns["What holds"]) == ["a.near"], "a surprise does not stand twice"


def test_without_surprises_disagreements_that_were_decided_stand_there() -> None:
    sides = (
        Side(name="large", says="early gradients are large", sources=(Source(document="TB", section="11"),)),
        Side(name="small", says="early gradients are small", sources=(Source(document="GL", section="Q1"),)),
    )
    disputed = claim("a.disputed", kinds=["disagreement"], sides=[side.model_dump() for side in sides])
    decided = outcome("a.disputed", direction="claimed", right={"supported": "large"})
    columns = picked(decided, outcome("b.other"), a_disputed=disputed)
    (item,) = columns["Where the documents disagree"].items
    assert (item.claim.id, item.right) == ("a.disputed", "early gradients are large")
    assert "What surprised" not in columns


def test_the_largest_scale_that_decides_speaks() -> None:
    at_laptop = outcome("a.x", verdict="refuted")
    at_gpu = outcome("a.x", scale="gpu", device="cuda", verdict="supported")
    at_cluster = outcome("a.x", "", scale="cluster", device="cuda", verdict="open")
    assert set(picked(at_laptop, at_gpu, at_cluster)) == {"What holds"}
