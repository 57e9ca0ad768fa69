"""One's own run beside the published one: claim by claim, yours and theirs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..harness.declare import Study
from ..harness.judge.verdict import Verdict
from ..harness.judge.verdict_memory import JudgedTrials
from ..harness.plan.catalog import Register
from .places import beside_page, place_of


@dataclass(frozen=True)
class Pair:
    """A claim's verdict in this store and the published one at the same scale on the same kind of device."""

    yours: Verdict
    published: Verdict

    @property
    def overlap(self) -> bool | None:
        """Whether the two intervals have a point in common; None if one of them has no number."""
        ends = [verdict.low for verdict in (self.yours, self.published)] + [
            verdict.high for verdict in (self.yours, self.published)
        ]
        if any(end is None for end in ends):
            return None
        low, other_low, high, other_high = (float(end) for end in ends if end is not None)
        return max(low, other_low) <= min(high, other_high)

    @property
    def agrees(self) -> bool:
        return self.yours.verdict == self.published.verdict

    @property
    def words(self) -> str:
        agree = {True: ", intervals overlap", False: ", intervals lie apart", None: ""}[self.overlap]
        return ("same verdict" if self.agrees else "another verdict") + agree


def pairs(yours: Iterable[JudgedTrials], published: Iterable[JudgedTrials]) -> dict[tuple[str, str], list[Pair]]:
    """(scale, device) -> pairs, for what is judged in both."""
    theirs = {
        (judged.scale, judged.device): {v.claim: v for v in judged.verdicts} for judged in published if judged.meant_to_be
    }
    pairs_by_place = {}
    for judged in yours:
        other = theirs.get((judged.scale, judged.device))
        if judged.meant_to_be and other:
            pairs_by_place[judged.scale, judged.device] = [Pair(v, other[v.claim]) for v in judged.verdicts if v.claim in other]
    return pairs_by_place


def content(study: Study, register: Register, pairs_by_place: Mapping[tuple[str, str], Sequence[Pair]]) -> dict[str, Any]:
    known = register.including(study)
    both = [pair for together in pairs_by_place.values() for pair in together]
    return {
        "claims_in_both": len(both),
        "same": sum(pair.agrees for pair in both),
        "apart": sum(pair.overlap is False for pair in both),
        "study": study,
        "claims": {judgement.claim: known.claim(judgement.claim) for judgement in study.judgements},
        "criteria": {
            (judgement.claim, scale): judgement.criteria_at(scale)
            for judgement in study.judgements
            for scale, _ in pairs_by_place
        },
        "places": pairs_by_place,
    }


def changes(study: Study, pairs_by_place: Mapping[tuple[str, str], Sequence[Pair]]) -> list[dict[str, Any]]:
    """Verdicts that differ, for the index, with the place that shows each and the page that shows both."""
    return [
        {"pair": pair, "link": place_of(pair.yours), "beside": beside_page(study.name)}
        for together in pairs_by_place.values()
        for pair in together
        if not pair.agrees
    ]
