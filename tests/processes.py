"""Processes of a run, found by what they inherited from it: other tests run Ray at the same time."""

import os
import time

import psutil

# Ray's agents outlive a killed cluster for a minute: they try to tell it that it is dead, and then end.
AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")


def inheriting(variable: str, beginning: str | os.PathLike[str], but: tuple[str, ...] = ()) -> list[psutil.Process]:
    """Those in whose environment the variable's value begins so. but: beginnings of commands that do not count."""
    return [process for process in psutil.process_iter() if _inherits(process, variable, os.fspath(beginning), but)]


def _inherits(process: psutil.Process, variable: str, beginning: str, but: tuple[str, ...]) -> bool:
    try:
        inherited = process.environ().get(variable, "")
    except psutil.Error:
        return False
    command = command_of(process)
    return inherited.startswith(beginning) and bool(command) and not command.startswith(but)


def command_of(process: psutil.Process) -> str:
    """Its command line; empty where it has ended."""
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else " ".join(process.cmdline())
    except psutil.Error:
        return ""


def wait_until_gone(variable: str, beginning: str | os.PathLike[str], but: tuple[str, ...], seconds: float) -> list[str]:
    """Commands of those that are left after so long; these are killed, so that they disturb nothing else."""
    deadline = time.monotonic() + seconds
    while processes := inheriting(variable, beginning, but):
        if time.monotonic() > deadline:
            named = [command_of(process)[:120] for process in processes]
            for process in processes:
                process.kill()
            return named
        time.sleep(0.2)
    return []
