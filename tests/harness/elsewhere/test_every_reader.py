"""Simulated runs: every reader hands on the same ones."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from folklore.harness.elsewhere.claims import read_claim
from folklore.harness.elsewhere.comparing import Assumptions
from folklore.harness.elsewhere.judge_runs import JudgeOptions, corrected, judge_claim, judge_sources
from folklore.harness.elsewhere.roles import ReadingOptions
from folklore.harness.randomness import numpy_generator
from tests.calibration.run_worlds import Arms, runs_from
from tests.harness.elsewhere.planted import numbers

CLAIMS = ("loss: b < a", "loss: b < a by 1%", "loss: b <= a within 0.5", "loss: b = a within 1%", "loss: b < 99.5")
STEPS = (5, 10)


def world(diverging: float) -> pd.DataFrame:
    """arm, seed, loss; of numbers that 32 bits hold, as TensorBoard's do."""
    frame = Arms((7, 8), shared=0.9, diverging=diverging)(numpy_generator(0, "files", 0), (-0.8,)).frame
    return frame[["arm", "seed"]].assign(loss=frame["value"].to_numpy(np.float32).astype(float))


def steps_of(loss: float) -> list[tuple[int, float]]:
    """A run that begins with no worse a value than any ends with: a diverged one counts with the worst of both."""
    return [(STEPS[0], 90.0), (STEPS[1], loss)]


def csv(frame: pd.DataFrame, folder: Path) -> str:
    frame.to_csv(folder / "runs.csv", index=False, na_rep="nan")
    return str(folder / "runs.csv")


def json_lines(frame: pd.DataFrame, folder: Path) -> str:
    (folder / "runs.jsonl").write_text("\n".join(map(json.dumps, frame.to_dict("records"))))
    return str(folder / "runs.jsonl")


def parquet(frame: pd.DataFrame, folder: Path) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"arm": pa.array(frame["arm"].tolist()), "seed": pa.array(frame["seed"].tolist())}
    loss = pa.array(frame["loss"].tolist(), from_pandas=False)
    pq.write_table(pa.table({**columns, "loss": loss}), folder / "runs.parquet")
    return str(folder / "runs.parquet")


def wandb(frame: pd.DataFrame, folder: Path) -> str:
    runs = [
        {"name": f"{row.arm}-{row.seed}", "state": "finished", "config": {"arm": row.arm, "seed": row.seed},
         "summary": {"loss": row.loss, "_step": 9}}
        for row in frame.itertuples()
    ]  # fmt: skip
    (folder / "runs.json").write_text(json.dumps(runs))
    return str(folder / "runs.json")


def in_folders(write: Callable[[Path, "pd.Series[float]"], None]) -> Callable[[pd.DataFrame, Path], str]:
    """A folder for each run, named after its arm and seed."""

    def written(frame: pd.DataFrame, folder: Path) -> str:
        for _, row in frame.iterrows():
            place = folder / f"{row['arm']}-seed{row['seed']}"
            place.mkdir()
            write(place, row)
        return str(folder)

    return written


def trainer_state(place: Path, row: "pd.Series[float]") -> None:
    log = [{"step": step, "loss": loss} for step, loss in steps_of(row["loss"])]
    (place / "trainer_state.json").write_text(json.dumps({"global_step": STEPS[1], "log_history": log}))


def lightning(place: Path, row: "pd.Series[float]") -> None:
    lines = [f"0,{step},{loss!r}" for step, loss in steps_of(float(row["loss"]))]
    (place / "metrics.csv").write_text("\n".join(["epoch,step,loss", *lines, ""]))


def tensorboard(place: Path, row: "pd.Series[float]") -> None:
    pytest.importorskip("tbparse")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(place)) as writer:
        for step, loss in steps_of(row["loss"]):
            writer.add_scalar("loss", loss, step)


def ray_tune(place: Path, row: "pd.Series[float]") -> None:
    rows = [{"training_iteration": step, "loss": loss} for step, loss in steps_of(row["loss"])]
    (place / "params.json").write_text(json.dumps({"arm": row["arm"], "seed": int(row["seed"])}))
    (place / "result.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def mlflow(frame: pd.DataFrame, folder: Path) -> str:
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db")
    experiment = client.create_experiment("runs")
    for row in frame.itertuples():
        run = client.create_run(experiment).info.run_id
        metrics = [Metric("loss", loss, 0, step) for step, loss in steps_of(float(row.loss))]  # type: ignore[arg-type]
        client.log_batch(run, metrics, [Param("arm", str(row.arm)), Param("seed", str(row.seed))])
        client.set_terminated(run)
    return f"sqlite:///{folder}/mlflow.db"


def optuna(frame: pd.DataFrame, folder: Path) -> str:
    import optuna as of_optuna

    storage = f"sqlite:///{folder}/optuna.db"
    for arm, part in frame.groupby("arm", sort=False):
        study = of_optuna.create_study(storage=storage, study_name=str(arm))
        for row in part.itertuples():
            study.add_trial(of_optuna.trial.create_trial(value=float(row.loss), user_attrs={"seed": row.seed}))  # type: ignore[arg-type]
    return f"{folder}/optuna.db"


WRITERS = {
    "CSV": csv, "JSON lines": json_lines, "Parquet": parquet, "W&B": wandb, "Hugging Face": in_folders(trainer_state),
    "Lightning": in_folders(lightning), "TensorBoard": in_folders(tensorboard), "Ray Tune": in_folders(ray_tune),
    "MLflow": mlflow, "Optuna": optuna,
}  # fmt: skip


@pytest.mark.parametrize("kind", WRITERS)
def test_every_reader_hands_on_the_same_runs(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """Runs that share seeds and partly diverge; Optuna counts trials without a finite loss as failed."""
    if kind == "MLflow":
        request.getfixturevalue("mlflow_in")(tmp_path)
    frame = world(0.0 if kind == "Optuna" else 0.2)
    assert frame["loss"].isna().any() == (kind != "Optuna")
    reading = ReadingOptions({"metric": "value"} if kind == "Optuna" else {}, tuned=False)
    claims = [claim.replace("loss", "value") if kind == "Optuna" else claim for claim in CLAIMS]
    verdicts = judge_sources([WRITERS[kind](frame, tmp_path)], JudgeOptions(tuple(claims), reading=reading)).claims
    runs = runs_from(frame.rename(columns={"loss": "value"}).assign(task=""))
    expected = corrected([judge_claim(runs, read_claim(claim), Assumptions()) for claim in CLAIMS])
    for judged, direct in zip(verdicts, expected, strict=True):
        assert numbers(judged) == numbers(direct), direct.claim.text
