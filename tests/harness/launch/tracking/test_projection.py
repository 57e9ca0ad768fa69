import base64
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from sqlalchemy.exc import ProgrammingError

from folklore.harness.declare import Study
from folklore.harness.errors import UserError
from folklore.harness.judge.outcomes import VERDICTS, WITHDRAWN
from folklore.harness.judge.verdict import Verdict
from folklore.harness.launch.tracking.notes import LONGEST_TAG, SIGNS, VIEW, trial_name
from folklore.harness.launch.tracking.projection import FINALS, LAUNCHER, PARENT, Tracker, _params
from folklore.harness.plan.store import trial_rows
from folklore.harness.plan.store.mlflow_address import (
    ARTIFACTS,
    FILE,
    artifact_locations,
    bring_along,
    default_uri,
    experiments,
    runs_link,
)
from folklore.harness.use.reading.pages import self_contained
from tests.harness.helpers import planned, result, rows


@pytest.fixture
def uri(tmp_path: Path, mlflow_in: Callable[[Path], str]) -> str:
    return mlflow_in(tmp_path)


@pytest.fixture
def tracker(uri: str, study: Study, tmp_path: Path) -> Tracker:
    return Tracker(uri, study, artifacts=tmp_path / "artifacts")


@pytest.fixture
def trials(study: Study) -> pd.DataFrame:
    outcomes = {0: result(2.5, step=[10.0, 20.0], train_loss=[3.0, float("nan")], lr=[0.1, 0.2])}
    made = rows(study, planned(study).trials[:3], lambda trial: outcomes.get(trial.seed) or result(3.0), pack="p1")
    return trial_rows.frame(made)


def runs(uri: str, query: str = "") -> list:
    client = MlflowClient(tracking_uri=uri)
    return list(client.search_runs([client.get_experiment_by_name("toy").experiment_id], query))


def test_a_launch_and_its_trials(tracker: Tracker, uri: str, trials: pd.DataFrame) -> None:
    parent = tracker.launch("laptop", {"git_commit": "abc", "device": "x"}, 3, {})
    tracker.record(trials, parent)
    tracker.finish(parent, "FINISHED")
    children = runs(uri, f"tags.`{PARENT}` = '{parent}'")
    assert len(children) == 3
    run = children[0]
    assert run.info.status == "FINISHED"
    assert run.data.params["training.optimizer"] == "adamw"
    assert run.data.params["workload.width"] == "8"
    assert run.data.tags["folklore.outcome"] == "finished"
    assert run.data.metrics["test_loss"] == 2.5
    assert "/" not in "".join(FINALS.values()), "curves come first on MLflow's page, which are in sections by their prefix"
    client = MlflowClient(tracking_uri=uri)
    history = client.get_metric_history(run.info.run_id, "train/loss")
    assert [(point.step, point.value) for point in history] == [(10, 3.0)], "what is not finite is left out"
    launch = next(run for run in runs(uri) if run.info.run_id == parent)
    assert launch.data.tags["folklore.git_commit"] == "abc"
    assert client.list_artifacts(parent)[0].path == "study.json"


def test_a_page_is_shown_by_its_launch_with_its_styles_and_figures(tracker: Tracker, uri: str, tmp_path: Path) -> None:
    """MLflow shows one file, without those beside it, and nothing of elsewhere goes along."""
    pages = tmp_path / "pages"
    (pages / "figures").mkdir(parents=True)
    (tmp_path / "secret.svg").write_text("secret")
    (pages / "style.css").write_text("p { color: red }")
    (pages / "figures/toy-a.svg").write_text("<svg/>")
    (pages / "toy.html").write_text(
        '<link rel="stylesheet" href="style.css">\n<script src="site.js" defer></script>\n<p>Says \\1</p>'
        '<img src="figures/toy-a.svg"><img src="figures/gone.svg"><img src="../secret.svg"><img src="https://x.org/y.svg">'
    )
    parent = tracker.launch("laptop", {}, 3, {})
    tracker.attach(parent, {"toy.html": self_contained(pages / "toy.html")})
    client = MlflowClient(tracking_uri=uri)
    assert [file.path for file in client.list_artifacts(parent, "report")] == ["report/toy.html"]
    shown = Path(client.download_artifacts(parent, "report/toy.html", str(tmp_path))).read_text()
    svg = base64.b64encode(b"<svg/>").decode()
    assert shown == (
        f'<style>p {{ color: red }}</style>\n<p>Says \\1</p><img src="data:image/svg+xml;base64,{svg}">'
        '<img src="figures/gone.svg"><img src="../secret.svg"><img src="https://x.org/y.svg">'
    )


