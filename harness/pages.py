"""Pages from what a store has, and from the published evidence where it has nothing."""

import shlex
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from harness import catalog
from harness.errors import UnwritableError, masked, one_line
from harness.judge import Verdict
from harness.ledger import Ledger
from harness.options import Options
from harness.records import RecordSet, stored_sets
from harness.spec import Study
from harness.store import Store
from harness.tracking_uri import experiments


def published_sets(study: Study) -> list[RecordSet]:
    return list(catalog.extension("evidence").published_sets(study))


def belonging(page: Path) -> list[Path]:
    """A page and the files beside it that it links to or shows, other pages left out."""
    links = _Links()
    links.feed(page.read_text(encoding="utf-8"))
    folder = page.parent.resolve()
    files = {(folder / target.partition("#")[0]).resolve() for target in links.targets if "://" not in target}
    shown = sorted(file for file in files if file.is_file() and file.suffix != ".html" and file.is_relative_to(folder))
    return [folder / page.name, *shown]


class _Links(HTMLParser):
    """Gathers the targets of links, images and style sheets."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [value for name, value in attrs if name in ("href", "src") and value]


def store_option(store: Store) -> str:
    """What a command needs to reach this store, with a space before it; nothing where it is the default one."""
    return "" if store.uri == Options.store else f" --store {shlex.quote(masked(store.uri))}"


def write_pages(
    store: Store, studies: Sequence[Study], output: Path | None = None, only: Sequence[str] | None = None
) -> tuple[Path, Mapping[str, list[Verdict]]]:
    """The index and all pages, or those of some studies; returns the folder, and the verdicts of the studies written.

    only: those studies' pages, which are left as they are if nothing that is on them has changed. A variation has a page of its
    own and no place in the index. Raises UnwritableError.
    """
    if output is None:
        output = Path(store.root if store.is_local else "results").absolute() / "pages"
    ordered = sorted(studies, key=lambda study: study.name)
    memory = catalog.extension("judged").Memory(store)

    def sets_of(study: Study) -> list[RecordSet]:
        own = stored_sets(study, Ledger(store, study.name))
        have = {(each.scale, each.device) for each in own}
        return own + [each for each in published_sets(study) if (each.scale, each.device) not in have]

    shown = experiments(Path(store.root)) if store.is_local else {}
    if only is not None and (current := memory.written(output, ordered, only, shown)) is not None:
        return output, _verdicts(current)
    site = catalog.extension("site")  # imports what draws figures: seconds
    try:
        found = site.write(
            output,
            ordered,
            catalog.register(),
            sets_of,
            only,
            memory.recall,
            experiments=shown,
            store_option=store_option(store),
        )
    except OSError as error:
        raise UnwritableError(
            f"pages {output}: cannot be written ({one_line(error)}); mend it, or `folklore report --output FOLDER` writes them"
            " elsewhere: what is trained is kept"
        ) from error
    for study in ordered:
        memory.remember(study, found[study.name])
    if only is not None:
        memory.remember_written(output, ordered, only, shown)
    return output, _verdicts(found)


def _verdicts(found: Mapping[str, Sequence[Any]]) -> dict[str, list[Verdict]]:
    return {name: [verdict for each in judged for verdict in each.verdicts] for name, judged in found.items()}
