"""Series in MLflow: what was measured, at its update."""

from collections.abc import Callable
from pathlib import Path

import mlflow
import pytest

from folklore.harness import Watch
from folklore.harness.errors import UserError
from tests.harness.elsewhere.watch.helpers import adamw, mlp, train


@pytest.fixture(autouse=True)
def tracking(tmp_path: Path, mlflow_in: Callable[[Path], str]) -> None:
    mlflow.set_tracking_uri(mlflow_in(tmp_path))
    mlflow.set_experiment("watched")


def test_rows_of_the_active_run() -> None:
    model = mlp()
    optimizer = adamw(model.parameters())
    with mlflow.start_run() as run, Watch(model, optimizer, every=1, mlflow=True) as watch:
        train(model, optimizer, 25, watch)
    client = mlflow.MlflowClient()
    losses = client.get_metric_history(run.info.run_id, "watch/loss")
    assert [row.step for row in losses] == [*range(1, 26)]
    assert losses[-1].value == watch.report().spans["loss"].last
    names = set(client.get_run(run.info.run_id).data.metrics)
    assert {"watch/gradient_norm", "watch/update_ratio", "watch/update_ratio/2", "watch/gradient_norm/4"} <= names
    assert {"watch/silent_units/relu after 0"} <= names


def test_a_run_by_its_id_and_batches_beyond_mlflows_limit() -> None:
    run_id = mlflow.MlflowClient().create_run(mlflow.get_experiment_by_name("watched").experiment_id).info.run_id
    model = mlp()
    optimizer = adamw(model.parameters())
    with Watch(model, optimizer, every=1, mlflow=run_id) as watch:
        train(model, optimizer, 120, watch)
    assert len(mlflow.MlflowClient().get_metric_history(run_id, "watch/loss")) == 120


def test_no_active_run_is_an_error_in_one_line() -> None:
    model = mlp()
    with pytest.raises(UserError, match="no MLflow run is active"):
        Watch(model, adamw(model.parameters()), mlflow=True)