def test_what_people_read_first(tracker: Tracker, uri: str, study: Study) -> None:
    parent = tracker.launch("laptop", {}, 3, {})
    tracker.measure(parent, {"cpu_utilization_percentage": 12.5}, 0)
    tracker.measure(parent, {"cpu_utilization_percentage": 13.5}, 1)
    client = MlflowClient(tracking_uri=uri)
    run = client.get_run(parent)
    assert "trials to train" in run.data.tags["mlflow.note.content"]
    history = client.get_metric_history(parent, "system/cpu_utilization_percentage")
    assert [(point.step, point.value) for point in history] == [(0, 12.5), (1, 13.5)]
    note = client.get_experiment_by_name("toy").tags["mlflow.note.content"]
    assert study.question in note
    assert "warmup.improves_best" in note
    assert f"viewStateShareKey={VIEW.rpartition('.')[2]}" in note
    view = json.loads(client.get_experiment_by_name("toy").tags[VIEW])
    assert {"params.`training.peak_lr`", "metrics.`test_loss`"} <= set(json.loads(view["state"])["selectedColumns"])


def test_a_curve_that_nobody_asked_for_is_not_shown(tracker: Tracker, uri: str, trials: pd.DataFrame) -> None:
    trials.at[0, "curve_probe_sharpness"] = None
    tracker.record(trials, None)
    assert sorted("weights/sharpness" in run.data.metrics for run in runs(uri)) == [False, True, True]


def verdict(word: str, **fields: Any) -> Verdict:
    numbers = {"estimate": 1.44, "low": 1.372, "high": 1.513, "unit": "x"} | fields
    place = {"study": "toy", "claim": "warmup.improves_best", "scale": "laptop", "device": "cpu"}
    return Verdict(**place, verdict=word, seeds=5, trials=9, reason="", findings=(), **numbers)


def test_a_launch_says_what_became_of_each_claim(tracker: Tracker, uri: str) -> None:
    """With its estimate, a link to its trials and one to the page; cut between rows where a tag ends."""
    parent = tracker.launch("laptop", {}, 3, {})
    nothing = {"estimate": None, "low": None, "high": None}
    tracker.judged(parent, [verdict("partly", reading="smaller"), verdict("open", **nothing)])
    note = MlflowClient(tracking_uri=uri).get_run(parent).data.tags["mlflow.note.content"]
    trials = runs_link(tracker.experiment, "tags.`folklore.claims` LIKE '%warmup.improves_best%'")
    assert f"| [warmup.improves_best]({trials}) | ◐ partly (smaller) | 1.44x (1.37–1.51) |" in note
    assert f"| [warmup.improves_best]({trials}) | ? open | – |" in note
    assert f"(#/experiments/{tracker.experiment}/runs/{parent}/artifacts/report/toy.html)" in note
    tracker.judged(parent, [verdict("open")] * 100)
    note = MlflowClient(tracking_uri=uri).get_run(parent).data.tags["mlflow.note.content"]
    assert len(note) <= LONGEST_TAG
    assert note.endswith(" |")


def test_a_trial_is_named_and_found_by_what_sets_it_apart(tracker: Tracker, uri: str, trials: pd.DataFrame) -> None:
    parent = tracker.launch("laptop", {}, 3, {})
    tracker.record(trials, parent)
    first = trials.iloc[0]
    asked = {"arm": first["arm"], "seed": "0", "digest": first["digest"]}
    query = " and ".join(f"tags.`folklore.{name}` = '{value}'" for name, value in asked.items())
    (run,) = runs(uri, f"{query} and tags.`folklore.claims` LIKE '%warmup.improves_best%'")
    label, lr, seed = run.info.run_name.split(" · ")
    assert label == tracker.study.arms[run.data.tags["folklore.arm"]].label
    assert lr == f"lr {json.loads(first['point'])['peak_lr']:.2g}"
    assert seed == "seed 0"
    assert f"runs/{parent}/artifacts/report/toy.html" in run.data.tags["mlflow.note.content"]


