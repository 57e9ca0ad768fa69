"""What identifies an own workload: a change of any of it makes other trials.

The sources that the module, its factory and its loss come from (comments aside); names, shapes and types of what the module
holds, its settings as its repr tells them, and the sizes of its starting values, which tell of loaded weights and of arguments
that no source shows; and the data. Sources that these import from elsewhere are not followed.
"""

import ast
import hashlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from folklore.harness.errors import UserError
from folklore.harness.own.workload import SPLITS, OwnWorkload
from folklore.harness.spec import fingerprint

# Decimal digits of the size of a starting value: far from what rounding does on another machine.
DIGITS = 3
# Raised where own workloads are trained in another way: 2, modules that cannot be packed are called by themselves.
TRAINED_AS = 2


def identity(address: str, workload: OwnWorkload) -> str:
    """16 hexadecimal digits. Raises UserError where the module cannot be made."""
    module = workload.made(0)
    return fingerprint(
        [TRAINED_AS, address, workload.name, _sources(address, workload, module), _structure(module), data_hash(workload)]
    )


def data_hash(workload: OwnWorkload) -> str:
    """Of all tensors, 16 hexadecimal digits."""
    content = hashlib.sha256()
    for split in SPLITS:
        for tensor in getattr(workload, split):
            content.update(f"{split} {tensor.dtype} {list(tensor.shape)} ".encode())
            content.update(tensor.detach().cpu().contiguous().numpy().data)
    return content.hexdigest()[:16]


def _structure(module: nn.Module) -> list[object]:
    held = [("parameter", *each) for each in module.named_parameters()] + [("buffer", *each) for each in module.named_buffers()]
    shapes = []
    for kind, name, value in held:
        if is_lazy(value) or value.is_meta:
            raise UserError(f"{kind} {name} has no values yet: run the module once in its factory, on a device that holds them")
        shapes.append([kind, name, str(value.dtype), list(value.shape), value.requires_grad, _size(value)])
    return [re.sub(r"0x[0-9a-fA-F]+", "", repr(module)), shapes]


def _size(values: Tensor) -> str:
    """Root mean square: a sum without cancellation, so that the order of its terms hardly matters."""
    return f"{float(values.detach().double().abs().square().mean().sqrt()) if values.numel() else 0.0:.{DIGITS}g}"


def _sources(address: str, workload: OwnWorkload, module: nn.Module) -> dict[str, str]:
    """Module name -> its source without comments, of all code that is the user's or another package's and not torch's."""
    modules = {address.partition(":")[0], *(type(each).__module__ for each in module.modules())}
    modules |= {each.__module__ for function in (workload.module, workload.loss) for each in _functions(function)}
    ours = sorted(name for name in modules if name.partition(".")[0] != "torch" and name in sys.modules)
    return {name: source for name in ours if (source := _source(name))}


def _functions(value: Any) -> Iterator[Any]:
    """A function, a class, what a partial calls, or the class of a callable object."""
    if isinstance(value, partial):
        yield from _functions(value.func)
    elif inspect.isroutine(value) or inspect.isclass(value):
        if getattr(value, "__module__", None):
            yield value
    else:
        yield type(value)


def _source(name: str) -> str:
    file = getattr(sys.modules[name], "__file__", None)
    if not file or not file.endswith(".py"):
        return ""
    text = Path(file).read_text(encoding="utf-8")
    try:
        return ast.unparse(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):  # edited since it was imported
        return text
