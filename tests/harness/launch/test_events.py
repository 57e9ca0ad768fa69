"""Events are JSON, one object a line, and documented field by field."""

import io
import json
from pathlib import Path

import pytest

from folklore.harness.judge.verdict import VerdictResult
from folklore.harness.launch.events import EVENTS, JsonLines
from folklore.harness.launch.jobs import Progress
from folklore.harness.launch.progress import RunView
from tests.command_line import folklore_here


def test_what_is_not_documented_is_not_said() -> None:
    events = JsonLines(io.StringIO())
    with pytest.raises(AssertionError, match="colour"):
        events.emit("page", path="x", colour="red")
    with pytest.raises(AssertionError, match="path"):
        events.emit("page")
    assert all(words for fields in EVENTS.values() for words in fields.values())
    assert EVENTS["verdict"].keys() == {*VerdictResult.model_fields, "variation"}


def test_numbers_that_json_does_not_have_are_null() -> None:
    stream = io.StringIO()
    JsonLines(stream, clock=lambda: 1.5).emit("pack_finished", pack="a\nb", trials=3, diverged=float("nan"))
    assert stream.getvalue().count("\n") == 1
    assert json.loads(stream.getvalue()) == {
        "event": "pack_finished",
        "time": 1.5,
        "pack": "a\nb",
        "trials": 3,
        "diverged": None,
    }


def test_a_view_tells_machines_what_it_tells_people() -> None:
    stream, now = io.StringIO(), [0.0]
    view = RunView({"a": 10, "b": 10}, clock=lambda: now[0], events=JsonLines(stream))
    with view:
        for second, share in ((10.0, 0.1), (10.2, 0.2), (20.0, 0.6)):
            now[0] = second
            view.progress("a", Progress(False, share, 10, diverged=2, gpu_memory_bytes=3 << 30, notes=("slow\ndisk",)))
        view.failed("b", "RuntimeError: boom")
        view.finished("a")
    said = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in said] == [
        *("started", "message", "progress", "progress", "pack_failed", "pack_finished", "progress")
    ], "two reports within a second are one event"
    second = said[3]
    assert second["trials_a_minute"] == pytest.approx(30.0), "5 trials in the 10 seconds after the first report"
    assert second["seconds_left"] == pytest.approx((20 - 6) / 0.5)
    assert (second["diverged"], second["gpu_memory_bytes"]) == (2, 3 << 30)
    assert said[1]["text"] == "slow disk"
    assert "54 trials a minute" in view.line(), "9 trials in 10 seconds"
    assert "2 diverged" in view.line()
    assert "3.0 GiB GPU memory" in view.line()


@pytest.mark.slow
def test_every_line_of_a_run_is_an_event(tmp_path: Path, ray_address: str) -> None:
    """A real run, of two trials."""
    varied = ("--scale", "smoke", "--seeds", "1", "--only", "below", "--only", "above")
    where = ("--store", tmp_path, "--json", "--address", ray_address, "--workers", 1)
    variation = folklore_here("run", "edge_of_stability", *varied, *where)
    said = [json.loads(line) for line in variation.stdout.splitlines()]
    for event in said:
        assert event.keys() == {"event", "time", *EVENTS[event["event"]]}
    kinds = [event["event"] for event in said]
    assert kinds[:2] == ["planned", "started"]
    assert kinds[-1] == "finished"
    assert {"progress", "pack_finished", "verdict", "page"} <= set(kinds)
    by_kind = {event["event"]: event for event in said}
    assert (by_kind["planned"]["trials_left"], by_kind["finished"]["trained"]) == (2, 2)
    assert any("seeds = 1, where the study has 2" in departure for departure in by_kind["planned"]["departures"])
    assert by_kind["verdict"]["variation"] is True
    assert Path(by_kind["page"]["path"]).exists()
    assert "2 of 2 trials" in variation.stderr, "people are told on the other stream"


def test_an_error_is_an_event_and_a_line(tmp_path: Path) -> None:
    process = folklore_here("run", "warmup", "--scale", "labtop", "--json", "--store", tmp_path, code=2)
    said = [json.loads(line) for line in process.stdout.splitlines()]
    assert [event["event"] for event in said] == ["failed"]
    assert "did you mean 'laptop'?" in said[0]["error"]
    assert "did you mean 'laptop'?" in process.stderr
