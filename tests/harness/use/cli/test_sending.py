"""Output of `folklore judge` that is sent on: Markdown, LaTeX, tags in MLflow, a gate for pull requests."""

import re
from pathlib import Path

import mlflow
import pytest
import yaml

from tests.command_line import folklore_here
from tests.lowest import CLAIM, TABLE


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)
    return path


def test_markdown_has_a_row_and_a_sentence_for_each_claim(table: Path) -> None:
    lines = folklore_here("judge", table, "--claim", CLAIM, "--claim", "val_loss: adamw < 'sgd'", "--format", "markdown").stdout
    rows = [line for line in lines.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1, "every row has the same cells"
    assert rows[2].startswith("| ✓ supported (firm) | val_loss: adamw \\< sgd by 1% | ")
    assert re.search(r"'adamw' is [\d.]+% \(95% CI [\d.]+–[\d.]+%\) lower|'adamw' is [\d.]+% lower \(95% CI", lines)


def test_the_gate_in_markdown_says_what_it_can_see(tmp_path: Path) -> None:
    for name, values in (("main", (3.0, 3.1, 3.2, 3.3)), ("tonight", (3.02, 3.05, 3.23, 3.31))):
        lines = "".join(f"{seed},{value}\n" for seed, value in enumerate(values))
        (tmp_path / f"{name}.csv").write_text(f"seed,val_loss\n{lines}")
    baseline = tmp_path / "baseline.csv"
    folklore_here("judge", tmp_path / "main.csv", "--save-baseline", baseline, "--metric", "val_loss")
    runs = tmp_path / "tonight.csv"
    said = folklore_here(
        "judge", runs, "--baseline", baseline, "--metric", "val_loss", "--format", "markdown", code=None
    ).stdout
    assert re.match(r"\*\*(Fine|Open)\*\*: .* False alarms: \S+; damage of twice the margin is seen \d+% of the time\.", said)


def test_latex_escapes_its_own_signs(table: Path) -> None:
    said = folklore_here("judge", table, "--claim", CLAIM, "--format", "latex").stdout
    head, row = said.splitlines()
    assert head == "% Claim & Verdict & Effect (95% CI) & p & Runs"
    assert row.startswith(r"val\_loss: adamw $<$ sgd by 1\% & supported & $-$")
    assert row.endswith(r"& 5 and 5 \\")
    assert re.search(r"(?<!\\)[%_#]", row) is None


def test_a_format_that_there_is_none_of_is_refused(table: Path) -> None:
    refused = folklore_here("judge", table, "--claim", CLAIM, "--format", "word", code=2)
    assert "must be markdown or latex" in refused.stderr


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    client = mlflow.MlflowClient(tracking_uri=uri)
    number = client.create_experiment("runs", artifact_location=str(tmp_path / "artifacts"))
    for line in TABLE.splitlines()[1:]:
        optimizer, seed, loss = line.split(",")
        run = client.create_run(number, run_name=f"{optimizer} {seed}/1").info.run_id
        client.log_param(run, "optimizer", optimizer)
        client.log_param(run, "seed", seed)
        client.log_metric(run, "val_loss", float(loss))
        client.set_terminated(run)
    return f"{tmp_path / 'mlflow.db'}#runs"


def tags_of(experiment: str) -> list[dict[str, str]]:
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{experiment.partition('#')[0]}")
    number = client.get_experiment_by_name("runs").experiment_id
    return [{k: v for k, v in run.data.tags.items() if k.startswith("folklore.")} for run in client.search_runs([number])]


def test_verdicts_go_into_mlflows_tags_and_are_no_settings_of_the_next_call(experiment: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = folklore_here(
        "judge", experiment, "--claim", CLAIM, "--claim", "val_loss: adamw < 9", "--write-back", "--page", page
    )
    assert "verdicts are in the tags of 10 runs" in said.stderr
    for tags in tags_of(experiment):
        assert tags["folklore.judged.1"].startswith("supported (firm), −")
        assert tags["folklore.judged.1"].endswith(CLAIM)
        assert tags["folklore.judged.page"] == str(page)
    again = folklore_here("judge", experiment, "--claim", CLAIM, "--write-back")
    assert "supported  firm" in again.stdout
    assert "folklore.judged" not in again.stdout
    assert all(list(tags) == ["folklore.judged"] for tags in tags_of(experiment)), "those of the earlier call are gone"


def test_a_table_has_no_place_for_verdicts(table: Path) -> None:
    refused = folklore_here("judge", table, "--claim", CLAIM, "--write-back", code=2)
    assert "into the runs of one MLflow experiment" in " ".join(refused.stderr.split())


def test_the_gate_for_pull_requests_is_ten_lines_that_run(table: Path, tmp_path: Path) -> None:
    printed = folklore_here("deploy", "github").stdout
    lines = [line for line in printed.splitlines() if not line.startswith("#")]
    assert len(lines) <= 10
    workflow = yaml.safe_load(printed)
    last = workflow["jobs"]["gate"]["steps"][-1]["run"]
    command = re.search(r"folklore (judge .*?) >>", last)
    assert command is not None
    baseline = tmp_path / "baseline.csv"
    folklore_here("judge", table, "--save-baseline", baseline, "--metric", "val_loss")
    options = command[1].replace("runs.csv", str(table)).replace("baseline.csv", str(baseline)).split()
    assert folklore_here(*options, "--metric", "val_loss").stdout.startswith("**")
