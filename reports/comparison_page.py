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
        ends = [each.low for each in (self.yours, self.published)] + [each.high for each in (self.yours, self.published)]
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
    theirs = {(each.scale, each.device): {v.claim: v for v in each.verdicts} for each in published if each.meant_to_be}
    found = {}
    for each in yours:
        other = theirs.get((each.scale, each.device))
        if each.meant_to_be and other:
            found[each.scale, each.device] = [Pair(v, other[v.claim]) for v in each.verdicts if v.claim in other]
    return found


def content(study: Study, register: Register, found: Mapping[tuple[str, str], Sequence[Pair]]) -> dict[str, Any]:
    known = register.including(study)
    both = [pair for together in found.values() for pair in together]
    return {
        "claims_in_both": len(both),
        "same": sum(pair.agrees for pair in both),
        "apart": sum(pair.overlap is False for pair in both),
        "study": study,
        "claims": {judgement.claim: known.claim(judgement.claim) for judgement in study.judgements},
        "criteria": {
            (judgement.claim, scale): judgement.criteria_at(scale) for judgement in study.judgements for scale, _ in found
        },
        "places": found,
    }


def changes(study: Study, found: Mapping[tuple[str, str], Sequence[Pair]]) -> list[dict[str, Any]]:
    """Verdicts that differ, for the index, with the place that shows each and the page that shows both."""
    return [
        {"pair": pair, "link": place_of(pair.yours), "beside": beside_page(study.name)}
        for together in found.values()
        for pair in together
        if not pair.agrees
    ]
