"""From criteria to a claim: the parts it has on each workload, and on how many of the workloads it is said to hold.

On one workload (panel) every part has to hold, and one that is refuted refutes (Bonferroni over the parts); if parts cannot be
tested, the claim holds in part if a measured one does, and else is out of regime. Over n workloads a claim holds if it does on
at least u of them: all n, more than half, or one, by its quantifier; it fails if it does on at least n - u + 1. The p values of
both are partial conjunctions' (judge/statistics/combining.py). A claim that does not hold on enough workloads is partly true if
they disagree: it depends on the workload. For that it must surely hold on one and surely fail on another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..declare.claims import Quantifier
from ..declare.level import ALPHA
from .outcomes import (
    BETWEEN,
    DECIDED,
    INVALID,
    MULTIPLICITY,
    OPEN,
    OUT_OF_REGIME,
    PARTLY,
    PRECONDITION,
    REFUTED,
    SUPPORTED,
    TOO_NOISY,
)
from .statistics.combining import bonferroni, partial_conjunction
from .verdict import Finding, Panel

SOME_PARTS, SOME_WORKLOADS, UNTESTED = "some parts", "some workloads", "untested parts"
# One part holds, and another fails or cannot be tested.
OF_PARTS = (SOME_PARTS, UNTESTED)
# Readings of partly true parts: that which says most against the claim comes first.
TELLING = (*OF_PARTS, "smaller", "larger", "direction")
# Readings of open workloads: those that more seeds may decide come first. '': no number.
OPEN_TELLING = (TOO_NOISY, MULTIPLICITY, BETWEEN, PRECONDITION, "")


@dataclass(frozen=True)
class Combined:
    """The outcome of a claim. p: the p value of its verdict; if that decides nothing, the least of any. direction: see Verdict.
    over_all: the p value over all workloads, if the claim is open though single workloads decide it."""

    verdict: str
    reading: str
    p: float
    panels: tuple[Panel, ...]
    direction: str = ""
    over_all: float | None = None


def least_that_hold(quantifier: Quantifier, workloads: int) -> int:
    """The number of its workloads on which a claim has to hold."""
    return {"all": workloads, "exact": workloads, "most": workloads // 2 + 1, "some": 1}[quantifier]


def combined(findings: Sequence[Finding], quantifier: Quantifier, alpha: float = ALPHA) -> Combined:
    """Preconditions without a panel are those of the whole claim, others of their panel."""
    conditions: dict[str, list[Finding]] = {}
    parts: dict[str, list[Finding]] = {}
    for finding in findings:
        (conditions if finding.precondition else parts).setdefault(finding.panel, []).append(finding)
    panels = tuple(_panel(name, several, conditions.get(name, []) if name else [], alpha) for name, several in parts.items())
    failed = _precondition(conditions.get("", []))
    if failed is not None and all(panel.verdict != INVALID for panel in panels):
        return Combined(*failed, 1.0, panels)
    return _with_direction(_over_panels(panels, quantifier, alpha), quantifier, alpha)


def _precondition(findings: Sequence[Finding]) -> tuple[str, str] | None:
    """Verdict and reading of a claim one of whose preconditions is not surely met; None if all are."""
    verdicts = [finding.verdict for finding in findings]
    if INVALID in verdicts:
        return INVALID, ""
    if any(verdict not in (SUPPORTED, OPEN) for verdict in verdicts):
        return OUT_OF_REGIME, PRECONDITION
    return (OPEN, PRECONDITION) if OPEN in verdicts else None


def _panel(name: str, parts: Sequence[Finding], conditions: Sequence[Finding], alpha: float) -> Panel:
    failed = _precondition(conditions)
    if failed is not None:
        return Panel(name, *failed)
    p_refuted = bonferroni(part.p_refuted for part in parts)
    directions = [part.p_direction for part in parts]
    p_some = bonferroni(directions)
    verdict, reading = _of_parts(parts, p_refuted, p_some, alpha)
    p_direction = p_some if reading in OF_PARTS else max(directions)
    return Panel(name, verdict, reading, max(part.p_supported for part in parts), p_refuted, p_direction)


def _of_parts(parts: Sequence[Finding], p_refuted: float, p_some: float, alpha: float) -> tuple[str, str]:
    """p_refuted, p_some: that some part fails, and that some part holds at least in its direction."""
    verdicts = [part.verdict for part in parts]
    if INVALID in verdicts:
        return INVALID, ""
    some_hold = (SUPPORTED in verdicts or PARTLY in verdicts) and p_some <= alpha
    if REFUTED in verdicts:
        if p_refuted > alpha:
            return OPEN, MULTIPLICITY
        clearest = min(parts, key=lambda part: part.p_refuted)
        return (PARTLY, SOME_PARTS) if some_hold else (REFUTED, clearest.reading)
    if OPEN in verdicts:
        return OPEN, next(part.reading for part in parts if part.verdict == OPEN)
    if OUT_OF_REGIME in verdicts:
        # Arithmetic alone makes no claim about models that are not here true in part.
        measured_holds = any(part.verdict in (SUPPORTED, PARTLY) and part.grade == "measured" for part in parts)
        return (
            (PARTLY, UNTESTED)
            if some_hold and measured_holds
            else (OUT_OF_REGIME, parts[verdicts.index(OUT_OF_REGIME)].reading)
        )
    if PARTLY in verdicts:
        return PARTLY, min((part.reading for part in parts if part.verdict == PARTLY), key=TELLING.index)
    return SUPPORTED, ""


def _over_panels(panels: tuple[Panel, ...], quantifier: Quantifier, alpha: float) -> Combined:
    """Workloads on which nothing can be shown do not count; if trials of any are missing there is no number."""
    verdicts = [panel.verdict for panel in panels]
    if INVALID in verdicts:
        return Combined(INVALID, "", 1.0, panels)
    counted = [panel for panel in panels if panel.verdict != OUT_OF_REGIME]
    if not counted:
        return Combined(OUT_OF_REGIME, panels[0].reading, 1.0, panels)
    least = least_that_hold(quantifier, len(counted))
    p_of = _p_values(counted, least)
    if len(counted) == 1:
        (only,) = counted
        p = p_of[only.verdict] if only.verdict in DECIDED else min(p_of.values())
        return Combined(only.verdict, only.reading, max(p, _p_that_one_fails(only, alpha)), panels)
    if p_of[SUPPORTED] <= alpha:
        return Combined(SUPPORTED, "", p_of[SUPPORTED], panels)
    holds = [panel for panel in counted if panel.verdict in (SUPPORTED, PARTLY)]
    disagreement = _p_of_disagreement(counted)
    if holds and REFUTED in verdicts and disagreement <= alpha:
        return Combined(PARTLY, SOME_WORKLOADS, disagreement, panels)
    if p_of[REFUTED] <= alpha and REFUTED in verdicts:
        reading = min(counted, key=lambda panel: panel.p_refuted).reading
        return Combined(REFUTED, reading, p_of[REFUTED], panels)
    readings = [panel.reading for panel in holds if panel.verdict == PARTLY]
    if p_of[PARTLY] <= alpha and readings:
        return Combined(PARTLY, min(readings, key=TELLING.index), p_of[PARTLY], panels)
    over_all = undecided_over_all(panels, quantifier)
    undecided = [panel.reading for panel in counted if panel.verdict == OPEN]
    reading = min(undecided, key=OPEN_TELLING.index) if over_all is None else MULTIPLICITY
    return Combined(OPEN, reading, min(p_of.values()), panels, over_all=over_all)


def undecided_over_all(panels: Sequence[Panel], quantifier: Quantifier) -> float | None:
    """The p value, over all workloads, of an open claim that single workloads decide; None if they leave it open, too."""
    counted = [panel for panel in panels if panel.verdict != OUT_OF_REGIME]
    verdicts = [panel.verdict for panel in counted]
    least = least_that_hold(quantifier, len(counted))
    p = _p_values(counted, least)
    if verdicts.count(SUPPORTED) >= least:
        return p[SUPPORTED]
    if verdicts.count(REFUTED) > len(counted) - least:
        return p[REFUTED]
    if OPEN in verdicts:
        return None
    disagree = REFUTED in verdicts and (SUPPORTED in verdicts or PARTLY in verdicts)
    return _p_of_disagreement(counted) if disagree else p[PARTLY]


def _p_values(panels: Sequence[Panel], least: int) -> Mapping[str, float]:
    """p values, over all workloads, of the verdicts that decide."""
    return {
        SUPPORTED: partial_conjunction([panel.p_supported for panel in panels], least),
        PARTLY: partial_conjunction([panel.p_direction for panel in panels], least),
        REFUTED: partial_conjunction([panel.p_refuted for panel in panels], len(panels) - least + 1),
    }


def _p_that_one_fails(panel: Panel, alpha: float) -> float:
    """The p value of failing parts on a workload where others hold; 0 if they merely cannot be shown."""
    return panel.p_refuted if panel.reading == SOME_PARTS and panel.p_refuted <= alpha else 0.0


def _p_of_disagreement(panels: Sequence[Panel]) -> float:
    """The p value of holding on some workload and failing on some: the larger of both, each by Bonferroni."""
    holding = bonferroni(min(panel.p_supported, panel.p_direction) for panel in panels)
    return max(holding, bonferroni(panel.p_refuted for panel in panels))


def _with_direction(outcome: Combined, quantifier: Quantifier, alpha: float) -> Combined:
    """The outcome with the side of the null on which the effect surely lies, on as many workloads as the claim speaks of."""
    return replace(outcome, direction=_direction(outcome, quantifier, alpha))


def _direction(outcome: Combined, quantifier: Quantifier, alpha: float) -> str:
    if outcome.verdict == REFUTED and outcome.reading in ("opposite", "no effect"):
        return {"opposite": "opposite", "no effect": "none"}[outcome.reading]
    if outcome.verdict not in DECIDED or outcome.reading in (*OF_PARTS, SOME_WORKLOADS):
        return ""
    counted = [panel for panel in outcome.panels if panel.verdict != OUT_OF_REGIME]
    p = partial_conjunction([panel.p_direction for panel in counted], least_that_hold(quantifier, len(counted)))
    return "claimed" if p <= alpha else ""
