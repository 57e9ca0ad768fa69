"""Runs where other tools keep them: MLflow, Optuna, Ray Tune, and Folklore's own stores."""

import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from folklore.harness.declare import Study
from folklore.harness.elsewhere.readers import mlflow_runs, read
from folklore.harness.errors import UserError
from folklore.harness.plan.store.store import Store
from tests.harness.elsewhere.planted import told
from tests.harness.helpers import INITIAL_LOSS, changed, result, stored

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


def log_run(
    client: "MlflowClient", experiment: str, seed: int, losses: list[float], status: str = "FINISHED", first: int = 0
) -> str:
    from mlflow.entities import Metric, Param, RunTag

    run = client.create_run(experiment, run_name="adam").info.run_id
    params = [Param("seed", str(seed)), Param("loss", "mse")]
    metrics = [Metric("loss", loss, 0, first + step) for step, loss in enumerate(losses)]
    client.log_batch(run, params=params, tags=[RunTag("team", "<b>")])
    for start in range(0, len(metrics), 1000):
        client.log_batch(run, metrics=metrics[start : start + 1000])
    if status != "RUNNING":
        client.set_terminated(run, status)
    return str(run)


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory, empty_mlflow: Path) -> Path:
    """A database with three experiments: curves, final values alone, and one without runs."""
    from mlflow.tracking import MlflowClient

    path = tmp_path_factory.mktemp("tracking") / "tracking.db"
    shutil.copy(empty_mlflow, path)
    client = MlflowClient(tracking_uri=f"sqlite:///{path}")
    curves, final, _ = (client.create_experiment(name) for name in ("curves", "final values", "empty"))
    for seed in range(2):
        log_run(client, curves, seed, [4.0, 2.0 + seed, math.nan if seed else math.inf])
        log_run(client, final, seed, [2.0 + seed], first=100 * seed)
    client.log_metric(log_run(client, curves, 2, [1.0]), "accuracy", 0.5, step=7)
    log_run(client, curves, 3, [1.0], "FAILED")
    log_run(client, curves, 4, [1.0], "RUNNING")
    log_run(client, curves, 5, [])
    client.delete_run(log_run(client, curves, 6, [1.0]))
    return path


def test_histories_of_mlflow(tracking: Path) -> None:
    table = read(f"sqlite:///{tracking}#curves")
    frame = table.frame.sort_values(["seed", "step"])
    assert table.roles == {"run": "run_id", "step": "step"}
    assert frame["seed"].tolist() == [0] * 3 + [1] * 3 + [2] * 2
    assert frame["step"].tolist() == [0, 1, 2] * 2 + [0, 7]
    losses = frame["loss"].to_numpy(float, na_value=-1.0)
    assert losses[:5].tolist() == [4.0, 2.0, math.inf, 4.0, 3.0], "a database stores the largest float for infinity"
    assert math.isnan(losses[5])
    assert losses[6:].tolist() == [1.0, -1.0], "at step 7 only the accuracy was logged"
    assert set(frame["params.loss"]) == {"mse"}, "a parameter with the name of a metric is none"
    assert set(frame["team"]) == {"<b>"}
    assert frame["run_name"].nunique() == 1
    assert frame["run_id"].nunique() == 3, "runs of one name are told apart"
    assert told(table) == {"runs that did not finish": 3, "deleted runs": 1}
    assert sorted(table.problems[0].examples) == ["1 failed", "1 running", "1 without a metric"]


def test_final_values_of_mlflow_are_a_row_a_run(tracking: Path) -> None:
    """One row a run, whatever step its values were logged at."""
    table = read(f"{tracking}#final values")
    assert table.roles == {"run": "run_id"}
    assert sorted(table.frame["loss"]) == [2.0, 3.0]
    assert "step" not in table.frame


def test_an_experiment_is_found_by_each_of_its_names(tracking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(tracking)) as connection:
        ((number,),) = connection.execute("SELECT experiment_id FROM experiments WHERE name = 'final values'").fetchall()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tracking}")
    whole = read(f"sqlite:///{tracking}#final values").frame
    for source in (f"{tracking}#{number}", "mlflow:final values", f"mlflow+sqlite:///{tracking}#final values"):
        assert read(source).frame.equals(whole), source
    with pytest.raises(UserError, match=r"has 2 experiments with runs \(.*curves.*\); name one as ADDRESS#EXPERIMENT"):
        read(str(tracking))
    with pytest.raises(UserError, match=r"no experiment in .* named 'curvs': did you mean 'curves'\?"):
        read(f"{tracking}#curvs")
    with pytest.raises(UserError, match="no finished run with a metric"):
        read(f"{tracking}#empty")


