"""The models a study may name, a module each, which calls it ARCHITECTURE: to add one is to add its layers to models/, and
here a module that says what data it takes, how it is built and how a recipe tells it.

A user's own module is none of them (own/module.py). A module here is imported without torch.
"""

import itertools

from ....declare import Workload
from ....declare.configuration import MODELS
from ....declare.registry import registered
from .base import Architecture


def architecture_named(name: str) -> Architecture:
    """Raises UserError for an unknown name."""
    architecture: Architecture = registered("model", "train/workloads/architectures", "ARCHITECTURE", name)
    return architecture


def those_that(trait: str) -> str:
    """The names of those with a trait: cnn and gpt."""
    return " and ".join(name for name in MODELS if getattr(architecture_named(name), trait))


def check(workload: Workload) -> None:
    """Raises ValueError for settings that do not go together, and for those that only other models have."""
    chosen, settings = workload.model, {model: architecture_named(model).settings for model in MODELS}
    for name in dict.fromkeys(itertools.chain(*settings.values())):
        value, models = getattr(workload, name), [model for model in MODELS if name in settings[model]]
        if chosen not in models and value != Workload.model_fields[name].default:
            raise ValueError(f"{name} = {value}: is of {' or '.join(models)}, and model = {chosen}; leave it out")
    if chosen in MODELS:
        architecture_named(chosen).check(workload)