def test_names_of_trials() -> None:
    point = {"peak_lr": 0.015625, "batch_size": 256, "beta2": 0.95, "clip_norm": 16.0, "optimizer": "sgd"}
    assert trial_name("warmup 20%", point, 3) == (
        "warmup 20% · lr 0.016 · batch size 256 · beta2 0.95 · clip norm 16 · optimizer sgd · seed 3"
    )


def test_parameters_that_differ_come_first(tracker: Tracker, trials: pd.DataFrame) -> None:
    """As MLflow's page lists them: by when they were written."""
    named = list(_params(trials.iloc[0]))
    assert named[:3] == ["arm", "seed", "training.peak_lr"]
    assert named.index("workload.width") < named.index("training.beta2") < len(named) - 1


def test_a_copied_store_has_its_artifacts(tracker: Tracker, study: Study, tmp_path: Path) -> None:
    """They lie beside the database that names them, wherever both are; what is launched there stays there."""
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    shutil.copy(tmp_path / FILE, there / FILE)
    first = Tracker(default_uri(there), study.model_copy(update={"name": "copied"}), artifacts=there / ARTIFACTS)
    parent = first.launch("laptop", {}, 3, {})
    shutil.copytree(there, here)
    shutil.rmtree(there)
    bring_along(here / FILE, here / ARTIFACTS)
    copied = Tracker(default_uri(here), first.study, artifacts=here / ARTIFACTS)
    assert [file.path for file in copied.client.list_artifacts(parent)] == ["study.json"]
    assert artifact_locations(here / FILE) >= {f"{here}/{ARTIFACTS}/copied", f"{here}/{ARTIFACTS}/copied/{parent}/artifacts"}
    copied.launch("laptop", {}, 3, {})
    assert not there.exists()
    assert f"{tmp_path}/artifacts/toy" in artifact_locations(here / FILE), "another's folder is left alone"


def datasets(run: Run) -> list[tuple[str, str]]:
    return [(entry.dataset.name, entry.dataset.digest) for entry in run.inputs.dataset_inputs]


def test_the_columns_of_the_runs_table_are_filled(tracker: Tracker, uri: str, trials: pd.DataFrame) -> None:
    """Dataset, source and version; verdicts are metrics, so that launches can be sorted by them."""
    parent = tracker.launch("laptop", {"git_commit": "0123456789ab+"}, 3, {"python-docs": "d1", "digits": "d2"})
    tracker.record(trials, parent)
    tracker.judged(parent, [verdict(name) for name in ("supported", "refuted", "supported", "out of regime")])
    tracker.finish(parent, "FINISHED")
    launch = next(run for run in runs(uri) if run.info.run_id == parent)
    assert sorted(datasets(launch)) == [("digits", "d2"), ("python-docs", "d1")]
    assert launch.info.run_name == "✓2 ✗1 –1 · toy · laptop"
    assert "2 supported, 0 partly, 1 refuted, 0 open, 1 out of regime." in launch.data.tags["mlflow.note.content"]
    assert "3 trials to train" in launch.data.tags["mlflow.note.content"]
    assert launch.data.tags["mlflow.source.name"] == "folklore run toy --scale laptop"
    assert launch.data.tags["mlflow.source.git.commit"] == "0123456789ab"
    assert launch.data.metrics == {
        "verdicts/supported": 2.0,
        "verdicts/partly": 0.0,
        "verdicts/refuted": 1.0,
        "verdicts/open": 0.0,
        "verdicts/out_of_regime": 1.0,
    }
    for trial in runs(uri, "tags.`folklore.kind` = 'trial'"):
        assert datasets(trial) == [("python-docs", trials["data_hash"].iloc[0])]
        assert trial.data.tags["mlflow.source.name"] == "folklore run toy --scale laptop"
        assert trial.data.tags["mlflow.source.type"] == "LOCAL"
        (used,) = trial.inputs.dataset_inputs
        assert [(tag.key, tag.value) for tag in used.tags] == [("mlflow.data.context", "training")]


