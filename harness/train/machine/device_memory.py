"""Memory of devices and of the host: kept while a pack trains, given back between packs; and its exhaustion, told from all
other errors."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ...errors import TooLargeError, one_line

# How torch's allocator of host memory says it, in a plain RuntimeError.
HOST = ("can't allocate memory", "not enough memory")
# Of mallopt(3): from how many free bytes on memory goes back to the system, and how large a block is asked of the system apart.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
MOST_BYTES = 2**31 - 1


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


def keep_host_memory() -> None:
    """Let tensors of this process reuse the memory of those before them, until `free_device_memory`.

    glibc gives large blocks back to the system at once, which hands each out again page by page, cleared: a sixth of a small
    pack's step and half of its evaluations. Other C libraries are left as they are.
    """
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(TRIM_THRESHOLD, MOST_BYTES)
        mallopt(MMAP_THRESHOLD, MOST_BYTES)


def free_device_memory(device: str) -> None:
    """Give back what is kept of packs that are gone, and count a GPU's peaks again.

    Errors of memory that was used up hold what they interrupted in cycles, which only the collector takes apart.
    """
    if device != "cuda":
        if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
            trim(0)
        return
    gc.collect()
    clear_workspaces = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear_workspaces is not None:
        clear_workspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