def test_no_run_is_lost_between_pages(tracking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And reading changes no database."""
    before = tracking.read_bytes()
    whole = read(f"{tracking}#curves")
    monkeypatch.setattr(mlflow_runs, "PAGE", 2)
    paged = read(f"{tracking}#curves")
    assert paged.frame.equals(whole.frame)
    assert paged.problems == whole.problems
    assert tracking.read_bytes() == before


def test_no_database_is_made_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("FOLKLORE_STORE", str(tmp_path / "results"))
    for source in ("sqlite:///x.db#a", f"sqlite:///{tmp_path}/x.db#a", "optuna:x.db#a", "mlflow:a", "mlflow+sqlite:///x.db#a"):
        with pytest.raises(UserError):
            read(source)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=(tmp_path / "mlruns").as_uri())
    experiment = client.create_experiment("old")
    for seed in range(2):
        log_run(client, experiment, seed, [2.0, 1.0])
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE")
    frame = read(str(tmp_path / "mlruns")).frame.sort_values(["seed", "step"])
    assert frame[["seed", "step", "loss"]].to_numpy().tolist() == [[0, 0, 2.0], [0, 1, 1.0], [1, 0, 2.0], [1, 1, 1.0]]


@pytest.mark.slow
def test_long_histories_come_whole_from_a_server(tmp_path: Path) -> None:
    """A server gives a history of more than 25,000 values in pages."""
    from mlflow.tracking import MlflowClient

    uri, port = f"sqlite:///{tmp_path}/x.db", 5700 + os.getpid() % 200
    client = MlflowClient(tracking_uri=uri)
    log_run(client, client.create_experiment("long"), 0, [1.0 / (1 + step) for step in range(25_010)])
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri, "--port", str(port), "--workers", "1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.5)
        assert sorted(read(f"{address}#long").frame["step"]) == list(range(25_010))
    finally:
        os.killpg(server.pid, 15)
        server.wait()


@pytest.fixture
def client(tmp_path: Path, empty_mlflow: Path) -> "MlflowClient":
    from mlflow.tracking import MlflowClient

    shutil.copy(empty_mlflow, tmp_path / "tracking.db")
    return MlflowClient(tracking_uri=f"sqlite:///{tmp_path / 'tracking.db'}")


def log_points(client: "MlflowClient", experiment: str, points: list[tuple[int, int, float]], parent: str = "") -> str:
    """points: timestamp, step and value of val_loss."""
    from mlflow.entities import Metric

    tags = {"mlflow.parentRunId": parent} if parent else None
    run = client.create_run(experiment, tags=tags).info.run_id
    client.log_batch(run, metrics=[Metric("val_loss", value, time, step) for time, step, value in points])
    client.set_terminated(run)
    return str(run)


@pytest.mark.parametrize(
    ("points", "steps", "values", "says"),
    [
        ([(9, 2, 1.0), (8, 1, 3.0), (20, 1, 0.9), (21, 2, 0.5)], [1, 2, 3, 4], [3.0, 1.0, 0.9, 0.5], "runs whose steps begin"),
        ([(1, 0, 3.0), (2, 10, 2.0), (3, 20, 1.5), (4, 10, 1.9)], [0, 10], [3.0, 1.9], "runs that were resumed"),
        ([(1, 0, 3.0), (2, 10, 2.0), (2, -1, 1.5)], [0, 10, 11], [3.0, 2.0, 1.5], "runs with values at a step below 0"),
        ([(1, 0, 3.0), (2, 0, 2.0)], [0], [2.0], "runs that logged a value twice"),
    ],
)
def test_steps_of_mlflow_are_read_in_the_order_of_time(
    client: "MlflowClient", points: list[tuple[int, int, float]], steps: list[int], values: list[float], says: str
) -> None:
    log_points(client, client.create_experiment("x"), points)
    table = read(f"{client.tracking_uri}#x")
    assert table.frame["step"].tolist() == steps
    assert table.frame["val_loss"].tolist() == values
    assert [problem.what.startswith(says) for problem in table.problems] == [True]


def test_a_parent_that_holds_the_best_of_its_children_is_no_run(client: "MlflowClient") -> None:
    """Also above a parent without a metric; one whose children measure something else is a run."""
    sweep, other = client.create_experiment("sweep"), client.create_experiment("other")
    top = log_points(client, sweep, [(0, 0, 0.1)])
    middle = log_points(client, sweep, [], top)
    children = {log_points(client, sweep, [(0, 0, value)], middle) for value in (0.1, 0.2)}
    table = read(f"{client.tracking_uri}#sweep")
    assert set(table.frame["run_id"]) == children
    assert told(table) == {"parent runs that hold a metric of their children": 1}
    parent = client.create_run(other).info.run_id
    client.log_metric(parent, "accuracy", 0.5)
    client.set_terminated(parent)
    child = log_points(client, other, [(0, 0, 0.1)], parent)
    table = read(f"{client.tracking_uri}#other")
    assert set(table.frame["run_id"]) == {parent, child}
    assert not table.problems


def optimized(storage: Any, name: str = "adam", direction: str = "minimize") -> None:
    import optuna

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.suggest_categorical("schedule", ["cosine", None])
        trial.set_user_attr("accuracy", 1 - x)
        if trial.number == 3:
            raise optuna.TrialPruned
        return [x, math.inf, math.nan, x, x][trial.number]

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=storage, study_name=name, direction=direction)
    study.optimize(objective, n_trials=5)


@pytest.fixture(params=["database", "journal"])
def trials(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    if request.param == "database":
        path = tmp_path / "optuna.db"
        optimized(f"sqlite:///{path}")
    else:
        path = tmp_path / "optuna.log"
        optimized(JournalStorage(JournalFileBackend(str(path))))
    return path


def test_trials_of_optuna(trials: Path) -> None:
    before = trials.read_bytes()
    table = read(f"{trials}#adam")
    assert table.frame["number"].tolist() == [0, 1, 4]
    values = table.frame["value"].tolist()
    assert [values[0], values[2]] == [1 - accuracy for accuracy in table.frame["accuracy"][[0, 2]]]
    assert values[1] == math.inf
    assert table.roles == {"metric": "value", "run": "number"}
    assert table.tuned
    assert table.frame.attrs["direction"] == "minimize"
    assert told(table) == {"trials that are not complete": 2}
    assert sorted(table.problems[0].examples) == ["1 fail", "1 pruned"]
    assert trials.read_bytes() == before
    for source in (str(trials), f"optuna:{trials}#adam"):
        assert read(source).frame.equals(table.frame), source
    with pytest.raises(UserError, match=r"no study in .* named 'adan': did you mean 'adam'\?"):
        read(f"{trials}#adan")


def test_studies_of_optuna_are_arms_if_they_have_one_direction(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/optuna.db"
    optimized(uri)
    optimized(uri, "sgd")
    table = read(uri)
    assert table.frame["study"].tolist() == ["adam"] * 3 + ["sgd"] * 3
    assert table.roles["arm"] == "study"
    optimized(uri, "reward", "maximize")
    assert read(f"{uri}#reward").frame.attrs["direction"] == "maximize"
    with pytest.raises(UserError, match=r"3 studies of other directions .*; name one as FILE#STUDY"):
        read(uri)


def trial_of_ray(folder: Path, number: int, lr: float, losses: list[float], **files: str) -> None:
    """As Ray 2.60 writes one, but for its pickles; the slow test below has the original."""
    folder = folder / f"train_{number:05d}_{number}_lr={lr}"
    folder.mkdir(parents=True)
    config = {"lr": lr, "net": {"width": 8}, "seed": number}
    rows = [
        {"loss": loss, "training_iteration": step, "pid": number, "done": False, "config": config}
        for step, loss in enumerate(losses, 1)
    ]
    (folder / "params.json").write_text(json.dumps(config))
    (folder / "result.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)


def test_a_grid_over_seeds_tries_nothing(tmp_path: Path) -> None:
    """This holds for any grid; a configuration whose other trials failed was repeated, too."""
    for number, (lr, seed) in enumerate((lr, seed) for lr in (0.1, 0.2) for seed in range(2)):
        trial_of_ray(tmp_path, number, lr, [2.0 + seed], **({"error_txt": "killed"} if number == 3 else {}))
    table = read(str(tmp_path))
    assert table.frame["config/lr"].tolist() == [0.1, 0.1, 0.2]
    assert not table.tuned


def test_results_of_ray(tmp_path: Path) -> None:
    trial_of_ray(tmp_path / "experiment", 0, 0.1, [2.0, math.nan])
    trial_of_ray(tmp_path / "experiment", 1, 0.1, [2.0, 1.0])
    trial_of_ray(tmp_path / "experiment", 2, 0.1, [2.0], error_txt="Traceback")
    trial_of_ray(tmp_path / "experiment", 3, 0.1, [], progress_csv="")
    table = read(str(tmp_path))
    assert table.roles == {"run": "run", "step": "training_iteration"}
    assert set(table.frame) == {"run", "training_iteration", "loss", "config/lr", "config/net/width", "config/seed"}
    assert table.frame["loss"].isna().sum() == 0
    assert math.isnan(table.frame["loss"].to_numpy(float, na_value=0.0)[1]), "a nan that was reported is no blank"
    assert table.frame["run"].nunique() == 2
    assert told(table) == {"trials that ended in an error": 1, "trials without a result": 1}
    assert not table.tuned, "seeds are no hyperparameters"
    trial_of_ray(tmp_path / "experiment", 4, 0.2, [3.0])
    assert read(str(tmp_path / "experiment")).tuned


@pytest.mark.slow
def test_results_that_ray_really_writes(tmp_path: Path) -> None:
    """In a process of its own: here, a Ray that other tests share may be running."""
    code = f"""
import ray
from ray import tune
ray.init(address="local", num_cpus=1, include_dashboard=False)
def train(config):
    for step in range(3):
        tune.report({{"loss": config["lr"] * (step + 1), "nested": {{"accuracy": step}}}})
    if config["lr"] == 4:
        raise ValueError("diverged")
space = {{"lr": tune.grid_search([1, 2, 4]), "net": {{"width": 8}}}}
tune.Tuner(train, param_space=space, run_config=tune.RunConfig(storage_path={str(tmp_path)!r}, name="e")).fit()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    table = read(str(tmp_path))
    frame = table.frame.sort_values(["config/lr", "training_iteration"])
    assert frame["loss"].tolist() == [1, 2, 3, 2, 4, 6], done.stderr[-2000:]
    assert frame["nested/accuracy"].tolist() == [0, 1, 2] * 2
    assert set(frame["config/net/width"]) == {8}
    assert table.tuned
    assert told(table) == {"trials that ended in an error": 1}


def test_a_store_of_our_own(tmp_path: Path, study: Study) -> None:
    """Also beside the databases and pages that a store holds."""
    store = Store(str(tmp_path))
    stored(study, store, lambda trial: result(math.nan, divergence_step=3) if trial.seed == 0 else result(2.0 + trial.seed))
    (tmp_path / "verdicts.csv").write_text("claim,verdict\nx,open\n")
    table = read(str(tmp_path))
    assert table.roles == {"metric": "judged_loss", "arm": "arm", "seed": "seed", "run": "digest"}
    assert len(table.frame) == 2 * 5 * 5
    assert set(table.frame["arm"]) == {"none", "half"}
    assert set(table.frame["peak_lr"]) == set(study.factors["peak_lr"])
    diverged = table.frame["seed"] == 0
    assert set(table.frame.loc[diverged, "judged_loss"]) == {INITIAL_LOSS}
    assert table.frame["test_loss"].isna().sum() == 0
    assert all(math.isnan(value) for value in table.frame.loc[diverged, "test_loss"].to_numpy(float, na_value=0.0))
    assert table.tuned, "every arm was trained at several LRs"


def test_a_store_of_several_studies_and_scales_is_a_question(tmp_path: Path, study: Study) -> None:
    store = Store(str(tmp_path))
    for scale in ("laptop", "smoke"):
        stored(study, store, lambda _: result(2.0), scale)
    stored(changed(study, name="other"), store, lambda _: result(2.0))
    with pytest.raises(UserError, match=r"2 studies \(other, toy\); name one as STORE#STUDY"):
        read(str(tmp_path))
    with pytest.raises(UserError, match=r"2 scales \(laptop, smoke\); name one as STORE#STUDY@SCALE"):
        read(f"{tmp_path}#toy")
    assert set(read(f"{tmp_path}#toy@smoke").frame["scale"]) == {"smoke"}
    with pytest.raises(UserError, match=r"no study in .* named 'tor'"):
        read(f"{tmp_path}#tor")
