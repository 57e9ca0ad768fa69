"""Arms, seeds and tasks that stand in the paths of files, or that stand nowhere."""

import json
from pathlib import Path

import pandas as pd
import pytest

from folklore.harness.elsewhere.judge_runs import JudgedRuns, JudgeOptions, judge_sources
from folklore.harness.elsewhere.roles import ReadingOptions
from folklore.harness.errors import UserError
from tests.harness.elsewhere.planted import curves, finals, judged, only

MEANS = {"adam": 1.9, "sgd": 2.0}
NAMES = [
    *("{arm}/{seed}.csv", "{arm}/seed_{seed}/log.csv", "{arm}_{seed}.csv", "{arm}-seed{seed}/metrics.csv"),
    *("{arm}_seed{seed}.csv", "{arm}-s{seed}.csv", "{arm}.seed={seed}.csv"),
]


def written(folder: Path, name: str, columns: list[str]) -> Path:
    """A file a run, with these columns."""
    for (arm, seed), part in curves(MEANS, 4, range(10, 110, 10)).groupby(["arm", "seed"]):
        path = folder / name.format(arm=arm, seed=seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        part[columns].to_csv(path, index=False)
    return folder


def judge(*sources: Path, claim: str = "loss: adam < sgd", **options: object) -> JudgedRuns:
    return judge_sources([str(source) for source in sources], JudgeOptions((claim,), reading=ReadingOptions(**options)))  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", [["step", "loss"], ["loss"]])
@pytest.mark.parametrize("name", NAMES)
def test_a_file_a_run(tmp_path: Path, name: str, columns: list[str]) -> None:
    """As a folder of files, and those with steps as files named one by one, too."""
    folder = written(tmp_path, name, columns)
    for sources in ([folder], sorted(folder.rglob("*.csv")))[: len(columns)]:
        report = judge(*sources)
        assert dict(report.runs[0].final().groupby("arm").size()) == {"adam": 4, "sgd": 4}
        assert (report.claims[0].verdict, report.claims[0].findings[0].method) == ("supported", "paired by seed")


def test_lists_in_files_are_curves(tmp_path: Path) -> None:
    for (arm, seed), part in curves(MEANS, 4, range(10, 110, 10)).groupby(["arm", "seed"]):
        (tmp_path / f"{arm}_{seed}.json").write_text(
            json.dumps({"loss": list(part["loss"]), "lr": list(part["loss"]), "betas": [0.9, 0.99]})
        )
    assert len(judge(tmp_path).runs[0].final()) == 8


def test_files_of_one_seed_inside_are_curves(tmp_path: Path) -> None:
    for (arm, seed), part in curves(MEANS, 4, range(10, 210, 10)).groupby(["arm", "seed"]):
        record = {"optimizer": arm, "random_seed": int(seed), "batch_losses": [1.0] * 99, "accs": [1.0] * 20}
        (tmp_path / f"{arm}{seed}-2024.json").write_text(json.dumps({**record, "test_losses": list(part["loss"])}))
    report = judge(tmp_path, claim="test_losses: adam < sgd")
    assert len(report.runs[0].final()) == 8
    assert report.runs[0].better == "lower"


def of_games(folder: Path) -> Path:
    """Arms are folders, games files, and seeds stand in them."""
    for game in ("pong", "chess"):
        for arm, part in finals(MEANS, 4).groupby("arm"):
            path = folder / str(arm) / f"{game}.csv"
            path.parent.mkdir(exist_ok=True)
            part[["seed", "loss"]].to_csv(path, index=False)
    return folder


def test_a_file_a_task(tmp_path: Path) -> None:
    folder = of_games(tmp_path)
    for sources in ([folder], [folder / "adam", folder / "sgd"]):
        assert {part.name for part in judge(*sources).claims[0].findings} == {"pong", "chess"}


def test_files_of_one_name_are_called_by_their_folders(tmp_path: Path) -> None:
    folder = of_games(tmp_path)
    assert judge(folder / "adam" / "pong.csv", folder / "sgd" / "pong.csv").claims[0].verdict == "supported"


def test_a_folder_a_task_and_a_seed(tmp_path: Path) -> None:
    for game in ("pong", "chess"):
        written(tmp_path, "{arm}/study_{seed}/" + game + "/log.csv", ["step", "loss"])
    assert {part.name: part.runs for part in judge(tmp_path).claims[0].findings} == {"pong": (4, 4), "chess": (4, 4)}


def test_settings_in_yaml(tmp_path: Path) -> None:
    for number, ((arm, seed), part) in enumerate(curves(MEANS, 4, range(10, 110, 10)).groupby(["arm", "seed"])):
        folder = tmp_path / f"job{number}"
        folder.mkdir()
        (folder / "config.yaml").write_text(f"optimizer: {{name: {arm}}}\nseed: {seed}\n")
        part[["step", "loss"]].to_csv(folder / "log.csv", index=False)
    assert judge(tmp_path).runs[0].roles["arm"] == "optimizer.name"


@pytest.mark.parametrize("curve", [True, False])
def test_lists_in_records_are_curves_but_for_hyperparameters(tmp_path: Path, curve: bool) -> None:
    records = []
    for row in finals(MEANS, 4).itertuples():
        lists = {"step": [1, 2], "loss": [3.0, row.loss]} if curve else {"betas": [0.9, 0.99], "loss": row.loss}
        records.append({"method": row.arm, "seed": row.seed, **lists})
    (tmp_path / "runs.json").write_text(json.dumps(records))
    report = judge(tmp_path / "runs.json")
    assert report.claims[0].findings[0].runs == (4, 4)
    assert len(report.runs[0].final()) == 8


def test_lines_of_comments_before_the_header(tmp_path: Path) -> None:
    path = tmp_path / "monitor.csv"
    path.write_text('#{"t_start": 1.5, "env_id": "Pong"}\n' + finals(MEANS, 4).to_csv(index=False))
    assert judge(path).claims[0].findings[0].runs == (4, 4)


def test_where_arms_stand_that_are_not_in_one_column(tmp_path: Path) -> None:
    frame = finals(MEANS, 4).rename(columns={"arm": "recipe"})
    with pytest.raises(UserError, match="'adam' stands in recipe; 'lion' stands in no column"):
        judged(frame, tmp_path, "loss: adam < lion")
    with pytest.raises(UserError, match="'adam' stands in recipe; 'sgd' stands in recipe"):
        judged(frame, tmp_path, "loss: Adam < SGD")


def test_numbers_as_arms_are_the_same_however_they_are_spelled(tmp_path: Path) -> None:
    frame = finals({"0.001": 1.9, "0.01": 2.0}, 4).rename(columns={"arm": "lr"})
    assert only(frame, tmp_path, "loss: '1e-3' < '1e-2'").verdict == "supported"


def test_rows_of_the_claimed_metric_in_a_long_table(tmp_path: Path) -> None:
    frame = finals(MEANS, 4).melt(["arm", "seed"], ["loss"], "metric")
    other = frame.assign(metric="accuracy", value=1 - frame["value"])
    assert only(pd.concat([frame, other]), tmp_path, "loss: adam < sgd").findings[0].runs == (4, 4)


def test_the_spread_of_a_mean_is_no_metric(tmp_path: Path) -> None:
    frame = finals(MEANS, 4).rename(columns={"loss": "loss_mean"}).assign(loss_std=0.1)
    assert judged(frame, tmp_path, "loss: adam < sgd").runs[0].roles["metric"] == "loss_mean"


def test_a_task_without_a_base_for_percentages_does_not_count(tmp_path: Path) -> None:
    frame = pd.concat([finals(MEANS, 4).assign(task="x"), finals({"adam": 0.0, "sgd": 0.0}, 4).assign(task="y")])
    verdict = only(frame, tmp_path, "loss: adam < sgd by 1%")
    assert verdict.verdict == "supported"
    assert any("too near zero" in note for note in verdict.notes)
