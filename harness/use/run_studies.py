"""One `folklore run`: launches studies, judges them and writes their pages."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..declare import Study
from ..errors import quoted
from ..judge.trial_sets import stored_set
from ..judge.verdict import Verdict
from ..launch.lease import leases
from ..launch.reporter import NullReporter, Reporter
from ..launch.studies import Launched, UntilDecided, launch
from ..launch.tracking.server import how_to_browse
from ..launch.tracking.sync import open_tracker
from ..options import Options, checkpoint_seconds
from ..plan.prepare import Prepared
from ..plan.store.ledger import Ledger
from ..plan.store.mlflow_address import require_known
from ..plan.store.pages_folder import pages_folder
from ..plan.store.store import Store
from .reading.pages import self_contained, site, write_pages
from .reading.stored_studies import every_study

FINE, FAILED, INTERRUPTED = 0, 1, 130


def run_studies(
    studies: Sequence[Study],
    scale: str | None,
    options: Options,
    deadline: float | None,
    until_decided: UntilDecided | None = None,
    reporter: Reporter | None = None,
) -> int:
    """Run some studies; returns the exit code. Prints nothing: all output goes to the reporter, by default nowhere."""
    require_known(options.tracking)
    checkpoint_seconds()
    store, reporter, started = Store(options.store), reporter or NullReporter(), time.monotonic()
    store.check_writable()
    pages_folder(store)
    with leases(store, [study.name for study in studies]):
        show = partial(_show_so_far, store=store, reporter=reporter)
        launched = launch(store, studies, scale, options, deadline, until_decided, reporter, site, show)
        # Without a deadline only a person interrupts a launch, who is not kept waiting for pages.
        stopped = launched.unfinished and deadline is None
        if not stopped:
            pages, verdicts = _show(launched.studies, store, reporter)
            if launched.in_mlflow:
                reporter.say(f"MLflow: {how_to_browse(options, store)}")
            _attach(launched, pages, verdicts, options, reporter)
            _warn(launched, reporter)
        code = INTERRUPTED if stopped else FAILED if launched.count("given_up") else FINE
        reporter.emit(
            "finished",
            exit_code=code,
            trained=launched.count("trained"),
            given_up=launched.count("given_up"),
            interrupted=launched.unfinished,
            not_in_mlflow=launched.count("not_in_mlflow"),
            seconds=round(time.monotonic() - started, 1),
        )
        return code


def _warn(launched: Launched, reporter: Reporter) -> None:
    if missed := launched.count("not_in_mlflow"):
        reporter.warn(f"{missed} packs are not in MLflow yet: `folklore sync` brings them")
    if given_up := launched.count("given_up"):
        reporter.warn(f"{given_up} trials or computed jobs were given up; their claims are invalid until they are done")


def _show_so_far(ready: Prepared, store: Store, reporter: Reporter) -> None:
    """Show a study that is still being trained. Its ledger is read again: the run's own is not for two threads."""
    ready = replace(ready, ledger=Ledger(store, ready.plan.study.name))
    if stored_set(ready.plan, ready.ledger).so_far:
        _show([ready], store, reporter)


def _show(prepared: Sequence[Prepared], store: Store, reporter: Reporter) -> tuple[Path, dict[str, list[Verdict]]]:
    """Write the pages, and report the verdicts on them; returns the pages' folder, and each study's verdicts."""
    studies = [ready.plan.study for ready in prepared]
    names = [study.name for study in studies]
    others = [study for study in every_study(store) if study.name not in names]
    plans = {ready.plan.study.name: ready.plans for ready in prepared}
    pages, verdicts = write_pages(store, [*others, *studies], only=names, plans=plans)
    shown: dict[str, list[Verdict]] = {}
    for ready in prepared:
        own = [
            v for v in verdicts.get(ready.plan.study.name, ()) if (v.scale, v.device) == (ready.plan.scale, ready.plan.device)
        ]
        own = own or stored_set(ready.plan, ready.ledger).verdicts()
        shown[ready.plan.study.name] = own
        reporter.judged(own)
        for verdict in own:
            reporter.emit("verdict", **dict(verdict.row()), variation=ready.plan.study.variation_of is not None)
    page = names[0] if len(names) == 1 else "index"
    reporter.say(f"page: {pages / page}.html")
    for name in names:
        reporter.emit("page", path=f"{pages / name}.html")
    return pages, shown


def _attach(
    launched: Launched,
    pages: Path,
    verdicts: Mapping[str, Sequence[Verdict]],
    options: Options,
    reporter: Reporter,
) -> None:
    """Attach pages and verdicts to the launches in MLflow; pages that it does not take stay in their folder."""
    for outcome in launched.outcomes:
        if outcome.run_id is None:
            continue
        own = next(ready for ready in launched.studies if ready.plan.study.name == outcome.study)
        try:
            tracker = open_tracker(own.plan.study, options, own.ledger.store)
            tracker.judged(outcome.run_id, verdicts[outcome.study])
            about = [*pages.glob(f"{outcome.study}.html"), *pages.glob(f"{outcome.study}-*.html")]
            tracker.attach(outcome.run_id, {page.name: self_contained(page) for page in about})
        except Exception as error:  # whatever MLflow's backend raises
            reporter.warn(f"MLflow did not take the page ({quoted(error)})")
