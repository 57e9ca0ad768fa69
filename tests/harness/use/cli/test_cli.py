"""Bad input ends in one line and exit code 2, before anything is trained or written."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from folklore.harness.declare import Study
from folklore.harness.judge import verdict_memory
from folklore.harness.plan.catalog import load_study, study_names
from folklore.harness.plan.plan import make_plan
from folklore.harness.plan.store import evidence
from folklore.harness.plan.store.ledger import Ledger
from folklore.harness.plan.store.store import Store
from folklore.harness.train.machine import description
from folklore.harness.train.workloads import data
from folklore.harness.use.cli import app, doctor, run
from tests.command_line import HANG_SECONDS
from tests.harness.helpers import planned, result, rows, stored
from tests.harness.use.cli.test_doctor import FACTS

CLI = CliRunner()


def call(*arguments: str) -> Result:
    return CLI.invoke(app, list(arguments))


def assert_refused(result: Result, message: str) -> None:
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.fixture
def study_file(study: Study, tmp_path: Path) -> Path:
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump(json.loads(study.canonical_json())))
    return path


def test_a_declaration_adds_no_seeds_by_itself(study: Study, tmp_path: Path) -> None:
    """Further seeds are a run's: from a file they would let anyone look again at the full error rate."""
    scales = json.loads(study.canonical_json())["scales"]
    scales["laptop"]["more_seeds"] = 7
    assert_refused(call("run", edited(study, tmp_path, scales=scales)), "more_seeds = 7: there is no such field")


def edited(study: Study, tmp_path: Path, **fields: object) -> str:
    path = tmp_path / "edited.json"
    path.write_text(json.dumps({**json.loads(study.canonical_json()), **fields}))
    return str(path)


