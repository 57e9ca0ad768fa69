"""Probes, a module each: to add one is to add a module, whose probe it calls PROBE, with its curves and what computes them.

A module is imported without torch, for the descriptions of its curves.
"""

from importlib import import_module

from ...declare.registry import module_names
from .base import Probe

PROBES: tuple[Probe, ...] = tuple(import_module(f"{__name__}.{name}").PROBE for name in module_names("train/probes"))
