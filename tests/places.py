"""Where tests find the project, and data that lie beside it and may be missing."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
