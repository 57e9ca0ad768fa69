"""Commands that bring pages, MLflow and the published evidence up to what is stored."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UserError
from ...options import Options
from ...plan.store.store import Store
from . import choices
from .base import ScaleName, SomeStudy, StoreUri, TrackingUri, command
from .output import out, told

if TYPE_CHECKING:
    from ...judge.verdict_history import Change


SiteUrl = Annotated[
    str,
    typer.Option(
        "--site-url",
        envvar="FOLKLORE_SITE_URL",
        help="where the pages will be; they and their citations name it. Default: they name no address",
    ),
]


@command("report", "folklore report", "folklore report --store s3://bucket/folklore --output public   # a folder to serve")
def report(
    store: StoreUri = "results",
    output: Annotated[str | None, typer.Option("--output", help="default: STORE/pages")] = None,
    site_url: SiteUrl = "",
) -> None:
    """Write all pages again from stored and published trials. Trains nothing."""
    _write(store, Path(output) if output else None, site_url)


@command("site", "folklore site public", "folklore site public --site-url https://example.org/folklore/")
def site(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="where to write; any static host serves it as it is")],
    store: StoreUri = "results",
    site_url: SiteUrl = "",
) -> None:
    """Write all pages as a folder for a web server: they lead to no MLflow of this machine. Trains nothing."""
    _write(store, Path(folder), site_url, with_mlflow=False)


def _write(store: str, folder: Path | None, site_url: str, with_mlflow: bool = True) -> None:
    choices.require_there(store)
    from ..reading.pages import write_pages

    studies, tell = choices.some_studies(None, store), told("judged and drawn")
    written, _ = write_pages(Store(store), studies, folder, drawn_so_far=tell, site_url=site_url, with_mlflow=with_mlflow)
    out.print(f"pages: {written / 'index.html'}")


@command("sync", "folklore sync   # all studies", "folklore sync warmup --tracking http://mlflow:5000 --all")
def sync_mlflow(
    study: SomeStudy = None,
    store: StoreUri = "results",
    tracking: TrackingUri = None,
    everything: Annotated[bool, typer.Option("--all", help="look at every pack, also those marked as there")] = False,
) -> None:
    """Bring MLflow up to the ledger: whatever it lacks is written, what it has is left alone."""
    choices.require_there(store)
    chosen_studies = choices.some_studies(study, store)
    from ...launch.lease import leases
    from ...launch.tracking.sync import sync
    from ...plan.store.ledger import Ledger

    files = Store(store)
    for chosen in chosen_studies:
        with leases(files, [chosen.name]):
            count = sync(chosen, Options(store, tracking), Ledger(files, chosen.name), everything)
        out.print(f"{chosen.name}: {count} packs brought to MLflow")


@command(
    "publish",
    "folklore publish warmup --scale laptop",
    "folklore publish warmup --as-is 'trained from an archive of commit 1a2b3c4'",
    "folklore publish   # judge what is published again",
)
def publish(
    study: SomeStudy = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    as_is: Annotated[
        str | None,
        typer.Option("--as-is", metavar="REASON", help="publish whatever is found of the sources; the page shows the reason"),
    ] = None,
) -> None:
    """Copy a scale's trials into the published evidence, from which the pages are built without training.

    They are refused unless they were trained from sources as committed, at an ancestor of HEAD that declares the study as it
    was stored before the first of them. Without a study the published trials are judged again.
    """
    from ...judge.trial_sets import checked, stored_sets
    from ...judge.trial_sets import publish as publish_set
    from ...judge.verdict_memory import publish_verdicts
    from ...plan.catalog import all_studies, study_names
    from ...plan.prepare import default_scale
    from ...plan.store.ledger import Ledger
    from ...plan.variation import is_variation

    if as_is is not None and (study is None or not as_is.strip()):
        raise UserError(f"--as-is '{as_is}': name the study, and say in words why its trials are published all the same")
    if study is None:
        path, changed = publish_verdicts(all_studies())
        out.print(f"published: {path}")
        _print_changes(changed)
        return
    if is_variation(study) or (chosen := choices.study_named(study, store)).variation_of is not None:
        raise UserError(f"'{study}' is a variation, and evidence is of declared studies: declare one of its own in a file")
    if chosen.name not in study_names():
        raise UserError(
            f"study '{chosen.name}': published evidence is of the studies in studies/ alone; to show this one to others, write"
            f" its pages with `folklore report --store {store} --output FOLDER`, or make it a module of studies/"
        )
    wanted = scale or default_scale(chosen)
    sets = stored_sets(chosen, Ledger(Store(store), chosen.name), lambda at, device: at == wanted)
    if not sets:
        raise UserError(f"study '{chosen.name}' has no stored trials at scale '{wanted}': run it first")
    checks = [checked(trial_set, as_is) for trial_set in sets]  # all of them before one is written
    for trial_set, check in zip(sets, checks, strict=True):
        out.print(f"published: {publish_set(trial_set, check)}")
    _print_changes(publish_verdicts([chosen])[1])


def _print_changes(changed: "Sequence[Change]") -> None:
    for change in changed:
        place = f"{change.claim} at {change.scale} scale ({change.device})"
        out.print(f"changed: {place}: {change.old.verdict}, now {change.new.verdict}")
    if changed:
        line = "each has an entry at the end of history.json beside it: write under `why` what the log says of it"
        out.print(line)
