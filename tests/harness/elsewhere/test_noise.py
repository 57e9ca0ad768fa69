"""`folklore noise`: commands that are run for several seeds, and runs that are there already."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from folklore.harness.elsewhere.noise import Difference, noise_of, parse_difference
from folklore.harness.elsewhere.outcome_file import default_path
from folklore.harness.elsewhere.repeating import environments
from folklore.harness.elsewhere.run_metric import Curve, Logged, logged_metric, printed_metric, written_metric
from folklore.harness.errors import UserError
from tests.command_line import FOLKLORE, HANG_SECONDS, folklore_here
from tests.places import SHARED

RUNS = SHARED / "runs"
# Its loss depends on the seed alone; what else it does stands in its second argument.
TRAIN = """
import json, os, random, subprocess, sys, time
seed, what = int(sys.argv[1]), sys.argv[2]
open("started", "a").write(f"{seed}\\n")
rest = random.Random() if what == "nondeterministic" else random.Random(0 if what == "ignores" else seed)
if what == "fails" and seed == 1:
    print("so far so good", flush=True)
    sys.exit("out of luck")
if what == "hangs" and seed >= 1:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    open(f"child{seed}.part", "w").write(str(child.pid))
    os.rename(f"child{seed}.part", f"child{seed}")
    time.sleep(600)
for step in (10, 20, 30):
    loss = 3.0 + 1 / step + rest.gauss(0, 0.01)
    if what == "diverges" and seed == 2:
        loss = float("nan")
    print(f"step {step}: train loss 1.0, val_loss {loss:.5f}", file=sys.stderr if what == "logs" else sys.stdout)
if what == "writes":
    open(f"out-{seed}.json", "w").write(json.dumps({"eval": {"n": 1}, "loss": loss}))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def command(what: str = "trains") -> list[object]:
    return ["--", sys.executable, "train.py", "{seed}", what]


def noise(*arguments: object, code: int = 0) -> dict[str, Any]:
    """Its answer as JSON, parsed."""
    report: dict[str, Any] = json.loads(folklore_here("noise", "--json", *arguments, code=code).stdout)
    return report


def started() -> list[int]:
    return [int(line) for line in Path("started").read_text().split()] if Path("started").exists() else []


def test_a_command_is_run_for_each_seed_and_only_once() -> None:
    report = noise("--seeds", 4, *command())
    values = [outcome["value"] for outcome in report["outcomes"] if not outcome["again"]]
    assert [outcome["seed"] for outcome in report["outcomes"]] == [0, 1, 2, 3, 0]
    assert report["standard_deviation"] == pytest.approx(np.std(values, ddof=1))
    assert report["mean"] == pytest.approx(np.mean(values))
    assert [point["step"] for point in report["curve"]] == [10, 20, 30]
    assert report["repeat"]["same"]
    assert report["visible"][0]["difference"] == pytest.approx(report["standard_deviation"] * 2**0.5 * 4.2559, rel=1e-4)
    assert sorted(started()) == [0, 0, 1, 2, 3]
    assert noise("--seeds", 4, *command()) == report
    assert len(started()) == 5
    more = noise("--seeds", 6, *command())
    assert sorted(started()[5:]) == [4, 5]
    assert more["runs"] == 6


