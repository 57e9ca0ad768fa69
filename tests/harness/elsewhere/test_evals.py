"""Logs of Inspect and of lm-evaluation-harness, as these packages wrote them (eval_logs/make.py)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from folklore.harness.elsewhere.judge_runs import JudgeOptions, judge_sources
from folklore.harness.elsewhere.readers import read
from folklore.harness.elsewhere.readers.evals import HEADER, SUMMARIES, _archive
from folklore.harness.errors import UserError

LOGS = Path(__file__).parent / "eval_logs"
INSPECT, LM_EVAL = LOGS / "inspect", LOGS / "lm_eval"


def test_of_inspect_each_sample_is_an_answer() -> None:
    table = read(str(INSPECT))
    assert len(table.frame) == 2 * 12 * 2
    assert table.roles == {"arm": "model", "task": "task", "item": "id", "seed": "epoch"}
    assert {*table.frame["match"]} == {0.0, 1.0}
    assert table.frame["metadata/passage"].nunique() == 4
    assert {*table.frame["model"]} == {"mockllm/plain", "mockllm/tuned"}


def test_inspects_json_says_what_its_archive_says(tmp_path: Path) -> None:
    """As `inspect log convert --to json` writes it: the header, then the samples."""
    for path in INSPECT.glob("*.eval"):
        header, samples = _archive(path)
        (tmp_path / path.name).with_suffix(".json").write_text(json.dumps({**header, "samples": samples}))
    archive, document = read(str(INSPECT)), read(str(tmp_path))
    assert document.format == archive.format
    assert document.frame.drop(columns="file").equals(archive.frame.drop(columns="file"))


def test_a_log_of_inspect_is_judged_by_item_and_epoch() -> None:
    claim = "match: mockllm/tuned > mockllm/plain"
    (verdict,) = judge_sources([str(INSPECT)], JudgeOptions((claim,))).claims
    scores = read(str(INSPECT)).frame.groupby("model")["match"].mean()
    assert verdict.estimate == pytest.approx(scores["mockllm/tuned"] - scores["mockllm/plain"])
    assert "paired by id: 12 items" in verdict.notes
    assert "crossed with seeds" in verdict.findings[0].method


def test_a_log_that_did_not_finish_is_told(tmp_path: Path) -> None:
    path = next(INSPECT.glob("*.eval"))
    header, samples = _archive(path)
    samples[0]["scores"] = {}
    (tmp_path / "cut.json").write_text(json.dumps({**header, "status": "cancelled", "samples": samples}))
    table = read(str(tmp_path / "cut.json"))
    assert [problem.what for problem in table.problems] == ["logs of evals that did not finish"]
    assert table.frame["match"].isna().sum() == 1


def test_samples_of_lm_eval_are_answers_of_the_model_in_their_results(tmp_path: Path) -> None:
    table = read(str(LM_EVAL))
    assert len(table.frame) == 24
    assert table.roles == {"arm": "model", "task": "task", "item": "id"}
    assert {*table.frame["model"]} == {path.name for path in LM_EVAL.iterdir()}
    assert "doc.passage" in table.frame
    assert {*table.frame["acc"]} == {0.0, 1.0}
    copy = shutil.copytree(LM_EVAL, tmp_path / "copy")
    for results in copy.rglob("results_*.json"):
        results.unlink()
    assert read(str(copy)).frame.equals(table.frame), "without results a model is called like its folder"


def test_of_an_answer_that_several_filters_read_each_score_is_a_column(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in next(LM_EVAL.rglob("*.jsonl")).read_text().splitlines()]
    both = [
        {**line, "filter": name, "acc": line["acc"] if name == "strict" else 1.0}
        for line in lines
        for name in ("strict", "loose")
    ]
    (tmp_path / "samples_sums_2026-11-30T02-58-23.5.jsonl").write_text("".join(json.dumps(record) + "\n" for record in both))
    frame = read(str(tmp_path)).frame
    assert len(frame) == len(lines)
    assert frame["acc,strict"].tolist() == [line["acc"] for line in lines]
    assert (frame["acc,loose"] == 1.0).all()


@pytest.mark.parametrize("name", [HEADER, SUMMARIES])
def test_a_broken_archive_says_what_to_do(tmp_path: Path, name: str) -> None:
    content = next(INSPECT.glob("*.eval")).read_bytes()
    (tmp_path / "cut.eval").write_bytes(content[: len(content) // 2])
    (tmp_path / "other.eval").write_bytes(content.replace(name.encode(), b"x" * len(name)))
    for path in tmp_path.iterdir():
        with pytest.raises(UserError, match="is no whole log of Inspect; copy it again"):
            read(str(path))


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log["samples"][0].pop("id"),
        lambda log: log["samples"][0].pop("epoch"),
        lambda log: log.pop("eval"),
        lambda log: log["eval"].pop("model"),
        lambda log: log["samples"][0].update(scores=[1]),
        lambda log: log["samples"][0].update(scores={"match": 1}),
        lambda log: log.update(samples={"a": 1}),
    ],
)
def test_a_log_that_lacks_a_part_is_refused_in_one_line(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    header, samples = _archive(next(INSPECT.glob("*.eval")))
    log = {**header, "samples": samples}
    change(log)
    (tmp_path / "log.json").write_text(json.dumps(log))
    with pytest.raises(UserError, match="is not laid out as Inspect writes its logs"):
        read(str(tmp_path / "log.json"))


def test_a_scorer_that_is_called_like_a_column_takes_none_of_its_place(tmp_path: Path) -> None:
    header, samples = _archive(next(INSPECT.glob("*.eval")))
    samples[0]["scores"]["model"] = {"value": "C"}
    (tmp_path / "log.json").write_text(json.dumps({**header, "samples": samples}))
    assert read(str(tmp_path / "log.json")).frame["model"].nunique() == 1
