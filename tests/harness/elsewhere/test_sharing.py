"""Rows that say they are one run and are several, or the other way round."""

from pathlib import Path

import numpy as np
import pandas as pd

from tests.harness.elsewhere.planted import curves, finals, judged

STEPS = range(10, 210, 10)


def told(frame: pd.DataFrame, folder: Path, claim: str = "loss: b < a", **options: object) -> tuple[list[str], int, bool]:
    """The problems, how many runs were read, and whether the verdict is firm."""
    report = judged(frame, folder, claim, **options)  # type: ignore[arg-type]
    return [problem.what for problem in report.problems], len(report.runs[0].final()), report.claims[0].firm


def test_splits_of_one_seed_are_no_three_runs(tmp_path: Path) -> None:
    splits = pd.concat([finals({"a": 1.0, "b": 0.9}, 5, seed=seed).assign(split=name) for seed, name in enumerate("xyz")])
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


def test_curves_of_other_settings_are_other_runs(tmp_path: Path) -> None:
    """In any order of their rows."""
    frame = pd.concat([curves({"a": level, "b": level - 0.1}, 4, STEPS).assign(width=level) for level in (2.0, 3.0, 4.0)])
    for rows in (frame, frame.sort_values(["step", "loss"])):
        judged_runs = judged(rows.drop_duplicates(), tmp_path, "loss: b < a")
        assert judged_runs.problems == ()
        assert len(judged_runs.runs[0].final()) == 24
        assert "compared within width: 3 blocks" in judged_runs.claims[0].notes


def test_a_column_that_tells_rows_apart_makes_no_runs(tmp_path: Path) -> None:
    frame = pd.concat([curves({"a": 2.0, "b": 1.9}, 4, STEPS, seed=part).assign(split=part) for part in range(3)])
    problems, runs, firm = told(frame, tmp_path)
    assert problems == ["runs with several values at a step"]
    assert runs == 8
    assert not firm


def test_of_a_resumed_run_the_later_rows_count(tmp_path: Path) -> None:
    frame = curves({"a": 2.0, "b": 1.9}, 4, STEPS)
    lost = frame[frame["step"].between(100, 140)].assign(loss=9.0)
    resumed = pd.concat([frame[frame["step"] < 100], lost, frame[frame["step"] >= 100]])
    report = judged(resumed, tmp_path, "loss at 140: b < a")
    assert [problem.what for problem in report.problems] == ["runs that log a step more than once"]
    assert report.claims[0].estimate == judged(frame, tmp_path, "loss at 140: b < a").claims[0].estimate


def test_an_agent_that_learns_does_not_change_its_unit(tmp_path: Path) -> None:
    frame = curves({"a": 900.0, "b": 950.0}, 4, STEPS).rename(columns={"loss": "reward"})
    frame["reward"] = frame["reward"].where((frame["step"] > 100) | (frame["arm"] == "a"), 14.0 + frame["step"] / 100)
    assert told(frame, tmp_path, "reward: b > a")[0] == []


def test_a_best_of_many_runs_is_left_out_alone(tmp_path: Path) -> None:
    """Only the most telling of 10,000 pairs is left out."""
    assert told(finals({"a": 1.0, "b": 0.9}, 10_000), tmp_path)[1] == 20_000


def test_rounds_with_names_are_no_steps(tmp_path: Path) -> None:
    frame = finals({"a": 1.0, "b": 0.9}, 5).drop(columns="seed").assign(round="v1.0", epoch=90)
    assert told(frame, tmp_path)[1] == 10


def restarted(go_on: bool) -> pd.DataFrame:
    """Killed at 60 and begun again at 0: from the weights of then, or from new ones."""
    rows = []
    for run in finals({"a": 0.53, "b": 0.50}, 5).itertuples():
        for start, steps in ((0, range(0, 61, 10)), (60 * go_on, range(0, 41, 10))):
            rows += [
                {"arm": run.arm, "seed": run.seed, "step": step, "loss": run.loss + 1.5 * np.exp(-(start + step) / 25)}
                for step in steps
            ]
    return pd.DataFrame(rows)


