"""Commands that read what was found: verdicts, and the way back from them to the trials."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import choices
from harness.cli.base import AsJson, ScaleName, SomeStudy, StoreUri, command
from harness.output import err, print_verdicts

if TYPE_CHECKING:
    from harness.judge import Verdict

FromPublished = Annotated[bool, typer.Option("--published", help="from the published evidence, not the store")]


@command(
    "verdicts",
    "folklore verdicts   # of all studies, from this store",
    "folklore verdicts warmup --published",
    "folklore verdicts warmup --scale laptop --json | jq '.[].verdict'",
)
def verdicts(
    study: SomeStudy = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    published: FromPublished = False,
    as_json: AsJson = False,
) -> None:
    """Judge stored trials anew, and say in one sentence why."""
    chosen_studies = choices.some_studies(study, store, scale)
    from harness.ledger import Ledger
    from harness.pages import published_sets
    from harness.records import stored_sets
    from harness.store import Store

    found: list[Verdict] = []
    for chosen in chosen_studies:
        sets = published_sets(chosen) if published else stored_sets(chosen, Ledger(Store(store), chosen.name))
        found += [verdict for each in sets if scale in (None, each.scale) for verdict in each.verdicts()]
    print_verdicts(found, as_json)
    if not found and not as_json:
        err.print("no stored trials to judge: run a study first, or judge the published evidence with --published")
