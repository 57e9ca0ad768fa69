"""The change from one study to another: settings that were varied, a user's own workload, or seeds that a run added."""

from pydantic import Field

from .base import Spec


class Change(Spec):
    """One change and why it was made: it has either settings, a workload or seeds. `Study.changed` keeps it."""

    why: tuple[str, ...] = Field(default=(), description="what readers are told: how the study differs from the declared one")
    settings: tuple[str, ...] = Field(default=(), description="what a variation sets, in short: 'steps = 7'")
    workload: str = Field(default="", description="the name of the own workload in place of the study's")
    seeds: dict[str, int] = Field(default={}, description="scale -> how many seeds a run has come to; never declared")

    def called(self, study: str) -> str:
        """The changed study as messages call it."""
        if self.workload:
            return f"study '{study}' on own workload '{self.workload}'"
        seeds = "".join(f" with {count} seeds" for count in self.seeds.values())
        return f"study '{study}'{seeds}" if seeds else f"a variation of study '{study}'"
