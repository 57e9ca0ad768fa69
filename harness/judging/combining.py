"""From criteria to a claim: the parts it has on each workload, and on how many of the workloads it is said to hold.

On one workload (panel) every part has to hold, and one that is refuted refutes (Bonferroni over the parts). Over n workloads a
claim holds if it does on at least u of them: all n, more than half, or one, by its quantifier. The p value of that is the
partial conjunction's (Benjamini and Heller 2008, equation 2.1)

    p = (n - u + 1) p_(u),    p_(1) <= ... <= p_(n),

and that it fails, on at least n - u + 1 of them, likewise. Workloads that disagree decisively make a claim that does not hold
on enough of them partly true: it depends on the workload.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from folklore.harness.judging.outcomes import ALPHA, DECIDED, INVALID, OPEN, OUT_OF_REGIME, PARTLY, REFUTED, SUPPORTED
from folklore.harness.judging.verdicts import Finding, Panel
from folklore.harness.spec.claims import Quantifier

SOME_PARTS, SOME_WORKLOADS = "some parts", "some workloads"


@dataclass(frozen=True)
class Combined:
    """What becomes of a claim. p: the p value of its verdict; of one that decides nothing, the least of any."""

    verdict: str
    reading: str
    p: float
    panels: tuple[Panel, ...]


def least_that_hold(quantifier: Quantifier, workloads: int) -> int:
    """On how many of so many workloads a claim has to hold."""
    return {"all": workloads, "exact": workloads, "most": workloads // 2 + 1, "some": 1}[quantifier]


def partial_conjunction(p_values: Sequence[float], least: int) -> float:
    """The p value of "at least so many of these hold"."""
    return min(1.0, (len(p_values) - least + 1) * sorted(p_values)[least - 1])


def combined(findings: Sequence[Finding], quantifier: Quantifier, alpha: float = ALPHA) -> Combined:
    preconditions = [each for each in findings if each.precondition]
    parts: dict[str, list[Finding]] = {}
    for each in findings:
        if not each.precondition:
            parts.setdefault(each.panel, []).append(each)
    panels = tuple(_panel(name, several, alpha) for name, several in parts.items())
    failed = _precondition(preconditions)
    if failed is not None and all(panel.verdict != INVALID for panel in panels):
        return Combined(*failed, 1.0, panels)
    return _over_panels(panels, quantifier, alpha)


def _precondition(findings: Sequence[Finding]) -> tuple[str, str] | None:
    """Verdict and reading of a claim one of whose preconditions is not surely met; None if all are."""
    verdicts = [each.verdict for each in findings]
    if INVALID in verdicts:
        return INVALID, ""
    if any(each not in (SUPPORTED, OPEN) for each in verdicts):
        return OUT_OF_REGIME, "precondition"
    return (OPEN, "too noisy") if OPEN in verdicts else None


def _panel(name: str, parts: Sequence[Finding], alpha: float) -> Panel:
    p_refuted = min(1.0, len(parts) * min(each.p_refuted for each in parts))
    verdict, reading = _of_parts(parts, p_refuted, alpha)
    directions = [each.p_direction for each in parts]
    p_direction = min(1.0, len(parts) * min(directions)) if reading == SOME_PARTS else max(directions)
    return Panel(name, verdict, reading, max(each.p_supported for each in parts), p_refuted, p_direction)


def _of_parts(parts: Sequence[Finding], p_refuted: float, alpha: float) -> tuple[str, str]:
    verdicts = [each.verdict for each in parts]
    if INVALID in verdicts:
        return INVALID, ""
    some_hold = SUPPORTED in verdicts or PARTLY in verdicts
    if REFUTED in verdicts:
        if p_refuted > alpha:
            return OPEN, "too noisy"
        clearest = min(parts, key=lambda each: each.p_refuted)
        return (PARTLY, SOME_PARTS) if some_hold else (REFUTED, clearest.reading)
    if OPEN in verdicts:
        return OPEN, next(each.reading for each in parts if each.verdict == OPEN)
    if OUT_OF_REGIME in verdicts:
        return (PARTLY, SOME_PARTS) if some_hold else (OUT_OF_REGIME, parts[verdicts.index(OUT_OF_REGIME)].reading)
    if PARTLY in verdicts:
        return PARTLY, next(each.reading for each in parts if each.verdict == PARTLY)
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
    p_supported = partial_conjunction([panel.p_supported for panel in counted], least)
    p_direction = partial_conjunction([panel.p_direction for panel in counted], least)
    p_refuted = partial_conjunction([panel.p_refuted for panel in counted], len(counted) - least + 1)
    p_of: Mapping[str, float] = {SUPPORTED: p_supported, PARTLY: p_direction, REFUTED: p_refuted}
    if len(counted) == 1:
        (only,) = counted
        if only.verdict in DECIDED and only.reading != SOME_PARTS:
            return Combined(only.verdict, only.reading, p_of[only.verdict], panels)
        p = _p_of_disagreement([only], alpha) if only.verdict == PARTLY else min(p_of.values())
        return Combined(only.verdict, only.reading, p, panels)
    if p_supported <= alpha:
        return Combined(SUPPORTED, "", p_supported, panels)
    holds = [panel for panel in counted if panel.verdict in (SUPPORTED, PARTLY)]
    if holds and REFUTED in verdicts:
        return Combined(PARTLY, SOME_WORKLOADS, _p_of_disagreement(counted, alpha), panels)
    if p_refuted <= alpha and REFUTED in verdicts:
        reading = min(counted, key=lambda panel: panel.p_refuted).reading
        return Combined(REFUTED, reading, p_refuted, panels)
    if p_direction <= alpha or len(holds) == len(counted):
        readings = {panel.reading for panel in holds if panel.verdict == PARTLY}
        return Combined(PARTLY, readings.pop() if len(readings) == 1 else "direction", min(p_direction, alpha), panels)
    return Combined(OPEN, "too noisy", min(p_of.values()), panels)


def _p_of_disagreement(panels: Sequence[Panel], alpha: float) -> float:
    """That something holds and, unless it merely cannot be shown, something fails: both have to be so."""
    holding = min(1.0, len(panels) * min(min(panel.p_supported, panel.p_direction) for panel in panels))
    failing = min(1.0, len(panels) * min(panel.p_refuted for panel in panels))
    return max(holding, failing) if failing <= alpha else holding
