"""Progress of training: for people a live line on a terminal, plain lines elsewhere; for machines events."""

import time
from collections.abc import Callable
from typing import Any

from rich.live import Live
from rich.text import Text

from ..consoles import PlainConsole
from .events import Events, Silent
from .jobs import Progress

# Seconds between two lines where there is no terminal to redraw, and between two events.
PLAIN_SECONDS = 15.0
EVENT_SECONDS = 1.0
# A rate over less time than this says nothing.
LEAST_RATE_SECONDS = 1.0


def duration(seconds: float) -> str:
    seconds = max(0, round(seconds))
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


class RunView:
    """Counts trials by the lanes of their packs; the time left is the work left at the rate seen so far.

    packs: key -> lanes. Work is in seconds as they were expected, of which only the ratios count; without any, trials.
    """

    def __init__(
        self,
        packs: dict[str, int],
        console: PlainConsole | None = None,
        clock: Callable[[], float] = time.monotonic,
        events: Events | None = None,
    ):
        self.lanes, self.clock, self.events = dict(packs), clock, events or Silent()
        self.console = console or PlainConsole(stderr=True)
        self.share = dict.fromkeys(packs, 0.0)
        self.work = {pack: float(lanes) for pack, lanes in packs.items()}
        self.diverged = dict[str, int]()
        self.done: set[str] = set()
        self.given_up: set[str] = set()
        self.told: set[str] = set()
        self.best: tuple[float, str] | None = None
        self.gpu_memory_bytes: int | None = None
        # Rates count from the first report: what passed before was Ray starting. When it came, trials and work done by then.
        self.first_report: tuple[float, float, float] | None = None
        self.measuring = False  # whether packs are cut only after lanes are measured
        self.last_line = -PLAIN_SECONDS
        self.last_event = -EVENT_SECONDS
        self.live = Live(console=self.console, auto_refresh=False, transient=True) if self.console.is_terminal else None

    def __enter__(self) -> "RunView":
        if self.live:
            self.live.start()
        self.events.emit("started", trials=sum(self.lanes.values()), packs=len(self.lanes))
        self._show(force=True)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.live.stop()
        if self.first_report is not None:
            self.console.print(self.line())
            self.events.emit("progress", **self.state())

    def add(self, pack: str, lanes: int, work: float) -> None:
        """Adds a pack that a search asks for to those known beforehand."""
        if pack not in self.lanes:
            self.lanes[pack], self.share[pack], self.work[pack] = lanes, 0.0, work

    def remove(self, pack: str) -> None:
        """Removes a pack that was split into others. Its work is lost, but it was done: rates go on counting it."""
        if self.first_report is not None and pack in self.lanes:
            started, trials, work = self.first_report
            lost = self.share[pack]
            self.first_report = (started, trials - lost * self.lanes[pack], work - lost * self.work[pack])
        for of_packs in (self.lanes, self.share, self.work, self.diverged):
            of_packs.pop(pack, None)

    def progress(self, pack: str, progress: Progress) -> None:
        for note in progress.notes:
            if note not in self.told:
                self.told.add(note)
                self.console.print(note)
                self.events.emit("message", text=" ".join(note.split()))
        self.share[pack], self.diverged[pack] = progress.share, progress.diverged
        if progress.gpu_memory_bytes is not None:
            self.gpu_memory_bytes = max(self.gpu_memory_bytes or 0, progress.gpu_memory_bytes)
        if self.first_report is None:
            self.first_report = (self.clock(), self.trials_done, self.work_done)
        if progress.best_loss is not None and progress.done and (self.best is None or progress.best_loss < self.best[0]):
            self.best = (progress.best_loss, progress.best_arm or "")
        self._show()

    def finished(self, pack: str) -> None:
        self.share[pack] = 1.0
        self.done.add(pack)
        self.events.emit("pack_finished", pack=pack, trials=self.lanes.get(pack, 0), diverged=self.diverged.get(pack, 0))
        self._show()

    def failed(self, pack: str, error: str) -> None:
        self.given_up.add(pack)
        self.console.print(f"pack {pack} given up: {error}", style="red")
        self.events.emit("pack_failed", pack=pack, trials=self.lanes.get(pack, 0), error=" ".join(error.split()))

    @property
    def trials_done(self) -> float:
        """In trials, counting the share done of packs in flight."""
        return sum(self.share[pack] * lanes for pack, lanes in self.lanes.items())

    @property
    def work_done(self) -> float:
        return sum(self.share[pack] * work for pack, work in self.work.items())

    def trials_a_minute(self) -> float | None:
        """Rate since the first report; None if there is nothing to go by yet."""
        elapsed, trained, _ = self._since_first_report()
        return 60 * trained / elapsed if trained > 0 else None

    def seconds_left(self) -> float | None:
        """By work and not by trials: those of a campaign's last study may be many times as long as those of its first."""
        elapsed, _, done = self._since_first_report()
        work_left = sum((1 - self.share[pack]) * work for pack, work in self.work.items() if pack not in self.given_up)
        return elapsed * work_left / done if done > 0 else None

    def _since_first_report(self) -> tuple[float, float, float]:
        """Seconds, trials and work; no trials and no work where there is nothing to go by yet."""
        if self.first_report is None:
            return 0.0, 0.0, 0.0
        started, trials, work = self.first_report
        elapsed = self.clock() - started
        if elapsed < LEAST_RATE_SECONDS:
            return elapsed, 0.0, 0.0
        return elapsed, self.trials_done - trials, self.work_done - work

    def state(self) -> dict[str, Any]:
        """The fields of a progress event."""
        return {
            "trials": sum(self.lanes.values()),
            "trials_done": round(self.trials_done, 2),
            "packs": len(self.lanes),
            "packs_done": len(self.done),
            "packs_given_up": len(self.given_up),
            "trials_a_minute": self.trials_a_minute(),
            "seconds_left": self.seconds_left(),
            "diverged": sum(self.diverged.values()),
            "best_loss": self.best and self.best[0],
            "best_arm": self.best and self.best[1],
            "gpu_memory_bytes": self.gpu_memory_bytes,
        }

    def line(self) -> str:
        if not self.lanes:
            return "starting workers" + self.measuring * ", and measuring how many lanes packs should have"
        total, diverged = sum(self.lanes.values()), sum(self.diverged.values())
        # If only computed jobs are left there are packs without a trial.
        parts = [f"{round(self.trials_done)} of {total} trials"] if total else []
        parts.append(f"{len(self.done)} of {len(self.lanes)} packs")
        rate, rest = self.trials_a_minute(), self.seconds_left()
        if rate is not None:
            parts.append(f"{rate:.0f} trials a minute" if rate >= 10 else f"{rate:.1f} trials a minute")
        if len(self.done) < len(self.lanes):
            parts.append("starting workers" if self.first_report is None else "" if rest is None else f"{duration(rest)} left")
        if self.given_up:
            parts.append(f"{len(self.given_up)} packs given up")
        if diverged:
            parts.append(f"{diverged} diverged")
        if self.best:
            parts.append(f"best loss so far {self.best[0]:.3f} ({self.best[1]})")
        if self.gpu_memory_bytes is not None:
            parts.append(f"{self.gpu_memory_bytes / 2**30:.1f} GiB GPU memory at most")
        return " · ".join(part for part in parts if part)

    def _show(self, force: bool = False) -> None:
        if self.first_report is not None and self.clock() - self.last_event >= EVENT_SECONDS:
            self.last_event = self.clock()
            self.events.emit("progress", **self.state())
        if self.live:
            self.live.update(Text(self.line()), refresh=True)
        elif force or self.clock() - self.last_line >= PLAIN_SECONDS:
            self.last_line = self.clock()
            self.console.print(self.line())
