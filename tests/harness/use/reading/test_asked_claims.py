"""A study's name and a question in plain words lead to claims; a mistyped id leads to none."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folklore.harness.plan.catalog import all_studies
from folklore.harness.use.cli import app
from folklore.harness.use.reading.asked_claims import MOST_CLAIMS, STOP_WORDS, claims_meant
from folklore.reports import site

STUDIES = all_studies()
CLI = CliRunner()


def of_study(name: str) -> list[str]:
    (judgements,) = [study.judgements for study in STUDIES if study.name == name]
    return [judgement.claim for judgement in judgements]


def test_a_name_stands_for_its_claims() -> None:
    assert claims_meant("warmup", STUDIES) == of_study("warmup")
    assert claims_meant("warmup-duration", STUDIES) == of_study("warmup_duration")
    assert claims_meant("warmup.widens", STUDIES) == ["warmup.widens"]


def test_a_question_is_answered_by_the_claims_with_its_words() -> None:
    claims = claims_meant("Does warmup help?", STUDIES)
    assert claims_meant("does warm-up help", STUDIES)[:3] == claims[:3]
    assert {"warmup.widens", "warmup.improves_best", "warmup.duration", "warmup.pre_norm"} <= set(claims)
    assert len(claims) == MOST_CLAIMS
    assert claims_meant("adam vs sgd", STUDIES)[0] == "gen.sgd_vs_adam"
    assert claims_meant("adam against sgd", STUDIES) == claims_meant("adam vs sgd", STUDIES)
    assert claims_meant("is the learning rate the most important", STUDIES) == ["lr.most_important"]
    assert claims_meant("most important LR", STUDIES) == ["lr.most_important"]


@pytest.mark.parametrize("text", ["warmup.improves_bst", "quux frob", "does it"])
def test_other_texts_mean_no_claim(text: str) -> None:
    assert claims_meant(text, STUDIES) == []


def test_why_prints_a_line_for_each_claim_of_a_study() -> None:
    lines = CLI.invoke(app, ["why", "warmup", "--published"], env={"COLUMNS": "200"}).stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == of_study("warmup")
    assert re.match(
        r"warmup\.widens: (supported|partly|refuted|open)( \([a-z ]+\))? at laptop scale: Warmup stabilizes", lines[0]
    )
    rows = json.loads(CLI.invoke(app, ["why", "warmup", "--published", "--json"]).stdout)
    assert [row["claim"] for row in rows] == of_study("warmup")


def test_pages_leave_out_the_same_words() -> None:
    """The search of the pages finds "does warmup help" by the words that `why` looks for."""
    (listed,) = re.findall(
        r"STOP_WORDS = new Set\(\((.*?)\)\.split",
        (Path(site.__file__).parent / "templates" / "search.js").read_text(),
        re.DOTALL,
    )
    assert set("".join(re.findall(r'"(.*?)"', listed)).split()) == set(STOP_WORDS)