def test_people_get_the_answer_first() -> None:
    said = folklore_here("noise", "--seeds", 3, "--difference", "50%@3", "--difference", 0.0001, *command()).stdout
    first = said.splitlines()[0]
    assert first.startswith("Runs differ by 0.0")
    assert " (95% CI 0.0" in first
    assert " from the seed alone; one run against one shows nothing below 0." in first
    assert "both times: the same seed, the same result" in said
    for name, verdict in (("50% ", "beyond the noise"), ("0.0001 ", "within the noise")):
        assert next(line for line in said.splitlines() if line.startswith(name) and "p =" in line).endswith(verdict)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--", sys.executable, "train.py"], "holds no {seed}"),
        (["--", "pyton", "train.py", "{seed}"], "no program named 'pyton'"),
        (["python3", "train.py", "--seed", "{seed}"], "write -- before the command"),
        (["--seeds", 1, *command()], "one run shows no noise"),
        (["--pattern", "loss", *command()], "needs one group"),
        (["--pattern", "(loss", *command()], "is no regular expression"),
        (["--file", "out.json", *command()], "holds no {seed}, and all runs would write the same file"),
        (["--file", "{seed}", "--pattern", "(x)", *command()], "give one of them"),
        (["--mlflow", "mine", *command()], "set MLFLOW_TRACKING_URI"),
        (["--difference", "much", *command()], "give a number or percent"),
        (["--arm", "optimizer", *command()], "--arm is for stored runs"),
        (["--budget", "9m", "runs.csv"], "--budget is for a command after --"),
        (["--metric", "accuracy", *command()], "printed no accuracy; it printed"),
        (["--metric", "vall_loss", *command()], "did you mean --metric val_loss?"),
    ],
)
def test_bad_input_ends_in_one_line(arguments: list[object], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    message = folklore_here("noise", *arguments, code=2).stderr
    assert said in message
    assert len(message.strip().splitlines()) == 1


def test_what_runs_is_no_shell() -> None:
    noise("--seeds", 2, "--no-repeat", "--", sys.executable, "train.py", "{seed}", "; touch broken", "$(touch broken)")
    assert not Path("broken").exists()


def test_a_seed_that_is_not_used() -> None:
    report = noise("--seeds", 3, *command("ignores"), code=1)
    assert report["answer"].endswith("the seed is not used")
    assert not report["seed_is_used"]


def test_values_with_too_few_digits_are_no_unused_seed() -> None:
    frame = stored({"a": [3.01, 3.02, 2.98]}, steps=4)
    rounded = noise_of(frame.assign(value=frame["value"].where(frame["step"] < 4, 3.0)), "loss")
    assert rounded.answer == "All 3 runs end at exactly 3, though their curves differ: write the metric with more digits"
    alike = noise_of(stored({"a": [1.0, 1.0], "b": [2.0, 2.0]}), "loss")
    assert alike.answer == "All 4 runs end alike within their arms: the seed is not used"
    assert not alike.compared[0].p


def test_results_that_differ_without_another_seed() -> None:
    report = noise("--seeds", 3, *command("nondeterministic"))
    assert not report["repeat"]["same"]
    assert "from the seed and from run to run" in report["answer"]


def test_loggers_write_to_standard_error() -> None:
    """And of two runs none is repeated."""
    report = noise("--seeds", 2, *command("logs"))
    assert (report["runs"], report["repeat"]) == (2, None)


def test_a_run_that_fails_is_an_outcome_and_is_run_again_if_asked() -> None:
    report = noise("--seeds", 4, "--no-repeat", *command("fails"), code=1)
    assert report["runs"] == 3
    failed = next(outcome for outcome in report["outcomes"] if outcome["problem"])
    assert (failed["seed"], failed["exit_code"], failed["value"]) == (1, 1, None)
    assert failed["problem"] == "exit code 1: out of luck"
    assert "1 of 4 runs failed (--retry runs them again): seed 1: exit code 1: out of luck" in report["cautions"]
    kept = [json.loads(line) for line in Path(report["output"]).read_text().splitlines()]
    assert [outcome["tail"] for outcome in kept if outcome["problem"]] == ["so far so good\n"]
    before = len(started())
    noise("--seeds", 4, "--no-repeat", *command("fails"), code=1)
    assert len(started()) == before
    noise("--seeds", 4, "--no-repeat", "--retry", *command("fails"), code=1)
    assert started()[before:] == [1]


def test_all_runs_fail() -> None:
    said = folklore_here("noise", "--", sys.executable, "-c", "import sys; sys.exit('no GPU')", "{seed}", code=1).stderr
    assert said.strip().endswith("6 of 6 runs failed (--retry runs them again): seed 0: exit code 1: no GPU")


def test_a_run_that_diverges_is_counted_and_not_averaged() -> None:
    report = noise("--seeds", 4, "--no-repeat", *command("diverges"))
    assert (report["runs"], report["diverged"]) == (3, 1)
    assert report["cautions"][0].startswith("1 of 4 runs diverged (95% CI 1% to 81%)")
    assert next(outcome["value"] for outcome in report["outcomes"] if outcome["seed"] == 2) == "nan"
    assert noise("--seeds", 4, "--no-repeat", *command("diverges")) == report


def test_one_thread_a_run_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("NUMEXPR_NUM_THREADS", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for environment in environments(2, gpus=0):
        assert (environment["OMP_NUM_THREADS"], environment["NUMEXPR_NUM_THREADS"]) == ("3", "1")
    places = environments(3, gpus=2)
    assert [environment["CUDA_VISIBLE_DEVICES"] for environment in places] == ["0", "1", "0"]


# --- time


def is_gone(process: int) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_a_run_that_takes_too_long_is_stopped_with_its_children() -> None:
    run = folklore_here("noise", "--seeds", 2, "--no-repeat", "--timeout", "3s", *command("hangs"), code=1)
    assert "seed 1: stopped after" in run.stderr
    assert is_gone(int(Path("child1").read_text()))


def test_an_interrupt_stops_the_children_and_keeps_what_is_finished(folder: Path) -> None:
    arguments = [*FOLKLORE, "noise", "--workers", "2", "--seeds", "3", *map(str, command("hangs"))]
    process = subprocess.Popen(arguments, cwd=folder, stderr=subprocess.PIPE, text=True)
    output = default_path([str(argument) for argument in command("hangs")[1:]], "val_loss in the output")
    until = time.monotonic() + HANG_SECONDS
    while not (Path("child1").exists() and Path("child2").exists() and output.read_text()):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=HANG_SECONDS)[1]
    assert process.returncode == 130
    assert said.strip() == "interrupted: what is finished is kept; the same command goes on"
    assert all(is_gone(int(Path(name).read_text())) for name in ("child1", "child2"))
    assert [json.loads(line)["seed"] for line in output.read_text().splitlines()] == [0]


def test_a_budget_ends_in_time_and_the_same_command_goes_on() -> None:
    """Runs that would not be done any more are not started, and those in flight are stopped."""
    begun = time.monotonic()
    said = folklore_here("noise", "--workers", 1, "--seeds", 4, "--budget", "4s", *command("hangs"), code=1).stderr
    assert time.monotonic() - begun < 60
    assert "4 runs not done within the budget: the same command goes on" in said
    assert started()[:2] == [0, 1]


# --- the file of results


def test_results_of_another_command_or_metric_are_refused() -> None:
    noise("--seeds", 2, "--output", "mine.jsonl", *command())
    for arguments in (command("logs"), ["--pattern", "loss (NUMBER)", *command()]):
        said = folklore_here("noise", "--seeds", 2, "--output", "mine.jsonl", *arguments, code=2).stderr
        assert "mine.jsonl: holds " in said
    assert len(Path("mine.jsonl").read_text().splitlines()) == 2


def test_a_line_that_was_cut_off_is_run_again() -> None:
    report = noise("--seeds", 3, "--output", "mine.jsonl", *command())
    content = Path("mine.jsonl").read_bytes()
    Path("mine.jsonl").write_bytes(content[:-40])
    assert noise("--seeds", 3, "--output", "mine.jsonl", *command())["mean"] == report["mean"]
    assert len(started()) == 5
    assert len(Path("mine.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize("content", ["import torch", "a,b\n1,2\n", '{"command": 1}\n', "[" * 100_000 + "\n"])
def test_a_file_with_something_else_stays_as_it_is(content: str) -> None:
    Path("mine").write_text(content)
    folklore_here("noise", "--output", "mine", *command(), code=2)
    assert Path("mine").read_text() == content
    assert not started()


def test_pipes_and_folders_are_refused(folder: Path) -> None:
    os.mkfifo("pipe")
    for output in ("pipe", folder, "nowhere/mine.jsonl"):
        folklore_here("noise", "--output", output, *command(), code=2)
    assert not started()


# --- where the metric stands


def printed(folder: Path, content: str, name: str = "val_loss", pattern: str | None = None) -> Curve:
    """The numbers that a run is said to have come to by what it printed."""
    (folder / "printed").write_text(content)
    return printed_metric(name, pattern).curve(0, folder / "printed", None)


@pytest.mark.parametrize(
    ("line", "curve"),
    [
        ("val_loss=3.25", ((1, 3.25),)),
        ("step:125/3350 val_loss:4.66393 train_time:22870ms", ((125, 4.66393),)),
        ("step 500: train loss 1.2000, val loss 1.3e-1", ((500, 0.13),)),
        ("{'val_loss': 2.5, 'epoch': 1.0}", ((1, 2.5),)),
        ('{"epoch": 3, "val_loss": NaN}', ((3, float("nan")),)),
        ("epoch 1 val/loss = inf\nepoch 2 val/loss = -1", ((1, float("inf")), (2, -1))),
        ("10%|#   | val_loss: 4.0\r100%|####| val_loss: 3.0\r", ((1, 4.0), (2, 3.0))),
    ],
)
def test_numbers_in_the_output(folder: Path, line: str, curve: tuple[tuple[float, float], ...]) -> None:
    np.testing.assert_array_equal(printed(folder, line), curve)


def test_numbers_that_are_not_the_metric(folder: Path) -> None:
    with pytest.raises(ValueError, match="printed no val_loss"):
        printed(folder, "train_val_loss: 1\nval_losses: 2\nval_loss is down\n")


def test_a_pattern_of_ones_own_with_steps(folder: Path) -> None:
    curve = printed(folder, "[7] top1 91.5%\n[8] top1 92%\n", "top1", r"\[(?P<step>\d+)\] top1 (NUMBER)%")
    assert curve == ((7, 91.5), (8, 92))


def test_a_long_curve_is_thinned_out_and_keeps_its_end(folder: Path) -> None:
    curve = printed(folder, "".join(f"step {step} val_loss {step}\n" for step in range(5001)))
    assert len(curve) == 1667
    assert curve[-1] == (5000, 5000)


@pytest.mark.parametrize(
    ("content", "curve"),
    [
        ('{"val_loss": 2.5, "step": 7}', ((7, 2.5),)),
        ('{"step": 1, "val_loss": 3}\n{"step": 2, "lr": 1}\n{"step": 2, "val_loss": NaN}\n', ((1, 3), (2, float("nan")))),
        ('[{"val_loss": 3}, {"val_loss": 2}]', ((1, 3), (2, 2))),
        ('{"log_history": [{"step": 5, "loss": 1}, {"step": 5, "val_loss": 2}]}', ((5, 2),)),
        ("epoch,val_loss\n0,3.5\n1,\n2,2.5\n", ((0, 3.5), (2, 2.5))),
    ],
)
def test_numbers_in_a_file(folder: Path, content: str, curve: tuple[tuple[float, float], ...]) -> None:
    metric = written_metric("val_loss", "out-{seed}")
    mark = metric.mark(3)
    (folder / "out-3").write_text(content)
    np.testing.assert_array_equal(metric.curve(3, folder, mark), curve)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[" * 100_000, "is no JSON"),
        ("{", "is no JSON"),
        ('{"vall_loss": 1}', "did you mean 'vall_loss'"),
        ('{"val_loss": "low"}', "'low' is no number"),
        ("", "wrote no val_loss"),
    ],
)
def test_files_without_the_metric(folder: Path, content: str, said: str) -> None:
    (folder / "out-3").write_text(content)
    with pytest.raises(ValueError, match=said):
        written_metric("val_loss", "out-{seed}").curve(3, folder, None)


def test_a_file_of_an_earlier_run_does_not_count() -> None:
    report = noise("--seeds", 2, "--metric", "loss", "--file", "out-{seed}.json", *command("writes"))
    assert report["runs"] == 2
    said = folklore_here("noise", "--seeds", 2, "--metric", "loss", "--file", "out-{seed}.json", *command(), code=2).stderr
    assert "did not write out-" in said  # whichever of two runs ends first


def test_runs_that_are_logged_are_known_by_seed_and_by_being_new(monkeypatch: pytest.MonkeyPatch) -> None:
    from folklore.harness.elsewhere import readers

    frame = pd.DataFrame(
        {
            "run_id": ["old", "new", "new", "other"],
            "params.seed": ["3", "3", "3", "4"],
            "step": [1, 1, 2, 1],
            "metrics.val_loss": [9.0, 3.0, 2.0, 5.0],
        }
    )
    tables = [frame[:1], frame]
    monkeypatch.setattr(readers, "read", lambda source: type("Table", (), {"frame": tables.pop(0)}))
    metric = Logged("val_loss", "mlflow:mine")
    mark = metric.mark(3)
    assert metric.curve(3, Path(), mark) == ((1, 3.0), (2, 2.0))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///x.db")
    assert logged_metric("val_loss", "mine").source == "mlflow:mine"
    assert logged_metric("val_loss", "http://h:1#mine").source == "http://h:1#mine"


# --- runs that are there


def stored(rows: dict[str, list[float]], steps: int = 1) -> pd.DataFrame:
    """Runs of arms with these last values. Earlier steps are noisier."""
    frame = [
        {"arm": arm, "task": "", "run": f"{arm}{number}", "step": float(step), "value": value + (value - 3) * (steps - step)}
        for arm, values in rows.items()
        for number, value in enumerate(values)
        for step in range(1, steps + 1)
    ]
    return pd.DataFrame(frame)


def test_stored_runs_are_pooled_within_arms_and_the_last_comparisons_told(folder: Path) -> None:
    random = np.random.default_rng(1)
    rows = [
        {"optimizer": arm, "seed": seed, "loss": 3.0 + shift + 0.01 * random.standard_normal()}
        for arm, shift in (("sgd", 0.0), ("adam", -0.5), ("lion", -0.5))
        for seed in range(6)
    ]
    pd.DataFrame(rows).to_csv("runs.csv", index=False)
    report = noise("runs.csv")
    groups = [[row["loss"] for row in rows if row["optimizer"] == arm] for arm in ("sgd", "adam", "lion")]
    assert report["standard_deviation"] == pytest.approx(np.sqrt(np.mean([np.var(group, ddof=1) for group in groups])))
    assert report["degrees_of_freedom"] == 15
    assert [group["arm"] for group in report["groups"]] == ["sgd", "adam", "lion"]
    assert [(comparison["name"], comparison["within_noise"]) for comparison in report["compared"]] == [
        ("adam − sgd", False),
        ("lion − adam", True),
    ]


def test_comparisons_weigh_tasks_alike() -> None:
    """The difference is the mean over tasks, and its p value that of a normal contrast with the pooled deviation."""
    frame = pd.concat([stored({"a": [1.0, 1.2], "b": [2.0, 2.1, 2.2]}).assign(task=task) for task in ("x", "y")])
    frame["run"] = frame["run"] + frame["task"]
    comparison = noise_of(frame, "loss").compared[0]
    assert comparison.difference == pytest.approx(1.0)
    assert comparison.seeds == (4, 6)
    assert comparison.p < 0.001


def test_the_curve_of_the_spread_and_where_it_settles() -> None:
    values = [3.01, 3.02, 2.98, 3.0]
    spread = noise_of(stored({"a": values, "b": values}, steps=5), "loss")
    assert [step for step, _ in spread.curve] == [1, 2, 3, 4, 5]
    assert [deviation for _, deviation in spread.curve] == pytest.approx([np.std(values, ddof=1) * k for k in (5, 4, 3, 2, 1)])
    assert spread.settles_at == 4


def test_runs_that_stopped_early_are_left_out_unless_runs_have_lengths_of_their_own() -> None:
    frame = stored({"a": [3.01, 3.02, 2.98, 3.0]}, steps=3)
    assert noise_of(frame[~((frame["run"] == "a0") & (frame["step"] == 3))], "loss").short == 1
    varied = frame[~(frame["run"].isin(["a0", "a1"]) & (frame["step"] == 3))]
    assert noise_of(varied, "loss").short == 0


def test_cautions() -> None:
    random = np.random.default_rng(2)
    skewed = noise_of(stored({"a": list(3 + random.exponential(1, 40))}), "loss")
    assert skewed.cautions[0].startswith("the runs are clearly not normal")
    assert skewed.interval == skewed.robust
    unequal = noise_of(stored({"a": list(random.normal(3, 0.01, 20)), "b": list(random.normal(3, 0.2, 20))}), "loss")
    assert any(caution.startswith("the arms differ in spread") for caution in unequal.cautions)
    with pytest.raises(UserError, match="no two runs that share everything but the seed"):
        noise_of(stored({"a": [1.0], "b": [2.0, float("nan")]}), "loss")


def test_shares_of_a_mean_that_has_no_sign() -> None:
    spread = noise_of(stored({"a": [-1.0, 1.0, 0.5]}), "reward", [parse_difference("0.1")])
    assert spread.visible[0].relative is None
    assert [seeds.relative for seeds in spread.needed] == [None]
    with pytest.raises(UserError, match="give it absolutely"):
        _ = noise_of(stored({"a": [-1.0, 1.0]}), "reward", [parse_difference("1%")]).compared


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("0.4%@3", Difference(0.004, True, 3)),
        ("-0.002", Difference(-0.002, False)),
        ("1e-3 @ 5", Difference(0.001, False, 5)),
    ],
)
def test_differences_as_they_are_written(text: str, difference: Difference) -> None:
    assert parse_difference(text) == difference


@pytest.mark.parametrize("text", ["", "%", "0", "1@0", "1e999", "nan", "3x"])
def test_differences_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="--difference"):
        parse_difference(text)


@pytest.mark.skipif(
    not RUNS.is_dir(), reason="../shared/runs is not there: runs that others trained stay out of the repository"
)
def test_the_noise_of_a_speed_run() -> None:
    """Published: .00117 over 43 groups of a record and a number of steps, at the group's last step; single ones .0003 to .0027.
    One folder holds each log twice: of a run's two rows for a step the last counts."""
    options = ("--arm", "record,total_steps", "--metric", "val_loss", "--where", "track=track_3_optimization")
    report = noise(RUNS / "modded_nanogpt.csv.gz", *options)
    single = [group["standard_deviation"] for group in report["groups"] if group["interval"] is not None]
    assert len(single) == 43
    assert (round(min(single), 4), round(max(single), 4)) == (0.0003, 0.0027)
    assert round(report["standard_deviation"], 5) == 0.00117
    assert report["answer"].startswith("Runs differ by 0.00117 (95% CI 0.00110–0.00125) from the seed alone")
    assert any("runs that are there twice" in caution for caution in report["cautions"])
