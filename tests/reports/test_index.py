"""The index and the documents' pages: rows, counts, grades, and what cannot be said of a document."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from folklore.harness.declare import Claim, Document, Source, Study
from folklore.harness.declare.claims import Side
from folklore.harness.judge.trial_sets import TrialSet
from folklore.harness.judge.verdict import Verdict
from folklore.harness.judge.verdict_memory import JudgedTrials
from folklore.harness.plan.catalog import Register
from folklore.reports import document_page, glossary, index_page, rows, site
from folklore.reports.index_page import BASES
from folklore.reports.outcome_table import OutcomeTable, outcome_table
from folklore.reports.verdict_words import NOT_GRADED, NOT_TESTED
from tests.harness.helpers import changed
from tests.reports.test_highlights import BASE, claim, outcome, table
from tests.reports.test_site import REGISTER, records
from tests.verdicts import a_finding

pytestmark = pytest.mark.usefixtures("few_calibrated")
TB, GL = (Document(key=key, title=f"The {key}", file="x") for key in ("TB", "GL"))


def at(document: str, section: str = "2") -> Source:
    return Source(document=document, section=section)


def judged(*verdicts: Verdict, ran_under: tuple[str, ...] = ()) -> JudgedTrials:
    first = verdicts[0]
    return JudgedTrials(True, first.scale, first.device, list(verdicts), [], {}, list(ran_under))


DISPUTED = claim(
    "warmup.size",
    sources=[at("TB").model_dump(), at("GL", "Q3").model_dump()],
    sides=[
        Side(name="large", says="early gradients are <large>", sources=(at("TB"),)).model_dump(),
        Side(name="small", says="early gradients are small", sources=(at("GL", "Q3"),)).model_dump(),
    ],
)
SUPPORTED = replace(BASE, claim="warmup.size", direction="claimed", right={"supported": "large", "refuted": "small"})


def graded(document: Document, table: OutcomeTable, *claims: Claim) -> Mapping[str, int]:
    return dict(document_page.graded(document, Register((TB, GL), claims), table)["counts"])


def test_documents_that_disagree_are_graded_by_their_own_side() -> None:
    """A planted disagreement: what supports one side refutes the other, and both pages show whose is right."""
    register = Register((TB, GL), (DISPUTED,))
    outcomes = outcome_table([judged(SUPPORTED)], register)
    assert graded(TB, outcomes, DISPUTED) == {"supported": 1}
    assert graded(GL, outcomes, DISPUTED) == {"refuted": 1}
    turned = outcome_table([judged(replace(SUPPORTED, verdict="refuted", direction="opposite"))], register)
    assert graded(TB, turned, DISPUTED) == {"refuted": 1}
    assert graded(GL, turned, DISPUTED) == {"supported": 1}
    content = document_page.content(GL, register, outcomes, ())
    (section,) = content["sections"]
    (row,) = section["rows"]
    assert [(side["own"], side["right"]) for side in row["sides"]] == [(False, "supported"), (True, "refuted")]
    assert row["grade"] == row["cells"][0]["verdict"] == "refuted"
    assert (content["before"], content["after"]) == (TB, None)


def test_what_grades_nobody_is_named_with_the_reason() -> None:
    own = claim("warmup.size", own=True, sources=[at("TB").model_dump()])
    lost = claim("warmup.size", lost="the formula", ungraded=("TB",), sources=[at("TB").model_dump()])
    for ungraded, reason in ((own, "Our own question"), (lost, "Our copies of the documents lack the formula.")):
        register = Register((TB,), (ungraded,))
        outcomes = outcome_table([judged(SUPPORTED)], register)
        assert graded(TB, outcomes, ungraded) == {NOT_GRADED: 1}
        (section,) = document_page.content(TB, register, outcomes, ())["sections"]
        assert reason in section["rows"][0]["why_not"]
    assert graded(TB, OutcomeTable(), claim("a.b", sources=[at("TB").model_dump()])) == {NOT_TESTED: 1}


def test_firmness_is_that_of_the_scale_and_later_criteria_are_named() -> None:
    weak = replace(BASE, claim="warmup.size", p=0.049)
    others = [replace(BASE, claim=f"warmup.c{i}", verdict="open", p=0.9) for i in range(9)]
    tested = Register((TB,), tuple(claim(verdict.claim) for verdict in (weak, *others)))
    outcomes = outcome_table([judged(weak, *others, ran_under=("before",))], tested)
    assert outcomes.rates["laptop", "cpu"].tested == 10
    assert outcomes.later == ("warmup",)
    (bar,) = index_page.content([], Register((TB,), (claim("warmup.size"), claim("a.b"))), outcomes, ())["bars"]
    assert [bar[basis] for basis in BASES] == [[("supported", 1)], [], [], [(NOT_TESTED, 1)]]
    assert (bar["decided"], bar["false"]) == (1, 1)


def test_what_a_verdict_rests_on_is_counted_apart() -> None:
    measured, below = replace(BASE, claim="a.measured"), replace(BASE, claim="a.below", below_size="7k of 100M parameters")
    settled = replace(BASE, claim="a.settled", findings=(a_finding(grade="exact"),))
    gone = replace(BASE, claim="a.gone", verdict="out of regime")
    claims = tuple(claim(verdict.claim, sources=[at("TB").model_dump()]) for verdict in (measured, below, settled, gone))
    outcomes = outcome_table([judged(measured, below, settled, gone)], Register((TB,), claims))
    (bar,) = index_page.content([], Register((TB,), claims), outcomes, ())["bars"]
    assert {basis: sum(count for _, count in bar[basis]) for basis in BASES} == dict.fromkeys(BASES, 1)
    assert outcomes.speaking("a.below").standing == "below the claim's size"
    assert graded(TB, outcomes, claims[1]) == {NOT_GRADED: 1}


def test_a_row_has_a_cell_for_each_scale_with_its_full_numbers() -> None:
    outcomes = table(
        outcome("a.x", estimate=1.8123456), outcome("a.x", "fragile", scale="gpu", device="cuda", verdict="refuted")
    )
    row = index_page.row(claim("a.x", short="short <b>"), "a", outcomes, places=("a.html",))
    laptop, gpu = row["cells"]
    assert (laptop["number"], laptop["values"][3], laptop["link"]) == ("1.8x (1.6–2.0)", "1.8123456", "")
    assert gpu["standing"] == "fragile"
    assert (row["title"], row["verdict"], row["study_page"]) == ("Short <b>", "refuted", "a.html")
    assert rows.fields(outcomes.columns)[1][:2] == ["gpu cuda verdict", "gpu cuda reading"]
    assert len(rows.fields(outcomes.columns)[0]) == len(laptop["values"])


def test_scales_stand_from_small_to_large() -> None:
    at_scales = [
        judged(replace(BASE, claim="a.x", scale=scale)) for scale in ("wide", "cluster", "gpu", "workstation", "laptop")
    ]
    outcomes = outcome_table(at_scales, Register((TB,), (claim("a.x"),)))
    assert [scale for scale, _ in outcomes.columns] == ["laptop", "workstation", "gpu", "cluster", "wide"]


def test_places_of_a_document_stand_together() -> None:
    places = rows.where((at("TB"), at("GL", "Q3"), at("TB", "11"), at("TB", "Learning Rate Finder")))
    assert places == [{"document": "TB", "sections": "2, 11"}, {"document": "GL", "sections": "Q3"}]


def test_the_index_says_which_criteria_came_later_and_which_question_is_ours(study: Study, tmp_path: Path) -> None:
    own = claim("warmup.own", own=True, short="our <own> question")
    toy = judged(replace(BASE, study="toy", claim="warmup.own"), ran_under=("before",))
    register = Register((TB,), (DISPUTED.model_copy(update={"sources": (at("TB"),)}), own))
    site.write(tmp_path, [study], register, lambda _: [], only=[], known=lambda _: [toy], published=lambda _: None)
    text = " ".join((tmp_path / "index.html").read_text().split())
    assert "1 claim from 1 document and 1 question of our own" in text
    assert "Criteria of toy were written after its trials had run: no verdict of it is firm until it runs again." in text
    assert "Our &lt;own&gt; question" in text
    assert "our own question" in text
    assert "&lt;large&gt;" in (tmp_path / "document-TB.html").read_text()


def of_ones_own(study: Study, name: str, *claims: str) -> Study:
    """A study as a user brings it, whose claims no register knows."""
    made = [{"id": claim_id, "kinds": ["empirical"], "paraphrase": f"claim {claim_id}", "measure": "m"} for claim_id in claims]
    (judgement,) = study.model_dump()["judgements"]
    judgements = [{**judgement, "claim": claim_id} for claim_id in claims]
    return changed(study, name=name, claims=made, judgements=judgements)


def test_claims_of_ones_own_studies_count_in_no_number_of_the_documents(study: Study, tmp_path: Path) -> None:
    """Two users' studies, which may even name a claim alike, beside the register: nothing of it changes but a link to them."""
    registered = [replace(SUPPORTED, p=0.03), replace(BASE, claim="a.b", verdict="open", p=0.9)]
    register = Register((TB,), (DISPUTED.model_copy(update={"sources": (at("TB"),)}), claim("a.b")))
    first, second = of_ones_own(study, "mine", "my.x", "my.y"), of_ones_own(study, "yours", "my.x")
    by_study = {
        study.name: judged(*registered),
        "mine": judged(
            *(replace(BASE, study="mine", claim=claim_id, p=0.9, verdict="refuted") for claim_id in ("my.x", "my.y"))
        ),
        "yours": judged(replace(BASE, study="yours", claim="my.x")),
    }
    texts = []
    for folder, studies in (("alone", [study]), ("beside", [study, first, second])):
        known = lambda study: [by_study[study.name]]  # noqa: E731
        site.write(tmp_path / folder, studies, register, no_trials, only=[], known=known, published=lambda _: None)
        texts.append((tmp_path / folder / "index.html").read_text())
        assert (tmp_path / folder / "document-TB.html").read_text().count("my.x") == 0
    alone, beside = texts
    assert "yours" not in alone
    apart, end = beside.index('<h2 id="yours">'), beside.index('<h2 id="studies">')
    # Which pages are not written is said of all.
    alone, rest = (
        re.sub(r'<p class="soft">Verdicts without a link.*?</p>', "", " ".join(text.split()))
        for text in (alone, beside[:apart] + beside[end:])
    )
    link = ' <a href="#yours">3 claims of your own studies</a> stand apart and count in no number here.'
    assert rest.replace(link, "") == alone
    shown = beside[apart:end]
    assert re.findall(r"<code>(\w+)</code>", shown) == ["mine", "yours"]
    assert re.findall(r'<tr id="([^"]*)"', shown) == ["mine-my.x", "mine-my.y", "yours-my.x"]
    assert "2 fail" in shown


