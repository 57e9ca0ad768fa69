"""Where the project lies: in a working copy the clone, else the installed package folklore."""

from pathlib import Path

HARNESS = Path(__file__).parent
PROJECT = HARNESS.parent
