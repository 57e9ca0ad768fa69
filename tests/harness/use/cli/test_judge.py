"""`folklore judge` and `folklore noise` on input that nobody means: one line, exit code 2, in time."""

import json
import os
import time
from pathlib import Path

import pytest

from tests.harness.use.cli.test_cli import assert_refused, call

CLAIM = ("--claim", "loss: b < a")
ROWS = [(arm, seed, 3 + seed / 10 + (arm == "a")) for arm in "ab" for seed in range(4)]
CSV = "arm,seed,loss\n" + "".join(f"{arm},{seed},{loss}\n" for arm, seed, loss in ROWS)
HANG_SECONDS = 5


@pytest.fixture
def runs(tmp_path: Path) -> str:
    path = tmp_path / "runs.csv"
    path.write_text(CSV)
    return str(path)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--sd", "nan"), "--sd nan: must be a number above 0"),
        (("--sd", "inf"), "--sd inf: must be a number up to 1e+100"),
        (("--sd", "1e400"), "--sd inf: must be a number up to 1e+100"),
        (("--sd=-1",), "--sd -1: must be a number above 0"),
        (("--step-worth", "nan"), "--step-worth nan: must be a number up to"),
        (("--step-worth=-inf",), "--step-worth -inf: must be a number up to"),
        *(
            ((f"--{role}", "loss"), f"--{role} loss: is the metric of a claim, too")
            for role in ("arm", "seed", "step", "task", "run")
        ),
        (("--arm", "arm,loss"), "--arm loss: is the metric of a claim, too"),
        (("--seed", "seed", "--task", "seed"), "--task seed: is --seed, too"),
        (("--metric", "loss", "--seed", "loss"), "--seed loss: is --metric, too"),
        (("--claim", "loss: hyperbola in seed"), "'seed' is no size"),
        (("--claims", "x" * 5000), "cannot be read (File name too long)"),
        (("--page", "x" * 300 + ".html"), "no file has such a name"),
        (("--page", "a\0.html"), "no file has such a name"),
        (("--page", "x" * 300 + "/a.html"), "in a folder that is there"),
        (("--save-baseline", "x/" * 3000 + "a.csv"), "in a folder that is there"),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_meant_is_refused(runs: str, options: tuple[str, ...], line: str) -> None:
    assert_refused(call("judge", runs, *CLAIM, *options), line)


@pytest.mark.parametrize("size", ["nan", "9" * 400, "-1%", "1% on all tasks", "x", ""])
def test_a_margin_that_is_none_is_refused(runs: str, size: str) -> None:
    result = call("judge", runs, "--compare", "a", "--metric", "loss", f"--by={size}")
    assert_refused(result, "must not be above" if size.startswith("9") else "--by")
    result = call("judge", runs, "--baseline", runs, "--metric", "loss", f"--within={size}")
    assert_refused(result, "must not be above" if size.startswith("9") else "--within")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--difference", "1" * 100_000 + "x"), "more than 100; shorten it"),
        (("--metric", "loss", "--seed", "loss"), "--seed loss: is --metric, too"),
        (("--timeout", "5s"), "--timeout is for a command"),
        (("--retry",), "--retry is for a command"),
        (("--", "true", "{seed}"), ""),
    ],
)
def test_options_of_noise(runs: str, options: tuple[str, ...], line: str) -> None:
    if options[0] != "--":
        assert_refused(call("noise", runs, *options), line)
        return
    for more, why in (
        (("--seeds", "9" * 30), "must be at most 100,000"),
        (("--workers", "9" * 30), "must be at most 1,000,000,000"),
        (("--first-seed", "9" * 400), "no seed has more than 64 bits"),
        (("--budget", "9" * 400 + "s"), "give a time such as"),
        (("--pattern", "(" * 5000), "nested too deeply"),
    ):
        assert_refused(call("noise", *more, *options), why)


@pytest.mark.parametrize(
    "name", ["x" * 100_000, "/x" * 3000, "mlflow:" + "x" * 100_000, "?key" * 2000, "w" * 4000, "?key" * 1000]
)
def test_a_long_source_is_refused_in_time(name: str) -> None:
    started = time.process_time()
    assert_refused(
        call("judge", name, *CLAIM), "no such file" if len(name) <= 4096 else "no path or address has more than 4,096"
    )
    assert time.process_time() - started < HANG_SECONDS


@pytest.mark.parametrize("name", [b"b\xff.csv", b"b\xff/x.csv"])
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    path.parent.mkdir(exist_ok=True)
    path.write_text(CSV)
    assert_refused(call("judge", str(tmp_path), *CLAIM), "whose name is not UTF-8; rename it")
    assert_refused(call("judge", str(path), *CLAIM), "is not UTF-8; rename it")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '[{"arm": "a", "loss": 1, "loss": 2}]'),
        ("a.jsonl", '{"arm": "a", "loss": 1, "loss": 2}\n' + "\n".join(json.dumps({"arm": "b", "loss": 1}) for _ in range(3))),
        ("a.jsonl", '{"arm": "a", "c": {"loss": 1, "loss": 2}}'),
        ("trainer_state.json", '{"log_history": [{"step": 1, "loss": 2, "loss": 3}]}'),
    ],
)
def test_a_doubled_key_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert_refused(call("judge", str(tmp_path / name), *CLAIM), "has the key 'loss' twice in one object")


def linked(folder: Path, links: dict[str, str]) -> None:
    for name, target in links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)


@pytest.mark.parametrize(
    "links",
    [
        {"self": ".", "x/up": "..", "x/l": "../y", "y/l": "../x"},
        {"one": "two", "two": "one"},
        {f"n{i}/l{j}": f"../n{j}" for i in range(12) for j in range(12) if i != j},
        {f"d{i}/{side}": f"../d{i + 1}" for i in range(30) for side in "ab"},
    ],
)
def test_folders_of_links_on_each_other_are_read_in_time(tmp_path: Path, links: dict[str, str]) -> None:
    (tmp_path / "d30").mkdir()
    (tmp_path / "d30" / "runs.csv").write_text(CSV)
    linked(tmp_path, links)
    started = time.process_time()
    result = call("judge", str(tmp_path), *CLAIM, "--json")
    assert json.loads(result.stdout)["claims"][0]["verdict"] == "supported"
    assert time.process_time() - started < HANG_SECONDS


def test_a_folder_outside_is_read_through_its_link(tmp_path: Path) -> None:
    header, *lines = CSV.splitlines(keepends=True)
    for arm in "ab":
        (tmp_path / "pool" / arm).mkdir(parents=True)
        (tmp_path / "pool" / arm / "x.csv").write_text(header + "".join(line for line in lines if line.startswith(arm)))
    linked(tmp_path, {"runs/one": "../pool/a", "runs/two": "../pool/b"})
    result = call("judge", str(tmp_path / "runs"), *CLAIM, "--json")
    assert json.loads(result.stdout)["read"][0]["arms"] == {"a": 4, "b": 4}
