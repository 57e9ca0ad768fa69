"""Where links between pages can lead: the pages of studies that are there, and what in them has a name."""

import html
import re
from collections.abc import Iterable
from pathlib import Path

from ..harness.judge.verdict import Verdict

_NAME = re.compile(r'\sid="([^"]*)"')


def page(study: str) -> str:
    return f"{study}.html"


def beside_page(study: str) -> str:
    """The page that shows one's own run of a study beside the published one."""
    return f"{study}-beside.html"


def trials_page(study: str) -> str:
    """The page that lists all trials of a study."""
    return f"{study}-trials.html"


def figure_name(study: str, *of: str) -> str:
    """A figure's file without its ending. of: scale, kind of device, and a claim or what it shows of the whole study; of all
    scales together only the latter."""
    return f"figures/{'-'.join((study, *of)).replace('.', '-')}"


def card_figure_file(study: str, scale: str, device: str, claim: str) -> str:
    """The image of a card of the index: the first panel of the claim's figure."""
    return f"{figure_name(study, scale, device, claim)}-card.svg"


def figures(folder: Path) -> frozenset[str]:
    """The images of figures that are there."""
    return frozenset(f"figures/{file.name}" for file in (folder / "figures").glob("*.svg"))


def place_of(verdict: Verdict) -> str:
    """Where a study's page shows a verdict."""
    return f"{page(verdict.study)}#{verdict.claim}-{verdict.scale}-{verdict.device}"


def growth_place(claim: str, before: int = 0) -> str:
    """Where a study's page shows how a claim's effect changes as models grow. before: how many of its criteria come earlier."""
    return f"{claim}-growth{f'-{before + 1}' if before else ''}"


def places(folder: Path, studies: Iterable[str]) -> frozenset[str]:
    """The targets of links: FILE and FILE#ID for every page of these studies in the folder and every id on it.

    Pages are written a study at a time, and those of others may be missing or older than the verdicts that would link to them.
    """
    targets: set[str] = set()
    for file in (folder / name(study) for study in studies for name in (page, beside_page)):
        if file.is_file():
            names = _NAME.findall(file.read_text(encoding="utf-8"))
            targets |= {file.name, *(f"{file.name}#{html.unescape(name)}" for name in names)}
    return frozenset(targets)
