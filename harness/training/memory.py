"""Device memory: given back between packs, and told from all else that can go wrong where it does not hold something."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from harness.errors import TooLargeError, one_line

# How torch's allocator of host memory says it, in a plain RuntimeError.
HOST = ("can't allocate memory", "not enough memory")


@contextmanager
def too_large_where_memory_ends() -> Iterator[None]:
    """Raises TooLargeError in place of the various errors for memory that is used up."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise TooLargeError(one_line(error)) from error
    except RuntimeError as error:
        if any(words in str(error) for words in HOST):
            raise TooLargeError(one_line(error)) from error
        raise


def free_device_memory(device: str) -> None:
    """Give back what torch keeps of packs that are gone, and count peaks anew; nothing to do on a CPU.

    Errors of memory that was used up hold what they interrupted in cycles, which only the collector takes apart.
    """
    if device != "cuda":
        return
    gc.collect()
    clear_workspaces = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear_workspaces is not None:
        clear_workspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
