"""What a user's code raises while it is trained, told from all else that can go wrong there."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from folklore.harness.errors import TooLargeError, UserCodeError, UserError
from folklore.harness.spec.own_address import OwnAddress
from folklore.harness.workloads.own.place import place, with_place

# What may go away by itself: memory, a disk, a network, or a device that fails.
PASSING = (TooLargeError, MemoryError, OSError, torch.OutOfMemoryError, torch.AcceleratorError)
# Where models.Objective calls the user's code, which may be torch's own: a loss of torch.nn.functional, say.
CALLS = ("objective.py", {"forward", "called"})


@contextmanager
def raised_by_user(address: OwnAddress) -> Iterator[None]:
    """Raises UserCodeError in place of what the code of an own workload raises.

    Trials depend on their seeds alone: what that code raises it raises every time.
    """
    try:
        yield
    except (UserError, *PASSING):
        raise
    except Exception as error:  # whatever a user's code raises
        if not (place(error) or _was_called(error)):
            raise
        raise UserCodeError(f"workload '{address.place}' raises {with_place(error)}: fix it") from error


def _was_called(error: BaseException) -> bool:
    file, names = CALLS
    frames = traceback.extract_tb(error.__traceback__)
    return any(Path(frame.filename).name == file and frame.name in names for frame in frames)
