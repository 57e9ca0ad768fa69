"""Claims and the documents they stand in."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from .base import Spec

Kind = Literal["empirical", "exact", "speed", "disagreement", "doubted"]
# Of how many workloads a claim speaks: of all, of most (typically, usually), of some (can, may, often, sometimes); exact: it is
# an identity or a constant.
Quantifier = Literal["all", "most", "some", "exact"]


class Document(Spec):
    """A source of claims: a short key (TB), its title, and its file name among the sources."""

    key: str
    title: str
    file: str


class Source(Spec):
    """Where a claim stands: a document's key and the section or question there."""

    document: str = Field(min_length=1)
    section: str = Field(min_length=1)


def _read(places: Any) -> Any:
    """Text -> sources: "TB 2; GL Q9"."""
    if not isinstance(places, str):
        return places
    parts = [place.strip().partition(" ") for place in places.split(";")]
    if unread := [document for document, _, section in parts if not document or not section.strip()]:
        raise ValueError(f"'{places}': '{unread[0]}' needs a document and a section, as in 'TB 2; GL Q9'")
    return tuple({"document": document, "section": section.strip()} for document, _, section in parts)


Sources = Annotated[tuple[Source, ...], BeforeValidator(_read, json_schema_input_type=str | tuple[Source, ...])]


def _side(side: Any) -> Any:
    """Text -> a side: "10x below: a tenth of it is good [TB 2; GL Q9]"; one that no document takes ends without a bracket."""
    if not isinstance(side, str):
        return side
    name, colon, rest = side.partition(": ")
    if not colon:
        raise ValueError(f"'{side}': needs a name and what it says, as in 'never: raising the LR never helps [CP Q3]'")
    says, _, places = rest.partition(" [")
    return {"name": name, "says": says, "sources": places.removesuffix("]") or ()}


class Side(Spec):
    """One side of a claim on which documents differ. A document is graded by its own side."""

    name: str = Field(min_length=1, description="a word by which judgements call it")
    says: str = Field(min_length=1)
    sources: Sources = Field(default=(), description="where it is said; none: no document says it, and it is right")


Sides = tuple[Annotated[Side, BeforeValidator(_side, json_schema_input_type=str | Side)], ...]


class Regime(Spec):
    """The regime that a claim speaks of. Its words give its least size (claim_size.py). An arm of another kind has no
    verdict."""

    words: str = Field(min_length=1)
    models: tuple[str, ...] = Field(default=(), description="models it speaks of; none: of all")
    optimizers: tuple[str, ...] = Field(default=(), description="optimizers it speaks of; none: of all")

    @model_validator(mode="before")
    @classmethod
    def _words_give_its_size(cls, value: Any) -> Any:
        for field in ("least_parameters", "least_batch"):
            if isinstance(value, dict) and field in value:
                raise ValueError(f"{field} = {value[field]}: a claim's words give its least size; leave it out")
        return value


def _in_words(regime: Any) -> Any:
    return {"words": regime} if isinstance(regime, str) else regime


class Claim(Spec):
    """One statement in our own words.

    kinds: empirical (seeds and intervals), exact (an identity or constant), speed (time or memory; needs a GPU to be
    judged in full), disagreement (documents contradict each other), doubted (expected to fail as written).
    measure: what has to be measured, and the rule fixed beforehand; its clauses, where there are several, are lettered: "(a) …;
    (b) …; reported: …". Each has to be decided by a criterion that names it, and what is reported decides nothing.
    sources: documents and sections, as "TB 2; GL Q9"; a side can be a text, too: "its name: what it says [TB 2; GL Q9]", and
    a regime its words.
    size: the number that the documents themselves give; empty: they give a direction only, so that a threshold is ours and
    a document is graded by the direction alone. lost: a number or formula that our copies of the documents have lost. ungraded:
    the documents by which a verdict is then none, since what it would grade is what we filled in.
    own: our own question, which no document claims: it is judged, and no document is graded by it.
    follows: the claim whose question this one asks as models grow: its card shows how the effect changes.
    """

    # Pages and links are named after it.
    id: str = Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$", max_length=80)
    study: str = Field(default="", exclude=True, description="of the register's: the study that judges it, or will")
    kinds: tuple[Kind, ...] = ("empirical",)
    paraphrase: str
    short: str = Field(default="", max_length=72, description="the claim for a dense row; none: the paraphrase")
    sources: Sources = ()
    quantifier: Quantifier = "all"
    regime: Annotated[Regime | None, BeforeValidator(_in_words, json_schema_input_type=str | Regime | None)] = None
    size: str = ""
    lost: str = ""
    ungraded: tuple[str, ...] = ()
    own: bool = False
    follows: str = Field(default="", exclude=True)
    sides: Sides = ()
    measure: str

    @property
    def in_short(self) -> str:
        return self.short or self.paraphrase

    @property
    def clauses(self) -> dict[str, str]:
        """Letter -> what this clause of the measure asks for; one clause, '', if none is lettered."""
        asked = self.measure.partition("; reported: ")[0]
        _, *lettered = re.split(r"\(([a-z])\) ", asked)
        texts = [text.strip().rstrip(";") for text in lettered[1::2]]
        return dict(zip(lettered[::2], texts, strict=True)) or {"": asked}

    def side_of(self, document: str) -> list[str]:
        """The sides that a document takes: several where it contradicts itself."""
        return [side.name for side in self.sides if any(source.document == document for source in side.sources)]

    @model_validator(mode="after")
    def _sides_differ(self) -> Self:
        names = [side.name for side in self.sides]
        if len(set(names)) < len(names):
            raise ValueError(f"claim '{self.id}': two sides have the same name; give each its own")
        return self
