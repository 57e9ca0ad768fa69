"""Folders of the project, a working copy's clone or else the installed package folklore, and of a user's caches."""

import os
from pathlib import Path

HARNESS = Path(__file__).parent
PROJECT = HARNESS.parent


def cache_folder() -> Path:
    """This user's folder for what can be made again: `$XDG_CACHE_HOME/folklore`, else `~/.cache/folklore`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "folklore")
