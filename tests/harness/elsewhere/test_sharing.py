"""Rows that say they are one run and are several, or the other way round."""

from pathlib import Path

import pandas as pd

from tests.harness.elsewhere.planted import curves, finals, judged

STEPS = range(10, 210, 10)


def told(frame: pd.DataFrame, folder: Path, claim: str = "loss: b < a", **options: object) -> tuple[list[str], int, bool]:
    """The problems, how many runs were read, and whether the verdict is firm."""
    found = judged(frame, folder, claim, **options)  # type: ignore[arg-type]
    return [each.what for each in found.problems], len(found.runs[0].final()), found.claims[0].firm


def test_splits_of_one_seed_are_no_three_runs(tmp_path: Path) -> None:
    splits = pd.concat([finals({"a": 1.0, "b": 0.9}, 5, seed=each).assign(split=name) for each, name in enumerate("xyz")])
    problems, _, firm = told(splits, tmp_path)
    assert "rows that share arm, task and seed" in problems
    assert not firm
    assert told(splits, tmp_path, where=("split=x",))[0] == []


def test_runs_written_one_after_the_other_without_a_seed(tmp_path: Path) -> None:
    frame = curves({"a": 2.0, "b": 1.9}, 5, STEPS).drop(columns="seed")
    problems, runs, firm = told(frame, tmp_path)
    assert problems == ["runs that only their steps tell apart"]
    assert runs == 10
    assert firm


def test_a_column_that_tells_rows_apart_makes_no_runs(tmp_path: Path) -> None:
    frame = pd.concat([curves({"a": 2.0, "b": 1.9}, 4, STEPS, seed=each).assign(year=each) for each in range(3)])
    problems, runs, firm = told(frame, tmp_path)
    assert problems == ["runs with several values at a step"]
    assert runs == 8
    assert not firm


def test_of_a_resumed_run_the_later_rows_count(tmp_path: Path) -> None:
    frame = curves({"a": 2.0, "b": 1.9}, 4, STEPS)
    lost = frame[frame["step"].between(100, 140)].assign(loss=9.0)
    resumed = pd.concat([frame[frame["step"] < 100], lost, frame[frame["step"] >= 100]])
    found = judged(resumed, tmp_path, "loss at 140: b < a")
    assert [each.what for each in found.problems] == ["runs that log a step more than once"]
    assert found.claims[0].estimate == judged(frame, tmp_path, "loss at 140: b < a").claims[0].estimate


def test_an_agent_that_learns_does_not_change_its_unit(tmp_path: Path) -> None:
    frame = curves({"a": 900.0, "b": 950.0}, 4, STEPS).rename(columns={"loss": "reward"})
    frame["reward"] = frame["reward"].where((frame["step"] > 100) | (frame["arm"] == "a"), 14.0 + frame["step"] / 100)
    assert told(frame, tmp_path, "reward: b > a")[0] == []


def test_a_best_of_many_runs_is_left_out_alone(tmp_path: Path) -> None:
    """Of 10,000 pairs the most telling one, and not each of them, is left out."""
    assert told(finals({"a": 1.0, "b": 0.9}, 10_000), tmp_path)[1] == 20_000


def test_rounds_with_names_are_no_steps(tmp_path: Path) -> None:
    frame = finals({"a": 1.0, "b": 0.9}, 5).drop(columns="seed").assign(round="v1.0", epoch=90)
    assert told(frame, tmp_path)[1] == 10
