"""The identity of an own workload: a change of any part of it makes other trials.

The sources that the module, its factory and its loss come from (comments aside); its settings as its repr tells them; what it
starts with, for two seeds; the loss of a few examples; and the data. What two seeds start with alike, such as loaded weights
and tables, counts by its bytes; what they draw, by its size alone, for processors round draws differently. Sources that these
import from elsewhere are not followed.

A process compares another's with its own (finding.py).
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

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ....declare import fingerprint
from ....errors import UserError
from .keyed import keyed
from .objective import Objective
from .workload import SPLITS, OwnWorkload

# Decimal digits of what may be rounded otherwise on another machine: far from what that does.
DIGITS = 3
# Raised where own workloads are trained in another way: 2, modules that cannot be packed are called by themselves; 3, sums and
# means over tokens are what they are.
TRAINED_AS = 3
SEEDS = (0, 1)
# Examples whose loss is compared.
EXAMPLES = 8
NOTEBOOK = "__main__"
Parts = dict[str, str]  # what -> a value, or a hash of one


def identity_of(address: str, parts: Parts) -> str:
    return fingerprint([TRAINED_AS, address, parts])


def parts(address: str, workload: OwnWorkload) -> Parts:
    """All that identifies it, by what it is. Raises UserError where the module cannot be made, or every seed starts alike."""
    made = [workload.objective(seed) for seed in SEEDS]
    facts = {"name": workload.name, "settings": re.sub(r"0x[0-9a-fA-F]+", "", repr(made[0].module))}
    facts |= {f"source of {name}": _hash(text) for name, text in _sources(address, workload, made[0]).items()}
    facts |= _starts(workload, *made)
    if workload.loss_may_rise:
        facts["loss_may_rise"] = "True"
    facts["loss of some examples"] = ", ".join(_loss(workload, objective) for objective in made)
    return facts | {f"{split} data": examples.hash() for split, examples in workload.examples.items()}


def data_hash(workload: OwnWorkload) -> str:
    """A hash of all examples, 16 hexadecimal digits."""
    return fingerprint([workload.examples[split].hash() for split in SPLITS])


def differing(ours: Parts, theirs: Parts) -> list[str]:
    """Names of the parts that differ in another process."""
    return [name for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name)]


def _starts(workload: OwnWorkload, first: Objective, other: Objective) -> Parts:
    """Name of a tensor that a module holds -> type, shape, and a summary of its values under two seeds."""
    starts, theirs, drawn, trained = {}, other.held(), False, False
    for name, value in first.held().items():
        if is_lazy(value) or value.is_meta:
            raise UserError(f"{name} has no values yet: run the module once in its factory, on a device that holds them")
        alike = torch.equal(value, theirs[name])
        trained |= value.requires_grad
        drawn |= value.requires_grad and not alike
        held = _hash(_bytes(value)) if alike else f"drawn, {_size(value)}"
        starts[f"start of {name}"] = f"{value.dtype} {list(value.shape)} {value.requires_grad} {held}"
    if trained and not drawn and not workload.one_start:
        raise UserError(
            f"workload '{workload.name}': module() starts alike for seeds {SEEDS[0]} and {SEEDS[1]}, which would count as two"
            " trials and are one start: leave torch.manual_seed and the like out of it; or, where every trial is to start from"
            " the same weights, say one_start=True"
        )
    return starts


def _loss(workload: OwnWorkload, objective: Objective) -> str:
    """The loss in eval mode, or the type of its error; a loss that fails is refused later."""
    examples = workload.examples["training"]
    try:
        with torch.no_grad(), keyed(0):
            objective.module.eval()
            loss = float(objective(*examples.batch(torch.arange(min(EXAMPLES, len(examples))))))
    except Exception as error:  # whatever a user's code raises
        return type(error).__name__
    return f"{loss:.{DIGITS}g}"


def _bytes(value: Tensor) -> bytes:
    return value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()


def _hash(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


def _size(values: Tensor) -> str:
    """Root mean square: a sum without cancellation, so that the order of its terms hardly matters."""
    return f"{float(values.detach().abs().double().square().mean().sqrt()) if values.numel() else 0.0:.{DIGITS}g}"


def _sources(address: str, workload: OwnWorkload, module: Objective) -> dict[str, str]:
    """Module name -> its source without comments, of all code that is the user's or another package's and not torch's."""
    modules = {address.partition(":")[0], *(type(submodule).__module__ for submodule in module.modules())}
    functions = {code for function in (workload.module, workload.loss) for code in _functions(function)}
    written = functions | {type(submodule) for submodule in module.modules()}
    modules |= {function.__module__ for function in functions}
    libraries = ("torch", "folklore", "builtins")
    ours = sorted(name for name in modules if name.partition(".")[0] not in libraries and name in sys.modules)
    sources = {name: source for name in ours if name != NOTEBOOK and (source := _source(name))}
    # Code written where no worker can import it counts piece by piece.
    pieces = (piece for piece in written if piece.__module__ == NOTEBOOK)
    return sources | {f"{NOTEBOOK}.{piece.__qualname__}": _written(piece) for piece in pieces}


def _written(piece: Any) -> str:
    try:
        return inspect.getsource(piece)
    except (OSError, TypeError):  # typed into a plain Python, which keeps no text
        return ""


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
