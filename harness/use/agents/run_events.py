"""A run as its events tell it: progress for the client at once, and a result at the end."""

import json
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from .results import Run

MESSAGES_KEPT = 20


class RunEvents:
    """Hears the lines of `folklore run --json`. report: takes the trials done, those known, and a sentence."""

    def __init__(self, report: Callable[[float, float, str], Awaitable[None]]):
        self.report = report
        self.last: dict[str, dict[str, Any]] = {}
        self.verdicts: list[dict[str, Any]] = []
        self.pages: list[str] = []
        self.messages: deque[str] = deque(maxlen=MESSAGES_KEPT)
        self.done = 0.0

    async def hear(self, line: str) -> None:
        event = json.loads(line)
        self.last[event["event"]] = event
        match event["event"]:
            case "verdict":
                self.verdicts.append(event)
            case "page":
                self.pages.append(event["path"])
            case "message":
                self.messages.append(event["text"])
            case "pack_failed":
                self.messages.append(event["error"])
            case "progress" if event["trials_done"] > self.done:  # a pack that begins again takes some back
                self.done = event["trials_done"]
                remaining = "" if event["seconds_left"] is None else f", about {event['seconds_left']:.0f} s left"
                await self.report(
                    self.done, event["trials"], f"{event['packs_done']} of {event['packs']} packs finished{remaining}"
                )

    @property
    def has_finished(self) -> bool:
        return "finished" in self.last

    def result(self) -> Run:
        planned, finished = self.last["planned"], self.last["finished"]
        lists = {"verdicts": self.verdicts, "pages": self.pages, "messages": list(self.messages)}
        return Run.model_validate({**planned, **finished, **lists, "unfinished": finished["interrupted"]})
