"""What the shell offers when a user presses the tab key. A name that is not found offers nothing, and never an error."""

import os
from collections.abc import Iterable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import typer

from harness.errors import UserError

if TYPE_CHECKING:
    from harness.spec import Study


def studies(incomplete: str) -> Iterator[str]:
    from harness import catalog

    return _beginning(catalog.study_names(), incomplete)


def scales(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Those of the study that stands on the line, else of all studies."""
    named = _study(context)
    if named is not None:
        return _beginning(named.scales, incomplete)
    from harness import catalog

    every = dict.fromkeys(scale for name in catalog.study_names() for scale in catalog.load_study(name).scales)
    return _beginning(every, incomplete)


def arms(context: typer.Context, incomplete: str) -> Iterator[str]:
    named = _study(context)
    return _beginning(named.arms if named else (), incomplete)


def settings(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Names for --set, each with the '=' that comes next."""
    named = _study(context)
    if named is None:
        return iter(())
    from harness.variation import settable

    return _beginning((f"{name}=" for name in settable(named)), incomplete)


def claims(incomplete: str) -> Iterator[str]:
    """Claims that are judged; of the register's others there is nothing to say."""
    from harness import catalog

    judged = (each.claim for name in catalog.study_names() for each in catalog.load_study(name).judgements)
    return _beginning(judged, incomplete)


def places(incomplete: str) -> Iterator[str]:
    return _beginning(deployments(), incomplete)


def deployments() -> dict[str, Traversable]:
    """Files for clusters, by the place they are for."""
    return {each.name.partition(".")[0]: each for each in (files("harness") / "deploy").iterdir()}


def _study(context: typer.Context) -> "Study | None":
    """The study on the line. Where an option waits for its value click has not read the arguments: the words themselves are
    looked through, as the shell hands them over."""
    from harness import catalog

    words = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()
    name = context.params.get("study") or next((word for word in words if word in catalog.study_names()), None)
    try:
        return catalog.load_study(name) if name else None
    except UserError:
        return None


def _beginning(names: Iterable[str], incomplete: str) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete))
