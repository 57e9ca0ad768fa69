"""From what is typed to what is meant: studies, counts, durations, datasets."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import UserError
from ...plan.store.store import Store

if TYPE_CHECKING:
    from ...declare import Study


def duration(option: str, text: str | None) -> float | None:
    """'90s', '9m', '1.5h' in seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if found is None or not float(found[1]):
        raise UserError(f"{option} {text}: give a time such as 90s, 9m or 2h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def count(option: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise UserError(f"{option} {value}: must be at least 1; leave it out for the default")
    return value


def datasets(pairs: Sequence[str] | None) -> dict[str, str]:
    chosen = dict(pair.partition("=")[::2] for pair in pairs or ())
    for name, dataset in chosen.items():
        if not name or not dataset:
            raise UserError(f"--data {name}: write it as NAME=DATASET, for example web-text=text:/data/web.txt")
    return chosen


def study_named(name: str, store: str) -> "Study":
    """A study of the catalogue, from a file, or one that the store declares."""
    from ..reading.stored_studies import named_study

    return named_study(Store(store), name)


def judgeable_study(name: str, store: str) -> "Study":
    """A study whose claims are all known: a page cannot be written of others."""
    from ...plan import catalog

    return catalog.judgeable(study_named(name, store))


def all_studies() -> "list[Study]":
    from ...plan import catalog

    return [catalog.load_study(name) for name in catalog.study_names()]


def some_studies(name: str | None, store: str, scale: str | None = None, claim: str | None = None) -> "list[Study]":
    """One study, or those of the catalogue and of the store. scale: one that they must have. claim: those that may judge it."""
    from ..reading.stored_studies import every_study

    if name is None:
        return every_study(Store(store), scale, claim)
    study = study_named(name, store)
    if scale is not None:
        study.scale(scale)
    return [study]
