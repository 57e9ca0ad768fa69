"""What the pages in a folder were made of, remembered, so that a run that trains nothing need not write them again."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ...declare import Study, fingerprint
from ...folders import HARNESS
from ...judge.verdict_memory import LIBRARIES, JudgedTrials, Memory
from ...plan.catalog import register
from ...plan.store import declaration, evidence
from ...plan.store.ledger import Ledger
from ...plan.store.store import Store

# What else decides how a page looks, beside the project itself.
PAGE_LIBRARIES = (*LIBRARIES, "jinja2", "matplotlib", "plotly", "seaborn")
# What the pages of a store's latest run were made of, and what was written.
PAGES = "written/pages.json"


class PageMemory:
    """Of a store's pages in one folder. studies: all that the index shows; only: those whose pages are written; experiments:
    their ids in MLflow."""

    def __init__(
        self, store: Store, output: Path, studies: Sequence[Study], only: Collection[str], experiments: Mapping[str, str]
    ):
        self.store, self.output, self.studies, self.only, self.experiments = store, output, studies, only, experiments

    def recall(self) -> dict[str, list[JudgedTrials]] | None:
        """What is on the pages, if writing all of them would change no byte; else None."""
        try:
            if not self.store.exists(PAGES) or self.store.read(PAGES) != self._state():
                return None
        except ValueError:  # no regular file
            return None
        verdicts = Memory(self.store)
        found = {study.name: verdicts.recall(study) for study in self.studies if study.name in self.only}
        known = {name: judged for name, judged in found.items() if judged is not None}
        return known if len(known) == len(found) else None

    def remember(self) -> None:
        """That they are written now."""
        self.store.write(PAGES, self._state())

    def _state(self) -> bytes:
        """Of all that pages are made of, and of the pages themselves."""
        of_studies = []
        for study in self.studies:
            ledger, declared = Ledger(self.store, study.name).state(), declaration.state(self.store, study.name)
            of_studies.append([study.canonical_json(), ledger, declared, self.experiments.get(study.name)])
        made_of = fingerprint([of_studies, sorted(self.only), _files(evidence.FOLDER, evidence.digest), _code()])
        state = fingerprint([made_of, _files(self.output)])
        return json.dumps({"folder": str(self.output), "state": state}).encode()


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _files(folder: Path, digest: Callable[[Path], str] = _digest) -> dict[str, str]:
    """Name -> hash of what is in it, of all files in a folder and below."""
    return {str(file.relative_to(folder)): digest(file) for file in sorted(folder.rglob("*")) if file.is_file()}


@cache
def _code() -> str:
    """The sources and templates of pages and of all that they are made by, and the register's claims and errata."""
    claims = register()
    said = [each.model_dump(mode="json") for each in (*claims.documents, *claims.claims, *claims.errata)]
    return fingerprint([dict(_sources()), said, {name: version(name) for name in PAGE_LIBRARIES}])


def _sources() -> Iterator[tuple[str, str]]:
    for folder in (HARNESS, evidence.FOLDER.parent):
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".py", ".html", ".css", ".js"):
                yield f"{folder.name}/{file.relative_to(folder)}", file.read_text(encoding="utf-8")
