"""An own workload by its address MODULE:ATTRIBUTE, on the driver and on every worker."""

import importlib
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

import torch

from ....declare import Workload
from ....declare.own_address import GIVEN, OWN, OwnAddress
from ....errors import UserError, unknown
from ...machine.device_memory import is_memory_end
from .identity import Parts, differing, identity_of, parts
from .place import place, with_place
from .workload import OwnWorkload

log = logging.getLogger(__name__)

LONGEST, MOST_NAMED = 300, 4
ADDRESS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


@dataclass(frozen=True)
class FoundWorkload:
    """address: MODULE:ATTRIBUTE. identity: of all that decides the workload's numbers, 16 hexadecimal digits."""

    address: str
    identity: str
    workload: OwnWorkload
    parts: Parts

    @property
    def planned(self) -> OwnAddress:
        """Its address for workers, with the identity that they must find."""
        module, _, attribute = self.address.partition(":")
        return OwnAddress(module, attribute, self.identity)

    @property
    def declared(self) -> Workload:
        """The workload as a configuration declares it."""
        return Workload(model=OWN, dataset=str(self.planned))


# Its arguments: sys.path and the address.
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1));"
    " from folklore.harness.train.workloads.own.finding import main; main()"
)
# Addresses that a user, or the job it was sent, told this process to import: those that a study file or a store names are
# only read.
ASKED: set[str] = set()
# Address -> a workload that was handed over as an object, which workers know by nothing else.
HANDED: dict[str, FoundWorkload] = {}


def hand_over(workload: OwnWorkload | FoundWorkload) -> FoundWorkload:
    """Registers an object in this process that no worker could import, as from a notebook. A FoundWorkload comes from another
    process, which found its identity."""
    if isinstance(workload, OwnWorkload):
        address = f"{GIVEN}:{re.sub(r'[^0-9a-zA-Z]+', '_', workload.name).strip('_') or 'workload'}"
        found_parts = parts(address, workload)
        workload = FoundWorkload(address, identity_of(address, found_parts), workload, found_parts)
    HANDED[workload.address] = workload
    ASKED.add(workload.address)
    find.cache_clear()
    return workload


@lru_cache(maxsize=4)
def find(address: str) -> FoundWorkload:
    """Imports the module, from the current directory too; a file's name stands for its module's. Raises UserError."""
    if address in HANDED:
        return HANDED[address]
    address = _of_file(address)
    if not ADDRESS.fullmatch(address):
        raise UserError(f"workload '{address}': write it as MODULE:ATTRIBUTE, for example my_package.my_module:workload")
    ASKED.add(address)
    name, _, attribute = address.partition(":")
    module = _imported(address, name)
    if not hasattr(module, attribute):
        raise unknown(
            f"workload in module {name} ({module.__file__})",
            attribute,
            [name for name, value in vars(module).items() if isinstance(value, OwnWorkload)],
        )
    workload = getattr(module, attribute)
    if not isinstance(workload, OwnWorkload):
        raise UserError(
            f"workload '{address}' is a {type(workload).__name__}: must be a folklore.harness.OwnWorkload; README.md has an"
            " example"
        )
    found_parts = parts(address, workload)
    return FoundWorkload(address, identity_of(address, found_parts), workload, found_parts)


def find_again(planned: OwnAddress) -> FoundWorkload:
    """The workload at an address, as it was when a run was planned. Raises UserError where it has changed."""
    address = planned.place
    if address not in ASKED:
        raise UserError(
            f"dataset '{planned}' is Python code, which is never imported because a file or a store names it; if you trust it,"
            f" give --workload {address}, or the file of the study whose arm it is"
        )
    workload = find(address)
    if workload.identity != planned.identity:
        raise UserError(
            f"workload '{address}' has identity {workload.identity} here and {planned.identity or 'none'} in the plan: it was"
            " changed, or this node has another copy; start the run again, with the same files on every node"
        )
    return workload


def _of_file(address: str) -> str:
    """folder/my_module.py:workload -> folder.my_module:workload."""
    path, colon, attribute = address.rpartition(":")
    if not colon or not path.endswith(".py"):
        return address
    if path.startswith(("/", "..")):
        raise UserError(f"workload '{address}': lies above the current folder; start folklore in the folder that holds it")
    return f"{path.removeprefix('./').removesuffix('.py').replace('/', '.')}:{attribute}"


def require_reproducible(workload: FoundWorkload) -> None:
    """Raises UserError if another process, where sets are ordered differently, finds another workload. A workload that was
    handed over is pickled, not made again."""
    if workload.address in HANDED:
        return
    # -P: a module of the user's never stands in for one of Python's before its path is this process's.
    command = [sys.executable, "-P", "-c", PROGRAM, json.dumps(sys.path), workload.address]
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONHASHSEED", "PYTHONPATH")}
    said = subprocess.run(command, env=variables, capture_output=True, text=True)
    if said.returncode:
        last = said.stderr.strip().rpartition("\n")[2]
        raise UserError(f"workload '{workload.address}': made in another process it fails ({last[:LONGEST]}); fix it")
    theirs = json.loads(said.stdout.splitlines()[-1])
    if other := differing(workload.parts, theirs):
        shown = ", ".join(other[:MOST_NAMED]) + " …" * (len(other) > MOST_NAMED)
        raise UserError(
            f"workload '{workload.address}': made in another process its {shown} differ: sort what comes out of a set, and seed"
            " what is drawn as the module is imported"
        )


@contextmanager
def _no_arguments(name: str) -> Iterator[None]:
    """Inside, a module that reads the command line at import sees no arguments, and takes its own defaults."""
    before = sys.argv
    sys.argv = [f"{name}.py"]
    try:
        yield
    finally:
        sys.argv = before


def _imported(address: str, name: str) -> ModuleType:
    # Last, so that a file of the user's never stands in for a library of the same name. Ray's workers start in the driver's
    # directory, and come here, too.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        with _no_arguments(name):
            module = importlib.import_module(name)
    except UserError as error:
        raise UserError(f"workload '{address}': {error}") from None
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UserError(
                f"workload '{address}': there is no module '{error.name}': start folklore in the folder that holds it, or"
                " install it"
            ) from None
        raise UserError(f"workload '{address}': importing {name} needs '{error.name}', which is not installed") from None
    except SystemExit as error:
        raise UserError(
            f"workload '{address}': importing {name} ends the process (exit {error.code}); move what a"
            " script does there under if __name__ == '__main__'"
        ) from None
    except Exception as error:  # whatever a user's code raises
        if is_memory_end(error):
            raise UserError(
                f"workload '{address}': this machine's memory does not hold what {place(error) or name} builds; build less of"
                " it, or free memory"
            ) from None
        raise UserError(f"workload '{address}': importing {name} raises {with_place(error)}; fix it") from None
    if torch.get_default_dtype() != torch.float32:
        log.warning(
            "workload '%s': %s sets the default type to %s; it is trained in FP32", address, name, torch.get_default_dtype()
        )
        torch.set_default_dtype(torch.float32)
    return module


def main() -> None:
    """Prints the parts of a workload by its address, as JSON."""
    print(json.dumps(find(sys.argv[1]).parts))
