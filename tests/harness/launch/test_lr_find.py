"""The range test as a command: what it prints, draws and refuses."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from folklore.harness.declare import Training, Workload
from folklore.harness.declare.metrics.estimating.range_test_rules import MEANINGS, PUBLISHED, RULES, suggest
from folklore.harness.judge.lr_range import SMOOTHING, STEEPEST, TENTH, RangeTest
from folklore.harness.use.cli import app


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["lr-find", *arguments])
    return result.exit_code, " ".join(result.output.split())


QUICK = ("--model", "mlp", "--data", "digits", "--width", "8", "--depth", "1", "--steps", "200")


def test_a_perceptron_on_digits(tmp_path: Path) -> None:
    plot = tmp_path / "found.png"
    code, printed = call("--model", "mlp", "--data", "digits", "--seeds", "2", "--steps", "200", "--plot", str(plot))
    assert code == 0, printed
    assert all(rule in printed for rule in ("divergence", *RULES))
    assert re.search(r"divergence +\S+ +\S+ to \S+ +2 ", printed), "over both seeds"
    assert plot.stat().st_size > 1000


def test_numbers_for_machines(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["lr-find", *QUICK, "--seeds", "2", "--json", "--plot", str(tmp_path / "a.svg")])
    report = json.loads(result.stdout)
    assert report["grid"] == [report["start"] * 2.0**octave for octave in range(-3, 4)]
    assert Path(report["plot"]).is_file()
    rows = {row["rule"]: row for row in report["picks"]}
    assert rows.keys() == {"divergence", *RULES}
    diverged, tenth = rows["divergence"], rows["tenth_of_divergence"]
    assert tenth["lr"] == pytest.approx(diverged["lr"] / 10)
    assert diverged["lowest"] / diverged["lr"] <= 1 + 1e-9, "two seeds that agree have a mean that is rounded"
    assert diverged["highest"] / diverged["lr"] >= 1 - 1e-9


def test_it_ends_in_an_answer_and_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick = (*QUICK, "--seeds", "1")
    (tmp_path / "lr-find.svg").write_text("the user's own")
    result = CliRunner().invoke(app, ["lr-find", *quick])
    answer = result.output.splitlines()[-1]
    assert re.fullmatch(
        r"start at \S+; grid \S+ to \S+ \(--set peak_lr=2\^\S+\); \d published rules range over .+ to .+", answer
    )
    assert (tmp_path / "lr-find.svg").read_text() == "the user's own"
    assert (tmp_path / "lr-find-2.svg").stat().st_size > 1000
    code, said = call(*quick, "--plot", "lr-find.svg")
    assert (code, said) == (2, "error: --plot lr-find.svg: is there already; name another file, or add --force to overwrite it")
    assert call(*quick, "--plot", "lr-find.svg", "--force")[0] == 0
    assert (tmp_path / "lr-find.svg").read_text() != "the user's own"


def test_every_rule_is_explained() -> None:
    assert MEANINGS.keys() == {"divergence", *RULES}
    assert set(PUBLISHED) < RULES.keys()


def test_the_start_lies_between_the_steepest_fall_and_a_tenth_of_divergence() -> None:
    """Whose loss falls around 1e-3 and comes back at 1."""
    lr = np.geomspace(1e-6, 100, 300)
    loss = 3 - 2 / (1 + (1e-3 / lr) ** 2) + np.minimum(3.0, lr**4)
    range_test = RangeTest.of(lr, np.stack([loss, loss]))
    steepest, tenth = range_test.picks[STEEPEST][0].lr, suggest(TENTH, lr, loss, SMOOTHING, delag=True).lr
    assert steepest < range_test.start < tenth
    assert range_test.start == pytest.approx(math.sqrt(steepest * tenth), rel=0.5)
    assert range_test.grid[0] == range_test.start / 8
    falling = RangeTest.of(lr, np.linspace(3, 2, 300)[None])
    assert (falling.start, falling.grid) == (None, [])
    assert falling.advice().startswith("no start: no seed's loss diverged")


def test_no_suggestion_says_why(tmp_path: Path) -> None:
    """A ramp that ends before anything is learnt."""
    ramp = ("--from", "1e-12", "--to", "1e-9", "--seeds", "1")
    code, printed = call("--model", "mlp", "--data", "digits", *ramp, "--plot", str(tmp_path / "a.svg"))
    assert code == 0
    assert printed.count("no suggestion") >= 3
    assert "never diverged" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "resnet"], "model = 'resnet'"),
        (["--model", "mlp"], "cannot train on dataset 'python-docs'"),
        (["--from", "1", "--to", "0.1"], "the LR must rise"),
        (["--data", "text:/nowhere"], "no such file or folder"),
        (["--data", "images:/nowhere", "--model", "cnn"], "no such file or folder"),
        (["--from", "1", "--to", "1.0000001"], "tenfold at least"),
        (["--to", "inf"], "the LR must rise"),
        (["--steps", "20000"], "--steps 20000: at most 10000"),
        (["--width", "65536", "--depth", "48"], "GiB free; choose a smaller model"),
        (["--plot", "a.pdf"], "must end in .svg or .png"),
        (["--plot", "/nowhere/a.svg"], "in a folder that is there"),
        (["--seeds", "0"], "--seeds 0: must be at least 1"),
        (["--steps", "1"], "steps = 1"),
        (["--width", "33"], "heads"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["lr-find", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_ramp_keeps_the_models_own_training() -> None:
    from folklore.harness.launch.lr_find import run_range_test
    from folklore.harness.train.machine.description import local_device

    workload = Workload(model="mlp", dataset="digits", width=8, depth=1)
    range_test = run_range_test(workload, Training(optimizer="sgd", batch_size=4), range(2), 1e-4, 1.0, 30, local_device())
    assert range_test.lr[0] == pytest.approx(1e-4)
    assert range_test.lr[-1] == pytest.approx(1.0)
    assert range_test.losses.shape == (2, 30)
