"""A value that is missing at the end of a run: one outcome, however the cell is written and whatever the others hold."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from folklore.harness.elsewhere.judge_runs import JudgedRuns, JudgeOptions, judge_sources
from tests.harness.elsewhere.planted import curves, finals, judged


def written(folder: Path, *, missing: str, other: str | None = None) -> JudgedRuns:
    """Two of b's six runs have no loss; other: what a run of a third arm has in its place."""
    frame = finals({"a": 2.0, "b": 1.8}, 6).astype({"loss": object})
    frame.loc[(frame["arm"] == "b") & (frame["seed"] < 2), "loss"] = missing
    if other is not None:
        frame = pd.concat([frame, pd.DataFrame({"arm": ["c"], "seed": [0], "loss": [other]})])
    path = folder / "runs.csv"
    frame.to_csv(path, index=False)
    return judge_sources([str(path)], JudgeOptions(("loss: b < a",)))


@pytest.mark.parametrize("other", [None, "2.5", "OOM", ""], ids=["alone", "number", "word", "blank"])
@pytest.mark.parametrize("missing", ["nan", "NaN", "", "-", "OOM", "inf", "N/A"], ids=repr)
def test_it_is_an_outcome(missing: str, other: str | None, tmp_path: Path) -> None:
    judged_runs = written(tmp_path, missing=missing, other=other)
    (verdict,) = judged_runs.claims
    assert verdict.findings[0].runs == (6, 6)
    assert [problem.count for problem in judged_runs.problems if problem.what == "runs that end without a finite number"] == [2]
    assert any("2 of 6 runs of 'b'" in note for note in verdict.notes)
    assert not verdict.firm


def test_a_supported_verdict_is_fragile(tmp_path: Path) -> None:
    frame = finals({"a": 2.0, "b": 1.0}, 8)
    frame.loc[(frame["arm"] == "a") & (frame["seed"] == 0), "loss"] = np.nan
    (verdict,) = judged(frame, tmp_path, "loss: b < a").claims
    assert verdict.verdict == "supported"
    assert "1 run ends without a finite number" in verdict.fragile


def test_a_sparse_log_misses_nothing(tmp_path: Path) -> None:
    """A value every 100 steps, a row every 10; the last row lies 90 steps behind the last value."""
    frame = curves({"a": 2.0, "b": 1.8}, 5, range(10, 1000, 10))
    sparse = frame.assign(loss=frame["loss"].where(frame["step"] % 100 == 0))
    judged_runs = judged(sparse, tmp_path, "loss: b < a")
    assert not judged_runs.problems
    assert judged_runs.claims[0].firm


def test_a_curve_that_goes_on_without_values_has_lost_them(tmp_path: Path) -> None:
    frame = curves({"a": 2.0, "b": 1.8}, 5, range(10, 210, 10))
    lost = (frame["arm"] == "b") & (frame["seed"] == 3) & (frame["step"] > 120)
    judged_runs = judged(frame.assign(loss=frame["loss"].mask(lost)), tmp_path, "loss: b < a")
    assert [problem.what for problem in judged_runs.problems] == ["runs that end without a finite number"]
    assert judged_runs.claims[0].findings[0].runs == (5, 5)


def test_rows_that_end_early_are_named_and_make_the_verdict_fragile(tmp_path: Path) -> None:
    frame = curves({"a": 2.0, "b": 1.8}, 6, range(10, 210, 10))
    short = frame[~((frame["arm"] == "b") & (frame["seed"] == 3) & (frame["step"] > 120))]
    judged_runs = judged(short, tmp_path, "loss: b < a")
    assert [(problem.what, problem.count) for problem in judged_runs.problems] == [
        ("runs that stop before most of their arm do", 1)
    ]
    assert (judged_runs.claims[0].verdict, judged_runs.claims[0].firm) == ("supported", False)


def test_another_metric_of_a_run_is_no_run(tmp_path: Path) -> None:
    """A row for each metric: the rows of the other one hold no loss, and the run has one all the same."""
    losses = finals({"a": 2.0, "b": 1.8}, 5)
    others = losses.drop(columns="loss").assign(accuracy=0.5)
    judged_runs = judged(pd.concat([losses, others]), tmp_path, "loss: b < a")
    assert judged_runs.claims[0].findings[0].runs == (5, 5)
    assert judged_runs.claims[0].firm


@pytest.mark.parametrize("missing", ["OOM", "", "nan"], ids=repr)
@pytest.mark.parametrize("with_seeds", [True, False], ids=["seeds", "bare"])
def test_of_a_wide_table_too(missing: str, with_seeds: bool, tmp_path: Path) -> None:
    """Arms are columns; b's runs 3 and 4 of 6 have no loss, and arm c had two runs fewer from the start."""
    losses = {"a": [2.01, 2.0, 1.99, 2.02, 2.0, 1.98], "b": [1.9, 1.92, 1.91, missing, missing, 1.9]}
    frame = pd.DataFrame({**losses, "c": [2.5, 2.4, 2.6, 2.5, "", ""]})
    path = tmp_path / "runs.csv"
    (frame.assign(seed=range(6)) if with_seeds else frame).to_csv(path, index=False)
    judged_runs = judge_sources([str(path)], JudgeOptions(("loss: b < a", "loss: c > a")))
    assert [claim.findings[0].runs for claim in judged_runs.claims] == [(6, 6), (4, 4) if with_seeds else (4, 6)]
    (problem,) = [problem for problem in judged_runs.problems if problem.what == "runs that end without a finite number"]
    assert (problem.count, problem.examples) == (2, ("b: 2",))


def test_a_column_for_each_repetition_keeps_its_word(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"arm": ["a", "b"], **{f"loss_seed_{seed}": [2.0 + seed / 100, 1.9 + seed / 100] for seed in range(4)}}
    )
    frame["loss_seed_4"] = ["2.04", "OOM"]
    judged_runs = judged(frame, tmp_path, "loss: b < a")
    assert judged_runs.claims[0].findings[0].runs == (5, 5)
    assert [problem.examples for problem in judged_runs.problems] == [("b: 1",)]


def test_a_run_without_a_row_of_the_metric(tmp_path: Path) -> None:
    """A long table: two of b's runs have an accuracy and no loss."""
    runs = finals({"a": 2.0, "b": 1.8}, 6)
    losses = runs.rename(columns={"loss": "value"}).assign(metric="loss")
    rows = pd.concat([losses[~((losses["arm"] == "b") & (losses["seed"] < 2))], losses.assign(metric="accuracy", value=0.5)])
    judged_runs = judged(rows, tmp_path, "loss: b < a")
    assert judged_runs.claims[0].findings[0].runs == (6, 6)
    assert [problem.count for problem in judged_runs.problems] == [2]
