"""Faults of runs are found, counted, and acted upon; nothing is found in sound runs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from folklore.harness.elsewhere.table import Problem
from tests.harness.elsewhere.planted import curves, finals, judged

STEPS = range(10, 510, 10)
Planted = Callable[[pd.DataFrame], pd.DataFrame]


def sound() -> pd.DataFrame:
    """Two arms of six curves, each with a file of its own."""
    frame = curves({"a": 2.0, "b": 1.9}, 6, STEPS)
    return frame.assign(file=frame["arm"] + frame["seed"].astype(str) + ".log")


def problems(frame: pd.DataFrame, folder: Path, claim: str = "loss: b < a", **options: object) -> dict[str, Problem]:
    return {problem.what: problem for problem in judged(frame, folder, claim, **options).problems}  # type: ignore[arg-type]


def repeated(frame: pd.DataFrame) -> pd.DataFrame:
    """Two runs of b exported again under other names."""
    again = frame[(frame["arm"] == "b") & (frame["seed"] < 2)]
    return pd.concat([frame, again.assign(file="copy of " + again["file"])])


def two_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Half of b's runs are in percent, as another export has them."""
    percent = (frame["arm"] == "b") & (frame["seed"] < 3)
    return frame.assign(loss=frame["loss"].where(~percent, 100 * frame["loss"]), export=np.where(percent, "new", "old"))


def two_models(frame: pd.DataFrame) -> pd.DataFrame:
    """Half of b's runs are another model."""
    other = (frame["arm"] == "b") & (frame["seed"] < 3)
    return frame.assign(loss=frame["loss"].where(~other, 2 * frame["loss"]), round=np.where(other, "v2", "v1"))


def unit_change(frame: pd.DataFrame) -> pd.DataFrame:
    late = (frame["arm"] == "a") & (frame["seed"] == 0) & (frame["step"] > 300)
    return frame.assign(loss=frame["loss"].where(~late, 1000 * frame["loss"]))


def unfinished(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[~((frame["arm"] == "b") & (frame["seed"] == 4) & (frame["step"] > 200))]


def same_arms(frame: pd.DataFrame) -> pd.DataFrame:
    a = frame[frame["arm"] == "a"]
    return pd.concat([a, a.assign(arm="b")])


def diverged(frame: pd.DataFrame) -> pd.DataFrame:
    end = (frame["arm"] == "b") & (frame["seed"] < 2) & (frame["step"] == max(STEPS))
    return frame.assign(loss=frame["loss"].mask(end, np.inf))


def longer(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["arm"] == "b") | (frame["step"] <= 400)]


def single(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["arm"] == "a") | (frame["seed"] == 3)]


def settings(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(lr=0.1 * (1 + frame["seed"] % 2))


def confounded(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(batch_size=np.where(frame["arm"] == "b", 64, 32))


def smoothed(frame: pd.DataFrame) -> pd.DataFrame:
    b = frame[frame["arm"] == "b"]
    smooth = b.groupby("seed")["loss"].transform(lambda losses: losses.ewm(alpha=0.05).mean())
    return pd.concat([frame[frame["arm"] == "a"], b.assign(loss=smooth)])


def seedless(frame: pd.DataFrame) -> pd.DataFrame:
    """Every run of b is the same, whatever its seed."""
    one = frame[(frame["arm"] == "b") & (frame["seed"] == 0)]
    copies = [one.assign(seed=seed, file=f"b{seed}.log") for seed in range(6)]
    return pd.concat([frame[frame["arm"] == "a"], *copies])


@pytest.mark.parametrize(
    ("plant", "what", "count"),
    [
        (repeated, "runs that are there twice", 2),
        (two_units, "names that stand for values in two units", 1),
        (two_models, "names that stand for two things", 1),
        (unit_change, "runs whose units change in mid-series", 1),
        (unfinished, "runs that stop before most of their arm do", 1),
        (same_arms, "arms whose runs are identical", 2),
        (diverged, "runs that end without a finite number", 2),
        (longer, "arms that train for another number of steps than others", 2),
        (single, "arms with a single run", 1),
        (settings, "settings that differ within an arm", 1),
        (smoothed, "arms with far smoother curves than others", 1),
        (seedless, "runs that are equal under different seeds", 6),
    ],
)
def test_each_fault_is_found(plant: Planted, what: str, count: int, tmp_path: Path) -> None:
    """None of b's mixed runs would remain for a comparison with a: there it is a's mean against a number."""
    claim = "loss: a < 3" if plant in (two_units, two_models, settings) else "loss: b < a"
    counted = problems(plant(sound()), tmp_path, claim)
    assert what in counted, list(counted)
    assert counted[what].count == count


def test_sound_runs_are_sound(tmp_path: Path) -> None:
    assert problems(sound(), tmp_path) == {}
    assert problems(finals({"a": 2.0, "b": 1.9}, 5), tmp_path) == {}


def test_short_numbers_agree_by_chance(tmp_path: Path) -> None:
    """Accuracies of two digits: equal values are no repeated runs."""
    frame = finals({"a": 0.91, "b": 0.92}, 12).round(2)
    assert "runs that are there twice" not in problems(frame, tmp_path)
    assert "runs that are there twice" not in problems(frame.drop(columns="seed"), tmp_path)


def test_repeated_runs_count_once(tmp_path: Path) -> None:
    """If each run counted ten times, a difference of nothing would look sure."""
    frame = finals({"a": 2.0, "b": 1.99}, 5)
    tenfold = pd.concat([frame] * 10)
    alone, many = (judged(runs, tmp_path, "loss: b < a").claims[0] for runs in (frame, tenfold))
    assert many.p == alone.p


def test_equal_budgets_of_early_stopping_are_no_fault(tmp_path: Path) -> None:
    """Runs that all stop where they like did not fail to finish."""
    frame = sound()
    stops = 200 + 20 * frame["seed"]
    assert "runs that stop before most of their arm do" not in problems(frame[frame["step"] <= stops], tmp_path)


def test_what_is_doubtful_is_never_firm(tmp_path: Path) -> None:
    for plant in (confounded, seedless):
        (verdict,) = judged(plant(sound()), tmp_path, "loss: b < a").claims
        assert verdict.verdict == "supported"
        assert not verdict.firm


def test_rows_that_follow_each_other_are_no_runs(tmp_path: Path) -> None:
    """A curve without its steps would count as fifty runs; a table in any order, or sorted by its values, is no curve."""
    curve = curves({"a": 2.0, "b": 1.9}, 1, STEPS)[["arm", "loss"]]
    assert problems(curve, tmp_path)["arms whose rows look like steps of a run"].count == 2
    runs = finals({"a": 2.0, "b": 1.9}, 50)[["arm", "loss"]]
    for sound_ones in (runs, runs.sort_values("loss")):
        assert "arms whose rows look like steps of a run" not in problems(sound_ones, tmp_path)