def test_a_counter_that_begins_again_is_the_later_part_of_its_run(tmp_path: Path) -> None:
    judged_runs = judged(restarted(go_on=True), tmp_path, "loss: b < a by 1%")
    assert [problem.what for problem in judged_runs.problems] == ["runs whose steps begin again while their values go on"]
    assert judged_runs.runs[0].final()["step"].unique().tolist() == [100.0]
    (verdict,) = judged_runs.claims
    assert (verdict.verdict, verdict.findings[0].runs) == ("supported", (5, 5))


def test_another_run_in_the_same_place_is_another_run(tmp_path: Path) -> None:
    judged_runs = judged(restarted(go_on=False), tmp_path, "loss: b < a by 1%")
    assert [problem.what for problem in judged_runs.problems] == ["runs that only their steps tell apart"]
    assert len(judged_runs.runs[0].final()) == 20


def test_folds_of_a_seed_are_one_run(tmp_path: Path) -> None:
    folds = pd.concat([finals({"a": 1.0, "b": 0.9}, 4, seed=fold).assign(fold=fold) for fold in range(5)])
    judged_runs = judged(folds, tmp_path, "loss: b < a")
    assert [problem.what for problem in judged_runs.problems] == ["runs that are told fold by fold"]
    assert judged_runs.claims[0].findings[0].runs == (4, 4)
    alone = judged(folds[folds["seed"] == 0].drop(columns="seed"), tmp_path, "loss: b < a")
    assert [problem.what for problem in alone.problems] == ["arms whose runs are folds of a cross-validation"]
    assert not alone.claims[0].firm


def test_runs_of_other_settings_share_a_seed(tmp_path: Path) -> None:
    """A grid: seeds come again at each LR, and nothing is in doubt."""
    grid = pd.concat([finals({"a": level, "b": level - 0.1}, 3, seed=int(level)).assign(lr=level) for level in (1.0, 2.0, 3.0)])
    problems, runs, firm = told(grid, tmp_path)
    assert (problems, runs, firm) == ([], 18, True)


def test_what_where_excludes_is_not_told(tmp_path: Path) -> None:
    rows = finals({"a": 2.0, "b": 1.8}, 5).assign(Name=lambda frame: frame["arm"] + frame["seed"].astype(str))
    rows["State"] = ["finished"] * 8 + ["crashed"] * 2
    assert "runs that did not finish" in told(rows, tmp_path)[0]
    assert "runs that did not finish" not in told(rows, tmp_path, where=("State=finished",))[0]


def test_folds_with_runs_of_their_own_are_one_run(tmp_path: Path) -> None:
    """As trackers have them: each fold has its own name."""
    folds = pd.concat([finals({"a": 1.0, "b": 0.9}, 4, seed=fold).assign(fold=fold) for fold in range(5)])
    folds["run_id"] = [f"r{index}" for index in range(len(folds))]
    assert judged(folds, tmp_path, "loss: b < a").claims[0].findings[0].runs == (4, 4)


def test_folds_that_no_two_runs_share_are_in_doubt(tmp_path: Path) -> None:
    folds = pd.concat([finals({"a": 1.0, "b": 0.9}, 4, seed=fold).assign(fold=fold) for fold in range(3)])
    apart = folds.assign(fold=folds["fold"] + 3 * (folds["seed"] % 2))
    judged_runs = judged(apart, tmp_path, "loss: b < a")
    assert "arms whose runs are folds of a cross-validation" in [problem.what for problem in judged_runs.problems]
    assert not judged_runs.claims[0].firm


def test_folds_that_a_run_lacks_count_for_none(tmp_path: Path) -> None:
    """Fold 0 is hard, and b has no row of it; without it the arms are equal."""
    folds = pd.concat(
        [finals({"a": level, "b": level}, 4, seed=fold).assign(fold=fold) for fold, level in enumerate((3.0, 1.0, 1.1))]
    )
    lacking = folds[~((folds["arm"] == "b") & (folds["fold"] == 0))]
    judged_runs = judged(lacking, tmp_path, "loss: b < a by 1%")
    assert "over 2 folds that all runs have" in judged_runs.problems[0].consequence
    assert judged_runs.claims[0].verdict != "supported"
