"""Judging that changes has another version: what is judged now, held to a record of what this version came to.

The record has planted trials, judged here, and all published verdicts, which test_verdict_memory.py holds to what is judged
now.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.trial import Trial
from folklore.harness.judge.trial_sets import HERE, trial_sets
from folklore.harness.judge.verdict_memory import STATISTICS_VERSION, JudgedTrials
from folklore.harness.plan.store import evidence
from folklore.harness.train.result import LaneResult
from tests.harness.helpers import bowl, close, frame, result

RECORD = Path(__file__).parent / "golden" / "statistics.json"
# Digits of a number in a hash: another machine publishes other last digits of floats.
DIGITS = 6


def planted(none: float, half: float, noise: float) -> Callable[[Trial], LaneResult]:
    """Trials of two arms with these losses at their best LR."""
    return lambda trial: result(bowl(trial, -7, none if trial.arm == "none" else half, noise=noise))


def cliff(trial: Trial) -> LaneResult:
    """A better arm that diverges at the largest LR, on some seeds."""
    diverges = trial.arm == "half" and trial.configuration.training.peak_lr > 0.05 and trial.seed % 2 == 0
    return result(5.0, divergence_step=3) if diverges else planted(2.1, 2.0, 0.001)(trial)


WORLDS = {
    "better": planted(2.1, 2.0, 0.001),
    "worse": planted(2.0, 2.1, 0.001),
    "equal": planted(2.0, 2.0, 0.001),
    "noisy": planted(2.02, 2.0, 0.1),
    "cliff": cliff,
}


def rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def published() -> dict[str, dict[str, str]]:
    """Study -> hashes of its declaration and trials, and of the verdicts on them."""
    kept = json.loads((evidence.FOLDER / "verdicts.json").read_text(encoding="utf-8"))
    return {study: {"of": record["of"], "came_to": hashed(rounded(record["judged"]))} for study, record in kept.items()}


def hashed(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@pytest.fixture(scope="module")
def judged(study: Study) -> dict[str, Any]:
    """World -> its judged sets, as JSON has them."""
    trials = {name: frame(study, world) for name, world in WORLDS.items()}
    trials["incomplete"] = trials["better"].iloc[:-7]
    sets_by_world = {
        name: [JudgedTrials.of(trial_set) for trial_set in trial_sets(study, table, HERE)] for name, table in trials.items()
    }
    return dict(
        json.loads(json.dumps({name: [judged_set.to_dict() for judged_set in sets] for name, sets in sets_by_world.items()}))
    )


def changed(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names of the trials on which the same declaration comes to something else."""
    worlds = [name for name, verdicts in now["planted"].items() if not close(verdicts, recorded["planted"].get(name, verdicts))]
    before = recorded["published"]
    studies = [
        name
        for name, record in now["published"].items()
        if name in before and record["of"] == before[name]["of"] and record["came_to"] != before[name]["came_to"]
    ]
    return worlds + studies


def test_judging_that_changes_has_another_version(judged: dict[str, Any]) -> None:
    now = {"version": STATISTICS_VERSION, "planted": judged, "published": published()}
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    if recorded["version"] == STATISTICS_VERSION:
        assert changed(recorded, now) == [], (
            "these come to other numbers or words than this version of the statistics did: raise STATISTICS_VERSION in"
            " harness/judge/verdict_memory.py, so that stores forget what they were judged by before"
        )
    if os.environ.get("FOLKLORE_GOLDEN") == "write":
        RECORD.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        assert close(without_of(now), without_of(recorded)), (
            "another version, or other declarations or trials: raise STATISTICS_VERSION if it is not these alone, then"
            " FOLKLORE_GOLDEN=write pytest …"
        )


def without_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration that is written otherwise and comes to the same does not matter."""
    return {**record, "published": {study: record["came_to"] for study, record in record.get("published", {}).items()}}


def test_the_record_has_worlds_of_all_kinds(judged: dict[str, Any]) -> None:
    verdicts = {verdict["verdict"] for sets in judged.values() for judged_set in sets for verdict in judged_set["verdicts"]}
    assert verdicts >= {"supported", "refuted", "open", "invalid"}


@pytest.mark.parametrize(("of", "came_to", "names"), [("a", "x", []), ("b", "x", []), ("b", "y", []), ("a", "y", ["warmup"])])
def test_other_evidence_may_come_to_something_else(of: str, came_to: str, names: list[str]) -> None:
    recorded = {"planted": {}, "published": {"warmup": {"of": "a", "came_to": "x"}}}
    assert changed(recorded, {"planted": {}, "published": {"warmup": {"of": of, "came_to": came_to}}}) == names


def test_a_planted_world_may_be_added_and_not_changed() -> None:
    recorded = {"planted": {"better": [1]}, "published": {}}
    assert changed(recorded, {"planted": {"better": [1], "new": [2]}, "published": {}}) == []
    assert changed(recorded, {"planted": {"better": [2]}, "published": {}}) == ["better"]