def test_a_campaign_is_of_ladders_or_of_all_other_studies() -> None:
    """At a scale that both kinds have."""
    others, ladders = (
        {study.name: study.ladder for study in run._chosen(None, not of_ladders, of_ladders, "laptop", "results", True)}
        for of_ladders in (False, True)
    )
    assert others.keys() | ladders.keys() == set(study_names())
    assert all(ladders.values())
    assert not any(others.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", "warmpu"), "no study named 'warmpu': did you mean 'warmup'?"),
        (("plan", "warmup", "--scale", "labtop"), "did you mean 'laptop'?"),
        (
            ("run", "warmup", "--scale", "workstation"),
            "no scale of study 'warmup' named 'workstation': known: cluster, gpu, laptop, smoke",
        ),
        (("run", "--all", "--scale", "labtop"), "did you mean 'laptop'?"),
        (("run", "warmup", "--scale", "smoke", "--store", "/proc/nowhere"), "cannot be written"),
        (("run", "warmup", "--scale", "gpu"), "precision tf32 needs a CUDA GPU"),
        (("run", "warmup", "--scale", "smoke", "--data", "python-docs=text:/no/such"), "no such file or folder"),
        (("plan", "warmup", "--data", "python-docs"), "write it as NAME=DATASET"),
        (("plan", "missing.yaml"), "cannot be read"),
        (("plan", "warmup", "--data", "pythn-docs=text:x"), "did you mean 'python-docs'?"),
        (("plan", "warmup", "--lanes", "0"), "--lanes 0: must be at least 1"),
        (("plan", "warmup", "--store", ""), "name a folder"),
        (("run",), "name one study, or give --all or --ladders"),
        (("run", "--all", "--ladders"), "name one study, or give --all or --ladders"),
        (("run", "warmup", "--budget", "soon"), "--budget soon: give a time such as 90s, 9m or 2h"),
        (("run", "warmup", "--most-seeds", "9"), "--most-seeds says where --until-decided ends"),
        # All studies are planned before one is refused.
        pytest.param(
            ("run", "--all", "--scale", "smoke", "--data", "pythn-docs=text:x"),
            "did you mean 'python-docs'?",
            marks=pytest.mark.slow,
        ),
        (("run", "warmup", "--scale", "smoke", "--program", "fast"), "program 'fast' is not known"),
        (("run", "warmup", "--scale", "smoke", "--program", "captured"), "program 'captured' needs a CUDA GPU"),
        (("verdicts", "--store", "/etc/passwd"), "is a file"),
        (("report", "--output", "/etc/passwd"), "pages /etc/passwd: cannot be written"),
        (("site", "/etc/passwd", "--site-url", "example.org"), "--site-url example.org: must be where the pages will be"),
        *(((name, "--store", "/tmp/folklore-nothing-here"), "no such folder") for name in ("report", "sync")),
        (
            ("run", "warmup", "--set", "peek_lr=1"),
            "no factor or field of study 'warmup' named 'peek_lr': did you mean 'peak_lr'?",
        ),
        (("run", "warmup", "--scale", "smoke", "--only", "nun"), "named 'nun': did you mean 'none'?"),
        (("run", "warmup", "--seeds", "0"), "--seeds 0: must be at least 1"),
        (("run", "--all", "--seeds", "3"), "leave --all, --ladders and --until-decided out"),
        (("run", "warmup_varied_01234567"), "no study named 'warmup_varied_01234567'"),
        (("publish", "warmup_varied_01234567"), "is a variation, and evidence is of declared studies"),
        (("publish", "warmup", "--as-is", " "), "--as-is ' ': name the study, and say in words why"),
        (("publish", "--as-is", "it is old"), "--as-is 'it is old': name the study"),
        (("schema", "evnts"), "did you mean 'events'?"),
        (("schema", "events", "--explain"), "leave --explain out"),
        (("schema", "--explain", "max_trainabel"), "did you mean 'max_trainable'?"),
        (("deploy", "kubray"), "did you mean 'kuberay'?"),
        (("run", "--all", "--workload", "my_module:workload"), "name it, and leave --all and --ladders out"),
        (("budget", "gtp"), "no model named 'gtp': did you mean 'gpt'?"),
        (("budget", "gpt", "--memory", "much"), "--memory much: give a number of GiB, such as 24 or 79.6"),
        (("budget", "gpt", "--heads", "3"), "heads = 3: must divide width = 256"),
        (("budget", "gpt", "--precision", "fp31"), "no number format named 'fp31': did you mean 'fp32'?"),
        (("budget", "nothing_there:x"), "there is no module 'nothing_there'"),
        (("publish", "warmup", "--scale", "cluster", "--store", "/tmp/folklore-nothing-here"), "has no stored trials"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(call(*arguments), message)
    assert not list(tmp_path.rglob("*.parquet"))


def test_trials_are_published_from_known_sources_or_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before a file is written; the reason goes beside the trials."""
    study, store, published = load_study("memory"), tmp_path / "store", tmp_path / "evidence"
    stored(study, Store(str(store)), lambda _: result(2.0))
    published.mkdir()
    monkeypatch.setattr(evidence, "FOLDER", published)
    monkeypatch.setattr(verdict_memory, "publish_verdicts", lambda studies: (published, []))
    command = ("publish", "memory", "--scale", "laptop", "--store", str(store))
    assert_refused(call(*command), "trials name no commit (train them from a git clone)")
    assert not list(published.iterdir())
    done = call(*command, "--as-is", "made up")
    assert done.exit_code == 0, done.stderr
    assert (check := evidence.source_check("memory", "laptop", "cpu")) is not None
    assert check.as_is == "made up"
    assert f"the store holds no declaration {study.hash}" in check.found


def test_an_unreachable_ray_stops_a_run_at_once(study_file: Path, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "store"))
    assert_refused(call("run", str(study_file), *store, "--address", "127.0.0.1:1"), "no Ray cluster")
    written = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not written, "nothing half-written"


def test_too_little_memory(study_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folklore.harness.plan.prepare.worker_memory_bytes", lambda _: 1000)
    assert_refused(call("run", str(study_file), "--store", str(tmp_path / "s")), "GiB free for")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"training": {"peak_lr": -1}}, "training.peak_lr = -1: must be greater than 0"),
        ({"sedes": 3}, "sedes = 3: there is no such field"),
        ({"seeds": 2}, "needs at least 5 paired seeds"),
        ({"factors": {"peak_lr": ["1e-3", "1e-2", "1e-1"]}}, "must be a number (YAML reads 1e-3 as text"),
        ({"factors": {"peak_lr": []}}, "needs at least 3 values"),
        ({"factors": {"peak_lr": [0.1, 0.2, 0.4], "beta1": [0.8, 0.9]}}, "make an arm of each beta1"),
        ({"judgements": [], "factors": {"peak_lr": []}}, "the grid is empty"),
        ({"training": {"schedule": "warmup_stable_decay", "decay_fraction": 0.75, "steps": 4}}, "decay_fraction = 0.75: with"),
        (
            {
                "training": {"steps": 4},
                "arms": {"half": {"label": "h", "settings": {"warmup_fraction": 0.9}}, "none": {"label": "n"}},
            },
            "warmup_fraction = 0.9: leaves no step of 4 after warmup",
        ),
        ({"workload": {"dataset": "digits"}}, "gpt takes text, the others examples"),
        ({"factors": {"peak_lr": [0.1]}}, "widen the grid"),
    ],
)
def test_an_invalid_study_file(study: Study, tmp_path: Path, fields: dict[str, object], message: str) -> None:
    assert_refused(call("plan", edited(study, tmp_path, **fields)), message)


SGD_ON_DIGITS = """
name: brief
version: 1
title: t
question: q
workload: {model: mlp, dataset: digits, width: 16, depth: 1}
training: {optimizer: sgd, schedule: constant, batch_size: 32}
arms:
  plain: {label: plain}
  heavy: {label: heavy, settings: {momentum: 0.5, warmup_fraction: 0.0}}
factors: {peak_lr: [0.25, 0.5, 1.0]}
seeds: 1
scales: {laptop: {description: d, training: {steps: 5}, judged: false}}
"""


def test_what_a_file_leaves_to_defaults_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "brief.yaml").write_text(SGD_ON_DIGITS)
    result = call("plan", str(tmp_path / "brief.yaml"), "--store", str(tmp_path / "s"))
    assert result.exit_code == 0, result.output
    line = (
        f"{tmp_path / 'brief.yaml'} leaves to the defaults of training: warmup_fraction: 0.05, momentum: 0.9, weight_decay: 0.1"
    )
    assert result.stderr.splitlines() == [line]


def test_a_file_that_states_what_shapes_it_is_told_nothing(study_file: Path, tmp_path: Path) -> None:
    assert not call("plan", str(study_file), "--store", str(tmp_path / "s")).stderr


def test_a_file_that_is_not_yaml(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: [1")
    assert_refused(call("plan", str(tmp_path / "broken.yaml")), "not valid yaml")


def test_plan_as_json(study_file: Path, tmp_path: Path) -> None:
    facts = json.loads(call("plan", str(study_file), "--json", "--store", str(tmp_path / "s")).stdout)
    assert (facts["trials"], facts["trials_left"], facts["seeds"]) == (50, 50, 5)
    assert facts["seconds"] > 0
    assert not (tmp_path / "s").exists(), "planning writes nothing"


def test_a_variation_is_planned_before_it_is_run(tmp_path: Path) -> None:
    wish = ("--set", "peak_lr=0.01,0.02,0.04", "--seeds", "5", "--only", "none", "--only", "warmup_20%")
    facts = json.loads(call("plan", "warmup", *wish, "--scale", "laptop", "--json", "--store", str(tmp_path / "s")).stdout)
    assert re.fullmatch(r"warmup_varied_[0-9a-f]{8}", facts["study"])
    assert (facts["trials"], facts["arms"], facts["seeds"]) == (2 * 3 * 5, 2, 5)
    assert facts["recipe"]["peak LR"] == "0.01, 0.02, 0.04"


@pytest.mark.parametrize("scale", ["gpu", "cluster"])
def test_large_scales_are_planned_without_their_hardware_or_data(scale: str) -> None:
    facts = json.loads(call("plan", "warmup", "--scale", scale, "--json").stdout)
    assert facts["trials"] > 100
    assert "GPU" in facts["device"] or "NVIDIA" in facts["device"]
    assert facts["memory_gib"] > 1


def test_the_plan_subtracts_what_is_done(study: Study, study_file: Path, tmp_path: Path) -> None:
    plan = make_plan(study, "laptop", description.local_device().kind, data.load("python-docs").facts.hash, 16)
    ledger = Ledger(Store(str(tmp_path / "s")), "toy")
    ledger.write("x", rows(study, plan.trials[:20], lambda _: result(2.0)))
    facts = json.loads(call("plan", str(study_file), "--json", "--store", str(tmp_path / "s")).stdout)
    assert facts["trials_left"] == 30
    assert "measured" in facts["time_from"]


def test_verdicts_as_json(study: Study, study_file: Path, tmp_path: Path) -> None:
    ledger = Ledger(Store(str(tmp_path / "s")), "toy")
    for pack in planned(study).packs:
        ledger.write(
            pack.key, rows(study, pack.trials, lambda trial: result(2.0 + abs(trial.point["peak_lr"] - 2**-7)), pack.key)
        )
    verdicts = json.loads(call("verdicts", str(study_file), "--json", "--store", str(tmp_path / "s")).stdout)
    assert [set(row) for row in verdicts] == [
        {"study", "claim", "scale", "device", "verdict", "estimate", "low", "high", "seeds", "trials", "reason"}
        | {"reading", "answer", "advice", "p", "direction", "cautions", "panels", "surprise", "after_the_fact", "withdrawn"}
        | {"declared_otherwise", "unit", "below_size", "new", "rule_change", "so_far"}
    ]


def test_list_and_schema() -> None:
    listed = json.loads(call("list", "--json").stdout)
    assert {"study", "name", "variation_of", "judges", "registered", "scales", "trials", "question"} == set(listed[0])
    schema = json.loads(call("schema").stdout)
    assert (schema["title"], schema["additionalProperties"]) == ("Study", False)
    assert "MaxTrainable" in schema["$defs"]
    assert json.loads(call("schema", "events").stdout)["finished"]["seconds"]
    assert {"column", "unit", "description"} == set(json.loads(call("schema", "trials").stdout)[0])
    assert call("schema", "--explain", "max_trainable").stdout.startswith("## max_trainable")


def test_the_version_and_short_help() -> None:
    assert re.fullmatch(r"folklore \d+\.\d+\.\d+\n", call("--version").stdout)
    assert "Usage" in call("plan", "-h").stdout


COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples_that_can_be_typed(command: str) -> None:
    result = call(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output
    assert "Examples" in result.output
    lines = re.findall(r"\$ (.+)", COMMANDS[command].epilog.replace("\\[", "["))
    assert lines
    for line in lines:
        words = shlex.split(re.split(r" {3}# | [|>] ", line)[0])
        assert words[:2] == ["folklore", command], line
        COMMANDS[command].make_context(command, words[2:])  # raises for what it does not know


def completed(line: str) -> list[str]:
    """Completions that the shell is offered after the line."""
    variables = {"_FOLKLORE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    return CLI.invoke(app, [], prog_name="folklore", env=variables).stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("folklore ve", {"verdicts"}),
        ("folklore run wa", {"warmup", "warmup_divergence", "warmup_duration", "warmup_ladder"}),
        ("folklore run warmup --scale ", {"smoke", "laptop", "gpu", "cluster"}),
        ("folklore run warmup --only sgd_", {"sgd_warmup_20%"}),
        ("folklore run warmup --set peak", {"peak_lr="}),
        ("folklore why warmup.wid", {"warmup.widens"}),
        ("folklore deploy s", {"slurm"}),
        ("folklore verdicts --scale lap", {"laptop"}),
        ("folklore run no-such-study --only ", set()),
    ],
)
def test_the_shell_completes_names(line: str, offered: set[str]) -> None:
    assert set(completed(line)) == offered


def test_completion_can_be_installed() -> None:
    """Through the program's own entrance, as a user's shell asks for it."""
    code = (
        "import sys; sys.argv = ['folklore', '--show-completion', 'bash']; from folklore.harness.__main__ import main; main()"
    )
    variables = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=HANG_SECONDS, env=variables)
    assert "_FOLKLORE_COMPLETE=complete_bash" in shown.stdout, shown.stderr


def test_the_doctor_finds_a_broken_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlflow_in: Callable[[Path], str]
) -> None:
    mlflow_in(tmp_path / "s")
    # What the processes beside it say of libraries is the same for every store: test_doctor.py.
    monkeypatch.setattr(doctor, "WITH_TORCH", f"print({json.dumps(FACTS)!r})")
    monkeypatch.setattr(doctor, "WITH_RAY", """print('{"version": "2.54"}')""")
    fine = call("doctor", "--store", str(tmp_path / "s"))
    assert fine.exit_code == 0, fine.output
    broken = call("doctor", "--store", "/proc/nowhere", "--json")
    assert broken.exit_code == 1
    assert {check["check"] for check in json.loads(broken.stdout) if check["ok"] == "NO"} == {"store"}
    mistyped = call("doctor", "--store", str(tmp_path / "typo"))
    assert mistyped.stdout.count("which is not there yet: a run makes it") == 2
    assert not (tmp_path / "typo").exists(), "it is only looked at"


def test_a_run_says_at_once_what_it_does(tmp_path: Path) -> None:
    result = call("run", "warmpu", "--store", str(tmp_path / "s"))
    assert_refused(result, "did you mean 'warmup'?")
    assert result.stdout == "planning warmpu\n"


@pytest.mark.slow
def test_a_memory_budget() -> None:
    small = ["gpt", "--width", "16", "--depth", "4", "--heads", "2", "--context", "8", "--vocabulary", "20"]
    printed = CLI.invoke(app, ["budget", *small, "--memory", "1"]).stdout
    assert "adamw keeps 2 numbers a weight" in printed
    assert re.search(r"a batch of [\d,]+ fits in 1 GiB", printed)
    assert re.search(r"in [24] segments of its 4 blocks", printed)
    facts = json.loads(CLI.invoke(app, ["budget", *small, "--memory", "1", "--optimizer", "sgd", "--json"]).stdout)
    assert facts["weights_bytes"] == facts["gradients_bytes"] == facts["optimizer_state_bytes"] == 4 * facts["parameters"]
    assert facts["recomputed"]["activations_bytes"] < facts["activations_bytes"]
    assert facts["largest_batch"] > 1000
    none = CLI.invoke(app, ["budget", *small, "--memory", "0.00001"]).stdout
    assert "1e-05 GiB do not hold a batch of 1" in none
