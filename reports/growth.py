"""As models grow: what the page of a study with a ladder, its cards, the index and the page of all ladders say of how effects
change over it."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..harness.declare import Criterion, Study
from ..harness.judge.outcomes import WITHDRAWN
from ..harness.judge.regimes import run_size
from ..harness.judge.spelling import in_prose, number_and_interval
from ..harness.judge.trend_sentences import size_words
from ..harness.judge.trends import ClaimTrend, Point, Prediction, points, trends
from ..harness.judge.verdict import Verdict
from ..harness.judge.verdict_memory import JudgedTrials
from ..harness.plan.catalog import Register
from .figures import growth
from .figures.choosing import Shown
from .figures.drawing import caption
from .phrases import title, with_bold_numbers
from .places import figure_name, growth_place, page
from .study_page import Section, write_figure

PAGE = "ladders.html"


def words(study: Study, judged: Sequence[JudgedTrials]) -> dict[str, list[str]]:
    """Claim -> the different words of its criteria."""
    by_claim: dict[str, dict[str, None]] = {}
    for grown in _trends(study, judged):
        by_claim.setdefault(grown.claim, {})[grown.trend.word] = None
    return {claim: list(of) for claim, of in by_claim.items()}


def content(study: Study, register: Register, judged: Sequence[JudgedTrials], output: Path) -> list[dict[str, Any]]:
    """The page's entry for every criterion with a number at two rungs. Figures are written into `output`."""
    return _shown(study, register, judged, output)


def followed(
    study: Study, register: Register, ladders: Iterable[tuple[Study, Sequence[JudgedTrials]]], output: Path
) -> list[dict[str, Any]]:
    """How the effects of a study's claims change, by the ladders that ask them again; each under the claim that is followed."""
    follows = {claim.id: claim.follows for claim in register.claims}
    asked = {judgement.claim for judgement in study.judgements}
    shown: list[dict[str, Any]] = []
    for ladder, judged in ladders:
        followers = {claim for claim, other in follows.items() if other in asked}
        for of in _shown(ladder, register, judged, output, followers, page_of=study.name):
            shown.append({**of, "claim": follows[of["claim"]], "page": page(ladder.name)})
    return shown


def summary(study: Study, register: Register, judged: Sequence[JudgedTrials], sections: Iterable[Section]) -> dict[str, Any]:
    """A ladder in the table of all: each criterion at each size, with its trend, predictions and what others measured, and what
    each rung took. sections: of its page; none if that is not written."""
    verdicts, claims = _standing(judged), register.including(study)
    grown = {(of.claim, of.criterion): of for of in _trends(study, judged)}
    by_criterion = points(study, verdicts)
    rows = [
        {
            "title": title(claims.claim(judgement.claim)),
            "criterion": criterion.name,
            "rungs": [_rung(study, point, criterion, verdicts, judgement.claim) for point in by_criterion[place]],
            "others": [publication for publication in study.published if publication.claim == judgement.claim],
            **_trend(grown.get(place)),
        }
        for judgement in study.judgements
        for criterion in judgement.criteria
        if by_criterion.get(place := (judgement.claim, criterion.name))
    ]
    return {"study": study, "rows": rows, "minutes": {section.scale: section.details["minutes"] for section in sections}}


def _shown(
    study: Study,
    register: Register,
    judged: Sequence[JudgedTrials],
    output: Path,
    of_claims: Collection[str] | None = None,
    page_of: str = "",
) -> list[dict[str, Any]]:
    """of_claims: those shown; None: all. page_of: the study on whose page it stands, after which its figures are named; '': its
    own."""
    claims, verdicts = register.including(study), _standing(judged)
    shown: list[dict[str, Any]] = []
    for grown in _trends(study, judged):
        if of_claims is not None and grown.claim not in of_claims:
            continue
        place = growth_place(grown.claim, sum(other["claim"] == grown.claim for other in shown))
        name = {"id": place, "page": "", "claim": grown.claim, "title": title(claims.claim(grown.claim))}
        figure = figure_name(page_of or study.name, place)
        shown.append({**name, **_criterion(study, grown, verdicts, figure, output)})
    return shown


def _criterion(study: Study, grown: ClaimTrend, verdicts: Sequence[Verdict], figure: str, output: Path) -> dict[str, Any]:
    (judgement,) = (judgement for judgement in study.judgements if judgement.claim == grown.claim)
    criterion = next(criterion for criterion in judgement.criteria if criterion.name == grown.criterion)
    drawing = growth.draw(grown, criterion)
    return {
        "criterion": grown.criterion,
        "rungs": [_rung(study, point, criterion, verdicts, grown.claim) for point in grown.points],
        **_trend(grown),
        "figure": write_figure(Shown("growth", caption(drawing), drawing), figure, output, {}),
    }


def _trend(grown: ClaimTrend | None) -> dict[str, Any]:
    """The trend in words; empty ones of a criterion with a number at one size alone."""
    if grown is None:
        return {"word": "", "sentence": "", "predictions": []}
    predictions = [_prediction(predicted, grown) for predicted in grown.predictions]
    return {"word": grown.trend.word, "sentence": with_bold_numbers([grown.sentence]), "predictions": predictions}


def _trends(study: Study, judged: Sequence[JudgedTrials]) -> list[ClaimTrend]:
    """Trends, with the predictions that were kept before a rung was trained."""
    return trends(study, _standing(judged), {of.scale: of.predicted for of in judged})


def _standing(judged: Sequence[JudgedTrials]) -> list[Verdict]:
    return [verdict for of in judged if of.meant_to_be for verdict in of.verdicts if verdict.verdict != WITHDRAWN]


def _rung(study: Study, point: Point, criterion: Criterion, verdicts: Sequence[Verdict], claim: str) -> dict[str, str]:
    size, place = run_size([criterion], study, point.scale), (claim, point.scale, point.device)
    assert size is not None
    verdict = next(of.verdict for of in verdicts if (of.claim, of.scale, of.device) == place)
    return {
        "scale": point.scale,
        "parameters": size_words(point.size),
        "tuning": ", not tuned" if study.scale(point.scale).untuned else "",
        "steps": f"{size.steps:,}",
        "data": f"{size.tokens_per_parameter:.3g} {size.unit}",
        "number": in_prose(point.estimate, point.low, point.high, criterion.written_in),
        "verdict": verdict,
        "link": "-".join(place),
    }


def _prediction(predicted: Prediction, grown: ClaimTrend) -> str:
    """The prediction for a trained rung, with what was measured."""
    expected = in_prose(predicted.estimate, predicted.low, predicted.high, grown.unit)
    said = f"Predicted from the rungs below for {size_words(predicted.size)} parameters: {expected}"
    measured = [
        number_and_interval(point.estimate, point.low, point.high, grown.unit)[0]
        for point in grown.points
        if point.scale == predicted.scale and predicted.outcome
    ]
    return "; ".join([said, *(f"measured: {number}: {predicted.outcome}" for number in measured)]) + "."
