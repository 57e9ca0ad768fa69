"""Telling that memory did not hold something from all else that can go wrong."""

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