def test_an_experiment_is_of_models_and_not_of_generative_ai(tracker: Tracker, uri: str, study: Study) -> None:
    """Also one that an earlier Folklore made."""

    def kind() -> str | None:
        return MlflowClient(tracking_uri=uri).get_experiment_by_name("toy").tags.get("mlflow.experimentKind")

    assert kind() == "custom_model_development"
    tracker.client.delete_experiment_tag(tracker.experiment, "mlflow.experimentKind")
    assert kind() is None
    Tracker(uri, study)
    assert kind() == "custom_model_development"


@pytest.mark.parametrize("by_tables", [True, False])
def test_runs_of_an_earlier_folklore_are_completed(
    by_tables: bool, tracker: Tracker, uri: str, study: Study, trials: pd.DataFrame
) -> None:
    older = MlflowClient(tracking_uri=uri)
    scales = {"folklore.kind": "launch", "folklore.scale": "laptop", "folklore.git_commit": "abc"}
    parent = older.create_run(tracker.experiment, tags=scales).info.run_id
    older.set_terminated(parent, "FINISHED")
    going = older.create_run(tracker.experiment, tags=scales).info.run_id
    tags = {"folklore.kind": "trial", "folklore.scale": "laptop", "folklore.data_hash": "d1", PARENT: parent}
    for index in range(3):
        run_id = older.create_run(tracker.experiment, tags=tags | {"folklore.digest": str(index)}).info.run_id
        older.log_param(run_id, "workload.dataset", "python-docs")
        older.set_terminated(run_id, "FINISHED")
    tracker.record(trials, None)
    if not by_tables:
        tracker.tables = None
    assert tracker.complete()
    assert not tracker.complete()
    by_id = {run.info.run_id: run for run in runs(uri)}
    assert datasets(by_id[parent]) == [("python-docs", "d1")]
    assert by_id[parent].data.tags["mlflow.source.git.commit"] == "abc"
    assert "mlflow.source.name" not in by_id.pop(going).data.tags, "which is being written"
    assert all(datasets(run) and run.data.tags["mlflow.source.name"] for run in by_id.values())


def test_verdicts_are_counted_on_the_last_launch_of_a_scale(tracker: Tracker) -> None:
    first, last, going = (tracker.launch(scale, {}, 1, {}) for scale in ("laptop", "laptop", "smoke"))
    tracker.finish(first, "FINISHED")
    tracker.finish(last, "FINISHED")
    assert tracker.uncounted() == {"laptop": last}
    tracker.finish(going, "KILLED")
    tracker.judged(last, [verdict("supported")])
    assert tracker.uncounted() == {"smoke": going}
    tracker.judged(last, [verdict("refuted")])  # again, after more seeds
    counted = tracker.client.get_run(last)
    assert counted.info.run_name == "✗1 · toy · laptop"
    assert counted.data.tags["mlflow.note.content"].count("Verdicts:") == 1


def test_every_verdict_has_a_sign() -> None:
    assert SIGNS.keys() == {*VERDICTS, WITHDRAWN}


def test_tables_of_another_shape_are_left_to_the_client(tracker: Tracker, uri: str, trials: pd.DataFrame) -> None:
    class Changed:
        def write(self, runs: object) -> None:
            raise ProgrammingError("no such column", None, Exception())

    tracker.tables = Changed()
    tracker.record(trials, None)
    assert len(runs(uri)) == 3
    assert {run.info.status for run in runs(uri)} == {"FINISHED"}


def test_a_trial_that_comes_again_is_there_once(tracker: Tracker, uri: str, study: Study, trials: pd.DataFrame) -> None:
    """In its pack, or in another one of another start."""
    tracker.record(trials.iloc[:2], None)
    tracker.record(trials.iloc[:2], None)
    Tracker(tracker.uri, study).record(trials.assign(pack="p2"), None)
    assert sorted(run.data.tags["folklore.digest"] for run in runs(uri)) == sorted(trials["digest"])
    histories = [tracker.client.get_metric_history(run.info.run_id, "train/lr") for run in runs(uri)]
    assert [len(history) for history in histories] == [2, 2, 2]


