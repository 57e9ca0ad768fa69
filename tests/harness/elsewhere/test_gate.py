"""The gate: damage, drift, runs that are too good, and how often it is wrong."""

from pathlib import Path

import numpy as np
import pytest

from folklore.harness.elsewhere.gate import Gate, baseline_text, gate, rates
from folklore.harness.elsewhere.judge_runs import JudgeOptions
from folklore.harness.elsewhere.roles import ReadingOptions
from folklore.harness.elsewhere.runs import runs_of
from folklore.harness.judge.statistics.two_samples import difference
from tests.command_line import folklore_here
from tests.harness.elsewhere.planted import finals

# Of rates, within three standard errors: 1.1 points of draws beside the 2 of the approximation. What is said varies far less.
RUNS, WORLDS, SAID = 8, 2000, 300


def passed(folder: Path, mean: float, seed: int = 1, margin: str = "1%") -> Gate:
    """A candidate of this mean against a baseline of 2 with a noise of 0.01."""
    for name, at, drawn in (("baseline", 2.0, 0), ("candidate", mean, seed)):
        finals({"x": at}, RUNS, seed=drawn).drop(columns="arm").to_csv(folder / f"{name}.csv", index=False)
    return gate([str(folder / "candidate.csv")], str(folder / "baseline.csv"), margin, JudgeOptions())


@pytest.mark.parametrize(
    ("mean", "outcome"), [(2.0, "fine"), (2.1, "damage"), (2.016, "drift"), (1.9, "too good"), (1.99, "fine")]
)
def test_outcomes(tmp_path: Path, mean: float, outcome: str) -> None:
    margin = "1.5%" if outcome == "drift" else "1%"
    assert passed(tmp_path, mean, margin=margin).outcome == outcome


def test_what_it_says_is_of_its_own_test(tmp_path: Path) -> None:
    """Alarms and their rates are those of Welch's interval of 90%, whose own rates are drawn below."""
    outcomes = set()
    for seed in range(6):
        baseline, candidate = (finals({"x": 2.0 + 0.006 * part * seed}, RUNS, seed=2 * seed + part) for part in (0, 1))
        paths = [tmp_path / "b.csv", tmp_path / "c.csv"]
        for path, runs in zip(paths, (baseline, candidate), strict=True):
            runs[["loss"]].to_csv(path, index=False)
        decision = gate([str(paths[1])], str(paths[0]), "0.002", JudgeOptions())
        effect = difference(candidate["loss"].to_numpy(), baseline["loss"].to_numpy(), level=0.9)
        assert (decision.outcome == "damage") == (effect.low > 0.002)
        assert (decision.false_alarms, decision.caught) == pytest.approx(rates(effect, 0.002))
        outcomes.add(decision.outcome)
    assert outcomes == {"damage", "open"}


@pytest.mark.parametrize(("candidates", "kept"), [(3, 5), (5, 20)])
def test_false_alarms_and_damage_caught_are_as_often_as_it_says(candidates: int, kept: int) -> None:
    """With few runs the error is often underestimated, and a shift of so many errors overestimated."""
    generator, error = np.random.default_rng(0), 0.5 / np.sqrt(WORLDS)
    for place, mean in enumerate((0.0, 2.0)):
        drawn = [(generator.normal(mean, 1.0, candidates), generator.standard_normal(kept)) for _ in range(WORLDS)]
        effects = [difference(*samples, level=0.9) for samples in drawn]
        said = np.mean([rates(effect, 1.0)[place] for effect in effects[:SAID]])
        alarms = np.mean([effect.low > 1.0 for effect in effects])
        assert said == pytest.approx(alarms, abs=0.02 + 3 * error), "2 points of approximation, and chance"


def test_a_baseline_is_read_back(tmp_path: Path) -> None:
    finals({"x": 2.0}, 5).to_csv(tmp_path / "runs.csv", index=False)
    runs = runs_of([str(tmp_path / "runs.csv")], ReadingOptions())
    (tmp_path / "kept.csv").write_text(baseline_text(runs))
    again = runs_of([str(tmp_path / "kept.csv")], ReadingOptions())
    assert list(again.final()["value"]) == list(runs.final()["value"])
    assert again.metric == runs.metric


def test_exit_codes(tmp_path: Path) -> None:
    finals({"a": 2.0, "b": 1.8, "c": 2.0}, 5).to_csv(tmp_path / "runs.csv", index=False)
    judge = ("judge", str(tmp_path / "runs.csv"), "--claim")
    folklore_here(*judge, "loss: b < a by 5%", "--fail-on", "open")
    folklore_here(*judge, "loss: b > a", "--fail-on", "refuted", code=1)
    folklore_here(*judge, "loss: c < a by 0.01%", "--fail-on", "refuted")
    folklore_here(*judge, "loss: c < a by 0.01%", "--fail-on", "open", code=1)
    folklore_here(*judge, "loss: b > a")
    assert folklore_here(*judge, "loss: b > a", "--fail-on", "supported", code=2).stderr.count("\n") == 1
