"""Where the project lies: in a working copy the clone, else the installed package folklore; and where a user's caches do."""

import os
from pathlib import Path

HARNESS = Path(__file__).parent
PROJECT = HARNESS.parent


def cache_folder() -> Path:
    """Of this user, for what can be made again: `$XDG_CACHE_HOME/folklore`, else `~/.cache/folklore`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "folklore")