def test_a_server_that_fails_half_way_gets_each_trial_once(
    tracker: Tracker, uri: str, trials: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.tables = None
    whole, calls = tracker.client.log_batch, []

    def fails_once(*arguments: object, **named: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise ConnectionError("away")
        whole(*arguments, **named)

    monkeypatch.setattr(tracker.client, "log_batch", fails_once)
    with pytest.raises(ConnectionError):
        tracker.record(trials, None)
    tracker.record(trials, None)
    assert sorted(run.data.tags["folklore.digest"] for run in runs(uri)) == sorted(trials["digest"])
    assert {run.info.status for run in runs(uri)} == {"FINISHED"}


def test_what_a_crash_left_behind_is_closed(tracker: Tracker, uri: str, study: Study, trials: pd.DataFrame) -> None:
    alive = tracker.launch("laptop", {}, 1, {})
    dead = tracker.launch("laptop", {}, 1, {})
    tracker.client.set_tag(dead, LAUNCHER, f"{os.uname().nodename}:{2**22 + 1}")
    half = tracker.client.create_run(tracker.experiment, tags={"folklore.kind": "trial", "folklore.pack": "p1"})
    going = tracker.client.create_run(tracker.experiment, tags={"folklore.kind": "trial", PARENT: alive}).info.run_id
    tracker.close_stale()
    status = {run.info.run_id: run.info.status for run in runs(uri)}
    assert status == {alive: "RUNNING", going: "RUNNING", dead: "KILLED"}
    assert half.info.run_id not in status
    tracker.record(trials, None)
    assert len(runs(uri, "tags.`folklore.kind` = 'trial' and attributes.status = 'FINISHED'")) == 3


def test_the_check_leaves_nothing(tracker: Tracker, uri: str) -> None:
    tracker.check()
    assert runs(uri) == []


def test_another_database_is_another_mlflow(
    tracker: Tracker, study: Study, tmp_path: Path, mlflow_in: Callable[[Path], str]
) -> None:
    assert tracker.identity == Tracker(tracker.uri, study).identity
    assert Tracker(mlflow_in(tmp_path / "other"), study).identity != tracker.identity


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("http://127.0.0.1:1", "no MLflow server at http://127.0.0.1:1"),
        ("sqlite:////proc/nowhere/mlflow.db", "MLflow at sqlite:////proc/nowhere/mlflow.db: cannot be used"),
    ],
)
def test_an_mlflow_that_is_not_there_is_one_line(uri: str, said: str, study: Study) -> None:
    with pytest.raises(UserError, match=said):
        Tracker(uri, study)


def test_pages_find_the_experiment_without_mlflow(tracker: Tracker, study: Study, tmp_path: Path) -> None:
    assert experiments(tmp_path)[study.name] == tracker.experiment
    assert experiments(tmp_path / "nowhere") == {}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mlflow.db").write_bytes(b"not a database")
    assert experiments(tmp_path / "other") == {}


def test_a_place_for_files_that_refuses_keeps_no_numbers_away(
    tracker: Tracker, uri: str, trials: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise PermissionError("no such bucket")

    monkeypatch.setattr(tracker.client, "log_text", refuses)
    launch = tracker.launch("laptop", {}, len(trials), {})
    tracker.record(trials, launch)
    tracker.finish(launch, "FINISHED")
    assert {run.info.status for run in runs(uri)} == {"FINISHED"}
    assert len(runs(uri)) == 1 + len(trials)


def test_what_was_proved_and_read_stands_on_each_trial(tracker: Tracker, uri: str, trials: pd.DataFrame) -> None:
    said = {"git_commit": "abc", "proof": "proved against plain PyTorch: 8 steps", "data_read": "a.txt, " + "x" * 9_000}
    tracker.record(trials.assign(environment=json.dumps(said)), None)
    for run in runs(uri):
        assert run.data.tags["folklore.proof"] == said["proof"]
        assert run.data.tags["folklore.data_read"] == said["data_read"][:5_000]
