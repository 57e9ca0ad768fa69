"""The page of `folklore judge`: one file that needs no other, about runs that others trained."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ..harness.elsewhere.gate import MEANINGS, Gate
from ..harness.elsewhere.judge_runs import JudgedRuns
from ..harness.elsewhere.run_verdict import RunVerdict
from .figures.drawing import caption
from .figures.judged_runs import drawing
from .figures.render import as_svg


def content(found: JudgedRuns | Gate) -> Mapping[str, Any]:
    """What the template shows."""
    judged = found.judged if isinstance(found, Gate) else found
    verdicts = [each.verdict for each in judged.claims]
    return {
        "judged": judged,
        "gate": found if isinstance(found, Gate) else None,
        "meanings": MEANINGS,
        "claims": [(each, *_figure(each)) for each in judged.claims],
        "counts": {word: verdicts.count(word) for word in dict.fromkeys(verdicts)},
    }


def _figure(judged: RunVerdict) -> tuple[Markup | None, str]:
    drawn = drawing(judged)
    return (None, "") if drawn is None else (Markup(as_svg(drawn)), caption(drawn))
