"""What is asked of an own workload before anything is planned: that it trains as plain PyTorch trains it, and that another
process finds the same."""

from ..train.workloads.own.finding import FoundWorkload, require_reproducible
from ..train.workloads.own.module import own_module
from .store.remembered import remember
from .store.store import Store


def require_proved(found: FoundWorkload, store: Store) -> None:
    """Raises UserError. What another process found is remembered in the store by the workload's identity; it takes seconds."""
    proof = own_module(found.planned).proof
    name = f"own/{found.identity}.json"
    if store.exists(name):
        return
    require_reproducible(found)
    if not store.exists(""):
        return  # a plan writes nothing
    proved = {"workload": found.address, "proof": str(proof), "seconds": round(proof.seconds, 2), "parts": found.parts}
    remember(store, name, found.identity, proved)
