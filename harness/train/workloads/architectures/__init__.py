"""The models a study may name, a module each, which calls it ARCHITECTURE: to add one is to add its layers to models/, and
here a module that says what data it takes, how it is built and how a recipe tells it.

A user's own module is none of them (own/module.py). A module here is imported without torch.
"""

from ....declare.configuration import MODELS
from ....declare.registry import registered
from .base import Architecture


def architecture_named(name: str) -> Architecture:
    """Raises UserError for an unknown name."""
    found: Architecture = registered("model", "train/workloads/architectures", "ARCHITECTURE", name)
    return found


def those_that(trait: str) -> str:
    """The names of those with a trait: cnn and gpt."""
    return " and ".join(name for name in MODELS if getattr(architecture_named(name), trait))