def test_a_page_says_whose_claims_it_shows(study: Study, tmp_path: Path) -> None:
    own = of_ones_own(study, "mine", "my.x")
    site.write(tmp_path, [study, own], REGISTER, lambda study: [records(study)], published=lambda _: None)
    assert "The documents' claims</h2>" in (tmp_path / "toy.html").read_text()
    assert "Claims of its own</h2>" in (tmp_path / "mine.html").read_text()


def test_firmness_of_ones_own_claims_is_of_their_study_alone() -> None:
    """Twenty open claims of a user's study make no published verdict fragile."""
    register = Register((TB,), (claim("warmup.size"),))
    weak = judged(replace(SUPPORTED, p=0.04))
    many = judged(*(replace(BASE, study="mine", claim=f"my.c{index}", verdict="open", p=0.9) for index in range(20)))
    outcomes = outcome_table([weak, many], register)
    assert outcomes.rates["laptop", "cpu"].q == {("warmup.size", "laptop", "cpu"): 0.04}
    own = outcome_table([weak, many], Register((TB,), tuple(claim(f"my.c{index}") for index in range(20))))
    assert own.rates["laptop", "cpu"].tested == 20


no_trials: Callable[[Study], list[TrialSet]] = lambda _: []  # noqa: E731


def test_the_glossary_explains_every_word_that_pages_link_to(study: Study, tmp_path: Path) -> None:
    site.write(tmp_path, [study], Register((TB,), ()), no_trials, only=[], known=lambda _: [])
    names = re.findall(r'<dt id="([^"]*)"', (tmp_path / "glossary.html").read_text())
    assert len(names) == len(set(names))
    assert {"octave", "regret", "loss-reduction", "usable-lr", "firm", "out-of-regime", "non-inferiority", "mup"} <= set(names)
    for group in glossary.GROUPS.values():
        for term in group:
            assert set(term.see) <= set(names), term.name
