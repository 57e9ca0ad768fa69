"""Errata: published verdicts whose question was found to be wrong."""

from typing import Annotated, Literal

from pydantic import Field

from .base import Spec

Date = Annotated[str, Field(pattern=r"\d{4}-\d{2}-\d{2}")]


class Erratum(Spec):
    """A published verdict that is withdrawn. It speaks of one version of a study, at every scale; a later version, which asks
    again, is judged as usual.

    reason: what is wrong with the question, in two sentences. What was published, for the list of changes: its scale, the
    verdict and its reading, and the number as pages write it.
    """

    claim: str = Field(min_length=1)
    study: str = Field(min_length=1)
    version: int = Field(ge=1)
    date: Date
    reason: str = Field(min_length=1)
    scale: str = Field(min_length=1)
    verdict: Literal["supported", "partly", "refuted", "open", "out of regime"]
    reading: str = ""
    number: str = ""
