"""The published counts of trends along ladders: of today's judge, and no word is false more often than it says."""

import re

import pytest
import scipy

from folklore.reports import calibration
from tests.calibration import ladder_rates
from tests.places import ROOT

# What the page says of them: where words are false too often, and where intervals are too short.
OFF: dict[str, tuple[str, ...]] = {"false": ("uneven",), "slope": ("uneven",), "prediction": ("uneven", "bent")}


def test_the_published_ladders_are_of_todays_worlds() -> None:
    published = [(row["world"], row["rungs"], row["seeds"], row["errors"]) for row in calibration.trends()]
    assert published == ladder_rates.kinds()


def test_a_published_row_is_counted_again() -> None:
    """By the seed and worlds of `make calibrate`; the rules of the judge were chosen on seed 0. One of a hundred ladders
    may be so close to the edge of a word that another processor says another one."""
    command = re.search(r"--ladders --seed (\d+) --worlds (\d+)", (ROOT / "Makefile").read_text("utf-8"))
    assert command
    seed, worlds = map(int, command.groups())
    assert seed != 0
    (again,) = ladder_rates.rows(worlds, seed, ["edge of holds"], rungs=(3,), seeds=(3,), errors=("alike",))
    kind = ("world", "rungs", "seeds", "errors")
    (row,) = [row for row in calibration.trends() if all(row[part] == again[part] for part in kind)]
    assert {name: row[name] for name in again} == pytest.approx(again, abs=0.01)


def test_no_published_word_is_false_more_often_than_it_says() -> None:
    """5% of each word, by more than happens once in ten thousand rows."""
    too_many = [
        (row["world"], row["rungs"], row["seeds"], row["errors"], word)
        for row in calibration.trends()
        for word in set(ladder_rates.WORDS) - {"open"} - ladder_rates.true_words(row["world"])
        if row[word] * row["worlds"] > scipy.stats.binom.isf(1e-4, row["worlds"], 0.05)
    ]
    assert not too_many


@pytest.mark.parametrize("rate", OFF)
def test_the_page_names_all_that_misses_its_goal(rate: str) -> None:
    """Of the words together, slopes and predictions: errors that grow make predictions too short in any world."""
    off = [row for row in calibration.trends() if rate in row["off"]]
    assert {row["world"] for row in off if rate != "prediction" or row["errors"] != "growing"} == {*OFF[rate]}
