"""Receivers of a run's reports: a person at a terminal, a machine that reads events, or nobody."""

from collections.abc import Sequence
from typing import Any, Protocol

from ..consoles import PlainConsole
from ..judge.verdict import Verdict
from .progress import RunView


class Reporter(Protocol):
    def emit(self, event: str, **fields: Any) -> None:
        """One of launch/events.py's EVENTS, with its fields: for machines."""

    def say(self, line: str) -> None:
        """Say how the run goes on: for people, like all that follows."""

    def warn(self, line: str) -> None:
        """Say what they should know, or fix."""

    def judged(self, verdicts: Sequence[Verdict]) -> None:
        """Show the verdicts on one study's claims at one scale."""

    def view(self) -> RunView:
        """The view that shows the progress of training."""


class NullReporter:
    """Shows nothing, and keeps what it was warned of and why packs were given up."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.failures: list[str] = []

    def emit(self, event: str, **fields: Any) -> None:
        if event == "pack_failed":
            self.failures.append(f"pack {fields['pack']}: {fields['error']}")

    def say(self, line: str) -> None:
        pass

    def warn(self, line: str) -> None:
        self.warnings.append(line)

    def judged(self, verdicts: Sequence[Verdict]) -> None:
        pass

    def view(self) -> RunView:
        return RunView({}, PlainConsole(quiet=True), events=self)
