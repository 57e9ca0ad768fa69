"""Own workloads that were handed over as objects, on their way to workers.

What is written in a notebook stands in no module that a worker could import: it travels by value.
"""

import cloudpickle

from folklore.harness.workloads.own.address import ASKED, HANDED, address_of
from folklore.harness.workloads.own.finding import hand_over


def pickled(dataset: str) -> bytes | None:
    """Of a dataset's name; None where a worker finds it by that."""
    found = HANDED.get(address_of(dataset))
    return None if found is None else bytes(cloudpickle.dumps(found))


def receive(dataset: str, workload: bytes | None) -> None:
    """On a worker: what a job is sent to train may be imported there, and what was handed over is known."""
    if workload is not None:
        hand_over(cloudpickle.loads(workload))
    ASKED.add(address_of(dataset))
