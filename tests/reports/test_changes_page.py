"""Verdicts that changed or were withdrawn, as pages show them."""

import re
from pathlib import Path

import pytest

from folklore.harness.declare import Erratum, Study
from folklore.harness.judge import withdrawing
from folklore.harness.judge.verdict_history import Change, Stand
from folklore.harness.plan.catalog import Register
from folklore.reports import changes_page, matrix, site, verdict_words
from folklore.reports.changes_page import course
from tests.reports.links import dead_links
from tests.reports.test_highlights import claim
from tests.reports.test_site import REGISTER, TEMPLATES, of, records

pytestmark = pytest.mark.usefixtures("few_calibrated")
REASON = "It asks <too> little. It asks it twice."
ERRATUM = Erratum(
    claim="warmup.improves_best", study="toy", version=1, date="2026-11-25", reason=REASON, scale="laptop", verdict="supported",
    number="5.0% (4.9–5.1)",
)  # fmt: skip


def change(
    old: str, new: str, name: str = "a.b", date: str = "2026-11-22", why: str = "", version: int = 1, published: bool = True
) -> Change:
    """From version 1 to a version that may never have been published."""
    before, after = Stand(1, old, "", 1.5, 1.0, 2.0, "x"), Stand(version, new, "", 1.5, 1.0, 2.0, "x", published)
    return Change(name, "a", "laptop", "cpu", date, before, after, why)


def test_claims_are_shown_with_all_their_steps() -> None:
    register = Register(
        (), (claim("a.b"), claim("a.c"), claim("a.d"), claim("a.e")), (ERRATUM.model_copy(update={"claim": "a.d"}),)
    )
    history = [
        change("inconclusive", "open"),
        change("inconclusive", "open", "a.c"),
        change("open", "refuted", why="null 0"),
        change("refuted", "supported", date="2026-11-23", version=3, published=False),
        change("open", "supported", "not.registered"),
    ]
    content = changes_page.content(register, history, places=())
    assert [row["claim"].id for row in content["groups"]["changed"]] == ["a.d", "a.b"], "latest first"
    assert [row["claim"].id for row in content["groups"]["words alone"]] == ["a.c"]
    assert [row["claim"].id for row in content["withdrawn"]] == ["a.d"]
    renamed, judged_anew, asked_anew = content["groups"]["changed"][1]["steps"]
    assert "Renamed" in renamed.note
    assert (judged_anew.why, judged_anew.note) == ("null 0", "The version of the study did not change.")
    assert (asked_anew.note, asked_anew.new.version) == ("", "version 3, in the log alone")
    assert asked_anew.old.number == "1.5x (1.0–2.0)"
    (withdrawal,) = content["groups"]["changed"][0]["steps"]
    assert (withdrawal.old.verdict, withdrawal.new.verdict, withdrawal.why) == ("supported", "withdrawn", REASON)


def test_a_course_leaves_out_what_was_merely_renamed() -> None:
    assert course([change("inconclusive", "open")]) == course([]) == ""
    steps = [change("inconclusive", "open"), change("open", "refuted"), change("refuted", "supported", version=2)]
    assert course(steps) == "open (version 1), then refuted (version 1), then supported (version 2)"


def text(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


def test_a_withdrawn_claim_on_every_page(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register = Register(REGISTER.documents, REGISTER.claims, (ERRATUM,))
    monkeypatch.setattr(withdrawing, "register", lambda: register)
    site.write(tmp_path, [study], register, of([records(study)]))
    assert dead_links(tmp_path) == []
    toy, index, document, changes = (
        (tmp_path / f"{name}.html").read_text() for name in ("toy", "index", "document-TB", "changes")
    )
    # The card says why, and strikes what was published.
    card = toy[toy.index('<article class="claim withdrawn"') :].partition("</article>")[0]
    assert "It asks &lt;too&gt; little." in card
    assert '<s><span class="badge supported">supported</span></s>' in card
    assert re.search(r"Published before: <s>[^<]*<b>", card)
    assert 'class="advice"' not in toy, "nobody is told to act on it"
    # The page does not begin with its sentence.
    first_screen = toy.partition("Every arm at its best")[0]
    assert "1 withdrawn" in text(first_screen)
    assert "was supported , but the question was wrong" in text(first_screen)
    assert 'class="sentence"' not in first_screen
    # The index counts it apart.
    assert "None has a verdict yet. 1 verdict was withdrawn because its question was wrong." in text(index)
    assert "1 is withdrawn" in text(index)
    assert "was supported, 4.97% (" in text(index)
    for words in ("1 holds", "What holds", "expected to be wrong", "firm"):
        assert words not in text(index), words
    # It grades no document.
    assert "0 are judged so far" in text(document)
    assert "1 not graded" in text(document)
    assert "Not graded. The verdict is withdrawn. It asks &lt;too&gt; little." in text(document)
    # The list has it.
    assert 'id="warmup.improves_best"' in changes
    assert "1 is withdrawn" in text(changes)
    assert '<s><span class="badge supported">supported</span> <span class="seen">5.0% (4.9–5.1)</span></s>' in changes
    assert "<too>" not in changes


def test_the_matrix_strikes_it_and_says_why(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    register = Register(REGISTER.documents, REGISTER.claims, (ERRATUM,))
    monkeypatch.setattr(withdrawing, "register", lambda: register)
    judged = site.JudgedTrials.of(records(study))
    text = matrix.markdown([study], register, [judged])
    assert "⊘ withdrawn; was ~~✓ supported: +4.97% " in text
    assert "2 without a verdict here: 1 is withdrawn, 1 not yet tested.\n  - Of the 0 decided" in text
    assert f"| `{ERRATUM.claim}` | 2026-11-25 | It asks &lt;too> little. It asks it twice. |" in text


def test_the_index_can_sort_by_every_verdict() -> None:
    listed = re.search(r"const VERDICTS = \[(.*)\]", (TEMPLATES / "index.js").read_text())
    assert listed is not None
    shown = (*verdict_words.GRADES, "withdrawn", verdict_words.NOT_TESTED)
    assert re.findall(r'"([^"]+)"', listed[1]) == list(shown)
