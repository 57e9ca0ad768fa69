"""The `folklore` command. It wires the parts together; each module holds the commands of one purpose."""

from . import run, evidence, judge, store, tools, budget, machine, noise, agents  # noqa: F401, I001  (in the order of the help)
from .base import app

__all__ = ["app"]
