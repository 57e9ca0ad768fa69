"""Claims and numbers as sentences have them."""

import pytest

from folklore.harness.spec import Claim
from folklore.reports import phrases


@pytest.mark.parametrize(
    ("text", "bold"),
    [
        (
            "20% warmup makes the usable LR 1.8x larger (1.6–2.0).",
            "20% warmup makes the usable LR <b>1.8x larger</b> (1.6–2.0).",
        ),
        ("Tuned loss, linear against cosine: −0.44% (−0.99 to 0.11).", "<b>−0.44%</b> (−0.99 to 0.11)"),
        ("Best LR at 3 octaves (1.9–4).", "Best LR at <b>3 octaves</b> (1.9–4)."),
        ("Largest number: 65,504.", "Largest number: <b>65,504</b>."),
        ("No <number> at all, FP16 & 20 tokens.", "No &lt;number&gt; at all, FP16 &amp; 20 tokens."),
        ("The <b> & the best: 1.8x.", "The &lt;b&gt; &amp; the best: <b>1.8x</b>."),
    ],
)
def test_numbers_stand_out_and_all_is_escaped(text: str, bold: str) -> None:
    assert bold in phrases.with_numbers(text)


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
