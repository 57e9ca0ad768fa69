"""How a configuration names an own workload: own:MODULE:ATTRIBUTE@IDENTITY. Read without importing it, or torch."""

from typing import Any

KIND = "own"
# What the environment of a trial calls what was proved of its workload, and what was read of a user's data.
PROOF, READ = "proof", "data_read"
# Addresses that this process was told to import, by a user or by the job it was sent: what a study file or a store names is
# only read.
ASKED: set[str] = set()
# Address -> a workload that was handed over as an object (finding.py), which workers know by nothing else.
HANDED: dict[str, Any] = {}


def address_of(dataset: str) -> str:
    """own:MODULE:ATTRIBUTE@IDENTITY -> MODULE:ATTRIBUTE."""
    return dataset.removeprefix(f"{KIND}:").partition("@")[0]
