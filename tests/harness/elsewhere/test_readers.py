"""Tables in files: what a cell means, what W&B and pandas write, and what is damaged, endless or hostile."""

import gzip
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from folklore.harness.elsewhere.readers import read
from folklore.harness.elsewhere.readers.restarts import restarts_of
from folklore.harness.elsewhere.table import FILE
from folklore.harness.errors import UserError
from tests.harness.elsewhere.planted import told
from tests.places import SHARED

RUNS = SHARED / "runs"


def saved(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def kinds(column: "pd.Series[Any]") -> list[str]:
    """A blank, nan or a number, by the rule of columns.py."""
    values = column.to_numpy(float, na_value=0.0)
    return [
        "blank" if blank else "nan" if math.isnan(value) else f"{value:g}"
        for value, blank in zip(values, column.isna(), strict=True)
    ]


WRITTEN = ["nan", "NaN", "", "None", "inf", "-inf", "Infinity", "-Infinity", "1.5", " 2e3 ", "NA"]
MEANT = ["nan", "nan", "blank", "blank", "inf", "-inf", "inf", "-inf", "1.5", "2000", "blank"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_blank_is_no_nan(tmp_path: Path, separator: str) -> None:
    rows = [f"{number}{separator}{cell}{separator}x" for number, cell in enumerate(WRITTEN)]
    table = read(saved(tmp_path, "runs.csv", "\n".join([separator.join(("seed", "loss", "arm")), *rows])))
    assert kinds(table.frame["loss"]) == MEANT
    assert table.frame["seed"].dtype == "int64"
    assert not table.roles


def test_what_diverged_is_still_told_from_a_blank_when_rows_are_combined(tmp_path: Path) -> None:
    """Other modules join tables: a column of floats without a mask would lose the difference."""
    whole = read(saved(tmp_path, "a.csv", "seed,loss\n0,nan\n1,2.5\n")).frame
    gaps = read(saved(tmp_path, "b.csv", "seed,loss\n0,\n1,inf\n")).frame
    assert kinds(pd.concat([whole, gaps], ignore_index=True)["loss"]) == ["nan", "2.5", "blank", "inf"]


def test_json_keeps_null_from_nan(tmp_path: Path) -> None:
    values = [math.nan, None, math.inf, "NaN", "Infinity", 1, 2.5]
    meant = ["nan", "blank", "inf", "nan", "inf", "1", "2.5"]
    records = [{"loss": value} for value in values]
    documents = {
        "records.json": json.dumps(records),
        "columns.json": json.dumps({"loss": values}),
        "runs.json": json.dumps({"runs": records}),
        "runs.jsonl": "\n".join(map(json.dumps, records)),
    }
    for name, text in documents.items():
        assert kinds(read(saved(tmp_path, name, text)).frame["loss"]) == meant, name


def test_parquet_keeps_null_from_nan_and_texts_of_any_width(tmp_path: Path) -> None:
    loss = pa.array([math.nan, None, 1.5], from_pandas=False)
    arms = pa.array(["a", "b", None], pa.large_string())
    pq.write_table(pa.table({"loss": loss, "arm": arms, "curve": [[1.0], [2.0], []]}), tmp_path / "runs.parquet")
    table = read(str(tmp_path / "runs.parquet"))
    assert kinds(table.frame["loss"]) == ["nan", "blank", "1.5"]
    assert table.frame["arm"].fillna("-").tolist() == ["a", "b", "-"]
    assert told(table) == {"columns of lists or bytes": 1}


def test_names_and_formulas_stay_as_they_are_written(tmp_path: Path) -> None:
    frame = read(saved(tmp_path, "x.csv", 'arm,<b>loss</b>\n"=HYPERLINK(""x"")",1\n<script>,2\nNone,3\n')).frame
    assert frame["arm"].tolist() == ['=HYPERLINK("x")', "<script>", "None"]
    assert frame["<b>loss</b>"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", "seed,loss\r\n0,1.5\r\n1,2.5\r\n"),
        ("x.csv", "\ufeffseed,loss\n0,1.5\n1,2.5\n"),
        ("x.csv", "seed,loss\n0,1.5\n1,2.5\n".encode("utf-16")),
        ("x.csv", ",seed,loss\n0,0,1.5\n1,1,2.5\n"),
        ("x.tsv", "seed\tloss\n0\t1.5\n1\t2.5\n"),
        ("x.txt", "# seed   loss\n 0 1.5\n 1    2.5\n"),
        ("x.csv.gz", gzip.compress(b"seed,loss\n0,1.5\n1,2.5\n")),
        ("x.jsonl.gz", gzip.compress(b'{"seed": 0, "loss": 1.5}\n{"seed": 1, "loss": 2.5}\n')),
        ("x", '{"seed": 0, "loss": 1.5}\n{"seed": 1, "loss": 2.5}\n'),
        ("x.json", '{"seed": {"0": 0, "1": 1}, "loss": {"0": 1.5, "1": 2.5}}'),
    ],
    ids=range(10),  # compressed content holds the time
)
def test_one_table_in_many_spellings(tmp_path: Path, name: str, content: str | bytes) -> None:
    frame = read(saved(tmp_path, name, content)).frame
    assert frame.to_dict("list") == {"seed": [0, 1], "loss": [1.5, 2.5]}


def test_types_are_told_from_all_rows_and_not_from_the_first(tmp_path: Path) -> None:
    rows = "\n".join(f"{step},{step}" for step in range(200_000))
    frame = read(saved(tmp_path, "x.csv", f"step,loss\n{rows}\n200000,0.5\n")).frame
    assert frame["loss"].iloc[-1] == 0.5
    assert frame["step"].dtype == "int64"


def test_folders_hold_runs_in_files(tmp_path: Path) -> None:
    """Also folders that contain themselves."""
    for name, loss in (("a/seed0.csv", "1"), ("a/seed1.csv", "2.5"), ("b.csv", "nan")):
        saved(tmp_path, name, f"step,loss,file\n10,{loss},x\n")
    saved(tmp_path, "killed.csv", "")
    saved(tmp_path, "c.csv", "step,loss\n")
    for name in ("README.md", "notes.txt", ".hidden.csv", "model.pt"):
        saved(tmp_path, name, b"\x80\x04.")
    (tmp_path / "a" / "up").symlink_to("..")
    table = read(str(tmp_path))
    assert table.frame[FILE].tolist() == ["a/seed0.csv", "a/seed1.csv", "b.csv"]
    assert kinds(table.frame["loss"]) == ["1", "2.5", "nan"]
    assert told(table) == {"files that are empty": 2}
    assert table.problems[0].examples == ("c.csv", "killed.csv")


def test_folders_are_bounded_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folklore.harness.elsewhere.readers.source.LARGEST", 30)
    for name in ("a.csv", "b.csv"):
        saved(tmp_path, name, "step,loss\n10,25\n")
    assert len(read(str(tmp_path / "a.csv")).frame) == 1
    with pytest.raises(UserError, match=r"b\.csv': and the files before it hold more than 30 bytes"):
        read(str(tmp_path))


def test_settings_beside_a_run_become_columns(tmp_path: Path) -> None:
    for seed in range(2):
        saved(tmp_path, f"run{seed}/metrics.jsonl", '{"step": 1, "loss": 2}\n{"step": 2, "loss": NaN}\n')
        saved(tmp_path, f"run{seed}/config.json", json.dumps({"seed": seed, "optim": {"lr": 0.1}, "loss": "mse"}))
    frame = read(str(tmp_path)).frame
    assert frame["seed"].tolist() == [0, 0, 1, 1]
    assert frame["optim.lr"].tolist() == [0.1] * 4
    assert kinds(frame["loss"]) == ["2", "nan"] * 2, "a setting never replaces what was measured"


def test_several_kinds_of_files_are_a_question(tmp_path: Path) -> None:
    saved(tmp_path, "a.csv", "x,y\n1,2\n")
    saved(tmp_path, "b.parquet", "")
    with pytest.raises(UserError, match=r"several kinds \(1 CSV, 1 Parquet\); name those to judge"):
        read(str(tmp_path))


def test_rows_that_are_cut_off_are_counted(tmp_path: Path) -> None:
    table = read(saved(tmp_path, "x.csv", "step,loss\n1,2\n2\n3,4,5\n4,1\n5,"))
    assert told(table) == {"rows with more or fewer cells than their header": 2}
    assert kinds(table.frame["loss"]) == ["2", "1", "blank"]
    lines = read(saved(tmp_path, "x.jsonl", '{"loss": 1}\n{"loss": 2}\n{"lo'))
    assert told(lines) == {"lines that are no JSON object": 1}
    assert lines.frame["loss"].tolist() == [1, 2]


def test_header_lines_that_stand_again_are_no_rows(tmp_path: Path) -> None:
    """Files were joined, or a restart wrote its header again; one of them with another order of columns."""
    content = "step,fold,loss\n1,0,2\n2,0,1.5\n" + "step,fold,loss\n1,1,3\n" + "fold,loss,step\n2,2.5,4\n"
    table = read(saved(tmp_path, "x.csv", content))
    assert table.frame.to_dict("list") == {"step": [1, 2, 1, 4], "fold": [0, 0, 1, 2], "loss": [2.0, 1.5, 3.0, 2.5]}
    assert told(table) == {"header lines that stand again": 2}
    numbered = ",seed,loss\n0,0,2\n1,1,1\n"  # by pandas
    assert read(saved(tmp_path, "y.csv", numbered * 2)).frame.to_dict("list") == {"seed": [0, 1] * 2, "loss": [2, 1] * 2}
    marked = read(saved(tmp_path, "z.csv", "# step,loss\n1,2\n" * 2))  # by numpy
    assert marked.frame.to_dict("list") == {"step": [1, 1], "loss": [2, 2]}
    long = read(saved(tmp_path, "long.csv", "metric,value\nvalue,1\nmetric,2\n"))
    assert long.frame["metric"].tolist() == ["value", "metric"], "names of columns may stand in cells"


def test_lists_of_a_record_are_the_curve_of_one_run(tmp_path: Path) -> None:
    records = [{"arm": arm, "seed": 0, "xs": [10, 20], "ys": [1.0, 2.0], "betas": [0.9] * 3} for arm in "ab"]
    for name, content in (("x.json", json.dumps(records)), ("x.jsonl", "\n".join(map(json.dumps, records)))):
        table = read(saved(tmp_path, name, content))
        assert table.roles == {"run": "record in the file", "step": "xs"}, "values that rise are no steps"
        assert table.frame[["arm", "record in the file", "xs", "ys"]].to_numpy().tolist() == [
            ["a", 0, 10, 1.0], ["a", 0, 20, 2.0], ["b", 1, 10, 1.0], ["b", 1, 20, 2.0]
        ]  # fmt: skip
    for name, record in zip(("r/a.json", "r/b.json"), records, strict=True):
        saved(tmp_path, name, json.dumps(record))
    assert read(str(tmp_path / "r")).roles == {"step": "xs"}, "a file is a run"
    losses = [{"arm": arm, "train_loss": [2, 1], "val_loss": [3, 2]} for arm in "ab"]
    assert read(saved(tmp_path, "l.json", json.dumps(losses))).roles["step"] == "place in the record"
    unnamed = [{"arm": arm, "x": [*range(10)], "y": [1.5] * 10} for arm in "ab"]
    assert read(saved(tmp_path, "u.json", json.dumps(unnamed))).roles["step"] == "x"


@pytest.mark.parametrize(
    "lists", [{"betas": [0.9, 0.999], "widths": [64, 128]}, {"seeds": [0, 1], "loss": [1.5, 2.5]}, {"loss": [1.5, 2.5]}]
)
def test_lists_of_settings_or_runs_are_no_curves(tmp_path: Path, lists: dict[str, Any]) -> None:
    table = read(saved(tmp_path, "x.json", json.dumps([{"arm": arm, **lists} for arm in "ab"])))
    assert not table.roles
    assert list(table.frame) == ["arm", *lists]


@pytest.mark.parametrize("name", ["seed{seed}/rank_{rank}.csv", "rank{rank}/seed{seed}.csv", "seed{seed}_local-rank{rank}.csv"])
def test_files_of_ranks_are_one_run(tmp_path: Path, name: str) -> None:
    for seed in range(2):
        for rank in range(3):
            saved(tmp_path, name.format(seed=seed, rank=rank), f"step,loss\n1,{2 + seed + rank / 10}\n")
    table = read(str(tmp_path))
    assert table.frame["loss"].tolist() == [2, 3]
    assert table.frame[FILE].tolist() == ["seed0.csv", "seed1.csv"]
    assert told(table) == {"further ranks of runs": 4}


def test_a_column_of_ranks(tmp_path: Path) -> None:
    """Which begin at 0; ranks of matrices, and places in a contest, are something else."""
    rows = [f"adam,{seed},{rank},node{rank},{2 + seed + rank}" for seed in range(2) for rank in range(2)]
    table = read(saved(tmp_path, "x.csv", "\n".join(["arm,seed,local_rank,hostname,loss", *rows])))
    assert table.frame["loss"].tolist() == [2, 3]
    assert told(table) == {"further ranks of runs": 2}
    for ranks in ((1, 2), (0, 4)):
        kept = read(saved(tmp_path, "x.csv", "arm,rank,loss\n" + "".join(f"a,{rank},1\n" for rank in ranks)))
        assert len(kept.frame) == 2, ranks
    assert len(read(saved(tmp_path, "x.csv", "model,rank,loss\na,0,1\nb,1,2\n")).frame) == 2, "not of one run"


# Steps and values in the order of writing: the steps that count, by run.
WRITTEN_STEPS: dict[str, tuple[list[int], list[float], list[tuple[int, int]]]] = {
    "in order": ([0, 1, 2], [3, 2, 1], [(0, 0), (0, 1), (0, 2)]),
    "recounted from 0": ([0, 1, 2, 0, 1], [3, 2, 1, 1, 0.5], [(0, 0), (0, 1), (0, 2), (0, 3)]),
    "recounted from 1, twice": ([1, 2, 1, 2, 1], [4, 2, 1.9, 1, 0.9], [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]),
    "another run": ([0, 1, 0, 1], [3, 1, 2.9, 0.9], [(0, 0), (0, 1), (1, 0), (1, 1)]),
    "another run after divergence": ([0, 1, 0], [3, math.inf, 3], [(0, 0), (0, 1), (1, 0)]),
    "resumed": ([0, 5, 9, 5, 7], [3, 2, 1, 1.9, 1.4], [(0, 0), (0, 5), (0, 7)]),
    "resumed after it was recounted": ([1, 2, 1, 2, 3, 2], [9, 5, 4, 3, 2, 3], [(0, 1), (0, 2), (0, 3), (0, 4)]),
}


@pytest.mark.parametrize("case", WRITTEN_STEPS)
def test_steps_that_fall(case: str) -> None:
    steps, values, meant = WRITTEN_STEPS[case]
    restarts = restarts_of(steps, values)
    assert [
        place for place, counts in zip(zip(restarts.run, restarts.steps, strict=True), restarts.counts, strict=True) if counts
    ] == meant


def test_steps_that_fall_are_told_apart_by_the_metrics_together() -> None:
    """Each metric counts in its own way: losses by steps, accuracies by epochs."""
    points = [(100, 2.0, "loss"), (200, 1.0, "loss"), (1, 0.5, "acc"), (2, 0.8, "acc"), (0, 0.1, "lr"), (5, 0.01, "lr")]
    again = [(100, 0.9, "loss"), (1, 0.82, "acc"), (0, 0.1, "lr")]
    steps, values, names = zip(*points, *again, strict=True)
    restarts = restarts_of(steps, values, names)
    assert set(restarts.run) == {0}
    assert restarts.steps[-3:] == [300, 3, 10]
    assert (restarts.recounted, restarts.resumed) == (1, 0)


OF_A_PLOT = [f"{run} - val/loss{extreme}" for run in ("run a - b", "r2") for extreme in ("", "__MIN", "__MAX")]
PLOT = f"""{",".join(f'"{name}"' for name in ("Step", *OF_A_PLOT))}
"0","1.5","1.5","1.5","","",""
"1","1.2","1.0","1.4","NaN","NaN","NaN"
"""


def test_a_plot_of_wandb(tmp_path: Path) -> None:
    table = read(saved(tmp_path, "wandb.csv", PLOT))
    assert table.frame["run"].tolist() == ["run a - b", "run a - b", "r2"]
    assert table.frame["Step"].tolist() == [0, 1, 1]
    assert kinds(table.frame["val/loss"]) == ["1.5", "1.2", "nan"], "a blank is no row, a nan is one"
    assert table.roles == {"run": "run", "step": "Step"}
    assert told(table) == {"runs whose points are averages over several steps": 1}


def wandb_run(name: str, loss: float, state: str = "finished") -> dict[str, Any]:
    summary = {"loss": loss, "_step": 9, "_wandb": {"runtime": 3}}
    return {"name": name, "state": state, "summary": summary, "config": {"lr": 0.1, "loss": "mse", "model": {"depth": 2}}}


def test_runs_of_wandb(tmp_path: Path) -> None:
    runs = [wandb_run("a", math.nan), wandb_run("b", 0.5, "crashed")]
    pd.DataFrame(runs).to_csv(tmp_path / "runs.csv")  # as W&B's documentation exports them
    pd.DataFrame(runs).to_json(tmp_path / "pandas.json")
    (tmp_path / "list.json").write_text(json.dumps(runs))
    for name in ("runs.csv", "list.json", "pandas.json"):
        table = read(str(tmp_path / name))
        assert kinds(table.frame["loss"]) == ["blank" if name == "pandas.json" else "nan", "0.5"], name
        assert table.frame["config.loss"].tolist() == ["mse"] * 2, "what a metric is called is no metric"
        assert table.frame["model.depth"].tolist() == [2, 2]
        assert table.roles == {"run": "name", "step": "_step"}
        assert told(table) == {"runs that did not finish": 1}


def test_runs_of_wandb_that_share_a_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([wandb_run("adam", 0.1), wandb_run("adam", 0.2)]))
    table = read(str(tmp_path / "x.json"))
    assert table.frame[table.roles["run"]].is_unique


