"""Facts about this machine from torch."""

from typing import Any

import torch

from .machine.description import available_memory_bytes, local_device
from .programs import missing_compiler


def torch_facts() -> dict[str, Any]:
    """Torch's facts for `folklore doctor`, which asks in a process of its own."""
    device = local_device()
    return {
        "version": torch.__version__,
        "device": f"{device.count} x {device.name} ({device.kind})",
        "compiler": missing_compiler(torch.device(device.kind)),
        "memory_gib": available_memory_bytes(device) / 2**30,
    }
