"""Turns what is typed into studies, counts, durations and datasets."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ...options import Options
from ...plan.store.store import Store

if TYPE_CHECKING:
    from ...declare import Study

# Larger counts are slips, and some do not fit into 64 bits.
MOST_COUNT = 1_000_000_000
# Typed characters that an error quotes.
MOST_QUOTED = 100


def duration(option: str, text: str | None) -> float | None:
    """'90s', '9m', '1.5h' in seconds."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smh])", text.strip())
    if match is None or not float(match[1]):
        raise UserError(f"{option} {text:.{MOST_QUOTED}}: give a time such as 90s, 9m or 2h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def count(option: str, value: int | None, most: int = MOST_COUNT) -> int | None:
    if value is not None and value < 1:
        raise UserError(f"{option} {value}: must be at least 1; leave it out for the default")
    if value is not None and value > most:
        raise UserError(f"{option} {value!s:.{MOST_QUOTED}}: must be at most {most:,}; leave it out for the default")
    return value


def number(option: str, value: float | None, is_positive: bool = False) -> float | None:
    """A number that can be computed with, so neither NaN nor infinite."""
    from ...elsewhere.claims import LARGEST_NUMBER

    if value is None:
        return None
    if is_positive and not value > 1 / LARGEST_NUMBER:
        raise UserError(f"{option} {value:g}: must be a number above 0; leave it out if it is not known")
    if not abs(value) <= LARGEST_NUMBER:
        raise UserError(f"{option} {value:g}: must be a number up to {LARGEST_NUMBER:g}; leave it out if it is not known")
    return value


def short(option: str, texts: Iterable[str] | None, most: int = MOST_QUOTED) -> list[str]:
    """Texts short enough for every regular expression. Raises UserError."""
    for text in texts or ():
        if len(text) > most:
            raise UserError(f"{option} {text[:MOST_QUOTED]}…: has {len(text):,} characters, more than {most:,}; shorten it")
    return list(texts or ())


def require_distinct(columns: Mapping[Any, str | None], metrics: Iterable[str] = ()) -> None:
    """Raises UserError if two options name one column, or one names the metric of a claim. columns: role -> as it is typed;
    an arm of several as A,B."""
    roles = {metric: "the metric of a claim" for metric in metrics if columns.get("metric") is None}
    for role, typed in columns.items():
        for name in {typed, *(typed.split(",") if role == "arm" else ())} if typed else ():
            if other := roles.get(name.strip()):
                raise UserError(f"--{role} {name:.{MOST_QUOTED}}: is {other}, too; name another column, or leave one out")
            roles[name.strip()] = f"--{role}"


def datasets(pairs: Sequence[str] | None) -> dict[str, str]:
    chosen = dict(pair.partition("=")[::2] for pair in pairs or ())
    for name, dataset in chosen.items():
        if not name or not dataset:
            raise UserError(f"--data {name}: write it as NAME=DATASET, for example web-text=text:/data/web.txt")
    return chosen


def require_there(store: str) -> None:
    """Raises UserError for a store that is not there, so that a mistyped name creates none."""
    place = Store(store)
    if store != Options.store and place.is_local and not Path(place.root).exists():
        raise UserError(f"store {store}: there is no such folder; name one that is there with --store, or run a study into it")


def study_named(name: str, store: str) -> "Study":
    """A study of the catalogue, from a file, or one that the store declares."""
    from ..reading.stored_studies import named_study

    return named_study(Store(store), name)


def judgeable_study(name: str, store: str) -> "Study":
    """A study whose claims are all known: others can have no page."""
    from ...plan import catalog

    return catalog.judgeable(study_named(name, store))


def some_studies(name: str | None, store: str, scale: str | None = None, claim: str | None = None) -> "list[Study]":
    """One study, or those of the catalogue and of the store. scale: one that they must have. claim: those that may judge it."""
    from ..reading.stored_studies import every_study

    if name is None:
        return every_study(Store(store), scale, claim)
    study = study_named(name, store)
    if scale is not None:
        study.scale(scale)
    return [study]
