"""Remembers what the pages in a folder were made of, so that a run that trains nothing need not write them again."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ...declare import Study, fingerprint
from ...folders import HARNESS
from ...judge.verdict_memory import LIBRARIES
from ...plan.catalog import register
from ...plan.store import declaration, evidence
from ...plan.store.ledger import Ledger
from ...plan.store.store import Store

# Libraries that decide how a page looks, beside the project itself.
PAGE_LIBRARIES = (*LIBRARIES, "jinja2", "matplotlib", "plotly", "seaborn")
# What the pages of a store's latest run were made of, and what was written.
PAGES = "written/pages.json"


def state(
    store: Store,
    output: Path,
    studies: Iterable[Study],
    only: Collection[str],
    experiments: Mapping[str, str] | None,
    site_url: str = "",
) -> str:
    """Changes with all that the pages in a folder are made of, and with the pages themselves.

    studies: all that the index shows; only: those whose pages are written; experiments: their ids in MLflow; None: pages do
    not lead there.
    """
    of_studies = [
        [
            study.canonical_json(),
            Ledger(store, study.name).state(),
            declaration.state(store, study.name),
            (experiments or {}).get(study.name),
        ]
        for study in studies
    ]
    made_of = [of_studies, sorted(only), experiments is None, site_url, _files(evidence.FOLDER, evidence.digest), _code()]
    return fingerprint([*made_of, str(output), _files(output)])


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _files(folder: Path, digest: Callable[[Path], str] = _digest) -> dict[str, str]:
    """Name -> hash of what is in it, of all files in a folder and below."""
    return {str(file.relative_to(folder)): digest(file) for file in sorted(folder.rglob("*")) if file.is_file()}


@cache
def _code() -> str:
    """The sources and templates of pages and of all that they are made by, and the register's claims and errata."""
    claims = register()
    said = [entry.model_dump(mode="json") for entry in (*claims.documents, *claims.claims, *claims.errata)]
    return fingerprint([dict(_sources()), said, {name: version(name) for name in PAGE_LIBRARIES}])


def _sources() -> Iterator[tuple[str, str]]:
    for folder in (HARNESS, evidence.FOLDER.parent):
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".py", ".html", ".css", ".js"):
                yield f"{folder.name}/{file.relative_to(folder)}", file.read_text(encoding="utf-8")
