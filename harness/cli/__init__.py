"""The `folklore` command. It wires the parts together; each module holds the commands of one purpose."""

from folklore.harness.cli import run, evidence, store, tools, budget, machine  # noqa: F401, I001  (in the order of the help)
from folklore.harness.cli.base import app

__all__ = ["app"]
