"""A study's words, in the Markdown file beside its module. They explain and decide nothing: no hash covers them.

# Learning-rate warmup                      its title
What does a linear ramp gain?               its question
## Departures                               what keeps its pages from overclaiming, a point each
- Small GPTs on one text.
## Scale laptop                             departures of one scale
- About 7,000 parameters.
## warmup.widens                            a claim: the note on its judgement, and what to do, by outcome
No document gives a size.
- supported: Use warmup if the LR cannot be tuned finely.
- refuted (opposite): Omit it.
- published: Warmup multiplies the largest LR by 4. [Kalra and Barkeshli 2024](https://arxiv.org/abs/2406.09405), read;
  4.0 on "largest LR, warmup over none"; if different: That network is deeper.

What was published ends with its source; a link, how it is known, a value on the axis of a criterion and the likeliest reason
for another may follow.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UserError
from .criterion import ADVISED, Judgement
from .design import Scale
from .study import Published

DEPARTURES, SCALE = "Departures", "Scale "
PUBLISHED = "published: "
_PUBLISHED = re.compile(
    r"published: (?P<finding>.+) \[(?P<source>[^\]]+)\](\((?P<link>https://\S+)\))?(, (?P<how>read|computed from read data))?"
    r"(; (?P<value>\S+) on \"(?P<criterion>[^\"]+)\")?(; if different: (?P<if_different>.+))?"
)
_ADVICE = re.compile(r"(?P<verdict>[a-z ]+?)(?: \((?P<reading>[a-z ]+)\))?: (?P<text>.+)")


@dataclass(frozen=True)
class Section:
    """The text under one heading: paragraphs, each in one line, and points."""

    text: str = ""
    points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prose:
    """The words of one study. sections: by heading."""

    path: Path
    title: str
    question: str
    sections: Mapping[str, Section] = field(default_factory=dict)

    @property
    def departures(self) -> tuple[str, ...]:
        return self.of(DEPARTURES).points

    def of(self, heading: str) -> Section:
        return self.sections.get(heading, Section())

    @property
    def published(self) -> tuple[Published, ...]:
        """The measurements of others, on all claims. Raises UserError for a point that is not of the form above."""
        return tuple(
            self._publication(claim, point)
            for claim, section in self.sections.items()
            for point in section.points
            if point.startswith(PUBLISHED)
        )

    def _publication(self, claim: str, point: str) -> Published:
        if (parts := _PUBLISHED.fullmatch(point)) is None:
            raise UserError(
                f"{self.path}: '{claim}': '{point[:60]}' must end with its source, as in [Authors 2024](https://…), read"
            )
        return Published(claim=claim, **{name: text for name, text in parts.groupdict().items() if text is not None})

    def on_scale(self, name: str, scale: Scale) -> Scale:
        """The scale with its departures, behind those that it declares itself."""
        points = self.of(SCALE + name).points
        return scale.model_copy(update={"departures": (*scale.departures, *points)}) if points else scale

    def on_claim(self, judgement: Judgement) -> Judgement:
        """The judgement with its note and advice. Raises UserError for advice on what is no outcome."""
        advice = dict(self._advice(judgement.claim, point) for point in self._advised(judgement.claim))
        return judgement.model_copy(update={"note": self.of(judgement.claim).text, "advice": advice})

    def _advised(self, claim: str) -> list[str]:
        return [point for point in self.of(claim).points if not point.startswith(PUBLISHED)]

    def _advice(self, claim: str, point: str) -> tuple[str, str]:
        parts = _ADVICE.fullmatch(point)
        verdict, reading = (parts["verdict"], parts["reading"]) if parts else ("", None)
        if parts is None or verdict not in ADVISED or (reading is not None and reading not in ADVISED[verdict]):
            raise UserError(
                f"{self.path}: '{claim}': '{point[:60]}' is advice on no outcome; begin it with one of {', '.join(ADVISED)},"
                " alone or with a reading in parentheses, and a colon"
            )
        return (f"{verdict}: {reading}" if reading else verdict), parts["text"]

    def require(self, claims: Collection[str], scales: Collection[str]) -> None:
        """Raises UserError for a section of nothing that the study has, and for a claim without advice."""
        known = {DEPARTURES, *claims, *(SCALE + name for name in scales)}
        for heading in self.sections.keys() - known:
            raise UserError(
                f"{self.path}: section '{heading}': the study judges no such claim and has no such scale; rename it"
            )
        for claim in claims:
            if not self._advised(claim):
                raise UserError(f"{self.path}: no advice on '{claim}'; add '## {claim}' with '- supported: …' and others")


def read_prose(path: Path) -> Prose:
    """The words in a file. Raises UserError for one that is not there, or not of the form above."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise UserError(f"{path}: is not there; write the study's title, question and advice into it") from None
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    title, _, question = head.strip().partition("\n")
    if not title.startswith("# ") or not question.strip():
        raise UserError(f"{path}: must begin with '# ' and the study's title, and a paragraph with its question")
    parts = [part.partition("\n") for part in sections]
    headings = [heading.strip() for heading, _, _ in parts]
    if repeated := {heading for heading in headings if headings.count(heading) > 1}:
        raise UserError(f"{path}: section '{min(repeated)}' is there twice; join them")
    read = {heading: _section(body) for heading, (_, _, body) in zip(headings, parts, strict=True)}
    return Prose(path, title.removeprefix("# ").strip(), _line(question), read)


def _section(body: str) -> Section:
    text, *points = re.split(r"^- ", body, flags=re.MULTILINE)
    return Section("\n\n".join(_paragraphs(text)), tuple(map(_line, points)))


def _paragraphs(text: str) -> Iterator[str]:
    return (_line(paragraph) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip())


def _line(text: str) -> str:
    return " ".join(text.split())
