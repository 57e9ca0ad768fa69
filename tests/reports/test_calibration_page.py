"""The page that says how often the judge is right, and the published counts behind it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.plan.store import evidence
from folklore.reports import calibration, site
from tests.calibration.trial_cases import CASES
from tests.calibration.trial_rates import SEEDS
from tests.reports.test_site import REGISTER, of

GOOD = {
    "observable": "gap", "world": "plain, 5 seeds", "condition": "plain", "seeds": 5, "worlds": 300, "undecided": 0.0,
    "coverage": 0.951, "false_supported": 0.02, "false_refuted": 0.03, "power": 0.8,
}  # fmt: skip


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Pages of no study where these rows of the calibration were counted."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)

    def pages(*rows: dict[str, Any]) -> Path:
        if rows:
            (tmp_path / "calibration.json").write_text(json.dumps(rows))
        site.write(tmp_path, [], REGISTER, of([]))
        return tmp_path

    return pages


def text(page: Path) -> str:
    return " ".join(page.read_text().split())


def test_what_misses_a_goal_is_marked(written: Callable[..., Path]) -> None:
    bad = {**GOOD, "world": "skewed, 5 seeds", "condition": "skewed", "coverage": 0.881, "false_supported": 0.09}
    page = text(written(GOOD, bad) / "calibration.html")
    assert "1 of 2 kinds of world: the intervals hold the truth in 93% to 97% of the cases" in page
    assert "Most often: skewed (1 of 1)" in page
    assert "“supported” in 5.5% and “refuted” in 3.0% of them: wrongly" in page
    assert "88.1% *" in page
    assert "9.0% *" in page
    assert "3.0% *" not in page


def test_the_index_links_to_it_where_there_is_one(written: Callable[..., Path]) -> None:
    assert "calibration.html" not in text(written() / "index.html")
    assert "calibration.html" in text(written(GOOD) / "index.html")


def test_tests_of_runs_trained_elsewhere_have_a_table(written: Callable[..., Path], tmp_path: Path) -> None:
    """Rates that miss a goal by more than counting does by chance are marked."""
    assert "Runs trained elsewhere" not in text(written(GOOD) / "calibration.html")
    row = {
        "test": "independent runs (Welch)", "condition": "5 runs, skewed", "worlds": 1500, "refused": 0.0, "told": None,
        "most": 0.025, "false_supported": 0.03, "false_refuted": 0.081, "firm_false": 0.01,
        "level": 0.95, "coverage": 0.872, "power": 0.8,
    }  # fmt: skip
    (tmp_path / "judged_runs_calibration.json").write_text(json.dumps([row]))
    page = text(written(GOOD) / "calibration.html")
    assert "5 runs, skewed" in page
    assert "8.1% *" in page
    assert "87.2% *" in page
    assert "3.0% *" not in page
    assert "1.0% *" not in page


LADDER = {
    "world": "uneven", "rungs": 3, "seeds": 6, "errors": "alike", "worlds": 400, "turns": 0.0, "none": 0.0, "holds": 0.3,
    "grows": 0.02, "fades": 0.02, "open": 0.66, "false": 0.04, "bent": 0.0, "slope": 0.96, "crossing": None, "prediction": 0.94,
}  # fmt: skip


def test_trends_along_ladders_have_a_table(written: Callable[..., Path], tmp_path: Path) -> None:
    """A row for all ways of the errors together; one way that misses a goal is named although all of them keep it."""
    assert "Trends along ladders" not in text(written(GOOD) / "calibration.html")
    ways = [
        LADDER,
        {**LADDER, "errors": "growing", "fades": 0.07, "false": 0.09, "open": 0.61},
        {**LADDER, "errors": "shrinking", "false": 0.02, "prediction": 0.81},
        {**LADDER, "world": "bent"},
    ]
    (tmp_path / "ladders_calibration.json").write_text(json.dumps(ways))
    page = text(written(GOOD) / "calibration.html")
    assert "is false in 4.8% of 1,600 drawn ladders" in page
    assert "False words: 1 of 4 kinds of ladder miss the goal." in page
    assert "Worst: uneven, 3 rungs of 6 seeds, errors growing, 9.0% false." in page
    assert "Worst: uneven, 3 rungs of 6 seeds, errors shrinking, 81.0% covered." in page
    assert "Intervals of the slope" not in page
    assert marked(page) == {"9.0%", "81.0%", "89.7%"}


def marked(page: str) -> set[str]:
    """Numbers with an asterisk in the tables of ladders."""
    return {*re.findall(r"([0-9.]+%) \*", page.partition("Trends along ladders")[2].partition("Every world")[0])}


def test_rates_of_false_partly_are_shown_if_they_are_counted(written: Callable[..., Path]) -> None:
    page = text(written({**GOOD, "false_partly": 0.08}) / "calibration.html")
    assert "False partly" in page
    assert "8.0% *" in page
    assert "wrongly “partly” in 8.0%" in page


def test_the_published_calibration_is_of_todays_worlds() -> None:
    """Every kind, condition and number of seeds that is counted now has its row, and no other has."""
    expected = {(case.name, condition.name, count) for case in CASES for condition in case.conditions for count in SEEDS}
    assert {(row["observable"], row["condition"], row["seeds"]) for row in calibration.rows()} == expected
