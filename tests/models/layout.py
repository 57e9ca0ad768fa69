"""Where our weights lie otherwise than torch.nn's: those of Linear are transposed."""

from torch import Tensor


def as_in_torch(name: str, value: Tensor) -> Tensor:
    """One lane's parameter in torch.nn's layout."""
    return value.t() if value.dim() == 2 and not name.startswith("embedding.") else value
