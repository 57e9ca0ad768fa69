"""MLflow's database read without MLflow says what MLflow says."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from folklore.harness.declare import Study
from folklore.harness.launch.tracking.projection import Tracker
from folklore.harness.launch.tracking.state import settled
from folklore.harness.plan.store.mlflow_address import default_uri


def test_an_experiment_is_settled_once_nothing_but_packs_can_be_missing(
    study: Study, tmp_path: Path, mlflow_in: Callable[[Path], str]
) -> None:
    tracker = Tracker(mlflow_in(tmp_path), study, artifacts=tmp_path / "artifacts")
    assert settled(tracker.uri, study) == tracker.identity
    run = tracker.launch("laptop", {}, 3, {})
    assert settled(tracker.uri, study) is None, "it may be a launch that was killed, which the next run closes"
    tracker.finish(run, "FINISHED")
    assert settled(tracker.uri, study) == tracker.identity
    reworded = study.model_copy(update={"question": "Does it help?"})
    assert settled(tracker.uri, reworded) is None, "its note is to be written"
    Tracker(tracker.uri, reworded)
    assert settled(tracker.uri, reworded) == tracker.identity
    assert settled(tracker.uri, study.model_copy(update={"name": "other"})) is None


def test_what_cannot_be_told_is_left_to_mlflow(study: Study, tmp_path: Path) -> None:
    assert settled("http://127.0.0.1:1", study) is None
    assert settled(default_uri(tmp_path / "nowhere"), study) is None
    (tmp_path / "broken.db").write_bytes(b"no database")
    assert settled(f"sqlite:///{tmp_path}/broken.db", study) is None
    with closing(sqlite3.connect(tmp_path / "empty.db")) as connection:
        connection.execute("CREATE TABLE experiments (name TEXT)")
    assert settled(f"sqlite:///{tmp_path}/empty.db", study) is None
