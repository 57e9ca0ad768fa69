"""A study's words in Markdown: every word arrives once, where it belongs, and a section of nothing is refused."""

from pathlib import Path

import pytest

from folklore.harness.declare import Arm, Claim, Study
from folklore.harness.errors import UserError
from folklore.studies import scales
from folklore.studies.kit import exceeds, judgement, loss_gap, lr_grid, study

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
"""


def declared(folder: Path, words: str, claim: str = "toy.claim") -> Study:
    """The study of a module in the folder, with these words beside it."""
    (folder / "toy.md").write_text(words, "utf-8")
    return study(
        str(folder / "toy.py"),
        version=1,
        arms={name: Arm(label=name, settings={"warmup_fraction": share}) for name, share in {"none": 0.0, "some": 0.1}.items()},
        factors=lr_grid(-9, -7),
        seeds=5,
        scales={"laptop": scales.laptop("seconds"), "smoke": scales.smoke()},
        claims=(Claim(id=claim, paraphrase="warmup helps", measure="loss"),),
        judgements=(judgement(claim, exceeds("gap", loss_gap("none", "some"), "Warmup {gains}")),),
    )


def test_words_arrive_where_they_belong(tmp_path: Path) -> None:
    made = declared(tmp_path, WORDS)
    (judged,) = made.judgements
    assert (made.name, made.title, made.question) == ("toy", "Warmup and loss", "Does warmup lower the loss?")
    assert made.departures == ("Small networks - on one text, trained early.", "Another point.")
    assert (made.scale("laptop").departures, made.scale("smoke").departures) == (("Few steps.",), ())
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
        study(str(tmp_path / "none.py"), version=1, scales={})
