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

# On a page of more claims figures show no single runs, so that it stays small enough to be sent.
MOST_WITH_RUNS = 20


def content(judgement: JudgedRuns | Gate) -> Mapping[str, Any]:
    """The values of the template."""
    judged = judgement.judged if isinstance(judgement, Gate) else judgement
    verdicts = [claim.verdict for claim in judged.claims]
    return {
        "judged": judged,
        "gate": judgement if isinstance(judgement, Gate) else None,
        "meanings": MEANINGS,
        "claims": [(claim, *_figure(claim, len(judged.claims) <= MOST_WITH_RUNS)) for claim in judged.claims],
        "counts": {word: verdicts.count(word) for word in dict.fromkeys(verdicts)},
    }


def _figure(judged: RunVerdict, with_runs: bool) -> tuple[Markup | None, str]:
    drawn = drawing(judged, with_runs)
    return (None, "") if drawn is None else (Markup(as_svg(drawn)), caption(drawn))
