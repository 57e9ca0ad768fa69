"""Printed output: names and numbers whole at any width, sentences under their rows, nothing cut without a terminal."""

import io
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from folklore.harness.use.cli import app, output
from folklore.harness.use.cli.output import Column, Row, print_facts, print_table, print_wrapped
from tests.command_line import FOLKLORE, HANG_SECONDS, folklore_forked

CLI = CliRunner()
WIDTHS = (20, 40, 60, 80, 200)
NAMES = ("warmup.transformer_diverges", "warmup.widens")
NUMBERS = ("a factor of 1.29", "0.03 nats")
SENTENCE = "share of runs without warmup that diverge at the LR tuned for 5% warmup"


def shown(monkeypatch: pytest.MonkeyPatch, width: int | None) -> io.StringIO:
    """The output on a terminal of this width; None: into a pipe."""
    file = io.StringIO()
    console = output.PlainConsole(file=file, width=width, force_terminal=width is not None, color_system=None, _environ={})
    monkeypatch.setattr(output, "out", console)
    return file


def a_table() -> None:
    rows = [Row((name, number), (SENTENCE, "")) for name, number in zip(NAMES, NUMBERS, strict=True)]
    print_table((Column("claim"), Column("margin", number=True)), rows)


@pytest.mark.parametrize("width", [*WIDTHS, None])
def test_names_and_numbers_are_whole(width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    file = shown(monkeypatch, width)
    a_table()
    lines = file.getvalue().splitlines()
    for whole in (*NAMES, *NUMBERS):
        assert any(whole in line for line in lines), lines
    assert " ".join(file.getvalue().split()).count(SENTENCE) == 2, "every word of it, between words at most"
    if width is not None and width >= 40:
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [60, 200, None])
def test_numbers_are_right_aligned(width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    file = shown(monkeypatch, width)
    a_table()
    lines = file.getvalue().splitlines()
    ends = {len(line) for line in lines if line.endswith(("margin", *NUMBERS))}
    assert len(ends) == 1, lines


def test_what_does_not_fit_becomes_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    file = shown(monkeypatch, 40)
    a_table()
    assert file.getvalue().splitlines()[:2] == [NAMES[0], f"  margin  {NUMBERS[0]}"]


def test_values_go_on_below_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    file = shown(monkeypatch, 40)
    print_facts({"a": SENTENCE, "longer": "x"})
    first, second, *_, last = file.getvalue().splitlines()
    assert first.startswith("a       share of runs")
    assert second.startswith("        ")
    assert last == "longer  x"


def test_a_pipe_wraps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    file = shown(monkeypatch, None)
    long = "word " * 1000 + "end"
    print_facts({"a": long})
    output.out.print(long)
    assert file.getvalue().splitlines() == [f"a  {long}", long]


def test_lines_are_wrapped_as_deep_as_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    file = shown(monkeypatch, 40)
    print_wrapped(output.Text(SENTENCE), 4)
    lines = file.getvalue().splitlines()
    assert len(lines) > 1
    assert all(re.match(r"    \S", line) for line in lines)
    assert max(map(len, lines)) <= 40


def test_a_long_command_is_not_silent_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line a study where no terminal shows the count: `make reports` was silent for two minutes in CI."""
    written = io.StringIO()
    monkeypatch.setattr(output, "err", output.PlainConsole(file=written))
    tell = output.told("drawn")
    for count in range(3):
        tell(count, 2)
    assert written.getvalue().splitlines() == [f"drawn: {count} of 2 studies" for count in range(3)]


@pytest.mark.parametrize("columns", ["60", "80"])
def test_a_plan_that_is_piped(columns: str) -> None:
    """COLUMNS is the terminal's, and a pipe is none."""
    printed = CLI.invoke(app, ["plan", "warmup_duration"], env={"COLUMNS": columns}).stdout
    assert "…" not in printed
    assert f"\n{NAMES[0]} " in printed
    assert f"\n  {SENTENCE}\n" in printed
    (header,) = (line for line in printed.splitlines() if line.startswith("claim "))
    assert re.fullmatch(r"claim +pilot +margin +expected +power +seeds", header)


def test_verdicts_that_are_piped() -> None:
    printed = CLI.invoke(app, ["verdicts", "warmup_duration", "--published"]).stdout
    lines = printed.splitlines()
    assert any(re.fullmatch(rf"\w+ \([\w ]+\) +{re.escape(NAMES[0])}", line) for line in lines)
    assert sum(line.startswith("  below the claim's size: ") for line in lines) >= 3
    assert (
        sum(re.match(r"  In a run four times as long, the same number .* costs \S+ \(", line) is not None for line in lines)
        == 1
    )
    assert sum(line.startswith("  what to do: ") for line in lines) >= 3


def test_a_reader_that_has_left_is_no_error() -> None:
    """As `| head` leaves, only that it has left before the first line, so that no chance is in it: of a line, a text, and of
    JSON that fits into a buffer and that does not. Tables go the same way."""
    reading, writing = os.pipe()
    os.close(reading)
    lines = ("--version", "deploy slurm", "schema events", "schema")
    imports = ("folklore.harness.use.cli", "folklore.harness.declare.metrics")
    try:
        folklore_forked(*lines, imports=imports, code=141, stdout=writing)
    finally:
        os.close(writing)


def test_another_pipe_that_breaks_is_an_error() -> None:
    """Exit code 141 is for what the command prints into, and for nothing else."""
    code = (
        "import sys; sys.argv = ['folklore', 'deploy', 'slurm']\n"
        "from folklore.harness.use.cli import completion\n"
        "def found(): raise BrokenPipeError('a worker has left')\n"
        "completion.deployments = found\n"
        "from folklore.harness.__main__ import main; main()"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (done.returncode, done.stderr) == (2, "error: a worker has left\n")


@pytest.mark.parametrize(("stream", "place", "code"), [(1, "slurm", 0), (2, "nowhere", 2)])
def test_a_closed_stream_is_written_to_nowhere(stream: int, place: str, code: int) -> None:
    """As with `>&-`, of the stream that the command writes to: nothing else gets its number, and the exit code is that of the
    command."""
    done = subprocess.run(
        [*FOLKLORE, "deploy", place], capture_output=True, text=True, preexec_fn=lambda: os.close(stream), timeout=HANG_SECONDS
    )
    assert done.returncode == code
    assert (done.stdout, done.stderr)[stream - 1] == ""
    assert "Traceback" not in done.stderr
