"""Programs that are not run on a kind of machine, because they do something else there than the eager step.

programs/KIND/SHAPE.json     programs of one shape that are refused on one kind of machine, and why
"""

import json
import logging

from folklore.harness.errors import UnwritableError, one_line
from folklore.harness.spec import canonical_json, fingerprint
from folklore.harness.storing.store import Store
from folklore.harness.training.compile_cache import machine_kind

log = logging.getLogger(__name__)


def refusals(store: Store, key: str) -> dict[str, str]:
    """Programs of a shape that are not run on this kind of machine -> why; a file that cannot be read counts as none."""
    name = refusals_file(key)
    if not store.exists(name):
        return {}
    try:
        refused = json.loads(store.read(name))["refused"]
        return {str(program): str(why) for program, why in refused.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("%s cannot be read (%s): programs are compared anew", name, error)
        return {}


def refuse(store: Store, key: str, program: str, why: str) -> None:
    """Remember that a program does something else than the eager step, so that no later pack of the shape tries it."""
    content = {"shape": json.loads(key), "refused": {**refusals(store, key), program: why}}
    try:
        store.write(refusals_file(key), canonical_json(content).encode())
    except UnwritableError as error:
        log.warning("not remembered that %s: %s", why, one_line(error))


def refusals_file(key: str) -> str:
    """What is refused of a shape on machines of this kind; without the file programs are compared anew."""
    return f"programs/{machine_kind()}/{fingerprint(key)}.json"
