"""Shows a run to a person at a terminal; `events` gets the part for machines."""

from collections.abc import Sequence
from typing import Any

from ...consoles import PlainConsole
from ...judge.verdict import Verdict
from ...launch.events import Events
from ...launch.progress import RunView
from .output import err, out, print_verdicts


class Terminal:
    """Progress and results on standard output, warnings on standard error. quiet: verdicts and warnings alone."""

    def __init__(self, events: Events, quiet: bool = False):
        self.events, self.quiet = events, quiet

    def emit(self, event: str, **fields: Any) -> None:
        self.events.emit(event, **fields)

    def say(self, line: str) -> None:
        if not self.quiet:
            out.print(line)

    def warn(self, line: str) -> None:
        err.print(line, style="yellow")

    def judged(self, verdicts: Sequence[Verdict]) -> None:
        print_verdicts(verdicts, as_json=False)

    def view(self) -> RunView:
        return RunView({}, PlainConsole(quiet=True) if self.quiet else None, events=self.events)
