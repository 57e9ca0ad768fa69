"""Own workloads that were handed over as objects, on their way to workers.

What is written in a notebook stands in no module that a worker could import: it travels by value.
"""

import cloudpickle

from folklore.harness.spec.own_address import OwnAddress
from folklore.harness.workloads.own.finding import ASKED, HANDED, hand_over


def pickled(address: OwnAddress) -> bytes | None:
    """None where a worker finds it by its address."""
    found = HANDED.get(address.place)
    return None if found is None else bytes(cloudpickle.dumps(found))


def receive(address: OwnAddress, workload: bytes | None) -> None:
    """On a worker: what a job is sent to train may be imported there, and what was handed over is known."""
    if workload is not None:
        hand_over(cloudpickle.loads(workload))
    ASKED.add(address.place)
