"""How a configuration names an own workload: own:MODULE:ATTRIBUTE@IDENTITY. Read without importing it, or torch."""

import re
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


def own_title(title: str, workload: str) -> str:
    """The title of a study that is put to an own workload of this name."""
    return f"{title}, on own workload '{workload}'"


def workload_named_in(title: str) -> str | None:
    """The own workload's name in such a title."""
    found = re.search(r", on own workload '(.+)'$", title)
    return found and found[1]
