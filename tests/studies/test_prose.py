"""A study's words in Markdown: every word arrives once, where it belongs, and a section of nothing is refused."""

from pathlib import Path

import pytest

from folklore.harness.declare import Claim, Published, Study
from folklore.harness.errors import UserError
from folklore.studies.kit import Draft, exceeds, loss_gap, lr_grid

WORDS = """# Warmup and loss

Does warmup lower
the loss?

## Departures

- Small networks - on one text,
  trained early.
- Another point.

## Scale laptop

- Few steps.

## toy.claim

A note.

Its second paragraph.

- supported: Warm up.
- refuted (opposite): Do not: it costs loss.
- published: It lowers the loss by 2%. [Someone 2024](https://example.org/a), read; 0.02 on "gap"; if different: Another
  network.
- published: It does not. [Someone else 2025]
"""


def declared(folder: Path, words: str, claim: str = "toy.claim") -> Study:
    """The study of a module in the folder, with these words beside it."""
    (folder / "toy.md").write_text(words, "utf-8")
    own = Claim(id=claim, paraphrase="warmup helps", measure="loss")
    study = Draft(str(folder / "toy.py"), version=1, factors=lr_grid(-9, -7), seeds=5, claims=(own,))
    study.arm("none", "none", warmup_fraction=0.0)
    study.arm("some", "some", warmup_fraction=0.1)
    study.laptop("seconds")
    study.smoke()
    study.claim(claim, exceeds(loss_gap("none", "some"), "gap", "Warmup {gains}"))
    return study.declared()


def test_words_arrive_where_they_belong(tmp_path: Path) -> None:
    made = declared(tmp_path, WORDS)
    (judged,) = made.judgements
    assert (made.name, made.title, made.question) == ("toy", "Warmup and loss", "Does warmup lower the loss?")
    assert made.departures == ("Small networks - on one text, trained early.", "Another point.")
    assert (made.scale("laptop").departures, made.scale("smoke").departures) == (("Few steps.",), ())
    assert made.published == (
        Published(
            claim="toy.claim",
            finding="It lowers the loss by 2%.",
            source="Someone 2024",
            link="https://example.org/a",
            how="read",
            value=0.02,
            criterion="gap",
            if_different="Another network.",
        ),
        Published(claim="toy.claim", finding="It does not.", source="Someone else 2025"),
    )
    assert judged.note == "A note.\n\nIts second paragraph."
    assert judged.advice == {"supported": "Warm up.", "refuted: opposite": "Do not: it costs loss."}


def test_an_edited_sentence_leaves_the_rule_as_it_was(tmp_path: Path) -> None:
    edited = WORDS.replace("Warm up.", "Warm up for 5% of the steps.").replace("Few steps.", "Few steps, one text.")
    before, after = declared(tmp_path, WORDS), declared(tmp_path, edited)
    assert before.hash == after.hash
    assert before.canonical_json() != after.canonical_json()  # the declaration keeps the words of its day


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("## toy.claim", "## toy.clam", "section 'toy.clam': the study judges no such claim and has no such scale; rename it"),
        ("## Scale laptop", "## Scale labtop", "section 'Scale labtop': the study judges no such claim"),
        ("- supported: Warm up.\n- refuted (opposite): Do not: it costs loss.\n", "", "no advice on 'toy.claim'; add"),
        (
            "- supported: Warm",
            "- confirmed: Warm",
            "'confirmed: Warm up.' is advice on no outcome; begin it with one of supported",
        ),
        ("(opposite)", "(too noisy)", "is advice on no outcome"),
        ("[Someone else 2025]", "", "'published: It does not.' must end with its source, as in [Authors 2024]"),
        ("# Warmup and loss", "Warmup and loss", "must begin with '# ' and the study's title"),
        ("## Scale laptop", "## Departures", "section 'Departures' is there twice; join them"),
    ],
)
def test_words_about_what_is_not_there_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WORDS
    with pytest.raises(UserError) as refused:
        declared(tmp_path, WORDS.replace(old, new))
    assert message in str(refused.value)
    assert str(tmp_path / "toy.md") in str(refused.value)


def test_a_study_without_its_words_says_which_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.md: is not there; write the study's title"):
        Draft(str(tmp_path / "none.py"), version=1)
