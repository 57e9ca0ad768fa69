"""The studies that a store declares: of the catalogue, from files, variations, and on workloads of one's own.

Every study is written down before its first trial, so whatever has run can be read again by its name alone: without its file,
and without the module of an own workload.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable

from pydantic import ValidationError

from ...declare import Change, Study
from ...errors import UserError, invalid, unknown
from ...plan import catalog
from ...plan.store.declaration import stored_declarations
from ...plan.store.ledger import Ledger
from ...plan.store.store import Store
from ...results import ForScripts, Result

log = logging.getLogger(__name__)


def stored_studies(store: Store) -> list[Study]:
    """All studies that a store declares, each as declared last, by name. Another Folklore's are left out with a line."""
    studies = (_declared(store, name) for name in store.folders("declared"))
    return [study for study in studies if study is not None]


def beyond_the_catalogue(store: Store) -> list[Study]:
    """The stored studies that no catalogue has: from files, variations, and on own workloads."""
    known = set(catalog.study_names())
    studies = (_declared(store, name) for name in store.folders("declared") if name not in known)
    return [study for study in studies if study is not None]


def every_study(store: Store, scale: str | None = None, claim: str | None = None) -> list[Study]:
    """The catalogue's studies, and all others that the store declares. scale: only those that have it. claim: of the
    catalogue's only those that may judge it. Raises UserError if none has the scale."""
    names = catalog.study_names() if claim is None else catalog.names_judging(claim)
    every = [*map(catalog.load_study, names), *beyond_the_catalogue(store)]
    if scale is None:
        return every
    if not any(scale in study.scales for study in every):
        raise unknown("scale of any study", scale, {name for study in every for name in study.scales})
    return [study for study in every if scale in study.scales]


def named_study(store: Store, name: str) -> Study:
    """A study of the catalogue, from a file, or one that the store declares by either of its names. Raises UserError."""
    if catalog.is_file(name) or name.replace("-", "_") in catalog.study_names():
        return catalog.load_study(name)
    if name in store.folders("declared") and (study := _declared(store, name)) is not None:
        return study
    stored = beyond_the_catalogue(store)
    matches = [study for study in stored if readable_name(study) == name]
    if len(matches) > 1:
        names = ", ".join(study.name for study in matches)
        raise UserError(f"'{name}' is the name of {len(matches)} studies of this store, which differ: give one of {names}")
    if not matches:
        raise unknown("study", name, [*catalog.study_names(), *(study.name for study in stored), *map(readable_name, stored)])
    return matches[0]


def readable_name(study: Study) -> str:
    """'resnet through warmup', 'warmup with peak_lr = 0.01, 0.02'; otherwise its own name."""
    if study.variation_of is None:
        return study.name
    if names := [change.workload for change in study.changes if change.workload]:
        return f"{names[-1]} through {study.variation_of}"
    return f"{study.variation_of} with {'; '.join(setting for change in study.changes for setting in change.settings)}"


def readable_names(studies: Iterable[Study]) -> dict[str, str]:
    return {study.name: readable_name(study) for study in studies}


class StudyRow(Result):
    """A study of the catalogue, or one that the store holds trials of."""

    study: str
    name: ForScripts[str]
    variation_of: str | None
    judges: int
    """claims"""
    registered: ForScripts[int]
    scales: list[str]
    trials: dict[str, int]
    """stored here, by scale"""
    question: str


def listed_studies(store: Store) -> list[StudyRow]:
    """Studies of the catalogue and of the store."""
    filed = Counter(claim.study for claim in catalog.register().claims)
    return [
        StudyRow(
            study=study.name,
            name=readable_name(study),
            variation_of=study.variation_of,
            judges=len(study.judgements),
            registered=filed[study.name],
            scales=list(study.scales),
            trials=_counted(store, study.name),
            question=study.question,
        )
        for study in every_study(store)
    ]


def _counted(store: Store, name: str) -> dict[str, int]:
    """Trials by scale; one that stands in two packs counts once."""
    scales: dict[str, str] = {}
    for rows in Ledger(store, name).tables(["digest", "scale"]):
        scales.update(zip(rows.column("digest").to_pylist(), rows.column("scale").to_pylist(), strict=True))
    return dict(Counter(scales.values()))


def _declared(store: Store, name: str) -> Study | None:
    """The study as it was declared last."""
    for declaration in stored_declarations(store, name)[-1:]:
        try:
            return _with_record(Study.model_validate(declaration.declared))
        except ValidationError as error:
            log.warning("%s: left out, as it was declared by another Folklore", invalid(f"study '{name}'", error))
    return None


def _with_record(study: Study) -> Study:
    """A variation that was declared before changes were recorded: its departures and its title tell what they were."""
    if study.variation_of is None or study.changes:
        return study
    varied = [line.removeprefix("Varied: ") for line in study.departures if line.startswith("Varied: ")]
    settings = tuple(re.split(r", where |; ", line)[0].removesuffix(".") for line in varied)
    own = re.search(r", on own workload '(.+)'$", study.title)
    return study.model_copy(update={"changes": (Change(settings=settings, workload=own[1] if own else ""),)})
