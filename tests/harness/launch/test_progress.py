import io

from folklore.harness.consoles import PlainConsole
from folklore.harness.launch.jobs import Progress
from folklore.harness.launch.progress import RunView, duration


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def view(clock: Clock) -> tuple[RunView, io.StringIO]:
    out = io.StringIO()
    return RunView({"a": 10, "b": 10, "c": 20}, PlainConsole(file=out, width=200), clock), out


def test_time_left_counts_from_the_first_report() -> None:
    clock = Clock()
    shown, _ = view(clock)
    clock.now = 100.0  # Ray starts slowly
    shown.progress("a", Progress(done=False, share=0.0, lanes=10))
    assert shown.seconds_left() is None
    clock.now = 110.0
    shown.progress("a", Progress(done=False, share=0.5, lanes=10))
    assert shown.seconds_left() == 35 * 10 / 5


def test_time_left_goes_by_work_where_trials_differ() -> None:
    """Half of the trials are done in a tenth of the time: the rest takes nine times as long."""
    clock = Clock()
    shown = RunView({}, PlainConsole(file=io.StringIO(), width=200), clock)
    shown.add("small", 10, work=1.0)
    shown.add("large", 10, work=9.0)
    shown.progress("small", Progress(done=False, share=0.0, lanes=10))
    clock.now = 60.0
    shown.progress("small", Progress(done=True, share=1.0, lanes=10))
    assert shown.trials_a_minute() == 10.0
    assert shown.seconds_left() == 9 * 60.0
    shown.remove("large")
    assert shown.seconds_left() == 0.0


def test_time_left_when_packs_are_given_up_or_split() -> None:
    clock = Clock()
    shown, _ = view(clock)
    shown.progress("a", Progress(done=False, share=0.5, lanes=10))
    clock.now = 10.0
    shown.progress("b", Progress(done=True, share=1.0, lanes=10))
    shown.failed("a", "RuntimeError: boom")
    assert shown.seconds_left() == 20.0, "half of what was given up is no work done of what is left"
    shown.remove("a")
    shown.add("a1", 5, work=5.0)
    shown.add("a2", 5, work=5.0)
    assert shown.seconds_left() == 30.0, "ten trials in ten seconds, and thirty to go"


def test_the_line_says_what_there_is() -> None:
    clock = Clock()
    shown, out = view(clock)
    with shown:
        clock.now = 1.0
        shown.progress("a", Progress(done=True, share=1.0, lanes=10, best_loss=2.5, best_arm="half"))
        shown.finished("a")
        shown.progress("b", Progress(done=True, share=1.0, lanes=10, best_loss=2.9, best_arm="none"))
        shown.failed("c", "RuntimeError: boom")
    assert "best loss so far 2.500 (half)" in shown.line()
    assert "20 of 40 trials" in shown.line()
    assert "1 packs given up" in shown.line()
    assert "pack c given up: RuntimeError: boom" in out.getvalue()


def test_a_run_without_a_terminal_prints_few_lines() -> None:
    clock = Clock()
    shown, out = view(clock)
    with shown:
        for second in range(60):
            clock.now = float(second)
            shown.progress("a", Progress(done=False, share=second / 60, lanes=10))
    assert 4 <= len(out.getvalue().splitlines()) <= 6


def test_durations() -> None:
    assert [duration(s) for s in (5, 65, 3700)] == ["5 s", "1 min 05 s", "1 h 01 min"]


def test_other_peoples_text_is_no_markup() -> None:
    """PyTorch's messages hold brackets, and a user's error may close what was never opened."""
    shown, out = view(Clock())
    said = ["[/bold] MemoryError", "[enforce fail at alloc_cpu.cpp:127] err == 0", ":smile: is a key", "[red]"]
    for text in said:
        shown.failed("a", text)
        shown.progress("b", Progress(done=False, share=0.0, lanes=10, notes=(text,)))
    assert [line for line in out.getvalue().splitlines() if "trials" not in line] == [
        line for text in said for line in (f"pack a given up: {text}", text)
    ]


def test_measuring_is_only_said_where_lanes_are_measured() -> None:
    shown = RunView({}, PlainConsole(quiet=True), Clock())
    assert shown.line() == "starting workers"
    shown.measuring = True
    assert shown.line() == "starting workers, and measuring how many lanes packs should have"