def test_runs_with_their_history(tmp_path: Path) -> None:
    history = [{"_step": 0, "loss": 2.0}, {"_step": 9, "loss": "NaN"}]
    (tmp_path / "x.json").write_text(json.dumps([{**wandb_run(name, 0.0), "history": history} for name in "ab"]))
    table = read(str(tmp_path / "x.json"))
    assert table.frame["name"].tolist() == ["a", "a", "b", "b"]
    assert kinds(table.frame["loss"]) == ["2", "nan"] * 2, "the history counts, not the summary"
    frame = read(saved(tmp_path, "keras.json", '{"seed": 3, "history": {"loss": [2, 1], "acc": [0, 0.5]}}')).frame
    assert frame.to_dict("list") == {
        "place in the record": [0, 1], "seed": [3, 3], "history.loss": [2, 1], "history.acc": [0.0, 0.5]
    }  # fmt: skip


def test_passwords_of_addresses_are_not_shown() -> None:
    for source in ("http://me:secret@localhost:9#x", "optuna:postgresql://me:secret@localhost:9/x#s"):
        with pytest.raises(UserError) as raised:
            read(source)
        assert "secret" not in str(raised.value)


# Damaged, endless or hostile: what the file is called, what it holds, and what its one line says.
DEEP = 200_000
GZIP = gzip.compress(b"a,b\n" + os.urandom(3000).hex().encode() + b",1\n")
MALFORMED: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "nothing": ("x.csv", lambda: b"", "is empty"),
    "blank lines": ("x.csv", lambda: b"\n \n", "is empty"),
    "a header": ("x.csv", lambda: b"a,b\n", "a header and no rows"),
    "no header": ("x.csv", lambda: b"0,2.5\n1,2.25\n", "begins with numbers"),
    "a name twice": ("x.csv", lambda: b"loss,loss\n1,2\n", "2 columns named 'loss'"),
    "ragged": ("x.csv", lambda: b"a,b\n1,2,3\n1\n", "no row has as many cells as the header"),
    "zero bytes": ("x.csv", lambda: b"a,b\n1,\0\n", "zero bytes"),
    "latin-1": ("x.csv", lambda: "a,b\né,1\n".encode("latin-1"), "save it as UTF-8"),
    "half of UTF-16": ("x.csv", lambda: b"\xff\xfea", "can't decode"),
    "prose": ("x.txt", lambda: b"hello big world\nsome prose\n", "as many cells"),
    "a million columns": ("x.csv", lambda: b",".join(b"%d" % number for number in range(10**6)), "10,000 columns"),
    "a long line": ("x.csv", lambda: b"a,b\n" + b"x" * 30_000_000, "a line of more than 10 MB"),
    "many lines": ("x.csv.gz", lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 5_000_010, 1), "5,000,000 lines"),
    "a bomb": ("x.csv.gz", lambda: gzip.compress(bytes(10**8), 1), "a line of more than"),
    "a bomb of lines": ("x.jsonl.gz", lambda: gzip.compress(b"{}\n" * 34_000_000, 1), "more than 100 MB"),
    "cut gzip": ("x.csv.gz", lambda: GZIP[:-100], "cut off"),
    "broken gzip": ("x.csv.gz", lambda: GZIP[:50] + b"xx" + GZIP[52:], "cannot be unpacked"),
    "open lists": ("x.json", lambda: b"[" * DEEP, "nested too deeply"),
    "deep objects": ("x.json", lambda: b'{"a":' * DEEP + b"1" + b"}" * DEEP, "nested too deeply"),
    "deep lines": ("x.jsonl", lambda: b'{"a":' * DEEP, "nested too deeply"),
    "a long number": ("x.json", lambda: b'[{"a":' + b"9" * 5000 + b"}]", "4300 digits"),
    "no object": ("x.json", lambda: b"3", "holds no records"),
    "half an object": ("x.json", lambda: b'{"a": ', "is no JSON"),
    "no records": ("x.json", lambda: b"[]", "is empty"),
    "names without end": ("x.jsonl", lambda: b"\n".join(b'{"k%d": 1}' % number for number in range(20_000)), "10,000 columns"),
    "too many cells": (
        "x.jsonl",
        lambda: b"\n".join(b'{"k%d": 1}' % (number % 9000) for number in range(20_000)),
        "100,000,000 cells",
    ),
    "code in a cell": ("x.csv", lambda: b"name,summary\na,{__import__('os')}\n", "no dictionary of plain values"),
    "a pickle": ("x.csv", lambda: b"\x80\x04.", "to read one is to run it"),
    "a model": ("x.pt", lambda: b"PK\3\4", "to read one is to run it"),
    "no Parquet": ("x.parquet", lambda: os.urandom(1000), "Parquet magic bytes not found"),
    "a promise of Parquet": ("x.parquet", lambda: b"PAR1" + b"\xff\xff\xff\x7f" * 3 + b"PAR1", "Parquet"),
    "no SQLite": ("x.db", lambda: b"SQLite format 3\0" + bytes(range(256)) * 20, "database cannot be read"),
    "no events": ("events.out.tfevents.1", lambda: bytes(range(256)) * 20, "no scalar is logged"),
    "events without end": ("events.out.tfevents.1", lambda: b"\xff" * 7 + b"\x7f" + bytes(4), "no scalar is logged"),
    "a state without a log": ("trainer_state.json", lambda: b"[]", "no log_history"),
    "a state without steps": ("trainer_state.json", lambda: b'{"log_history": [{"step": {}}]}', "no step is logged"),
    "a journal of others": ("x.log", lambda: b'{"op_code": 0}\n', "Optuna cannot read it"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_malformed_ends_in_one_line(tmp_path: Path, case: str) -> None:
    name, content, says = MALFORMED[case]
    path = saved(tmp_path, name, content())
    began = time.monotonic()
    with pytest.raises(UserError, match=says) as raised:
        read(path)
    assert time.monotonic() - began < 10
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_cut_parquet_ends_in_one_line(tmp_path: Path) -> None:
    table = pa.table({"loss": np.random.default_rng(0).normal(size=5000)})
    pq.write_table(table, tmp_path / "x.parquet", write_page_checksum=True)
    content = (tmp_path / "x.parquet").read_bytes()
    for part in (content[: len(content) // 2], content[:200] + bytes(2000) + content[2200:]):
        with pytest.raises(UserError, match=r"x\.parquet"):
            read(saved(tmp_path, "x.parquet", part))


def test_parquet_that_unpacks_to_more_than_memory_is_refused(tmp_path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"arm": words}), tmp_path / "x.parquet")
    with pytest.raises(UserError, match="500 MB of text"):
        read(str(tmp_path / "x.parquet"))


@pytest.mark.parametrize("target", ["pipe", "/dev/zero", "x.csv"])
def test_what_is_no_regular_file_is_never_waited_for(tmp_path: Path, target: str) -> None:
    path = tmp_path / "x.csv"
    if target == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(target)  # itself, too
    for source in (path, tmp_path):
        with pytest.raises(UserError, match=r"no regular file|no such file|symbolic links"):
            read(str(source))


@pytest.mark.parametrize("name", ["x\0y.csv", "x" * 5000, "", "nowhere#part", "optuna:nowhere.db", "mlflow+nowhere:#x"])
def test_what_is_not_there_is_named_with_what_could_be(name: str) -> None:
    with pytest.raises(UserError, match=r"runs '.*(no such file|characters)|MLflow cannot read it"):
        read(name)


def test_35_megabytes_take_no_third_of_a_gigabyte(tmp_path: Path) -> None:
    line = b"".join(b"%d,%.6f,%.6f,arm%d\n" % (step, step / 7, step / 9, step % 5) for step in range(100_000))
    path = saved(tmp_path, "x.csv", b"step,loss,accuracy,arm\n" + line * 10)
    code = (
        "import resource, sys; from folklore.harness.elsewhere.readers import read\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; read(sys.argv[1])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 333_000, "kilobytes"


@pytest.mark.skipif(not RUNS.is_dir(), reason="needs ../shared/runs")
def test_tables_of_others() -> None:
    rows = {name: len(read(str(RUNS / name)).frame) for name in ("mlperf_rcp.csv.gz", "modded_nanogpt.csv.gz")}
    assert rows == {"mlperf_rcp.csv.gz": 12_853, "modded_nanogpt.csv.gz": 34_554}
    curves = read(str(RUNS / "why_warmup_tabs")).frame
    assert curves[FILE].nunique() == 8
    assert {"step", "test_loss"} < set(curves.columns), "and no column of pandas' row numbers"
    assert not [name for name in curves.columns if not name or name == "unnamed"]
