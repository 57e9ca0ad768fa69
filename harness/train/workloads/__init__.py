"""Workloads: data, a network and its loss, behind one protocol: the built-in ones, and a user's."""

from ...declare import Workload
from .base import BaseWorkload
from .built_in import BuiltInWorkload
from .own.declared import UserWorkload


def workload_of(declared: Workload) -> BaseWorkload:
    """The workload that a configuration declares. Raises UserError for a model that is unknown."""
    return BuiltInWorkload(declared) if declared.own is None else UserWorkload(declared, declared.own)


__all__ = ["BaseWorkload", "workload_of"]
