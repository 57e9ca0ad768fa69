"""Finding studies and the register. pyproject.toml names the packages that hold them, so nothing here names a study."""

import importlib
import pkgutil
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from pydantic import ValidationError

from ..declare import Claim, Document, Erratum, Judgement, Study
from ..declare.metrics import Left
from ..declare.parts import all_parts
from ..declare.study_file import read_study_file
from ..errors import UserError, invalid, unknown
from .variation import is_variation

STUDIES, REGISTER = "folklore.studies", "folklore.register"
# Modules beside the studies that hold none.
NO_STUDIES = ("register", "errata", "kit", "criteria", "comparing", "shorthand")


@dataclass(frozen=True)
class Register:
    """The documents and every claim in them, studied or not, and the published verdicts that are withdrawn."""

    documents: tuple[Document, ...]
    claims: tuple[Claim, ...]
    errata: tuple[Erratum, ...] = ()

    def claim(self, claim_id: str) -> Claim:
        for claim in self.claims:
            if claim.id == claim_id:
                return claim
        raise unknown("claim", claim_id, [claim.id for claim in self.claims])

    def including(self, study: Study) -> "Register":
        """The register with a study's own claims. Raises UserError if one has a name that is taken, or stands in no
        document."""
        taken, documents = {claim.id for claim in self.claims}, [document.key for document in self.documents]
        for claim in study.claims:
            for source in claim.sources:
                if source.document not in documents:
                    raise unknown(f"document of claim '{claim.id}'", source.document, documents)
            if claim.id in taken:
                raise UserError(f"claim '{claim.id}' of study '{study.name}' is in the register already: give it another id")
            taken.add(claim.id)
        return replace(self, claims=(*self.claims, *study.claims))


def study_names() -> list[str]:
    """Every module of the studies packages that holds a STUDY, by name."""
    return sorted(name for name, _ in _modules())


def all_studies() -> list[Study]:
    return [load_study(name) for name in study_names()]


def names_judging(claim: str) -> list[str]:
    """Studies that may judge a claim: the one that the register files it under, and all that it files nothing under."""
    filed = {entry.id: entry.study for entry in register().claims}
    others = set(filed.values()) - {filed[claim]} if claim in filed else set()
    return [name for name in study_names() if name not in others]


def is_file(name: str) -> bool:
    """Whether a study's name is that of a file."""
    return name.endswith((".json", ".yaml", ".yml", ".py"))


def load_study(name: str) -> Study:
    """A study by its name (hyphens count as underscores) or from a Python, JSON or YAML file. Raises UserError."""
    if is_file(name):
        path = Path(name)
        study = _study_of_module(path) if path.suffix == ".py" else _study_of_data(path)
        if study.name in study_names() or is_variation(study.name):
            raise _taken(f"study file {path}", study.name)
        _require_metrics(f"study file {path}", study)
        return study.model_copy(update={"file": name})
    wanted = name.replace("-", "_")
    for known, module in _modules():
        if known == wanted:
            try:
                study = importlib.import_module(module).STUDY
            except ValidationError as error:
                raise invalid(f"study '{wanted}'", error) from None
            assert isinstance(study, Study), f"{module}.STUDY is not a Study"
            return study
    raise unknown("study", name, study_names())


def _require_metrics(subject: str, study: Study) -> None:
    for judgement in study.judgements:
        observed = [criterion.observe for criterion in judgement.criteria] + [number.observe for number in judgement.reported]
        for metric in (part for observation in observed for part in all_parts(observation) if isinstance(part, Left)):
            raise UserError(f"{subject}: {metric.why}")


def judgeable(study: Study) -> Study:
    """The study, if its name is its own and all of its claims are known: others have no page.

    Raises UserError.
    """
    if study.name in study_names() and study != load_study(study.name):
        raise _taken(f"study '{study.name}'", study.name)
    known = register().including(study)
    for judgement in study.judgements:
        if study.variation_of is None:  # one of a single scale has the clauses that are judged there
            _require_clauses(known.claim(judgement.claim), judgement)
        sides = [side.name for side in known.claim(judgement.claim).sides]
        for name in (judgement.right or {}).values():
            if name not in sides:
                raise unknown(f"side of claim '{judgement.claim}'", name, sides)
    return study


def _require_clauses(claim: Claim, judgement: Judgement) -> None:
    """Raises UserError unless the criteria decide the clauses of the claim's measure, all of them and no others."""
    parts = [criterion for criterion in judgement.criteria if not criterion.precondition]
    for criterion in parts:
        if criterion.clause not in claim.clauses:
            letters = ", ".join(filter(None, claim.clauses)) or "none"
            raise UserError(
                f"claim '{claim.id}': criterion '{criterion.name}' has clause = '{criterion.clause}', and its measure has"
                f" {letters}; name the clause that it decides"
            )
    for letter, text in claim.clauses.items():
        if letter not in {criterion.clause for criterion in parts}:
            raise UserError(
                f"claim '{claim.id}': no criterion decides clause ({letter}) of its measure, '{text}'; add one, or write in the"
                " measure that it is reported"
            )


@cache
def register() -> Register:
    for entry_point in entry_points(group=REGISTER):
        module = entry_point.load()
        return Register(module.DOCUMENTS, module.CLAIMS, module.ERRATA)
    raise UserError("no register of claims: install the project first (make setup, or pip install -e .)")


@cache
def _packages() -> tuple[str, ...]:
    """The packages that pyproject.toml names; looked up once, because that passes through all that is installed."""
    packages = tuple(entry_point.value for entry_point in entry_points(group=STUDIES))
    if not packages:
        raise UserError("no studies are registered: install the project first (make setup, or pip install -e .)")
    return packages


def _modules() -> Iterator[tuple[str, str]]:
    for package in _packages():
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if module.name not in NO_STUDIES and not module.ispkg:
                yield module.name, f"{package}.{module.name}"


def _study_of_data(path: Path) -> Study:
    content = read_study_file(path)
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise invalid(f"study file {path}", error) from None
    except RecursionError:
        raise UserError(f"study file {path}: nested too deep for a study; flatten it") from None


def _study_of_module(path: Path) -> Study:
    """The STUDY of a Python file. The file is run, because a user named it in a command, and never because a store names it."""
    subject = f"study file {path}"
    if not path.is_file():
        raise UserError(f"{subject}: there is no such file; give another file")
    try:
        with _first_on_path(path.resolve().parent):
            study = runpy.run_path(str(path)).get("STUDY")
    except ValidationError as error:
        raise invalid(subject, error) from None
    except UserError as error:
        raise UserError(f"{subject}: {error}") from None
    except Exception as error:  # whatever a user's file raises
        from ..train.workloads.own.place import with_place  # imports torch

        raise UserError(f"{subject} raises {with_place(error)}: fix it") from None
    if not isinstance(study, Study):
        raise UserError(f"{subject}: STUDY is {'missing' if study is None else type(study).__name__}; it must be a Study")
    return study


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    """Lets a file import its neighbours, as a script that Python runs can."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _taken(subject: str, name: str) -> UserError:
    of = "a variation's" if is_variation(name) else "a built-in study's"
    return UserError(f"{subject}: name = {name}: is {of}, whose page and declaration it would overwrite; choose another name")
