"""Claims and numbers as sentences have them."""

import pytest

from folklore.harness.declare import Claim
from folklore.harness.judge.sentences import Number, Sentence
from folklore.reports import phrases


def test_what_was_measured_is_bold_and_all_is_escaped() -> None:
    larger = Sentence(("<i>It</i> is ", Number(1.8, 1.6, 2.0, "<x>", word="larger"), ", not 4x4."))
    exact = Sentence(("Number: ", Number(65504.0, 65504.0, 65504.0), "."))
    assert phrases.with_bold_numbers((larger, exact)) == (
        "&lt;i&gt;It&lt;/i&gt; is <b>1.8 &lt;x&gt; larger (95% CI 1.6–2.0)</b>, not 4x4. Number: <b>65,504</b>."
    )
    assert phrases.with_bold_numbers((larger, exact), whole=False) == (
        "&lt;i&gt;It&lt;/i&gt; is <b>1.8 &lt;x&gt;</b> larger (95% CI 1.6–2.0), not 4x4. Number: <b>65,504</b>."
    )


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("a larger batch", "A larger batch"),
        ("cosine wins", "Cosine wins"),
        ("k micro-batches", "k micro-batches"),
        ("η* falls", "η* falls"),
    ],
)
def test_a_title_has_a_capital_unless_it_begins_with_a_symbol(said: str, title: str) -> None:
    assert phrases.title(Claim(id="a.b", kinds=("exact",), paraphrase=said, measure="m")) == title
    assert phrases.title(Claim(id="a.b", kinds=("exact",), paraphrase="long", short=said, measure="m")) == title


def test_studies_are_linked_where_they_have_a_page() -> None:
    text = phrases.with_study_links("With study warmup and study decay: a < b, as this study says.", {"warmup", "says"})
    assert (
        text
        == 'With study <a href="warmup.html">warmup</a> and study decay: a &lt; b, as this study <a href="says.html">says</a>.'
    )
