"""A study as a run trains it until its claims are decided: with more seeds than it declares, by looks that are recorded."""

from typing import Any

from pydantic import PrivateAttr, ValidationError

from folklore.harness.errors import invalid
from folklore.harness.spec.study import Study


class ExtendedStudy(Study):
    """A declaration, and beside it the seeds that a run has come to at one scale. These are no field: nobody can declare them,
    and they enter neither hash nor JSON.
    """

    _scale: str = PrivateAttr()
    _seeds: int = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Before the rules for the whole study are checked: they hold for these seeds, too."""
        self._scale, self._seeds = context["scale"], context["seeds"]

    def seeds_at(self, scale: str) -> int:
        return self._seeds if scale == self._scale else super().seeds_at(scale)


def extended(study: Study, scale: str, seeds: int) -> Study:
    """The study with its first so many seeds at a scale. Raises UserError where those cannot be had."""
    if seeds == study.seeds_at(scale):
        return study
    try:
        return ExtendedStudy.model_validate(study.model_dump(), context={"scale": scale, "seeds": seeds})
    except ValidationError as error:
        raise invalid(f"study '{study.name}' with {seeds} seeds", error) from None
