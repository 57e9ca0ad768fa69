"""Pages from what a store has, and from the published evidence where it has nothing."""

import base64
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...declare import Study
from ...errors import UnwritableError, UserError, masked, one_line
from ...judge.trial_sets import TrialSet, published_sets, stored_sets
from ...judge.verdict import Verdict
from ...judge.verdict_memory import JudgedTrials, recalled_verdicts, remember_verdicts
from ...options import Options
from ...plan.catalog import Register, register
from ...plan.plan import Plans
from ...plan.store.ledger import Ledger
from ...plan.store.mlflow_address import experiments
from ...plan.store.pages_folder import pages_folder
from ...plan.store.remembered import recall, remember
from ...plan.store.store import Store
from . import page_memory

if TYPE_CHECKING:
    from ...judge.lr_range import RangeTest


class Site(Protocol):
    """Draws the pages: reports/site.py, found by its name in pyproject.toml, so that nothing in the harness depends on it."""

    def write(
        self,
        output: Path,
        studies: Sequence[Study],
        register: Register,
        sets_of: Callable[[Study], Sequence[TrialSet]],
        only: Collection[str] | None,
        known: Callable[[Study], list[JudgedTrials] | None],
        *,
        experiments: Mapping[str, str] | None,
        store_option: str,
        drawn_so_far: Callable[[int, int], None],
        site_url: str,
    ) -> dict[str, list[JudgedTrials]]:
        """Write all pages, or those of some studies; returns every study's verdicts."""

    def draw_range_test(self, range_test: "RangeTest", path: Path) -> None:
        """Draw what a range test saw and what the rules pick."""

    def write_judged_runs(self, judged_runs: Any, path: Path) -> None:
        """Write the page of runs that others trained (elsewhere/judge_runs.py, a room after this one)."""


def site() -> Site:
    """Its import takes seconds, for it imports what draws figures. Raises UserError where nothing is installed."""
    for entry_point in entry_points(group="folklore.site"):
        loaded: Site = entry_point.load()
        return loaded
    raise UserError("nothing is installed that writes pages: install the project first (make setup, or pip install -e .)")


def self_contained(page: Path) -> str:
    """A page with its styles and figures in it and without its scripts, for MLflow shows a file without those beside it."""
    folder = page.parent.resolve()

    def style(match: re.Match[str]) -> str:
        return f"<style>{(folder / match[1]).read_text(encoding='utf-8')}</style>"

    def image(match: re.Match[str]) -> str:
        file = (folder / match[2]).resolve()
        if not (file.is_file() and file.is_relative_to(folder)):
            return match[0]
        return f'{match[1]}="data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode()}"'

    text = re.sub(r'<link rel="stylesheet" href="(\w+\.css)">', style, page.read_text(encoding="utf-8"))
    text = re.sub(r'<script src="[^"]*" defer></script>\n?', "", text)
    return re.sub(r'\b(src|srcset)="([^":]+\.svg)"', image, text)


def store_option(store: Store) -> str:
    """The option with which a command reaches this store, after a space; empty for the default store."""
    return "" if store.uri == Options.store else f" --store {shlex.quote(masked(store.uri))}"


def write_pages(
    store: Store,
    studies: Sequence[Study],
    output: Path | None = None,
    only: Sequence[str] | None = None,
    drawn_so_far: Callable[[int, int], None] = lambda count, of: None,
    plans: Mapping[str, Plans] | None = None,
    site_url: str = "",
    with_mlflow: bool = True,
) -> tuple[Path, Mapping[str, list[Verdict]]]:
    """The index and all pages, or those of some studies; returns the folder, and the verdicts of the studies written.

    only: those studies' pages. Pages are left as they are if nothing that is on them has changed. A variation has a page of its
    own and no place in the index. drawn_so_far: gets how many studies are judged and drawn, and of how many. plans: those
    that the command has made, by study. site_url: where the pages will be, if that is known. with_mlflow: whether they lead to
    the runs in the store's MLflow, which is served on its own machine alone. Raises UserError.
    """
    if output is None:
        output = pages_folder(store)
    ordered = sorted(studies, key=lambda study: study.name)

    def sets_of(study: Study) -> list[TrialSet]:
        made = (plans or {}).get(study.name) or Plans()
        own = stored_sets(study, Ledger(store, study.name), plans=made)
        have = {(trial_set.scale, trial_set.device) for trial_set in own}
        return own + published_sets(study, lambda *place: place not in have, made)

    site_url = _as_folder(site_url)
    local = experiments(Path(store.root)) if store.is_local else {}
    shown = local if with_mlflow else None
    names = [study.name for study in ordered] if only is None else only
    state = partial(page_memory.state, store, output, ordered, names, shown, site_url)
    if (current := _current(store, state, [study for study in ordered if study.name in names])) is not None:
        return output, _verdicts(current)
    pages = site()
    try:
        judged = pages.write(
            output,
            ordered,
            register(),
            sets_of,
            only,
            partial(recalled_verdicts, store),
            experiments=shown,
            store_option=store_option(store),
            drawn_so_far=drawn_so_far,
            site_url=site_url,
        )
    except OSError as error:
        raise UnwritableError(
            f"pages {output}: cannot be written ({one_line(error)}); fix it, or `folklore report --output FOLDER` writes them"
            " elsewhere: what is trained is kept"
        ) from error
    for study in ordered:
        if study.name in judged:
            remember_verdicts(store, study, judged[study.name])
    if len(judged) == len(ordered):
        remember(store, page_memory.PAGES, state(), str(output))
    return output, _verdicts(judged)


def _as_folder(site_url: str) -> str:
    """The address with a slash at its end. Raises UserError."""
    if site_url and not re.fullmatch(r"https?://[^\s?#]+", site_url):
        raise UserError(f"--site-url {site_url}: must be where the pages will be, such as https://example.org/folklore/")
    return f"{site_url.rstrip('/')}/" if site_url else ""


def _current(store: Store, state: Callable[[], str], studies: Iterable[Study]) -> dict[str, list[JudgedTrials]] | None:
    """The verdicts on the pages, by study, if writing all of them would change no byte; else None."""
    if not store.exists(page_memory.PAGES) or recall(store, page_memory.PAGES, state(), str) is None:
        return None
    verdicts = {study.name: recalled_verdicts(store, study) for study in studies}
    known = {name: judged for name, judged in verdicts.items() if judged is not None}
    return known if len(known) == len(verdicts) else None


def _verdicts(studies: Mapping[str, Sequence[JudgedTrials]]) -> dict[str, list[Verdict]]:
    return {name: [verdict for trials in judged for verdict in trials.verdicts] for name, judged in studies.items()}
