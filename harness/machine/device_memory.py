"""Device memory: given back between packs, and told from all else that can go wrong where it does not hold something."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from folklore.harness.errors import TooLargeError, one_line

# How torch's allocator of host memory says it, in a plain RuntimeError.
HOST = ("can't allocate memory", "not enough memory")


@contextmanager
def too_large_where_memory_ends() -> Iterator[None]:
    """Raises TooLargeError in place of the various errors for memory that is used up."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if is_memory_end(error):
            raise TooLargeError(one_line(error)) from error
        raise


def is_memory_end(error: BaseException) -> bool:
    """Whether an error says that memory is used up."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in HOST)


def free_device_memory(device: str) -> None:
    """Give back what torch keeps of packs that are gone, and count peaks again; nothing to do on a CPU.

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
