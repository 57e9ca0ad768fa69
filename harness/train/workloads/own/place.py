"""Where in a user's code an error comes from, and what that code raises while it is trained, told from all else that can go
wrong there."""

import os
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from ..... import models
from ....declare.own_address import OwnAddress
from ....errors import TooLargeError, UserCodeError, UserError, one_line
from ....folders import HARNESS, PROJECT

# Code that is not the user's: ours, torch's and Python's own. Other installed code may well be.
NOT_THEIRS = tuple(str(folder) + os.sep for folder in (HARNESS, PROJECT / "studies", *models.__path__, *torch.__path__))
PYTHON = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")})
LONGEST_MESSAGE = 300
# Errors that may pass by themselves: of memory, a disk, a network, or a device that fails.
PASSING = (TooLargeError, MemoryError, OSError, torch.OutOfMemoryError, torch.AcceleratorError)
# Where Objective calls the user's code, which may be torch's own: a loss of torch.nn.functional, say.
CALLS = ("objective.py", {"forward", "called"})


def place(error: BaseException) -> str:
    """The innermost line of the user's code on an error's way: 'my_module.py, line 12'. Empty where there is none."""
    theirs = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame.filename)]
    if not theirs and isinstance(error, SyntaxError) and error.filename:
        return f"{os.path.basename(error.filename)}, line {error.lineno}"
    return f"{os.path.basename(theirs[-1].filename)}, line {theirs[-1].lineno}" if theirs else ""


def with_place(error: BaseException) -> str:
    """An error's type, message and origin: 'ValueError (too deep) in my_module.py, line 12'."""
    said = error.msg if isinstance(error, SyntaxError) else one_line(error)
    where = place(error)
    return f"{type(error).__name__} ({said[:LONGEST_MESSAGE]}){where and f' in {where}'}"


@contextmanager
def raised_by_user(address: OwnAddress) -> Iterator[None]:
    """Raises UserCodeError in place of errors of an own workload's code.

    Trials depend on their seeds alone, so that code raises the same error every time.
    """
    try:
        yield
    except (UserError, *PASSING):
        raise
    except Exception as error:  # whatever a user's code raises
        file, names = CALLS
        frames = traceback.extract_tb(error.__traceback__)
        called = any(Path(frame.filename).name == file and frame.name in names for frame in frames)
        if not (place(error) or called):
            raise
        raise UserCodeError(f"workload '{address.place}' raises {with_place(error)}: fix it") from error


def _is_theirs(file: str) -> bool:
    if file.startswith(("<", *NOT_THEIRS)):
        return False
    return file.startswith(INSTALLED) or not file.startswith(PYTHON)
