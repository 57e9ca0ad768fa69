"""Bringing MLflow up to the ledger: what it lacks is written, what it has is left alone."""

from pathlib import Path
from typing import TYPE_CHECKING

from ...declare import Study
from ...errors import UserError, masked, quoted
from ...options import Options
from ...plan.store.ledger import Ledger
from ...plan.store.mlflow_address import ARTIFACTS, FILE, bring_along, default_uri, require_usable
from ...plan.store.store import Store
from .live import Sink
from .state import settled

if TYPE_CHECKING:
    from .projection import Tracker


def sync(study: Study, options: Options, ledger: Ledger, everything: bool = False) -> int:
    """Project what this MLflow lacks; returns the number of packs projected. Raises UserError where it cannot.

    everything: look at every pack, also those that are marked as projected into this MLflow.
    """
    if not everything:
        # Seen in its database, for MLflow takes seconds to import.
        known = settled(_tracking(options, ledger.store)[0], study)
        if known is not None and not ledger.not_projected(known):
            return 0
    tracker = open_tracker(study, options, ledger.store)
    if everything:
        ledger.forget_projections(tracker.identity)
    sink = Sink(ledger, lambda: tracker)
    sink.open()
    for pack in sorted(sink.missing):
        try:
            sink.project(pack)
        except Exception as error:  # whatever MLflow's backend raises
            raise UserError(f"MLflow at {masked(tracker.uri)}: did not take pack {pack} ({quoted(error)})") from None
    try:
        if tracker.complete():
            _count_verdicts(study, ledger, tracker)
    except Exception as error:  # as above
        raise UserError(f"MLflow at {masked(tracker.uri)}: older runs could not be completed ({quoted(error)})") from None
    return sink.projected


def _count_verdicts(study: Study, ledger: Ledger, tracker: "Tracker") -> None:
    """Write verdicts on the last launch of each scale that an earlier Folklore wrote, judged from what is stored."""
    from ...judge.trial_sets import stored_sets

    sets = stored_sets(study, ledger)
    for scale, run_id in tracker.uncounted().items():
        here = [trial_set for trial_set in sets if trial_set.scale == scale]
        if len(here) == 1:  # trained on one kind of device
            tracker.judged(run_id, here[0].verdicts())


def _tracking(options: Options, store: Store) -> tuple[str, Path]:
    """The address of MLflow, and the folder beside which a database of its own lies."""
    local = Path(store.root) if store.is_local else Path("results").absolute()
    return options.tracking or default_uri(local), local


def open_tracker(study: Study, options: Options, store: Store) -> "Tracker":
    uri, local = _tracking(options, store)
    if options.tracking is None:
        local.mkdir(parents=True, exist_ok=True)
        if (database := local / FILE).exists():
            bring_along(database, local / ARTIFACTS)
    require_usable(uri)  # MLflow would read a stranger's views without end
    from .projection import Tracker

    return Tracker(uri, study, artifacts=local / ARTIFACTS if uri.startswith("sqlite:") else None)
