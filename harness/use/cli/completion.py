"""Completions that the shell offers at the tab key. An unknown name offers nothing, and never an error."""

import os
from collections.abc import Iterable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from typing import TYPE_CHECKING

import typer

from ...errors import UserError
from ...plan.store.store import Store

if TYPE_CHECKING:
    from ...declare import Study
    from ...plan.store.store import Store


def studies(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Studies of the catalogue and of the store on the line."""
    from ...plan import catalog

    names = catalog.study_names()
    stored = _store(context)
    beyond = [] if stored is None else [name for name in stored.folders("declared") if name not in names]
    return _beginning([*names, *beyond], incomplete)


def scales(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Scales of the study on the line, else of all studies."""
    named = _study(context)
    if named is not None:
        return _beginning(named.scales, incomplete)
    from ...plan import catalog

    every = dict.fromkeys(scale for study in catalog.all_studies() for scale in study.scales)
    return _beginning(every, incomplete)


def arms(context: typer.Context, incomplete: str) -> Iterator[str]:
    named = _study(context)
    return _beginning(named.arms if named else (), incomplete)


def settings(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Names for --set, each with the '=' that comes next."""
    named = _study(context)
    if named is None:
        return iter(())
    from ...plan.variation import settable

    return _beginning((f"{name}=" for name in settable(named)), incomplete)


def claims(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Claims that a study of the catalogue or of the store judges; the register's others have no verdicts."""
    from ...plan import catalog
    from ..reading.stored_studies import every_study

    store = _store(context)
    studies = catalog.all_studies() if store is None else every_study(store)
    judged = dict.fromkeys(judgement.claim for study in studies for judgement in study.judgements)
    return _beginning(judged, incomplete)


def places(incomplete: str) -> Iterator[str]:
    return _beginning(deployments(), incomplete)


def deployments() -> dict[str, Traversable]:
    """Files for clusters, by the place they are for."""
    return {file.name.partition(".")[0]: file for file in (files("folklore.harness") / "use" / "deploy").iterdir()}


def _study(context: typer.Context) -> "Study | None":
    """The study on the line."""
    from ...plan import catalog
    from ..reading.stored_studies import named_study

    store = _store(context)
    names = {*catalog.study_names(), *(store.folders("declared") if store else ())}
    name = context.params.get("study") or next((word for word in _words() if word in names), None)
    try:
        if store is not None and name:
            return named_study(store, name)
        return catalog.load_study(name) if name else None
    except UserError:
        return None


def _store(context: typer.Context) -> "Store | None":
    """The store on the line, if it is on this machine: for another one the shell would wait for the network."""
    words = _words()
    named = [after for word, after in pairwise(words) if word == "--store"]
    try:
        store = Store(named[-1] if named else context.params.get("store") or os.environ.get("FOLKLORE_STORE", "results"))
    except UserError:
        return None
    return store if store.is_local else None


def _words() -> list[str]:
    """The line as the shell hands it over: click has not read the arguments while an option waits for its value."""
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()


def _beginning(names: Iterable[str], incomplete: str) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete))
