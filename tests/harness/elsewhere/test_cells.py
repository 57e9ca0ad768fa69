"""Numbers as people write them are read in one way, or are a question."""

from pathlib import Path

import pandas as pd
import pytest

from folklore.harness.elsewhere.cells import holds_numbers, numbers_of
from folklore.harness.errors import UserError
from tests.harness.elsewhere.planted import finals, judged, only


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["81.3%", "79%"], [81.3, 79.0]),
        (["1,234.5", "987"], [1234.5, 987.0]),
        (["0,813", "0,79"], [0.813, 0.79]),
        (["1.2k", "900", "3M"], [1200.0, 900.0, 3e6]),
        (["3.4 ms", "12 ms"], [3.4, 12.0]),
        (["−1.5", "2"], [-1.5, 2.0]),
        (["1", "loss", "2"], [1.0, None, 2.0]),
    ],
)
def test_how_numbers_are_written(cells: list[str], read: list[float | None]) -> None:
    numbers = numbers_of(pd.Series(cells), "x")
    assert [None if pd.isna(number) else float(number) for number in numbers] == read


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["0.81 ± 0.01", "0.79 ± 0.02"], "means with their spread"),
        (["0.81 (0.01)", "0.79 (0.02)"], "means with their spread"),
        (["3.4 ms", "0.003 s"], "several units"),
        (["81%", "0.79"], "several units"),
        (["1,234", "5,678"], "decimal comma, or thousands"),
    ],
)
def test_what_could_be_two_numbers_is_a_question(cells: list[str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        numbers_of(pd.Series(cells), "x")


def test_names_are_no_numbers() -> None:
    assert not holds_numbers(pd.Series(["adam", "3x"]))
    assert not holds_numbers(pd.Series([True, False]))


def test_a_claim_on_percentages(tmp_path: Path) -> None:
    frame = finals({"a": 0.8, "b": 0.9}, 5)
    percent = frame.assign(loss=(100 * frame["loss"]).map("{:.3f}%".format))
    assert only(percent, tmp_path, "loss: a < b").estimate == pytest.approx(
        100 * (only(frame, tmp_path, "loss: a < b").estimate or 0), abs=0.01
    )


def test_a_table_of_means_with_spreads_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"game": ["x", "y"], "dqn": ["1 ± 1", "2 ± 1"], "ppo": ["2 ± 1", "3 ± 1"]})
    with pytest.raises(UserError, match="no runs"):
        judged(frame, tmp_path, "return: ppo > dqn")


def test_means_alone_by_benchmark_are_no_runs(tmp_path: Path) -> None:
    frame = pd.DataFrame({"": ["x", "y", "z"], "dqn": [1.0, 2.0, 3.0], "ppo": [2.0, 3.0, 4.1]})
    assert only(frame, tmp_path, "return: ppo > dqn").verdict == "open"


def test_numbers_too_large_for_sums_have_diverged(tmp_path: Path) -> None:
    frame = finals({"a": 1.0, "b": 1.0}, 5).assign(loss=lambda runs: runs["loss"].where(runs["seed"] > 0, 1e308))
    verdict = only(frame, tmp_path, "loss: a < b")
    assert verdict.verdict == "open"
    assert any("without a finite number" in note for note in verdict.notes)
