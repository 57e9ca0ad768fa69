"""Memory as counted bytes: what tensors hold at once, operation by operation, on any machine and for any size.

Storages count from their first use to their end, without the bytes that an allocator rounds up or keeps afterwards. In
`pretended()` tensors have shapes and no numbers, so that a model of any size is counted in seconds; kernels, and the tensors
that they keep for the backward pass, are those of a CPU.
"""

import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Allocations(TorchDispatchMode):
    """live, peak: bytes of the storages made by operations inside or passed to `hold`; now, and at most. aside, peak_beside:
    bytes that were put aside, and the most of all others at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live = self.peak = self.aside = self.peak_beside = 0
        self._known: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    def hold(self, *tensors: Tensor) -> None:
        """Count these, which were there before."""
        for tensor in tensors:
            if tensor.is_sparse:
                self.hold(tensor._indices(), tensor._values())
                continue
            storage = tensor.untyped_storage()
            if storage not in self._known:
                self._known.add(storage)
                size = storage.nbytes()
                self.live += size
                self.peak = max(self.peak, self.live)
                self.peak_beside = max(self.peak_beside, self.live - self.aside)
                weakref.finalize(storage, self._end, size)

    def _end(self, size: int) -> None:
        self.live -= size

    def put_aside(self, tensor: Tensor) -> None:
        """From here on count a tensor as put aside; it has to stay."""
        parts = (tensor._indices(), tensor._values()) if tensor.is_sparse else (tensor,)
        self.aside += sum(min(part.nbytes, part.untyped_storage().nbytes()) for part in parts)

    def restart(self) -> None:
        """Count the peaks from here on."""
        self.peak = self.live
        self.peak_beside = self.live - self.aside

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.hold(*(leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)))
        return result


@contextmanager
def pretended() -> Iterator[None]:
    """Tensors that are made inside have no numbers, and take no memory."""
    with FakeTensorMode(allow_non_fake_inputs=True), warnings.catch_warnings():
        # A module that asks for addresses, as torch's own fast paths do, is told that there are none: that is no mistake.
        warnings.filterwarnings("ignore", message="Accessing the data pointer of FakeTensor")
        yield
